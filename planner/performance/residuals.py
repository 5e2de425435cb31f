"""Measured points against their predictions: the calibration that a catalog's benchmarks amount to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from planner.catalog.catalog import Catalog
from planner.catalog.types import BenchmarkPoint
from planner.performance import analytic
from planner.performance.calibration import (
    NOTHING_MEASURED,
    At,
    Calibration,
    Residual,
    Subject,
    calibration_from,
    load_calibration_parameters,
)
from planner.performance.cases import make_setup
from planner.performance.memory import memory_fit
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import Loads, PointTimes, predict_points
from planner.performance.rates import resolve_rates
from planner.performance.setups import Setup
from planner.performance.types import EngineConfig
from planner.units import GIB, MS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SMALL_CONTEXT = 2048.0
"""Context at which a pool is taken where its size does not depend on one."""


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A point with what was predicted for it; NaN where not measured."""

    point: BenchmarkPoint
    at: At
    step_log: float
    """ln(measured/predicted) time per output token; of the rate where no TPOT was measured."""
    first_token_log: float

    @property
    def subject(self) -> Subject:
        """(model, accelerator, engine)."""
        return self.point.model, self.point.accelerator, self.point.engine


def point_config(point: BenchmarkPoint) -> EngineConfig:
    """The engine configuration of a point."""
    names = EngineConfig.model_fields.keys() & BenchmarkPoint.model_fields.keys()
    return EngineConfig(**{n: getattr(point, n) for n in names})


def point_setup(point: BenchmarkPoint, catalog: Catalog) -> Setup:
    """Its catalog rows, the engine in the version that was measured. Raises UnknownName."""
    setup = make_setup(point_config(point), catalog)
    if point.engine_version is None:
        return setup
    return replace(setup, engine=setup.engine.model_copy(update={"version": point.engine_version}))


def pool_bytes(setup: Setup) -> float:
    """KV pool of an attention rank, bytes; negative where the weights do not fit."""
    fit = memory_fit(
        setup.config, setup.model, setup.accelerator, setup.engine, setup.precision, setup.kv_precision, SMALL_CONTEXT
    )
    return fit.kv_pool_gib_per_gpu * GIB


def compare(
    points: Sequence[BenchmarkPoint], catalog: Catalog, parameters: PerformanceParameters
) -> list[MeasuredPoint]:
    """Every point against the estimate without calibration, in order. Raises UnknownName."""
    if not points:
        return []
    setups = [point_setup(p, catalog) for p in points]
    loads = Loads(
        input=_column(p.input_tokens for p in points),
        output=_column(p.output_tokens for p in points),
        concurrency=_column(math.inf if p.concurrency is None else p.concurrency for p in points),
        rate=_column(math.nan for _ in points),
        seats=_column(float(p.max_num_seqs * p.attention_data_parallel) for p in points),
        pool=_column(pool_bytes(s) for s in setups),
        step_scale=_column(1.0 for _ in points),
        prefill_scale=_column(1.0 for _ in points),
    )
    columns = analytic.build_columns(setups, parameters)
    kinds = [p.kind for p in points]
    found = predict_points(columns, resolve_rates(setups, parameters, kinds), np.array(kinds), loads)
    return [_compared(i, p, s, found) for i, (p, s) in enumerate(zip(points, setups, strict=True))]


def _column(values: Iterable[float]) -> Array:
    result: Array = np.array(list(values), dtype=np.float64)[:, None]
    return result


def _compared(i: int, p: BenchmarkPoint, s: Setup, found: PointTimes) -> MeasuredPoint:
    tpot, ttft, rate = (float(x[i, 0]) for x in (found.tpot_s, found.ttft_s, found.req_per_s))
    step = math.nan
    if p.tpot_ms is not None and tpot > 0:
        step = math.log(p.tpot_ms / MS_PER_S / tpot)
    elif p.req_per_s is not None and rate > 0:
        step = math.log(rate / p.req_per_s)
    first = math.log(p.ttft_ms / MS_PER_S / ttft) if p.ttft_ms is not None and ttft > 0 else math.nan
    at = At(s.config.id, float(found.running[i, 0]), p.input_tokens, p.output_tokens)
    return MeasuredPoint(p, at, step, first)


def calibration_of(catalog: Catalog, parameters: PerformanceParameters) -> Calibration:
    """What the catalog's benchmarks say of the estimates. Raises UnknownName."""
    if not catalog.benchmarks:
        return NOTHING_MEASURED
    return _calibration(_Once(catalog), _Once(parameters))


class _Once:
    """Something compared by identity, so that it can be a key of a cache."""

    def __init__(self, value: Catalog | PerformanceParameters) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self.value is other.value


@lru_cache(maxsize=8)
def _calibration(catalog: _Once, parameters: _Once) -> Calibration:
    assert isinstance(catalog.value, Catalog) and isinstance(parameters.value, PerformanceParameters)
    return calibrate(compare(catalog.value.benchmarks, catalog.value, parameters.value))


def calibrate(measured: Sequence[MeasuredPoint]) -> Calibration:
    """Correctors of every subject from compared points."""
    step: dict[Subject, list[Residual]] = {}
    first: dict[Subject, list[Residual]] = {}
    for m in measured:
        for value, into in ((m.step_log, step), (m.first_token_log, first)):
            if math.isfinite(value):
                into.setdefault(m.subject, []).append(Residual(m.at, value))
    return calibration_from(step, first, load_calibration_parameters())
