"""The programme against brute force, and theorems that hold for every solved plan (DESIGN §11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from planner.candidates.build import build_problem
from planner.candidates.types import Plan
from planner.demand.types import Demand
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.units import HOURS_PER_MONTH
from planner.verify.verify import Verifier
from tests import strategies as s
from tests.properties.brute import TooLarge, best_plan

EXACT = SolveOptions(relative_gap=1e-9, absolute_gap=1e-9, time_limit_s=30.0)


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


@dataclass(frozen=True)
class Outcome:
    """The optimum of a case in USD per month, its bound, its plan and its terms."""

    usd_per_month: float
    bound: float
    plan: Plan
    terms: dict[str, float]


def solve(case: s.Case, engine: SolverChild, demand: Demand | None = None) -> Outcome | None:
    """The optimum, or None: proven infeasible."""
    verifier = Verifier(case.spec, case.catalog, demand)
    problem = build_problem(case.spec, case.catalog, verifier.facts.demand)
    compiled = compile_milp(problem)
    answer = engine.solve(compiled.milp, EXACT)
    if isinstance(answer, Infeasible):
        return None
    assert isinstance(answer, Solved)
    terms = compiled.cost_terms(answer.values)
    return Outcome(
        answer.objective * HOURS_PER_MONTH, answer.bound * HOURS_PER_MONTH, compiled.plan(answer.values), terms
    )


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-6, abs=1e-4)


@given(s.cases(most_workloads=2))
def test_every_solved_plan_verifies_at_its_cost(engine, case):
    check_solved(case, engine)


@given(s.rich_cases())
def test_every_solved_plan_of_a_rich_case_verifies_at_its_cost(engine, case):
    check_solved(case, engine)


def check_solved(case: s.Case, engine: SolverChild) -> None:
    """The solved plan verifies, its terms are the verified ones and its bound is below its cost."""
    found = solve(case, engine)
    event("planned" if found else "infeasible")
    if found is None:
        return
    verdict = Verifier(case.spec, case.catalog).verify(found.plan, found.usd_per_month)
    assert verdict.violations == ()
    assert found.bound <= verdict.cost.total_usd_per_month + 1e-4
    kept = {t: usd for t, usd in found.terms.items() if abs(usd) > 1e-6}
    assert sum(kept.values()) == close(verdict.cost.total_usd_per_month)
    assert {t: close(usd) for t, usd in kept.items()} == {t: u for t, u in verdict.cost.terms.items() if abs(u) > 1e-6}


@given(s.cases())
def test_the_optimum_is_that_of_brute_force(engine, case):
    try:
        best = best_plan(Verifier(case.spec, case.catalog).facts)
    except TooLarge:
        assume(False)
    found = solve(case, engine)
    event("infeasible" if best is None else "machines" if best.plan.purchases else "API only")
    if best is None:
        assert found is None
        return
    assert found is not None
    assert found.usd_per_month == close(best.usd_per_month)


@given(s.cases(most_workloads=2), st.data())
def test_permuting_any_list_of_the_input_changes_no_byte(engine, case, data):
    other = s.permuted(case, data.draw)
    first, second = solve(case, engine), solve(other, engine)
    if first is None or second is None:
        assert first is second
        return
    assert first.plan.model_dump_json() == second.plan.model_dump_json()
    assert first.usd_per_month == second.usd_per_month


@given(s.cases())
def test_splitting_a_slice_into_identical_parts_changes_no_cost(engine, case):
    demand = Verifier(case.spec, case.catalog).facts.demand
    first = solve(case, engine)
    second = solve(case, engine, split_slice(demand))
    if first is None or second is None:
        assert first is second
        return
    assert first.usd_per_month == close(second.usd_per_month)


def split_slice(demand: Demand) -> Demand:
    """The demand with its first slice as two slices of half the hours."""
    head, *rest = demand.slices
    half = {"hours_per_month": head.hours_per_month / 2}
    slices = [head.model_copy(update=half), head.model_copy(update={**half, "id": f"{head.id}b"}), *rest]
    services = []
    for service in demand.services:
        classes = []
        for c in service.classes:
            update = {
                name: (getattr(c, name)[0], *getattr(c, name))
                for name in ("mean_req_per_s", "sizing_req_per_s", "band_req_per_s")
            }
            classes.append(c.model_copy(update=update))
        weights = (service.band_weights[0], *service.band_weights)
        services.append(service.model_copy(update={"classes": tuple(classes), "band_weights": weights}))
    numbered = tuple(x.model_copy(update={"order": i}) for i, x in enumerate(slices))
    return demand.model_copy(update={"slices": numbered, "services": tuple(services)})


@given(s.cases())
def test_splitting_a_class_into_identical_parts_changes_no_cost(engine, case):
    """One class is planned with covering rows, two with routed rates: both must find the same optimum."""
    demand = Verifier(case.spec, case.catalog).facts.demand
    first = solve(case, engine)
    second = solve(case, engine, split_classes(demand))
    if first is None or second is None:
        assert first is second
        return
    assert first.usd_per_month == close(second.usd_per_month)


def split_classes(demand: Demand) -> Demand:
    """The demand with every class as two classes of half the rate."""
    services = []
    for service in scaled(demand, 0.5).services:
        # A measurement names its class by what stands behind the slash.
        twins = tuple(c.model_copy(update={"id": f"{c.workload}-{i}/{c.name}"}) for c in service.classes for i in "ab")
        services.append(service.model_copy(update={"classes": twins}))
    return demand.model_copy(update={"services": tuple(services)})


@given(s.cases())
def test_the_same_pool_offered_twice_under_shared_limits_changes_no_cost(engine, case):
    first = solve(unlimited(case, keep_quotas=True), engine)
    second = solve(doubled_offers(unlimited(case, keep_quotas=True)), engine)
    if first is None or second is None:
        assert first is second
        return
    assert first.usd_per_month == close(second.usd_per_month)


def unlimited(case: s.Case, keep_quotas: bool = False) -> s.Case:
    """The case without limits on what may be bought."""
    offers = tuple(o.model_copy(update={"max_instances": None}) for o in case.catalog.offers)
    apis = tuple(a.model_copy(update={"max_req_per_s": None}) for a in case.catalog.apis)
    quotas = case.spec.policy.quotas if keep_quotas else ()
    spec = case.spec.model_copy(update={"policy": case.spec.policy.model_copy(update={"quotas": quotas})})
    return s.Case(spec, replace(case.catalog, offers=offers, apis=apis))


def doubled_offers(case: s.Case) -> s.Case:
    """Every pool once more in a second region of the same country."""
    catalog = case.catalog
    offers = tuple(o.model_copy(update={"region": "r2"}) for o in catalog.offers)
    regions = tuple(r.model_copy(update={"region": "r2"}) for r in catalog.regions)
    return s.Case(case.spec, replace(catalog, offers=catalog.offers + offers, regions=catalog.regions + regions))


@given(s.cases(), st.sampled_from([2, 3]))
def test_k_times_the_demand_costs_at_most_k_times_as_much(engine, case, k):
    free = unlimited(case)
    demand = Verifier(free.spec, free.catalog).facts.demand
    once, often = solve(free, engine), solve(free, engine, scaled(demand, k))
    if once is not None:
        assert often is not None
        assert often.bound <= k * once.usd_per_month + 1e-4


@given(s.cases(most_workloads=2))
def test_workloads_together_cost_at_most_what_they_cost_apart(engine, case):
    free = unlimited(case)
    assume(len(free.spec.workloads) == 2)
    # The spare row credits the API share that all classes of a service have in common: with spares, workloads that
    # share replicas but not their APIs may cost more together.
    alike = len({w.api_equivalents for w in free.spec.workloads}) == 1
    assume(alike or all(w.resilience.spare is None for w in free.spec.workloads))
    apart = []
    for w in free.spec.workloads:
        apart.append(solve(s.Case(free.spec.model_copy(update={"workloads": (w,)}), free.catalog), engine))
    together = solve(free, engine)
    if all(apart):
        assert together is not None
        assert together.bound <= sum(a.usd_per_month for a in apart if a) + 1e-4


@given(s.cases())
def test_lifting_a_quota_never_costs_more(engine, case):
    assume(case.spec.policy.quotas)
    free = s.Case(
        case.spec.model_copy(update={"policy": case.spec.policy.model_copy(update={"quotas": ()})}), case.catalog
    )
    bound, lifted = solve(case, engine), solve(free, engine)
    if bound is not None:
        assert lifted is not None
        assert lifted.bound <= bound.usd_per_month + 1e-4


@given(s.cases())
def test_a_plan_for_a_demand_verifies_for_less(engine, case):
    """Routes scaled down with the demand still fit the replicas that were bought."""
    found = solve(case, engine)
    assume(found is not None)
    assert found is not None
    demand = Verifier(case.spec, case.catalog).facts.demand
    less = Verifier(case.spec, case.catalog, scaled(demand, 0.7))
    verdict = less.verify(scaled_routes(found.plan, 0.7))
    assert verdict.violations == ()
    assert verdict.cost.total_usd_per_month <= found.usd_per_month + 1e-4


def scaled(demand: Demand, factor: float) -> Demand:
    """Every rate times a factor."""
    services = []
    for service in demand.services:
        classes = tuple(
            c.model_copy(
                update={
                    "mean_req_per_s": tuple(x * factor for x in c.mean_req_per_s),
                    "sizing_req_per_s": tuple(x * factor for x in c.sizing_req_per_s),
                    "band_req_per_s": tuple(tuple(x * factor for x in xs) for xs in c.band_req_per_s),
                }
            )
            for c in service.classes
        )
        services.append(service.model_copy(update={"classes": classes}))
    return demand.model_copy(update={"services": tuple(services)})


def scaled_routes(plan: Plan, factor: float) -> Plan:
    """The plan with every routed rate times a factor and the machines kept."""

    def less(routes: tuple) -> tuple:
        return tuple(r.model_copy(update={"req_per_s": r.req_per_s * factor}) for r in routes)

    return plan.model_copy(
        update={
            "deployments": tuple(d.model_copy(update={"routes": less(d.routes)}) for d in plan.deployments),
            "api": tuple(a.model_copy(update={"routes": less(a.routes)}) for a in plan.api),
        }
    )
