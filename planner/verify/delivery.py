"""What a plan's deployments deliver at its load, and how much more they could take."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.demand.types import Service
from planner.performance.types import ReplicaCapability
from planner.units import s_to_ms
from planner.verify.facts import Facts, round_trip_s
from planner.verify.normalise import Called, Normal, Running
from planner.verify.reroute import Host, largest_scale
from planner.verify.types import Delivery


def deliveries(normal: Normal, facts: Facts) -> tuple[Delivery, ...]:
    """One record per deployment that can be assessed, in the order of the plan."""
    return tuple(_delivery(r, r.capability, facts) for r in normal.running if r.capability is not None)


def _delivery(running: Running, capability: ReplicaCapability, facts: Facts) -> Delivery:
    hours = busy = 0.0
    peak, ttft, tpot = 0.0, None, None
    load, row = 0.0, None
    for t, replicas in enumerate(running.deployment.replicas):
        room = replicas * running.credit
        if room <= 0:
            continue
        for b, weight in enumerate(running.service.band_weights[t]):
            rates = running.vector(t, b)
            margined = tuple(facts.margin * x for x in rates)
            hours += facts.months_per_slice[t] * weight * room
            busy += facts.months_per_slice[t] * weight * _work(rates, capability)
            peak = max(peak, _work(margined, capability) / room)
            for candidate in capability.rows:
                used = math.fsum(x * u for x, u in zip(margined, candidate.use, strict=True)) / room
                if used > load:
                    load, row = used, candidate.name
            if any(rates):
                tpot = _worst(tpot, capability.tpot_s(margined, room))
                ttft = _worst(ttft, ttft_s(capability, running, margined, room, facts))
    return Delivery(
        service=running.service.id,
        config=running.deployment.config,
        pool=running.pool.id,
        spot=running.deployment.spot,
        capability=capability,
        utilization_mean=busy / hours if hours > 0 else 0.0,
        utilization_peak=peak,
        row_load_peak=load,
        binding_row=row,
        ttft_p95_ms=_finite_ms(ttft),
        tpot_p95_ms=_finite_ms(tpot),
    )


def _work(rates: tuple[float, ...], capability: ReplicaCapability) -> float:
    return math.fsum(x * w for x, w in zip(rates, capability.work_s, strict=True))


def _worst(before: float | None, now: float | None) -> float | None:
    return now if before is None else before if now is None else max(before, now)


def _finite_ms(seconds: float | None) -> float | None:
    return s_to_ms(seconds) if seconds is not None and math.isfinite(seconds) else None


def ttft_s(
    capability: ReplicaCapability, running: Running, rates: tuple[float, ...], replicas: float, facts: Facts
) -> float | None:
    """p95 of TTFT of the slowest routed class, seconds (DESIGN §4): S + one iteration + round trip + waiting.

    Waiting is the M/G/1 tail −ln(1 − 0.95)·c/(1 − ρ) of prefill work, ρ = Σ_r x_r·S_r / n, c the largest mean residual
    S/2 of the classes (lengths are constant within a class). None where prefill times are unknown; inf when ρ ≥ 1.
    """
    routed = [i for i, x in enumerate(rates) if x > 0]
    prefill = capability.prefill_s
    if not routed or not all(prefill[i] > 0 for i in routed):
        return None
    rho = math.fsum(rates[i] * prefill[i] for i in routed) / replicas
    if rho >= 1.0:
        return math.inf
    wait = -math.log(0.05) * max(prefill[i] / 2.0 for i in routed) / (1.0 - rho)
    iteration = capability.idle_iteration_s or 0.0
    classes = running.service.classes
    return max(
        prefill[i] + iteration + wait + round_trip_s(facts.catalog, classes[i], running.pool.country) for i in routed
    )


def headroom_factor(normal: Normal, facts: Facts) -> float | None:
    """Largest t such that the plan's replicas, loads re-routed, and its API rates serve t times the demand.

    Over the top band of every slice; API rates stay as planned. None where there is no demand.
    """
    best = math.inf
    for service in facts.demand.services:
        running = [r for r in normal.running if r.service.id == service.id and r.capability is not None]
        called = [c for c in normal.called if c.service.id == service.id]
        if service.is_batch:
            best = min([best, *(_in_window(service, running, called, hours, facts) for hours in service.windows)])
            continue
        for t in range(len(facts.demand.slices)):
            rates = [cls.band_req_per_s[t][-1] for cls in service.classes]
            api = [math.fsum(c.rates[t][-1] for c in called if c.request_class.id == cls.id) for cls in service.classes]
            hosts = [Host.of(r, r.deployment.replicas[t], facts.margin) for r in running]
            best = min(best, largest_scale(rates, hosts, api))
    return best if math.isfinite(best) else None


def _in_window(
    service: Service, running: Sequence[Running], called: Sequence[Called], hours: Sequence[float], facts: Facts
) -> float:
    """Multiple of a window's volume that can be done in it: a host per deployment and slice, for as long as it runs."""
    rates = [math.fsum(h * c.mean_req_per_s[t] for t, h in enumerate(hours)) for c in service.classes]
    api = [
        math.fsum(h * c.rates[t][0] for c in called if c.request_class.id == cls.id for t, h in enumerate(hours))
        for cls in service.classes
    ]
    hosts = [
        Host.of(r, r.deployment.replicas[t] * h, facts.margin) for r in running for t, h in enumerate(hours) if h > 0
    ]
    return largest_scale(rates, hosts, api)
