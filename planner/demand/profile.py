"""How a workload's rate moves over the hours of a day or week, as weights around a mean of 1, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HOURS_PER_DAY = 24
DAYS_PER_WEEK = 7
BUSIEST_HOUR = 14
"""Local hour of the peak in the default day."""


def hourly_weights(weights: Sequence[float] | None, peak_to_mean: float | None) -> Floats:
    """Weights (24 or 168, local time) with mean 1 and, where given, the wanted ratio of the busiest hour to the mean.

    `None` is flat. Raises InputError (S208) where the profile cannot reach the ratio.

    A ratio below the profile's own moves every hour towards the mean: w ← 1 + κ·(w − 1). One above it sharpens: w ← w^κ
    over its mean, which keeps the order of the hours, closed hours closed, and every weight ≥ 0. A flat profile with a
    ratio takes the default day, 1 + cos(2π(h − 14)/24) over local hours h, reshaped the same way.
    """
    given = np.ones(HOURS_PER_DAY) if weights is None else np.asarray(weights, dtype=np.float64)
    shape: Floats = given / float(given.mean())
    if peak_to_mean is None:
        return shape
    if float(np.ptp(shape)) < 1e-9:
        if peak_to_mean <= 1.0 + 1e-12:
            return shape
        shape = default_day()
    return reshape(shape, peak_to_mean)


def default_day() -> Floats:
    """A day with one peak in the early afternoon and its trough twelve hours apart; mean 1, peak 2."""
    hours = np.arange(HOURS_PER_DAY)
    return np.round(1.0 + np.cos(2.0 * np.pi * (hours - BUSIEST_HOUR) / HOURS_PER_DAY), 12)


def reshape(shape: Floats, peak_to_mean: float) -> Floats:
    """`shape` (mean 1, not flat) with its maximum at `peak_to_mean`; see `hourly_weights`. Raises InputError (S208)."""
    peak = float(shape.max())
    if peak_to_mean <= peak:
        flattened: Floats = 1.0 + (peak_to_mean - 1.0) / (peak - 1.0) * (shape - 1.0)
        return flattened
    relative = shape / peak
    most = len(shape) / int(np.count_nonzero(relative >= 1.0 - 1e-12))
    if peak_to_mean > most * (1.0 - 1e-9):
        raise InputError(
            [
                Fault(
                    "S208",
                    f"peak_to_mean {peak_to_mean:g} cannot be reached: the profile's busiest level lasts "
                    f"{len(shape) / most:g} of {len(shape)} hours, so the ratio stays below {most:g}",
                    help="give a lower peak_to_mean or a profile with a narrower peak",
                )
            ]
        )
    low, high = 1.0, 2.0
    while 1.0 / float(np.mean(relative**high)) < peak_to_mean and high < 1e9:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if 1.0 / float(np.mean(relative**middle)) < peak_to_mean:
            low = middle
        else:
            high = middle
    sharpened = relative**high
    return np.asarray(sharpened / sharpened.mean(), dtype=np.float64)


def utc_offset_hours(timezone: str, day: date) -> float:
    """Offset of a zone from UTC at noon of a day, in hours (east positive)."""
    offset = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).astimezone(ZoneInfo(timezone)).utcoffset()
    return offset.total_seconds() / 3600.0 if offset else 0.0


def steps_per_hour(offsets_h: Iterable[float]) -> int:
    """How finely hours must be cut so that local hours begin with a piece: 1, 2 or 4 (whole, half, quarter hours)."""
    offsets = list(offsets_h)
    return next((n for n in (1, 2) if all(abs(o * n - round(o * n)) < 1e-9 for o in offsets)), 4)


def to_utc(local: Floats, offset_h: float, pieces: int, steps: int = 1) -> Floats:
    """Values of local hours (24 or 168) at `pieces` pieces of UTC hours, `steps` to an hour, from Monday 0 h UTC on.

    The piece that begins at UTC hour u has the value of the local hour in which u + offset lies.
    """
    hours = np.floor((np.arange(pieces) + round(offset_h * steps)) / steps).astype(np.int64)
    return np.asarray(local[hours % len(local)], dtype=np.float64)


def offsets_over(zones: Sequence[str], first: date, after: date) -> dict[tuple[float, ...], int]:
    """Offsets of the zones from UTC → days from `first` to the day before `after` on which they hold, in order."""
    found: dict[tuple[float, ...], int] = {}
    for day in range((after - first).days):
        offsets = tuple(utc_offset_hours(zone, first + timedelta(day)) for zone in zones)
        found[offsets] = found.get(offsets, 0) + 1
    return found
