"""How well commitments are used, and what is paid in which month; recomputed from the plan."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from planner.base import PurchaseOption
from planner.units import HOURS_PER_MONTH
from planner.verify.facts import Facts
from planner.verify.normalise import Bought, Normal
from planner.verify.packing import FIRM, instances_needed
from planner.verify.types import CommitmentUse, PurchaseCost


def commitment_use(normal: Normal, facts: Facts) -> CommitmentUse:
    """Coverage, utilisation and effective savings rate over the horizon, commitments that run already included.

    In instance-hours of rented firm machines: used = what the replicas fill, at most what is bought; coverage = used
    committed ÷ used; utilisation = used committed ÷ committed. Savings: 1 − what these machines cost ÷ what the hours
    used would cost on demand, where every one of them is sold so (held commitments cost nothing here: they are sunk).
    """
    committed = covered = used = list_usd = paid_usd = 0.0
    priced = True
    for pool_id in sorted({b.pool.id for b in normal.bought if not b.pool.owned}):
        firm = [b for b in normal.bought if b.pool.id == pool_id and b.purchase.option in FIRM]
        on_demand = facts.market.tariff(pool_id.partition("#")[0], PurchaseOption.ON_DEMAND)
        for t, (slice_, hours) in enumerate(zip(facts.demand.slices, facts.months_per_slice, strict=True)):
            bought = sum(b.purchase.instances[t] for b in firm)
            fixed = sum(_committed(b, t, facts) for b in firm)
            needed = min(max(bought, fixed), _needed(pool_id, t, normal, facts))
            committed += hours * fixed
            covered += hours * min(fixed, needed)
            used += hours * needed
            if on_demand is None:
                priced = priced and needed == 0
            else:
                list_usd += hours * needed * on_demand.usd_in(slice_.quarter)
            paid_usd += hours * _usd_per_hour(firm, t, facts)
    return CommitmentUse(
        coverage=covered / used if used > 0 else None,
        utilization=covered / committed if committed > 0 else None,
        effective_savings_rate=1.0 - paid_usd / list_usd if priced and list_usd > 0 else None,
    )


def _committed(b: Bought, t: int, facts: Facts) -> int:
    """Instances of a purchase that are paid for whatever happens in slice t."""
    if b.pool.held is not None:
        tariff = b.tariff
        alive = facts.timeline.inside(t, tariff.from_month, tariff.until_month)
        return (tariff.max_instances or 0) if alive else 0
    return b.purchase.instances[t] if b.tariff.term_months else 0


def _usd_per_hour(firm: Sequence[Bought], t: int, facts: Facts) -> float:
    """What the firm purchases of a pool cost in slice t."""
    time = facts.timeline
    usd = 0.0
    for b in firm:
        quarter = time.quarter_at(b.purchase.start_month) if b.tariff.term_months else facts.demand.slices[t].quarter
        usd += b.purchase.instances[t] * b.tariff.usd_in(quarter)
    return usd


def _needed(pool_id: str, t: int, normal: Normal, facts: Facts) -> int:
    """Instances that the firm replicas in a pool fill in slice t."""
    sizes: dict[int, int] = defaultdict(int)
    pool = facts.market.pool(pool_id)
    for r in normal.running:
        if r.pool.id == pool_id and not r.deployment.spot and r.accelerators > 0 and r.deployment.replicas[t]:
            sizes[r.accelerators] += r.deployment.replicas[t]
    return instances_needed(sizes, pool.accelerators, 0) if pool is not None and sizes else 0


def cash_by_month(
    normal: Normal, purchases: Sequence[PurchaseCost], amortised: Sequence[float], facts: Facts
) -> tuple[float, ...]:
    """[month of the horizon] invoices in USD: upfront parts in the month of their start.

    `amortised`: USD per month in each period, everything included; what commitments add to it is taken out and put
    where it is paid. A quarter's costs are even over its months (its periods), as its rates are its mean.
    """
    time = facts.timeline
    months = [0.0] * round(time.months)
    for i, stretch in enumerate(time.stretches):
        spread = math.fsum(
            p.usd_by_period[i] for b, p in zip(normal.bought, purchases, strict=True) if b.tariff.term_months
        )
        for m in range(len(months)):
            months[m] += (amortised[i] - spread) * time.covered_months(stretch, m, m + 1.0)
    for b in normal.bought:
        if b.tariff.term_months:
            _add_commitment(b, months, facts)
    return tuple(months)


def _add_commitment(b: Bought, months: list[float], facts: Facts) -> None:
    time, tariff, start = facts.timeline, b.tariff, b.purchase.start_month
    usd = max(b.purchase.instances, default=0) * tariff.usd_in(time.quarter_at(start)) * HOURS_PER_MONTH
    months[min(int(start + 1e-6), len(months) - 1)] += tariff.upfront_fraction * usd * tariff.term_months
    for m in range(len(months)):
        part = max(0.0, min(m + 1.0, start + tariff.term_months) - max(float(m), start))
        months[m] += (1.0 - tariff.upfront_fraction) * usd * part
