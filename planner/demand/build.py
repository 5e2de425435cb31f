"""From a specification to demand: ordered slices, services, and request classes with rates for money and capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.base import PurchaseOption
from planner.catalog.catalog import Catalog
from planner.demand.held import check_held
from planner.demand.lengths import ClassLengths, requests_of
from planner.demand.periods import Period, month_of, periods, quarter_start
from planner.demand.quarters import NOTABLE, Quarter, growth_taken, percentile_of, plan_quarter
from planner.demand.sizing import Bands, bands_for
from planner.demand.slices import hours_per_month
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.spec.canonical import canonical
from planner.spec.types import PERCENTILE_VALUE, Resilience, Slo, Spec, Tenancy, Workload, WorkloadKind
from planner.units import HOURS_PER_MONTH, ms_to_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date


SPOT_SHARE_WITH_SLO = 0.5
"""Largest share on spot of a service that promised a latency, where the workload says none."""

BURSTY = 10.0
"""Index of dispersion at 10 s above which sizing from it alone is not to be trusted."""


@dataclass(frozen=True)
class _Stream:
    """One workload with its rates."""

    workload: Workload
    classes: tuple[ClassLengths, ...]
    means: tuple[float, ...] = ()
    """Mean rate per slice, req/s."""
    tops: tuple[float, ...] = ()
    """Sizing rate per slice."""
    windows: tuple[tuple[float, ...], ...] = ()
    """[window][slice] hours per month, batch work only."""


def build_demand(spec: Spec, catalog: Catalog) -> Demand:
    """Slices, services and request classes of a specification.

    Rates are req/s, lengths tokens, limits seconds. Hours of the slices add up to 730, and hours-weighted mean rates to
    every workload's volume. The order of workloads and of any list in the specification changes nothing.
    Raises InputError (S208) where a profile cannot reach its `peak_to_mean`, (S304) where the catalog does not know a
    running commitment; UnknownName for an unknown profile.
    """
    check_held(spec, catalog)
    spec = canonical(spec)
    start = first_day(spec, catalog)
    assumptions: list[str] = []
    requests = [requests_of(w) for w in spec.workloads]
    quarters: dict[int, Quarter] = {}
    for q in range(1, spec.horizon.quarters + 1):
        days = (quarter_start(start, q), quarter_start(start, q + 1))
        quarters[q] = plan_quarter(spec, catalog, requests, q, days, assumptions)
    assumptions += growth_taken(spec)
    assumptions += _defaults_taken(spec.workloads)
    _note_merging(quarters[1], assumptions)
    calendar = periods(spec.horizon.quarters, _changes(spec, start))
    streams = [
        _Stream(
            workload,
            requests[w].classes,
            tuple(m[w] for p in calendar for m in quarters[p.quarter].means),
            tuple(t[w] for p in calendar for t in quarters[p.quarter].tops),
            _windows(w, calendar, quarters),
        )
        for w, workload in enumerate(spec.workloads)
    ]
    return Demand(
        slices=_slices(calendar, quarters),
        services=tuple(sorted((_service(members) for members in _shared(streams)), key=lambda s: s.id)),
        assumptions=tuple(assumptions),
    )


def _windows(w: int, calendar: Sequence[Period], quarters: Mapping[int, Quarter]) -> tuple[tuple[float, ...], ...]:
    """[window][slice] hours per month of a workload: the windows of each period, 0 in the slices of the others."""
    sizes = [len(quarters[p.quarter].groups) for p in calendar]
    found = []
    for j, period in enumerate(calendar):
        quarter = quarters[period.quarter]
        before, after = (0.0,) * sum(sizes[:j]), (0.0,) * sum(sizes[j + 1 :])
        unit = HOURS_PER_MONTH * period.share / float(quarter.axis.lengths.sum())
        for window in quarter.windows[w]:
            found.append((*before, *(unit * n for n in window), *after))
    return tuple(found)


def first_day(spec: Spec, catalog: Catalog) -> date:
    """First day of the horizon: as given, else the day of the prices."""
    return spec.horizon.start or spec.policy.price_date or catalog.as_of


def _changes(spec: Spec, start: date) -> list[float]:
    """Months at which something that is there comes to its end."""
    ends = [c.ends for c in spec.fleet.commitments] + [o.ends for o in spec.fleet.owned if o.ends is not None]
    return [month_of(day, start, spec.horizon.quarters) for day in ends]


def _defaults_taken(workloads: Sequence[Workload]) -> list[str]:
    """What the file left open, and what is warned of."""
    traced = {w.name for w in workloads if w.traffic.trace is not None}
    shaped = {w.name for w in workloads if w.traffic.trace is not None and w.traffic.trace.weights}
    batch = [w for w in workloads if w.kind is WorkloadKind.BATCH]
    online = [w for w in workloads if w.kind is not WorkloadKind.BATCH]
    waiting = [w.name for w in batch if w.slo != Slo() or w.resilience != Resilience()]
    flat = [w.name for w in online if w.traffic.profile is None and w.traffic.peak_to_mean is None]
    flat = [name for name in flat if name not in shaped]
    promised = [w for w in workloads if percentile_of(w) is not None]
    calm = [w.name for w in promised if "dispersion_10s" not in w.traffic.model_fields_set and w.name not in traced]
    bursty = [w.name for w in promised if w.traffic.dispersion_10s > BURSTY and w.name not in traced]
    lines = (
        (waiting, "batch work has a deadline, so latency promises, spares and losses are not planned for"),
        (flat, "no profile given, so the same rate in every hour"),
        (calm, "no dispersion_10s given, so Poisson arrivals inside an hour"),
        (
            bursty,
            f"dispersion_10s above {BURSTY:g}: mean and dispersion describe such bursts poorly, so leave head-room",
        ),
    )
    return [f"{', '.join(names)}: {text}" for names, text in lines if names]


def _note_merging(quarter: Quarter, assumptions: list[str]) -> None:
    if quarter.levels <= len(quarter.groups):
        return
    line = (
        f"{quarter.levels} different hours are planned as {len(quarter.groups)} slices; each is sized for its "
        "busiest hour"
    )
    if quarter.overstatement > NOTABLE:
        line += f", which makes machines at most {100 * quarter.overstatement:.2g} % dearer than hour by hour"
        line += f" (1 % with horizon.slices_per_quarter: {quarter.enough})" if quarter.enough else ""
    assumptions.append(line)


def _slices(calendar: Sequence[Period], quarters: Mapping[int, Quarter]) -> tuple[Slice, ...]:
    """Slices in order of time: those of a quarter once for each of its periods, with its share of their hours."""
    found: list[Slice] = []
    for period in calendar:
        quarter = quarters[period.quarter]
        lengths = hours_per_month([float(quarter.axis.lengths[list(g.hours)].sum()) for g in quarter.groups])
        same = [p for p in calendar if p.quarter == period.quarter]
        part = "" if len(same) == 1 else f"{'abcdefghijklmnopqrstuvwxyz'[same.index(period)]}"
        for k, g in enumerate(quarter.groups):
            hours = lengths[k] if len(same) == 1 else lengths[k] * period.share
            found.append(
                Slice(
                    id=f"q{period.quarter}{part}.s{k + 1}",
                    quarter=period.quarter,
                    label=quarter.axis.name(g),
                    hours_per_month=hours,
                    order=len(found),
                    begins_month=period.begins_month,
                    ends_month=period.ends_month,
                )
            )
    return tuple(found)


def _shared(streams: Sequence[_Stream]) -> list[list[_Stream]]:
    """Streams that share replicas, gathered; each list is sorted by workload name."""
    found: dict[object, list[_Stream]] = {}
    for stream in streams:
        found.setdefault(_sharing_key(stream.workload), []).append(stream)
    return list(found.values())


def _sharing_key(w: Workload) -> object:
    if w.tenancy is Tenancy.DEDICATED:
        return w.name
    engine = (w.models, w.precisions, w.kv_precisions, w.engines, w.gpu_memory_utilization, w.max_num_seqs)
    if w.kind is WorkloadKind.BATCH:
        return (*engine, w.kind, w.window, w.sovereignty, w.purchase)
    return (*engine, w.kind, w.sovereignty, w.resilience, w.purchase)


def _service_id(names: Sequence[str]) -> str:
    """Names joined, or the first and how many more; the first alone is already unique."""
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1} more"


def _service(members: list[_Stream]) -> Service:
    first = members[0].workload
    bands = [
        bands_for([s.means[t] for s in members], [s.tops[t] for s in members]) for t in range(len(members[0].means))
    ]
    promised = any(percentile_of(s.workload) is not None for s in members)
    share = first.purchase.max_spot_share
    return Service(
        id=_service_id([s.workload.name for s in members]),
        workloads=tuple(s.workload.name for s in members),
        classes=tuple(_request_class(s, c, bands) for s in members for c in s.classes),
        models=first.models,
        precisions=first.precisions,
        kv_precisions=first.kv_precisions,
        engines=first.engines,
        gpu_memory_utilization=first.gpu_memory_utilization,
        max_num_seqs=first.max_num_seqs,
        kind=first.kind,
        sovereignty=first.sovereignty,
        resilience=first.resilience,
        options=first.purchase.options,
        max_spot_share=share if share is not None else (SPOT_SHARE_WITH_SLO if promised else 1.0),
        band_weights=tuple(b.weights for b in bands),
        windows=members[0].windows,
    )


def _request_class(stream: _Stream, lengths: ClassLengths, bands: Sequence[Bands]) -> RequestClass:
    workload, traffic = stream.workload, stream.workload.traffic
    slo = Slo() if workload.kind is WorkloadKind.BATCH else workload.slo
    ttft, tpot = slo.limit("ttft"), slo.limit("tpot")
    rates = [b.rates(m, q) for b, m, q in zip(bands, stream.means, stream.tops, strict=True)]
    return RequestClass(
        id=f"{workload.name}/{lengths.name}",
        workload=workload.name,
        name=lengths.name,
        input_tokens=lengths.input_tokens,
        output_tokens=lengths.output_tokens,
        cached_input_tokens=lengths.input_tokens * traffic.cached_input_fraction,
        ttft_limit_s=ms_to_s(ttft[1]) if ttft else None,
        ttft_quantile=PERCENTILE_VALUE[ttft[0]] if ttft else None,
        tpot_limit_s=ms_to_s(tpot[1]) if tpot else None,
        tpot_quantile=PERCENTILE_VALUE[tpot[0]] if tpot else None,
        client_region=slo.client_region,
        max_context_tokens=workload.max_context_tokens,
        mean_req_per_s=tuple(m * lengths.share for m in stream.means),
        sizing_req_per_s=tuple(q * lengths.share for q in stream.tops),
        band_req_per_s=tuple(tuple(r * lengths.share for r in band) for band in rates),
        api_models=workload.api_equivalents if PurchaseOption.API in workload.purchase.options else (),
    )
