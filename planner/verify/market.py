"""Pools, prices and API offers that a plan names, looked up again in the catalog and the spec.

Nothing here reads a `Problem`: a pool is what its id says, `provider/region[/zone]/instance_type` for rented machines
and `owned/COUNTRY/ACCELERATORxG` for the spec's own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from planner.base import Confidence, PurchaseOption
from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.types import ApiOffer, Offer
from planner.demand.periods import month_of, quarter_start
from planner.spec.types import OwnedMachines, ProviderPolicy, Spec, SpotModel

OWNED_PROVIDER = "owned"


@dataclass(frozen=True, slots=True)
class Tariff:
    """One way to pay for an instance of a pool."""

    offer: str
    option: PurchaseOption
    usd_per_hour: float
    """Per instance; for `owned` per used hour."""
    term_months: int
    upfront_fraction: float
    max_instances: int | None
    factors: tuple[float, ...] = ()
    """[quarter] price relative to `usd_per_hour`; empty: it does not move."""
    from_month: float = 0.0
    until_month: float = math.inf
    """It can be had from one month of the horizon until another."""

    def usd_in(self, quarter: int) -> float:
        """Price per instance and hour in a quarter (from 1)."""
        return self.usd_per_hour * (self.factors[quarter - 1] if self.factors else 1.0)


@dataclass(frozen=True, slots=True)
class SpotFacts:
    """How spot of a pool behaves, after the policy's overrides."""

    interruptions_per_up_hour: float
    start_h: float
    availability: float
    fallback_usd_per_hour: float | None
    """On-demand price of the instance that takes over; None: there is none, or spot is `credited`."""
    credited: bool
    fallback_factors: tuple[float, ...] = ()
    """[quarter] price of what takes over, relative to that; empty: it does not move."""

    rework_fraction: float = 0.0
    """Work done again ÷ work to be done."""

    @property
    def credit(self) -> float:
        """Share of a spot replica that counts as capacity: while it is warm, on work that is not done again; times the
        availability when credited."""
        warm = max(0.0, 1.0 - self.interruptions_per_up_hour * self.start_h) / (1.0 + self.rework_fraction)
        return warm * self.availability if self.credited else warm

    def fallback_share_usd_per_hour(self, quarter: int) -> float:
        """What takes over costs per spot instance-hour: (1 − A)·fallback; 0 when credited (DESIGN §5.3)."""
        factor = self.fallback_factors[quarter - 1] if self.fallback_factors else 1.0
        return 0.0 if self.credited else (1.0 - self.availability) * (self.fallback_usd_per_hour or 0.0) * factor


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What the catalog and the spec know of one pool."""

    id: str
    provider: str
    region: str
    zone: str
    instance_type: str
    accelerator: str
    accelerators: int
    """G, per instance."""
    tensor_parallel_domain: int
    interconnect: str
    """Between the accelerators of an instance."""
    network_gb_per_s: float
    country: str | None
    operator_jurisdiction: str | None
    certifications: tuple[str, ...]
    owned: bool
    tariffs: Mapping[PurchaseOption, Tariff] = field(default_factory=dict)
    spot: SpotFacts | None = None
    held: PurchaseOption | None = None
    """Option of the commitment that these machines are held under already; None: they are for sale, or owned."""

    def usable(self, options: Iterable[PurchaseOption]) -> frozenset[PurchaseOption]:
        """Options under which a service that allows `options` may use the pool: what is held counts as owned."""
        found = frozenset(options)
        return found | {PurchaseOption.OWNED} if self.held in found else found


class _Dates:
    """The days of the horizon's quarters."""

    def __init__(self, spec: Spec, catalog: Catalog) -> None:
        self.catalog, self.quarters = catalog, spec.horizon.quarters
        self.first = spec.horizon.start or spec.policy.price_date or catalog.as_of

    def month(self, day: date) -> float:
        return month_of(day, self.first, self.quarters)

    def tariff(self, offer: Offer) -> Tariff:
        """An offer over the horizon: its price on each quarter's first day."""
        days = (quarter_start(self.first, q) for q in range(1, self.quarters + 1))
        factors = tuple(self.catalog.price_factor(offer, day) for day in days)
        sold = 0.0 if offer.available_from is None else max(0.0, self.month(offer.available_from))
        return Tariff(
            offer.id, offer.option, offer.price_usd_per_hour, offer.term_months, offer.upfront_fraction,
            offer.max_instances, factors if set(factors) != {1.0} else (), sold,
        )  # fmt: skip


def valid_offers(catalog: Catalog) -> list[Offer]:
    """Offers that are prices today: not those kept for the record only, and none of an unknown instance type."""
    known = {(t.provider, t.name) for t in catalog.instance_types}
    return [o for o in catalog.offers if o.usable and (o.provider, o.instance_type) in known]


def _rented(pool_id: str, offers: Sequence[Offer], catalog: Catalog, dates: _Dates) -> PoolFacts:
    first = offers[0]
    machine = catalog.instance_type(first.provider, first.instance_type)
    provider = catalog.provider(first.provider)
    region = catalog.region(first.provider, first.region)
    return PoolFacts(
        id=pool_id,
        provider=first.provider,
        region=first.region,
        zone=first.zone,
        instance_type=first.instance_type,
        accelerator=machine.accelerator,
        accelerators=machine.accelerators,
        tensor_parallel_domain=machine.tensor_parallel_domain,
        interconnect=machine.interconnect,
        network_gb_per_s=machine.network_gb_per_s,
        country=region.country if region else None,
        operator_jurisdiction=None if provider.marketplace else provider.operator_jurisdiction,
        certifications=provider.certifications,
        owned=False,
        tariffs={o.option: dates.tariff(o) for o in offers},
    )


def owned_pools(spec: Spec, catalog: Catalog) -> dict[str, PoolFacts]:
    """Pools of `fleet.owned`: `owned/COUNTRY/ACCELERATORxG`, `#2`, `#3`, … for further machines of the same kind."""
    found: dict[str, PoolFacts] = {}

    def name(machines: OwnedMachines) -> str:
        kind = f"{machines.accelerator}x{machines.accelerators_per_instance}"
        return f"{OWNED_PROVIDER}/{(machines.country or 'unknown').lower()}/{kind}"

    dates = _Dates(spec, catalog)
    order = sorted(spec.fleet.owned, key=lambda m: (name(m), m.usd_per_used_hour, m.instances, str(m.ends or "")))
    for machines in order:
        same = sum(p.split("#")[0] == name(machines) for p in found)
        pool_id = name(machines) + (f"#{same + 1}" if same else "")
        until = math.inf if machines.ends is None else dates.month(machines.ends)
        found[pool_id] = _owned(pool_id, machines, catalog, until)
    return found


def held_pools(spec: Spec, catalog: Catalog) -> dict[str, PoolFacts]:
    """Pools of `fleet.commitments`: `<pool of the offer>#held`, `#held2`, …, free until the commitment ends."""
    dates, found = _Dates(spec, catalog), {}
    count: dict[str, int] = defaultdict(int)
    offers = {o.id.lower(): o.id for o in catalog.offers}
    for held in sorted(spec.fleet.commitments, key=lambda c: c.model_dump_json()):
        provider, *place, instance_type, option = offers.get(held.offer.lower(), held.offer).split("/")
        machine = next(
            t for t in catalog.instance_types
            if t.provider == provider and t.name.lower() == instance_type.lower()
        )  # fmt: skip
        base = "/".join((provider, *place, machine.name))
        count[base] += 1
        until = dates.month(held.ends)
        if until <= 0.0:
            continue
        pool_id = base + "#held" + (str(count[base]) if count[base] > 1 else "")
        tariff = Tariff(
            f"{pool_id}/owned", PurchaseOption.OWNED, 0.0, 0, 0.0, held.instances, until_month=until
        )  # fmt: skip
        row = Offer(
            provider=provider, region=place[0], zone=place[1] if len(place) > 1 else "*", instance_type=machine.name,
            option=PurchaseOption(option.lower()), price_usd_per_hour=0.0, source="spec", as_of=catalog.as_of,
            confidence=Confidence.LIST,
        )  # fmt: skip
        pool = _rented(pool_id, [row], catalog, dates)
        found[pool_id] = replace(pool, tariffs={PurchaseOption.OWNED: tariff}, held=row.option)
    return found


def _owned(pool_id: str, machines: OwnedMachines, catalog: Catalog, until_month: float) -> PoolFacts:
    accelerator, size = catalog.accelerator(machines.accelerator), machines.accelerators_per_instance
    tariff = Tariff(
        f"{pool_id}/owned", PurchaseOption.OWNED, machines.usd_per_used_hour, 0, 0.0, machines.instances,
        until_month=until_month,
    )  # fmt: skip
    return PoolFacts(
        id=pool_id,
        provider=OWNED_PROVIDER,
        region=(machines.country or "unknown").lower(),
        zone="*",
        instance_type=pool_id.rsplit("/", 1)[1],
        accelerator=accelerator.id,
        accelerators=size,
        tensor_parallel_domain=min(size, 2) if "bridge" in accelerator.link.lower() else size,
        interconnect=accelerator.link if size > 1 else "none",
        network_gb_per_s=0.0,
        country=machines.country,
        operator_jurisdiction=None,
        certifications=(),
        owned=True,
        tariffs={PurchaseOption.OWNED: tariff},
    )


class Market:
    """Lookups of pools and API offers for one spec and catalog."""

    def __init__(self, spec: Spec, catalog: Catalog) -> None:
        self._policy, self._catalog = spec.policy.spot, catalog
        offers: dict[str, list[Offer]] = defaultdict(list)
        for offer in valid_offers(catalog):
            offers[offer.pool_id].append(offer)
        dates = _Dates(spec, catalog)
        self._zones: dict[tuple[str, str], set[str]] = defaultdict(set)
        for offer in catalog.offers:
            if offer.zone != "*" and offer.usable:
                self._zones[offer.provider, offer.region].add(offer.zone)
        self._rented = {pool_id: _rented(pool_id, rows, catalog, dates) for pool_id, rows in offers.items()}
        self._takers = [p for p in self._rented.values() if _may_take_over(p, spec.policy.providers, catalog)]
        own = held_pools(spec, catalog)
        self.held = tuple(own.values())
        """Commitments that run already."""
        self._pools = owned_pools(spec, catalog) | own
        self._apis = {a.id: a for a in catalog.apis}

    def _with_spot(self, pool: PoolFacts) -> PoolFacts:
        if PurchaseOption.SPOT not in pool.tariffs:
            return pool
        try:
            market, policy = self._catalog.spot_market(pool.provider, pool.accelerator), self._policy
        except UnknownName:
            return pool

        def override(mine: float | None, theirs: float) -> float:
            return theirs if mine is None else mine

        credited = policy.model is SpotModel.CREDITED
        fallback = None if credited else _fallback(pool, self._takers)
        spot = SpotFacts(
            interruptions_per_up_hour=override(policy.interruptions_per_up_hour, market.interruptions_per_up_hour),
            start_h=override(policy.start_h, market.start_h),
            availability=override(policy.availability, market.availability),
            fallback_usd_per_hour=None if fallback is None else fallback[0],
            credited=credited,
            rework_fraction=policy.rework_fraction or 0.0,
            fallback_factors=() if fallback is None else fallback[1].factors,
        )
        return replace(pool, spot=spot)

    def pool(self, pool_id: str) -> PoolFacts | None:
        """The pool of an id, or None where the catalog and the spec sell nothing under it."""
        if pool_id not in self._pools:
            rented = self._rented.get(pool_id) or self._in_zone(pool_id)
            if rented is not None:
                self._pools[pool_id] = self._with_spot(rented)
        return self._pools.get(pool_id)

    def _in_zone(self, pool_id: str) -> PoolFacts | None:
        """`provider/region/zone/instance_type`: what is sold for the whole region, in one of its zones."""
        parts = pool_id.split("/")
        if len(parts) != 4:
            return None
        provider, name, zone, instance_type = parts
        anywhere, region = self._rented.get(f"{provider}/{name}/{instance_type}"), self._catalog.region(provider, name)
        known = self._zones[provider, name] | set(region.zones if region else ())
        return None if anywhere is None or zone not in known else replace(anywhere, id=pool_id, zone=zone)

    def tariff(self, pool_id: str, option: PurchaseOption) -> Tariff | None:
        """The price of a pool's instances under an option, or None where it is not sold."""
        pool = self.pool(pool_id)
        return None if pool is None else pool.tariffs.get(option)

    def api(self, api_id: str) -> ApiOffer | None:
        """The API offer of an id, or None."""
        return self._apis.get(api_id)


def _may_take_over(pool: PoolFacts, rule: ProviderPolicy, catalog: Catalog) -> bool:
    """Whether the policy lets this provider's on-demand take over from spot, wherever that stood."""
    if rule.allow is None:
        return pool.provider not in rule.deny and not catalog.provider(pool.provider).opt_in
    return pool.provider in rule.allow and pool.provider not in rule.deny


def _fallback(pool: PoolFacts, takers: Iterable[PoolFacts]) -> tuple[float, Tariff] | None:
    """On-demand price of what takes over from spot, USD/h per instance of `pool`; None: none of the `takers` can.

    The pool itself, else the cheapest per accelerator with the same accelerator in the same region of the provider,
    else in the same country under the same operator jurisdiction and with at least the same certifications.
    """
    own = pool.tariffs.get(PurchaseOption.ON_DEMAND)
    if own is not None:
        return own.usd_per_hour, own
    near: list[tuple[float, str, Tariff]] = []
    far: list[tuple[float, str, Tariff]] = []
    for other in takers:
        tariff = other.tariffs.get(PurchaseOption.ON_DEMAND)
        if tariff is None or other.accelerator != pool.accelerator:
            continue
        price = (tariff.usd_per_hour / other.accelerators, other.id, tariff)
        if (other.provider, other.region) == (pool.provider, pool.region):
            near.append(price)
        same_law = other.operator_jurisdiction == pool.operator_jurisdiction
        if pool.country and other.country == pool.country and same_law:
            far += [price] if set(pool.certifications) <= set(other.certifications) else []
    if not near and not far:
        return None
    cheapest, _, tariff = min(near or far, key=lambda p: p[:2])
    return cheapest * pool.accelerators, tariff


def api_usd_per_request(
    offer: ApiOffer, input_tokens: float, output_tokens: float, cached_input_tokens: float
) -> float:
    """Price of one request, USD: the context tier of its input length; cached prompt tokens at their own price if any.

    A tier's price holds for all tokens of the request (that is how context tiers are billed); the cached price is the
    catalog's, scaled with the input price of the tier.
    """
    input_price, output_price = offer.input_usd_per_mtok, offer.output_usd_per_mtok
    for above, tier_input, tier_output in offer.context_tiers:
        if input_tokens > above:
            input_price, output_price = tier_input, tier_output
    cached_price = input_price
    if offer.cached_input_usd_per_mtok is not None and offer.input_usd_per_mtok > 0:
        cached_price = offer.cached_input_usd_per_mtok * (input_price / offer.input_usd_per_mtok)
    fresh = input_tokens - cached_input_tokens
    return (fresh * input_price + cached_input_tokens * cached_price + output_tokens * output_price) / 1e6
