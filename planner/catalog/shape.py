"""From a published model config to what memory and speed depend on.

    shape_from_config(config)   → ModelShape
    model_from_config(config, …) → LlmModel
    describe_config(config)     → a plain summary for people

Accepts Hugging Face `config.json` (with the language model nested or not), Mistral's native `params.json`, and class
defaults. An architecture that is not known here, or a field without value and class default, is an InputError (C2xx)
that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from planner.base import Confidence
from planner.catalog.shape_config import (
    NOT_A_CONFIG,
    UNKNOWN_ARCHITECTURE,
    WRAPPED,
    ConfigReader,
    fault,
)
from planner.catalog.shape_layers import context_of
from planner.catalog.shape_parts import assemble
from planner.catalog.shape_precision import mapping_of, native_precision
from planner.catalog.shape_registry import ARCHITECTURES, FAMILIES, Family
from planner.catalog.types import Checkpoint, KvGroup, LlmModel, ModelShape
from planner.errors import InputError

BILLION = 1e9
NATIVE_KEYS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "tied_embeddings": "tie_word_embeddings",
}
NATIVE_MOE_KEYS = {
    "expert_hidden_dim": "moe_intermediate_size",
    "num_shared_experts": "n_shared_experts",
    "num_experts": "n_routed_experts",
    "route_every_n": "moe_layer_freq",
}
"""Keys of Mistral's params.json and their Hugging Face names."""


def shape_from_config(config: Mapping[str, object], *, name: str | None = None) -> ModelShape:
    """The shape of the model a config describes.

    `config` is the parsed file; `name` appears in error messages. Draft (multi-token prediction) layers are left out.
    Raises InputError: C201 not a config, C202 unknown architecture, C203 missing field, C204 bad value, C205 a
    setting whose effect is not known.
    """
    reader, family = read_config(config, name)
    return assemble(family.build(reader))


def read_config(config: Mapping[str, object], name: str | None = None) -> tuple[ConfigReader, Family]:
    """The language model's fields and the family that gives them meaning. Raises InputError C201, C202."""
    if not isinstance(config, Mapping) or not config:
        raise fault(NOT_A_CONFIG, f"{name or 'config'}: a model config is a mapping of fields", "config")
    if "dim" in config and "n_layers" in config:
        config = from_native(config)
    inner = next((config[key] for key in WRAPPED if isinstance(config.get(key), Mapping)), config)
    if not isinstance(inner, Mapping):
        inner = config
    family = find_family(inner, config, name or "config")
    return ConfigReader(inner, outer=config, defaults=family.defaults, name=name or "config"), family


def find_family(inner: Mapping[str, object], outer: Mapping[str, object], name: str) -> Family:
    """The family by model type or architecture, inside before outside. Raises InputError C202."""
    names: list[str] = []
    for mapping in (inner, outer):
        kind, architectures = mapping.get("model_type"), mapping.get("architectures")
        names += [kind] if isinstance(kind, str) else []
        names += [a for a in architectures if isinstance(a, str)] if isinstance(architectures, list | tuple) else []
    for key in names:
        found = FAMILIES.get(ARCHITECTURES.get(key, key))
        if found:
            return found
    shown = ", ".join(repr(n) for n in names) or "none stated"
    raise fault(
        UNKNOWN_ARCHITECTURE,
        f"{name}: architecture is not known ({shown})",
        "architectures" if "architectures" in outer else "model_type",
        f"known model types: {', '.join(sorted(FAMILIES))}",
    )


def from_native(config: Mapping[str, object]) -> dict[str, object]:
    """Mistral's params.json with Hugging Face names: MLA models are `mistral4`, others `mistral` or `mixtral`."""
    renamed: dict[str, object] = {NATIVE_KEYS.get(key, key): value for key, value in config.items() if key != "moe"}
    moe = config.get("moe")
    if isinstance(moe, Mapping):
        renamed |= {NATIVE_MOE_KEYS.get(str(key), str(key)): value for key, value in moe.items()}
    latent = config.get("kv_lora_rank") is not None
    renamed["model_type"] = "mistral4" if latent else "mixtral" if isinstance(moe, Mapping) else "mistral"
    if "vision_encoder" in config:
        renamed["vision_config"] = {"model_type": "pixtral", **mapping_of(config["vision_encoder"])}
    return renamed


def architecture_of(config: Mapping[str, object]) -> str:
    """The architecture name engines know a config by. Raises InputError C201, C202."""
    stated = config.get("architectures") if isinstance(config, Mapping) else None
    if isinstance(stated, list | tuple) and stated and isinstance(stated[0], str):
        return stated[0]
    return read_config(config)[1].architecture


def context_limit(config: Mapping[str, object]) -> int:
    """Longest context in tokens that a config states. Raises InputError C201, C202, C203."""
    return context_of(read_config(config)[0])


def model_from_config(
    config: Mapping[str, object],
    *,
    id: str,
    source: str,
    as_of: date,
    confidence: Confidence = Confidence.LIST,
    name: str | None = None,
    aliases: tuple[str, ...] = (),
    native: str | None = None,
    max_context_tokens: int | None = None,
    checkpoints: tuple[Checkpoint, ...] = (),
    note: str | None = None,
) -> LlmModel:
    """A catalog row for the model a config describes. Precision and context are the config's unless given.

    Raises InputError as shape_from_config does.
    """
    return LlmModel(
        id=id,
        aliases=aliases,
        name=name or id,
        family=architecture_of(config),
        shape=shape_from_config(config, name=id),
        native_precision=native or native_precision(config),
        max_context_tokens=max_context_tokens or context_limit(config),
        checkpoints=checkpoints,
        source=source,
        as_of=as_of,
        confidence=confidence,
        note=note,
    )


def describe_config(config: Mapping[str, object]) -> dict[str, object]:
    """What a config amounts to, for people and for `planner catalog model`.

    Parameters in billions. `total_params_b` is the language model; a vision tower comes on top in
    `vision_params_b`. Publishers count active parameters with both embeddings, with
    the output head only, or with none, so all three are given.
    `kv_bytes_per_token` is at 16 bit, all layers, before any window is full, keys and values only;
    `index_bytes_per_token` what a sparse-attention indexer keeps besides; `kv_bytes_per_token_long` what a further
    token costs in all once sliding windows are full; `kv_fixed_bytes_per_request` recurrent state and full windows.
    `native_precision` is None where the config states a quantisation that is not known. Raises InputError as
    shape_from_config does.
    """
    shape = shape_from_config(config)
    text_total = shape.total_params - shape.vision_params
    active = shape.active_params
    try:
        precision: str | None = native_precision(config)
    except InputError:
        precision = None
    return {
        "architecture": architecture_of(config),
        "total_params_b": text_total / BILLION,
        "vision_params_b": shape.vision_params / BILLION,
        "total_params_with_vision_b": shape.total_params / BILLION,
        "active_params_b": active / BILLION,
        "active_params_with_output_head_b": (active - shape.embedding_params + shape.vocab * shape.hidden) / BILLION,
        "active_params_without_embeddings_b": (active - shape.embedding_params) / BILLION,
        "attention": attention_name(shape),
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
        "native_precision": precision,
    }


def grows(group: KvGroup) -> bool:
    """Whether a group's cache grows with every token however long the request is."""
    return group.kind not in ("sliding", "linear")


def kv_bytes_per_token(shape: ModelShape, bytes_per_element: float = 2.0) -> float:
    """Cache bytes one token takes over all layers and heads while no sliding window is full (FACTS §1).

    Keys and values in `bytes_per_element`; the keys of an indexer keep their own format.
    """
    keys_and_values = sum(g.layers * (g.elements_per_token - g.index_elements_per_token) for g in shape.kv)
    return bytes_per_element * keys_and_values + index_bytes_per_token(shape)


def index_bytes_per_token(shape: ModelShape) -> float:
    """Bytes per token that a sparse-attention indexer keeps in all layers, whatever the KV precision."""
    return sum(2.0 * g.layers * g.index_elements_per_token for g in shape.kv)


def kv_fixed_bytes(shape: ModelShape, bytes_per_element: float = 2.0) -> float:
    """Cache bytes of one long request that do not grow: full sliding windows and recurrent states."""
    windows = sum(
        bytes_per_element * g.layers * g.elements_per_token * (g.window or 0) for g in shape.kv if g.kind == "sliding"
    )
    return windows + sum(g.layers * g.state_elements * g.state_bytes_per_element for g in shape.kv)


def attention_name(shape: ModelShape) -> str:
    """The kinds of token mixing in a model: mha, mqa, gqa or mla, with sliding, linear or compressed layers."""
    kinds = {group.kind for group in shape.kv}
    base = "mha" if shape.kv_heads == shape.heads else "mqa" if shape.kv_heads == 1 else "gqa"
    names = [base] if "full" in kinds else []
    if kinds == {"sliding"}:
        names = [base]
    names += [kind for kind in ("mla", "compressed", "sliding", "linear") if kind in kinds]
    return "+".join(names) or "none"
