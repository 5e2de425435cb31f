"""What a spec asks for and what could serve it, for whoever asks later why something was not chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.candidates.types import Candidate, Pool, Problem
from planner.catalog.catalog import Catalog
from planner.demand.types import Service
from planner.explain.breakeven import api_bills, requests_per_month
from planner.performance.types import ReplicaCapability
from planner.report.types import AskedView, PossibleView
from planner.units import SECONDS_PER_HOUR


def asked(services: Sequence[Service], catalog: Catalog) -> tuple[AskedView, ...]:
    """What each service may use, defaults filled in."""
    from planner.candidates.hosts import service_engines, service_precisions  # loads numpy: not before a solve

    return tuple(
        AskedView(
            service=s.id, workloads=s.workloads, models=s.models,
            precisions=tuple(sorted({p for m in s.models for p in service_precisions(s, m, catalog)})),
            engines=service_engines(s, catalog),
            apis=tuple(sorted({a for c in s.classes for a in c.api_models})),
            purchase_options=tuple(o.value for o in s.options),
        )
        for s in services
    )  # fmt: skip


def possible(problem: Problem, kept: Sequence[Candidate]) -> tuple[PossibleView, ...]:
    """The candidates `kept` under each of their options and all APIs, with their prices, by service and price."""
    services = {s.id: s for s in problem.demand.services}
    pools = {p.id: p for p in problem.pools}
    rows = [row for c in kept if c.pool in pools for row in _machines(c, pools[c.pool], services[c.service])]
    for service in services.values():
        rows += _apis(service, problem)

    def order(row: PossibleView) -> tuple[str, float, str, str]:
        price = row.usd_per_1000_requests
        return row.service, math.inf if price is None else price, row.offer, row.config or ""

    return tuple(sorted(rows, key=order))


def _machines(candidate: Candidate, pool: Pool, service: Service) -> list[PossibleView]:
    config = candidate.capability.config
    capacity = mix_capacity(candidate.capability, service) if all(candidate.capability.served) else None
    rows = []
    for option in candidate.options:
        price = pool.price(option)
        if price is not None:
            each = price.usd_per_hour / pool.accelerators
            replica = each * config.accelerators
            rows.append(PossibleView(
                service=candidate.service, offer=price.offer, config=config.id, provider=pool.provider,
                region=pool.region, country=pool.country, accelerator=pool.accelerator,
                usd_per_accelerator_hour=each, usd_per_replica_hour=replica,
                usd_per_1000_requests=1000.0 * replica / (capacity * SECONDS_PER_HOUR) if capacity else None,
            ))  # fmt: skip
    return rows


def _apis(service: Service, problem: Problem) -> list[PossibleView]:
    slices = problem.demand.slices
    requests = math.fsum(requests_per_month(c.mean_req_per_s, slices) for c in service.classes)
    bills = api_bills(service, slices, problem.apis)
    offers = {a.api: a for a in problem.apis if a.service == service.id}
    return [
        PossibleView(
            service=service.id, offer=name, config=None, provider=a.provider, region=a.region, country=None,
            accelerator=None, usd_per_accelerator_hour=None, usd_per_replica_hour=None,
            usd_per_1000_requests=1000.0 * bills[name] / requests if name in bills and requests > 0 else None,
        )
        for name, a in sorted(offers.items())
    ]  # fmt: skip


def mix_capacity(capability: ReplicaCapability, service: Service) -> float | None:
    """req/s of the served classes, in the proportions of the busiest slice, that one replica carries in its SLO.

    1 / max_row Σ_r s_r · use[row,r], s_r the class's share of the rate. None where nothing is served or no row limits.
    """
    totals = [math.fsum(c.sizing_req_per_s[i] for c in service.classes) for i in range(_slices(service))]
    if not totals or max(totals) <= 0:
        return None
    peak = totals.index(max(totals))
    rates = [
        c.sizing_req_per_s[peak] if served else 0.0
        for c, served in zip(service.classes, capability.served, strict=True)
    ]
    total = math.fsum(rates)
    if total <= 0:
        return None
    load = max((math.fsum(r / total * u for r, u in zip(rates, row.use, strict=True)) for row in capability.rows),
               default=0.0)  # fmt: skip
    return 1.0 / load if load > 0 else None


def _slices(service: Service) -> int:
    return len(service.classes[0].sizing_req_per_s) if service.classes else 0
