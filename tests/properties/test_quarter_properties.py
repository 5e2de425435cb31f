"""Several quarters: verification agrees with the programme, and theorems about terms, tails and time (DESIGN §5.5)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.candidates.build import build_problem
from planner.candidates.reduce import core
from planner.candidates.types import Plan, Problem
from planner.catalog.types import PriceChange, PricePath
from planner.demand.types import Demand, RequestClass, Service
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.spec.types import Fleet, HeldCommitment, Horizon
from planner.units import HOURS_PER_MONTH
from planner.verify.verify import Verifier
from tests import builders as b
from tests import strategies as s
from tests.formulation import small
from tests.properties.problems import problems

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)
OD, R1, R3 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y
FEW = settings(max_examples=settings.default.max_examples // 4)
START = date(2027, 1, 1)


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def optimum(problem: Problem, engine: SolverChild) -> tuple[float, Plan] | None:
    """(USD per hour, plan) of the cheapest; None: infeasible."""
    compiled = compile_milp(problem)
    answer = engine.solve(compiled.milp, EXACT)
    if isinstance(answer, Infeasible):
        return None
    assert isinstance(answer, Solved)
    return answer.objective, compiled.plan(answer.values)


def slack(usd: float) -> float:
    return 1e-6 * max(1.0, abs(usd))


@st.composite
def horizons(draw: st.DrawFn, most: int = 3) -> Horizon:
    """Two or three quarters under any terminal rule."""
    return Horizon(
        start=START,
        quarters=draw(st.integers(2, most)),
        terminal=draw(st.sampled_from(["repeat", "drop", "charge"])),
        discount_rate_per_year=draw(st.sampled_from([0.0, 0.08])),
    )


def quarters_of(case: s.Case, horizon: Horizon, draw: st.DrawFn) -> s.Case:
    """The case over several quarters: growth or steps, prices that move, offers to come, machines that leave."""
    loads = []
    for w in case.spec.workloads:
        steps = tuple(draw(st.sampled_from([0.5, 1.0, 1.6])) for _ in range(horizon.quarters))
        traffic = {"quarter_factors": steps} if draw(st.booleans()) else {"growth_per_quarter": 0.15}
        loads.append(w.model_copy(update={"traffic": w.traffic.model_copy(update=traffic)}))
    later = st.sampled_from([None, None, date(2027, 4, 1), date(2027, 5, 10)])
    offers = tuple(o.model_copy(update={"available_from": draw(later)}) for o in case.catalog.offers)
    path = PricePath(
        decline_per_year=draw(st.sampled_from([0.0, 0.3])),
        option=draw(st.sampled_from(["*", "on_demand"])),
        changes=draw(st.sampled_from([(), (PriceChange(day=date(2027, 6, 1), factor=0.7),)])),
        **b.ORIGIN,
    )
    held = ()
    if draw(st.booleans()):
        first = case.catalog.offers[0]
        ends = START + timedelta(draw(st.sampled_from([-5, 45, 90, 130, 2000])))
        held = (
            HeldCommitment(
                offer=f"{first.pool_id}/reserved_1y", instances=draw(st.integers(1, 2)), ends=ends, usd_per_hour=1.0
            ),
        )
    spec = case.spec.model_copy(
        update={"workloads": tuple(loads), "horizon": horizon, "fleet": Fleet(commitments=held)}
    )
    paths = draw(st.sampled_from([(), (path,)]))
    return s.Case(spec, replace(case.catalog, offers=offers, price_paths=paths, price_date=date(2026, 11, 30)))


@st.composite
def quarterly(draw: st.DrawFn) -> s.Case:
    """A tiny case over several quarters."""
    return quarters_of(draw(s.cases(two_classes=False)), draw(horizons()), draw)


@given(quarterly())
def test_every_solved_plan_verifies_at_what_it_is_judged_by(engine, case):
    verifier = Verifier(case.spec, case.catalog)
    found = optimum(build_problem(case.spec, case.catalog, verifier.facts.demand), engine)
    event("infeasible" if found is None else "planned")
    if found is None:
        return
    verdict = verifier.verify(found[1], found[0] * HOURS_PER_MONTH)
    assert verdict.violations == ()
    cost = verdict.cost
    assert math.fsum(cost.terms.values()) == pytest.approx(cost.total_usd_per_month)
    assert math.fsum(cost.by_quarter) / len(cost.by_quarter) == pytest.approx(cost.total_usd_per_month, abs=1e-6)
    assert math.fsum(cost.cash_by_month) == pytest.approx(3 * math.fsum(cost.cash_by_quarter), abs=1e-6)
    for share in (cost.commitments.coverage, cost.commitments.utilization):
        assert share is None or -1e-9 <= share <= 1.0 + 1e-9
    assert math.fsum(cost.cash_by_quarter) / len(cost.by_quarter) == pytest.approx(cost.cash_usd_per_month, abs=1e-6)


@FEW
@given(quarterly())
def test_what_the_core_leaves_out_is_not_missed(engine, case):
    problem = build_problem(case.spec, case.catalog, Verifier(case.spec, case.catalog).facts.demand)
    whole, reduced = optimum(problem, engine), optimum(core(problem), engine)
    assert (whole is None) == (reduced is None)
    if whole is not None and reduced is not None:
        assert reduced[0] == pytest.approx(whole[0], rel=1e-6, abs=1e-9)


# ---- theorems on problems without a catalog ----------------------------------------------------------------------


def over(problem: Problem, factors: list[float], **fields: Any) -> Problem:
    """The problem over as many quarters, its rates multiplied in each."""
    slices, count = [], len(problem.demand.slices)
    for q in range(len(factors)):
        for u in problem.demand.slices:
            changed = {"id": f"q{q + 1}.{u.id}", "quarter": q + 1, "order": q * count + u.order,
                       "begins_month": 3.0 * q, "ends_month": 3.0 * (q + 1)}  # fmt: skip
            slices.append(u.model_copy(update=changed))
    services = tuple(_service(x, factors) for x in problem.demand.services)
    horizon = Horizon(quarters=len(factors), **fields.pop("horizon", {}))
    return problem.model_copy(
        update={"demand": Demand(slices=tuple(slices), services=services), "horizon": horizon, **fields}
    )


def _service(service: Service, factors: list[float]) -> Service:
    classes = tuple(_class(c, factors) for c in service.classes)
    return service.model_copy(update={"classes": classes, "band_weights": service.band_weights * len(factors)})


def _class(c: RequestClass, factors: list[float]) -> RequestClass:
    return c.model_copy(
        update={
            "mean_req_per_s": tuple(f * x for f in factors for x in c.mean_req_per_s),
            "sizing_req_per_s": tuple(f * x for f in factors for x in c.sizing_req_per_s),
            "band_req_per_s": tuple(tuple(f * x for x in xs) for f in factors for xs in c.band_req_per_s),
        }
    )


TAILS = st.sampled_from([0, 3, 11])


@FEW
@given(problems(most_services=1, most_pools=2), st.sampled_from(["repeat", "drop"]), TAILS)
def test_quarters_that_are_all_alike_are_planned_as_one(engine, problem, terminal, tail):
    assume(problem.policy.budget is None or problem.policy.budget.basis == "amortised")
    one = optimum(problem, engine)
    two = optimum(over(problem, [1.0, 1.0], horizon={"terminal": terminal}, tail_quarters=tail), engine)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert two[0] == pytest.approx(one[0], rel=1e-6, abs=1e-9)


@FEW
@given(problems(most_services=1, most_pools=2), st.sampled_from([0.5, 1.0, 2.0]))
def test_dropping_what_is_left_costs_no_more_than_charging_it(engine, problem, factor):
    dropped = optimum(over(problem, [1.0, factor], horizon={"terminal": "drop"}), engine)
    charged = optimum(over(problem, [1.0, factor], horizon={"terminal": "charge"}), engine)
    assert (dropped is None) == (charged is None)
    if dropped is not None and charged is not None:
        assert dropped[0] <= charged[0] + slack(charged[0])


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.lists(st.sampled_from([0.3, 0.5, 0.8]), min_size=2, max_size=2),
    st.integers(1, 5),
)
def test_a_long_term_is_not_bought_for_one_quarters_need(engine, before, prices, need):
    """Nothing is asked after the first quarter, so under `repeat` a term pays 4 or 12 quarters for one."""
    p = small.pool("p", 1, {OD: 1.0, R1: max(prices), R3: min(prices)})
    asked = small.service(small.request_class([float(need)]))
    whole = small.problem((730.0,), [asked], [p], [small.candidate(small.capability(1, (1.0,)), p)])
    found = optimum(over(whole, [1.0] + [0.0] * len(before), tail_quarters=11), engine)
    assert found is not None
    assert {x.option for x in found[1].purchases} == {OD}


def cohorts(needs: list[int], price: float, term: int) -> float:
    """The cheapest sum over the quarters by trying every number of terms begun in every quarter; on demand costs 1."""
    best = math.inf
    for starts in product(*(range(max(needs) + 1) for _ in needs)):
        usd = 0.0
        for q, need in enumerate(needs):
            running = sum(starts[max(0, q - term + 1) : q + 1])
            usd += running * price + max(0, need - running)
        best = min(best, usd)
    return best


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4), st.sampled_from([0.2, 0.45, 0.6, 0.9]))
def test_terms_are_those_of_trying_every_start(engine, needs, price):
    assume(any(needs))
    p = small.pool("p", 1, {OD: 1.0, R1: price})
    asked = small.service(small.request_class([1.0]))
    whole = small.problem((730.0,), [asked], [p], [small.candidate(small.capability(1, (1.0,)), p)])
    found = optimum(over(whole, [float(n) for n in needs], horizon={"terminal": "drop"}), engine)
    assert found is not None
    assert found[0] * len(needs) == pytest.approx(cohorts(needs, price, 4), abs=1e-6)
