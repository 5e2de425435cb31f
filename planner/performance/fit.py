"""Does a model fit, and what would make it fit: one configuration, or the smallest one of an accelerator.

    answer(question, catalog)  → FitAnswer      memory of the fullest rank, what it holds, what limits it
    smallest(question, catalog) → FitAnswer     the fewest accelerators whose answer fits

`fit_advice` finds changes that make it fit.

A configuration *fits* when every rule of the catalog admits it and the pool holds the requests asked for at once, at
the context asked for (FACTS §1). That an engine starts does not mean that it serves: see `max_concurrency`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from planner.base import Check, CheckKind
from planner.catalog.catalog import Catalog
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision, SupportRule
from planner.performance.engines import default_max_num_seqs
from planner.performance.memory import memory_checks, memory_fit, needed_bytes, overhead_row
from planner.performance.support import (
    engine_checks,
    is_weight_only,
    parallelism_checks,
    precision_checks,
    refusing_rules,
    rule_book,
    rule_concerns,
)
from planner.performance.types import EngineConfig, MemoryFit
from planner.performance.versions import version_matches
from planner.units import GIB

BLOCK_TOKENS = 16
"""Caches are handed out in blocks of so many tokens."""
TENSOR_DEGREES = (1, 2, 4, 8, 16)
STAGES = (1, 2, 4, 8)
LARGEST_GROUP = 8
"""Tensor parallelism beyond this needs a link over machines (NVL72, TPU slices)."""
FEW_REQUESTS = 4.0
"""A configuration that holds fewer longest requests starts but hardly serves."""
WIDE_LINKS = ("nvlink5-nvl72", "ici")


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """One configuration, as the catalog's rows."""

    model: LlmModel
    accelerator: Accelerator
    engine: Engine
    precision: Precision
    kv_precision: Precision
    max_model_len: int
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    attention_data_parallel: int = 1
    max_num_seqs: int | None = None
    """None: the engine's default for the card."""
    gpu_memory_utilization: float = 0.9
    concurrency: int = 1
    """Requests of the longest context that must be held at once."""

    @property
    def seqs(self) -> int:
        """Sequences scheduled at once: stated, or the engine's default."""
        return self.max_num_seqs or default_max_num_seqs(self.engine, self.accelerator)

    @property
    def config(self) -> EngineConfig:
        """The same as an engine configuration."""
        return EngineConfig(
            model=self.model.id,
            precision=self.precision.id,
            kv_precision=self.kv_precision.id,
            engine=self.engine.id,
            accelerator=self.accelerator.id,
            tensor_parallel=self.tensor_parallel,
            pipeline_parallel=self.pipeline_parallel,
            expert_parallel=self.expert_parallel,
            attention_data_parallel=self.attention_data_parallel,
            max_num_seqs=self.seqs,
            max_num_batched_tokens=self.engine.max_num_batched_tokens,
            gpu_memory_utilization=self.gpu_memory_utilization,
        )


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """What a configuration holds, and what stands in its way."""

    question: FitQuestion
    memory: MemoryFit
    request_gib_per_gpu: float
    """Cache of one request of the longest context on one rank."""
    max_concurrency: float
    """Requests of the longest context that the pool holds, over all ranks (0 where not even one)."""
    longest_context_tokens: int
    """Longest context at which this configuration fits, at most the model's own limit (0: none)."""
    checks: tuple[Check, ...]
    """Everything that failed; empty where it fits."""
    notes: tuple[str, ...] = ()
    """What is true of a configuration that fits and that one should know."""

    @property
    def fits(self) -> bool:
        """Whether every check passes."""
        return not self.checks


def answer(question: FitQuestion, catalog: Catalog) -> FitAnswer:
    """The memory of a configuration, and every check that it fails."""
    rules = rule_checks(question, catalog)
    memory = memory_of(question, question.max_model_len)
    failed = [*rules, *cache_checks(question, memory)]
    return FitAnswer(
        question=question,
        memory=memory,
        request_gib_per_gpu=needed_bytes(memory, question.max_model_len) / GIB,
        max_concurrency=held(question, memory),
        longest_context_tokens=0 if rules else longest_context(question),
        checks=tuple(failed),
        notes=notes_of(question, memory, rules_of(question, catalog), fits=not failed),
    )


def memory_of(question: FitQuestion, context_tokens: int) -> MemoryFit:
    """Memory per accelerator at a context."""
    return memory_fit(
        question.config, question.model, question.accelerator, question.engine, question.precision,
        question.kv_precision, context_tokens,
    )  # fmt: skip


def rules_of(question: FitQuestion, catalog: Catalog) -> tuple[SupportRule, ...]:
    """The catalog's rules that match, whatever parallelism they are about."""
    return rule_book(catalog.support).rules(
        question.precision.id, question.kv_precision.id, question.model, question.accelerator, question.engine
    )


def rule_checks(question: FitQuestion, catalog: Catalog) -> list[Check]:
    """Failed rules of the catalog: engine, precision, hardware, and how the model splits."""
    config, model, accelerator, engine = question.config, question.model, question.accelerator, question.engine
    matching = rules_of(question, catalog)
    concerned = [r for r in matching if rule_concerns(r, config)]
    everywhere = [r for r in concerned if r.parallelism is None]
    return [
        *engine_checks(engine, model, accelerator),
        *precision_checks(everywhere, engine, accelerator, question.precision, question.kv_precision),
        *refusing_rules([r for r in concerned if r.parallelism is not None], accelerator),
        *parallelism_checks(config, model, engine, question.precision, matching),
    ]


def requests_per_rank(question: FitQuestion) -> int:
    """Longest requests that one attention rank must hold."""
    return -(-question.concurrency // question.attention_data_parallel)


def cache_checks(question: FitQuestion, memory: MemoryFit) -> list[Check]:
    """The memory checks for one request, and one for as many as are asked for at once."""
    checks = list(memory_checks(memory, question.accelerator, question.max_model_len, question.config.accelerators))
    needed = requests_per_rank(question) * needed_bytes(memory, question.max_model_len) / GIB
    if not checks and memory.kv_pool_gib_per_gpu < needed:
        checks.append(
            Check(
                check="concurrency",
                kind=CheckKind.PHYSICAL,
                needed=float(question.concurrency),
                had=held(question, memory),
                unit="requests",
                detail=f"{question.concurrency} requests of {question.max_model_len:,} tokens take {needed:.2f} GiB "
                f"per accelerator, the pool is {memory.kv_pool_gib_per_gpu:.2f} GiB",
            )
        )
    if question.concurrency > question.seqs:
        checks.append(
            Check(check="max_num_seqs", kind=CheckKind.PHYSICAL, needed=question.concurrency, had=question.seqs,
                  unit="sequences", detail=f"the engine schedules {question.seqs} sequences at once")
        )  # fmt: skip
    return checks


def held(question: FitQuestion, memory: MemoryFit) -> float:
    """Longest requests that the pools of all ranks hold at once."""
    one = needed_bytes(memory, question.max_model_len)
    pool = max(0.0, memory.kv_pool_gib_per_gpu) * GIB
    return question.attention_data_parallel * pool / one if one > 0 else 0.0


def holds(question: FitQuestion, context_tokens: int) -> bool:
    """Whether memory alone admits the requests asked for, at another context."""
    other = replace(question, max_model_len=context_tokens)
    return not cache_checks(other, memory_of(other, context_tokens))


def longest_context(question: FitQuestion) -> int:
    """Longest context whose requests the pool holds, in whole tokens, at most the model's own limit (0: none).

    Memory never grows with a shorter context, except where older engines profile short prompts in one pass and long
    ones in chunks: there the two ranges are searched apart.
    """
    limit = max(question.model.max_context_tokens, question.max_model_len)
    unchunked = overhead_row(question.engine).unchunked_up_to_tokens
    ranges = [(1, limit)] if not 0 < unchunked < limit else [(unchunked + 1, limit), (1, unchunked)]
    for low, high in ranges:
        found = largest(lambda tokens: holds(question, tokens), low, high)
        if found:
            return found
    return 0


def largest(admits: Callable[[int], bool], low: int, high: int) -> int:
    """Largest whole number in [low, high] that `admits` (a test that turns false once, upwards); 0 where none does."""
    if not admits(low):
        return 0
    if admits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if admits(middle) else (low, middle)
    return low


def notes_of(question: FitQuestion, memory: MemoryFit, rules: Sequence[SupportRule], *, fits: bool) -> tuple[str, ...]:
    """Warnings beside the verdict."""
    notes = []
    limit = question.model.max_context_tokens
    if question.max_model_len > limit:
        notes.append(f"{question.model.id} states {limit:,} tokens; {question.max_model_len:,} need scaled positions")
    if fits:
        count = held(question, memory)
        if count < FEW_REQUESTS:
            notes.append(
                f"it starts, but holds only {count:.1f} requests of {question.max_model_len:,} tokens at once: "
                "too few to serve"
            )
        elif count > question.seqs:
            notes.append(
                f"the cache holds {count:,.0f} requests of this length, the engine schedules {question.seqs:,} at once"
            )
    if question.tensor_parallel > 1 and question.attention_data_parallel == 1:
        notes += [r.reason for r in rules if r.effect == "prefer" and r.parallelism == "attention_data"]
    if is_weight_only([r for r in rules if rule_concerns(r, question.config)], question.precision) and (
        question.precision.compute != "bf16"
    ):
        notes.append(
            f"{question.precision.id} is dequantised to 16 bit before it is multiplied: it saves memory, not computing"
        )
    row = overhead_row(question.engine)
    if not version_matches(question.engine.version, row.versions):
        notes.append(f"no overhead is recorded for {question.engine.name} {question.engine.version}")
    return tuple(notes)


# --- the smallest set of accelerators ---------------------------------------------------------------------------------


def layouts(question: FitQuestion) -> Iterator[FitQuestion]:
    """The same question over more and more accelerators: tensor parallel first, then stages; experts kept whole too."""
    widest = TENSOR_DEGREES if question.accelerator.link in WIDE_LINKS else tuple(
        d for d in TENSOR_DEGREES if d <= LARGEST_GROUP
    )  # fmt: skip
    tensor = widest if question.engine.tensor_parallel else (1,)
    stages = STAGES if question.engine.pipeline_parallel else (1,)
    grid = sorted(
        ((t, p) for t in tensor for p in stages if p == 1 or t == tensor[-1]), key=lambda x: (x[0] * x[1], x[1])
    )
    for degree, stage in grid:
        plain = replace(
            question, tensor_parallel=degree, pipeline_parallel=stage, expert_parallel=1, attention_data_parallel=1
        )
        yield plain
        if degree > 1 and question.model.shape.experts and question.engine.expert_parallel:
            yield replace(plain, expert_parallel=degree)


def smallest(question: FitQuestion, catalog: Catalog) -> FitAnswer:
    """The answer with the fewest accelerators that fits; where none does, that of the widest split that is valid."""
    last: FitAnswer | None = None
    for asked in layouts(question):
        found = answer(asked, catalog)
        if found.fits:
            return found
        physical = {c.check for c in found.checks} <= {"memory", "concurrency", "max_num_seqs"}
        if last is None or physical:
            last = found
        if any(c.check.startswith(("engine_vendor", "engine_kind", "engine_model", "engine_precision", "support"))
               for c in found.checks) and found.question.config.accelerators == 1:  # fmt: skip
            return found
    assert last is not None
    return last
