"""`planner explain`: why a plan looks as it does, and why something is not in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.numbers import LONGEST_S, FiniteRange
from planner.cli.output import format_option, output_option, write_result
from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from planner.explain.names import Reading
    from planner.explain.types import ForcedPlan
    from planner.report.types import Result


@click.command(cls=PlannerCommand, needs=("source",))
@click.argument("source", required=False, metavar="RESULT|SPEC")
@click.option("--plan", "number", type=click.IntRange(1), default=1, show_default=True,
              help="Which plan of the list, from the top.")  # fmt: skip
@click.option("--why-not", "names", multiple=True, metavar="NAME",
              help="Why an accelerator, model, precision, provider, region or API is not used.")  # fmt: skip
@click.option("--why", "lines", multiple=True, metavar="LINE",
              help="Why a line of the plan is there: its number, or a part of its name.")  # fmt: skip
@click.option("--spec", "spec", metavar="SPEC", default=None, show_default="none",
              help="The spec of RESULT: --why-not then solves it with the name forced in.")  # fmt: skip
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@click.option("--time-limit", type=FiniteRange(0, LONGEST_S, min_open=True), default=None, show_default="as for solve",
              metavar="SECONDS", help="For solving a SPEC.")  # fmt: skip
@format_option("table", "json")
@output_option
def explain(
    source: str,
    number: int,
    names: tuple[str, ...],
    lines: tuple[str, ...],
    spec: str | None,
    catalog: str | None,
    time_limit: float | None,
    format_: str,
    output: str,
) -> int:
    """Explain a plan, or why something was not chosen.

    RESULT is the JSON of an earlier solve (`planner solve SPEC --format json -o result.json`); a SPEC is solved first.
    --why-not tells what was against a name; with the spec at hand (SPEC, or --spec beside a RESULT) also the cheapest
    plan in which it is used. Exit code 3 or 4 where there is no plan to explain, unless --why-not is asked.
    """
    from planner.report.explain import plan_text, why_not_text

    earlier = _read_result(source)
    result = earlier or _solve(source, catalog, time_limit)
    colour = output == "-" and stdout_is_terminal()
    if names:
        readings = _read_names(names, catalog, result)
        at_hand = spec if earlier is not None else source if source != "-" else None
        forced = {} if at_hand is None else _force(readings, result, at_hand, catalog, time_limit)
        write_result(why_not_text(result, readings, format_, colour, forced), output)
        return 0
    if not result.plans:
        write_result(plan_text(result, None, format_, colour), output)
        return 3 if result.status == "infeasible" else 4
    if number > len(result.plans):
        raise InputError([Fault("U106", f"there is no plan {number}: the result has {len(result.plans)}")])
    if lines:
        write_result(_why(result, number, lines, format_, colour), output)
        return 0
    write_result(plan_text(result, number, format_, colour), output)
    return 0


def _why(result: Result, number: int, lines: tuple[str, ...], format_: str, colour: bool) -> str:
    """Reasons of the lines; a word that names none is an error (U117) with what there is."""
    from planner.report.why import find_lines, line_names, why_text

    plan = result.plans[number - 1]
    known = "; ".join(f"{i} {name}" for i, name in enumerate(line_names(plan), start=1))
    faults = [
        Fault("U117", f"plan {number} has no line '{word}'", help=f"its lines are: {known}")
        for word in lines
        if not find_lines(plan, word)
    ]
    if faults:
        raise InputError(faults)
    return why_text(result, number, lines, format_, colour)


def _force(
    readings: list[Reading], result: Result, spec: str, catalog: str | None, time_limit: float | None
) -> dict[str, ForcedPlan]:
    """The cheapest plan with each name that is possible and not in plan 1. Raises InputError (U118): another spec."""
    from planner.report.explain import is_dearer

    wanted = [r for r in readings if is_dearer(r, result)]
    if not wanted or not result.plans:
        return {}
    from planner.cli.run import default_time_limit_s, load
    from planner.explain.forced import forced_in
    from planner.explain.whatif import Clock, WhatIf
    from planner.solve.engine import SolverChild

    with SolverChild() as child:
        child.start()
        loaded = load(spec, catalog)
        if loaded.document.sha256 != result.provenance.spec_sha256:
            raise InputError([Fault("U118", f"{spec} is not the spec that the result was made from", path=spec,
                                    help="give the spec as it was, or solve it anew")])  # fmt: skip
        found = {}
        for reading in wanted:
            whatif = WhatIf(loaded.catalog, child, Clock(time_limit or default_time_limit_s(loaded.demand)))
            problem = whatif.problem(loaded.spec)
            first = result.plans[0].cost
            judged = first.judged_usd_per_month
            cost = first.total_usd_per_month if judged is None else judged
            plan = forced_in(loaded.spec, problem, reading.same, cost, whatif)
            if plan is not None:
                found[reading.name] = plan
    return found


def _read_names(names: tuple[str, ...], catalog: str | None, result: Result) -> list[Reading]:
    """How every name is read."""
    from planner.catalog.load import load_catalog
    from planner.explain.names import read_name

    rows = load_catalog(catalog)
    own = {n for p in result.possible for n in (p.provider, p.region, p.accelerator) if n}
    return [read_name(name, rows, own) for name in names]


def _read_result(source: str) -> Result | None:
    """The result in a JSON file; None where the file is something else (a spec). Raises InputError (U107)."""
    path = Path(source)
    if source == "-" or not path.is_file() or path.suffix.lower() in (".yaml", ".yml"):
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if not text.lstrip().startswith("{") or '"provenance"' not in text:
        return None
    from planner.cli.results import parse
    from planner.report.types import Result

    return parse(text, source, Result)


def _solve(source: str, catalog: str | None, time_limit: float | None) -> Result:
    from planner.cli.progress import ProgressLine
    from planner.cli.run import RunOptions, solve_spec

    with ProgressLine() as line:
        return solve_spec(source, RunOptions(catalog=catalog, time_limit_s=time_limit), line).result
