"""The JSON of DESIGN §8: its names, its numbers, its bytes."""

import json
import math

import pytest

from planner.report.result import build_result, result_json
from planner.report.types import Result
from tests.report import sample


def test_contract_names_are_all_there() -> None:
    tree = json.loads(result_json(build_result(sample.answer())))
    assert set(tree) >= {
        "schema_version", "status", "deterministic", "provenance", "slices", "scenarios", "demand", "plans",
        "baselines", "rejected", "infeasibility",
    }  # fmt: skip
    assert (tree["schema_version"], tree["status"], tree["scenarios"]) == ("1", "planned", [])
    assert set(tree["provenance"]) == {
        "planner", "ortools", "solver", "seed", "limits", "spec_sha256", "catalog", "assumptions"
    }  # fmt: skip
    assert set(tree["provenance"]["catalog"]) == {"name", "as_of", "sha256"}
    assert set(tree["slices"][0]) == {"id", "quarter", "label", "hours_per_month", "order"}
    assert set(tree["demand"][0]) == {"workload", "class", "slice", "mean_req_per_s", "sizing_req_per_s"}
    plan = tree["plans"][0]
    assert set(plan) >= {
        "rank", "axis", "title", "verified", "cost", "bound_usd_per_month", "gap", "purchases", "deployments", "api",
        "explanation",
    }  # fmt: skip
    assert set(plan["cost"]) == {
        "total_usd_per_month", "terms", "by_quarter", "total_horizon_usd", "liability_beyond_horizon_usd",
        "usd_per_million_tokens", "cash_usd_per_month", "cash_by_quarter", "judged_usd_per_month", "cash_by_month",
        "commitment_coverage", "commitment_utilization", "effective_savings_rate",
    }  # fmt: skip
    assert set(plan["cost"]["terms"]) >= {
        "reserved", "on_demand", "spot", "owned", "power", "api", "egress", "ops_overhead", "sunk"
    }  # fmt: skip
    assert set(plan["purchases"][0]) == {
        "offer", "provider", "region", "zone", "country", "operator_jurisdiction", "instance_type", "accelerator",
        "accelerators_per_instance", "purchase_option", "term_months", "start_quarter", "start_month",
        "start_date", "end_date", "tentative",
        "existing", "instances_by_slice", "usd_per_hour", "usd_per_month", "source", "as_of", "confidence", "spot",
    }  # fmt: skip
    assert set(plan["deployments"][0]) == {
        "service", "workloads", "model", "precision", "kv_precision", "engine", "tensor_parallel", "pipeline_parallel",
        "expert_parallel", "accelerator", "pool", "spot", "replicas_by_slice", "max_num_seqs",
        "max_num_batched_tokens", "router", "predicted",
    }  # fmt: skip
    assert set(plan["deployments"][0]["predicted"]) == {
        "ttft_p95_ms", "tpot_p95_ms", "capacity_req_per_s_per_replica", "utilization_mean", "utilization_peak",
        "kv_tokens", "provenance", "error_band",
    }  # fmt: skip
    assert set(plan["api"][0]) == {
        "workload", "api", "provider", "mean_req_per_s_by_slice", "peak_req_per_s_by_slice", "usd_per_month",
        "countries", "operator_jurisdiction", "confidence",
    }  # fmt: skip
    assert set(plan["explanation"]) == {
        "binding", "rule_prices", "flips", "tornado", "robustness", "risks", "headroom",
    }  # fmt: skip
    assert set(tree["rejected"][0]) >= {"what", "checks", "count"}
    assert set(tree["rejected"][0]["checks"][0]) >= {"check", "kind", "needed", "had", "unit"}
    assert set(tree["baselines"][0]) == {"name", "cost", "failures", "proven"}


def test_numbers_are_the_verifications() -> None:
    result = build_result(sample.answer())
    plan, check = result.plans[0], sample.verification()
    assert plan.cost.total_usd_per_month == check.cost.total_usd_per_month
    assert sum(plan.cost.terms.values()) == pytest.approx(plan.cost.total_usd_per_month)
    assert plan.cost.total_horizon_usd == pytest.approx(3 * plan.cost.total_usd_per_month)
    assert sum(p.usd_per_month for p in plan.purchases) + sum(a.usd_per_month for a in plan.api) == pytest.approx(
        plan.cost.total_usd_per_month
    )
    assert plan.deployments[0].predicted.capacity_req_per_s_per_replica == 2.0
    assert plan.purchases[0].instances_by_slice == {"q1-day": 1, "q1-night": 1}
    assert plan.api[0].peak_req_per_s_by_slice == {"q1-day": 1.5, "q1-night": 0.0}
    assert plan.axes.committed_usd == 35040.0


def test_sizing_rate_includes_the_forecast_margin() -> None:
    assert build_result(sample.answer()).demand[0].sizing_req_per_s == 5.0 * 1.25


def test_plan_that_did_not_verify_is_never_shown() -> None:
    with pytest.raises(ValueError, match="did not verify: quota"):
        build_result(sample.answer(sample.broken()))


def test_numbers_have_six_significant_digits() -> None:
    text = result_json(build_result(sample.answer()))
    tree = json.loads(text)
    assert tree["plans"][0]["gap"] == 0.00123457
    assert tree["plans"][0]["cost"]["usd_per_million_tokens"]["chat"] == 1.23457
    assert "NaN" not in text
    assert "Infinity" not in text


def test_infinite_latency_is_null_not_infinity() -> None:
    check = sample.verification()
    worst = check.deliveries[0].model_copy(update={"tpot_p95_ms": math.inf})
    result = build_result(sample.answer(check.model_copy(update={"deliveries": (worst, check.deliveries[1])})))
    assert result.plans[0].deployments[0].predicted.tpot_p95_ms is None


def test_order_of_lists_changes_no_byte() -> None:
    answer = sample.answer()
    p, entry = answer.problem, answer.entries[0]
    plan, cost = entry.plan, entry.check.cost
    turned = answer.__class__(
        answer.spec, answer.catalog,
        p.model_copy(update={"rejected": p.rejected[::-1], "pools": p.pools[::-1]}), answer.status,
        answer.deterministic, answer.provenance,
        (entry.__class__(
            entry.rank, entry.axis, entry.also, entry.title, entry.buys, entry.tie,
            plan.model_copy(update={"purchases": plan.purchases[::-1], "deployments": plan.deployments[::-1]}),
            entry.check.model_copy(update={
                "cost": cost.model_copy(update={"purchases": cost.purchases[::-1]}),
                "deliveries": entry.check.deliveries[::-1],
            }),
            entry.explanation, entry.bound_usd_per_month, entry.gap, entry.axes,
        ),),
        answer.notes, answer.baselines,
    )  # fmt: skip
    assert result_json(build_result(turned)) == result_json(build_result(answer))


def test_json_reads_back_as_the_same_result() -> None:
    text = result_json(build_result(sample.answer()))
    assert result_json(Result.model_validate_json(text)) == text
