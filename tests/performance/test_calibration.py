"""Kriging of residuals: near points count, far ones for what is common, none for nothing."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.calibration import At, Corrector, Residual, load_calibration_parameters

KERNEL = load_calibration_parameters().step
logs = st.floats(-1.5, 1.5)
ats = st.builds(At, st.sampled_from(["a", "b"]), st.floats(1, 2000), st.floats(1, 50_000), st.floats(1, 8000))
residuals = st.lists(st.builds(Residual, ats, logs), min_size=1, max_size=6)


def correct(measured: list[Residual], at: At) -> tuple[float, float]:
    found = Corrector(measured, KERNEL).correct([at])
    return float(np.log(found.factor[0])), float(found.sigma_log[0])


@given(residuals, ats)
def test_a_correction_is_finite_and_measuring_never_makes_less_sure(measured: list[Residual], at: At) -> None:
    value, sigma = correct(measured, at)
    assert math.isfinite(value)
    assert KERNEL.noise * (1 - 1e-9) <= sigma <= KERNEL.prior * (1 + 1e-9)
    more = [*measured, Residual(at, 0.3)]
    assert correct(more, at)[1] <= sigma * (1 + 1e-9)


@given(ats, logs)
def test_one_point_is_shrunk_toward_no_correction(at: At, log_ratio: float) -> None:
    value, _ = correct([Residual(at, log_ratio)], at)
    assert abs(value) <= abs(log_ratio) + 1e-12
    assert value * log_ratio >= 0
    assert abs(value) >= 0.8 * abs(log_ratio) - 1e-12


@given(ats, logs, st.floats(1.5, 50))
def test_a_near_point_counts_more_than_a_far_one(at: At, log_ratio: float, factor: float) -> None:
    near = At(at.config, at.concurrency * factor, at.input_tokens, at.output_tokens)
    far = At("other", at.concurrency * factor**2, at.input_tokens, at.output_tokens)
    measured = [Residual(at, log_ratio)]
    assert abs(correct(measured, near)[0]) >= abs(correct(measured, far)[0]) - 1e-12
    assert correct(measured, near)[1] <= correct(measured, far)[1] + 1e-12


@given(residuals, ats, st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(measured: list[Residual], at: At, random) -> None:
    shuffled = list(measured)
    random.shuffle(shuffled)
    assert correct(shuffled, at) == pytest.approx(correct(measured, at), abs=1e-9)


def test_the_shipped_parameters_have_a_source(tmp_path: Path) -> None:
    parameters = load_calibration_parameters()
    assert parameters.source and parameters.confidence == "derived"
    assert parameters.first_token.prior > parameters.step.prior > 0.2
