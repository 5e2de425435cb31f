"""Decoders of 2019–2023: LayerNorms with bias, two-matrix feed-forwards, learned positions, own names."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog.shape_attention import grouped_query
from planner.catalog.shape_config import BAD_VALUE, ConfigReader, fault
from planner.catalog.shape_layers import Heads, Style, common, decoder, expert_block, heads_of, window_of
from planner.catalog.shape_parts import Decoder, Experts, Mixer, feed_forward


@dataclass(frozen=True, slots=True)
class Classic:
    """What a family of that time adds: biases, norms per layer, learned positions, a norm after the embedding."""

    attention_bias: bool = True
    mlp_bias: bool = True
    norms: int = 2
    positions: tuple[str, ...] = ()
    position_offset: int = 0
    embedding_norm: bool = False
    head_bias: bool = False
    windows: bool = False

    def __call__(self, r: ConfigReader) -> Decoder:
        """The decoder of a config in this style. Raises InputError C203/C204."""
        g = heads_of(r)
        width = r.positive("ffn_dim", "n_inner", "intermediate_size", "ffn_hidden_size", default=4 * g.h)
        attention_bias = r.flag("use_bias", "bias", "enable_bias", default=self.attention_bias)
        mlp_bias = r.flag("use_bias", "bias", "enable_bias", default=self.mlp_bias)

        def mixing(r: ConfigReader, layer: int) -> Mixer:
            window = window_of(r, layer) if self.windows else None
            return grouped_query(
                g.h, g.heads, g.kv_heads, g.head_dim, qkv_bias=attention_bias, output_bias=attention_bias, window=window
            )

        def blocks(r: ConfigReader, layer: int) -> tuple[float, Experts | None]:
            return feed_forward(g.h, width, gated=False, bias=mlp_bias), None

        return decoder(r, mixing, blocks, norms=2 * self.norms, extra=self.outside(r, g))

    def outside(self, r: ConfigReader, g: Heads) -> float:
        """Parameters outside the layers: final norm, positions, embedding norm, bias of the output head."""
        extra = 2.0 * g.h * (1 + self.embedding_norm)
        if self.positions:
            extra += (r.positive(*self.positions) + self.position_offset) * g.h
        return extra + (r.positive("vocab_size") if self.head_bias else 0)


def gpt_bigcode(r: ConfigReader) -> Decoder:
    """StarCoder: GPT-2 with one key-value head for all queries."""
    kv_heads = 1 if r.flag("multi_query", default=True) else heads_of(r).heads
    return Classic(positions=("n_positions",))(r.renamed({}, num_key_value_heads=kv_heads))


def nemotron(r: ConfigReader) -> Decoder:
    """Nemotron-4 and Minitron: squared ReLU without a gate, LayerNorms with bias, no other bias."""
    return Classic(attention_bias=False, mlp_bias=False)(r)


def qwen(r: ConfigReader) -> Decoder:
    """The first Qwen: a Llama with query, key and value bias whose stated feed-forward width counts gate and value."""
    width = r.positive("intermediate_size")
    if width % 2:
        raise fault(BAD_VALUE, f"{r.name}: intermediate_size must be even, got {width}", "intermediate_size")
    return common(Style(qkv_bias=True))(r.renamed({}, intermediate_size=width // 2, use_bias=True))


def chatglm(r: ConfigReader) -> Decoder:
    """ChatGLM 2, 3 and GLM-4 9B in their own field names."""
    names = {
        "num_layers": "num_hidden_layers",
        "padded_vocab_size": "vocab_size",
        "ffn_hidden_size": "intermediate_size",
        "multi_query_group_num": "num_key_value_heads",
        "kv_channels": "head_dim",
        "add_qkv_bias": "qkv_bias",
    }
    return common(Style(qkv_bias=True))(r.renamed(names))


def dbrx(r: ConfigReader) -> Decoder:
    """DBRX: fine-grained experts in every layer, fields nested by part."""
    attention, experts = r.part("attn_config") or r, r.part("ffn_config") or r
    flat = r.renamed(
        {"d_model": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers"},
        num_key_value_heads=attention.positive("kv_n_heads"),
        intermediate_size=experts.positive("ffn_hidden_size"),
        num_experts=experts.positive("moe_num_experts"),
        num_experts_per_tok=experts.positive("moe_top_k"),
    )
    return common(Style(blocks=expert_block))(flat)


def ernie_moe(r: ConfigReader) -> Decoder:
    """ERNIE 4.5: shared and routed experts after some dense layers."""
    names = {
        "moe_num_experts": "n_routed_experts",
        "moe_k": "num_experts_per_tok",
        "moe_num_shared_experts": "n_shared_experts",
        "moe_layer_start_index": "first_k_dense_replace",
    }
    if r.number("moe_layer_interval", default=1) != 1:
        r.unsupported("moe_layer_interval", r.raw("moe_layer_interval"), ("1",))
    return common(Style(blocks=expert_block))(r.renamed(names))


def falcon(r: ConfigReader) -> Decoder:
    """Falcon: parallel blocks without bias; multi-query unless the new architecture states key-value heads."""
    g = heads_of(r)
    new = r.flag("new_decoder_architecture")
    kv_heads = r.positive("num_kv_heads", default=8) if new else (1 if r.flag("multi_query", default=True) else g.heads)
    style = Classic(attention_bias=False, mlp_bias=False, norms=2 if new else 1)
    return style(r.renamed({}, num_key_value_heads=kv_heads, use_bias=r.flag("bias")))


def mpt(r: ConfigReader) -> Decoder:
    """MPT: no biases, feed-forward of `expansion_ratio` times the width, positions by linear biases."""
    flat = r.renamed({"n_heads": "num_attention_heads", "d_model": "hidden_size"})
    width = round(flat.ratio("expansion_ratio") * flat.positive("hidden_size"))
    bias = not flat.flag("no_bias", default=True)
    return Classic(attention_bias=False, mlp_bias=False)(flat.renamed({}, n_inner=width, use_bias=bias))
