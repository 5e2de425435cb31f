"""What a model config amounts to, as text: parameters by part, layers, cache, checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from planner.report.numbers import dump_json, quantity

PART_NAMES = {
    "embedding": "embeddings",
    "attention": "attention",
    "dense": "dense, routers, norms",
    "shared_expert": "shared experts",
    "expert": "routed experts",
    "vision": "vision tower",
}
LONGEST_PATTERN = 12
"""A pattern of layers that repeats is sought up to this length."""


def model_text(found: Mapping[str, Any], format_: str, colour: bool = False) -> str:
    """`found` as `describe_config` gives it, in a format (table, json)."""
    if format_ == "json":
        return dump_json({"schema_version": "1", **found})
    from rich.console import Group
    from rich.text import Text

    from planner.report.layout import output_width, render, section, table_of

    head = Text(f"{found['architecture']}: {found['total_params_b']:,.4g}B parameters, "
                f"{found['active_params_without_embeddings_b']:,.4g}B to {found['active_params_b']:,.4g}B active",
                style="bold")  # fmt: skip
    parts = table_of("", "part<", "billions>", "active per token>", "stored in>")
    stored = found["bytes_per_param"] or {}
    for part, sizes in found["parameters"].items():
        width = stored.get(part, 2.0 if found["weights_gib"] is not None else None)
        parts.add_row(PART_NAMES[part], f"{sizes['total_b']:,.4g}", f"{sizes['active_b']:,.4g}",
                      "" if width is None else f"{8 * width:.3g} bit")  # fmt: skip
    lines = section("", facts(found))
    return render(Group(head, Text(""), parts, lines), output_width(), colour)


def facts(found: Mapping[str, Any]) -> list[str]:
    """One line each: definitions of active, layers, cache, checkpoint, context."""
    active = (
        f"{found['active_params_b']:,.4g}B with both embeddings, "
        f"{found['active_params_with_output_head_b']:,.4g}B with the output head, "
        f"{found['active_params_without_embeddings_b']:,.4g}B without embeddings"
    )
    layers = layer_pattern(found["attention_per_layer"])
    lines = [f"active: {active}", f"attention: {found['attention']} ({layers})"]
    if found["experts"]:
        lines.append(
            f"experts: {found['experts_per_token']} of {found['experts']} in {found['moe_layers']} of "
            f"{found['layers']} layers"
        )
    lines.append(
        f"KV cache: {found['kv_bytes_per_token']:,.0f} B per token at 16 bit; "
        f"{found['kv_bytes_per_token_long']:,.0f} B once windows are full; "
        f"{found['kv_fixed_bytes_per_request']:,.0f} B fixed per request"
    )
    if found["index_bytes_per_token"]:
        lines.append(f"keys of the sparse-attention index: {found['index_bytes_per_token']:,.0f} B per token")
    if found["draft_params_b"]:
        lines.append(f"draft layers (left out): {found['draft_params_b']:,.4g}B")
    if found["weights_gib"] is None:
        lines.append("checkpoint: quantised in a way that is not known")
    else:
        kept = found["kept_16_bit"]
        wide = f"; 16 bit stay {', '.join(PART_NAMES[p] for p in kept)}" if kept else ""
        lines.append(f"checkpoint: {found['native_precision']}, {quantity(found['weights_gib'])} GiB{wide}")
    lines.append(f"context: {found['max_context_tokens']:,} tokens")
    return lines


def layer_pattern(kinds: Sequence[str]) -> str:
    """Layers in words: `12 × (3 linear, 1 full)`, with what does not fit the pattern in front or behind."""
    for size in range(1, min(LONGEST_PATTERN, len(kinds) // 2) + 1):
        times = len(kinds) // size
        if list(kinds[: size * times]) == list(kinds[:size]) * times:
            rest = kinds[size * times :]
            inner = runs(kinds[:size])
            text = f"{times} × {inner}" if size == 1 else f"{times} × ({inner})"
            return text.replace("× 1 ", "× ") + (f", {runs(rest)}" if rest else "")
    text = runs(kinds)
    if text.count(",") < LONGEST_PATTERN:
        return text
    counts = {kind: list(kinds).count(kind) for kind in dict.fromkeys(kinds)}
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())


def runs(kinds: Sequence[str]) -> str:
    """Consecutive layers of one kind counted: `3 linear, 1 full`."""
    return ", ".join(f"{len(list(group))} {kind}" for kind, group in groupby(kinds))
