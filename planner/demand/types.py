"""Demand as the programme sees it: ordered slices, bands inside a slice, request classes and services."""

from __future__ import annotations

from planner.base import Frozen, PurchaseOption
from planner.spec.types import Resilience, Sovereignty, WorkloadKind


class Slice(Frozen):
    """A weighted typical hour of a quarter; τ in the formulas."""

    id: str
    quarter: int
    label: str
    hours_per_month: float
    order: int
    begins_month: float = 0.0
    """When its period begins, in months from the start of the horizon."""
    ends_month: float = 3.0
    """When its period ends."""


class RequestClass(Frozen):
    """Requests of one workload with one length and one set of promises; r in the formulas."""

    id: str
    """`workload/class`."""
    workload: str
    name: str
    input_tokens: float
    output_tokens: float
    cached_input_tokens: float
    """Prompt tokens found in a prefix cache: no prefill work, but they hold KV."""
    ttft_limit_s: float | None
    ttft_quantile: float | None
    tpot_limit_s: float | None
    tpot_quantile: float | None
    client_region: str | None
    max_context_tokens: int | None
    """Longest request to be admitted; None: from the lengths."""
    mean_req_per_s: tuple[float, ...]
    """Mean rate per slice (money)."""
    sizing_req_per_s: tuple[float, ...]
    """Sizing rate per slice before the forecast margin (capacity)."""
    band_req_per_s: tuple[tuple[float, ...], ...]
    """[slice][band]; Σ_b weight_b · rate_b = mean rate, the last band is the sizing rate."""
    api_models: tuple[str, ...]


class Service(Frozen):
    """What shares replicas; s in the formulas."""

    id: str
    workloads: tuple[str, ...]
    classes: tuple[RequestClass, ...]
    models: tuple[str, ...]
    precisions: tuple[str, ...] | None
    kv_precisions: tuple[str, ...]
    engines: tuple[str, ...] | None
    gpu_memory_utilization: float
    max_num_seqs: int | None
    kind: WorkloadKind
    sovereignty: Sovereignty
    resilience: Resilience
    options: tuple[PurchaseOption, ...]
    max_spot_share: float
    band_weights: tuple[tuple[float, ...], ...]
    """[slice][band]: share of the slice's time; Σ_b = 1."""
    windows: tuple[tuple[float, ...], ...] = ()
    """Batch work only, [window][slice]: hours per month of the slice that lie in the window. Inside a window work may
    be moved: Σ_τ hours[window,τ]·rate[τ] ≥ Σ_τ hours[window,τ]·mean[τ]; outside of every window the mean rates are 0
    and nothing runs. A batch service has one band per slice, and its mean rates are the volume spread evenly over the
    hours of its windows."""

    @property
    def is_batch(self) -> bool:
        """Work with a volume and a deadline, not with a rate."""
        return self.kind is WorkloadKind.BATCH


class Demand(Frozen):
    """What is to be served: slices of time and services."""

    slices: tuple[Slice, ...]
    services: tuple[Service, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[RequestClass, ...]:
        """Every request class, by service."""
        return tuple(c for s in self.services for c in s.classes)
