"""Hours of a day or week gathered into a few slices that keep every volume and every peak."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
    """Hours (indices into the day or week, ascending, UTC) that make up one slice."""

    hours: tuple[int, ...]


def group_hours(rates: Floats, most: int = MOST_SLICES) -> tuple[HourGroup, ...]:
    """Groups of hours, ordered by their first hour. `rates` [workload, hour] in req/s.

    Identical hours are one group at no loss. While there are more than `most`, the two groups are joined whose union
    wastes least: Σ over workloads of hours·(max − mean), relative to the workload's volume. A group's capacity is sized
    for its busiest hour, so no peak is lost; its mean keeps the volume.
    """
    groups = _identical(rates)
    if len(groups) > most:
        groups = _join(groups, rates, most)
    return tuple(HourGroup(tuple(sorted(g))) for g in sorted(groups, key=min))


def _identical(rates: Floats) -> list[list[int]]:
    scale = np.maximum(rates.max(axis=1, keepdims=True), 1e-300)
    keys = np.round(rates / scale, 12)
    found: dict[bytes, list[int]] = {}
    for hour in range(rates.shape[1]):
        found.setdefault(keys[:, hour].tobytes(), []).append(hour)
    return list(found.values())


def _join(groups: list[list[int]], rates: Floats, most: int) -> list[list[int]]:
    relative = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-300)
    hours = np.array([len(g) for g in groups], dtype=np.float64)
    total = np.stack([relative[:, g].sum(axis=1) for g in groups])
    top = np.stack([relative[:, g].max(axis=1) for g in groups])
    alive = list(range(len(groups)))
    cost = np.full((len(groups), len(groups)), np.inf)
    for i in alive:
        cost[i] = _waste(i, hours, total, top)
        cost[i, : i + 1] = np.inf
    while len(alive) > most:
        i, j = divmod(int(np.argmin(cost)), len(groups))
        groups[i] = groups[i] + groups[j]
        hours[i], total[i], top[i] = hours[i] + hours[j], total[i] + total[j], np.maximum(top[i], top[j])
        alive.remove(j)
        cost[j, :] = cost[:, j] = np.inf
        fresh = _waste(i, hours, total, top)
        for k in alive:
            if k != i:
                cost[min(i, k), max(i, k)] = fresh[k]
    return [groups[i] for i in alive]


def _waste(i: int, hours: Floats, total: Floats, top: Floats) -> Floats:
    """For each group, how much more waste there is when it is joined with group i."""
    own = hours * top.sum(axis=1) - total.sum(axis=1)
    joined = (hours + hours[i]) * np.maximum(top, top[i]).sum(axis=1) - (total + total[i]).sum(axis=1)
    waste: Floats = joined - own - own[i]
    return waste


def hours_per_month(counts: Sequence[int]) -> list[float]:
    """Hours of a month for groups of so many hours of the axis; they add up to 730 to the last bit."""
    lengths = [HOURS_PER_MONTH * count / sum(counts) for count in counts]
    longest = lengths.index(max(lengths))
    while error := math.fsum((HOURS_PER_MONTH, *(-length for length in lengths))):
        lengths[longest] += error
        if abs(error) < 1e-13:
            break
    return lengths


def label(hours: Sequence[int], total: int) -> str:
    """What a person calls the group: `08–12, 17–18 UTC`, `Mon–Fri 08–18 UTC`, `all hours`."""
    if len(hours) == total:
        return "all hours"
    if total == 24:
        return f"{_ranges(hours)} UTC"
    days = [tuple(h - 24 * d for h in hours if h // 24 == d) for d in range(7)]
    parts = []
    for in_day, same in groupby(range(7), key=lambda d: days[d]):
        listed = list(same)
        if in_day:
            name = DAYS[listed[0]] if len(listed) == 1 else f"{DAYS[listed[0]]}–{DAYS[listed[-1]]}"
            parts.append(name if len(in_day) == 24 else f"{name} {_ranges(in_day)}")
    text = f"{'; '.join(parts)} UTC"
    if len(text) <= LONGEST_LABEL:
        return text
    return f"{len(hours)} h a week from {DAYS[hours[0] // 24]} {hours[0] % 24:02d} UTC"


def _ranges(hours: Sequence[int]) -> str:
    """Ascending hours as ranges, `08–12, 17–18`; one that runs over midnight is joined, `22–02`."""
    breaks = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(hours)) if b != a + 1), len(hours)]
    runs = [[hours[a], hours[b - 1] + 1] for a, b in pairwise(breaks)]
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == 24:
        runs = [*runs[1:-1], [runs[-1][0], runs[0][1]]]
    return ", ".join(f"{a:02d}–{b:02d}" for a, b in runs)


def slice_means(rates: Floats, groups: Sequence[HourGroup]) -> list[list[float]]:
    """[group][workload] mean rate; the hours-weighted sum over groups is the volume exactly."""
    return [[_mean(row[list(g.hours)]) for row in rates] for g in groups]


def _mean(values: Floats) -> float:
    """Equal up to the 12 digits that make hours identical: their largest, so that nothing seems to vary."""
    top = float(values.max())
    return top if float(values.min()) >= top * (1.0 - 1e-11) else math.fsum(values) / len(values)


def slice_tops(rates: Floats, groups: Sequence[HourGroup]) -> list[list[float]]:
    """[group][workload] largest rate of the group's hours."""
    return [[float(row[list(g.hours)].max()) for row in rates] for g in groups]
