"""Checks of demand and capacity: everything is served, by replicas that can."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from planner.demand.types import RequestClass, Service
from planner.spec.types import SpareDomain
from planner.verify.facts import Facts
from planner.verify.findings import TOLERANCE, Findings
from planner.verify.normalise import Normal, Running
from planner.verify.reroute import Host, largest_scale


def check_capacity(normal: Normal, facts: Facts, out: Findings) -> None:
    """All families of this module."""
    serve_demand(normal, facts, out)
    replica_capacity(normal, facts, out)
    spot_limit(normal, facts, out)
    spare(normal, facts, out)


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


def spare(normal: Normal, facts: Facts, out: Findings) -> None:
    """With any `count` replicas of the service gone, what is routed to its replicas still finds room in the others.

    Checked in every slice and band; the load may be re-routed between the service's deployments. An API share needs no
    spare. It binds where the loss of one replica more could not be borne. Domains other than `replica` are not
    checked, so they are reported as violated.
    """
    for service in facts.demand.services:
        rule = service.resilience.spare
        if service.resilience.survive_loss_of:
            out.broken("survive_loss", (service.id,), "survival rules are not checked, so no plan counts as verified")
        if rule is None or rule.count == 0:
            continue
        if rule.domain is not SpareDomain.REPLICA:
            out.broken("spare", (service.id,), f"spares by {rule.domain} are not checked")
            continue
        running = [r for r in normal.running if r.service.id == service.id and r.capability is not None]
        for t in range(len(facts.demand.slices)):
            for b in range(len(service.band_weights[t])):
                _spare_in_band(service, running, (t, b), rule.count, facts, out)


def _spare_in_band(
    service: Service, running: Sequence[Running], place: tuple[int, int], count: int, facts: Facts, out: Findings
) -> None:
    slice_, band = place
    wanted = [math.fsum(r.vector(slice_, band)[i] for r in running) for i in range(len(service.classes))]
    if sum(wanted) <= 0:
        return
    standing = [r for r in running if r.deployment.replicas[slice_] > 0]
    worst = _worst_scale(standing, slice_, wanted, count, facts.margin)
    top = band == len(service.band_weights[slice_]) - 1
    tight = top and _worst_scale(standing, slice_, wanted, count + 1, facts.margin) < 1.0 - TOLERANCE
    out.at_most(
        "spare",
        (service.id, facts.demand.slices[slice_].id, band),
        1.0,
        worst,
        "times the routed rate",
        step=math.inf if tight else 0.0,
        subject=(service.id,),
        detail=f"with {count} replica(s) lost the others cannot serve what was routed to them",
    )


def _worst_scale(standing: Sequence[Running], slice_: int, wanted: Sequence[float], count: int, margin: float) -> float:
    """Multiple of the rates `wanted` that is still served whichever `count` replicas are lost; above 1 it is only known
    to be enough."""
    worst = math.inf if standing else 0.0
    total = sum(r.deployment.replicas[slice_] for r in standing)
    for lost in combinations_with_replacement(range(len(standing)), min(count, total)):
        left = [r.deployment.replicas[slice_] - lost.count(i) for i, r in enumerate(standing)]
        if min(left) >= 0:
            hosts = [Host.of(r, n, margin) for r, n in zip(standing, left, strict=True)]
            worst = min(worst, largest_scale(wanted, hosts, enough=1.0))
    return worst
