"""What takes over while spot is away must itself be something that the policy lets one buy."""

import pytest

from planner.base import PurchaseOption
from planner.candidates.pools import build_pools
from planner.spec.types import ProviderPolicy
from planner.verify.market import Market
from tests import builders as b

OD, SPOT = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT
POOL = "spotty/eu/one"


def catalog(**own):
    """Spot at one provider; on-demand of the same country and law at two others, the cheaper one to be bought."""
    offers = [
        b.offer("spotty", "eu", "one", SPOT, 1.0),
        b.offer("cheap", "eu", "one", OD, 3.0),
        b.offer("dear", "eu", "one", OD, 5.0),
        *([b.offer("spotty", "eu", "one", OD, **own)] if own else []),
    ]
    providers = [b.provider("spotty"), b.provider("cheap", opt_in=not own), b.provider("dear")]
    types = [b.instance_type(p, "one") for p in ("spotty", "cheap", "dear")]
    return b.make_catalog(instance_types=types, offers=offers, providers=providers)


@pytest.mark.parametrize(
    ("rule", "price"),
    [
        ({"allow": ("spotty", "cheap", "dear")}, 3.0),
        ({}, 5.0),  # hardware to buy is not allowed unless it is named
        ({"deny": ("cheap",)}, 5.0),
        ({"allow": ("spotty", "dear")}, 5.0),
        ({"deny": ("cheap", "dear")}, None),
        ({"allow": ("spotty",)}, None),
        ({"allow": ("spotty", "cheap", "dear"), "deny": ("cheap",)}, 5.0),
    ],
)
def test_only_an_allowed_provider_takes_over_from_spot(rule, price):
    spec, rows = b.make_spec(policy={"providers": ProviderPolicy(**rule)}), catalog()
    (pool,) = [p for p in build_pools(spec, rows)[0] if p.id == POOL]
    assert pool.spot is not None
    assert pool.spot.fallback_usd_per_hour == price
    seen = Market(spec, rows).pool(POOL)
    assert seen is not None
    assert seen.spot is not None
    assert seen.spot.fallback_usd_per_hour == price
