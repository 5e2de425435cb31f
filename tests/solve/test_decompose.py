"""Prices: a bound that needs no trust, and plans from columns."""

import math
import random
import time

import pytest

from planner.errors import SolverError
from planner.formulation.milp import Milp
from planner.solve.decompose import PriceSearch, decompose, solve_by_prices
from planner.solve.engine import SolverChild
from planner.solve.types import Solved, SolveOptions

EXACT = SolveOptions(relative_gap=0.0, time_limit_s=20.0)


@pytest.fixture(scope="module")
def child():
    with SolverChild() as running:
        yield running


def commitments(seed: int, slices: int = 3, machines: int = 2) -> tuple[Milp, frozenset[int]]:
    """Whole machines committed for all slices or rented by the slice; each slice covers a demand of its own."""
    rng = random.Random(seed)
    m = Milp()
    sizes = [rng.choice([1.0, 1.7, 2.5]) for _ in range(machines)]
    commit = [m.add("commit", (p,), 0, 6, integer=True) for p in range(machines)]
    for p, size in enumerate(sizes):
        m.cost("reserved", commit[p], round(size * rng.uniform(0.5, 0.8), 3))
    for t in range(slices):
        demand = rng.uniform(0.5, 6.0)
        replicas = [m.add("replicas", (p, t), 0, 9, integer=True) for p in range(machines)]
        for p, size in enumerate(sizes):
            rented = m.add("on_demand", (p, t), 0, 9, integer=True)
            m.cost("on_demand", rented, round(size * rng.uniform(0.9, 1.4) / slices, 3))
            m.row("instance_packing", (p, t), [(commit[p], 1.0), (rented, 1.0), (replicas[p], -1.0)], lower=0.0)
        m.row("serve_demand", (t,), [(r, s) for r, s in zip(replicas, sizes, strict=True)], lower=demand)
    return m, frozenset(commit)


@pytest.mark.parametrize("seed", range(12))
def test_bound_never_passes_the_optimum_and_the_plan_is_feasible(child: SolverChild, seed: int) -> None:
    milp, linking = commitments(seed)
    optimum = child.solve(milp, EXACT)
    assert isinstance(optimum, Solved)
    parts = decompose(milp, linking)
    assert parts is not None
    assert len(parts.blocks) == 3
    start = [math.ceil(v.upper) if v.family != "commit" else 0.0 for v in milp.variables]
    found = solve_by_prices(child, parts, EXACT, start)
    assert found.bound is not None
    assert found.bound <= optimum.objective * (1 + 1e-9) + 1e-9
    assert found.objective is not None
    assert found.objective >= optimum.objective - 1e-9
    for row in milp.rows:
        had = sum(c * found.values[j] for j, c in zip(row.columns, row.coefficients, strict=True))
        assert row.lower - 1e-6 <= had <= row.upper + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_any_prices_give_a_bound(child: SolverChild, seed: int) -> None:
    """The certificate needs no linear programme: random prices of the right sign bound the optimum too."""
    milp, linking = commitments(seed)
    optimum = child.solve(milp, EXACT)
    assert isinstance(optimum, Solved)
    parts = decompose(milp, linking)
    assert parts is not None
    rng = random.Random(seed)
    for _ in range(3):
        search = PriceSearch(parts, child, EXACT)
        search._certify({row: rng.uniform(-1.0, 1.0) for row in parts.rows}, time.monotonic() + 20)
        assert search.bound <= optimum.objective + 1e-9


def test_a_programme_in_one_piece_is_not_cut() -> None:
    milp, _ = commitments(0, slices=1)
    assert decompose(milp, frozenset()) is None


def test_duals_of_a_linear_programme_come_in_its_own_units(child: SolverChild) -> None:
    m = Milp()
    x, y = m.add("x", (), 0, 100), m.add("y", (), 0, 100)
    m.cost("c", x, 3000.0)
    m.cost("c", y, 5000.0)
    m.row("cover", (), [(x, 1.0), (y, 2.0)], lower=8.0)
    m.row("limit", (), [(y, 1.0)], upper=3.0)
    answer = child.solve(m, SolveOptions(engine="glop"))
    assert isinstance(answer, Solved)
    assert answer.duals == pytest.approx((3000.0, -1000.0))


def test_an_endless_time_limit_is_refused_and_leaves_the_child_in_step(child: SolverChild) -> None:
    milp, _ = commitments(1)
    with pytest.raises(SolverError, match="time limit"):
        child.solve(milp, SolveOptions(time_limit_s=math.inf))
    small = Milp()
    x = small.add("x", (), 0, 5, integer=True)
    small.cost("c", x, -1.0)
    answer = child.solve(small, EXACT)
    assert isinstance(answer, Solved)
    assert answer.values == (5.0,)


def test_what_rounding_leaves_of_zero_is_not_given_to_an_engine(child: SolverChild) -> None:
    milp = Milp()
    commit = milp.add("commit", (0,), 0, 6, integer=True)
    for t in range(2):
        xs = [milp.add("x", (t, j), 0, 1, integer=True) for j in range(3)]
        milp.row("all", (t,), [(x, 1.0) for x in xs], lower=3.0)
        milp.row("linking", (t,), [(commit, 1.0), (xs[0], 0.1), (xs[1], 0.2), (xs[2], -0.3)], lower=1.0)
        milp.cost("reserved", xs[0], 1.0)
    milp.cost("reserved", commit, 2.0)
    parts = decompose(milp, frozenset({commit}))
    assert parts is not None
    assert 0 < abs(0.1 + 0.2 - 0.3) < 1e-15
    answer = solve_by_prices(child, parts, EXACT, (1.0,) + (1.0,) * 6)
    assert answer.objective == pytest.approx(4.0)
