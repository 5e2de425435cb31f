"""Every handed public case is covered: by a test named here, by one of this file, or by a later issue with a reason.

`cases_handed.jsonl` holds records of public threads: start-up logs, parallelism rules, traps of solvers and of YAML,
arithmetic of money. `COVERED` says which test shows that the product does not fall into each of them.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.load import load_catalog
from planner.performance.memory import fits, memory_fit
from planner.performance.types import EngineConfig
from tests.problems.answers import ROOT, Desk, accelerators, used
from tests.problems.specs import machine, only, spec

CATALOG = load_catalog()


@dataclass(frozen=True)
class Later:
    """Belongs to something that the product does not do yet, and refuses rather than ignores."""

    why: str


FIT = "performance/test_fit.py::"
GOLD = (
    FIT + "test_handed_starts",
    "performance/test_memory.py::test_every_determined_start_gets_the_right_verdict",
    "performance/test_memory.py::test_weights_per_gpu_are_within_two_percent_of_the_logs",
    "performance/test_memory.py::test_kv_bytes_per_token_are_exact",
)
SPLIT = "performance/test_configs.py::test_a_split_that_engines_refuse_is_refused"
ADMITTED = "performance/test_configs.py::test_a_split_that_works_is_admitted"
SUPPORT = "performance/test_configs.py::test_precision_and_hardware_support_follow_the_catalog"
PCIE = "performance/test_assess.py::test_tensor_parallel_over_pcie_is_flagged_and_slower"
HERE = "problems/test_handed_cases.py::"
QUANTITIES = "spec/test_quantities.py::test_handed_yaml_cases_are_parsed_or_refused_and_never_zero"
SPELLINGS = "spec/test_quantities.py::test_documented_spellings"
REFUSED_SPELLINGS = "spec/test_quantities.py::test_refused_never_guessed"
TIMEOUT = "solve/test_engine.py::test_time_out_keeps_incumbent_and_bound"
CONFLICT = "formulation/test_compile.py::test_a_budget_that_is_too_small_is_named_with_the_missing_amount"

COVERED: dict[str, tuple[str, ...] | Later] = {
    # planning tools that erred
    "C01": (HERE + "test_c01_a_70b_in_fp8_with_16k_context_does_not_fit_one_h100",),
    "C02": ("performance/test_memory.py::test_pools_of_documented_engine_versions_are_close_to_the_logs",),
    "C03": ("catalog/test_shape.py::test_only_global_layers_of_gemma_3_grow_beyond_the_window",
            "catalog/test_shape.py::test_gemma_4_has_wider_heads_in_fewer_global_layers"),
    "C04": ("catalog/test_models.py::test_a_hybrid_keeps_16_gib_at_262144_tokens",),
    "C05": (HERE + "test_c05_c06_cache_bytes_count_kv_heads_and_bytes",),
    "C06": (HERE + "test_c05_c06_cache_bytes_count_kv_heads_and_bytes",),
    "C10": ("performance/test_memory.py::test_needs_rise_with_context_and_seats_and_fall_with_utilisation",),
    "C13": (HERE + "test_c13_a_7b_with_eight_sequences_fits_an_a40",),
    "D05": Later("growth of requests and of tokens per request, scenarios: refused as not supported yet (S401)"),
    "D06": GOLD[3:],
    "D08": ("explain/test_explain.py::test_headroom_is_one_product_with_the_margin_inside",),
    # start-up logs
    **{f"G{n:02}": GOLD for n in (
        1, 2, 7, 8, 11, 15, 16, 22, 24, 25, 27, 28, 30, 31, 32, 33, 34, 36, 39, 41, 42, 43, 45, 47, 49, 52, 53, 54, 56,
        57, 59, 63, 65, 67,
    )},
    # money
    "K04": (HERE + "test_k04_a_break_even_says_what_it_rests_on",),
    "K07": (HERE + "test_k07_a_commitment_pays_above_the_price_ratio",),
    "K08": Later("commitments that exist already (fleet.commitments): refused as not supported yet (S401)"),
    "K09": ("verify/test_checks.py::test_spot_limit_wants_enough_served_without_spot",
            HERE + "test_k09_k10_half_on_spot_saves_30_percent_and_keeps_a_firm_floor"),
    "K10": (HERE + "test_k09_k10_half_on_spot_saves_30_percent_and_keeps_a_firm_floor",),
    "K12": (HERE + "test_k12_a_price_without_capacity_is_no_offer",),
    # catalog
    "K15": ("catalog/test_load.py::test_spot_that_is_no_discount_is_flagged_and_not_usable",
            "catalog/test_overlay.py::test_spot_is_flagged_exactly_where_it_is_no_discount"),
    "K16": ("problems/test_seed_systems.py::test_every_purchase_option",
            "formulation/test_compile.py::test_fallback_spot_pays_on_demand_while_it_is_away"),
    "K18": ("spec/test_schema.py::test_every_field_is_described",
            "spec/test_fields.py::test_workload_fields"),
    # performance
    "P02": Later("start-up time of replicas (scale_rate) and replay of a trace"),
    "P05": (PCIE,),
    "P06": (HERE + "test_p06_a_small_model_is_replicated_and_not_split",),
    "P07": (PCIE,),
    "P08": (HERE + "test_p08_capacity_depends_on_the_length_of_prompts",),
    "P09": ("performance/test_assess.py::test_a_first_token_that_cannot_be_kept_is_refused_with_the_limit_that_could",),
    "P10": (HERE + "test_p10_the_cache_bounds_the_sequences_before_anything_is_multiplied",),
    "P11": ("explain/test_explain.py::test_risks_name_price_estimate_spot_place_and_limits",),
    # solvers
    "S01": (CONFLICT, "cli/test_solve.py::test_budget_that_is_too_small_is_proven_infeasible"),
    "S02": (CONFLICT,),
    "S04": ("solve/test_engine.py::test_bad_bounds_are_refused",),
    "S06": ("solve/test_engine.py::test_bad_bounds_are_refused",),
    "S08": ("solve/test_engine.py::test_big_m_row_is_refused",),
    "S09": ("solve/test_arrays.py::test_row_of_integers_that_spreads_too_wide_is_refused",
            "solve/test_engine.py::test_wide_row_with_a_continuous_column_is_rescaled"),
    "S13": (TIMEOUT,),
    "S14": (TIMEOUT, "cli/test_solve.py::test_gap_above_the_largest_allowed_exits_4"),
    "S20": ("solve/test_engine.py::test_cp_sat_refuses_what_it_answers_wrongly",),
    "S21": (HERE + "test_s21_a_limit_beyond_everything_is_no_row",),
    "S23": ("problems/test_bad_input.py::test_a_fault_of_a_spec_is_told_with_its_place",),
    "S24": ("solve/test_arrays.py::test_arrays_hold_the_rows_in_column_order",),
    "S25": ("solve/test_rank.py::test_entries_within_the_gap_are_a_tie",),
    "S27": ("solve/test_engine.py::test_time_out_before_any_incumbent",
            "solve/test_engine.py::test_infeasible_is_proven"),
    "S30": (CONFLICT,),
    # splits and precisions
    "T03": (SPLIT, ADMITTED, FIT + "test_28_heads_on_eight_cards_are_answered_with_four"),
    "T05": (SPLIT, FIT + "test_70b_on_three_cards_is_answered_with_four_or_with_narrower_weights_on_two"),
    "T06": (SPLIT,), "T12": (SPLIT, ADMITTED), "T13": (SPLIT, ADMITTED),
    "T14": (SPLIT, ADMITTED, FIT + "test_what_a_split_must_divide_is_a_row_with_versions"),
    "T15": (SPLIT, FIT + "test_what_a_split_must_divide_is_a_row_with_versions"),
    "T10": ("performance/test_configs.py::test_whole_experts_replace_a_split_that_is_too_narrow",
            FIT + "test_t10_tiny_experts_stay_whole_in_every_version"),
    "T17": (ADMITTED, "performance/test_memory.py::test_kv_heads_are_replicated_beyond_their_number"),
    "T19": ("catalog/test_shipped.py::test_support_rules_know_the_published_traps",
            FIT + "test_a_version_that_learned_pipelines_is_admitted"),
    "T20": (SUPPORT,), "T21": (SUPPORT,), "T25": (SUPPORT,), "T27": (SUPPORT,),
    # YAML
    "Y01": (QUANTITIES, SPELLINGS), "Y02": (QUANTITIES, SPELLINGS), "Y03": (QUANTITIES, SPELLINGS),
    "Y06": (QUANTITIES, REFUSED_SPELLINGS), "Y08": (QUANTITIES, SPELLINGS),
}  # fmt: skip


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


@pytest.mark.shared
def test_every_handed_case_is_covered(shared_data: Path) -> None:
    lines = (shared_data / "cases" / "cases_handed.jsonl").read_text(encoding="utf-8").splitlines()
    kinds = {case["id"]: case["kind"] for case in map(json.loads, lines)}
    assert set(COVERED) == set(kinds)
    later = {i for i, by in COVERED.items() if isinstance(by, Later)}
    assert not {i for i in later if kinds[i] in ("yaml", "solver", "catalog", "fit_gold", "tp_constraint", "quant_hw")}


@pytest.mark.parametrize("case", sorted(COVERED))
def test_the_named_tests_exist(case: str) -> None:
    by = COVERED[case]
    if isinstance(by, Later):
        assert by.why
        return
    for name in by:
        path, _, function = name.partition("::")
        assert function in functions_of(ROOT / "tests" / path), name


# --- cases that need a whole plan ------------------------------------------------------------------------------------


def test_c01_a_70b_in_fp8_with_16k_context_does_not_fit_one_h100() -> None:
    """0.95 · 79.2 − 67.7 − 5.0 leave 2.5 GiB and 16,000 tokens need 4.9; a planner without activations said yes."""
    engine = CATALOG.engine("vllm").model_copy(update={"version": "0.16"})
    config = EngineConfig(
        model="llama-3.3-70b-instruct", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM",
        tensor_parallel=1, gpu_memory_utilization=0.95, max_num_seqs=1024,
    )  # fmt: skip
    memory = memory_fit(
        config, CATALOG.model(config.model), CATALOG.accelerator("H100-SXM"), engine, CATALOG.precision("fp8"),
        CATALOG.precision("bf16"), 16000,
    )  # fmt: skip
    assert memory.kv_pool_gib_per_gpu == pytest.approx(2.5, abs=0.2)
    assert 16000 * memory.kv_bytes_per_token_per_gpu / 2**30 == pytest.approx(4.88, abs=0.01)
    assert not fits(memory, 16000)


def test_c05_c06_cache_bytes_count_kv_heads_and_bytes() -> None:
    bytes_per_token = {name: _kv_bytes_per_token(name) for name in ("llama-3.1-8b-instruct", "qwen2.5-7b-instruct")}
    assert bytes_per_token == {"llama-3.1-8b-instruct": 131072, "qwen2.5-7b-instruct": 57344}
    assert bytes_per_token["qwen2.5-7b-instruct"] * 3072 / 1e9 == pytest.approx(0.176, abs=0.001)


def _kv_bytes_per_token(model: str) -> float:
    return sum(group.layers * group.elements_per_token * 2 for group in CATALOG.model(model).shape.kv)


def test_c13_a_7b_with_eight_sequences_fits_an_a40(desk: Desk) -> None:
    """12.55 GiB of weights and 8 · 4,096 tokens of 512 KiB (16 GiB) on a card of 44.35 GiB."""
    assert 8 * 4096 * _kv_bytes_per_token("llama-2-7b") / 2**30 == pytest.approx(16.0)
    asked = spec("llama-2-7b", precisions=["bf16"], engines=["vllm"], max_context_tokens=4096)
    answer = desk.spec(only(asked, [machine("A40", 1)]), top=1)
    assert answer.code == 0
    (deployment,) = answer.best["deployments"]
    assert deployment["predicted"]["kv_tokens"] > 8 * 4096


def test_k04_a_break_even_says_what_it_rests_on(desk: Desk) -> None:
    asked = spec("llama-3.1-8b-instruct", precisions=["fp8"], api_equivalents=["small-api"])
    api = {"provider": "api", "model": "small-api", "countries": ["US"], "operator_jurisdiction": "US",
           "input_usd_per_mtok": 0.1, "output_usd_per_mtok": 0.3}  # fmt: skip
    answer = desk.spec(only(asked, [machine("L4", 1, on_demand=0.7)], [api]))
    (flip,) = answer.flips("api_volume")
    for words in ("api/small-api", "lab/us-1/1x/on_demand", "M tokens", "USD/month"):
        assert words in flip["text"]
    hosted = next(p for p in answer.result["plans"] if p["deployments"])
    (product,) = hosted["explanation"]["headroom"]
    assert set(product["factors"]) >= {"forecast_margin", "estimate_quantile", "target_utilization"}


@pytest.mark.parametrize(
    ("reserved", "hours", "committed"), [(0.60, 14, 1), (0.60, 15, 2), (0.72, 17, 1), (0.72, 18, 2)]
)
def test_k07_a_commitment_pays_above_the_price_ratio(reserved: float, hours: int, committed: int, desk: Desk) -> None:
    """The second machine works `hours` of 24: it is committed to where that share is above reserved/on-demand."""
    profile = [2] * hours + [1] * (24 - hours)
    asked = spec(
        "llama-3.1-8b-instruct", precisions=["fp8"], engines=["vllm"],
        purchase={"options": ["on_demand", "reserved_1y"]},
        traffic={"peak_req_per_s": 2, "profile": profile, "input_tokens": 10, "output_tokens": 10},
        policy={"estimators": ["measured"], "headroom": {"target_utilization": 1.0}},
    )  # fmt: skip
    asked["measured"] = [_one_per_second()]
    answer = desk.spec(only(asked, [machine("L4", 1, on_demand=1.0, reserved_1y=reserved)]), top=1)
    by_option = {p["purchase_option"]: p["instances_by_slice"] for p in answer.best["purchases"]}
    assert set(by_option["reserved_1y"].values()) == {committed}
    assert max(by_option.get("on_demand", {"": 0}).values()) == 2 - committed


def _one_per_second(**fields: Any) -> dict[str, Any]:
    return {"model": "llama-3.1-8b-instruct", "accelerator": "L4", "tensor_parallel": 1, "precision": "fp8",
            "capacity_req_per_s": 1.0, **fields}  # fmt: skip


def test_k09_k10_half_on_spot_saves_30_percent_and_keeps_a_firm_floor(desk: Desk) -> None:
    """Spot at 40 % of on-demand: one of each costs (1 + 0.4)/2 = 70 % of two."""
    policy = {
        "estimators": ["measured"], "headroom": {"target_utilization": 1.0},
        "spot": {"interruptions_per_up_hour": 0, "start_h": 0, "availability": 1},
    }  # fmt: skip
    cost = {}
    for options in (("on_demand",), ("on_demand", "spot")):
        asked = spec(
            "llama-3.1-8b-instruct", precisions=["fp8"], engines=["vllm"], traffic=2.0, policy=policy,
            purchase={"options": list(options), "max_spot_share": 0.5},
        )  # fmt: skip
        asked["measured"] = [_one_per_second()]
        best = desk.spec(only(asked, [machine("L4", 1, on_demand=1.0, spot=0.4)]), top=1).best
        cost[options] = best["cost"]["total_usd_per_month"]
        counts = {p["purchase_option"]: max(p["instances_by_slice"].values()) for p in best["purchases"]}
        assert counts == ({"on_demand": 2} if len(options) == 1 else {"on_demand": 1, "spot": 1})
    assert cost["on_demand", "spot"] / cost["on_demand",] == pytest.approx(0.70)


def test_k12_a_price_without_capacity_is_no_offer(desk: Desk) -> None:
    asked = spec("llama-3.1-8b-instruct", precisions=["fp8"], engines=["vllm"], purchase={"options": ["on_demand"]})
    cheap = {**machine("L4", 1, on_demand=0.1), "instance_type": "sold-out", "max_instances": 0}
    answer = desk.spec(only(asked, [cheap, machine("L4", 1, on_demand=0.7)]), top=1)
    assert [p["instance_type"] for p in answer.best["purchases"]] == ["1x"]
    nothing = desk.spec(only(asked, [cheap]), top=1)
    assert nothing.code == 3


def test_p06_a_small_model_is_replicated_and_not_split(desk: Desk) -> None:
    asked = spec("codellama-13b", precisions=["bf16"], engines=["vllm"], traffic=40.0)
    answer = desk.spec(only(asked, [machine("A100", 4)]), top=1)
    assert answer.code == 0
    assert used(answer.best, "tensor_parallel") == {1}


def test_p08_capacity_depends_on_the_length_of_prompts(desk: Desk) -> None:
    """19, 3,358 and 9,157 tokens in, 128 out on one RTX 5090: tokens out per second differ more than tenfold."""
    rates = []
    for length in (19, 3358, 9157):
        traffic = {"mean_req_per_s": 0.1, "input_tokens": length, "output_tokens": 128}
        asked = spec("qwen3-4b", precisions=["bf16"], engines=["vllm"], traffic=traffic, max_context_tokens=10000)
        (deployment,) = desk.spec(only(asked, [machine("RTX 5090", 1)]), top=1).best["deployments"]
        rates.append(deployment["predicted"]["capacity_req_per_s_per_replica"] * 128)
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 10 * rates[2]


def test_p10_the_cache_bounds_the_sequences_before_anything_is_multiplied(desk: Desk) -> None:
    """Long requests on a small pool: 4 times the seats bring nothing where the cache is full."""
    capacity = []
    for seats in (64, 256):
        traffic = {"mean_req_per_s": 0.01, "input_tokens": 12000, "output_tokens": 4000}
        asked = spec(
            "llama-3.3-70b-instruct", precisions=["fp8"], engines=["vllm"], traffic=traffic, max_context_tokens=16000,
            max_num_seqs=seats,
        )  # fmt: skip
        (deployment,) = desk.spec(only(asked, [machine("H100", 2)]), top=1).best["deployments"]
        assert deployment["max_num_seqs"] == seats
        assert deployment["predicted"]["kv_tokens"] / 14000 < 64
        capacity.append(deployment["predicted"]["capacity_req_per_s_per_replica"])
    assert capacity[1] == pytest.approx(capacity[0], rel=0.05)


@pytest.mark.parametrize("limit", [None, 1e30])
def test_s21_a_limit_beyond_everything_is_no_row(limit: float | None, desk: Desk) -> None:
    asked = spec("llama-3.1-8b-instruct", precisions=["fp8"], api_equivalents=["small-api"])
    api = {"provider": "api", "model": "small-api", "countries": ["US"], "operator_jurisdiction": "US",
           "input_usd_per_mtok": 0.1, "output_usd_per_mtok": 0.3, "max_req_per_s": limit}  # fmt: skip
    answer = desk.spec(only(asked, [machine("L4", 1)], [api]), top=1)
    assert answer.code == 0
    assert accelerators(answer.best) == {}
    assert answer.usd == pytest.approx(0.05 * 3600 * 730 * (500 * 0.1 + 100 * 0.3) / 1e6, rel=1e-4)
