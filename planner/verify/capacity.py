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
    for _, _, c, t, b in _places(facts):
        rate, had = c.band_req_per_s[t][b], served[c.id, t, b]
        # A small workload is not lost in a solver's absolute tolerance.
        allowed = min(TOLERANCE * max(1.0, rate), 1e-3 * rate) + 1e-12
        if not abs(had - rate) <= allowed:
            key = (c.id, facts.demand.slices[t].id, b)
            detail = "part of the demand is not served" if had < rate else "more is routed than is asked for"
            out.broken("serve_demand", key, detail, rate, had, "req/s")


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
