"""`planner breakeven`: API against machines over volume."""

from __future__ import annotations

import click

from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.numbers import LONGEST_S, FiniteRange
from planner.cli.output import format_option, output_option, write_result


@click.command(cls=PlannerCommand, needs=("spec",))
@click.argument("spec", required=False, metavar="SPEC")
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@click.option("--points", type=click.IntRange(2, 200), default=13, show_default=True, help="Volumes on the curve.")
@click.option("--time-limit", type=FiniteRange(0, LONGEST_S, min_open=True), default=60.0, show_default=True,
              metavar="SECONDS", help="For the whole command.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the solver.")
@click.option("--solver", type=click.Choice(["highs", "scip"]), default="highs", show_default=True,
              help="SCIP is a second opinion.")  # fmt: skip
@format_option("table", "json", "csv")
@output_option
def breakeven(
    spec: str, catalog: str | None, points: int, time_limit: float, seed: int, solver: str, format_: str, output: str
) -> int:
    """API against machines over volume: a curve, a table, and where they cross.

    The mix, lengths and profile of SPEC stay; all its workloads grow and shrink together. Every bill is that of a
    verified plan; the crossover is the smallest volume at which machines alone cost no more than the API alone.
    Exit code 4 where no volume could be priced in time.
    """
    from planner.cli.run import load
    from planner.explain.curve import volume_curve
    from planner.explain.parallel import Workers
    from planner.explain.whatif import Clock
    from planner.report.breakeven import curve_text
    from planner.report.layout import output_width
    from planner.solve.engine import SolverChild

    with SolverChild() as child:
        child.start()
        loaded = load(spec, catalog)
        with Workers(loaded.catalog, child, Clock(time_limit), solver, seed) as workers:
            curve = volume_curve(loaded.spec, workers, points).model_copy(update={"name": loaded.spec.name})
    colour = output == "-" and stdout_is_terminal()
    write_result(curve_text(curve, format_, output_width(), colour), output)
    priced = any(p.all_api_usd_per_month or p.machines_usd_per_month for p in curve.points)
    return 0 if priced else 4
