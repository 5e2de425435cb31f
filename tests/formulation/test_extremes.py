"""Legal numbers of any size reach the engine as rows that it can read, and the answer is that of counting."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.candidates.types import QuotaRow, SpotTerms
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.spec.types import Budget, Policy
from tests.formulation.small import candidate, capability, pool, problem, request_class, service

OD, SPOT = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT
EXACT = SolveOptions(relative_gap=0.0)
ANY_PRICE = st.floats(-9.0, 6.0).map(lambda e: float(f"{10**e:.6g}"))
"""USD per hour from a billionth to a million."""
MOST = 3


@pytest.fixture(scope="module")
def child():
    with SolverChild() as c:
        yield c


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(ANY_PRICE, min_size=1, max_size=3), st.floats(-3.0, 9.0), st.integers(1, 4))
def test_budgets_and_prices_of_any_size(child, prices, budget, replicas):
    usd = float(f"{10**budget:.4g}")
    pools = [pool(f"p{i}", 1, {OD: price}, most={OD: MOST}) for i, price in enumerate(prices)]
    seats = [candidate(capability(1, (1.0,)), p) for p in pools]
    policy = Policy(budget=Budget(usd_per_month=usd))
    demand = [service(request_class([float(replicas)]))]
    answer = child.solve(compile_milp(problem((730,), demand, pools, seats, policy=policy)).milp, EXACT)
    counts = [n for n in itertools.product(range(MOST + 1), repeat=len(prices)) if sum(n) >= replicas]
    bills = [730.0 * sum(a * b for a, b in zip(n, prices, strict=True)) for n in counts]
    least = min(bills, default=float("inf"))
    if least > usd * (1 + 1e-4):
        assert isinstance(answer, Infeasible)
    elif least < usd * (1 - 1e-4):
        assert isinstance(answer, Solved)
        assert 730.0 * answer.objective == pytest.approx(least, rel=1e-6, abs=730e-9 * max(prices))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.floats(-16.0, 0.0), st.integers(1, 72), st.integers(0, 3))
def test_spot_that_is_hardly_away_against_a_quota(child, away, size, limit):
    terms = SpotTerms(
        interruptions_per_up_hour=0.0, start_h=0.0, availability=1.0 - min(10**away, 0.5), fallback_offer="p/on_demand",
        fallback_usd_per_hour=2.0,
    )  # fmt: skip
    p = pool("p", size, {OD: 2.0, SPOT: 1.0}, spot=terms)
    quota = QuotaRow(id="q", pools=("p",), options=(OD,), per_accelerator=True, limit=float(size * limit))
    seats = [candidate(capability(size, (1.0,)), p)]
    demand = [service(request_class([4.0]), max_spot_share=0.5)]
    found = child.solve(
        compile_milp(problem((730,), demand, [p], seats).model_copy(update={"quotas": (quota,)})).milp, EXACT
    )
    # Two firm ones at least, and a third instance's worth of quota for the share of two spot ones that is away.
    assert isinstance(found, Infeasible if limit < (2 if terms.availability == 1.0 else 3) else Solved)
