"""Prices of accelerators, what every service costs at them, and the bound that follows (docs/decomposition.md).

    L(π, ρ) = Σ_blocks min over covers of Σ size·π[market, τ]·replicas + API
              + Σ_o min(0, cost[o] − Σ_{τ in o} (room·π[market, τ] − Σ_q weight[q, o]·ρ[q, τ]))·limit[o]
              − Σ_q,τ limit[q, τ]·ρ[q, τ]

is below the cost of every plan, for any π, ρ ≥ 0. A block is a service in a slice, or a batch service in its window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planner.formulation.fleet import Fleet, FleetService, kinds_of
from planner.solve.crew import Crew

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

SAFETY = 1e-9
"""Share taken off every block's value: sums of floats round."""


@dataclass(frozen=True)
class Prices:
    """π [M, T] per accelerator and slice; ρ [Q, T] per unit of quota and slice. All at least 0."""

    accelerators: Floats
    quotas: Floats

    def towards(self, other: Prices, share: float) -> Prices:
        """(1 − share)·these + share·others."""
        return Prices(
            (1 - share) * self.accelerators + share * other.accelerators,
            (1 - share) * self.quotas + share * other.quotas,
        )


@dataclass(frozen=True)
class Column:
    """One way to cover a block."""

    block: int
    cost: float
    """API, and instances of markets whose price is known."""
    cells: tuple[int, ...]
    """market·T + τ, of markets whose price is open."""
    use: tuple[float, ...]
    """Accelerators in each cell."""
    replicas: tuple[tuple[int, int, int], ...]
    """(item of the service, slice, replicas)."""
    api: tuple[float, ...]
    """[B]; empty for batch work."""


@dataclass
class Block:
    """A service in one slice, or a batch service; kinds are items that differ only in their market."""

    service: int
    slice: int | None
    """None: batch work."""
    kinds: Ints
    """[K] kind of the service."""
    slices: Ints
    """[K] the slice in which the kind stands."""
    capacity: Floats
    """[K]"""
    firm: Bools
    """[K]"""
    rates: Floats
    """[B]"""
    api: Floats
    """[B]"""


@dataclass
class _Kinds:
    first: Ints
    market: Ints
    """Markets of all members, kind by kind."""
    item: Ints
    offset: Ints
    """[K + 1]"""
    size: Floats


@dataclass
class Pricing:
    """The blocks of a fleet, priced all at once."""

    fleet: Fleet
    crew: Crew
    cells: int = 20_000
    blocks: list[Block] = field(default_factory=list)
    kinds: list[_Kinds] = field(default_factory=list)
    hard_gap: float = 1e-2
    hard_s: float = 1.0
    """Where an engine prices a block: relative gap and longest time."""
    simple_part: float = 0.0
    """The bound at the prices judged last, without hard blocks."""
    known: dict[int, list[Column]] = field(default_factory=dict)
    """Covers of hard blocks: what they cost at other prices is seldom more than what an engine would find."""

    def __post_init__(self) -> None:
        import numpy as np

        for index, service in enumerate(self.fleet.services):
            first, members = kinds_of(service)
            offset = np.concatenate([[0], np.cumsum([len(m) for m in members])]).astype(np.int64)
            item = np.concatenate(members) if members else np.zeros(0, np.int64)
            self.kinds.append(_Kinds(first, service.market[item], item, offset, service.size[first].astype(float)))
            self.blocks += self._blocks(index)
        easy = [b for b, block in enumerate(self.blocks) if not self.is_hard(block)]
        self.easy = np.asarray(easy, np.int64)
        self.hard = [b for b, block in enumerate(self.blocks) if self.is_hard(block)]
        self.start = np.concatenate([[0], np.cumsum([self.blocks[b].kinds.size for b in easy])]).astype(np.int64)
        self.band_start = np.concatenate([[0], np.cumsum([self.blocks[b].rates.size for b in easy])]).astype(np.int64)
        services = [self.fleet.services[self.blocks[b].service] for b in easy]
        online = [s.volume is None for s in services]
        self.flags = np.asarray(
            [(s.api_cost is not None and on, s.spare and on) for s, on in zip(services, online, strict=True)], bool
        ).reshape(-1, 2)
        self.shares = np.asarray([1 - s.spot_share if on else 0.0 for s, on in zip(services, online, strict=True)])
        self._flat = [
            _joined([getattr(self.blocks[b], name) for b in easy]) for name in ("capacity", "firm", "rates", "api")
        ]

    def is_hard(self, block: Block) -> bool:
        """Whether places matter: a small programme instead of a dynamic one."""
        service = self.fleet.services[block.service]
        return service.survive is not None and service.volume is None

    def _blocks(self, index: int) -> list[Block]:
        import numpy as np

        service, kinds = self.fleet.services[index], self.kinds[index]
        capacity = service.capacity[kinds.first]
        number = np.arange(kinds.first.size)
        firm = service.firm[kinds.first]
        if service.volume is not None:
            window = np.asarray(service.window, np.int64)
            volume = capacity[:, window] * self.fleet.hours[window]
            return [
                Block(
                    index,
                    None,
                    np.repeat(number, window.size),
                    np.tile(window, number.size),
                    volume.ravel(),
                    np.ones(volume.size, bool),
                    np.array([service.volume]),
                    np.zeros(1),
                )
            ]
        found = []
        for t in range(self.fleet.slices):
            if service.top[t] > 0:
                cost = np.zeros(service.rate.shape[1]) if service.api_cost is None else service.api_cost[t]
                places = np.full(number.size, t)
                found.append(Block(index, t, number, places, capacity[:, t].copy(), firm, service.rate[t], cost))
        return found

    # -- prices ------------------------------------------------------------------------------------------------------

    def kind_costs(self, prices: Prices) -> list[Floats]:
        """[service] [K, T] cost of one replica of a kind in its cheapest market."""
        import numpy as np

        found = []
        for kinds in self.kinds:
            if not kinds.first.size:
                found.append(np.zeros((0, self.fleet.slices)))
                continue
            least = np.minimum.reduceat(prices.accelerators[kinds.market], kinds.offset[:-1], axis=0)
            found.append(least * kinds.size[:, None])
        return found

    def fixed_part(self, prices: Prices) -> float:
        """What the options and quotas add to the bound."""
        import numpy as np

        fleet = self.fleet
        reduced = fleet.option_cost.copy()
        per_slice = prices.accelerators[fleet.option_market] * fleet.room[fleet.option_market][:, None]
        for number, q in enumerate(fleet.quotas):
            index = np.asarray(q.options, np.int64)
            np.add.at(per_slice, index, -np.asarray(q.weights)[:, None] * prices.quotas[number][None, :])
        reduced -= np.where(fleet.window, per_slice, 0.0).sum(axis=1)
        slack = SAFETY * np.abs(fleet.option_cost)
        paid = np.minimum(0.0, reduced - slack * (reduced < 0)) * fleet.option_limit
        limits = np.asarray([q.limit for q in fleet.quotas]).reshape(prices.quotas.shape)
        return math.fsum(paid.tolist()) - math.fsum((limits * prices.quotas).ravel().tolist())

    def price(self, prices: Prices, cells: int | None = None) -> tuple[float, list[Column]]:
        """(the bound L(π, ρ), the covers found)."""
        bound, _, columns = self.judge(prices, cells)
        return bound, columns

    def guess(self, b: int, prices: Prices) -> float:
        """What the best known cover of a hard block costs; −inf where none is known."""
        flat = prices.accelerators.ravel()
        costs = [
            c.cost + math.fsum(u * float(flat[x]) for x, u in zip(c.cells, c.use, strict=True))
            for c in self.known.get(b, ())
        ]
        return min(costs, default=-math.inf)

    def judge(
        self, prices: Prices, cells: int | None = None, least: float = -math.inf, asked: Sequence[int] | None = None
    ) -> tuple[float, float, list[Column]]:
        """(the bound, a guess of it, the covers found).

        The guess takes hard blocks at the cheapest cover known. Where it is below `least` already, no engine is asked;
        else those of `asked` are (all by default). In the bound a hard block that is not asked counts nothing.
        """
        costs = self.kind_costs(prices)
        columns: list[Column] = []
        bounds, good, found = self._easy(costs, cells or self.cells)
        for position, b in enumerate(self.easy):
            if good[position]:
                lo, hi = self.start[position], self.start[position + 1]
                columns.append(self.column(int(b), found[lo:hi], prices))
        total = math.fsum(bounds.tolist()) * (1 - SAFETY) + self.fixed_part(prices)
        self.simple_part = total
        guess = total + self.hard_guess(prices)
        if self.hard and math.isfinite(guess) and guess < least:
            return total, guess, columns
        some = self.hard if asked is None else list(asked)
        for b, answer in self._start_hard(costs, some):
            bound, counts = answer()
            total += bound
            if counts is not None:
                column = self.column(b, counts, prices)
                columns.append(column)
                self.known.setdefault(b, []).append(column)
        guess = self.simple_part + self.hard_guess(prices)
        return total, max(guess, total), columns

    def hard_guess(self, prices: Prices) -> float:
        """What hard blocks cost by the covers known."""
        return math.fsum(self.guess(b, prices) for b in self.hard)

    def easy_columns(self, prices: Prices, cells: int) -> list[Column]:
        """The cheapest covers at some prices of the blocks that need no engine, where one was found."""
        _, good, found = self._easy(self.kind_costs(prices), cells)
        return [
            self.column(int(b), found[self.start[k] : self.start[k + 1]], prices)
            for k, b in enumerate(self.easy)
            if good[k]
        ]

    def _easy(self, costs: Sequence[Floats], cells: int) -> tuple[Floats, Bools, Ints]:
        import numpy as np

        from planner.solve.cover import cover_blocks

        size = self.easy.size
        bounds, good, found = np.zeros(size), np.zeros(size, bool), np.zeros(int(self.start[-1]), np.int64)
        if not size:
            return bounds, good, found
        cost = _joined([costs[self.blocks[b].service][self.blocks[b].kinds, self.blocks[b].slices] for b in self.easy])
        capacity, firm, rates, api = self._flat

        def run(part: tuple[int, int]) -> None:
            cover_blocks(
                self.start, capacity, cost, firm, self.band_start, rates, api, self.flags, self.shares, cells,
                part[0], part[1], bounds, good, found,
            )  # fmt: skip

        pieces = min(size, 8 * self.crew.size)
        edges = np.linspace(0, size, pieces + 1).astype(int)
        parts = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        if self.crew.size == 1:
            for part in parts:
                run(part)
        else:
            with ThreadPoolExecutor(self.crew.size) as pool:
                list(pool.map(run, parts))
        return bounds, good, found

    def _start_hard(
        self, costs: Sequence[Floats], some: Sequence[int]
    ) -> list[tuple[int, Callable[[], tuple[float, Ints | None]]]]:
        from planner.solve.places import PlaceBlock

        started: list[tuple[int, Callable[[], tuple[float, Ints | None]]]] = []
        for b in some:
            block = self.blocks[b]
            own = costs[block.service][block.kinds, block.slices]
            place = self.fleet.services[block.service].place[self.kinds[block.service].first][block.kinds]
            work = PlaceBlock(self.fleet.services[block.service], block, own, place)
            started.append((b, work.begin(self.crew, self.hard_gap, self.hard_s)))
        return started

    # -- columns -----------------------------------------------------------------------------------------------------

    def column(self, b: int, counts: Ints, prices: Prices) -> Column:
        """The cover with so many replicas of each kind of a block, each kind in its cheapest market."""
        block = self.blocks[b]
        kinds = self.kinds[block.service]
        picked = []
        for k in counts.nonzero()[0]:
            kind, t = int(block.kinds[k]), int(block.slices[k])
            lo, hi = kinds.offset[kind], kinds.offset[kind + 1]
            best = lo + int(prices.accelerators[kinds.market[lo:hi], t].argmin())
            picked.append((int(kinds.item[best]), t, int(counts[k])))
        return self.from_items(b, picked)

    def from_items(self, b: int, picked: Sequence[tuple[int, int, int]]) -> Column:
        """The cover with these (item, slice, replicas); an API takes what is missing."""
        block, fleet = self.blocks[b], self.fleet
        service = fleet.services[block.service]
        api: tuple[float, ...] = ()
        cost = 0.0
        if block.slice is not None:
            api = self.overflow(service, block.slice, picked)
            cost = math.fsum(a * c for a, c in zip(api, block.api.tolist(), strict=True))
        use: dict[int, float] = {}
        for item, t, n in picked:
            m, size = int(service.market[item]), float(service.size[item])
            if fleet.tied[m]:
                cell = m * fleet.slices + t
                use[cell] = use.get(cell, 0.0) + size * n
            else:
                cost += fleet.hourly[m, t] * size * n
        cells = tuple(sorted(use))
        return Column(b, cost, cells, tuple(use[c] for c in cells), tuple(picked), api)

    @staticmethod
    def overflow(service: FleetService, t: int, picked: Sequence[tuple[int, int, int]]) -> tuple[float, ...]:
        """[B] what replicas leave to the API (0 where there is none: then they cover all)."""
        if service.api_cost is None:
            return (0.0,) * int(service.rate.shape[1])
        sizes = [
            (float(service.capacity[i, t]) * n, bool(service.firm[i]), int(service.place[i])) for i, _, n in picked
        ]
        total = math.fsum(c for c, _, _ in sizes)
        firm = math.fsum(c for c, f, _ in sizes if f)
        lost = max((float(service.capacity[i, t]) for i, _, n in picked if n), default=0.0) if service.spare else 0.0
        by_place: dict[int, float] = {}
        for c, _, p in sizes:
            by_place[p] = by_place.get(p, 0.0) + c
        most = max(by_place.values(), default=0.0)
        found = []
        for rate in service.rate[t].tolist():
            short: float = max(0.0, rate - max(0.0, total - lost), (1 - service.spot_share) * rate - firm)
            if service.survive is not None:
                short = max(short, service.survive * rate - (total - most))
            found.append(float(short) if short > 1e-9 * rate else 0.0)
        return tuple(found)


def _joined(parts: Sequence[Any]) -> Any:
    import numpy as np

    return np.concatenate(parts) if parts else np.zeros(0)
