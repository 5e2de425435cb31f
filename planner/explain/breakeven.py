"""The volume, and the API price, at which renting machines costs no more than an API: closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.candidates.types import ApiCandidate, Candidate, Problem
from planner.demand.types import Demand, Service, Slice
from planner.explain.types import Flip
from planner.spec.types import SpareDomain
from planner.units import HOURS_PER_MONTH, MILLION, SECONDS_PER_HOUR

MOST_UNITS = 4096
"""Fleets searched; a break-even beyond this many instances of one pool is reported as none."""
MOST_APIS = 3
"""APIs whose break-even price is given, the cheapest first."""
_RENTED = (PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y)


@dataclass(frozen=True, slots=True)
class Volume:
    """A service's mean month: tokens, requests per class, and the all-API bill."""

    tokens_per_month: float
    api_usd_per_month: float
    apis: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where self-hosting on one pool meets the API: at `factor` times today's volume."""

    factor: float
    usd_per_month: float
    instances: int
    offer: str


@dataclass(frozen=True, slots=True)
class Hosting:
    """The whole service on machines of one pool, at today's volume."""

    usd_per_month: float
    instances: int
    offer: str


@dataclass(frozen=True, slots=True)
class Tariff:
    """One way to host a service on a pool: what an instance costs a month, overhead inside, and what it holds."""

    offer: str
    usd_per_month: float
    load: float
    """Replicas (a real number) that today's volume needs."""
    spare: int
    per_unit: int
    """Replicas that a unit holds."""
    instances_per_unit: int
    """Instances of a unit: 1, or more where a replica spans several."""

    @property
    def unit_usd_per_month(self) -> float:
        return self.instances_per_unit * self.usd_per_month


def api_break_evens(problem: Problem) -> tuple[Flip, ...]:
    """Per service that both an API and rented machines could serve completely: the volume and the API prices at which
    the two bills are equal."""
    flips: list[Flip] = []
    for service in problem.demand.services:
        volume = all_api(service, problem.demand.slices, problem.apis)
        if volume is None or volume.tokens_per_month <= 0 or volume.api_usd_per_month <= 0:
            continue
        tariffs = hosting_tariffs(service, problem)
        if not tariffs:
            continue
        fixed = problem.policy.ops_overhead.fixed_usd_per_month
        hosting = cheapest_hosting(tariffs, fixed)
        crossing = cheapest_crossing(tariffs, fixed, volume.api_usd_per_month)
        flips.append(_volume_flip(service, volume, hosting, crossing))
        bills = api_bills(service, problem.demand.slices, problem.apis)
        for api, bill in sorted(bills.items(), key=lambda kv: (kv[1], kv[0]))[:MOST_APIS]:
            flips.append(_price_flip(service, api, bill, volume.tokens_per_month, hosting))
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


def api_bills(service: Service, slices: Sequence[Slice], apis: Sequence[ApiCandidate]) -> dict[str, float]:
    """USD/month of every API that could serve all classes of the service alone."""
    bills: dict[str, float] = {}
    for api in sorted({a.api for a in apis if a.service == service.id}):
        prices = {a.request_class: a.usd_per_request for a in apis if a.service == service.id and a.api == api}
        if all(c.id in prices for c in service.classes):
            bills[api] = math.fsum(requests_per_month(c.mean_req_per_s, slices) * prices[c.id] for c in service.classes)
    return {api: bill for api, bill in bills.items() if bill > 0}


def hosting_tariffs(service: Service, problem: Problem) -> list[Tariff]:
    """Every candidate that serves the whole service, under every rented firm option.

    None where more may be lost than replicas, or work is not served as it comes: one pool in proportion to the volume
    does not describe such a service.
    """
    rule = service.resilience
    if service.is_batch or rule.survive_loss_of or (rule.spare and rule.spare.domain is not SpareDomain.REPLICA):
        return []
    pools = {p.id: p for p in problem.pools}
    overhead = 1.0 + problem.policy.ops_overhead.fraction
    spare = service.resilience.spare.count if service.resilience.spare else 0
    found = []
    loads: dict[int, float | None] = {}
    for c in problem.candidates:
        if c.service != service.id:
            continue
        if id(c.capability) not in loads:
            margin = problem.policy.headroom.forecast_margin
            loads[id(c.capability)] = replicas_per_volume(service, c, problem.demand, margin)
        load = loads[id(c.capability)]
        if not load:
            continue
        pool, size = pools[c.pool], c.capability.config.accelerators
        for option in c.options:
            price = pool.price(option)
            if option in _RENTED and price is not None:
                found.append(
                    Tariff(
                        price.offer, price.usd_per_hour * HOURS_PER_MONTH * overhead, load, spare,
                        per_unit=max(1, pool.accelerators // size), instances_per_unit=-(-size // pool.accelerators),
                    )
                )  # fmt: skip
    return found


def cheapest_hosting(tariffs: Sequence[Tariff], fixed_usd_per_month: float) -> Hosting:
    """Today's volume on one pool: whole replicas and spares in whole instances, the cheapest way."""
    ways = []
    for t in tariffs:
        replicas = max(1, math.ceil(t.load - 1e-9)) + t.spare
        units = -(-replicas // t.per_unit)
        ways.append((fixed_usd_per_month + units * t.unit_usd_per_month, t.offer, units * t.instances_per_unit))
    usd, offer, instances = min(ways)
    return Hosting(usd, instances, offer)


def cheapest_crossing(
    tariffs: Sequence[Tariff], fixed_usd_per_month: float, api_usd_per_month: float
) -> Crossing | None:
    """The smallest multiple of today's volume at which some pool hosts the service for no more than the API asks.

    i units of a pool cost F + i·P (P with overhead, F the fixed overhead) and carry t_i = (i·replicas − spare)/n times
    today's volume, n the replicas of today's volume. The API asks t·A. They meet at t = (F + i·P)/A, which counts where
    t ≤ t_i; the smallest such t over units, pools and options is returned.
    """
    best: Crossing | None = None
    for tariff in tariffs:
        found = _meet(tariff, fixed_usd_per_month, api_usd_per_month)
        if found is not None and (best is None or (found[0], tariff.offer) < (best.factor, best.offer)):
            best = Crossing(found[0], found[0] * api_usd_per_month, found[1], tariff.offer)
    return best


def _meet(tariff: Tariff, fixed: float, api: float) -> tuple[float, int] | None:
    """(multiple of today's volume, instances) of the first meeting point on one pool, or None."""
    if tariff.unit_usd_per_month * tariff.load >= api * tariff.per_unit:
        return None  # a full unit costs more than the API asks for what it carries
    for unit in range(1, MOST_UNITS + 1):
        t = (fixed + unit * tariff.unit_usd_per_month) / api
        if t <= (unit * tariff.per_unit - tariff.spare) / tariff.load:
            return t, unit * tariff.instances_per_unit
    return None


def _volume_flip(service: Service, volume: Volume, hosting: Hosting, crossing: Crossing | None) -> Flip:
    """The verdict at today's volume, then the smallest volume at which machines cost no more than the API."""
    now = volume.tokens_per_month
    return Flip(
        what="api_volume", service=service.id, at=None if crossing is None else crossing.factor * now,
        unit="tokens/month", now=now, usd_per_month_at=None if crossing is None else crossing.usd_per_month,
        text=f"{_verdict(volume, hosting)}; {_first_crossing(now, crossing, volume, hosting)}",
    )  # fmt: skip


def _verdict(volume: Volume, hosting: Hosting) -> str:
    api, own = volume.api_usd_per_month, hosting.usd_per_month
    side = "the API is cheaper" if api < own else "machines are cheaper" if own < api else "both cost the same"
    return (
        f"at today's volume, {volume.tokens_per_month / MILLION:,.0f} M tokens/month, {side}: all by API "
        f"({' + '.join(volume.apis)}) {api:,.0f}, all on {hosting.instances} × {hosting.offer} {own:,.0f} USD/month"
    )


def _first_crossing(now: float, crossing: Crossing | None, volume: Volume, hosting: Hosting) -> str:
    if crossing is None:
        return "no volume of this mix makes rented machines cheaper"
    text = (
        f"machines first cost no more than the API at {crossing.factor * now / MILLION:,.0f} M tokens/month, where "
        f"{crossing.instances} × {crossing.offer} costs the same {crossing.usd_per_month:,.0f} USD/month"
    )
    if crossing.factor <= 1.0 and volume.api_usd_per_month < hosting.usd_per_month:
        text += "; above that, whole instances tip it to either side, today to the API"
    return text


def _price_flip(service: Service, api: str, bill: float, tokens: float, hosting: Hosting) -> Flip:
    """The price of an API at which the service on machines costs the same as all of it by this API."""
    now, at = (usd / tokens * MILLION for usd in (bill, hosting.usd_per_month))
    side = "above" if bill > hosting.usd_per_month else "below"
    return Flip(
        what="api_price", service=service.id, at=at, unit="USD per million tokens of the mix", now=now,
        usd_per_month_at=hosting.usd_per_month,
        text=(
            f"all by {api} costs {bill:,.0f} USD/month, {now:.3g} USD per million tokens of this mix; all on "
            f"{hosting.instances} × {hosting.offer} costs {hosting.usd_per_month:,.0f}: equal at {at:.3g} USD per "
            f"million tokens ({hosting.usd_per_month / bill:.3g} × today's price, which is {side} it)"
        ),
    )  # fmt: skip
