"""From a specification to demand: ordered slices, services, and request classes with rates for money and capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.base import PurchaseOption
from planner.catalog.catalog import Catalog
from planner.demand.lengths import ClassLengths, requests_of
from planner.demand.profile import hourly_weights, tile, to_utc, utc_offset_hours
from planner.demand.sizing import Bands, bands_for, sizing_rates
from planner.demand.slices import HourGroup, group_hours, hours_per_month, label, slice_means, slice_tops
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.spec.canonical import canonical
from planner.spec.types import PERCENTILE_VALUE, Spec, Tenancy, Workload
from planner.units import ms_to_s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QUARTER = 1
SPOT_SHARE_WITH_SLO = 0.5
"""Largest share on spot of a service that promised a latency, where the workload says none."""

DUST_REQ_PER_S = 1e-9
"""A rate below which an hour counts as empty."""

BURSTY = 10.0
"""Index of dispersion at 10 s above which sizing from it alone is not to be trusted."""


@dataclass(frozen=True)
class _Stream:
    """One workload with its rates."""

    workload: Workload
    classes: tuple[ClassLengths, ...]
    hourly: Floats
    """Mean rate per UTC hour of the axis, req/s."""
    sizing: Floats
    """Sizing rate per UTC hour, req/s."""
    means: tuple[float, ...] = ()
    """Per slice."""
    tops: tuple[float, ...] = ()
    """Sizing rate per slice."""


def build_demand(spec: Spec, catalog: Catalog) -> Demand:
    """Slices, services and request classes of a specification.

    Rates are req/s, lengths tokens, limits seconds. Hours of the slices add up to 730, and hours-weighted mean rates to
    every workload's volume. The order of workloads and of any list in the specification changes nothing.
    Raises InputError (S208) where a profile cannot reach its `peak_to_mean`, UnknownName for an unknown profile.
    """
    spec = canonical(spec)
    day = spec.horizon.start or spec.policy.price_date or catalog.as_of
    assumptions: list[str] = []
    streams = _streams(spec, catalog, day, assumptions)
    assumptions += _defaults_taken(spec.workloads)
    rates = np.stack([s.hourly for s in streams])
    groups = group_hours(rates)
    _note_merging(rates, groups, assumptions)
    means = slice_means(rates, groups)
    tops = slice_tops(np.stack([s.sizing for s in streams]), groups)
    streams = [
        _Stream(s.workload, s.classes, s.hourly, s.sizing, tuple(m[w] for m in means), tuple(t[w] for t in tops))
        for w, s in enumerate(streams)
    ]
    return Demand(
        slices=_slices(groups, rates.shape[1]),
        services=tuple(sorted((_service(members) for members in _shared(streams)), key=lambda s: s.id)),
        assumptions=tuple(assumptions),
    )


def _streams(spec: Spec, catalog: Catalog, day: date, assumptions: list[str]) -> list[_Stream]:
    shapes = [_weights(w, catalog, day, assumptions) for w in spec.workloads]
    hours = max(len(s) for s in shapes)
    return [_stream(w, tile(s, hours), assumptions) for w, s in zip(spec.workloads, shapes, strict=True)]


def _weights(workload: Workload, catalog: Catalog, day: date, assumptions: list[str]) -> Floats:
    """Weights of the UTC hours of a day or week; mean 1."""
    traffic = workload.traffic
    given = traffic.profile
    weights = catalog.profile(given).weights if isinstance(given, str) else given
    local = hourly_weights(weights, traffic.peak_to_mean)
    flat_given = weights is None or len(set(weights)) == 1
    if flat_given and float(np.ptp(local)) > 0.0:
        assumptions.append(
            f"{workload.name}: peak_to_mean {traffic.peak_to_mean:g} without a profile, so one peak a day at 14:00 "
            f"{traffic.timezone}"
        )
    if float(np.ptp(local)) == 0.0 or traffic.timezone == "UTC":
        return local
    offset = utc_offset_hours(traffic.timezone, day)
    whole = f", rounded to {round(offset):+d} h" if offset != round(offset) else ""
    assumptions.append(f"{workload.name}: {traffic.timezone} is UTC{offset:+g} h all quarter, as on {day}{whole}")
    return to_utc(local, offset)


def _stream(workload: Workload, weights: Floats, assumptions: list[str]) -> _Stream:
    requests = requests_of(workload)
    assumptions.extend(requests.assumptions)
    mean = requests.mean_req_per_s
    if mean is None:
        mean = (requests.peak_req_per_s or 0.0) / float(weights.max())
    hourly = _without_dust(weights * mean)
    percentile = _percentile(workload)
    sizing = hourly if percentile is None else sizing_rates(hourly, workload.traffic.dispersion_10s, percentile)
    return _Stream(workload, requests.classes, hourly, sizing)


def _without_dust(hourly: Floats) -> Floats:
    """Hours with less than a request in thirty years carry none; the others take their volume over."""
    dust = (hourly > 0.0) & (hourly < DUST_REQ_PER_S)
    if not dust.any():
        return hourly
    kept = np.where(dust, 0.0, hourly)
    return kept * (float(hourly.sum()) / float(kept.sum()))


def _percentile(workload: Workload) -> float | None:
    """The strictest percentile that the workload promises; None: throughput only."""
    promised = [workload.slo.limit("ttft"), workload.slo.limit("tpot")]
    return max((PERCENTILE_VALUE[p[0]] for p in promised if p), default=None)


def _defaults_taken(workloads: Sequence[Workload]) -> list[str]:
    """What the file left open, and what is warned of."""
    flat = [w.name for w in workloads if w.traffic.profile is None and w.traffic.peak_to_mean is None]
    promised = [w for w in workloads if _percentile(w) is not None]
    calm = [w.name for w in promised if "dispersion_10s" not in w.traffic.model_fields_set]
    bursty = [w.name for w in promised if w.traffic.dispersion_10s > BURSTY]
    lines = (
        (flat, "no profile given, so the same rate in every hour"),
        (calm, "no dispersion_10s given, so Poisson arrivals inside an hour"),
        (
            bursty,
            f"dispersion_10s above {BURSTY:g}: mean and dispersion describe such bursts poorly, so leave head-room",
        ),
    )
    return [f"{', '.join(names)}: {text}" for names, text in lines if names]


def _note_merging(rates: Floats, groups: Sequence[HourGroup], assumptions: list[str]) -> None:
    levels = len(group_hours(rates, most=rates.shape[1]))
    if levels > len(groups):
        assumptions.append(
            f"{levels} different hours are planned as {len(groups)} slices; each is sized for its busiest hour"
        )


def _slices(groups: Sequence[HourGroup], total: int) -> tuple[Slice, ...]:
    lengths = hours_per_month([len(g.hours) for g in groups])
    return tuple(
        Slice(
            id=f"q{QUARTER}.s{k + 1}", quarter=QUARTER, label=label(g.hours, total), hours_per_month=lengths[k], order=k
        )
        for k, g in enumerate(groups)
    )


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
    return (*engine, w.kind, w.sovereignty, w.resilience, w.purchase)


def _service_id(names: Sequence[str]) -> str:
    """Names joined, or the first and how many more; the first alone is already unique."""
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1} more"


def _service(members: list[_Stream]) -> Service:
    first = members[0].workload
    bands = [
        bands_for([s.means[t] for s in members], [s.tops[t] for s in members]) for t in range(len(members[0].means))
    ]
    promised = any(_percentile(s.workload) is not None for s in members)
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
    )


def _request_class(stream: _Stream, lengths: ClassLengths, bands: Sequence[Bands]) -> RequestClass:
    workload, traffic = stream.workload, stream.workload.traffic
    ttft, tpot = workload.slo.limit("ttft"), workload.slo.limit("tpot")
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
        client_region=workload.slo.client_region,
        max_context_tokens=workload.max_context_tokens,
        mean_req_per_s=tuple(m * lengths.share for m in stream.means),
        sizing_req_per_s=tuple(q * lengths.share for q in stream.tops),
        band_req_per_s=tuple(tuple(r * lengths.share for r in band) for band in rates),
        api_models=workload.api_equivalents if PurchaseOption.API in workload.purchase.options else (),
    )
