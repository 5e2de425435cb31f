"""From an engine's reply to one of three answers: values unscaled, rounded and checked before anybody sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import SolverError
from planner.solve.arrays import (
    TOLERANCE,
    as_minimum,
    check_numbers,
    scale,
    to_arrays,
    trivially_infeasible,
    unscaled_values,
)
from planner.solve.capabilities import CAPABILITIES, Capability
from planner.solve.progress import read_last_solution
from planner.solve.types import Answer, Infeasible, Progress, Solved, SolveOptions, StopReason, Undecided
from planner.solve.wire import Reply, Sign

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from planner.formulation.milp import Milp
    from planner.solve.arrays import Sparse

    Floats = NDArray[np.float64]

ROW_TOLERANCE = 2 * TOLERANCE
"""Largest violation of a scaled row after rounding; above it the continuous part is solved again."""
NONSENSE = 1e-4
"""A bound that passes its own solution by more than this share is nonsense."""
_STOPS = {"TIME": StopReason.TIME_LIMIT, "NODE": StopReason.NODE_LIMIT, "INTERRUPTED": StopReason.INTERRUPTED}


class Interpreter:
    """One programme on its way through an engine: its arrays, its scaled arrays, and what replies about it mean."""

    def __init__(self, milp: Milp | Sparse, options: SolveOptions, hint: Sequence[float] | None = None) -> None:
        self.milp, self.options = milp, options
        self.arrays = to_arrays(milp)
        check_numbers(milp, self.arrays, options.engine)
        # CP-SAT wants whole numbers, which scaling would break.
        whole = options.engine in CAPABILITIES and CAPABILITIES[options.engine].integral_rows_only
        self.scaled = as_minimum(self.arrays) if whole else scale(milp, self.arrays, options.engine)
        if hint is not None and len(hint) != self.arrays.variables:
            raise SolverError(options.engine, f"a hint of {len(hint)} values for {self.arrays.variables} variables")
        self.hint = None if hint is None else self.rounded(hint)
        """Starting values; NaN where unknown."""

    # -- before the engine ---------------------------------------------------------------------------------------

    def trivial(self) -> Answer | None:
        """The answer to a programme that needs no engine: an empty row that excludes 0, or no variables at all."""
        name = trivially_infeasible(self.milp)
        if name is not None:
            return Infeasible(f"{name} holds no variable and excludes 0")
        if not self.arrays.variables:
            return Solved((), 0.0, 0.0, StopReason.OPTIMAL)
        return None

    def scaled_hint(self) -> bytes | None:
        """The hint in the engine's columns."""
        return None if self.hint is None else (self.hint / self.scaled.column_scale).tobytes()

    def without_objective(self) -> Interpreter:
        """The same rows with nothing to optimise: feasible or infeasible, never unbounded."""
        other = self._copy()
        other.scaled = replace(self.scaled, objective=self.scaled.objective * 0.0)
        return other

    def with_integers_fixed(self, reply: Reply) -> Interpreter:
        """The linear programme that remains with every integer at its rounded value."""
        import numpy as np

        assert reply.values is not None
        values = self.rounded(unscaled_values(self.scaled, np.frombuffer(reply.values)))
        other = self._copy()
        fixed = self.scaled.integer
        other.scaled = replace(
            self.scaled,
            lower=np.where(fixed, values, self.scaled.lower),
            upper=np.where(fixed, values, self.scaled.upper),
            integer=np.zeros_like(fixed),
        )
        other.arrays = replace(self.arrays, integer=np.zeros_like(fixed))
        return other

    def _copy(self) -> Interpreter:
        other = object.__new__(Interpreter)
        other.milp, other.options = self.milp, self.options
        other.arrays, other.scaled, other.hint = self.arrays, self.scaled, None
        return other

    # -- values --------------------------------------------------------------------------------------------------

    def rounded(self, values: Sequence[float] | Floats) -> Floats:
        """Integers to the nearest whole number, everything into its bounds."""
        import numpy as np

        array = np.asarray(values, dtype=np.float64)
        array = np.where(self.arrays.integer, np.rint(array), array)
        # + 0.0 turns -0.0 into 0.0: equal plans are equal bytes.
        return np.clip(array, self.arrays.lower, self.arrays.upper) + 0.0

    def is_feasible(self, values: Floats) -> bool:
        """Whether whole values satisfy every scaled row and bound within tolerance."""
        import numpy as np

        if not np.isfinite(values).all():
            return False
        return self.scaled.worst_violation(values / self.scaled.column_scale) <= ROW_TOLERANCE

    def objective(self, values: Floats) -> float:
        """Σ of all terms at `values`, summed exactly."""
        return math.fsum((self.arrays.objective * values).tolist()) + 0.0

    def bound(self, scaled_bound: float | None, slack: float = 0.0) -> float | None:
        """A bound on the programme's own objective; None where the engine knows none."""
        if scaled_bound is None or not math.isfinite(scaled_bound):
            return None
        bound = scaled_bound / self.scaled.objective_scale
        return bound - (-1 if self.milp.maximise else 1) * slack * max(1.0, abs(bound))

    def progress(self, sign: Sign) -> Progress:
        """Incumbent and bound for a person, in the programme's own objective."""
        incumbent = None if sign.incumbent is None else sign.incumbent / self.scaled.objective_scale
        return Progress(incumbent, self.bound(sign.bound))

    # -- after the engine ----------------------------------------------------------------------------------------

    def interpret(self, reply: Reply, capability: Capability) -> Answer | None:
        """The answer in a reply; None when its values break a row once integers are whole (see `adopt`)."""
        import numpy as np

        engine = self.options.engine
        if reply.reason == "REFUSED":
            raise SolverError(engine, "refused the programme", reply.detail)
        if reply.reason == "INFEASIBLE":
            return Infeasible(reply.detail)
        if reply.reason == "UNBOUNDED":
            raise SolverError(engine, "the objective has no finite bound", self._unbounded_hint())
        if reply.reason not in ("OPTIMAL", "FEASIBLE", "NO_SOLUTION_FOUND", "IMPRECISE"):
            raise SolverError(engine, f"stopped with {reply.reason}", reply.detail)
        bound = self.bound(reply.bound, capability.bound_slack)
        if reply.values is None:
            if reply.reason in ("OPTIMAL", "IMPRECISE"):
                raise SolverError(engine, f"answered {reply.reason} without a solution", reply.detail)
            return self.stopped(None, reply.bound, self._stop(reply))
        raw = unscaled_values(self.scaled, np.frombuffer(reply.values))
        values = self.rounded(raw)
        off = np.abs(raw - values)[self.arrays.integer]
        if (off.size and off.max() > TOLERANCE) or not self.is_feasible(values):
            return None
        return self._with_duals(self._answer(values, bound, reply), reply)

    def _with_duals(self, answer: Answer, reply: Reply) -> Answer:
        """The answer to a linear programme with its duals in the programme's own rows and objective."""
        import numpy as np

        if reply.duals is None or not isinstance(answer, Solved) or self.arrays.rows == 0:
            return answer
        # A row's scale is the ratio of any of its coefficients, scaled and own.
        ratio = self.scaled.coefficient / (self.arrays.coefficient * self.scaled.column_scale[self.arrays.column_of])
        rows = np.ones(self.arrays.rows)
        rows[self.arrays.row_of] = ratio
        duals = np.frombuffer(reply.duals) * rows / self.scaled.objective_scale
        return replace(answer, duals=tuple(duals.tolist()))

    def adopt(self, reply: Reply, polished: Reply | None) -> Answer:
        """The answer when rounding broke a row and the linear programme with fixed integers was solved again."""
        import numpy as np

        bound = self.bound(reply.bound)
        if polished is not None and polished.reason == "OPTIMAL" and polished.values is not None:
            values = self.rounded(unscaled_values(self.scaled, np.frombuffer(polished.values)))
            if self.is_feasible(values):
                return self._answer(values, bound, reply)
        answer = self.stopped(None, reply.bound, self._stop(reply))
        if reply.reason == "FEASIBLE" or answer.values is not None:
            return answer
        raise SolverError(self.options.engine, "its solution breaks a row once integers are whole", reply.detail)

    def disambiguate(self, free: Reply) -> Reply:
        """The reply to an 'infeasible or unbounded' programme, given the reply without its objective."""
        if free.reason in ("OPTIMAL", "FEASIBLE"):
            return replace(free, reason="UNBOUNDED")
        return free

    def stopped(self, saved: Path | None, scaled_bound: float | None, stop: StopReason) -> Undecided:
        """A stop before the end: the best feasible of what the engine saved and the hint."""
        import numpy as np

        found: list[Floats] = [] if self.hint is None else [self.hint]
        last = None if saved is None else read_last_solution(saved, self.arrays.variables)
        if last is not None:
            found.append(self.rounded(unscaled_values(self.scaled, np.asarray(last))))
        feasible = [(self.objective(v), v) for v in found if self.is_feasible(v)]
        bound = self.bound(scaled_bound)
        if not feasible:
            return Undecided(None, None, bound, stop)
        objective, values = (max if self.milp.maximise else min)(feasible, key=lambda pair: pair[0])
        return Undecided(tuple(values.tolist()), objective, self._clipped(bound, objective), stop)

    def _answer(self, values: Floats, bound: float | None, reply: Reply) -> Answer:
        objective = self.objective(values)
        if bound is None and reply.reason == "OPTIMAL":
            bound = objective
        bound = self._clipped(bound, objective)
        gap = math.inf if bound is None else abs(objective - bound)
        closed = gap <= max(self.options.absolute_gap, 1e-9 * abs(objective))
        if bound is not None and (closed or gap <= self.options.relative_gap * abs(objective) * (1 + 1e-9)):
            return Solved(tuple(values.tolist()), objective, bound, StopReason.OPTIMAL if closed else StopReason.GAP)
        if reply.reason == "OPTIMAL" and bound is not None:
            return Solved(tuple(values.tolist()), objective, bound, StopReason.GAP)
        return Undecided(tuple(values.tolist()), objective, bound, self._stop(reply))

    def _clipped(self, bound: float | None, objective: float) -> float | None:
        """A bound never passes its own solution; by more than rounding it is nonsense."""
        if bound is None:
            return None
        sign = -1.0 if self.milp.maximise else 1.0
        if sign * (bound - objective) > NONSENSE * max(1.0 / abs(self.scaled.objective_scale), abs(objective)):
            raise SolverError(
                self.options.engine, f"bound {bound!r} contradicts its own solution of {objective!r}", "not trusted"
            )
        return sign * min(sign * bound, sign * objective)

    def _stop(self, reply: Reply) -> StopReason:
        return _STOPS.get(reply.limit, StopReason.TIME_LIMIT)

    def _unbounded_hint(self) -> str:
        """The variables that could run away: cost falls towards a bound that is not there."""
        import numpy as np

        cost = self.arrays.objective * (-1.0 if self.milp.maximise else 1.0)
        free = ((cost < 0) & np.isinf(self.arrays.upper)) | ((cost > 0) & np.isinf(self.arrays.lower))
        names = [self.milp.variables[int(j)].name for j in np.flatnonzero(free)[:3]]
        return f"no limit on {', '.join(names)}" if names else "some direction lowers the cost for ever"
