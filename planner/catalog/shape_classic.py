"""Decoders of 2019–2023: LayerNorms with bias, two-matrix feed-forwards, parallel blocks, learned positions."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog.shape_attention import grouped_query
from planner.catalog.shape_config import ConfigReader
from planner.catalog.shape_layers import Heads, decoder, heads_of, window_of
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


def falcon(r: ConfigReader) -> Decoder:
    """Falcon: parallel blocks without bias; multi-query unless the new architecture states key-value heads."""
    g = heads_of(r)
    new = r.flag("new_decoder_architecture")
    kv_heads = r.positive("num_kv_heads", default=8) if new else (1 if r.flag("multi_query", default=True) else g.heads)
    style = Classic(attention_bias=False, mlp_bias=False, norms=2 if new else 1)
    heads = {**r.config, "num_key_value_heads": kv_heads, "use_bias": r.flag("bias")}
    return style(ConfigReader(heads, outer=r.outer, defaults=r.defaults, name=r.name))
