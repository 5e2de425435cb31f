"""Programmes around a plan: some blocks and purchases are free, all others stay as they are.

One slice with its commitments fixed, batch work into what is left, or a few commitments with the blocks that lean on
them: all are the same programme with other things free.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.formulation.fleet import Fleet, FleetPlan, FleetService, Quota
from planner.solve.arrays import Sparse, sparse
from planner.solve.pricing import Column, Prices, Pricing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SLACK_COST = 20.0
"""What a unit above a quota costs, as a multiple of the dearest hourly instance in it; only while there is no plan."""


@dataclass
class State:
    """A plan as one cover per block and the instances bought."""

    columns: dict[int, Column]
    bought: Ints
    """[O]"""

    def use(self, fleet: Fleet, pricing: Pricing, without: Collection[int] = ()) -> Floats:
        """[M, T] accelerators that the covers hold, leaving some blocks out."""
        import numpy as np

        found = np.zeros((fleet.markets, fleet.slices))
        for b, column in self.columns.items():
            if b not in without:
                service = fleet.services[pricing.blocks[b].service]
                for item, t, n in column.replicas:
                    found[service.market[item], t] += service.size[item] * n
        return found

    def cost(self, fleet: Fleet, pricing: Pricing) -> float:
        """The objective: purchases and API."""
        api = [
            a * c
            for b, column in self.columns.items()
            for a, c in zip(column.api, pricing.blocks[b].api.tolist(), strict=False)
        ]
        return math.fsum((self.bought * fleet.option_cost).tolist()) + math.fsum(api)

    def plan(self, fleet: Fleet, pricing: Pricing) -> FleetPlan:
        """The same as replicas per item and slice."""
        import numpy as np

        replicas = [np.zeros((s.market.size, fleet.slices), np.int64) for s in fleet.services]
        api = [np.zeros_like(s.rate) for s in fleet.services]
        for b, column in self.columns.items():
            block = pricing.blocks[b]
            for item, t, n in column.replicas:
                replicas[block.service][item, t] += n
            if block.slice is not None:
                api[block.service][block.slice] = column.api
        return FleetPlan(replicas, api, self.bought.copy())


@dataclass
class _Rows:
    """Entries of a programme while it grows."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)

    def column(self, cost: float, upper: float, integer: bool) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, terms: Sequence[tuple[int, float]], lower: float) -> int:
        for c, v in terms:
            self.columns.append(c)
            self.values.append(v)
        self.rows += [len(self.lower)] * len(terms)
        self.lower.append(lower)
        return len(self.lower) - 1

    def programme(self) -> Sparse:
        import numpy as np

        return sparse(
            np.asarray(self.cost), (np.asarray(self.rows, np.int64), np.asarray(self.columns, np.int64),
            np.asarray(self.values)), np.asarray(self.lower), np.full(len(self.lower), math.inf),
            np.zeros(len(self.cost)), np.asarray(self.upper), np.asarray(self.integer, bool),
        )  # fmt: skip


def cover_rows(
    out: _Rows, service: FleetService, rates: Sequence[float], capacity: Sequence[float], firm: Sequence[bool],
    place: Sequence[int], replicas: Sequence[int], api: Sequence[int | None], most: Sequence[float],
) -> list[int]:  # fmt: skip
    """The rules of one service in one slice over replica columns and API columns (shares of the band's rate).

    Rows are divided by the band's rate, and a replica counts at most what its row asks for. Returns columns of spare
    levels: level z is the largest replica that runs; n_k ≤ most_k·Σ_{z ≥ cap_k} level_z, Σ level ≤ 1.
    """
    top = rates[-1]
    sizes = sorted({min(c, top) for c in capacity}) if service.spare else []
    levels = [out.column(0.0, 1.0, True) for _ in sizes]
    places = sorted(set(place)) if service.survive is not None else []
    for b, rate in enumerate(rates):
        if rate <= 0:
            continue

        def row(counted: Sequence[bool], needed: float, rate: float = rate, b: int = b, lost: bool = False) -> None:
            terms = [
                (n, min(c / rate, needed)) for n, c, ok in zip(replicas, capacity, counted, strict=True) if ok and c > 0
            ]
            if api[b] is not None:
                terms.append((api[b] or 0, 1.0))
            if lost:
                terms += [(z, -min(size / rate, needed)) for z, size in zip(levels, sizes, strict=True)]
            out.row(terms, needed)

        everything = [True] * len(replicas)
        row(everything, 1.0, lost=bool(levels))
        if service.spot_share < 1 and not all(firm):
            row(firm, 1.0 - service.spot_share)
        for p in places:
            row([q != p for q in place], service.survive or 0.0)
    for k, n in enumerate(replicas) if levels else ():
        above = [(z, float(most[k])) for z, size in zip(levels, sizes, strict=True) if size >= min(capacity[k], top)]
        out.row([*above, (n, -1.0)], 0.0)
    if levels:
        out.row([(z, -1.0) for z in levels], -1.0)
    return levels


class Around:
    """A programme in which `blocks` and `options` are free around a state; the hint is the state itself."""

    def __init__(
        self, pricing: Pricing, state: State, items: Mapping[int, Sequence[tuple[int, int]]],
        options: Collection[int], soft: bool = False,
    ) -> None:  # fmt: skip
        """`items`: per free block the (item, slice) that may be used, beside those in use; `options`: free ones.

        `soft`: quotas may be passed at a high price, for states that do not keep them yet.
        """
        self.pricing, self.fleet, self.state = pricing, pricing.fleet, state
        self.out, self.start = _Rows(), [0.0]
        self.start.clear()
        self.option_columns: dict[int, int] = {}
        self.block_columns: dict[int, list[tuple[int, int, int]]] = {}
        self._packing: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for b, places in items.items():
            self._block(b, places)
        self._purchases(set(options), soft)

    def _add(self, cost: float, upper: float, integer: bool, start: float) -> int:
        column = self.out.column(cost, upper, integer)
        while len(self.start) < column:
            self.start.append(math.nan)
        self.start.append(start)
        return column

    def _block(self, b: int, places: Sequence[tuple[int, int]]) -> None:
        block = self.pricing.blocks[b]
        service = self.fleet.services[block.service]
        current = self.state.columns.get(b)
        now = {(i, t): n for i, t, n in current.replicas} if current is not None else {}
        chosen = sorted(set(places) | set(now))
        replicas: list[tuple[int, int, int]] = []
        capacity = []
        for i, t in chosen:
            own = float(service.capacity[i, t]) * (float(self.fleet.hours[t]) if block.slice is None else 1.0)
            most = math.ceil(2.0 * float(block.rates[-1]) / own) + 2.0 if own > 0 else 0.0
            column = self._add(0.0, max(most, float(now.get((i, t), 0))), True, float(now.get((i, t), 0)))
            replicas.append((i, t, column))
            capacity.append(own)
            cell = (int(service.market[i]), t)
            self._packing.setdefault(cell, []).append((column, -float(service.size[i])))
        self.block_columns[b] = replicas
        columns = [c for _, _, c in replicas]
        if block.slice is None:
            volume = float(block.rates[-1])
            self.out.row([(c, min(v / volume, 1.0)) for c, v in zip(columns, capacity, strict=True)], 1.0)
            return
        api: list[int | None] = []
        for band, rate in enumerate(block.rates.tolist()):
            if service.api_cost is None or rate <= 0:
                api.append(None)
                continue
            value = current.api[band] / rate if current is not None and current.api else math.nan
            api.append(self._add(float(block.api[band]) * rate, 1.0, False, value))
        levels = cover_rows(
            self.out, service, block.rates.tolist(), capacity, [bool(service.firm[i]) for i, _ in chosen],
            [int(service.place[i]) for i, _ in chosen], columns, api,
            [self.out.upper[c] for c in columns],
        )  # fmt: skip
        # The start is complete, so that an engine has a plan from its first moment on.
        top = float(block.rates[-1])
        running = [min(c, top) for c, (i, t) in zip(capacity, chosen, strict=True) if now.get((i, t))]
        for level, size in zip(levels, sorted({min(c, top) for c in capacity}), strict=False):
            self._begin_at(level, float(bool(running) and size == max(running)))

    def _begin_at(self, column: int, value: float) -> None:
        while len(self.start) <= column:
            self.start.append(math.nan)
        self.start[column] = value

    def _purchases(self, options: set[int], soft: bool) -> None:
        import numpy as np

        fleet, state = self.fleet, self.state
        fixed_use = state.use(fleet, self.pricing, self.block_columns.keys())
        touched = {m for m, _ in self._packing} | {fleet.options[o].market for o in options if state.bought[o]}
        covering: dict[tuple[int, int], list[tuple[int, float]]] = {}
        fixed = state.bought.copy()
        for o in sorted(options):
            option = fleet.options[o]
            if option.market not in touched:
                continue
            fixed[o] = 0
            column = self._add(option.cost, max(option.limit, float(state.bought[o])), True, float(state.bought[o]))
            self.option_columns[o] = column
            for t in option.slices:
                covering.setdefault((option.market, t), []).append((column, float(fleet.room[option.market])))
        supply = np.zeros((fleet.markets, fleet.slices))
        some = fixed.nonzero()[0]
        np.add.at(supply, fleet.option_market[some],
                  fleet.window[some] * (fixed[some] * fleet.room[fleet.option_market[some]])[:, None])  # fmt: skip
        for cell in sorted(self._packing.keys() | covering.keys()):
            terms = [*covering.get(cell, []), *self._packing.get(cell, [])]
            self.out.row(terms, float(fixed_use[cell] - supply[cell]))
        for q in fleet.quotas:
            self._quota(q, fixed, soft)

    def _quota(self, q: Quota, fixed: Ints, soft: bool) -> None:
        free = [(o, w) for o, w in zip(q.options, q.weights, strict=True) if o in self.option_columns]
        slices = sorted({t for o, _ in free for t in self.fleet.options[o].slices})
        dearest = max(
            (self.fleet.options[o].cost for o in q.options if len(self.fleet.options[o].slices) == 1), default=1.0
        )
        for t in slices:
            spent = sum(
                w * fixed[o] for o, w in zip(q.options, q.weights, strict=True) if t in self.fleet.options[o].slices
            )
            terms = [(self.option_columns[o], -w) for o, w in free if t in self.fleet.options[o].slices]
            if soft:
                bought = self.state.bought
                load = sum(
                    w * bought[o]
                    for o, w in zip(q.options, q.weights, strict=True)
                    if t in self.fleet.options[o].slices
                )
                over = max(0.0, float(load - q.limit[t]))
                terms.append((self._add(SLACK_COST * dearest, math.inf, False, over), 1.0))
                self.out.row(terms, float(spent - q.limit[t]))
            else:
                self.out.row(terms, float(min(spent, q.limit[t]) - q.limit[t]))

    def programme(self) -> Sparse:
        """The programme."""
        return self.out.programme()

    def hint(self) -> list[float]:
        """The state; NaN where a column is not part of it."""
        return [*self.start, *[math.nan] * (len(self.out.cost) - len(self.start))]

    def taken(self, values: Sequence[float]) -> State:
        """The state with what was free as solved."""
        bought = self.state.bought.copy()
        for o, column in self.option_columns.items():
            bought[o] = round(values[column])
        columns = dict(self.state.columns)
        for b, replicas in self.block_columns.items():
            picked = [(i, t, round(values[c])) for i, t, c in replicas if values[c] > 0.5]
            columns[b] = self.pricing.from_items(b, picked)
        return State(columns, bought)


def promising(
    pricing: Pricing, prices: Prices, b: int, supply: Floats, most: int, known: Collection[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """(item, slice) of a block worth a column: those in use by known covers, and the cheapest per unit at these prices.

    A market with instances that are paid anyway counts at half its price.
    """
    import numpy as np

    block = pricing.blocks[b]
    service = pricing.fleet.services[block.service]
    found = set(known)
    slices = [block.slice] if block.slice is not None else list(service.window)
    for t in slices:
        capacity = np.minimum(service.capacity[:, t], service.top[t] if block.slice is not None else math.inf)
        price = prices.accelerators[service.market, t]
        ok = capacity > 0
        if not ok.any():
            continue
        cost = np.where(ok, price * service.size, np.inf)
        ratio = cost / np.where(ok, capacity, 1.0)
        # One item per kind and price: markets at the same price are the same to a slice.
        order = np.lexsort((np.arange(ratio.size), ratio))
        taken: set[tuple[int, bool, int, float, float]] = set()
        for i in order.tolist():
            if not ok[i]:
                break
            paid = supply[service.market[i], t] > 0
            key = (int(service.size[i]), bool(service.firm[i]), int(service.place[i]) if service.survive else 0,
                   float(capacity[i]), -1.0 - float(service.market[i]) if paid else 0.0)  # fmt: skip
            if key in taken:
                continue
            taken.add(key)
            found.add((i, t))
            if len(taken) >= most:
                break
    return sorted(found)
