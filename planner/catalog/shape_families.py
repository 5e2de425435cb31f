"""Decoders that are more than the common block: one builder per architecture.

Each builder takes a reader with the family's class defaults and returns a Decoder; it raises InputError (C203, C204,
C205) naming the field it cannot read.
"""

from __future__ import annotations

from dataclasses import replace

from planner.catalog import shape_attention as att
from planner.catalog.shape_config import BAD_VALUE, ConfigReader, fault
from planner.catalog.shape_layers import (
    MOST_LAYERS,
    Heads,
    decoder,
    dense_block,
    expert_block,
    finish,
    heads_of,
    is_sparse,
    layer_count,
    layer_inputs,
    shared_layers,
    window_of,
)
from planner.catalog.shape_parts import Decoder, Experts, Kv, Layer, Mixer, feed_forward


def deepseek(r: ConfigReader) -> Decoder:
    """MLA and routed experts (DeepSeek V2/V3, Kimi K2, Mistral 4), with the sparse indexer of V3.2 and GLM-5."""
    h, heads = r.positive("hidden_size"), r.positive("num_attention_heads")
    shared_indexers = r.items("indexer_types", length=layer_count(r))

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        own = r.has("index_head_dim") and (shared_indexers is None or shared_indexers[layer] == "full")
        return att.latent(r, h, heads, indexer=own)

    return decoder(r, mixing, expert_block, heads=latent_heads(r))


def latent_heads(r: ConfigReader) -> Heads:
    """Geometry of MLA: the head dimension is that of queries and keys."""
    heads = r.positive("num_attention_heads")
    dim = r.positive("qk_nope_head_dim") + r.number("qk_rope_head_dim")
    return Heads(r.positive("hidden_size"), heads, r.positive("num_key_value_heads", default=heads), dim)


def deepseek_v4(r: ConfigReader) -> Decoder:
    """Compressed attention in three kinds of layer, hyper-connections, experts in every layer."""
    g = heads_of(r)
    ratios = r.whole_numbers("compress_ratios", length=layer_count(r))
    streams = r.positive("hc_mult", default=1)
    mixing_params = 2 * (streams * g.h * (2 * streams + streams * streams) + 2 * streams + streams * streams + 3)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        ratio = ratios[layer]
        if ratio not in (0, 4, 128):
            r.unsupported("compress_ratios", ratio, ("0", "4", "128"))
        return att.compressed(r, g.h, g.heads, ratio)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        always, experts = expert_block(r, layer)
        return always + mixing_params, experts

    return decoder(r, mixing, blocks)


def qwen3_next(r: ConfigReader) -> Decoder:
    """Gated DeltaNet with gated full attention in every `full_attention_interval`-th layer (Qwen3-Next, 3.5, 3.6)."""
    g = heads_of(r)
    types = r.items("layer_types", length=layer_count(r))
    interval = r.positive("full_attention_interval", default=4)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        full = types[layer] == "full_attention" if types else (layer + 1) % interval == 0
        if not full:
            return att.gated_delta(r, g.h)
        gated = r.flag("attn_output_gate", default=True)
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head", gate="full" if gated else "none")

    return decoder(r, mixing, expert_block if r.has("num_experts") else dense_block)


def kimi_linear(r: ConfigReader) -> Decoder:
    """Kimi Delta Attention with MLA in some layers; Kimi K3 adds latent experts and a full-rank output gate."""
    h, heads, layers = r.positive("hidden_size"), r.positive("num_attention_heads"), layer_count(r)
    full = full_layers(r, layers)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if layer in full:
            return att.latent(r, h, heads, output_gate=r.flag("mla_use_output_gate"))
        return att.kimi_delta(r, h)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        always, experts = expert_block(r, layer)
        return latent_experts(r, h, always, experts, "routed_expert_hidden_size", gated=True)

    return decoder(r, mixing, blocks, heads=latent_heads(r))


def full_layers(r: ConfigReader, layers: int) -> frozenset[int]:
    """Zero-based layers with full attention: from `layer_types`, or from the one-based list of a Kimi config."""
    types = r.items("layer_types", length=layers)
    if types is not None:
        return frozenset(i for i in range(layers) if types[i] == "full_attention")
    part = r.part("linear_attn_config")
    if part is None:
        r.listed("layer_types", "linear_attn_config")
    return frozenset(i - 1 for i in (part or r).whole_numbers("full_attn_layers"))


def latent_experts(
    r: ConfigReader, h: int, always: float, experts: Experts | None, key: str, *, gated: bool
) -> tuple[float, Experts | None]:
    """Experts that work in a narrower latent space between one shared down- and one shared up-projection."""
    width = r.number(key, default=0)
    if experts is None or not width:
        return always, experts
    norm = width if r.flag("latent_moe_use_norm") else 0
    inner = feed_forward(width, experts.width, gated=gated)
    return always + 2 * h * width + norm, replace(experts, params=inner)


def gemma4(r: ConfigReader) -> Decoder:
    """Sliding layers and global ones of another head size; global values reuse keys; dense block beside experts.

    The small sizes (E2B, E4B) have input embeddings per layer, and their last layers read the cache of earlier ones and
    have no projections for it.
    """
    g = heads_of(r)
    global_dim = r.positive("global_head_dim", default=g.head_dim)
    global_kv = r.positive("num_global_key_value_heads", default=g.kv_heads)
    moe = r.flag("enable_moe_block")
    shared_from = layer_count(r) - shared_layers(r)
    embeddings, outside, inside = layer_inputs(r, g.h)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        window = window_of(r, layer)
        if window is not None:
            own = att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head", window=window)
            kept = 2 * g.kv_heads * g.head_dim * g.h + g.head_dim
        else:
            reuse = r.flag("attention_k_eq_v")
            kv_heads = global_kv if reuse else g.kv_heads
            own = att.grouped_query(g.h, g.heads, kv_heads, global_dim, qk_norm="head", value_is_key=reuse)
            kept = (1 if reuse else 2) * kv_heads * global_dim * g.h + global_dim
        return own if layer < shared_from else Mixer(own.params - kept)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        twice = 2 if r.flag("use_double_wide_mlp") and layer >= shared_from else 1
        dense = feed_forward(g.h, twice * r.positive("intermediate_size")) + inside
        if not moe:
            return dense, None
        count, width = r.positive("num_experts"), r.positive("moe_intermediate_size")
        experts = Experts(count, r.positive("top_k_experts"), feed_forward(g.h, width), width)
        return dense + g.h * count + g.h + count + 3 * g.h, experts

    return replace(decoder(r, mixing, blocks, norms=4, extra=g.h + outside), layer_embeddings=embeddings)


def llama4(r: ConfigReader) -> Decoder:
    """Experts in every n-th layer, each with one shared expert.

    Three of four layers attend within chunks, but engines keep all their tokens (vLLM needs 24 GiB per GPU for a
    1 M context of Scout at TP 8, that is all 48 layers), so they count as full.
    """
    g = heads_of(r)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        if not is_sparse(r, layer):
            return feed_forward(g.h, r.positive("intermediate_size_mlp")), None
        count, width = r.positive("num_local_experts"), r.positive("intermediate_size")
        one = feed_forward(g.h, width)
        return g.h * count + one, Experts(count, r.positive("num_experts_per_tok"), one, width, shared=one)

    return decoder(r, lambda r, layer: att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim), blocks)


def gpt_oss(r: ConfigReader) -> Decoder:
    """Alternating sliding and full attention with sinks; biased experts."""
    g = heads_of(r)
    count, width = r.positive("num_local_experts", "num_experts"), r.positive("intermediate_size")
    per_token = r.positive("num_experts_per_tok", "experts_per_token")
    one = feed_forward(g.h, width, bias=True)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        return att.grouped_query(
            g.h,
            g.heads,
            g.kv_heads,
            g.head_dim,
            qkv_bias=True,
            output_bias=True,
            sinks=True,
            window=window_of(r, layer),
        )

    return decoder(r, mixing, lambda r, layer: (g.h * count + count, Experts(count, per_token, one, width)))


def mimo_v2(r: ConfigReader) -> Decoder:
    """Sliding layers with more key-value heads than full ones; values narrower than keys."""
    g = heads_of(r)
    pattern = r.listed("hybrid_layer_pattern", length=layer_count(r))
    value_dim = r.positive("v_head_dim", default=g.head_dim)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if pattern[layer]:
            return att.grouped_query(
                g.h,
                r.positive("swa_num_attention_heads", default=g.heads),
                r.positive("swa_num_key_value_heads"),
                r.positive("swa_head_dim", default=g.head_dim),
                v_head_dim=r.positive("swa_v_head_dim", default=value_dim),
                sinks=True,
                window=r.positive("sliding_window", "sliding_window_size"),
            )
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, v_head_dim=value_dim)

    return decoder(r, mixing, expert_block)


def minimax_m3(r: ConfigReader) -> Decoder:
    """Grouped-query attention that selects blocks by cached index keys in most layers."""
    g = heads_of(r)
    sparse = r.part("sparse_attention_config")
    frequency = sparse.items("sparse_attention_freq", length=layer_count(r)) if sparse else None

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        plain = att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head")
        if sparse is None or frequency is None or not frequency[layer] or plain.kv is None:
            return plain
        dim, index_heads = sparse.positive("sparse_index_dim"), sparse.positive("sparse_num_index_heads")
        kv = Kv("full", g.kv_heads, plain.kv.elements_per_token + dim, index_elements_per_token=dim)
        return Mixer(plain.params + g.h * dim * (index_heads + 1) + 2 * dim, kv)

    return decoder(r, mixing, expert_block)


def step3(r: ConfigReader) -> Decoder:
    """Sliding and full grouped-query attention with a gate per head."""
    g = heads_of(r)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        return att.grouped_query(
            g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head", gate="head", window=window_of(r, layer)
        )

    return decoder(r, mixing, expert_block)


NEMOTRON_BLOCKS = {"M": "mamba", "-": "mlp", "*": "attention", "E": "moe"}


def nemotron_h(r: ConfigReader) -> Decoder:
    """One block per layer: Mamba-2, attention, feed-forward or experts, as the override pattern says."""
    g = heads_of(r)
    pattern = r.raw("hybrid_override_pattern")
    if isinstance(pattern, str):
        kinds: list[object] = [NEMOTRON_BLOCKS.get(c, c) for c in pattern]
    else:
        kinds = r.listed("layers_block_type", "hybrid_override_pattern")
    if not 0 < len(kinds) <= MOST_LAYERS:
        raise fault(BAD_VALUE, f"{r.name}: the block pattern has {len(kinds)} layers", "hybrid_override_pattern")
    layers = tuple(nemotron_block(r, g, str(kind)) for kind in kinds)
    return finish(r, g, layers, g.h)


def nemotron_block(r: ConfigReader, g: Heads, kind: str) -> Layer:
    """One block of Nemotron-H; feed-forwards are squared ReLU (two matrices)."""
    if kind == "mamba":
        return Layer(att.mamba2(r, g.h), g.h)
    if kind == "attention":
        return Layer(att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim), g.h)
    if kind == "mlp":
        return Layer(None, feed_forward(g.h, r.positive("intermediate_size"), gated=False) + g.h)
    if kind != "moe":
        r.unsupported("hybrid_override_pattern", kind, tuple(NEMOTRON_BLOCKS))
    count, width = r.positive("n_routed_experts"), r.positive("moe_intermediate_size")
    shared = r.number("n_shared_experts", default=0) * r.number("moe_shared_expert_intermediate_size", default=0)
    beside = feed_forward(g.h, shared, gated=False)
    one = feed_forward(g.h, width, gated=False)
    routed = Experts(count, r.positive("num_experts_per_tok"), one, width, beside)
    always = g.h * count + count + beside
    always, experts = latent_experts(r, g.h, always, routed, "moe_latent_size", gated=False)
    return Layer(None, always + g.h, experts)


def nemotron_nas(r: ConfigReader) -> Decoder:
    """A Llama pruned layer by layer (`block_configs`): attention or feed-forward may be narrower or gone."""
    h, heads = r.positive("hidden_size"), r.positive("num_attention_heads")
    configs = r.listed("block_configs", length=layer_count(r))
    layers = []
    kv_heads = 0
    for index, block in enumerate(configs):
        part = ConfigReader({"block": block}, name=f"{r.name}.block_configs[{index}]").part("block") or r
        mixer = pruned_attention(part, h, heads)
        kv_heads = max(kv_heads, mixer.kv.kv_heads if mixer and mixer.kv else 0)
        layers.append(Layer(mixer, pruned_feed_forward(part, h) + h * bool(mixer)))
    return finish(r, Heads(h, heads, kv_heads or heads, h // heads), tuple(layers), h)


def pruned_attention(block: ConfigReader, h: int, heads: int) -> Mixer | None:
    """Attention of one pruned layer: kept, replaced by one linear map, or gone."""
    part = block.part("attention")
    if part is None or part.flag("no_op"):
        return None
    if part.flag("replace_with_linear"):
        return Mixer(h * h)
    window = part.number("window_length", default=0) or None
    return att.grouped_query(h, heads, heads // part.positive("n_heads_in_group"), h // heads, window=window)


def pruned_feed_forward(block: ConfigReader, h: int) -> float:
    """Feed-forward of one pruned layer: 2/3·multiplier·hidden, up to a multiple of 256; a map; or nothing."""
    part = block.part("ffn")
    if part is None or part.flag("no_op"):
        return 0.0
    if part.flag("replace_with_linear"):
        return float(h * h + h)
    width = int(2 * part.ratio("ffn_mult") * h / 3)
    return feed_forward(h, -(-width // 256) * 256) + h


def jamba(r: ConfigReader) -> Decoder:
    """Mamba with attention every `attn_layer_period` layers and experts every `expert_layer_period`."""
    g = heads_of(r)
    period, offset = r.positive("attn_layer_period"), r.number("attn_layer_offset")

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if layer % period == offset:
            return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim)
        return att.mamba1(r, g.h)

    return decoder(r, mixing, expert_block)


def granite_hybrid(r: ConfigReader) -> Decoder:
    """Granite 4: attention or Mamba-2 by `layer_types`, a shared feed-forward and optional experts in every layer."""
    g = heads_of(r)
    types = r.items("layer_types", "layers_block_type", length=layer_count(r))

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if types and types[layer] == "mamba":
            return att.mamba2(r, g.h)
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        shared = feed_forward(g.h, r.number("shared_intermediate_size"))
        count, width = r.number("num_local_experts", default=0), r.number("intermediate_size", default=0)
        if not count:
            return shared, None
        per_token = r.positive("num_experts_per_tok")
        return shared + g.h * count, Experts(count, per_token, feed_forward(g.h, width), width, shared)

    return decoder(r, mixing, blocks)


def deci(r: ConfigReader) -> Decoder:
    """A Llama with its own number of key-value heads in every layer."""
    g = heads_of(r)
    counts = r.whole_numbers("num_key_value_heads_per_layer", length=layer_count(r))

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        return att.grouped_query(g.h, g.heads, counts[layer], g.head_dim)

    return decoder(r, mixing, dense_block, heads=Heads(g.h, g.heads, max(counts), g.head_dim))
