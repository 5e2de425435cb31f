"""Fleets of covering services: prices, a certified bound, commitments, slices, and improvement around the best plan.

prices       linear relaxation, then column generation in a box around the best prices     → bound, covers
commitments  the master with whole commitments                                             → what is bought for long
slices       one programme per slice with those fixed, side by side; then batch work       → a plan
around       commitments of a few markets with the blocks that lean on them, slices again  → better plans
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from planner.errors import SolverError
from planner.formulation.fleet import Fleet, FleetPlan, uncovered
from planner.solve.around import Around, State, promising
from planner.solve.crew import Crew
from planner.solve.first import Room, built, first_states, fitted, simple_prices
from planner.solve.master import Master, Relaxed
from planner.solve.pricing import Column, Prices, Pricing
from planner.solve.relaxed import first_prices
from planner.solve.settle import Settler
from planner.solve.types import Infeasible, Progress, SolveOptions, StopReason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LP_ENGINE = "glop"
BOX, SHRINK, GROW, LEAST_BOX = 0.1, 0.9, 1.2, 0.002
"""Half width of the box around the best prices, as a share of them; what a failure and a success make of it."""
CLOSE = 2e-4
"""Prices are good enough when no cover known can raise the bound by more than this share."""
COARSE, FINE = 4_000, 30_000
"""Cells of the capacity grid while prices are sought, and for the bound that is kept."""
PRICE_SHARE, COMMIT_SHARE, SLICE_SHARE = 0.4, 0.15, 0.35
"""Shares of the time that is left, in this order."""
ROUNDS = 200
LP_SHARE = 0.5
"""Most of the time for prices that the first linear programme may take."""
LP_BLOCKS = 400
"""With more blocks it is left out: plain prices are nearly as good and take no time."""
HARD_GAP, HARD_S, FINAL_SHARE = 2e-3, 3.0, 0.2
"""Blocks that an engine prices, for the bound that is kept: gap, longest time of one, share of the time left."""
HARD_FEW, HARD_ROUNDS, HARD_SHARE = 30, 8, 0.02
"""While prices are sought, more such blocks are asked anew only once in so many rounds; share of the time for one.

Fewer are asked in each round that looks better: covers of old prices say too much of the best ones (S2_2: 8 % lost)."""
SMALL = 1500
"""So many items and options are solved as one programme."""
ITEMS, BATCH_ITEMS = 12, 6
"""Items per block and slice that a programme around a plan may use beside the known ones."""
NEAR = 0.05
"""Covers that are dearer than the best of their block by a larger share are left out of whole commitments."""
SETTLE_SHARE, SETTLE_NEAR = 0.08, 0.1
"""Share of the time left for settling covers one by one, and how much dearer than the best of its block one may be."""
STALL, STALLED = 10, 3e-4
"""Prices are left when the last so many rounds raised the bound by less than this share."""


@dataclass(frozen=True)
class FleetAnswer:
    """The best plan with its certified bound; `plan` None: none was found (or, with an infinite bound, none exists)."""

    plan: FleetPlan | None
    objective: float
    bound: float
    stop: StopReason
    clocked: bool
    """A clock ended some part: another run may differ."""


@dataclass
class FleetSearch:
    """One search; `run` is called once."""

    fleet: Fleet
    crew: Crew
    options: SolveOptions
    progress: Callable[[Progress], None] | None = None
    log: Callable[[str], None] | None = None
    small: int = SMALL
    bound: float = -math.inf
    best: State | None = None
    value: float = math.inf
    clocked: bool = False
    started: float = field(default_factory=time.monotonic)

    # -- what is known -----------------------------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self.started + self.options.time_limit_s - time.monotonic())

    def closed(self) -> bool:
        """Whether the asked gap is reached."""
        gap = max(self.options.absolute_gap, self.options.relative_gap * abs(self.value))
        return self.best is not None and self.value - self.bound <= gap

    def say(self, what: str) -> None:
        """A line for whoever follows the search."""
        if self.log is not None:
            self.log(f"{time.monotonic() - self.started:7.2f} s  {what}")
        if self.progress is not None:
            best = self.value if math.isfinite(self.value) else None
            self.progress(Progress(best, self.bound if math.isfinite(self.bound) else None))

    def raise_bound(self, bound: float) -> None:
        """A certified bound."""
        if bound > self.bound:
            self.bound = bound

    def take(self, state: State) -> bool:
        """Keep a state if it is a plan and cheaper than the best one."""
        value = state.cost(self.fleet, self.pricing)
        if value >= self.value * (1 - 1e-9) or uncovered(self.fleet, state.plan(self.fleet, self.pricing)):
            return False
        self.best, self.value = state, value
        return True

    # -- the search --------------------------------------------------------------------------------------------------

    def run(self) -> FleetAnswer:
        """Search until the gap is closed or time is out; Ctrl-C returns what is known."""
        stop = StopReason.TIME_LIMIT
        self.crew.start()
        self.pricing = Pricing(self.fleet, self.crew)
        self.master = Master(self.pricing)
        self.settler = Settler(self.pricing)
        try:
            if not self._whole() and self._prices():
                self._plans()
        except KeyboardInterrupt:
            self.crew.kill()
            stop = StopReason.INTERRUPTED
        if self.best is None:
            return FleetAnswer(None, math.inf, self.bound, stop, True)
        bound = min(self.bound, self.value)
        if self.closed():
            done = self.value - bound <= max(self.options.absolute_gap, 1e-9 * abs(self.value))
            stop = StopReason.OPTIMAL if done else StopReason.GAP
        return FleetAnswer(self.best.plan(self.fleet, self.pricing), self.value, bound, stop, self.clocked)

    def _whole(self) -> bool:
        """A small fleet as one programme; whether that decided it."""
        blocks = self.pricing.blocks
        if not blocks:
            self.raise_bound(0.0)
            self.take(State({}, self.fleet.option_limit.astype("int64") * 0))
            return True
        items = {
            b: [
                (int(i), int(t))
                for i in range(self.fleet.services[x.service].market.size)
                for t in set(x.slices.tolist())
            ]
            for b, x in enumerate(blocks)
        }
        if sum(map(len, items.values())) + len(self.fleet.options) > self.small:
            return False
        nothing = State({}, self.fleet.option_limit.astype("int64") * 0)
        around = Around(self.pricing, nothing, items, range(len(self.fleet.options)))
        answer = self.crew.solve(
            around.programme(), replace(self.options, time_limit_s=0.9 * self.left, engine="highs")
        )
        if isinstance(answer, Infeasible):
            self.bound = math.inf
            return True
        if answer.bound is not None:
            self.raise_bound(answer.bound)
        if answer.values is not None:
            self.take(around.taken(answer.values))
        return self.closed()

    # -- prices ------------------------------------------------------------------------------------------------------

    def first(self, prices: Prices) -> None:
        """A plan at once from covers at these prices."""
        for state in first_states(self.pricing, prices, COARSE):
            self.take(state)
        self.say(f"first plan: {self.value:.6g}")

    def _start(self, plain: Prices, seconds: float) -> Prices:
        """Plain prices, or those of the linear programme where that is quick and they are better."""
        if len(self.pricing.blocks) > LP_BLOCKS:
            return plain
        found = first_prices(self.master, self.crew, LP_ENGINE, seconds)
        if found is None:
            return plain
        values = [self.pricing.judge(p, COARSE, asked=())[0] for p in (plain, found)]
        self.say(f"plain prices: {values[0]:.6g}, of the linear programme: {values[1]:.6g}")
        return found if values[1] > values[0] else plain

    def _prices(self) -> bool:
        """Column generation inside a box around the best prices; False where nothing can cover a block."""
        import numpy as np

        plain = simple_prices(self.fleet)
        self.first(plain)
        budget = PRICE_SHARE * self.left
        end = time.monotonic() + budget
        fleet, pricing, width = self.fleet, self.pricing, BOX
        self.prices = self._start(plain, LP_SHARE * budget)
        hourly = np.where(np.isfinite(fleet.hourly), fleet.hourly, 0.0)
        room = Room(fleet)
        for b in pricing.hard:
            column = built(pricing, self.prices, b, room)
            if column is not None:
                pricing.known.setdefault(b, []).append(column)
                self.master.add([column])
        unknown = [b for b in pricing.hard if b not in pricing.known]
        some = len(pricing.hard) > HARD_FEW
        few = max(2 * self.crew.size, math.ceil(len(pricing.hard) / HARD_ROUNDS))
        if some:
            pricing.hard_s = min(1.0, max(0.2, HARD_SHARE * budget * self.crew.size / few))
        value, best, columns = pricing.judge(self.prices, COARSE, asked=unknown if some else None)
        if value == math.inf:
            self.bound = value
            return False
        simple = pricing.simple_part
        self.master.add(columns)
        self.raise_bound(value)
        self.first(self.prices)
        self.say(f"first prices: bound {value:.6g}")
        history: list[float] = []
        for number in range(ROUNDS):
            if time.monotonic() > end:
                self.clocked = True
                break
            middle = self.prices.accelerators
            side = width * np.maximum(np.maximum(middle, middle.mean(axis=1, keepdims=True)), 0.02 * hourly)
            answer = self.master.prices(
                self.crew, LP_ENGINE, end - time.monotonic(), (np.maximum(middle - side, 0.0), middle + side)
            )
            if answer is None:
                break
            most, prices = answer.objective, answer.prices
            turn = [pricing.hard[(number * few + k) % len(pricing.hard)] for k in range(min(few, len(pricing.hard)))]
            asked, least = (sorted({*turn, *unknown}), -math.inf) if some else (None, best)
            value, guess, columns = pricing.judge(prices, COARSE, least, asked)
            new = self.master.add(columns)
            self.raise_bound(value)
            # New covers of hard blocks may show that the best prices are not as good as they looked.
            best = simple + pricing.hard_guess(self.prices)
            if guess > best:
                best, simple = guess, pricing.simple_part
                self.prices = prices
                width = min(width * GROW, 2 * BOX)
            else:
                width = max(width * SHRINK, LEAST_BOX)
            self.say(f"prices {number}: box {width:.4f}, at most {most:.6g}, about {best:.6g}, {new} new covers")
            history.append(best)
            stalled = len(history) > STALL and history[-1] - history[-1 - STALL] <= STALLED * abs(best)
            if most - best <= CLOSE * abs(most) or (stalled and most - best <= 10 * STALLED * abs(most)):
                break
        pricing.hard_gap = HARD_GAP
        pricing.hard_s = min(HARD_S, max(0.2, FINAL_SHARE * self.left * self.crew.size / max(1, len(pricing.hard))))
        value, columns = pricing.price(self.prices, FINE)
        self.master.add(columns)
        self.raise_bound(value)
        self.say(f"bound {self.bound:.6g}")
        return True

    # -- plans -------------------------------------------------------------------------------------------------------

    def _plans(self) -> None:
        """Commitments, slices, batch work, then whatever time allows around the best plan."""
        from planner.solve.improve import Improver

        states = self.commitments()
        improver = Improver(self)
        start = states[0] if states else self.best
        if start is not None:
            improver.everything(start, SLICE_SHARE * self.left)
        improver.improve()

    def commitments(self) -> list[State]:
        """Starts: commitments whole by a programme and by a dive, with the heaviest cover of each block."""
        near = self.master.with_columns(self.master.near(self.prices, NEAR))
        self.say(f"{len(near.columns)} of {len(self.master.columns)} covers are near")
        long = [int(o) for o in self.master.bought if len(self.fleet.options[int(o)].slices) > 1]
        if not long:
            answer = near.prices(self.crew, LP_ENGINE, self.left)
            return [] if answer is None else self._started(near, [(answer.objective, answer.bought, answer.weights)])
        seconds = max(COMMIT_SHARE * self.left, 0.2)
        options = replace(self.options, time_limit_s=seconds, relative_gap=5e-4, engine="highs")
        future = self.crew.begin(near.programme(whole=True), options)
        dived = self._dive(near, long, seconds)
        found = [] if dived is None else [(dived.objective, dived.bought, dived.weights)]
        try:
            whole = future.result()
            if not isinstance(whole, Infeasible) and whole.values is not None:
                found.append((whole.objective or 0.0, *near.read(whole.values)))
        except SolverError as error:
            self.say(f"commitments: {error}")
        return self._started(near, found)

    def settled(self, state: State, seconds: float) -> State:
        """Covers settled into what is bought and commitments bought again, in turn, while that is cheaper."""
        end = time.monotonic() + seconds
        columns = self.master.near(self.prices, SETTLE_NEAR)
        value, before = state.cost(self.fleet, self.pricing), math.inf
        while value < before * (1 - 1e-4) and time.monotonic() < end:
            before = value
            settled = self.settler.settle(state, columns, end)
            again = bought_again(self.fleet, self.pricing, settled)
            self.take(settled)
            self.take(again)
            over = uncovered(self.fleet, again.plan(self.fleet, self.pricing))
            new = settled if over else again
            if (new_value := new.cost(self.fleet, self.pricing)) < value:
                state, value = new, new_value
            self.say(f"settled: {value:.6g}, best {self.value:.6g}")
        return state

    def _dive(self, near: Master, long: list[int], seconds: float) -> Relaxed | None:
        """Commitments made whole a few at a time, the surest first, with the master solved again in between."""
        fixed: dict[int, tuple[float, float]] = {}
        end = time.monotonic() + seconds
        answer = near.prices(self.crew, LP_ENGINE, seconds)
        while answer is not None and time.monotonic() < end:
            bought = answer.bought
            # What stands at 0 stays free: it may take over from what is rounded down.
            off = {o: abs(bought[o] - round(bought[o])) for o in long if o not in fixed and bought[o] > 1e-6}
            order = sorted(off, key=lambda o: (off[o], o))
            if not order:
                break
            few = max(1, sum(off[o] > 1e-6 for o in order) // 6)
            for o in [o for o in order if off[o] <= 1e-6] + [o for o in order if off[o] > 1e-6][:few]:
                fixed[o] = (float(round(bought[o])),) * 2
            next_answer = near.prices(self.crew, LP_ENGINE, max(end - time.monotonic(), 0.1), fixed=fixed)
            if next_answer is None:
                break
            answer = next_answer
        return answer

    def _started(self, near: Master, answers: list[tuple[float, Floats, Floats]]) -> list[State]:
        import numpy as np

        states = []
        for objective, bought, weights in sorted(answers, key=lambda a: a[0]):
            whole = np.zeros(len(self.fleet.options), np.int64)
            for o in self.master.bought.tolist():
                if len(self.fleet.options[o].slices) > 1:
                    whole[o] = round(float(bought[o]))
            heaviest: dict[int, tuple[float, Column]] = {}
            for column, share in zip(near.columns, weights, strict=True):
                weight = float(share)
                if column.block not in heaviest or weight > heaviest[column.block][0] + 1e-9:
                    heaviest[column.block] = (float(weight), column)
            chosen = fitted(self.pricing, self.prices, {b: c for b, (_, c) in heaviest.items()}, near.columns, whole)
            if self.best is not None:
                chosen = {**self.best.columns, **chosen}
            if len(chosen) < len(self.pricing.blocks):
                continue
            state = topped_up(self.fleet, self.pricing, State(chosen, whole))
            self.take(state)
            state = self.settled(state, SETTLE_SHARE * self.left)
            self.say(
                f"commitments: {objective:.6g} with shares of covers, {state.cost(self.fleet, self.pricing):.6g} whole"
            )
            states.append(state)
        return states


def topped_up(fleet: Fleet, pricing: Pricing, state: State) -> State:
    """The state with just as many hourly instances as its covers need beyond the commitments."""
    import numpy as np

    bought = state.bought.copy()
    cheapest: dict[tuple[int, int], int] = {}
    for o, option in enumerate(fleet.options):
        if len(option.slices) == 1:
            bought[o] = 0
            cell = (option.market, option.slices[0])
            if cell not in cheapest or option.cost < fleet.options[cheapest[cell]].cost:
                cheapest[cell] = o
    use, had = state.use(fleet, pricing), supply(fleet, bought)
    for m, t in np.argwhere(use > had + 1e-9).tolist():
        hourly = cheapest.get((m, t))
        if hourly is not None:
            bought[hourly] = math.ceil((use[m, t] - had[m, t]) / fleet.room[m] - 1e-9)
    return State(state.columns, bought)


def bought_again(fleet: Fleet, pricing: Pricing, state: State) -> State:
    """The state with its commitments, market by market, as cheap as one step more or less at a time makes them."""
    import numpy as np

    use = state.use(fleet, pricing)
    long: dict[int, list[int]] = {}
    for o, option in enumerate(fleet.options):
        if len(option.slices) > 1:
            long.setdefault(option.market, []).append(o)
    bought = state.bought.copy()
    for m, options in long.items():
        room = float(fleet.room[m])
        needed = np.ceil(use[m] / room - 1e-9)
        hourly = np.where(np.isfinite(fleet.hourly[m]), fleet.hourly[m] * room, 1e9)
        windows, costs = fleet.window[options].astype(float), fleet.option_cost[options]
        counts = bought[options].astype(float)

        def price(
            n: Floats,
            needed: Floats = needed,
            hourly: Floats = hourly,
            windows: Floats = windows,
            costs: Floats = costs,
        ) -> float:
            return float(costs @ n + hourly @ np.maximum(needed - windows.T @ n, 0.0))

        best, better = price(counts), True
        while better:
            better = False
            for j in range(len(options)):
                for step in (1.0, -1.0):
                    other = counts.copy()
                    other[j] += step
                    if 0 <= other[j] <= fleet.option_limit[options[j]] and (value := price(other)) < best - 1e-9:
                        counts, best, better = other, value, True
        bought[options] = np.rint(counts).astype(bought.dtype)
    return topped_up(fleet, pricing, State(state.columns, bought))


def supply(fleet: Fleet, bought: Ints) -> Floats:
    """[M, T] accelerators of what is bought."""
    import numpy as np

    had = np.zeros((fleet.markets, fleet.slices))
    some = bought.nonzero()[0]
    room = (bought[some] * fleet.room[fleet.option_market[some]])[:, None]
    np.add.at(had, fleet.option_market[some], fleet.window[some] * room)
    return had


def search(
    fleet: Fleet, crew: Crew, options: SolveOptions, progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None, small: int = SMALL,
) -> FleetAnswer:  # fmt: skip
    """Solve a fleet: see the module's docstring. Up to `small` items and options are one programme for the engine."""
    return FleetSearch(fleet, crew, options, progress, log, small).run()


__all__: Sequence[str] = ("Around", "FleetAnswer", "FleetSearch", "promising", "search", "supply", "topped_up")
