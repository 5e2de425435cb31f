"""Many questions at once: one solver process per core, shared assessments, one deadline."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from planner.candidates.build import Memo
from planner.catalog.catalog import Catalog
from planner.errors import Interrupted, SolverError
from planner.explain.whatif import Clock, WhatIf
from planner.solve.engine import SolverChild

T = TypeVar("T")
R = TypeVar("R")

MOST_WORKERS = 4


def cores() -> int:
    """Processors that this process may use, at most `MOST_WORKERS`."""
    return max(1, min(MOST_WORKERS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1))


class Workers:
    """`WhatIf` desks over one catalog, each with a solver process of its own; a context manager.

    Building a problem is Python and takes turns; solving is another process and runs beside it.
    """

    def __init__(
        self, catalog: Catalog, child: SolverChild, clock: Clock, engine: str = "highs", seed: int = 0,
        count: int | None = None,
    ) -> None:  # fmt: skip
        self.clock = clock
        self._own = [SolverChild() for _ in range((count or cores()) - 1)]
        memo: Memo = {}
        self._desks = [WhatIf(catalog, c, clock, engine, seed, memo) for c in (child, *self._own)]
        self.first = self._desks[0]
        """The desk for questions that are asked one after the other."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._own:
            child.close()

    @property
    def cut(self) -> bool:
        """Whether a clock decided something."""
        return any(desk.cut for desk in self._desks)

    def share_s(self, questions: int, part: float = 1.0) -> float:
        """A fair part of the time that is left for each of so many questions."""
        rounds = -(-questions // len(self._desks))
        return part * self.clock.left / max(1, rounds)

    def map(self, ask: Callable[[WhatIf, T], R], items: Sequence[T]) -> list[R | None]:
        """`ask` of every item, in order; None where the solver failed on it.

        After Ctrl-C the solver processes are ended and Interrupted is raised.
        """
        free: queue.SimpleQueue[WhatIf] = queue.SimpleQueue()
        for desk in self._desks:
            free.put(desk)

        def work(item: T) -> R | None:
            desk = free.get()
            try:
                return ask(desk, item)
            except SolverError:
                return None
            finally:
                free.put(desk)

        if len(self._desks) == 1 or len(items) < 2:
            return [work(i) for i in items]
        with ThreadPoolExecutor(len(self._desks)) as pool:
            futures: list[Future[R | None]] = [pool.submit(work, i) for i in items]
            try:
                return [f.result() for f in futures]
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for desk in self._desks:
                    desk.child.kill()
                raise Interrupted("while the plan was explained") from None
