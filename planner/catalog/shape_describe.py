"""A config in plain figures: parameters by part, cache, and what its checkpoint stores in how many bytes."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog.shape import (
    architecture_of,
    context_limit,
    grows,
    index_bytes_per_token,
    kv_bytes_per_token,
    kv_fixed_bytes,
    quantised_as,
    read_config,
)
from planner.catalog.shape_config import ConfigReader
from planner.catalog.shape_parts import Decoder, assemble
from planner.catalog.shape_precision import native_precision
from planner.catalog.shape_quantised import WIDE, held_parts, layer_params, stored_parts, weights_bytes
from planner.catalog.types import ModelShape
from planner.errors import InputError
from planner.units import GIB

BILLION = 1e9
DRAFT_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")


def describe_config(config: Mapping[str, object]) -> dict[str, object]:
    """What a config amounts to, for people and for `planner catalog model`.

    `parameters` splits them by part: embedding, attention (with recurrences), dense (feed-forward, routers, norms),
    shared experts, routed experts, vision; `draft_params_b` are multi-token prediction layers, which engines leave out
    unless asked. `attention_per_layer` names what each layer keeps. `weights_gib` is the checkpoint the config belongs
    to, `bytes_per_param` what its parts are stored in, `kept_16_bit` those a quantiser left alone.

    Parameters in billions. `total_params_b` is the language model; a vision tower comes on top in
    `vision_params_b`. Publishers count active parameters with both embeddings, with
    the output head only, or with none, so all three are given.
    `kv_bytes_per_token` is at 16 bit, all layers, before any window is full, keys and values only;
    `index_bytes_per_token` what a sparse-attention indexer keeps besides; `kv_bytes_per_token_long` what a further
    token costs in all once sliding windows are full; `kv_fixed_bytes_per_request` recurrent state and full windows.
    `native_precision` is None where the config states a quantisation that is not known. Raises InputError as
    shape_from_config does.
    """
    reader, family = read_config(config)
    decoder = family.build(reader)
    shape = assemble(decoder)
    text_total = shape.total_params - shape.vision_params
    active = shape.active_params
    quantised = quantised_as(config)
    return {
        "architecture": architecture_of(config),
        "total_params_b": text_total / BILLION,
        "vision_params_b": shape.vision_params / BILLION,
        "total_params_with_vision_b": shape.total_params / BILLION,
        "active_params_b": active / BILLION,
        "active_params_with_output_head_b": (active - shape.embedding_params + shape.vocab * shape.hidden) / BILLION,
        "active_params_without_embeddings_b": (active - shape.embedding_params) / BILLION,
        "parameters": parameters(decoder, shape),
        "draft_params_b": draft_params(reader, decoder) / BILLION,
        "attention": attention_name(shape),
        "attention_per_layer": [layer.mixer.kind if layer.mixer else "none" for layer in decoder.layers],
        "layers": shape.layers,
        "hidden": shape.hidden,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab": shape.vocab,
        "tied_embeddings": shape.tied_embeddings,
        "experts": shape.experts,
        "experts_per_token": shape.experts_per_token,
        "moe_layers": shape.moe_layers,
        "kv_bytes_per_token": kv_bytes_per_token(shape) - index_bytes_per_token(shape),
        "index_bytes_per_token": index_bytes_per_token(shape),
        "kv_bytes_per_token_long": sum(2.0 * g.layers * g.elements_per_token for g in shape.kv if grows(g)),
        "kv_fixed_bytes_per_request": kv_fixed_bytes(shape),
        "max_context_tokens": context_limit(config),
        "native_precision": quantised or ("bf16" if known_quantisation(config) else None),
        **storage(config, decoder, quantised),
    }


def known_quantisation(config: Mapping[str, object]) -> bool:
    """Whether the config's quantisation, if any, is one that is known."""
    try:
        native_precision(config)
    except InputError:
        return False
    return True


def parameters(decoder: Decoder, shape: ModelShape) -> dict[str, dict[str, float]]:
    """Parameters in billions by part, `total_b` and `active_b` per text token; they add up to the model's."""
    sums = dict.fromkeys(("attention", "dense", "shared_expert", "expert"), 0.0)
    for layer in decoder.layers:
        for part, params in layer_params(layer).items():
            sums[part] += params
    sums["dense"] += decoder.extra
    active = sums | {"expert": shape.moe_layers * shape.experts_per_token * shape.expert_params}
    found = {"embedding": {"total_b": shape.embedding_params / BILLION, "active_b": shape.embedding_params / BILLION}}
    found |= {p: {"total_b": sums[p] / BILLION, "active_b": active[p] / BILLION} for p in sums if sums[p]}
    if shape.vision_params:
        found["vision"] = {"total_b": shape.vision_params / BILLION, "active_b": 0.0}
    return found


def draft_params(reader: ConfigReader, decoder: Decoder) -> float:
    """Parameters of the draft layers a config states: each a copy of the last layer and a map from two states."""
    count = next((reader.number(key) for key in DRAFT_LAYERS if reader.has(key)), 0)
    if not count:
        return 0.0
    return count * (sum(layer_params(decoder.layers[-1]).values()) + 2.0 * decoder.hidden**2)


def storage(config: Mapping[str, object], decoder: Decoder, quantised: str | None) -> dict[str, object]:
    """Size of the checkpoint, bytes per parameter by part, and what stays 16 bit in a quantised one."""
    if quantised is None and not known_quantisation(config):
        return {"weights_gib": None, "bytes_per_param": None, "kept_16_bit": None}
    sizes, held = stored_parts(config, decoder), held_parts(decoder)
    wide = ["embedding", *(part for part in held if sizes[part] >= WIDE), *(["vision"] if decoder.vision else [])]
    return {
        "weights_gib": weights_bytes(config, decoder) / GIB,
        "bytes_per_param": {part: sizes[part] for part in held},
        "kept_16_bit": wide if quantised else None,
    }


def attention_name(shape: ModelShape) -> str:
    """The kinds of token mixing in a model: mha, mqa, gqa or mla, with sliding, linear or compressed layers."""
    kinds = {group.kind for group in shape.kv}
    base = "mha" if shape.kv_heads == shape.heads else "mqa" if shape.kv_heads == 1 else "gqa"
    names = [base] if "full" in kinds else []
    if kinds == {"sliding"}:
        names = [base]
    names += [kind for kind in ("mla", "compressed", "sliding", "linear") if kind in kinds]
    return "+".join(names) or "none"
