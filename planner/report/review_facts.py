"""What a review page shows beside the tables of the terminal: capacity by slice, places, decisions, sources."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from planner.demand.periods import day_of
from planner.report.types import PlanView, PurchaseView, Result, SliceView
from planner.report.words import part_of
from planner.units import HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class SliceCapacity:
    """One service in one slice, requests/s. Capacity is of the service's mix in its busiest slice, inside the SLO."""

    slice: str
    demand_req_per_s: float
    """Sizing rate, forecast margin included."""
    firm_req_per_s: float
    spot_req_per_s: float
    api_req_per_s: float
    """What APIs take at the peak."""


def services_of(result: Result, plan: PlanView) -> dict[str, tuple[str, ...]]:
    """Service → its workloads; from what the spec asks for, else (older results) from the deployments."""
    found = {a.service: a.workloads for a in result.asked}
    for d in plan.deployments:
        found.setdefault(d.service, d.workloads)
    known = {w for workloads in found.values() for w in workloads}
    for d_ in result.demand:
        if d_.workload not in known:
            found.setdefault(d_.workload, (d_.workload,))
    return found


def capacity_by_slice(result: Result, plan: PlanView, service: str, workloads: Iterable[str]) -> list[SliceCapacity]:
    """Demand and what serves it in every slice; empty where a deployment's capacity is not known."""
    names = set(workloads)
    used = [d for d in plan.deployments if d.service == service]
    if any(d.predicted.capacity_req_per_s_per_replica is None for d in used):
        return []
    apis = [a for a in plan.api if a.workload in names]
    rows = []
    for s in result.slices:
        owned = {
            spot: math.fsum(
                d.replicas_by_slice.get(s.id, 0) * (d.predicted.capacity_req_per_s_per_replica or 0.0)
                for d in used
                if d.spot is spot
            )
            for spot in (False, True)
        }
        rows.append(
            SliceCapacity(
                slice=s.id,
                demand_req_per_s=math.fsum(
                    d.sizing_req_per_s for d in result.demand if d.slice == s.id and d.workload in names
                ),
                firm_req_per_s=owned[False],
                spot_req_per_s=owned[True],
                api_req_per_s=math.fsum(a.peak_req_per_s_by_slice.get(s.id, 0.0) for a in apis),
            )
        )
    return rows


def busiest(rows: list[SliceCapacity], slices: Iterable[SliceView], most: int) -> list[SliceCapacity]:
    """All rows, or where they are more than `most` the busiest slice of every quarter (or part of one)."""
    if len(rows) <= most:
        return rows
    part = {s.id: part_of(s) for s in slices}
    best: dict[str, SliceCapacity] = {}
    for row in rows:
        before = best.get(part[row.slice])
        if before is None or row.demand_req_per_s > before.demand_req_per_s:
            best[part[row.slice]] = row
    return list(best.values())


@dataclass(frozen=True, slots=True)
class Place:
    """What stands in one country under one law."""

    country: str
    operator: str
    providers: tuple[str, ...]
    what: str
    """`machines` or `API`."""
    usd_per_month: float


UNKNOWN = "unknown"
MOST_COUNTRIES = 4
"""Countries of an API that are named; more are counted."""


def places(plan: PlanView) -> list[Place]:
    """Where a plan's data are processed and under whose law the operators are, the dearest first."""
    sums: dict[tuple[str, str, str], tuple[dict[str, None], list[float]]] = {}
    for p in plan.purchases:
        key = (p.country or UNKNOWN, p.operator_jurisdiction or UNKNOWN, "machines")
        providers, money = sums.setdefault(key, ({}, []))
        providers[p.provider] = None
        money.append(p.usd_per_month)
    for a in plan.api:
        key = (_countries(a.countries), a.operator_jurisdiction or UNKNOWN, "API")
        providers, money = sums.setdefault(key, ({}, []))
        providers[a.provider] = None
        money.append(a.usd_per_month)
    rows = [Place(c, o, tuple(names), what, math.fsum(money)) for (c, o, what), (names, money) in sums.items()]
    return sorted(rows, key=lambda r: (-r.usd_per_month, r.country, r.operator, r.what))


def _countries(countries: tuple[str, ...] | None) -> str:
    if not countries:
        return UNKNOWN
    if len(countries) <= MOST_COUNTRIES:
        return " or ".join(countries)
    return f"{' or '.join(countries[:MOST_COUNTRIES])} or {len(countries) - MOST_COUNTRIES} more"


def committed_usd(p: PurchaseView) -> float | None:
    """Non-cancellable money of one purchase: instances × price × hours of the term; None where the price is unknown."""
    if not p.term_months or p.existing:
        return 0.0
    if p.usd_per_hour is None:
        return None
    return max(p.instances_by_slice.values(), default=0) * p.usd_per_hour * HOURS_PER_MONTH * p.term_months


def begins(result: Result, start_month: float) -> str:
    """The day on which something begins; without a first day in the result the month from the start."""
    if result.starts_on is None:
        return "the first day" if start_month == 0 else f"month {start_month:g}"
    return day_of(start_month, result.starts_on).isoformat()


def needs_signature(p: PurchaseView) -> bool:
    """Whether a purchase binds for longer than the hour."""
    return p.term_months > 0 and not p.existing
