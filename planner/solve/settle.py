"""Covers settled one block at a time into what is bought, in whole instances.

Each block in turn takes the known cover that adds least to the cost with every other cover where it is: instances that
run anyway are free, an hourly instance more is paid whole. Then commitments are bought again for what runs.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.solve.around import State
from planner.solve.first import Room
from planner.solve.pricing import Column, Pricing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

PASSES = 6
"""Passes over all blocks with the same commitments."""
DEAR = 1e9
"""Cost of an instance that nobody sells by the hour: other covers come first."""


class Settler:
    """Known covers as the cells that they hold, in every market."""

    def __init__(self, pricing: Pricing) -> None:
        import numpy as np

        fleet = pricing.fleet
        self.pricing, self.fleet = pricing, fleet
        self.room_of = np.repeat(fleet.room, fleet.slices).astype(float).tolist()
        per_instance = np.where(np.isfinite(fleet.hourly), fleet.hourly * fleet.room[:, None], DEAR)
        self.hourly: list[float] = per_instance.ravel().tolist()
        self._held: dict[int, tuple[Column, tuple[tuple[int, float], ...], float]] = {}

    def held(self, column: Column) -> tuple[tuple[tuple[int, float], ...], float]:
        """((cell, accelerators) of a cover, cost of its API)."""
        key = id(column)
        if key not in self._held:
            block = self.pricing.blocks[column.block]
            service = self.fleet.services[block.service]
            use: dict[int, float] = defaultdict(float)
            for item, t, n in column.replicas:
                use[int(service.market[item]) * self.fleet.slices + t] += float(service.size[item]) * n
            api = math.fsum(a * c for a, c in zip(column.api, block.api.tolist(), strict=False))
            self._held[key] = (column, tuple(sorted(use.items())), api)
        return self._held[key][1:]

    def settle(self, state: State, columns: Iterable[Column], end: float) -> State:
        """The state with covers settled around its commitments; stops at `end` (monotonic seconds)."""
        from planner.solve.fleet import topped_up

        room = Room(self.fleet, state.bought)
        use = state.use(self.fleet, self.pricing)
        room.use = use
        flat: list[float] = use.ravel().tolist()
        run: list[float] = room.committed.ravel().tolist()
        room_of, hourly, slices = self.room_of, self.hourly, self.fleet.slices
        known: dict[int, list[Column]] = defaultdict(list)
        for column in columns:
            known[column.block].append(column)
        chosen = dict(state.columns)

        def added(cells: tuple[tuple[int, float], ...]) -> float:
            total = 0.0
            for cell, more in cells:
                size, had = room_of[cell], run[cell]
                before = max(had, math.ceil(flat[cell] / size - 1e-9))
                total += hourly[cell] * (max(before, math.ceil((flat[cell] + more) / size - 1e-9)) - before)
            return total

        def move(cells: tuple[tuple[int, float], ...], sign: float) -> None:
            for cell, more in cells:
                flat[cell] += sign * more
                use[cell // slices, cell % slices] = flat[cell]

        for number in range(PASSES):
            changed = 0
            for b in sorted(known, reverse=bool(number % 2)):
                if time.monotonic() > end:
                    break
                own, api = self.held(chosen[b])
                move(own, -1.0)
                best, least = chosen[b], added(own) + api
                for column in known[b]:
                    cells, api = self.held(column)
                    if api >= least - 1e-9:
                        continue
                    value = added(cells) + api
                    if value < least - 1e-9 and (not room.touches(column) or room.fits(column)):
                        best, least = column, value
                changed += best is not chosen[b]
                chosen[b] = best
                move(self.held(best)[0], 1.0)
            if not changed or time.monotonic() > end:
                break
        return topped_up(self.fleet, self.pricing, State(chosen, state.bought))
