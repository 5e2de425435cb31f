"""Every spec in problems/ gives what problems/expected.yaml says; the handed scenarios also what an expert expects."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.problems.answers import MONTH_H, PROBLEMS, Answer, Desk, accelerators, used

EXPECTED: dict[str, dict[str, Any]] = YAML(typ="safe").load((PROBLEMS / "expected.yaml").read_text(encoding="utf-8"))
LARGE = {"quickstart.yaml", "two-classes.yaml", "example.yaml"}
"""Over the whole catalog: tens of seconds on a busy machine."""
KEYS = {
    "exit", "usd", "within", "plans", "plans_usd", "accelerators", "option", "model", "api_usd", "countries_within",
    "refused", "baselines", "break_even_mtok", "equal_price", "spare_binds", "risks", "gap", "conflict",
}  # fmt: skip


def test_every_spec_has_an_expected_answer() -> None:
    specs = {str(p.relative_to(PROBLEMS)) for p in PROBLEMS.rglob("*.yaml")} - {"expected.yaml"}
    assert specs == set(EXPECTED)
    for name, expected in EXPECTED.items():
        assert set(expected) <= KEYS, name
        assert expected["exit"] in (0, 3)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in sorted(EXPECTED)]
)
def test_answer_of(name: str, desk: Desk) -> None:
    expected = EXPECTED[name]
    answer = desk.file(PROBLEMS / name, **{k: v for k, v in expected.items() if k == "gap"})
    assert answer.code == expected["exit"]
    assert all(p["verified"] for p in answer.result["plans"])
    assert bool(answer.result["plans"]) == (answer.code == 0)
    if answer.code == 0:
        check_winner(answer.best, expected)
        check_money(answer, expected)
        check_table(answer)
        check_explanation(answer, expected)
    else:
        check_conflicts(answer, expected)
    check_lists(answer, expected)


def check_winner(best: dict[str, Any], expected: dict[str, Any]) -> None:
    cost = best["cost"]
    assert best["bound_usd_per_month"] <= cost["judged_usd_per_month"] * (1 + 1e-5)
    if "usd" in expected:
        assert cost["total_usd_per_month"] == pytest.approx(expected["usd"], rel=expected.get("within", 0.001))
        assert best["gap"] <= expected.get("gap", 0.001) + 1e-9
    if "api_usd" in expected:
        assert cost["terms"]["api"] == pytest.approx(expected["api_usd"], rel=0.001)
    if "accelerators" in expected:
        assert accelerators(best) == expected["accelerators"]
    if "option" in expected:
        assert {p["purchase_option"] for p in best["purchases"]} == {expected["option"]}
    if "model" in expected:
        assert used(best, "model") == {expected["model"]}


def check_table(answer: Answer) -> None:
    """Beside a plan stands its own bill, also where plans are judged over more than the horizon."""
    for plan in answer.result["plans"]:
        assert plan["axes"]["api_usd_per_month"] == pytest.approx(plan["cost"]["terms"].get("api", 0.0), rel=1e-5)


def check_money(answer: Answer, expected: dict[str, Any]) -> None:
    others = [p["cost"]["total_usd_per_month"] for p in answer.result["plans"][1:]]
    for usd in expected.get("plans_usd", []):
        assert any(o == pytest.approx(usd, rel=0.001) for o in others), f"no further plan costs {usd}: {others}"
    for name, usd in expected.get("baselines", {}).items():
        assert answer.baselines[name] == (None if usd is None else pytest.approx(usd, rel=0.001)), name
    if "break_even_mtok" in expected:
        wanted = expected["break_even_mtok"]
        (flip,) = answer.flips("api_volume")
        assert flip["at"] == (None if wanted is None else pytest.approx(wanted * 1e6, rel=0.001))
    for api, usd in expected.get("equal_price", {}).items():
        (flip,) = [f for f in answer.flips("api_price") if f"all by {api} " in f["text"]]
        assert flip["at"] == pytest.approx(usd, rel=0.001)


def check_explanation(answer: Answer, expected: dict[str, Any]) -> None:
    told = answer.best["explanation"]
    if "spare_binds" in expected:
        assert ("spare" in {b["family"] for b in told["binding"]}) is expected["spare_binds"]
    assert set(expected.get("risks", [])) <= {r["kind"] for r in told["risks"]}


def check_conflicts(answer: Answer, expected: dict[str, Any]) -> None:
    conflicts = answer.result["infeasibility"]["conflicts"]
    assert conflicts
    if "conflict" in expected:
        wanted = expected["conflict"]
        (found,) = conflicts
        words = " ".join((found["family"], *found["keys"], *found["classes"]))
        assert all(word in words for word in wanted["names"]), words
        assert found["short_by"] == pytest.approx(wanted["short_by"])
        assert found["unit"] == wanted["unit"]


def check_lists(answer: Answer, expected: dict[str, Any]) -> None:
    result = answer.result
    assert len(result["plans"]) >= expected.get("plans", 0)
    if "countries_within" in expected:
        from planner.catalog.load import load_catalog

        allowed = load_catalog().countries((expected["countries_within"],))
        assert {p["country"] for plan in result["plans"] for p in plan["purchases"]} <= allowed
    for name, check in expected.get("refused", {}).items():
        assert check in {c["check"] for c in answer.checks(name)}, f"{name} is not refused by {check}"


# --- what an expert expects of the handed scenarios ------------------------------------------------------------------


def scenario(desk: Desk, name: str) -> Answer:
    return desk.file(PROBLEMS / "scenarios" / f"{name}.yaml")


def test_scenario_1_the_rule_costs_4088_a_month_on_demand_and_nothing_reserved(desk: Desk) -> None:
    eu, anywhere = scenario(desk, "s01-eu-on-demand"), scenario(desk, "s01-anywhere-on-demand")
    assert eu.usd - anywhere.usd == pytest.approx(4088, abs=1)
    assert {p["country"] for p in anywhere.best["purchases"]} == {"US"}
    assert scenario(desk, "s01-eu-health-chat").usd < anywhere.usd


def test_scenario_1_four_replicas_of_two_of_which_one_is_spare(desk: Desk) -> None:
    (deployment,) = scenario(desk, "s01-eu-health-chat").best["deployments"]
    assert (deployment["tensor_parallel"], set(deployment["replicas_by_slice"].values())) == (2, {4})
    assert deployment["predicted"]["capacity_req_per_s_per_replica"] == pytest.approx(2.53, abs=0.01)
    assert deployment["predicted"]["kv_tokens"] == pytest.approx(219_000, rel=0.01)
    assert deployment["predicted"]["provenance"] == "measured"


def test_scenario_1_time_binds_and_memory_does_not(desk: Desk) -> None:
    (deployment,) = scenario(desk, "s01-eu-health-chat").best["deployments"]
    chats = deployment["predicted"]["kv_tokens"] // 1850
    assert chats == pytest.approx(118, abs=1)
    in_flight_per_replica = 6 / 3 * (2 + 350 * 0.06)
    assert in_flight_per_replica < chats / 2


def test_scenario_1_one_h100_holds_the_weights_and_not_the_longest_chat(desk: Desk) -> None:
    (check,) = [c for c in scenario(desk, "s01-eu-health-chat").checks("/vllm/H100-SXM/tp1") if c["check"] == "memory"]
    assert check["kind"] == "physical"
    assert check["unit"].startswith("GiB")
    assert check["had"] == pytest.approx(0.9 * 79.2, abs=0.01)
    weights_gib, longest_gib = 67.7, 16000 * 327680 / 2**30
    assert check["needed"] == pytest.approx(weights_gib + longest_gib, abs=2.5)


def test_scenario_1_no_plan_or_baseline_leaves_the_eu_by_api(desk: Desk) -> None:
    answer = scenario(desk, "s01-eu-health-chat")
    assert all(p["api"] == [] for p in answer.result["plans"])
    (check,) = answer.checks("api us-api")
    assert (check["check"], check["kind"], check["needed"], check["had"]) == ("country", "policy", "EU", "US")


def test_scenario_5_no_machine_is_rounded_up_to(desk: Desk) -> None:
    answer = scenario(desk, "s05-startup")
    assert answer.best["purchases"] == []
    l4 = 0.70 * MONTH_H
    assert min(p["cost"]["total_usd_per_month"] for p in answer.result["plans"][1:]) == pytest.approx(l4)
    assert l4 / answer.usd > 15
    (flip,) = answer.flips("api_volume")
    assert flip["at"] == pytest.approx(l4 / 27 * 40e6)
    assert flip["now"] == pytest.approx(40e6)


def test_scenario_6_all_or_nothing_is_b_then_hosting_then_a(desk: Desk) -> None:
    a, b = scenario(desk, "s06-api-a"), scenario(desk, "s06-api-b")
    hosting = scenario(desk, "s06-self-hosted").usd
    assert b.baselines["all_api"] < hosting < a.baselines["all_api"]  # type: ignore[operator]
    assert hosting / 5000 == pytest.approx(3.07, abs=0.01)  # USD per M tokens out, its 3 M in included


def test_scenario_6_pure_hosting_flips_where_five_replicas_cost_the_same(desk: Desk) -> None:
    """15,330 USD over 20 G tokens: 0.7665 USD/M of the mix, 57 % of A's price and 114 % of B's."""
    for name, share in (("s06-api-a", 15330 / 27000), ("s06-api-b", 15330 / 13500)):
        (flip,) = scenario(desk, name).flips("api_price")
        assert flip["at"] / flip["now"] == pytest.approx(share, rel=1e-4)
        assert flip["usd_per_month_at"] == pytest.approx(15330)


@pytest.mark.parametrize(
    ("api", "usd_of_replicas"), [("a", {2: 13865, 3: 13065, 4: 13670}), ("b", {1: 10624, 2: 9999, 3: 11131})]
)
def test_scenario_6_neighbours_of_the_winner_cost_more(desk: Desk, api: str, usd_of_replicas: dict[int, float]) -> None:
    """Fewer commitments and less API are axes: with room in `within` both neighbours are ranked."""
    spec = YAML(typ="safe").load((PROBLEMS / "scenarios" / f"s06-api-{api}.yaml").read_text(encoding="utf-8"))
    ranked = desk.spec(spec, within=0.12).result["plans"]
    found = {p["axis"]: (accelerators(p).get("H100-SXM", 0) // 2, p["cost"]["total_usd_per_month"]) for p in ranked}
    for axis, (replicas, usd) in zip(
        ("least_committed", "cheapest", "least_api"), usd_of_replicas.items(), strict=True
    ):
        assert found[axis] == (replicas, pytest.approx(usd, rel=0.001)), axis


def test_scenario_7_eight_h100_do_not_hold_the_model_whatever_is_active(desk: Desk) -> None:
    (check,) = scenario(desk, "s07-671b-tp8").checks("deepseek-r1/fp8/vllm/H100-SXM/tp8")[:1]
    assert (check["check"], check["kind"], check["unit"]) == ("memory", "physical", "GiB per accelerator")
    assert check["had"] == pytest.approx(71.3, abs=0.1)
    assert 79 < check["needed"] < 90


def test_scenario_7_the_cache_of_eight_h200_is_that_of_one_rank(desk: Desk) -> None:
    (deployment,) = scenario(desk, "s07-671b-dp-ep").best["deployments"]
    assert deployment["predicted"]["kv_tokens"] == pytest.approx(620_000, rel=0.05)


def test_scenario_7_the_node_pays_at_94_or_at_39_percent(desk: Desk) -> None:
    node, price_per_m_out = 8 * 4.06 * MONTH_H, 3 * 0.55 + 2.19
    assert node == pytest.approx(23_700, rel=0.001)
    assert price_per_m_out == pytest.approx(3.84)
    for name, tok_per_s, share in (("s07-671b-tp8", 2500, 0.94), ("s07-671b-dp-ep", 6000, 0.39)):
        (flip,) = scenario(desk, name).flips("api_volume")
        full = tok_per_s * MONTH_H * 3600 * 4  # 3 M in with every M out
        assert flip["at"] / full == pytest.approx(share, abs=0.01)


def test_scenario_7_a_split_over_32_is_invalid_and_over_16_valid() -> None:
    from planner.catalog.load import load_catalog
    from planner.performance.support import parallelism_checks
    from planner.performance.types import EngineConfig

    catalog = load_catalog()
    failed = {}
    for degree in (16, 32):
        config = EngineConfig(
            model="deepseek-r1", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM",
            tensor_parallel=degree,
        )  # fmt: skip
        rules = parallelism_checks(
            config, catalog.model("deepseek-r1"), catalog.engine("vllm"), catalog.precision("fp8")
        )
        failed[degree] = {c.check for c in rules}
    assert failed == {16: set(), 32: {"tensor_parallel_splits_intermediate", "tensor_parallel_splits_moe_intermediate"}}


def test_scenario_9_owned_cards_come_first_at_little_cost(desk: Desk) -> None:
    answer = scenario(desk, "s09-owned-rtx-4090")
    assert {p["provider"] for p in answer.best["purchases"]} == {"owned"}
    assert 0 < answer.best["cost"]["terms"]["owned"] <= 8 * 0.07 * MONTH_H * (1 + 1e-5)
    assert answer.usd < answer.baselines["all_api"] / 5  # type: ignore[operator]
    assert cards(answer.best) == 6  # about 70 % of eight


def cards(plan: dict[str, Any]) -> int:
    """Cards that replicas stand on in the fullest slice."""
    slices = plan["deployments"][0]["replicas_by_slice"]
    return max(sum(d["replicas_by_slice"][s] * d["tensor_parallel"] for d in plan["deployments"]) for s in slices)


def test_scenario_9_overflow_goes_to_the_api_and_not_to_rented_machines(desk: Desk) -> None:
    spec = YAML(typ="safe").load((PROBLEMS / "scenarios" / "s09-owned-rtx-4090.yaml").read_text(encoding="utf-8"))
    spec["workloads"][0] |= {"models": ["qwen3-30b-a3b"], "precisions": ["fp8"]}
    spec["workloads"][0]["traffic"]["peak_req_per_s"] = 30
    best = desk.spec(spec, top=1).best
    assert {p["provider"] for p in best["purchases"]} == {"owned"}
    assert cards(best) == 8
    assert best["cost"]["terms"]["api"] > 0


def test_scenario_9_the_mixture_of_experts_comes_before_the_dense_models(desk: Desk) -> None:
    plans = scenario(desk, "s09-owned-rtx-4090").result["plans"]
    order = [model for p in plans for model in sorted(used(p, "model"))]
    first = {model: order.index(model) for model in order}
    assert first["qwen3-30b-a3b"] == 0 < first["qwen2.5-32b-instruct"]
    assert first["qwen2.5-32b-instruct"] < first.get("llama-3.3-70b-instruct", len(order))


def test_scenario_9_two_cards_hold_far_more_of_the_mixtures_cache(desk: Desk) -> None:
    tokens = {
        d["model"]: d["predicted"]["kv_tokens"]
        for p in scenario(desk, "s09-owned-rtx-4090").result["plans"]
        for d in p["deployments"]
        if (d["precision"], d["tensor_parallel"]) == ("fp8", 2)
    }
    assert tokens["qwen2.5-32b-instruct"] == pytest.approx(18_000, rel=0.15)
    assert tokens["qwen3-30b-a3b"] > 3 * tokens["qwen2.5-32b-instruct"]


def test_scenario_9_free_machines_are_only_owned_ones(desk: Desk) -> None:
    """A price of zero is refused in a catalog and accepted where the machines are one's own."""
    from planner.errors import InputError

    spec = YAML(typ="safe").load((PROBLEMS / "scenarios" / "s09-owned-rtx-4090.yaml").read_text(encoding="utf-8"))
    spec["workloads"][0] |= {"models": ["qwen3-30b-a3b"], "precisions": ["fp8"]}
    spec["fleet"]["owned"][0]["usd_per_used_hour"] = 0
    assert desk.spec(spec, top=1).best["cost"]["terms"]["owned"] == 0
    spec["catalog"]["overlays"][0]["offers"] = [
        {"provider": "cloud", "region": "r", "country": "DE", "accelerator": "RTX-4090", "accelerators": 8,
         "prices": {"on_demand": 0}}
    ]  # fmt: skip
    with pytest.raises(InputError) as refused:
        desk.spec(spec)
    assert {f.code for f in refused.value.faults} == {"C108"}


def test_scenario_10_what_is_sunk_is_used_first_and_h100_are_not_renewed(desk: Desk) -> None:
    """B200 come a quarter later: until then the H100 that expire are bridged by the hour, then none of them is kept."""
    best = desk.file(PROBLEMS / "scenarios" / "s10-quarterly-review.yaml", gap=0).best
    held = [p for p in best["purchases"] if p["existing"]]
    assert {(p["accelerator"], p["usd_per_month"], p["tentative"]) for p in held} == {
        ("H100-SXM", 0.0, False), ("A100-SXM-80GB", 0.0, False)
    }  # fmt: skip
    paid = [p for p in best["purchases"] if not p["existing"]]
    before = {s for p in held for s in p["instances_by_slice"] if s.startswith("q1a.")}
    assert before
    assert all(p["instances_by_slice"][s] == 0 for p in paid for s in before)
    assert {p["purchase_option"] for p in paid if p["accelerator"] == "H100-SXM"} == {"on_demand"}
    reserved = [p for p in paid if p["purchase_option"] == "reserved_1y"]
    assert [(p["accelerator"], p["start_quarter"], p["tentative"]) for p in reserved] == [("B200-SXM", 2, True)]
    assert (reserved[0]["start_date"], reserved[0]["end_date"]) == ("2027-04-01", "2028-04-01")
    assert {p["end_date"] for p in held} == {"2027-02-15", "2028-01-01"}
    assert best["cost"]["terms"]["sunk"] == pytest.approx((33.6 * 1.5 + 11.2 * 12) * MONTH_H / 12, rel=0.01)


def test_scenario_10_the_work_grows_by_176_percent_a_quarter(desk: Desk) -> None:
    result = desk.file(PROBLEMS / "scenarios" / "s10-quarterly-review.yaml", gap=0).result
    hours = {s["id"]: (s["quarter"], s["hours_per_month"]) for s in result["slices"]}
    volume = dict.fromkeys((1, 2, 3, 4), 0.0)
    for row in result["demand"]:
        quarter, h = hours[row["slice"]]
        volume[quarter] += h * row["mean_req_per_s"]
    assert volume[2] / volume[1] == pytest.approx(1.2075**3, rel=1e-4)
    assert volume[3] / volume[1] == pytest.approx(1.2075**6, rel=1e-4)


def test_oracle_8_waiting_for_the_newer_accelerator_is_worth_44(desk: Desk) -> None:
    usd = [desk.file(PROBLEMS / "oracles" / f"o08-{name}.yaml", gap=0).usd for name in ("no-waiting", "waiting")]
    assert (usd[0] - usd[1]) * 6 / MONTH_H == pytest.approx(44.0, rel=1e-3)


def test_oracle_1_says_how_well_its_commitments_are_used(desk: Desk) -> None:
    """Six of 4 to 20 are committed: 928 of 1,008 hours a week used, 928 of 1,244 covered, 3,280 USD for 4,976."""
    cost = desk.file(PROBLEMS / "oracles" / "o01-load-duration-commit.yaml", gap=0).best["cost"]
    assert cost["commitment_utilization"] == pytest.approx(928 / 1008, rel=1e-5)
    assert cost["commitment_coverage"] == pytest.approx(928 / 1244, rel=1e-5)
    assert cost["effective_savings_rate"] == pytest.approx(1 - 3280 / 4976, rel=1e-5)
    assert cost["cash_by_month"] == pytest.approx([cost["total_usd_per_month"]] * 3, rel=1e-5)
