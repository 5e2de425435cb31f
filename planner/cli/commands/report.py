"""`planner report`: the page for the review, from the JSON of an earlier solve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.config import PlannerCommand
from planner.cli.output import format_option, output_option, write_result
from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from planner.explain.types import VolumeCurve
    from planner.report.types import Result


@click.command(cls=PlannerCommand, needs=("source",))
@click.argument("source", required=False, metavar="RESULT")
@click.option("--curve", "curve_file", metavar="FILE", default=None, show_default="none",
              help="JSON of `planner breakeven` for the same spec: the break-even curve.")  # fmt: skip
@format_option("html", "markdown")
@output_option
def report(source: str, curve_file: str | None, format_: str, output: str) -> int:
    """Write the page for a review: one HTML file that loads nothing, or Markdown.

    RESULT is the JSON of an earlier solve (`planner solve SPEC --format json --explain full -o result.json`), or `-`.
    A result without a plan has its page too (exit code 0): what conflicts, and what would suffice.
    """
    from planner.cli.results import read_curve, read_result
    from planner.report.review import review_page, title_of

    result = read_result(source)
    page = review_page(result, None if curve_file is None else _curve(curve_file, read_curve(curve_file), result))
    if format_ == "markdown":
        from planner.report.review_markdown import page_markdown

        write_result(page_markdown(page), output)
        return 0
    _need_libraries()
    from planner.report.html import page_html

    write_result(page_html(page, title_of(result)), output)
    return 0


def _curve(path: str, curve: VolumeCurve, result: Result) -> VolumeCurve:
    if curve.name != result.name:
        said = f"the curve is of '{curve.name}', the result of '{result.name}'"
        raise InputError([Fault("U119", said, path=path, help="give the curve of the same spec")])
    return curve


def _need_libraries() -> None:
    """Raises InputError (U120) where what draws the page is not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("jinja2", "altair", "vl_convert") if find_spec(name) is None]
    if missing:
        said = f"an HTML page needs {', '.join(missing)}"
        raise InputError(
            [Fault("U120", said, help="pip install 'planner[report]'; --format markdown needs nothing more")]
        )
