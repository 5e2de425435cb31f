"""The volume at which renting machines costs no more than an API, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.candidates.types import ApiCandidate, Candidate, Pool, Problem
from planner.demand.types import Demand, Service, Slice
from planner.explain.types import Flip
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

MOST_INSTANCES = 4096
"""Fleets searched; a break-even beyond this many instances of one pool is reported as none."""
_RENTED = (PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y)


@dataclass(frozen=True, slots=True)
class Volume:
    """A service's mean month: tokens, requests per class, and the all-API bill."""

    tokens_per_month: float
    api_usd_per_month: float
    apis: tuple[str, ...]

    @property
    def usd_per_token(self) -> float:
        """Of the all-API bill."""
        return self.api_usd_per_month / self.tokens_per_month


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where self-hosting on one pool meets the API: at `factor` times today's volume."""

    factor: float
    usd_per_month: float
    instances: int
    offer: str


def api_break_evens(problem: Problem) -> tuple[Flip, ...]:
    """One flip per service that both an API and rented machines could serve completely."""
    flips = []
    pools = {p.id: p for p in problem.pools}
    for service in problem.demand.services:
        volume = all_api(service, problem.demand.slices, problem.apis)
        own = [c for c in problem.candidates if c.service == service.id]
        if volume is None or not own or volume.tokens_per_month <= 0 or volume.api_usd_per_month <= 0:
            continue
        crossing = cheapest_crossing(service, volume, own, pools, problem)
        flips.append(_flip(service, volume, crossing))
    return tuple(flips)


def all_api(service: Service, slices: Sequence[Slice], apis: Sequence[ApiCandidate]) -> Volume | None:
    """The service's mean month served by the cheapest API of each class; None where a class has no API."""
    total_tokens = total_usd = 0.0
    used: list[str] = []
    for cls in service.classes:
        offers = [a for a in apis if a.service == service.id and a.request_class == cls.id]
        if not offers:
            return None
        best = min(offers, key=lambda a: (a.usd_per_request, a.api))
        requests = requests_per_month(cls.mean_req_per_s, slices)
        total_usd += requests * best.usd_per_request
        total_tokens += requests * (cls.input_tokens + cls.output_tokens)
        used += [best.api] if best.api not in used else []
    return Volume(total_tokens, total_usd, tuple(used))


def requests_per_month(rates_req_per_s: Sequence[float], slices: Sequence[Slice]) -> float:
    """Σ_τ h_τ · 3600 · rate_τ over the slices of one quarter (the mean quarter where there are several)."""
    hours = math.fsum(s.hours_per_month for s in slices)
    total = math.fsum(r * s.hours_per_month * SECONDS_PER_HOUR for r, s in zip(rates_req_per_s, slices, strict=True))
    return total * HOURS_PER_MONTH / hours if hours > 0 else 0.0


def replicas_per_volume(service: Service, candidate: Candidate, demand: Demand, margin: float) -> float | None:
    """Replicas (a real number) that today's volume needs in its busiest slice; None where a class is not served.

    n = max_τ max_row Σ_r margin · λ[r,τ] · use[row,r], λ the sizing rate. It scales with the volume.
    """
    capability = candidate.capability
    if not all(capability.served):
        return None
    load = 0.0
    for index in range(len(demand.slices)):
        rates = [margin * cls.sizing_req_per_s[index] for cls in service.classes]
        for row in capability.rows:
            load = max(load, math.fsum(x * u for x, u in zip(rates, row.use, strict=True)))
    return load


def cheapest_crossing(
    service: Service, volume: Volume, candidates: Sequence[Candidate], pools: dict[str, Pool], problem: Problem
) -> Crossing | None:
    """The smallest multiple of today's volume at which some pool hosts the service for no more than the API asks.

    i instances of a pool cost F + i·P·(1 + o) a month (P price of 730 h, o overhead share, F fixed overhead) and carry
    t_i = (i·⌊G/g⌋ − spare)/n times today's volume, n the replicas of today's volume. The API asks t·A. They meet at
    t = (F + i·P·(1 + o))/A, which counts where t ≤ t_i; the smallest such t over i, pools and options is returned.
    """
    overhead = problem.policy.ops_overhead
    spare = service.resilience.spare.count if service.resilience.spare else 0
    best: Crossing | None = None
    for c in candidates:
        pool = pools[c.pool]
        load = replicas_per_volume(service, c, problem.demand, problem.policy.headroom.forecast_margin)
        size = c.capability.config.accelerators
        if not load or load <= 0:
            continue
        for option in c.options:
            price = pool.price(option)
            if option not in _RENTED or price is None:
                continue
            month = price.usd_per_hour * HOURS_PER_MONTH * (1.0 + overhead.fraction)
            found = _meet(
                overhead.fixed_usd_per_month, month, volume.api_usd_per_month, load, spare, size, pool.accelerators
            )
            if found is not None and (best is None or (found[0], price.offer) < (best.factor, best.offer)):
                best = Crossing(found[0], found[0] * volume.api_usd_per_month, found[1], price.offer)
    return best


def _meet(
    fixed: float, month: float, api: float, load: float, spare: int, size: int, group: int
) -> tuple[float, int] | None:
    """(multiple of today's volume, instances) of the first meeting point on one pool, or None."""
    per_unit = group // size if size <= group else 0
    instances_per_replica = 1 if per_unit else -(-size // group)
    for unit in range(1, MOST_INSTANCES + 1):
        replicas = unit * per_unit if per_unit else unit
        instances = unit * instances_per_replica
        t = (fixed + instances * month) / api
        if t <= (replicas - spare) / load:
            return t, instances
        if per_unit and month * load >= api * per_unit:
            return None
        if not per_unit and instances_per_replica * month * load >= api:
            return None
    return None


def _flip(service: Service, volume: Volume, crossing: Crossing | None) -> Flip:
    now = volume.tokens_per_month
    api = " + ".join(volume.apis)
    head = f"all by API ({api}): {volume.api_usd_per_month:,.0f} USD/month for {now / 1e6:,.0f} M tokens"
    if crossing is None:
        return Flip(
            what="api_break_even", service=service.id, at=None, unit="tokens/month", now=now,
            text=f"{head}; no volume of this mix makes rented machines cheaper",
        )  # fmt: skip
    at = crossing.factor * now
    side = "below" if crossing.factor > 1.0 else "above"
    return Flip(
        what="api_break_even", service=service.id, at=at, unit="tokens/month", now=now,
        usd_per_month_at=crossing.usd_per_month,
        text=(
            f"{head}; break-even at {at / 1e6:,.0f} M tokens/month, where {crossing.instances} × {crossing.offer} "
            f"costs the same {crossing.usd_per_month:,.0f} USD/month; today's volume is {side} it"
        ),
    )  # fmt: skip
