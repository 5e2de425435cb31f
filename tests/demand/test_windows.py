"""Batch windows become hours of slices; the volume of every day is kept."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.demand.slices import Axis, HourGroup
from planner.demand.windows import window_hours, window_weights, windows_in_groups
from planner.errors import InputError
from planner.spec.types import Traffic, Window, Workload, WorkloadKind


def workload(start: str, end: str, timezone: str = "UTC") -> Workload:
    traffic = Traffic(mean_req_per_s=1.0, input_tokens=100, output_tokens=10)
    window = Window(start=start, end=end, timezone=timezone)
    return Workload(name="w", kind=WorkloadKind.BATCH, models=("m",), traffic=traffic, window=window)


@pytest.mark.parametrize(
    ("start", "end", "first", "length"),
    [("20:00", "06:00", 20, 10), ("00:30", "05:30", 1, 4), ("08:00", "08:00", 8, 24), ("23:15", "02:00", 0, 2)],
)
def test_whole_hours_inside_the_window_count(start: str, end: str, first: int, length: int) -> None:
    assert window_hours(workload(start, end)) == (first, length)


def test_a_window_without_a_whole_hour_is_refused() -> None:
    with pytest.raises(InputError) as error:
        window_hours(workload("08:15", "09:45"))
    assert error.value.faults[0].code == "S208"


times = st.integers(0, 47).map(lambda h: f"{h // 2:02d}:{30 * (h % 2):02d}")


@given(times, times)
def test_the_even_rate_keeps_the_volume_of_every_day(start: str, end: str) -> None:
    try:
        weights = window_weights(workload(start, end))
    except InputError:
        return
    assert weights.sum() == pytest.approx(24.0)


@given(
    times, times, st.lists(st.integers(0, 3), min_size=168, max_size=168), st.sampled_from([1, 2]),
    st.sampled_from([(1,), (30, 60)]), st.sampled_from([-5.0, 0.0, 5.5]),
)  # fmt: skip
def test_windows_of_a_week_hold_all_their_hours(
    start: str, end: str, kinds: list[int], steps: int, days: tuple[int, ...], offset: float
) -> None:
    w = workload(start, end, "Asia/Kolkata")
    try:
        _, length = window_hours(w)
    except InputError:
        return
    axis = Axis(168, steps, days)
    pieces = range(axis.pieces * len(days))
    groups = tuple(HourGroup(tuple(p for p in pieces if kinds[p % 168] == k)) for k in sorted(set(kinds)))
    offsets = [{"Asia/Kolkata": offset + n} for n in range(len(days))]
    windows = windows_in_groups(w, groups, axis, offsets)
    assert math.fsum(math.fsum(x) for x in windows) == pytest.approx(7 * length * steps * sum(days))
    assert 1 <= len(windows) <= 7 * len(days)
