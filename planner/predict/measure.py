"""Observations of benchmark files, completed by what the user states → points that a calibration is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.catalog.types import BenchmarkPoint
from planner.errors import BENCHMARK_CODES, Fault, InputError
from planner.performance.points import LoadKind
from planner.predict.configure import Configurator, PlaceError
from planner.predict.formats.detect import BenchmarkFile
from planner.predict.formats.observation import Observation
from planner.predict.types import Place

STATED = (
    "model", "accelerator", "num_gpus", "tensor_parallel", "pipeline_parallel", "expert_parallel", "engine",
    "precision", "kv_precision", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization",
)  # fmt: skip
"""What a user may state beside a file; it goes before what the file says."""
LOAD_STATED = ("input_tokens", "output_tokens", "concurrency")
NEEDED = ("model", "accelerator")


@dataclass(frozen=True, slots=True)
class Measurements:
    """The points of some files, and remarks on them."""

    points: tuple[BenchmarkPoint, ...]
    notes: tuple[str, ...]
    """What was inferred, in the words of the configuration."""
    warnings: tuple[Fault, ...]


def measure(files: Sequence[BenchmarkFile], stated: Mapping[str, str], configurator: Configurator) -> Measurements:
    """The points of files of one configuration; `stated`: options by name (STATED, LOAD_STATED), as texts.

    Raises InputError (B104, B105) with everything that is missing or cannot be.
    """
    points: list[BenchmarkPoint] = []
    notes: dict[str, None] = {}
    faults: list[Fault] = []
    for file in files:
        for seen in file.observations:
            try:
                point, said = _point(seen, stated, configurator, file)
            except PlaceError as error:
                where = f"{seen.where}: " if seen.where else ""
                faults.append(Fault("B104", f"{where}{error}", file=file.file, help=BENCHMARK_CODES["B104"].help))
                continue
            points.append(point)
            notes |= dict.fromkeys(said)
    if faults:
        raise InputError(_once(faults))
    return Measurements(tuple(points), tuple(notes), tuple(w for f in files for w in f.skipped))


def _once(faults: Sequence[Fault]) -> list[Fault]:
    """One fault for each message of a file, whatever points it is about."""
    found: dict[tuple[str | None, str], Fault] = {}
    for fault in faults:
        found.setdefault((fault.file, fault.message.rpartition(": ")[2]), fault)
    return list(found.values())


def _point(
    seen: Observation, stated: Mapping[str, str], configurator: Configurator, file: BenchmarkFile
) -> tuple[BenchmarkPoint, tuple[str, ...]]:
    """One point, and what was inferred. Raises PlaceError."""
    said = {name: stated.get(name) or getattr(seen, name, None) or "" for name in STATED}
    if missing := [n for n in NEEDED if not said[n]]:
        raise PlaceError(f"the file does not say {' and '.join(missing)}: give {_options(missing)}")
    if not said["tensor_parallel"] and not said["num_gpus"] and not said["accelerator"][:1].isdigit():
        raise PlaceError(f"the file does not say tensor_parallel: give {_options(['tensor_parallel'])}")
    kind = seen.kind.strip().lower() or LoadKind.ONLINE.value
    found = configurator.configure(Place(**said, kind=kind))
    load = {n: _number(stated[n], n) if stated.get(n) else getattr(seen, n) for n in LOAD_STATED}
    if unknown := [n for n in ("input_tokens", "output_tokens") if load[n] is None]:
        raise PlaceError(f"the file does not say {' and '.join(unknown)}: give {_options(unknown)}")
    if seen.tpot_ms is None and seen.req_per_s is None:
        raise PlaceError("the file says neither a time per output token nor a rate")
    at_once = load["concurrency"]
    if at_once is None and kind not in {LoadKind.OFFLINE_THROUGHPUT, LoadKind.SINGLE_STREAM}:
        raise PlaceError(
            f"the file says neither a concurrency nor a rate with latencies: give {_options(['concurrency'])}"
        )
    config, engine = found.setup.config, found.setup.engine
    usual = configurator.catalog.engine(engine.id).version
    point = BenchmarkPoint(
        **{n: getattr(config, n) for n in BenchmarkPoint.model_fields.keys() & type(config).model_fields.keys()},
        engine_version=engine.version if engine.version != usual else None,
        kind=LoadKind(kind).value,
        input_tokens=_in_range(load["input_tokens"], "input_tokens", 0.0),
        output_tokens=_in_range(load["output_tokens"], "output_tokens", 1.0),
        concurrency=None if at_once is None or math.isinf(at_once) else max(1.0, _six(at_once / found.replicas)),
        tpot_ms=_six(seen.tpot_ms) if seen.tpot_ms else None,
        ttft_ms=_six(seen.ttft_ms) if seen.ttft_ms else None,
        req_per_s=_six(seen.req_per_s / found.replicas) if seen.req_per_s else None,
        source=file.file + (f", {seen.where}" if seen.where else ""),
        on=seen.on,
    )
    return point, found.inferred


def _options(names: Sequence[str]) -> str:
    return " and ".join(f"--{n.replace('_', '-')}" for n in names)


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PlaceError(f"{name} must be a number, not {text!r}") from None


def _in_range(value: float | None, name: str, least: float) -> float:
    if value is None or not least <= value < 1e9:
        raise PlaceError(f"{name} must be at least {least:g}, not {value}")
    return _six(value)


def _six(value: float) -> float:
    """Six significant digits."""
    return float(f"{value:.6g}")
