"""What crosses the pipe between us and the solver's process. Imports nothing heavy: the child starts with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One programme to solve; arrays as raw native bytes (d: float64, q: int64, b: one byte)."""

    objective: bytes
    lower: bytes
    upper: bytes
    integer: bytes
    row_of: bytes
    column_of: bytes
    coefficient: bytes
    row_lower: bytes
    row_upper: bytes
    hint: bytes | None
    solver_type: str
    """Name in MathOpt's SolverTypeProto."""
    time_limit_s: float
    relative_gap: float | None
    absolute_gap: float | None
    node_limit: int | None
    seed: int | None
    threads: int | None
    incumbent_file: str | None
    """Where HiGHS appends improving solutions."""
    want_progress: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The child has imported its engines."""

    ortools_version: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of life from the engine's log, in the scaled objective."""

    incumbent: float | None
    bound: float | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What MathOpt answered, uninterpreted."""

    reason: str
    """TerminationReasonProto without its prefix, e.g. OPTIMAL; REFUSED when MathOpt raised."""
    limit: str
    """LimitProto without its prefix, or ''."""
    detail: str
    values: bytes | None
    """float64 per column of the first solution that is feasible."""
    bound: float
    """Dual bound; ±inf where unknown."""
    seconds: float
    duals: bytes | None = None
    """float64 per row, of an optimal linear programme."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A Python exception in the child."""

    kind: str
    text: str
