"""The parameters that hold for one configuration: global values times the corrections of what it runs on and with.

    parameter(configuration) = global · Π_level correction(level, key of the configuration)

Levels are the device's class, the accelerator, the accelerator's arithmetic, the engine, its version, and so on; a key
that was never measured has no correction, so that unseen hardware runs on the global values by its data sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from planner.performance.setups import computes_as
from planner.performance.versions import version_tuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from planner.performance.parameters import Fitted, PerformanceParameters
    from planner.performance.setups import Setup

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rates:
    """Parameters as the iteration model takes them, `[configuration, 1]`; fields as in `parameters.Fitted`."""

    mfu_scale: Array
    mbu_scale: Array
    prefill_mfu: Array
    expert_mfu: Array
    expert_mbu: Array
    kv_mbu: Array
    latency_scale: Array
    reduce_scale: Array
    layer_s: Array
    moe_layer_s: Array
    latent_layer_s: Array
    request_s: Array
    scheduler_s: Array
    interference: Array
    admission_s: Array
    prefill_overhead_s: Array
    latent_prefill_s: Array
    queue: Array
    burst: Array
    time_scale: Array
    first_token_scale: Array


NAMES = tuple(f.name for f in fields(Rates))
LEVELS = (
    "class",
    "generation",
    "accelerator",
    "arithmetic",
    "engine",
    "version",
    "engine_arithmetic",
    "engine_class",
    "engine_accelerator",
    "link",
    "run",
    "engine_run",
    "chip_run",
    "model",
    "model_engine",
    "model_accelerator",
    "served",
)
"""From the general to the particular; keys as `level_keys` makes them."""
USUAL_RUN = "online"
"""Runs that the global values are about: published static batches and full loads are of other years and harnesses."""
LEGACY = {"vllm": (0, 9), "trtllm": (0, 10)}
"""Versions below run the engine's former scheduler or runtime."""


LIMITS = {"interference": (0.2, 1.0), "mbu_scale": (0.05, 1.3), "kv_mbu": (0.02, 1.0)}
"""Of a configuration's parameter, corrections included: beyond them nothing changes any more."""


def within_limits(name: str, value: float) -> float:
    """A parameter's value, not beyond its limits."""
    low, high = LIMITS.get(name, (0.0, math.inf))
    return min(max(value, low), high)


def level_keys(s: Setup, kind: str = USUAL_RUN) -> tuple[str, ...]:
    """The configuration's key at every level, in the order of LEVELS; `kind` of run as in `points.LoadKind`."""
    chip, engine = s.accelerator, s.engine.id
    family = f"{chip.vendor}/{chip.kind}/{'gddr' if 'GDDR' in chip.memory_type else 'hbm'}"
    capability = (chip.compute_capability or "").lower()
    generation = capability[:4] if chip.vendor == "amd" else capability
    if chip.vendor == "nvidia" and capability.startswith(("10.", "12.")):
        generation = capability.split(".")[0]
    arithmetic = f"{computes_as(s.precision, s.weight_only)}-{8.0 * s.precision.bytes_per_param:.0f}bit"
    version = f"{engine}/{'legacy' if is_legacy(engine, s.engine.version) else 'current'}"
    over = "none" if s.config.tensor_parallel == 1 else ("pcie" if s.over_pcie else chip.link)
    return (
        family,
        f"{chip.vendor}/{generation}",
        chip.id,
        f"{chip.id}/{arithmetic}",
        engine,
        version,
        f"{engine}/{arithmetic}",
        f"{engine}/{family}",
        f"{engine}/{chip.id}",
        over,
        kind,
        f"{engine}/{kind}",
        f"{chip.id}/{kind}",
        s.model.id,
        f"{s.model.id}/{engine}",
        f"{s.model.id}/{chip.id}",
        f"{s.model.id}/{chip.id}/{engine}/{s.precision.id}",
    )


def is_legacy(engine: str, version: str) -> bool:
    """Whether the version is one of the former scheduler or runtime (FACTS §8: rows of 2024)."""
    number = version_tuple(version)
    return engine in LEGACY and bool(number) and number < LEGACY[engine]


def resolve_rates(
    setups: Sequence[Setup], parameters: PerformanceParameters, kinds: Sequence[str] | None = None
) -> Rates:
    """Parameters of every configuration, `[configuration, 1]`; `kinds` of run, online by default."""
    runs = kinds if kinds is not None else [USUAL_RUN] * len(setups)
    rows = [_row(level_keys(s, k), parameters) for s, k in zip(setups, runs, strict=True)]
    return _as_rates(np.array(rows).reshape(len(setups), len(NAMES)))


def uniform_rates(fitted: Fitted) -> Rates:
    """The global values for any configuration."""
    return _as_rates(np.array([[getattr(fitted, n) for n in NAMES]]))


def take_rates(rates: Rates, rows: NDArray[np.intp]) -> Rates:
    """The configurations at these indices."""
    return Rates(**{n: getattr(rates, n)[rows] for n in NAMES})


def _as_rates(table: Array) -> Rates:
    return Rates(**{n: table[:, i : i + 1] for i, n in enumerate(NAMES)})


def _row(keys: tuple[str, ...], parameters: PerformanceParameters) -> list[float]:
    values = {n: getattr(parameters.fitted, n) for n in NAMES}
    for level, key in zip(LEVELS, keys, strict=True):
        for name, factor in parameters.corrections.get(level, {}).get(key, {}).items():
            values[name] *= factor
    return [within_limits(n, values[n]) for n in NAMES]
