"""Times of many configurations at once: the analytic model, with measured figures in place of a and w."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.analytic import Columns, Prefill
from planner.performance.cases import Case, Job
from planner.performance.coefficients import Times
from planner.performance.measured import MeasuredKind
from planner.performance.parameters import Fitted
from planner.units import GIB, MS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TINY_POOL_BYTES = 1.0
"""Stands for a pool that is not there, so that latency checks of a configuration out of memory still come out."""


@dataclass(frozen=True, slots=True)
class _Arrays:
    """Inputs of the rates: `[1, class]`, `[configuration, 1]` or `[configuration, class]`; seconds, bytes, tokens."""

    columns: Columns
    fitted: Fitted
    factor: Array
    """Chosen quantile of the estimate: multiplies predicted times."""
    out: Array
    context: Array
    prefill: Prefill
    idle: Array
    """a, the quantile inside."""
    measured_work: Array
    """w where measured, else NaN."""
    seats: Array
    pool: Array
    request: Array
    """Mean cache of a running request."""
    ttft: Array
    """Promised first token; NaN where none is."""


def predict_times(job: Job, cases: Sequence[Case]) -> None:
    """Fill `times` of the cases, with the chosen quantile of the estimate inside."""
    if not cases:
        return
    a = _gather(job, cases)
    limit = _classes(np.inf if x.tpot_limit_s is None else x.tpot_limit_s for x in job.loads)
    own = np.where(limit > a.idle, limit, np.inf)
    tightest = np.broadcast_to(own.min(axis=1, keepdims=True), own.shape)
    rate_alone, tpot_alone = _rates_within(a, own)
    rate_joint, tpot_joint = (rate_alone, tpot_alone) if np.array_equal(tightest, own) else _rates_within(a, tightest)
    operating = np.broadcast_to(tpot_joint.max(axis=1, keepdims=True), own.shape)
    if not np.array_equal(operating, tpot_joint):
        rate_joint = _rates_at(a, operating)
    rate_full, tpot_full = _full_load(a)
    carried = _prefill_is_carried(job, cases)
    new = _classes(max(x.input_tokens - x.cached_input_tokens, 1.0) for x in job.loads)
    for i, case in enumerate(cases):
        case.times = Times(
            idle_s=a.idle[i].tolist(),
            prefill_s=(a.prefill.work_s[i] * case.time_factor * carried[i]).tolist(),
            first_token_s=(a.prefill.latency_s[i] * case.time_factor * carried[i]).tolist(),
            chunk_share=(new[0] / a.columns.token_budget[i] * carried[i]).tolist(),
            tpot_s=float(operating[i, 0]) or None,
            rate_at_tpot=rate_joint[i].tolist(),
            tpot_alone_s=tpot_alone[i].tolist(),
            rate_alone=rate_alone[i].tolist(),
            rate_at_full_load=rate_full[i].tolist(),
            tpot_at_full_load_s=tpot_full[i].tolist(),
            seats=float(a.seats[i, 0]),
            pool_share=(a.request[i] / a.pool[i, 0]).tolist(),
        )


def _gather(job: Job, cases: Sequence[Case]) -> _Arrays:
    loads, fitted = job.loads, job.parameters.fitted
    columns = analytic.build_columns([c.setup for c in cases], job.parameters)
    factor = np.array([[c.time_factor] for c in cases])
    context = _classes(x.input_tokens + x.output_tokens / 2.0 for x in loads)
    new = _classes(max(x.input_tokens - x.cached_input_tokens, 1.0) for x in loads)
    idle, work = _figures(job, cases)
    pool, seats = _pool_and_seats(cases)
    return _Arrays(
        columns=columns,
        fitted=fitted,
        factor=factor,
        out=_classes(max(x.output_tokens, 1.0) for x in loads),
        context=context,
        prefill=analytic.prefill_s(columns, fitted, new, _classes(x.cached_input_tokens for x in loads)),
        idle=np.where(np.isnan(idle), analytic.step_s(columns, fitted, np.ones((1, 1)), context) * factor, idle),
        measured_work=work,
        seats=seats,
        pool=pool,
        request=_request_bytes(cases, context),
        ttft=_classes(np.nan if x.ttft_limit_s is None else x.ttft_limit_s for x in loads),
    )


def _full_load(a: _Arrays) -> tuple[Array, Array]:
    """(req/s, TPOT s) of each class alone at the largest batch that seats and cache admit."""
    batch = np.maximum(np.minimum(a.seats, a.pool / a.request), 1.0)
    work = a.prefill.work_s
    tpot = analytic.closed_tpot(a.columns, a.fitted, batch, a.out, a.context, work) * a.factor
    rate = np.minimum(batch / (a.out * tpot), 1.0 / (work * a.factor))
    return np.where(np.isnan(a.measured_work), rate, 1.0 / a.measured_work), tpot


def _tpot_at(a: _Arrays, rate: Array, tpot: Array) -> Array:
    """TPOT at a rate: analytic, or a/(1 − rate·w) where measured."""
    found = analytic.open_tpot(a.columns, a.fitted, rate, tpot, a.out, a.context, a.prefill.work_s) * a.factor
    free = 1.0 - rate * a.measured_work
    measured = np.where(free > 0, a.idle / np.where(free > 0, free, 1.0), np.inf)
    return np.where(np.isnan(a.measured_work), found, measured)


def _ceiling(a: _Arrays) -> Array:
    """A rate that no replica reaches, req/s."""
    high = 1.0 / (a.prefill.work_s * a.factor * a.fitted.interference)
    return np.where(np.isnan(a.measured_work), high, 1.0 / a.measured_work)


def _rates_within(a: _Arrays, limit: Array) -> tuple[Array, Array]:
    """Largest rate of each class alone, and the TPOT it then runs at: the limit, or less where seats or cache bind.

    Residency TTFT + out·TPOT must find room: rate · residency ≤ seats and rate · residency · bytes ≤ pool. Infinite
    limits and those below an idle iteration give (0, 0).
    """
    finite = np.isfinite(limit) & (a.idle < limit)
    if not finite.any():
        return np.zeros(limit.shape), np.zeros(limit.shape)
    bound = np.where(finite, limit, 1.0)
    first = np.where(np.isnan(a.ttft), a.prefill.latency_s * a.factor, a.ttft)
    extra = np.where(np.isnan(a.ttft), 1.0, 0.0)
    room = np.minimum(a.seats, a.pool / a.request)

    def allowed(rate: Array) -> Array:
        stay = room / np.maximum(rate, 1e-30)
        return np.minimum(bound, (stay - first) / (a.out + extra))

    rate = analytic.largest_rate(lambda x, t: _tpot_at(a, x, t), allowed, _ceiling(a))
    served = finite & (rate > 0)
    return np.where(served, rate, 0.0), np.where(served, allowed(rate), 0.0)


def _rates_at(a: _Arrays, tpot: Array) -> Array:
    """Largest rate of each class alone inside a TPOT, seats and cache aside; 0 where an idle iteration is longer."""
    finite = a.idle < tpot
    bound = np.where(finite, tpot, 1.0)
    rate = analytic.largest_rate(lambda x, t: _tpot_at(a, x, t), lambda rate: bound, _ceiling(a))
    return np.where(finite, rate, 0.0)


def _classes(values: Iterable[float]) -> Array:
    """[1, class]"""
    return np.array([list(values)], dtype=np.float64)


def _figures(job: Job, cases: Sequence[Case]) -> tuple[Array, Array]:
    """Measured (idle iteration, work per request) in seconds, `[configuration, class]`; NaN where not measured."""
    found = np.full((2, len(cases), len(job.loads)), np.nan)
    for i, case in enumerate(cases):
        for r, row in enumerate(case.rows):
            if row is not None and case.kind(r) is MeasuredKind.FIGURES:
                found[0, i, r] = (row.idle_iteration_ms or 0.0) / MS_PER_S
                found[1, i, r] = row.work_s_per_request
    return found[0], found[1]


def _prefill_is_carried(job: Job, cases: Sequence[Case]) -> Array:
    """1 where a prefill has rows of its own; 0 where measured work contains it and no first token is promised or
    no estimate is trusted for it."""
    alone = np.ones((len(cases), len(job.loads)))
    promised = any(x.ttft_limit_s is not None for x in job.loads)
    for i, case in enumerate(cases):
        for r in range(len(job.loads)):
            if case.kind(r) is MeasuredKind.FIGURES and not (promised and job.trusts_estimates):
                alone[i, r] = 0.0
    return alone


def _pool_and_seats(cases: Sequence[Case]) -> tuple[Array, Array]:
    """KV pool of all attention ranks in bytes and requests decoded at once, `[configuration, 1]`."""
    groups = [c.setup.config.attention_data_parallel for c in cases]
    pools = [max(c.memory.kv_pool_gib_per_gpu * GIB, TINY_POOL_BYTES) * d for c, d in zip(cases, groups, strict=True)]
    seats = [float(c.setup.config.max_num_seqs * d) for c, d in zip(cases, groups, strict=True)]
    return np.array(pools)[:, None], np.array(seats)[:, None]


def _request_bytes(cases: Sequence[Case], context: Array) -> Array:
    """Mean cache of a request while it runs, bytes per rank `[configuration, class]`: (in + out/2)·KV + fixed."""
    growing = np.array([c.memory.kv_bytes_per_token_per_gpu for c in cases])[:, None]
    fixed = np.array([c.memory.state_bytes_per_request_per_gpu for c in cases])[:, None]
    result: Array = np.maximum(growing * context + fixed, 1.0)
    return result
