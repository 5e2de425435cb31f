"""What reductions leave out is never missed: the optimum with and without them is the same (FACTS §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import event, given

from planner.candidates.reduce import core, reduce_markets, reduce_seats
from planner.candidates.types import Problem
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from tests.properties.problems import problems

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def optimum(problem: Problem, engine: SolverChild) -> float | None:
    """USD per hour; None: infeasible."""
    answer = engine.solve(compile_milp(problem).milp, EXACT)
    if isinstance(answer, Infeasible):
        return None
    assert isinstance(answer, Solved)
    return answer.objective


def check(whole: Problem, reduce: Callable[[Problem], Problem], engine: SolverChild) -> None:
    left = reduce(whole)
    gone = sum(len(c.options) for c in whole.candidates) - sum(len(c.options) for c in left.candidates)
    event("reduced" if gone else "nothing to reduce")
    if not gone:
        return
    first, second = optimum(whole, engine), optimum(left, engine)
    event("infeasible" if first is None else "planned")
    assert (first is None) == (second is None)
    if first is not None:
        assert second == pytest.approx(first, rel=1e-6, abs=1e-6)


@given(problems())
def test_markets_that_another_replaces_are_not_missed(engine, problem):
    check(problem, reduce_markets, engine)


@given(problems())
def test_seats_that_another_replaces_are_not_missed(engine, problem):
    check(problem, reduce_seats, engine)


@given(problems(most_services=3))
def test_the_core_has_the_optimum_of_the_whole(engine, problem):
    check(problem, core, engine)
