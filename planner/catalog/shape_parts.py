"""The parts a decoder is made of, and their sum: a ModelShape.

A family's builder states each layer as a token mixer (attention or a recurrence), what every token reads besides it,
and routed experts; `assemble` adds them up. All sizes are counts of parameters or of cache elements, not bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from planner.catalog.shape_config import BAD_VALUE, UNSUPPORTED_VALUE, ConfigReader, fault
from planner.catalog.types import KvGroup, ModelShape

KvKind = Literal["full", "sliding", "mla", "linear", "compressed"]


@dataclass(frozen=True, slots=True)
class Kv:
    """What one layer keeps per request; fields as in KvGroup."""

    kind: KvKind
    kv_heads: int = 0
    elements_per_token: float = 0.0
    window: int | None = None
    index_elements_per_token: float = 0.0
    state_elements: float = 0.0
    state_bytes_per_element: float = 2.0


@dataclass(frozen=True, slots=True)
class Mixer:
    """Attention or a recurrence: its parameters and what it caches."""

    params: float
    kv: Kv | None = None
    beside: Kv | None = None
    """What a second mixer keeps that runs in parallel in the same layer."""

    @property
    def kind(self) -> str:
        """The attention of the layer in words: `full`, `sliding`, …, `full+linear`; `none` where nothing is kept."""
        return "+".join(kv.kind for kv in (self.kv, self.beside) if kv) or "none"


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts of one layer; `params` is one expert, `width` its feed-forward width."""

    count: int
    per_token: int
    params: float
    width: int
    shared: float = 0.0
    """Parameters of the shared experts beside them (part of the layer's `always`)."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: `always` is read for every token besides the mixer (dense and shared feed-forward, router, norms)."""

    mixer: Mixer | None
    always: float
    experts: Experts | None = None


@dataclass(frozen=True, slots=True)
class Decoder:
    """A whole language model. `extra` counts what belongs to no layer: final norm, learned positions, …"""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool
    intermediate: int
    layers: tuple[Layer, ...]
    extra: float
    vision: float = 0.0
    layer_embeddings: float = 0.0
    """Input embeddings of single layers (Gemma 3n and 4 E): looked up, never multiplied."""


def assemble(decoder: Decoder) -> ModelShape:
    """Add the layers up. Raises InputError C205 when layers have routed experts of different sizes."""
    mixers = [layer.mixer for layer in decoder.layers if layer.mixer]
    attention = sum(mixer.params for mixer in mixers)
    always = sum(layer.always for layer in decoder.layers)
    sparse = [layer.experts for layer in decoder.layers if layer.experts]
    kinds = set(sparse)
    if len(kinds) > 1:
        raise fault(UNSUPPORTED_VALUE, "layers have routed experts of different sizes", "num_experts")
    experts = kinds.pop() if kinds else None
    if experts and experts.per_token > experts.count:
        raise fault(BAD_VALUE, f"{experts.per_token} experts per token of {experts.count}", "num_experts_per_tok")
    groups = Counter(kv for mixer in mixers for kv in (mixer.kv, mixer.beside) if kv)
    return ModelShape(
        layers=len(decoder.layers),
        hidden=decoder.hidden,
        heads=decoder.heads,
        kv_heads=decoder.kv_heads,
        head_dim=decoder.head_dim,
        vocab=decoder.vocab,
        tied_embeddings=decoder.tied,
        intermediate=decoder.intermediate,
        moe_intermediate=experts.width if experts else 0,
        moe_layers=len(sparse),
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
        embedding_params=decoder.vocab * decoder.hidden * (1 if decoder.tied else 2) + decoder.layer_embeddings,
        dense_params=attention + always + decoder.extra + decoder.vision,
        expert_params=experts.params if experts else 0.0,
        vision_params=decoder.vision,
        attention_params=attention,
        kv=tuple(kv_group(kv, layers) for kv, layers in groups.items()),
    )


def kv_group(kv: Kv, layers: int) -> KvGroup:
    """`layers` layers that all keep `kv`."""
    return KvGroup(
        layers=layers,
        kind=kv.kind,
        kv_heads=kv.kv_heads,
        elements_per_token=kv.elements_per_token,
        index_elements_per_token=kv.index_elements_per_token,
        window=kv.window,
        state_elements=kv.state_elements,
        state_bytes_per_element=kv.state_bytes_per_element,
    )


def feed_forward(hidden: int, width: int, *, gated: bool = True, bias: bool = False) -> float:
    """Parameters of a feed-forward block: three matrices with a gate, else two."""
    matrices = 3 if gated else 2
    return matrices * hidden * width + (((matrices - 1) * width + hidden) if bias else 0)


def state_bytes(reader: ConfigReader, *keys: str) -> float:
    """Bytes of one recurrent state element as the config asks for; 2 (the model's own precision) where it does not."""
    return {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "auto": 2.0}.get(reader.text(*keys, default="auto"), 2.0)
