"""A plan from an engine's values: whole instances and replicas, and routes that add up exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.formulation.bearing import bears_losses
from planner.formulation.families import commitments, option_terms, routed
from planner.formulation.milp import Milp
from planner.formulation.sets import COMMITMENTS, Sets
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT

Place = tuple[int, int, str]
"""(configuration, pool, firm or spot)."""
TINY = 1e-12


def extract_plan(m: Milp, s: Sets, values: Sequence[float], trim: bool = True) -> Plan:
    """Purchases, deployments with their routes in every band, and API volumes.

    With `trim`, replicas that nothing needs are left out (they cost nothing inside a paid instance and would only
    confuse). Rates are recomputed so that Σ routed + Σ api is the demand exactly, not only within tolerance.
    """
    replicas = {place: list(counts) for place, counts in _replicas(m, s, values).items()}
    api = {i: {t: _api_shares(m, s, i, t, values) for t in range(len(s.slices))} for i in range(len(s.services))}
    return _assemble(s, replicas, api, _purchases(m, s, values), trim, (m, values))


ApiRates = Mapping[int, Mapping[int, dict[tuple[int, str, int], float]]]
"""[service][slice] (class, API, band) → rate [req/s]."""


def assemble(
    s: Sets, replicas: dict[Place, list[int]], api: ApiRates, purchases: tuple[Purchase, ...], trim: bool = True
) -> Plan:
    """The plan of covering services from replicas [slice] and API rates, routed like that of a programme."""
    return _assemble(s, replicas, api, purchases, trim, None)


def _assemble(
    s: Sets, replicas: dict[Place, list[int]], api: ApiRates, purchases: tuple[Purchase, ...], trim: bool,
    solved: tuple[Milp, Sequence[float]] | None,
) -> Plan:  # fmt: skip
    routes: dict[Place, list[Route]] = defaultdict(list)
    api_routes: dict[tuple[str, str], list[Route]] = defaultdict(list)
    for i in range(len(s.services)):
        for t in range(len(s.slices)):
            taken = api.get(i, {}).get(t, {})
            if s.services[i].is_batch:
                pass  # below: work moves between slices
            elif s.is_covering(i) or solved is None:
                if trim:
                    _trim(s, i, t, taken, replicas)
                _route_covering(s, i, t, taken, replicas, routes)
            else:
                _route_classes(solved[0], s, i, t, solved[1], replicas, routes)
            _route_api(s, i, t, taken, api_routes)
        if s.services[i].is_batch:
            _route_batch(s, i, api.get(i, {}), solved, replicas, routes)
            if trim:
                _trim_batch(s, i, replicas, routes)
    return Plan(
        purchases=purchases,
        deployments=_deployments(s, replicas, routes),
        api=tuple(
            ApiUse(request_class=cls, api=api, routes=tuple(found)) for (cls, api), found in sorted(api_routes.items())
        ),
    )


def _replicas(m: Milp, s: Sets, values: Sequence[float]) -> dict[Place, list[int]]:
    found: dict[Place, list[int]] = {}
    for k in s.configs:
        for seat in k.seats:
            for name, kind in (("replicas", FIRM_SEAT), ("spot_replicas", SPOT_SEAT)):
                columns = [m.column(name, (k.index, seat.pool, t)) for t in range(len(s.slices))]
                counts = [0 if c is None else round(values[c]) for c in columns]
                if any(counts):
                    found[k.index, seat.pool, kind] = counts
    return found


def _api_shares(m: Milp, s: Sets, i: int, t: int, values: Sequence[float]) -> dict[tuple[int, str, int], float]:
    """(class, api, band) → rate [req/s]."""
    found = {}
    for a in s.apis_of[i]:
        for b in s.bands(i, t):
            column = m.column("api", (i, a.request_class, a.candidate.api, t, b))
            if column is not None and values[column] > TINY:
                found[a.request_class, a.candidate.api, b] = values[column] * s.top(i, a.request_class, t)
    return found


def _credit(s: Sets, place: Place) -> float:
    return s.spot_credit(place[1]) if place[2] == SPOT_SEAT else 1.0


def _places(s: Sets, i: int, t: int, replicas: dict[Place, list[int]]) -> list[Place]:
    return [place for place, counts in sorted(replicas.items()) if s.configs[place[0]].service == i and counts[t] > 0]


def _capacity(s: Sets, t: int, place: Place, counts: list[int]) -> float:
    return s.mix_capacity(s.configs[place[0]], t) * _credit(s, place) * counts[t]


def _covering_holds(
    s: Sets, i: int, t: int, api: dict[tuple[int, str, int], float], replicas: dict[Place, list[int]]
) -> bool:
    """serve_demand, spot_limit, spare and survive_loss of a covering service, recomputed with whole replicas."""
    places = _places(s, i, t, replicas)
    firm = math.fsum(_capacity(s, t, p, replicas[p]) for p in places if p[2] == FIRM_SEAT)
    total = firm + math.fsum(_capacity(s, t, p, replicas[p]) for p in places if p[2] == SPOT_SEAT)
    counts = {p: replicas[p][t] for p in places}
    for b in s.bands(i, t):
        rate = s.service_rate(i, t, b)
        hosted = rate - math.fsum(v for (_, _, band), v in api.items() if band == b)
        firm_needed = (1 - s.services[i].max_spot_share) * rate - (rate - hosted)
        slack = 1e-9 * max(rate, TINY)
        if hosted > total + slack or firm_needed > firm + slack or not bears_losses(s, i, t, b, counts, api):
            return False
    return True


def _trim(s: Sets, i: int, t: int, api: dict[tuple[int, str, int], float], replicas: dict[Place, list[int]]) -> None:
    """Take away replicas that the rows of slice τ do not need, least capable first."""
    places = _places(s, i, t, replicas)
    for place in sorted(places, key=lambda p: (s.mix_capacity(s.configs[p[0]], t), p)):
        while replicas[place][t] > 0:
            replicas[place][t] -= 1
            if not _covering_holds(s, i, t, api, replicas):
                replicas[place][t] += 1
                break


def _route_covering(
    s: Sets, i: int, t: int, api: dict[tuple[int, str, int], float], replicas: dict[Place, list[int]],
    routes: dict[Place, list[Route]],
) -> None:  # fmt: skip
    """Share the hosted rate over the replicas by capacity, firm ones taking at least what `spot_limit` asks of them.

    Every replica takes the whole mix (there is one class, or the programme was compiled `mixed`).
    """
    places = _places(s, i, t, replicas)
    capacity = {p: _capacity(s, t, p, replicas[p]) for p in places}
    firm = math.fsum(c for p, c in capacity.items() if p[2] == FIRM_SEAT)
    total = math.fsum(capacity.values())
    for b in range(len(s.services[i].band_weights[t])):
        rate = s.service_rate(i, t, b)
        taken = math.fsum(v for (_, _, band), v in api.items() if band == b)
        hosted = rate - taken
        if hosted <= TINY or total <= 0:
            continue
        on_firm = min(firm, max(hosted * firm / total, (1 - s.services[i].max_spot_share) * rate - taken))
        for p in places:
            if p[2] == FIRM_SEAT:
                part = on_firm * capacity[p] / firm
            else:
                part = (hosted - on_firm) * capacity[p] / (total - firm)
            for r in s.active_classes[i]:
                called = math.fsum(v for (q, _, band), v in api.items() if band == b and q == r)
                share = part * (s.rate(i, r, t, b) - called) / hosted
                if share > TINY:
                    cls = s.request_class(i, r)
                    routes[p].append(Route(request_class=cls.id, slice=t, band=b, req_per_s=share))


def _route_classes(
    m: Milp, s: Sets, i: int, t: int, values: Sequence[float], replicas: dict[Place, list[int]],
    routes: dict[Place, list[Route]],
) -> None:  # fmt: skip
    """Routed rates of several classes, spread over the pools of a configuration by credited replicas."""
    modelled = s.bands(i, t)
    for r in s.active_classes[i]:
        cls = s.request_class(i, r)
        for b in range(len(cls.band_req_per_s[t])):
            source = b if b in modelled else modelled[-1]
            rate = s.rate(i, r, t, b)
            base = s.rate(i, r, t, source)
            if rate <= 0 or base <= 0:
                continue
            found: dict[tuple[int, str], float] = {}
            for k in s.configs_of[i]:
                for kind in (FIRM_SEAT, SPOT_SEAT):
                    column = m.column("x", (i, r, k.index, kind, t, source))
                    if column is not None and values[column] > 1e-9:
                        found[k.index, kind] = values[column] * s.top(i, r, t)
            api = math.fsum(
                values[c] * s.top(i, r, t)
                for a in s.apis_of[i]
                if a.request_class == r and (c := m.column("api", (i, r, a.candidate.api, t, source))) is not None
            )
            hosted = math.fsum(found.values())
            factor = (base - api) / hosted * (rate / base) if hosted > 0 else 0.0
            for (k_index, kind), amount in found.items():
                _spread(s, cls.id, t, b, k_index, kind, amount * factor, replicas, routes)


def _route_batch(
    s: Sets, i: int, api: Mapping[int, dict[tuple[int, str, int], float]], solved: tuple[Milp, Sequence[float]] | None,
    replicas: dict[Place, list[int]], routes: dict[Place, list[Route]],
) -> None:  # fmt: skip
    """Routed rates of batch work, no higher than the windows need: in a slice of several, the one that needs most.

    Without a solved programme there is one class, and replicas take what they can.
    """
    windows = s.services[i].windows
    for r in s.active_classes[i]:
        taken: dict[int, dict[tuple[int, str], float]] = {t: defaultdict(float) for t in range(len(s.slices))}
        calls: dict[int, float] = {}
        for t in range(len(s.slices)):
            if solved is not None:
                for k, kind, x in routed(solved[0], s, i, r, t, 0):
                    taken[t][k.index, kind] = solved[1][x] * s.top(i, r, t)
            else:
                for place in _places(s, i, t, replicas):
                    taken[t][place[0], place[2]] += _capacity(s, t, place, replicas[place])
            calls[t] = math.fsum(rate for (q, _, _), rate in api.get(t, {}).items() if q == r)
        parts = []
        for hours in windows:
            needed = math.fsum(h * (s.top(i, r, t) - calls[t]) for t, h in enumerate(hours))
            done = math.fsum(h * math.fsum(taken[t].values()) for t, h in enumerate(hours))
            parts.append(max(0.0, needed) / done if done > 0 else 0.0)
        for t in range(len(s.slices)):
            factor = max((part for part, hours in zip(parts, windows, strict=True) if hours[t] > 0), default=0.0)
            for (k_index, kind), amount in taken[t].items():
                if amount * factor > TINY:
                    cls = s.request_class(i, r).id
                    _spread(s, cls, t, 0, k_index, kind, amount * factor, replicas, routes)


def _trim_batch(s: Sets, i: int, replicas: dict[Place, list[int]], routes: dict[Place, list[Route]]) -> None:
    """Keep as many replicas as what is routed to them needs."""
    index = {c.id: r for r, c in enumerate(s.services[i].classes)}
    for place, counts in replicas.items():
        k = s.configs[place[0]]
        for t in range(len(counts)) if k.service == i else ():
            rates = [(index[x.request_class], x.req_per_s) for x in routes[place] if x.slice == t]
            load = max(math.fsum(s.margin * row.use[r] * x for r, x in rates) for row in k.capability.rows)
            counts[t] = min(counts[t], math.ceil(load / _credit(s, place) - 1e-7))


def _spread(
    s: Sets, cls: str, t: int, b: int, k_index: int, kind: str, amount: float, replicas: dict[Place, list[int]],
    routes: dict[Place, list[Route]],
) -> None:  # fmt: skip
    places = [p for p in sorted(replicas) if p[0] == k_index and p[2] == kind and replicas[p][t] > 0]
    credits = {p: _credit(s, p) * replicas[p][t] for p in places}
    total = math.fsum(credits.values())
    for p, credit in credits.items():
        if amount * credit > TINY * total:
            routes[p].append(Route(request_class=cls, slice=t, band=b, req_per_s=amount * credit / total))


def _route_api(
    s: Sets, i: int, t: int, api: dict[tuple[int, str, int], float], api_routes: dict[tuple[str, str], list[Route]]
) -> None:
    for (r, name, b), rate in sorted(api.items()):
        cls = s.request_class(i, r)
        api_routes[cls.id, name].append(Route(request_class=cls.id, slice=t, band=b, req_per_s=rate))


def _purchases(m: Milp, s: Sets, values: Sequence[float]) -> tuple[Purchase, ...]:
    found = []
    for p, pool in enumerate(s.pools):
        for option in sorted(PurchaseOption):
            if option in COMMITMENTS:
                found += _commitments(m, s, p, option, values)
                continue
            counts = tuple(
                sum(round(values[c]) for c, _ in option_terms(m, s, p, option, t)) for t in range(len(s.slices))
            )
            if any(counts):
                found.append(Purchase(pool=pool.id, option=option, instances=counts))
    return tuple(found)


def _commitments(m: Milp, s: Sets, p: int, option: PurchaseOption, values: Sequence[float]) -> list[Purchase]:
    """One purchase for each start."""
    bought: dict[tuple[float, float], int] = defaultdict(int)
    for q, group in s.markets:
        if q == p and group is not None and option in group:
            for column, start, term in commitments(m, s, p, group, option):
                bought[start, term] += round(values[column])
    return [
        Purchase(
            pool=s.pools[p].id,
            option=option,
            instances=tuple(n if s.calendar.covers(start, term, t) else 0 for t in range(len(s.slices))),
            start_month=start,
        )
        for (start, term), n in sorted(bought.items())
        if n
    ]


def _deployments(s: Sets, replicas: dict[Place, list[int]], routes: dict[Place, list[Route]]) -> tuple[Deployment, ...]:
    found = []
    for place, counts in sorted(replicas.items()):
        if any(counts):
            k = s.configs[place[0]]
            found.append(
                Deployment(
                    service=s.services[k.service].id,
                    config=k.capability.config.id,
                    pool=s.pools[place[1]].id,
                    spot=place[2] == SPOT_SEAT,
                    replicas=tuple(counts),
                    routes=tuple(sorted(routes[place], key=lambda x: (x.request_class, x.slice, x.band))),
                )
            )
    return tuple(found)
