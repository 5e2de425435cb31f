"""The constraint families of DESIGN §5.3, in reading order. Nothing else states a constraint."""

from __future__ import annotations

import math

from planner.base import PurchaseOption
from planner.formulation.milp import INF, Key, Milp
from planner.formulation.registry import family
from planner.formulation.sets import COMMITMENTS, Config, Group, Sets, is_divisor_chain, maximal_patterns
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT, commit_key, group_name, replica_terms, seat_kinds
from planner.units import SECONDS_PER_HOUR

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
        for t in range(0 if s.services[i].is_batch else len(s.slices)):  # batch work: see `batch_deadline`
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
        terms = capacity_terms(m, s, i, t, 1.0 / total, most=share) + overflow_terms(m, s, i, t, b)
        m.row("serve_demand", (i, r, t, b), terms, lower=covered(m, i, t, b, share, share), scale=total)
        _no_more_than_asked(m, s, i, t, b)
        hosted = m.column("hosted", (i, t, b))
        for r in s.active_classes[i] if hosted is not None else ():
            if (rate := s.rate(i, r, t, b)) > 0 and hosted is not None:
                part = rate / s.top(i, r, t)
                own = [*api_terms(m, s, i, r, t, b), (hosted, part)]
                m.row("serve_demand", (i, r, t, b, "api"), own, lower=part, scale=s.top(i, r, t))


def _no_more_than_asked(m: Milp, s: Sets, i: int, t: int, b: int) -> None:
    """Σ_a api[r,a,τ,b] ≤ λ[r,τ,b], where several APIs could take more together."""
    for r in s.active_classes[i]:
        terms = api_terms(m, s, i, r, t, b)
        if len(terms) > 1:
            top = s.top(i, r, t)
            m.row("api_volume", (i, r, t, b), terms, upper=s.rate(i, r, t, b) / top, scale=top)


def overflow_terms(m: Milp, s: Sets, i: int, t: int, b: int) -> Terms:
    """What APIs take of a covering service's rate, as a share of its top rate.

    One class: Σ_a api. One mix: the part of every class that replicas do not take, share·(1 − hosted), without its
    constant: a row `capacity + overflow ≥ share` reads `capacity − share·hosted ≥ 0` (see `covered`).
    """
    hosted = m.column("hosted", (i, t, b))
    if hosted is None:
        return [] if s.shares_overflow(i) else api_terms(m, s, i, s.active_classes[i][0], t, b)
    share = s.service_rate(i, t, b) / s.service_rate(i, t, -1)
    return [(hosted, -share)]


def covered(m: Milp, i: int, t: int, b: int, needed: float, share: float) -> float:
    """The right-hand side `needed` of a covering row, less the constant that `overflow_terms` leaves out."""
    return needed if m.column("hosted", (i, t, b)) is None else needed - share


@family("batch_deadline", unit="requests/h", relax="widen the window, lower the volume, or allow an API")
def batch_deadline(m: Milp, s: Sets) -> None:
    """Each day's volume of batch work is done within its window, at any hours of it.

        Σ_τ hours[w,τ]·(Σ_k x[r,k,τ] + Σ_a api[r,a,τ])  ≥  Σ_τ hours[w,τ]·λ[r,τ]                ∀ r, windows w

    hours  [h/month]  of slice τ that lie in the window; λ the even rate. Replicas and machines stay whole in every
    slice, so work fills what is paid for anyway. (Rows are shares of the volume, the slack its mean per hour.)
    """
    for i, service in enumerate(s.services):
        for r in s.active_classes[i] if service.is_batch else ():
            for w, _ in enumerate(service.windows):
                _done_in_window(m, s, "batch_deadline", (i, r, w), (FIRM_SEAT, SPOT_SEAT), 1.0)


def _done_in_window(
    m: Milp, s: Sets, name: str, key: tuple[int, int, int], kinds: tuple[str, ...], share: float
) -> None:
    """A share of a window's volume is done by replicas of these kinds, or by APIs."""
    i, r, w = key
    hours = s.services[i].windows[w]
    volume = math.fsum(h * s.top(i, r, t) for t, h in enumerate(hours))
    if volume <= 0:
        return
    terms: Terms = []
    for t, h in enumerate(hours):
        part = h * s.top(i, r, t) / volume
        done = api_terms(m, s, i, r, t, 0) + [(x, 1.0) for _, kind, x in routed(m, s, i, r, t, 0) if kind in kinds]
        terms += [(c, v * part) for c, v in done] if part > 0 else []
    m.row(name, key, terms, lower=share, scale=volume / math.fsum(hours) * SECONDS_PER_HOUR)


@family("replica_capacity", unit="replicas", relax="buy more replicas or lower the demand")
def replica_capacity(m: Milp, s: Sets) -> None:
    """Work routed to a configuration fits in its replicas, in every band, for every latency row.

        margin · Σ_r use[j,r,k]·x[r,k,τ,b]  ≤  Σ_p credit[p]·replicas[k,p,τ]       ∀ k, j, τ, b

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
                    "instance_packing",
                    (p, market_name(group), t),
                    [(c, -room * v) for c, v in instances] + load,
                    upper=0.0,
                )
            else:
                _pack_by_patterns(m, s, p, group, t, small, seated, instances)


def market_name(group: Group | None) -> str:
    """`spot`, or the firm options that share instances."""
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
    ys = [m.add("pattern", (p, market_name(group), i, t), 0, limit, integer=True) for i in range(len(patterns))]
    whole = [(n, -float(math.ceil(g / room))) for g, n in seated if g > room]
    m.row("instance_packing", (p, market_name(group), t), [*instances, *((y, -1.0) for y in ys), *whole], lower=0.0)
    for position, g in enumerate(small):
        held = [(y, float(pattern[position])) for y, pattern in zip(ys, patterns, strict=True)]
        used = [(n, -1.0) for size, n in seated if size == g]
        m.row("instance_packing", (p, market_name(group), t, g), held + used, lower=0.0)


def instance_terms(m: Milp, s: Sets, p: int, group: Group | None, t: int) -> Terms:
    """Instances of a market in slice τ, over its purchase options."""
    options = (PurchaseOption.SPOT,) if group is None else group
    return [(column, 1.0) for option in options for column in purchase_columns(m, s, p, group, option, t)]


def purchase_columns(m: Milp, s: Sets, p: int, group: Group | None, option: PurchaseOption, t: int) -> list[int]:
    """The variables that hold the instances of an option in slice τ: of a commitment one for each start that covers it.

    `commitment_window`: a commitment stands in every slice of its term and in no other.
    """
    if group is not None and option in COMMITMENTS:
        return [c for c, start, term in commitments(m, s, p, group, option) if s.calendar.covers(start, term, t)]
    key: Key = (p, t) if group is None else (p, group_name(group), t)
    column = m.column("spot" if group is None else option.value, key)
    return [] if column is None else [column]


def commitments(m: Milp, s: Sets, p: int, group: Group, option: PurchaseOption) -> list[tuple[int, float, float]]:
    """(column, start, term in months) of every commitment of a market under an option."""
    price = s.pools[p].price(option)
    found = []
    for period, start in s.starts(price) if price is not None else ():
        column = m.column("commit", commit_key(p, group, option, period))
        if column is not None and price is not None:
            found.append((column, start, float(price.term_months)))
    return found


def option_terms(m: Milp, s: Sets, p: int, option: PurchaseOption, t: int) -> Terms:
    """Instances of pool p bought under an option in slice τ, over all groups."""
    terms: Terms = []
    for q, group in s.markets:
        if q == p and (option in group if group is not None else option == PurchaseOption.SPOT):
            terms += [(column, 1.0) for column in purchase_columns(m, s, p, group, option, t)]
    return terms


def link(m: Milp, name: str, column: int, indicator: int, key: tuple[str | int, ...]) -> None:
    """column ≤ upper bound of column · indicator; the bound is the variable's own, never a global constant."""
    upper = m.variables[column].upper
    m.row(name, (*key, column), [(indicator, upper), (column, -1.0)], lower=0.0)


# ---- risk --------------------------------------------------------------------------------------------------------


@family("spot_limit", unit="req/s", relax="raise purchase.max_spot_share")
def spot_limit(m: Milp, s: Sets) -> None:
    """Enough of the demand is served without spot, so that losing all spot leaves at least 1 − φ of it.

        Σ_k x_firm[r,k,τ,b] + Σ_a api[r,a,τ,b]  ≥  (1 − φ)·λ[r,τ,b]                 ∀ r, τ, b

    (With one class: firm capacity in place of the routed rate. Batch work: over the hours of a window.)
    """
    for i, service in enumerate(s.services):
        if service.max_spot_share >= 1 or not any(SPOT_SEAT in seat_kinds(k) for k in s.configs_of[i]):
            continue
        firm = 1 - service.max_spot_share
        if service.is_batch:
            for r in s.active_classes[i]:
                for w, _ in enumerate(service.windows):
                    _done_in_window(m, s, "spot_limit", (i, r, w), (FIRM_SEAT,), firm)
            continue
        for t in range(len(s.slices)):
            for b in s.bands(i, t):
                for r in s.active_classes[i][:1] if s.is_covering(i) else s.active_classes[i]:
                    top = s.service_rate(i, t, -1) if s.is_covering(i) else s.top(i, r, t)
                    rate = s.service_rate(i, t, b) if s.is_covering(i) else s.rate(i, r, t, b)
                    if rate <= 0:
                        continue
                    needed = firm * rate / top
                    if s.is_covering(i):
                        terms = capacity_terms(m, s, i, t, 1.0 / top, (FIRM_SEAT,), needed)
                        terms += overflow_terms(m, s, i, t, b)
                        m.row("spot_limit", (i, r, t, b), terms, covered(m, i, t, b, needed, rate / top), scale=top)
                        continue
                    terms = api_terms(m, s, i, r, t, b)
                    terms += [(x, 1.0) for _, kind, x in routed(m, s, i, r, t, b) if kind == FIRM_SEAT]
                    m.row("spot_limit", (i, r, t, b), terms, lower=needed, scale=top)
