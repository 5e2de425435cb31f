"""Imported specs through the same steps as `planner solve`, with one solver process for many of them."""

from pathlib import Path

from planner.cli.progress import ProgressLine
from planner.cli.run import RunOptions, load, solve_loaded
from planner.report.types import Result
from planner.solve.engine import SolverChild


def solve(text: str, folder: Path, child: SolverChild) -> Result:
    """The result of a spec's text: the cheapest plan, gap 0."""
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    options = RunOptions(gap=0.0, top=1, explain="none", time_limit_s=60.0)
    return solve_loaded(load(str(path)), options, child, ProgressLine(asked=False)).result
