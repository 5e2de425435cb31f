"""Why nothing is feasible: the same programme with a price on breaking each row that people could relax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.formulation.compile import Compiled
from planner.formulation.milp import INF, Key, Milp, Row
from planner.formulation.registry import FAMILIES
from planner.formulation.sets import Sets

ELASTIC = ("serve_demand", "spot_limit", "spare", "quota", "budget", "api_limits", "provider_limits", "configurations")
"""Families whose rows may be broken; the others are physics or bookkeeping."""
WEIGHT = {"serve_demand": 1e3}
"""Refusing requests is the last resort: it costs a thousand times the same relative breach of a limit."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A family that cannot hold together with the others, and by how much."""

    family: str
    keys: tuple[str, ...]
    short_by: float
    unit: str
    relax: str


@dataclass(frozen=True)
class Elastic:
    """The elastic programme and the slack columns of its rows."""

    milp: Milp
    slacks: dict[int, int]
    """Index of the row → column of its slack."""


def elastic_programme(compiled: Compiled) -> Elastic:
    """Every relaxable row gets a slack ≥ 0; the objective is the weighted sum of relative slacks.

    lower − slack ≤ row ≤ upper + slack, minimise Σ weight·slack / max(1, |bound|)
    """
    m = compiled.milp.copy()
    m.terms = {}
    slacks: dict[int, int] = {}
    for index, row in enumerate(compiled.milp.rows):
        if row.family not in ELASTIC or _is_link(row):
            continue
        bound = row.lower if row.lower > -INF else row.upper
        slack = m.add("slack", (index,), 0, max(abs(bound), _reach(compiled.milp, index)))
        signs = ([1.0] if row.lower > -INF else []) + ([-1.0] if row.upper < INF else [])
        columns, coefficients = list(row.columns), list(row.coefficients)
        if len(signs) == 2:
            # An equality may only be missed from below: serving less than asked.
            signs = [1.0]
        columns.append(slack)
        coefficients.append(signs[0])
        m.rows[index] = Row(row.family, row.key, columns, coefficients, row.lower, row.upper, row.scale)
        m.cost("slack", slack, WEIGHT.get(row.family, 1.0) / max(1.0, abs(bound)))
        slacks[index] = slack
    return Elastic(m, slacks)


def _is_link(row: Row) -> bool:
    """Rows that define an indicator or a loss; breaking one means nothing."""
    if row.family in ("provider_limits", "configurations"):
        return row.key[0] != "count"
    return row.family == "spare" and isinstance(row.key[0], str)


def _reach(milp: Milp, index: int) -> float:
    """Largest |row| that the variables' bounds allow."""
    row = milp.rows[index]
    pairs = zip(row.columns, row.coefficients, strict=True)
    return sum(abs(v) * max(abs(milp.variables[c].lower), abs(milp.variables[c].upper)) for c, v in pairs)


def conflicts(compiled: Compiled, elastic: Elastic, values: Sequence[float]) -> tuple[Conflict, ...]:
    """The broken rows of an elastic solution: per family and keys the worst one, in the family's unit."""
    worst: dict[tuple[str, tuple[str, ...]], float] = {}
    for index, slack in elastic.slacks.items():
        row = compiled.milp.rows[index]
        amount = values[slack] * row.scale
        if values[slack] > 1e-6:
            key = (row.family, describe_key(compiled.sets, row.family, row.key))
            worst[key] = max(worst.get(key, 0.0), amount)
    return tuple(
        Conflict(name, keys, amount, FAMILIES[name].unit, FAMILIES[name].relax)
        for (name, keys), amount in sorted(worst.items())
    )


def describe_key(s: Sets, family: str, key: Key) -> tuple[str, ...]:
    """A row's key in people's words: workload/class, slice, quota, …"""
    if family in ("serve_demand", "spot_limit"):
        i, r, t = int(key[0]), int(key[1]), int(key[2])
        return s.services[i].classes[r].id, s.slices[t].label
    if family == "spare":
        return s.services[int(key[0])].id, s.slices[int(key[1])].label
    if family == "quota":
        return str(key[0]), s.slices[int(key[1])].label
    if family == "api_limits":
        return str(key[0]), str(key[1])
    return tuple(str(part) for part in key)
