"""Known optima and rules, each on a problem small enough to check by hand."""

import pytest

from planner.base import PurchaseOption
from planner.candidates.types import Problem, QuotaRow, SpotTerms
from planner.formulation.axes import Axis, axis_programme, bounded, minimising
from planner.formulation.compile import Compiled, compile_milp
from planner.formulation.elastic import LIMITS, conflicts, elastic_programme
from planner.formulation.sets import is_divisor_chain, maximal_patterns
from planner.solve.engine import SolverChild
from planner.solve.types import Answer, Infeasible, Solved, SolveOptions
from planner.spec.types import Budget, Headroom, OpsOverhead, Policy, ProviderPolicy, SpotPolicy
from tests.formulation.small import api, candidate, capability, pool, problem, request_class, service

OD, R1, R3, SPOT = (
    PurchaseOption.ON_DEMAND,
    PurchaseOption.RESERVED_1Y,
    PurchaseOption.RESERVED_3Y,
    PurchaseOption.SPOT,
)
EXACT = SolveOptions(relative_gap=0.0)


@pytest.fixture(scope="module")
def child():
    with SolverChild() as c:
        yield c


def answer(child: SolverChild, p: Problem) -> tuple[Compiled, Answer]:
    compiled = compile_milp(p)
    return compiled, child.solve(compiled.milp, EXACT)


def best(child: SolverChild, p: Problem) -> tuple[Compiled, Solved]:
    compiled, found = answer(child, p)
    assert isinstance(found, Solved), found
    return compiled, found


def test_commitment_follows_the_load_duration_curve(child: SolverChild) -> None:
    hours = tuple(h * 730 / 168 for h in (40, 48, 40, 24, 12, 4))
    k, p = capability(1, (1.0,)), pool("p", 1, {OD: 4.0, R1: 2.0})
    s = service(request_class([4, 6, 8, 10, 13, 20]))
    compiled, found = best(child, problem(hours, [s], [p], [candidate(k, p)]))
    assert found.objective * 168 == pytest.approx(3280)
    plan = compiled.plan(found.values)
    assert {x.option: x.instances for x in plan.purchases}[R1] == (6,) * 6


def test_api_takes_the_rest_that_no_whole_replica_pays_for(child: SolverChild) -> None:
    cls = request_class([3e9 / 730 / 3600 / 1200], apis=("big",))
    k, p = capability(2, (730 * 3600 * 1200 / 1.2e9,)), pool("p", 2, {OD: 5.0})
    compiled, found = best(child, problem((730,), [service(cls)], [p], [candidate(k, p)], [api(cls, 1200 * 4 / 1e6)]))
    assert found.objective * 730 == pytest.approx(9700)
    plan = compiled.plan(found.values)
    assert plan.deployments[0].replicas == (2,)
    hosted = sum(r.req_per_s for r in plan.deployments[0].routes)
    assert hosted + plan.api[0].routes[0].req_per_s == pytest.approx(cls.mean_req_per_s[0], rel=1e-12)


@pytest.mark.parametrize(("load", "replicas"), [(9.0, 6), (5.0, 4), (2.2, 3)])
def test_one_spare_replica(child: SolverChild, load: float, replicas: int) -> None:
    k, p = capability(1, (0.5,)), pool("p", 1, {OD: 3.0})
    _, found = best(child, problem((730,), [service(request_class([load]), spares=1)], [p], [candidate(k, p)]))
    assert found.objective == pytest.approx(3.0 * replicas)


def test_splitting_a_class_in_equal_parts_changes_no_cost(child: SolverChild) -> None:
    p = pool("p", 4, {OD: 4.0})
    whole = problem((730,), [service(request_class([9.0]), spares=1)], [p], [candidate(capability(1, (0.5,)), p)])
    halves = service(request_class([4.5], "a"), request_class([4.5], "b"), spares=1)
    split = problem((730,), [halves], [p], [candidate(capability(1, (0.5, 0.5)), p)])
    assert best(child, whole)[1].objective == pytest.approx(best(child, split)[1].objective)


def test_credited_spot_stays_under_its_share(child: SolverChild) -> None:
    terms = SpotTerms(
        interruptions_per_up_hour=0.5, start_h=0.1, availability=0.85, fallback_offer=None, fallback_usd_per_hour=None
    )
    p = pool("p", 1, {OD: 4.0, SPOT: 1.5}, spot=terms)
    policy = Policy(spot=SpotPolicy(model="credited"))
    s = service(request_class([20.0]))
    compiled, found = best(child, problem((730,), [s], [p], [candidate(capability(1, (1.0,)), p)], policy=policy))
    assert found.objective == pytest.approx(56.575)
    assert {x.option: x.instances for x in compiled.plan(found.values).purchases} == {OD: (10,), SPOT: (13,)}


def test_fallback_spot_pays_on_demand_while_it_is_away(child: SolverChild) -> None:
    terms = SpotTerms(
        interruptions_per_up_hour=0.0,
        start_h=0.1,
        availability=0.8,
        fallback_offer="p/on_demand",
        fallback_usd_per_hour=4.0,
    )
    p = pool("p", 1, {OD: 4.0, SPOT: 1.0}, spot=terms)
    s = service(request_class([10.0]), max_spot_share=1.0)
    compiled, found = best(child, problem((730,), [s], [p], [candidate(capability(1, (1.0,)), p)]))
    assert found.objective == pytest.approx(10 * (0.8 * 1.0 + 0.2 * 4.0))
    assert compiled.cost_terms(found.values) == pytest.approx(
        {"on_demand": 0.0, "spot": 5840.0, "spot_fallback": 5840.0}
    )


def test_replicas_share_instances_of_eight(child: SolverChild) -> None:
    p = pool("p", 8, {OD: 80.0})
    a, b = service(request_class([3.0], workload="a"), name="a"), service(request_class([1.0], workload="b"), name="b")
    seats = [candidate(capability(2, (1.0,)), p, name="a"), candidate(capability(2, (1.0,)), p, name="b")]
    compiled, found = best(child, problem((730,), [a, b], [p], seats))
    assert found.objective == pytest.approx(80.0)
    assert compiled.plan(found.values).purchases[0].instances == (1,)


def test_sizes_outside_a_divisor_chain_are_packed_by_patterns(child: SolverChild) -> None:
    """Two replicas of 4 accelerators do not fit one instance of 6, although 8 ≤ 12 would suggest two instances do."""
    p = pool("p", 6, {OD: 6.0})
    s = service(request_class([3.0]))
    _, found = best(child, problem((730,), [s], [p], [candidate(capability(4, (1.0,)), p)]))
    assert found.objective == pytest.approx(18.0)
    assert not is_divisor_chain((2, 4, 6))
    assert maximal_patterns((2, 4), 6) == [(3, 0), (1, 1)]


def test_replica_over_two_instances_takes_both_whole(child: SolverChild) -> None:
    p = pool("p", 8, {OD: 8.0})
    s = service(request_class([3.0]))
    compiled, found = best(child, problem((730,), [s], [p], [candidate(capability(16, (1.0,)), p)]))
    assert compiled.plan(found.values).purchases[0].instances == (6,)


def test_services_with_different_options_do_not_share_an_instance(child: SolverChild) -> None:
    p = pool("p", 2, {OD: 2.0, R1: 1.0})
    a, b = service(request_class([1.0], workload="a"), name="a"), service(request_class([1.0], workload="b"), name="b")
    seats = [candidate(capability(1, (1.0,)), p, (R1,), "a"), candidate(capability(1, (1.0,)), p, (OD,), "b")]
    _, found = best(child, problem((730,), [a, b], [p], seats))
    assert found.objective == pytest.approx(3.0)


def test_forecast_margin_buys_capacity_but_multiplies_no_api_money(child: SolverChild) -> None:
    cls = request_class([1.0], apis=("big",))
    policy = Policy(headroom=Headroom(forecast_margin=1.5))
    p = pool("p", 1, {OD: 1.0})
    only_gpu = problem(
        (730,), [service(request_class([2.0]))], [p], [candidate(capability(1, (1.0,)), p)], policy=policy
    )
    assert best(child, only_gpu)[1].objective == pytest.approx(3.0)
    only_api = problem((730,), [service(cls)], [], [], [api(cls, 0.001)], policy=policy)
    assert best(child, only_api)[1].objective == pytest.approx(3.6)


def test_api_money_follows_the_bands_mean_and_capacity_the_top(child: SolverChild) -> None:
    cls = request_class([1.0], bands=[[0.5, 3.0]], apis=("big",))
    s = service(cls, weights=[[0.8, 0.2]])
    p = pool("p", 1, {OD: 2.0})
    compiled, found = best(child, problem((730,), [s], [p], [candidate(capability(1, (1.0,)), p)], [api(cls, 0.001)]))
    # One replica takes 1 req/s; 2 of 3 req/s overflow during 20 % of the time: 2·0.2·3.6 = 1.44 USD/h.
    assert found.objective == pytest.approx(2.0 + 1.44)
    routes = {r.band: r.req_per_s for r in compiled.plan(found.values).api[0].routes}
    assert routes == pytest.approx({1: 2.0})


def test_quota_over_accelerators_counts_spots_replacement(child: SolverChild) -> None:
    terms = SpotTerms(
        interruptions_per_up_hour=0.0,
        start_h=0.0,
        availability=0.5,
        fallback_offer="p/on_demand",
        fallback_usd_per_hour=9.0,
    )
    p = pool("p", 1, {OD: 9.0, SPOT: 1.0}, spot=terms)
    s = service(request_class([4.0]), max_spot_share=1.0)
    base = problem((730,), [s], [p], [candidate(capability(1, (1.0,)), p)])
    row = QuotaRow(id="q", pools=("p",), options=(OD,), per_accelerator=True, limit=1.0)
    assert isinstance(answer(child, base.model_copy(update={"quotas": (row,)}))[1], Infeasible)
    wide = row.model_copy(update={"limit": 2.0})
    assert isinstance(answer(child, base.model_copy(update={"quotas": (wide,)}))[1], Solved)


def test_budget_counts_every_term(child: SolverChild) -> None:
    p = pool("p", 1, {OD: 1.0})
    seats = [candidate(capability(1, (1.0,)), p)]
    overhead = OpsOverhead(fraction=0.5, fixed_usd_per_month=73.0)
    for usd, kind in ((730 * 1.5 + 73.0 + 0.01, Solved), (730 * 1.5 + 73.0 - 0.01, Infeasible)):
        policy = Policy(budget=Budget(usd_per_month=usd), ops_overhead=overhead)
        found = answer(child, problem((730,), [service(request_class([1.0]))], [p], seats, policy=policy))[1]
        assert isinstance(found, kind)


def test_one_provider_only(child: SolverChild) -> None:
    p, q = pool("p", 1, {OD: 1.0}, most={OD: 1}), pool("q", 1, {OD: 1.2}, provider="other")
    seats = [candidate(capability(1, (1.0,)), p), candidate(capability(1, (1.0,)), q)]
    free = problem((730,), [service(request_class([2.0]))], [p, q], seats)
    assert best(child, free)[1].objective == pytest.approx(2.2)
    one = free.model_copy(update={"policy": Policy(providers=ProviderPolicy(max_count=1))})
    assert best(child, one)[1].objective == pytest.approx(2.4)


def test_max_configurations(child: SolverChild) -> None:
    p, q = pool("p", 1, {OD: 1.0}, most={OD: 1}), pool("q", 1, {OD: 2.0}, accelerator="Y")
    seats = [candidate(capability(1, (1.0,)), p), candidate(capability(1, (1.0,), accelerator="Y"), q)]
    free = problem((730,), [service(request_class([2.0]))], [p, q], seats)
    assert best(child, free)[1].objective == pytest.approx(3.0)
    one = free.model_copy(update={"policy": Policy(max_configurations=1)})
    assert best(child, one)[1].objective == pytest.approx(4.0)


def test_api_rate_limit_leaves_the_rest_to_replicas(child: SolverChild) -> None:
    cls = request_class([2.0], apis=("big",))
    p = pool("p", 1, {OD: 50.0})
    seats = [candidate(capability(1, (1.0,)), p)]
    limited = problem((730,), [service(cls)], [p], seats, [api(cls, 0.001, limit=1.5)])
    assert best(child, limited)[1].objective == pytest.approx(50.0 + 3.6)


def test_headroom_grows_to_what_the_money_allows(child: SolverChild) -> None:
    p = pool("p", 1, {OD: 1.0})
    compiled, found = best(
        child, problem((730,), [service(request_class([2.0]))], [p], [candidate(capability(1, (1.0,)), p)])
    )
    axis = axis_programme(compiled, Axis.MOST_HEADROOM)
    wide = child.solve(
        minimising(bounded(axis.milp, "cost", compiled.cost, 1.5 * found.objective), axis.expression), EXACT
    )
    assert isinstance(wide, Solved)
    assert -wide.objective == pytest.approx(1.5)


def test_nothing_to_buy_is_infeasible_not_free(child: SolverChild) -> None:
    assert isinstance(answer(child, problem((730,), [service(request_class([1.0]))], [], []))[1], Infeasible)


def test_a_budget_that_is_too_small_is_named_with_the_missing_amount(child: SolverChild) -> None:
    p = pool("p", 1, {OD: 1.0})
    policy = Policy(budget=Budget(usd_per_month=1000.0))
    seats = [candidate(capability(1, (1.0,)), p)]
    compiled, found = answer(child, problem((730,), [service(request_class([2.0]))], [p], seats, policy=policy))
    assert isinstance(found, Infeasible)
    elastic = elastic_programme(compiled)
    relaxed = child.solve(elastic.milp, EXACT)
    assert isinstance(relaxed, Solved)
    (conflict,) = conflicts(compiled, elastic, relaxed.values)
    assert (conflict.family, conflict.unit) == ("budget", "USD/month")
    assert conflict.short_by == pytest.approx(460.0)


def test_demand_without_any_place_is_named_with_the_unserved_rate(child: SolverChild) -> None:
    compiled, found = answer(child, problem((730,), [service(request_class([2.5]))], [], []))
    assert isinstance(found, Infeasible)
    elastic = elastic_programme(compiled)
    relaxed = child.solve(elastic.milp, EXACT)
    assert isinstance(relaxed, Solved)
    (conflict,) = conflicts(compiled, elastic, relaxed.values)
    assert (conflict.family, conflict.keys) == ("serve_demand", ("w/all", "slice 1"))
    assert conflict.short_by == pytest.approx(2.5)


def worst_conflict(child: SolverChild, p: Problem):
    compiled, found = answer(child, p)
    assert isinstance(found, Infeasible)
    elastic = elastic_programme(compiled)
    relaxed = child.solve(elastic.milp, EXACT)
    assert isinstance(relaxed, Solved)
    return max(conflicts(compiled, elastic, relaxed.values), key=lambda c: c.short_by)


@pytest.mark.parametrize(("per_accelerator", "unit", "short"), [(True, "accelerators", 8.0), (False, "instances", 1.0)])
def test_a_quota_is_short_in_the_unit_it_counts(child: SolverChild, per_accelerator, unit, short) -> None:
    p = pool("p", 8, {OD: 1.0})
    rule = QuotaRow(
        id="q", pools=("p",), options=(OD,), per_accelerator=per_accelerator, limit=8 if per_accelerator else 1
    )
    asked = problem((730,), [service(request_class([2.0]))], [p], [candidate(capability(8, (1.0,)), p)])
    conflict = worst_conflict(child, asked.model_copy(update={"quotas": (rule,)}))
    assert (conflict.family, conflict.keys[0], conflict.unit) == ("quota", "q", unit)
    assert conflict.short_by == pytest.approx(short)


@pytest.mark.parametrize("option", [OD, R1, SPOT, PurchaseOption.OWNED])
@pytest.mark.parametrize("stock", [0, 1])
def test_an_offer_that_has_too_few_is_named_with_the_missing_instances(child: SolverChild, option, stock) -> None:
    terms = SpotTerms(
        interruptions_per_up_hour=0, start_h=0, availability=1, fallback_offer=None, fallback_usd_per_hour=0.0
    )
    p = pool("p", 1, {option: 1.0}, most={option: stock}, spot=terms if option is SPOT else None)
    seats = [candidate(capability(1, (1.0,)), p)]
    demand = service(request_class([2.0, 3.0]), max_spot_share=1.0)
    conflict = worst_conflict(child, problem((365, 365), [demand], [p], seats))
    assert (conflict.family, conflict.keys[0], conflict.unit) == ("quota", f"p/{option.value}", "instances")
    assert conflict.short_by == pytest.approx(3 - stock)


def test_limits_give_way_before_requests_go_unserved(child: SolverChild) -> None:
    """However small the budget: it is the budget that is missed, by the whole bill."""
    p = pool("p", 1, {OD: 1.0})
    policy = Policy(budget=Budget(usd_per_month=1.0))
    seats = [candidate(capability(1, (1.0,)), p)]
    compiled = compile_milp(problem((730,), [service(request_class([2.0]))], [p], seats, policy=policy))
    elastic = elastic_programme(compiled, LIMITS)
    relaxed = child.solve(elastic.milp, EXACT)
    assert isinstance(relaxed, Solved)
    (conflict,) = conflicts(compiled, elastic, relaxed.values)
    assert (conflict.family, conflict.short_by) == ("budget", pytest.approx(1459.0))


def test_a_mixed_programme_overflows_the_same_part_of_every_class(child: SolverChild) -> None:
    """Two classes, an API for both: replicas take the whole mix, and what they cannot take goes to the API alike."""
    a, b = request_class([2.0], "a", apis=("big",)), request_class([1.0], "b", apis=("big",))
    p = pool("p", 1, {OD: 3.0})
    whole = problem(
        (730,), [service(a, b)], [p], [candidate(capability(1, (0.5, 0.5)), p)], [api(a, 0.001), api(b, 0.001)]
    )
    compiled = compile_milp(whole, mixed=True)
    found = child.solve(compiled.milp, EXACT)
    assert isinstance(found, Solved)
    # One replica takes 2 of 3 req/s for 3 USD/h; a second one would save only 3.6 USD/h of API and cost 3.
    exact = best(child, whole)[1]
    assert found.objective == pytest.approx(exact.objective) == pytest.approx(6.0)
    dear = whole.model_copy(update={"pools": (pool("p", 1, {OD: 4.0}),)})
    compiled = compile_milp(dear, mixed=True)
    found = child.solve(compiled.milp, EXACT)
    assert isinstance(found, Solved)
    assert found.objective == pytest.approx(4.0 + 3.6)
    plan = compiled.plan(found.values)
    called = {u.request_class: u.routes[0].req_per_s for u in plan.api}
    assert called == pytest.approx({"w/a": 2 / 3, "w/b": 1 / 3})
    hosted = {r.request_class: r.req_per_s for d in plan.deployments for r in d.routes}
    assert {c: hosted[c] + called[c] for c in hosted} == pytest.approx({"w/a": 2.0, "w/b": 1.0})


def test_a_mixed_programme_hosts_all_where_one_class_has_no_api(child: SolverChild) -> None:
    a, b = request_class([2.0], "a", apis=("big",)), request_class([1.0], "b")
    p = pool("p", 1, {OD: 40.0})
    part = problem((730,), [service(a, b)], [p], [candidate(capability(1, (0.5, 0.5)), p)], [api(a, 0.001)])
    found = child.solve(compile_milp(part, mixed=True).milp, EXACT)
    assert isinstance(found, Solved)
    assert found.objective == pytest.approx(80.0)
    assert best(child, part)[1].objective == pytest.approx(40.0 + 3.6 * 1.0)


def test_head_room_buys_no_more_api_than_there_are_requests(child: SolverChild) -> None:
    """Two APIs: more of both would count as head-room, but nobody sends a request twice."""
    cls = request_class([2.0], apis=("big",))
    second = api(cls, 0.001).model_copy(update={"api": "acme/small"})
    p = pool("p", 1, {OD: 50.0})
    asked = problem((730,), [service(cls)], [p], [candidate(capability(1, (1.0,)), p)], [api(cls, 0.001), second])
    compiled = compile_milp(asked)
    axis = axis_programme(compiled, Axis.MOST_HEADROOM)
    found = child.solve(minimising(axis.milp, axis.expression), EXACT)
    assert isinstance(found, Solved)
    plan = compiled.plan(found.values[: len(compiled.milp.variables)], trim=False)
    called = sum(r.req_per_s for u in plan.api for r in u.routes)
    hosted = sum(r.req_per_s for d in plan.deployments for r in d.routes)
    assert called + hosted == pytest.approx(2.0)


@pytest.mark.parametrize("use", [1e-3, 1e-9, 1e-13, 1e-20])
@pytest.mark.parametrize("rates", [[1.0], [1.0, 0.0], [1e-6, 1.0]])
def test_any_demand_needs_a_replica_however_fast_it_is(child: SolverChild, use: float, rates: list[float]) -> None:
    p = pool("p", 1, {OD: 1.0})
    hours = (730.0 / len(rates),) * len(rates)
    compiled, found = best(
        child, problem(hours, [service(request_class(rates))], [p], [candidate(capability(1, (use,)), p)])
    )
    (deployment,) = compiled.plan(found.values).deployments
    assert deployment.replicas == tuple(int(rate > 0) for rate in rates)
