"""Recompute everything a plan claims from spec, catalog and performance; nothing of the formulation is used here."""

from __future__ import annotations

from planner.candidates.types import Plan
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand
from planner.spec.types import Spec
from planner.verify.capacity import check_capacity
from planner.verify.cost import price
from planner.verify.delivery import deliveries, headroom_factor
from planner.verify.facts import Facts
from planner.verify.findings import Findings
from planner.verify.limits import check_limits
from planner.verify.normalise import normalise
from planner.verify.packing import check_packing
from planner.verify.permission import check_permission
from planner.verify.resilience import check_resilience
from planner.verify.types import PlanCost, Verification


class Verifier:
    """Verifies many plans of one spec and catalog; demand and assessments are made once."""

    def __init__(self, spec: Spec, catalog: Catalog, demand: Demand | None = None) -> None:
        self.facts = Facts.of(spec, catalog, demand)

    def price(self, plan: Plan) -> PlanCost:
        """Price the parts of a plan that exist in the catalog, feasible or not; USD per month of 730 h."""
        return price(normalise(plan, self.facts)[0], self.facts)

    def verify(self, plan: Plan, claimed_total_usd_per_month: float | None = None) -> Verification:
        """Check every rule and promise; see `verify_plan`."""
        normal, found = normalise(plan, self.facts)
        out = Findings(list(found))
        cost = price(normal, self.facts)
        check_capacity(normal, self.facts, out)
        check_resilience(normal, self.facts, out)
        check_packing(normal, self.facts, out)
        check_permission(normal, self.facts, out)
        check_limits(normal, cost, self.facts, out)
        if claimed_total_usd_per_month is not None:
            _check_claim(cost, claimed_total_usd_per_month, out)
        return Verification(
            cost=cost,
            deliveries=deliveries(normal, self.facts),
            binding=out.binding,
            headroom_factor=headroom_factor(normal, self.facts),
            violations=tuple(out.violations),
        )


def _check_claim(cost: PlanCost, claimed: float, out: Findings) -> None:
    had = cost.judged_usd_per_month
    if not abs(claimed - had) <= 1e-6 * max(1.0, abs(had)):
        out.broken("cost", ("total_usd_per_month",), "the plan costs other than claimed", claimed, had, "USD/month")


def verify_plan(
    plan: Plan, spec: Spec, catalog: Catalog, claimed_total_usd_per_month: float | None = None
) -> Verification:
    """Recompute cost, capacity, memory, SLO rows, packing, spot, spares, quotas, limits and sovereignty of a plan.

    `claimed_total_usd_per_month` is compared with the recomputed cost that plans are judged by (relative 1e-6). Never
    raises for a bad plan:
    what is wrong with it is in `violations`, each under its family name of DESIGN §5.3 (`offer`, `candidate`, `option`,
    `sovereignty`, `integrality` and `cost` for what the formulation expresses by absence).
    """
    return Verifier(spec, catalog).verify(plan, claimed_total_usd_per_month)
