"""What a solve may answer. No other code looks at an engine's status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    OPTIMAL = "optimal"
    GAP = "gap"
    NODE_LIMIT = "node_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class SolveOptions:
    engine: str = "highs"
    """highs | scip | cp_sat | glop."""
    time_limit_s: float = 60.0
    relative_gap: float = 1e-3
    absolute_gap: float = 1e-6
    seed: int = 0
    node_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution within the asked gap. `values` per column, integers rounded; `bound` is on the minimised objective."""

    values: tuple[float, ...]
    objective: float
    bound: float
    stop: StopReason
    duals: tuple[float, ...] | None = None
    """Per row, of a linear programme: what one unit more of the bound that holds it costs."""
    clocked: bool = False
    """A clock ended some step on the way: another run may find another plan within the gap."""


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Proven: no solution. `detail` is the engine's own words."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Stopped before the gap was reached; `values` is the incumbent if there is one."""

    values: tuple[float, ...] | None
    objective: float | None
    bound: float | None
    stop: StopReason
    clocked: bool = False
    """As in `Solved`."""


Answer = Solved | Infeasible | Undecided


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running solve is, in the programme's own objective; None: not known yet."""

    incumbent: float | None
    bound: float | None

    def times(self, factor: float) -> Progress:
        """In other units."""
        return Progress(
            None if self.incumbent is None else self.incumbent * factor,
            None if self.bound is None else self.bound * factor,
        )
