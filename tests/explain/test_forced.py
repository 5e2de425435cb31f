"""Why not X: the cheapest plan with X forced in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, assume, event, given, settings

from planner.cli.run import Loaded
from planner.explain.forced import forced_in
from planner.explain.whatif import Clock, WhatIf
from planner.formulation.axes import USED_SHARE
from planner.solve.engine import SolverChild
from tests import strategies as s

Read = Callable[[dict[str, Any] | str], Loaded]


def force(loaded: Loaded, child: SolverChild, *names: str) -> Any:
    whatif = WhatIf(loaded.catalog, child, Clock(30.0))
    best = whatif.best(loaded.spec, 1e-6)
    assert best.usd_per_month is not None
    problem = whatif.problem(loaded.spec)
    return forced_in(loaded.spec, problem, names, best.usd_per_month, whatif), best.usd_per_month


def test_first_machine_of_a_start_up(read: Read, child: SolverChild) -> None:
    """27 by API; with an L4 that takes at least a tenth 511 and 0 by API, or 511 and less."""
    plan, best = force(read("scenarios/s05-startup.yaml"), child, "l4")
    assert plan is not None
    assert plan.usd_per_month == pytest.approx(511.0)
    assert plan.extra_usd_per_month == pytest.approx(511.0 - best)
    assert plan.plan.startswith("1 × cloud/us-1/l4-x1/on_demand")
    assert "times the cost" in plan.text


def test_api_forced_into_a_plan_without_one(read: Read, child: SolverChild) -> None:
    loaded = read("scenarios/s07-671b-dp-ep.yaml")
    plan, best = force(loaded, child, "api/r1")
    assert plan is not None
    # a tenth of 30,275 by API beside the node that stays
    assert plan.extra_usd_per_month == pytest.approx(30275 / 10, rel=0.01)
    assert plan.usd_per_month == pytest.approx(best + plan.extra_usd_per_month)


def test_offer_named_in_full_is_bought_once(read: Read, child: SolverChild) -> None:
    loaded = read("scenarios/s01-eu-health-chat.yaml")
    plan, best = force(loaded, child, "eu-cloud/eu-1/h100-x2/on_demand")
    assert plan is not None
    assert best == pytest.approx(14600.0)
    # three reserved and one on demand for all hours
    assert plan.usd_per_month == pytest.approx(0.75 * 14600 + 21024 / 4)
    assert "at least one eu-cloud/eu-1/h100-x2/on_demand" in plan.text


def test_what_is_refused_cannot_be_forced_in(read: Read, child: SolverChild) -> None:
    assert force(read("scenarios/s01-eu-health-chat.yaml"), child, "us-cloud")[0] is None


@settings(max_examples=8, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(s.rich_cases())
def test_forcing_never_saves_and_what_the_best_plan_uses_costs_nothing(child: SolverChild, case: s.Case) -> None:
    whatif = WhatIf(case.catalog, child, Clock(60.0))
    best = whatif.best(case.spec, 1e-6)
    assume(best.solution is not None)
    assert best.solution is not None
    assert best.usd_per_month is not None
    problem = whatif.problem(case.spec)
    used = {p.accelerator for w in case.spec.workloads for p in best.solution.pools_of([w.name])}
    for name in sorted({p.accelerator for p in problem.pools}):
        plan = forced_in(case.spec, problem, [name], best.usd_per_month, whatif)
        if plan is None:
            continue
        event("used" if name in used else "not used")
        slack = 1e-3 * best.usd_per_month + 0.01
        assert plan.usd_per_month >= best.usd_per_month - slack
        assert plan.bound_usd_per_month <= plan.usd_per_month + slack
        assert math.isclose(plan.usd_per_month - best.usd_per_month, plan.extra_usd_per_month, abs_tol=1e-6)
    assert USED_SHARE == 0.1
