"""When things run, how sure the money is, what the notes say."""

from dataclasses import replace

import pytest

from planner.report.detail import margin_lines
from planner.report.explain import plan_text
from planner.report.result import build_result
from planner.report.table import result_table
from planner.report.types import PolicyView, Result, SliceView
from planner.report.words import certainty, changes, when
from planner.spec.types import Budget
from tests.report import sample

DAY = [
    SliceView(id="q1.s1", quarter=1, label="22–06 UTC", hours_per_month=240, order=0),
    SliceView(id="q1.s2", quarter=1, label="06–08, 16–22 UTC", hours_per_month=240, order=1),
    SliceView(id="q1.s3", quarter=1, label="08–16 UTC", hours_per_month=240, order=2),
]


def result(**fields: object) -> Result:
    return build_result(sample.answer()).model_copy(update=fields)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 1, 2), "2 at 08–16 UTC; 1 at 06–08, 16–22 UTC; else 0"),
        ((0, 1, 1), "1 at 06–22 UTC; else 0"),
        ((1, 1, 2), "2 at 08–16 UTC; 1 at 16–08 UTC"),
        ((1, 1, 1), "1 at all hours"),
    ],
)
def test_hours_of_equal_counts_are_merged(counts: tuple[int, ...], text: str) -> None:
    assert when({s.id: n for s, n in zip(DAY, counts, strict=True)}, DAY) == text


def test_labels_that_are_no_hours_of_the_day_are_listed() -> None:
    week = [s.model_copy(update={"label": f"Mon–Fri {s.label}"}) for s in DAY]
    assert when({"q1.s1": 0, "q1.s2": 3, "q1.s3": 3}, week) == (
        "3 at Mon–Fri 06–08, 16–22 UTC and Mon–Fri 08–16 UTC; else 0"
    )


def test_changes_name_purchases_and_only_deployments_that_do_not_follow_them() -> None:
    made = result()
    plan = made.plans[0]
    assert changes(plan, made.slices) == ["eurocloud/eu-north1/gpu-2x/spot: 1 at day; else 0"]
    firm, spot = plan.deployments
    moving = firm.model_copy(update={"replicas_by_slice": {"q1-day": 2, "q1-night": 1}})
    lines = changes(plan.model_copy(update={"deployments": (moving, spot)}), made.slices)
    assert lines[1:] == ["replicas of llama-3.3-70b-instruct TP2 on H100-SXM: 2 at day; 1 at night"]
    assert changes(plan, made.slices, most=0) == ["and 1 more"]


def test_certainty_names_prices_that_nobody_published() -> None:
    plan = result().plans[0]
    listed = plan.model_copy(
        update={"purchases": tuple(p.model_copy(update={"confidence": "list"}) for p in plan.purchases), "gap": 0.0}
    )
    assert certainty(listed) == "proven cheapest at these prices; speeds are estimates"
    derived = plan.model_copy(
        update={"purchases": (plan.purchases[0], plan.purchases[1].model_copy(update={"confidence": "derived"}))}
    )
    assert "55 % of the cost is at assumed prices, 18 % at derived prices" in certainty(derived)


def test_money_of_spot_is_explained() -> None:
    text = " ".join(result_table(result()).split())
    assert (
        "spot is there 90 % of the time; included for the rest: eurocloud/eu-north1/gpu-2x/on_demand at 6.00 USD/h"
        in text
    )


def test_budget_is_compared_with_the_cost() -> None:
    made = sample.answer()
    policy = made.spec.policy.model_copy(update={"budget": Budget(usd_per_month=60000)})
    text = result_table(build_result(replace(made, spec=made.spec.model_copy(update={"policy": policy}))))
    assert "5,320 of 60,000 USD/month budget" in text
    cash = PolicyView(budget_usd_per_month=60000, budget_basis="cash")
    assert "5,320 of 60,000 USD/month budget (cash)" in result_table(result(policy=cash))
    assert "budget" not in result_table(result())


def test_spot_capacity_above_the_limit_has_a_note() -> None:
    assert "spot capacity counts" not in result_table(result())
    above = result(policy=PolicyView(max_spot_share=0.2))
    assert "the limit of 20 % is on the demand" in " ".join(result_table(above).split())


def test_slices_are_called_by_their_labels_where_something_binds() -> None:
    made = result()
    plan = made.plans[0]
    limit = plan.explanation.binding[0].model_copy(update={"keys": ("chat", "q1-night")})
    explanation = plan.explanation.model_copy(update={"binding": (limit,)})
    slices = tuple(s.model_copy(update={"label": "20–06 UTC"}) for s in made.slices)
    text = result_table(made.model_copy(
        update={"plans": (plan.model_copy(update={"explanation": explanation}),), "slices": slices}
    ))  # fmt: skip
    assert "chat, 20–06 UTC (1 of 1 replicas)" in " ".join(text.split())


def test_margins_show_the_values_of_the_spec() -> None:
    text = result_table(result())
    assert "forecast margin 1.25 → capacity ×0.80" in text
    assert "estimate quantile P70 → capacity ×0.90" in text
    assert "target utilisation 0.9 → capacity" in text
    made = result().plans[0].explanation.headroom[0]
    measured = made.model_copy(update={
        "config": "m/fp8/vllm/L4/tp1", "factors": {"forecast_margin": 0.8, "target_utilization": 0.7}
    })  # fmt: skip
    lines = margin_lines([made, measured])
    assert lines[0] == "forecast margin 1.25 → capacity ×0.80"
    assert lines[1] == "estimate quantile P70 → capacity ×0.90 (vllm H100-SXM tp2)"


def test_ties_share_a_rank_and_every_plan_has_its_own_headline() -> None:
    made = result()
    second = made.plans[0].model_copy(update={"rank": 1, "tie": True, "title": "Operated by EU"})
    third = made.plans[0].model_copy(
        update={"rank": 3, "title": "Dear", "cost": made.plans[0].cost.model_copy(update={"total_usd_per_month": 9e3})}
    )
    tied = made.model_copy(update={"plans": (made.plans[0], second, third)})
    table = result_table(tied).split("Ranked plans")[1].splitlines()[3:6]
    assert [line.split()[0] for line in table] == ["1", "1", "3"]
    head = " ".join(plan_text(tied, 3, "table").split("\n\n")[0].split())
    assert "9,000 USD/month, +69 % against the cheapest" in head
    assert "5,320" not in head


def test_place_of_a_deployment_is_shown() -> None:
    text = result_table(result())
    deploy = text[text.index("\nDeploy\n") : text.index("\nWhen\n")]
    assert deploy.count("eurocloud/eu-north1") == 2
