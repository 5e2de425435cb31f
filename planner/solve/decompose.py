"""Prices instead of branching: blocks that only a few rows and columns tie together (FACTS §6, points 2 to 4).

The programme is min c·v over blocks B (a service in a slice) and linking columns y (commitments, instances of shared
machines), tied by linking rows lo ≤ A·y + Σ_B A_B·v_B ≤ up.

    certificate   For any prices π of the linking rows (π_i > 0 only where lo_i is finite, < 0 only where up_i is):
                  L(π) = Σ_i π_i·(lo_i or up_i) + Σ_j min over bounds of (c_j − π·A_j)·y_j + Σ_B min_B (c_B − π·A_B)·v_B
                  is a lower bound on every solution. It needs no trust in the linear programme that made π, only in
                  the bounds of the blocks' own solves.
    columns       The blocks' solutions at those prices are columns of a master programme, whose duals are the next π.
    plan          The master with whole columns and whole linking columns.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.formulation.milp import INF, Milp, Row
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions, StopReason, Undecided

SMOOTHING = 0.7
"""Weight of the best prices so far in the next ones: plain column generation swings (Wentges)."""
ROUNDS = 60
BLOCK_GAP = 1e-5
"""Relative gap of a block's solve; its bound is what counts."""
MASTER_SHARE = 0.35
"""Share of the time kept for the whole-number master."""
ROUNDING = 1e-9
"""A block's part of a linking row that is smaller, relative to its terms, is what rounding left of zero."""
LARGEST_BLOCK = 1500
"""Blocks of more columns are no easier than the whole."""


@dataclass
class Block:
    """Columns that only linking rows tie to the rest, as a programme of their own."""

    columns: tuple[int, ...]
    milp: Milp
    cost: dict[int, float]
    """Local column → cost."""
    ties: dict[int, dict[int, float]]
    """Linking row → {local column: coefficient}."""
    found: list[tuple[float, ...]] = field(default_factory=list)
    """Solutions: the columns of the master."""

    def price(self, prices: Mapping[int, float]) -> dict[int, float]:
        """c_B − π·A_B."""
        reduced = dict(self.cost)
        for row, terms in self.ties.items():
            price = prices.get(row, 0.0)
            if price:
                for column, coefficient in terms.items():
                    reduced[column] = reduced.get(column, 0.0) - price * coefficient
        return reduced

    def add(self, values: tuple[float, ...]) -> bool:
        """Keep a solution; False where it is known."""
        if values in self.found:
            return False
        self.found.append(values)
        return True


@dataclass
class Decomposition:
    """A programme cut into blocks; None of it is changed while prices are sought."""

    milp: Milp
    linking: tuple[int, ...]
    rows: tuple[int, ...]
    """Linking rows."""
    blocks: list[Block]


def decompose(milp: Milp, linking: frozenset[int]) -> Decomposition | None:
    """Cut along the rows that hold a linking column; None where fewer than two blocks come out, or a huge one.

    Rows of `quota`, `budget`, `api_limits`, `provider_limits` and `configurations` tie blocks, too.
    """
    parent = list(range(len(milp.variables)))

    def root(j: int) -> int:
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        return j

    def inner(row: Row) -> bool:
        return row.family not in TYING and not any(c in linking for c in row.columns)

    for row in milp.rows:
        if inner(row):
            for c in row.columns[1:]:
                parent[root(c)] = root(row.columns[0])
    members: dict[int, list[int]] = defaultdict(list)
    for j in range(len(milp.variables)):
        if j not in linking:
            members[root(j)].append(j)
    # A column that no inner row holds is no block of its own: it joins the linking ones.
    held = {c for row in milp.rows if inner(row) for c in row.columns}
    linking = linking | {cs[0] for cs in members.values() if len(cs) == 1 and cs[0] not in held}
    blocks = [tuple(sorted(cs)) for cs in members.values() if cs[0] not in linking]
    if len(blocks) < 2 or max(map(len, blocks)) > LARGEST_BLOCK:
        return None
    blocks.sort()
    of = {c: b for b, cs in enumerate(blocks) for c in cs}
    made = [_block(milp, cs) for cs in blocks]
    tied: list[int] = []
    for index, row in enumerate(milp.rows):
        touched = {of.get(c, -1) for c in row.columns}
        if inner(row) and len(touched) == 1:
            made[touched.pop()].milp.rows.append(_local(row, made[of[row.columns[0]]]))
            continue
        tied.append(index)
        for c, v in zip(row.columns, row.coefficients, strict=True):
            b = of.get(c)
            if b is not None:
                made[b].ties.setdefault(index, {})[_position(made[b], c)] = v
    return Decomposition(milp, tuple(sorted(linking)), tuple(tied), made)


TYING = {"quota", "budget", "api_limits", "provider_limits", "configurations", "axis"}


def _block(milp: Milp, columns: tuple[int, ...]) -> Block:
    own = Milp(variables=[milp.variables[c] for c in columns])
    objective = milp.objective()
    cost = {local: objective[c] for local, c in enumerate(columns) if c in objective}
    return Block(columns, own, cost, {})


def _position(block: Block, column: int) -> int:
    import bisect

    return bisect.bisect_left(block.columns, column)


def _local(row: Row, block: Block) -> Row:
    return replace(row, columns=[_position(block, c) for c in row.columns])


class PriceSearch:
    """Column generation on a decomposition; bounds and plans in the programme's own objective (minimised)."""

    def __init__(self, parts: Decomposition, child: SolverChild, options: SolveOptions) -> None:
        self.parts, self.child, self.options = parts, child, options
        self.objective = parts.milp.objective()
        self.bound = -INF
        self.best: tuple[float, tuple[float, ...]] | None = None
        self.interrupted = False

    # -- what is known ------------------------------------------------------------------------------------------

    def take(self, values: Sequence[float]) -> None:
        """A solution of the whole programme: its parts are columns, its cost the one to beat."""
        for block in self.parts.blocks:
            block.add(tuple(values[c] for c in block.columns))
        cost = self.parts.milp.value(self.objective, values)
        if self.best is None or cost < self.best[0]:
            self.best = (cost, tuple(values))

    def closed(self) -> bool:
        """Whether the best plan is within the asked gap of the bound."""
        if self.best is None:
            return False
        gap = max(self.options.absolute_gap, self.options.relative_gap * abs(self.best[0]))
        return self.best[0] - self.bound <= gap

    # -- prices ---------------------------------------------------------------------------------------------------

    def search(self, seconds: float) -> None:
        """Rounds of master and blocks until the gap is closed, prices stand still, or time is out."""
        end = time.monotonic() + seconds
        best_prices = self._compact_prices(end)
        if best_prices:
            self._certify(best_prices, end)
        for _ in range(ROUNDS):
            left = end - time.monotonic()
            if left <= 0 or self.closed():
                return
            master = self._master()
            answer = self.child.solve(master, replace(self.options, engine="glop", time_limit_s=max(left, 0.1)))
            if not isinstance(answer, Solved) or answer.duals is None:
                return
            own = {row: answer.duals[position] for position, row in enumerate(self.parts.rows)}
            weight = SMOOTHING if best_prices else 0.0
            prices = {r: weight * best_prices.get(r, 0.0) + (1 - weight) * p for r, p in own.items()}
            improved, fresh = self._certify(prices, end)
            if not fresh and weight:
                # The smoothed prices found nothing new: the master's own ones decide.
                prices = own
                improved, fresh = self._certify(prices, end)
            if improved:
                best_prices = prices
            if not fresh or self.interrupted:
                return

    def _compact_prices(self, end: float) -> dict[int, float]:
        """Duals of the linking rows in the whole programme's linear relaxation: a bound at once (FACTS §6)."""
        relaxed = self.parts.milp.copy()
        relaxed.variables = [replace(v, integer=False) for v in relaxed.variables]
        limit_s = max(end - time.monotonic(), 0.1)
        answer = self.child.solve(relaxed, replace(self.options, engine="glop", time_limit_s=limit_s))
        if not isinstance(answer, Solved) or answer.duals is None:
            return {}
        return {row: answer.duals[row] for row in self.parts.rows}

    def _certify(self, prices: Mapping[int, float], end: float) -> tuple[bool, bool]:
        """L(π) as a bound, and the blocks' answers as columns. Returns (bound improved, new columns)."""
        valid = {r: p for r, p in prices.items() if self._may(r, p)}
        total = math.fsum(p * self._side(r, p) for r, p in valid.items())
        total += self._linking_part(valid)
        fresh = False
        for block in self.parts.blocks:
            block.milp.terms = {"reduced": block.price(valid)}
            left = end - time.monotonic()
            if left <= 0:
                return False, fresh
            answer = self.child.solve(block.milp, replace(self.options, relative_gap=BLOCK_GAP, time_limit_s=left))
            if isinstance(answer, Infeasible) or answer.bound is None:
                return False, False
            if answer.stop is StopReason.INTERRUPTED:
                self.interrupted = True
                return False, False
            total += answer.bound
            if answer.values is not None:
                fresh = block.add(answer.values) or fresh
        improved = total > self.bound
        self.bound = max(self.bound, total)
        return improved, fresh

    def _may(self, row: int, price: float) -> bool:
        return math.isfinite(self._side(row, price))

    def _side(self, row: int, price: float) -> float:
        r = self.parts.milp.rows[row]
        return r.lower if price > 0 else r.upper if price < 0 else 0.0

    def _linking_part(self, prices: Mapping[int, float]) -> float:
        """Σ_j min over its bounds of (c_j − π·A_j)·y_j."""
        reduced = {j: self.objective.get(j, 0.0) for j in self.parts.linking}
        for row, price in prices.items():
            if price:
                r = self.parts.milp.rows[row]
                for c, v in zip(r.columns, r.coefficients, strict=True):
                    if c in reduced:
                        reduced[c] -= price * v
        variables = self.parts.milp.variables
        return math.fsum(min(d * variables[j].lower, d * variables[j].upper) for j, d in reduced.items() if d)

    # -- master ---------------------------------------------------------------------------------------------------

    def _master(self, whole: bool = False) -> Milp:
        """min c·y + Σ cost·μ over the linking rows and Σ_B μ = 1; relaxed, or with whole columns."""
        m = Milp()
        terms: dict[int, list[tuple[int, float]]] = defaultdict(list)
        place: dict[int, int] = {}
        for j in self.parts.linking:
            v = self.parts.milp.variables[j]
            place[j] = m.add("linking", (j,), v.lower, v.upper, whole and v.integer)
            if j in self.objective:
                m.cost("cost", place[j], self.objective[j])
        picks: list[list[int]] = []
        for b, block in enumerate(self.parts.blocks):
            picks.append([])
            for number, values in enumerate(block.found):
                mu = m.add("column", (b, number), 0.0, 1.0, whole)
                picks[b].append(mu)
                m.cost("cost", mu, math.fsum(c * values[local] for local, c in block.cost.items()))
                for row, tie in block.ties.items():
                    loads = [v * values[local] for local, v in tie.items()]
                    load = math.fsum(loads)
                    if abs(load) > ROUNDING * max(1.0, *map(abs, loads)):
                        terms[row].append((mu, load))
        for row in self.parts.rows:
            r = self.parts.milp.rows[row]
            own = [(place[c], v) for c, v in zip(r.columns, r.coefficients, strict=True) if c in place]
            m.row("linking", (row,), [*own, *terms[row]], r.lower, r.upper)
        for b, mus in enumerate(picks):
            m.row("pick", (b,), [(mu, 1.0) for mu in mus], 1.0, 1.0)
        return m

    def plan(self, seconds: float) -> None:
        """The master with whole columns: a plan of the programme, kept if it is the best."""
        master = self._master(whole=True)
        answer = self.child.solve(master, replace(self.options, time_limit_s=max(seconds, 0.1)), self._start(master))
        if isinstance(answer, Infeasible) or answer.values is None:
            return
        self.interrupted = self.interrupted or answer.stop is StopReason.INTERRUPTED
        values = [0.0] * len(self.parts.milp.variables)
        for column, variable in enumerate(master.variables):
            if variable.family == "linking":
                values[int(variable.key[0])] = answer.values[column]
            elif answer.values[column] > 0.5:
                block = self.parts.blocks[int(variable.key[0])]
                for c, v in zip(block.columns, block.found[int(variable.key[1])], strict=True):
                    values[c] = v
        self.take(values)

    def _start(self, master: Milp) -> list[float]:
        """The best plan as a start for the master."""
        if self.best is None:
            return [math.nan] * len(master.variables)
        picked = {
            (b, block.found.index(tuple(self.best[1][c] for c in block.columns)))
            for b, block in enumerate(self.parts.blocks)
        }
        return [
            self.best[1][int(v.key[0])] if v.family == "linking" else float((v.key[0], v.key[1]) in picked)
            for v in master.variables
        ]


def solve_by_prices(
    child: SolverChild, parts: Decomposition, options: SolveOptions, start: Sequence[float]
) -> Solved | Undecided:
    """Bound and plan from prices, started from a feasible solution of a programme that is minimised."""
    search = PriceSearch(parts, child, options)
    search.take(start)
    search.search((1 - MASTER_SHARE) * options.time_limit_s)
    if not search.closed() and not search.interrupted:
        search.plan(MASTER_SHARE * options.time_limit_s)
    assert search.best is not None
    cost, values = search.best
    bound = min(search.bound, cost)
    if search.closed():
        done = cost - bound <= max(options.absolute_gap, 1e-9 * abs(cost))
        return Solved(values, cost, bound, StopReason.OPTIMAL if done else StopReason.GAP)
    stop = StopReason.INTERRUPTED if search.interrupted else StopReason.TIME_LIMIT
    return Undecided(values, cost, bound if math.isfinite(bound) else None, stop)
