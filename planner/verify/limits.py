"""Checks of what may be bought: offers, commitments, quotas, budget, API limits, providers, configurations."""

from __future__ import annotations

import math

from planner.base import TERM_MONTHS, PurchaseOption
from planner.demand.types import RequestClass
from planner.spec.types import BudgetBasis, Quota, QuotaUnit
from planner.verify.facts import Facts
from planner.verify.findings import Findings
from planner.verify.market import PoolFacts
from planner.verify.normalise import Normal
from planner.verify.timeline import NEAR
from planner.verify.types import PlanCost


def check_limits(normal: Normal, cost: PlanCost, facts: Facts, out: Findings) -> None:
    """All families of this module."""
    offers(normal, out)
    commitments(normal, facts, out)
    quotas(normal, facts, out)
    budget(cost, facts, out)
    api_limits(normal, facts, out)
    provider_limits(normal, facts, out)
    configurations(normal, facts, out)


def offers(normal: Normal, out: Findings) -> None:
    """No more instances of an offer than its seller states to have."""
    bought: dict[str, list[int]] = {}
    most: dict[str, int] = {}
    for b in normal.bought:
        before = bought.get(b.tariff.offer, [0] * len(b.purchase.instances))
        bought[b.tariff.offer] = [x + y for x, y in zip(before, b.purchase.instances, strict=True)]
        if b.tariff.max_instances is not None:
            most[b.tariff.offer] = b.tariff.max_instances
    for offer, limit in most.items():
        detail = "more instances than the offer has"
        out.at_most("offer", (offer,), max(bought[offer]), limit, "instances", step=1.0, detail=detail)


def commitments(normal: Normal, facts: Facts, out: Findings) -> None:
    """A commitment begins with a period, is constant over the slices of its term, and stands in no other.

    What is paid by the hour is bought only while it is sold or there.
    """
    time = facts.timeline
    for b in normal.bought:
        key = (b.pool.id, b.purchase.option.value)
        months = TERM_MONTHS[b.purchase.option]
        start = b.purchase.start_month
        if not months:
            for t, n in enumerate(b.purchase.instances):
                if n and not time.inside(t, b.tariff.from_month, b.tariff.until_month):
                    detail = "bought while it is not sold, or no longer there"
                    out.broken("offer", (*key, facts.demand.slices[t].id), detail, 0, n, "instances")
            continue
        if not any(abs(start - p.begin) < NEAR for p in time.stretches):
            out.broken("commitment_window", key, f"a commitment may not begin in month {start:g}")
        if start < b.tariff.from_month - NEAR:
            out.broken("offer", key, "committed to before it is sold", b.tariff.from_month, start, "month")
        covered = [n for t, n in enumerate(b.purchase.instances) if time.inside(t, start, start + months)]
        others = [n for t, n in enumerate(b.purchase.instances) if not time.inside(t, start, start + months)]
        if len(set(covered)) > 1:
            detail = "a commitment may not change between slices"
            out.broken("commitment_window", key, detail, max(covered), min(covered), "instances")
        if any(others):
            detail = "a commitment may not serve outside its term"
            out.broken("commitment_window", key, detail, 0, max(others), "instances")


def _matches(quota: Quota, pool: PoolFacts) -> bool:
    """Names are compared in any case of letters: several providers may write one region's name differently."""
    wanted = quota.match.model_dump(exclude_none=True)
    return all(str(name).lower() == str(getattr(pool, field)).lower() for field, name in wanted.items())


def _held(quota: Quota, normal: Normal, slice_: int) -> float:
    """What purchases hold of a quota in a slice; the share of spot that is away takes on-demand in its place."""
    held = 0.0
    for b in normal.bought:
        if b.pool.held is not None or not _matches(quota, b.pool):
            continue
        each = b.pool.accelerators if quota.unit is QuotaUnit.ACCELERATORS else 1
        n = b.purchase.instances[slice_] * each
        if b.purchase.option in quota.applies_to:
            held += n
        spot = b.pool.spot if b.purchase.option is PurchaseOption.SPOT else None
        if spot is not None and not spot.credited and PurchaseOption.ON_DEMAND in quota.applies_to:
            held += (1.0 - spot.availability) * n
    return held


def _running(quota: Quota, facts: Facts, ends_month: float) -> float:
    """What commitments that run already hold of a quota until a time, used or not."""
    held = 0.0
    for pool in facts.market.held:
        if pool.held in quota.applies_to and _matches(quota, pool):
            tariff = pool.tariffs[PurchaseOption.OWNED]
            if tariff.until_month > ends_month - NEAR:
                held += (tariff.max_instances or 0) * (pool.accelerators if quota.unit is QuotaUnit.ACCELERATORS else 1)
    return held


def quotas(normal: Normal, facts: Facts, out: Findings) -> None:
    """Σ over matching purchases ≤ limit in every slice; an unknown limit limits nothing."""
    for i, quota in enumerate(facts.spec.policy.quotas):
        if isinstance(quota.limit, str):
            continue
        sizes = [b.pool.accelerators for b in normal.bought if _matches(quota, b.pool)]
        step = min(sizes, default=1) if quota.unit is QuotaUnit.ACCELERATORS else 1
        for t, slice_ in enumerate(facts.demand.slices):
            out.at_most(
                "quota",
                (i, slice_.id),
                _held(quota, normal, t),
                max(0.0, quota.limit - _running(quota, facts, slice_.ends_month)),
                quota.unit.value,
                step=step,
                subject=(i,),
                detail=f"quota {i + 1} of the policy is exceeded",
            )


def budget(cost: PlanCost, facts: Facts, out: Findings) -> None:
    """Cost per month ≤ budget in every quarter, on the basis that the policy names."""
    rule = facts.spec.policy.budget
    if rule is not None:
        quarters = cost.by_quarter if rule.basis is BudgetBasis.AMORTISED else cost.cash_by_quarter
        detail = "the plan costs more than the budget"
        for q, spent in zip(facts.timeline.quarters, quarters, strict=True):
            key = (rule.basis.value,) if len(quarters) == 1 else (rule.basis.value, f"Q{q}")
            out.at_most("budget", key, spent, rule.usd_per_month, "USD/month", detail=detail)


def api_limits(normal: Normal, facts: Facts, out: Findings) -> None:
    """Requests per second and tokens per minute of each API, over all classes, in every slice and band.

    Top bands of different services count together, then the next lower ones, down to the lowest of each.
    """
    for api in sorted({c.offer.id for c in normal.called}):
        called = [c for c in normal.called if c.offer.id == api]
        offer = called[0].offer
        for t, slice_ in enumerate(facts.demand.slices):
            for depth in range(max(len(c.rates[t]) for c in called)):
                rates = [c.rates[t][max(len(c.rates[t]) - 1 - depth, 0)] for c in called]
                tokens = [60.0 * x * _length(c.request_class) for c, x in zip(called, rates, strict=True)]
                for name, used, limit, unit in (
                    ("req_per_s", math.fsum(rates), offer.max_req_per_s, "req/s"),
                    ("tok_per_min", math.fsum(tokens), offer.max_tok_per_min, "tokens/min"),
                ):
                    if limit is not None:
                        key, detail = (api, slice_.id, depth, name), "more than the API accepts"
                        out.at_most("api_limits", key, used, limit, unit, subject=(api, name), detail=detail)


def _length(request_class: RequestClass) -> float:
    """Tokens of one request."""
    return request_class.input_tokens + request_class.output_tokens


def provider_limits(normal: Normal, facts: Facts, out: Findings) -> None:
    """Only allowed providers, at most `max_count` different ones; machines of one's own come from no provider."""
    rule = facts.spec.policy.providers
    rented = {b.pool.provider for b in normal.bought if any(b.purchase.instances) and not b.pool.owned}
    called = {c.offer.provider for c in normal.called if any(x > 0 for bands in c.rates for x in bands)}
    used = rented | called
    for provider in sorted(used):
        if provider in rule.deny or (rule.allow is not None and provider not in rule.allow):
            out.broken("provider_limits", (provider,), "the policy does not allow this provider")
        elif rule.allow is None and facts.catalog.provider(provider).opt_in:
            out.broken("provider_limits", (provider,), "hardware to buy must be named in policy.providers.allow")
    if rule.max_count is not None:
        detail = f"too many providers: {', '.join(sorted(used))}"
        out.at_most("provider_limits", (), len(used), rule.max_count, "providers", step=1.0, detail=detail)


def configurations(normal: Normal, facts: Facts, out: Findings) -> None:
    """At most so many different (service, configuration) pairs run."""
    most = facts.spec.policy.max_configurations
    if most is not None:
        used = {(r.service.id, r.deployment.config) for r in normal.running if any(r.deployment.replicas)}
        detail = "too many different configurations"
        out.at_most("configurations", (), len(used), most, "configurations", step=1.0, detail=detail)
