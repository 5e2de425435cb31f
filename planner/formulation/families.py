"""The constraint families of DESIGN §5.3 for one quarter, in reading order. Nothing else states a constraint."""

from __future__ import annotations

import math

from planner.base import PurchaseOption
from planner.formulation.milp import INF, Milp
from planner.formulation.registry import family
from planner.formulation.sets import COMMITMENTS, Config, Group, Sets, is_divisor_chain, maximal_patterns
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT, group_name, replica_terms, seat_kinds
from planner.spec.types import BudgetBasis, SpotModel
from planner.units import HOURS_PER_MONTH, MONTHS_PER_QUARTER, SECONDS_PER_HOUR

NEGLIGIBLE = 1e-9
"""Money that is less than this share of another term of the same bill is left out of the budget row."""
UNREACHABLE = 1e6
"""A limit this many times what could ever be asked of it is none."""

Terms = list[tuple[int, float]]


# ---- demand ------------------------------------------------------------------------------------------------------


@family("serve_demand", unit="req/s", relax="lower the demand, allow an API or more places to buy")
def serve_demand(m: Milp, s: Sets) -> None:
    """Every request is served, by a replica or by an API, in every band.

        Σ_k x[r,k,τ,b] + Σ_a api[r,a,τ,b] = λ[r,τ,b]                            ∀ r, τ, b

    With one class the routed rates vanish (x = capacity in use) and capacity is a covering row:

        Σ_k cap[k]·(replicas[k,τ] + credit·spot_replicas[k,τ]) + Σ_a api[a,τ,b] ≥ λ[τ,b]

    Both are divided by the top rate of τ, so that coefficients are near 1.
    """
    for i in range(len(s.services)):
        for t in range(len(s.slices)):
            for b in s.bands(i, t):
                if s.is_covering(i):
                    _cover(m, s, i, t, b)
                    continue
                for r in s.active_classes[i]:
                    if s.rate(i, r, t, b) > 0:
                        share = s.rate(i, r, t, b) / s.top(i, r, t)
                        terms = api_terms(m, s, i, r, t, b) + [(x, 1.0) for _, _, x in routed(m, s, i, r, t, b)]
                        m.row("serve_demand", (i, r, t, b), terms, lower=share, upper=share, scale=s.top(i, r, t))


def _cover(m: Milp, s: Sets, i: int, t: int, b: int) -> None:
    """The covering row of a service with one class (or one mix): a replica counts at most the whole rate."""
    total = s.service_rate(i, t, -1)
    if s.service_rate(i, t, b) > 0:
        r = s.active_classes[i][0]
        share = s.service_rate(i, t, b) / total
        terms = api_terms(m, s, i, r, t, b) + capacity_terms(m, s, i, t, 1.0 / total, most=share)
        m.row("serve_demand", (i, r, t, b), terms, lower=share, scale=total)


@family("replica_capacity", unit="replicas", relax="buy more replicas or lower the demand")
def replica_capacity(m: Milp, s: Sets) -> None:
    """Work routed to a configuration fits in its replicas, in every band, for every latency row.

        margin · Σ_r use[j,r,k]·x[r,k,τ,b]  ≤  Σ_p credit[p]·replicas[k,p,τ]       ∀ k, j, τ, b

    (less the spares set aside, where an API may take a part of the load; see `spare`)
    use  [replicas per req/s]  row j of the configuration (Capability.rows: TPOT, TTFT, sequences, KV cache)
    """
    for i in range(len(s.services)):
        if s.is_covering(i):
            continue
        for k in s.configs_of[i]:
            for kind in seat_kinds(k):
                for t in range(len(s.slices)):
                    for b in s.bands(i, t):
                        _capacity_rows(m, s, k, kind, t, b)


def _capacity_rows(m: Milp, s: Sets, k: Config, kind: str, t: int, b: int) -> None:
    columns = [
        (r, x)
        for r in s.active_classes[k.service]
        if (x := m.column("x", (k.service, r, k.index, kind, t, b))) is not None
    ]
    if not columns:
        return
    room = replica_terms(m, s, k, t, kind, -1.0)
    idle = m.column("spares", (k.index, t, kind))
    if idle is not None and s.apis_of[k.service]:
        room.append((idle, 1.0))
    for j, row in enumerate(k.capability.rows):
        work = [(x, s.margin * row.use[r] * s.top(k.service, r, t)) for r, x in columns]
        m.row("replica_capacity", (k.index, kind, j, t, b), [*work, *room], upper=0.0)


def routed(m: Milp, s: Sets, i: int, r: int, t: int, b: int) -> list[tuple[Config, str, int]]:
    """(configuration, firm or spot, column of x) of everything that may take class r."""
    found = []
    for k in s.configs_of[i]:
        for kind in (FIRM_SEAT, SPOT_SEAT):
            column = m.column("x", (i, r, k.index, kind, t, b))
            if column is not None:
                found.append((k, kind, column))
    return found


def api_terms(m: Milp, s: Sets, i: int, r: int, t: int, b: int) -> Terms:
    """Σ_a api[r,a,τ,b] as a share of the class's top rate."""
    columns = (m.column("api", (i, r, a.candidate.api, t, b)) for a in s.apis_of[i] if a.request_class == r)
    return [(c, 1.0) for c in columns if c is not None]


def capacity_terms(
    m: Milp, s: Sets, i: int, t: int, factor: float, kinds: tuple[str, ...] = (FIRM_SEAT, SPOT_SEAT), most: float = INF
) -> Terms:
    """factor · Σ_k cap[k]·replicas: capacity for the top band's mix; one replica counts at most `most`.

    In a covering row ≥ `most` that changes no whole-number solution and tightens the relaxation.
    """
    terms: Terms = []
    for k in s.configs_of[i]:
        capacity = s.mix_capacity(k, t)
        if capacity > 0:
            for kind in seat_kinds(k):
                if kind in kinds:
                    terms += [(c, min(v, most)) for c, v in replica_terms(m, s, k, t, kind, factor * capacity)]
    return terms


# ---- machines ----------------------------------------------------------------------------------------------------


@family("instance_packing", unit="accelerators", relax="buy more instances")
def instance_packing(m: Milp, s: Sets) -> None:
    """Replicas fit into the instances of their pool, firm and spot apart.

        G·instances[p,τ]  ≥  Σ_{g≤G} g·replicas + G·Σ_{g>G} ⌈g/G⌉·replicas          ∀ p, τ

    Exact when the sizes g ≤ G together with G form a divisor chain; otherwise columns y of maximal patterns:

        Σ_i y_i + Σ_{g>G} ⌈g/G⌉·replicas ≤ instances,   Σ_i pattern_i[g]·y_i ≥ replicas of size g
    """
    for p, group in s.markets:
        room = s.pools[p].accelerators
        small = tuple(g for g in s.sizes(p, group) if g <= room)
        chain = is_divisor_chain(tuple(sorted({*small, room})))
        for t in range(len(s.slices)):
            instances = instance_terms(m, s, p, group, t)
            seated = _seated(m, s, p, group, t)
            if chain:
                load = [(n, float(g if g <= room else room * math.ceil(g / room))) for g, n in seated]
                m.row(
                    "instance_packing", (p, _name(group), t), [(c, -room * v) for c, v in instances] + load, upper=0.0
                )
            else:
                _pack_by_patterns(m, s, p, group, t, small, seated, instances)


def _name(group: Group | None) -> str:
    return SPOT_SEAT if group is None else group_name(group)


def _seated(m: Milp, s: Sets, p: int, group: Group | None, t: int) -> list[tuple[int, int]]:
    """(size, column of replicas) in a market."""
    family_name = "spot_replicas" if group is None else "replicas"
    found = []
    for k in s.seats_of[p, group]:
        column = m.column(family_name, (k.index, p, t))
        if column is not None:
            found.append((k.size, column))
    return found


def _pack_by_patterns(
    m: Milp, s: Sets, p: int, group: Group | None, t: int, small: tuple[int, ...], seated: list[tuple[int, int]],
    instances: Terms,
) -> None:  # fmt: skip
    room = s.pools[p].accelerators
    limit = max((m.variables[c].upper for c, _ in instances), default=0.0)
    patterns = maximal_patterns(small, room)
    ys = [m.add("pattern", (p, _name(group), i, t), 0, limit, integer=True) for i in range(len(patterns))]
    whole = [(n, -float(math.ceil(g / room))) for g, n in seated if g > room]
    m.row("instance_packing", (p, _name(group), t), [*instances, *((y, -1.0) for y in ys), *whole], lower=0.0)
    for position, g in enumerate(small):
        held = [(y, float(pattern[position])) for y, pattern in zip(ys, patterns, strict=True)]
        used = [(n, -1.0) for size, n in seated if size == g]
        m.row("instance_packing", (p, _name(group), t, g), held + used, lower=0.0)


def instance_terms(m: Milp, s: Sets, p: int, group: Group | None, t: int) -> Terms:
    """Instances of a market in slice τ, over its purchase options."""
    terms: Terms = []
    for option in (PurchaseOption.SPOT,) if group is None else group:
        column = purchase_column(m, p, group, option, t)
        if column is not None:
            terms.append((column, 1.0))
    return terms


def purchase_column(m: Milp, p: int, group: Group | None, option: PurchaseOption, t: int) -> int | None:
    """The variable that holds the instances of an option in slice τ."""
    if group is None:
        return m.column("spot", (p, t))
    if option in COMMITMENTS:
        return m.column("commit", (p, group_name(group), option.value))
    return m.column(option.value, (p, group_name(group), t))


def option_terms(m: Milp, s: Sets, p: int, option: PurchaseOption, t: int) -> Terms:
    """Instances of pool p bought under an option in slice τ, over all groups."""
    terms: Terms = []
    for q, group in s.markets:
        if q == p and (option in group if group is not None else option == PurchaseOption.SPOT):
            column = purchase_column(m, p, group, option, t)
            if column is not None:
                terms.append((column, 1.0))
    return terms


# ---- risk --------------------------------------------------------------------------------------------------------


@family("spot_limit", unit="req/s", relax="raise purchase.max_spot_share")
def spot_limit(m: Milp, s: Sets) -> None:
    """Enough of the demand is served without spot, so that losing all spot leaves at least 1 − φ of it.

        Σ_k x_firm[r,k,τ,b] + Σ_a api[r,a,τ,b]  ≥  (1 − φ)·λ[r,τ,b]                 ∀ r, τ, b

    (With one class: firm capacity in place of the routed rate.)
    """
    for i, service in enumerate(s.services):
        if service.max_spot_share >= 1 or not any(SPOT_SEAT in seat_kinds(k) for k in s.configs_of[i]):
            continue
        firm = 1 - service.max_spot_share
        for t in range(len(s.slices)):
            for b in s.bands(i, t):
                for r in s.active_classes[i][:1] if s.is_covering(i) else s.active_classes[i]:
                    top = s.service_rate(i, t, -1) if s.is_covering(i) else s.top(i, r, t)
                    rate = s.service_rate(i, t, b) if s.is_covering(i) else s.rate(i, r, t, b)
                    if rate <= 0:
                        continue
                    needed = firm * rate / top
                    terms = api_terms(m, s, i, r, t, b)
                    if s.is_covering(i):
                        terms += capacity_terms(m, s, i, t, 1.0 / top, (FIRM_SEAT,), needed)
                    else:
                        terms += [(x, 1.0) for _, kind, x in routed(m, s, i, r, t, b) if kind == FIRM_SEAT]
                    m.row("spot_limit", (i, r, t, b), terms, lower=needed, scale=top)


# ---- limits ------------------------------------------------------------------------------------------------------


@family("quota", unit="accelerators", relax="ask the provider for more quota")
def quota(m: Milp, s: Sets) -> None:
    """No more is bought of a set of offers than its quota, in every slice.

        Σ_{p,m in the quota} size[p]·instances[p,m,τ]  ≤  limit

    size is G where the quota counts accelerators, 1 where it counts instances. The share of spot that is away is
    replaced by on-demand (`spot.model: fallback`), so (1 − availability)·spot counts as on-demand. An offer's own
    `max_instances` is a quota too.
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
                    away = (1 - spot.availability) * size
                    terms += [(c, v * away) for c, v in option_terms(m, s, p, PurchaseOption.SPOT, t)]
            if terms:
                m.row("quota", (q.id, t), terms, upper=q.limit)
    for p, pool in enumerate(s.pools):
        for price in pool.prices:
            if price.max_instances is not None:
                for t in range(len(s.slices)):
                    terms = option_terms(m, s, p, price.option, t)
                    if len(terms) > 1:
                        m.row("quota", (price.offer, t), terms, upper=price.max_instances)


@family("budget", unit="USD/month", relax="raise policy.budget")
def budget(m: Milp, s: Sets) -> None:
    """The bill stays within the budget.

        Σ cost terms ≤ budget

    Amortised: commitments spread over their term. Cash: what is invoiced in the quarter, per month; an upfront part
    falls due at once: price·730·((1 − u) + u·term/3) for a share u paid upfront.
    """
    limit = s.problem.policy.budget
    if limit is None:
        return
    bill = dict(m.objective())
    if limit.basis == BudgetBasis.CASH:
        for p, group in s.markets:
            for option in group or ():
                price = s.pools[p].price(option)
                column = purchase_column(m, p, group, option, 0)
                if option in COMMITMENTS and price is not None and column is not None:
                    upfront = price.upfront_fraction
                    extra = upfront * (price.term_months / MONTHS_PER_QUARTER - 1.0)
                    bill[column] = bill.get(column, 0.0) + price.usd_per_hour * extra
    largest = max(bill.values(), default=1.0)
    scale = max(limit.usd_per_month / HOURS_PER_MONTH, largest / UNREACHABLE) or 1.0
    m.row("budget", (limit.basis.value,), [(c, v / scale) for c, v in bill.items() if v > NEGLIGIBLE * largest],
          upper=limit.usd_per_month / HOURS_PER_MONTH / scale, scale=scale * HOURS_PER_MONTH)  # fmt: skip


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
                _link(m, "provider_limits", column, indicator(s.pools[p].provider), ("instances", p, _name(group), t))
    for a in s.apis:
        for t in range(len(s.slices)):
            for b in s.bands(a.service, t):
                key = (a.service, a.request_class, a.candidate.api, t, b)
                api = m.column("api", key)
                if api is not None:
                    _link(m, "provider_limits", api, indicator(a.candidate.provider), ("api", *key))
    if used:
        m.row("provider_limits", ("count",), [(c, 1.0) for c in used.values()], upper=float(most))


def _link(m: Milp, name: str, column: int, indicator: int, key: tuple[str | int, ...]) -> None:
    """column ≤ upper bound of column · indicator; the bound is the variable's own, never a global constant."""
    upper = m.variables[column].upper
    m.row(name, (*key, column), [(indicator, upper), (column, -1.0)], lower=0.0)


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
                        _link(m, "configurations", column, made[key], (k.index, t, kind))
    return list(made.values())


# ---- money -------------------------------------------------------------------------------------------------------


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
                    _link(m, "self_hosted", column, anything, (p, _name(group), t))
