"""The master programme: which cover every block takes and what is bought, over the covers known so far.

    min Σ cost[o]·bought[o] + Σ cost[c]·λ[c]
    Σ_o room·bought[o] − Σ_c use[c]·λ[c] ≥ 0      per open market and slice   (dual: π)
    −Σ_o weight·bought[o] ≥ −limit                per quota and slice         (dual: ρ)
    Σ_c of the block λ[c] = 1                     per block

A *box* keeps the next π near given ones: accelerators may be had at its upper and given back at its lower side, which
is what stops column generation from swinging. The value with a box is no bound and no cost; only the duals are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.formulation.fleet import Fleet
from planner.solve.arrays import Sparse, sparse
from planner.solve.crew import Crew
from planner.solve.pricing import Column, Prices, Pricing
from planner.solve.types import Solved, SolveOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PENALTY = 4.0
"""A unit above a quota costs so many times the dearest hourly instance in it: only used while covers are missing."""


@dataclass(frozen=True)
class Relaxed:
    """A solved relaxed master."""

    objective: float
    prices: Prices
    bought: Floats
    """[O]"""
    weights: Floats
    """[columns] λ"""


@dataclass
class Master:
    """Covers known so far and the programmes over them."""

    pricing: Pricing
    columns: list[Column] = field(default_factory=list)
    known: set[tuple[int, tuple[tuple[int, int, int], ...]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        import numpy as np

        fleet = self.fleet
        self.row_of_cell = np.full(fleet.markets * fleet.slices, -1, np.int64)
        seen = np.zeros(fleet.markets, bool)
        for service in fleet.services:
            seen[service.market] = True
        cells = np.flatnonzero(np.repeat(fleet.tied & seen, fleet.slices))
        self.row_of_cell[cells] = np.arange(cells.size)
        self.cells = cells
        self.bought = np.asarray([o for o, x in enumerate(fleet.options) if (fleet.tied & seen)[x.market]], np.int64)
        self._options = self._option_entries()

    @property
    def fleet(self) -> Fleet:
        return self.pricing.fleet

    def add(self, columns: list[Column]) -> int:
        """Keep covers that are new; how many."""
        new = 0
        for column in columns:
            key = (column.block, column.replicas)
            if key not in self.known:
                self.known.add(key)
                self.columns.append(column)
                new += 1
        return new

    def _option_entries(self) -> tuple[Ints, Ints, Floats]:
        """Rows, columns and coefficients of the options, and of quotas with their slack."""
        import numpy as np

        fleet, t_count = self.fleet, self.fleet.slices
        place = {int(o): j for j, o in enumerate(self.bought)}
        found: list[tuple[int, int, float]] = []
        for j, o in enumerate(self.bought):
            option = fleet.options[int(o)]
            room = float(fleet.room[option.market])
            found += [(int(self.row_of_cell[option.market * t_count + t]), j, room) for t in option.slices]
        for number, q in enumerate(fleet.quotas):
            for t in range(t_count):
                row = self.cells.size + number * t_count + t
                for o, weight in zip(q.options, q.weights, strict=True):
                    if t in fleet.options[o].slices and o in place:
                        found.append((row, place[o], -weight))
                found.append((row, self.bought.size + number * t_count + t, 1.0))
        e = np.asarray(found, np.float64).reshape(-1, 3)
        return e[:, 0].astype(np.int64), e[:, 1].astype(np.int64), e[:, 2]

    def penalties(self) -> Floats:
        """Cost of a unit above each quota, [Q·T]."""
        import numpy as np

        found = []
        for q in self.fleet.quotas:
            most = max((self.fleet.options[o].cost / max(w, 1e-9) for o, w in zip(q.options, q.weights, strict=True)
                        if len(self.fleet.options[o].slices) == 1), default=1.0)  # fmt: skip
            found += [PENALTY * most] * self.fleet.slices
        return np.asarray(found, np.float64)

    def near(self, prices: Prices, share: float) -> list[Column]:
        """Covers that cost at most `share` of the mean block more than the best cover known of their block."""
        import numpy as np

        flat = prices.accelerators.ravel()
        costs = np.asarray(
            [c.cost + math.fsum(u * flat[cell] for cell, u in zip(c.cells, c.use, strict=True)) for c in self.columns]
        )
        block = np.fromiter((c.block for c in self.columns), np.int64, len(self.columns))
        least = np.full(len(self.pricing.blocks), math.inf)
        np.minimum.at(least, block, costs)
        kept = costs <= least[block] + share * np.maximum(least[block], least.mean())
        return [c for c, ok in zip(self.columns, kept.tolist(), strict=True) if ok]

    def with_columns(self, columns: list[Column]) -> Master:
        """The same master over other covers."""
        other = Master.__new__(Master)
        other.__dict__.update(self.__dict__)
        other.columns = columns
        return other

    def programme(
        self,
        box: tuple[Floats, Floats] | None = None,
        whole: bool = False,
        fixed: dict[int, tuple[float, float]] | None = None,
    ) -> Sparse:
        """Columns: options, quota slack, (box up, box down,) covers.

        `whole`: commitments are whole. `fixed`: option → (least, most) instances.
        """
        import numpy as np

        fleet, t_count = self.fleet, self.fleet.slices
        rows, columns, values = (list(x) for x in zip(self._options, strict=True))
        quota_rows = len(fleet.quotas) * t_count
        first = self.bought.size + quota_rows
        cost = [fleet.option_cost[self.bought], self.penalties()]
        upper = [fleet.option_limit[self.bought], np.full(quota_rows, math.inf)]
        if box is not None:
            index = np.arange(self.cells.size)
            high, low = (side.ravel()[self.cells] for side in (box[1], box[0]))
            rows += [index, index]
            columns += [first + index, first + self.cells.size + index]
            values += [np.ones(index.size), -np.ones(index.size)]
            cost += [high, -low]
            upper += [np.full(index.size, math.inf), np.where(low > 0, math.inf, 0.0)]
            first += 2 * index.size
        sizes = np.fromiter((len(c.cells) for c in self.columns), np.int64, len(self.columns))
        if self.columns:
            number = first + np.arange(sizes.size)
            rows.append(self.row_of_cell[np.concatenate([np.asarray(c.cells, np.int64) for c in self.columns])])
            columns.append(np.repeat(number, sizes))
            values.append(-np.concatenate([np.asarray(c.use, np.float64) for c in self.columns]))
            block = np.fromiter((c.block for c in self.columns), np.int64, sizes.size)
            rows.append(self.cells.size + quota_rows + block)
            columns.append(number)
            values.append(np.ones(sizes.size))
        cost.append(np.fromiter((c.cost for c in self.columns), np.float64, sizes.size))
        upper.append(np.ones(sizes.size))
        limits = -np.asarray([q.limit for q in fleet.quotas], np.float64).ravel()
        blocks = len(self.pricing.blocks)
        objective = np.concatenate(cost)
        integer = np.zeros(objective.size, bool)
        if whole:
            integer[: self.bought.size] = [len(fleet.options[int(o)].slices) > 1 for o in self.bought]
        low, high = np.zeros(objective.size), np.concatenate(upper)
        for j, o in enumerate(self.bought.tolist()) if fixed else ():
            if fixed and o in fixed:
                low[j], high[j] = fixed[o]
        return sparse(
            objective, (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)),
            np.concatenate([np.zeros(self.cells.size), limits, np.ones(blocks)]),
            np.concatenate([np.full(self.cells.size + quota_rows, math.inf), np.ones(blocks)]),
            low, high, integer,
        )  # fmt: skip

    def prices(
        self,
        crew: Crew,
        engine: str,
        seconds: float,
        box: tuple[Floats, Floats] | None = None,
        fixed: dict[int, tuple[float, float]] | None = None,
    ) -> Relaxed | None:
        """The relaxed master solved; None where time ran out."""
        import numpy as np

        programme = self.programme(box, fixed=fixed)
        answer = crew.solve(programme, SolveOptions(engine=engine, time_limit_s=max(seconds, 0.05)))
        if not isinstance(answer, Solved) or answer.duals is None:
            return None
        fleet = self.fleet
        duals = np.maximum(np.asarray(answer.duals), 0.0)
        open_prices = np.where(np.isfinite(fleet.hourly), fleet.hourly, 0.0).ravel()
        open_prices[self.cells] = duals[: self.cells.size]
        quotas = duals[self.cells.size : self.cells.size + len(fleet.quotas) * fleet.slices]
        prices = Prices(
            open_prices.reshape(fleet.markets, fleet.slices), quotas.reshape(len(fleet.quotas), fleet.slices)
        )
        return Relaxed(answer.objective, prices, *self.read(answer.values))

    def read(self, values: Sequence[float]) -> tuple[Floats, Floats]:
        """(bought [O], λ [columns]) of a programme's values."""
        import numpy as np

        v = np.asarray(values)
        bought = np.zeros(len(self.fleet.options))
        bought[self.bought] = v[: self.bought.size]
        return bought, v[v.size - len(self.columns) :]
