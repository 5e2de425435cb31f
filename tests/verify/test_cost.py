"""Hand-computed bills: every number here can be checked on paper."""

from __future__ import annotations

import pytest

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.errors import VerificationError
from planner.spec.types import OwnedMachines
from planner.verify.cost import price_plan
from planner.verify.market import api_usd_per_request
from tests import builders as b

OD, R1, R3, SPOT, OWNED = (
    PurchaseOption.ON_DEMAND,
    PurchaseOption.RESERVED_1Y,
    PurchaseOption.RESERVED_3Y,
    PurchaseOption.SPOT,
    PurchaseOption.OWNED,
)
POOL = "cloud/eu/one"
WEIGHTS = ((1.0,), (0.75, 0.25))
HOURS = (230.0, 500.0)
BANDS = ((2.0,), (4.0, 8.0))


def catalog(**fields):
    offers = [
        b.offer("cloud", "eu", "one", OD, 4.0),
        b.offer("cloud", "eu", "one", R1, 3.0),
        b.offer("cloud", "eu", "one", R3, 2.0, upfront_fraction=0.5),
        b.offer("cloud", "eu", "one", SPOT, 1.0),
    ]
    return b.make_catalog(
        instance_types=[b.instance_type("cloud", "one")], offers=offers, apis=[b.api(), b.api(model="tiers")], **fields
    )


def demand(**fields):
    cls = b.request_class(BANDS, WEIGHTS, **fields)
    return b.demand([b.service([cls], WEIGHTS)], HOURS)


def bought(option, *instances, pool=POOL):
    return Plan(purchases=(Purchase(pool=pool, option=option, instances=instances),), deployments=(), api=())


def price(plan, demand_=None, **fields):
    return price_plan(plan, b.make_spec(**fields), catalog(), demand_ or demand())


def test_on_demand_is_paid_by_the_hour_of_each_slice():
    cost = price(bought(OD, 3, 1))
    assert cost.terms == {"on_demand": pytest.approx((230 * 3 + 500 * 1) * 4.0)}
    assert cost.total_usd_per_month == pytest.approx(4760.0)
    assert cost.committed_usd == cost.liability_beyond_horizon_usd == 0.0


def test_a_commitment_is_paid_730_hours_whether_used_or_not():
    cost = price(bought(R1, 2, 2))
    assert cost.terms == {"reserved": pytest.approx(2 * 3.0 * 730)}
    assert cost.committed_usd == pytest.approx(2 * 3.0 * 730 * 12)
    assert cost.liability_beyond_horizon_usd == pytest.approx(2 * 3.0 * 730 * 9)
    assert cost.cash_usd_per_month == pytest.approx(cost.total_usd_per_month)


def test_an_upfront_payment_is_cash_of_the_horizon_and_no_liability_after_it():
    cost = price(bought(R3, 1, 1))
    month = 2.0 * 730
    assert cost.total_usd_per_month == pytest.approx(month)
    assert cost.cash_usd_per_month == pytest.approx((0.5 * month * 36 + 0.5 * month * 3) / 3)
    assert cost.liability_beyond_horizon_usd == pytest.approx(0.5 * month * 33)


def test_spot_costs_its_share_up_and_the_fallback_for_the_rest():
    cost = price(bought(SPOT, 1, 2))
    assert cost.terms == {"spot": pytest.approx(1230 * 0.8 * 1.0), "spot_fallback": pytest.approx(1230 * 0.2 * 4.0)}
    assert cost.purchases[0].usd_per_month == pytest.approx(1230 * 1.6)


def test_credited_spot_costs_only_what_is_up():
    cost = price(bought(SPOT, 1, 2), policy={"spot": {"model": "credited"}})
    assert cost.total_usd_per_month == pytest.approx((230 + 1000) * 0.8)


def test_policy_overrides_the_availability_of_the_market():
    cost = price(bought(SPOT, 1, 0), policy={"spot": {"availability": 0.5}})
    assert cost.total_usd_per_month == pytest.approx(230 * (0.5 * 1.0 + 0.5 * 4.0))


def test_owned_machines_cost_their_used_hours():
    spec = b.make_spec(
        fleet={
            "owned": [OwnedMachines(accelerator="A", accelerators_per_instance=2, country="DE", usd_per_used_hour=0.5)]
        }
    )
    plan = bought(OWNED, 1, 0, pool="owned/de/Ax2")
    assert price_plan(plan, spec, catalog(), demand()).terms == {"owned": pytest.approx(115.0)}


def test_an_api_is_billed_on_mean_volume_not_on_the_peak():
    routes = tuple(
        Route(request_class="chat/all", slice=t, band=i, req_per_s=x)
        for t, xs in enumerate(BANDS)
        for i, x in enumerate(xs)
    )
    plan = Plan(
        purchases=(), deployments=(), api=(ApiUse(request_class="chat/all", api="apico/tiny-api", routes=routes),)
    )
    cost = price(plan, policy={"headroom": {"target_utilization": 1.0, "forecast_margin": 2.0}})
    requests = 3600 * (230 * 2.0 + 500 * (0.75 * 4 + 0.25 * 8))
    usd = requests * (1000 * 1.0 + 500 * 2.0) / 1e6
    assert cost.terms == {"api": pytest.approx(usd)}
    assert cost.api[0].mean_req_per_s == pytest.approx((2.0, 5.0))
    assert cost.api[0].peak_req_per_s == (2.0, 8.0)
    assert cost.usd_per_million_tokens == {"chat": pytest.approx(usd / (requests * 1500) * 1e6)}


def test_context_tiers_and_cached_tokens_have_their_own_prices():
    offer = b.api(cached_input_usd_per_mtok=0.25, context_tiers=((200_000, 2.0, 3.0), (400_000, 4.0, 5.0)))
    assert api_usd_per_request(offer, 1000, 500, 400) == pytest.approx((600 * 1 + 400 * 0.25 + 500 * 2) / 1e6)
    assert api_usd_per_request(offer, 200_000, 0, 0) == pytest.approx(0.2)
    long = api_usd_per_request(offer, 200_001, 10, 100_000)
    assert long == pytest.approx((100_001 * 2.0 + 100_000 * 0.5 + 10 * 3.0) / 1e6)
    assert api_usd_per_request(offer, 500_000, 0, 0) == pytest.approx(2.0)


def test_overhead_is_a_share_of_the_self_hosted_bill_and_a_fixed_part():
    overhead = {"ops_overhead": {"fraction": 0.25, "fixed_usd_per_month": 100.0}}
    cost = price(bought(OD, 1, 1), policy=overhead)
    assert cost.terms["ops_overhead"] == pytest.approx(0.25 * 2920 + 100)
    assert cost.total_usd_per_month == pytest.approx(1.25 * 2920 + 100)
    nothing = price(Plan(purchases=(), deployments=(), api=()), policy=overhead)
    assert nothing.terms == {} and nothing.total_usd_per_month == 0.0


def test_terms_add_up_and_cover_every_purchase():
    plan = Plan(purchases=bought(OD, 1, 2).purchases + bought(R1, 1, 1).purchases, deployments=(), api=())
    cost = price(plan)
    assert sum(cost.terms.values()) == pytest.approx(cost.total_usd_per_month)
    assert sum(p.usd_per_month for p in cost.purchases) == pytest.approx(cost.total_usd_per_month)


def test_cost_per_token_is_split_by_busy_replica_time():
    spec = b.make_spec(measured=[b.measured(10.0)])
    long = b.request_class(((1.0,),), ((1.0,),), "big/all")
    short = b.request_class(((3.0,),), ((1.0,),), "small/all")
    both = b.demand([b.service([long, short], ((1.0,),))])
    routes = tuple(Route(request_class=c.id, slice=0, band=0, req_per_s=c.mean_req_per_s[0]) for c in (long, short))
    running = Deployment(
        service="chat", config="tiny/bf16/vllm/A/tp1", pool=POOL, spot=False, replicas=(1,), routes=routes
    )
    plan = Plan(purchases=bought(OD, 1).purchases, deployments=(running,), api=())
    cost = price_plan(plan, spec, catalog(), both)
    per_request = 2920 / (4 * 3600 * 730)
    assert cost.usd_per_million_tokens["big"] == pytest.approx(per_request / 1500 * 1e6)
    assert cost.usd_per_million_tokens["small"] == pytest.approx(per_request / 1500 * 1e6)


def test_what_nobody_sells_has_no_price():
    with pytest.raises(VerificationError, match="no such offer"):
        price(bought(OD, 1, 1, pool="cloud/eu/two"))


def test_an_offer_kept_for_the_record_is_no_price():
    plan, base = bought(OD, 1, 1, pool="cloud/us/one"), catalog()
    for flags, sold in (((), True), (("superseded",), False), (("not_sold",), False), (("stale",), True)):
        offer = b.offer("cloud", "us", "one", OD, 1.0, flags=flags)
        other = b.make_catalog(instance_types=base.instance_types, offers=[*base.offers, offer])
        if sold:
            assert price_plan(plan, b.make_spec(), other, demand()).total_usd_per_month == pytest.approx(730.0)
        else:
            with pytest.raises(VerificationError, match="no such offer"):
                price_plan(plan, b.make_spec(), other, demand())
