"""From a published model config to what memory and speed depend on.

    shape_from_config(config)   → ModelShape
    model_from_config(config, …) → LlmModel

`shape_describe` says the same in plain figures.

Accepts Hugging Face `config.json` (with the language model nested or not), Mistral's native `params.json`, and class
defaults. An architecture that is not known here, or a field without value and class default, is an InputError (C2xx)
that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches

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
from planner.catalog.shape_quantised import held_parts, stored_parts, weights_bytes
from planner.catalog.shape_registry import ARCHITECTURES, FAMILIES, Family
from planner.catalog.types import Checkpoint, KvGroup, LlmModel, ModelShape
from planner.errors import InputError
from planner.units import GIB

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
    inner: Mapping[str, object] = config
    for _ in range(2):
        nested = next((inner[key] for key in WRAPPED if isinstance(inner.get(key), Mapping)), None)
        if not isinstance(nested, Mapping):
            break
        inner = nested
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
    shown = ", ".join(repr(n) for n in dict.fromkeys(names)) or "none stated"
    known = sorted(FAMILIES)
    near = [n for name in names for n in get_close_matches(name, known, n=3)]
    hint = f"nearest known model types: {', '.join(dict.fromkeys(near))}; " if near else ""
    raise fault(
        UNKNOWN_ARCHITECTURE,
        f"{name}: architecture is not known ({shown})",
        "architectures" if "architectures" in outer else "model_type",
        f"{hint}a shape can be written out in an overlay (docs/catalog.md)"
        if near
        else f"known model types: {', '.join(known)}",
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
    stored = () if checkpoints else checkpoint_of(config)
    return LlmModel(
        id=id,
        aliases=aliases,
        name=name or id,
        family=architecture_of(config),
        shape=shape_from_config(config, name=id),
        native_precision=native or native_precision(config),
        max_context_tokens=max_context_tokens or context_limit(config),
        checkpoints=checkpoints or stored,
        source=source,
        as_of=as_of,
        confidence=confidence,
        note=note,
    )


def checkpoint_of(config: Mapping[str, object]) -> tuple[Checkpoint, ...]:
    """What the checkpoint of a quantised config weighs, where it keeps some parts wider than others; else nothing.

    Raises InputError as shape_from_config does.
    """
    precision = quantised_as(config)
    if precision is None:
        return ()
    reader, family = read_config(config)
    decoder = family.build(reader)
    sizes = stored_parts(config, decoder)
    if len({round(sizes[part], 6) for part in held_parts(decoder)}) < 2:
        return ()
    gib = weights_bytes(config, decoder) / GIB
    return (Checkpoint(precision=precision, weights_gib=round(gib, 3), source="counted: what the config leaves wide"),)


def quantised_as(config: Mapping[str, object]) -> str | None:
    """The precision of a quantised checkpoint; None where it is none, or of a kind that is not known."""
    try:
        precision = native_precision(config)
    except InputError:
        return None
    return None if precision == "bf16" else precision


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
