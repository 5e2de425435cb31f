"""The calendar of a horizon: quarters, and the periods that quarters are cut into where something ends or begins.

Time inside a horizon is counted in months from its first day. A quarter is 3 of them whatever its days, so a date lies
at the share of its quarter's days that has passed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from planner.base import TERM_MONTHS
from planner.units import MONTHS_PER_QUARTER

SHORTEST_MONTHS = 0.05
"""Cuts nearer to another cut than this (about a day and a half) are one."""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of one quarter over which what is there does not change."""

    quarter: int
    """From 1."""
    begins_month: float
    ends_month: float

    @property
    def share(self) -> float:
        """Share of its quarter."""
        return (self.ends_month - self.begins_month) / MONTHS_PER_QUARTER


def quarter_start(start: date, quarter: int) -> date:
    """First day of a quarter (from 1) of a horizon that begins at `start`: the same day of the month, or its last."""
    months = start.year * 12 + start.month - 1 + MONTHS_PER_QUARTER * (quarter - 1)
    following = date(*_year_month(months + 1), 1)
    return min(date(*_year_month(months), 1) + timedelta(start.day - 1), following - timedelta(1))


def _year_month(months: int) -> tuple[int, int]:
    return months // 12, months % 12 + 1


def month_of(day: date, start: date, quarters: int) -> float:
    """Months from the horizon's first day to `day`: below 0 before it, at least 3·quarters after it."""
    if day < start:
        return (day - start).days / 365.25 * 12.0
    for quarter in range(1, quarters + 1):
        first, following = quarter_start(start, quarter), quarter_start(start, quarter + 1)
        if day < following:
            return MONTHS_PER_QUARTER * (quarter - 1 + (day - first).days / (following - first).days)
    beyond = (day - quarter_start(start, quarters + 1)).days / 365.25 * 12.0
    return MONTHS_PER_QUARTER * quarters + beyond


def day_of(month: float, start: date) -> date:
    """The day of a horizon that begins at `start` on which a month (counted from there, 0 or more) begins."""
    quarter = int(month // MONTHS_PER_QUARTER) + 1
    first, following = quarter_start(start, quarter), quarter_start(start, quarter + 1)
    share = month / MONTHS_PER_QUARTER - (quarter - 1)
    return first + timedelta(round(share * (following - first).days))


def periods(quarters: int, changes_month: Iterable[float] = ()) -> tuple[Period, ...]:
    """Quarters, cut where something changes, and a whole term after that: what is bought there ends there.

    `changes_month`: months from the start at which something that is there ends, or something begins to be sold.
    """
    end = float(MONTHS_PER_QUARTER * quarters)
    terms = sorted({float(months) for months in TERM_MONTHS.values()})
    wanted = sorted({change + term for change in changes_month for term in terms if change > 0.0})
    cuts = [float(MONTHS_PER_QUARTER * q) for q in range(quarters + 1)]
    for cut in wanted:
        if cut < end and min(abs(cut - known) for known in cuts) > SHORTEST_MONTHS:
            cuts.append(cut)
    cuts.sort()
    found = []
    for begin, close in itertools.pairwise(cuts):
        found.append(Period(int(begin // MONTHS_PER_QUARTER) + 1, begin, close))
    return tuple(found)
