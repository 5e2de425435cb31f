"""The instances of `data/solver` through our own types, with a checker that knows only the file's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.solver_instances import check, problem_of, read, reduced, run
from planner.formulation.fleet_build import build_fleet
from planner.formulation.sets import Sets
from planner.solve.crew import Crew
from planner.solve.fleet import search
from planner.solve.types import SolveOptions


@pytest.mark.shared
def test_the_checker_accepts_the_plan_and_catches_one_instance_less(shared_data: Path) -> None:
    instance = read(shared_data / "solver" / "S1_1.json")
    mapped = build_fleet(Sets(reduced(problem_of(instance))))
    assert mapped is not None
    with Crew(size=1) as crew:
        answer = search(mapped.fleet, crew, SolveOptions(time_limit_s=20, relative_gap=1e-3))
    assert answer.plan is not None
    plan = mapped.plan(answer.plan)
    cost, faults = check(instance, plan)
    assert not faults
    assert cost == pytest.approx(730 * answer.objective)
    assert answer.objective - answer.bound <= 1e-3 * answer.objective
    for n, purchase in enumerate(plan.purchases):
        fewer = purchase.model_copy(update={"instances": tuple(max(0, c - 1) for c in purchase.instances)})
        broken = plan.model_copy(update={"purchases": (*plan.purchases[:n], fewer, *plan.purchases[n + 1 :])})
        assert check(instance, broken)[1], purchase.pool


@pytest.mark.shared
@pytest.mark.slow
def test_a_dozen_services_over_a_day(shared_data: Path) -> None:
    outcome = run(shared_data / "solver", "S2_1", seconds=45.0, gap=2e-2)
    assert not outcome.faults
    assert outcome.bound <= 165_628 < 1.1 * outcome.bound
    assert outcome.gap <= 0.1
