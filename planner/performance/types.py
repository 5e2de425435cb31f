"""What one replica can do: memory, latency and the linear capacity rows of DESIGN §4. No money, no regions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from planner.base import Check, Frozen


class Provenance(StrEnum):
    MEASURED = "measured"
    SILICON = "silicon"
    CALIBRATED = "calibrated"
    """Analytic, corrected by benchmarks of the same model, accelerator and engine."""
    ANALYTIC = "analytic"


class EngineConfig(Frozen):
    """One LLM in one engine configuration on one kind of accelerator; k in the formulas (without its pool)."""

    model: str
    precision: str
    kv_precision: str
    engine: str
    accelerator: str
    tensor_parallel: int
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    attention_data_parallel: int = 1
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    gpu_memory_utilization: float = 0.9
    interconnect: str | None = None
    """Between the accelerators of an instance; None: the accelerator's own link."""
    network_gb_per_s: float = 0.0
    """Between instances, per accelerator; set only where the replica spans instances."""

    @property
    def accelerators(self) -> int:
        """g in the formulas."""
        return self.tensor_parallel * self.pipeline_parallel

    @cached_property
    def id(self) -> str:
        """`model/precision[+kv]/engine/accelerator/tpN[ppM][epE][dpD][@interconnect][@network GB/s]`."""
        kv = "" if self.kv_precision == "bf16" else f"+kv-{self.kv_precision}"
        par = f"tp{self.tensor_parallel}"
        for tag, n in (
            ("pp", self.pipeline_parallel),
            ("ep", self.expert_parallel),
            ("dp", self.attention_data_parallel),
        ):
            par += f"{tag}{n}" if n > 1 else ""
        par += f"@{self.interconnect}" if self.interconnect else ""
        par += f"@{self.network_gb_per_s:g}gb" if self.network_gb_per_s > 0 else ""
        return f"{self.model}/{self.precision}{kv}/{self.engine}/{self.accelerator}/{par}"

    def __hash__(self) -> int:
        """Of the id, which is made once: configurations are keys of many tables."""
        return hash(self.id)


class MemoryFit(Frozen):
    """Memory per GPU, the minimum over ranks (FACTS §1)."""

    usable_gib_per_gpu: float
    """utilization · physical memory."""
    weights_gib_per_gpu: float
    overhead_gib_per_gpu: float
    kv_pool_gib_per_gpu: float
    kv_bytes_per_token_per_gpu: float
    """Of the layers whose cache grows with the context."""
    state_bytes_per_request_per_gpu: float
    """Fixed part: sliding windows at their full width and recurrent state."""
    kv_cache_tokens: float
    """Tokens of growing cache that the pool of one replica holds with one request's fixed part taken off."""
    admission_bytes_per_request_per_gpu: float = 0.0
    """Fixed part that must be free before a request is admitted, where that is more than it holds while it decodes."""


class CapacityRow(Frozen):
    """One row of DESIGN §4 for one replica: Σ_r x_r · use_r ≤ n, x in req/s, n replicas."""

    name: str
    """tpot | ttft | prefill | max_num_seqs | kv_cache | utilization."""
    use: tuple[float, ...]
    """[class of the service] replicas per req/s; head-room factors other than the forecast margin are inside."""


class HeadroomFactor(Frozen):
    """One factor of the head-room product; `share` ≤ 1 multiplies capacity."""

    name: str
    share: float


class ClassPrediction(Frozen):
    """Latency of one class at the row's limits (what the plan promises), before any extra head-room."""

    ttft_p95_ms: float | None
    tpot_p95_ms: float | None


class ReplicaCapability(Frozen):
    """What one replica of a configuration does for the classes of one service."""

    config: EngineConfig
    served: tuple[bool, ...]
    """[class]: False has no variable."""
    rows: tuple[CapacityRow, ...]
    capacity_req_per_s: tuple[float, ...]
    """[class]: served alone, inside its SLO; 0 where not served."""
    work_s: tuple[float, ...]
    """[class] replica time per request (w)."""
    prefill_s: tuple[float, ...]
    """[class] prefill time (S)."""
    idle_iteration_s: float | None
    """a; None where a measurement does not say."""
    memory: MemoryFit
    provenance: Provenance
    error_band: tuple[float, float]
    """80 % interval of true ÷ estimated time before `time_factor`, e.g. (0.8, 1.3); (1, 1) for measurements."""
    time_factor: float
    """Chosen quantile of the estimate: times were multiplied by it (1 for measurements)."""
    headroom: tuple[HeadroomFactor, ...]
    flags: tuple[str, ...] = ()
    """`tensor_parallel_over_pcie`, `weight_only`, …"""
    refused_classes: tuple[tuple[str, tuple[Check, ...]], ...] = ()
    """(class id, failed checks) of classes that this configuration cannot serve."""

    def tpot_s(self, rates: tuple[float, ...], replicas: float) -> float | None:
        """Mean TPOT at the routed rates: a / (1 − ρ), ρ = Σ x·w / n; None without a, inf when ρ ≥ 1."""
        if self.idle_iteration_s is None or replicas <= 0:
            return None
        rho = sum(x * w for x, w in zip(rates, self.work_s, strict=True)) / replicas
        return self.idle_iteration_s / (1.0 - rho) if rho < 1.0 else float("inf")


class Refusal(Frozen):
    """A configuration that cannot be used, with every failed check."""

    config: EngineConfig
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """A request class as performance sees it; limits in seconds, quantiles as fractions (0.95)."""

    id: str
    input_tokens: float
    output_tokens: float
    cached_input_tokens: float = 0.0
    ttft_limit_s: float | None = None
    ttft_quantile: float | None = None
    tpot_limit_s: float | None = None
    tpot_quantile: float | None = None
    rtt_s: float = 0.0
    max_context_tokens: int | None = None
    """Longest request that must be admitted; None: 4 × this class, at most the model's limit."""
