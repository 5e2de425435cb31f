"""Catalog rows that stand for what a peer's file names but does not describe.

A peer states capacities, not chips and checkpoints. The rows below carry the names; their figures are stand-ins of one
unit each that no capacity, memory check or price depends on, because every figure that counts is measured.
"""

from __future__ import annotations

REPLACED = ("accelerators", "instance_types", "models", "support", "spot_markets", "offers", "apis")
"""Tables that the imported problem brings its own rows for, or that speak about rows that are gone."""
NOT_STATED = "a stand-in: the imported file does not state it"


def accelerator(name: str, source: str, memory_gb: float = 1.0, bandwidth_gb_per_s: float = 1.0) -> dict[str, object]:
    """An accelerator row by name."""
    return {
        "id": name,
        "vendor": "not stated",
        "memory_gb": memory_gb,
        "bandwidth_gb_per_s": bandwidth_gb_per_s,
        "bf16_tflops": 1.0,
        "source": source,
        "note": NOT_STATED,
    }


def model(name: str, source: str, max_context_tokens: int) -> dict[str, object]:
    """A model row by name."""
    shape = {
        "layers": 1,
        "hidden": 1,
        "heads": 1,
        "kv_heads": 1,
        "head_dim": 1,
        "vocab": 1,
        "tied_embeddings": True,
        "intermediate": 1,
        "embedding_params": 1,
        "dense_params": 1,
        "kv": [{"layers": 1, "kind": "full", "kv_heads": 1, "elements_per_token": 2}],
    }
    return {
        "id": name,
        "max_context_tokens": max_context_tokens,
        "shape": shape,
        "source": source,
        "note": NOT_STATED,
    }
