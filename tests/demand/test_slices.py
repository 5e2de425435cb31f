"""Hours are gathered without losing volume, and labelled for people."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.demand.profile import default_day, hourly_weights, reshape, to_utc, utc_offset_hours
from planner.demand.slices import group_hours, hours_per_month, label


def test_identical_hours_are_one_slice() -> None:
    day = np.array([[1.0] * 8 + [3.0] * 8 + [1.0] * 8])
    groups = group_hours(day)
    assert [g.hours for g in groups] == [(*range(8), *range(16, 24)), tuple(range(8, 16))]


def test_a_peak_of_one_hour_stays_alone_when_hours_are_joined() -> None:
    day = np.array([[*np.linspace(1.0, 2.0, 23), 10.0]])
    groups = group_hours(day)
    assert len(groups) == 8
    assert (23,) in [g.hours for g in groups]


def test_joining_is_quick_for_many_workloads_over_a_week() -> None:
    week = np.random.default_rng(1).random((200, 168))
    start = time.perf_counter()
    assert len(group_hours(week)) == 8
    assert time.perf_counter() - start < 2.0


@given(st.lists(st.lists(st.floats(0, 1e6), min_size=24, max_size=24), min_size=1, max_size=3))
def test_every_hour_is_in_exactly_one_group(rows: list[list[float]]) -> None:
    groups = group_hours(np.array(rows))
    assert sorted(h for g in groups for h in g.hours) == list(range(24))
    assert [g.hours[0] for g in groups] == sorted(g.hours[0] for g in groups)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=8))
def test_hours_add_up_to_a_month(counts: list[int]) -> None:
    lengths = hours_per_month(counts)
    assert math.fsum(lengths) == 730.0
    assert lengths == pytest.approx([730.0 * c / sum(counts) for c in counts])


@pytest.mark.parametrize(
    ("hours", "total", "text"),
    [
        (range(24), 24, "all hours"),
        ((8, 9, 10, 11, 17), 24, "08–12, 17–18 UTC"),
        ((0, 1, 22, 23), 24, "22–02 UTC"),
        ((23,), 24, "23–24 UTC"),
        ([24 * d + h for d in range(5) for h in (8, 9)], 168, "Mon–Fri 08–10 UTC"),
        (range(120, 168), 168, "Sat–Sun UTC"),
        ([8, 24 * 2 + 9], 168, "Mon 08–09; Wed 09–10 UTC"),
        ([h for h in range(168) if h % 3 == 0], 168, "56 h a week from Mon 00 UTC"),
    ],
)
def test_labels(hours: list[int], total: int, text: str) -> None:
    assert label(tuple(hours), total) == text


def test_time_zones() -> None:
    from datetime import date

    winter = date(2027, 1, 1)
    assert utc_offset_hours("Europe/Berlin", winter) == 1.0
    assert utc_offset_hours("Europe/Berlin", date(2027, 7, 1)) == 2.0
    assert utc_offset_hours("America/New_York", winter) == -5.0
    assert utc_offset_hours("Asia/Kolkata", winter) == 5.5
    local = np.arange(24.0)
    assert to_utc(local, 2.0, 24)[6] == 8.0  # 06 UTC is 08 local
    assert list(to_utc(local, 5.5, 48, 2)[:3]) == [5.0, 6.0, 6.0]  # 00:30 UTC is 06:00 in India
    assert to_utc(local, -3.5, 48, 2)[0] == 20.0
    assert to_utc(np.arange(168.0), 1.0, 168)[167] == 0.0  # Sunday 23 UTC is Monday 00 local


@given(
    st.lists(st.floats(0.0, 10.0), min_size=24, max_size=24).filter(lambda w: max(w) > 0.1 and min(w) < 0.9 * max(w)),
    st.floats(1.0, 8.0),
)
def test_reshaping_meets_the_ratio_and_keeps_the_order(weights: list[float], ratio: float) -> None:
    shape = np.array(weights) / np.mean(weights)
    most = 24 / int(np.count_nonzero(shape >= shape.max() * (1 - 1e-12)))
    second = np.sort(shape)[-int(24 / most) - 1] / shape.max()
    if ratio >= 0.9 * most or second > 0.999:
        return
    found = reshape(shape, ratio)
    assert found.mean() == pytest.approx(1.0)
    assert found.max() == pytest.approx(max(ratio, 1.0), rel=1e-6)
    assert (found >= 0.0).all()
    order = np.argsort(shape, kind="stable")
    assert (np.diff(found[order]) >= -1e-9).all()


def test_flat_profiles_take_the_default_day() -> None:
    assert default_day().max() == 2.0
    assert default_day().mean() == pytest.approx(1.0)
    assert hourly_weights(None, None).tolist() == [1.0] * 24
    assert hourly_weights(None, 1.0).tolist() == [1.0] * 24
    assert hourly_weights([2.0] * 24, 3.0).max() == pytest.approx(3.0)
    assert int(np.argmax(hourly_weights(None, 3.0))) == 14
