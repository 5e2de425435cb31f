"""What a rule costs: the spec without it, solved again.

    price ∈ [LB_with − UB_without, UB_with − LB_without], clamped at 0

UB the cost of a verified plan, LB a proven bound. The plan with the rule stays a plan without it, so UB_without is
never above UB_with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.explain.edits import KINDS, Rule, stated_rules
from planner.explain.parallel import Workers
from planner.explain.types import RulePrice
from planner.explain.whatif import Reply, WhatIf
from planner.spec.types import BudgetBasis, Spec

NOTHING = 0.005
"""A price whose upper end is below this share of the cost is called nothing."""
SHORTEST_S = 0.5
"""A re-solve gets at least so long; what has no time for it is not resolved."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The spec as it is: cost of its best plan and proven bound, USD/month."""

    usd_per_month: float
    bound_usd_per_month: float
    gap: float
    """Relative gap at which a re-solve may stop."""


def priced_rules(spec: Spec, workers: Workers) -> tuple[Rule, ...]:
    """The rules of the spec that have a price, the most interesting kinds first."""
    return tuple(r for r in stated_rules(spec, workers.first.catalog) if r.kind in KINDS)


def rule_prices(spec: Spec, answered: Answered, workers: Workers, part: float = 1.0) -> tuple[RulePrice, ...]:
    """What every rule costs per month, in parallel, within `part` of the time that is left.

    A budget that the cheapest plan keeps costs nothing and is not asked. What the time does not suffice for comes
    back as not resolved, with the interval that is known anyway.
    """
    rules = priced_rules(spec, workers)
    asked = [r for r in rules if not _free(r, spec)]
    limit_s = workers.share_s(len(asked), part)

    def ask(desk: WhatIf, rule: Rule) -> Reply:
        if limit_s < SHORTEST_S and desk.clock.left < SHORTEST_S:
            desk.cut = True
            return Reply("undecided")
        return desk.best(rule.lift(spec), answered.gap, max(SHORTEST_S, limit_s))

    replies = dict(zip((r.id for r in asked), workers.map(ask, asked), strict=True))
    return tuple(_price(r, answered, replies.get(r.id), r.id in replies) for r in rules)


def _free(rule: Rule, spec: Spec) -> bool:
    """Whether the price is 0 without asking: there is a plan, and the budget is on what is minimised."""
    budget = spec.policy.budget
    return rule.kind == "budget" and budget is not None and budget.basis is BudgetBasis.AMORTISED


def _price(rule: Rule, answered: Answered, reply: Reply | None, asked: bool) -> RulePrice:
    upper = lower = answered.usd_per_month
    lower = answered.bound_usd_per_month
    if not asked:
        low = high = 0.0
        without, bound = upper, lower
    else:
        without = upper if reply is None or reply.usd_per_month is None else min(upper, reply.usd_per_month)
        bound = 0.0 if reply is None else min(without, reply.bound_usd_per_month)
        low, high = max(0.0, lower - without), max(0.0, upper - bound)
    verdict = "costs" if low > 0 else "free" if high <= NOTHING * max(1.0, upper) else "not_resolved"
    return RulePrice(
        rule=rule.id, kind=rule.kind, says=rule.says, low_usd_per_month=low, high_usd_per_month=high,
        with_usd_per_month=upper, with_bound_usd_per_month=lower, without_usd_per_month=without,
        without_bound_usd_per_month=bound, verdict=verdict, uses=_uses(rule, reply) if low > 0 else (),
        text=_text(rule, verdict, low, high, without, upper),
    )  # fmt: skip


def _uses(rule: Rule, reply: Reply | None) -> tuple[str, ...]:
    """Names that the cheaper plan uses and the rule does not allow."""
    solution = None if reply is None else reply.solution
    return () if solution is None or rule.items is None else tuple(sorted(rule.items.beyond(solution)))


def _text(rule: Rule, verdict: str, low: float, high: float, without: float, upper: float) -> str:
    if verdict == "costs":
        return (
            f"{rule.text} costs {upper - without:,.0f} USD/month (proven: {low:,.0f} to {high:,.0f}); without it the "
            f"cheapest plan found is {without:,.0f}"
        )
    if verdict == "free":
        return f"{rule.text} costs nothing" + (f" (at most {high:,.0f} USD/month)" if high >= 0.5 else "")
    found = f", the cheapest plan found without it is {without:,.0f}" if without < upper else ""
    return f"{rule.text} is not resolved: it costs 0 to {high:,.0f} USD/month{found}"


def sorted_prices(prices: Sequence[RulePrice]) -> tuple[RulePrice, ...]:
    """The dearest first, then what is not resolved, then what costs nothing."""
    order = ("costs", "not_resolved", "free")
    return tuple(sorted(prices, key=lambda p: (order.index(p.verdict), -p.low_usd_per_month, -p.high_usd_per_month,
                                               p.rule)))  # fmt: skip
