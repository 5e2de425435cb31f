"""Offers that the catalog keeps for the record are set aside with a reason."""

from planner.candidates.pools import NOT_FOR_SALE, current_offers
from planner.catalog.load import load_catalog
from planner.catalog.types import UNUSABLE_FLAGS


def test_offers_for_the_record_are_set_aside_with_every_reason() -> None:
    catalog = load_catalog()
    kept, rejected = current_offers(catalog)
    assert len(kept) + len(rejected) == len(catalog.offers)
    assert all(offer.usable for offer in kept)
    assert set(NOT_FOR_SALE) == UNUSABLE_FLAGS
    reasons = {r.what: [c.check for c in r.checks] for r in rejected}
    assert reasons["lambda/seed/seed-1x-H100/on_demand"] == ["superseded"]
    assert reasons["gcp/seed/seed-1x-L40S/on_demand"] == ["not_sold"]
    assert reasons["runpod/any/1x-RTX-4090-secure/spot"] == ["spot_not_below_on_demand"]
    assert all(reasons.values())


def test_a_seed_price_stands_where_nothing_newer_is_known() -> None:
    catalog = load_catalog(
        overlays=[
            {
                "replace": ["offers"],
                "offers": [
                    {"provider": "p", "accelerator": "L4", "price_usd_per_hour": 0.7, "confidence": "seed"},
                    {"provider": "q", "accelerator": "L4", "price_usd_per_hour": 0.7, "confidence": "seed"},
                    {"provider": "q", "region": "r", "accelerator": "L4", "price_usd_per_hour": 0.9},
                ],
            }
        ]
    )
    kept, rejected = current_offers(catalog)
    assert sorted(o.id for o in kept) == ["p/any/1xL4/on_demand", "q/r/1xL4/on_demand"]
    assert [r.what for r in rejected] == ["q/any/1xL4/on_demand"]
