"""What one replica does at a stated load: a concurrency, a rate, a static batch, or as much as it can take.

The capacity rows of `assess` ask how much fits inside a promise; here the load is given and the times come out. Arrays
are `[point, 1]`; seconds, tokens, bytes, requests per second; of one replica.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.analytic import Columns, Prefill
from planner.performance.rates import Rates, take_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 40
"""Halvings until a closed loop's TPOT and its queue agree."""
CLOSING_ROUNDS = 4
"""Rounds of Little's law in a closed loop; each leaves less than a quarter of the distance."""
BUSIEST = 0.97
"""Share of the time in prefills from which on a queue is no longer told apart from a full replica."""
FULL = 1.0 - 1e-9
LEAST = 1e-12


class LoadKind(StrEnum):
    """How requests arrive."""

    ONLINE = "online"
    """So many users at once, each sending the next request when the last one is answered; or a Poisson rate."""
    STATIC_BATCH = "static_batch"
    """One batch: all prompts first, then all answers together."""
    OFFLINE_THROUGHPUT = "offline_throughput"
    """More requests than fit, or a stated number of them sent at once."""
    SINGLE_STREAM = "single_stream"
    """One request after the other; the rate is that of decoding alone."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The points' loads on one replica."""

    input: Array
    output: Array
    concurrency: Array
    """Requests in the system at once, the batch, or how many are sent; inf: as many as fit."""
    rate: Array
    """Poisson arrivals; NaN where a concurrency is stated."""
    seats: Array
    """Most requests that are decoded at once."""
    pool: Array
    """KV pool of an attention rank, bytes; 0 or less: not known to hold anything, one request is assumed."""
    step_scale: Array
    """Calibration: true ÷ predicted time per output token, prefills of others included (1: nothing was measured)."""
    prefill_scale: Array
    """Calibration of first tokens."""
    cached: Array = field(default_factory=lambda: np.zeros((1, 1)))
    """Part of the prompt found in a prefix cache."""
    tokens_per_step: Array = field(default_factory=lambda: np.ones((1, 1)))
    """Tokens that an iteration yields of each request: over 1 where drafts are verified (declared, not derived)."""


@dataclass(frozen=True, slots=True)
class PointTimes:
    """Times of the points, medians of the estimate."""

    ttft_s: Array
    """NaN where no queue would ever empty."""
    tpot_s: Array
    """NaN where a single token is generated."""
    req_per_s: Array
    running: Array
    """Requests decoded at once."""
    overloaded: NDArray[np.bool_]
    """The stated rate is more than the replica takes; `req_per_s` is then what it takes."""


def predict_points(columns: Columns, rates: Rates, kinds: NDArray[np.str_], x: Loads) -> PointTimes:
    """Times of all points, each by its kind; `kinds` `[point]` holds values of `LoadKind`."""
    count = len(kinds)
    blank = [np.full((count, 1), np.nan) for _ in range(4)]
    result = PointTimes(blank[0], blank[1], blank[2], blank[3], np.zeros((count, 1), dtype=np.bool_))
    solvers: dict[LoadKind, Callable[[Columns, Rates, Loads], PointTimes]] = {
        LoadKind.ONLINE: _online,
        LoadKind.STATIC_BATCH: _static,
        LoadKind.OFFLINE_THROUGHPUT: _offline,
        LoadKind.SINGLE_STREAM: _single,
    }
    for kind, solve in solvers.items():
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            _put(result, rows, solve(analytic.take(columns, rows), take_rates(rates, rows), _take(x, rows)))
    return result


def _put(into: PointTimes, rows: NDArray[np.intp], found: PointTimes) -> None:
    for name in PointTimes.__slots__:
        getattr(into, name)[rows] = getattr(found, name)


def _take(x: Loads, rows: NDArray[np.intp]) -> Loads:
    values = (getattr(x, name) for name in Loads.__slots__)
    return Loads(*(v if len(v) == 1 else v[rows] for v in values))


def _context(x: Loads) -> Array:
    """Mean tokens of a running request."""
    return x.input + x.output / 2.0


def room(c: Columns, x: Loads) -> Array:
    """Requests that seats and cache hold at once, at least one."""
    fit = np.where(x.pool > 0, x.pool / np.maximum(_held(c, _context(x)), 1.0), 1.0) * c.data_parallel
    result: Array = np.maximum(np.minimum(x.seats, fit), 1.0)
    return result


def too_long(c: Columns, x: Loads) -> NDArray[np.bool_]:
    """Whether a request at its end is longer than the cache of a replica that serves nothing else."""
    result: NDArray[np.bool_] = (x.pool > 0) & (_held(c, x.input + x.output) > x.pool)
    return result


def _held(c: Columns, context: Array) -> Array:
    """Bytes that a request of so many tokens holds in a rank's cache."""
    held = c.kv_growing * context + c.kv_sliding * np.minimum(context, c.window) + c.kv_state
    result: Array = held / c.stages  # `Columns` holds the cache of all stages; a rank keeps its stage's share
    return result


def _prefill(c: Columns, p: Rates, x: Loads) -> Prefill:
    cached = np.minimum(x.cached, np.maximum(x.input - 1.0, 0.0))  # the last token is always computed
    return analytic.prefill_s(c, p, x.input - cached, cached + np.zeros_like(x.input))


def _step(c: Columns, p: Rates, x: Loads, batch: Array) -> Array:
    """Time per token of a request while `batch` are decoded and none is prefilled.

    With drafts an iteration also computes the one token that it rejects, and yields `tokens_per_step`.
    """
    positions = np.where(x.tokens_per_step > 1.0, x.tokens_per_step + 1.0, 1.0)
    result: Array = analytic.step_s(c, p, batch, _context(x), positions) / np.maximum(x.tokens_per_step, 1.0)
    return result


def _tpot(c: Columns, p: Rates, x: Loads, batch: Array, prefill: Prefill) -> Array:
    """TPOT with so many running, each replaced by a new one when it ends."""
    step = _step(c, p, x, batch)
    result: Array = step + p.interference * batch / np.maximum(x.output, 1.0) * prefill.work_s
    return result


def _finish(x: Loads, ttft: Array, tpot: Array, rate: Array, running: Array) -> PointTimes:
    """NaN for the TPOT of answers of one token."""
    return PointTimes(ttft, np.where(x.output > 1, tpot, np.nan), rate, running, np.zeros(rate.shape, dtype=np.bool_))


def _online(c: Columns, p: Rates, x: Loads) -> PointTimes:
    closed, poisson, is_open = _corrected(x, _closed(c, p, x)), _open(c, p, x), np.isfinite(x.rate)
    return PointTimes(
        ttft_s=np.where(is_open, poisson.ttft_s, closed.ttft_s),
        tpot_s=np.where(is_open, poisson.tpot_s, closed.tpot_s),
        req_per_s=np.where(is_open, poisson.req_per_s, closed.req_per_s),
        running=np.where(is_open, poisson.running, closed.running),
        overloaded=is_open & poisson.overloaded,
    )


def _corrected(x: Loads, found: PointTimes) -> PointTimes:
    """With the calibration's factors; the rate falls as the time that a request takes rises."""
    gaps = np.maximum(x.output - 1.0, 0.0)
    decode = np.where(gaps > 0, gaps * np.nan_to_num(found.tpot_s), 0.0)
    first = np.nan_to_num(found.ttft_s)
    before, after = first + decode, first * x.prefill_scale + decode * x.step_scale
    rate = found.req_per_s * np.where(after > 0, before / np.where(after > 0, after, 1.0), 1.0)
    return PointTimes(
        found.ttft_s * x.prefill_scale, found.tpot_s * x.step_scale, rate, found.running, found.overloaded
    )


def _closed(c: Columns, p: Rates, x: Loads) -> PointTimes:
    """So many users: Little's law over first token and decoding; who finds no seat waits for one.

    rate = C / (TTFT + (out − 1)·TPOT)       B = rate·(out − 1)·TPOT decode, the others are at their first token
    """
    prefill, most = _prefill(c, p, x), room(c, x)
    users = np.maximum(np.where(np.isfinite(x.concurrency), x.concurrency, most), 1.0)
    inside = np.minimum(users, most)
    gaps = np.maximum(x.output - 1.0, 0.0)
    running = inside
    for _ in range(CLOSING_ROUNDS):
        tpot = _tpot(c, p, x, running, prefill)
        first = _first_token(c, p, x, inside, running, tpot, prefill)
        running = inside * gaps * tpot / (first + gaps * tpot)
    rate = np.minimum(inside / (first + gaps * tpot), 1.0 / np.maximum(prefill.work_s, LEAST))
    queue = np.maximum(users / rate - (first + gaps * tpot), 0.0)
    return _finish(x, first + queue, tpot, rate, running)


def _first_token(c: Columns, p: Rates, x: Loads, inside: Array, running: Array, tpot: Array, prefill: Prefill) -> Array:
    """Prefill, half a step until it may begin, and the prefills of others that come first.

    Others: a queue ρ/(1 − ρ) at the share ρ of the time that is spent in prefills, and those of requests that end, and
    so begin, together; never more than there are.
    """
    step = _step(c, p, x, running)
    others = np.maximum(inside - 1.0, 0.0)
    busy = np.minimum(running / np.maximum(x.output, 1.0) * prefill.work_s / tpot, BUSIEST)
    ahead = np.minimum(p.queue * busy / (1.0 - busy) + p.burst * others, others)
    result: Array = prefill.latency_s + 0.5 * step + p.first_token_scale * ahead * prefill.work_s
    return result


def _open(c: Columns, p: Rates, x: Loads) -> PointTimes:
    """A Poisson rate: the TPOT that sustains it, M/G/1 waiting for the prefill; what is too much is said."""
    prefill, most = _prefill(c, p, x), room(c, x)
    latency = prefill.latency_s * x.prefill_scale
    gaps = np.maximum(x.output - 1.0, 0.0)
    full = most / (latency + gaps * _tpot(c, p, x, most, prefill) * x.step_scale + LEAST)
    capacity = np.minimum(full, FULL / np.maximum(prefill.work_s, LEAST))
    asked = np.where(np.isfinite(x.rate), x.rate, 0.0)
    rate = np.minimum(asked, capacity)
    low, high = np.zeros_like(most), most
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        held = rate * (gaps * _tpot(c, p, x, np.maximum(middle, 1.0), prefill) * x.step_scale + latency)
        low, high = np.where(held > middle, middle, low), np.where(held > middle, high, middle)
    running = np.maximum(high, 1.0)
    # between requests nobody decodes: the batch seen by a request is at least itself
    tpot = _tpot_at_rate(c, p, x, running, rate, prefill)
    busy = np.minimum(rate * prefill.work_s, FULL)
    # median of the M/G/1 waiting tail P(W > t) = ρ·exp(−2t·(1 − ρ)/S): none where the queue is empty half of the time
    wait = np.log(np.maximum(2.0 * busy, 1.0)) / (1.0 - busy) / 2.0 * prefill.work_s * x.prefill_scale
    step = _step(c, p, x, running) * x.step_scale
    over = asked > capacity * (1.0 + 1e-9)
    found = _finish(x, np.where(over, np.nan, latency + step + wait), tpot, rate, running)
    return PointTimes(found.ttft_s, found.tpot_s, found.req_per_s, found.running, over)


def _tpot_at_rate(c: Columns, p: Rates, x: Loads, running: Array, rate: Array, prefill: Prefill) -> Array:
    """step + γ·(arrivals while a token is made)·S."""
    step = _step(c, p, x, running) * x.step_scale
    share = np.minimum(p.interference * rate * prefill.work_s, FULL)
    result: Array = step / (1.0 - share)
    return result


def _static(c: Columns, p: Rates, x: Loads) -> PointTimes:
    """Batches one after the other: the prompts of all, then all decode; what does not fit makes another round."""
    batch = np.maximum(np.where(np.isfinite(x.concurrency), x.concurrency, room(c, x)), 1.0)
    running = np.minimum(batch, room(c, x))
    prefill = _prefill(c, p, x)
    step = _step(c, p, x, running)
    gaps = np.maximum(x.output - 1.0, 0.0)
    first = prefill.latency_s + np.maximum(running - 1.0, 0.0) * prefill.work_s
    total = first + gaps * step
    return _corrected(x, _finish(x, first, step, running / total, running))


def _offline(c: Columns, p: Rates, x: Loads) -> PointTimes:
    """As much as fits, for ever; or a stated number sent at once, whose batch empties towards the end."""
    forever, most = _closed(c, p, x), room(c, x)
    sent = np.where(np.isfinite(x.concurrency), np.maximum(x.concurrency, 1.0), most)
    gaps = np.maximum(x.output - 1.0, 0.0)
    prefill = _prefill(c, p, x)
    last = prefill.latency_s + gaps * _step(c, p, x, np.minimum(sent, most))
    wave = last + np.maximum(np.minimum(sent, most) - 1.0, 0.0) * prefill.work_s
    steady = np.maximum(sent - most, 0.0) / np.maximum(forever.req_per_s, LEAST)
    rate = np.where(np.isfinite(x.concurrency), sent / (steady + wave), forever.req_per_s)
    ttft = np.where(np.isfinite(x.concurrency), forever.ttft_s, np.nan)
    return _corrected(x, _finish(x, ttft, forever.tpot_s, rate, np.minimum(sent, most)))


def _single(c: Columns, p: Rates, x: Loads) -> PointTimes:
    """One request at a time; `req_per_s` is that of its tokens, the first one's wait apart."""
    one = np.ones_like(x.input)
    tpot = _step(c, p, x, one)
    ttft = _prefill(c, p, x).latency_s + tpot
    return PointTimes(
        ttft * x.prefill_scale,
        np.where(x.output > 1, tpot * x.step_scale, np.nan),
        1.0 / (np.maximum(x.output, 1.0) * tpot * x.step_scale),
        one,
        np.zeros(one.shape, dtype=np.bool_),
    )
