"""Parts of a problem and relaxations of it: no plan of a part is cheaper than the best, no bound is above it."""

from collections.abc import Iterator

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from planner.candidates.narrow import narrowed
from planner.candidates.types import Problem
from planner.formulation.compile import compile_milp, relaxed_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from tests.properties.test_resilience_properties import cases

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def names(problem: Problem) -> set[str]:
    return {c.id for c in problem.candidates}


@settings(max_examples=40)
@given(cases())
def test_no_relaxation_costs_more_than_the_best_plan(engine, problem):
    relaxed = engine.solve(relaxed_milp(problem).milp, EXACT)
    answer = engine.solve(compile_milp(problem).milp, EXACT)
    event("infeasible" if isinstance(answer, Infeasible) else "planned")
    if isinstance(relaxed, Infeasible):
        assert isinstance(answer, Infeasible)
    elif isinstance(answer, Solved):
        assert relaxed.bound is not None
        assert relaxed.bound <= answer.objective * (1 + 1e-6) + 1e-6


@settings(max_examples=40)
@given(cases(), st.integers(1, 2))
def test_a_part_has_no_plan_below_the_best(engine, problem, width):
    part = narrowed(problem, width)
    assert names(part) <= names(narrowed(problem, width + 1)) <= names(problem)
    assert {c.service for c in part.candidates} == {c.service for c in problem.candidates}
    found = engine.solve(compile_milp(part, mixed=True).milp, EXACT)
    event("infeasible part" if isinstance(found, Infeasible) else "planned part")
    if isinstance(found, Solved):
        answer = engine.solve(compile_milp(problem).milp, EXACT)
        assert isinstance(answer, Solved)
        assert found.objective >= answer.objective * (1 - 1e-6) - 1e-6


@given(cases(), st.integers(1, 3))
def test_parts_do_not_depend_on_the_order_of_candidates(problem, width):
    turned = problem.model_copy(update={"candidates": problem.candidates[::-1]})
    assert names(narrowed(turned, width)) == names(narrowed(problem, width))
