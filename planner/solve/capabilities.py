"""What each engine can do, as data; a request outside it is refused before an engine sees it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import SolverError
from planner.solve.arrays import Arrays
from planner.solve.types import SolveOptions

MAX_INTEGER_ACTIVITY = 2.0**31
"""CP-SAT 9.15 certifies wrong optima where the terms of a row sum to more (google/or-tools issue 5293)."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One engine: what it may be given and which of our options it honours (ortools 9.15, docs/decisions.md)."""

    engine: str
    mathopt_name: str
    """Name in MathOpt's SolverTypeProto."""
    integer: bool
    """Integer variables."""
    continuous: bool
    """Continuous variables (CP-SAT through MathOpt answers a wrong OPTIMAL with them)."""
    integral_rows_only: bool
    """Row coefficients and bounds must be whole numbers, and every variable needs finite bounds."""
    seed: bool
    gap: bool
    node_limit: bool
    threads: int | None
    """Threads to ask for so that two runs agree; None: the engine refuses the option (and is serial as it is)."""
    saves_incumbents: bool
    """Improving solutions reach a file while it runs, so that a killed solve still returns its incumbent."""
    bound_slack: float
    """Relative safety taken off a reported bound (CP-SAT scales a real objective to whole numbers)."""


CAPABILITIES: dict[str, Capability] = {
    c.engine: c
    for c in (
        Capability("highs", "SOLVER_TYPE_HIGHS", True, True, False, True, True, True, None, True, 0.0),
        Capability("scip", "SOLVER_TYPE_GSCIP", True, True, False, True, True, True, 1, False, 0.0),
        Capability("cp_sat", "SOLVER_TYPE_CP_SAT", True, False, True, True, True, False, 1, False, 2e-6),
        Capability("glop", "SOLVER_TYPE_GLOP", False, True, False, True, False, False, 1, False, 0.0),
    )
}


def check_capability(arrays: Arrays, options: SolveOptions) -> Capability:
    """The capability of the asked engine, or SolverError where it cannot solve this programme honestly."""
    capability = CAPABILITIES.get(options.engine)
    if capability is None:
        raise SolverError(options.engine, "no such engine", f"known: {', '.join(CAPABILITIES)}")
    integers = int(arrays.integer.sum())
    refusal = ""
    if integers and not capability.integer:
        refusal = f"solves linear programmes only; {integers} variables are integer"
    elif integers < arrays.variables and not capability.continuous:
        refusal = f"needs integer variables only; {arrays.variables - integers} are continuous"
    elif capability.integral_rows_only and not arrays.has_integral_rows():
        refusal = "needs whole-number coefficients and row bounds"
    elif capability.integral_rows_only and not arrays.is_bounded():
        refusal = "needs finite bounds on every variable"
    elif capability.integral_rows_only and arrays.largest_activity() >= MAX_INTEGER_ACTIVITY:
        refusal = f"is not reliable where a row can sum to 2^31 (here {arrays.largest_activity():.2g})"
    elif options.node_limit is not None and not capability.node_limit:
        refusal = "has no node limit"
    if refusal:
        raise SolverError(options.engine, refusal, "choose another engine: highs or scip")
    return capability
