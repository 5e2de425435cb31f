"""What a user's own benchmarks say of the estimates: factors on time for a (model, accelerator, engine).

A benchmark at one load is a point, not a capacity: it corrects the analytic model, whose shape stays. The logarithms of
measured ÷ predicted times of one (model, accelerator, engine) are taken as a Gaussian process over the load and the
configuration (kriging): near points count most, far ones for what all points have in common, and with few points the
correction stays near 1. Its parameters are data (`catalogs/calibration.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from planner.base import Frozen
from planner.performance.parameters import default_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Subject = tuple[str, str, str]
"""(model, accelerator, engine)."""


class Lengths(Frozen):
    """Over how much of a logarithm of the load two points grow apart."""

    concurrency: Positive
    input_tokens: Positive
    output_tokens: Positive


class Kernel(Frozen):
    """Standard deviations of the parts of ln(measured/predicted)."""

    everywhere: NonNegative
    """Common to all points of a subject."""
    near: NonNegative
    """Varying with the load."""
    same: NonNegative
    """Common to the points of one configuration."""
    same_near: NonNegative
    """Of one configuration, varying with the load."""
    noise: Positive
    """Between measurements of the same point."""
    lengths: Lengths

    @property
    def prior(self) -> float:
        """Standard deviation where nothing was measured."""
        return float(np.sqrt(self.everywhere**2 + self.near**2 + self.same**2 + self.same_near**2 + self.noise**2))


class CalibrationParameters(Frozen):
    """`catalogs/calibration.yaml`."""

    source: str
    as_of: date
    confidence: str
    step: Kernel
    """Of the time per output token."""
    first_token: Kernel


@lru_cache(maxsize=2)
def load_calibration_parameters(path: Path | None = None) -> CalibrationParameters:
    """Read the parameters (default: those shipped). Raises OSError, or pydantic.ValidationError for a bad file."""
    from ruamel.yaml import YAML

    text = (path or default_path().with_name("calibration.yaml")).read_text(encoding="utf-8")
    return CalibrationParameters.model_validate(YAML(typ="safe", pure=True).load(text))


@dataclass(frozen=True, slots=True)
class At:
    """Where a point is: its configuration and its load on one replica."""

    config: str
    concurrency: float
    input_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True)
class Residual:
    """A measured point against its prediction."""

    at: At
    log_ratio: float
    """ln(measured/predicted) time."""


@dataclass(frozen=True, slots=True)
class Correction:
    """Of one quantity at some points: median factor on time, and what is left to err."""

    factor: Array
    sigma_log: Array
    """Standard deviation of ln(true/corrected), noise included."""


class Corrector:
    """The residuals of one subject and one quantity, ready to correct other points."""

    def __init__(self, residuals: Sequence[Residual], kernel: Kernel) -> None:
        self._kernel = kernel
        self._at = [r.at for r in residuals]
        gram = _covariance(kernel, self._at, self._at) + kernel.noise**2 * np.eye(len(residuals))
        self._inverse = np.linalg.inv(gram)
        self._weights = self._inverse @ np.array([r.log_ratio for r in residuals])
        self.points = len(residuals)

    @property
    def concurrency(self) -> float:
        """Typical requests in flight of the points: their geometric mean."""
        return float(np.exp(np.mean(np.log([a.concurrency for a in self._at]))))

    def correct(self, where: Sequence[At]) -> Correction:
        """Factors at some points, `[point]`."""
        cross = _covariance(self._kernel, where, self._at)
        explained = np.einsum("ij,jk,ik->i", cross, self._inverse, cross)
        sigma = np.sqrt(np.maximum(self._kernel.prior**2 - explained, self._kernel.noise**2))
        return Correction(np.exp(cross @ self._weights), sigma)


def _covariance(kernel: Kernel, left: Sequence[At], right: Sequence[At]) -> Array:
    """Covariance of ln(measured/predicted) between points, `[left, right]`."""
    a, b = _logs(kernel, left), _logs(kernel, right)
    near = np.exp(-0.5 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))
    one, two = (np.array([x.config for x in side], dtype=object) for side in (left, right))
    same = (one[:, None] == two[None, :]).astype(np.float64)
    result: Array = kernel.everywhere**2 + kernel.near**2 * near + same * (kernel.same**2 + kernel.same_near**2 * near)
    return result


def _logs(kernel: Kernel, points: Sequence[At]) -> Array:
    """Logarithms of the load in units of the kernel's lengths, `[point, 3]`."""
    table = np.array([(x.concurrency, x.input_tokens, x.output_tokens) for x in points], dtype=np.float64)
    unit = np.array([kernel.lengths.concurrency, kernel.lengths.input_tokens, kernel.lengths.output_tokens])
    result: Array = np.log(np.maximum(table.reshape(-1, 3), 1.0)) / unit
    return result


@dataclass(frozen=True)
class Calibration:
    """What is known of each (model, accelerator, engine)."""

    step: Mapping[Subject, Corrector]
    """Of the time per output token."""
    first_token: Mapping[Subject, Corrector]

    def __bool__(self) -> bool:
        return bool(self.step or self.first_token)


NOTHING_MEASURED = Calibration({}, {})


def calibration_from(
    step: Mapping[Subject, Sequence[Residual]],
    first_token: Mapping[Subject, Sequence[Residual]],
    parameters: CalibrationParameters,
) -> Calibration:
    """Correctors from residuals by subject."""
    return Calibration(
        {k: Corrector(v, parameters.step) for k, v in step.items() if v},
        {k: Corrector(v, parameters.first_token) for k, v in first_token.items() if v},
    )
