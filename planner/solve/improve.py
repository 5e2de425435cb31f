"""Plans around a plan: each slice with its commitments fixed, batch work, then commitments with what leans on them."""

from __future__ import annotations

import itertools
import random
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from planner.errors import SolverError
from planner.solve.around import Around, State, promising
from planner.solve.types import Answer, Infeasible, SolveOptions, StopReason, Undecided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from planner.solve.fleet import FleetSearch
    from planner.solve.pricing import Column

    Ints = NDArray[np.int64]

SLICE_GAP = 5e-4
LEAST_S = 0.1
NODES = 3000
TRIES = 2
"""How often slices that pass a quota are solved again while there is no plan."""
MOST_S, MOST_BLOCKS, NEAR_ITEMS, IDLE = 15.0, 80, 5, 12
"""A neighbourhood of services: longest solve, most blocks, items per block and slice; fruitless ones until the end."""


class Improver:
    """The steps from one state to the next; every step starts from the state it is given."""

    def __init__(self, search: FleetSearch) -> None:
        self.search, self.fleet, self.pricing, self.crew = search, search.fleet, search.pricing, search.crew
        self.random = random.Random(search.options.seed)
        self.of_slice: dict[int, list[int]] = defaultdict(list)
        self.batch: list[int] = []
        for b, block in enumerate(self.pricing.blocks):
            if block.slice is None:
                self.batch.append(b)
            else:
                self.of_slice[block.slice].append(b)
        self.hourly: dict[int, list[int]] = defaultdict(list)
        self.long: list[int] = []
        for o, option in enumerate(self.fleet.options):
            if len(option.slices) == 1:
                self.hourly[option.slices[0]].append(o)
            else:
                self.long.append(o)
        self.known: dict[int, set[tuple[int, int]]] = defaultdict(set)
        self._seen = 0
        self.turn = 0

    # -- helpers -----------------------------------------------------------------------------------------------------

    def learn(self, columns: Iterable[Column] = ()) -> None:
        """Items of covers that are known by now."""
        self.search.master.add(list(columns))
        for column in self.search.master.columns[self._seen :]:
            self.known[column.block].update((i, t) for i, t, _ in column.replicas)
        self._seen = len(self.search.master.columns)

    def items(self, blocks: Collection[int], bought: Ints, most: int) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Per block what its programme may use."""
        from planner.solve.fleet import supply

        had = supply(self.fleet, bought)
        return {b: promising(self.pricing, self.search.prices, b, had, most, self.known[b]) for b in blocks}

    def begin(self, around: Around, seconds: float, gap: float) -> Future[Answer]:
        """Start an engine on a programme."""
        options = SolveOptions(
            time_limit_s=max(seconds, LEAST_S), relative_gap=gap, seed=self.search.options.seed, node_limit=NODES
        )
        return self.crew.begin(around.programme(), options, around.hint())

    def finish(self, around: Around, future: Future[Answer]) -> State | None:
        """The state that an engine found, if any."""
        try:
            answer = future.result()
        except SolverError as error:
            self.search.say(f"  {error}")
            return None
        if isinstance(answer, Infeasible) or answer.values is None:
            return None
        if isinstance(answer, Undecided) and answer.stop is StopReason.TIME_LIMIT:
            self.search.clocked = True
        return around.taken(answer.values)

    # -- steps -------------------------------------------------------------------------------------------------------

    def slices(self, state: State, chosen: Sequence[int], seconds: float, most: int, soft: bool) -> State:
        """Each of the slices anew with the commitments as they are, side by side."""
        end = time.monotonic() + seconds
        started: list[tuple[Around, Future[Answer]]] = []
        per = seconds * self.crew.size / max(1, len(chosen))
        for t in chosen:
            around = Around(self.pricing, state, self.items(self.of_slice[t], self._long_only(state), most),
                            self.hourly[t], soft)  # fmt: skip
            started.append((around, self.begin(around, per, SLICE_GAP)))
        del end
        columns, bought = dict(state.columns), state.bought.copy()
        for around, future in started:
            found = self.finish(around, future)
            if found is not None:
                for b in around.block_columns:
                    columns[b] = found.columns[b]
                for o in around.option_columns:
                    bought[o] = found.bought[o]
        new = State(columns, bought)
        self.learn(new.columns.values())
        return new

    def _long_only(self, state: State) -> Ints:
        import numpy as np

        long = np.zeros_like(state.bought)
        long[self.long] = state.bought[self.long]
        return long

    def batches(self, state: State, seconds: float, most: int, soft: bool = False) -> State:
        """Batch work anew into what the rest leaves, with instances for single slices."""
        if not self.batch:
            return state
        options = [o for found in self.hourly.values() for o in found]
        around = Around(self.pricing, state, self.items(self.batch, self._long_only(state), most), options, soft)
        return self.finish(around, self.begin(around, seconds, SLICE_GAP)) or state

    def everything(self, state: State, seconds: float) -> None:
        """All slices, then batch work; what comes out is taken if it is a plan."""
        from planner.solve.fleet import BATCH_ITEMS, ITEMS, SETTLE_SHARE, bought_again

        self.learn()
        share = 1.0 - min(0.35, 0.05 * len(self.batch))
        before = {b: state.columns[b] for b in self.batch if b in state.columns}
        broken = self._over(state)
        soft = bool(broken)
        if broken and before:
            # Batch covers stand where it is cheapest, over any quota: slices first, batch work into what is left.
            state = State({b: c for b, c in state.columns.items() if b not in before}, state.bought)
        state = self.slices(state, sorted(self.of_slice), share * seconds, ITEMS, soft)
        self.search.take(state)
        state = self.batches(state, (1 - share) * seconds, BATCH_ITEMS, soft)
        state = State({**before, **state.columns}, state.bought)
        self.search.take(state)
        for _ in range(TRIES):
            broken = self._over(state)
            if self.search.best is not None or not broken:
                break
            self.search.say(f"  quotas are passed in slices {broken}")
            state = self.slices(state, broken, 0.3 * seconds, 2 * ITEMS, soft)
            self.search.take(state)
        self.search.take(bought_again(self.fleet, self.pricing, state))
        if self.search.best is not None:
            self.search.settled(self.search.best, SETTLE_SHARE * self.search.left)
        self.search.say(f"slices: {self.search.value:.6g}, bound {self.search.bound:.6g}")

    def _over(self, state: State) -> list[int]:
        """Slices in which a state passes a quota."""
        import numpy as np

        running = self.fleet.window * state.bought[:, None]
        found: set[int] = set()
        for q in self.fleet.quotas:
            load = (running[list(q.options)] * np.asarray(q.weights)[:, None]).sum(axis=0)
            found.update(np.flatnonzero(load > np.asarray(q.limit) + 1e-6).tolist())
        return sorted(found & set(self.of_slice))

    # -- improvement -------------------------------------------------------------------------------------------------

    def improve(self) -> None:
        """Neighbourhoods in turn until the gap is closed or time is out."""
        search = self.search
        if search.best is None:
            return
        idle = 0
        for number in itertools.count():
            if search.closed() or search.left < 2 * LEAST_S:
                break
            before = search.value
            if number % 8 == 3:
                self.everything(search.best, 0.25 * search.left)
            elif number % 8 == 7:
                # Covers that slices found fit whole commitments better than those that prices found.
                for state in search.commitments()[:1]:
                    self.everything(state, 0.25 * search.left)
            else:
                self.services(number, min(MOST_S, 0.3 * search.left))
            idle = 0 if search.value < before * (1 - 1e-5) else idle + 1
            if idle > IDLE:
                break

    def services(self, number: int, seconds: float) -> None:
        """A few services in all their slices with every commitment that they may use, one group per engine."""
        from planner.solve.fleet import bought_again

        search = self.search
        state = search.best
        assert state is not None
        groups = []
        for _ in range(self.crew.size):
            groups.append(self._some_services(state))
        started = []
        for chosen in groups:
            blocks = [b for b, block in enumerate(self.pricing.blocks) if block.service in chosen]
            items = self.items(blocks, self._long_only(state), NEAR_ITEMS)
            markets = {int(self.fleet.services[self.pricing.blocks[b].service].market[i])
                       for b, places in items.items() for i, _ in places}  # fmt: skip
            options = [o for o, option in enumerate(self.fleet.options) if option.market in markets]
            around = Around(self.pricing, state, items, options)
            started.append((around, self.begin(around, seconds, SLICE_GAP)))
        for around, future in started:
            found = self.finish(around, future)
            if found is None:
                continue
            self.learn([found.columns[b] for b in around.block_columns])
            search.take(found)
            if search.best is not state and search.best is not None:
                # Another group has changed the plan meanwhile: these covers with what it bought, and bought again.
                merged = {**search.best.columns, **{b: found.columns[b] for b in around.block_columns}}
                search.take(bought_again(self.fleet, self.pricing, State(merged, search.best.bought)))
        search.say(f"services {number} {groups}: {search.value:.6g}, bound {search.bound:.6g}")

    def _some_services(self, state: State) -> set[int]:
        """One service, and others that hold machines of the same markets, up to a number of blocks."""
        import numpy as np

        used: dict[int, set[int]] = defaultdict(set)
        for b, column in state.columns.items():
            service = self.pricing.blocks[b].service
            used[service] |= {int(self.fleet.services[service].market[i]) for i, _, _ in column.replicas}
        names = sorted(used)
        first = names[self.turn % len(names)] if names else 0
        self.turn += 1
        size = np.bincount([b.service for b in self.pricing.blocks], minlength=len(self.fleet.services))
        near = [s for s in names if s != first and used[s] & used[first]]
        self.random.shuffle(near)
        chosen = {first}
        for s in near[:2]:
            if sum(size[list(chosen)]) + size[s] <= MOST_BLOCKS:
                chosen.add(s)
        return chosen
