"""`planner solve`: the product's main job."""

from __future__ import annotations

import click

from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.numbers import LONGEST_S, FiniteRange, ShareRange
from planner.cli.output import format_option, output_option, write_result

FORMATS = ("table", "json", "csv", "markdown")


@click.command(cls=PlannerCommand, needs=("spec",))
@click.argument("spec", required=False, metavar="SPEC")
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@click.option("--top", type=click.IntRange(1, 50), default=6, show_default=True, help="Most plans to rank.")
@click.option(
    "--within",
    type=ShareRange(0, 10),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="How much more than the best plan an alternative on an axis may cost: 0.05 or 5%.",
)
@click.option(
    "--gap",
    type=ShareRange(0, 1),
    default=0.001,
    show_default=True,
    metavar="SHARE",
    help="Relative optimality gap at which a solve may stop.",
)
@click.option(
    "--max-gap",
    type=ShareRange(0),
    default=None,
    metavar="SHARE",
    help="Exit 4 if the best plan's gap is larger than this.",
)
@click.option(
    "--time-limit",
    type=FiniteRange(0, LONGEST_S, min_open=True),
    default=None,
    show_default="15; 10 more per further service or mix of classes, at most 300",
    metavar="SECONDS",
    help="For the whole command; half of it for the best plan.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the solver.")
@click.option(
    "--solver",
    type=click.Choice(["highs", "scip"]),
    default="highs",
    show_default=True,
    help="SCIP is a second opinion.",
)
@click.option(
    "--explain",
    type=click.Choice(["none", "fast", "full"]),
    default="fast",
    show_default=True,
    help="How much explanation to make; full solves again: prices of rules, flips, robustness.",
)
@click.option(
    "--progress/--no-progress",
    "progress",
    default=None,
    help="Show progress on standard error (default: on a terminal, after 2 s).",
)
@format_option(*FORMATS)
@output_option
def solve(
    spec: str, catalog: str | None, top: int, within: float, gap: float, max_gap: float | None,
    time_limit: float | None, seed: int, solver: str, explain: str, progress: bool | None, format_: str, output: str,
) -> int:  # fmt: skip
    """Rank verified purchase plans for a spec.

    SPEC is a workload file (`planner init` writes one to start from); - reads standard input. Every plan shown was
    recomputed independently of the solver, and says how far it can be from the cheapest possible.
    """
    from planner.candidates.quotas import idle_quota_text
    from planner.cli.progress import ProgressLine
    from planner.cli.run import RunOptions, exit_code, solve_spec
    from planner.report.text import result_text

    options = RunOptions(
        catalog=catalog, top=top, within=within, gap=gap, max_gap=max_gap, time_limit_s=time_limit, seed=seed,
        solver=solver, explain=explain,
    )  # fmt: skip
    with ProgressLine(progress) as line:
        outcome = solve_spec(spec, options, line)
    result, code = outcome.result, exit_code(outcome, max_gap)
    if outcome.interrupted:
        click.echo("interrupted: the search ended early" + ("" if output == "-" else f", {output} is not written"),
                   err=True)  # fmt: skip
    if not outcome.interrupted or output == "-":
        colour = output == "-" and stdout_is_terminal()
        write_result(result_text(result, format_, colour=colour, explain=explain != "none"), output)
    for name in outcome.answer.problem.idle_quotas:
        click.echo(f"warning: {idle_quota_text(name)}", err=True)
    if code == 4:
        why = f"the best plan's gap {result.plans[0].gap:.3g} is above --max-gap" if result.plans else "no plan"
        click.echo(f"{why} within {result.provenance.limits.time_limit_s:g} s", err=True)
    return code
