"""Which limits cannot be kept together, and by how much they are missed at least."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from planner.candidates.types import Problem
from planner.explain.refusals import main_reason
from planner.explain.types import Conflict
from planner.formulation.compile import Compiled
from planner.formulation.elastic import ELASTIC, LIMITS, PROMISES, classes_short, conflicts, elastic_programme
from planner.formulation.milp import Milp
from planner.solve.types import Answer, Infeasible, SolveOptions

AMOUNT_GAP = 1e-6
"""Relative gap of the elastic programme: an amount is what it says only where it is as small as can be."""


class Solver(Protocol):
    """Whatever solves a programme."""

    def solve(self, milp: Milp, options: SolveOptions) -> Answer:
        """The answer to a programme."""
        ...


def find_conflicts(compiled: Compiled, solver: Solver, options: SolveOptions) -> tuple[Conflict, ...]:
    """The limits that an infeasible programme breaks at least, with the amounts in their units.

    The classes that nothing can serve, where there are any; else the elastic programme of the formulation, solved:
    one family of limits alone where that suffices, then all limits, and requests go unserved only where no limit
    helps. Limits come with the classes that would
    come short if all limits stayed. Granting all amounts makes the programme feasible, and no amount can be smaller
    while the others stay.
    Empty where that is not decided in the time of `options`.
    """
    hopeless = unservable(compiled.problem)
    if hopeless:
        return hopeless
    options = replace(options, relative_gap=AMOUNT_GAP)
    for families in (*_alone_enough(compiled, solver, options), LIMITS, ELASTIC):
        elastic = elastic_programme(compiled, families)
        answer = solver.solve(elastic.milp, options)
        if not isinstance(answer, Infeasible) and answer.values is not None:
            broken = conflicts(compiled, elastic, answer.values)
            limits = any(c.family not in PROMISES for c in broken)
            short = _who_comes_short(compiled, solver, options) if limits else ()
            return tuple(
                Conflict(family=c.family, keys=c.keys, short_by=c.short_by, unit=c.unit, relax=c.relax,
                         classes=short if c.family not in PROMISES else ())
                for c in broken
            )  # fmt: skip
    return ()


def _alone_enough(compiled: Compiled, solver: Solver, options: SolveOptions) -> list[tuple[str, ...]]:
    """The family that suffices when it alone gives way, by the smallest relative amount; none, or one."""
    stated = {row.family for row in compiled.milp.rows} | {"quota"}
    found = []
    for family in sorted((set(LIMITS) - set(PROMISES)) & stated):
        answer = solver.solve(elastic_programme(compiled, (family,)).milp, options)
        if not isinstance(answer, Infeasible) and answer.objective is not None:
            found.append((answer.objective, family))
    return [(min(found)[1],)] if found else []


def _who_comes_short(compiled: Compiled, solver: Solver, options: SolveOptions) -> tuple[str, ...]:
    """The classes that are not served in full, as few requests as possible, where every limit stays."""
    elastic = elastic_programme(compiled, PROMISES)
    answer = solver.solve(elastic.milp, options)
    if isinstance(answer, Infeasible) or answer.values is None:
        return ()
    return classes_short(compiled, elastic, answer.values)


def unservable(problem: Problem) -> tuple[Conflict, ...]:
    """Classes with demand and neither a configuration nor an API: short by their whole sizing rate, req/s."""
    found = []
    for service in problem.demand.services:
        own = [c.capability for c in problem.candidates if c.service == service.id]
        for index, cls in enumerate(service.classes):
            hosted = any(k.served[index] for k in own)
            called = any(a.service == service.id and a.request_class == cls.id for a in problem.apis)
            rate = max(cls.sizing_req_per_s, default=0.0)
            if rate > 0 and not hosted and not called:
                found.append(
                    Conflict(family="serve_demand", keys=(service.id, cls.id), short_by=rate, unit="req/s",
                             relax=f"nothing can serve it: {_hurdle(problem, service.id, cls.id)}")
                )  # fmt: skip
    return tuple(found)


def _hurdle(problem: Problem, service: str, request_class: str) -> str:
    """What stands in the way: the promise that is missed least, else the most common reason."""
    reason = main_reason([r for r in problem.rejected if r.service == service], request_class)
    if reason is None:
        return "nothing that may be bought could"
    check = reason.example_check
    values = (f"{side} {_value(v, check.unit)}" for side, v in (("needed", check.needed), ("had", check.had)))
    return f"{reason.check.replace('_', ' ')} {', '.join(values)}, e.g. {reason.example}"


def _value(value: float | str | None, unit: str | None) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else f"{value:.6g} {unit or ''}".rstrip()
