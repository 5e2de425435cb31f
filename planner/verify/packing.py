"""Check that replicas fit into the instances bought: whole instances, one market, options that the service allows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from planner.base import PurchaseOption
from planner.verify.facts import Facts
from planner.verify.findings import Findings
from planner.verify.market import PoolFacts
from planner.verify.normalise import Normal, Running
from planner.verify.optimize import scipy_optimize

FIRM = (PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y, PurchaseOption.OWNED)
SPOT = (PurchaseOption.SPOT,)

Group = tuple[int, frozenset[PurchaseOption]]
"""Replicas of one size whose service allows these options."""


def check_packing(normal: Normal, facts: Facts, out: Findings) -> None:
    """`instance_packing` for every pool, market (spot or firm) and slice."""
    markets = {(r.pool.id, r.deployment.spot) for r in normal.running}
    for pool_id, spot in sorted(markets):
        pool = facts.market.pool(pool_id)
        assert pool is not None
        inside = [r for r in normal.running if r.pool.id == pool_id and r.deployment.spot == spot]
        for t, slice_ in enumerate(facts.demand.slices):
            groups = _groups(inside, t, spot)
            bought = {o: normal.instances(pool_id, (o,), t) for o in (SPOT if spot else FIRM)}
            _check(pool, groups, bought, (pool_id, "spot" if spot else "firm", slice_.id), out)


def _groups(inside: Sequence[Running], slice_: int, spot: bool) -> dict[Group, int]:
    groups: dict[Group, int] = defaultdict(int)
    for r in inside:
        options = r.pool.usable(r.service.options) & frozenset(SPOT if spot else FIRM)
        if r.accelerators > 0 and r.deployment.replicas[slice_]:
            groups[r.accelerators, options] += r.deployment.replicas[slice_]
    return dict(groups)


def _check(
    pool: PoolFacts,
    groups: Mapping[Group, int],
    bought: Mapping[PurchaseOption, int],
    key: tuple[str, ...],
    out: Findings,
) -> None:
    sizes: dict[int, int] = defaultdict(int)
    for (g, _), n in groups.items():
        sizes[g] += n
    had = sum(bought.values())
    needed = instances_needed(sizes, pool.accelerators, had)
    before = len(out.violations)
    detail = "the replicas do not fit into the instances"
    out.at_most("instance_packing", key, needed, had, "instances", step=1.0, subject=key[:2], detail=detail)
    used = {o for o, n in bought.items() if n}
    if len(out.violations) > before or all(used <= options for _, options in groups):
        return
    if not _assignable(groups, bought, pool.accelerators):
        detail = "the replicas do not fit into instances bought under options that their services allow"
        text = "; ".join(
            f"{n} × {g} on {'|'.join(sorted(o)) or 'nothing'}" for (g, o), n in sorted(groups.items(), key=str)
        )
        out.broken("instance_packing", (*key, "options"), detail, text, _text(bought), "instances")


def _text(bought: Mapping[PurchaseOption, int]) -> str:
    return ", ".join(f"{n} {o}" for o, n in sorted(bought.items()) if n) or "none"


def is_divisor_chain(sizes: Sequence[int], accelerators: int) -> bool:
    """Whether each size divides the next and the largest divides G: then total accelerators decide the packing."""
    chain = [*sorted(sizes), accelerators]
    return all(b % a == 0 for a, b in pairwise(chain))


def instances_needed(sizes: Mapping[int, int], accelerators: int, enough: int) -> int:
    """Fewest instances of G accelerators for `sizes` (accelerators per replica → replicas).

    Replicas larger than an instance take ⌈g/G⌉ whole ones. The others: Σ g·n / G rounded up on a divisor chain;
    else first fit decreasing, and where that takes more than `enough`, exactly by packing patterns.
    """
    whole = sum(math.ceil(g / accelerators) * n for g, n in sizes.items() if g > accelerators)
    small = {g: n for g, n in sizes.items() if 0 < g <= accelerators and n > 0}
    least = math.ceil(sum(g * n for g, n in small.items()) / accelerators)
    if is_divisor_chain(list(small), accelerators):
        return whole + least
    greedy = _first_fit_decreasing(small, accelerators)
    if greedy == least or whole + greedy <= enough:
        return whole + greedy
    return whole + _fewest_by_patterns(small, accelerators)


def _first_fit_decreasing(sizes: Mapping[int, int], accelerators: int) -> int:
    """Instances that first fit decreasing opens; instances with equal room are handled together."""
    room: dict[int, int] = defaultdict(int)
    opened = 0
    for g, n in sorted(sizes.items(), reverse=True):
        left = n
        for free in sorted((f for f in room if f >= g), reverse=False):
            per, count = free // g, room.pop(free)
            taken = min(count, math.ceil(left / per)) if left else 0
            for _ in range(taken):
                put = min(per, left)
                left -= put
                room[free - put * g] += 1
            if count > taken:
                room[free] += count - taken
        per = accelerators // g
        while left > 0:
            put = min(per, left)
            left -= put
            opened += 1
            room[accelerators - put * g] += 1
    return opened


def _patterns(sizes: Sequence[int], accelerators: int) -> Iterator[tuple[int, ...]]:
    """Every way to fill one instance to which nothing can be added; counts in the order of `sizes` (decreasing)."""
    if not sizes:
        yield ()
        return
    head, tail = sizes[0], sizes[1:]
    most = accelerators // head
    for count in range(most, -1, -1) if tail else (most,):
        for rest in _patterns(tail, accelerators - count * head):
            yield (count, *rest)


def _fewest_by_patterns(sizes: Mapping[int, int], accelerators: int) -> int:
    import numpy as np

    optimize = scipy_optimize()
    order = sorted(sizes, reverse=True)
    patterns = np.array(list(_patterns(order, accelerators)), dtype=float)
    covered = optimize.LinearConstraint(patterns.T, lb=[sizes[g] for g in order])
    ones = np.ones(len(patterns))
    found = optimize.milp(ones, constraints=covered, integrality=ones, bounds=optimize.Bounds(lb=0))
    assert found.x is not None, "one pattern per size always covers"
    fewest: float = found.fun
    return round(fewest)


def _assignable(groups: Mapping[Group, int], bought: Mapping[PurchaseOption, int], accelerators: int) -> bool:
    """Whether every replica finds room on instances of an option that its service allows.

    y[group, option] replicas and z[pattern, option] instances filled alike, both whole:
    Σ_o y = n, Σ_groups y ≤ Σ_patterns z · count, Σ_patterns z + Σ ⌈g/G⌉ · y ≤ bought.
    """
    import numpy as np

    optimize = scipy_optimize()
    options = [o for o, n in bought.items() if n]
    pairs = [(g, o) for g in groups for o in options if o in g[1]]
    if any(not any(p[0] == g for p in pairs) for g in groups):
        return False
    order = sorted({g for g, _ in groups if g <= accelerators}, reverse=True)
    patterns = list(_patterns(order, accelerators)) if order else []
    width = len(pairs) + len(patterns) * len(options)

    def z(pattern: int, option: int) -> int:
        return len(pairs) + option * len(patterns) + pattern

    rows: list[list[float]] = []
    bounds: list[tuple[float, float]] = []
    for group, n in groups.items():
        rows.append([1.0 if j < len(pairs) and pairs[j][0] == group else 0.0 for j in range(width)])
        bounds.append((float(n), float(n)))
    for k, option in enumerate(options):
        for s, size in enumerate(order):
            row = [0.0] * width
            for j, (group, o) in enumerate(pairs):
                row[j] = 1.0 if o == option and group[0] == size else 0.0
            for i, pattern in enumerate(patterns):
                row[z(i, k)] = -float(pattern[s])
            rows.append(row)
            bounds.append((-np.inf, 0.0))
        row = [0.0] * width
        for j, (group, o) in enumerate(pairs):
            row[j] = float(math.ceil(group[0] / accelerators)) if o == option and group[0] > accelerators else 0.0
        for i in range(len(patterns)):
            row[z(i, k)] = 1.0
        rows.append(row)
        bounds.append((-np.inf, float(bought[option])))
    found = optimize.milp(
        np.zeros(width),
        constraints=optimize.LinearConstraint(np.array(rows), *np.array(bounds).T),
        integrality=np.ones(width),
        bounds=optimize.Bounds(lb=0),
    )
    return found.x is not None
