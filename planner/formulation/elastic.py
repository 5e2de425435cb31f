"""Why nothing is feasible: the same programme with a price on breaking each row that people could relax."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.formulation.compile import Compiled
from planner.formulation.families import purchase_columns
from planner.formulation.milp import INF, Key, Milp, Row, Variable
from planner.formulation.registry import FAMILIES
from planner.formulation.sets import COMMITMENTS, Group, Sets
from planner.formulation.variables import instance_limit

ELASTIC = (
    "serve_demand",
    "batch_deadline",
    "spot_limit",
    "spare",
    "survive_loss",
    "quota",
    "budget",
    "api_limits",
    "provider_limits",
    "configurations",
)
"""Families whose rows may be broken; the others are physics or bookkeeping."""
LIMITS = tuple(f for f in ELASTIC if f not in ("serve_demand", "batch_deadline"))
"""What may give way while every request is served."""
PROMISES = ("serve_demand", "batch_deadline", "spot_limit", "spare", "survive_loss")
"""What is owed to workloads, not a limit on what is bought."""
WEIGHT = {"serve_demand": 1e3, "batch_deadline": 1e3}
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


def elastic_programme(compiled: Compiled, families: Collection[str] = ELASTIC) -> Elastic:
    """The rows of `families` get slacks ≥ 0; the objective is the weighted sum of relative slacks.

    lower − slack ≤ row ≤ upper + slack, minimise Σ weight·slack / max(1, |bound|)

    The rows of one limit (a quota, an offer's stock, a rate limit, in all slices) share one slack: what is granted
    holds in every slice. So no slack can be smaller while the others stay as they are. Without `serve_demand` every
    request is still served; the programme may stay infeasible then.
    """
    m = compiled.milp.copy()
    m.terms = {}
    _limits_as_rows(m, compiled.sets)
    groups: dict[Key, list[int]] = {}
    for index, row in enumerate(m.rows):
        if row.family in families and not _is_link(row):
            groups.setdefault(_limit(row, index), []).append(index)
    slacks: dict[int, int] = {}
    for indices in groups.values():
        first = m.rows[indices[0]]
        most = max(max(abs(_bound(m.rows[i])), _reach(m, i)) * m.rows[i].scale for i in indices)
        slack = m.add("slack", (indices[0],), 0, most / first.scale)
        for i in indices:
            row = m.rows[i]
            # An equality may only be missed from below: serving less than asked.
            sign = 1.0 if row.lower > -INF else -1.0
            columns = [*row.columns, slack]
            coefficients = [*row.coefficients, sign * first.scale / row.scale]
            m.rows[i] = Row(row.family, row.key, columns, coefficients, row.lower, row.upper, row.scale)
            slacks[i] = slack
        m.cost("slack", slack, WEIGHT.get(first.family, 1.0) / max(1.0, abs(_bound(first))))
    return Elastic(m, slacks)


def _bound(row: Row) -> float:
    return row.lower if row.lower > -INF else row.upper


def _limit(row: Row, index: int) -> Key:
    """What a row states a part of: rows that differ by slice, band or column alone are one limit."""
    if row.family == "quota":
        return (row.family, row.key[0])
    if row.family == "api_limits":
        return (row.family, row.key[0], row.key[1])
    return (row.family, index)


def _limits_as_rows(m: Milp, s: Sets) -> None:
    """Offers' own `max_instances`, which bound single variables, as quota rows: only a row can have a slack."""
    for p, group in s.markets:
        for option in (PurchaseOption.SPOT,) if group is None else group:
            price = s.pools[p].price(option)
            if price is None or price.max_instances is None:
                continue
            for t in range(len(s.slices)):
                for column in (
                    purchase_columns(m, s, p, group, option, t) if option in COMMITMENTS or s.sold_in(price, t) else ()
                ):
                    variable = m.variables[column]
                    natural = _natural_limit(s, p, group, option, t)
                    if variable.upper < natural:
                        m.variables[column] = Variable(variable.family, variable.key, variable.lower, natural, True)
                        key = (price.offer, t, variable.name)
                        m.row("quota", key, [(column, 1.0)], upper=float(price.max_instances))


def _natural_limit(s: Sets, p: int, group: Group | None, option: PurchaseOption, t: int) -> int:
    """Most instances that the demand can use; a commitment stands in every slice."""
    slices = range(len(s.slices)) if option in COMMITMENTS else (t,)
    return max(instance_limit(s, p, group, q) for q in slices)


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
    worst: dict[tuple[str, tuple[str, ...], str, str], float] = {}
    for index, slack in elastic.slacks.items():
        row = elastic.milp.rows[index]
        if values[slack] > 1e-6:
            amount = values[slack] * abs(row.coefficients[-1]) * row.scale
            keys = describe_key(compiled.sets, row.family, row.key)
            key = (row.family, keys, *_unit_and_relax(compiled.sets, row))
            worst[key] = max(worst.get(key, 0.0), amount)
    return tuple(
        Conflict(name, keys, amount, unit, relax) for (name, keys, unit, relax), amount in sorted(worst.items())
    )


def _unit_and_relax(s: Sets, row: Row) -> tuple[str, str]:
    """The unit of a row's slack and how to relax it; a quota may count instances, and an offer's stock is no quota."""
    family = FAMILIES[row.family]
    if row.family == "quota":
        counted = {q.id: q.per_accelerator for q in s.problem.quotas}.get(str(row.key[0]))
        if counted is None:
            return "instances", "the offer has no more: allow another place, option or accelerator"
        return ("accelerators" if counted else "instances"), family.relax
    if row.family == "api_limits" and row.key[1] == "tok_per_min":
        return "tokens/min", family.relax
    return family.unit, family.relax


def describe_key(s: Sets, family: str, key: Key) -> tuple[str, ...]:
    """A row's key in people's words: workload/class, slice, quota, …"""
    if family in ("batch_deadline", "spot_limit") and s.services[int(key[0])].is_batch:
        i, r, hours = int(key[0]), int(key[1]), s.services[int(key[0])].windows[int(key[2])]
        return s.services[i].classes[r].id, "; ".join(s.slices[t].label for t, h in enumerate(hours) if h > 0)
    if family in ("serve_demand", "spot_limit"):
        i, r, t = int(key[0]), int(key[1]), int(key[2])
        return s.services[i].classes[r].id, s.slices[t].label
    if family == "survive_loss":
        i, t, what, place = int(key[0]), int(key[1]), str(key[3]), str(key[4])
        return s.services[i].id, s.slices[t].label, f"{what} {place}"
    if family == "spare":
        return s.services[int(key[0])].id, s.slices[int(key[1])].label
    if family == "quota":
        return (str(key[0]),)
    if family == "api_limits":
        return str(key[0]), str(key[1])
    return tuple(str(part) for part in key)


def classes_short(compiled: Compiled, elastic: Elastic, values: Sequence[float]) -> tuple[str, ...]:
    """Request classes whose promises a solution of the programme with elastic `PROMISES` does not keep."""
    s = compiled.sets
    found: set[str] = set()
    for index, slack in elastic.slacks.items():
        row = elastic.milp.rows[index]
        if values[slack] > 1e-6 and row.family in PROMISES:
            service = int(row.key[0])
            classes = (
                s.active_classes[service]
                if row.family in ("spare", "survive_loss") or s.is_covering(service)
                else [int(row.key[1])]
            )
            found |= {s.services[service].classes[r].id for r in classes}
    return tuple(sorted(found))
