"""What is left when replicas, machines or places are lost: terms that `spare` and `survive_loss` share.

All rows are in parts of a service's demand in a band: `worth[k,τ,b]` of it is what one replica serves when every class
is in proportion (`Sets.worth`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from planner.formulation.families import Terms
from planner.formulation.milp import Key, Milp
from planner.formulation.registry import family
from planner.formulation.sets import Config, Sets, is_divisor_chain, maximal_patterns
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT
from planner.spec.types import SpotModel


def left_over(
    m: Milp, s: Sets, i: int, t: int, b: int, gone: Collection[int] = (), spot_kept: Mapping[int, float] | None = None
) -> Terms:
    """Σ worth·replicas over the pools that are not `gone`; spot keeps the share `spot_kept[p]` (default all)."""
    terms: Terms = []
    for k in s.configs_of[i]:
        for seat in k.seats:
            if seat.pool in gone:
                continue
            kept = 1.0 if spot_kept is None else spot_kept.get(seat.pool, 1.0)
            for name, credit in (("replicas", 1.0), ("spot_replicas", s.spot_credit(seat.pool) * kept)):
                column = m.column(name, (k.index, seat.pool, t))
                value = s.worth(k, t, b, credit)
                if column is not None and value > 0:
                    terms.append((column, value))
    return terms


def most(m: Milp, terms: Terms) -> float:
    """Largest value of terms with coefficients ≥ 0 within the bounds of their variables."""
    return sum(v * m.variables[c].upper for c, v in terms)


def serve_what_is_hosted(
    m: Milp, s: Sets, name: str, key: Key, terms: Terms, place: tuple[int, int, int], lost_apis: Collection[str] = (),
    target: float = 1.0,
) -> None:  # fmt: skip
    """terms + Σ_a api[r,a,τ,b]/λ[r,τ,b] ≥ target, for every class r that an API may take, else for all at once."""
    i, t, b = place
    scale = s.service_rate(i, t, b)
    bare = False
    for r in s.active_classes[i]:
        rate = s.rate(i, r, t, b)
        if rate <= 0:
            continue
        api: Terms = []
        for a in s.apis_of[i]:
            column = m.column("api", (i, r, a.candidate.api, t, b)) if a.request_class == r else None
            if column is not None and a.candidate.api not in lost_apis:
                api.append((column, s.top(i, r, t) / rate))
        if api or not bare:
            m.row(name, (*key, r), [*terms, *api], lower=target, scale=scale)
        bare = bare or not api


def zones(s: Sets, i: int) -> dict[str, frozenset[int]]:
    """Failure domains of a service: name → pools. Without zones a region is one; zone `*` is lost with every zone."""
    by_region: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for k in s.configs_of[i]:
        for seat in k.seats:
            pool = s.pools[seat.pool]
            by_region[pool.provider, pool.region][pool.zone].add(seat.pool)
    found: dict[str, frozenset[int]] = {}
    for (provider, region), places in sorted(by_region.items()):
        for zone in sorted(places):
            if zone != "*" or len(places) == 1:
                name = f"{provider}/{region}" if zone == "*" else f"{provider}/{region}/{zone}"
                found[name] = frozenset(places[zone] | places["*"] if "*" in places else places[zone])
    return found


# ---- instances ---------------------------------------------------------------------------------------------------


def lost_instances(m: Milp, s: Sets, i: int, t: int, b: int, count: int) -> int:
    """The column of what the loss of any `count` instances can cost at most, over all pools, firm and spot.

    For every way c to fill n instances of a pool with replicas of the service:

        lost[p,n]  ≥  Σ_k worth[k]·min(replicas[k,p,τ], c_k)

    min(x, c) = Σ_{j ≤ c} [x ≥ j] with `at_least[k,p,τ,j]` ∈ {0,1}. Pools share the `count` losses in every way: with
    pools in a row, any[p,n] ≥ any[p−1,n−j] + lost[p,j]. A replica over several instances is lost with any of them.
    """
    everything = most(m, left_over(m, s, i, t, b))
    before: list[int] = []
    for place in _markets(m, s, i, t, b):
        fills = [_fills(m, s, i, (*place, t, b), n) for n in range(1, count + 1)]
        here = [m.add("lost", (i, t, b, *place, n), 0, everything) for n in range(1, count + 1)]
        for n, (column, ways) in enumerate(zip(here, fills, strict=True), start=1):
            for number, terms in enumerate(ways):
                row = [(column, 1.0), *((c, -v) for c, v in terms)]
                m.row("spare", ("lost", i, t, b, *place, n, number), row, lower=0.0)
        before = _in_every_way(m, (i, t, b, *place), before, here, everything) if before else here
    return before[-1] if before else m.add("lost", (i, t, b), 0, 0)


def _in_every_way(m: Milp, key: Key, before: list[int], here: list[int], reach: float) -> list[int]:
    """[n − 1] columns of the worst loss of n instances among those before and those here."""
    found = []
    for n in range(1, len(here) + 1):
        column = m.add("lost", (*key, "any", n), 0, reach)
        for j in range(n + 1):
            parts = ([before[n - j - 1]] if j < n else []) + ([here[j - 1]] if j else [])
            m.row("spare", ("any", *key, n, j), [(column, 1.0), *((c, -1.0) for c in parts)], lower=0.0)
        found.append(column)
    return found


def _markets(m: Milp, s: Sets, i: int, t: int, b: int) -> dict[tuple[int, str], list[Config]]:
    """(pool, firm or spot) → configurations that may run there and serve the whole mix."""
    markets: dict[tuple[int, str], list[Config]] = defaultdict(list)
    for k in s.configs_of[i]:
        for seat in k.seats if s.worth(k, t, b) > 0 else ():
            for kind, name in ((FIRM_SEAT, "replicas"), (SPOT_SEAT, "spot_replicas")):
                if m.column(name, (k.index, seat.pool, t)) is not None:
                    markets[seat.pool, kind].append(k)
    return dict(sorted(markets.items()))


def _fills(m: Milp, s: Sets, i: int, place: tuple[int, str, int, int], n: int) -> list[Terms]:
    """What n instances of a market may hold of the service, one expression for each way to fill them.

    For each size the worst of its replicas are looked for first, so ways differ in sizes only.
    """
    p, kind, t, b = place
    room = s.pools[p].accelerators
    by_size: dict[int, list[Config]] = defaultdict(list)
    for k in _markets(m, s, i, t, b)[p, kind]:
        by_size[min(k.size, room)].append(k)  # a replica over several instances fills each of them
    sizes = tuple(sorted(by_size))
    worst = {g: _worst_of_size(m, s, by_size[g], place, n * (room // g)) for g in sizes}
    return [
        [term for g, number in zip(sizes, way, strict=True) if number for term in worst[g][number - 1]]
        for way in ways_to_fill(sizes, room, n)
    ]


def ways_to_fill(sizes: tuple[int, ...], room: int, instances: int) -> list[tuple[int, ...]]:
    """How many of each size so many instances can hold, maximal ways only; sizes ascending, none above `room`."""
    if is_divisor_chain((*sizes, room)):
        return maximal_patterns(sizes, instances * room)
    single = maximal_patterns(sizes, room)
    together = itertools.combinations_with_replacement(single, instances)
    return sorted({tuple(map(sum, zip(*ways, strict=True))) for ways in together})


def _steps(m: Milp, k: Config, p: int, kind: str, t: int, most: int) -> list[int]:
    """Binaries at_least[j], j ≤ most, with replicas ≤ (j − 1) + (limit − j + 1)·at_least[j]."""
    column = m.column("replicas" if kind == FIRM_SEAT else "spot_replicas", (k.index, p, t))
    assert column is not None
    limit = m.variables[column].upper
    steps = []
    for j in range(1, most + 1):
        key = (k.index, p, kind, t, j)
        step = m.column("at_least", key)
        if step is None:
            step = m.add("at_least", key, 0, 1, integer=True)
            row = [(step, max(0.0, limit - j + 1)), (column, -1.0)]
            m.row("spare", ("at_least", *key), row, lower=-float(j - 1))
        steps.append(step)
    return steps


def _worst_of_size(m: Milp, s: Sets, configs: list[Config], place: tuple[int, str, int, int], most: int) -> list[Terms]:
    """[n − 1] what n replicas of one size serve at most: one configuration's steps, else a variable above."""
    p, kind, t, b = place
    credit = s.spot_credit(p) if kind == SPOT_SEAT else 1.0
    steps = [(_steps(m, k, p, kind, t, most), s.worth(k, t, b, credit)) for k in configs]
    if len(configs) == 1:
        own, value = steps[0]
        return [[(c, value) for c in own[:n]] for n in range(1, most + 1)]
    found: list[Terms] = []
    for n in range(1, most + 1):
        key: Key = (configs[0].service, t, b, p, kind, "size", configs[0].size, n)
        column = m.column("lost", key)
        if column is not None:
            found.append([(column, 1.0)])
            continue
        column = m.add("lost", key, 0, n)
        for number, split in enumerate(_splits(n, len(configs))):
            terms = [(c, -value) for (own, value), share in zip(steps, split, strict=True) for c in own[:share]]
            m.row("spare", ("size", *key, number), [(column, 1.0), *terms], lower=0.0)
        found.append([(column, 1.0)])
    return found


def _splits(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write n as an ordered sum of so many whole numbers."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n, -1, -1):
        for rest in _splits(n - first, parts - 1):
            yield (first, *rest)


# ---- losing a place ----------------------------------------------------------------------------------------------


@family("survive_loss", unit="req/s", relax="lower resilience.serve_fraction, or allow more places or an API")
def survive_loss(m: Milp, s: Sets) -> None:
    """With any one zone, region or provider gone, or all spot of a region, the rest serves `serve_fraction` of it all.

        Σ_{p not in z} worth·replicas + Σ_{a not in z} api[r,a,τ,b]/λ[r,τ,b]  ≥  serve_fraction         ∀ z, r, τ, b

    Firm replicas, spot elsewhere and APIs stay as planned: nothing is bought while the loss lasts. An API is lost with
    its provider, and with its region where it has one. Of lost spot the share stays that on-demand stands in for anyway
    and that quotas are kept for (1 − availability; nothing under `spot.model: credited`). Machines of one's own belong
    to no provider.
    """
    for i, service in enumerate(s.services):
        fraction = service.resilience.serve_fraction
        for what in s.survives(i):
            if s.sparse and what != "spot":
                _survive_as_parts(m, s, i, what)
                continue
            for name, gone, spot_kept, apis in losses(s, i, what):
                for t in range(len(s.slices)):
                    for b in s.bands(i, t):
                        if s.service_rate(i, t, b) > 0:
                            terms = [(c, min(v, fraction)) for c, v in left_over(m, s, i, t, b, gone, spot_kept)]
                            key: Key = (i, t, b, what, name)
                            serve_what_is_hosted(m, s, "survive_loss", key, terms, (i, t, b), apis, fraction)


def _survive_as_parts(m: Milp, s: Sets, i: int, what: str) -> None:
    """The rows of `survive_loss` for places: everywhere[τ,b] = Σ worth·replicas, less what is in the place."""
    fraction = s.services[i].resilience.serve_fraction
    found = losses(s, i, what)
    for t in range(len(s.slices)):
        for b in s.bands(i, t):
            if s.service_rate(i, t, b) <= 0:
                continue
            of_pool: dict[int, Terms] = defaultdict(list)
            for pool, column, value in _hosted(m, s, i, t, b):
                of_pool[pool].append((column, min(value, fraction)))
            hosted = [term for terms in of_pool.values() for term in terms]
            everywhere = m.add("everywhere", (i, t, b, what), 0, most(m, hosted))
            m.row("survive_loss", (i, t, b, what), [*hosted, (everywhere, -1.0)], lower=0.0, upper=0.0)
            for name, gone, _, apis in found:
                there = [(c, -v) for p in sorted(gone) for c, v in of_pool.get(p, ())]
                key: Key = (i, t, b, what, name)
                terms = [(everywhere, 1.0), *there]
                serve_what_is_hosted(m, s, "survive_loss", key, terms, (i, t, b), apis, fraction)


def _hosted(m: Milp, s: Sets, i: int, t: int, b: int) -> Iterator[tuple[int, int, float]]:
    """(pool, column, worth) of all replicas of a service that are worth anything in a band."""
    for k in s.configs_of[i]:
        for seat in k.seats:
            for name, credit in (("replicas", 1.0), ("spot_replicas", s.spot_credit(seat.pool))):
                column = m.column(name, (k.index, seat.pool, t))
                value = s.worth(k, t, b, credit)
                if column is not None and value > 0:
                    yield seat.pool, column, value


Loss = tuple[str, frozenset[int], dict[int, float], frozenset[str]]
"""(name, pools that are gone, share of spot that stays by pool, APIs that are gone)."""


def losses(s: Sets, i: int, what: str) -> list[Loss]:
    """Everything of a kind that a service can lose."""
    apis = {a.candidate.api: a.candidate for a in s.apis_of[i]}
    if what == "zone":
        return [(name, gone, {}, frozenset()) for name, gone in zones(s, i).items()]
    pools: dict[str, set[int]] = defaultdict(set)
    lost_apis: dict[str, set[str]] = defaultdict(set)
    for k in s.configs_of[i]:
        for seat in k.seats:
            pool = s.pools[seat.pool]
            if what == "spot" and not seat.spot:
                continue
            if what != "provider":
                pools[f"{pool.provider}/{pool.region}"].add(seat.pool)
            elif pool.provider != "owned":
                pools[pool.provider].add(seat.pool)
    if what == "spot":
        credited = s.problem.policy.spot.model == SpotModel.CREDITED
        kept = {p: 0.0 if credited else 1.0 - x.spot.availability for p, x in enumerate(s.pools) if x.spot}
        found = [(name, frozenset[int](), {p: kept[p] for p in gone}, frozenset[str]()) for name, gone in pools.items()]
        # Whether spot is used at all is no matter: the mix must be served as in an emergency either way.
        return found or [("nowhere", frozenset(), {}, frozenset())]
    for api, a in apis.items():
        if what == "provider":
            lost_apis[a.provider].add(api)
        elif a.region != "global":
            lost_apis[f"{a.provider}/{a.region}"].add(api)
    names = sorted(pools.keys() | lost_apis.keys())
    return [(name, frozenset(pools[name]), {}, frozenset(lost_apis[name])) for name in names]
