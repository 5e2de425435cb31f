"""The cheapest cover of one service in one slice at given prices, by dynamic programming over capacity (compiled).

Capacities are counted in cells. Rounded up they give a bound: Σ cap·n ≥ D implies Σ ⌈cap/cell⌉·n ≥ D/cell. Rounded down
they give a cover. The cell divides the most efficient capacity, so that rounding costs nothing where it matters.
"""

# ruff: noqa: E501  (signatures of compiled functions are long, one line each)
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    F = TypeVar("F", bound=Callable[..., Any])

    def _compiled(function: F) -> F: ...

else:
    import numba

    def _compiled(function: Any) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
        except RuntimeError:  # no folder to keep compiled code in
            return numba.njit(nogil=True, error_model="numpy")(function)


import numpy as np

EPSILON = 1e-9
REPLICAS_PER_GRID = 3.0
"""So many replicas of the most efficient kind in a cover, and the grid is twice as fine: each rounds on its own."""
MOST_FINE = 16.0
NOTHING = -1


@_compiled
def _take(best: Any, weight: int, cost: float, top: int) -> None:
    """best[u] = least cost of capacity ≥ u, one more kind of replica allowed."""
    for u in range(1, top + 1):
        v = u - weight
        x = cost + (best[v] if v > 0 else best[0])
        if x < best[u]:
            best[u] = x


@_compiled
def _overflow(u: float, rates: Any, costs: Any) -> float:
    """Cost of what capacity u leaves to the API, over the bands."""
    total = 0.0
    for b in range(rates.size):
        if rates[b] > u + EPSILON:
            total += costs[b] * (rates[b] - u)
    return total


@_compiled
def _overflow_firm(u: float, v: float, firm_share: float, aside: float, rates: Any, costs: Any) -> float:
    """The same with firm capacity u and spot v, of which the API also makes up what is missing on firm machines."""
    total = 0.0
    for b in range(rates.size):
        api = rates[b] - u - v
        missing = firm_share * rates[b] - u - aside
        if missing > api:
            api = missing
        if api > EPSILON:
            total += costs[b] * api
    return total


@_compiled
def _combine(
    firm: Any,
    spot: Any,
    rest: Any,
    top: Any,
    rates: Any,
    costs: Any,
    has_api: Any,
    has_spot: Any,
    firm_share: Any,
    aside: Any,
) -> Any:
    """min firm[u] + spot[v] + API over (u, v); `aside`: capacity of a firm spare, which counts as firm. (cost, u, v)."""
    best, bu, bv = np.inf, NOTHING, 0
    demand = rates[rates.size - 1]
    if not has_spot:
        for u in range(top + 1):
            if not has_api:
                if u + EPSILON >= demand:
                    return firm[u], u, 0
                continue
            x = firm[u] + _overflow(float(u), rates, costs)
            if x < best:
                best, bu = x, u
        return best, bu, bv
    need = firm_share * demand - aside
    if not has_api:
        for u in range(top + 1):
            if u + EPSILON < need:
                continue
            v = int(np.ceil(demand - u - EPSILON))
            if v < 0:
                v = 0
            x = firm[u] + spot[v]
            if x < best:
                best, bu, bv = x, u, v
            if v == 0:
                break
        return best, bu, bv
    if rates.size == 1:
        return _combine_one_band(firm, spot, rest, top, demand, costs[0], need)
    for u in range(top + 1):
        if u > 0 and u < top and firm[u] == firm[u + 1]:
            continue
        for v in range(top + 1):
            if v > 0 and v < top and spot[v] == spot[v + 1]:
                continue
            x = firm[u] + spot[v]
            if x >= best:
                if spot[v] + firm[u] >= best:
                    break
                continue
            x += _overflow_firm(float(u), float(v), firm_share, aside, rates, costs)
            if x < best:
                best, bu, bv = x, u, v
            if u + v >= demand:
                break
    return best, bu, bv


@_compiled
def _combine_one_band(firm: Any, spot: Any, rest: Any, top: Any, demand: Any, cost: Any, need: Any) -> Any:
    """One band with spot and an API, in O(top): rest[j] = least cost of covering j + frac(demand) by spot or API."""
    best, bu = np.inf, NOTHING
    whole = int(np.floor(demand))
    part = demand - whole
    more = 1 if part > EPSILON else 0
    rest[0] = min(cost * part, spot[more]) if more else 0.0
    for j in range(1, whole + 1):
        x = rest[j - 1] + cost
        if j + more <= top and spot[j + more] < x:
            x = spot[j + more]
        rest[j] = x
    behind = max(0.0, demand - max(0.0, need))
    tail, tail_v = np.inf, 0
    for v in range(top + 1):
        left = behind - v
        x = spot[v] + (cost * left if left > 0 else 0.0)
        if x < tail:
            tail, tail_v = x, v
        if left <= 0:
            break
    for u in range(top + 1):
        if u + EPSILON >= need:
            x = firm[u] + (rest[whole - u] if u <= whole else 0.0)
        else:
            x = firm[u] + cost * (need - u) + tail
        if x < best:
            best, bu = x, u
        if u >= demand:
            break
    if bu == NOTHING:
        return best, bu, 0
    if bu + EPSILON < need:
        return best, bu, tail_v
    bv, least = 0, np.inf
    for v in range(top + 1):
        left = demand - bu - v
        x = spot[v] + (cost * left if left > 0 else 0.0)
        if x < least:
            least, bv = x, v
        if left <= 0:
            break
    return best, bu, bv


@_compiled
def _walk(best: Any, u: Any, weights: Any, costs: Any, firm: Any, wanted: Any, last: Any, counts: Any) -> Any:
    """The replicas behind best[u], added to counts."""
    while u > 0:
        least, which = np.inf, NOTHING
        for i in range(last + 1):
            if firm[i] == wanted:
                v = u - weights[i]
                x = costs[i] + best[v if v > 0 else 0]
                if x < least:
                    least, which = x, i
        if which == NOTHING:
            return
        counts[which] += 1
        u -= weights[which]


@_compiled
def _empty(firm: Any, spot: Any, top: Any) -> Any:
    """Nothing costs nothing, and covers nothing."""
    for u in range(top + 1):
        firm[u] = np.inf
        spot[u] = np.inf
    firm[0] = 0.0
    spot[0] = 0.0


@_compiled
def _cover(
    weights: Any,
    costs: Any,
    firm: Any,
    top: Any,
    rates: Any,
    api: Any,
    has_api: Any,
    firm_share: Any,
    spare: Any,
    work: Any,
    counts: Any,
) -> Any:
    """Least cost over kinds in ascending order of capacity, all in cells; fills `counts` with the replicas behind it."""
    kinds = weights.size
    f, s, rest = work[0], work[1], work[2]
    has_spot = False
    for i in range(kinds):
        counts[i] = 0
        if not firm[i]:
            has_spot = True
    best, at, bu, bv = np.inf, NOTHING, NOTHING, 0
    if has_api:
        best = _overflow(0.0, rates, api)
    _empty(f, s, top)
    for m in range(kinds):
        if firm[m]:
            _take(f, weights[m], costs[m], top)
        else:
            _take(s, weights[m], costs[m], top)
        if spare:
            aside = float(weights[m]) if firm[m] else 0.0
            x, u, v = _combine(f, s, rest, top, rates, api, has_api, has_spot, firm_share, aside)
            x += costs[m]
            if x < best:
                best, at, bu, bv = x, m, u, v
    if not spare and kinds > 0:
        x, u, v = _combine(f, s, rest, top, rates, api, has_api, has_spot, firm_share, 0.0)
        if x < best:
            best, at, bu, bv = x, kinds - 1, u, v
    if at != NOTHING and bu != NOTHING:
        if spare and at < kinds - 1:
            _empty(f, s, top)
            for m in range(at + 1):
                if firm[m]:
                    _take(f, weights[m], costs[m], top)
                else:
                    _take(s, weights[m], costs[m], top)
        if spare:
            counts[at] += 1
        _walk(f, bu, weights, costs, firm, True, at, counts)
        _walk(s, bv, weights, costs, firm, False, at, counts)
    return best


@_compiled
def _undominated(capacity: Any, cost: Any, firm: Any, spare: Any, order: Any) -> Any:
    """Kinds that copies of another do not replace, ascending by capacity; returns how many of `order` are filled.

    m copies of j replace i where m·cap_j ≥ cap_i, m·cost_j ≤ cost_i, and j is firm or i is spot; under a spare rule
    only smaller replicas replace larger ones (the loss of one is no worse).
    """
    kinds = capacity.size
    count = 0
    for i in range(kinds):
        if capacity[i] <= 0.0 or not cost[i] < np.inf:
            continue
        replaced = False
        for j in range(kinds):
            if j == i or capacity[j] <= 0.0 or (firm[i] and not firm[j]):
                continue
            if spare and capacity[j] > capacity[i]:
                continue
            copies = np.ceil(capacity[i] / capacity[j] - 1e-12)
            if copies * cost[j] <= cost[i] and copies * capacity[j] >= capacity[i]:
                same = capacity[j] == capacity[i] and cost[j] == cost[i] and firm[j] == firm[i]
                if not same or j < i:
                    back = np.ceil(capacity[j] / capacity[i] - 1e-12)
                    mutual = (
                        back * cost[i] <= cost[j]
                        and back * capacity[i] >= capacity[j]
                        and (firm[i] or not firm[j])
                        and not (spare and capacity[i] > capacity[j])
                    )
                    if not mutual or j < i:
                        replaced = True
                        break
        if not replaced:
            k = count
            while k > 0 and capacity[order[k - 1]] > capacity[i]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = i
            count += 1
    return count


@_compiled
def _holds(
    capacity: Any, firm: Any, counts: Any, picked: Any, number: Any, demand: Any, firm_share: Any, spare: Any
) -> Any:
    """Whether counts cover the demand in true capacities without an API."""
    total, on_firm, largest = 0.0, 0.0, 0.0
    for k in range(number):
        i = picked[k]
        if counts[k] > 0:
            total += capacity[i] * counts[k]
            if firm[i]:
                on_firm += capacity[i] * counts[k]
            if capacity[i] > largest:
                largest = capacity[i]
    if spare:
        total -= largest
    return total >= demand * (1 - 1e-12) and on_firm >= firm_share * demand * (1 - 1e-12)


@_compiled
def cover_block(
    capacity: Any,
    cost: Any,
    firm: Any,
    rates: Any,
    api: Any,
    has_api: Any,
    firm_share: Any,
    spare: Any,
    cells: Any,
    work: Any,
    found: Any,
) -> Any:
    """One block: (bound, whether `found` holds a cover). All sizes of one service and slice, K kinds and B bands.

    capacity, cost, firm [K]; rates, api [B] (top band last; api: objective per unit of rate); `work` [3, ≥ 3·cells].
    """
    kinds = capacity.size
    for k in range(kinds):
        found[k] = 0
    demand = rates[rates.size - 1]
    if demand <= 0.0:
        return 0.0, True
    clipped = np.empty(kinds)
    for k in range(kinds):
        clipped[k] = min(capacity[k], demand)
    picked = np.empty(kinds, np.int64)
    number = _undominated(clipped, cost, firm, spare, picked)
    if number == 0:
        return (_overflow(0.0, rates, api), True) if has_api else (np.inf, False)
    star, ratio = 0.0, np.inf
    for k in range(number):
        i = picked[k]
        if cost[i] / clipped[i] < ratio:
            star, ratio = clipped[i], cost[i] / clipped[i]
    fine = cells * (1.0 + demand / star / REPLICAS_PER_GRID)
    cell = star / max(1.0, np.rint(star / demand * min(fine, MOST_FINE * cells)))
    in_cells, per_cell = np.empty(rates.size), np.empty(rates.size)
    for b in range(rates.size):
        in_cells[b] = rates[b] / cell
        per_cell[b] = api[b] * cell
    top = int(np.ceil(in_cells[-1] - EPSILON))
    if top + 8 > work.shape[1]:
        work = np.empty((3, top + 8))
    weights, costs, is_firm = np.empty(number, np.int64), np.empty(number), np.empty(number, np.bool_)
    for k in range(number):
        i = picked[k]
        weights[k] = max(1, int(np.ceil(clipped[i] / cell - 1e-12)))
        costs[k] = cost[i]
        is_firm[k] = firm[i]
    counts = np.zeros(number, np.int64)
    bound = _cover(weights, costs, is_firm, top, in_cells, per_cell, has_api, firm_share, spare, work, counts)
    good = has_api or _holds(capacity, firm, counts, picked, number, demand, firm_share, spare)
    if not good:
        for k in range(number):
            weights[k] = int(np.floor(clipped[picked[k]] / cell + 1e-12))
        usable = True
        for k in range(number):
            if weights[k] < 1:
                usable = False
        if usable:
            _cover(weights, costs, is_firm, top, in_cells, per_cell, has_api, firm_share, spare, work, counts)
            good = _holds(capacity, firm, counts, picked, number, demand, firm_share, spare)
    for k in range(number):
        found[picked[k]] = counts[k]
    return bound, good


@_compiled
def cover_blocks(
    start: Any,
    capacity: Any,
    cost: Any,
    firm: Any,
    band_start: Any,
    rates: Any,
    api: Any,
    flags: Any,
    shares: Any,
    cells: Any,
    first: Any,
    last: Any,
    bounds: Any,
    good: Any,
    found: Any,
) -> Any:
    """Blocks first..last−1 of many: block b has kinds start[b]..start[b+1] and bands band_start[b]..band_start[b+1].

    flags [blocks, 2]: (has an API, has a spare); shares [blocks]: 1 − φ. Fills bounds, good [blocks], found [kinds].
    """
    work = np.empty((3, 3 * cells + 8))
    for b in range(first, last):
        lo, hi, x, y = start[b], start[b + 1], band_start[b], band_start[b + 1]
        bounds[b], good[b] = cover_block(
            capacity[lo:hi], cost[lo:hi], firm[lo:hi], rates[x:y], api[x:y], flags[b, 0], shares[b], flags[b, 1],
            cells, work, found[lo:hi],
        )  # fmt: skip


@functools.cache
def workers() -> int:
    """Threads that blocks are spread over."""
    import os

    return max(1, min(8, os.cpu_count() or 1))
