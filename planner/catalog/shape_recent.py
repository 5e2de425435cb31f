"""Decoders of 2025 and 2026 with fields or blocks of their own: one builder per architecture.

Each takes a reader with the family's class defaults and returns a Decoder; it raises InputError (C203, C204, C205)
naming the field it cannot read. Sources: the implementations in transformers and vLLM.
"""

from __future__ import annotations

from dataclasses import replace

from planner.catalog import shape_attention as att
from planner.catalog.shape_attention import Gate, QkNorm
from planner.catalog.shape_config import BAD_VALUE, ConfigReader, fault, is_whole
from planner.catalog.shape_families import latent_heads
from planner.catalog.shape_layers import (
    Style,
    common,
    decoder,
    dense_block,
    expert_block,
    heads_of,
    layer_count,
    layer_inputs,
    shared_layers,
    window_of,
)
from planner.catalog.shape_parts import Decoder, Experts, Kv, Layer, Mixer, feed_forward


def uniform(r: ConfigReader, *keys: str) -> ConfigReader:
    """The same config with lists of one repeated number (one per layer) as that number. Raises C204 where they vary."""
    flat: dict[str, object] = {}
    for key in keys:
        value = r.raw(key)
        if isinstance(value, list):
            if not value or any(v != value[0] for v in value) or not is_whole(value[0]):
                raise fault(BAD_VALUE, f"{r.name}: {key} varies over layers, which is not supported", key)
            flat[key] = value[0]
    return r.renamed({}, **flat)


def falcon_h1(r: ConfigReader) -> Decoder:
    """Falcon-H1 (arXiv 2507.22448): attention and Mamba-2 side by side in every layer."""
    g = heads_of(r)
    heads = r.positive("mamba_n_heads")
    inner = r.positive("mamba_d_ssm", default=r.positive("mamba_expand", default=2) * g.h)
    if inner % heads:
        raise fault(BAD_VALUE, f"{r.name}: {heads} Mamba heads do not divide {inner}", "mamba_n_heads")
    state = att.mamba2(r.renamed({}, mamba_d_head=inner // heads), g.h)
    if not r.flag("mamba_rms_norm"):
        state = replace(state, params=state.params - inner)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        attention = att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qkv_bias=r.flag("attention_bias"))
        return Mixer(attention.params + state.params, attention.kv, state.kv)

    return decoder(r, mixing, dense_block)


def bamba(r: ConfigReader) -> Decoder:
    """Bamba: Mamba-2 with attention in the layers of `attn_layer_indices`, a dense feed-forward in each."""
    g = heads_of(r)
    attention = frozenset(r.whole_numbers("attn_layer_indices"))
    inner = r.positive("mamba_expand", default=2) * g.h
    state = att.mamba2(r.renamed({}, mamba_d_head=inner // r.positive("mamba_n_heads")), g.h)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim) if layer in attention else state

    return decoder(r, mixing, dense_block)


def lfm2(r: ConfigReader) -> Decoder:
    """LFM2: gated short convolutions with attention in some layers, dense or with experts after some dense layers."""
    g = heads_of(r)
    types, indices = r.items("layer_types", length=layer_count(r)), r.items("full_attn_idxs")
    if types is None and indices is None:
        r.listed("layer_types", "full_attn_idxs")
    kernel, bias = r.positive("conv_L_cache", default=3), r.flag("conv_bias")
    conv = Mixer(
        3 * g.h * g.h + g.h * g.h + g.h * kernel + bias * 5 * g.h,
        Kv("linear", g.h, state_elements=float(g.h * (kernel - 1)), state_bytes_per_element=2.0),
    )
    width = lfm2_width(r)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        full = types[layer] == "full_attention" if types is not None else layer in (indices or [])
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head") if full else conv

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        if not r.has("num_experts") or layer < r.number("num_dense_layers", default=0):
            return feed_forward(g.h, width), None
        count, inner = r.positive("num_experts"), r.positive("moe_intermediate_size")
        routed = Experts(count, r.positive("num_experts_per_tok"), feed_forward(g.h, inner), inner)
        return g.h * count + count * r.flag("use_expert_bias", default=True), routed

    return decoder(r, mixing, blocks)


def lfm2_width(r: ConfigReader) -> int:
    """Feed-forward width: `block_ff_dim` is cut to two thirds, scaled and rounded up unless the config says not to."""
    width = r.positive("intermediate_size", "block_ff_dim")
    if r.has("num_experts") or not r.flag("block_auto_adjust_ff_dim", default=True):
        return width
    scaled = int(2 * width / 3)
    if r.has("block_ffn_dim_multiplier"):
        scaled = int(r.ratio("block_ffn_dim_multiplier") * scaled)
    multiple = r.positive("block_multiple_of", default=256)
    return -(-scaled // multiple) * multiple


def longcat(r: ConfigReader) -> Decoder:
    """LongCat-Flash (arXiv 2509.01322): each layer holds two MLA and two dense blocks beside the experts.

    Zero experts pass a token on unchanged, so the experts per token are an upper bound; the mean is
    `moe_topk` · experts/(experts + zero experts), rounded to whole experts.
    """
    h, heads = r.positive("hidden_size"), r.positive("num_attention_heads")
    dense = feed_forward(h, r.positive("ffn_hidden_size", "intermediate_size"))
    count, zero = r.positive("n_routed_experts", "num_experts"), r.number("zero_expert_num", default=0)
    width = r.positive("expert_ffn_hidden_size", "moe_intermediate_size")
    per_token = max(1, round(r.positive("moe_topk", "num_experts_per_tok") * count / (count + zero)))
    router = (h + 1) * (count + zero)
    mixer = att.latent(r, h, heads)
    half = Layer(mixer, dense + 2 * h)
    whole = Layer(mixer, dense + 2 * h + router, Experts(count, per_token, feed_forward(h, width), width))
    layers = r.positive("num_layers", "num_hidden_layers")
    made = decoder(r.renamed({}, num_hidden_layers=1), lambda r, layer: mixer, lambda r, layer: (0.0, None),
                   heads=latent_heads(r))  # fmt: skip
    return replace(
        made,
        layers=(whole, half) * layers,
        intermediate=r.positive("ffn_hidden_size", "intermediate_size"),
    )


def lightning(r: ConfigReader) -> Decoder:
    """MiniMax-Text-01 and M1 (arXiv 2501.08313): lightning attention with full attention in some layers."""
    g = heads_of(r)
    types, flags = r.items("layer_types", length=layer_count(r)), r.items("attn_type_list", length=layer_count(r))
    linear = lightning_mixer(g.h, g.heads, g.head_dim)
    if types is None and flags is None:
        r.listed("attn_type_list", "layer_types")

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        full = types[layer] == "full_attention" if types is not None else bool((flags or [])[layer])
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim) if full else linear

    return decoder(r, mixing, expert_block)


def hunyuan(r: ConfigReader) -> Decoder:
    """Hunyuan: query and key norms, experts with shared ones beside them where there are several experts."""
    r = uniform(r, "num_experts", "moe_topk", "num_shared_expert", "moe_intermediate_size")
    if r.flag("use_cla"):
        r.unsupported("use_cla", True, ("false",))
    names = {"moe_topk": "num_experts_per_tok", "num_shared_expert": "n_shared_experts",
             "moe_layer_num_skipped": "first_k_dense_replace"}  # fmt: skip
    style = Style(qk_norm="head", blocks=expert_block if r.number("num_experts", default=1) > 1 else dense_block)
    return common(style)(r.renamed(names))


def bailing(r: ConfigReader) -> Decoder:
    """Ling and Ring: experts with shared ones after some dense layers; norms of queries and keys where stated.

    With `layer_group_size`, only the last layer of a group has full attention (MLA where the config states its rank);
    the others keep a recurrent state: Kimi Delta Attention where they have short convolutions (Ling 3), else lightning
    attention (Ling 2.5, Ring-linear).
    """
    wide = r.raw("moe_shared_expert_intermediate_size")
    shared = {"shared_intermediate_size": wide * r.number("num_shared_experts", "n_shared_experts", default=1)} if (
        isinstance(wide, int) and not isinstance(wide, bool)) else {}  # fmt: skip
    r = r.renamed({}, **shared)
    norms: QkNorm = "head" if r.flag("use_qk_norm") else "none"
    if not r.has("layer_group_size"):
        return common(Style(qk_norm=norms, blocks=expert_block))(r)
    group, layers = r.positive("layer_group_size"), layer_count(r)
    latent = r.has("kv_lora_rank")
    g = latent_heads(r) if latent else heads_of(r)
    dim = r.positive("head_dim", default=max(1, g.h // g.heads))
    gated = r.text("gated_attention_proj_granularity_type", default="")
    if gated not in ("", "head_wise"):
        r.unsupported("gated_attention_proj_granularity_type", gated, ("head_wise",))

    def full(r: ConfigReader) -> Mixer:
        if not latent:
            return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm=norms)
        mixer = att.latent(r, g.h, g.heads)
        return replace(mixer, params=mixer.params + (g.h * g.heads if gated else 0))

    state = delta(r, g.h, g.heads, dim) if r.has("short_conv_kernel_size") else lightning_mixer(g.h, g.heads, dim)

    types = r.items("layer_types", length=layers)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        last = (layer + 1) % group == 0 or layer >= layers // group * group
        return full(r) if (types[layer] == "full_attention" if types is not None else last) else state

    return decoder(r, mixing, expert_block, heads=g)


def inkling(r: ConfigReader) -> Decoder:
    """Inkling: windows with heads of their own in most layers, shared experts; its short convolutions are not counted.

    Convolutions over four positions in each layer and the relative positions are below 0.1 % of the parameters.
    """
    g, layers = heads_of(r), layer_count(r)
    types, local = r.items("layer_types", length=layers), r.items("local_layer_ids")
    dense = r.number("dense_mlp_idx", default=0)
    kinds = r.raw("mlp_layer_types") or ["dense" if i < dense else "sparse" for i in range(layers)]
    window = r.positive("sliding_window_size", "sliding_window")
    heads = r.positive("swa_num_attention_heads", default=g.heads)
    kv_heads, dim = r.positive("swa_num_key_value_heads"), r.positive("swa_head_dim", default=g.head_dim)

    def slides(layer: int) -> bool:
        if types is not None:
            return "sliding" in str(types[layer])
        return layer in local if local is not None else bool((layer + 1) % 6)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if slides(layer):
            return att.grouped_query(g.h, heads, kv_heads, dim, qk_norm="head", window=window)
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head")

    return decoder(r.renamed({}, mlp_layer_types=kinds), mixing, expert_block)


def delta(r: ConfigReader, h: int, heads: int, dim: int) -> Mixer:
    """Kimi Delta Attention as in Ling 3: decay and gate at full rank where the config says `no_kda_lora`."""
    fields = r.renamed({}, linear_num_heads=heads, linear_head_dim=dim)
    mixer = att.kimi_delta(fields, h)
    inner = heads * dim
    more = 2 * (h * inner - h * dim - dim * inner) if r.flag("no_kda_lora") else 0
    return replace(mixer, params=mixer.params + more)


def lightning_mixer(h: int, heads: int, dim: int) -> Mixer:
    """Lightning attention: query, key, value, gate and output projections, one norm; a state of dim² per head."""
    inner = heads * dim
    return Mixer(5 * h * inner + inner, att.recurrent(heads, float(heads * dim**2), 0.0, 4.0))


def hy3(r: ConfigReader) -> Decoder:
    """Hunyuan 3: query and key norms, experts with a shared one after the first dense layers."""
    return common(Style(qk_norm="head", blocks=expert_block))(r.renamed({"expert_hidden_dim": "moe_intermediate_size"}))


def mllama(r: ConfigReader) -> Decoder:
    """Llama 3.2 Vision: some layers attend to the image instead of the text; they cache nothing for a text."""
    g = heads_of(r)
    crossed = frozenset(r.whole_numbers("cross_attention_layers"))

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        if layer in crossed:
            return Mixer(att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head").params + 2)
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim)

    return decoder(r, mixing, dense_block)


def laguna(r: ConfigReader) -> Decoder:
    """Laguna: windows, query heads that differ between layers, a gate per head or per element, one shared expert."""
    g, layers = heads_of(r), layer_count(r)
    counts = r.whole_numbers("num_attention_heads_per_layer", length=layers) if (
        r.has("num_attention_heads_per_layer")) else [g.heads] * layers  # fmt: skip
    gating = r.raw("gating")
    gates: dict[object, Gate] = {None: "head", True: "head", "per-head": "head", "per-element": "full", False: "none"}
    gate = gates.get(gating) if isinstance(gating, str | bool | None) else None
    if gate is None:
        r.unsupported("gating", gating, ("true", "per-head", "per-element", "false"))
    kinds = r.raw("mlp_layer_types") or ["dense"] + ["sparse"] * (layers - 1)
    flags = r.renamed({"shared_expert_intermediate_size": "shared_intermediate_size"}, mlp_layer_types=kinds)
    windows = r.has("layer_types")

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        window = window_of(r, layer) if windows else None
        return att.grouped_query(
            g.h, counts[layer], g.kv_heads, g.head_dim, qk_norm="head", gate=gate, window=window,
        )  # fmt: skip

    return decoder(flags, mixing, expert_block)


def exaone_moe(r: ConfigReader) -> Decoder:
    """K-EXAONE: windows in three of four layers, query and key norms, experts with a shared one."""
    pattern = r.raw("sliding_window_pattern")
    if isinstance(pattern, str) and not r.has("layer_types"):
        kinds = ["full_attention" if pattern[i % len(pattern)] == "G" else "sliding_attention"
                 for i in range(layer_count(r))]  # fmt: skip
        r = r.renamed({"sliding_window_pattern": "_"}, layer_types=[*kinds[:-1], "full_attention"])
    return common(Style(qk_norm="head", windows=True, blocks=expert_block))(r)


def olmo_hybrid(r: ConfigReader) -> Decoder:
    """OLMo Hybrid: gated delta layers with full attention in some, a dense feed-forward in each."""
    g = heads_of(r)
    types = r.items("layer_types", length=layer_count(r))
    k_heads = r.positive("linear_num_key_heads", default=g.heads)
    k_dim = r.positive("linear_key_head_dim", default=max(1, int(0.75 * g.h / k_heads)))
    linear = r.renamed(
        {}, linear_num_key_heads=k_heads, linear_key_head_dim=k_dim,
        linear_num_value_heads=r.positive("linear_num_value_heads", default=g.heads),
        linear_value_head_dim=r.positive("linear_value_head_dim", default=2 * k_dim),
        linear_conv_kernel_dim=r.positive("linear_conv_kernel_dim", default=4),
    )  # fmt: skip

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        full = types[layer] == "full_attention" if types else layer % 4 == 3
        if full:
            return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="full")
        return att.gated_delta(linear, g.h)

    return decoder(r, mixing, dense_block)


def afmoe(r: ConfigReader) -> Decoder:
    """Trinity: gated attention with query and key norms, windows, four norms per layer, experts after dense layers."""
    g = heads_of(r)

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        window = window_of(r, layer)
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head", gate="full", window=window)

    names = {"num_dense_layers": "first_k_dense_replace", "num_shared_experts": "n_shared_experts"}
    return decoder(r.renamed(names), mixing, expert_block, norms=4)


def ungated(r: ConfigReader) -> Decoder:
    """Apertus and Arcee: a Llama whose feed-forward has two matrices, with query and key norms where stated."""
    g = heads_of(r)
    norms: QkNorm = "head" if r.flag("qk_norm") else "none"

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        bias = r.flag("attention_bias")
        return att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm=norms, qkv_bias=bias, output_bias=bias)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        return feed_forward(g.h, r.positive("intermediate_size"), gated=False, bias=r.flag("mlp_bias")), None

    return decoder(r, mixing, blocks)


def dense_latent(r: ConfigReader) -> Decoder:
    """MiniCPM3: MLA with a dense feed-forward."""
    h, heads = r.positive("hidden_size"), r.positive("num_attention_heads")
    r = r.renamed({}, v_head_dim=r.positive("v_head_dim", default=max(1, h // heads)))
    return decoder(r, lambda r, layer: att.latent(r, h, heads), dense_block, heads=latent_heads(r))


def grok(r: ConfigReader) -> Decoder:
    """Grok 1 and 2: experts in every layer, beside a dense block in Grok 2; four norms."""
    g = heads_of(r)
    dense = r.flag("residual_moe")

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        count, width = r.positive("num_local_experts", "num_experts"), r.positive("moe_intermediate_size",
                                                                                   "intermediate_size")  # fmt: skip
        per_token = r.positive("num_experts_per_tok", "num_selected_experts")
        always = g.h * count + (feed_forward(g.h, r.positive("intermediate_size")) if dense else 0)
        return always, Experts(count, per_token, feed_forward(g.h, width), width)

    return decoder(r, lambda r, layer: att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim), blocks, norms=4)


def step3_text(r: ConfigReader) -> Decoder:
    """Step-3 (arXiv 2507.19427): multi-matrix factorised attention, shared low-rank queries and one key-value head."""
    h, heads, dim = r.positive("hidden_size"), r.positive("num_attention_heads"), r.positive("head_dim")
    groups, rank = r.positive("num_attention_groups", default=1), r.positive("share_q_dim")
    sparse = sparse_layers(r)
    params = h * rank + rank + rank * heads * dim + 2 * h * groups * dim + heads * dim * h
    mixer = Mixer(float(params), Kv("full", groups, 2.0 * groups * dim))
    flags = r.renamed(
        {"moe_num_experts": "num_experts", "moe_top_k": "num_experts_per_tok"},
        mlp_layer_types=["sparse" if i in sparse else "dense" for i in range(layer_count(r))],
        num_key_value_heads=groups,
    )
    return decoder(flags, lambda r, layer: mixer, expert_block)


def sparse_layers(r: ConfigReader) -> frozenset[int]:
    """Layers with experts, from a list or a comma-separated text."""
    value = r.raw("moe_layers_enum")
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not all(part.isdigit() for part in parts):
            raise fault(BAD_VALUE, f"{r.name}: moe_layers_enum must list layers, got {value!r}", "moe_layers_enum")
        return frozenset(int(part) for part in parts)
    return frozenset(r.whole_numbers("moe_layers_enum"))


def gemma3n(r: ConfigReader) -> Decoder:
    """Gemma 3n: alternating updates over several residual streams, low-rank residuals, per-layer input embeddings.

    The last `num_kv_shared_layers` layers read the cache of earlier ones; their own projections are stored all the
    same.
    """
    layers = layer_count(r)
    stated = r.raw("intermediate_size")
    widths = (r.whole_numbers("intermediate_size", length=layers) if isinstance(stated, list)
              else [r.positive("intermediate_size")] * layers)  # fmt: skip
    r = r.renamed({}, intermediate_size=max(widths))
    g = heads_of(r)
    shared_from = layers - shared_layers(r)
    streams, rank = r.positive("altup_num_inputs"), r.number("laurel_rank")
    embeddings, outside, inside = layer_inputs(r, g.h)
    altup = g.h * streams + streams**3 + streams**2 + 2 * g.h
    laurel = 2 * g.h * rank + g.h

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        own = att.grouped_query(g.h, g.heads, g.kv_heads, g.head_dim, qk_norm="head", window=window_of(r, layer))
        return own if layer < shared_from else Mixer(own.params)

    def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
        return feed_forward(g.h, widths[layer]) + altup + laurel + inside, None

    projections = 2 * (streams - 1) * g.h * g.h
    made = decoder(r, mixing, blocks, norms=4, extra=g.h + outside + projections)
    return replace(made, layer_embeddings=embeddings)
