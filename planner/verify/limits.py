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
    """A commitment is constant over the slices of the horizon."""
    for b in normal.bought:
        counts = b.purchase.instances
        if TERM_MONTHS[b.purchase.option] and len(set(counts)) > 1:
            key = (b.pool.id, b.purchase.option.value)
            detail = "a commitment may not change between slices"
            out.broken("commitment_window", key, detail, max(counts), min(counts), "instances")


def _matches(quota: Quota, pool: PoolFacts) -> bool:
    """Names are compared in any case of letters: several providers may write one region's name differently."""
    wanted = quota.match.model_dump(exclude_none=True)
    return all(str(name).lower() == str(getattr(pool, field)).lower() for field, name in wanted.items())


def _held(quota: Quota, normal: Normal, slice_: int) -> float:
    """What purchases hold of a quota in a slice; the share of spot that is away takes on-demand in its place."""
    held = 0.0
    for b in normal.bought:
        if not _matches(quota, b.pool):
            continue
        each = b.pool.accelerators if quota.unit is QuotaUnit.ACCELERATORS else 1
        n = b.purchase.instances[slice_] * each
        if b.purchase.option in quota.applies_to:
            held += n
        spot = b.pool.spot if b.purchase.option is PurchaseOption.SPOT else None
        if spot is not None and not spot.credited and PurchaseOption.ON_DEMAND in quota.applies_to:
            held += (1.0 - spot.availability) * n
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
                quota.limit,
                quota.unit.value,
                step=step,
                subject=(i,),
                detail=f"quota {i + 1} of the policy is exceeded",
            )


def budget(cost: PlanCost, facts: Facts, out: Findings) -> None:
    """Cost per month ≤ budget, on the basis that the policy names."""
    rule = facts.spec.policy.budget
    if rule is not None:
        spent = cost.total_usd_per_month if rule.basis is BudgetBasis.AMORTISED else cost.cash_usd_per_month
        detail = "the plan costs more than the budget"
        out.at_most("budget", (rule.basis.value,), spent, rule.usd_per_month, "USD/month", detail=detail)


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
