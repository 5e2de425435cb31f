"""Memory per accelerator of one engine configuration, the minimum over ranks (FACTS §1).

weights  = (body·b_w·⌈L/PP⌉/L + vision·2 + embeddings·2) / TP        routed experts over all ranks, MLA undivided
overhead = max(c·max_num_seqs·vocab·4 B, minimum) + MoE + non-torch   by engine version
pool     = utilization·physical memory − weights − overhead
fits iff pool ≥ longest context · growing KV bytes + fixed bytes of one request
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.base import Check, CheckKind
from planner.catalog.types import Accelerator, Engine, EngineOverhead, KvGroup, LlmModel, Precision
from planner.performance.types import EngineConfig, MemoryFit
from planner.performance.versions import version_matches
from planner.units import GIB

BYTES_16_BIT = 2.0
LOGIT_BYTES = 4.0
VOCAB_PADDING = 64
LARGE_MEMORY_GB = 80.0
"""From here on engines default to their larger `max_num_seqs`."""
UNCHUNKED_BUDGET = 2048
"""Tokens of a profiling pass at least, and of a chunk where older engines do chunk."""
NO_OVERHEAD_ROW = EngineOverhead(
    versions="*",
    logits_factor=0.0,
    minimum_gib=0.75,
    moe_gib=0.5,
    non_torch_gib_tp1=0.25,
    non_torch_gib_tpn=2.1,
    source="no row for this engine: the floor and non-torch memory of vLLM 0.17-0.19 start-up logs",
)


@dataclass(frozen=True, slots=True)
class KvBytes:
    """Cache of one attention rank on its fullest pipeline stage, in bytes."""

    growing_per_token: float
    """Layers whose cache grows with the context."""
    sliding_per_token: float
    """Layers that keep a window, per token inside the window."""
    window: float
    """Tokens kept (0: no such layer); the widest where a model has several."""
    state: float
    """Fixed state per request: recurrent layers."""

    def fixed(self, context_tokens: float) -> float:
        """Fixed part per request at a context: windows as far as they are filled, and recurrent state."""
        return self.state + self.sliding_per_token * min(self.window, context_tokens)

    def admission(self, context_tokens: float, chunk_tokens: float, states: float) -> float:
        """Fixed part that must be free to admit a request: windows with a chunk behind them, copies of the state."""
        window = min(self.window - 1 + chunk_tokens if self.window else 0.0, context_tokens)
        return self.state * states + self.sliding_per_token * window


def attention_ranks(config: EngineConfig) -> int:
    """Accelerators that share one attention computation: tensor parallel ÷ attention data parallel."""
    return max(1, config.tensor_parallel // config.attention_data_parallel)


def kv_share(group: KvGroup, ranks: int) -> float:
    """Share of a layer's cache on one rank: KV heads divide, are replicated below one per rank; MLA is undivided."""
    if group.kv_heads == 0:
        return 1.0
    return max(1, -(-group.kv_heads // ranks)) / group.kv_heads


INDEX_BYTES = 2.0
"""Bytes per element of index keys."""


def kv_bytes(config: EngineConfig, model: LlmModel, kv_precision: Precision, stages: int | None = None) -> KvBytes:
    """KV cache geometry per rank.

        growing = Σ over full, MLA and compressed groups of ⌈layers/PP⌉ · share · (elements·b_kv + index keys·2 B)

    `stages` replaces the configuration's pipeline stages (1: all layers together). Raises ValueError where the
    precision is not one for KV.
    """
    if kv_precision.kv_bytes is None:
        raise ValueError(f"{kv_precision.id} is not a KV precision")
    ranks, stages = attention_ranks(config), stages or config.pipeline_parallel
    growing = sliding = window = state = 0.0
    for group in model.shape.kv:
        layers, share = -(-group.layers // stages), kv_share(group, ranks)
        # Keys of a sparse-attention index keep their 16-bit format whatever the cache's precision.
        index = group.index_elements_per_token
        per_token = layers * share * ((group.elements_per_token - index) * kv_precision.kv_bytes + index * INDEX_BYTES)
        if group.kind == "sliding" and group.window:
            sliding, window = sliding + per_token, max(window, float(group.window))
        elif group.kind != "linear":
            growing += per_token
        # Recurrent state is split with its heads; compressed attention keeps its latent whole on every rank.
        holders = 1 if group.kind == "compressed" else ranks
        state += layers * group.state_elements * group.state_bytes_per_element / holders
    return KvBytes(growing, sliding, window, state)


def wide_bytes(precision: Precision) -> float:
    """Bytes per parameter of embeddings and vision tower: 16 bit or more, except in files that quantise them too."""
    return max(precision.bytes_per_param, BYTES_16_BIT) if precision.embeddings_wide else precision.bytes_per_param


def rule_weights_bytes(model: LlmModel, precision: Precision) -> float:
    """All weights of a checkpoint by the rule: embeddings and vision tower at 16 bit, the rest at b_w bytes."""
    shape = model.shape
    wide = wide_bytes(precision)
    kept_wide = shape.embedding_params + shape.vision_params
    return (shape.total_params - kept_wide) * precision.bytes_per_param + kept_wide * wide


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes per parameter as a checkpoint stores them."""

    dense: float
    """Attention, dense feed-forward, shared experts, routers."""
    expert: float
    """Routed experts."""
    wide: float
    """Embeddings and vision tower."""


def weight_bytes(model: LlmModel, precision: Precision) -> WeightBytes:
    """The rule's bytes per parameter, corrected by what the published checkpoint weighs where one is recorded.

    What a checkpoint weighs beyond the rule are dense layers that it keeps in 16 bit (gpt-oss, the official 405B FP8,
    NVFP4 checkpoints); what that does not explain, or a lighter checkpoint, scales everything.
    """
    b_w, wide = precision.bytes_per_param, wide_bytes(precision)
    recorded = next((c for c in model.checkpoints if c.precision == precision.id), None)
    if recorded is None:
        return WeightBytes(b_w, b_w, wide)
    shape, rule = model.shape, rule_weights_bytes(model, precision)
    dense_params = shape.dense_params - shape.vision_params
    excess = recorded.weights_gib * GIB - rule
    kept_wide = min(max(excess, 0.0), dense_params * (wide - b_w))
    dense = b_w + kept_wide / dense_params if dense_params else b_w
    scale = recorded.weights_gib * GIB / (rule + kept_wide)
    return WeightBytes(dense * scale, b_w * scale, wide * scale)


def weights_bytes_per_rank(config: EngineConfig, model: LlmModel, precision: Precision) -> float:
    """Weights on the fullest rank, bytes: experts over all ranks of a stage, the rest over the attention ranks.

    Pipeline stages hold ⌈L/PP⌉ layers; the first and the last also hold one embedding (both if tied).
    """
    shape, stages = model.shape, config.pipeline_parallel
    ranks, size = attention_ranks(config), weight_bytes(model, precision)
    share = -(-shape.layers // stages) / shape.layers
    dense = (shape.dense_params - shape.vision_params) * share * size.dense / ranks
    experts = shape.moe_layers * share * _experts_per_rank(config, model) * shape.expert_params * size.expert
    sides = 1.0 if stages == 1 or shape.tied_embeddings else 0.5
    wide = (shape.embedding_params * sides + shape.vision_params) * size.wide / ranks
    return dense + experts + wide


def _experts_per_rank(config: EngineConfig, model: LlmModel) -> float:
    """Whole-expert equivalents of one layer on one rank."""
    if model.shape.experts == 0:
        return 0.0
    groups = config.expert_parallel
    return -(-model.shape.experts // groups) / (config.tensor_parallel / groups)


def overhead_row(engine: Engine) -> EngineOverhead:
    """The engine's overhead for the version that plans assume; a conservative row where it has none."""
    for row in engine.overheads:
        if version_matches(engine.version, row.versions):
            return row
    return engine.overheads[-1] if engine.overheads else NO_OVERHEAD_ROW


def activation_bytes(config: EngineConfig, model: LlmModel, row: EngineOverhead, longest_tokens: float) -> float:
    """Activations of the profiling pass of engines that do not chunk a prompt: tokens·(6·intermediate/TP + 4·hidden).

    Gate, up and their product at 16 bit, sharded, beside two copies of the residual stream (FACTS §1, older engines);
    a pipeline stage holds two more, which it receives.
    """
    if row.unchunked_up_to_tokens == 0:
        return 0.0
    whole = profiles_whole_prompt(config, row, longest_tokens)
    tokens = max(longest_tokens, UNCHUNKED_BUDGET) if whole else UNCHUNKED_BUDGET
    shape, two = model.shape, BYTES_16_BIT
    width = max(shape.intermediate, shape.moe_intermediate * shape.experts_per_token)
    streams = 4 if config.pipeline_parallel > 1 else 2
    return tokens * (3 * two * width / config.tensor_parallel + streams * two * shape.hidden)


def profiles_whole_prompt(config: EngineConfig, row: EngineOverhead, longest_tokens: float) -> bool:
    """Whether the profiling pass runs the longest prompt at once."""
    if row.unchunked_in_pipelines and config.pipeline_parallel > 1:
        return True
    return longest_tokens <= row.unchunked_up_to_tokens


def non_torch_gib(config: EngineConfig, accelerator: Accelerator, row: EngineOverhead) -> float:
    """Memory outside the allocator: contexts, communication buffers."""
    single = config.accelerators == 1
    large = row.non_torch_large_gib_tp1 if single else row.non_torch_large_gib_tpn
    if large is not None and accelerator.memory_gb >= LARGE_MEMORY_GB:
        return large
    return row.non_torch_gib_tp1 if single else row.non_torch_gib_tpn


@dataclass(frozen=True, slots=True)
class Overhead:
    """What an engine keeps for itself on one accelerator, bytes."""

    activations: float
    """Peak of the profiling pass: logits of all sequences, or activations of a prompt; at least the engine's floor."""
    experts: float
    """Buffers of a mixture of experts."""
    non_torch: float
    """Contexts and communication buffers outside the allocator."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.activations + self.experts + self.non_torch


def overhead_of(
    config: EngineConfig,
    model: LlmModel,
    accelerator: Accelerator,
    engine: Engine,
    longest_tokens: float,
    precision: Precision | None = None,
) -> Overhead:
    """Activation peak, MoE buffers and memory outside the allocator, bytes per accelerator.

        activations = max(c·max_num_seqs·vocab·4 B, minimum)        where prompts are chunked
        activations = max(c′·max_num_seqs·vocab·4 B, c·… + tokens·(6·intermediate/TP + 4·hidden))     where they are not

    A model computed in 32 bit (`precision`) keeps its logits once more at that width.
    """
    row = overhead_row(engine)
    vocab = -(-model.shape.vocab // VOCAB_PADDING) * VOCAB_PADDING
    one = config.max_num_seqs * vocab * LOGIT_BYTES
    wider = max(0.0, precision.bytes_per_param - BYTES_16_BIT) / LOGIT_BYTES if precision else 0.0
    peak = (row.logits_factor + wider) * one + activation_bytes(config, model, row, longest_tokens)
    if row.unchunked_up_to_tokens and profiles_whole_prompt(config, row, longest_tokens):
        peak = max(peak, row.unchunked_logits_factor * one)
    moe = row.moe_gib if model.shape.experts else 0.0
    return Overhead(max(peak, row.minimum_gib * GIB), moe * GIB, non_torch_gib(config, accelerator, row) * GIB)


def weights_in_host(accelerator: Accelerator) -> bool:
    """Whether weights take no accelerator memory: an offloading row that states the host's memory apart.

    A row that states one memory for card and host together holds weights and cache in it.
    """
    return accelerator.kind == "cpu_offload" and accelerator.host_memory_gib is not None


def memory_fit(
    config: EngineConfig,
    model: LlmModel,
    accelerator: Accelerator,
    engine: Engine,
    precision: Precision,
    kv_precision: Precision,
    longest_context_tokens: float,
) -> MemoryFit:
    """Memory of the fullest rank and the KV tokens that one replica holds (FACTS §1).

    `longest_context_tokens`: how far sliding windows are filled. Where weights are offloaded to the host they take no
    accelerator memory. Raises ValueError where `kv_precision` is not one for KV.
    """
    usable = config.gpu_memory_utilization * accelerator.memory_gib_visible * GIB
    weights = weights_bytes_per_rank(config, model, precision)
    overhead = overhead_of(config, model, accelerator, engine, longest_context_tokens, precision).total
    kv = kv_bytes(config, model, kv_precision)
    resident = 0.0 if weights_in_host(accelerator) else weights
    pool = usable - resident - overhead
    fixed = kv.fixed(longest_context_tokens)
    row = overhead_row(engine)
    chunk = float(config.max_num_batched_tokens) if row.admits_chunk else 0.0
    admission = max(fixed, kv.admission(longest_context_tokens, chunk, row.admitted_states))
    if kv.growing_per_token:
        tokens = max(0.0, pool - fixed) / kv.growing_per_token
    else:
        tokens = _stateful_tokens(pool, fixed, longest_context_tokens)
    return MemoryFit(
        usable_gib_per_gpu=usable / GIB,
        weights_gib_per_gpu=weights / GIB,
        overhead_gib_per_gpu=overhead / GIB,
        kv_pool_gib_per_gpu=pool / GIB,
        kv_bytes_per_token_per_gpu=kv.growing_per_token,
        state_bytes_per_request_per_gpu=fixed,
        kv_cache_tokens=tokens * config.attention_data_parallel,
        admission_bytes_per_request_per_gpu=admission,
    )


def _stateful_tokens(pool: float, fixed: float, longest: float) -> float:
    """Tokens of as many longest requests as their fixed state allows, where nothing grows with the context."""
    return max(0.0, pool) / fixed * longest if fixed > 0 else 0.0


def fits(memory: MemoryFit, longest_context_tokens: float) -> bool:
    """Whether the pool holds one longest request: pool ≥ context · growing bytes + fixed bytes."""
    return memory.kv_pool_gib_per_gpu > 0 and memory.kv_pool_gib_per_gpu * GIB >= needed_bytes(
        memory, longest_context_tokens
    )


def needed_bytes(memory: MemoryFit, context_tokens: float) -> float:
    """Cache that must be free on one rank to admit a request of a length, bytes."""
    fixed = max(memory.state_bytes_per_request_per_gpu, memory.admission_bytes_per_request_per_gpu)
    return context_tokens * memory.kv_bytes_per_token_per_gpu + fixed


def memory_checks(
    memory: MemoryFit, accelerator: Accelerator, longest_context_tokens: float, accelerators: int = 1
) -> tuple[Check, ...]:
    """Failed memory checks: `memory` (the weights leave no pool, or none for one longest request), `host_memory`.

    `needed` counts everything that must be resident: weights, overhead and one longest request.
    """
    checks: list[Check] = []
    offloaded = weights_in_host(accelerator)
    if not fits(memory, longest_context_tokens):
        resident = 0.0 if offloaded else memory.weights_gib_per_gpu
        needed = resident + memory.overhead_gib_per_gpu + needed_bytes(memory, longest_context_tokens) / GIB
        pool, request = memory.kv_pool_gib_per_gpu, needed_bytes(memory, longest_context_tokens) / GIB
        why = (
            f"weights of {resident:.1f} GiB and overhead of {memory.overhead_gib_per_gpu:.1f} GiB exceed the memory"
            if pool <= 0
            else f"a request of {longest_context_tokens:.0f} tokens takes {request:.2f} GiB, the pool is {pool:.2f} GiB"
        )
        checks.append(
            Check(
                check="memory",
                kind=CheckKind.PHYSICAL,
                needed=needed,
                had=memory.usable_gib_per_gpu,
                unit="GiB per accelerator",
                detail=f"{why}; usable are {memory.usable_gib_per_gpu:.1f} GiB per accelerator",
            )
        )
    host = accelerator.host_memory_gib
    if host is not None and offloaded and memory.weights_gib_per_gpu > host:
        checks.append(
            Check(
                check="host_memory",
                kind=CheckKind.PHYSICAL,
                needed=memory.weights_gib_per_gpu * accelerators,
                had=host * accelerators,
                unit="GiB",
                detail="offloaded weights must fit in the memory of the host",
            )
        )
    return tuple(checks)
