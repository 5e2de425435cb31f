"""Simpler models and a peer on the same points, as errors ln(measured/predicted) `[point, 3]`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.perf_points import OFFLINE, SINGLE, STATIC, Points
from planner.performance.analytic import active_experts
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def roofline_errors(points: Points, parameters: PerformanceParameters, mbu: float, mfu: float) -> Array:
    """The textbook: step = max(weights read, arithmetic) + cache read, prefill = arithmetic; no overheads, no queue.

    Operator efficiencies are taken off again, so that `mbu` and `mfu` are shares of the data sheet.
    """
    c, x = points.columns, points.load
    operator = parameters.efficiencies
    kinds = [str(k).rsplit("/", 1)[-1].rsplit("-", 1)[0] for k in points.keys[:, _arithmetic()]]
    peak = c.peak_flop_per_s / np.array([[operator[k].mfu] for k in kinds]) * mfu
    bandwidth = c.weight_byte_per_s / np.array([[operator[k].mbu] for k in kinds]) * mbu
    batch = np.minimum(np.where(np.isfinite(x.concurrency), x.concurrency, np.inf), room(c, x))
    batch = np.where((points.kind == SINGLE)[:, None], 1.0, batch)
    rank = np.maximum(batch / (c.stages * c.data_parallel), 1.0)
    tokens = np.maximum(batch / c.stages, 1.0)
    read = (c.dense_bytes + c.expert_bytes * active_experts(c, tokens)) / bandwidth
    flop = ((c.dense_flop + c.head_flop) * rank + c.expert_flop * tokens) / peak
    context = x.input + x.output / 2.0
    cache = c.kv_growing * context + c.kv_sliding * np.minimum(context, c.window) + c.kv_state
    step = np.maximum(read, flop) + rank * cache / (c.kv_byte_per_s * mbu)
    prefill = (c.dense_flop + c.expert_flop) * x.input / peak
    total = batch * prefill / c.stages + x.output * step
    rate = batch * x.output / total * points.replicas
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.where(points.kind[:, None] == OFFLINE, np.nan, np.log(points.tpot / step))
        ttft = np.log(points.ttft / prefill)
        whole = np.isin(points.kind, (OFFLINE, STATIC))[:, None]
        per_token = np.where(whole, np.log(rate / points.out_tok_per_s), np.nan)
    return np.hstack([tpot, ttft, per_token])


def _arithmetic() -> int:
    from planner.performance.rates import LEVELS

    return LEVELS.index("arithmetic")


def aiconfigurator_errors(points: Points, frame: pd.DataFrame, predictions: Path) -> Array:
    """Its TPOT and TTFT on its own silicon sample, by the id in the notes; NaN where it has none."""
    result = np.full((len(points), 3), np.nan)
    if not predictions.is_file():
        return result
    peer = pd.read_csv(predictions).drop_duplicates("id").set_index("id")
    ids = frame["notes"].fillna("").str.extract(r"(?:^|; )id=([^;]+)")[0].str.strip()
    mine = ids.reindex(points.row)
    for column, name, measured in ((0, "aic_tpot_ms", points.tpot), (1, "aic_ttft_ms", points.ttft)):
        predicted = pd.to_numeric(mine.map(peer[name]), errors="coerce").to_numpy(dtype=np.float64) / 1e3
        with np.errstate(divide="ignore", invalid="ignore"):
            result[:, column] = np.log(measured[:, 0] / np.where(predicted > 0, predicted, np.nan))
    return result
