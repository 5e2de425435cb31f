"""Engine configurations of an LLM on one kind of accelerator in one kind of instance, and why others are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planner.base import Check
from planner.catalog.catalog import Catalog
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision
from planner.performance.memory import LARGE_MEMORY_GB, fits, memory_fit
from planner.performance.setups import PCIE_LINKS
from planner.performance.support import (
    RuleBook,
    engine_checks,
    parallelism_checks,
    precision_checks,
    prefers_attention_data_parallel,
    refusing_rules,
    rule_book,
    rule_concerns,
)
from planner.performance.types import EngineConfig, Refusal
from planner.spec.types import Measured

PIPELINE_STAGES = (1, 2, 4)
DEFAULT_PRECISION = "fp8"
KV_DEFAULT = "bf16"
MODEST_CACHE_TOKENS = 16384
"""A configuration whose cache holds less starts but hardly serves (FACTS §1): more stages are tried beside it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where configurations are to run, and the engine settings that the workload chose."""

    catalog: Catalog
    model: LlmModel
    accelerator: Accelerator
    gpu_memory_utilization: float
    max_num_seqs: int | None
    tensor_parallel_domain: int
    accelerators_per_instance: int
    network_gb_per_s: float
    interconnect: str | None
    rules: RuleBook
    longest_context_tokens: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """An engine with weights and cache precision."""

    engine: Engine
    precision: Precision
    kv_precision: Precision


def enumerate_configs(
    catalog: Catalog,
    model_id: str,
    accelerator_id: str,
    *,
    precisions: Sequence[str] | None,
    kv_precisions: Sequence[str],
    engines: Sequence[str] | None,
    gpu_memory_utilization: float,
    max_num_seqs: int | None,
    tensor_parallel_domain: int,
    accelerators_per_instance: int,
    network_gb_per_s: float,
    measured: Sequence[Measured],
    interconnect: str | None = None,
    longest_context_tokens: int = MODEST_CACHE_TOKENS,
) -> tuple[list[EngineConfig], list[Refusal]]:
    """Configurations that the rules admit, in canonical order, and one refusal for each that they do not.

    Without `precisions`: the checkpoint's native one and fp8; without `engines`: the production engines.

    Tensor parallel over powers of two inside the link's domain; pipeline parallel only at the widest group, in the
    fewest stages that hold the weights and `longest_context_tokens` of cache (all tried ones are returned, so
    that the memory check speaks for each), across instances only with a network; expert parallel where a MoE cannot be
    split by columns, attention data parallel with it for MLA. An engine or precision that cannot work at all is
    refused once, at TP 1. A configuration that a `measured` row names is always returned if the instance can hold it.
    `interconnect` is the instance's: PCIe slows down tensor parallelism of cards that could have a link. Raises
    UnknownName.
    """
    place = _Place(
        catalog=catalog,
        model=catalog.model(model_id),
        accelerator=catalog.accelerator(accelerator_id),
        gpu_memory_utilization=gpu_memory_utilization,
        max_num_seqs=max_num_seqs,
        tensor_parallel_domain=tensor_parallel_domain,
        accelerators_per_instance=accelerators_per_instance,
        network_gb_per_s=network_gb_per_s,
        interconnect=_own_interconnect(catalog.accelerator(accelerator_id), interconnect),
        rules=rule_book(catalog.support),
        longest_context_tokens=longest_context_tokens,
    )
    precisions = tuple(dict.fromkeys(precisions if precisions is not None else _default_precisions(place)))
    engines = tuple(engines if engines is not None else (e.id for e in catalog.engines if e.production))
    found: dict[str, EngineConfig] = {
        c.id: c for c in _measured_configs(place, precisions, kv_precisions, engines, measured)
    }
    refusals: dict[tuple[str, tuple[Check, ...]], Refusal] = {}
    for engine in (catalog.engine(e) for e in engines):
        checks = engine_checks(engine, place.model, place.accelerator)
        for choice in _choices(catalog, engine, sorted(precisions), sorted(kv_precisions)):
            admitted, refused = _of_choice(place, choice, checks)
            found |= {c.id: c for c in admitted if c.id not in found}
            for refusal in refused:
                # a split that fails does so whatever the cache is kept in
                refusals.setdefault(_without_cache(refusal), refusal)
            if checks:
                break
    known = sorted((r for r in refusals.values() if r.config.id not in found), key=lambda r: r.config.id)
    return sorted(found.values(), key=lambda c: c.id), known


def _default_precisions(place: _Place) -> tuple[str, ...]:
    """The checkpoint's native precision and fp8, as far as the catalog has them."""
    known = {p.id for p in place.catalog.precisions}
    return tuple(p for p in (place.model.native_precision, DEFAULT_PRECISION) if p in known)


def _own_interconnect(accelerator: Accelerator, interconnect: str | None) -> str | None:
    """The instance's interconnect where it lacks the link that the accelerator has."""
    return interconnect if accelerator.link_gb_per_s > 0 and interconnect in PCIE_LINKS else None


def _without_cache(refusal: Refusal) -> tuple[str, tuple[Check, ...]]:
    return refusal.config.model_copy(update={"kv_precision": ""}).id, refusal.checks


def _choices(
    catalog: Catalog, engine: Engine, precisions: Sequence[str], kv_precisions: Sequence[str]
) -> Iterator[_Choice]:
    for precision in precisions:
        for kv_precision in kv_precisions:
            yield _Choice(engine, catalog.precision(precision), catalog.precision(kv_precision))


def _of_choice(place: _Place, choice: _Choice, checks: Sequence[Check]) -> tuple[list[EngineConfig], list[Refusal]]:
    """All configurations of one engine and precision."""
    engine, precision, kv_precision = choice.engine, choice.precision, choice.kv_precision
    matching = place.rules.rules(precision.id, kv_precision.id, place.model, place.accelerator, engine)
    everywhere = [r for r in matching if r.parallelism is None]
    hopeless = [*checks, *precision_checks(everywhere, engine, place.accelerator, precision, kv_precision)]
    if hopeless:
        return [], [Refusal(config=_config(place, choice, 1), checks=tuple(hopeless))]
    sometimes = [r for r in matching if r.parallelism is not None]
    admitted: list[EngineConfig] = []
    refused: list[Refusal] = []
    for config in _layouts(place, choice):
        rules = [r for r in sometimes if rule_concerns(r, config)]
        failed = [
            *parallelism_checks(config, place.model, engine, precision, everywhere),
            *refusing_rules(rules, place.accelerator),
        ]
        if failed:
            refused.append(Refusal(config=config, checks=tuple(failed)))
        else:
            admitted.append(config)
    return admitted, refused


def _layouts(place: _Place, choice: _Choice) -> Iterator[EngineConfig]:
    """Parallel layouts worth considering, valid or not: the plain split, its alternatives, and more stages."""
    domain = min(place.tensor_parallel_domain, place.accelerators_per_instance * _instances(place))
    degrees = _powers_of_two(domain if choice.engine.tensor_parallel else 1)
    for degree in degrees:
        yield from _groupings(place, choice, degree, 1)
    if choice.engine.pipeline_parallel and not _holds(place, choice, degrees[-1], 1):
        for stages in PIPELINE_STAGES[1:]:
            if not _reachable(place, degrees[-1] * stages):
                break
            yield from _groupings(place, choice, degrees[-1], stages)
            if _holds(place, choice, degrees[-1], stages):
                break


def _instances(place: _Place) -> int:
    """How many instances a link domain spans (NVL72: 18 of 4)."""
    return max(1, -(-place.tensor_parallel_domain // place.accelerators_per_instance))


def _powers_of_two(limit: int) -> list[int]:
    return [2**i for i in range(max(1, limit).bit_length())]


def _reachable(place: _Place, accelerators: int) -> bool:
    return (
        accelerators <= max(place.accelerators_per_instance, place.tensor_parallel_domain) or place.network_gb_per_s > 0
    )


def _groupings(place: _Place, choice: _Choice, degree: int, stages: int) -> Iterator[EngineConfig]:
    """The plain split; with experts kept whole where columns do not divide; with attention data parallel for MLA."""
    plain = _config(place, choice, degree, stages)
    yield plain
    shape = place.model.shape
    if degree == 1 or shape.experts == 0 or not choice.engine.expert_parallel:
        return
    rules = place.rules.rules(
        choice.precision.id, choice.kv_precision.id, place.model, place.accelerator, choice.engine
    )
    if parallelism_checks(plain, place.model, choice.engine, choice.precision, rules):
        yield _config(place, choice, degree, stages, experts=degree)
    if prefers_attention_data_parallel(rules):
        yield _config(place, choice, degree, stages, experts=degree, attention_groups=degree)


def _config(
    place: _Place, choice: _Choice, degree: int, stages: int = 1, experts: int = 1, attention_groups: int = 1
) -> EngineConfig:
    engine = choice.engine
    large = place.accelerator.memory_gb >= LARGE_MEMORY_GB
    spans = degree * stages > max(place.accelerators_per_instance, place.tensor_parallel_domain)
    return EngineConfig(
        model=place.model.id,
        precision=choice.precision.id,
        kv_precision=choice.kv_precision.id,
        engine=engine.id,
        accelerator=place.accelerator.id,
        tensor_parallel=degree,
        pipeline_parallel=stages,
        expert_parallel=experts,
        attention_data_parallel=attention_groups,
        max_num_seqs=place.max_num_seqs or (engine.max_num_seqs_large if large else engine.max_num_seqs),
        max_num_batched_tokens=engine.max_num_batched_tokens,
        gpu_memory_utilization=place.gpu_memory_utilization,
        interconnect=place.interconnect if degree > 1 else None,
        network_gb_per_s=place.network_gb_per_s if spans else 0.0,
    )


def _holds(place: _Place, choice: _Choice, degree: int, stages: int) -> bool:
    """Whether any grouping of this size holds the weights and the cache asked for."""
    for config in _groupings(place, choice, degree, stages):
        memory = memory_fit(
            config,
            place.model,
            place.accelerator,
            choice.engine,
            choice.precision,
            choice.kv_precision,
            place.longest_context_tokens,
        )
        if fits(memory, place.longest_context_tokens):
            return True
    return False


def _measured_configs(
    place: _Place,
    precisions: Sequence[str],
    kv_precisions: Sequence[str],
    engines: Sequence[str],
    measured: Iterable[Measured],
) -> Iterator[EngineConfig]:
    """Configurations that measurements name; a row without an engine stands for the usual one."""
    for row in measured:
        here = row.model == place.model.id and row.accelerator == place.accelerator.id
        if (
            not here
            or row.precision not in precisions
            or not _reachable(place, row.tensor_parallel * row.pipeline_parallel)
        ):
            continue
        if row.tensor_parallel > place.tensor_parallel_domain:
            continue
        engine = row.engine if row.engine is not None else _usual_engine(place, engines)
        if engine in engines:
            precision = place.catalog.precision(row.precision)
            kv_precision = place.catalog.precision(KV_DEFAULT if KV_DEFAULT in kv_precisions else min(kv_precisions))
            choice = _Choice(place.catalog.engine(engine), precision, kv_precision)
            yield _config(place, choice, row.tensor_parallel, row.pipeline_parallel)


def _usual_engine(place: _Place, engines: Sequence[str]) -> str:
    """The allowed engine that a measurement without one most likely ran: fit for the place, production, most usual."""
    rows = [place.catalog.engine(e) for e in engines]
    return min(
        rows,
        key=lambda e: (
            bool(engine_checks(e, place.model, place.accelerator)),
            not e.production,
            abs(e.efficiency - 1.0),
            e.id,
        ),
    ).id
