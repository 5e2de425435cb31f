"""An infeasible spec: conflicts, smallest changes that make it feasible, and changes that do not help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st

from planner.cli.run import Loaded
from planner.explain.diagnose import explain_infeasible
from planner.explain.edits import demand_rule, lift_all, stated_rules
from planner.explain.relax import Narrowed
from planner.explain.types import IDLE, Infeasibility
from planner.explain.whatif import Clock, WhatIf
from planner.report.table import conflict_lines
from planner.solve.engine import SolverChild
from planner.solve.programme import CompiledProgramme
from planner.solve.types import SolveOptions
from planner.spec.types import Budget, Quota, Spec
from tests import strategies as s

Read = Callable[[dict[str, Any] | str], Loaded]


def diagnose(spec: Spec, whatif: WhatIf) -> tuple[Infeasibility, tuple[Narrowed, ...]]:
    compiled = CompiledProgramme.of(whatif.problem(spec), whatif.catalog).compiled
    return explain_infeasible(spec, compiled, whatif, SolveOptions(time_limit_s=10.0))


def check_relaxation(n: Narrowed, whatif: WhatIf) -> None:
    """It solves for what it says; one unit, or one name, less does not (a cheap one: not for that money)."""
    whatif.clock = Clock(60.0)
    reply = whatif.best(n.spec, 1e-6)
    assert reply.usd_per_month == pytest.approx(n.usd_per_month, rel=2e-3, abs=0.01)
    assert reply.solution is not None
    assert reply.solution.check.ok
    for text, less in n.one_less:
        tried = whatif.best(less(), 1e-6)
        if n.cost_limit is None:
            assert tried.status != "planned", text
        else:
            assert tried.bound_usd_per_month > n.cost_limit - 1e-6 * n.cost_limit, text


# ---- the scenario ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eleven(read: Read, child: SolverChild) -> tuple[Loaded, WhatIf, Infeasibility, tuple[Narrowed, ...]]:
    loaded = read("scenarios/s11-infeasible.yaml")
    whatif = WhatIf(loaded.catalog, child, Clock(60.0))
    return (loaded, whatif, *diagnose(loaded.spec, whatif))


def test_three_conflicts_are_named_and_independent(eleven: Any) -> None:
    _, _, told, _ = eleven
    by_family = {c.family: c for c in told.conflicts}
    assert set(by_family) == {"memory", "ttft", "budget"}
    rules = [r for c in told.conflicts for r in c.rules]
    assert len(rules) == len(set(rules)) == 3
    # 94.5 GiB of weights, overhead and one longest request on each of eight cards; 0.9 of 79.2 GiB
    memory = by_family["memory"]
    assert (memory.unit, memory.short_by) == ("GiB per accelerator", pytest.approx(99.8 - 71.3, abs=0.2))
    assert by_family["budget"].short_by == pytest.approx(8 * 2.20 * 730 - 5000, abs=1.0)
    # 64,000 tokens at 1,481 tokens/s take 43 s before anything waits
    assert (by_family["ttft"].short_by or 0) + 200 > 45_000
    assert told.complete


def test_the_one_set_of_changes_suffices_and_is_smallest(eleven: Any) -> None:
    _, whatif, told, narrowed = eleven
    (relaxation,) = told.relaxations
    assert relaxation.total_usd_per_month == pytest.approx(12848.0)
    changes = {c.rule.split(" ")[0]: c for c in relaxation.edits}
    assert changes["precisions"].items == ("fp8",)
    assert changes["policy.budget"].to == 12848.0
    assert all(c.smallest for c in relaxation.edits)
    check_relaxation(narrowed[0], whatif)


def test_single_changes_that_do_not_help_are_told_with_what_remains(eleven: Any) -> None:
    loaded, whatif, told, _ = eleven
    rules = stated_rules(loaded.spec, loaded.catalog)
    for rule in rules:
        assert whatif.is_possible(rule.lift(loaded.spec)) is False
    assert len(told.no_help) == len(rules)
    (abroad,) = [n for n in told.no_help if "sovereignty.countries" in n]
    assert abroad.endswith(IDLE)
    (money,) = [n for n in told.no_help if n.startswith("drop policy.budget")]
    assert "slo.ttft_p95_ms" in money
    assert "precisions" in money


def test_nearest_configurations_that_fit_are_named(eleven: Any) -> None:
    _, _, told, _ = eleven
    same, *others = told.nearest
    assert "/fp8/vllm/A100-SXM-80GB/tp8" in same
    assert "another precision on the same machines" in same
    assert others
    assert all("/bf16/" in o for o in others)


def test_everything_is_said_in_words(eleven: Any) -> None:
    text = "\n".join(conflict_lines(eleven[2]))
    for words in (
        "cannot be kept",
        "would suffice (3 changes)",
        "does not help at all",
        "alone does not help",
        "12,848",
    ):
        assert words in text


def test_one_change_may_end_all_conflicts(read: Read, child: SolverChild) -> None:
    """With an API outside the EU that counts as equal, allowing its country is enough."""
    loaded = read("scenarios/s11-api-outside.yaml")
    whatif = WhatIf(loaded.catalog, child, Clock(60.0))
    told, narrowed = diagnose(loaded.spec, whatif)
    first, second = told.relaxations
    assert [c.items for c in first.edits] == [("US",)]
    assert len(second.changes) == 3
    assert len(told.conflicts) == 3
    assert all(any(r.startswith("sovereignty.countries") for r in c.rules) for c in told.conflicts)
    for n in narrowed:
        check_relaxation(n, whatif)


# ---- other kinds ----------------------------------------------------------------------------------------------------


def test_no_plan_inside_the_budget_says_what_the_cheapest_costs(read: Read, child: SolverChild) -> None:
    loaded = read("scenarios/s01-eu-health-chat.yaml")
    spec = loaded.spec.model_copy(
        update={"policy": loaded.spec.policy.model_copy(update={"budget": Budget(usd_per_month=14000)})}
    )
    whatif = WhatIf(loaded.catalog, child, Clock(30.0))
    told, narrowed = diagnose(spec, whatif)
    budget = next(r for r in told.relaxations if [e.rule for e in r.edits] == ["policy.budget"])
    assert budget.edits[0].to == 14600.0
    assert budget.total_usd_per_month == pytest.approx(14600.0)
    # three replicas without the spare are 10,950
    spare = next(r for r in told.relaxations if r.edits[0].rule.startswith("resilience.spare"))
    assert spare.total_usd_per_month == pytest.approx(10950.0)
    assert {c.family for c in told.conflicts} == {"budget"}
    for n in narrowed:
        check_relaxation(n, whatif)


def test_demand_is_given_up_last(read: Read, child: SolverChild) -> None:
    """Of five machines at the peak one reserved one is to be had: 1.041 of 4.756 req/s, in whole hundredths 21 %."""
    loaded = read("scenarios/s06-self-hosted.yaml")
    catalog = replace(
        loaded.catalog, offers=tuple(o.model_copy(update={"max_instances": 1}) for o in loaded.catalog.offers)
    )
    whatif = WhatIf(catalog, child, Clock(30.0))
    told, narrowed = diagnose(loaded.spec, whatif)
    (relaxation,) = told.relaxations
    (change,) = relaxation.edits
    assert change.rule == "demand"
    assert change.to == pytest.approx(0.21)
    check_relaxation(narrowed[0], whatif)


@settings(max_examples=6, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(s.rich_cases(), st.sampled_from(["budget", "quota", "both"]), st.floats(0.3, 0.9))
def test_every_relaxation_solves_and_one_unit_less_does_not(
    child: SolverChild, case: s.Case, kind: str, tightness: float
) -> None:
    case = s.Case(case.spec.model_copy(update={"workloads": case.spec.workloads[:1]}), case.catalog)
    whatif = WhatIf(case.catalog, child, Clock(60.0))
    free = whatif.best(
        case.spec.model_copy(update={"policy": case.spec.policy.model_copy(update={"budget": None})}), 1e-6
    )
    assume(free.usd_per_month is not None)
    assert free.usd_per_month is not None
    policy = case.spec.policy
    if kind != "quota":
        policy = policy.model_copy(update={"budget": Budget(usd_per_month=round(tightness * free.usd_per_month))})
    if kind != "budget":
        policy = policy.model_copy(update={"quotas": (*policy.quotas, Quota(limit=1.0))})
    spec = case.spec.model_copy(update={"policy": policy})
    assume(whatif.is_possible(spec) is False)
    told, narrowed = diagnose(spec, whatif)
    event(f"{len(told.conflicts)} conflicts, {len(told.relaxations)} relaxations")
    assert told.conflicts
    assert told.relaxations
    rules = {r.id: r for r in [*stated_rules(spec, case.catalog), demand_rule(spec)]}
    for n in narrowed:
        check_relaxation(n, whatif)
        assert whatif.is_possible(lift_all(spec, n.rules)) is True
        for left_out in n.rules if len(n.rules) > 1 else ():
            assert whatif.is_possible(lift_all(spec, [r for r in n.rules if r is not left_out])) is False
    for conflict in told.conflicts:
        kept = [r for id_, r in rules.items() if id_ not in conflict.rules and id_ != "demand"]
        if "demand" not in conflict.rules:
            assert whatif.is_possible(lift_all(spec, kept)) is False
