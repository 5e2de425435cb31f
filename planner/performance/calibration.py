"""What a user's own benchmarks say of the estimates: factors on time per (model, accelerator, engine).

A benchmark at one load is a point, not a capacity: it corrects the analytic model, whose shape stays. With few points
the factor is shrunk toward 1 by how much such factors vary and how well a point tells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cached_property
from typing import Annotated

from pydantic import Field

from planner.base import Frozen

Positive = Annotated[float, Field(gt=0)]


class Scale(Frozen):
    """Measured ÷ predicted time of one (model, accelerator, engine), shrunk."""

    model: str
    accelerator: str
    engine: str
    step: Positive
    """Of the time per output token."""
    prefill: Positive
    """Of prefills; `step` where no first token was measured."""
    sigma_log: Positive
    """Standard deviation that is left of ln(measured/predicted) of a further point."""
    points: Annotated[int, Field(ge=1)]
    source: str
    as_of: date | None = None


class Calibration(Frozen):
    """All scales; a (model, accelerator, engine) without one is left to the analytic model."""

    scales: tuple[Scale, ...] = ()

    @cached_property
    def _index(self) -> Mapping[tuple[str, str, str], Scale]:
        return {(s.model, s.accelerator, s.engine): s for s in self.scales}

    def scale(self, model: str, accelerator: str, engine: str) -> Scale | None:
        """The scale of a configuration, by catalog ids; None where nothing was measured."""
        return self._index.get((model, accelerator, engine))

    def with_scales(self, scales: Iterable[Scale]) -> Calibration:
        """This calibration with further scales; a later one replaces an earlier one of the same subject."""
        merged = {(s.model, s.accelerator, s.engine): s for s in (*self.scales, *scales)}
        return Calibration(scales=tuple(merged[k] for k in sorted(merged)))


NOTHING_MEASURED = Calibration()
