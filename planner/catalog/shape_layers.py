"""Which layers are what: windows, experts and dense blocks of the common decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.catalog.shape_attention import QkNorm, grouped_query
from planner.catalog.shape_config import BAD_VALUE, ConfigReader, fault
from planner.catalog.shape_parts import Decoder, Experts, Layer, Mixer, feed_forward
from planner.catalog.shape_vision import vision_params

MOST_LAYERS = 10_000
"""A config that states more is broken."""
Blocks = Callable[[ConfigReader, int], tuple[float, Experts | None]]
"""(reader, layer) → what every token reads in the feed-forward of that layer, and its routed experts."""
Mixing = Callable[[ConfigReader, int], Mixer]


@dataclass(frozen=True, slots=True)
class Heads:
    """Attention geometry shared by the layers of a model."""

    h: int
    heads: int
    kv_heads: int
    head_dim: int


def heads_of(r: ConfigReader) -> Heads:
    """Hidden size, heads, key-value heads (default: heads) and head dimension (default: hidden / heads)."""
    h = r.positive("hidden_size", "n_embd", "d_model")
    heads = r.positive("num_attention_heads", "n_head")
    kv_heads = r.positive("num_key_value_heads", "num_kv_heads", default=heads)
    if heads % kv_heads:
        raise fault(BAD_VALUE, f"{r.name}: {kv_heads} key-value heads do not divide {heads}", "num_key_value_heads")
    return Heads(h, heads, kv_heads, r.positive("head_dim", "attention_head_dim", default=max(1, h // heads)))


def layer_count(r: ConfigReader) -> int:
    """Decoder layers, without draft (multi-token prediction) layers."""
    layers = r.positive("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if layers > MOST_LAYERS:
        raise fault(
            BAD_VALUE, f"{r.name}: num_hidden_layers is at most {MOST_LAYERS}, got {layers}", "num_hidden_layers"
        )
    return layers


def layer_inputs(r: ConfigReader, h: int) -> tuple[float, float, float]:
    """Per-layer input embeddings (Gemma 3n, Gemma 4 E): (embeddings, outside the layers, in each layer)."""
    width = r.number("hidden_size_per_layer_input", default=0)
    if not width:
        return 0.0, 0.0, 0.0
    layers = layer_count(r)
    vocab = r.positive("vocab_size_per_layer_input", default=r.positive("vocab_size"))
    return float(vocab * layers * width), float(h * layers * width + width), float(2 * h * width + h)


def tied(r: ConfigReader) -> bool:
    """Whether input and output embeddings are one matrix: stated inside, stated outside, or the class default."""
    for mapping in (r.config, r.outer, r.defaults):
        value = mapping.get("tie_word_embeddings")
        if isinstance(value, bool):
            return value
    return True


def window_of(r: ConfigReader, layer: int) -> int | None:
    """Tokens layer `layer` keeps, None for all of them.

    `layer_types` decides where it is given; else the family's `window_pattern` (every n-th layer is full); else a
    `sliding_window` holds for every layer unless `use_sliding_window` is false. A window
    as long as the context is none.
    """
    window = r.number("sliding_window", "sliding_window_size", default=0)
    if not window or not r.flag("use_sliding_window", default=True) or window >= context_of(r):
        return None
    types = r.items("layer_types", length=layer_count(r))
    if types is not None:
        return window if types[layer] == "sliding_attention" else None
    pattern = r.number("sliding_window_pattern", "window_pattern", default=0)
    if pattern:
        return window if (layer + 1) % pattern else None
    return window


def context_of(r: ConfigReader) -> int:
    """The longest context in tokens. Raises InputError C203 where the config and its class state none."""
    return r.positive(
        "max_position_embeddings", "model_max_length", "n_positions", "n_ctx", "seq_length", "max_seq_len"
    )


def is_sparse(r: ConfigReader, layer: int) -> bool:
    """Whether layer `layer` has routed experts, by whichever of the published conventions the config uses."""
    kinds = r.items("mlp_layer_types", length=layer_count(r))
    if kinds is not None:
        return kinds[layer] == "sparse"
    if isinstance(r.raw("moe_layer_freq"), list):
        return bool((r.items("moe_layer_freq", length=layer_count(r)) or [])[layer])
    if layer in (r.items("mlp_only_layers") or []) or layer < r.number("first_k_dense_replace", default=0):
        return False
    if r.has("decoder_sparse_step", "interleave_moe_layer_step"):
        return (layer + 1) % r.positive("decoder_sparse_step", "interleave_moe_layer_step") == 0
    if r.has("expert_layer_period"):
        return layer % r.positive("expert_layer_period") == r.number("expert_layer_offset")
    return layer % r.positive("moe_layer_freq", default=1) == 0


def dense_block(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
    """A gated feed-forward of `intermediate_size`."""
    h = heads_of(r).h
    return feed_forward(h, r.positive("intermediate_size"), bias=r.flag("mlp_bias")), None


def expert_block(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
    """Routed experts with whatever is shared, or the dense block where the layer is not sparse.

    Shared experts: `shared_expert_intermediate_size` with a gate of its own (Qwen), `shared_intermediate_size`, or
    `n_shared_experts` × `moe_intermediate_size` (DeepSeek).
    """
    h = heads_of(r).h
    if not is_sparse(r, layer):
        width = r.positive("dense_intermediate_size", "intermediate_size_mlp", "intermediate_size")
        return feed_forward(h, width), None
    count = r.positive("n_routed_experts", "num_experts", "num_local_experts")
    width = r.positive("moe_intermediate_size", "intermediate_size")
    per_token = r.positive("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k")
    router = h * count + count * r.flag("router_bias")
    shared = shared_block(r, h, width)
    return router + shared, Experts(count, per_token, feed_forward(h, width), width, shared)


def shared_block(r: ConfigReader, h: int, width: int) -> float:
    """Parameters of the shared experts of one sparse layer."""
    if r.has("shared_expert_intermediate_size"):
        shared = r.number("shared_expert_intermediate_size")
        return feed_forward(h, shared) + h if shared else 0.0
    count = r.number("n_shared_experts", "num_shared_experts", default=0)
    if r.has("shared_intermediate_size", "share_expert_dim"):
        return feed_forward(h, r.number("shared_intermediate_size", "share_expert_dim"))
    return feed_forward(h, count * width)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family departs from the Llama block; the field names say what is added."""

    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: QkNorm = "none"
    norms: int = 2
    norm_bias: bool = False
    blocks: Blocks = dense_block
    windows: bool = False


def common(style: Style) -> Callable[[ConfigReader], Decoder]:
    """The builder of a decoder of grouped-query attention and feed-forward blocks in `style`."""

    def mixing(r: ConfigReader, layer: int) -> Mixer:
        g = heads_of(r)
        bias = r.flag("attention_bias", "qkv_bias", "use_qkv_bias", "use_bias", "bias", default=style.qkv_bias)
        return grouped_query(
            g.h,
            g.heads,
            g.kv_heads,
            g.head_dim,
            qkv_bias=bias,
            output_bias=style.output_bias and bias,
            qk_norm=style.qk_norm if r.flag("use_qk_norm", default=True) else "none",
            window=window_of(r, layer) if style.windows else None,
        )

    def build(r: ConfigReader) -> Decoder:
        refuse_other_blocks(r, dense=style.blocks is dense_block)
        return decoder(r, mixing, style.blocks, norms=style.norms * (2 if style.norm_bias else 1))

    return build


def refuse_other_blocks(r: ConfigReader, *, dense: bool) -> None:
    """Refuse fields that this family has no block for, so that nothing is counted wrongly in silence."""
    for key in ("num_experts", "n_routed_experts", "num_local_experts") if dense else ():
        if r.has(key) and r.number(key) > 1:
            r.unsupported(key, r.raw(key), ("absent: this family has no experts",))
    if r.has("kv_lora_rank"):
        r.unsupported("kv_lora_rank", r.raw("kv_lora_rank"), ("absent: this family has no latent attention",))


def shared_layers(r: ConfigReader) -> int:
    """Last layers that read the cache of earlier ones; 0 where none do."""
    shared = r.number("num_kv_shared_layers", default=0)
    if shared >= layer_count(r):
        raise fault(BAD_VALUE, f"{r.name}: {shared} of {layer_count(r)} layers share a cache", "num_kv_shared_layers")
    return shared


def decoder(
    r: ConfigReader,
    mixing: Mixing,
    blocks: Blocks,
    *,
    norms: int = 2,
    extra: float | None = None,
    heads: Heads | None = None,
) -> Decoder:
    """A decoder with one mixer and one feed-forward per layer and `norms` vectors of the hidden size in each.

    `extra`: parameters outside the layers, default one norm. `heads`: geometry to report, default the config's.
    """
    g = heads or heads_of(r)
    layers = []
    for layer in range(layer_count(r)):
        always, experts = blocks(r, layer)
        layers.append(Layer(mixing(r, layer), always + norms * g.h, experts))
    return finish(r, g, tuple(layers), g.h if extra is None else extra)


def finish(r: ConfigReader, g: Heads, layers: tuple[Layer, ...], extra: float) -> Decoder:
    """The decoder of `layers` with the config's vocabulary, embeddings and vision tower."""
    return Decoder(
        hidden=g.h,
        heads=g.heads,
        kv_heads=g.kv_heads,
        head_dim=g.head_dim,
        vocab=r.positive("vocab_size"),
        tied=tied(r),
        intermediate=r.number(
            "dense_intermediate_size", "intermediate_size_mlp", "intermediate_size", "ffn_dim", "n_inner", default=0
        ),
        layers=layers,
        extra=extra,
        vision=vision_params(r, g.h),
    )
