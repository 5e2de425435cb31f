"""Pools, prices and API offers that a plan names, looked up again in the catalog and the spec.

Nothing here reads a `Problem`: a pool is what its id says, `provider/region[/zone]/instance_type` for rented machines
and `owned/COUNTRY/ACCELERATORxG` for the spec's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.base import PurchaseOption
from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.types import ApiOffer, Offer
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


@dataclass(frozen=True, slots=True)
class SpotFacts:
    """How spot of a pool behaves, after the policy's overrides."""

    interruptions_per_up_hour: float
    start_h: float
    availability: float
    fallback_usd_per_hour: float | None
    """On-demand price of the instance that takes over; None: there is none, or spot is `credited`."""
    credited: bool

    @property
    def credit(self) -> float:
        """Share of a spot replica that counts as capacity: 1 − ν·start_h, times the availability when credited."""
        warm = max(0.0, 1.0 - self.interruptions_per_up_hour * self.start_h)
        return warm * self.availability if self.credited else warm

    @property
    def fallback_share_usd_per_hour(self) -> float:
        """What takes over costs per spot instance-hour: (1 − A)·fallback; 0 when credited (DESIGN §5.3)."""
        return 0.0 if self.credited else (1.0 - self.availability) * (self.fallback_usd_per_hour or 0.0)


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


def _tariff(offer: Offer) -> Tariff:
    return Tariff(
        offer.id, offer.option, offer.price_usd_per_hour, offer.term_months, offer.upfront_fraction, offer.max_instances
    )


def valid_offers(catalog: Catalog) -> list[Offer]:
    """Offers that are prices today: not those kept for the record only, and none of an unknown instance type."""
    known = {(t.provider, t.name) for t in catalog.instance_types}
    return [o for o in catalog.offers if o.usable and (o.provider, o.instance_type) in known]


def _rented(pool_id: str, offers: Sequence[Offer], catalog: Catalog) -> PoolFacts:
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
        tariffs={o.option: _tariff(o) for o in offers},
    )


def owned_pools(spec: Spec, catalog: Catalog) -> dict[str, PoolFacts]:
    """Pools of `fleet.owned`: `owned/COUNTRY/ACCELERATORxG`, `#2`, `#3`, … for further machines of the same kind."""
    found: dict[str, PoolFacts] = {}

    def name(machines: OwnedMachines) -> str:
        kind = f"{machines.accelerator}x{machines.accelerators_per_instance}"
        return f"{OWNED_PROVIDER}/{(machines.country or 'unknown').lower()}/{kind}"

    for machines in sorted(spec.fleet.owned, key=lambda m: (name(m), m.usd_per_used_hour, m.instances)):
        same = sum(p.split("#")[0] == name(machines) for p in found)
        pool_id = name(machines) + (f"#{same + 1}" if same else "")
        found[pool_id] = _owned(pool_id, machines, catalog)
    return found


def _owned(pool_id: str, machines: OwnedMachines, catalog: Catalog) -> PoolFacts:
    accelerator, size = catalog.accelerator(machines.accelerator), machines.accelerators_per_instance
    tariff = Tariff(
        f"{pool_id}/owned", PurchaseOption.OWNED, machines.usd_per_used_hour, 0, 0.0, machines.instances
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
        self._rented = {pool_id: _rented(pool_id, rows, catalog) for pool_id, rows in offers.items()}
        self._takers = [p for p in self._rented.values() if _may_take_over(p, spec.policy.providers, catalog)]
        self._pools = owned_pools(spec, catalog)
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
        spot = SpotFacts(
            interruptions_per_up_hour=override(policy.interruptions_per_up_hour, market.interruptions_per_up_hour),
            start_h=override(policy.start_h, market.start_h),
            availability=override(policy.availability, market.availability),
            fallback_usd_per_hour=None if credited else _fallback_usd_per_hour(pool, self._takers),
            credited=credited,
        )
        return replace(pool, spot=spot)

    def pool(self, pool_id: str) -> PoolFacts | None:
        """The pool of an id, or None where the catalog and the spec sell nothing under it."""
        if pool_id not in self._pools and pool_id in self._rented:
            self._pools[pool_id] = self._with_spot(self._rented[pool_id])
        return self._pools.get(pool_id)

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


def _fallback_usd_per_hour(pool: PoolFacts, takers: Iterable[PoolFacts]) -> float | None:
    """On-demand price of what takes over from spot, USD/h per instance of `pool`; None: none of the `takers` can.

    The pool itself, else the cheapest per accelerator with the same accelerator in the same region of the provider,
    else in the same country under the same operator jurisdiction and with at least the same certifications.
    """
    own = pool.tariffs.get(PurchaseOption.ON_DEMAND)
    if own is not None:
        return own.usd_per_hour
    near, far = [], []
    for other in takers:
        tariff = other.tariffs.get(PurchaseOption.ON_DEMAND)
        if tariff is None or other.accelerator != pool.accelerator:
            continue
        price = tariff.usd_per_hour / other.accelerators
        if (other.provider, other.region) == (pool.provider, pool.region):
            near.append(price)
        same_law = other.operator_jurisdiction == pool.operator_jurisdiction
        if pool.country and other.country == pool.country and same_law:
            far += [price] if set(pool.certifications) <= set(other.certifications) else []
    cheapest = min(near or far, default=None)
    return None if cheapest is None else cheapest * pool.accelerators


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
