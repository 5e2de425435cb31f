"""From a `Problem` to a programme, and from an engine's values back to a `Plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.candidates.types import Plan, Problem
from planner.formulation import emergency, families, limits, spares  # noqa: F401  (each registers constraint families)
from planner.formulation.cost import add_cost
from planner.formulation.extract import extract_plan
from planner.formulation.milp import Milp
from planner.formulation.registry import FAMILIES
from planner.formulation.sets import Sets
from planner.formulation.variables import add_variables
from planner.units import HOURS_PER_MONTH


@dataclass(frozen=True)
class Compiled:
    """A programme with its index sets. Objective in USD per hour; × 730 is USD per month."""

    problem: Problem
    sets: Sets
    milp: Milp

    def plan(self, values: Sequence[float], trim: bool = True) -> Plan:
        """The plan that an engine's values describe (one value per column; integers already rounded).

        `trim`: leave out replicas that nothing needs (False where head-room is what was asked for).
        """
        return extract_plan(self.milp, self.sets, values, trim)

    def cost_terms(self, values: Sequence[float]) -> dict[str, float]:
        """USD per month by objective term."""
        return {t: HOURS_PER_MONTH * self.milp.value(b, values) for t, b in sorted(self.milp.terms.items())}

    @cached_property
    def cost(self) -> dict[int, float]:
        """The objective as column → USD per hour."""
        return self.milp.objective()


def compile_milp(problem: Problem, stress: float = 1.0, mixed: bool = False) -> Compiled:
    """Build variables, objective and every registered family, in a fixed order.

    `stress` only widens bounds: the columns are the same for every value. `mixed` is a restriction, see `Sets`.

    Raises ValueError on a coefficient that is no finite number (the catalog and spec rooms let none through).
    """
    sets = Sets(problem, stress, mixed)
    milp = Milp()
    add_variables(milp, sets)
    add_cost(milp, sets)
    for family in FAMILIES.values():
        family.function(milp, sets)
    return Compiled(problem, sets, milp)
