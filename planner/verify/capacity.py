"""Checks of demand and capacity: everything is served, by replicas that can."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from planner.demand.types import RequestClass, Service
from planner.verify.facts import Facts
from planner.verify.findings import TOLERANCE, Findings
from planner.verify.normalise import Normal, Running


def check_capacity(normal: Normal, facts: Facts, out: Findings) -> None:
    """All families of this module."""
    serve_demand(normal, facts, out)
    batch_deadline(normal, facts, out)
    replica_capacity(normal, facts, out)
    spot_limit(normal, facts, out)


def _places(facts: Facts) -> Iterator[tuple[Service, int, RequestClass, int, int]]:
    """(service, class index, class, slice, band) of every rate that must be served."""
    for service in facts.demand.services:
        for i, c in enumerate(service.classes):
            for t, bands in enumerate(c.band_req_per_s):
                for b in range(len(bands)):
                    yield service, i, c, t, b


def serve_demand(normal: Normal, facts: Facts, out: Findings) -> None:
    """Σ routed + API = rate, for every class, slice and band."""
    served: dict[tuple[str, int, int], float] = defaultdict(float)
    for running in normal.running:
        for c, rates in zip(running.service.classes, running.rates, strict=True):
            for t, bands in enumerate(rates):
                for b, x in enumerate(bands):
                    served[c.id, t, b] += x
    for called in normal.called:
        for t, bands in enumerate(called.rates):
            for b, x in enumerate(bands):
                served[called.request_class.id, t, b] += x
    for service, _, c, t, b in _places(facts):
        if service.is_batch:
            continue
        rate, had = c.band_req_per_s[t][b], served[c.id, t, b]
        # A small workload is not lost in a solver's absolute tolerance.
        allowed = min(TOLERANCE * max(1.0, rate), 1e-3 * rate) + 1e-12
        if not abs(had - rate) <= allowed:
            key = (c.id, facts.demand.slices[t].id, b)
            detail = "part of the demand is not served" if had < rate else "more is routed than is asked for"
            out.broken("serve_demand", key, detail, rate, had, "req/s")


def batch_deadline(normal: Normal, facts: Facts, out: Findings) -> None:
    """Σ_τ hours[w,τ]·(routed + API) ≥ Σ_τ hours[w,τ]·rate for every class and window of batch work; nothing outside.

    Of it, 1 − φ without spot (`spot_limit`).
    """
    for service in facts.demand.services:
        for i, c in enumerate(service.classes) if service.is_batch else ():
            done, on_spot = _done(normal, service, i, c, len(facts.demand.slices))
            for t, x in enumerate(done):
                if x > TOLERANCE and not any(hours[t] > 0 for hours in service.windows):
                    key = (c.id, facts.demand.slices[t].id)
                    out.broken("batch_deadline", key, "work outside its window", 0.0, x, "req/s")
            for w, hours in enumerate(service.windows):
                needed = math.fsum(h * c.mean_req_per_s[t] for t, h in enumerate(hours))
                had = math.fsum(h * x for h, x in zip(hours, done, strict=True))
                firm = had - math.fsum(h * x for h, x in zip(hours, on_spot, strict=True))
                late, spot = "the volume is not done in time", "too much of the class depends on spot"
                _window(out, (c.id, w), needed, had, math.fsum(hours), "batch_deadline", late)
                if firm < had:
                    least = (1.0 - service.max_spot_share) * needed
                    _window(out, (c.id, w), least, firm, math.fsum(hours), "spot_limit", spot)


def _done(normal: Normal, service: Service, i: int, c: RequestClass, slices: int) -> tuple[list[float], list[float]]:
    """[slice] req/s of a class of batch work that is done at all, and on spot."""
    done, on_spot = [0.0] * slices, [0.0] * slices
    for running in normal.running:
        if running.service.id == service.id:
            for t, bands in enumerate(running.rates[i]):
                done[t] += math.fsum(bands)
                on_spot[t] += math.fsum(bands) if running.deployment.spot else 0.0
    for called in normal.called:
        if called.request_class.id == c.id:
            for t, bands in enumerate(called.rates):
                done[t] += math.fsum(bands)
    return done, on_spot


def _window(
    out: Findings, key: tuple[str, int], needed: float, had: float, hours: float, family: str, detail: str
) -> None:
    """Compare volumes of a window, as mean rates over its hours: a small one is not lost in an absolute tolerance."""
    if needed <= 0:
        return
    rates = (needed / hours, had / hours)
    if rates[1] < rates[0] - min(TOLERANCE * max(1.0, rates[0]), 1e-3 * rates[0]):
        out.broken(family, key, detail, *rates, "req/s")
    else:
        out.at_most(family, key, rates[0], max(rates), "req/s", subject=(key[0],), detail=detail)


def replica_capacity(normal: Normal, facts: Facts, out: Findings) -> None:
    """margin · Σ_r x_r · use_r ≤ replicas · credit, for every capacity row, slice and band."""
    for running in normal.running:
        if running.capability is None:
            continue
        _unserved_classes(running, out)
        for t, replicas in enumerate(running.deployment.replicas):
            for b in range(len(running.service.band_weights[t])):
                rates = running.vector(t, b)
                for row in running.capability.rows:
                    load = facts.margin * math.fsum(x * u for x, u in zip(rates, row.use, strict=True))
                    out.at_most(
                        "replica_capacity",
                        (*running.key, facts.demand.slices[t].id, b, row.name),
                        load,
                        replicas * running.credit,
                        "replicas",
                        step=running.credit,
                        subject=running.key,
                        detail="more is routed to the replicas than they serve inside the promises",
                    )


def _unserved_classes(running: Running, out: Findings) -> None:
    assert running.capability is not None
    for c, served, rates in zip(running.service.classes, running.capability.served, running.rates, strict=True):
        carried = max((x for bands in rates for x in bands), default=0.0)
        if not served and carried > TOLERANCE:
            detail = "the configuration cannot serve this class"
            out.broken("replica_capacity", (*running.key, c.id), detail, 0.0, carried, "req/s")


def spot_limit(normal: Normal, facts: Facts, out: Findings) -> None:
    """non-spot rate + API ≥ (1 − φ) · rate, for every class, slice and band."""
    spot: dict[tuple[str, int, int, int], float] = defaultdict(float)
    for running in normal.running:
        if running.deployment.spot:
            for i, rates in enumerate(running.rates):
                for t, bands in enumerate(rates):
                    for b, x in enumerate(bands):
                        spot[running.service.id, i, t, b] += x
    for service, i, c, t, b in _places(facts):
        if service.is_batch:
            continue  # over a window, with its deadline
        on_spot = spot.get((service.id, i, t, b), 0.0)
        if on_spot > 0:
            rate = c.band_req_per_s[t][b]
            out.at_most(
                "spot_limit",
                (c.id, facts.demand.slices[t].id, b),
                (1.0 - service.max_spot_share) * rate,
                rate - on_spot,
                "req/s",
                subject=(c.id,),
                detail="too much of the class depends on spot",
            )
