"""One configuration with its catalog rows, and what its arithmetic is."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog.types import Accelerator, Engine, LlmModel, Precision
from planner.performance.types import EngineConfig

PCIE_LINKS = frozenset({"pcie", "none", ""})


@dataclass(frozen=True, slots=True)
class Setup:
    """One configuration with its catalog rows; `weight_only` where the hardware dequantises before computing."""

    config: EngineConfig
    model: LlmModel
    accelerator: Accelerator
    engine: Engine
    precision: Precision
    kv_precision: Precision
    weight_only: bool

    @property
    def over_pcie(self) -> bool:
        """Whether tensor parallelism has to use the host's bus."""
        if self.config.interconnect is not None:
            return self.config.interconnect in PCIE_LINKS
        return self.accelerator.link_gb_per_s <= 0


def computes_as(precision: Precision, weight_only: bool) -> str:
    """Key of `efficiencies`: what the matrix units are fed with."""
    return (
        "weight_only" if (weight_only or precision.weight_only) and precision.bytes_per_param < 2 else precision.compute
    )


def peak_tflops(accelerator: Accelerator, kind: str) -> float | None:
    """Dense peak for a kind of computation; None where the hardware has no such units."""
    return {
        "fp8": accelerator.fp8_tflops,
        "int8": accelerator.int8_tops,
        "fp4": accelerator.fp4_tflops,
    }.get(kind, accelerator.bf16_tflops)
