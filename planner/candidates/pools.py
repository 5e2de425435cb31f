"""Pools from the catalog's offers and from the machines that the user owns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from planner.base import Check, CheckKind, Confidence, PurchaseOption
from planner.candidates.places import OWN, provider_checks
from planner.candidates.types import OptionPrice, Pool, Rejected, SpotTerms
from planner.catalog.catalog import Catalog
from planner.catalog.types import InstanceType, Offer
from planner.demand.held import held_offer
from planner.demand.periods import month_of, quarter_start
from planner.spec.types import HeldCommitment, OwnedMachines, Spec, SpotModel, SpotPolicy


def build_pools(spec: Spec, catalog: Catalog) -> tuple[tuple[Pool, ...], tuple[Rejected, ...]]:
    """All pools in canonical order, and the offers that were set aside with the reason."""
    offers, rejected = current_offers(catalog)
    by_pool: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_pool[offer.pool_id].append(offer)
    when = When(spec, catalog)
    pools = [_pool(pool_id, rows, catalog, when) for pool_id, rows in sorted(by_pool.items())]
    allowed = [p for p in pools if not provider_checks(p.provider, spec.policy.providers, catalog)]
    finder = _FallbackFinder(allowed)
    with_spot = [_with_spot(pool, finder, spec.policy.spot, catalog) for pool in pools]
    own = [*owned_pools(spec, catalog), *held_pools(spec, catalog, when)]
    return tuple(sorted([*with_spot, *own], key=lambda p: p.id)), tuple(rejected)


class When:
    """The horizon's calendar: what prices and offers are in each quarter."""

    def __init__(self, spec: Spec, catalog: Catalog) -> None:
        self.catalog = catalog
        self.start = spec.horizon.start or spec.policy.price_date or catalog.as_of
        self.quarters = spec.horizon.quarters

    def month(self, day: date) -> float:
        """Months from the start of the horizon."""
        return month_of(day, self.start, self.quarters)

    def factors(self, offer: Offer) -> tuple[float, ...]:
        """[quarter] price relative to today's, as it is on the quarter's first day; empty: no change."""
        days = [quarter_start(self.start, q) for q in range(1, self.quarters + 1)]
        found = tuple(self.catalog.price_factor(offer, day) for day in days)
        return found if any(f != 1.0 for f in found) else ()

    def from_month(self, offer: Offer) -> float:
        """From when on it is sold."""
        return 0.0 if offer.available_from is None else max(0.0, self.month(offer.available_from))


NOT_FOR_SALE = {
    "superseded": ("a current price", "the seed article's price gives way to a current one of the same provider"),
    "not_sold": ("an offer on the market", "the provider does not sell it: the price is kept for the record"),
    "spot_not_below_on_demand": ("spot below on-demand", "a spot price that is no discount is no market"),
}
"""Flag → (what is needed, why)."""


def current_offers(catalog: Catalog) -> tuple[list[Offer], list[Rejected]]:
    """Offers that may be planned with, and those that the catalog keeps for the record only, with the reason."""
    kept: list[Offer] = []
    rejected: list[Rejected] = []
    for offer in catalog.offers:
        if offer.usable:
            kept.append(offer)
            continue
        checks = tuple(
            Check(check=flag, kind=CheckKind.POLICY, needed=needed, had=offer.source, detail=why)
            for flag, (needed, why) in NOT_FOR_SALE.items()
            if flag in offer.flags
        )
        rejected.append(Rejected(what=offer.id, checks=checks))
    return kept, rejected


def _pool(pool_id: str, offers: list[Offer], catalog: Catalog, when: When) -> Pool:
    first = offers[0]
    kind: InstanceType = catalog.instance_type(first.provider, first.instance_type)
    provider = catalog.provider(first.provider)
    region = catalog.region(first.provider, first.region)
    return Pool(
        id=pool_id,
        provider=first.provider,
        region=first.region,
        zone=first.zone,
        instance_type=first.instance_type,
        accelerator=kind.accelerator,
        accelerators=kind.accelerators,
        tensor_parallel_domain=kind.tensor_parallel_domain,
        interconnect=kind.interconnect,
        network_gb_per_s=kind.network_gb_per_s,
        country=region.country if region else None,
        operator_jurisdiction=None if provider.marketplace else provider.operator_jurisdiction,
        certifications=provider.certifications,
        prices=tuple(sorted((_price(o, when) for o in offers), key=lambda p: p.option.value)),
        spot=None,
    )


def _price(offer: Offer, when: When) -> OptionPrice:
    return OptionPrice(
        offer=offer.id,
        option=offer.option,
        usd_per_hour=offer.price_usd_per_hour,
        term_months=offer.term_months,
        upfront_fraction=offer.upfront_fraction,
        max_instances=offer.max_instances,
        source=offer.source,
        as_of=offer.as_of,
        confidence=offer.confidence,
        flags=offer.flags,
        quarter_factors=when.factors(offer),
        from_month=when.from_month(offer),
    )


class _FallbackFinder:
    """Finds the on-demand offer that takes over from spot: own pool, then same region, then same place and operator."""

    def __init__(self, pools: Iterable[Pool]) -> None:
        self._by_place: dict[tuple[str, ...], list[tuple[float, Pool, OptionPrice]]] = defaultdict(list)
        for pool in pools:
            price = pool.price(PurchaseOption.ON_DEMAND)
            if price is not None:
                entry = (price.usd_per_hour / pool.accelerators, pool, price)
                self._by_place[pool.accelerator, pool.provider, pool.region].append(entry)
                if pool.country is not None:
                    self._by_place[pool.accelerator, "country", pool.country].append(entry)

    def find(self, pool: Pool) -> tuple[float, OptionPrice] | None:
        """(USD/h per instance of `pool`, offer), or None: nothing that the same rules allow can take over."""
        own = pool.price(PurchaseOption.ON_DEMAND)
        if own is not None:
            return own.usd_per_hour, own
        near = self._by_place[pool.accelerator, pool.provider, pool.region]
        far = [
            e
            for e in self._by_place[pool.accelerator, "country", pool.country or ""]
            if e[1].operator_jurisdiction == pool.operator_jurisdiction
            and set(pool.certifications) <= set(e[1].certifications)
        ]
        for entries in (near, far):
            if entries:
                per_accelerator, _, price = min(entries, key=lambda e: (e[0], e[1].id))
                return per_accelerator * pool.accelerators, price
        return None


def _with_spot(pool: Pool, finder: _FallbackFinder, policy: SpotPolicy, catalog: Catalog) -> Pool:
    """The pool with its spot terms: the policy's figures where given, else the catalog's for this market."""
    if pool.price(PurchaseOption.SPOT) is None:
        return pool
    market = catalog.spot_market(pool.provider, pool.accelerator)
    fallback = finder.find(pool) if policy.model == SpotModel.FALLBACK else None
    rate = policy.interruptions_per_up_hour
    terms = SpotTerms(
        interruptions_per_up_hour=market.interruptions_per_up_hour if rate is None else rate,
        start_h=market.start_h if policy.start_h is None else policy.start_h,
        availability=market.availability if policy.availability is None else policy.availability,
        fallback_offer=fallback[1].offer if fallback else None,
        fallback_usd_per_hour=fallback[0] if fallback else None,
        fallback_factors=fallback[1].quarter_factors if fallback else (),
    )
    return pool.model_copy(update={"spot": terms})


def owned_pool_id(machines: OwnedMachines) -> str:
    """`owned/<country or unknown>/<accelerator>x<accelerators per instance>`."""
    country = (machines.country or "unknown").lower()
    return f"owned/{country}/{machines.accelerator}x{machines.accelerators_per_instance}"


def owned_pools(spec: Spec, catalog: Catalog) -> list[Pool]:
    """One pool per kind of machine that `fleet.owned` lists; equal ids get `#2`, `#3`, … in canonical order."""
    seen: dict[str, int] = defaultdict(int)
    pools = []
    key = lambda m: (owned_pool_id(m), m.usd_per_used_hour, m.instances, str(m.ends or ""))  # noqa: E731
    for machines in sorted(spec.fleet.owned, key=key):
        name = owned_pool_id(machines)
        seen[name] += 1
        pool_id = name if seen[name] == 1 else f"{name}#{seen[name]}"
        pools.append(_owned_pool(pool_id, machines, spec, catalog))
    return pools


def _owned_pool(pool_id: str, machines: OwnedMachines, spec: Spec, catalog: Catalog) -> Pool:
    accelerator = catalog.accelerator(machines.accelerator)
    size = machines.accelerators_per_instance
    price = OptionPrice(
        offer=f"{pool_id}/{PurchaseOption.OWNED.value}",
        option=PurchaseOption.OWNED,
        usd_per_hour=machines.usd_per_used_hour,
        term_months=0,
        upfront_fraction=0.0,
        max_instances=machines.instances,
        source="fleet.owned of the spec",
        as_of=spec.policy.price_date or spec.horizon.start or catalog.as_of,
        confidence=Confidence.LIST,
        until_month=None if machines.ends is None else When(spec, catalog).month(machines.ends),
    )
    return Pool(
        id=pool_id,
        provider="owned",
        region=(machines.country or "unknown").lower(),
        zone="*",
        instance_type=pool_id.rsplit("/", 1)[1],
        accelerator=accelerator.id,
        accelerators=size,
        tensor_parallel_domain=min(size, 2) if "bridge" in accelerator.link.lower() else size,
        interconnect=accelerator.link if size > 1 else "none",
        network_gb_per_s=0.0,
        country=machines.country,
        operator_jurisdiction=OWN,
        certifications=(),
        prices=(price,),
        spot=None,
    )


def held_pools(spec: Spec, catalog: Catalog, when: When) -> list[Pool]:
    """One pool per commitment that runs already and has not ended: its machines cost nothing more until it ends.

    `provider/region[/zone]/instance_type#held`, `#held2`, … in canonical order.
    """
    seen: dict[str, int] = defaultdict(int)
    pools = []
    for held in sorted(spec.fleet.commitments, key=lambda c: c.model_dump_json()):
        offer = held_offer(held, catalog)
        until = when.month(held.ends)
        seen[offer.pool_id] += 1
        if until <= 0.0:
            continue
        number = seen[offer.pool_id]
        pool_id = f"{offer.pool_id}#held{number if number > 1 else ''}"
        pools.append(_held_pool(pool_id, held, offer, until, catalog, when))
    return pools


def _held_pool(pool_id: str, held: HeldCommitment, offer: Offer, until: float, catalog: Catalog, when: When) -> Pool:
    price = OptionPrice(
        offer=f"{pool_id}/{PurchaseOption.OWNED.value}",
        option=PurchaseOption.OWNED,
        usd_per_hour=0.0,
        term_months=0,
        upfront_fraction=0.0,
        max_instances=held.instances,
        source="fleet.commitments of the spec",
        as_of=when.start,
        confidence=Confidence.LIST,
        until_month=until,
    )
    base = _pool(offer.pool_id, [offer], catalog, when)
    return base.model_copy(update={"id": pool_id, "prices": (price,), "commitment": offer.id})
