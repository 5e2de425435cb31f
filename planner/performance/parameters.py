"""The analytic model's parameters as data: `catalogs/performance.yaml`, written by `benchmarks/fit_performance.py`."""

from __future__ import annotations

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
    expert_mfu: Positive
    """Prefill through routed experts, relative to dense layers."""
    kv_mbu: Positive
    """Share of the bandwidth at which the cache is read."""
    latency_scale: Positive
    """Multiplies the all-reduce latency."""
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
    prefill_overhead_s: NonNegative
    """Of a first token, beside its prefill: arrival, tokenising, launching kernels one by one."""
    latent_prefill_s: NonNegative
    """Added to it by a layer with latent, compressed or recurrent attention."""


class ErrorModel(Frozen):
    """Left-out residuals ln(measured/predicted) of one class of hardware."""

    sigma_log: Positive
    low: Positive
    """10th percentile of measured/predicted time."""
    high: Positive
    """90th percentile of measured/predicted time."""
    rows: int


class FitRecord(Frozen):
    """How the parameters came about."""

    fitted_on: date
    rows: int
    configurations: int
    folds_median_ape: float
    """k-fold over configuration groups: median absolute percentage error of TPOT."""
    folds_mean_ape: float
    leave_one_model_out_median_ape: float
    leave_one_model_out_mean_ape: float
    leave_one_accelerator_out_median_ape: float
    set_apart_median_ape: float = 0.0
    """On configurations that no fit saw."""
    set_apart_rows: int = 0
    maximum_load_rows: int = 0
    """Offline throughputs that were fitted beside the online rows."""
    maximum_load_median_ape: float = 0.0
    """Their error, leaving one model out."""
    ttft_median_ape: float
    """First token of lightly loaded points, in sample."""
    note: str


class PerformanceParameters(Frozen):
    """Everything the analytic model needs besides the catalog."""

    source: str
    as_of: date
    confidence: str
    fitted: Fitted
    efficiencies: dict[str, Efficiency]
    """By kind of computation: bf16, fp8, int8, fp4 and weight_only."""
    links: dict[str, Link]
    """`switched` (NVLink, Infinity Fabric, …) and `pcie`."""
    network_latency_us: Positive
    """One hop between instances."""
    errors: dict[str, ErrorModel]
    """`seen` and `unseen` accelerators."""
    accelerators_seen: tuple[str, ...]
    fit: FitRecord

    def error_of(self, accelerator: str) -> ErrorModel:
        """The error model for an accelerator id: measured hardware, or hardware the fit never saw."""
        return self.errors["seen" if accelerator in self.accelerators_seen else "unseen"]


def default_path() -> Path:
    """`catalogs/performance.yaml`: inside the installed package, else beside it in the repository."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_catalogs" / "performance.yaml"
    return shipped if shipped.is_file() else package.parent / "catalogs" / "performance.yaml"


@lru_cache(maxsize=8)
def load_parameters(path: Path | None = None) -> PerformanceParameters:
    """Read the parameters (default: those shipped). Raises OSError, or pydantic.ValidationError for a bad file."""
    from ruamel.yaml import YAML

    data = YAML(typ="safe", pure=True).load((path or default_path()).read_text(encoding="utf-8"))
    return PerformanceParameters.model_validate(data)
