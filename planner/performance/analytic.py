"""Iteration and prefill times of an engine, for many configurations at once (FACTS §8).

Arrays are `[configuration, 1]` so that they broadcast against `[configuration, class]`; times are seconds.

    step    = (t_read³ + t_compute³)^⅓ + t_kv + communication + Σ_layers t_layer(kind) + t_scheduler + B·t_request
    prefill = max(compute, weight reads) + quadratic attention + communication + overhead, chunked at the token budget
    TPOT    = step + γ·(arrivals per iteration)·prefill
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from planner.catalog.types import LlmModel
from planner.performance.memory import BYTES_16_BIT, attention_ranks, kv_bytes, weight_bytes
from planner.performance.parameters import PerformanceParameters
from planner.performance.rates import Rates
from planner.performance.setups import Setup, computes_as, peak_tflops
from planner.units import GB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TERA = 1e12
MICRO = 1e-6
LATENT_KINDS = frozenset({"mla", "linear", "compressed"})
BISECTIONS = 32


@dataclass(frozen=True, slots=True)
class Columns:
    """What the iteration model needs, each `[configuration, 1]`; bytes and FLOP per accelerator."""

    tensor_parallel: Array
    stages: Array
    data_parallel: Array
    """Attention ranks groups d: tokens of one step = batch · d."""
    layers: Array
    moe_layers: Array
    latent_layers: Array
    hidden: Array
    experts: Array
    experts_per_token: Array
    token_budget: Array
    dense_bytes: Array
    expert_bytes: Array
    """Of one expert in all MoE layers, spread over the ranks."""
    dense_flop: Array
    """Per token of an attention rank."""
    head_flop: Array
    """Output projection, per generated token."""
    expert_flop: Array
    """Per token of any rank."""
    pair_flop: Array
    """Per (query, key) pair in layers that attend to everything."""
    window_pair_flop: Array
    window: Array
    kv_growing: Array
    kv_sliding: Array
    kv_state: Array
    peak_flop_per_s: Array
    """At operator efficiency, of the precision that computes."""
    attention_flop_per_s: Array
    weight_byte_per_s: Array
    """At operator efficiency."""
    kv_byte_per_s: Array
    all_reduces: Array
    """Per layer and token of an attention rank."""
    group_all_reduces: Array
    """Per layer and token of the whole tensor-parallel group (attention data parallel)."""
    reduce_latency_s: Array
    reduce_byte_per_s: Array
    hop_s: Array
    """All hops between pipeline stages."""
    efficiency: Array


_NAMES = tuple(f.name for f in fields(Columns))


def build_columns(setups: Sequence[Setup], parameters: PerformanceParameters) -> Columns:
    """Rows → arrays `[configuration, 1]`."""
    table = np.array([_row(s, parameters) for s in setups], dtype=np.float64).reshape(len(setups), len(_NAMES))
    return Columns(**{name: table[:, i : i + 1] for i, name in enumerate(_NAMES)})


def take(columns: Columns, rows: NDArray[np.intp]) -> Columns:
    """The configurations at these indices."""
    return Columns(**{name: getattr(columns, name)[rows] for name in _NAMES})


def _row(s: Setup, parameters: PerformanceParameters) -> tuple[float, ...]:
    """One configuration's numbers in the order of `Columns`."""
    c, shape = s.config, s.model.shape
    ranks, tp = attention_ranks(c), c.tensor_parallel
    size = weight_bytes(s.model, s.precision)
    dense = shape.dense_params - shape.vision_params
    head = float(shape.vocab * shape.hidden)
    kv = kv_bytes(c, s.model, s.kv_precision, stages=1)
    peak, weights, attention = _speeds(s, parameters)
    latency, reduce = _link(s, parameters)
    full, sliding = _attending_layers(s.model)
    pair = 4.0 * shape.heads * shape.head_dim / ranks
    grouped = c.attention_data_parallel > 1
    return (
        tp,
        c.pipeline_parallel,
        c.attention_data_parallel,
        shape.layers,
        shape.moe_layers,
        sum(g.layers for g in shape.kv if g.kind in LATENT_KINDS),
        shape.hidden,
        shape.experts,
        shape.experts_per_token,
        c.max_num_batched_tokens,
        (dense * size.dense + head * size.wide) / ranks,
        shape.moe_layers * shape.expert_params * size.expert / tp,
        2.0 * dense / ranks,
        2.0 * head / ranks,
        2.0 * shape.moe_layers * shape.experts_per_token * shape.expert_params / tp,
        pair * full,
        pair * sliding,
        kv.window,
        kv.growing_per_token,
        kv.sliding_per_token,
        kv.state,
        peak,
        attention,
        weights,
        s.accelerator.bandwidth_gb_per_s * GB,
        0.0 if tp == 1 else (1.0 if ranks > 1 else 0.0) + (0.0 if grouped else 1.0),
        1.0 if grouped and tp > 1 else 0.0,
        latency,
        reduce,
        _hop_s(s, parameters),
        1.0 if s.engine.id in parameters.engines_seen else s.engine.efficiency,
    )


def _attending_layers(model: LlmModel) -> tuple[float, float]:
    """Layers that attend to the whole context, and to a window."""
    full = sum(g.layers for g in model.shape.kv if g.kind in {"full", "mla", "compressed"})
    return float(full), float(sum(g.layers for g in model.shape.kv if g.kind == "sliding"))


def _speeds(s: Setup, parameters: PerformanceParameters) -> tuple[float, float, float]:
    """(matrix FLOP/s, weight bytes/s, attention FLOP/s), at operator efficiency.

    Offloaded weights come over the host link in every iteration.
    """
    kind = computes_as(s.precision, s.weight_only)
    peak = peak_tflops(s.accelerator, kind)
    if peak is None:
        kind, peak = "weight_only", s.accelerator.bf16_tflops
    efficiency, plain = parameters.efficiencies[kind], parameters.efficiencies["bf16"]
    bandwidth = s.accelerator.bandwidth_gb_per_s
    if s.accelerator.kind == "cpu_offload":
        bandwidth = min(bandwidth, s.accelerator.host_link_gb_per_s)
    return (
        peak * TERA * efficiency.mfu,
        bandwidth * GB * efficiency.mbu,
        s.accelerator.bf16_tflops * TERA * plain.mfu,
    )


def _link(s: Setup, parameters: PerformanceParameters) -> tuple[float, float]:
    """(latency s, bytes/s) of one all-reduce over the tensor-parallel group."""
    if s.config.tensor_parallel == 1:
        return 0.0, 1.0
    link = parameters.links["pcie" if s.over_pcie else "switched"]
    degree = next((d for d in sorted(link.share) if d >= s.config.tensor_parallel), max(link.share))
    rate = s.accelerator.host_link_gb_per_s if s.over_pcie else s.accelerator.link_gb_per_s
    return link.latency_us[degree] * MICRO, link.share[degree] * rate * GB


def _hop_s(s: Setup, parameters: PerformanceParameters) -> float:
    """Latency of handing one token's activations through all pipeline stages."""
    hops = s.config.pipeline_parallel - 1
    if hops == 0:
        return 0.0
    rate = s.config.network_gb_per_s or s.accelerator.host_link_gb_per_s or 1.0
    return hops * (parameters.network_latency_us * MICRO + s.model.shape.hidden * BYTES_16_BIT / (rate * GB))


def active_experts(c: Columns, tokens: Array) -> Array:
    """Experts of a layer that a step of so many tokens reads: E·(1 − (1 − k/E)^tokens)."""
    experts = np.maximum(c.experts, 1.0)
    miss = 1.0 - np.minimum(c.experts_per_token / experts, 1.0)
    result: Array = c.experts * (1.0 - miss**tokens)
    return result


def step_s(c: Columns, p: Rates, batch: Array, context: Array, positions: Array | float = 1.0) -> Array:
    """One decode iteration of a replica holding `batch` requests of mean `context` tokens.

    Pipeline stages work on batch/PP requests each; attention ranks on batch/(PP·d). At least one request is decoded.
    `positions`: tokens of a request that one iteration computes (1; more where drafts are verified).
    """
    requests = np.maximum(batch / (c.stages * c.data_parallel), 1.0)
    rank = requests * positions
    tokens = np.maximum(batch / c.stages, 1.0) * positions
    dense_read = c.dense_bytes / (c.weight_byte_per_s * p.mbu_scale)
    expert_read = c.expert_bytes * active_experts(c, tokens) / (c.weight_byte_per_s * p.mbu_scale * p.expert_mbu)
    flop = ((c.dense_flop + c.head_flop) * rank + c.expert_flop * tokens) / (c.peak_flop_per_s * p.mfu_scale)
    cache = c.kv_growing * context + c.kv_sliding * np.minimum(context, c.window) + c.kv_state
    t_kv = requests * cache / (c.kv_byte_per_s * p.kv_mbu)
    work = np.cbrt((dense_read + expert_read) ** 3 + flop**3) + t_kv + _communication(c, p, rank, tokens, 1.0)
    result: Array = (work + _overhead(c, p) + p.request_s * requests) * p.time_scale / c.efficiency + c.hop_s
    return result


def _overhead(c: Columns, p: Rates) -> Array:
    result: Array = (
        c.layers * p.layer_s + c.moe_layers * p.moe_layer_s + c.latent_layers * p.latent_layer_s + p.scheduler_s
    )
    return result


def _communication(c: Columns, p: Rates, rank_tokens: Array, group_tokens: Array, launches: Array | float) -> Array:
    """All-reduces of all layers: per attention rank, and over the whole group where attention is data parallel."""
    byte = c.hidden * BYTES_16_BIT / (c.reduce_byte_per_s * p.reduce_scale)
    counts = c.all_reduces + c.group_all_reduces
    volume = c.all_reduces * rank_tokens + c.group_all_reduces * group_tokens
    result: Array = c.layers * (counts * launches * c.reduce_latency_s * p.latency_scale + volume * byte)
    return result


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prefill of one request, `[configuration, class]` seconds."""

    work_s: Array
    """Replica time that it occupies; prompts that are shorter than the token budget share a chunk."""
    latency_s: Array
    """From its start to the first token, alone on the replica."""


def prefill_s(c: Columns, p: Rates, new_tokens: Array, cached_tokens: Array) -> Prefill:
    """Prefill of `new_tokens` after `cached_tokens` found in a prefix cache, in chunks of the token budget."""
    new = np.maximum(new_tokens, 1.0)
    chunks = np.ceil(new / c.token_budget)
    shared_chunks = new / c.token_budget
    reach = cached_tokens + new / 2.0
    per_chunk = np.minimum(new, c.token_budget)
    scale = c.peak_flop_per_s * p.mfu_scale * p.prefill_mfu
    dense = (c.dense_flop * new + c.head_flop) / scale
    experts = c.expert_flop * new / (scale * p.expert_mfu)
    read_s = c.weight_byte_per_s * p.mbu_scale
    read_dense = c.dense_bytes / read_s
    read_experts = c.expert_bytes * active_experts(c, per_chunk) / (read_s * p.expert_mbu)
    pairs = c.pair_flop * reach + c.window_pair_flop * np.minimum(reach, c.window)
    attention = new * pairs / (c.attention_flop_per_s * p.mfu_scale * p.prefill_mfu)
    compute = np.hypot(dense, chunks * read_dense), np.hypot(experts, chunks * read_experts)
    own = compute[0] + attention + _communication(c, p, new, new, chunks) + chunks * _overhead(c, p)
    alone = (own + compute[1]) * p.time_scale * p.first_token_scale / c.efficiency
    joint = dense + attention + _communication(c, p, new, new, shared_chunks) + shared_chunks * _overhead(c, p)
    work = ((joint / c.data_parallel + experts) / c.efficiency / c.stages + p.admission_s) * p.time_scale
    latency = alone * (1.0 / chunks + (1.0 - 1.0 / chunks) / c.stages) + c.hop_s
    latency = latency + (p.prefill_overhead_s + c.latent_layers * p.latent_prefill_s) * p.first_token_scale
    return Prefill(work_s=work, latency_s=latency)


def open_tpot(c: Columns, p: Rates, rate: Array, tpot: Array, out: Array, context: Array, work: Array) -> Array:
    """TPOT that comes out where `rate` req/s hold rate·out·tpot seats: step + γ·rate·tpot·S."""
    result: Array = step_s(c, p, rate * out * tpot, context) + p.interference * rate * tpot * work
    return result


def largest_rate(tpot_at: Callable[[Array, Array], Array], allowed: Callable[[Array], Array], high: Array) -> Array:
    """Largest rates up to `high` with tpot_at(rate, allowed(rate)) ≤ allowed(rate), by bisection.

    `allowed` falls with the rate and `tpot_at` rises with it, so there is one crossing; 0 where even the idle replica
    is too slow.
    """
    low = np.zeros_like(high)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        tpot = allowed(middle)
        ok = (tpot > 0) & (tpot_at(middle, np.maximum(tpot, 0.0)) <= tpot)
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    return low


def closed_tpot(c: Columns, p: Rates, batch: Array, out: Array, context: Array, work: Array) -> Array:
    """TPOT at a fixed number of requests in the batch: step + γ·(batch/out)·S by Little's law."""
    result: Array = step_s(c, p, batch, context) + p.interference * batch / np.maximum(out, 1.0) * work
    return result
