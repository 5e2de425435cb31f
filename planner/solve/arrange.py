"""From plans found to a list: merged where one plan is best on several axes, dominated ones gone, ties marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from planner.candidates.types import Plan
from planner.formulation.axes import Axis, Signature
from planner.solve import words
from planner.solve.ranking import Entry, V
from planner.units import HOURS_PER_MONTH

MATERIAL: dict[Axis, tuple[float, float]] = {
    Axis.CHEAPEST: (0.0, 1e-6),
    Axis.LEAST_COMMITTED: (1.0, 0.02),
    Axis.LEAST_SPOT: (0.01, 0.0),
    Axis.LEAST_API: (1.0, 0.02),
    Axis.FEWEST_CONFIGURATIONS: (0.5, 0.0),
    Axis.MOST_HEADROOM: (0.02, 0.0),
}
"""(absolute, relative) difference on an axis that a reviewer would care about, in the axis's unit."""
ROUNDING = 1e-9
"""Two sums of the same bill may differ by this share."""
TRADED = tuple(a for a in Axis if a is not Axis.CHEAPEST)


@dataclass(frozen=True, slots=True)
class Found(Generic[V]):
    """A verified plan with its figures, before it has a place in the list."""

    axis: str
    """An Axis value, or `alternative`."""
    values: tuple[float, ...]
    plan: Plan
    verdict: V
    measures: dict[Axis, float | None]
    signature: Signature
    also: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """Verified USD per month that it is judged by."""
        return self.verdict.cost.judged_usd_per_month


def is_better(axis: Axis, now: float | None, before: float | None) -> bool:
    """Whether `now` is better than `before` by something that matters; None is no limit (the best head-room)."""
    if now is None or before is None:
        return now is None and before is not None
    absolute, relative = MATERIAL[axis]
    step = max(absolute, relative * abs(before))
    return now >= before + step if axis is Axis.MOST_HEADROOM else now <= before - step


def better_axes(one: Found[V], other: Found[V]) -> tuple[Axis, ...]:
    """Axes besides cost on which `one` is better than `other`."""
    return tuple(a for a in TRADED if is_better(a, one.measures[a], other.measures[a]))


def dominates(one: Found[V], other: Found[V]) -> bool:
    """`one` costs no more and `other` is better on nothing that matters."""
    return one.total <= other.total * (1 + 1e-9) and not better_axes(other, one)


def arrange(found: Sequence[Found[V]]) -> list[Found[V]]:
    """The list worth showing, in order of worth: cheapest, axes in their order, alternatives by cost.

    A plan found for an axis goes where another dominates it, and that one takes over its axis. An alternative stays:
    its kind is what makes it worth showing.
    """
    if not found:
        return []
    best = min(found, key=lambda f: (f.total, found.index(f)))
    first = best
    if best.axis != Axis.CHEAPEST:
        first = replace(best, axis=Axis.CHEAPEST, also=() if best.axis == words.ALTERNATIVE else (best.axis,))
    kept = [first]
    order = [a.value for a in Axis]
    rest = [f for f in found if f is not best]
    by_axis = sorted(
        (f for f in rest if f.axis in order and f.axis != Axis.CHEAPEST), key=lambda f: order.index(f.axis)
    )
    for candidate in by_axis:
        index = next((i for i, k in enumerate(kept) if dominates(k, candidate)), None)
        if index is None:
            kept.append(candidate)
        else:
            kept[index] = replace(kept[index], also=(*kept[index].also, candidate.axis))
    # A plan that was the cheapest until a better one turned up stays only for what it is better at.
    former = [replace(f, axis=words.ALTERNATIVE) for f in rest if f.axis == Axis.CHEAPEST]
    kept += [f for f in former if not any(dominates(k, f) for k in kept)]
    kept += sorted((f for f in rest if f.axis == words.ALTERNATIVE), key=lambda f: f.total)
    return kept


def _gap(total: float, bound: float) -> float:
    """Relative gap; what rounding leaves of none is none."""
    gap = (total - bound) / total if total > 0 else 0.0
    return gap if gap > ROUNDING else 0.0


def entries(found: Sequence[Found[V]], bound_usd_per_hour: float | None, top: int) -> list[Entry[V]]:
    """At most `top` entries, by cost. The bound is global: the same for each."""
    kept = sorted(arrange(found)[:top], key=lambda f: f.total)
    if not kept:
        return []
    best = kept[0]
    # Nothing costs less than nothing: a search that was cut short may know less than that.
    bound = min(best.total, max(0.0, (bound_usd_per_hour or 0.0) * HOURS_PER_MONTH))
    open_usd = best.total - bound
    made: list[Entry[V]] = []
    titles: list[str] = []
    for position, f in enumerate(kept, start=1):
        tie = f is not best and f.total - best.total <= open_usd
        title = words.title(f.axis, f.also)
        if f.axis == words.ALTERNATIVE:
            title = words.alternative_title(f.signature, best.signature, titles)
        titles.append(title)
        made.append(
            Entry(
                rank=1 if tie else position,
                axis=str(f.axis),
                also=f.also,
                title=title,
                buys=()
                if f is best
                else words.buys(f.measures, best.measures, better_axes(f, best), f.signature, best.signature,
                                f.axis == words.ALTERNATIVE),
                values=f.values,
                plan=f.plan,
                verdict=f.verdict,
                total_usd_per_month=f.total,
                extra=(f.total - best.total) / best.total if best.total > 0 else 0.0,
                bound_usd_per_month=bound,
                gap=_gap(f.total, bound),
                tie=tie,
                measures=f.measures,
                signature=f.signature,
            )
        )  # fmt: skip
    return made
