"""Commitments that run already, as offers of the catalog or in their likeness."""

from __future__ import annotations

from planner.base import TERM_MONTHS, Confidence, PurchaseOption
from planner.catalog.catalog import Catalog
from planner.catalog.types import Offer
from planner.errors import Fault, InputError
from planner.spec.types import HeldCommitment, Spec

COMMITMENTS = (PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y)


def check_held(spec: Spec, catalog: Catalog) -> None:
    """Raises InputError (S304) with every running commitment whose machines the catalog does not know."""
    faults: list[Fault] = []
    for held in spec.fleet.commitments:
        try:
            held_offer(held, catalog)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)


def held_offer(held: HeldCommitment, catalog: Catalog) -> Offer:
    """What was bought, at the price that is paid where the catalog does not sell it. Raises InputError (S304)."""
    known = next((o for o in catalog.offers if o.id.lower() == held.offer.lower()), None)
    if known is not None and known.option in COMMITMENTS:
        return known
    parts = held.offer.split("/")
    option = next((o for o in COMMITMENTS if len(parts) in (4, 5) and o.value == parts[-1].lower()), None)
    provider, region, name = (parts[0], parts[1], parts[-2]) if len(parts) > 3 else ("", "", "")
    machine = next(
        (t for t in catalog.instance_types if t.provider == provider and t.name.lower() == name.lower()), None
    )
    if option is None or machine is None or catalog.region(provider, region) is None:
        what = "is no commitment" if option is None else "names machines or a region that the catalog does not know"
        help_ = "write provider/region[/zone]/instance_type/reserved_1y or reserved_3y; `planner catalog list offers`"
        raise InputError([Fault("S304", f"{held.offer} {what}", path="fleet.commitments", help=help_)])
    return Offer(
        provider=provider,
        region=region,
        zone=parts[2] if len(parts) == 5 else "*",
        instance_type=machine.name,
        option=option,
        price_usd_per_hour=held.usd_per_hour or 0.0,
        term_months=TERM_MONTHS[option],
        source="fleet.commitments of the spec",
        as_of=catalog.as_of,
        confidence=Confidence.LIST,
    )
