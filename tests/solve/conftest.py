"""One engine process for all tests of the room, and small programmes."""

from collections.abc import Iterator

import pytest

from planner.formulation.milp import Milp
from planner.solve.engine import SolverChild
from tests.solve.programmes import hard_knapsack


@pytest.fixture(scope="session")
def child() -> Iterator[SolverChild]:
    with SolverChild() as running:
        yield running


@pytest.fixture
def knapsack() -> Milp:
    """Two items of which one fits: minimum −5 at (0, 1)."""
    milp = Milp()
    small, large = (milp.add("take", (name,), 0, 1, True) for name in ("small", "large"))
    milp.cost("value", small, -3.0)
    milp.cost("value", large, -5.0)
    milp.row("weight", ("bag",), [(small, 1.0), (large, 2.0)], upper=2.0)
    return milp


@pytest.fixture
def hard() -> Milp:
    """A multi-dimensional knapsack that no engine proves within a few seconds."""
    return hard_knapsack(80, 12)
