"""Many points at once: configured places and their loads → predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from planner.performance import analytic
from planner.performance.calibration import NOTHING_MEASURED, Calibration, Scale
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import Loads, predict_points
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


def predict_many(
    places: Sequence[Configured],
    which: Sequence[int],
    loads: Sequence[Load],
    parameters: PerformanceParameters,
    calibration: Calibration = NOTHING_MEASURED,
) -> list[Prediction]:
    """Predictions of `loads`, each at `places[which[i]]`, in order; medians of the estimate.

    Rates are of all replicas of a place together. Raises nothing for sound places and positive lengths.
    """
    if not loads:
        return []
    scales = [calibration.scale(p.setup.model.id, p.setup.accelerator.id, p.setup.engine.id) for p in places]
    rows = np.asarray(which, dtype=np.intp)
    columns = analytic.take(analytic.build_columns([p.setup for p in places], parameters), rows)
    replicas = _of(places, rows, lambda i: float(places[i].replicas))
    asked = np.array([[x.input_tokens, x.output_tokens, x.concurrency, x.rate] for x in loads], dtype=np.float64)
    found = predict_points(
        columns,
        parameters.fitted,
        np.array([p.kind for p in places])[rows],
        Loads(
            input=asked[:, 0:1],
            output=asked[:, 1:2],
            concurrency=np.maximum(asked[:, 2:3] / replicas, 1.0),
            rate=asked[:, 3:4] / replicas,
            seats=_of(places, rows, lambda i: places[i].seats),
            pool=_of(places, rows, lambda i: places[i].pool_bytes),
            step_scale=_of(places, rows, lambda i: 1.0 if (s := scales[i]) is None else s.step),
            prefill_scale=_of(places, rows, lambda i: 1.0 if (s := scales[i]) is None else s.prefill),
        ),
    )
    # with fewer requests at once than replicas, some of the replicas idle
    busy = np.minimum(replicas, np.where(np.isfinite(asked[:, 3:4]), replicas, asked[:, 2:3]))
    rate = (found.req_per_s * busy).ravel().tolist()
    said = [_provenance(p, s) for p, s in zip(places, scales, strict=True)]
    bands = [_band(p, s, parameters) for p, s in zip(places, scales, strict=True)]
    ttft, tpot = (found.ttft_s * MS_PER_S).ravel().tolist(), (found.tpot_s * MS_PER_S).ravel().tolist()
    over = found.overloaded.ravel().tolist()
    return [
        Prediction(
            output_tok_per_s=rate[i] * x.output_tokens,
            total_tok_per_s=rate[i] * (x.input_tokens + x.output_tokens),
            req_per_s=rate[i],
            ttft_ms=None if math.isnan(ttft[i]) else ttft[i],
            tpot_ms=None if math.isnan(tpot[i]) else tpot[i],
            provenance=said[k] + (OVERLOADED if over[i] else ""),
            error_band=bands[k],
        )
        for i, (k, x) in enumerate(zip(which, loads, strict=True))
    ]


OVERLOADED = "; the rate is more than it takes: rates are at full load"


def _of(places: Sequence[Configured], rows: NDArray[np.intp], value: Callable[[int], float]) -> Array:
    """A number of each place, as a column by point."""
    result: Array = np.array([value(i) for i in range(len(places))], dtype=np.float64)[rows][:, None]
    return result


def _provenance(place: Configured, scale: Scale | None) -> str:
    """`analytic (engine vllm; 2 replicas)`."""
    head = "analytic" if scale is None else f"calibrated by {scale.points} point{'s' if scale.points > 1 else ''}"
    return head + (f" ({'; '.join(place.inferred)})" if place.inferred else "")


def _band(place: Configured, scale: Scale | None, parameters: PerformanceParameters) -> tuple[float, float]:
    """80 % interval of true ÷ predicted time."""
    error = parameters.error_of(place.setup.accelerator.id)
    if scale is None:
        return error.low, error.high
    return math.exp(-BAND_Z * scale.sigma_log), math.exp(BAND_Z * scale.sigma_log)
