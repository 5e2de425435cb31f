"""Parameters of the vision tower and projector beside a language model.

They weigh on memory only; text never reads them. Where a config states no vision part there is none.
"""

from __future__ import annotations

from planner.catalog.shape_config import ConfigReader
from planner.catalog.shape_parts import feed_forward

GATED = ("pixtral", "gemma4_vision", "qwen2_5_vl")
"""Towers whose feed-forward has a gate."""


def vision_params(r: ConfigReader, text_hidden: int) -> float:
    """Vision tower and projector, 0.0 where the config has no `vision_config`.

    A transformer encoder of `depth` layers with patch embedding, positions and a projector to the text width. Gated
    feed-forward for the towers of GATED, two matrices else.
    """
    v = r.part("vision_config")
    if v is None:
        return 0.0
    h = v.positive("embed_dim", "hidden_size", "vt_hidden_size", "mm_hidden_size", default=1024)
    depth = v.positive("depth", "num_hidden_layers", "vt_num_hidden_layers", default=24)
    width = v.positive("intermediate_size", "vt_intermediate_size", default=4 * h)
    inner = v.positive("qkv_hidden_size", default=h)
    gated = v.text("model_type", default="") in GATED
    layer = 4 * h * inner + feed_forward(h, width, gated=gated, bias=not gated) + 4 * h
    patch = v.positive("patch_size", default=14)
    channels = v.positive("in_channels", "num_channels", default=3)
    embedding = channels * patch * patch * v.positive("temporal_patch_size", default=1) * h
    return depth * layer + embedding + positions(v, h, patch) + projector(v, h, text_hidden)


def positions(v: ConfigReader, h: int, patch: int) -> float:
    """Learned positions of a tower (none where it is rotary only)."""
    if v.has("position_embedding_size"):
        return 2.0 * v.positive("position_embedding_size") * h
    if v.has("num_position_embeddings"):
        return float(v.positive("num_position_embeddings") * h)
    if v.has("init_pos_emb_height"):
        return float(v.positive("init_pos_emb_height") * v.positive("init_pos_emb_width") * h)
    if v.has("image_size") and v.text("model_type", default="") != "pixtral":
        return float((v.positive("image_size") // patch) ** 2 * h)
    return 0.0


def projector(v: ConfigReader, h: int, text_hidden: int) -> float:
    """From patches to text tokens: two matrices over a merged patch, one matrix where nothing is merged."""
    out = v.positive("out_hidden_size", "text_hidden_size", default=text_hidden)
    kernel = v.items("merge_kernel_size")
    merge = v.positive("spatial_merge_size", default=0) if v.has("spatial_merge_size") else 0
    if kernel and isinstance(kernel[0], int):
        merge = kernel[0]
    if not merge:
        return float(h * out + (out * out if v.text("model_type", default="").startswith("clip") else 0))
    merged = h * merge * merge
    heads = 1 + len(v.items("deepstack_visual_indexes") or [])
    return float(heads * (merged * merged + merged * out))
