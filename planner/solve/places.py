"""Covers that survive the loss of a place: a small programme per block, as places do not add up in one number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.formulation.fleet import FleetService
from planner.solve.arrays import Sparse, sparse
from planner.solve.crew import Crew
from planner.solve.types import Infeasible, SolveOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from planner.solve.pricing import Block

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


NEGLIGIBLE = 1e-9
"""Share of the dearest kind below which a kind costs nothing."""


TINY = 1e-30


class PlaceBlock:
    """min Σ cost·n + API over covers of one service in one slice of which any one place may be lost."""

    def __init__(self, service: FleetService, block: Block, cost: Floats, place: Ints) -> None:
        import numpy as np

        from planner.solve.cover import _undominated

        self.service, self.block = service, block
        kept = []
        clipped = np.minimum(block.capacity, block.rates[-1])
        for p in np.unique(place):
            here = np.flatnonzero(place == p)
            order = np.empty(here.size, np.int64)
            number = _undominated(clipped[here], cost[here], block.firm[here], service.spare, order)
            kept.append(here[order[:number]])
        self.kept = np.concatenate(kept) if kept else np.zeros(0, np.int64)
        own = cost[self.kept]
        # What costs next to nothing costs nothing: a lower cost keeps the bound, and engines dislike wide spreads.
        self.cost = np.where(own > max(NEGLIGIBLE * own.max(initial=0.0), TINY), own, 0.0)
        self.place = place[self.kept]

    def programme(self) -> Sparse:
        """Columns: replicas per kind, then what the API takes per band as a share of it, then levels of spares."""
        import numpy as np

        service, block = self.service, self.block
        kinds, bands = self.kept.size, block.rates.size
        capacity, firm = block.capacity[self.kept], block.firm[self.kept]
        levels = np.unique(np.minimum(capacity, block.rates[-1])) if service.spare else np.zeros(0)
        has_api = service.api_cost is not None
        entries: list[tuple[int, int, float]] = []
        lower: list[float] = []

        def row(weights: Floats, b: int, needed: float, level: bool = False) -> None:
            share = np.minimum(weights / block.rates[b], needed)
            entries.extend((len(lower), int(k), float(share[k])) for k in np.flatnonzero(share))
            if has_api:
                entries.append((len(lower), kinds + b, 1.0))
            if level:
                for number, size in enumerate(levels):
                    lost = min(float(size) / block.rates[b], needed)
                    entries.append((len(lower), kinds + bands + number, -lost))
            lower.append(needed)

        for b in range(bands):
            if block.rates[b] <= 0:
                continue
            row(capacity, b, 1.0, level=service.spare)
            if service.spot_share < 1:
                row(np.where(firm, capacity, 0.0), b, 1.0 - service.spot_share)
            assert service.survive is not None
            for p in np.unique(self.place):
                row(np.where(self.place != p, capacity, 0.0), b, service.survive)
        most = np.ceil(2.0 * block.rates[-1] / capacity) + 2
        for k in range(kinds) if service.spare else ():
            entries.append((len(lower), k, -1.0))
            for number, size in enumerate(levels):
                if size >= min(capacity[k], block.rates[-1]):
                    entries.append((len(lower), kinds + bands + number, float(most[k])))
            lower.append(0.0)
        if service.spare:
            entries += [(len(lower), kinds + bands + number, -1.0) for number in range(levels.size)]
            lower.append(-1.0)
        e = np.asarray(entries, np.float64).reshape(-1, 3)
        size = kinds + bands + levels.size
        upper = np.concatenate([most, np.full(bands, 1.0 if has_api else 0.0), np.ones(levels.size)])
        objective = np.concatenate([self.cost, block.api * block.rates, np.zeros(levels.size)])
        integer = np.concatenate([np.ones(kinds, bool), np.zeros(bands, bool), np.ones(levels.size, bool)])
        return sparse(
            objective, (e[:, 0].astype(np.int64), e[:, 1].astype(np.int64), e[:, 2]), np.asarray(lower),
            np.full(len(lower), math.inf), np.zeros(size), upper, integer,
        )  # fmt: skip

    def begin(self, crew: Crew, gap: float, seconds: float) -> Callable[[], tuple[float, Ints | None]]:
        """Start solving; the result gives (bound, replicas per kind of the block or None)."""
        import numpy as np

        if not self.kept.size and self.service.api_cost is None:
            return lambda: (math.inf, None)
        future = crew.begin(self.programme(), SolveOptions(relative_gap=gap, time_limit_s=seconds))

        def result() -> tuple[float, Ints | None]:
            answer = future.result()
            if isinstance(answer, Infeasible):
                return math.inf, None
            counts = None
            if answer.values is not None:
                counts = np.zeros(self.block.kinds.size, np.int64)
                counts[self.kept] = np.rint(answer.values[: self.kept.size]).astype(np.int64)
            return (0.0 if answer.bound is None else answer.bound), counts

        return result
