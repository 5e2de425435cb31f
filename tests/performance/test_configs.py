"""Which engine configurations exist, and why the others do not."""

import pytest

from planner.base import CheckKind
from planner.catalog.load import load_catalog
from planner.performance.configs import enumerate_configs
from planner.performance.support import parallelism_checks
from planner.performance.types import EngineConfig
from planner.spec.types import Measured


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


def configs_of(catalog, model, accelerator, **extra):
    settings = {
        "precisions": None,
        "kv_precisions": ("bf16",),
        "engines": ("vllm",),
        "gpu_memory_utilization": 0.9,
        "max_num_seqs": None,
        "tensor_parallel_domain": 8,
        "accelerators_per_instance": 8,
        "network_gb_per_s": 0.0,
        "measured": (),
    }
    return enumerate_configs(catalog, model, accelerator, **{**settings, **extra})


def layouts(configs):
    return {(c.tensor_parallel, c.pipeline_parallel, c.expert_parallel, c.attention_data_parallel): c for c in configs}


def failed(refusals):
    return {check.check for r in refusals for check in r.checks}


def split_checks(catalog, model, precision, degree, **extra):
    config = EngineConfig(
        model=model,
        precision=precision,
        kv_precision="bf16",
        engine="vllm",
        accelerator="H100-SXM",
        tensor_parallel=degree,
        **extra,
    )
    engine = catalog.engine("vllm")
    return [c.check for c in parallelism_checks(config, catalog.model(model), engine, catalog.precision(precision))]


# --- rules seen broken by public tools (handed cases) ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "precision", "degree", "broken"),
    [
        ("r1-distill-qwen-7b", "bf16", 8, "tensor_parallel_divides_heads"),  # T03: 28 heads
        ("llama-3.1-70b-instruct", "bf16", 3, "tensor_parallel_divides_heads"),  # T05
        ("gemma-3-27b-it", "bf16", 3, "tensor_parallel_divides_heads"),  # T06
        ("deepseek-r1", "fp8", 32, "tensor_parallel_splits_intermediate"),  # T12: 18432/32 = 576
        ("deepseek-v4-pro", "fp8", 16, "tensor_parallel_splits_moe_intermediate"),  # T13: 3072/16 = 192
        ("qwen3-30b-a3b", "fp8", 4, "tensor_parallel_splits_moe_intermediate"),  # T14: 768/4 = 192
        ("qwen3.6-35b-a3b", "fp8", 8, "tensor_parallel_splits_moe_intermediate"),  # T15: 64 columns
    ],
)
def test_a_split_that_engines_refuse_is_refused(catalog, model, precision, degree, broken):
    assert broken in split_checks(catalog, model, precision, degree)


@pytest.mark.parametrize(
    ("model", "precision", "degree"),
    [
        ("r1-distill-qwen-7b", "bf16", 4),
        ("deepseek-r1", "fp8", 16),
        ("deepseek-v4-pro", "fp8", 8),
        ("qwen3-30b-a3b", "fp8", 2),
        ("llama-3.1-405b-instruct", "bf16", 16),  # T17: KV heads are replicated
    ],
)
def test_a_split_that_works_is_admitted(catalog, model, precision, degree):
    assert split_checks(catalog, model, precision, degree) == []


def test_whole_experts_replace_a_split_that_is_too_narrow(catalog):
    """T10: block FP8 with tiny experts needs expert parallelism."""
    assert split_checks(catalog, "qwen3-30b-a3b", "fp8", 4, expert_parallel=4) == []
    configs, refusals = configs_of(catalog, "qwen3-30b-a3b", "H100-SXM", precisions=("fp8",))
    found = layouts(configs)
    assert (4, 1, 4, 1) in found and (4, 1, 1, 1) not in found and (2, 1, 1, 1) in found
    assert "tensor_parallel_splits_moe_intermediate" in failed(refusals)


@pytest.mark.parametrize(
    ("model", "accelerator", "precision", "kv", "engine", "works"),
    [
        ("llama-3.1-8b-instruct", "V100-SXM2-32GB", "int4", "bf16", "vllm", False),  # T20: AWQ needs 7.5
        ("llama-3.1-8b-instruct", "T4", "int4", "bf16", "vllm", True),  # T21: symmetric 4 bit runs on Turing
        ("llama-3.1-8b-instruct", "T4", "awq-asymmetric", "bf16", "vllm", False),  # T21
        ("llama-3.1-8b-instruct", "RTX-3090", "bf16", "fp8", "vllm", False),  # T25: e4m3 KV
        ("llama-3.1-8b-instruct", "A100-SXM-80GB", "bf16", "fp8_e5m2", "vllm", True),  # T25: the alternative
        ("qwen3-32b", "RTX-5090", "fp4", "bf16", "vllm", True),  # T27: consumer Blackwell
        ("qwen3-32b", "RTX-5090", "fp8", "bf16", "vllm", True),
        ("llama-3.1-8b-instruct", "A100-SXM-80GB", "fp8", "bf16", "trtllm", False),
        ("llama-3.1-8b-instruct", "MI300X", "fp8", "bf16", "trtllm", False),
        ("llama-3.1-8b-instruct", "M3-Ultra", "q4_k_m", "bf16", "llama.cpp", True),
        ("llama-3.1-8b-instruct", "M3-Ultra", "bf16", "bf16", "vllm", False),
    ],
)
def test_precision_and_hardware_support_follow_the_catalog(catalog, model, accelerator, precision, kv, engine, works):
    configs, refusals = configs_of(
        catalog, model, accelerator, precisions=(precision,), kv_precisions=(kv,), engines=(engine,)
    )
    assert bool(configs) is works
    if not works:
        assert len(refusals) == 1 and all(c.kind is CheckKind.PHYSICAL and c.detail for c in refusals[0].checks)


# --- enumeration -----------------------------------------------------------------------------------------------------


def test_degrees_stay_inside_the_link_domain_and_divide_the_heads(catalog):
    configs, refusals = configs_of(catalog, "r1-distill-qwen-7b", "H100-SXM", precisions=("bf16",))
    assert [c.tensor_parallel for c in configs] == [1, 2, 4]
    assert [(r.config.tensor_parallel, r.checks[0].needed, r.checks[0].had) for r in refusals] == [(8, 8, 28)]
    pair, _ = configs_of(catalog, "llama-3.1-70b-instruct", "H100-PCIe", tensor_parallel_domain=2, precisions=("fp8",))
    assert max(c.tensor_parallel for c in pair) == 2


def test_stages_span_instances_only_with_a_network_and_only_as_many_as_are_needed(catalog):
    alone, _ = configs_of(catalog, "deepseek-r1", "H100-SXM", precisions=("fp8",))
    assert {c.pipeline_parallel for c in alone} == {1}
    linked, _ = configs_of(catalog, "deepseek-r1", "H100-SXM", precisions=("fp8",), network_gb_per_s=50.0)
    assert {c.pipeline_parallel for c in linked} == {1, 2}
    assert {c.network_gb_per_s for c in linked if c.pipeline_parallel == 2} == {50.0}
    assert {c.network_gb_per_s for c in linked if c.pipeline_parallel == 1} == {0.0}
    big, _ = configs_of(catalog, "kimi-k3", "H100-SXM", precisions=("fp8",), network_gb_per_s=50.0)
    assert {c.pipeline_parallel for c in big} == {1, 2, 4}
    small, _ = configs_of(catalog, "llama-3.1-70b-instruct", "H100-SXM", precisions=("fp8",), network_gb_per_s=50.0)
    assert {c.pipeline_parallel for c in small} == {1}


def test_stages_reach_over_pairs_of_one_machine_without_a_network(catalog):
    pairs, _ = configs_of(
        catalog, "llama-3.1-70b-instruct", "H100-PCIe", precisions=("bf16",), tensor_parallel_domain=2
    )
    assert (2, 2, 1, 1) in layouts(pairs)


def test_latent_attention_also_runs_data_parallel(catalog):
    configs, _ = configs_of(catalog, "deepseek-r1", "H200-SXM", precisions=("fp8",))
    assert (8, 1, 8, 8) in layouts(configs) and (8, 1, 1, 1) in layouts(configs)


def test_defaults_are_the_native_precision_and_fp8_on_production_engines(catalog):
    configs, _ = configs_of(catalog, "llama-3.1-8b-instruct", "H100-SXM", engines=None)
    assert {c.precision for c in configs} == {"bf16", "fp8"}
    assert {c.engine for c in configs} == {e.id for e in catalog.engines if e.production}
    assert {c.max_num_seqs for c in configs} == {1024}
    small, _ = configs_of(catalog, "llama-3.1-8b-instruct", "L4")
    assert {c.max_num_seqs for c in small} == {256}


def test_a_hopeless_engine_or_precision_is_refused_once_with_every_reason(catalog):
    _, refusals = configs_of(
        catalog, "llama-3.1-8b-instruct", "M3-Ultra", precisions=("fp8", "bf16"), engines=("trtllm",)
    )
    (refusal,) = refusals
    assert {"engine_vendor", "engine_kind"} <= {c.check for c in refusal.checks}


def test_a_measured_configuration_is_enumerated_whatever_the_rules_say(catalog):
    row = Measured(
        model="llama-3.1-70b-instruct",
        accelerator="H100-SXM",
        tensor_parallel=6,
        precision="fp8",
        prefill_tok_per_s=9000,
        decode_tok_per_s=2000,
    )
    configs, _ = configs_of(catalog, row.model, row.accelerator, precisions=("fp8",), measured=(row,))
    assert 6 in {c.tensor_parallel for c in configs}
    elsewhere, _ = configs_of(
        catalog, row.model, row.accelerator, precisions=("fp8",), measured=(row,), accelerators_per_instance=4,
        tensor_parallel_domain=4,
    )  # fmt: skip
    assert 6 not in {c.tensor_parallel for c in elsewhere}


def test_cards_without_their_bridge_are_told_apart(catalog):
    same = {"precisions": ("fp8",), "tensor_parallel_domain": 2, "accelerators_per_instance": 2}
    bridged, _ = configs_of(catalog, "llama-3.1-8b-instruct", "H100-PCIe", interconnect="nvlink-bridge", **same)
    on_bus, _ = configs_of(catalog, "llama-3.1-8b-instruct", "H100-PCIe", interconnect="pcie", **same)
    assert [c.interconnect for c in bridged] == [None, None]
    assert {c.tensor_parallel: c.interconnect for c in on_bus} == {1: None, 2: "pcie"}
    without_link, _ = configs_of(catalog, "llama-3.1-8b-instruct", "L40S", interconnect="pcie", **same)
    assert {c.interconnect for c in without_link} == {None}


def test_the_order_of_what_is_allowed_does_not_matter(catalog):
    one = configs_of(catalog, "qwen3-30b-a3b", "H100-SXM", precisions=("fp8", "bf16"), engines=("vllm", "sglang"))
    two = configs_of(catalog, "qwen3-30b-a3b", "H100-SXM", precisions=("bf16", "fp8"), engines=("sglang", "vllm"))
    assert one == two
