"""Parameters and cache of every token mixer the catalog knows.

Sources: the reference implementations in transformers and vLLM, and the papers named at each function. `h` is the
hidden size; counts are per layer.
"""

from __future__ import annotations

from typing import Literal

from planner.catalog.shape_config import ConfigReader
from planner.catalog.shape_parts import Kv, Mixer, state_bytes

QkNorm = Literal["none", "head", "full"]
Gate = Literal["none", "head", "full"]
INDEXER_KEY_ELEMENTS = 66
"""Cache of the DeepSeek sparse-attention indexer per token and layer, in 16-bit elements: vLLM keeps 128 FP8 values and
one 4-byte scale, 132 bytes."""


def grouped_query(
    h: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    v_head_dim: int | None = None,
    qkv_bias: bool = False,
    output_bias: bool = False,
    qk_norm: QkNorm = "none",
    gate: Gate = "none",
    sinks: bool = False,
    value_is_key: bool = False,
    window: int | None = None,
) -> Mixer:
    """Grouped-query attention (multi-head if kv_heads = heads, multi-query if 1).

    `gate`: an output gate per element (`full`, doubles the query projection) or per head. `value_is_key`: no value
    projection, though both are cached. `window`: tokens kept; None is full attention.
    """
    v_dim = head_dim if v_head_dim is None else v_head_dim
    q, k, v = heads * head_dim, kv_heads * head_dim, kv_heads * v_dim
    params: float = h * (q + k + (0 if value_is_key else v)) + heads * v_dim * h
    params += {"none": 0, "head": h * heads, "full": h * heads * v_dim}[gate]
    params += (q + k + v) * qkv_bias + h * output_bias + heads * sinks
    params += {"none": 0, "head": 2 * head_dim, "full": q + k}[qk_norm]
    return Mixer(params, Kv("full" if window is None else "sliding", kv_heads, float(k + v), window))


def latent(r: ConfigReader, h: int, heads: int, *, indexer: bool = False, output_gate: bool = False) -> Mixer:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): one latent and one rotary key per token.

    `indexer`: this layer scores tokens with the sparse-attention indexer of DeepSeek-V3.2 and caches its keys.
    """
    rank, rope = r.positive("kv_lora_rank"), r.number("qk_rope_head_dim")
    nope, v_dim = r.positive("qk_nope_head_dim"), r.positive("v_head_dim")
    q_rank = r.number("q_lora_rank", default=0)
    q = heads * (nope + rope)
    params: float = (h * q_rank + q_rank + q_rank * q) if q_rank else h * q
    params += h * (rank + rope) + rank + rank * heads * (nope + v_dim) + heads * v_dim * h
    params += h * heads * v_dim if output_gate else 0
    index = 0.0
    if indexer:
        index_dim, index_heads = r.positive("index_head_dim"), r.positive("index_n_heads")
        params += q_rank * index_heads * index_dim + h * index_dim + 2 * index_dim + h * index_heads
        index = INDEXER_KEY_ELEMENTS * index_dim / 128
    return Mixer(params, Kv("mla", 0, rank + rope + index, index_elements_per_token=index))


def compressed(r: ConfigReader, h: int, heads: int, ratio: int) -> Mixer:
    """Compressed sparse attention of DeepSeek-V4: one shared key-value head, kept once per `ratio` tokens.

    Ratio 0 keeps only the sliding window. Every compressed layer keeps the window too, and the running sums of the
    block it is compressing (two FP32 values per dimension; ratio 4 blocks overlap, so twice over both dimensions). At
    ratio 4 an indexer selects entries.
    """
    dim, q_rank = r.positive("head_dim"), r.positive("q_lora_rank")
    groups, o_rank, window = r.positive("o_groups"), r.positive("o_lora_rank"), r.positive("sliding_window")
    params: float = h * q_rank + q_rank + q_rank * heads * dim + h * dim + dim + heads
    params += heads * dim * o_rank + groups * o_rank * h
    if ratio == 0:
        return Mixer(params, Kv("sliding", 0, float(dim), window))
    overlap = 2 if ratio == 4 else 1
    params += compressor(h, dim, ratio, overlap)
    index = 0.0
    running = 2.0 * overlap * ratio * overlap * dim
    if ratio == 4:
        index_dim, index_heads = r.positive("index_head_dim"), r.positive("index_n_heads")
        params += q_rank * index_heads * index_dim + h * index_heads + compressor(h, index_dim, ratio, overlap)
        index = INDEXER_KEY_ELEMENTS * index_dim / 128 / ratio
        running += 2.0 * overlap * ratio * overlap * index_dim
    state = window * dim + 2 * running
    return Mixer(params, Kv("compressed", 0, dim / ratio + index, window, index, state))


def compressor(h: int, dim: int, ratio: int, overlap: int) -> float:
    """Parameters of one token compressor: value and gate projections, position bias and norm."""
    return 2 * h * overlap * dim + ratio * overlap * dim + dim


def gated_delta(r: ConfigReader, h: int) -> Mixer:
    """Gated DeltaNet (arXiv 2412.06464) as in Qwen3-Next: state of key × value dimensions per value head."""
    k_heads, v_heads = r.positive("linear_num_key_heads"), r.positive("linear_num_value_heads")
    k_dim, v_dim = r.positive("linear_key_head_dim"), r.positive("linear_value_head_dim")
    kernel = r.positive("linear_conv_kernel_dim")
    key, value = k_heads * k_dim, v_heads * v_dim
    conv = 2 * key + value
    params: float = h * (2 * key + 2 * value) + h * 2 * v_heads + conv * kernel + 2 * v_heads + v_dim + value * h
    width = state_bytes(r, "mamba_ssm_dtype")
    return Mixer(params, recurrent(v_heads, v_heads * k_dim * v_dim, conv * (kernel - 1), width))


def kimi_delta(r: ConfigReader, h: int) -> Mixer:
    """Kimi Delta Attention (arXiv 2510.26692): per-channel decay; gate low-rank, or full rank in Kimi K3."""
    part = r.part("linear_attn_config") or r
    heads, dim = part.positive("linear_num_heads", "num_heads"), part.positive("linear_head_dim", "head_dim")
    kernel = part.positive("short_conv_kernel_size", "linear_conv_kernel_dim", default=4)
    inner = heads * dim
    low_rank = h * dim + dim * inner
    gate = h * inner if part.flag("use_full_rank_gate") else low_rank
    params: float = 3 * h * inner + 3 * inner * kernel + low_rank + gate + h * heads + inner + heads + dim + inner * h
    return Mixer(params, recurrent(heads, heads * dim * dim, 3 * inner * (kernel - 1), 4.0))


def mamba2(r: ConfigReader, h: int) -> Mixer:
    """Mamba-2 (arXiv 2405.21060)."""
    heads, dim = r.positive("mamba_num_heads", "mamba_n_heads"), r.positive("mamba_head_dim", "mamba_d_head")
    groups, state = r.positive("n_groups", "mamba_n_groups"), r.positive("ssm_state_size", "mamba_d_state")
    kernel = r.positive("conv_kernel", "mamba_d_conv", default=4)
    inner = heads * dim
    conv = inner + 2 * groups * state
    bias = r.flag("use_conv_bias", "mamba_conv_bias", default=True)
    params: float = h * (inner + conv + heads) + conv * kernel + conv * bias + 3 * heads + inner + inner * h
    width = state_bytes(r, "mamba_ssm_cache_dtype")
    return Mixer(params, recurrent(heads, inner * state, conv * (kernel - 1), width))


def mamba1(r: ConfigReader, h: int) -> Mixer:
    """Mamba (arXiv 2312.00752) with the inner norms of Jamba."""
    inner, state = r.positive("mamba_expand") * h, r.positive("mamba_d_state")
    automatic = r.raw("mamba_dt_rank") in (None, "auto")
    kernel, rank = r.positive("mamba_d_conv"), -(-h // 16) if automatic else r.positive("mamba_dt_rank")
    params: float = 2 * h * inner + inner * kernel + inner + inner * (rank + 2 * state) + rank * inner + inner
    params += inner * state + inner + inner * h + rank + 2 * state
    return Mixer(params, recurrent(inner, inner * state, inner * (kernel - 1), 4.0))


def recurrent(heads: int, state: float, conv: float, width: float) -> Kv:
    """A fixed state of `state` elements of `width` bytes and `conv` 16-bit elements of convolution history."""
    return Kv("linear", heads, state_elements=state + conv * 2.0 / width, state_bytes_per_element=width)
