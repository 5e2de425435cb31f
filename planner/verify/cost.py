"""Money of a plan from catalog prices alone; the one place that prices plans and baselines.

Σ over slices of hours · instances · price for what is rented by the hour; 730 h a month for commitments, used or not;
used hours for owned machines; mean volume for APIs; ops overhead on the self-hosted bill. Peaks and margins never
multiply money (DESIGN §3).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from planner.base import PurchaseOption
from planner.candidates.types import Plan
from planner.catalog.catalog import Catalog
from planner.demand.periods import month_of
from planner.demand.types import Demand
from planner.errors import VerificationError
from planner.spec.types import Spec, Terminal
from planner.units import HOURS_PER_MONTH, MILLION, MONTHS_PER_QUARTER, SECONDS_PER_HOUR
from planner.verify.commitments import cash_by_month, commitment_use
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
    total = math.fsum(terms.values())
    rates = _by_period(normal, purchases, apis, facts)
    return PlanCost(
        terms={t: terms[t] for t in sorted(terms)},
        total_usd_per_month=total,
        cash_usd_per_month=cash,
        usd_per_million_tokens=_usd_per_million_tokens(normal, purchases, apis, overhead, facts),
        liability_beyond_horizon_usd=math.fsum(p.liability_beyond_horizon_usd for p in purchases),
        committed_usd=math.fsum(p.committed_usd for p in purchases),
        purchases=purchases,
        api=apis,
        judged_usd_per_month=_judged(total, rates, normal, purchases, facts),
        by_quarter=_by_quarter(total, rates, facts),
        cash_by_quarter=_cash_by_quarter(cash, rates, purchases, facts),
        sunk_usd_per_month=_sunk(facts),
        cash_by_month=cash_by_month(normal, purchases, rates, facts),
        commitments=commitment_use(normal, facts),
    )


def _by_period(
    normal: Normal, purchases: Sequence[PurchaseCost], apis: Sequence[ApiCost], facts: Facts
) -> tuple[float, ...]:
    """[period] USD per month while it lasts, amortised, overhead included."""
    found = []
    for i in range(len(facts.timeline.stretches)):
        hosted = math.fsum(p.usd_by_period[i] for p in purchases)
        found.append(hosted + _overhead(hosted, normal, facts) + math.fsum(a.usd_by_period[i] for a in apis))
    return tuple(found)


def _judged(
    total: float, rates: Sequence[float], normal: Normal, purchases: Sequence[PurchaseCost], facts: Facts
) -> float:
    time = facts.timeline
    if len(time.stretches) == 1 and time.rule.terminal is not Terminal.CHARGE:
        return total  # one period that goes on, or is all that counts
    share = 1.0 + facts.spec.policy.ops_overhead.fraction
    promised = [
        (share * p.committed_usd / b.tariff.term_months, b.purchase.start_month,
         b.purchase.start_month + b.tariff.term_months)
        for b, p in zip(normal.bought, purchases, strict=True) if b.tariff.term_months
    ]  # fmt: skip
    return time.judged(rates, promised)


def _by_quarter(total: float, rates: Sequence[float], facts: Facts) -> tuple[float, ...]:
    """[quarter] USD per month."""
    time = facts.timeline
    if len(time.stretches) == 1:
        return (total,)
    return tuple(
        math.fsum(r * p.months for r, p in zip(rates, time.stretches, strict=True) if p.quarter == q)
        / MONTHS_PER_QUARTER
        for q in time.quarters
    )


def _cash_by_quarter(
    cash: float, rates: Sequence[float], purchases: Sequence[PurchaseCost], facts: Facts
) -> tuple[float, ...]:
    """[quarter] invoices per month: amortised cost with commitments as they are paid."""
    time = facts.timeline
    if len(time.stretches) == 1:
        return (cash,)
    amortised = _by_quarter(0.0, rates, facts)
    found = []
    for i, q in enumerate(time.quarters):
        spread = math.fsum(
            p.usd_by_period[j] * s.months / MONTHS_PER_QUARTER
            for p in purchases for j, s in enumerate(time.stretches) if s.quarter == q
        )  # fmt: skip
        found.append(amortised[i] - spread + math.fsum(p.cash_by_quarter[i] for p in purchases))
    return tuple(found)


def _sunk(facts: Facts) -> float:
    """Commitments that run already: USD per month of the horizon, at what they cost or at the catalog's price."""
    time, spec = facts.timeline, facts.spec
    prices = {o.id.lower(): o.price_usd_per_hour for o in facts.catalog.offers}
    start = spec.horizon.start or spec.policy.price_date or facts.catalog.as_of
    usd = 0.0
    for held in spec.fleet.commitments:
        each = prices.get(held.offer.lower(), 0.0) if held.usd_per_hour is None else held.usd_per_hour
        months = min(time.months, max(0.0, month_of(held.ends, start, spec.horizon.quarters)))
        usd += each * held.instances * HOURS_PER_MONTH * months
    return usd / time.months


def _overhead(self_hosted: float, normal: Normal, facts: Facts) -> float:
    """Fraction of the self-hosted bill, and the fixed part as soon as anything is self-hosted."""
    rule = facts.spec.policy.ops_overhead
    anything = any(sum(b.purchase.instances) for b in normal.bought)
    return rule.fraction * self_hosted + (rule.fixed_usd_per_month if anything else 0.0)


def _purchase_cost(bought: Bought, facts: Facts) -> PurchaseCost:
    if bought.tariff.term_months:
        return _commitment_cost(bought, facts)
    time = facts.timeline
    each = [_usd_per_hour(bought, s.quarter) for s in facts.demand.slices]
    month = _per_month(bought, facts, each)
    rates = [0.0] * len(time.stretches)
    for t, (s, n) in enumerate(zip(facts.demand.slices, bought.purchase.instances, strict=True)):
        stretch = time.stretches[time.stretch_of(t)]
        rates[time.stretch_of(t)] += s.hours_per_month * n * each[t] * MONTHS_PER_QUARTER / stretch.months
    cash = tuple(
        math.fsum(r * s.months for r, s in zip(rates, time.stretches, strict=True) if s.quarter == q)
        / MONTHS_PER_QUARTER
        for q in time.quarters
    )
    return _cost(bought, month, month, 0.0, 0.0, tuple(rates), cash)


def _usd_per_hour(bought: Bought, quarter: int) -> float:
    """Expected price of an instance in a quarter; of spot with what takes over while it is away."""
    spot, usd = bought.pool.spot, bought.tariff.usd_in(quarter)
    if bought.purchase.option is PurchaseOption.SPOT and spot is not None:
        return spot.availability * usd + spot.fallback_share_usd_per_hour(quarter)
    return usd


def _commitment_cost(bought: Bought, facts: Facts) -> PurchaseCost:
    """Paid for its term from its start, used or not, at the price of the quarter in which it begins."""
    purchase, tariff, time = bought.purchase, bought.tariff, facts.timeline
    start, close = purchase.start_month, purchase.start_month + tariff.term_months
    instances = max(purchase.instances, default=0)
    month = instances * tariff.usd_in(time.quarter_at(start)) * HOURS_PER_MONTH
    paid_months = min(time.months - start, tariff.term_months)
    upfront = tariff.upfront_fraction * month * tariff.term_months
    recurring = (1.0 - tariff.upfront_fraction) * month
    cash = (upfront + recurring * paid_months) / time.months
    rates = tuple(month * time.covered_months(s, start, close) / s.months for s in time.stretches)
    due = []
    for q in time.quarters:
        months = math.fsum(time.covered_months(s, start, close) for s in time.stretches if s.quarter == q)
        due.append((recurring * months + (upfront if time.quarter_at(start) == q else 0.0)) / MONTHS_PER_QUARTER)
    amortised = month * (paid_months / time.months)
    liability = recurring * (tariff.term_months - paid_months)
    return _cost(bought, amortised, cash, month * tariff.term_months, liability, rates, tuple(due))


def _per_month(bought: Bought, facts: Facts, usd_per_hour: Sequence[float]) -> float:
    """USD per month of what is rented by the hour, at a price in each slice."""
    counts = bought.purchase.instances
    if len(set(usd_per_hour)) == 1:
        return math.fsum(h * n for h, n in zip(facts.months_per_slice, counts, strict=True)) * usd_per_hour[0]
    return math.fsum(h * n * u for h, n, u in zip(facts.months_per_slice, counts, usd_per_hour, strict=True))


def _fallback_usd_per_month(bought: Bought, facts: Facts) -> float:
    """The part of a spot purchase's cost that goes to what takes over while spot is away."""
    if bought.purchase.option is not PurchaseOption.SPOT or bought.pool.spot is None:
        return 0.0
    each = [bought.pool.spot.fallback_share_usd_per_hour(s.quarter) for s in facts.demand.slices]
    return _per_month(bought, facts, each)


def _cost(
    bought: Bought, month: float, cash: float, committed: float, liability: float, rates: tuple[float, ...],
    cash_by_quarter: tuple[float, ...],
) -> PurchaseCost:  # fmt: skip
    return PurchaseCost(
        pool=bought.pool.id,
        option=bought.purchase.option,
        offer=bought.tariff.offer,
        usd_per_month=month,
        cash_usd_per_month=cash,
        committed_usd=committed,
        liability_beyond_horizon_usd=liability,
        usd_by_period=rates,
        cash_by_quarter=cash_by_quarter,
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
    time, means = facts.timeline, _mean_rates(called.rates, weights)
    rates = [0.0] * len(time.stretches)
    for t, (s, x) in enumerate(zip(facts.demand.slices, means, strict=True)):
        share = time.stretches[time.stretch_of(t)].months / MONTHS_PER_QUARTER
        rates[time.stretch_of(t)] += each * s.hours_per_month * SECONDS_PER_HOUR * x / share
    return ApiCost(
        request_class=c.id,
        api=called.offer.id,
        usd_per_month=each * requests_per_month(called.rates, weights, facts),
        mean_req_per_s=_mean_rates(called.rates, weights),
        peak_req_per_s=tuple(max(bands, default=0.0) for bands in called.rates),
        usd_by_period=tuple(rates),
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
