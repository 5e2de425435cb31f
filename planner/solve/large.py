"""Solving programmes that one engine call does not: parts apart, and a first plan by commitments, then slices.

relaxed   min cost, only linking columns integral                        → a bound, and the linking columns' values
slices    linking columns fixed: the rest falls apart, each part a MIP   → a plan
instances everything but purchases fixed: buy again for those replicas   → a cheaper plan, other commitments
prices    blocks and a master programme, see `decompose`                  → a better plan, a bound
whole     the programme itself, started from the best plan found         → a better plan, a better bound
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.errors import SolverError
from planner.formulation.fleet_build import FleetMap
from planner.formulation.milp import Milp
from planner.solve.crew import Crew
from planner.solve.decompose import decompose, solve_by_prices
from planner.solve.engine import OnProgress, SolverChild
from planner.solve.fleet import search
from planner.solve.split import Split, split
from planner.solve.types import Answer, Infeasible, Solved, SolveOptions, StopReason, Undecided

LARGE = 4000
"""From so many integer columns on, a first plan is built before the whole programme is tried."""
MEDIUM = 600
"""From so many on, prices are tried once the engine alone has not closed the gap."""
LEAST_FOR_PRICES_S = 8.0
"""In less time prices find nothing."""
WHOLE_SHARE, PRICES_SHARE = 0.4, 0.7
"""Shares of the remaining time for the engine alone, and then for prices."""
FLEET_SHARE = 0.9
"""Share of the remaining time for a fleet's prices and slices."""
RELAXED_SHARE, SLICES_SHARE = 0.3, 0.5
"""Shares of the remaining time for the relaxed programme, and then for the rounds of slices."""
ROUNDS = 2
"""Rounds of slices and instances."""
SLICE_GAP = 5e-3
"""Relative gap at which a slice of a first plan may stop."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Which columns tie slices together, and which are purchases (of both kinds)."""

    linking: frozenset[int] = frozenset()
    instances: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    """Instances of machines that several services use: with `linking` they tie services together."""
    fleet: FleetMap | None = None
    """The same programme as covering services over markets, where it is one."""


class Clock:
    """Seconds left until a deadline."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self.end - time.monotonic())


def solve_programme(
    child: SolverChild,
    milp: Milp,
    options: SolveOptions,
    structure: Structure | None = None,
    hint: Sequence[float] | None = None,
    progress: OnProgress | None = None,
) -> Answer:
    """Solve like `SolverChild.solve`, but independent parts apart and large programmes from a first plan.

    A proof holds for the whole programme: bounds of independent parts add up; of a first plan only its value is used.
    """
    clock = Clock(options.time_limit_s)
    parts = split(milp)
    if parts.impossible is not None:
        return Infeasible(f"{parts.impossible} cannot hold within the bounds of its variables")
    integers = sum(v.integer for v in milp.variables)
    fleet = None if structure is None or integers < MEDIUM or milp.maximise else structure.fleet
    if fleet is not None and integers < LARGE and len(fleet.fleet.services) < 2:
        # Nothing is gained from prices: the engine proves it sooner alone (docs/decomposition.md).
        return solve_parts(child, milp, parts, options, clock, hint, progress)
    if structure is not None and fleet is not None and has_compiler():
        return _solve_fleet(child, milp, options, structure, fleet, parts, clock, hint, progress)
    if len(parts.parts) > 1:
        return solve_parts(child, milp, parts, options, clock, hint)
    if structure is None or not structure.linking or integers < MEDIUM:
        return child.solve(milp, options, hint, progress)
    start: Answer
    if integers >= LARGE and hint is None:
        start = first_plan(child, milp, options, structure, clock)
    elif clock.left >= LEAST_FOR_PRICES_S:
        first = replace(options, time_limit_s=WHOLE_SHARE * clock.left)
        start = child.solve(milp, first, hint, progress)
    else:
        return child.solve(milp, options, hint, progress)
    if not isinstance(start, Undecided) or start.stop is StopReason.INTERRUPTED:
        return start
    found: Solved | Undecided = start
    if clock.left >= LEAST_FOR_PRICES_S / 2:
        found = _by_prices(child, milp, replace(options, time_limit_s=PRICES_SHARE * clock.left), structure, start)
    if isinstance(found, Solved) or found.stop is StopReason.INTERRUPTED:
        return found
    rest = replace(options, time_limit_s=clock.left)
    return better(child.solve(milp, rest, found.values, progress), found, options, milp.maximise)


def _solve_fleet(
    child: SolverChild, milp: Milp, options: SolveOptions, structure: Structure, fleet: FleetMap, parts: Split,
    clock: Clock, hint: Sequence[float] | None, progress: OnProgress | None,
) -> Answer:  # fmt: skip
    """Covering services: the engine alone where that may do, then prices and slices, then the engine from there.

    Without a plan from prices (they leave a third of the time then) a large programme gets a first plan by slices.
    """
    clocked = False
    found: Answer = Undecided(None, None, None, StopReason.TIME_LIMIT)
    small = sum(v.integer for v in milp.variables) < LARGE
    if small or hint is not None:
        first = replace(options, time_limit_s=(WHOLE_SHARE if small else 0.1) * clock.left)
        found = solve_parts(child, milp, parts, first, Clock(first.time_limit_s), hint)
        if not isinstance(found, Undecided) or found.stop is StopReason.INTERRUPTED:
            return found
    if clock.left >= LEAST_FOR_PRICES_S / 2:
        limits = replace(options, time_limit_s=FLEET_SHARE * clock.left)
        with Crew(child) as crew:
            answer = search(fleet.fleet, crew, limits, progress)
        clocked = answer.clocked
        if answer.plan is not None:
            fixed = fleet.values(milp, answer.plan)
            values = _with_fixed(child, milp, fixed, options, Clock(max(clock.left, 1.0)), None)
            if values is not None:
                cost = milp.value(milp.objective(), values)
                stop = answer.stop if answer.stop is StopReason.INTERRUPTED else StopReason.TIME_LIMIT
                own = _answer(values, cost, min(answer.bound, cost), stop, options, False)
                found = better(own, found, options, False)
        elif math.isfinite(answer.bound):
            found = better(Undecided(None, None, answer.bound, answer.stop), found, options, False)
        if not isinstance(found, Undecided) or answer.stop is StopReason.INTERRUPTED:
            return found if isinstance(found, Infeasible) else replace(found, clocked=clocked)
    if not small and not isinstance(found, Infeasible) and found.values is None and structure.linking:
        found = better(first_plan(child, milp, options, structure, clock), found, options, False)
        if not isinstance(found, Undecided) or found.stop is StopReason.INTERRUPTED:
            return found if isinstance(found, Infeasible) else replace(found, clocked=clocked)
    rest = replace(options, time_limit_s=clock.left)
    start = None if isinstance(found, Infeasible) else found.values
    last = better(solve_parts(child, milp, parts, rest, clock, start), found, options, False)
    return last if isinstance(last, Infeasible) else replace(last, clocked=clocked)


def has_compiler() -> bool:
    """Whether numba is there, without which dynamic programmes are too slow; the engine alone does then."""
    return importlib.util.find_spec("numba") is not None


def _by_prices(
    child: SolverChild, milp: Milp, options: SolveOptions, structure: Structure, start: Undecided
) -> Solved | Undecided:
    """A better plan and bound from prices; what was known where the programme does not fall into blocks."""
    parts = None if milp.maximise or start.values is None else decompose(milp, structure.linking | structure.shared)
    if parts is None or start.values is None:
        return start
    try:
        priced = solve_by_prices(child, parts, options, start.values)
    except SolverError:
        # A plan is at hand: what prices could have added is no reason to lose it.
        return start
    answer = better(priced, start, options, milp.maximise)
    assert not isinstance(answer, Infeasible)
    return answer


def solve_parts(
    child: SolverChild,
    milp: Milp,
    parts: Split,
    options: SolveOptions,
    clock: Clock,
    hint: Sequence[float] | None = None,
    progress: OnProgress | None = None,
) -> Answer:
    """Each part with its share of the time; Infeasible as soon as one is. One part alone reports its `progress`."""
    answers: list[Solved | Undecided] = []
    sizes = [len(p.columns) for p in parts.parts]
    for index, part in enumerate(parts.parts):
        share = clock.left * sizes[index] / sum(sizes[index:])
        own = None if hint is None else [hint[c] for c in part.columns]
        answer = child.solve(
            part.milp, replace(options, time_limit_s=share), own, progress if len(sizes) == 1 else None
        )
        if isinstance(answer, Infeasible):
            return answer
        answers.append(answer)
        if answer.stop is StopReason.INTERRUPTED:
            break
    return _combined(milp, parts, answers, options)


def _combined(milp: Milp, parts: Split, answers: Sequence[Solved | Undecided], options: SolveOptions) -> Answer:
    complete = len(answers) == len(parts.parts)
    stop = _worst([a.stop for a in answers])
    bounds = [a.bound for a in answers if a.bound is not None]
    bound = parts.settled_objective + math.fsum(bounds) if len(bounds) == len(parts.parts) else None
    values = [a.values for a in answers if a.values is not None]
    if not complete or len(values) != len(answers):
        return Undecided(None, None, bound, stop)
    whole = parts.assemble(values, len(milp.variables))
    objective = milp.value(milp.objective(), whole)
    return _answer(whole, objective, bound, stop, options, milp.maximise)


def _answer(
    values: tuple[float, ...], objective: float, bound: float | None, stop: StopReason, options: SolveOptions,
    maximise: bool,
) -> Answer:  # fmt: skip
    if bound is None:
        return Undecided(values, objective, None, stop)
    bound = max(bound, objective) if maximise else min(bound, objective)
    gap = abs(objective - bound)
    if gap <= max(options.absolute_gap, 1e-9 * abs(objective)):
        return Solved(values, objective, bound, StopReason.OPTIMAL)
    if gap <= options.relative_gap * abs(objective) * (1 + 1e-9):
        return Solved(values, objective, bound, StopReason.GAP)
    if stop in (StopReason.OPTIMAL, StopReason.GAP):
        return Solved(values, objective, bound, StopReason.GAP)
    return Undecided(values, objective, bound, stop)


def _worst(stops: Collection[StopReason]) -> StopReason:
    order = list(StopReason)
    return max(stops, key=order.index, default=StopReason.OPTIMAL)


def better(one: Answer, other: Answer, options: SolveOptions, maximise: bool) -> Answer:
    """Two answers to one programme as one: the better values, the better bound."""
    if isinstance(one, Infeasible) or isinstance(other, Infeasible):
        return one if isinstance(one, Infeasible) else other
    sign = -1.0 if maximise else 1.0
    bounds = [sign * a.bound for a in (one, other) if a.bound is not None]
    bound = sign * max(bounds) if bounds else None
    plans = [a for a in (one, other) if a.objective is not None and a.values is not None]
    if not plans:
        return Undecided(None, None, bound, one.stop)
    best = min(plans, key=lambda a: sign * (a.objective or 0.0))
    assert best.values is not None
    assert best.objective is not None
    return _answer(best.values, best.objective, bound, one.stop, options, maximise)


# -- a first plan ------------------------------------------------------------------------------------------------------


def first_plan(
    child: SolverChild, milp: Milp, options: SolveOptions, structure: Structure, clock: Clock
) -> Infeasible | Undecided:
    """A plan from linking columns, then slices, with the bound of the relaxed programme.

    Infeasible when even the relaxed programme is. Without a plan: Undecided, values None.
    """
    relaxed = child.solve(
        relaxed_but(milp, structure.linking), replace(options, time_limit_s=RELAXED_SHARE * clock.left)
    )
    if isinstance(relaxed, Infeasible):
        return relaxed
    best = Undecided(None, None, relaxed.bound, relaxed.stop)
    if relaxed.values is None or relaxed.stop is StopReason.INTERRUPTED:
        return best
    limit = Clock(SLICES_SHARE * clock.left)
    quick = replace(options, relative_gap=max(options.relative_gap, SLICE_GAP))
    sign = -1.0 if milp.maximise else 1.0
    # Only with the columns that the relaxed programme uses: the slices are small, and short limits return no rubbish.
    unused = dict.fromkeys(_unused(milp, relaxed.values, structure), 0.0)
    linked: Sequence[float] = relaxed.values
    for number in range(ROUNDS):
        fixed = {**unused, **{c: linked[c] for c in structure.linking}}
        share = Clock(limit.left / (ROUNDS - number))
        found = _with_fixed(child, milp, fixed, quick, share, best.values)
        if found is not None:
            found = _buy_again(child, milp, found, structure, quick, Clock(limit.left / 2)) or found
        if found is None:
            return best
        objective = milp.value(milp.objective(), found)
        if best.objective is not None and sign * objective >= sign * best.objective - 1e-4 * abs(objective):
            return best
        best, linked = replace(best, values=found, objective=objective), found
    return best


def _unused(milp: Milp, values: Sequence[float], structure: Structure) -> list[int]:
    """Integer columns that are neither purchases nor linking and stand at zero."""
    chosen = structure.instances | structure.linking
    return [
        c
        for c, v in enumerate(milp.variables)
        if v.integer and values[c] <= 1e-6 and v.lower <= 0.0 and c not in chosen
    ]


def relaxed_but(milp: Milp, kept: Collection[int]) -> Milp:
    """A copy in which only the columns of `kept` are integral: its bound is one for `milp` too."""
    copy = milp.copy()
    copy.variables = [
        v if j in kept or not v.integer else replace(v, integer=False) for j, v in enumerate(milp.variables)
    ]
    return copy


def _with_fixed(
    child: SolverChild,
    milp: Milp,
    fixed: Mapping[int, float],
    options: SolveOptions,
    clock: Clock,
    hint: Sequence[float] | None,
) -> tuple[float, ...] | None:
    """The best values found with some columns fixed; None where there are none in the time."""
    parts = split(milp, fixed)
    if parts.impossible is not None:
        return None
    answer = solve_parts(child, milp, parts, options, clock, hint)
    return None if isinstance(answer, Infeasible) else answer.values


def _buy_again(
    child: SolverChild, milp: Milp, values: Sequence[float], structure: Structure, options: SolveOptions, clock: Clock
) -> tuple[float, ...] | None:
    """Keep every replica and route, choose all purchases anew."""
    keep = {
        c: v
        for c, v in enumerate(values)
        if c not in structure.instances and (milp.variables[c].integer and c not in structure.linking)
    }
    return _with_fixed(child, milp, keep, options, clock, values)
