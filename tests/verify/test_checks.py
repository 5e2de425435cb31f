"""Each check with a plan that satisfies it and one that breaks it."""

from __future__ import annotations

import dataclasses

import pytest

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand
from planner.spec.types import OwnedMachines, Resilience, Sovereignty, Spec
from planner.verify.verify import Verifier
from tests import builders as b

OD, R1, SPOT, OWNED, API = (
    PurchaseOption.ON_DEMAND,
    PurchaseOption.RESERVED_1Y,
    PurchaseOption.SPOT,
    PurchaseOption.OWNED,
    PurchaseOption.API,
)
POOL, CONFIG, CLASS = "cloud/eu/pair", "tiny/bf16/vllm/A/tp1", "chat/all"
WEIGHTS = ((0.75, 0.25),)


@dataclasses.dataclass
class Case:
    """A demand of 2 req/s with peaks of 5, two replicas of 2 req/s on one machine of two, the rest by API."""

    spec: Spec
    catalog: Catalog
    demand: Demand
    plan: Plan

    def families(self, **changes):
        plan = self.plan.model_copy(update=changes)
        return {v.family for v in Verifier(self.spec, self.catalog, self.demand).verify(plan).violations}


def routes(*rates, slice_=0):
    return tuple(Route(request_class=CLASS, slice=slice_, band=i, req_per_s=x) for i, x in enumerate(rates))


def deployment(*rates, replicas=2, **fields):
    base = {"service": "chat", "config": CONFIG, "pool": POOL, "spot": False, "replicas": (replicas,)}
    return Deployment(**{**base, "routes": routes(*rates), **fields})


def purchase(option=OD, instances=1, pool=POOL):
    return Purchase(pool=pool, option=option, instances=(instances,))


def api(*rates, name="apico/tiny-api"):
    return ApiUse(request_class=CLASS, api=name, routes=routes(*rates))


def offers(**limits):
    return [
        b.offer("cloud", "eu", "pair", option, price, **limits) for option, price in ((OD, 4.0), (R1, 3.0), (SPOT, 1.0))
    ]


def case(policy=None, service=None, cls=None, plan=None, offers_=None, apis=None, measured=None, fleet=None, **catalog):
    spec = b.make_spec(measured=measured or [b.measured(2.0)], policy=policy or {}, fleet=fleet or {})
    cat = b.make_catalog(
        instance_types=[b.instance_type("cloud", "pair", accelerators=2)],
        offers=offers() if offers_ is None else offers_,
        apis=[b.api()] if apis is None else apis,
        **catalog,
    )
    request_class = b.request_class(((2.0, 5.0),), WEIGHTS, **{"api_models": ("tiny-api",), **(cls or {})})
    demand = b.demand([b.service([request_class], WEIGHTS, **(service or {}))])
    default = Plan(purchases=(purchase(),), deployments=(deployment(2.0, 4.0),), api=(api(0.0, 1.0),))
    return Case(spec, cat, demand, plan or default)


def test_the_base_plan_holds():
    assert case().families() == set()


# ---- demand and capacity


@pytest.mark.parametrize("rate", [0.9, 1.1])
def test_serve_demand_wants_exactly_the_demand(rate):
    assert case().families(api=(api(0.0, rate),)) == {"serve_demand"}


def test_serve_demand_catches_a_missing_route_of_a_small_workload():
    small = b.demand([b.service([b.request_class(((1e-5, 2e-5),), WEIGHTS)], WEIGHTS)])
    c = case(plan=Plan(purchases=(purchase(),), deployments=(deployment(1e-5, 2e-5),), api=()))
    c.demand = small
    assert c.families() == set()
    assert c.families(deployments=(deployment(1e-5),)) == {"serve_demand"}


@pytest.mark.parametrize(
    "route",
    [
        Route(request_class="chat/other", slice=0, band=0, req_per_s=1.0),
        Route(request_class=CLASS, slice=1, band=0, req_per_s=1.0),
        Route(request_class=CLASS, slice=0, band=2, req_per_s=1.0),
        Route(request_class=CLASS, slice=0, band=-1, req_per_s=1.0),
        Route(request_class=CLASS, slice=0, band=0, req_per_s=-1.0),
    ],
)
def test_routes_must_lead_somewhere(route):
    good = deployment(2.0, 4.0)
    bad = good.model_copy(update={"routes": (*good.routes, route)})
    assert case().families(deployments=(bad,)) == {"serve_demand"}


def test_replica_capacity_is_exact_and_one_replica_less_breaks_it():
    assert case().families(deployments=(deployment(2.0, 4.0, replicas=1),)) == {"replica_capacity"}


def test_replica_capacity_holds_in_every_band():
    plan = {"deployments": (deployment(4.5, 4.0),), "api": (api(0.0, 1.0),)}
    assert case().families(**plan) == {"serve_demand", "replica_capacity"}


def test_forecast_margin_and_target_utilization_take_capacity():
    policy = {"headroom": {"forecast_margin": 1.1, "target_utilization": 1.0}}
    assert case(policy).families() == {"replica_capacity"}
    policy = {"headroom": {"forecast_margin": 1.0, "target_utilization": 0.9}}
    assert case(policy).families() == {"replica_capacity"}


def test_spot_replicas_count_less_by_their_restarts():
    spot = {"purchases": (purchase(SPOT),), "deployments": (deployment(2.0, 4.0, spot=True),)}
    assert case().families(**spot) == {"replica_capacity"}
    fits = {"deployments": (deployment(2.0, 3.6, spot=True),), "api": (api(0.0, 1.4),)}
    assert case().families(**{**spot, **fits}) == set()


def test_credited_spot_counts_its_availability_too():
    policy = {"spot": {"model": "credited"}}
    spot = {"purchases": (purchase(SPOT),), "deployments": (deployment(2.0, 3.6, spot=True),), "api": (api(0.0, 1.4),)}
    assert case(policy).families(**spot) == {"replica_capacity"}
    spot |= {"deployments": (deployment(2.0, 2.88, spot=True),), "api": (api(0.0, 2.12),)}
    assert case(policy).families(**spot) == set()


def test_an_unmeasured_configuration_is_no_candidate():
    assert case(measured=[b.measured(2.0, tensor_parallel=2)]).families() == {"candidate"}
    other = deployment(2.0, 4.0, config="tiny/bf16/vllm/A/tp8")
    assert case().families(deployments=(other,)) >= {"candidate"}


def test_a_class_that_the_configuration_does_not_serve_may_not_be_routed_to_it():
    c = case(measured=[b.measured(2.0, class_="all")])
    long = b.request_class(((0.0, 0.5),), WEIGHTS, "chat/long")
    c.demand = b.demand([b.service([*c.demand.services[0].classes, long], WEIGHTS)])
    extra = Route(request_class="chat/long", slice=0, band=1, req_per_s=0.5)
    routed = deployment(2.0, 3.0, replicas=3).model_copy(update={"routes": (*routes(2.0, 3.0), extra)})
    plan = {"deployments": (routed,), "purchases": (purchase(instances=2),), "api": (api(0.0, 2.0),)}
    assert c.families(**plan) == {"replica_capacity"}


# ---- machines


def test_packing_wants_whole_instances():
    three = {"deployments": (deployment(2.0, 5.0, replicas=3),), "api": ()}
    assert case().families(**three) == {"instance_packing"}
    assert case().families(**three, purchases=(purchase(instances=2),)) == set()


def test_spot_and_firm_machines_are_not_mixed():
    assert case().families(purchases=(purchase(SPOT),)) == {"instance_packing"}
    assert case().families(deployments=(deployment(2.0, 3.6, spot=True),), api=(api(0.0, 1.4),)) == {"instance_packing"}


def test_machines_of_an_option_that_the_workload_excludes_do_not_count():
    only = {"options": (R1, API)}
    assert case(service=only).families() == {"instance_packing"}
    assert case(service=only).families(purchases=(purchase(R1),)) == set()


def test_an_offer_has_only_so_many_instances():
    assert case(offers_=offers(max_instances=1)).families() == set()
    assert case(offers_=offers(max_instances=0)).families() == {"offer"}


def test_nothing_is_bought_that_nobody_sells():
    assert case().families(purchases=(purchase(PurchaseOption.RESERVED_3Y),)) == {"offer", "instance_packing"}
    assert case().families(api=(api(0.0, 1.0, name="apico/none"),)) == {"offer", "serve_demand"}


def test_counts_are_whole_and_there_is_one_per_slice():
    long = Purchase(pool=POOL, option=OD, instances=(1, 1))
    assert case().families(purchases=(long,)) == {"integrality", "instance_packing"}
    negative = Purchase(pool=POOL, option=OD, instances=(-1,))
    assert "integrality" in case().families(purchases=(purchase(), negative))
    odd = deployment(2.0, 4.0, replicas=-2)
    assert "integrality" in case().families(deployments=(odd,))


def test_a_commitment_does_not_change_between_slices():
    weights = ((1.0,), (1.0,))
    cls = b.request_class(((4.0,), (2.0,)), weights)
    c = case()
    c.demand = b.demand([b.service([cls], weights)], (365.0, 365.0))
    running = deployment(replicas=2).model_copy(
        update={"replicas": (2, 1), "routes": (*routes(4.0), *routes(2.0, slice_=1))}
    )
    plan = {"deployments": (running,), "api": ()}
    assert c.families(**plan, purchases=(Purchase(pool=POOL, option=R1, instances=(1, 1)),)) == set()
    changing = Purchase(pool=POOL, option=R1, instances=(2, 1))
    assert c.families(**plan, purchases=(changing,)) == {"commitment_window"}
    assert c.families(**plan, purchases=(Purchase(pool=POOL, option=OD, instances=(2, 1)),)) == set()


# ---- risk


def test_spot_limit_wants_enough_served_without_spot():
    policy, plan = {}, {"purchases": (purchase(SPOT),), "api": (api(1.0, 2.5),)}
    plan["deployments"] = (deployment(1.0, 2.5, spot=True),)
    assert case(policy, {"max_spot_share": 0.5}).families(**plan) == set()
    assert case(policy, {"max_spot_share": 0.49}).families(**plan) == {"spot_limit"}


def test_spot_needs_something_that_takes_over():
    plan = {"purchases": (purchase(SPOT),), "api": (api(1.0, 2.5),), "deployments": (deployment(1.0, 2.5, spot=True),)}
    assert case(service={"options": (SPOT, API)}).families(**plan) == {"option"}
    assert case({"spot": {"model": "credited"}}, {"options": (SPOT, API)}).families(**plan) == set()
    assert case(service={"options": (OD, API)}).families(**plan) >= {"option"}


def test_spot_of_which_nothing_is_known_is_refused():
    plan = {"purchases": (purchase(SPOT),), "api": (api(1.0, 2.5),), "deployments": (deployment(1.0, 2.5, spot=True),)}
    assert case(spot_markets=[]).families(**plan) == {"option"}


def spare(count):
    return {"resilience": Resilience(spare={"count": count})}


def test_a_spare_replica_can_be_lost():
    assert case(service=spare(1)).families() == {"spare"}
    three = {"deployments": (deployment(2.0, 4.0, replicas=3),), "purchases": (purchase(instances=2),)}
    assert case(service=spare(1)).families(**three) == set()
    assert case(service=spare(2)).families(**three) == {"spare"}
    only_api = {"deployments": (), "purchases": (), "api": (api(2.0, 5.0),)}
    assert case(service=spare(2)).families(**only_api) == set()


@pytest.mark.parametrize(("replicas", "binds"), [(3, True), (4, False)])
def test_a_spare_binds_where_one_replica_more_could_not_be_lost(replicas, binds):
    c = case(service=spare(1))
    plan = {"deployments": (deployment(2.0, 4.0, replicas=replicas),), "purchases": (purchase(instances=2),)}
    found = Verifier(c.spec, c.catalog, c.demand).verify(c.plan.model_copy(update=plan))
    assert found.ok
    assert ("spare" in {s.family for s in found.binding}) is binds


def test_the_largest_replica_is_the_one_that_is_lost():
    measured = [b.measured(2.0), b.measured(3.5, tensor_parallel=2)]
    large = deployment(0.0, 1.0, config="tiny/bf16/vllm/A/tp2", replicas=1)
    small = deployment(2.0, 4.0, replicas=2)
    plan = {"deployments": (small, large), "purchases": (purchase(instances=2),), "api": ()}
    c = case(service=spare(1), measured=measured)
    assert c.families(**plan) == {"spare"}
    plan |= {"deployments": (deployment(2.0, 4.0, replicas=3), large), "purchases": (purchase(instances=3),)}
    assert c.families(**plan) == set()


def test_rules_that_are_not_checked_fail_closed():
    assert case(service={"resilience": Resilience(spare={"count": 1, "domain": "zone"})}).families() == {"spare"}
    assert case(service={"resilience": Resilience(survive_loss_of=("zone",))}).families() == {"survive_loss"}


# ---- limits


@pytest.mark.parametrize(
    ("quota", "broken"),
    [
        ({"limit": 2}, False),
        ({"limit": 1}, True),
        ({"limit": 1, "unit": "instances"}, False),
        ({"limit": 0, "unit": "instances"}, True),
        ({"limit": 0, "match": {"provider": "other"}}, False),
        ({"limit": 0, "match": {"provider": "cloud", "region": "eu", "country": "DE", "accelerator": "A"}}, True),
        ({"limit": 0, "applies_to": ("spot",)}, False),
        ({"limit": "unknown"}, False),
    ],
)
def test_quota(quota, broken):
    assert case({"quotas": [quota]}).families() == ({"quota"} if broken else set())


def test_absent_spot_takes_on_demand_quota():
    plan = {"purchases": (purchase(SPOT),), "api": (api(0.0, 1.4),), "deployments": (deployment(2.0, 3.6, spot=True),)}

    def quota(limit):
        return {"quotas": [{"limit": limit, "applies_to": ("on_demand",)}]}

    assert case(quota(0.4)).families(**plan) == set()
    assert case(quota(0.3)).families(**plan) == {"quota"}


def test_budget():
    cost = 4.0 * 730 + 0.25 * 730 * 3600 * 0.002
    assert case({"budget": {"usd_per_month": cost + 0.01}}).families() == set()
    assert case({"budget": {"usd_per_month": cost - 0.01}}).families() == {"budget"}


def test_a_cash_budget_counts_upfront_payments():
    upfront = [*offers()[::2], b.offer("cloud", "eu", "pair", R1, 3.0, upfront_fraction=1.0)]
    plan = {"purchases": (purchase(R1),)}
    amortised = {"budget": {"usd_per_month": 4000.0}}
    cash = {"budget": {"usd_per_month": 4000.0, "basis": "cash"}}
    assert case(amortised, offers_=upfront).families(**plan) == set()
    assert case(cash, offers_=upfront).families(**plan) == {"budget"}


@pytest.mark.parametrize(
    ("limits", "broken"),
    [
        ({"max_req_per_s": 1.0}, False),
        ({"max_req_per_s": 0.99}, True),
        ({"max_tok_per_min": 90_000.0}, False),
        ({"max_tok_per_min": 89_000.0}, True),
        ({"context_window_tokens": 1500}, False),
        ({"context_window_tokens": 1499}, True),
    ],
)
def test_api_limits(limits, broken):
    assert case(apis=[b.api(**limits)]).families() == ({"api_limits"} if broken else set())


def test_an_api_known_to_be_slow_breaks_the_promise():
    cls = {"ttft_limit_s": 0.5, "ttft_quantile": 0.95}
    only_api = {"deployments": (), "purchases": (), "api": (api(2.0, 5.0),)}
    assert case(cls=cls, apis=[b.api(ttft_p95_ms=500.0)]).families(**only_api) == set()
    assert case(cls=cls, apis=[b.api(ttft_p95_ms=501.0)]).families(**only_api) == {"api_limits"}


def test_an_api_must_be_an_accepted_equivalent():
    assert case(cls={"api_models": ()}).families() == {"option"}
    assert case(service={"options": (OD,)}).families() == {"option"}


def test_provider_limits():
    assert case({"providers": {"deny": ("cloud",)}}).families() == {"provider_limits"}
    assert case({"providers": {"deny": ("apico",)}}).families() == {"provider_limits"}
    assert case({"providers": {"allow": ("cloud", "apico")}}).families() == set()
    assert case({"providers": {"allow": ("cloud",)}}).families() == {"provider_limits"}
    assert case({"providers": {"max_count": 1}}).families() == {"provider_limits"}
    assert case({"providers": {"max_count": 2}}).families() == set()


def test_configurations():
    measured = [b.measured(2.0), b.measured(3.0, tensor_parallel=2)]
    both = (deployment(1.0, 2.0), deployment(1.0, 2.0, config="tiny/bf16/vllm/A/tp2", replicas=1))
    plan = {"deployments": both, "purchases": (purchase(instances=2),)}
    assert case({"max_configurations": 2}, measured=measured).families(**plan) == set()
    assert case({"max_configurations": 1}, measured=measured).families(**plan) == {"configurations"}


# ---- places


def rule(**fields):
    return {"sovereignty": Sovereignty(**fields)}


@pytest.mark.parametrize(
    ("fields", "broken"),
    [
        ({"countries": ("EU",)}, False),
        ({"countries": ("DE", "CH")}, False),
        ({"countries": ("US",)}, True),
        ({"operator_jurisdictions": ("EU",)}, False),
        ({"operator_jurisdictions": ("CH",)}, True),
        ({"certifications": ("iso27001",)}, True),
    ],
)
def test_sovereignty_of_pools_and_apis(fields, broken):
    c = case(service=rule(**fields))
    assert c.families() == ({"sovereignty"} if broken else set())
    no_api = {"api": (), "deployments": (deployment(2.0, 5.0, replicas=3),), "purchases": (purchase(instances=2),)}
    assert c.families(**no_api) == ({"sovereignty"} if broken else set())
    no_gpu = {"api": (api(2.0, 5.0),), "deployments": (), "purchases": ()}
    assert c.families(**no_gpu) == ({"sovereignty"} if broken else set())


def test_certifications_of_provider_and_api():
    held = ("ISO27001",)
    c = case(
        service=rule(certifications=("iso27001",)),
        apis=[b.api(certifications=held)],
        providers=[b.provider("cloud", certifications=held)],
    )
    assert c.families() == set()


def test_unknown_places_fail_closed():
    countries = rule(countries=("EU",))
    assert case(service=countries, regions=[]).families() == {"sovereignty"}
    assert case(service=countries, regions=[b.region("cloud", "eu", None)]).families() == {"sovereignty"}
    assert case(service=countries, apis=[b.api(countries=None)]).families() == {"sovereignty"}
    assert case(service=countries, apis=[b.api(countries=("DE", "US"))]).families() == {"sovereignty"}
    operators = rule(operator_jurisdictions=("EU",))
    assert case(service=operators, providers=[b.provider("cloud", None)]).families() == {"sovereignty"}
    market = [b.provider("cloud", marketplace=True)]
    assert case(service=operators, providers=market).families() == {"sovereignty"}
    assert case(service=operators, apis=[b.api(operator_jurisdiction=None)]).families() == {"sovereignty"}


def owned_case(country, **service):
    machines = OwnedMachines(accelerator="A", accelerators_per_instance=2, country=country, usd_per_used_hour=0.1)
    c = case(service=service, fleet={"owned": [machines]})
    pool = f"owned/{(country or 'unknown').lower()}/Ax2"
    return c, {"purchases": (purchase(OWNED, pool=pool),), "deployments": (deployment(2.0, 4.0, pool=pool),)}


def test_owned_machines_are_used_up_to_their_number_and_only_in_their_country():
    c, plan = owned_case("DE")
    assert c.families(**plan) == set()
    two = (purchase(OWNED, 2, plan["purchases"][0].pool),)
    assert c.families(**{**plan, "purchases": two}) == {"offer"}
    c, plan = owned_case("DE", **rule(countries=("EU",), operator_jurisdictions=("EU",)))
    assert c.families(**plan) == set()
    c, plan = owned_case(None, **rule(countries=("EU",)))
    assert c.families(**plan) == {"sovereignty"}


# ---- verdict


def test_a_wrong_claim_of_the_cost_is_a_violation():
    c = case()
    verifier = Verifier(c.spec, c.catalog, c.demand)
    total = verifier.price(c.plan).total_usd_per_month
    assert verifier.verify(c.plan, total).ok
    assert {v.family for v in verifier.verify(c.plan, total * 1.001).violations} == {"cost"}


def test_what_binds_is_named_with_its_slack():
    c = case({"quotas": [{"limit": 3}]})
    found = {s.family: s for s in Verifier(c.spec, c.catalog, c.demand).verify(c.plan).binding}
    assert set(found) == {"replica_capacity", "instance_packing", "quota"}
    assert found["replica_capacity"].slack == pytest.approx(0.0)
    assert found["quota"].slack == pytest.approx(1.0)  # one accelerator left, but machines come in pairs


def test_headroom_is_the_largest_demand_that_the_same_machines_and_api_serve():
    c = case()
    assert Verifier(c.spec, c.catalog, c.demand).verify(c.plan).headroom_factor == pytest.approx((4 + 1) / 5)
    more = c.plan.model_copy(update={"deployments": (deployment(2.0, 4.0, replicas=3),)})
    assert Verifier(c.spec, c.catalog, c.demand).verify(more).headroom_factor == pytest.approx((6 + 1) / 5)
    two = (deployment(1.0, 2.0, replicas=1), deployment(1.0, 2.0, replicas=3))
    split = c.plan.model_copy(update={"deployments": two})
    assert Verifier(c.spec, c.catalog, c.demand).verify(split).headroom_factor == pytest.approx((8 + 1) / 5)


def test_deliveries_state_utilisation_and_the_row_that_binds():
    c = case({"headroom": {"target_utilization": 0.8}})
    plan = c.plan.model_copy(update={"deployments": (deployment(2.0, 3.2),), "api": (api(0.0, 1.8),)})
    (delivery,) = Verifier(c.spec, c.catalog, c.demand).verify(plan).deliveries
    assert delivery.utilization_peak == pytest.approx(3.2 / 4)
    assert delivery.utilization_mean == pytest.approx((0.75 * 2.0 + 0.25 * 3.2) / 4)
    assert delivery.row_load_peak == pytest.approx(1.0)
    assert delivery.binding_row == "utilization"


def test_violations_say_what_was_needed_and_had():
    c = case()
    plan = c.plan.model_copy(update={"purchases": ()})
    (violation,) = Verifier(c.spec, c.catalog, c.demand).verify(plan).violations
    assert (violation.family, violation.needed, violation.had) == ("instance_packing", 1, 0)
    assert violation.key == (POOL, "firm", "q1-s1")
    assert "needed 1" in str(violation) and "instance_packing[" in str(violation)
