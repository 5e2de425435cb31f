"""What to change so that a model fits, or holds enough requests to serve: every suggestion is answered itself.

Each kind of change is tried from the least to the most, and the first that suffices is kept: fewer sequences, a shorter
context, more of the card, another split, narrower weights or cache, another accelerator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from planner.catalog.catalog import Catalog
from planner.catalog.types import Accelerator, Precision
from planner.performance.fit import (
    FEW_REQUESTS,
    LARGEST_GROUP,
    TENSOR_DEGREES,
    WIDE_LINKS,
    FitAnswer,
    FitQuestion,
    answer,
    rules_of,
)
from planner.performance.support import prefers_attention_data_parallel

UTILIZATIONS = (0.92, 0.95, 0.97)
LEAST_SEQS = 8
ROUND_CONTEXT = 1024
"""A shorter context is suggested in multiples of this, where it is longer."""
ACCELERATORS_SHOWN = 3
MEMORY_CHECKS = frozenset({"memory", "concurrency"})


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change and what then holds."""

    change: Mapping[str, str | int | float]
    """Option of the question → its new value."""
    text: str
    answer: FitAnswer


def suggestions(found: FitAnswer, catalog: Catalog) -> tuple[Suggestion, ...]:
    """Changes after which the configuration fits (or, where it fits and holds few requests, holds enough to serve)."""
    goal = found.question
    if found.fits:
        if found.max_concurrency >= FEW_REQUESTS:
            return ()
        goal = replace(goal, concurrency=max(goal.concurrency, int(FEW_REQUESTS)))
    kept: list[Suggestion] = []
    for kind in (_sequences, _context, _utilization, _splits, _weights, _cache, _others):
        kept += kind(goal, found, catalog)
    return tuple(kept)


def _try(
    question: FitQuestion, catalog: Catalog, change: Mapping[str, str | int | float], text: str
) -> Suggestion | None:
    done = answer(question, catalog)
    return Suggestion(change, text, done) if done.fits else None


def _first(tries: Iterable[Suggestion | None], count: int = 1) -> list[Suggestion]:
    kept: list[Suggestion] = []
    for tried in tries:
        if tried is not None:
            kept.append(tried)
            if len(kept) == count:
                break
    return kept


def _only_memory(found: FitAnswer) -> bool:
    """Whether memory alone stands in the way (or nothing does)."""
    return {c.check for c in found.checks} <= MEMORY_CHECKS


def _sequences(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    if not _only_memory(found):
        return []
    counts = []
    count = goal.seqs // 2
    while count >= max(LEAST_SEQS, goal.concurrency):
        counts.append(count)
        count //= 2
    return _first(
        _try(replace(goal, max_num_seqs=n), catalog, {"max_num_seqs": n}, f"schedule {n} sequences at once")
        for n in counts
    )


def _context(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    if found.fits or not _only_memory(found):
        return []
    longest = found.longest_context_tokens
    if longest >= 2 * ROUND_CONTEXT:
        longest = longest // ROUND_CONTEXT * ROUND_CONTEXT
    if not 0 < longest < goal.max_model_len:
        return []
    text = f"admit {longest:,} tokens of context"
    return _first([_try(replace(goal, max_model_len=longest), catalog, {"max_model_len": longest}, text)])


def _utilization(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    if not _only_memory(found):
        return []
    return _first(
        _try(replace(goal, gpu_memory_utilization=u), catalog, {"gpu_memory_utilization": u},
             f"use {100 * u:.0f} % of the memory")
        for u in UTILIZATIONS
        if u > goal.gpu_memory_utilization
    )  # fmt: skip


def _splits(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    """Another tensor-parallel degree, whole experts, attention data parallelism, more stages."""
    now = goal.tensor_parallel
    kept = []
    if goal.model.shape.experts and now > 1 and goal.engine.expert_parallel:
        latent = prefers_attention_data_parallel(rules_of(goal, catalog))
        if goal.expert_parallel == 1:
            kept += _first([_split(goal, catalog, now, expert_parallel=now)])
        if latent and goal.attention_data_parallel == 1:
            kept += _first([_split(goal, catalog, now, expert_parallel=now, attention_data_parallel=now)])
    if goal.engine.tensor_parallel:
        limit = TENSOR_DEGREES[-1] if goal.accelerator.link in WIDE_LINKS else LARGEST_GROUP
        degrees = [d for d in TENSOR_DEGREES if now < d <= limit]
        kept += _first(_split(goal, catalog, d) for d in degrees)
        if not _only_memory(found):
            kept += _first(_split(goal, catalog, d) for d in reversed(TENSOR_DEGREES) if d < now)
    if not kept and goal.engine.pipeline_parallel:
        stages = (n for n in (2, 4, 8) if n > goal.pipeline_parallel)
        kept += _first(_split(goal, catalog, now, pipeline_parallel=n) for n in stages)
    return kept


def _split(
    goal: FitQuestion, catalog: Catalog, degree: int, *, expert_parallel: int = 1, attention_data_parallel: int = 1,
    pipeline_parallel: int | None = None,
) -> Suggestion | None:  # fmt: skip
    stages = pipeline_parallel or goal.pipeline_parallel
    change: dict[str, str | int | float] = {}
    words = []
    if degree != goal.tensor_parallel:
        change["tensor_parallel"] = degree
        words.append(f"split over {degree} accelerators (TP{degree})")
    if stages != goal.pipeline_parallel:
        change["pipeline_parallel"] = stages
        words.append(f"run {stages} pipeline stages")
    if expert_parallel != goal.expert_parallel:
        change["expert_parallel"] = expert_parallel
        if expert_parallel > 1:
            words.append(f"keep experts whole (EP{expert_parallel})")
    if attention_data_parallel != goal.attention_data_parallel:
        change["attention_data_parallel"] = attention_data_parallel
        if attention_data_parallel > 1:
            words.append(f"give each accelerator its own requests (attention DP{attention_data_parallel})")
    asked = replace(
        goal, tensor_parallel=degree, pipeline_parallel=stages, expert_parallel=expert_parallel,
        attention_data_parallel=attention_data_parallel,
    )  # fmt: skip
    return _try(asked, catalog, change, ", ".join(words)) if words else None


def _weights(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    """Narrower weights on the same split; where the split is not valid, on the next smaller one that is."""
    narrower = sorted(
        (p for p in catalog.precisions if p.bytes_per_param < 0.95 * goal.precision.bytes_per_param
         and p.id in goal.engine.precisions),
        key=lambda p: (-round(p.bytes_per_param, 1), p.opt_in, p.weight_only, p.id),
    )  # fmt: skip
    kept = _first(_narrow(goal, catalog, p) for p in narrower)
    if kept or _only_memory(found):
        return kept
    for degree in (d for d in reversed(TENSOR_DEGREES) if d < goal.tensor_parallel):
        smaller = replace(goal, tensor_parallel=degree)
        plain = answer(smaller, catalog)
        if plain.fits and plain.max_concurrency >= FEW_REQUESTS:
            return []
        if kept := _first(_narrow(smaller, catalog, p, degree) for p in narrower):
            return kept
    return []


def _narrow(goal: FitQuestion, catalog: Catalog, precision: Precision, degree: int | None = None) -> Suggestion | None:
    change: dict[str, str | int | float] = {"precision": precision.id}
    text = f"keep the weights in {precision.id}"
    if degree is not None:
        change["tensor_parallel"] = degree
        text += f" on {degree} accelerator{'s' if degree > 1 else ''}"
    if precision.quality_loss_percent_high > 1:
        text += f" (quality loss {precision.quality_loss_percent_low:g} to {precision.quality_loss_percent_high:g} %)"
    return _try(replace(goal, precision=precision), catalog, change, text)


def _cache(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    now = goal.kv_precision.kv_bytes or 0.0
    narrower = sorted(
        (p for p in catalog.precisions if p.kv_bytes and p.kv_bytes < now and p.id in goal.engine.kv_precisions),
        key=lambda p: (-(p.kv_bytes or 0.0), p.id),
    )
    return _first(
        _try(replace(goal, kv_precision=p), catalog, {"kv_precision": p.id}, f"keep the KV cache in {p.id}")
        for p in narrower
    )


def _others(goal: FitQuestion, found: FitAnswer, catalog: Catalog) -> list[Suggestion]:
    """The smallest cards with more memory, of the same maker first."""
    return _first(
        (
            _try(replace(goal, accelerator=a), catalog, {"accelerator": a.id}, f"use {a.id} ({a.memory_gb:g} GB)")
            for a in _larger(goal.accelerator, catalog)
        ),
        ACCELERATORS_SHOWN,
    )


def _larger(now: Accelerator, catalog: Catalog) -> Iterator[Accelerator]:
    """Accelerators of the same kind with more memory, one for each size and maker."""
    seen: set[tuple[str, float]] = set()
    rows = (a for a in catalog.accelerators if a.kind == now.kind and a.memory_gib_visible > now.memory_gib_visible)
    for row in sorted(rows, key=lambda a: (a.vendor != now.vendor, a.memory_gib_visible, a.id)):
        if (row.vendor, row.memory_gb) not in seen:
            seen.add((row.vendor, row.memory_gb))
            yield row
