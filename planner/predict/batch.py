"""Many points at once: configured places and their loads → predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.calibration import NOTHING_MEASURED, At, Calibration, Subject
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import LoadKind, Loads, PointTimes, predict_points, too_long
from planner.performance.rates import resolve_rates, take_rates
from planner.predict.silicon import SiliconTables, silicon_names
from planner.predict.types import Configured, Prediction
from planner.units import MS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BAND_Z = NormalDist().inv_cdf(0.9)
"""Half of an 80 % interval in standard deviations."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one point on all replicas together."""

    input_tokens: float
    output_tokens: float
    concurrency: float = math.inf
    """inf: as many as fit."""
    rate: float = math.nan
    """Requests per second; NaN: a concurrency is meant."""
    cached_input_tokens: float = 0.0
    """Part of the prompt found in a prefix cache."""
    tokens_per_step: float = 1.0
    """With speculative decoding: tokens that an iteration yields of a request, on average."""


def predict_many(
    places: Sequence[Configured],
    which: Sequence[int],
    loads: Sequence[Load],
    parameters: PerformanceParameters,
    calibration: Calibration = NOTHING_MEASURED,
    silicon: SiliconTables | None = None,
) -> list[Prediction]:
    """Predictions of `loads`, each at `places[which[i]]`, in order; medians of the estimate.

    Rates are of all replicas of a place together. A calibration goes before `silicon`, operator tables before the
    roofline. Raises nothing for sound places and positive lengths.
    """
    if not loads:
        return []
    rows = np.asarray(which, dtype=np.intp)
    setups = [p.setup for p in places]
    columns = analytic.take(analytic.build_columns(setups, parameters), rows)
    rates = take_rates(resolve_rates(setups, parameters, [p.kind for p in places]), rows)
    kinds = np.array([p.kind for p in places])[rows]
    replicas = _of(places, rows, lambda p: float(p.replicas))
    asked = np.array([[x.input_tokens, x.output_tokens, x.concurrency, x.rate] for x in loads], dtype=np.float64)
    one = np.ones((len(loads), 1))
    load = Loads(
        input=asked[:, 0:1],
        output=asked[:, 1:2],
        concurrency=np.maximum(asked[:, 2:3] / replicas, 1.0),
        rate=asked[:, 3:4] / replicas,
        seats=_of(places, rows, lambda p: p.seats),
        pool=_of(places, rows, lambda p: p.pool_bytes),
        step_scale=one,
        prefill_scale=one,
        cached=np.array([[x.cached_input_tokens] for x in loads]),
        tokens_per_step=np.array([[x.tokens_per_step] for x in loads]),
    )
    found = predict_points(columns, rates, kinds, load)
    corrected = _corrections(places, which, found, load, calibration)
    by_table: set[int] = set()
    if silicon is not None:
        kind = np.full(len(which), LoadKind.SINGLE_STREAM.value)
        idle = predict_points(columns, rates, kind, load)
        corrected, by_table = _with_tables(places, which, found, idle, load, corrected, silicon)
    if corrected is not None:
        load = replace(load, step_scale=corrected.step, prefill_scale=corrected.first_token)
        found = predict_points(columns, rates, kinds, load)
    # with fewer requests at once than replicas, some of the replicas idle
    busy = np.minimum(replicas, np.where(np.isfinite(asked[:, 3:4]), replicas, asked[:, 2:3]))
    rate = (found.req_per_s * busy).ravel().tolist()
    said = [_provenance(p, calibration) for p in places]
    bands = _bands(places, which, corrected, parameters)
    for i in by_table:
        bands[i] = (silicon_names().band.low, silicon_names().band.high)
    ttft, tpot = (found.ttft_s * MS_PER_S).ravel().tolist(), (found.tpot_s * MS_PER_S).ravel().tolist()
    over, long = found.overloaded.ravel().tolist(), too_long(columns, load).ravel().tolist()
    return [
        Prediction(
            output_tok_per_s=rate[i] * x.output_tokens,
            total_tok_per_s=rate[i] * (x.input_tokens + x.output_tokens),
            req_per_s=rate[i],
            ttft_ms=None if math.isnan(ttft[i]) else ttft[i],
            tpot_ms=None if math.isnan(tpot[i]) else tpot[i],
            provenance=(_by_table(places[k], silicon) if i in by_table else said[k])
            + (OVERLOADED if over[i] else "")
            + (TOO_LONG if long[i] else ""),
            error_band=bands[i],
        )
        for i, (k, x) in enumerate(zip(which, loads, strict=True))
    ]


OVERLOADED = "; the rate is more than it takes: rates are at full load"
TOO_LONG = "; one request is longer than the cache: it would not run, times are as if it did"


def _of(places: Sequence[Configured], rows: NDArray[np.intp], value: Callable[[Configured], float]) -> Array:
    """A number of each place, as a column by point."""
    result: Array = np.array([value(p) for p in places], dtype=np.float64)[rows][:, None]
    return result


def _subject(place: Configured) -> Subject:
    return place.setup.model.id, place.setup.accelerator.id, place.setup.engine.id


@dataclass(frozen=True, slots=True)
class _Corrected:
    """Factors on time by point, and what is left to err (NaN: as without a calibration)."""

    step: Array
    first_token: Array
    sigma_log: list[float]


def _corrections(
    places: Sequence[Configured], which: Sequence[int], found: PointTimes, load: Loads, calibration: Calibration
) -> _Corrected | None:
    """What the calibration says of every point; None where it says nothing of any."""
    if not calibration:
        return None
    groups: dict[Subject, list[int]] = {}
    for i, k in enumerate(which):
        if (subject := _subject(places[k])) in calibration.step or subject in calibration.first_token:
            groups.setdefault(subject, []).append(i)
    if not groups:
        return None
    step, first, sigma = np.ones_like(load.input), np.ones_like(load.input), np.full(len(which), np.nan)
    for subject, rows in groups.items():
        at = [
            At(
                places[which[i]].setup.config.id,
                float(found.running[i, 0]),
                float(load.input[i, 0]),
                float(load.output[i, 0]),
            )
            for i in rows
        ]
        if (corrector := calibration.step.get(subject)) is not None:
            known = corrector.correct(at)
            step[rows, 0] = first[rows, 0] = known.factor
            sigma[rows] = known.sigma_log
        if (corrector := calibration.first_token.get(subject)) is not None:
            first[rows, 0] = corrector.correct(at).factor
    return _Corrected(step, first, sigma.tolist())


def _with_tables(
    places: Sequence[Configured],
    which: Sequence[int],
    found: PointTimes,
    idle: PointTimes,
    load: Loads,
    corrected: _Corrected | None,
    silicon: SiliconTables,
) -> tuple[_Corrected | None, set[int]]:
    """Corrections to the tables' times for points that nothing was measured for, and which points those are."""
    one = np.ones_like(load.input)
    result = corrected or _Corrected(one, one.copy(), [math.nan] * len(which))
    covered: set[int] = set()
    for i, k in enumerate(which):
        tpot, first = float(found.tpot_s[i, 0]), float(idle.ttft_s[i, 0])
        if not math.isnan(result.sigma_log[i]) or not tpot > 0:
            continue
        place = places[k]
        budget = float(place.setup.config.max_num_batched_tokens)
        lengths = float(load.input[i, 0]), float(load.output[i, 0])
        times = silicon.times(place.setup, float(found.running[i, 0]), *lengths, budget)
        if times is None:
            continue
        result.step[i, 0], result.first_token[i, 0] = times.tpot_s / tpot, times.idle_ttft_s / first
        covered.add(i)
    return (result if corrected is not None or covered else None), covered


def _by_table(place: Configured, silicon: SiliconTables | None) -> str:
    version = "" if silicon is None else silicon.version
    return f"silicon (aiconfigurator-core {version}{''.join(f'; {x}' for x in place.inferred)})"


def _provenance(place: Configured, calibration: Calibration) -> str:
    """`analytic (engine vllm; 2 replicas)`, or `calibrated by 2 points (…)`."""
    known = [x for x in (calibration.step, calibration.first_token) if _subject(place) in x]
    points = max((x[_subject(place)].points for x in known), default=0)
    head = f"calibrated by {points} point{'s' if points > 1 else ''}" if points else "analytic"
    return head + (f" ({'; '.join(place.inferred)})" if place.inferred else "")


def _bands(
    places: Sequence[Configured],
    which: Sequence[int],
    corrected: _Corrected | None,
    parameters: PerformanceParameters,
) -> list[tuple[float, float]]:
    """80 % intervals of true ÷ predicted time, by point."""
    errors = [parameters.error_of(p.setup.accelerator.id, p.setup.model.id, p.kind) for p in places]
    plain = [(e.low, e.high) for e in errors]
    if corrected is None:
        return [plain[k] for k in which]
    return [
        plain[k] if math.isnan(s) else (math.exp(-BAND_Z * s), math.exp(BAND_Z * s))
        for k, s in zip(which, corrected.sigma_log, strict=True)
    ]
