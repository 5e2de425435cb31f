"""Hours of a day or week gathered into a few slices that keep every volume and every peak."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.units import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_SLICES = 8
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class HourGroup:
    """Pieces (indices into the axis, ascending) that make up one slice; with whole-hour zones a piece is an hour."""

    hours: tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """Time of a quarter: the pieces of a typical day or week in UTC, once for each stretch of constant offsets."""

    hours: int
    """24 or 168."""
    steps: int = 1
    """Pieces of an hour."""
    days: tuple[int, ...] = (1,)
    """Days of the quarter in each stretch (daylight saving changes offsets); their ratio is what counts."""

    @property
    def pieces(self) -> int:
        """Pieces of one stretch."""
        return self.hours * self.steps

    @cached_property
    def lengths(self) -> Floats:
        """[piece of the axis] what it weighs; all 1 with one stretch."""
        if len(self.days) == 1:
            return np.ones(self.pieces)
        return np.repeat(np.asarray(self.days, dtype=np.float64), self.pieces)

    def name(self, group: HourGroup) -> str:
        """What a person calls a group: by the hours of the longest stretch that it lies in."""
        counts = [self.days[k] if any(h // self.pieces == k for h in group.hours) else 0 for k in range(len(self.days))]
        stretch = counts.index(max(counts))
        inside = [h - stretch * self.pieces for h in group.hours if h // self.pieces == stretch]
        return label(inside, self.pieces, self.steps)


def group_hours(
    rates: Floats, most: int = MOST_SLICES, lengths: Floats | None = None, apart: NDArray[np.bool_] | None = None
) -> tuple[HourGroup, ...]:
    """Groups of hours, ordered by their first hour. `rates` [workload, hour] in req/s, `lengths` [hour] (default 1).

    Identical hours are one group at no loss. While there are more than `most`, the two groups are joined whose union
    wastes least: Σ over workloads of hours·(max − mean), relative to the workload's volume. A group's capacity is sized
    for its busiest hour, so no peak is lost; its mean keeps the volume. Hours with different columns of `apart`
    [mark, hour] are never joined: slices are cut where a window begins or ends.
    """
    groups = _identical(rates)
    if len(groups) > most:
        groups = _join(groups, rates, most, np.ones(rates.shape[1]) if lengths is None else lengths, apart)
    return tuple(HourGroup(tuple(sorted(g))) for g in sorted(groups, key=min))


def _identical(rates: Floats) -> list[list[int]]:
    scale = np.maximum(rates.max(axis=1, keepdims=True), 1e-300)
    keys = np.round(rates / scale, 12)
    found: dict[bytes, list[int]] = {}
    for hour in range(rates.shape[1]):
        found.setdefault(keys[:, hour].tobytes(), []).append(hour)
    return list(found.values())


def _join(
    groups: list[list[int]], rates: Floats, most: int, lengths: Floats, apart: NDArray[np.bool_] | None
) -> list[list[int]]:
    relative = rates / np.maximum((rates * lengths).sum(axis=1, keepdims=True), 1e-300)
    hours = np.array([lengths[g].sum() for g in groups], dtype=np.float64)
    total = np.stack([(relative[:, g] * lengths[g]).sum(axis=1) for g in groups])
    top = np.stack([relative[:, g].max(axis=1) for g in groups])
    alive = list(range(len(groups)))
    cost = np.full((len(groups), len(groups)), np.inf)
    for i in alive:
        cost[i] = _waste(i, hours, total, top)
        cost[i, : i + 1] = np.inf
    marks = [b"" if apart is None else apart[:, g[0]].tobytes() for g in groups]
    for i, j in itertools.combinations(alive, 2):
        if marks[i] != marks[j]:
            cost[i, j] = np.inf
    while len(alive) > max(most, len(set(marks))):
        i, j = divmod(int(np.argmin(cost)), len(groups))
        groups[i] = groups[i] + groups[j]
        hours[i], total[i], top[i] = hours[i] + hours[j], total[i] + total[j], np.maximum(top[i], top[j])
        alive.remove(j)
        cost[j, :] = cost[:, j] = np.inf
        fresh = _waste(i, hours, total, top)
        for k in alive:
            if k != i and marks[k] == marks[i]:
                cost[min(i, k), max(i, k)] = fresh[k]
    return [groups[i] for i in alive]


def _waste(i: int, hours: Floats, total: Floats, top: Floats) -> Floats:
    """For each group, how much more waste there is when it is joined with group i."""
    own = hours * top.sum(axis=1) - total.sum(axis=1)
    joined = (hours + hours[i]) * np.maximum(top, top[i]).sum(axis=1) - (total + total[i]).sum(axis=1)
    waste: Floats = joined - own - own[i]
    return waste


def overstatement(rates: Floats, groups: Sequence[HourGroup], lengths: Floats) -> float:
    """How much dearer slices make a workload at most than planning hour by hour, as a share of the cost.

    Terms at r times the price by the hour, the rest by the hour, of machines of any size: on the hours' own curve
    min_C r·C + E[max(0, D − C)] is paid, on the slices' the same with D at the busiest hour of each slice. The largest
    excess over the workloads and r = 0.3, 0.4, …, 0.9.
    """
    worst = 0.0
    weights = lengths / lengths.sum()
    for row in rates:
        if float(row.max()) <= 0.0:
            continue
        coarse = np.empty_like(row)
        for g in groups:
            coarse[list(g.hours)] = row[list(g.hours)].max()
        for ratio in PRICE_RATIOS:
            worst = max(worst, curve_cost(coarse, weights, ratio) / curve_cost(row, weights, ratio) - 1.0)
    return worst


PRICE_RATIOS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Price of a term ÷ price by the hour."""


def committed_level(demand: Floats, weights: Floats, ratio: float) -> float:
    """The smallest C that demand exceeds in at most `ratio` of the time (FACTS §4); `weights` add up to 1."""
    order = np.argsort(-demand, kind="stable")
    above = np.cumsum(weights[order])
    position = min(int(np.searchsorted(above, ratio * (1.0 - 1e-12))), len(order) - 1)
    return float(demand[order][position])


def curve_cost(demand: Floats, weights: Floats, ratio: float) -> float:
    """min_C ratio·C + Σ weight·max(0, demand − C): terms at `ratio` of the price by the hour, the rest by the hour."""
    committed = committed_level(demand, weights, ratio)
    return ratio * committed + float((weights * np.maximum(demand - committed, 0.0)).sum())


def hours_per_month(counts: Sequence[float]) -> list[float]:
    """Hours of a month for groups of so many hours of the axis; they add up to 730 to the last bit."""
    lengths = [HOURS_PER_MONTH * count / sum(counts) for count in counts]
    longest = lengths.index(max(lengths))
    while error := math.fsum((HOURS_PER_MONTH, *(-length for length in lengths))):
        lengths[longest] += error
        if abs(error) < 1e-13:
            break
    return lengths


def label(hours: Sequence[int], total: int, steps: int = 1) -> str:
    """What a person calls the group: `08–12, 17–18 UTC`, `Mon–Fri 08–18 UTC`, `all hours`; `steps` pieces an hour."""
    if len(hours) == total:
        return "all hours"
    day = 24 * steps
    if total == day:
        return f"{_ranges(hours, steps)} UTC"
    days = [tuple(h - day * d for h in hours if h // day == d) for d in range(7)]
    parts = []
    for in_day, same in groupby(range(7), key=lambda d: days[d]):
        listed = list(same)
        if in_day:
            name = DAYS[listed[0]] if len(listed) == 1 else f"{DAYS[listed[0]]}–{DAYS[listed[-1]]}"
            parts.append(name if len(in_day) == day else f"{name} {_ranges(in_day, steps)}")
    text = f"{'; '.join(parts)} UTC"
    if len(text) <= LONGEST_LABEL:
        return text
    return f"{len(hours) / steps:g} h a week from {DAYS[hours[0] // day]} {_clock(hours[0] % day, steps)} UTC"


def _clock(piece: int, steps: int) -> str:
    """`08`, or `08:30` where the hour is not whole."""
    hour, part = divmod(piece, steps)
    return f"{hour:02d}" if part == 0 else f"{hour:02d}:{60 * part // steps:02d}"


def _ranges(hours: Sequence[int], steps: int = 1) -> str:
    """Ascending pieces as ranges, `08–12, 17–18`; one that runs over midnight is joined, `22–02`."""
    breaks = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(hours)) if b != a + 1), len(hours)]
    runs = [[hours[a], hours[b - 1] + 1] for a, b in pairwise(breaks)]
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == 24 * steps:
        runs = [*runs[1:-1], [runs[-1][0], runs[0][1]]]
    return ", ".join(f"{_clock(a, steps)}–{_clock(b, steps)}" for a, b in runs)


def slice_means(rates: Floats, groups: Sequence[HourGroup], lengths: Floats | None = None) -> list[list[float]]:
    """[group][workload] mean rate; the hours-weighted sum over groups is the volume exactly."""
    return [[_mean(row[list(g.hours)], None if lengths is None else lengths[list(g.hours)]) for row in rates]
            for g in groups]  # fmt: skip


def _mean(values: Floats, lengths: Floats | None) -> float:
    """Equal up to the 12 digits that make hours identical: their largest, so that nothing seems to vary."""
    top = float(values.max())
    if float(values.min()) >= top * (1.0 - 1e-11):
        return top
    if lengths is None or float(np.ptp(lengths)) == 0.0:
        return math.fsum(values) / len(values)
    return math.fsum(values * lengths) / math.fsum(lengths)


def slice_tops(rates: Floats, groups: Sequence[HourGroup]) -> list[list[float]]:
    """[group][workload] largest rate of the group's hours."""
    return [[float(row[list(g.hours)].max()) for row in rates] for g in groups]
