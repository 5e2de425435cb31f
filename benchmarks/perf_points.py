"""Measured serving points as columns of the analytic model: what a row states, and what was measured there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.catalog.catalog import Catalog
from planner.performance import analytic
from planner.performance.analytic import Columns
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import Loads
from planner.performance.rates import LEVELS, Rates, level_keys, resolve_rates, take_rates
from planner.predict.configure import Configurator, PlaceError
from planner.predict.types import Configured, Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.str_]

ONLINE, STATIC, OFFLINE, SINGLE = "online", "static_batch", "offline_throughput", "single_stream"
IMPLAUSIBLE_TTFT_S, LIGHT_LOAD = 3.0, 32
"""InferenceX first tokens above this at no more requests in flight are not plausible (FACTS §8)."""


@dataclass(frozen=True)
class Points:
    """Arrays `[point, 1]` unless said otherwise; seconds and tokens, NaN where nothing was measured."""

    columns: Columns
    rates: Rates
    """Of the parameters that the points were read with."""
    load: Loads
    replicas: Array
    tpot: Array
    ttft: Array
    out_tok_per_s: Array
    """Of all accelerators."""
    keys: Words
    """[point, level] of `rates.LEVELS`."""
    row: NDArray[np.intp]
    """[point] Line in the file, from 0."""
    kind: Words
    source: Words
    model: Words
    accelerator: Words
    engine: Words
    group: Words
    """Configuration: model, accelerator, engine with version, precision and parallelism."""
    moe: NDArray[np.bool_]
    open_load: NDArray[np.bool_]
    """The row states no concurrency: requests in flight are those of its own rate and TPOT."""

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Points:
        """The points at these indices."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.intp)
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        taken = {n: v[index] for n, v in values.items() if isinstance(v, np.ndarray)}
        return Points(
            columns=analytic.take(self.columns, index),
            rates=take_rates(self.rates, index),
            load=Loads(*(getattr(self.load, f.name)[index] for f in fields(Loads))),
            **taken,
        )


def note(notes: str, key: str) -> int | None:
    """A number from the `key=value; …` notes; None where absent or blank."""
    found = re.search(rf"(?:^|; ){key}=(\d+)", notes)
    return int(found.group(1)) if found else None


def place_of(row: pd.Series[str]) -> Place:
    """The configuration as `planner predict --csv` is told it; expert groups are taken from the notes."""
    experts = note(str(row["notes"]), "moe_ep")
    cells = {
        "num_gpus": row["num_gpus"],
        "tensor_parallel": row["tp"],
        "pipeline_parallel": row["pp"],
        "expert_parallel": experts or "",
        "engine": row["engine"],
        "precision": row["precision"],
        "kind": row["metric_kind"],
    }
    texts = {name: "" if pd.isna(value) else str(value) for name, value in cells.items()}
    return Place(model=row["model"], accelerator=row["gpu"], **texts)


def concurrency_of(frame: pd.DataFrame) -> tuple[Array, NDArray[np.bool_]]:
    """(requests in flight, whether the load was open): `max` is as many as it takes, `max(100)` is 100."""
    text = frame["concurrency_or_batch"].astype(str)
    number = pd.to_numeric(text.str.extract(r"(\d+(?:\.\d+)?)")[0], errors="coerce")
    number = number.mask(text.str.strip().str.lower().eq("max"), np.inf)
    number = number.mask(number.isna() & (frame["metric_kind"] == OFFLINE), np.inf)
    decoding = (frame["request_s"] * frame["osl"] * frame["tpot_ms_p50"] / 1e3).clip(lower=1.0)
    opened = number.isna() & decoding.notna()
    return np.asarray(number.fillna(decoding), dtype=np.float64)[:, None], opened.to_numpy()


def is_implausible(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """First tokens of InferenceX that cannot be at so light a load (FACTS §8)."""
    flight = concurrency_of(frame)[0].ravel()
    odd = frame["source"].str.startswith("InferenceX").to_numpy() & (flight <= LIGHT_LOAD)
    result: NDArray[np.bool_] = odd & (frame["ttft_ms_p50"].to_numpy() > IMPLAUSIBLE_TTFT_S * 1e3)
    return result


def masked_first_tokens(path: Path) -> int:
    """How many rows of the file have their first token masked."""
    frame = pd.read_csv(path, low_memory=False)
    return int(is_implausible(frame[usable(frame)]).sum())


def usable(frame: pd.DataFrame) -> pd.Series[bool]:
    """Aggregated points with lengths and something measured; disaggregated ones and MLPerf systems are not fitted."""
    notes = frame["notes"].fillna("")
    measured = frame["tpot_ms_p50"].gt(0) | frame["output_tok_s_total"].gt(0) | frame["ttft_ms_p50"].gt(0)
    return measured & frame["isl"].gt(0) & frame["osl"].gt(0) & frame["tp"].gt(0) & ~notes.str.startswith("disagg")


def read_points(path: Path, catalog: Catalog, parameters: PerformanceParameters) -> tuple[Points, Counter[str]]:
    """Points that the catalog can state, and how many rows were left out for which reason."""
    frame = pd.read_csv(path, low_memory=False)
    keep = usable(frame)
    skipped: Counter[str] = Counter()
    skipped["disaggregated, or no lengths, TP or measurement"] = int((~keep).sum())
    configurator = Configurator(catalog)
    places: list[Configured] = []
    rows: list[int] = []
    for i, row in frame[keep].iterrows():
        try:
            places.append(configurator.configure(place_of(row)))
            rows.append(int(str(i)))
        except PlaceError as error:
            skipped[str(error).split(";")[0]] += 1
    return build_points(frame.loc[rows], places, parameters), skipped


def build_points(frame: pd.DataFrame, places: Sequence[Configured], parameters: PerformanceParameters) -> Points:
    """Columns of rows that have their configurations."""
    setups = [x.setup for x in places]
    flight, opened = concurrency_of(frame)
    replicas = np.array([[float(x.replicas)] for x in places])
    out = _column(frame["osl"])
    ttft = _column(frame["ttft_ms_p50"]) / 1e3
    ones = np.ones_like(out)
    kind = frame["metric_kind"].to_numpy(dtype=str)
    load = Loads(
        input=_column(frame["isl"]),
        output=out,
        concurrency=np.maximum(flight / replicas, 1.0),
        rate=ones * np.nan,
        seats=np.array([[x.seats] for x in places]),
        pool=np.array([[x.pool_bytes] for x in places]),
        step_scale=ones,
        prefill_scale=ones,
        cached=np.zeros_like(out),
        tokens_per_step=ones,
    )
    return Points(
        columns=analytic.build_columns(setups, parameters),
        rates=resolve_rates(setups, parameters, kind.tolist()),
        load=load,
        replicas=replicas,
        tpot=np.where(out > 1, _column(frame["tpot_ms_p50"]) / 1e3, np.nan),
        ttft=np.where(is_implausible(frame)[:, None], np.nan, ttft),
        out_tok_per_s=np.where(out > 1, _column(frame["output_tok_s_total"]), np.nan),
        keys=np.array([level_keys(s, k) for s, k in zip(setups, kind, strict=True)]).reshape(len(setups), len(LEVELS)),
        row=frame.index.to_numpy().astype(np.intp),
        kind=kind,
        source=frame["source"].to_numpy(dtype=str),
        model=np.array([s.model.id for s in setups]),
        accelerator=np.array([s.accelerator.id for s in setups]),
        engine=np.array([s.engine.id for s in setups]),
        group=np.array([f"{s.config.id}@{s.engine.version}" for s in setups]),
        moe=np.array([s.model.shape.experts > 0 for s in setups]),
        open_load=opened,
    )


def _column(values: pd.Series[float]) -> Array:
    result: Array = np.asarray(values, dtype=np.float64)[:, None]
    return result
