"""A mixed-integer programme as plain arrays, with names that lead back to typed keys. No engine is named here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

INF = math.inf

Key = tuple[str | int, ...]


@dataclass(slots=True)
class Variable:
    family: str
    key: Key
    lower: float
    upper: float
    integer: bool

    @property
    def name(self) -> str:
        return f"{self.family}[{','.join(map(str, self.key))}]"


@dataclass(slots=True)
class Row:
    family: str
    key: Key
    columns: list[int]
    coefficients: list[float]
    lower: float
    upper: float
    scale: float = 1.0
    """What one unit of the row is in the unit of its family: rows are scaled so that coefficients are near 1."""

    @property
    def name(self) -> str:
        return f"{self.family}[{','.join(map(str, self.key))}]"


@dataclass
class Milp:
    """Minimise Σ_terms Σ_j cost[term][j]·v_j subject to the rows. Infinite bounds never reach an engine."""

    variables: list[Variable] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    terms: dict[str, dict[int, float]] = field(default_factory=dict)
    """Named objective terms: term → {column: coefficient}."""
    maximise: bool = False
    _columns: dict[tuple[str, Key], int] = field(default_factory=dict)
    _rows: set[tuple[str, Key]] = field(default_factory=set)

    def add(self, family: str, key: Key, lower: float = 0.0, upper: float = INF, integer: bool = False) -> int:
        """Add a variable; returns its column. Names are unique by construction."""
        if (family, key) in self._columns:
            raise ValueError(f"variable {family}{key} exists already")
        if math.isnan(lower) or math.isnan(upper) or lower > upper:
            raise ValueError(f"variable {family}{key} has bounds {lower}..{upper}")
        column = len(self.variables)
        self.variables.append(Variable(family, key, lower, upper, integer))
        self._columns[family, key] = column
        return column

    def column(self, family: str, key: Key) -> int | None:
        """The column of a variable, or None where it does not exist."""
        return self._columns.get((family, key))

    def row(
        self,
        family: str,
        key: Key,
        terms: Iterable[tuple[int, float]],
        lower: float = -INF,
        upper: float = INF,
        scale: float = 1.0,
    ) -> None:
        """Add `lower ≤ Σ coefficient·v ≤ upper`; equal columns are summed; without a bound it is left out."""
        if (family, key) in self._rows:
            raise ValueError(f"row {family}{key} exists already")
        if math.isnan(lower) or math.isnan(upper):
            raise ValueError(f"row {family}{key} has bounds {lower}..{upper}")
        if lower == -INF and upper == INF:
            return
        summed: dict[int, float] = {}
        for column, coefficient in terms:
            if not math.isfinite(coefficient):
                raise ValueError(f"row {family}{key}: coefficient {coefficient}")
            summed[column] = summed.get(column, 0.0) + coefficient
        kept = {c: v for c, v in summed.items() if v != 0.0}
        self._rows.add((family, key))
        self.rows.append(Row(family, key, list(kept), list(kept.values()), lower, upper, scale))

    def cost(self, term: str, column: int, coefficient: float) -> None:
        """Add to a named objective term."""
        if not math.isfinite(coefficient):
            raise ValueError(f"objective term {term}: coefficient {coefficient}")
        if coefficient != 0.0:
            bucket = self.terms.setdefault(term, {})
            bucket[column] = bucket.get(column, 0.0) + coefficient

    def objective(self) -> dict[int, float]:
        """All terms together: column → coefficient."""
        total: dict[int, float] = {}
        for bucket in self.terms.values():
            for column, coefficient in bucket.items():
                total[column] = total.get(column, 0.0) + coefficient
        return total

    def value(self, expression: Mapping[int, float], values: Sequence[float]) -> float:
        """Σ coefficient·value."""
        return math.fsum(c * values[j] for j, c in expression.items())

    def copy(self) -> Milp:
        """An independent programme with the same content (rows and variables are never changed in place)."""
        return Milp(
            list(self.variables), list(self.rows), {t: dict(b) for t, b in self.terms.items()}, self.maximise,
            dict(self._columns), set(self._rows),
        )  # fmt: skip
