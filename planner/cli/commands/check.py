"""`planner check`: is the spec sound, what does it ask for, and what could serve it."""

from __future__ import annotations

import click

from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.output import format_option, output_option, write_result


@click.command(cls=PlannerCommand, needs=("spec",))
@click.argument("spec", required=False, metavar="SPEC")
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@format_option("table", "json")
@output_option
def check(spec: str, catalog: str | None, format_: str, output: str) -> int:
    """Check a spec and say what it asks for, without solving.

    All faults at once (exit 2), or a summary: workloads, services, slices, demand, what could serve every service,
    and what was refused for which reason. Exit code 3 where nothing can serve a part of it. - reads standard input.
    """
    from planner.candidates.build import build_problem
    from planner.cli.run import load
    from planner.report.check import check_text, summarise

    loaded = load(spec, catalog)
    problem = build_problem(loaded.spec, loaded.catalog, loaded.demand)
    summary = summarise(loaded.spec, problem)
    write_result(check_text(summary, format_, output == "-" and stdout_is_terminal()), output)
    for warning in summary.warnings:
        click.echo(f"warning: {warning}", err=True)
    if summary.unservable:
        click.echo(f"nothing can serve {', '.join(summary.unservable)}", err=True)
        return 3
    return 0
