"""Batch windows: in which hours of the day a workload's daily volume may be done, and what that is in slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from planner.demand.slices import Axis, HourGroup
    from planner.spec.types import Workload

    Floats = NDArray[np.float64]

DAY = 24
"""Hours."""


def window_hours(workload: Workload) -> tuple[int, int]:
    """(first local hour of the day, number of whole hours) of a workload's window; all day where it has none.

    Hours that the window cuts are left out, so the volume is done inside of it. Raises InputError (S208) where nothing
    is left.
    """
    window = workload.window
    if window is None:
        return 0, DAY
    first = math.ceil(window.start_h - 1e-9)
    length = math.floor(window.start_h + window.length_h + 1e-9) - first
    if length < 1:
        fault = Fault(
            "S208",
            f"the window of {workload.name} holds no whole hour: {window.start} to {window.end}",
            help="begin and end it at full hours",
        )
        raise InputError([fault])
    return first % DAY, length


def window_weights(workload: Workload) -> Floats:
    """Weights of the local hours of a day, mean 1: even over the hours of the window, 0 outside."""
    first, length = window_hours(workload)
    weights = np.zeros(DAY)
    weights[[(first + h) % DAY for h in range(length)]] = DAY / length
    return weights


def windows_in_groups(
    workload: Workload, groups: Sequence[HourGroup], axis: Axis, offsets: Sequence[Mapping[str, float]]
) -> list[tuple[float, ...]]:
    """[window][group] weight of the pieces of the axis that lie in the window.

    Every local day has a window of its own, which may run over midnight; the last day of a stretch is followed by its
    first. Windows that take the same groups in the same proportions are one: they ask for the same.
    """
    first, length = window_hours(workload)
    zone = workload.window.timezone if workload.window is not None else "UTC"
    group_of = {piece: g for g, group in enumerate(groups) for piece in group.hours}
    found: dict[tuple[float, ...], list[float]] = {}
    for stretch in range(len(axis.days)):
        shift = round(offsets[stretch].get(zone, 0.0) * axis.steps)
        for day in range(axis.hours // DAY):
            held = [0.0] * len(groups)
            for n in range(length * axis.steps):
                local = (day * DAY + first) * axis.steps + n
                piece = stretch * axis.pieces + (local - shift) % axis.pieces
                held[group_of[piece]] += float(axis.lengths[piece])
            alike = tuple(round(h / math.fsum(held), 9) for h in held)
            found[alike] = [a + b for a, b in zip(found.get(alike, [0.0] * len(groups)), held, strict=True)]
    return [tuple(held) for _, held in sorted(found.items(), reverse=True)]


def said(workload: Workload) -> str:
    """What a person is told of a workload's window."""
    first, length = window_hours(workload)
    if workload.window is None:
        return f"{workload.name}: batch work without a window, each day's volume done within the UTC day"
    zone = workload.window.timezone
    return (
        f"{workload.name}: batch work, each day's volume done from {first:02d} to {(first + length) % DAY:02d} h {zone}"
    )
