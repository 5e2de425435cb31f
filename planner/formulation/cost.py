"""The objective: named terms that add up to the bill (DESIGN §5.4)."""

from __future__ import annotations

from planner.base import PurchaseOption
from planner.formulation.families import instance_terms, market_name, purchase_column
from planner.formulation.limits import link
from planner.formulation.milp import Milp
from planner.formulation.sets import COMMITMENTS, Group, Sets
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR


def add_cost(m: Milp, s: Sets) -> None:
    """The objective in USD per hour, mean over the month, as named terms (DESIGN §5.4).

    on_demand, owned  Σ_τ weight[τ]·price·instances        reserved  price·commit (paid whether used or not)
    spot              Σ_τ weight[τ]·availability·price·spot
    spot_fallback     Σ_τ weight[τ]·(1 − availability)·fallback price·spot
    api               Σ_τ,b weight[τ]·f_b·3600·usd_per_request·api        ops_overhead  fraction·(all but api) + fixed
    """
    for p, group in s.markets:
        for option in (PurchaseOption.SPOT,) if group is None else group:
            _purchase_cost(m, s, p, group, option)
    for a in s.apis:
        _api_cost(m, s, a.service, a.request_class, a.candidate.api, a.candidate.usd_per_request)
    _overhead(m, s)


TERM_OF = {
    PurchaseOption.ON_DEMAND: "on_demand",
    PurchaseOption.OWNED: "owned",
    PurchaseOption.RESERVED_1Y: "reserved",
    PurchaseOption.RESERVED_3Y: "reserved",
}


def _purchase_cost(m: Milp, s: Sets, p: int, group: Group | None, option: PurchaseOption) -> None:
    price = s.pools[p].price(option)
    if price is None:
        return
    for t in range(len(s.slices)):
        column = purchase_column(m, p, group, option, t)
        if column is None:
            continue
        if option == PurchaseOption.SPOT:
            held, away = s.spot_usd_per_hour(p)
            m.cost("spot", column, s.weight(t) * held)
            m.cost("spot_fallback", column, s.weight(t) * away)
        elif option in COMMITMENTS:
            if t == 0:
                m.cost("reserved", column, price.usd_per_hour)
        else:
            m.cost(TERM_OF[option], column, s.weight(t) * price.usd_per_hour)


def _api_cost(m: Milp, s: Sets, i: int, r: int, api: str, usd_per_request: float) -> None:
    for t in range(len(s.slices)):
        for b in s.bands(i, t):
            column = m.column("api", (i, r, api, t, b))
            if column is not None:
                share_of_time = s.weight(t) * s.services[i].band_weights[t][b]
                m.cost("api", column, share_of_time * s.top(i, r, t) * SECONDS_PER_HOUR * usd_per_request)


def _overhead(m: Milp, s: Sets) -> None:
    overhead = s.problem.policy.ops_overhead
    hosted = {"on_demand", "owned", "reserved", "spot", "spot_fallback"}
    if overhead.fraction > 0:
        for term in sorted(hosted & set(m.terms)):
            for column, coefficient in list(m.terms[term].items()):
                m.cost("ops_overhead", column, overhead.fraction * coefficient)
    if overhead.fixed_usd_per_month > 0 and s.markets:
        anything = m.add("self_hosted", (), 0, 1, integer=True)
        m.cost("ops_overhead", anything, overhead.fixed_usd_per_month / HOURS_PER_MONTH)
        for p, group in s.markets:
            for t in range(len(s.slices)):
                for column, _ in instance_terms(m, s, p, group, t):
                    link(m, "self_hosted", column, anything, (p, market_name(group), t))
