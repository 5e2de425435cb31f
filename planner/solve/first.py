"""A first plan of a fleet in a moment, whatever its size: covers one after the other into what quotas leave.

Covers that touch no quota stand as they are given; the others take what is left of their markets, or another cover of
their block that fits, or one that is built replica by replica. Commitments follow from counting hours: the n-th
instance is committed where it runs often enough (a newsvendor in each market).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.formulation.fleet import Fleet
from planner.solve.around import State
from planner.solve.pricing import Column, Prices, Pricing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

AVOID = 100.0
"""Markets with limits are so many times as dear while covers are sought that need none of them."""
STEPS = 400
"""Steps of building one cover."""
OTHERS = 12
"""Other covers of a block that are tried before one is built."""


def simple_prices(fleet: Fleet) -> Prices:
    """Per accelerator and slice what an instance costs by the hour, or committed for all its slices if cheaper."""
    import numpy as np

    found = fleet.hourly.copy()
    for o in fleet.options:
        if len(o.slices) > 1:
            slices = list(o.slices)
            share = fleet.hours[slices] / fleet.hours[slices].sum()
            found[o.market, slices] = np.minimum(found[o.market, slices], o.cost / fleet.room[o.market] * share)
    dearest = float(found[np.isfinite(found)].max(initial=1.0))
    return Prices(np.where(np.isfinite(found), found, AVOID * dearest), np.zeros((len(fleet.quotas), fleet.slices)))


class Room:
    """What is held in each market and slice, and what stated limits leave."""

    def __init__(self, fleet: Fleet, bought: Ints | None = None) -> None:
        import numpy as np

        self.fleet = fleet
        self.use = np.zeros((fleet.markets, fleet.slices))
        self.committed = np.zeros((fleet.markets, fleet.slices))
        """Instances that run anyway."""
        if bought is not None:
            long = [o for o, x in enumerate(fleet.options) if len(x.slices) > 1 and bought[o]]
            np.add.at(self.committed, fleet.option_market[long], fleet.window[long] * bought[long][:, None])
        self.quotas: dict[int, list[tuple[Sequence[float], dict[int, float]]]] = defaultdict(list)
        for q in fleet.quotas:
            weights: dict[int, float] = {}
            for o, w in zip(q.options, q.weights, strict=True):
                m = fleet.options[o].market
                weights[m] = max(weights.get(m, 0.0), w)
            for m in weights:
                self.quotas[m].append((q.limit, weights))
        self.stated = np.full((fleet.markets, fleet.slices), np.inf)
        limits: dict[tuple[int, int], float] = defaultdict(float)
        stated = {(o.market, t) for o in fleet.options if o.stated for t in o.slices}
        for option in fleet.options:
            for t in option.slices:
                if (option.market, t) in stated:
                    limits[option.market, t] += option.limit
        for cell, limit in limits.items():
            self.stated[cell] = limit
        self.limited = np.zeros(fleet.markets, bool)
        self.limited[list(self.quotas)] = True
        self.limited |= np.isfinite(self.stated).any(axis=1)

    def instances(self, m: int, t: int, more: float = 0.0) -> float:
        """Instances of a market that run in a slice with `more` accelerators held in it."""
        return max(
            math.ceil((float(self.use[m, t]) + more) / float(self.fleet.room[m]) - 1e-9), float(self.committed[m, t])
        )

    def free(self, m: int, t: int) -> float:
        """Accelerators of a market that may still be held in a slice."""
        if not self.limited[m]:
            return math.inf
        most = float(self.stated[m, t])
        for limit, weights in self.quotas.get(m, ()):
            others = math.fsum(w * self.instances(k, t) for k, w in weights.items() if k != m)
            most = min(most, (float(limit[t]) - others) / weights[m])
        return max(0.0, math.floor(most + 1e-9) * float(self.fleet.room[m]) - float(self.use[m, t]))

    def touches(self, column: Column) -> bool:
        """Whether a cover stands in a market with limits."""
        return any(self.limited[cell // self.fleet.slices] for cell in column.cells)

    def fits(self, column: Column) -> bool:
        """Whether a cover may be added."""
        held: dict[tuple[int, int], float] = {}
        for cell, use in zip(column.cells, column.use, strict=True):
            m, t = divmod(cell, self.fleet.slices)
            if use > self.free(m, t) + 1e-9:
                return False
            held[m, t] = use
        # A quota over several markets is asked about all of them at once.
        for m, t in held:
            for limit, weights in self.quotas.get(m, ()):
                if sum((k, t) in held for k in weights) > 1:
                    load = math.fsum(w * self.instances(k, t, held.get((k, t), 0.0)) for k, w in weights.items())
                    if load > float(limit[t]) + 1e-9:
                        return False
        return True

    def hold(self, column: Column) -> None:
        """Add a cover."""
        for cell, use in zip(column.cells, column.use, strict=True):
            self.use[divmod(cell, self.fleet.slices)] += use


def avoiding(fleet: Fleet, prices: Prices) -> Prices:
    """Prices at which markets with limits are a last resort."""
    import numpy as np

    limited = Room(fleet).limited
    hourly = np.where(np.isfinite(fleet.hourly), fleet.hourly, prices.accelerators)
    dear = AVOID * np.maximum(np.maximum(prices.accelerators, hourly), 1e-9)
    return Prices(np.where(limited[:, None], dear, prices.accelerators), prices.quotas)


def built(pricing: Pricing, prices: Prices, b: int, room: Room) -> Column | None:
    """A cover of a block out of what is free, step by step what costs least for what is missing; None: none found."""
    import numpy as np

    block, fleet = pricing.blocks[b], pricing.fleet
    service = fleet.services[block.service]
    slices = [block.slice] if block.slice is not None else list(service.window)
    counts: dict[tuple[int, int], int] = {}
    capacity = service.capacity[:, slices] * (fleet.hours[slices] if block.slice is None else 1.0)
    cost = prices.accelerators[service.market][:, slices] * service.size[:, None]
    demand = float(block.rates[-1])
    total, firm, largest = 0.0, 0.0, 0.0
    by_place: dict[int, float] = defaultdict(float)
    held: dict[tuple[int, int], float] = defaultdict(float)
    online = block.slice is not None
    share = 1.0 - service.spot_share if online else 0.0
    closed = capacity <= 0
    for _ in range(STEPS):
        short_firm = share * demand - firm
        short = max(demand - total + (largest if service.spare and online else 0.0), short_firm)
        worst = max(by_place, key=lambda p: by_place[p]) if by_place else None
        lost = -math.inf
        if service.survive is not None and online:
            lost = service.survive * demand - (total - (by_place[worst] if worst is not None else 0.0))
        if max(short, lost) <= 1e-9 * demand:
            break
        usable = ~closed
        if short_firm > 1e-9 * demand:
            usable &= service.firm[:, None]
        if lost > 1e-9 * demand and worst is not None and lost >= short:
            usable &= (service.place != worst)[:, None]
        missing = max(short, lost)
        if not usable.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            replicas = np.ceil(missing / capacity - 1e-9)
            worth = np.where(usable, replicas * cost, np.inf)
        i, j = divmod(int(np.argmin(worth)), len(slices))
        if not math.isfinite(float(worth[i, j])):
            break
        t, m, size = slices[j], int(service.market[i]), float(service.size[i])
        own = float(capacity[i, j])
        wanted = int(replicas[i, j])
        if service.survive is not None and online and wanted > 1:
            wanted = math.ceil(wanted / 2)
        left = room.free(m, t) - held[m, t]
        n = wanted if math.isinf(left) else min(wanted, int((left + 1e-9) // size))
        if n < 1:
            closed[service.market == m, j] = True
            continue
        counts[i, t] = counts.get((i, t), 0) + n
        held[m, t] += n * size
        total += n * own
        firm += n * own if service.firm[i] else 0.0
        largest = max(largest, own)
        by_place[int(service.place[i])] += n * own
    else:
        return None
    column = pricing.from_items(b, [(i, t, n) for (i, t), n in sorted(counts.items())])
    covered = max(short, lost) <= 1e-9 * demand
    if not room.fits(column):
        return None
    if service.api_cost is not None and online:
        alone = pricing.from_items(b, [])
        flat = prices.accelerators.ravel()
        paid = math.fsum(u * float(flat[c]) for c, u in zip(column.cells, column.use, strict=True))
        return alone if alone.cost <= column.cost + paid else column
    return column if covered else None


def fitted(
    pricing: Pricing, prices: Prices, chosen: Mapping[int, Column], others: Iterable[Column], bought: Ints | None = None
) -> dict[int, Column]:
    """A cover per block that keeps the limits as far as one is found: chosen ones, other known ones, or built ones."""
    fleet = pricing.fleet
    room = Room(fleet, bought)
    found: dict[int, Column] = {}
    later: list[int] = []
    for b in range(len(pricing.blocks)):
        column = chosen.get(b)
        if column is not None and not room.touches(column):
            room.hold(column)
            found[b] = column
        else:
            later.append(b)
    flat = prices.accelerators.ravel()
    known: dict[int, list[tuple[float, int, Column]]] = defaultdict(list)
    wanted = set(later)
    for number, c in enumerate(others):
        if c.block in wanted:
            paid = math.fsum(u * float(flat[x]) for x, u in zip(c.cells, c.use, strict=True))
            known[c.block].append((c.cost + paid, number, c))
    # Those that have nothing but limited markets first.
    later.sort(key=lambda b: (any(not room.touches(c) for _, _, c in known[b]), b not in chosen, b))
    for b in later:
        tries = [chosen[b]] if b in chosen else []
        tries += [c for _, _, c in sorted(known[b], key=lambda x: x[:2])[:OTHERS]]
        column = next((c for c in tries if room.fits(c)), None) or built(pricing, prices, b, room)
        if column is None:
            continue
        room.hold(column)
        found[b] = column
    return found


def committed(fleet: Fleet, pricing: Pricing, columns: Mapping[int, Column], limited: bool) -> State:
    """Commitments by counting hours, the rest by the hour; `limited`: in markets with limits too."""
    import numpy as np

    from planner.solve.fleet import topped_up

    nothing = State(dict(columns), np.zeros(len(fleet.options), np.int64))
    use, bought = nothing.use(fleet, pricing), nothing.bought
    room = Room(fleet)
    by_market: dict[int, list[int]] = defaultdict(list)
    for o, option in enumerate(fleet.options):
        if len(option.slices) > 1 and use[option.market].any():
            by_market[option.market].append(o)
    for m, options in by_market.items():
        if room.limited[m] and not limited and np.isfinite(fleet.hourly[m]).all():
            continue
        size = float(fleet.room[m])
        needed = np.ceil(use[m] / size - 1e-9)
        hourly = np.where(np.isfinite(fleet.hourly[m]), fleet.hourly[m] * size, 1e9)
        # The n-th instance is needed in the slices that ask for n or more; the cheapest options per slice first.
        for o in sorted(options, key=lambda o: fleet.option_cost[o] / len(fleet.options[o].slices)):
            window = fleet.window[o]
            count = 0
            while count < fleet.option_limit[o]:
                if float((hourly * (window & (needed > count))).sum()) <= float(fleet.option_cost[o]):
                    break
                count += 1
            bought[o] = count
            needed = np.maximum(needed - count * window, 0.0)
    return topped_up(fleet, pricing, State(dict(columns), bought))


def first_states(pricing: Pricing, prices: Prices, cells: int) -> list[State]:
    """Plans at once at some prices: covers that avoid limits, with and without commitments in limited markets."""
    dear = avoiding(pricing.fleet, prices)
    chosen = {c.block: c for c in pricing.easy_columns(dear, cells)}
    columns = fitted(pricing, prices, chosen, ())
    if len(columns) < len(pricing.blocks):
        return []
    return [committed(pricing.fleet, pricing, columns, limited) for limited in (True, False)]
