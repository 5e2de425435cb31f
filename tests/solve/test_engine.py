"""Claims about the adapter: every trap known of the engines ends in a typed answer or an error with words."""

import math
import os
import signal
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import SolverError
from planner.formulation.milp import INF, Milp, Row
from planner.solve.engine import SolverChild, agree, prove
from planner.solve.types import Infeasible, Progress, Solved, SolveOptions, StopReason, Undecided
from tests.solve.programmes import hard_knapsack

EXACT = SolveOptions(relative_gap=0.0, time_limit_s=30)


def one_variable(lower: float = 0.0, upper: float = INF, integer: bool = True, cost: float = 1.0) -> Milp:
    milp = Milp()
    milp.cost("cost", milp.add("x", ("a",), lower, upper, integer), cost)
    return milp


@pytest.mark.parametrize("engine", ["highs", "scip", "cp_sat"])
def test_knapsack_is_solved_to_optimality(child: SolverChild, knapsack: Milp, engine: str) -> None:
    answer = child.solve(knapsack, SolveOptions(engine=engine))
    assert isinstance(answer, Solved)
    assert answer.values == (0.0, 1.0)
    assert answer.objective == -5.0
    assert answer.bound == pytest.approx(-5.0, abs=1e-4)
    assert answer.bound <= answer.objective


def test_maximising_bounds_from_above(child: SolverChild, knapsack: Milp) -> None:
    knapsack.terms = {"value": {0: 3.0, 1: 5.0}}
    knapsack.maximise = True
    answer = child.solve(knapsack, SolveOptions())
    assert isinstance(answer, Solved)
    assert answer.objective == 5.0
    assert answer.bound >= 5.0


def test_glop_solves_a_linear_programme(child: SolverChild) -> None:
    milp = one_variable(integer=False)
    milp.row("least", (), [(0, 2.0)], lower=3.0)
    answer = child.solve(milp, SolveOptions(engine="glop"))
    assert isinstance(answer, Solved)
    assert answer.values == pytest.approx((1.5,))
    assert answer.stop is StopReason.OPTIMAL


@pytest.mark.parametrize("engine", ["highs", "scip", "cp_sat"])
def test_infeasible_is_proven(child: SolverChild, engine: str) -> None:
    milp = one_variable(upper=10.0)
    milp.row("least", (), [(0, 2.0)], lower=30.0)
    assert isinstance(child.solve(milp, SolveOptions(engine=engine)), Infeasible)


def test_integrality_alone_makes_it_infeasible(child: SolverChild) -> None:
    milp = one_variable(upper=10.0)
    milp.row("between", (), [(0, 1.0)], lower=0.3, upper=0.7)
    assert isinstance(child.solve(milp, SolveOptions()), Infeasible)


@pytest.mark.parametrize("engine", ["highs", "scip"])
def test_unbounded_names_the_variable(child: SolverChild, engine: str) -> None:
    milp = one_variable(cost=-1.0)
    milp.row("least", (), [(0, 2.0)], lower=3.0)
    with pytest.raises(SolverError, match=r"no finite bound.*x\[a\]"):
        child.solve(milp, SolveOptions(engine=engine))


def test_infeasible_and_unbounded_at_once_is_infeasible(child: SolverChild) -> None:
    milp = one_variable(cost=-1.0)
    other = milp.add("y", (), 0.0, 1.0, True)
    milp.row("never", (), [(other, 2.0)], lower=1.0, upper=1.5)
    milp.row("link", (), [(0, 1.0), (other, -1.0)], lower=0.0)
    assert isinstance(child.solve(milp, SolveOptions()), Infeasible)


def test_no_variables_need_no_engine(child: SolverChild) -> None:
    assert child.solve(Milp(), SolveOptions()) == Solved((), 0.0, 0.0, StopReason.OPTIMAL)
    milp = Milp()
    milp.row("serve_demand", ("chat",), [], lower=1.0)
    answer = child.solve(milp, SolveOptions())
    assert isinstance(answer, Infeasible)
    assert "serve_demand[chat]" in answer.detail


@pytest.mark.parametrize("engine", ["highs", "scip"])
def test_no_rows_is_solved_at_the_bounds(child: SolverChild, engine: str) -> None:
    answer = child.solve(one_variable(lower=2.0), SolveOptions(engine=engine))
    assert isinstance(answer, Solved)
    assert answer.values == (2.0,)


def test_nan_never_reaches_an_engine(child: SolverChild, knapsack: Milp) -> None:
    knapsack.rows[0] = Row("weight", ("bag",), [0, 1], [1.0, math.nan], -INF, 2.0)
    for engine in ("highs", "scip"):
        with pytest.raises(SolverError, match=r"not finite.*weight\[bag\]"):
            child.solve(knapsack, SolveOptions(engine=engine))


@pytest.mark.parametrize("bad", [math.nan, 1e16])
def test_bad_objective_is_refused(child: SolverChild, knapsack: Milp, bad: float) -> None:
    knapsack.terms["value"][0] = bad
    with pytest.raises(SolverError, match=r"objective coefficient.*take\[small\]"):
        child.solve(knapsack, SolveOptions())


@pytest.mark.parametrize(("lower", "upper"), [(math.nan, 1.0), (2.0, 1.0), (INF, INF), (0.0, 1e18)])
def test_bad_bounds_are_refused(child: SolverChild, knapsack: Milp, lower: float, upper: float) -> None:
    knapsack.variables[0].lower, knapsack.variables[0].upper = lower, upper
    with pytest.raises(SolverError, match=r"bound.*take\[small\]"):
        child.solve(knapsack, SolveOptions())


def test_big_m_row_is_refused(child: SolverChild) -> None:
    milp = one_variable()
    used = milp.add("used", ("a",), 0, 1, True)
    milp.row("link", ("a",), [(0, 1.0), (used, -1e8)], upper=0.0)
    with pytest.raises(SolverError, match=r"link\[a\] spread"):
        child.solve(milp, SolveOptions())


def test_wide_row_with_a_continuous_column_is_rescaled(child: SolverChild) -> None:
    """tokens per month against instances: 1e9 in one row, solvable once the rate counts in other units."""
    milp = Milp()
    tokens = milp.add("tokens", (), 0.0, 5e9)
    instances = milp.add("instances", (), 0, 100, True)
    milp.cost("cost", tokens, -1e-6)
    milp.cost("cost", instances, 100.0)
    milp.row("capacity", (), [(tokens, 1.0), (instances, -1e9)], upper=0.0)
    answer = child.solve(milp, EXACT)
    assert isinstance(answer, Solved)
    assert answer.values == pytest.approx((5e9, 5.0))


@pytest.mark.parametrize("engine", ["highs", "scip"])
def test_time_out_keeps_incumbent_and_bound(child: SolverChild, hard: Milp, engine: str) -> None:
    answer = child.solve(hard, SolveOptions(engine=engine, time_limit_s=0.6, relative_gap=1e-6))
    assert isinstance(answer, Undecided)
    assert answer.stop is StopReason.TIME_LIMIT
    assert answer.values is not None
    assert answer.objective is not None
    assert answer.bound is not None
    assert answer.bound < answer.objective
    assert answer.objective == pytest.approx(hard.value(hard.objective(), answer.values))
    assert all(v in (0.0, 1.0) for v in answer.values)


def test_time_out_before_any_incumbent(child: SolverChild, hard: Milp) -> None:
    answer = child.solve(hard, SolveOptions(time_limit_s=1e-6))
    assert answer == Undecided(None, None, None, StopReason.TIME_LIMIT)
    assert child.solve(hard, SolveOptions(time_limit_s=0.0)).stop is StopReason.TIME_LIMIT  # type: ignore[union-attr]


def test_feasible_hint_is_the_incumbent_of_last_resort(child: SolverChild, hard: Milp) -> None:
    answer = child.solve(hard, SolveOptions(time_limit_s=0.0), hint=[0.0] * len(hard.variables))
    assert isinstance(answer, Undecided)
    assert answer.objective == 0.0
    wrong = child.solve(hard, SolveOptions(time_limit_s=0.0), hint=[1.0] * len(hard.variables))
    assert isinstance(wrong, Undecided)
    assert wrong.values is None


def test_node_limit_stops_without_a_clock(child: SolverChild, hard: Milp) -> None:
    options = SolveOptions(relative_gap=1e-9, node_limit=1)
    first, second = child.solve(hard, options), child.solve(hard, options)
    assert isinstance(first, Undecided)
    assert first.stop is StopReason.NODE_LIMIT
    assert first == second


def test_gap_is_a_stop_reason(child: SolverChild, hard: Milp) -> None:
    answer = child.solve(hard, SolveOptions(relative_gap=0.2))
    assert isinstance(answer, Solved)
    assert answer.stop is StopReason.GAP
    assert 0 < (answer.objective - answer.bound) / abs(answer.objective) <= 0.2


def test_engine_that_ignores_its_limit_is_killed_and_leaves_its_incumbent(
    hard: Milp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from planner.solve import engine

    monkeypatch.setattr(engine, "hard_limit_s", lambda time_limit_s: 1.0)
    with SolverChild() as own:
        own.solve(one_variable(), SolveOptions())
        answer = own.solve(hard, SolveOptions(time_limit_s=60.0, relative_gap=1e-6))
        assert own.pid is None
    assert isinstance(answer, Undecided)
    assert answer.stop is StopReason.TIME_LIMIT
    assert answer.values is not None
    assert answer.bound is not None


def test_killed_child_is_an_error_and_the_next_solve_starts_another(hard: Milp, knapsack: Milp) -> None:
    with SolverChild() as own:
        own.solve(knapsack, SolveOptions())
        pid = own.pid
        assert pid is not None
        timer = threading.Timer(0.4, os.kill, (pid, signal.SIGSEGV))
        timer.start()
        with pytest.raises(SolverError, match="SIGSEGV"):
            own.solve(hard, SolveOptions(time_limit_s=20, relative_gap=1e-6))
        timer.join()
        assert isinstance(own.solve(knapsack, SolveOptions()), Solved)
        assert own.pid not in (None, pid)


def test_child_that_died_between_two_solves_is_replaced(knapsack: Milp) -> None:
    with SolverChild() as own:
        own.solve(knapsack, SolveOptions())
        assert own.pid is not None
        os.kill(own.pid, signal.SIGKILL)
        time.sleep(0.1)
        assert isinstance(own.solve(knapsack, SolveOptions()), Solved)


def test_closed_child_is_gone(knapsack: Milp) -> None:
    own = SolverChild()
    own.solve(knapsack, SolveOptions())
    pid = own.pid
    assert pid is not None
    own.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_cp_sat_refuses_what_it_answers_wrongly(child: SolverChild, knapsack: Milp) -> None:
    cp_sat = SolveOptions(engine="cp_sat")
    with pytest.raises(SolverError, match="1 are continuous"):
        child.solve(one_variable(integer=False, upper=3.0), cp_sat)
    with pytest.raises(SolverError, match="finite bounds"):
        child.solve(one_variable(), cp_sat)
    wide = one_variable(upper=5e5)
    wide.row("sum", (), [(0, 5000.0)], lower=1.0)
    with pytest.raises(SolverError, match="sum to 2\\^31"):
        child.solve(wide, cp_sat)
    knapsack.row("half", (), [(0, 0.5)], upper=1.0)
    with pytest.raises(SolverError, match="whole-number"):
        child.solve(knapsack, cp_sat)


def test_other_refusals(child: SolverChild, knapsack: Milp) -> None:
    with pytest.raises(SolverError, match="2 variables are integer"):
        child.solve(knapsack, SolveOptions(engine="glop"))
    with pytest.raises(SolverError, match="no node limit"):
        child.solve(knapsack, SolveOptions(engine="cp_sat", node_limit=3))
    with pytest.raises(SolverError, match=r"no such engine.*highs"):
        child.solve(knapsack, SolveOptions(engine="gurobi"))
    with pytest.raises(SolverError, match="hint of 1 values for 2"):
        child.solve(knapsack, SolveOptions(), hint=[0.0])


def test_refusal_of_mathopt_keeps_its_words(
    child: SolverChild, knapsack: Milp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from planner.solve.capabilities import CAPABILITIES

    monkeypatch.setitem(CAPABILITIES, "highs", replace(CAPABILITIES["highs"], threads=1))
    with pytest.raises(SolverError, match="threads not supported for HiGHS"):
        child.solve(knapsack, SolveOptions())


def test_progress_arrives_while_it_runs(child: SolverChild, hard: Milp) -> None:
    signs: list[Progress] = []
    answer = child.solve(hard, SolveOptions(time_limit_s=0.8, relative_gap=1e-6), progress=signs.append)
    assert isinstance(answer, Undecided)
    assert signs
    known = [s for s in signs if s.incumbent is not None and s.bound is not None]
    assert all(s.bound <= s.incumbent for s in known)  # type: ignore[operator]
    assert answer.objective is not None
    assert all(s.incumbent >= answer.objective - 1e-6 for s in known)  # type: ignore[operator]


def test_same_programme_gives_the_same_bytes(child: SolverChild) -> None:
    milp = hard_knapsack(25, 5)
    with SolverChild() as other:
        assert child.solve(milp, EXACT) == child.solve(milp, EXACT) == other.solve(milp, EXACT)


def test_prove_gives_a_second_opinion(child: SolverChild, knapsack: Milp) -> None:
    answer = child.solve(knapsack, SolveOptions())
    assert prove(child, knapsack, answer, SolveOptions())[0] is True
    assert isinstance(answer, Solved)
    wrong = Solved(answer.values, -9.0, -9.0, StopReason.OPTIMAL)
    assert prove(child, knapsack, wrong, SolveOptions())[0] is False
    assert agree(answer, Infeasible()) is False
    assert agree(Infeasible(), Infeasible()) is True
    assert agree(answer, Undecided(None, None, None, StopReason.TIME_LIMIT)) is None


@st.composite
def programmes(draw: st.DrawFn) -> Milp:
    """Small covering and packing programmes, some of them infeasible, with integer and continuous variables."""
    milp = Milp()
    count = draw(st.integers(1, 6))
    for j in range(count):
        milp.add("v", (j,), 0.0, float(draw(st.integers(1, 8))), draw(st.booleans()))
        milp.cost("cost", j, draw(st.integers(-4, 12)) / 4)
    for i in range(draw(st.integers(0, 5))):
        terms = [(j, draw(st.integers(-2, 6)) / 2) for j in range(count)]
        if draw(st.booleans()):
            milp.row("cover", (i,), terms, lower=float(draw(st.integers(0, 20))))
        else:
            milp.row("pack", (i,), terms, upper=float(draw(st.integers(-2, 20))))
    return milp


@settings(max_examples=25)
@given(milp=programmes())
def test_highs_and_scip_agree(child: SolverChild, milp: Milp) -> None:
    first = child.solve(milp, EXACT)
    second = child.solve(milp, SolveOptions(engine="scip", relative_gap=0.0))
    assert agree(first, second) is True
    if isinstance(first, Solved) and isinstance(second, Solved):
        assert first.objective == pytest.approx(second.objective, abs=1e-5)
        for row in milp.rows:
            activity = sum(c * first.values[j] for j, c in zip(row.columns, row.coefficients, strict=True))
            assert row.lower - 1e-5 <= activity <= row.upper + 1e-5
