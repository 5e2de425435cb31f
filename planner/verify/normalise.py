"""A plan as arrays, with everything that is not even well-formed taken out and reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.catalog.types import ApiOffer
from planner.demand.types import RequestClass, Service
from planner.performance.types import Refusal, ReplicaCapability
from planner.verify.facts import Facts, checks_text
from planner.verify.market import PoolFacts, Tariff
from planner.verify.types import Violation

Rates = list[list[float]]
"""[slice][band] req/s."""


@dataclass(frozen=True, slots=True)
class Bought:
    """A purchase with its price."""

    index: int
    purchase: Purchase
    pool: PoolFacts
    tariff: Tariff


@dataclass(frozen=True, slots=True)
class Running:
    """A deployment with its assessment. `rates[class][slice][band]` are routed req/s."""

    index: int
    deployment: Deployment
    service: Service
    pool: PoolFacts
    capability: ReplicaCapability | None
    accelerators: int
    """g, per replica."""
    rates: tuple[Rates, ...]

    @property
    def key(self) -> tuple[str, ...]:
        d = self.deployment
        return (d.service, d.config, d.pool, "spot" if d.spot else "firm")

    @property
    def credit(self) -> float:
        """Capacity that one replica counts for."""
        return self.pool.spot.credit if self.deployment.spot and self.pool.spot else 1.0

    def vector(self, slice_: int, band: int) -> tuple[float, ...]:
        """[class] routed req/s."""
        return tuple(r[slice_][band] for r in self.rates)


@dataclass(frozen=True, slots=True)
class Called:
    """An API use with its offer. `rates[slice][band]` req/s."""

    index: int
    use: ApiUse
    service: Service
    request_class: RequestClass
    offer: ApiOffer
    rates: Rates


@dataclass(frozen=True, slots=True)
class Normal:
    """The well-formed part of a plan, resolved."""

    bought: tuple[Bought, ...]
    running: tuple[Running, ...]
    called: tuple[Called, ...]

    def instances(self, pool_id: str, options: Sequence[PurchaseOption], slice_: int) -> int:
        """Instances of a pool bought under any of the options in a slice."""
        return sum(
            b.purchase.instances[slice_] for b in self.bought if b.pool.id == pool_id and b.purchase.option in options
        )


def _counts(counts: Sequence[int], slices: int) -> str | None:
    if len(counts) != slices:
        return f"{len(counts)} slices instead of {slices}"
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in counts):
        return "counts must be whole and not negative"
    return None


def _rates(routes: Sequence[Route], service: Service, found: list[Violation], what: tuple[str, ...]) -> list[Rates]:
    """[class][slice][band] sums of the routes; routes to nowhere are reported."""
    index = {c.id: i for i, c in enumerate(service.classes)}
    rates = [[[0.0 for _ in bands] for bands in c.band_req_per_s] for c in service.classes]
    for route in routes:
        i = index.get(route.request_class)
        fits = i is not None and 0 <= route.slice < len(rates[i]) and 0 <= route.band < len(rates[i][route.slice])
        key = (*what, route.request_class, route.slice, route.band)
        if i is None or not fits:
            found.append(Violation(family="serve_demand", key=key, detail="the route has no such class, slice or band"))
        elif not math.isfinite(route.req_per_s) or route.req_per_s < 0:
            detail = f"a route carries {route.req_per_s} req/s"
            found.append(Violation(family="serve_demand", key=key, detail=detail))
        else:
            rates[i][route.slice][route.band] += route.req_per_s
    return rates


def _bought(index: int, purchase: Purchase, facts: Facts, found: list[Violation]) -> Bought | None:
    key = (purchase.pool, purchase.option.value)
    tariff = facts.market.tariff(purchase.pool, purchase.option)
    pool = facts.market.pool(purchase.pool)
    if tariff is None or pool is None:
        found.append(Violation(family="offer", key=key, detail="the catalog has no such offer"))
        return None
    fault = _counts(purchase.instances, len(facts.demand.slices))
    if fault:
        found.append(Violation(family="integrality", key=key, unit="instances", detail=fault))
        return None
    return Bought(index, purchase, pool, tariff)


def _capability(
    deployment: Deployment, service: Service, pool: PoolFacts, facts: Facts, found: list[Violation]
) -> ReplicaCapability | None:
    answer = facts.capability(service, deployment.config, pool)
    if isinstance(answer, ReplicaCapability):
        return answer
    key = (deployment.service, deployment.config, deployment.pool)
    detail = "no such configuration is possible there" if answer is None else checks_text(answer.checks)
    found.append(Violation(family="candidate", key=key, detail=detail))
    return None


def _accelerators(deployment: Deployment, service: Service, pool: PoolFacts, facts: Facts) -> int:
    config = facts.configurations(service, pool).get(deployment.config)
    if config is None:
        return 0
    return config.config.accelerators if isinstance(config, Refusal) else config.accelerators


def _running(index: int, deployment: Deployment, facts: Facts, found: list[Violation]) -> Running | None:
    key = (deployment.service, deployment.config, deployment.pool)
    service, pool = facts.services.get(deployment.service), facts.market.pool(deployment.pool)
    if service is None or pool is None:
        detail = "no such service" if service is None else "no such pool"
        found.append(Violation(family="candidate", key=key, detail=detail))
        return None
    fault = _counts(deployment.replicas, len(facts.demand.slices))
    if fault:
        found.append(Violation(family="integrality", key=key, unit="replicas", detail=fault))
        return None
    rates = _rates(deployment.routes, service, found, key)
    capability = _capability(deployment, service, pool, facts, found)
    size = _accelerators(deployment, service, pool, facts)
    return Running(index, deployment, service, pool, capability, size, tuple(rates))


def _called(index: int, use: ApiUse, facts: Facts, found: list[Violation]) -> Called | None:
    key = (use.request_class, use.api)
    owner, offer = facts.classes.get(use.request_class), facts.market.api(use.api)
    if owner is None or offer is None:
        detail = "no such request class" if owner is None else "the catalog has no such API"
        found.append(Violation(family="offer", key=key, detail=detail))
        return None
    service, position, request_class = owner
    if any(r.request_class != use.request_class for r in use.routes):
        found.append(Violation(family="serve_demand", key=key, detail="a route of another request class"))
    routes = [r for r in use.routes if r.request_class == use.request_class]
    return Called(index, use, service, request_class, offer, _rates(routes, service, found, key)[position])


def normalise(plan: Plan, facts: Facts) -> tuple[Normal, list[Violation]]:
    """Resolve every name and shape of a plan; what cannot be resolved is left out and reported.

    Families of the violations: `offer` (unknown pool, option or API), `candidate` (unknown service or configuration, or
    one that performance refuses), `integrality` (counts), `serve_demand` (routes to nowhere).
    """
    found: list[Violation] = []
    bought = [_bought(i, p, facts, found) for i, p in enumerate(plan.purchases)]
    running = [_running(i, d, facts, found) for i, d in enumerate(plan.deployments)]
    called = [_called(i, a, facts, found) for i, a in enumerate(plan.api)]
    normal = Normal(
        tuple(b for b in bought if b), tuple(r for r in running if r), tuple(c for c in called if c)
    )  # fmt: skip
    return normal, found
