"""Time in the programme: what a slice weighs in the objective, when commitments may start and what they cover.

The horizon is a row of periods (quarters, cut where something that is there ends). A commitment starts at the beginning
of a period and covers the slices that lie inside its term.

    ω_p = v(quarter of p) · share of the quarter / Σ     weight of period p, Σ_p ω_p = 1
    v(q) = (1 + r)^−(q − ½)/4                            discount to the first day, r per year

`repeat`: what the last period costs is paid again until the longest term on offer, begun in the last quarter, ends; its
purchases are renewed as they are. So the last period weighs more by Σ_{j=N+1}^{N+tail} v(j). `drop`: nothing is counted
after the horizon. `charge`: neither, but commitments are charged their whole term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.demand.types import Slice
from planner.spec.types import Horizon, Terminal
from planner.units import HOURS_PER_MONTH, MONTHS_PER_QUARTER

EPS = 1e-6
"""Months within which two times are one."""


@dataclass(frozen=True, slots=True)
class Span:
    """One period: from when to when, its quarter, and its slices."""

    quarter: int
    begins_month: float
    ends_month: float
    slices: tuple[int, ...]


class Calendar:
    """Weights and terms over the slices of a problem."""

    def __init__(self, slices: Sequence[Slice], horizon: Horizon, tail_quarters: int) -> None:
        self.slices = slices
        self.horizon = horizon
        self.spans = _spans(slices)
        self.quarters = tuple(sorted({s.quarter for s in self.spans}))
        self.tail_quarters = tail_quarters if horizon.terminal is Terminal.REPEAT else 0
        self.end_month = max((s.ends_month for s in self.spans), default=0.0)

    def value(self, quarter: float) -> float:
        """v: what a dollar in the middle of a quarter (from 1) is worth on the first day."""
        return float((1.0 + self.horizon.discount_rate_per_year) ** (-(quarter - 0.5) / 4.0))

    @cached_property
    def _raw(self) -> tuple[float, ...]:
        """[period] weights before they are made to add up to 1; the unit is a quarter of today's money."""
        raw = [self.value(s.quarter) * (s.ends_month - s.begins_month) / MONTHS_PER_QUARTER for s in self.spans]
        last = max(self.quarters)
        raw[-1] += math.fsum(self.value(last + j) for j in range(1, self.tail_quarters + 1))
        return tuple(raw)

    @cached_property
    def period_weight(self) -> tuple[float, ...]:
        """[period] ω."""
        total = math.fsum(self._raw)
        return tuple(x / total for x in self._raw)

    @cached_property
    def slice_weight(self) -> tuple[float, ...]:
        """[slice] share of the judged time that the slice stands for."""
        found = [0.0] * len(self.slices)
        for span, weight in zip(self.spans, self.period_weight, strict=True):
            share = (span.ends_month - span.begins_month) / MONTHS_PER_QUARTER
            for t in span.slices:
                found[t] = self.slices[t].hours_per_month / HOURS_PER_MONTH * (weight / share)
        return tuple(found)

    def quarter_of(self, month: float) -> int:
        """The quarter (from 1) in which a month of the horizon begins."""
        return min(int((month + EPS) // MONTHS_PER_QUARTER) + 1, max(self.quarters))

    def starts(self) -> tuple[float, ...]:
        """Months at which a commitment may begin."""
        return tuple(s.begins_month for s in self.spans)

    def covers(self, start: float, term_months: float, t: int) -> bool:
        """Whether a term begun at month `start` covers slice τ."""
        s = self.slices[t]
        return s.begins_month >= start - EPS and s.ends_month <= start + term_months + EPS

    def charged(self, start: float, term_months: float) -> float:
        """What the objective charges for a term begun at `start`, as a multiple of its price per hour."""
        pairs = zip(self.spans, self.period_weight, strict=True)
        inside = math.fsum(w * _overlap(s.begins_month, s.ends_month, start, term_months) for s, w in pairs)
        return inside + (self._beyond(start, term_months) if self.horizon.terminal is Terminal.CHARGE else 0.0)

    def _beyond(self, start: float, term_months: float) -> float:
        """The part of a term after the horizon, discounted, in the objective's unit."""
        total, close = 0.0, start + term_months
        begin, quarter = self.end_month, max(self.quarters) + 1
        while begin < close - EPS:
            total += self.value(quarter) * min(close - begin, MONTHS_PER_QUARTER) / MONTHS_PER_QUARTER
            begin, quarter = begin + MONTHS_PER_QUARTER, quarter + 1
        return total / math.fsum(self._raw)

    def share_of_quarter(self, start: float, term_months: float, quarter: int) -> float:
        """Share of a quarter that a term begun at `start` covers."""
        begin = MONTHS_PER_QUARTER * (quarter - 1.0)
        return _overlap(begin, begin + MONTHS_PER_QUARTER, start, term_months)

    def months_left(self, start: float, term_months: float) -> float:
        """Months of a term after the horizon."""
        return max(0.0, start + term_months - max(self.end_month, start))


def _overlap(begin: float, close: float, start: float, term_months: float) -> float:
    """Share of a stretch of time that lies inside a term; a remainder of rounding is none."""
    common = min(close, start + term_months) - max(begin, start)
    share = common / (close - begin)
    return 0.0 if share < EPS else 1.0 if share > 1.0 - EPS else share


def _spans(slices: Sequence[Slice]) -> tuple[Span, ...]:
    found: dict[tuple[float, float], list[int]] = {}
    for t, s in enumerate(slices):
        found.setdefault((s.begins_month, s.ends_month), []).append(t)
    ordered = sorted(found.items())
    return tuple(Span(slices[ts[0]].quarter, begin, close, tuple(ts)) for (begin, close), ts in ordered)
