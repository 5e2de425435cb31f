"""What is asked of a point and what is answered."""

from __future__ import annotations

from dataclasses import dataclass

from planner.performance.setups import Setup

COLUMNS = (
    "model", "accelerator", "num_gpus", "tensor_parallel", "pipeline_parallel", "expert_parallel", "engine",
    "precision", "kv_precision", "input_tokens", "output_tokens", "concurrency", "kind",
)  # fmt: skip
"""Input columns of `planner predict --csv`."""
MORE_COLUMNS = (
    "request_rate", "cached_input_tokens", "tokens_per_step", "max_num_seqs", "max_num_batched_tokens",
    "gpu_memory_utilization",
)  # fmt: skip
"""Columns that may be given besides."""
NEEDED = ("model", "accelerator", "input_tokens", "output_tokens")
"""Columns without which no row can be predicted."""
RESULTS = (
    "output_tok_per_s", "total_tok_per_s", "req_per_s", "ttft_ms", "tpot_ms", "provenance", "error_band_low",
    "error_band_high", "error",
)  # fmt: skip
"""Columns that are added."""


@dataclass(frozen=True, slots=True)
class Place:
    """A configuration as it was asked for, blank = unknown; texts as they were written."""

    model: str
    accelerator: str
    num_gpus: str = ""
    tensor_parallel: str = ""
    pipeline_parallel: str = ""
    expert_parallel: str = ""
    engine: str = ""
    precision: str = ""
    kv_precision: str = ""
    kind: str = ""
    max_num_seqs: str = ""
    max_num_batched_tokens: str = ""
    gpu_memory_utilization: str = ""


@dataclass(frozen=True, slots=True)
class Configured:
    """A configuration with everything known, or inferred and said so."""

    setup: Setup
    replicas: int
    """Independent copies on `num_gpus`; the load is spread over them."""
    kind: str
    inferred: tuple[str, ...]
    """What was not stated and how it was taken, for the provenance."""
    pool_bytes: float
    """KV pool of an attention rank."""
    seats: float
    """Most requests that one replica decodes at once."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted point: medians, of all replicas together where it is a rate."""

    output_tok_per_s: float
    total_tok_per_s: float
    """Prompt and generated tokens."""
    req_per_s: float
    ttft_ms: float | None
    """None: unknown (requests wait without end, or a number of them is always waiting)."""
    tpot_ms: float | None
    """Mean gap after the first token; None: a single token is generated."""
    provenance: str
    """`analytic`, `silicon` or `calibrated`, and what was inferred."""
    error_band: tuple[float, float]
    """80 % interval of true ÷ predicted time."""
