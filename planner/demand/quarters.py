"""What the workloads ask for in one quarter: hourly rates on a common axis of time, grouped into slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.demand.profile import hourly_weights, offsets_over, steps_per_hour, to_utc
from planner.demand.sizing import sizing_rates
from planner.demand.slices import Axis, HourGroup, group_hours, overstatement, slice_means, slice_tops
from planner.demand.windows import said, window_weights, windows_in_groups
from planner.spec.types import PERCENTILE_VALUE, Spec, Workload, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from numpy.typing import NDArray

    from planner.catalog.catalog import Catalog
    from planner.demand.lengths import Requests

    Floats = NDArray[np.float64]

DUST_REQ_PER_S = 1e-9
"""A rate below which an hour counts as empty."""
NOTABLE = 0.01
"""Slices that make a plan dearer by more than this share are said to do so."""
FINER = (12, 16, 24, 32, 48, 64, 96)
"""Numbers of slices that are tried for a hint."""


@dataclass(frozen=True)
class Quarter:
    """What the workloads ask for in one quarter."""

    axis: Axis
    groups: tuple[HourGroup, ...]
    means: list[list[float]]
    """[group][workload] req/s."""
    tops: list[list[float]]
    """[group][workload] sizing rate."""
    levels: int
    """Different hours before any were joined."""
    overstatement: float
    """How much dearer the slices make a workload at most than planning hour by hour, as a share of the cost."""
    windows: list[list[tuple[float, ...]]]
    """[workload][window][group] weight of the axis, batch work only."""
    enough: int | None
    """Slices that would bring that below `NOTABLE`; None: it is, or none of `FINER` would."""


@dataclass(frozen=True)
class _Local:
    """A workload's day or week in local time."""

    weights: Floats
    """24 or 168 values with mean 1."""
    zone: str | None
    """None: the same at any hour, so no zone matters."""
    ratio: Floats | None
    """Sizing ÷ mean rate of each hour, where a trace tells."""


def percentile_of(workload: Workload) -> float | None:
    """The strictest percentile that the workload promises; None: throughput only, as for batch work."""
    if workload.kind is WorkloadKind.BATCH:
        return None
    promised = [workload.slo.limit("ttft"), workload.slo.limit("tpot")]
    return max((PERCENTILE_VALUE[p[0]] for p in promised if p), default=None)


def plan_quarter(
    spec: Spec,
    catalog: Catalog,
    requests: Sequence[Requests],
    quarter: int,
    days: tuple[date, date],
    assumptions: list[str],
) -> Quarter:
    """Groups of hours with their mean and sizing rates; `days`: the quarter's first, and the first after it.

    Raises InputError (S208) where a profile cannot reach its `peak_to_mean`, UnknownName for an unknown profile.
    """
    noted: list[str] = []
    locals_ = [_local(w, catalog, noted) for w in spec.workloads]
    axis, offsets = _axis(spec, locals_, days, noted)
    hourly, sizing = [], []
    for workload, local, request in zip(spec.workloads, locals_, requests, strict=True):
        weights = _on_axis(local.weights, local.zone, axis, offsets)
        base = _hourly(request, weights, noted)
        factor, last = _factors(workload, quarter)
        mean = without_dust(base * factor) if factor != 1.0 else base
        busiest = mean if last == 1.0 or workload.kind is WorkloadKind.BATCH else mean * last
        hourly.append(mean)
        ratio = None if local.ratio is None else _on_axis(local.ratio, local.zone, axis, offsets)
        sizing.append(_sizing(workload, busiest, ratio))
    assumptions += [line for line in noted if line not in assumptions]
    return _grouped(spec, axis, offsets, np.stack(hourly), np.stack(sizing))


def _grouped(spec: Spec, axis: Axis, offsets: Sequence[dict[str, float]], hourly: Floats, sizing: Floats) -> Quarter:
    most, lengths = spec.horizon.slices_per_quarter, axis.lengths
    batch = [w.kind is WorkloadKind.BATCH for w in spec.workloads]
    apart = hourly[batch] > 0.0
    groups = group_hours(hourly, most, lengths, apart)
    levels = len(group_hours(hourly, hourly.shape[1], lengths))
    excess, enough = 0.0, None
    if levels > len(groups):
        excess = overstatement(sizing, groups, lengths)
        finer = (n for n in FINER if most < n < levels) if excess > NOTABLE else iter(())
        enough = next(
            (n for n in finer if overstatement(sizing, group_hours(hourly, n, lengths, apart), lengths) <= NOTABLE),
            None,
        )
    windows = [
        windows_in_groups(w, groups, axis, offsets) if b else [] for w, b in zip(spec.workloads, batch, strict=True)
    ]
    means, tops = slice_means(hourly, groups, lengths), slice_tops(sizing, groups)
    return Quarter(axis, groups, means, tops, levels, excess, windows, enough)


def _sizing(workload: Workload, busiest: Floats, ratio: Floats | None) -> Floats:
    percentile = percentile_of(workload)
    if percentile is None:
        return busiest
    if ratio is not None:
        return np.asarray(busiest * ratio, dtype=np.float64)
    return sizing_rates(busiest, workload.traffic.dispersion_10s, percentile)


# ---- hours of the day and the week ---------------------------------------------------------------------------------


def _local(workload: Workload, catalog: Catalog, assumptions: list[str]) -> _Local:
    """A workload's weights and, from a trace, the ratio of sizing to mean rate."""
    traffic = workload.traffic
    if workload.kind is WorkloadKind.BATCH:
        assumptions.append(said(workload))
        clock = workload.window.timezone if workload.window is not None else "UTC"
        weights = window_weights(workload)
        return _Local(weights, clock if clock != "UTC" and float(np.ptp(weights)) > 0.0 else None, None)
    trace = traffic.trace
    ratio = None
    shape: Sequence[float] | None
    if trace is not None and trace.weights:
        shape = trace.weights
    else:
        given = traffic.profile
        shape = catalog.profile(given).weights if isinstance(given, str) else given
    local = hourly_weights(shape, traffic.peak_to_mean)
    if trace is not None:
        percentile = percentile_of(workload)
        ratio = None if percentile is None else np.asarray(trace.sizing_ratios(percentile), dtype=np.float64)
    flat_given = shape is None or len(set(shape)) == 1
    if flat_given and float(np.ptp(local)) > 0.0:
        assumptions.append(
            f"{workload.name}: peak_to_mean {traffic.peak_to_mean:g} without a profile, so one peak a day at 14:00 "
            f"{traffic.timezone}"
        )
    varies = float(np.ptp(local)) > 0.0 or (ratio is not None and float(np.ptp(ratio)) > 0.0)
    zone = traffic.timezone if varies and traffic.timezone != "UTC" else None
    return _Local(local, zone, ratio)


def _axis(
    spec: Spec, locals_: Sequence[_Local], days: tuple[date, date], assumptions: list[str]
) -> tuple[Axis, list[dict[str, float]]]:
    """The axis of a quarter, and the zones' offsets in each of its stretches.

    Where all that varies is in one zone, a change of its clocks moves everything alike: one stretch, named by the
    quarter's first day. Otherwise there is a stretch for every combination of offsets, weighed by its days.
    """
    zones = sorted({x.zone for x in locals_ if x.zone is not None})
    none: dict[tuple[float, ...], int] = {(): 1}
    over = offsets_over(zones, *days) if zones else none
    utc_too = any(x.zone is None and float(np.ptp(x.weights)) > 0.0 for x in locals_)
    for workload, local in zip(spec.workloads, locals_, strict=True):
        if local.zone is not None:
            assumptions.append(_zone_line(workload, local.zone, zones.index(local.zone), over, days[0]))
    if len(zones) == 1 and not utc_too:
        over = {next(iter(over)): 1}
    steps = steps_per_hour(o for offsets in over for o in offsets)
    hours = max(max(len(x.weights), 24 if x.ratio is None else len(x.ratio)) for x in locals_)
    hours = 24 if hours < 24 else hours
    stretches = [dict(zip(zones, offsets, strict=True)) for offsets in over]
    return Axis(hours, steps, tuple(over.values()) if len(over) > 1 else (1,)), stretches


def _zone_line(workload: Workload, zone: str, index: int, over: dict[tuple[float, ...], int], first: date) -> str:
    found: dict[float, int] = {}
    for offsets, days in over.items():
        found[offsets[index]] = found.get(offsets[index], 0) + days
    if len(found) == 1:
        return f"{workload.name}: {zone} is UTC{next(iter(found)):+g} h all quarter, as on {first}"
    parts = [f"UTC{offset:+g} h on {days} days" for offset, days in found.items()]
    return f"{workload.name}: {zone} is {' and '.join(parts)} of the quarter from {first}, so its hours move"


def _on_axis(local: Floats, zone: str | None, axis: Axis, offsets: Sequence[dict[str, float]]) -> Floats:
    """Values of local hours at the pieces of the axis."""
    if len(local) < 24:
        local = np.resize(local, 24)
    stretches = [to_utc(local, 0.0 if zone is None else o[zone], axis.pieces, axis.steps) for o in offsets]
    return stretches[0] if len(stretches) == 1 else np.concatenate(stretches)


def _hourly(requests: Requests, weights: Floats, assumptions: list[str]) -> Floats:
    """Mean rate per piece of the axis as given, req/s."""
    assumptions.extend(requests.assumptions)
    mean = requests.mean_req_per_s
    if mean is None:
        mean = (requests.peak_req_per_s or 0.0) / float(weights.max())
    return without_dust(weights * mean)


def without_dust(hourly: Floats) -> Floats:
    """Hours with less than a request in thirty years carry none; the others take their volume over."""
    dust = (hourly > 0.0) & (hourly < DUST_REQ_PER_S)
    if not dust.any():
        return hourly
    kept = np.where(dust, 0.0, hourly)
    return kept * (float(hourly.sum()) / float(kept.sum()))


# ---- growth --------------------------------------------------------------------------------------------------------


def _factors(workload: Workload, quarter: int) -> tuple[float, float]:
    """(mean of the quarter ÷ the rates as given, last month ÷ mean of the quarter).

    Growth is steady: g from quarter to quarter is g^(1/3) from month to month, and the rates given are the first
    quarter's mean. Longer requests count as more of them.
    """
    traffic = workload.traffic
    step = (1.0 + traffic.growth) * (1.0 + traffic.token_growth)
    if traffic.quarter_factors is not None:
        tokens = 1.0 + traffic.token_growth
        return traffic.quarter_factors[quarter - 1] * tokens ** (quarter - 1), _last_month(tokens)
    return step ** (quarter - 1), _last_month(step)


def _last_month(step: float) -> float:
    """The last month over the mean of a quarter's three; falling demand is sized on the first."""
    if step == 1.0:
        return 1.0
    month = step ** (1.0 / 3.0)
    return float(max(month, 1.0 / month) / ((1.0 / month + 1.0 + month) / 3.0))


def growth_taken(spec: Spec) -> list[str]:
    """What growth was planned with."""
    lines = []
    for w in spec.workloads:
        t = w.traffic
        if t.growth:
            lines.append(f"{w.name}: {100 * t.growth:+.3g} % requests a quarter, sized on each quarter's last month")
        if t.token_growth:
            lines.append(
                f"{w.name}: {100 * t.token_growth:+.3g} % tokens per request a quarter, planned as that many more "
                "requests of the lengths given"
            )
    return lines
