"""Sizing rates against simulation and exact distributions; bands keep the mean."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from planner.demand.sizing import NORMAL, bands_for, sizing_rates


def one(rate: float, dispersion: float = 1.0, percentile: float = 0.95) -> float:
    return float(sizing_rates(np.array([rate]), dispersion, percentile)[0])


@pytest.mark.parametrize(("rate", "dispersion"), [(0.5, 1.0), (6.0, 1.0), (6.0, 4.0), (6.0, 16.0), (50.0, 16.0)])
def test_the_percentile_of_requests_arrives_in_minutes_no_busier(rate: float, dispersion: float) -> None:
    rng = np.random.default_rng(7)
    mean = 60.0 * rate
    if dispersion == 1.0:
        minutes = rng.poisson(mean, 400_000)
    else:
        minutes = rng.negative_binomial(mean / (dispersion - 1.0), 1.0 / dispersion, 400_000)
    limit = 60.0 * one(rate, dispersion)
    # The quantile is continuous, the counts are whole: it lies within one request of the simulated one.
    assert minutes[minutes <= limit + 1.0].sum() / minutes.sum() >= 0.949
    assert minutes[minutes <= limit - 1.0].sum() / minutes.sum() <= 0.951


def test_requests_not_minutes_are_counted() -> None:
    minutes = stats.nbinom(6 * 60 / 15.0, 1 / 16.0).ppf(0.95) / 60.0
    assert one(6.0, 16.0) > minutes


def test_large_and_tiny_rates() -> None:
    assert one(1e6, 1.0) == pytest.approx(1e6, rel=1e-3)
    assert one(1e9, 16.0) == pytest.approx(1e9, rel=1e-3)
    assert one(1e12, 4.0) == pytest.approx(1e12, rel=1e-4)
    assert one(1e-9) == pytest.approx(1 / 60.0)  # a request sees at least itself
    assert one(0.0, 16.0) == 0.0


def test_no_jump_where_the_normal_approximation_begins() -> None:
    for minute in (0.99e9, 1.01e9):
        normal = minute + 15.0 + stats.norm.ppf(0.95) * math.sqrt(16.0 * minute)
        assert 60.0 * one(minute / 60.0, 16.0) == pytest.approx(normal, rel=1e-8)


def test_no_jump_between_poisson_and_negative_binomial() -> None:
    assert one(6.0, 1.0 + 2e-6) == pytest.approx(one(6.0, 1.0), rel=1e-4)


rates = st.floats(1e-9, 1e8)
dispersions = st.one_of(st.just(1.0), st.floats(1.0, 200.0))
percentiles = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@given(rates, dispersions, percentiles)
def test_never_below_the_mean_and_never_nan(rate: float, dispersion: float, percentile: float) -> None:
    found = one(rate, dispersion, percentile)
    assert math.isfinite(found)
    assert found >= rate


@given(rates, st.floats(1.0, 3.0), dispersions)
def test_more_traffic_or_a_stricter_percentile_is_never_sized_smaller(
    rate: float, factor: float, dispersion: float
) -> None:
    assert one(rate * factor, dispersion) >= one(rate, dispersion) * (1 - 1e-9)
    assert one(rate, dispersion, 0.99) >= one(rate, dispersion, 0.95) * (1 - 1e-9)


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(1.0, 500.0)), min_size=1, max_size=5))
def test_bands_keep_the_mean_and_end_at_the_sizing_rate(rows: list[tuple[float, float]]) -> None:
    means = [m for m, _ in rows]
    sizings = [m * k for m, k in rows]
    bands = bands_for(means, sizings)
    assert math.fsum(bands.weights) == pytest.approx(1.0, abs=1e-15)
    assert all(w > 0 for w in bands.weights)
    for mean, sizing in zip(means, sizings, strict=True):
        levels = bands.rates(mean, sizing)
        assert math.fsum(w * r for w, r in zip(bands.weights, levels, strict=True)) == pytest.approx(mean, rel=1e-12)
        assert levels[-1] == sizing
        assert all(r >= 0.0 for r in levels)
        assert all(a <= b * (1 + 1e-12) for a, b in pairwise(levels))


def test_bands_follow_the_normal_distribution() -> None:
    cuts = stats.norm.ppf([0.6, 0.9])
    top = stats.norm.pdf(cuts[1]) / 0.1
    middle = (stats.norm.pdf(cuts[0]) - stats.norm.pdf(cuts[1])) / 0.3
    assert NORMAL.middle_level == pytest.approx(middle / top)
    assert bands_for([10.0], [20.0]) is NORMAL
    low = NORMAL.rates(10.0, 20.0)[0]
    assert low == pytest.approx(10.0 - 10.0 * stats.norm.pdf(cuts[0]) / 0.6 / top)
