"""The objective: named terms that add up to the bill (DESIGN §5.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.formulation.families import commitments, instance_terms, link, market_name, purchase_columns
from planner.formulation.milp import Milp
from planner.formulation.sets import COMMITMENTS, Group, Sets
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

Bill = dict[str, dict[int, float]]
"""Term → {column: USD per hour}."""


@dataclass(frozen=True)
class Period:
    """What a bill is made out for."""

    weight: Callable[[int], float]
    """Slice → its share of the time."""
    charged: Callable[[float, float], float]
    """(start, term in months) → what a commitment is charged, as a multiple of its price per hour."""


def add_cost(m: Milp, s: Sets) -> None:
    """The objective in USD per hour, mean over the judged time, as named terms (DESIGN §5.4).

    on_demand, owned  Σ_τ weight[τ]·price[τ]·instances
    reserved          Σ_starts charged[start,term]·price[start]·commit (paid whether used or not)
    spot              Σ_τ weight[τ]·availability·price·spot
    spot_fallback     Σ_τ weight[τ]·(1 − availability)·fallback price·spot
    api               Σ_τ,b weight[τ]·f_b·3600·usd_per_request·api        ops_overhead  fraction·(all but api) + fixed

    Weights and charges are those of `Calendar`: with one quarter, hours over 730 and 1.
    """
    for term, bucket in bill(m, s, Period(s.weight, s.calendar.charged)).items():
        for column, coefficient in bucket.items():
            m.cost(term, column, coefficient)
    _fixed_overhead(m, s)


def quarter_bill(m: Milp, s: Sets, quarter: int) -> dict[int, float]:
    """Column → USD per hour, mean over one quarter; `add_cost` must have been called."""

    def weight(t: int) -> float:
        inside = s.slices[t].quarter == quarter
        return s.slices[t].hours_per_month / HOURS_PER_MONTH if inside else 0.0

    def charged(start: float, term: float) -> float:
        return s.calendar.share_of_quarter(start, term, quarter)

    found: dict[int, float] = defaultdict(float)
    for bucket in bill(m, s, Period(weight, charged)).values():
        for column, coefficient in bucket.items():
            if coefficient:
                found[column] += coefficient
    anything = m.column("self_hosted", ())
    if anything is not None:
        found[anything] += s.problem.policy.ops_overhead.fixed_usd_per_month / HOURS_PER_MONTH
    return dict(found)


def bill(m: Milp, s: Sets, period: Period) -> Bill:
    """What a period costs, without the fixed overhead."""
    found: Bill = defaultdict(dict)
    for p, group in s.markets:
        for option in (PurchaseOption.SPOT,) if group is None else group:
            _purchase_cost(m, s, p, group, option, period, found)
    for a in s.apis:
        _api_cost(m, s, a.service, a.request_class, a.candidate.api, a.candidate.usd_per_request, period, found)
    fraction = s.problem.policy.ops_overhead.fraction
    if fraction > 0:
        for term in sorted(HOSTED & set(found)):
            for column, coefficient in found[term].items():
                _add(found, "ops_overhead", column, fraction * coefficient)
    return found


TERM_OF = {
    PurchaseOption.ON_DEMAND: "on_demand",
    PurchaseOption.OWNED: "owned",
    PurchaseOption.RESERVED_1Y: "reserved",
    PurchaseOption.RESERVED_3Y: "reserved",
}
HOSTED = {"on_demand", "owned", "reserved", "spot", "spot_fallback"}


def _add(found: Bill, term: str, column: int, coefficient: float) -> None:
    bucket = found[term]
    bucket[column] = bucket.get(column, 0.0) + coefficient


def _purchase_cost(
    m: Milp, s: Sets, p: int, group: Group | None, option: PurchaseOption, period: Period, found: Bill
) -> None:
    price = s.pools[p].price(option)
    if price is None:
        return
    if option in COMMITMENTS:
        for column, start, term in commitments(m, s, p, group or (), option):
            usd = price.usd_in(s.calendar.quarter_of(start))
            _add(found, "reserved", column, period.charged(start, term) * usd)
        return
    for t in range(len(s.slices)):
        for column in purchase_columns(m, s, p, group, option, t):
            weight = period.weight(t)
            if option == PurchaseOption.SPOT:
                held, away = s.spot_usd_per_hour(p, t)
                _add(found, "spot", column, weight * held)
                _add(found, "spot_fallback", column, weight * away)
            else:
                _add(found, TERM_OF[option], column, weight * price.usd_in(s.slices[t].quarter))


def _api_cost(m: Milp, s: Sets, i: int, r: int, api: str, usd_per_request: float, period: Period, found: Bill) -> None:
    for t in range(len(s.slices)):
        for b in s.bands(i, t):
            column = m.column("api", (i, r, api, t, b))
            if column is not None:
                share_of_time = period.weight(t) * s.services[i].band_weights[t][b]
                _add(found, "api", column, share_of_time * s.top(i, r, t) * SECONDS_PER_HOUR * usd_per_request)


def _fixed_overhead(m: Milp, s: Sets) -> None:
    """The fixed part, as soon as anything is self-hosted in any quarter."""
    overhead = s.problem.policy.ops_overhead
    if overhead.fixed_usd_per_month > 0 and s.markets:
        anything = m.add("self_hosted", (), 0, 1, integer=True)
        m.cost("ops_overhead", anything, overhead.fixed_usd_per_month / HOURS_PER_MONTH)
        for p, group in s.markets:
            for t in range(len(s.slices)):
                for column, _ in instance_terms(m, s, p, group, t):
                    link(m, "self_hosted", column, anything, (p, market_name(group), t))
