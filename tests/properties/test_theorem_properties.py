"""Theorems about the programme of one quarter (DESIGN §11), on tiny random problems solved to a gap of zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.candidates import build
from planner.candidates.build import build_problem
from planner.candidates.types import Plan, Pool, Problem
from planner.demand.types import Demand
from planner.explain.infeasible import find_conflicts
from planner.explain.types import Conflict
from planner.formulation.compile import compile_milp
from planner.formulation.milp import Milp
from planner.solve.engine import SolverChild, agree
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.spec.types import Budget
from planner.units import HOURS_PER_MONTH
from planner.verify.verify import Verifier
from tests import strategies as s
from tests.formulation import small
from tests.properties.problems import problems

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)
OD, R1 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y
FEW = settings(max_examples=settings.default.max_examples // 4)
"""For what takes several solves or leaves most cases out."""
LIMITING = ("quota", "budget", "spare", "survive_loss", "spot_limit", "api_limits", "provider_limits", "configurations")


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def objective(milp: Milp, engine: SolverChild) -> float | None:
    """USD per hour; None: infeasible."""
    answer = engine.solve(milp, EXACT)
    if isinstance(answer, Infeasible):
        return None
    assert isinstance(answer, Solved)
    return answer.objective


def optimum(problem: Problem, engine: SolverChild, **mode: Any) -> float | None:
    """USD per hour of the cheapest plan; None: infeasible."""
    return objective(compile_milp(problem, **mode).milp, engine)


def slack(usd: float) -> float:
    return 1e-6 * max(1.0, abs(usd))


# ---- one pool ----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=6),
    st.floats(0.05, 0.99),
    st.sampled_from([1.0, 0.4, 2.5]),
)
def test_one_pool_commits_to_what_demand_exceeds_in_a_share_r_over_d_of_the_hours(engine, profile, ratio, capacity):
    """The smallest C with share of hours(demand > C) ≤ r/d (FACTS §4), whatever the profile; demand in replicas."""
    total = sum(h for h, _ in profile)
    hours = tuple(HOURS_PER_MONTH * h / total for h, _ in profile)
    p = small.pool("p", 1, {OD: 1.0, R1: ratio})
    asked = small.service(small.request_class([n * capacity for _, n in profile]))
    whole = small.problem(hours, [asked], [p], [small.candidate(small.capability(1, (1.0 / capacity,)), p)])
    committed = next(c for c in range(10) if sum(h for h, n in profile if n > c) <= ratio * total)
    cost = ratio * committed + sum(h * max(0, n - committed) for h, n in profile) / total
    assert optimum(whole, engine) == pytest.approx(cost, rel=1e-6, abs=1e-9)


# ---- less is no dearer -------------------------------------------------------------------------------------------


@FEW
@given(problems(), st.sampled_from(LIMITING))
def test_without_one_family_nothing_costs_more(engine, problem, family):
    milp = compile_milp(problem).milp
    free = milp.copy()
    free.rows = [row for row in milp.rows if row.family != family]
    assume(len(free.rows) < len(milp.rows))
    bound, lifted = objective(milp, engine), objective(free, engine)
    event(f"{family}: {'infeasible' if bound is None else 'planned'}")
    if bound is not None:
        assert lifted is not None
        assert lifted <= bound + slack(bound)


@FEW
@given(problems(), st.integers(1, 3))
def test_more_quota_never_costs_more(engine, problem, more):
    assume(problem.quotas)
    raised = tuple(q.model_copy(update={"limit": q.limit + more}) for q in problem.quotas)
    less, enough = optimum(problem, engine), optimum(problem.model_copy(update={"quotas": raised}), engine)
    if less is not None:
        assert enough is not None
        assert enough <= less + slack(less)


@given(problems())
def test_the_relaxation_costs_no_more_than_the_optimum(engine, problem):
    milp = compile_milp(problem).milp
    relaxed = milp.copy()
    relaxed.variables = [replace(v, integer=False) for v in milp.variables]
    whole, linear = objective(milp, engine), objective(relaxed, engine)
    if whole is not None:
        assert linear is not None
        assert linear <= whole + slack(whole)


@given(problems())
def test_replicas_that_take_the_whole_mix_cost_no_less(engine, problem):
    whole, mixed = optimum(problem, engine), optimum(problem, engine, mixed=True)
    event("infeasible" if mixed is None else "planned")
    if mixed is not None:
        assert whole is not None
        assert mixed >= whole - slack(whole)


@given(s.rich_cases())
def test_every_plan_of_whole_mixes_verifies(engine, case):
    verifier = Verifier(case.spec, case.catalog)
    compiled = compile_milp(build_problem(case.spec, case.catalog, verifier.facts.demand), mixed=True)
    answer = engine.solve(compiled.milp, EXACT)
    event("infeasible" if isinstance(answer, Infeasible) else "planned")
    if isinstance(answer, Solved):
        verdict = verifier.verify(compiled.plan(answer.values), answer.objective * HOURS_PER_MONTH)
        assert verdict.violations == ()


# ---- the same in other words -------------------------------------------------------------------------------------


@given(problems())
def test_splitting_a_band_into_identical_parts_changes_no_cost(engine, problem):
    first, second = optimum(problem, engine), optimum(with_bands_split(problem), engine)
    assert (first is None) == (second is None)
    if first is not None:
        assert second == pytest.approx(first, rel=1e-6, abs=1e-9)


def with_bands_split(problem: Problem) -> Problem:
    """Every band as two of half its weight."""
    services = []
    for service in problem.demand.services:
        classes = tuple(
            c.model_copy(
                update={"band_req_per_s": tuple(tuple(x for x in xs for _ in "ab") for xs in c.band_req_per_s)}
            )
            for c in service.classes
        )
        weights = tuple(tuple(f / 2 for f in fs for _ in "ab") for fs in service.band_weights)
        services.append(service.model_copy(update={"classes": classes, "band_weights": weights}))
    return problem.model_copy(update={"demand": problem.demand.model_copy(update={"services": tuple(services)})})


@given(problems())
def test_the_same_pool_twice_under_shared_limits_changes_no_cost(engine, problem):
    problem = problem.model_copy(update={"pools": tuple(without_stock(p) for p in problem.pools)})
    twins = {p.id: f"{p.id}-twin" for p in problem.pools}
    doubled = problem.model_copy(
        update={
            "pools": tuple(x for p in problem.pools for x in (p, p.model_copy(update={"id": twins[p.id]}))),
            "candidates": tuple(
                x for c in problem.candidates for x in (c, c.model_copy(update={"pool": twins[c.pool]}))
            ),
            "quotas": tuple(
                q.model_copy(update={"pools": tuple(x for p in q.pools for x in (p, twins[p]))}) for q in problem.quotas
            ),
        }
    )
    first, second = optimum(problem, engine), optimum(doubled, engine)
    assert (first is None) == (second is None)
    if first is not None:
        spans = any(
            c.capability.config.accelerators > p.accelerators
            for c in problem.candidates for p in problem.pools if p.id == c.pool
        )  # fmt: skip
        # A replica over several instances may not stand in two pools, but counts are free: still no dearer.
        assert second is not None
        assert second <= first + slack(first)
        assert spans or second == pytest.approx(first, rel=1e-6, abs=1e-9)


def without_stock(pool: Pool) -> Pool:
    """The pool without limits of its own."""
    prices = tuple(p.model_copy(update={"max_instances": None}) for p in pool.prices)
    return pool.model_copy(update={"prices": prices})


@given(problems())
def test_two_engines_agree(engine, problem):
    milp = compile_milp(problem).milp
    first = engine.solve(milp, EXACT)
    second = engine.solve(milp, replace(EXACT, engine="scip"))
    event(type(first).__name__)
    assert agree(first, second) is True


@FEW
@given(s.rich_cases())
def test_configurations_that_others_cover_are_not_missed(engine, case):
    demand = Verifier(case.spec, case.catalog).facts.demand
    pruned = build_problem(case.spec, case.catalog, demand)
    with patch.object(build, "prune_configs", lambda found, *_, **__: (list(found), [])):
        whole = build_problem(case.spec, case.catalog, demand)
    assume(len(whole.candidates) > len(pruned.candidates))
    first, second = optimum(whole, engine), optimum(pruned, engine)
    event("infeasible" if first is None else "planned")
    assert (first is None) == (second is None)
    if first is not None:
        assert second == pytest.approx(first, rel=1e-6, abs=1e-9)


# ---- what is served ----------------------------------------------------------------------------------------------


@given(s.rich_cases())
def test_what_machines_and_apis_serve_is_the_mean_volume(engine, case):
    demand = Verifier(case.spec, case.catalog).facts.demand
    compiled = compile_milp(build_problem(case.spec, case.catalog, demand))
    answer = engine.solve(compiled.milp, EXACT)
    assume(isinstance(answer, Solved))
    assert isinstance(answer, Solved)
    served = served_per_month(compiled.plan(answer.values), demand)
    for service in demand.services:
        for c in service.classes:
            hours = [x.hours_per_month for x in demand.slices]
            volume = math.fsum(h * x for h, x in zip(hours, c.mean_req_per_s, strict=True))
            assert served.get(c.id, 0.0) == pytest.approx(volume, rel=1e-6, abs=1e-9)


def served_per_month(plan: Plan, demand: Demand) -> dict[str, float]:
    """Request class → mean rate served times hours, over machines and APIs."""
    weights = {c.id: service.band_weights for service in demand.services for c in service.classes}
    found: dict[str, float] = {}
    for use in (*plan.deployments, *plan.api):
        for r in use.routes:
            part = demand.slices[r.slice].hours_per_month * weights[r.request_class][r.slice][r.band]
            found[r.request_class] = found.get(r.request_class, 0.0) + part * r.req_per_s
    return found


# ---- what would suffice ------------------------------------------------------------------------------------------


@FEW
@given(problems(), st.floats(0.2, 0.9))
def test_what_is_short_suffices_when_granted_and_less_does_not(engine, problem, share):
    """A budget below the optimum, or a quota of nothing: granting the amounts gives a plan, any smaller one none."""
    usd = optimum(problem.model_copy(update={"quotas": ()}), engine)
    assume(usd is not None)
    assert usd is not None
    tight = tightened(problem, usd * share)
    compiled = compile_milp(tight)
    assume(objective(compiled.milp, engine) is None)
    conflicts = find_conflicts(compiled, engine, EXACT)
    assert conflicts
    event(" + ".join(sorted({c.family for c in conflicts})))
    assume({c.family for c in conflicts} <= {"quota", "budget"})
    assert optimum(granted(tight, conflicts, 1e-6), engine) is not None
    for one in conflicts:
        assert one.short_by is not None
        step = min(1.0, 0.5 * one.short_by)
        rest = tuple(c.model_copy(update={"short_by": c.short_by - step}) if c is one else c for c in conflicts)
        assert optimum(granted(tight, rest, 1e-6), engine) is None


def tightened(problem: Problem, usd_per_hour: float) -> Problem:
    """The problem with its quotas, or else with a budget of so much."""
    if problem.quotas:
        return problem
    budget = Budget(usd_per_month=usd_per_hour * HOURS_PER_MONTH)
    return problem.model_copy(update={"policy": problem.policy.model_copy(update={"budget": budget})})


def granted(problem: Problem, conflicts: tuple[Conflict, ...], extra: float) -> Problem:
    """The problem with its limits raised by the amounts, relatively by `extra` more."""
    more = {(c.family, c.keys[0]): (c.short_by or 0.0) * (1 + extra) for c in conflicts}
    quotas = tuple(q.model_copy(update={"limit": q.limit + more.get(("quota", q.id), 0.0)}) for q in problem.quotas)
    pools = tuple(with_stock(p, {key: n for (_, key), n in more.items()}) for p in problem.pools)
    policy = problem.policy
    if policy.budget is not None:
        usd = policy.budget.usd_per_month + more.get(("budget", policy.budget.basis.value), 0.0)
        policy = policy.model_copy(update={"budget": policy.budget.model_copy(update={"usd_per_month": usd})})
    return problem.model_copy(update={"quotas": quotas, "pools": pools, "policy": policy})


def with_stock(pool: Pool, more: dict[str, float]) -> Pool:
    """The pool with larger stocks of its offers, in whole instances."""
    prices = tuple(
        p.model_copy(update={"max_instances": p.max_instances + math.ceil(more[p.offer] - 1e-3)})
        if p.offer in more and p.max_instances is not None
        else p
        for p in pool.prices
    )
    return pool.model_copy(update={"prices": prices})
