"""What rules cost: intervals that can be recomputed, and hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, assume, event, given, settings

from planner.cli.run import Loaded
from planner.explain.parallel import Workers
from planner.explain.rule_prices import NOTHING, Answered, rule_prices, sorted_prices
from planner.explain.types import RulePrice
from planner.explain.whatif import Clock, WhatIf
from planner.solve.engine import SolverChild
from planner.spec.types import Spec
from tests import strategies as s

Read = Callable[[dict[str, Any] | str], Loaded]


def priced(
    spec: Spec, catalog: Any, child: SolverChild, seconds: float = 30.0, count: int = 1
) -> tuple[RulePrice, ...]:
    clock = Clock(seconds)
    reply = WhatIf(catalog, child, Clock(30.0)).best(spec, 1e-3)
    assert reply.usd_per_month is not None
    with Workers(catalog, child, clock, count=count) as workers:
        return rule_prices(spec, Answered(reply.usd_per_month, reply.bound_usd_per_month, 1e-3), workers)


def check_arithmetic(p: RulePrice) -> None:
    """Every printed number follows from the four costs."""
    if p.kind == "budget" and p.high_usd_per_month == 0:  # there is a plan inside it, and cost is what is minimised
        assert (p.low_usd_per_month, p.verdict) == (0.0, "free")
        return
    assert p.low_usd_per_month == max(0.0, p.with_bound_usd_per_month - p.without_usd_per_month)
    assert p.high_usd_per_month == max(0.0, p.with_usd_per_month - p.without_bound_usd_per_month)
    assert p.without_bound_usd_per_month <= p.without_usd_per_month <= p.with_usd_per_month
    assert (p.verdict == "costs") is (p.low_usd_per_month > 0)
    if p.verdict == "free":
        assert p.high_usd_per_month <= NOTHING * max(1.0, p.with_usd_per_month)
    if p.verdict == "costs":
        assert f"costs {p.with_usd_per_month - p.without_usd_per_month:,.0f} USD/month" in p.text
        assert f"{p.low_usd_per_month:,.0f} to {p.high_usd_per_month:,.0f}" in p.text


def by_rule(prices: tuple[RulePrice, ...]) -> dict[str, RulePrice]:
    return {p.rule.split(" of ")[0]: p for p in prices}


@pytest.mark.parametrize("count", [1, 2])
def test_sovereignty_on_demand_costs_what_the_scenario_says(read: Read, child: SolverChild, count: int) -> None:
    """EU 21,024 against US 16,936 on-demand: 4,088 USD/month; the US machine is what the cheaper plan uses."""
    loaded = read("scenarios/s01-eu-on-demand.yaml")
    found = by_rule(priced(loaded.spec, loaded.catalog, child, count=count))
    price = found["sovereignty.countries"]
    assert price.low_usd_per_month <= 4088 <= price.high_usd_per_month
    assert price.high_usd_per_month - price.low_usd_per_month < 100
    assert price.uses == ("US",)
    # with reserved machines allowed the EU's cost 14,600
    options = found["purchase.options"]
    assert options.low_usd_per_month <= 21024 - 14600 <= options.high_usd_per_month
    assert options.uses == ("reserved_1y",)
    # a spare replica on two cards: a quarter of the bill
    spare = found["resilience.spare"]
    assert spare.low_usd_per_month <= 21024 / 4 <= spare.high_usd_per_month
    for p in found.values():
        check_arithmetic(p)


def test_sovereignty_with_reserved_machines_costs_nothing(read: Read, child: SolverChild) -> None:
    """EU reserved at 14,600 is below US on-demand, and no US reserved price is listed; no API."""
    loaded = read("scenarios/s01-eu-health-chat.yaml")
    bare = loaded.spec.workloads[0].model_copy(update={"api_equivalents": ()})
    spec = loaded.spec.model_copy(update={"workloads": (bare,)})
    price = by_rule(priced(spec, loaded.catalog, child))["sovereignty.countries"]
    assert price.low_usd_per_month == 0
    assert price.verdict == "free"
    assert "costs nothing" in price.text


def test_sovereignty_is_dearer_where_an_api_abroad_could_take_the_overflow(read: Read, child: SolverChild) -> None:
    """Three EU replicas at 10,950 with the US API for the overflow: what that saves is the price."""
    loaded = read("scenarios/s01-eu-health-chat.yaml")
    price = by_rule(priced(loaded.spec, loaded.catalog, child))["sovereignty.countries"]
    assert price.verdict == "costs"
    assert price.uses == ("US",)


def test_without_time_nothing_is_claimed(read: Read, child: SolverChild) -> None:
    loaded = read("scenarios/s01-eu-on-demand.yaml")
    for p in priced(loaded.spec, loaded.catalog, child, seconds=0.0):
        assert p.verdict == "not_resolved"
        assert (p.low_usd_per_month, p.high_usd_per_month) == (0.0, p.with_usd_per_month)


@settings(max_examples=6, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(s.rich_cases())
def test_interval_holds_the_true_price(child: SolverChild, case: s.Case) -> None:
    """Against optima to 1e-6; and the prices are in order."""
    desk = WhatIf(case.catalog, child, Clock(60.0))
    exact = desk.best(case.spec, 1e-6)
    assume(exact.usd_per_month is not None)
    assert exact.usd_per_month is not None
    with Workers(case.catalog, child, Clock(60.0), count=1) as workers:
        answered = Answered(exact.usd_per_month, 0.97 * exact.bound_usd_per_month, 0.03)
        found = rule_prices(case.spec, answered, workers)
        from planner.explain.rule_prices import priced_rules

        rules = {r.id: r for r in priced_rules(case.spec, workers)}
    for p in found:
        check_arithmetic(p)
        lifted = desk.best(rules[p.rule].lift(case.spec), 1e-6)
        assert lifted.usd_per_month is not None
        true = exact.usd_per_month - lifted.usd_per_month
        slack = 1e-5 * exact.usd_per_month + 0.01
        assert p.low_usd_per_month - slack <= true <= p.high_usd_per_month + slack
    event(" ".join(sorted({p.verdict for p in found})))
    ordered = [p.verdict for p in sorted_prices(found)]
    assert ordered == sorted(ordered, key=("costs", "not_resolved", "free").index)
