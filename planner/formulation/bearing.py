"""Whether whole numbers of replicas bear what `spare` and `survive_loss` ask: for leaving out what nothing needs."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from planner.formulation.emergency import losses, ways_to_fill, zones
from planner.formulation.sets import Sets
from planner.formulation.variables import SPOT_SEAT
from planner.spec.types import SpareDomain

Place = tuple[int, int, str]
"""(configuration, pool, firm or spot)."""
SLACK = 1e-9


def bears_losses(
    s: Sets, i: int, t: int, b: int, counts: Mapping[Place, int], api: Mapping[tuple[int, str, int], float]
) -> bool:
    """Whether a service's replicas in slice τ, with the API rates [req/s] of band b, bear every loss of its rules."""
    credit = {p: s.spot_credit(p[1]) if p[2] == SPOT_SEAT else 1.0 for p in counts}
    worth = {p: s.worth(s.configs[p[0]], t, b, credit[p]) for p in counts}
    total = math.fsum(n * worth[p] for p, n in counts.items())

    def needed(target: float, gone: Iterable[str] = ()) -> float:
        lost = set(gone)
        calls: dict[int, float] = defaultdict(float)
        for (r, name, band), rate in api.items():
            calls[r] += rate if band == b and name not in lost else 0.0
        rates = [(r, s.rate(i, r, t, b)) for r in s.active_classes[i]]
        return max((target - calls[r] / rate for r, rate in rates if rate > 0), default=0.0)

    def held(pools: Iterable[int]) -> float:
        inside = set(pools)
        return math.fsum(n * worth[p] for p, n in counts.items() if p[1] in inside)

    lost = 0.0
    units = sorted(((worth[p], n) for p, n in counts.items()), reverse=True)
    left = s.spare_count(i)
    for value, n in units:
        lost, left = lost + value * min(n, left), left - min(n, left)
    if count := s.spare_count(i, SpareDomain.INSTANCE):
        lost = max(lost, _instances(s, counts, worth, count))
    if count := s.spare_count(i, SpareDomain.ZONE):
        lost = max(lost, math.fsum(sorted(map(held, zones(s, i).values()), reverse=True)[:count]))
    if total - lost < max(0.0, needed(1.0)) - SLACK and any(s.spare_count(i, d) for d in SpareDomain):
        return False
    fraction = s.services[i].resilience.serve_fraction
    for what in s.survives(i):
        for _, gone, kept, apis in losses(s, i, what):
            away = held(gone)
            for p, n in counts.items():
                if p[2] == SPOT_SEAT and p[1] in kept:
                    away += n * (worth[p] - s.worth(s.configs[p[0]], t, b, credit[p] * kept[p[1]]))
            if total - away < needed(fraction, apis) - SLACK:
                return False
    return True


def _instances(s: Sets, counts: Mapping[Place, int], worth: Mapping[Place, float], count: int) -> float:
    """The worst that so many instances may hold, in whichever pools."""
    markets: dict[tuple[int, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for p, n in counts.items():
        size = min(s.configs[p[0]].size, s.pools[p[1]].accelerators)
        markets[p[1], p[2]][size] += [worth[p]] * n
    worst = [0.0] * (count + 1)
    for (pool, _), by_size in markets.items():
        sizes, room = tuple(sorted(by_size)), s.pools[pool].accelerators
        sums = [[0.0, *itertools.accumulate(sorted(by_size[g], reverse=True))] for g in sizes]
        here = [0.0]
        for instances in range(1, count + 1):
            ways = ways_to_fill(sizes, room, instances)
            here.append(max(math.fsum(v[min(n, len(v) - 1)] for v, n in zip(sums, way, strict=True)) for way in ways))
        worst = [max(worst[n - j] + here[j] for j in range(n + 1)) for n in range(count + 1)]
    return worst[count]
