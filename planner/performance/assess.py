"""What one replica of a configuration can do for the classes of a service, or why it cannot (DESIGN §4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from planner.base import Check
from planner.catalog.catalog import Catalog
from planner.performance.calibration import NOTHING_MEASURED
from planner.performance.cases import Case, Job, open_case
from planner.performance.coefficients import (
    Times,
    iteration_s,
    keep_ttft,
    latency_rows,
    tightest_tpot,
    tpot_check,
    ttft_row,
)
from planner.performance.measured import MeasuredKind
from planner.performance.parameters import ErrorModel, PerformanceParameters, load_parameters
from planner.performance.residuals import calibration_of
from planner.performance.support import rule_book
from planner.performance.times import predict_times
from planner.performance.types import (
    CapacityRow,
    EngineConfig,
    HeadroomFactor,
    Provenance,
    Refusal,
    ReplicaCapability,
    RequestLoad,
)
from planner.spec.types import Estimator, Headroom, Measured
from planner.units import GIB

LOW_CONCURRENCY = 4.0
"""Fewer longest requests than this in the cache are flagged: "starts" is not "serves" (FACTS §1)."""
BAND_Z = NormalDist().inv_cdf(0.9)
"""Half of an 80 % interval in standard deviations."""
MEASURED_ROWS = frozenset({MeasuredKind.CAPACITY, MeasuredKind.RATES})


def assess(
    config: EngineConfig,
    loads: Sequence[RequestLoad],
    catalog: Catalog,
    *,
    headroom: Headroom,
    batch: bool,
    measured: Sequence[Measured],
    estimators: Sequence[Estimator],
) -> ReplicaCapability | Refusal:
    """One configuration against the classes of a service; see `assess_many`."""
    return assess_many(
        [config], loads, catalog, headroom=headroom, batch=batch, measured=measured, estimators=estimators
    )[0]


def assess_many(
    configs: Sequence[EngineConfig],
    loads: Sequence[RequestLoad],
    catalog: Catalog,
    *,
    headroom: Headroom,
    batch: bool,
    measured: Sequence[Measured],
    estimators: Sequence[Estimator],
    parameters: PerformanceParameters | None = None,
) -> list[ReplicaCapability | Refusal]:
    """Every configuration against the classes of a service, in order, vectorised over configurations.

    A measurement of the configuration is trusted before the analytic model; `batch` work has no utilisation cap.
    Refused where no class can be served: memory, context, latency promises, or no trusted estimator. Raises
    UnknownName for names that the catalog does not have, ValueError without classes.
    """
    if not loads:
        raise ValueError("no request classes to assess")
    parameters = parameters or load_parameters()
    job = Job(
        loads=tuple(loads),
        catalog=catalog,
        target=1.0 if batch else headroom.target_utilization,
        estimate_quantile=headroom.estimate_quantile,
        estimators=frozenset(estimators),
        parameters=parameters,
        rules=rule_book(catalog.support),
        calibration=calibration_of(catalog, parameters) if Estimator.MEASURED in estimators else NOTHING_MEASURED,
    )
    cases = [open_case(job, config, measured) for config in configs]
    predict_times(job, [c for c in cases if c.needs_times])
    return [_close_case(job, case) for case in cases]


def _close_case(job: Job, case: Case) -> ReplicaCapability | Refusal:
    """Decide which classes are served and state the rows; a refusal carries every failed check."""
    loads = _exempt(job, case)
    times = _with_measured_rates(job, case)
    served = [r for r in range(len(loads)) if r not in case.class_checks]
    served, refused = _keep_promises(case, times, loads, served)
    class_checks = {**case.class_checks, **refused}
    if case.checks or not served:
        checks = (*case.checks, *(c for r in sorted(class_checks) for c in class_checks[r]))
        return Refusal(config=case.setup.config, checks=checks)
    return _capability(job, case, times, loads, served, class_checks)


def _exempt(job: Job, case: Case) -> tuple[RequestLoad, ...]:
    """Loads without the TTFT promise where a measured capacity already lies inside it, or nothing trusted tells it."""

    def covered(r: int) -> bool:
        kind, row = case.kind(r), case.rows[r]
        no_prefill = row is not None and row.prefill_tok_per_s is None
        return (
            kind is MeasuredKind.CAPACITY
            or (kind is MeasuredKind.RATES and no_prefill)
            or (kind is MeasuredKind.FIGURES and not job.trusts_estimates)
        )

    return tuple(replace(x, ttft_limit_s=None) if covered(r) else x for r, x in enumerate(job.loads))


def _with_measured_rates(job: Job, case: Case) -> Times:
    """The case's times, with prefill times of measured rates where there are any."""
    count = len(job.loads)
    zero = [0.0] * count
    tightest = tightest_tpot(job.loads, range(count))
    base = case.times or Times(zero, zero, zero, zero, tightest, zero, zero, zero, zero, zero, 1.0, zero)
    if not any(case.kind(r) in MEASURED_ROWS for r in range(count)):
        return base
    prefill, first, chunk, full = (
        list(x) for x in (base.prefill_s, base.first_token_s, base.chunk_share, base.tpot_at_full_load_s)
    )
    for r, row in enumerate(case.rows):
        if row is not None and case.kind(r) in MEASURED_ROWS:
            load = job.loads[r]
            rate = row.prefill_tok_per_s
            prefill[r] = first[r] = (load.input_tokens - load.cached_input_tokens) / rate if rate else 0.0
            chunk[r] = full[r] = 0.0
    return replace(base, prefill_s=prefill, first_token_s=first, chunk_share=chunk, tpot_at_full_load_s=full)


def _keep_promises(
    case: Case, times: Times, loads: Sequence[RequestLoad], served: Sequence[int]
) -> tuple[list[int], dict[int, list[Check]]]:
    """The classes whose TPOT and TTFT can be kept together, and the checks of the others."""
    refused: dict[int, list[Check]] = {}
    timed = [r for r in served if case.kind(r) not in MEASURED_ROWS]
    for r in timed:
        limit = loads[r].tpot_limit_s
        if limit is not None and times.idle_s[r] >= limit:
            refused.setdefault(r, []).append(tpot_check(loads[r], times.idle_s[r], limit))
    for r in timed if times.tpot_s is not None else ():
        if r not in refused and times.rate_at_tpot[r] <= 0:
            refused[r] = [tpot_check(loads[r], times.idle_s[r], times.tpot_s or 0.0)]
    keep = [r for r in served if r not in refused]
    _, alone = keep_ttft(times, loads, sorted(refused)) if refused else ([], {})
    keep, late = keep_ttft(times, loads, keep)
    for r, check in {**alone, **late}.items():
        refused.setdefault(r, []).append(check)
    return keep, refused


def _capability(
    job: Job,
    case: Case,
    times: Times,
    loads: Sequence[RequestLoad],
    served: Sequence[int],
    class_checks: dict[int, list[Check]],
) -> ReplicaCapability:
    rows = _rows(job, case, times, loads, served)
    analytic = any(case.kind(r) is None for r in served)
    error = job.parameters.error_of(case.setup.accelerator.id, case.setup.model.id)
    inside = set(served)
    return ReplicaCapability(
        config=case.setup.config,
        served=tuple(r in inside for r in range(len(loads))),
        rows=rows,
        capacity_req_per_s=tuple(
            _alone_req_per_s(job, case, times, loads, r) if r in inside else 0.0 for r in range(len(loads))
        ),
        work_s=tuple(_work_s(job, case, times, loads, served, r) if r in inside else 0.0 for r in range(len(loads))),
        prefill_s=tuple(times.prefill_s[r] if r in inside else 0.0 for r in range(len(loads))),
        idle_iteration_s=_idle_s(case, times, served),
        memory=case.memory,
        provenance=_provenance(case) if analytic else Provenance.MEASURED,
        error_band=_band(case, error) if analytic else (1.0, 1.0),
        time_factor=case.time_factor if analytic else 1.0,
        headroom=_headroom(job, case, rows, analytic),
        flags=_flags(job, case, loads, served),
        refused_classes=tuple((loads[r].id, tuple(class_checks[r])) for r in sorted(class_checks)),
    )


def _provenance(case: Case) -> Provenance:
    return Provenance.CALIBRATED if case.calibrated else Provenance.ANALYTIC


def _band(case: Case, error: ErrorModel) -> tuple[float, float]:
    """80 % interval of true ÷ estimated time."""
    if not case.calibrated:
        return error.low, error.high
    half = BAND_Z * case.sigma_log
    return math.exp(-half), math.exp(half)


def _rows(
    job: Job, case: Case, times: Times, loads: Sequence[RequestLoad], served: Sequence[int]
) -> tuple[CapacityRow, ...]:
    """Latency rows, or one utilisation row where any class has a measured throughput (plus TTFT where promised)."""
    if not any(case.kind(r) in MEASURED_ROWS for r in served):
        return latency_rows(times, loads, served, times.rate_at_tpot, times.tpot_s, job.target)
    inside = set(served)
    use = tuple(_throughput_use(job, case, times, loads, r) if r in inside else 0.0 for r in range(len(loads)))
    rows = [CapacityRow(name="utilization", use=use)]
    if any(loads[r].ttft_limit_s is not None for r in served):
        rows.append(ttft_row(times, loads, served, iteration_s(times, served, times.tpot_s)))
    return tuple(rows)


def _throughput_use(job: Job, case: Case, times: Times, loads: Sequence[RequestLoad], r: int) -> float:
    """Replicas per req/s in a row of measured throughputs; an estimated class counts with its capacity alone."""
    row, load = case.rows[r], loads[r]
    if row is not None and case.kind(r) in MEASURED_ROWS:
        return _measured_s(row, load) / job.target
    return max(x.use[r] for x in _rows_alone(job, times, loads, r))


def _rows_alone(job: Job, times: Times, loads: Sequence[RequestLoad], r: int) -> tuple[CapacityRow, ...]:
    """Rows of an estimated class that has the replica for itself."""
    return latency_rows(times, loads, [r], times.rate_alone, times.tpot_alone_s[r] or None, job.target)


def _measured_s(row: Measured, load: RequestLoad) -> float:
    """Replica time of a request by a measured throughput: 1/capacity, or uncached in/prefill + out/decode."""
    if row.capacity_req_per_s:
        return 1.0 / row.capacity_req_per_s
    prefill = (load.input_tokens - load.cached_input_tokens) / row.prefill_tok_per_s if row.prefill_tok_per_s else 0.0
    return prefill + (load.output_tokens / row.decode_tok_per_s if row.decode_tok_per_s else 0.0)


def _alone_req_per_s(job: Job, case: Case, times: Times, loads: Sequence[RequestLoad], r: int) -> float:
    """Capacity of one class served alone, inside its own SLO."""
    if case.kind(r) in MEASURED_ROWS:
        use = [x.use[r] for x in _rows(job, case, times, loads, [r])]
    else:
        use = [x.use[r] for x in _rows_alone(job, times, loads, r)]
    return 1.0 / max(use)


def _work_s(job: Job, case: Case, times: Times, loads: Sequence[RequestLoad], served: Sequence[int], r: int) -> float:
    """w: replica time per request. Analytic: what makes a/(1 − ρ) meet the TPOT at λ*."""
    row = case.rows[r]
    if row is not None and case.kind(r) in MEASURED_ROWS:
        return _measured_s(row, loads[r])
    if row is not None and row.work_s_per_request is not None:
        return row.work_s_per_request
    timed = [s for s in served if case.kind(s) not in MEASURED_ROWS]
    idle = max(times.idle_s[s] for s in timed)
    if times.tpot_s is not None:
        return max(0.0, 1.0 - idle / times.tpot_s) / times.rate_at_tpot[r]
    return max(0.0, 1.0 - idle / times.tpot_at_full_load_s[r]) / times.rate_at_full_load[r]


def _idle_s(case: Case, times: Times, served: Sequence[int]) -> float | None:
    """a: the longest idle iteration of the served classes; None where measured throughputs do not tell it."""
    if any(case.kind(r) in MEASURED_ROWS for r in served):
        return None
    return max(times.idle_s[r] for r in served)


def _headroom(job: Job, case: Case, rows: Sequence[CapacityRow], analytic: bool) -> tuple[HeadroomFactor, ...]:
    """The factors inside the rows: the estimate's quantile, and the cap where a row carries it."""
    factors = []
    if analytic:
        factors.append(HeadroomFactor(name="estimate_quantile", share=1.0 / case.time_factor))
    if any(x.name == "utilization" for x in rows):
        factors.append(HeadroomFactor(name="target_utilization", share=job.target))
    return tuple(factors)


def _flags(job: Job, case: Case, loads: Sequence[RequestLoad], served: Sequence[int]) -> tuple[str, ...]:
    """What a reader should know about the configuration; doubts about an estimate only where one is used."""
    estimated = any(case.kind(r) is not MeasuredKind.CAPACITY for r in served)
    setup, config, memory = case.setup, case.setup.config, case.memory
    request = memory.kv_bytes_per_token_per_gpu * case.longest_tokens + memory.state_bytes_per_request_per_gpu
    concurrency = memory.kv_pool_gib_per_gpu * GIB / request if request else LOW_CONCURRENCY
    found = (
        ("tensor_parallel_over_pcie", config.tensor_parallel > 1 and setup.over_pcie),
        ("weight_only", setup.weight_only and not setup.precision.weight_only),
        ("weights_offloaded", setup.accelerator.kind == "cpu_offload"),
        ("multi_instance", config.network_gb_per_s > 0),
        ("low_concurrency", estimated and concurrency < LOW_CONCURRENCY),
        ("accelerator_not_in_fit", estimated and setup.accelerator.id not in job.parameters.accelerators_seen),
        ("engine_overhead_assumed", estimated and not setup.engine.overheads),
        ("ttft_not_checked", any(a.ttft_limit_s is not b.ttft_limit_s for a, b in zip(loads, job.loads, strict=True))),
    )
    return tuple(name for name, holds in found if holds)
