"""The constraint families that limit what may be bought: quota, budget, rate limits, providers, configurations."""

from __future__ import annotations

import math

from planner.base import PurchaseOption
from planner.formulation.cost import quarter_bill
from planner.formulation.families import Terms, commitments, instance_terms, link, market_name, option_terms
from planner.formulation.milp import Key, Milp
from planner.formulation.registry import family
from planner.formulation.sets import COMMITMENTS, Sets
from planner.formulation.variables import replica_terms, seat_kinds
from planner.spec.types import BudgetBasis, SpotModel
from planner.units import HOURS_PER_MONTH, MONTHS_PER_QUARTER

NEGLIGIBLE = 1e-9
"""Money that is less than this share of another term of the same bill is left out of the budget row."""
LEAST_OF_BUDGET = 5e-7
"""Least share of the budget that an instance counts as: engines tell no smaller coefficient from none."""
WIDEST = 5e6
"""Largest ratio between the costs of instances that a budget row states as they are."""
LEAST_AWAY = 1e-5
"""Least share of time that spot counts as away against a quota: less of whole instances is no instance either way."""
UNREACHABLE = 1e6
"""A limit this many times what could ever be asked of it is none."""


@family("quota", unit="accelerators", relax="ask the provider for more quota")
def quota(m: Milp, s: Sets) -> None:
    """No more is bought of a set of offers than its quota, in every slice.

        Σ_{p,m in the quota} size[p]·instances[p,m,τ]  ≤  limit

    size is G where the quota counts accelerators, 1 where it counts instances. The share of spot that is away is
    replaced by on-demand (`spot.model: fallback`), so (1 − availability)·spot counts as on-demand. An offer's own
    `max_instances` is a quota too, over all zones that it is sold in.
    """
    fallback = s.problem.policy.spot.model == SpotModel.FALLBACK
    for q in s.problem.quotas:
        for t in range(len(s.slices)):
            terms: Terms = []
            for pool_id in q.pools:
                p = s.pool_index[pool_id]
                size = float(s.pools[p].accelerators) if q.per_accelerator else 1.0
                for option in q.options:
                    terms += [(c, v * size) for c, v in option_terms(m, s, p, option, t)]
                spot = s.pools[p].spot
                if fallback and spot and PurchaseOption.ON_DEMAND in q.options:
                    away = 0.0 if spot.availability >= 1 else max(1 - spot.availability, LEAST_AWAY) * size
                    terms += [(c, v * away) for c, v in option_terms(m, s, p, PurchaseOption.SPOT, t)]
            if terms:
                m.row("quota", (q.id, t), terms, upper=q.left(s.slices[t].ends_month))
    stocks: dict[str, list[tuple[int, PurchaseOption, int]]] = {}
    for p, pool in enumerate(s.pools):
        for price in pool.prices:
            if price.max_instances is not None:
                stocks.setdefault(price.offer, []).append((p, price.option, price.max_instances))
    for offer, sold in stocks.items():
        for t in range(len(s.slices)):
            terms = [term for p, option, _ in sold for term in option_terms(m, s, p, option, t)]
            if len(terms) > 1:
                m.row("quota", (offer, t), terms, upper=min(limit for _, _, limit in sold))


@family("budget", unit="USD/month", relax="raise policy.budget")
def budget(m: Milp, s: Sets) -> None:
    """The bill stays within the budget, in every quarter.

        Σ cost terms of the quarter ≤ budget                                            ∀ quarters

    Amortised: commitments spread over their term. Cash: what is invoiced in the quarter, per month; an upfront part
    falls due at once: price·730·((1 − u) + u·term/3) for a share u paid upfront. Running commitments are sunk.
    """
    limit = s.problem.policy.budget
    if limit is None:
        return
    for quarter in s.calendar.quarters:
        bill = quarter_bill(m, s, quarter)
        if limit.basis == BudgetBasis.CASH:
            _as_cash(m, s, quarter, bill)
        key: Key = (limit.basis.value,) if len(s.calendar.quarters) == 1 else (limit.basis.value, f"Q{quarter}")
        _budget_row(m, key, bill, limit.usd_per_month)


def _as_cash(m: Milp, s: Sets, quarter: int, bill: dict[int, float]) -> None:
    """Upfront parts of commitments fall due in the quarter of their start; only the rest is paid month by month."""
    for p, group in s.markets:
        for option in group or ():
            price = s.pools[p].price(option)
            if option not in COMMITMENTS or price is None:
                continue
            for column, start, term in commitments(m, s, p, group or (), option):
                usd = price.usd_in(s.calendar.quarter_of(start)) * price.upfront_fraction
                due = term / MONTHS_PER_QUARTER if s.calendar.quarter_of(start) == quarter else 0.0
                extra = usd * (due - s.calendar.share_of_quarter(start, term, quarter))
                bill[column] = bill.get(column, 0.0) + extra


def _budget_row(m: Milp, key: Key, bill: dict[int, float], usd_per_month: float) -> None:
    """Σ bill ≤ budget, stated in budgets; what is bought whole within the reach of an engine's tolerance.

    Only where costs spread wider than WIDEST: an instance that alone breaks the budget does so at twice the budget as
    well, and one that costs less than a millionth of it counts as LEAST_OF_BUDGET.
    """
    limit = usd_per_month / HOURS_PER_MONTH
    costs = {c: v for c, v in bill.items() if v > 0}
    whole = {c: v for c, v in costs.items() if m.variables[c].integer}
    parts = {c: v for c, v in costs.items() if c not in whole}
    largest = max(parts.values(), default=0.0)
    scale = max(limit, largest / UNREACHABLE) or 1.0
    if whole and max(whole.values()) > WIDEST * min(whole.values()):
        least = LEAST_OF_BUDGET * limit if scale == limit else 0.0
        whole = {c: max(v, least) for c, v in whole.items()}
        most = max(2.0 * scale, WIDEST * min(whole.values()))
        whole = {c: min(v, most) for c, v in whole.items()}
    terms = [*whole.items(), *((c, v) for c, v in parts.items() if v > NEGLIGIBLE * largest)]
    m.row("budget", key, [(c, v / scale) for c, v in terms], upper=limit / scale, scale=scale * HOURS_PER_MONTH)


@family("api_limits", unit="req/s", relax="ask the API provider for a higher rate limit")
def api_limits(m: Milp, s: Sets) -> None:
    """An API takes no more than its rate limits, over all classes and in every band.

    Σ_r api[r,a,τ,b] ≤ max_req_per_s,   60·Σ_r tokens[r]·api[r,a,τ,b] ≤ max_tok_per_min

    A limit beyond `UNREACHABLE` times all demand is no row: it cannot bind, and would spread the coefficients.
    """
    limited: dict[str, list[int]] = {}
    for index, a in enumerate(s.apis):
        if a.candidate.max_req_per_s is not None or a.candidate.max_tok_per_min is not None:
            limited.setdefault(a.candidate.api, []).append(index)
    for api, indices in sorted(limited.items()):
        first = s.apis[indices[0]].candidate
        for t in range(len(s.slices)):
            deepest = max(len(s.services[s.apis[j].service].band_weights[t]) for j in indices)
            for depth in range(deepest):
                rates, tokens = _api_load(m, s, indices, t, depth)
                for unit, terms, limit in (
                    ("req_per_s", rates, first.max_req_per_s),
                    ("tok_per_min", tokens, first.max_tok_per_min),
                ):
                    if limit is not None and terms and limit < UNREACHABLE * math.fsum(v for _, v in terms):
                        scale = max(abs(v) for _, v in terms)
                        m.row(
                            "api_limits",
                            (api, unit, t, depth),
                            [(c, v / scale) for c, v in terms],
                            upper=limit / scale,
                            scale=scale,
                        )


def _api_load(m: Milp, s: Sets, indices: list[int], t: int, depth: int) -> tuple[Terms, Terms]:
    """Rate [req/s] and tokens [per minute] on an API, bands aligned from the top (depth 0)."""
    rates: Terms = []
    tokens: Terms = []
    for j in indices:
        a = s.apis[j]
        band = max(len(s.services[a.service].band_weights[t]) - 1 - depth, 0)
        column = m.column("api", (a.service, a.request_class, a.candidate.api, t, band))
        if column is not None:
            top = s.top(a.service, a.request_class, t)
            rates.append((column, top))
            tokens.append((column, top * 60.0 * a.candidate.tokens_per_request))
    return rates, tokens


@family("provider_limits", unit="providers", relax="raise policy.providers.max_count")
def provider_limits(m: Milp, s: Sets) -> None:
    """No more than so many different providers, clouds and API providers together.

    Σ_v used_provider[v] ≤ max_count,   instances ≤ limit·used_provider,   api ≤ limit·used_provider
    """
    most = s.problem.policy.providers.max_count
    if most is None:
        return
    used: dict[str, int] = {}

    def indicator(provider: str) -> int:
        if provider not in used:
            used[provider] = m.add("used_provider", (provider,), 0, 1, integer=True)
        return used[provider]

    for p, group in s.markets:
        if s.pools[p].provider == "owned":
            continue
        for t in range(len(s.slices)):
            for column, _ in instance_terms(m, s, p, group, t):
                place: Key = ("instances", p, market_name(group), t)
                link(m, "provider_limits", column, indicator(s.pools[p].provider), place)
    for a in s.apis:
        for t in range(len(s.slices)):
            for b in s.bands(a.service, t):
                key = (a.service, a.request_class, a.candidate.api, t, b)
                api = m.column("api", key)
                if api is not None:
                    link(m, "provider_limits", api, indicator(a.candidate.provider), ("api", *key))
    if used:
        m.row("provider_limits", ("count",), [(c, 1.0) for c in used.values()], upper=float(most))


@family("configurations", unit="configurations", relax="raise policy.max_configurations")
def configurations(m: Milp, s: Sets) -> None:
    """No more than so many different configurations run.

    Σ_k used[k] ≤ max_configurations,   replicas[k,p,τ] ≤ limit·used[k]
    """
    most = s.problem.policy.max_configurations
    if most is not None:
        used = configuration_indicators(m, s)
        if used:
            m.row("configurations", ("count",), [(c, 1.0) for c in used], upper=float(most))


def configuration_indicators(m: Milp, s: Sets) -> list[int]:
    """used[k] ∈ {0,1} with their links, made once per programme: one per service and configuration id."""
    existing = [c for c, v in enumerate(m.variables) if v.family == "used"]
    if existing:
        return existing
    made: dict[tuple[int, str], int] = {}
    for k in s.configs:
        key = (k.service, k.capability.config.id)
        if key not in made:
            made[key] = m.add("used", key, 0, 1, integer=True)
        for t in range(len(s.slices)):
            for kind in seat_kinds(k):
                for column, _ in replica_terms(m, s, k, t, kind):
                    if m.variables[column].upper > 0:
                        link(m, "configurations", column, made[key], (k.index, t, kind))
    return list(made.values())
