"""What is odd about a catalog that loads: for a person who keeps prices, not a reason to stop.

Faults (a zero price, an unknown name, a duplicate) never get this far: the loader refuses them (C1xx).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from planner.base import Confidence, PurchaseOption
from planner.catalog.catalog import Catalog, nearest
from planner.catalog.types import Offer

STALE_DAYS = 270
"""A price older than this, against the catalog's date, is reported."""
OUTLIER_FACTOR = 6.0
"""A price per accelerator-hour this many times above or below the median of its accelerator and option is reported."""
FAR_BELOW = 0.15
"""Spot below this share of on-demand is reported: minima over zones are often prices nobody gets."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at: `check` names the rule, `severity` is `warning` or `note`, `row` the id it is about."""

    check: str
    severity: str
    table: str
    row: str
    message: str
    value: float | None = None


def check_catalog(catalog: Catalog) -> tuple[Finding, ...]:
    """Every finding, sorted by severity, check and row."""
    found = [f for rule in RULES for f in rule(catalog)]
    return tuple(sorted(found, key=lambda f: (f.severity != "warning", f.check, f.table, f.row)))


def _spot(catalog: Catalog) -> Iterator[Finding]:
    """Spot that is no discount, or too good to be true."""
    on_demand = {o.pool_id: o.price_usd_per_hour for o in _offers(catalog, PurchaseOption.ON_DEMAND)}
    for offer in _offers(catalog, PurchaseOption.SPOT):
        price, full = offer.price_usd_per_hour, on_demand.get(offer.pool_id)
        if full is None:
            continue
        if price >= full:
            message = f"spot {price:g} is not below on-demand {full:g}: not used in plans"
            yield Finding("spot_not_below_on_demand", "warning", "offers", offer.id, message, price / full)
        elif price < FAR_BELOW * full:
            message = f"spot is {price / full:.0%} of on-demand: few will get it at that price"
            yield Finding("spot_far_below_on_demand", "note", "offers", offer.id, message, price / full)


def _commitments(catalog: Catalog) -> Iterator[Finding]:
    """A commitment that costs no less than on-demand, or a longer one that costs more than a shorter one."""
    prices = {(o.pool_id, o.option): o.price_usd_per_hour for o in catalog.offers}
    pairs = (
        (PurchaseOption.RESERVED_1Y, PurchaseOption.ON_DEMAND),
        (PurchaseOption.RESERVED_3Y, PurchaseOption.RESERVED_1Y),
    )
    for offer in catalog.offers:
        for longer, shorter in pairs:
            reference = prices.get((offer.pool_id, shorter))
            if offer.option is longer and reference is not None and offer.price_usd_per_hour >= reference:
                message = f"{offer.price_usd_per_hour:g} is not below {shorter.value} at {reference:g}"
                yield Finding("commitment_without_discount", "warning", "offers", offer.id, message)


def _outliers(catalog: Catalog) -> Iterator[Finding]:
    """Prices far from what others ask for the same accelerator under the same option."""
    groups: dict[tuple[str, PurchaseOption], list[tuple[float, Offer]]] = defaultdict(list)
    for offer in catalog.offers:
        kind = catalog.instance_type(offer.provider, offer.instance_type)
        groups[kind.accelerator, offer.option].append((offer.price_usd_per_hour / kind.accelerators, offer))
    for (accelerator, option), entries in groups.items():
        middle = median(p for p, _ in entries)
        if len(entries) < 5 or middle == 0:
            continue
        for price, offer in entries:
            if not middle / OUTLIER_FACTOR <= price <= middle * OUTLIER_FACTOR:
                message = f"{price:.3g} per accelerator-hour; the median {option.value} {accelerator} is {middle:.3g}"
                yield Finding("price_outlier", "note", "offers", offer.id, message, price / middle)


def _dates(catalog: Catalog) -> Iterator[Finding]:
    """Old prices, and prices whose date is an assumption."""
    for offer in catalog.offers:
        age = (catalog.as_of - offer.as_of).days
        if age > STALE_DAYS:
            yield Finding("stale", "note", "offers", offer.id, f"price of {offer.as_of}: {age} days old", float(age))
        if offer.note is not None and offer.note.startswith("undated"):
            yield Finding("undated", "note", "offers", offer.id, f"{offer.note}; taken as {offer.as_of}")


def _places(catalog: Catalog) -> Iterator[Finding]:
    """Regions and operators of which too little is known to meet any sovereignty rule."""
    sold = {(o.provider, o.region) for o in catalog.offers}
    for region in catalog.regions:
        if region.country is None and (region.provider, region.region) in sold:
            name = f"{region.provider}/{region.region}"
            message = "country unknown: refused wherever a country is required"
            yield Finding("country_unknown", "note", "regions", name, message)
    for provider in catalog.providers:
        if provider.operator_jurisdiction is None:
            message = "operator's jurisdiction unknown: refused wherever one is required"
            yield Finding("operator_unknown", "note", "providers", provider.id, message)


def _flagged(catalog: Catalog) -> Iterator[Finding]:
    """Offers that are kept for the record only."""
    for offer in catalog.offers:
        for flag in ("not_sold", "superseded"):
            if flag in offer.flags:
                message = offer.note or "a current price of the same provider and accelerator is known"
                yield Finding(flag, "note", "offers", offer.id, message)


def _unreachable(catalog: Catalog) -> Iterator[Finding]:
    """Instance types without an offer, accelerators nothing has, providers that look like a misspelling."""
    sold = {(o.provider, o.instance_type) for o in catalog.offers}
    for kind in catalog.instance_types:
        if (kind.provider, kind.name) not in sold:
            yield Finding("no_offer", "note", "instance_types", kind.id, "no offer for this instance type")
    used = {t.accelerator for t in catalog.instance_types}
    for accelerator in catalog.accelerators:
        if accelerator.id not in used:
            yield Finding("no_instance_type", "note", "accelerators", accelerator.id, "nothing in the catalog has it")
    yield from _lookalikes(catalog)


def _lookalikes(catalog: Catalog) -> Iterator[Finding]:
    names = {p.id for p in catalog.providers}
    made = [p for p in catalog.providers if p.source == "overlay"]
    for provider in made:
        close = [n for n in nearest(provider.id, names - {provider.id}) if _close(n, provider.id)]
        if close:
            message = f"new provider of an overlay; did you mean {' or '.join(close)}?"
            yield Finding("provider_lookalike", "warning", "providers", provider.id, message)


def _close(a: str, b: str) -> bool:
    return difflib.SequenceMatcher(None, a, b).ratio() >= 0.75


def _offers(catalog: Catalog, option: PurchaseOption) -> Iterator[Offer]:
    return (o for o in catalog.offers if o.option is option)


def _assumed(catalog: Catalog) -> Iterator[Finding]:
    """How much of each provider's prices is assumed: one line per provider, since there are many."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for offer in catalog.offers:
        counts[offer.provider][0] += offer.confidence is Confidence.ASSUMED
        counts[offer.provider][1] += 1
    for provider, (assumed, total) in sorted(counts.items()):
        if assumed:
            message = f"{assumed} of {total} prices are assumed"
            yield Finding("assumed_prices", "note", "providers", provider, message, assumed / total)


RULES: tuple[Callable[[Catalog], Iterator[Finding]], ...] = (
    _spot, _commitments, _outliers, _dates, _places, _flagged, _unreachable, _assumed,
)  # fmt: skip
