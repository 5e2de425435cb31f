"""One row of the table of models, and how to write a config inline."""

from __future__ import annotations

from dataclasses import dataclass

from planner.base import Confidence

DERIVED, ASSUMED, LIST = Confidence.DERIVED, Confidence.ASSUMED, Confidence.LIST
VLLM_LOG = "vLLM start-up log"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model. `repos` are hub ids, from which aliases follow; `weights`: (precision, GiB over all GPUs, source).

    `mixed`: (precision, bytes per parameter of a routed expert, bytes per other parameter) of a checkpoint that
    quantises its experts only; embeddings and vision stay 16 bit.
    """

    id: str
    name: str
    config: str | dict[str, object]
    repos: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    native: str | None = None
    context: int | None = None
    weights: tuple[tuple[str, float, str], ...] = ()
    mixed: tuple[str, float, float] | None = None
    confidence: Confidence | None = None
    source: str | None = None
    note: str | None = None


def decoder(
    kind: str,
    hidden: int,
    layers: int,
    heads: int,
    kv_heads: int,
    feed_forward: int,
    vocab: int,
    context: int,
    **more: object,
) -> dict[str, object]:
    """A config of the common fields under their hub names; `more` holds what the architecture adds."""
    return {
        "model_type": kind,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": feed_forward,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        **more,
    }
