"""Which limits cannot be kept together, and by how much they are missed at least."""

from __future__ import annotations

from typing import Protocol

from planner.candidates.types import Problem
from planner.explain.types import Conflict
from planner.formulation.compile import Compiled
from planner.formulation.elastic import conflicts, elastic_programme
from planner.formulation.milp import Milp
from planner.solve.types import Answer, Infeasible, SolveOptions


class Solver(Protocol):
    """Whatever solves a programme."""

    def solve(self, milp: Milp, options: SolveOptions) -> Answer:
        """The answer to a programme."""
        ...


def find_conflicts(compiled: Compiled, solver: Solver, options: SolveOptions) -> tuple[Conflict, ...]:
    """The limits that an infeasible programme breaks at least, with the amounts in their units.

    The classes that nothing can serve, where there are any; else the elastic programme of the formulation, solved:
    limits give way first, and requests go unserved only where no limit helps.
    Empty where that is not decided in the time of `options`.
    """
    hopeless = unservable(compiled.problem)
    if hopeless:
        return hopeless
    for demand in (False, True):
        elastic = elastic_programme(compiled, demand)
        answer = solver.solve(elastic.milp, options)
        if not isinstance(answer, Infeasible) and answer.values is not None:
            return tuple(
                Conflict(family=c.family, keys=c.keys, short_by=c.short_by, unit=c.unit, relax=c.relax)
                for c in conflicts(compiled, elastic, answer.values)
            )
    return ()


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
                             relax="nothing can serve it: see what was refused and why")
                )  # fmt: skip
    return tuple(found)
