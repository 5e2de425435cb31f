"""Failure domains: which services need zones apart, the pools of each zone, and what must stay in one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from planner.candidates.types import Pool
from planner.catalog.catalog import Catalog
from planner.demand.types import Service
from planner.spec.types import SpareDomain, WorkloadKind

ANY = "*"
"""Zone of a pool that may stand anywhere in its region."""


def needs_zones(service: Service) -> bool:
    """Whether a rule of the service tells zones apart."""
    return "zone" in _rules(service) or _spare_domain(service) is SpareDomain.ZONE


def _rules(service: Service) -> set[str]:
    """What the service must survive the loss of; batch work waits instead."""
    rule = service.resilience
    return set() if service.kind is WorkloadKind.BATCH or rule.serve_fraction == 0 else set(rule.survive_loss_of)


def _spare_domain(service: Service) -> SpareDomain | None:
    spare = service.resilience.spare
    return None if spare is None or spare.count == 0 or service.kind is WorkloadKind.BATCH else spare.domain


def spares_by_instance(service: Service) -> bool:
    """Whether it matters to the service which of its replicas share an instance."""
    return _spare_domain(service) is SpareDomain.INSTANCE


def in_zones(pools: Iterable[Pool], catalog: Catalog) -> tuple[Pool, ...]:
    """The pools with each that may stand anywhere in a region of known zones split into one per zone.

    Zones are those that the catalog lists for the region and those that offers there name. Prices, stock and spot terms
    are the region's; whether every zone has the accelerator is not known (an assumption). Machines of one's own, and of
    a commitment that runs already, stay where they are.
    """
    listed = list(pools)
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    for pool in listed:
        if pool.zone != ANY:
            named[pool.provider, pool.region].add(pool.zone)
    found = []
    taken = {p.id for p in listed}
    for pool in listed:
        region = catalog.region(pool.provider, pool.region)
        zones = named[pool.provider, pool.region] | set(region.zones if region else ())
        if pool.zone != ANY or pool.provider == "owned" or pool.commitment is not None or not zones:
            found.append(pool)
            continue
        for zone in sorted(zones):
            name = f"{pool.provider}/{pool.region}/{zone}/{pool.instance_type}"
            if name not in taken:
                found.append(pool.model_copy(update={"id": name, "zone": zone}))
    return tuple(sorted(found, key=lambda p: p.id))


def place_of(service: Service, pool: Pool) -> tuple[str, ...]:
    """The smallest place that the rules of a service tell apart; () where none does.

    Inside of it one pool may replace another, not across.
    """
    rules = _rules(service)
    if needs_zones(service):
        return (pool.provider, pool.region, pool.zone)
    if rules & {"region", "spot"}:
        return (pool.provider, pool.region)
    return (pool.provider,) if "provider" in rules else ()


def survives_spot(service: Service) -> bool:
    """Whether the service must live through the loss of all spot of a region."""
    return "spot" in _rules(service)


def api_place_matters(service: Service) -> bool:
    """Whether an API of the service can be lost, so that another one is not the same."""
    return bool(_rules(service) & {"provider", "region"})
