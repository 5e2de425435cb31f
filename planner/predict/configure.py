"""From names and counts, some of them blank, to a configuration: what is inferred is said."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision, SupportRule
from planner.performance.cases import make_setup
from planner.performance.memory import LARGE_MEMORY_GB
from planner.performance.points import LoadKind
from planner.performance.residuals import pool_bytes
from planner.performance.setups import Setup
from planner.performance.support import engine_checks, parallelism_checks, rule_book
from planner.performance.types import EngineConfig
from planner.predict.names import NamedEngine, NameFinder, is_unstated
from planner.predict.types import Configured, Place
from planner.units import GIB

KINDS = tuple(k.value for k in LoadKind)
LARGEST_GROUP = 128
MOST_GPUS = 100_000
NODE = 8
"""Accelerators that tensor parallelism spans where nothing is stated."""
COMFORT = 0.15
"""Share of the usable memory that inferred layouts leave for the cache."""
SEATS_AT_FULL_LOAD = 2048
UTILIZATION = 0.9
QUANTISED_CACHE = {"trtllm": frozenset({"fp8", "fp8-per-tensor", "fp4"})}
"""Engines whose cache follows a quantised checkpoint unless told otherwise, and the precisions where it does."""
SPREADS_AT_FULL_LOAD = frozenset({"trtllm"})
"""Engines whose published figures of MoE models at full load are with attention data and expert parallelism."""


class PlaceError(ValueError):
    """A place that cannot be configured; the text says why."""


class Configurator:
    """Configures places of one catalog; answers are kept, as tables repeat themselves."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.names = NameFinder(catalog)
        self._book = rule_book(catalog.support)
        self._known: dict[Place, Configured | PlaceError] = {}

    def configure(self, place: Place) -> Configured:
        """The configuration of a place. Raises PlaceError."""
        found = self._known.get(place)
        if found is None:
            try:
                found = self._configure(place)
            except PlaceError as error:
                found = error
            except UnknownName as unknown:
                found = PlaceError(str(unknown))
            self._known[place] = found
        if isinstance(found, PlaceError):
            raise found
        return found

    def _configure(self, place: Place) -> Configured:
        for name in ("model", "accelerator"):
            if is_unstated(getattr(place, name)):
                raise PlaceError(f"{name} is not stated")
        notes: list[str] = []
        model, hint = self.names.model(place.model)
        accelerator, counted = self.names.accelerator(place.accelerator)
        engine = self._engine(place.engine, model, accelerator, notes)
        precision = self._precision(place.precision, hint, model, notes)
        kind = _kind(place.kind, notes)
        kv = self._kv_precision(place.kv_precision, engine.engine, precision)
        gpus = _count(place.num_gpus, "num_gpus", most=MOST_GPUS) or counted
        draft = EngineConfig(
            model=model.id, precision=precision.id, kv_precision=kv.id, engine=engine.engine.id,
            accelerator=accelerator.id, tensor_parallel=1,
            max_num_seqs=_seats(place, engine.engine, accelerator, kind),
            max_num_batched_tokens=_count(place.max_num_batched_tokens, "max_num_batched_tokens")
            or engine.engine.max_num_batched_tokens,
            gpu_memory_utilization=_share(place.gpu_memory_utilization),
        )  # fmt: skip
        setup = make_setup(draft, self.catalog, self._book)
        if engine.version is not None:
            setup = replace(setup, engine=engine.engine.model_copy(update={"version": engine.version}))
        config, replicas = self._layout(place, setup, gpus, kind, notes)
        setup = replace(setup, config=config)
        failed = [
            *engine_checks(setup.engine, model, accelerator),
            *parallelism_checks(config, model, setup.engine, precision, self._rules(setup)),
        ]
        notes += [f"unusual: {c.detail}" for c in failed[:1]]
        pool = pool_bytes(setup)
        if pool <= 0:
            notes.append(f"memory is short by {-pool / GIB:.1f} GiB per accelerator")
        seats = float(config.max_num_seqs * config.attention_data_parallel)
        return Configured(setup, replicas, kind, tuple(notes), pool, seats)

    def _rules(self, setup: Setup) -> tuple[SupportRule, ...]:
        """The catalog's rules that match a configuration."""
        kv = setup.kv_precision.id
        return self._book.rules(setup.precision.id, kv, setup.model, setup.accelerator, setup.engine)

    def _engine(self, text: str, model: LlmModel, accelerator: Accelerator, notes: list[str]) -> NamedEngine:
        if not is_unstated(text):
            found = self.names.engine(text)
            if found.stands_for is not None:
                notes.append(f"engine {found.stands_for} as {found.engine.id}")
            return found
        able = [e for e in self.catalog.engines if not engine_checks(e, model, accelerator)]
        usual = min(able or self.catalog.engines, key=lambda e: (not e.production, abs(e.efficiency - 1.0), e.id))
        notes.append(f"engine {usual.id}")
        return NamedEngine(usual)

    def _precision(self, text: str, hint: str | None, model: LlmModel, notes: list[str]) -> Precision:
        if not is_unstated(text):
            named = self.names.precision(text)
            if named.id == "fp4" and model.native_precision == "mxfp4":
                return self.names.precision("mxfp4")
            return named
        found = self.names.precision(hint or model.native_precision)
        notes.append(f"precision {found.id} ({'from the name' if hint else 'native'})")
        return found

    def _kv_precision(self, text: str, engine: Engine, precision: Precision) -> Precision:
        usual = "fp8" if precision.id in QUANTISED_CACHE.get(engine.id, ()) else "bf16"
        found = self.names.precision(usual if is_unstated(text) else text)
        if found.kv_bytes is None:
            raise PlaceError(f"{found.id} is no precision of a KV cache")
        return found

    def _layout(
        self, place: Place, setup: Setup, gpus: int | None, kind: str, notes: list[str]
    ) -> tuple[EngineConfig, int]:
        """Degrees and independent copies; what is blank follows from the count, or from what the model needs."""
        tp = _count(place.tensor_parallel, "tensor_parallel", most=LARGEST_GROUP)
        pp = _count(place.pipeline_parallel, "pipeline_parallel", most=LARGEST_GROUP)
        ep = _count(place.expert_parallel, "expert_parallel", most=MOST_GPUS)
        if pp is None:
            pp = 1
        if tp is None:
            tp = self._infer_tensor_parallel(setup, gpus, pp, kind)
            notes.append(f"tensor_parallel {tp}" + (f" of {gpus} accelerators" if gpus else ", the least that fits"))
        if gpus is None:
            gpus = tp * pp
        if gpus < tp * pp:
            raise PlaceError(f"num_gpus {gpus} is less than tensor_parallel {tp} × pipeline_parallel {pp}")
        if not setup.engine.tensor_parallel and tp > 1:
            tp, pp = 1, tp * pp
            notes.append(f"{setup.engine.id} splits layers: pipeline_parallel {pp}")
        shape = setup.model.shape
        group = gpus // pp
        whole = gpus % pp == 0 and group % tp == 0 and 1 < group <= LARGEST_GROUP
        latent = any(g.kind in {"mla", "compressed"} for g in shape.kv)
        if shape.experts and group > tp and whole and (ep > tp if ep else latent):
            experts = group if shape.experts % group == 0 else 1
            notes.append(f"attention data parallel {group // tp}")
            degrees = {"tensor_parallel": group, "attention_data_parallel": group // tp, "expert_parallel": experts}
            return setup.config.model_copy(update={**degrees, "pipeline_parallel": pp}), 1
        experts = min(ep or 1, tp)
        spread = kind == LoadKind.OFFLINE_THROUGHPUT and setup.engine.id in SPREADS_AT_FULL_LOAD
        if ep is None and spread and tp > 1 and shape.experts and shape.experts % tp == 0:
            notes.append(f"attention data parallel {tp}, expert_parallel {tp}")
            degrees = {"tensor_parallel": tp, "attention_data_parallel": tp, "expert_parallel": tp}
            config = setup.config.model_copy(update={**degrees, "pipeline_parallel": pp})
            return config, max(gpus // (tp * pp), 1)
        if shape.experts == 0 or tp % experts or shape.experts % experts:
            experts = 1
        config = setup.config.model_copy(
            update={"tensor_parallel": tp, "pipeline_parallel": pp, "expert_parallel": experts}
        )
        if ep is None and shape.experts and shape.experts % tp == 0 and tp > 1:
            broken = parallelism_checks(config, setup.model, setup.engine, setup.precision, self._rules(setup))
            if any(c.check == "tensor_parallel_splits_moe_intermediate" for c in broken):
                config = config.model_copy(update={"expert_parallel": tp})
                notes.append(f"expert_parallel {tp}")
        replicas = gpus // (tp * pp)
        if replicas > 1:
            notes.append(f"{replicas} replicas")
        return config, replicas

    def _infer_tensor_parallel(self, setup: Setup, gpus: int | None, pp: int, kind: str) -> int:
        """All accelerators of a node for latency; for throughput the fewest that hold the model and some cache."""
        if not setup.engine.tensor_parallel:
            return 1
        most = max(1, min(NODE, (gpus or NODE) // pp))
        degrees = [d for d in (1, 2, 4, 8) if d <= most and (gpus is None or (gpus // pp) % d == 0)]
        if gpus is not None and kind in {LoadKind.ONLINE, LoadKind.STATIC_BATCH, LoadKind.SINGLE_STREAM}:
            return degrees[-1]
        for degree in degrees:
            trial = replace(setup, config=setup.config.model_copy(update={"tensor_parallel": degree}))
            usable = setup.config.gpu_memory_utilization * setup.accelerator.memory_gib_visible * GIB
            if pool_bytes(trial) > COMFORT * usable:
                return degree
        return degrees[-1]


def _seats(place: Place, engine: Engine, accelerator: Accelerator, kind: str) -> int:
    """max_num_seqs: as stated, else the engine's; benchmarks at full load raise it."""
    stated = _count(place.max_num_seqs, "max_num_seqs")
    if stated is not None:
        return stated
    usual = engine.max_num_seqs_large if accelerator.memory_gb >= LARGE_MEMORY_GB else engine.max_num_seqs
    if kind in {LoadKind.OFFLINE_THROUGHPUT, LoadKind.STATIC_BATCH} and accelerator.memory_gb >= LARGE_MEMORY_GB:
        return max(usual, SEATS_AT_FULL_LOAD)
    return usual


def _kind(text: str, notes: list[str]) -> str:
    word = text.strip().lower().replace("-", "_").replace(" ", "_")
    if not word:
        return LoadKind.ONLINE.value
    if word not in KINDS:
        raise PlaceError(f"kind must be one of {', '.join(KINDS)}, not {text.strip()!r}")
    return word


def _count(text: str, name: str, most: int = 1_000_000) -> int | None:
    """A whole number from 1, also written `8.0`; None where blank. Raises PlaceError."""
    if is_unstated(text):
        return None
    try:
        number = float(text)
    except ValueError:
        raise PlaceError(f"{name} must be a whole number, not {text.strip()!r}") from None
    if not math.isfinite(number) or number != int(number) or not 1 <= number <= most:
        raise PlaceError(f"{name} must be a whole number from 1 to {most}, not {text.strip()}")
    return int(number)


def _share(text: str) -> float:
    if is_unstated(text):
        return UTILIZATION
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 1:
        raise PlaceError(f"gpu_memory_utilization must be above 0 and at most 1, not {text.strip()!r}")
    return number
