"""All of an explanation at once."""

from __future__ import annotations

from planner.candidates.types import Plan, Problem
from planner.catalog.catalog import Catalog
from planner.explain.binding import binding_limits
from planner.explain.headroom import headroom_products
from planner.explain.risks import find_risks
from planner.explain.types import Explanation, Flip
from planner.spec.types import Spec
from planner.verify.types import Verification


def explain_plan(
    spec: Spec, catalog: Catalog, problem: Problem, flips: tuple[Flip, ...], plan: Plan, check: Verification
) -> Explanation:
    """Why the plan looks as it does: what binds, break-evens, risks, head-room (`--explain fast`).

    `flips` are those of the problem (`api_break_evens`), the same for every plan.
    """
    return Explanation(
        binding=binding_limits(check),
        flips=flips,
        risks=find_risks(spec, catalog, problem, plan, check),
        headroom=headroom_products(spec, check),
    )
