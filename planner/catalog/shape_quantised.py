"""What the parts of a quantised checkpoint are stored in: which are narrow, and which stay 16 bit.

    stored_parts(config, decoder) → bytes per parameter of attention, dense, shared and routed experts
    weights_bytes(config, decoder) → the whole checkpoint

A quantisation config says what is *not* converted (`ignore`, `modules_to_not_convert`, `exclude_modules`) and may give
groups of modules formats of their own. Names are matched as the quantisers do: `re:` expressions, shell wildcards, and
plain names as whole segments. Embeddings, the output head and vision stay 16 bit.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.catalog.shape_config import WRAPPED
from planner.catalog.shape_parts import Decoder, Layer
from planner.catalog.shape_precision import FORMATS, mapping_of, native_precision

WIDE = 2.0
PARTS = ("attention", "dense", "shared_expert", "expert")
BYTES = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5195, "fp4": 0.5625, "mxfp4": 0.53125}
"""Bytes per parameter with scales; of int4 for groups of 128 (FACTS of start-up logs)."""
ALGORITHMS = (("FP4", BYTES["fp4"]), ("FP8", BYTES["fp8"]), ("INT8", BYTES["int8"]), ("INT4", BYTES["int4"]))
"""Part of an algorithm's name in `quantized_layers`, and its bytes per parameter."""
MXFP4_WIDTH = 256
"""Experts of MXFP4 checkpoints are padded to a multiple of this width (gpt-oss-120b: 64.4 GiB in a start-up log)."""
LEFT_OUT = ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers", "exclude")
PREFIXES = (
    "model.language_model.",
    "language_model.model.",
    "thinker.model.",
    "language_model.",
    "model.",
    "backbone.",
)
MIXERS = {"linear": ("linear_attn", "mixer", "mamba", "self_attn", "attn", "conv")}
SOFTMAX = ("self_attn", "attn", "attention", "mixer", "self_attention")
ATTENTION = (
    ("q_proj", "q_b_proj", "qkv_proj", "in_proj_qkv", "in_proj", "wq_b", "in_proj_qkvz", "query_key_value"),
    ("o_proj", "out_proj", "wo_b", "dense"),
)
FEED_FORWARD = ("mlp", "ffn", "feed_forward", "block_sparse_moe", "mixer")
MATRICES = (("gate_proj", "w1", "up_proj", "gate_up_proj"), ("down_proj", "w2"))


class Names:
    """A list of module patterns; `name in patterns` for names without a model's prefix, as `layers.0.mlp.up_proj`."""

    def __init__(self, patterns: Iterable[object]) -> None:
        self.paths: set[str] = set()
        self.segments: set[str] = set()
        self.expressions: list[re.Pattern[str]] = []
        for pattern in patterns:
            if isinstance(pattern, str):
                self._add(pattern)

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            self.expressions.append(re.compile(pattern[3:]))
            return
        bare = bare_name(pattern)
        stem = bare.rstrip("*").rstrip(".")
        if "*" in stem or "?" in stem:
            tail = bare if bare.endswith("*") else bare + "*"
            self.expressions.append(re.compile(fnmatch.translate(tail)))
        elif "." in stem:
            self.paths.add(stem)
        elif stem:
            self.segments.add(stem)

    def __contains__(self, name: str) -> bool:
        segments = name.split(".")
        if self.segments.intersection(segments):
            return True
        if any(".".join(segments[:n]) in self.paths for n in range(1, len(segments) + 1)):
            return True
        # As quantisers see it: with the model's own prefix in front.
        return any(e.match(name) or e.match(f"model.{name}") for e in self.expressions)


def bare_name(name: str) -> str:
    """A module's name without the model's prefix."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


@dataclass(frozen=True, slots=True)
class Group:
    """Modules of one format."""

    names: Names
    everything: bool
    bytes_per_param: float


def quantisation_of(config: Mapping[str, object]) -> dict[str, object]:
    """The quantisation a config states, inside or outside; empty where it states none."""
    inner = next((mapping_of(config[key]) for key in WRAPPED if isinstance(config.get(key), Mapping)), {})
    for mapping in (config, inner):
        for key in ("quantization_config", "compression_config", "quantization"):
            found = mapping_of(mapping.get(key))
            if found:
                return found
    return {}


def group_bytes(weights: Mapping[str, object], fallback: str) -> float:
    """Bytes per parameter of a group's weights with its scales; one 16-bit scale per group of integers."""
    bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    known = isinstance(bits, int) and isinstance(kind, str)
    name = FORMATS.get((bits, kind), fallback) if known else fallback  # type: ignore[arg-type]
    if name == "int4" and isinstance(size, int) and size > 0:
        return 0.5 + 2.0 / size
    return BYTES.get(name, WIDE)


def groups_of(quantisation: Mapping[str, object], native: str) -> list[Group]:
    """The formats of a quantisation config, the most specific first."""
    groups = []
    for group in mapping_of(quantisation.get("config_groups")).values():
        fields = mapping_of(group)
        stated = fields.get("targets")
        targets = stated if isinstance(stated, list) else ["Linear"]
        size = group_bytes(mapping_of(fields.get("weights")), native)
        if str(fields.get("format", quantisation.get("format", ""))).startswith("mxfp4"):
            size = BYTES["mxfp4"]
        whole = "Linear" in targets
        groups.append(Group(Names(t for t in targets if t != "Linear"), whole, size))
    layers = mapping_of(quantisation.get("quantized_layers"))
    if layers:
        # Mixed precision: what is listed has a format of its own, the rest that of `quant_method`.
        by_size: dict[float, list[str]] = {}
        for name, stated in layers.items():
            algorithm = str(mapping_of(stated).get("quant_algo", "")).upper()
            by_size.setdefault(next((b for key, b in ALGORITHMS if key in algorithm), WIDE), []).append(name)
        groups = [Group(Names(names), False, size) for size, names in by_size.items()]
    if not any(g.everything for g in groups):
        method = str(quantisation.get("quant_method", "")).lower()
        rest = BYTES["fp8"] if layers and method == "fp8" else (WIDE if groups else plain_bytes(quantisation, native))
        groups.append(Group(Names(()), True, rest))
    return sorted(groups, key=lambda g: g.everything)


def plain_bytes(quantisation: Mapping[str, object], native: str) -> float:
    """Bytes per parameter of a checkpoint with one format."""
    size = quantisation.get("group_size", quantisation.get("q_group_size"))
    if native == "int4" and isinstance(size, int) and size > 0:
        return 0.5 + (2.5 if quantisation.get("zero_point") is True else 2.0) / size
    return BYTES.get(native, WIDE)


def stored_parts(config: Mapping[str, object], decoder: Decoder) -> dict[str, float]:
    """Mean bytes per parameter of each part as the config's checkpoint stores it.

    Raises InputError C205 for a quantisation that is not known.
    """
    quantisation, native = quantisation_of(config), native_precision(config)
    if native == "bf16":
        return dict.fromkeys(PARTS, WIDE)
    if not quantisation or (config.get("expert_dtype") == "fp4" and "quantized_layers" not in quantisation):
        # DeepSeek-V4: 4-bit experts, everything else FP8.
        return dict.fromkeys(PARTS, BYTES["fp8"]) | {"expert": BYTES["mxfp4"]}
    listed = () if "quantized_layers" in quantisation else LEFT_OUT
    left_out = Names(n for key in listed if isinstance(names := quantisation.get(key), list) for n in names)
    if native == "mxfp4" and not quantisation.get("config_groups"):
        # OpenAI's MXFP4 holds experts only, and its kernels pad their width when they load them.
        widths = [layer.experts.width for layer in decoder.layers if layer.experts]
        padded = -(-widths[0] // MXFP4_WIDTH) * MXFP4_WIDTH / widths[0] if widths else 1.0
        return dict.fromkeys(PARTS, WIDE) | {"expert": BYTES["mxfp4"] * padded}
    groups = groups_of(quantisation, native)
    totals = {part: [0.0, 0.0] for part in PARTS}
    for index, layer in enumerate(decoder.layers):
        for part, params in layer_params(layer).items():
            if params and not (part == "dense" and layer.experts):  # routers and norms: wide, and too few to count
                size = layer_bytes(index, layer, part, left_out, groups)
                totals[part][0] += params
                totals[part][1] += params * size
    return {part: stored / params if params else WIDE for part, (params, stored) in totals.items()}


def layer_params(layer: Layer) -> dict[str, float]:
    """Parameters of one layer by part; routers and norms count as dense."""
    shared = layer.experts.shared if layer.experts else 0.0
    return {
        "attention": layer.mixer.params if layer.mixer else 0.0,
        "dense": layer.always - shared,
        "shared_expert": shared,
        "expert": layer.experts.count * layer.experts.params if layer.experts else 0.0,
    }


def held_parts(decoder: Decoder) -> tuple[str, ...]:
    """Parts with weights that a quantiser converts: routers and norms aside."""
    found: dict[str, None] = {}
    for layer in decoder.layers:
        for part, params in layer_params(layer).items():
            if params and not (part == "dense" and (layer.experts or layer.always < decoder.hidden * 8)):
                found[part] = None
    return tuple(found)


def spellings(layer: Layer, part: str) -> list[list[str]]:
    """For two matrices of a part, every name they go by inside a layer."""
    if part == "attention":
        kind = layer.mixer.kv.kind if layer.mixer and layer.mixer.kv else "full"
        blocks: tuple[str, ...] = MIXERS.get(kind, SOFTMAX)
        matrices: tuple[tuple[str, ...], ...] = ATTENTION
    else:
        infix = {"dense": ("",), "shared_expert": (".shared_experts", ".shared_expert", ".shared_mlp"),
                 "expert": (".experts.0", ".experts")}[part]  # fmt: skip
        blocks, matrices = tuple(b + i for b in FEED_FORWARD for i in infix), MATRICES
    return [[f"{block}.{m}" for block in blocks for m in names] for names in matrices]


def layer_bytes(index: int, layer: Layer, part: str, left_out: Names, groups: list[Group]) -> float:
    """Mean bytes per parameter of one part of one layer."""
    sizes = []
    for names in spellings(layer, part):
        full = [f"layers.{index}.{name}" for name in names]
        if any(name in left_out for name in full):
            sizes.append(WIDE)
            continue
        fitting = (g.bytes_per_param for g in groups if g.everything or any(name in g.names for name in full))
        sizes.append(next(fitting, WIDE))
    return sum(sizes) / len(sizes)


def weights_bytes(config: Mapping[str, object], decoder: Decoder) -> float:
    """Bytes of the checkpoint a config belongs to. Raises InputError C205 for a quantisation that is not known."""
    stored = stored_parts(config, decoder)
    total = 0.0
    for layer in decoder.layers:
        total += sum(params * stored[part] for part, params in layer_params(layer).items())
    embeddings = decoder.vocab * decoder.hidden * (1 if decoder.tied else 2) + decoder.layer_embeddings
    return total + WIDE * (embeddings + decoder.extra + decoder.vision)
