"""A programme in independent parts: what no row ties together is solved apart, and the proofs add up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.formulation.milp import INF, Milp, Row, Variable

SLACK = 1e-9
"""A row that its bounds satisfy by more than this share of its size is left out."""


@dataclass(frozen=True, slots=True)
class Part:
    """One independent part; `columns[j]` is the whole programme's column of its variable j."""

    milp: Milp
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Parts, the values of columns that need no engine, and what those cost."""

    parts: tuple[Part, ...]
    settled: Mapping[int, float]
    settled_objective: float
    impossible: str | None
    """Name of a row that cannot hold whatever the parts do; None where there is none."""

    def assemble(self, values: Sequence[Sequence[float]], columns: int) -> tuple[float, ...]:
        """The whole programme's values from those of the parts."""
        whole = [0.0] * columns
        for column, value in self.settled.items():
            whole[column] = value
        for part, own in zip(self.parts, values, strict=True):
            for column, value in zip(part.columns, own, strict=True):
                whole[column] = value
        return tuple(whole)


def split(milp: Milp, fixed: Mapping[int, float] | None = None) -> Split:
    """Cut a programme along its rows once `fixed` columns have their values.

    Rows that hold for every value within bounds are left out first, so a switched-off rule ties nothing together.
    A column in no row goes to the bound where it is cheapest, unless that is infinite (then it is a part of its own).
    """
    fixed = fixed or {}
    cost = milp.objective()
    rows, impossible = _open_rows(milp, fixed)
    root = _components(len(milp.variables), rows, fixed)
    columns_of: dict[int, list[int]] = {}
    tied = {c for columns, *_ in rows for c in columns}
    for column in sorted(tied):
        columns_of.setdefault(root(column), []).append(column)
    settled = dict(fixed)
    for column, variable in enumerate(milp.variables):
        if column not in settled and column not in tied:
            value = _cheapest(variable, cost.get(column, 0.0), milp.maximise)
            if math.isinf(value):
                columns_of[column] = [column]
            else:
                settled[column] = value
    parts = _parts(milp, columns_of, rows, root, cost)
    spent = math.fsum(cost.get(c, 0.0) * v for c, v in settled.items())
    return Split(parts, settled, spent, impossible)


OpenRow = tuple[list[int], list[float], float, float, Row]
"""(columns, coefficients, lower, upper, the row it comes from), fixed columns moved into the bounds."""


def _open_rows(milp: Milp, fixed: Mapping[int, float]) -> tuple[list[OpenRow], str | None]:
    """Rows that still say something, and the first that cannot hold."""
    found: list[OpenRow] = []
    impossible: str | None = None
    for row in milp.rows:
        columns, coefficients, constant = row.columns, row.coefficients, 0.0
        if fixed and any(c in fixed for c in columns):
            pairs = list(zip(columns, coefficients, strict=True))
            constant = math.fsum(a * fixed[c] for c, a in pairs if c in fixed)
            columns = [c for c, _ in pairs if c not in fixed]
            coefficients = [a for c, a in pairs if c not in fixed]
        lower, upper = row.lower - constant, row.upper - constant
        least, most = _activity(milp, columns, coefficients)
        slack = SLACK * max(1.0, abs(constant), *(abs(a) for a in coefficients), 0.0)
        if least > upper + 1e3 * slack or most < lower - 1e3 * slack:
            impossible = impossible or row.name
        if columns and (least < lower - slack or most > upper + slack):
            found.append((columns, coefficients, lower, upper, row))
    return found, impossible


def _activity(milp: Milp, columns: Sequence[int], coefficients: Sequence[float]) -> tuple[float, float]:
    """Smallest and largest Σ coefficient·v within the variables' bounds."""
    least = most = 0.0
    for c, a in zip(columns, coefficients, strict=True):
        variable = milp.variables[c]
        one, other = a * variable.lower, a * variable.upper
        least += min(one, other)
        most += max(one, other)
    return least, most


class _Roots:
    """Disjoint sets with path halving."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def __call__(self, column: int) -> int:
        parent = self.parent
        while parent[column] != column:
            parent[column] = parent[parent[column]]
            column = parent[column]
        return column


def _components(size: int, rows: Sequence[OpenRow], fixed: Mapping[int, float]) -> _Roots:
    root = _Roots(size)
    for columns, *_ in rows:
        first = root(columns[0])
        for column in columns[1:]:
            other = root(column)
            if other != first:
                # The smaller number stays: parts come in the order of their first column.
                first, other = min(first, other), max(first, other)
                root.parent[other] = first
    return root


def _cheapest(variable: Variable, cost: float, maximise: bool) -> float:
    cost = -cost if maximise else cost
    if cost < 0:
        return variable.upper
    return variable.lower if variable.lower > -INF else min(0.0, variable.upper)


def _parts(
    milp: Milp, columns_of: Mapping[int, list[int]], rows: Sequence[OpenRow], root: _Roots, cost: Mapping[int, float]
) -> tuple[Part, ...]:
    rows_of: dict[int, list[OpenRow]] = {}
    for row in rows:
        rows_of.setdefault(root(row[0][0]), []).append(row)
    parts = []
    for key, columns in sorted(columns_of.items()):
        place = {column: j for j, column in enumerate(columns)}
        own = Milp(
            variables=[milp.variables[c] for c in columns],
            rows=[
                Row(row.family, row.key, [place[c] for c in cs], coefficients, lower, upper)
                for cs, coefficients, lower, upper, row in rows_of.get(key, ())
            ],
            terms={"cost": {place[c]: cost[c] for c in columns if c in cost}},
            maximise=milp.maximise,
        )
        parts.append(Part(own, tuple(columns)))
    return tuple(parts)
