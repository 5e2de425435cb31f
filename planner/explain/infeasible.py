"""Which limits cannot be kept together: the smallest slacks that would make the programme feasible."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from planner.candidates.types import Problem
from planner.explain.types import Conflict
from planner.formulation.compile import Compiled
from planner.formulation.milp import Key, Milp, Row
from planner.formulation.registry import FAMILIES
from planner.formulation.sets import Sets
from planner.solve.types import Answer, Infeasible, SolveOptions
from planner.units import HOURS_PER_MONTH

UNSERVED_WEIGHT = 100.0
"""Serving less is the last resort: a whole class unserved costs as much as every other limit broken 100-fold."""
LEAST_SLACK = 1e-6


class Solver(Protocol):
    """Whatever solves a programme."""

    def solve(self, milp: Milp, options: SolveOptions) -> Answer: ...


def find_conflicts(compiled: Compiled, solver: Solver, options: SolveOptions) -> tuple[Conflict, ...]:
    """The limits that an infeasible programme breaks at least, with the amounts in their units.

    First the classes that nothing can serve; where every class has a candidate, the elastic programme: minimise
    Σ slack / |limit| over quota, budget, API, provider, configuration, spot and spare rows, serving less only where
    that is not enough. One conflict per limit, the largest slack over slices and bands.
    """
    hopeless = unservable(compiled.problem)
    if hopeless:
        return hopeless
    milp, slacks = elastic(compiled)
    answer = solver.solve(milp, options)
    if isinstance(answer, Infeasible) or answer.values is None:
        return ()
    found: dict[tuple[str, tuple[str, ...]], Conflict] = {}
    for column, row in slacks.items():
        amount = answer.values[column]
        if amount <= LEAST_SLACK:
            continue
        keys, scale, unit = describe(row, compiled.sets)
        conflict = Conflict(family=row.family, keys=keys, short_by=amount * scale, unit=unit)
        before = found.get((row.family, keys))
        if before is None or (before.short_by or 0.0) < amount * scale:
            found[row.family, keys] = conflict
    return tuple(found[key] for key in sorted(found))


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
                found.append(Conflict(family="serve_demand", keys=(service.id, cls.id), short_by=rate, unit="req/s"))
    return tuple(found)


def elastic(compiled: Compiled) -> tuple[Milp, dict[int, Row]]:
    """A copy of the programme in which limits may be exceeded at a price, and slack column → row."""
    milp = compiled.milp.copy()
    milp.terms = {}
    slacks: dict[int, Row] = {}
    for index, row in enumerate(compiled.milp.rows):
        if not is_limit(row):
            continue
        upward = row.upper != float("inf") and row.family != "serve_demand"
        column = milp.add("slack", (index,))
        coefficient = -1.0 if upward else 1.0
        milp.rows[index] = replace(row, columns=[*row.columns, column], coefficients=[*row.coefficients, coefficient])
        limit = abs(row.upper if upward else row.lower)
        weight = UNSERVED_WEIGHT if row.family == "serve_demand" else 1.0
        milp.cost("slack", column, weight / max(limit, 1.0))
        slacks[column] = row
    return milp, slacks


def is_limit(row: Row) -> bool:
    """Rows that state a limit of the user or of a market, not the links inside a family."""
    if row.family in ("serve_demand", "spot_limit", "quota", "budget", "api_limits"):
        return True
    if row.family == "spare":
        return len(row.key) == 3 and isinstance(row.key[0], int)
    return row.family in ("provider_limits", "configurations") and row.key == ("count",)


def describe(row: Row, sets: Sets) -> tuple[tuple[str, ...], float, str]:
    """(keys for people, factor from the row's own scale to its unit, unit)."""
    unit = FAMILIES[row.family].unit
    if row.family in ("serve_demand", "spot_limit"):
        i, r, t = (int(k) for k in row.key[:3])
        return (sets.services[i].id, sets.request_class(i, r).id), sets.top(i, r, t), unit
    if row.family == "spare":
        i, t = int(row.key[0]), int(row.key[1])
        return (sets.services[i].id,), sets.service_rate(i, t, -1), unit
    if row.family == "budget":
        limit = sets.problem.policy.budget
        usd = limit.usd_per_month if limit is not None else 0.0
        return (str(row.key[0]),), max(usd, 1e-6 * HOURS_PER_MONTH), unit
    if row.family == "api_limits":
        return _api_limit(row.key, row, sets)
    if row.family == "quota":
        per_instance = all(q.id != row.key[0] or not q.per_accelerator for q in sets.problem.quotas)
        return (str(row.key[0]),), 1.0, "instances" if per_instance else "accelerators"
    return tuple(str(k) for k in row.key if k != "count"), 1.0, unit


def _api_limit(key: Key, row: Row, sets: Sets) -> tuple[tuple[str, ...], float, str]:
    offer = next(a.candidate for a in sets.apis if a.candidate.api == key[0])
    by_rate = key[1] == "req_per_s"
    limit = offer.max_req_per_s if by_rate else offer.max_tok_per_min
    scale = (limit or 0.0) / row.upper if row.upper else 1.0
    return (offer.api,), scale, "req/s" if by_rate else "tok/min"
