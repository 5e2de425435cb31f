"""Times of many configurations at once: the analytic model, with measured figures in place of a and w."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.cases import Case, Job
from planner.performance.coefficients import Times, tail_factor
from planner.performance.measured import MeasuredKind
from planner.performance.operating import Inputs, full_load, joint_tpot, rates_at, rates_within
from planner.performance.rates import resolve_rates
from planner.units import GIB, MS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TINY_POOL_BYTES = 1.0
"""Stands for a pool that is not there, so that latency checks of a configuration out of memory still come out."""


def predict_times(job: Job, cases: Sequence[Case]) -> None:
    """Fill `times` of the cases, with the chosen quantile of the estimate inside."""
    if not cases:
        return
    x = _gather(job, cases)
    rate_full, tpot_full = full_load(x)
    stated = _classes(np.inf if load.tpot_limit_s is None else load.tpot_limit_s for load in job.loads)
    # a first token alone also needs an operating point: at most the fullest batch's TPOT
    implied = np.where(np.isinf(stated) & np.isfinite(x.ttft) & np.isnan(x.measured_work), tpot_full, np.inf)
    explicit = np.where(stated > x.idle, stated, np.inf)
    own = np.minimum(explicit, implied)
    tightest = explicit.min(axis=1, keepdims=True)
    tightest = np.where(np.isfinite(tightest), tightest, own.min(axis=1, keepdims=True))
    rate_alone, tpot_alone = rates_within(x, own)
    rate_joint, operating = _joint(x, own, np.broadcast_to(tightest, own.shape), rate_alone, tpot_alone)
    for i, case in enumerate(cases):
        case.times = Times(
            idle_s=x.idle[i].tolist(),
            prefill_s=x.work[i].tolist(),
            first_token_s=x.first_token[i].tolist(),
            chunk_share=x.chunk_share[i].tolist(),
            tpot_s=float(operating[i, 0]) or None,
            rate_at_tpot=rate_joint[i].tolist(),
            tpot_alone_s=tpot_alone[i].tolist(),
            rate_alone=rate_alone[i].tolist(),
            rate_at_full_load=rate_full[i].tolist(),
            tpot_at_full_load_s=tpot_full[i].tolist(),
            seats=float(x.seats[i, 0]),
            pool_share=(x.request[i] / x.pool[i, 0]).tolist(),
        )


def _joint(x: Inputs, own: Array, tightest: Array, rate_alone: Array, tpot_alone: Array) -> tuple[Array, Array]:
    """(λ* of each class, operating TPOT `[configuration, 1]`) of all classes together."""
    rate, tpot = (rate_alone, tpot_alone) if np.array_equal(own, tightest) else rates_within(x, tightest)
    if tpot.shape[1] == 1:
        return rate, tpot
    operating = joint_tpot(x, rate, tpot)
    return rates_at(x, operating), operating


def _gather(job: Job, cases: Sequence[Case]) -> Inputs:
    loads, setups = job.loads, [c.setup for c in cases]
    columns, rates = analytic.build_columns(setups, job.parameters), resolve_rates(setups, job.parameters)
    factor = np.array([c.time_factors for c in cases])
    first_factor = np.array([c.first_token_factors for c in cases])
    context = _classes(x.input_tokens + x.output_tokens / 2.0 for x in loads)
    new = _classes(max(x.input_tokens - x.cached_input_tokens, 1.0) for x in loads)
    idle, work = _figures(job, cases)
    pool, seats = _pool_and_seats(cases)
    prefill = analytic.prefill_s(columns, rates, new, _classes(x.cached_input_tokens for x in loads))
    carried = _prefill_is_carried(job, cases)
    return Inputs(
        columns=columns,
        rates=rates,
        factor=factor,
        out=_classes(max(x.output_tokens, 1.0) for x in loads),
        context=context,
        prefill=prefill,
        idle=np.where(np.isnan(idle), analytic.step_s(columns, rates, np.ones((1, 1)), context) * factor, idle),
        measured_work=work,
        seats=seats,
        pool=pool,
        request=_request_bytes(cases, context),
        work=prefill.work_s * first_factor * carried,
        first_token=prefill.latency_s * first_factor * carried,
        chunk_share=new / columns.token_budget * carried,
        ttft=_classes(np.inf if x.ttft_limit_s is None else x.ttft_limit_s - x.rtt_s for x in loads),
        tail=_classes(tail_factor(x) for x in loads),
    )


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
