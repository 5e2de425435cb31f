"""The plan's time, derived again from the slices: periods, quarters, discounts, and what a term covers of them.

Nothing of the formulation is used here. Times are months from the first day of the horizon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.base import TERM_MONTHS
from planner.demand.types import Slice
from planner.spec.types import Spec, Terminal
from planner.units import MONTHS_PER_QUARTER

NEAR = 1e-6
"""Months that make no difference."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A period: nothing that is there begins or ends inside it."""

    quarter: int
    begin: float
    close: float

    @property
    def months(self) -> float:
        """Its length."""
        return self.close - self.begin


class Timeline:
    """Where the slices of a demand lie in time, and what time is worth."""

    def __init__(self, slices: Sequence[Slice], spec: Spec, longest_term_months: int) -> None:
        """`longest_term_months`: of the commitments on offer; the tail of `repeat` lasts until such a term ends."""
        self.slices = slices
        self.rule = spec.horizon
        self.longest_term_months = longest_term_months

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Periods in order of time."""
        found = {(s.begins_month, s.ends_month): s.quarter for s in self.slices}
        return tuple(Stretch(q, begin, close) for (begin, close), q in sorted(found.items()))

    @cached_property
    def quarters(self) -> tuple[int, ...]:
        """Quarters of the horizon."""
        return tuple(sorted({s.quarter for s in self.slices}))

    @cached_property
    def months(self) -> float:
        """Length of the horizon."""
        return float(MONTHS_PER_QUARTER * len(self.quarters))

    def stretch_of(self, t: int) -> int:
        """Index of the period in which slice t lies."""
        s = self.slices[t]
        return next(i for i, p in enumerate(self.stretches) if (p.begin, p.close) == (s.begins_month, s.ends_month))

    def quarter_at(self, month: float) -> int:
        """The quarter in which something begins."""
        return max((p.quarter for p in self.stretches if p.begin <= month + NEAR), default=self.quarters[0])

    def inside(self, t: int, begin: float, close: float) -> bool:
        """Whether a slice lies wholly between two times."""
        s = self.slices[t]
        return begin <= s.begins_month + NEAR and s.ends_month <= close + NEAR

    def covered_months(self, stretch: Stretch, begin: float, close: float) -> float:
        """Months of a period that lie between two times."""
        months = min(stretch.close, close) - max(stretch.begin, begin)
        return 0.0 if months < NEAR else stretch.months if months > stretch.months - NEAR else months

    def worth(self, quarter: int) -> float:
        """A dollar in the middle of a quarter, on the first day."""
        return float((1.0 + self.rule.discount_rate_per_year) ** ((0.5 - quarter) / 4.0))

    def judged(self, rates: Sequence[float], promised: Sequence[tuple[float, float, float]]) -> float:
        """USD per month that a plan is judged by.

        `rates`: USD per month in each period; `promised`: (USD per month, begin, close) of each commitment. The mean
        over the horizon, discounted; `repeat` adds the last period until the longest term on offer, begun in the last
        quarter, has ended; `charge` adds what commitments cost after the horizon.
        """
        worth = [self.worth(p.quarter) * p.months for p in self.stretches]
        last = self.quarters[-1]
        if self.rule.terminal is Terminal.REPEAT:
            tail = range(last + 1, last + self.longest_term_months // MONTHS_PER_QUARTER)
            worth[-1] += math.fsum(self.worth(q) * MONTHS_PER_QUARTER for q in tail)
        beyond = 0.0
        if self.rule.terminal is Terminal.CHARGE:
            for usd, begin, close in promised:
                quarter, now = last + 1, max(self.months, begin)
                while now < close - NEAR:
                    step = min(MONTHS_PER_QUARTER, close - now)
                    beyond += usd * step * self.worth(quarter)
                    quarter, now = quarter + 1, now + step
        return (math.fsum(w * r for w, r in zip(worth, rates, strict=True)) + beyond) / math.fsum(worth)


def longest_term(spec: Spec, sold: Sequence[tuple[object, int]]) -> int:
    """Months of the longest commitment on offer: (option, months) of everything sold, if some workload allows it."""
    allowed = {o for w in spec.workloads for o in w.purchase.options if TERM_MONTHS.get(o)}
    return max((months for option, months in sold if option in allowed), default=0)
