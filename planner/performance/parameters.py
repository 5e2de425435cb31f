"""The analytic model's parameters as data: `catalogs/performance.yaml`, written by `benchmarks/fit_performance.py`."""

from __future__ import annotations

import csv
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner.base import Frozen

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Efficiency(Frozen):
    """Share of the peak that operators reach: matrix multiplications at large size, weight reads at small batch."""

    mfu: Positive
    mbu: Positive


class Link(Frozen):
    """All-reduce over one kind of link by degree: time = latency + bytes / (share · link bandwidth)."""

    latency_us: dict[int, Positive]
    share: dict[int, Positive]
    """Of `link_gb_per_s` (bidirectional) where there is a link, else of `host_link_gb_per_s`."""


class Fitted(Frozen):
    """Global parameters (FACTS §8); the first two multiply the operator efficiencies."""

    mfu_scale: Positive
    mbu_scale: Positive
    prefill_mfu: Positive
    """Of the arithmetic in a prefill, relative to decoding."""
    expert_mfu: Positive
    """Prefill through routed experts, relative to dense layers."""
    expert_mbu: Positive
    """Reading routed experts, relative to dense layers."""
    kv_mbu: Positive
    """Share of the bandwidth at which the cache is read."""
    latency_scale: Positive
    """Multiplies the all-reduce latency."""
    reduce_scale: Positive
    """Multiplies the all-reduce bandwidth."""
    layer_s: NonNegative
    moe_layer_s: NonNegative
    """Added by a layer of routed experts."""
    latent_layer_s: NonNegative
    """Added by a layer with latent, compressed or recurrent attention."""
    request_s: NonNegative
    """Engine time per running request and iteration: scheduling, sampling, detokenising."""
    scheduler_s: NonNegative
    interference: Annotated[float, Field(gt=0, le=1)]
    """γ: share of a prefill that decoding requests wait for."""
    admission_s: NonNegative
    """Engine time that taking in a request costs the running ones."""
    prefill_overhead_s: NonNegative
    """Of a first token, beside its prefill: arrival, tokenising, launching kernels one by one."""
    latent_prefill_s: NonNegative
    """Added to it by a layer with latent, compressed or recurrent attention."""
    queue: NonNegative
    """Prefills that a first token waits for, per prefill in progress on average (FACTS §2)."""
    burst: NonNegative
    """Prefills that it waits for because requests that started together end together, per request beside it."""
    time_scale: Positive = 1.0
    """Multiplies every time; corrected where the same model was measured."""
    first_token_scale: Positive = 1.0
    """Multiplies a first token's latency beside its work."""


class ErrorModel(Frozen):
    """80 % interval of measured/predicted from left-out residuals of one quantity, kind of run and distance."""

    sigma_log: Positive
    """Width of the log-normal that has this interval."""
    low: Positive
    """10th percentile of measured/predicted time."""
    high: Positive
    """90th percentile of measured/predicted time."""
    median_ape: NonNegative
    """Median absolute percentage error of the same left-out predictions."""
    p90_ape: NonNegative
    rows: int


class FitRecord(Frozen):
    """How the parameters came about; the errors of left-out rows are in `errors`."""

    fitted_on: date
    rows: int
    """Measured points used."""
    configurations: int
    left_out: dict[str, int]
    """Reason → rows of the file that were not used."""
    ttft_masked: int
    """Implausible first tokens that were masked (FACTS §8)."""
    note: str


KNOWN, NEW_MODEL, NEW_ACCELERATOR, NEW_BOTH = "known", "new_model", "new_accelerator", "new_both"
"""How far a configuration is from what was measured."""


class PerformanceParameters(Frozen):
    """Everything the analytic model needs besides the catalog."""

    source: str
    as_of: date
    confidence: str
    fitted: Fitted
    corrections: dict[str, dict[str, dict[str, Positive]]]
    """Level (`rates.LEVELS`) → key → factor per parameter; what was not measured has none."""
    efficiencies: dict[str, Efficiency]
    """By kind of computation: bf16, fp8, int8, fp4 and weight_only."""
    links: dict[str, Link]
    """`switched` (NVLink, Infinity Fabric, …) and `pcie`."""
    network_latency_us: Positive
    """One hop between instances."""
    errors: dict[str, dict[str, dict[str, ErrorModel]]]
    """Kind of run → quantity (tpot, ttft, rate) → distance."""
    accelerators_seen: tuple[str, ...]
    models_seen: tuple[str, ...]
    engines_seen: tuple[str, ...]
    """Engines with measured points; the catalog's relative efficiency stands for the others."""
    fit: FitRecord

    def distance(self, accelerator: str, model: str) -> str:
        """Whether accelerator and model (ids) were measured."""
        if accelerator in self.accelerators_seen:
            return KNOWN if model in self.models_seen else NEW_MODEL
        return NEW_ACCELERATOR if model in self.models_seen else NEW_BOTH

    def error_of(self, accelerator: str, model: str, kind: str = "online", quantity: str = "tpot") -> ErrorModel:
        """The error model of a quantity for an accelerator and a model (ids)."""
        return self.errors[kind][quantity][self.distance(accelerator, model)]


def default_path() -> Path:
    """`catalogs/performance.yaml`: inside the installed package, else beside it in the repository."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_catalogs" / "performance.yaml"
    return shipped if shipped.is_file() else package.parent / "catalogs" / "performance.yaml"


def corrections_path(path: Path) -> Path:
    """The table of corrections beside a parameter file: `performance_corrections.csv`."""
    return path.with_name(f"{path.stem}_corrections.csv")


def read_corrections(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Rows `level,key,parameter,factor`; empty where there is no file. Raises ValueError for a factor that is none."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    if not path.is_file():
        return found
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            found.setdefault(row["level"], {}).setdefault(row["key"], {})[row["parameter"]] = float(row["factor"])
    return found


@lru_cache(maxsize=8)
def load_parameters(path: Path | None = None) -> PerformanceParameters:
    """Read the parameters (default: those shipped). Raises OSError, or pydantic.ValidationError for a bad file."""
    from ruamel.yaml import YAML

    chosen = path or default_path()
    data = YAML(typ="safe", pure=True).load(chosen.read_text(encoding="utf-8"))
    return PerformanceParameters.model_validate({**data, "corrections": read_corrections(corrections_path(chosen))})
