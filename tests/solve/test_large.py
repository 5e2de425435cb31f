"""Claims about parts and first plans: same optimum as in one piece, bounds that hold, a plan of large programmes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.formulation.fleet import Fleet
from planner.formulation.fleet_build import FleetMap
from planner.formulation.milp import INF, Milp
from planner.solve import large
from planner.solve.engine import SolverChild
from planner.solve.fleet import FleetAnswer
from planner.solve.large import Clock, Structure, better, first_plan, relaxed_but, solve_programme
from planner.solve.split import split
from planner.solve.types import Infeasible, Solved, SolveOptions, StopReason, Undecided

EXACT = SolveOptions(relative_gap=0.0, time_limit_s=30)


def fleet(demands: list[float], reserved: float = 2.0, on_demand: float = 4.0, quota: float = INF) -> Milp:
    """Slices that only a commitment ties together: min reserved·c + Σ on_demand·n[τ]/T, c + n[τ] ≥ demand[τ]."""
    milp = Milp()
    commit = milp.add("commit", ("p",), 0, 100, True)
    milp.cost("reserved", commit, reserved)
    for t, demand in enumerate(demands):
        bought = milp.add("on_demand", ("p", t), 0, 100, True)
        replicas = milp.add("replicas", ("p", t), 0, 100, True)
        milp.cost("on_demand", bought, on_demand / len(demands))
        milp.row("instance_packing", (t,), [(commit, 2.0), (bought, 2.0), (replicas, -1.0)], lower=0.0)
        milp.row("serve_demand", (t,), [(replicas, 1.0)], lower=demand)
        milp.row("quota", (t,), [(bought, 1.0)], upper=quota)
    return milp


def structure(milp: Milp) -> Structure:
    linking = frozenset(j for j, v in enumerate(milp.variables) if v.family == "commit")
    return Structure(linking, linking | {j for j, v in enumerate(milp.variables) if v.family == "on_demand"})


def test_fixed_commitment_cuts_the_slices_apart() -> None:
    milp = fleet([3, 5, 9])
    assert len(split(milp).parts) == 1
    parts = split(milp, {0: 2.0})
    assert [len(p.columns) for p in parts.parts] == [2, 2, 2]
    assert parts.settled == {0: 2.0}
    assert parts.settled_objective == 4.0
    assert parts.impossible is None


def test_rows_that_always_hold_tie_nothing() -> None:
    milp = Milp()
    for j in range(3):
        milp.add("x", (j,), 0, 1, True)
        milp.cost("cost", j, 1.0)
        milp.row("one", (j,), [(j, 1.0)], lower=1.0)
    milp.row("all", (), [(j, 1.0) for j in range(3)], upper=3.0)
    assert len(split(milp).parts) == 3
    milp.row("two", (), [(j, 1.0) for j in range(3)], upper=2.0)
    assert len(split(milp).parts) == 1


def test_columns_in_no_row_go_where_they_are_cheapest() -> None:
    milp = Milp()
    for name, lower, upper, cost in (("a", 1, 5, 2.0), ("b", 1, 5, -2.0), ("c", -INF, 5, 0.0), ("d", 0, INF, -1.0)):
        column = milp.add("x", (name,), lower, upper)
        milp.cost("cost", column, cost)
    parts = split(milp)
    assert parts.settled == {0: 1, 1: 5, 2: 0.0}
    assert [p.columns for p in parts.parts] == [(3,)]


def test_row_that_cannot_hold_is_named(child: SolverChild) -> None:
    milp = fleet([300.0, 1.0])
    answer = solve_programme(child, milp, EXACT)
    assert isinstance(answer, Infeasible)
    assert "serve_demand[0]" in answer.detail


@pytest.mark.parametrize("first", [0, 1])
def test_one_infeasible_part_makes_the_whole_infeasible(child: SolverChild, first: int) -> None:
    milp = Milp()
    for j in range(4):
        milp.add("x", (j,), 0, 3, True)
    milp.row("odd", (first,), [(0, 2.0), (1, 2.0)], lower=3.0, upper=3.0 if first == 0 else 4.0)
    milp.row("odd", (1 - first, "other"), [(2, 2.0), (3, 2.0)], lower=3.0, upper=3.0 if first == 1 else 4.0)
    assert isinstance(solve_programme(child, milp, EXACT), Infeasible)


@st.composite
def blocks(draw: st.DrawFn) -> Milp:
    """Up to three blocks of covering rows that share nothing."""
    milp = Milp()
    for block in range(draw(st.integers(1, 3))):
        columns = [
            milp.add("v", (block, j), 0, draw(st.integers(1, 9)), draw(st.booleans()))
            for j in range(draw(st.integers(1, 3)))
        ]
        for c in columns:
            milp.cost("cost", c, draw(st.integers(0, 12)) / 4)
        for i in range(draw(st.integers(1, 2))):
            terms = [(c, draw(st.integers(0, 6)) / 2) for c in columns]
            milp.row("cover", (block, i), terms, lower=float(draw(st.integers(0, 12))))
    return milp


@settings(max_examples=25)
@given(milp=blocks())
def test_parts_have_the_optimum_of_the_whole(child: SolverChild, milp: Milp) -> None:
    whole, parts = child.solve(milp, EXACT), solve_programme(child, milp, EXACT)
    assert type(whole) is type(parts)
    if isinstance(whole, Solved) and isinstance(parts, Solved):
        assert parts.objective == pytest.approx(whole.objective, abs=1e-6)
        assert parts.bound <= parts.objective
        assert parts.objective == pytest.approx(milp.value(milp.objective(), parts.values))
        for row in milp.rows:
            activity = sum(c * parts.values[j] for j, c in zip(row.columns, row.coefficients, strict=True))
            assert row.lower - 1e-6 <= activity <= row.upper + 1e-6


@settings(max_examples=20)
@given(demands=st.lists(st.integers(0, 30).map(float), min_size=2, max_size=5), reserved=st.integers(1, 5).map(float))
def test_first_plan_is_feasible_and_above_its_bound(child: SolverChild, demands: list[float], reserved: float) -> None:
    milp = fleet(demands, reserved)
    best = child.solve(milp, EXACT)
    plan = first_plan(child, milp, EXACT, structure(milp), Clock(20))
    assert isinstance(best, Solved)
    assert isinstance(plan, Undecided)
    assert plan.values is not None
    assert plan.objective is not None
    assert plan.bound is not None
    assert plan.bound <= best.objective + 1e-6 <= plan.objective + 2e-6
    for row in milp.rows:
        activity = sum(c * plan.values[j] for j, c in zip(row.columns, row.coefficients, strict=True))
        assert row.lower - 1e-6 <= activity <= row.upper + 1e-6


def test_large_programme_is_solved_in_stages_to_the_same_optimum(
    child: SolverChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    milp = fleet([3, 5, 9, 14, 2, 8])
    plain = child.solve(milp, EXACT)
    monkeypatch.setattr(large, "LARGE", 1)
    monkeypatch.setattr(large, "MEDIUM", 1)
    hints = []
    solve = child.solve

    def spy(milp, options, hint=None, progress=None):  # type: ignore[no-untyped-def]
        hints.append(hint)
        return solve(milp, options, hint, progress)

    monkeypatch.setattr(child, "solve", spy)
    answer = solve_programme(child, milp, EXACT, structure(milp))
    assert isinstance(plain, Solved)
    assert isinstance(answer, Solved)
    assert answer.objective == pytest.approx(plain.objective)
    assert len(hints) > 2


def test_first_plan_of_an_infeasible_programme(child: SolverChild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE", 1)
    monkeypatch.setattr(large, "MEDIUM", 1)
    milp = fleet([300.0, 1.0])
    assert isinstance(first_plan(child, milp, EXACT, structure(milp), Clock(5)), Infeasible)


def test_relaxed_but_keeps_only_some_columns_integral() -> None:
    milp = fleet([3, 5])
    assert [v.integer for v in relaxed_but(milp, {0}).variables] == [True, False, False, False, False]
    assert all(v.integer for v in milp.variables)


def test_better_takes_the_better_values_and_the_better_bound() -> None:
    one = Undecided((1.0,), 10.0, 5.0, StopReason.TIME_LIMIT)
    other = Undecided((2.0,), 9.0, 4.0, StopReason.TIME_LIMIT)
    assert better(one, other, EXACT, False) == Undecided((2.0,), 9.0, 5.0, StopReason.TIME_LIMIT)
    closed = better(one, Undecided((2.0,), 5.0, None, StopReason.TIME_LIMIT), EXACT, False)
    assert closed == Solved((2.0,), 5.0, 5.0, StopReason.OPTIMAL)
    nothing = Undecided(None, None, None, StopReason.TIME_LIMIT)
    assert better(nothing, one, EXACT, False) == one
    assert better(nothing, nothing, EXACT, False) == nothing
    assert isinstance(better(Infeasible(), nothing, EXACT, False), Infeasible)


@pytest.mark.parametrize("compiler", [True, False])
def test_prices_without_a_plan_leave_the_engine_to_find_one(
    child: SolverChild, monkeypatch: pytest.MonkeyPatch, compiler: bool
) -> None:
    """No plan from prices, or nothing to compile them with: the optimum all the same, and a clock is told of."""
    milp = fleet([3, 5, 9, 14])
    plain = child.solve(milp, EXACT)
    searched = []

    def search(*given: object) -> FleetAnswer:
        searched.append(given)
        return FleetAnswer(None, float("inf"), 0.0, StopReason.TIME_LIMIT, True)

    monkeypatch.setattr(large, "LARGE", 1)
    monkeypatch.setattr(large, "MEDIUM", 1)
    monkeypatch.setattr(large, "search", search)
    monkeypatch.setattr(large, "has_compiler", lambda: compiler)
    no_fleet = FleetMap.__new__(FleetMap)
    object.__setattr__(no_fleet, "fleet", Fleet(np.ones(1), np.ones(1, np.int64), (), ()))
    answer = solve_programme(child, milp, EXACT, replace(structure(milp), fleet=no_fleet))
    assert isinstance(plain, Solved)
    assert isinstance(answer, Solved)
    assert answer.objective == pytest.approx(plain.objective)
    assert bool(searched) is answer.clocked is compiler
