"""Losses that a plan must bear: the plan that just does, and every replica, place or API that it cannot miss."""

from __future__ import annotations

from typing import Any

import pytest

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.spec.types import Resilience
from planner.verify.verify import Verifier
from tests import builders as b

OD, API = PurchaseOption.ON_DEMAND, PurchaseOption.API
CONFIG = "tiny/bf16/vllm/A/tp1"
RATE = 6.0
"""req/s; a replica serves 2."""


def families(
    where: dict[str, int], rule: dict[str, Any], api: float = 0.0, size: int = 1, name: str = "apico/tiny-api"
) -> set[str]:
    """Families broken by replicas in places (`provider/region[/zone]`) and a rate by API."""
    clouds = ("cloud", "other")
    catalog = b.make_catalog(
        instance_types=[b.instance_type(c, "box", "A", size) for c in clouds],
        offers=[b.offer(c, r, "box", OD, 1.0) for c in clouds for r in ("eu", "us")],
        providers=[b.provider(c) for c in (*clouds, "apico")],
        regions=[b.region(c, r).model_copy(update={"zones": ("a", "b", "c")}) for c in clouds for r in ("eu", "us")],
        apis=[b.api(), b.api("cloud", "own-api")],
    )
    models = {"api_models": ("tiny-api", "own-api")}
    cls = b.request_class(((RATE,),), ((1.0,),), **models)
    demand = b.demand([b.service([cls], ((1.0,),), resilience=Resilience(**rule))])
    spec = b.make_spec(measured=[b.measured(2.0)])
    total = sum(where.values())
    deployments = [
        Deployment(
            service="chat", config=CONFIG, pool=f"{place}/box", spot=False, replicas=(n,),
            routes=(Route(request_class="chat/all", slice=0, band=0, req_per_s=(RATE - api) * n / total),),
        )
        for place, n in where.items() if n
    ]  # fmt: skip
    plan = Plan(
        purchases=tuple(
            Purchase(pool=f"{place}/box", option=OD, instances=(-(-n // size),)) for place, n in where.items() if n
        ),
        deployments=tuple(deployments),
        api=(
            ApiUse(
                request_class="chat/all", api=name,
                routes=(Route(request_class="chat/all", slice=0, band=0, req_per_s=api),),
            ),
        ) if api else (),
    )  # fmt: skip
    return {v.family for v in Verifier(spec, catalog, demand).verify(plan).violations}


def one_less(where: dict[str, int], place: str) -> dict[str, int]:
    return {**where, place: where[place] - 1}


ZONE, REGION, PROVIDER = ({"survive_loss_of": (what,)} for what in ("zone", "region", "provider"))
TIGHT: list[tuple[dict[str, int], dict[str, Any], dict[str, Any]]] = [
    ({"cloud/eu/a": 2, "cloud/eu/b": 2, "cloud/eu/c": 1}, ZONE, {}),
    ({"cloud/eu": 3, "cloud/us": 3}, ZONE, {}),
    ({"cloud/eu/a": 3, "cloud/eu/b": 3}, {"spare": {"count": 1, "domain": "zone"}}, {}),
    ({"cloud/eu/a": 2, "cloud/eu/b": 2}, {**ZONE, "serve_fraction": 2 / 3}, {}),
    ({"cloud/eu": 3, "cloud/us": 3}, REGION, {}),
    ({"cloud/eu": 3, "other/eu": 3}, PROVIDER, {}),
    ({"cloud/eu": 2, "other/eu": 2}, PROVIDER, {"api": 2.0}),
    ({"cloud/eu": 5}, {"spare": {"count": 1, "domain": "instance"}}, {"size": 2}),
    ({"cloud/eu": 7}, {"spare": {"count": 2, "domain": "instance"}}, {"size": 2}),
    ({"cloud/eu": 4}, {"spare": {"count": 1}}, {}),
]
"""Three replicas serve the demand, two what the API leaves."""


@pytest.mark.parametrize(("where", "rule", "more"), TIGHT)
def test_a_tight_plan_holds_and_no_replica_can_be_missed(
    where: dict[str, int], rule: dict[str, Any], more: dict[str, Any]
) -> None:
    family = "spare" if "spare" in rule else "survive_loss"
    assert families(where, rule, **more) == set()
    for place in where:
        assert families(one_less(where, place), rule, **more) == {family}


def test_what_stands_in_one_place_does_not_survive_it() -> None:
    assert families({"cloud/eu/a": 6}, ZONE) == {"survive_loss"}
    assert families({"cloud/eu/a": 3, "cloud/eu/b": 3}, REGION) == {"survive_loss"}
    assert families({"cloud/eu": 3, "cloud/us": 3}, PROVIDER) == {"survive_loss"}


def test_machines_anywhere_in_a_region_go_with_each_of_its_zones() -> None:
    assert families({"cloud/eu": 3, "cloud/eu/a": 3}, ZONE) == {"survive_loss"}
    assert families({"cloud/eu/b": 3, "cloud/eu/a": 3}, ZONE) == set()


def test_an_api_goes_with_its_provider() -> None:
    where = {"cloud/eu": 2, "other/eu": 2}
    assert families(where, PROVIDER, api=2.0, name="cloud/own-api") == {"survive_loss"}
    assert families(where, REGION, api=2.0, name="cloud/own-api") == set()


def test_a_zone_that_nobody_lists_is_no_place_to_buy() -> None:
    assert "candidate" in families({"cloud/eu/z": 3}, {})
