"""From a `Problem` to a programme, and from an engine's values back to a `Plan`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
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
from planner.spec.types import SpareDomain
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


RELAXED = ("spare", "configurations", "spot_limit")
"""Families without which a programme is far smaller, and its optimum no higher."""


def relaxed_milp(problem: Problem) -> Compiled:
    """A programme whose optimum is never above that of `problem`, without the rows of `RELAXED`.

    Where every service with several classes must serve its whole mix in an emergency anyway (`takes_whole_mix`), its
    replicas take the whole mix here too: that is far smaller, and no restriction once `spot_limit` is gone.
    """
    sets = Sets(problem)
    several = [i for i, r in enumerate(sets.active_classes) if len(r) > 1 and not sets.services[i].is_batch]
    mixed = all(takes_whole_mix(sets, i) for i in several)
    return _compile(Sets(problem, mixed=mixed, sparse=True), RELAXED)


def takes_whole_mix(s: Sets, i: int) -> bool:
    """Whether the rules of a service ask for capacity for all of its mix (one and the same in all bands) at all times.

    A spare, or the loss of a place without any part of the demand, asks for Σ worth·replicas + Σ_a api/λ ≥ 1 in each
    class, from which a routing of all classes in proportion follows that costs no more.
    """
    spare = any(s.spare_count(i, domain) for domain in SpareDomain)
    whole = bool({"zone", "region", "provider"} & set(s.survives(i))) and s.services[i].resilience.serve_fraction >= 1
    return (spare or whole) and all(_same_mix(s, i, t) for t in range(len(s.slices)))


def _same_mix(s: Sets, i: int, t: int) -> bool:
    top = s.service_rate(i, t, -1)
    return all(
        math.isclose(s.rate(i, r, t, b) * top, s.rate(i, r, t, -1) * s.service_rate(i, t, b), rel_tol=1e-9)
        for b in s.bands(i, t)
        for r in s.active_classes[i]
    )


def compile_milp(problem: Problem, stress: float = 1.0, mixed: bool = False) -> Compiled:
    """Build variables, objective and every registered family, in a fixed order.

    `stress` only widens bounds: the columns are the same for every value. `mixed` is a restriction, see `Sets`.

    Raises ValueError on a coefficient that is no finite number (the catalog and spec rooms let none through).
    """
    return _compile(Sets(problem, stress, mixed))


def _compile(sets: Sets, without: Collection[str] = ()) -> Compiled:
    milp = Milp()
    add_variables(milp, sets)
    add_cost(milp, sets)
    for name, family in FAMILIES.items():
        if name not in without:
            family.function(milp, sets)
    return Compiled(sets.problem, sets, milp)
