"""Several engine processes that solve independent programmes side by side."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from planner.solve.engine import OnProgress, SolverChild
from planner.solve.types import Answer, SolveOptions

if TYPE_CHECKING:
    from planner.formulation.milp import Milp
    from planner.solve.arrays import Sparse

T = TypeVar("T")
MOST = 8
"""Engine processes; more wait for memory rather than for a core."""


class Crew:
    """One engine process per core, the first of which may be somebody else's; a context manager."""

    def __init__(self, first: SolverChild | None = None, size: int | None = None) -> None:
        self.size = max(1, min(MOST, size or os.cpu_count() or 1))
        self._lent = first
        self._children = [first or SolverChild(), *(SolverChild() for _ in range(self.size - 1))]
        self._idle: queue.SimpleQueue[SolverChild] = queue.SimpleQueue()
        for child in self._children:
            self._idle.put(child)
        self._pool = ThreadPoolExecutor(self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for child in self._children:
            if child is not self._lent:
                child.close()

    def start(self) -> None:
        """Start every process; does not wait for them."""
        for child in self._children:
            child.start()

    def kill(self) -> None:
        """Stop whatever is being solved."""
        for child in self._children:
            child.kill()

    def begin(
        self,
        milp: Milp | Sparse,
        options: SolveOptions,
        hint: Sequence[float] | None = None,
        progress: OnProgress | None = None,
    ) -> Future[Answer]:
        """Solve as soon as a process is free."""
        return self._pool.submit(self._solve, milp, options, hint, progress)

    def _solve(
        self, milp: Milp | Sparse, options: SolveOptions, hint: Sequence[float] | None, progress: OnProgress | None
    ) -> Answer:
        child = self._idle.get()
        try:
            return child.solve(milp, options, hint, progress)
        finally:
            self._idle.put(child)

    def solve(
        self,
        milp: Milp | Sparse,
        options: SolveOptions,
        hint: Sequence[float] | None = None,
        progress: OnProgress | None = None,
    ) -> Answer:
        """Solve in one process and wait."""
        return self.begin(milp, options, hint, progress).result()

    def each(self, work: Callable[[T], object], items: Sequence[T]) -> list[object]:
        """`work` of every item, side by side in threads of their own; in the order of the items."""
        with ThreadPoolExecutor(self.size) as pool:
            return list(pool.map(work, items))
