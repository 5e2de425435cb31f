"""Engine configurations of an LLM on one kind of accelerator in one kind of instance, and why others are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planner.base import Check, CheckKind
from planner.catalog.catalog import Catalog
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision, SupportRule
from planner.performance.memory import LARGE_MEMORY_GB, fits, memory_fit
from planner.performance.support import engine_checks, parallelism_checks, precision_checks, rule_applies
from planner.performance.types import EngineConfig, Refusal
from planner.spec.types import Measured

PIPELINE_STAGES = (1, 2, 4)
DEFAULT_PRECISION = "fp8"
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
    `interconnect` names the instance's own where it is not the accelerator's link. Raises UnknownName.
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
        interconnect=interconnect,
        longest_context_tokens=longest_context_tokens,
    )
    precisions = tuple(dict.fromkeys(precisions or (place.model.native_precision, DEFAULT_PRECISION)))
    engines = tuple(engines or (e.id for e in catalog.engines if e.production))
    found: dict[str, EngineConfig] = {
        c.id: c for c in _measured_configs(place, precisions, kv_precisions, engines, measured)
    }
    refusals: dict[str, Refusal] = {}
    for engine in (catalog.engine(e) for e in engines):
        checks = engine_checks(engine, place.model, place.accelerator)
        for choice in _choices(catalog, engine, precisions, kv_precisions):
            admitted, refused = _of_choice(place, choice, checks)
            found |= {c.id: c for c in admitted if c.id not in found}
            refusals |= {r.config.id: r for r in refused if r.config.id not in found}
            if checks:
                break
    return sorted(found.values(), key=lambda c: c.id), [refusals[k] for k in sorted(refusals) if k not in found]


def _choices(
    catalog: Catalog, engine: Engine, precisions: Sequence[str], kv_precisions: Sequence[str]
) -> Iterator[_Choice]:
    for precision in precisions:
        for kv_precision in kv_precisions:
            yield _Choice(engine, catalog.precision(precision), catalog.precision(kv_precision))


def _of_choice(place: _Place, choice: _Choice, checks: Sequence[Check]) -> tuple[list[EngineConfig], list[Refusal]]:
    """All configurations of one engine and precision."""
    one = _config(place, choice, 1)
    hopeless = [
        *checks,
        *precision_checks(
            _rules(place, choice, one), choice.engine, place.accelerator, choice.precision, choice.kv_precision
        ),
    ]
    if hopeless:
        return [], [Refusal(config=one, checks=tuple(hopeless))]
    admitted: list[EngineConfig] = []
    refused: list[Refusal] = []
    for config in _layouts(place, choice):
        failed = _layout_checks(place, choice, config)
        if failed:
            refused.append(Refusal(config=config, checks=tuple(failed)))
        else:
            admitted.append(config)
    return admitted, refused


def _layout_checks(place: _Place, choice: _Choice, config: EngineConfig) -> list[Check]:
    rules = [r for r in _rules(place, choice, config) if r.effect == "refuse" and r.parallelism is not None]
    return [
        *parallelism_checks(config, place.model, choice.engine, choice.precision),
        *(
            Check(check="support", kind=CheckKind.PHYSICAL, needed=r.id, had=place.accelerator.id, detail=r.reason)
            for r in rules
        ),
    ]


def _rules(place: _Place, choice: _Choice, config: EngineConfig) -> list[SupportRule]:
    return [r for r in place.catalog.support if rule_applies(r, config, place.model, place.accelerator, choice.engine)]


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
    mla = any(g.kind == "mla" for g in shape.kv)
    if parallelism_checks(plain, place.model, choice.engine, choice.precision):
        yield _config(place, choice, degree, stages, experts=degree)
    if mla:
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
    """Configurations that measurements name; a row without an engine stands for the first one listed."""
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
        engine = row.engine if row.engine is not None else engines[0]
        if engine in engines:
            for kv_precision in kv_precisions[:1]:
                choice = _Choice(
                    place.catalog.engine(engine),
                    place.catalog.precision(row.precision),
                    place.catalog.precision(kv_precision),
                )
                yield _config(place, choice, row.tensor_parallel, row.pipeline_parallel)
