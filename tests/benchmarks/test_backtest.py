"""The replay of commitments: by hand on small series, and what is asked of it on three years of measured demand."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.backtest import QUARTER_H, Replay, read_series, replay, table


def test_steady_demand_is_committed_to_from_the_second_quarter_on() -> None:
    found = replay(np.full(4 * QUARTER_H, 10.0), 0.6, 1)
    assert found.on_demand == pytest.approx(3 * QUARTER_H * 10)
    assert found.savings() == pytest.approx((0.4, 0.4, 0.4))


def test_long_terms_are_paid_after_the_need_has_gone() -> None:
    demand = np.concatenate([np.full(2 * QUARTER_H, 10.0), np.zeros(3 * QUARTER_H)])
    found = replay(demand, 0.6, 4)
    # Bought at the start of the second quarter, for four.
    assert found.quarterly == pytest.approx(0.6 * 10 * 4 * QUARTER_H)
    assert replay(demand, 0.6, 1).quarterly == pytest.approx(0.6 * 10 * 2 * QUARTER_H)
    assert found.perfect == pytest.approx(0.6 * 10 * QUARTER_H)


def test_nothing_known_later_changes_a_decision() -> None:
    rng = np.random.default_rng(3)
    demand = rng.poisson(20, 4 * QUARTER_H).astype(float)
    other = demand.copy()
    other[3 * QUARTER_H :] = 500.0
    one, two = replay(demand, 0.6, 1), replay(other, 0.6, 1)
    # The last quarter's level is the same, so the bills differ by what is above it: all of the surprise.
    surprise = float((other - demand)[3 * QUARTER_H :].sum())
    assert two.quarterly - one.quarterly == pytest.approx(surprise, rel=0.01)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "term"), [(0.4, 1), (0.6, 1), (0.8, 1), (0.4, 4), (0.6, 4)])
def test_terms_by_the_quarter_save_what_the_best_constant_ones_would(
    shared_data: Path, ratio: float, term: int
) -> None:
    series = read_series(shared_data / "traces" / "shavedice" / "hourly_normalized.csv.gz")
    assert len(series) == 47
    quarterly, constant, perfect = sum(table(series, ratio, term).values(), Replay()).savings()
    assert quarterly >= 0.98 * constant
    assert perfect >= constant
    if term == 1:
        assert quarterly <= perfect
    if (ratio, term) == (0.6, 1):
        assert quarterly >= 0.25
