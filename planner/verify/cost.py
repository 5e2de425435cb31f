"""Money of a plan from catalog prices alone; the one place that prices plans and baselines.

Σ over slices of hours · instances · price for what is rented by the hour; 730 h a month for commitments, used or not;
used hours for owned machines; mean volume for APIs; ops overhead on the self-hosted bill. Peaks and margins never
multiply money (DESIGN §3).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

from planner.base import PurchaseOption
from planner.candidates.types import Plan
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand
from planner.errors import VerificationError
from planner.spec.types import Spec
from planner.units import HOURS_PER_MONTH, MILLION, MONTHS_PER_QUARTER, SECONDS_PER_HOUR
from planner.verify.facts import Facts
from planner.verify.market import api_usd_per_request
from planner.verify.normalise import Bought, Called, Normal, Rates, Running, normalise
from planner.verify.types import ApiCost, PlanCost, PurchaseCost

TERMS: dict[PurchaseOption, str] = {
    PurchaseOption.ON_DEMAND: "on_demand",
    PurchaseOption.RESERVED_1Y: "reserved",
    PurchaseOption.RESERVED_3Y: "reserved",
    PurchaseOption.SPOT: "spot",
    PurchaseOption.OWNED: "owned",
}


def price_plan(plan: Plan, spec: Spec, catalog: Catalog, demand: Demand | None = None) -> PlanCost:
    """Price any plan, feasible or not, in USD per month of 730 h.

    `demand` saves deriving it again. Raises VerificationError where something of the plan has no price or no shape.
    """
    facts = Facts.of(spec, catalog, demand)
    normal, found = normalise(plan, facts)
    unpriced = [v for v in found if v.family != "candidate"]
    if unpriced:
        raise VerificationError(tuple(map(str, unpriced)))
    return price(normal, facts)


def price(normal: Normal, facts: Facts) -> PlanCost:
    """Price the resolved part of a plan."""
    purchases = tuple(_purchase_cost(b, facts) for b in normal.bought)
    apis = tuple(_api_cost(c, facts) for c in normal.called)
    terms: dict[str, float] = defaultdict(float)
    for bought, p in zip(normal.bought, purchases, strict=True):
        away = _fallback_usd_per_month(bought, facts)
        terms[TERMS[p.option]] += p.usd_per_month - away
        if away:
            terms["spot_fallback"] += away
    self_hosted = math.fsum(terms.values())
    overhead = _overhead(self_hosted, normal, facts)
    if apis:
        terms["api"] = math.fsum(a.usd_per_month for a in apis)
    if overhead:
        terms["ops_overhead"] = overhead
    cash = math.fsum([*(p.cash_usd_per_month for p in purchases), terms.get("api", 0.0), overhead])
    return PlanCost(
        terms={t: terms[t] for t in sorted(terms)},
        total_usd_per_month=math.fsum(terms.values()),
        cash_usd_per_month=cash,
        usd_per_million_tokens=_usd_per_million_tokens(normal, purchases, apis, overhead, facts),
        liability_beyond_horizon_usd=math.fsum(p.liability_beyond_horizon_usd for p in purchases),
        committed_usd=math.fsum(p.committed_usd for p in purchases),
        purchases=purchases,
        api=apis,
    )


def _overhead(self_hosted: float, normal: Normal, facts: Facts) -> float:
    """Fraction of the self-hosted bill, and the fixed part as soon as anything is self-hosted."""
    rule = facts.spec.policy.ops_overhead
    anything = any(sum(b.purchase.instances) for b in normal.bought)
    return rule.fraction * self_hosted + (rule.fixed_usd_per_month if anything else 0.0)


def _purchase_cost(bought: Bought, facts: Facts) -> PurchaseCost:
    purchase, tariff, spot = bought.purchase, bought.tariff, bought.pool.spot
    usd_per_hour = tariff.usd_per_hour
    if purchase.option is PurchaseOption.SPOT and spot is not None:
        usd_per_hour = spot.availability * tariff.usd_per_hour + spot.fallback_share_usd_per_hour
    if not tariff.term_months:
        month = _instance_hours(bought, facts) * usd_per_hour
        return _cost(bought, month, month, 0.0, 0.0)
    instances = max(purchase.instances, default=0)
    month = instances * usd_per_hour * HOURS_PER_MONTH
    horizon = facts.quarters * MONTHS_PER_QUARTER
    paid_months = min(horizon, tariff.term_months)
    upfront = tariff.upfront_fraction * month * tariff.term_months
    recurring = (1.0 - tariff.upfront_fraction) * month
    cash = (upfront + recurring * paid_months) / horizon
    return _cost(bought, month, cash, month * tariff.term_months, recurring * (tariff.term_months - paid_months))


def _instance_hours(bought: Bought, facts: Facts) -> float:
    """Instance-hours per month of what is rented by the hour."""
    return math.fsum(h * n for h, n in zip(facts.months_per_slice, bought.purchase.instances, strict=True))


def _fallback_usd_per_month(bought: Bought, facts: Facts) -> float:
    """The part of a spot purchase's cost that goes to what takes over while spot is away."""
    if bought.purchase.option is not PurchaseOption.SPOT or bought.pool.spot is None:
        return 0.0
    return _instance_hours(bought, facts) * bought.pool.spot.fallback_share_usd_per_hour


def _cost(bought: Bought, month: float, cash: float, committed: float, liability: float) -> PurchaseCost:
    return PurchaseCost(
        pool=bought.pool.id,
        option=bought.purchase.option,
        offer=bought.tariff.offer,
        usd_per_month=month,
        cash_usd_per_month=cash,
        committed_usd=committed,
        liability_beyond_horizon_usd=liability,
    )


def _mean_rates(rates: Rates, weights: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """[slice] mean req/s: Σ_b f_b · rate_b."""
    return tuple(
        math.fsum(f * x for f, x in zip(bands, xs, strict=True)) for bands, xs in zip(weights, rates, strict=True)
    )


def requests_per_month(rates: Rates, weights: tuple[tuple[float, ...], ...], facts: Facts) -> float:
    """Mean requests per month of rates [slice][band]."""
    means = _mean_rates(rates, weights)
    return math.fsum(h * SECONDS_PER_HOUR * x for h, x in zip(facts.months_per_slice, means, strict=True))


def _api_cost(called: Called, facts: Facts) -> ApiCost:
    c, weights = called.request_class, called.service.band_weights
    each = api_usd_per_request(called.offer, c.input_tokens, c.output_tokens, c.cached_input_tokens)
    return ApiCost(
        request_class=c.id,
        api=called.offer.id,
        usd_per_month=each * requests_per_month(called.rates, weights, facts),
        mean_req_per_s=_mean_rates(called.rates, weights),
        peak_req_per_s=tuple(max(bands, default=0.0) for bands in called.rates),
    )


def _usd_per_million_tokens(
    normal: Normal, purchases: tuple[PurchaseCost, ...], apis: tuple[ApiCost, ...], overhead: float, facts: Facts
) -> dict[str, float | None]:
    """workload → USD per million tokens.

    An API bill goes to the workload that caused it. A machine's bill is shared by the deployments of its pool and
    market (spot or firm) by accelerator-hours held, and inside a deployment by busy replica time; machines that nobody
    uses and the overhead are shared by the machine bills.
    """
    bill: dict[str, float] = {c.workload: 0.0 for c in facts.demand.classes}
    idle = overhead
    markets: dict[tuple[str, bool], float] = defaultdict(float)
    for b, cost in zip(normal.bought, purchases, strict=True):
        markets[b.pool.id, b.purchase.option is PurchaseOption.SPOT] += cost.usd_per_month
    for (pool_id, spot), usd in sorted(markets.items()):
        inside = [r for r in normal.running if r.pool.id == pool_id and r.deployment.spot == spot]
        split = _split(usd, [_accelerator_hours(r, facts) for r in inside])
        idle += usd - math.fsum(split)
        for running, part in zip(inside, split, strict=True):
            work = [_busy(running, i, facts) for i in range(len(running.service.classes))]
            for c, share in zip(running.service.classes, _split(part, work), strict=True):
                bill[c.workload] += share
    for workload, share in zip(bill, _split(idle, list(bill.values()), even=True), strict=True):
        bill[workload] += share
    for called, api in zip(normal.called, apis, strict=True):
        bill[called.request_class.workload] += api.usd_per_month
    tokens = _tokens_per_month(facts)
    return {w: usd / tokens[w] * MILLION if tokens[w] > 0 else None for w, usd in bill.items()}


def _split(amount: float, weights: list[float], even: bool = False) -> list[float]:
    """Shares of an amount in proportion to the weights; all zero: nothing, or evenly."""
    total = math.fsum(weights)
    if total > 0:
        return [amount * w / total for w in weights]
    return [amount / len(weights) if even else 0.0 for _ in weights]


def _accelerator_hours(running: Running, facts: Facts) -> float:
    hours: Callable[[int], float] = facts.months_per_slice.__getitem__
    return running.accelerators * math.fsum(hours(t) * n for t, n in enumerate(running.deployment.replicas))


def _busy(running: Running, index: int, facts: Facts) -> float:
    """Replica time per month that a class keeps busy; by requests where the time is unknown."""
    requests = requests_per_month(running.rates[index], running.service.band_weights, facts)
    work = running.capability.work_s if running.capability else ()
    return requests * (work[index] if work and work[index] > 0 else 1e-9)


def _tokens_per_month(facts: Facts) -> dict[str, float]:
    """workload → input and output tokens per month at the mean rates."""
    tokens: dict[str, float] = defaultdict(float)
    for c in facts.demand.classes:
        requests = math.fsum(
            h * SECONDS_PER_HOUR * x for h, x in zip(facts.months_per_slice, c.mean_req_per_s, strict=True)
        )
        tokens[c.workload] += requests * (c.input_tokens + c.output_tokens)
    return tokens
