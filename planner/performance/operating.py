"""Where a replica runs at its limit: largest rates inside promises, and the TPOT at which they are reached.

A rate is limited from two sides. Decoding at a TPOT of T holds rate·out·T requests, so more rate needs more T; seats,
cache, first tokens and the prefill of prompts leave less T the higher the rate. The crossing is the operating point:
below the promise where something else binds, so that a looser promise never costs capacity.

Arrays are `[configuration, class]` or broadcast to it; seconds, bytes, tokens, requests per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.analytic import Columns, Prefill
from planner.performance.rates import Rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

TINY_RATE = 1e-30
MARGIN = 1.0 - 1e-9
"""Keeps the operating point just inside rows that are written as quotients."""
MOST_TRIALS = 16
"""Most operating points that are tried for classes that share replicas."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the rates depend on; predicted times hold the chosen quantile of the estimate unless said otherwise."""

    columns: Columns
    rates: Rates
    factor: Array
    """The chosen quantile: multiplies predicted times."""
    out: Array
    context: Array
    prefill: Prefill
    """Without the quantile."""
    idle: Array
    """a."""
    measured_work: Array
    """w where measured, else NaN."""
    seats: Array
    pool: Array
    request: Array
    """Mean cache of a running request."""
    work: Array
    """S; 0 where measured work carries it, as for the next two."""
    first_token: Array
    """Latency of a prefill alone on the replica."""
    chunk_share: Array
    """Iterations of the token budget that a prompt takes."""
    ttft: Array
    """Promised first token less the round trip; inf where none is promised."""
    tail: Array
    """k of the waiting tail."""


def full_load(x: Inputs) -> tuple[Array, Array]:
    """(req/s, TPOT) of each class alone at the largest batch that seats and cache admit."""
    batch = np.maximum(np.minimum(x.seats, x.pool / x.request), 1.0)
    work = x.prefill.work_s
    tpot = analytic.closed_tpot(x.columns, x.rates, batch, x.out, x.context, work) * x.factor
    rate = np.minimum(batch / (x.out * tpot), 1.0 / (work * x.factor))
    return np.where(np.isnan(x.measured_work), rate, 1.0 / x.measured_work), tpot


def _tpot_at(x: Inputs, rate: Array, tpot: Array) -> Array:
    """TPOT at a rate: analytic, or a/(1 − rate·w) where measured."""
    found = analytic.open_tpot(x.columns, x.rates, rate, tpot, x.out, x.context, x.prefill.work_s) * x.factor
    free = 1.0 - rate * x.measured_work
    measured = np.where(free > 0, x.idle / np.where(free > 0, free, 1.0), np.inf)
    return np.where(np.isnan(x.measured_work), found, measured)


def _ceiling(x: Inputs) -> Array:
    """A rate that no replica reaches."""
    high = 1.0 / (x.prefill.work_s * x.factor * x.rates.interference)
    return np.where(np.isnan(x.measured_work), high, 1.0 / x.measured_work)


def _tpot_for_room(x: Inputs, rate: Array) -> Array:
    """TPOT at which rate · (prefill + out·TPOT) requests fill the seats or the cache."""
    stay = np.minimum(x.seats, x.pool / x.request) / np.maximum(rate, TINY_RATE)
    return (stay - x.first_token) / (x.out + x.chunk_share)


def _tpot_for_prefill(x: Inputs, rate: Array) -> Array:
    """TPOT at which prefills beside the running batch fill the replica: rate·(S + chunks·TPOT) = 1."""
    left = 1.0 / np.maximum(rate, TINY_RATE) - x.work
    return np.where(x.chunk_share > 0, left / np.maximum(x.chunk_share, TINY_RATE), np.inf)


def _tpot_for_first_token(x: Inputs, rate: Array) -> Array:
    """TPOT at which the class alone just keeps its first token.

    rate·u = 1 − k·u/(2·slack),  u = S + c·T,  slack = TTFT − latency − (1 + c)·T,  c chunks: the smaller root of
    α·T² − β·T + γ = 0. Negative where even T = 0 does not keep it.
    """
    c, free = x.chunk_share, 1.0 - rate * x.work
    limit = np.where(np.isfinite(x.ttft), x.ttft, 0.0) - x.first_token
    alpha = 2.0 * rate * c * (1.0 + c)
    beta = 2.0 * (free * (1.0 + c) + rate * c * limit) + x.tail * c
    gamma = 2.0 * free * limit - x.tail * x.work
    possible = (free > 0) & (gamma > 0)
    root = 2.0 * gamma / np.maximum(beta + np.sqrt(np.maximum(beta**2 - 4.0 * alpha * gamma, 0.0)), TINY_RATE)
    return np.where(possible, root, -1.0)


def rates_within(x: Inputs, limit: Array) -> tuple[Array, Array]:
    """Largest rate of each class alone inside a TPOT limit, and the TPOT it then runs at.

    Seats, cache, the class's first token and its prefill work are kept too. Infinite limits and those that an idle
    iteration exceeds give (0, 0).
    """
    finite = np.isfinite(limit) & (x.idle < limit)
    if not finite.any():
        return np.zeros(limit.shape), np.zeros(limit.shape)
    bound = np.where(finite, limit, 1.0)
    promised = np.isfinite(x.ttft) & (x.work > 0)

    def allowed(rate: Array) -> Array:
        prompt = np.where(promised, _tpot_for_first_token(x, rate), _tpot_for_prefill(x, rate))
        result: Array = np.minimum(np.minimum(bound, _tpot_for_room(x, rate)), prompt) * MARGIN
        return np.where(prompt >= bound, np.minimum(bound, _tpot_for_room(x, rate)), result)

    rate = analytic.largest_rate(lambda r, t: _tpot_at(x, r, t), allowed, _ceiling(x))
    served = finite & (rate > 0)
    return np.where(served, rate, 0.0), np.where(served, allowed(rate), 0.0)


def rates_at(x: Inputs, tpot: Array) -> Array:
    """Largest rate of each class alone inside a TPOT, nothing else kept; 0 where an idle iteration is longer."""
    finite = np.broadcast_to(x.idle < tpot, x.idle.shape)
    bound = np.where(finite, tpot, 1.0)
    rate = analytic.largest_rate(lambda r, t: _tpot_at(x, r, t), lambda rate: bound, _ceiling(x))
    return np.where(finite, rate, 0.0)


def joint_tpot(x: Inputs, alone: Array, candidates: Array) -> Array:
    """One operating TPOT for all classes `[configuration, 1]`: of the classes' own, the one that costs least.

    The cost of a TPOT is the worst class's loss against its capacity `alone`; a TPOT at which first tokens of the mix
    cannot be kept comes last. 0 where no class has one. Each trial costs a pass over all classes, so of many classes
    only `MOST_TRIALS` are tried, evenly spread from the smallest TPOT to the largest: any of them is safe.
    """
    best = np.zeros((candidates.shape[0], 1))
    least = np.full(best.shape, np.inf)
    for tpot in _trials(candidates):
        cost = _cost(x, alone, tpot)
        better = (tpot > 0) & ((cost < least) | (best == 0))
        best, least = np.where(better, tpot, best), np.where(better, cost, least)
    return best


def _trials(candidates: Array) -> list[Array]:
    """Different columns `[configuration, 1]` of the candidates, at most MOST_TRIALS."""
    columns = np.unique(candidates, axis=1, return_index=True)[1]
    if len(columns) <= MOST_TRIALS:
        return [candidates[:, r : r + 1] for r in sorted(columns)]
    ordered = np.sort(candidates, axis=1)
    spread = np.linspace(0, ordered.shape[1] - 1, MOST_TRIALS).round().astype(int)
    return [ordered[:, r : r + 1] for r in spread]


def _cost(x: Inputs, alone: Array, tpot: Array) -> Array:
    """max over served classes of capacity alone · largest use at this TPOT `[configuration, 1]`."""
    served = alone > 0
    rate = rates_at(x, tpot)
    stay = x.first_token + (x.chunk_share + x.out) * tpot
    busy = x.work + x.chunk_share * tpot
    decode = np.where(rate > 0, 1.0 / np.maximum(rate, TINY_RATE), np.inf)
    use = np.maximum(decode, np.maximum(stay / x.seats, stay * x.request / x.pool))
    use = np.maximum(use, _prefill_use(x, served, busy, tpot))
    result: Array = (np.where(served, use, 0.0) * alone).max(axis=1, keepdims=True)
    return result


def _prefill_use(x: Inputs, served: Flags, busy: Array, tpot: Array) -> Array:
    """Use of the row of prefill work: by the tightest first token of the mix, or all of the replica."""
    promised = served & np.isfinite(x.ttft)
    c = np.where(served, busy, 0.0).max(axis=1, keepdims=True) / 2.0
    slack = np.where(promised, x.ttft, np.inf) - x.first_token - (1.0 + x.chunk_share) * tpot
    share = np.where(slack > 0, 1.0 - x.tail * c / np.where(slack > 0, slack, 1.0), -1.0)
    tightest = np.where(promised, share, 1.0).min(axis=1, keepdims=True)
    return np.where(tightest > 0, busy / np.where(tightest > 0, tightest, 1.0), np.inf)
