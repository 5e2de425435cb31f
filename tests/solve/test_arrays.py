"""Claims about what is given to an engine: the same programme, scaled without losing a bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import SolverError
from planner.formulation.milp import INF, Milp
from planner.solve.arrays import as_minimum, scale, to_arrays, trivially_infeasible
from tests.solve.programmes import hard_knapsack


def two_rows() -> Milp:
    milp = Milp()
    x, n = milp.add("x", (), 0.0, 5.0), milp.add("n", (), 0.0, 9.0, True)
    milp.cost("money", x, 1000.0)
    milp.cost("money", n, 4000.0)
    milp.row("b", (), [(n, 3e-4), (x, 1e-4)], lower=1e-4)
    milp.row("a", (), [(n, -8192.0)], upper=4096.0)
    return milp


def test_arrays_hold_the_rows_in_column_order() -> None:
    arrays = to_arrays(two_rows())
    assert arrays.row_of.tolist() == [0, 0, 1]
    assert arrays.column_of.tolist() == [0, 1, 1]
    assert arrays.coefficient.tolist() == [1e-4, 3e-4, -8192.0]
    assert arrays.row_lower.tolist() == [1e-4, -INF]
    assert arrays.row_upper.tolist() == [INF, 4096.0]
    assert arrays.objective.tolist() == [1000.0, 4000.0]


def test_scaled_rows_are_near_one_by_powers_of_two() -> None:
    milp = two_rows()
    arrays = to_arrays(milp)
    scaled = scale(milp, arrays, "highs")
    assert np.abs(scaled.coefficient).max() < 2.5
    assert np.abs(scaled.coefficient).min() > 0.4
    mantissas = np.frexp(scaled.coefficient / arrays.coefficient)[0]
    assert set(mantissas.tolist()) == {0.5}
    assert np.frexp(scaled.objective_scale)[0] == 0.5


@given(st.lists(st.floats(0.0, 5.0), min_size=2, max_size=2))
def test_scaling_changes_no_feasibility(values: list[float]) -> None:
    milp = two_rows()
    arrays = to_arrays(milp)
    scaled = scale(milp, arrays, "highs")
    point = np.asarray(values)
    inside = bool(
        (arrays.activity(point) >= arrays.row_lower).all() and (arrays.activity(point) <= arrays.row_upper).all()
    )
    assert (scaled.worst_violation(point / scaled.column_scale) <= 1e-12) == inside


def test_maximising_becomes_minimising_with_a_negative_factor() -> None:
    milp = two_rows()
    milp.maximise = True
    for changed in (scale(milp, to_arrays(milp), "highs"), as_minimum(to_arrays(milp))):
        assert not changed.maximise
        assert changed.objective_scale < 0
        assert (changed.objective / changed.objective_scale).tolist() == [1000.0, 4000.0]


def test_integer_columns_are_never_scaled() -> None:
    milp = Milp()
    x, n = milp.add("tokens", (), 0.0, 1e10), milp.add("n", (), 0.0, 9.0, True)
    milp.row("r", (), [(x, 1.0), (n, -1e9)], upper=0.0)
    scaled = scale(milp, to_arrays(milp), "highs")
    assert scaled.column_scale[n] == 1.0
    assert scaled.column_scale[x] > 1.0


def test_row_of_integers_that_spreads_too_wide_is_refused() -> None:
    milp = Milp()
    a, b = milp.add("a", (), 0, 1, True), milp.add("b", (), 0, 1, True)
    milp.row("r", ("x",), [(a, 1.0), (b, 1.1e7)], upper=1.0)
    with pytest.raises(SolverError, match=r"r\[x\] spread over a factor of 1.1e\+07"):
        scale(milp, to_arrays(milp), "highs")


def test_empty_row_is_feasible_only_around_zero() -> None:
    milp = Milp()
    milp.add("x", (), 0, 1)
    milp.row("fine", (), [], upper=0.0)
    assert trivially_infeasible(milp) is None
    milp.row("never", ("k",), [(0, 1.0), (0, -1.0)], lower=1.0)
    assert trivially_infeasible(milp) == "never[k]"


def test_sixty_thousand_variables_become_arrays_without_expressions() -> None:
    """The size that took 2.5 s through an engine's expressions; a generous limit, for a busy machine."""
    import time

    milp = hard_knapsack(3000, 20)
    started = time.monotonic()
    arrays = to_arrays(milp)
    scale(milp, arrays, "highs")
    assert time.monotonic() - started < 1.0
    assert arrays.coefficient.size == 60000
