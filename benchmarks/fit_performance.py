"""Fit the analytic model's global parameters to measured serving points and write `catalogs/performance.yaml`.

    python benchmarks/fit_performance.py MEASURED.csv [--output catalogs/performance.yaml]

Aggregated (not disaggregated) online rows with a stated concurrency, LLM, accelerator and parallelism are used, and
published maximum-load throughputs: least squares on log TPOT errors with a soft-L1 loss, and lightly loaded TTFT
points to separate prefill from decode. Every seventh configuration group is set apart and only reported. Errors are by
k-fold over configuration groups, leaving one model out, and leaving one accelerator out; the intervals that plans
print come from those left-out residuals.
"""

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from io import StringIO
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from ruamel.yaml import YAML
from scipy.optimize import least_squares

from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.load import load_catalog
from planner.performance import analytic
from planner.performance.analytic import Columns, Setup
from planner.performance.cases import make_setup
from planner.performance.memory import memory_fit
from planner.performance.parameters import Fitted, PerformanceParameters, default_path, load_parameters
from planner.performance.types import EngineConfig
from planner.performance.versions import version_tuple
from planner.units import GIB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NAMES = tuple(Fitted.model_fields)
START = {
    "mfu_scale": 0.8,
    "mbu_scale": 0.9,
    "expert_mfu": 0.6,
    "kv_mbu": 0.5,
    "latency_scale": 1.0,
    "layer_s": 2e-5,
    "moe_layer_s": 4e-5,
    "latent_layer_s": 1e-5,
    "request_s": 1e-5,
    "scheduler_s": 1e-3,
    "interference": 0.6,
    "prefill_overhead_s": 0.02,
    "latent_prefill_s": 1e-3,
}
BOUNDS = {
    "mfu_scale": (0.3, 1.15),
    "mbu_scale": (0.5, 1.1),
    "expert_mfu": (0.2, 1.0),
    "kv_mbu": (0.2, 0.95),
    "latency_scale": (0.5, 6.0),
    "layer_s": (1e-6, 2e-4),
    "moe_layer_s": (1e-6, 4e-4),
    "latent_layer_s": (1e-6, 2e-4),
    "request_s": (1e-7, 1e-4),
    "scheduler_s": (2e-4, 1e-2),
    "interference": (0.2, 1.0),
    "prefill_overhead_s": (1e-3, 0.1),
    "latent_prefill_s": (1e-5, 5e-3),
}
PRECISIONS = {"w4a16": "int4", "w8a8": "int8", "w8a16": "int8-weight-only"}
OFFLINE = "offline_throughput"
DATA_PARALLEL_NOTE = "attention-DP/EP"
TTFT_WEIGHT = 0.7
LIGHT_LOAD = 4
IMPLAUSIBLE_TTFT_S = 3.0
FOLDS = 5
HELD_EVERY = 7
SEEN_ROWS = 30
"""An accelerator with fewer online rows gets the wider error of one that the fit never saw."""
LEGACY_ENGINES = {"vllm": 0.9}
"""Versions below schedule on the critical path; their extra time per step is fitted beside the parameters, not kept."""
LEGACY_S = (1e-4, 2e-3, 2e-2)
"""Lower bound, start, upper bound of that time."""


@dataclass(frozen=True)
class Points:
    """Measured points as columns of the analytic model; seconds and tokens, `[point, 1]`."""

    columns: Columns
    batch: Array
    input: Array
    out: Array
    tpot: Array
    ttft: Array
    """NaN where not used."""
    legacy: Array
    """1 where the engine's version is a legacy one."""
    offline: NDArray[np.bool_]
    """Points at maximum load: the TPOT is batch ÷ output rate."""
    model: NDArray[np.str_]
    accelerator: NDArray[np.str_]
    group: NDArray[np.str_]
    """Model, accelerator, engine, precision and parallelism: one configuration."""

    def take(self, rows: NDArray[np.intp]) -> Points:
        """The points at these indices."""
        return Points(
            analytic.take(self.columns, rows),
            *(
                getattr(self, n)[rows]
                for n in ("batch", "input", "out", "tpot", "ttft", "legacy", "offline", "model", "accelerator", "group")
            ),
        )


def note(row: pd.Series[str], key: str) -> int | None:
    """A number from the `key=value; …` notes; None where absent or blank."""
    found = re.search(rf"(?:^|; ){key}=(\d+)", str(row["notes"]))
    return int(found.group(1)) if found else None


def to_setup(row: pd.Series[str], catalog: Catalog) -> Setup:
    """Catalog rows and layout of a measured point. Raises UnknownName or ValueError for what is not usable.

    Attention data parallel is `num_gpus / tp` where the notes state one: ids of the form tpN_epN were first counted as
    N × N.
    """
    gpus, tp, pp = (int(float(row[k])) if pd.notna(row[k]) else 0 for k in ("num_gpus", "tp", "pp"))
    if not 0 < gpus <= 8 or tp <= 0 or note(row, "attn_dp") == 0:
        raise ValueError("layout not stated")
    pp = max(pp, 1)
    group = gpus // pp if (note(row, "attn_dp") or 1) > 1 else tp
    experts = min(note(row, "moe_ep") or 1, group) or 1
    attention = group // tp if group > tp else 1
    if DATA_PARALLEL_NOTE in str(row["notes"]) and catalog.model(row["model"]).shape.experts:
        experts = attention = tp
    named = "bf16" if pd.isna(row["precision"]) else PRECISIONS.get(row["precision"], row["precision"])
    model = catalog.model(row["model"])
    if named == "fp4" and model.native_precision == "mxfp4":
        named = "mxfp4"
    config = EngineConfig(
        model=model.id,
        precision=catalog.precision(named).id,
        kv_precision="fp8" if row["metric_kind"] == OFFLINE and named != "bf16" else "bf16",
        engine=catalog.engine(str(row["engine"]).split(" ")[0]).id,
        accelerator=catalog.accelerator(row["gpu"]).id,
        tensor_parallel=group,
        pipeline_parallel=pp,
        expert_parallel=experts if model.shape.experts and group % experts == 0 else 1,
        attention_data_parallel=attention,
        max_num_seqs=2048 if row["metric_kind"] == OFFLINE else 1024,
        gpu_memory_utilization=0.9,
    )
    return make_setup(config, catalog)


def running_requests(frame: pd.DataFrame) -> pd.Series[float]:
    """Stated concurrency; where the load is open, requests that decode at once by Little: rate · out · TPOT."""
    stated = pd.to_numeric(frame["concurrency_or_batch"], errors="coerce")
    decoding = frame["request_s"] * frame["osl"] * frame["tpot_ms_p50"] / 1e3
    return stated.fillna(decoding.clip(lower=1.0))


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """Online points of one aggregated replica with a concurrency, lengths and a TPOT; points at maximum load."""
    notes = frame["notes"].fillna("")
    concurrency = running_requests(frame)
    full = (frame["metric_kind"] == OFFLINE) & frame["tp"].gt(0) & notes.str.startswith("max-load")
    keep = (
        (frame["metric_kind"] == "online")
        & frame["tpot_ms_p50"].gt(0)
        & concurrency.gt(0)
        & frame["isl"].gt(0)
        & frame["osl"].gt(1)
        & ~notes.str.startswith("disagg")
        & ~frame["source"].str.contains("MLPerf")
    )
    return frame[keep | full].assign(concurrency=concurrency.where(~full, np.inf)[keep | full])


def read_points(path: Path, catalog: Catalog, parameters: PerformanceParameters) -> tuple[Points, dict[str, int]]:
    """Points that the catalog can state, and how many rows were left out for which reason."""
    setups: list[Setup] = []
    rows: list[pd.Series[str]] = []
    skipped: dict[str, int] = {}
    for _, row in usable(pd.read_csv(path, low_memory=False)).iterrows():
        try:
            setups.append(to_setup(row, catalog))
            rows.append(row)
        except (UnknownName, ValueError) as error:
            reason = str(error).split(";")[0]
            skipped[reason] = skipped.get(reason, 0) + 1
    frame = pd.DataFrame(rows)
    batch = np.minimum(_column(frame["concurrency"]), _seats(setups, frame))
    offline = (frame["metric_kind"] == OFFLINE).to_numpy()
    replicas = _column(frame["num_gpus"]) / np.array([[s.config.accelerators] for s in setups])
    tpot = np.where(
        offline[:, None],
        batch * replicas / _column(frame["output_tok_s_total"]),
        _column(frame["tpot_ms_p50"]) / 1e3,
    )
    ttft = _column(frame["ttft_ms_p50"]) / 1e3
    light = (_column(frame["concurrency"]) <= LIGHT_LOAD) & (ttft > 0) & (ttft < IMPLAUSIBLE_TTFT_S)
    points = Points(
        columns=analytic.build_columns(setups, parameters),
        batch=batch,
        input=_column(frame["isl"]),
        out=_column(frame["osl"]),
        tpot=tpot,
        ttft=np.where(light, ttft, np.nan),
        legacy=np.array([[float(is_legacy(str(e)))] for e in frame["engine"]]),
        offline=offline,
        model=np.array([s.model.id for s in setups]),
        accelerator=np.array([s.accelerator.id for s in setups]),
        group=np.array([s.config.id for s in setups]),
    )
    return points, skipped


def _column(values: pd.Series[float]) -> Array:
    result: Array = np.asarray(values, dtype=np.float64)[:, None]
    return result


def _seats(setups: Sequence[Setup], frame: pd.DataFrame) -> Array:
    """Requests that the cache holds at once: a higher concurrency queues."""
    seats = []
    for s, context in zip(setups, frame["isl"] + frame["osl"] / 2, strict=True):
        m = memory_fit(s.config, s.model, s.accelerator, s.engine, s.precision, s.kv_precision, context)
        size = m.kv_bytes_per_token_per_gpu * context + m.state_bytes_per_request_per_gpu
        held = m.kv_pool_gib_per_gpu * GIB / size * s.config.attention_data_parallel
        most = s.config.max_num_seqs * s.config.attention_data_parallel
        seats.append(min(held if held >= 1 else np.inf, most))
    return np.array(seats)[:, None]


def is_legacy(engine: str) -> bool:
    """Whether `vllm 0.7.3` and the like name a version below today's architecture."""
    name, _, version = engine.lower().partition(" ")
    number = version_tuple(version)
    return name in LEGACY_ENGINES and bool(number) and number < version_tuple(str(LEGACY_ENGINES[name]))


def predict(points: Points, p: Fitted, legacy_s: float) -> tuple[Array, Array]:
    """(TPOT, TTFT of a lightly loaded replica) in seconds."""
    prefill = analytic.prefill_s(points.columns, p, points.input, np.zeros_like(points.input))
    context = points.input + points.out / 2
    tpot = analytic.closed_tpot(points.columns, p, points.batch, points.out, context, prefill.work_s)
    tpot = tpot + points.legacy * legacy_s
    return tpot, prefill.latency_s + analytic.step_s(points.columns, p, points.batch, context)


def residuals(points: Points, theta: Array) -> tuple[Array, Array]:
    """ln(measured/predicted) of TPOT and of the TTFT points (0 where there is none)."""
    tpot, ttft = predict(points, unpack(theta), float(np.exp(theta[-1])))
    late = np.log(points.ttft / ttft)
    return np.log(points.tpot / tpot).ravel(), np.where(np.isnan(late), 0.0, late).ravel()


def unpack(theta: Array) -> Fitted:
    """Parameters from their logarithms (the last entry, the legacy engines' time, is left out)."""
    return Fitted(**dict(zip(NAMES, np.exp(theta[:-1]).tolist(), strict=True)))


def fit(points: Points) -> Array:
    """Logarithms of the parameters and of the legacy time: robust least squares on log errors, bounded."""
    low, high = (np.log([*(BOUNDS[n][i] for n in NAMES), LEGACY_S[2 * i]]) for i in (0, 1))

    def errors(theta: Array) -> Array:
        tpot, ttft = residuals(points, theta)
        return np.concatenate([tpot, TTFT_WEIGHT * ttft])

    start = np.log([*(START[n] for n in NAMES), LEGACY_S[1]])
    found = least_squares(  # type: ignore[operator]
        errors, start, bounds=(low, high), loss="soft_l1", f_scale=0.15, max_nfev=60
    )
    best: Array = found.x
    return best


def ape(log_error: Array) -> tuple[float, float]:
    """Median and mean absolute percentage error of the prediction against the measurement."""
    error = np.abs(np.exp(-log_error) - 1.0)
    return float(np.median(error)), float(np.mean(error))


def left_out(points: Points, labels: NDArray[np.str_]) -> Array:
    """Residuals of every point under parameters fitted without its label."""
    result = np.full(len(labels), np.nan)
    for label in sorted(set(labels)):
        outside, inside = np.flatnonzero(labels != label), np.flatnonzero(labels == label)
        result[inside] = residuals(points.take(inside), fit(points.take(outside)))[0]
    return result


def folds(groups: NDArray[np.str_], count: int) -> NDArray[np.str_]:
    """A fold per configuration group, by a digest of its name (no seed, stable over runs)."""
    return np.array([str(zlib.crc32(g.encode()) % count) for g in groups])


def band(residual: Array, labels: NDArray[np.str_] | None = None) -> dict[str, float | int]:
    """80 % interval of measured/predicted from left-out residuals, and a log-normal width that matches it.

    With `labels` every label counts the same, however many rows it has: what to expect of one more of them.
    """
    weights = np.ones(len(residual))
    if labels is not None:
        names, counts = np.unique(labels, return_counts=True)
        weights = 1.0 / counts[np.searchsorted(names, labels)]
    order = np.argsort(residual)
    share = np.cumsum(weights[order]) / weights.sum()
    low, high = (float(residual[order][np.searchsorted(share, q)]) for q in (0.1, 0.9))
    return {
        "sigma_log": round((high - low) / (2 * NormalDist().inv_cdf(0.9)), 4),
        "low": round(math.exp(low), 4),
        "high": round(math.exp(high), 4),
        "rows": len(residual),
    }


def write(path: Path, parameters: PerformanceParameters) -> None:
    """Write the parameters; keys in the order of the type."""
    yaml = YAML()
    yaml.width = 120
    text = StringIO()
    yaml.dump(parameters.model_dump(mode="json"), text)
    head = (
        "# Parameters of the analytic model, written by benchmarks/fit_performance.py (efficiencies, links: by hand).\n"
    )
    path.write_text(head + text.getvalue(), encoding="utf-8")


def report(say: Callable[[str], None], points: Points, by_model: Array) -> None:
    """Left-out errors per model on stdout."""
    for model in sorted(set(points.model)):
        mine = by_model[(points.model == model) & ~points.offline]
        if len(mine) == 0:
            continue
        median, mean = ape(mine)
        say(f"  {model:28s} {len(mine):5d} rows  median {median:6.1%}  mean {mean:6.1%}  bias {np.median(mine):+.2f}")


def main() -> None:
    """Fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--output", type=Path, default=default_path())
    parser.add_argument("--on", type=date.fromisoformat, default=date(2026, 11, 30), help="date of the fit")
    args = parser.parse_args()
    before = load_parameters(default_path())
    everything, skipped = read_points(args.measured, load_catalog(), before)
    for reason, count in sorted(skipped.items()):
        print(f"left out {count:5d}: {reason}")
    held = folds(everything.group, HELD_EVERY) == "0"
    points = everything.take(np.flatnonzero(~held))
    theta = fit(points)
    fitted = unpack(theta)
    by_fold = left_out(points, folds(points.group, FOLDS))
    by_model, by_accelerator = left_out(points, points.model), left_out(points, points.accelerator)
    own, late = residuals(points, theta)
    kept_back = residuals(everything.take(np.flatnonzero(held & ~everything.offline)), theta)[0]
    online = ~points.offline
    for title, errors in (
        ("in sample", own[online]),
        (f"{FOLDS} folds by configuration", by_fold[online]),
        ("leave one model out", by_model[online]),
        ("leave one accelerator out", by_accelerator[online]),
        ("set apart", kept_back),
        ("maximum load, model left out", by_model[~online]),
        ("TTFT, light load, in sample", late[late != 0]),
    ):
        median, mean = ape(errors)
        print(f"{title:28s} {len(errors):5d} rows  median {median:6.1%}  mean {mean:6.1%}")
    report(print, points, by_model)
    print("\n".join(f"{n:20s} {getattr(fitted, n):.4g}" for n in NAMES))
    names, counts = np.unique(points.accelerator[online], return_counts=True)
    record = {
        "fitted_on": args.on,
        "rows": int(online.sum()),
        "maximum_load_rows": int((~online).sum()),
        "configurations": len(set(points.group)),
        "folds_median_ape": round(ape(by_fold[online])[0], 4),
        "folds_mean_ape": round(ape(by_fold[online])[1], 4),
        "leave_one_model_out_median_ape": round(ape(by_model[online])[0], 4),
        "leave_one_model_out_mean_ape": round(ape(by_model[online])[1], 4),
        "leave_one_accelerator_out_median_ape": round(ape(by_accelerator[online])[0], 4),
        "set_apart_median_ape": round(ape(kept_back)[0], 4),
        "set_apart_rows": len(kept_back),
        "maximum_load_median_ape": round(ape(by_model[~online])[0], 4),
        "ttft_median_ape": round(ape(late[late != 0])[0], 4),
        "note": "TPOT of aggregated online rows; errors of predictions relative to measurements",
    }
    after = {
        **before.model_dump(),
        "as_of": args.on,
        "fitted": {n: float(f"{getattr(fitted, n):.4g}") for n in NAMES},
        "errors": {"seen": band(by_model[online]), "unseen": band(by_accelerator[online], points.accelerator[online])},
        "accelerators_seen": tuple(
            n for n, rows in zip(names.tolist(), counts.tolist(), strict=True) if rows >= SEEN_ROWS
        ),
        "fit": record,
    }
    write(args.output, PerformanceParameters.model_validate(after))


if __name__ == "__main__":
    main()
