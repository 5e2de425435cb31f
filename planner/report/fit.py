"""Whether a model fits, as text: the memory of one accelerator, what limits it, what to change; or a table of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.base import Check
from planner.performance.fit import FitAnswer
from planner.performance.fit_advice import Suggestion
from planner.performance.memory import overhead_of
from planner.report.flat import Cell, csv_text, markdown_text
from planner.report.numbers import dump_json, quantity
from planner.units import GIB

BAR = 40
"""Columns of the bar of a whole accelerator."""
TABLE_COLUMNS = (
    "accelerator", "accelerators", "tensor_parallel", "pipeline_parallel", "expert_parallel", "fits",
    "weights_gib_per_gpu", "overhead_gib_per_gpu", "kv_pool_gib_per_gpu", "kv_cache_tokens", "max_concurrency",
    "longest_context_tokens", "limit",
)  # fmt: skip


def fit_tree(found: FitAnswer, advice: Sequence[Suggestion]) -> dict[str, Any]:
    """The contract of `planner fit --format json`."""
    asked = found.question
    return {
        "schema_version": "1",
        "fits": found.fits,
        **configuration(found),
        **figures(found),
        "limits": [*(check_tree(c) for c in found.checks), *bounds(found)],
        "suggestions": [suggestion_tree(s) for s in advice],
        "notes": list(found.notes),
        "basis": {
            "overhead": f"{asked.engine.name} {asked.engine.version}",
            "memory_visible_gib": asked.accelerator.memory_gib_visible,
            "confidence": asked.accelerator.confidence.value,
            "as_of": asked.accelerator.as_of.isoformat(),
        },
    }


def configuration(found: FitAnswer) -> dict[str, Any]:
    """What was asked."""
    q = found.question
    return {
        "model": q.model.id,
        "accelerator": q.accelerator.id,
        "accelerators": q.config.accelerators,
        "engine": q.engine.id,
        "engine_version": q.engine.version,
        "precision": q.precision.id,
        "kv_precision": q.kv_precision.id,
        "tensor_parallel": q.tensor_parallel,
        "pipeline_parallel": q.pipeline_parallel,
        "expert_parallel": q.expert_parallel,
        "attention_data_parallel": q.attention_data_parallel,
        "max_model_len": q.max_model_len,
        "max_num_seqs": q.seqs,
        "gpu_memory_utilization": q.gpu_memory_utilization,
        "concurrency": q.concurrency,
    }


def figures(found: FitAnswer) -> dict[str, Any]:
    """What it amounts to; a pool below zero says by how much the weights and the overhead exceed the memory."""
    m, q = found.memory, found.question
    parts = overhead_of(q.config, q.model, q.accelerator, q.engine, q.max_model_len, q.precision)
    return {
        "usable_gib_per_gpu": m.usable_gib_per_gpu,
        "weights_gib_per_gpu": m.weights_gib_per_gpu,
        "overhead_gib_per_gpu": m.overhead_gib_per_gpu,
        "overhead_parts_gib": {
            "activations": parts.activations / GIB,
            "experts": parts.experts / GIB,
            "non_torch": parts.non_torch / GIB,
        },
        "kv_pool_gib_per_gpu": m.kv_pool_gib_per_gpu,
        "kv_bytes_per_token_per_gpu": m.kv_bytes_per_token_per_gpu,
        "kv_fixed_bytes_per_request_per_gpu": m.admission_bytes_per_request_per_gpu,
        "kv_gib_per_request_per_gpu": found.request_gib_per_gpu,
        "kv_cache_tokens": int(m.kv_cache_tokens),
        "max_concurrency": found.max_concurrency,
        "longest_context_tokens": found.longest_context_tokens,
    }


def check_tree(check: Check) -> dict[str, Any]:
    """One failed check."""
    return {"limit": check.check, "kind": "fails", "needed": check.needed, "had": check.had, "unit": check.unit,
            "detail": check.detail}  # fmt: skip


def bounds(found: FitAnswer) -> list[dict[str, Any]]:
    """What bounds concurrency and context of a configuration that fits."""
    if not found.fits:
        return []
    q = found.question
    by_cache = found.max_concurrency < q.seqs
    model_limit = found.longest_context_tokens >= max(q.model.max_context_tokens, q.max_model_len)
    return [
        {"limit": "kv_cache" if by_cache else "max_num_seqs", "kind": "bounds", "needed": None,
         "had": found.max_concurrency if by_cache else q.seqs, "unit": "requests at once",
         "detail": f"{min(found.max_concurrency, q.seqs):,.1f} requests of {q.max_model_len:,} tokens at once"},
        {"limit": "max_context" if model_limit else "kv_cache", "kind": "bounds", "needed": None,
         "had": found.longest_context_tokens, "unit": "tokens of context",
         "detail": f"{found.longest_context_tokens:,} tokens is the longest context that fits"},
    ]  # fmt: skip


def suggestion_tree(suggestion: Suggestion) -> dict[str, Any]:
    """One verified change and what then holds."""
    done = suggestion.answer
    return {
        "change": dict(suggestion.change),
        "text": suggestion.text,
        "fits": done.fits,
        "accelerators": done.question.config.accelerators,
        "kv_pool_gib_per_gpu": done.memory.kv_pool_gib_per_gpu,
        "kv_cache_tokens": int(done.memory.kv_cache_tokens),
        "max_concurrency": done.max_concurrency,
    }


def fit_text(found: FitAnswer, advice: Sequence[Suggestion], format_: str, colour: bool = False) -> str:
    """One answer in a format (table, json)."""
    if format_ == "json":
        return dump_json(fit_tree(found, advice))
    from rich.console import Group, RenderableType
    from rich.text import Text

    from planner.report.layout import output_width, render, section, table_of

    parts: list[RenderableType] = [Text(headline(found), style="bold"), Text("")]
    table = table_of("", "on each accelerator<", "GiB>", "<")
    for name, gib in breakdown(found):
        table.add_row(name, f"{gib:,.2f}", bar(gib, found.question.accelerator.memory_gib_visible))
    parts += [table, section("", facts(found))]
    if found.checks:
        parts.append(section("What fails", [c.detail or c.check for c in found.checks], "·"))
    if found.notes:
        parts.append(section("To know", found.notes, "·"))
    if advice:
        title = "What to change (each alone suffices)" if found.checks else "What would let it serve"
        parts.append(section(title, [f"{s.text}: {outcome(s)}" for s in advice], "·"))
    elif found.checks:
        parts.append(section("", ["no single change of context, split, precision or accelerator makes it fit"]))
    return render(Group(*parts), output_width(), colour)


def outcome(suggestion: Suggestion) -> str:
    """What a change leads to: `holds 12 requests of 8,192 tokens`."""
    done = suggestion.answer
    count = quantity(done.max_concurrency)
    return f"holds {count} request{'' if count == '1' else 's'} of {done.question.max_model_len:,} tokens"


def headline(found: FitAnswer) -> str:
    """The verdict in one line."""
    q = found.question
    split = "".join(
        f" {tag}{n}"
        for tag, n in (("TP", q.tensor_parallel), ("PP", q.pipeline_parallel), ("EP", q.expert_parallel),
                       ("attention DP", q.attention_data_parallel))
        if n > 1
    )  # fmt: skip
    cache = "" if q.kv_precision.id == "bf16" else f", {q.kv_precision.id} cache"
    return (
        f"{'fits' if found.fits else 'does not fit'}: {q.model.id} {q.precision.id}{cache} on "
        f"{q.config.accelerators} × {q.accelerator.id}{split}, {q.engine.name} {q.engine.version}, "
        f"{q.max_model_len:,} tokens"
    )


def breakdown(found: FitAnswer) -> list[tuple[str, float]]:
    """Parts of the physical memory of one accelerator, GiB; they add up to what the runtime sees."""
    m, q = found.memory, found.question
    parts = overhead_of(q.config, q.model, q.accelerator, q.engine, q.max_model_len, q.precision)
    rows = [("weights", m.weights_gib_per_gpu), ("activations", parts.activations / GIB)]
    if parts.experts:
        rows.append(("expert buffers", parts.experts / GIB))
    rows.append(("outside the allocator", parts.non_torch / GIB))
    rows.append(("KV cache" if m.kv_pool_gib_per_gpu >= 0 else "missing", m.kv_pool_gib_per_gpu))
    unused = q.accelerator.memory_gib_visible - m.usable_gib_per_gpu
    rows.append((f"unused (utilisation {q.gpu_memory_utilization:g})", unused))
    rows.append(("in all", q.accelerator.memory_gib_visible))
    return rows


def bar(gib: float, whole: float) -> str:
    """A bar of a part of an accelerator's memory."""
    return "█" * max(0, min(BAR, round(BAR * gib / whole)))


def facts(found: FitAnswer) -> list[str]:
    """What the cache holds, in sentences."""
    m, q = found.memory, found.question
    fixed = m.admission_bytes_per_request_per_gpu
    beside = f" and {fixed / 2**20:,.1f} MiB fixed per request" if fixed else ""
    each = f"{m.kv_bytes_per_token_per_gpu:,.0f} B per token{beside} on each accelerator"
    lines = [f"cache in {q.kv_precision.id}: {each}, {int(m.kv_cache_tokens):,} tokens in all"]
    if found.max_concurrency > 0:
        count = found.max_concurrency
        lines.append(f"at once: {quantity(count)} requests of {q.max_model_len:,} tokens (max_num_seqs {q.seqs:,})")
    if found.longest_context_tokens:
        lines.append(f"longest context that fits: {found.longest_context_tokens:,} tokens")
    return lines


def survey_tree(rows: Sequence[FitAnswer]) -> dict[str, Any]:
    """The contract of `planner fit` without an accelerator: one row for each, the fewest first."""
    return {
        "schema_version": "1",
        "fits": any(r.fits for r in rows),
        "rows": [{"fits": r.fits, **configuration(r), **figures(r),
                  "limits": [check_tree(c) for c in r.checks], "notes": list(r.notes)} for r in rows],
    }  # fmt: skip


def survey_text(rows: Sequence[FitAnswer], format_: str, colour: bool = False) -> str:
    """A table over accelerators in a format (table, json, csv, markdown)."""
    if format_ == "json":
        return dump_json(survey_tree(rows))
    cells = [survey_cells(r) for r in rows]
    if format_ == "csv":
        return csv_text(TABLE_COLUMNS, cells)
    if format_ == "markdown":
        return markdown_text(TABLE_COLUMNS, cells)
    from rich.console import Group, RenderableType
    from rich.text import Text

    from planner.report.layout import output_width, render, table_of

    q = rows[0].question
    title = (f"smallest sets for {q.model.id}, {q.precision.id} weights, {q.kv_precision.id} cache, "
             f"{q.max_model_len:,} tokens, {q.engine.name} {q.engine.version}")  # fmt: skip
    table = table_of(
        "", "on<", "split<", "weights GiB>", "pool GiB>", "cached tokens>", "requests>", "longest context>"
    )
    for r in rows:
        asked, m = r.question, r.memory
        split = f"TP{asked.tensor_parallel}" + (f" PP{asked.pipeline_parallel}" if asked.pipeline_parallel > 1 else "")
        split += f" EP{asked.expert_parallel}" if asked.expert_parallel > 1 else ""
        if r.fits:
            table.add_row(
                f"{asked.config.accelerators} × {asked.accelerator.id}", split, f"{m.weights_gib_per_gpu:,.1f}",
                f"{m.kv_pool_gib_per_gpu:,.1f}", f"{int(m.kv_cache_tokens):,}", quantity(r.max_concurrency),
                f"{r.longest_context_tokens:,}",
            )  # fmt: skip
    nothing = [r for r in rows if not r.fits]
    lines = [Text(""), Text(f"does not fit on: {', '.join(r.question.accelerator.id for r in nothing)}")]
    shown: list[RenderableType] = [Text(title, style="bold"), Text(""), table, *(lines if nothing else [])]
    return render(Group(*shown), output_width(), colour)


def survey_cells(found: FitAnswer) -> dict[str, Cell]:
    """One row of the table over accelerators."""
    tree = configuration(found) | figures(found)
    why = found.checks[0].detail if found.checks else ""
    row: dict[str, Cell] = {c: tree.get(c) for c in TABLE_COLUMNS}
    return row | {"fits": "yes" if found.fits else "no", "limit": why}
