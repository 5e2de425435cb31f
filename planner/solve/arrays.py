"""A programme as flat arrays, checked and scaled: what crosses to the solver's process."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from planner.errors import SolverError
from planner.formulation.milp import Milp

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

MAX_SPREAD = 1e7
"""Largest ratio of coefficients inside one row: beyond it the engines' absolute tolerance of 1e-6 means nothing."""
MAX_NUMBER = 1e15
"""Largest finite bound or coefficient; engines read 1e20 as infinite and cut matrix entries at 1e15."""
TOLERANCE = 1e-6
"""Feasibility and integrality tolerance of every engine we use, on scaled rows."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """`minimise (or maximise) c·v` subject to `row_lower ≤ A·v ≤ row_upper`, `lower ≤ v ≤ upper`; A by rows.

    Sizes: n variables, m rows, z nonzeros. Scaled copies carry the factors that lead back:
    v = column_scale·v_scaled, objective = objective_scaled / objective_scale. Scaled copies always minimise:
    the factor is negative where the programme maximises.
    """

    objective: Floats
    """[n]"""
    lower: Floats
    """[n]"""
    upper: Floats
    """[n]"""
    integer: Bools
    """[n]"""
    row_of: Ints
    """[z] row of each nonzero, ascending"""
    column_of: Ints
    """[z] column of each nonzero, ascending inside a row"""
    coefficient: Floats
    """[z]"""
    row_lower: Floats
    """[m]"""
    row_upper: Floats
    """[m]"""
    maximise: bool
    column_scale: Floats
    """[n]"""
    objective_scale: float = 1.0

    @property
    def variables(self) -> int:
        """n"""
        return int(self.objective.size)

    @property
    def rows(self) -> int:
        """m"""
        return int(self.row_lower.size)

    def has_integral_rows(self) -> bool:
        """Whether all coefficients and finite row bounds are whole numbers."""
        import numpy as np

        bounds = np.concatenate([self.row_lower, self.row_upper])
        bounds = bounds[np.isfinite(bounds)]
        return bool((self.coefficient == np.rint(self.coefficient)).all() and (bounds == np.rint(bounds)).all())

    def is_bounded(self) -> bool:
        """Whether every variable has two finite bounds."""
        import numpy as np

        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def largest_activity(self) -> float:
        """Largest Σ |coefficient|·max(|lower|, |upper|) of a row or bound of a variable; needs finite bounds."""
        import numpy as np

        reach = np.maximum(np.abs(self.lower), np.abs(self.upper))
        sums = np.bincount(self.row_of, np.abs(self.coefficient) * reach[self.column_of], minlength=self.rows)
        return float(max(sums.max(initial=0.0), reach.max(initial=0.0)))

    def activity(self, values: Floats) -> Floats:
        """[m] A·v."""
        import numpy as np

        weights = self.coefficient * values[self.column_of]
        return np.bincount(self.row_of, weights, minlength=self.rows).astype(np.float64)

    def worst_violation(self, values: Floats) -> float:
        """Largest violation of a row or a bound, relative to max(1, |bound|); 0 when feasible."""
        import numpy as np

        worst = 0.0
        activity = self.activity(values)
        for lower, upper, had in ((self.row_lower, self.row_upper, activity), (self.lower, self.upper, values)):
            if not had.size:
                continue
            with np.errstate(invalid="ignore"):
                below = np.where(np.isfinite(lower), (lower - had) / np.maximum(1.0, np.abs(lower)), 0.0)
                above = np.where(np.isfinite(upper), (had - upper) / np.maximum(1.0, np.abs(upper)), 0.0)
            worst = max(worst, float(below.max()), float(above.max()))
        return worst


@dataclass(frozen=True, slots=True)
class _Named:
    name: str


@dataclass(frozen=True, slots=True)
class _Names:
    """Stands for a programme's variables or rows where only a name for a message is asked for."""

    what: str
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> _Named:
        return _Named(f"{self.what} {index}")


@dataclass(frozen=True, slots=True)
class Sparse:
    """A programme that was built as arrays: minimised, without names. The engines take it like a `Milp`."""

    arrays: Arrays
    maximise: bool = False

    @property
    def variables(self) -> _Names:
        return _Names("column", self.arrays.variables)

    @property
    def rows(self) -> _Names:
        return _Names("row", self.arrays.rows)


def sparse(
    objective: Floats, entries: tuple[Ints, Ints, Floats], row_lower: Floats, row_upper: Floats, lower: Floats,
    upper: Floats, integer: Bools,
) -> Sparse:  # fmt: skip
    """A minimised programme from (rows, columns, coefficients) in any order; zeros are dropped, no entry twice."""
    import numpy as np

    rows, columns, values = entries
    kept = values != 0.0
    rows, columns, values = rows[kept], columns[kept], values[kept]
    order = np.lexsort((columns, rows))
    return Sparse(
        Arrays(
            objective=np.asarray(objective, np.float64),
            lower=np.asarray(lower, np.float64),
            upper=np.asarray(upper, np.float64),
            integer=np.asarray(integer, np.bool_),
            row_of=rows[order].astype(np.int64),
            column_of=columns[order].astype(np.int64),
            coefficient=values[order].astype(np.float64),
            row_lower=np.asarray(row_lower, np.float64),
            row_upper=np.asarray(row_upper, np.float64),
            maximise=False,
            column_scale=np.ones(objective.size),
        )
    )


def to_arrays(milp: Milp | Sparse) -> Arrays:
    """The programme as arrays, row-major; O(nonzeros), no expression objects."""
    import numpy as np

    if isinstance(milp, Sparse):
        return milp.arrays
    n, m = len(milp.variables), len(milp.rows)
    costs: Floats = np.zeros(n)
    for column, cost in milp.objective().items():
        costs[column] = cost
    lengths = np.fromiter((len(r.columns) for r in milp.rows), np.int64, m)
    size = int(lengths.sum())
    row_of = np.repeat(np.arange(m, dtype=np.int64), lengths)
    column_of = np.fromiter(chain.from_iterable(r.columns for r in milp.rows), np.int64, size)
    coefficient = np.fromiter(chain.from_iterable(r.coefficients for r in milp.rows), np.float64, size)
    order = np.lexsort((column_of, row_of))
    return Arrays(
        objective=costs,
        lower=np.fromiter((v.lower for v in milp.variables), np.float64, n),
        upper=np.fromiter((v.upper for v in milp.variables), np.float64, n),
        integer=np.fromiter((v.integer for v in milp.variables), np.bool_, n),
        row_of=row_of,
        column_of=column_of[order],
        coefficient=coefficient[order],
        row_lower=np.fromiter((r.lower for r in milp.rows), np.float64, m),
        row_upper=np.fromiter((r.upper for r in milp.rows), np.float64, m),
        maximise=milp.maximise,
        column_scale=np.ones(n),
    )


def check_numbers(milp: Milp | Sparse, arrays: Arrays, engine: str) -> None:
    """Refuse NaN, infinite coefficients, numbers beyond MAX_NUMBER and crossed bounds: SolverError names the place."""
    import numpy as np

    def refuse(what: str, bad: Bools, name: str) -> None:
        if bad.any():
            index = int(np.flatnonzero(bad)[0])
            item = milp.variables[index] if name == "variable" else milp.rows[index]
            raise SolverError(engine, f"{what} in {item.name}", "the programme was not given to the engine")

    refuse("objective coefficient is not finite or above 1e15", ~(np.abs(arrays.objective) <= MAX_NUMBER), "variable")
    bad = ~(np.abs(arrays.coefficient) <= MAX_NUMBER)
    refuse("coefficient is not finite or above 1e15", np.bincount(arrays.row_of[bad], minlength=arrays.rows) > 0, "row")
    for lower, upper, name in (
        (arrays.lower, arrays.upper, "variable"),
        (arrays.row_lower, arrays.row_upper, "row"),
    ):
        refuse("bound is NaN", np.isnan(lower) | np.isnan(upper), name)
        refuse("bounds are crossed", lower > upper, name)
        for bound in (lower, upper):
            refuse("finite bound is above 1e15", np.isfinite(bound) & (np.abs(bound) > MAX_NUMBER), name)
        refuse("bound is infinite on the wrong side", (lower == math.inf) | (upper == -math.inf), name)


def _powers_of_two(values: Floats) -> Floats:
    """Nearest powers of two: scaling by them loses no bit."""
    import numpy as np

    return np.exp2(np.rint(np.log2(values)))


def _centres(index: Ints, magnitude: Floats, count: int) -> tuple[Floats, Floats]:
    """Geometric middle and spread (max/min) of the nonzeros of each row or column; 1 where there is none."""
    import numpy as np

    top: Floats = np.zeros(count)
    low: Floats = np.full(count, math.inf)
    np.maximum.at(top, index, magnitude)
    np.minimum.at(low, index, magnitude)
    empty = top == 0.0
    top[empty], low[empty] = 1.0, 1.0
    return np.sqrt(top) * np.sqrt(low), top / low


def scale(milp: Milp | Sparse, arrays: Arrays, engine: str) -> Arrays:
    """Rows and objective scaled by powers of two to a geometric middle of 1; refuses a row that stays too wide.

    Continuous columns are scaled only where some row spreads over more than MAX_SPREAD; integer columns never.
    Raises SolverError when a row still spreads over more than MAX_SPREAD.
    """
    import numpy as np

    if arrays.rows == 0 or not arrays.coefficient.size:
        return _scale_objective(arrays, arrays.column_scale)
    magnitude = np.abs(arrays.coefficient)
    columns = np.ones(arrays.variables)
    middle, spread = _centres(arrays.row_of, magnitude, arrays.rows)
    if spread.max() > MAX_SPREAD and not arrays.integer.all():
        columns = _column_scale(arrays, magnitude)
        middle, spread = _centres(arrays.row_of, magnitude * columns[arrays.column_of], arrays.rows)
    if spread.max() > MAX_SPREAD:
        row = milp.rows[int(spread.argmax())]
        raise SolverError(
            engine,
            f"coefficients of {row.name} spread over a factor of {spread.max():.1e}",
            f"at most {MAX_SPREAD:.0e} is given to an engine; state the row in other units",
        )
    rows = 1.0 / _powers_of_two(middle)
    scaled = Arrays(
        objective=arrays.objective * columns,
        lower=arrays.lower / columns,
        upper=arrays.upper / columns,
        integer=arrays.integer,
        row_of=arrays.row_of,
        column_of=arrays.column_of,
        coefficient=arrays.coefficient * columns[arrays.column_of] * rows[arrays.row_of],
        row_lower=arrays.row_lower * rows,
        row_upper=arrays.row_upper * rows,
        maximise=arrays.maximise,
        column_scale=columns,
    )
    return _scale_objective(scaled, columns)


def _column_scale(arrays: Arrays, magnitude: Floats) -> Floats:
    """Factors of the continuous columns after four rounds of geometric equilibration."""
    import numpy as np

    columns, rows = np.ones(arrays.variables), np.ones(arrays.rows)
    for _ in range(4):
        middle, _ = _centres(arrays.row_of, magnitude * columns[arrays.column_of], arrays.rows)
        rows = 1.0 / middle
        middle, _ = _centres(arrays.column_of, magnitude * rows[arrays.row_of], arrays.variables)
        columns = np.where(arrays.integer, 1.0, 1.0 / middle)
    return _powers_of_two(columns)


def _scale_objective(arrays: Arrays, columns: Floats) -> Arrays:
    """The objective scaled so that its geometric middle is 1, and negated where it is maximised."""
    import numpy as np

    nonzero = np.abs(arrays.objective[arrays.objective != 0.0])
    middle = np.exp(np.log(nonzero).mean(keepdims=True)) if nonzero.size else np.ones(1)
    factor = float(1.0 / _powers_of_two(middle)[0]) * (-1.0 if arrays.maximise else 1.0)
    return replace(
        arrays,
        maximise=False,
        objective=arrays.objective * factor,
        column_scale=columns,
        objective_scale=arrays.objective_scale * factor,
    )


def as_minimum(arrays: Arrays) -> Arrays:
    """The same programme unscaled, as a minimisation."""
    if not arrays.maximise:
        return arrays
    return replace(arrays, objective=-arrays.objective, objective_scale=-arrays.objective_scale, maximise=False)


def trivially_infeasible(milp: Milp | Sparse) -> str | None:
    """Name of a row without columns that excludes 0 (an engine's word for it would name nothing); else None."""
    if isinstance(milp, Sparse):
        import numpy as np

        a = milp.arrays
        empty = np.bincount(a.row_of, minlength=a.rows) == 0
        wrong = np.flatnonzero(empty & ((a.row_lower > TOLERANCE) | (a.row_upper < -TOLERANCE)))
        return milp.rows[int(wrong[0])].name if wrong.size else None
    for row in milp.rows:
        if not row.columns and not row.lower - TOLERANCE <= 0.0 <= row.upper + TOLERANCE:
            return row.name
    return None


def unscaled_values(arrays: Arrays, scaled: Sequence[float] | Floats) -> Floats:
    """[n] values of the original columns."""
    import numpy as np

    return np.asarray(scaled, dtype=np.float64) * arrays.column_scale
