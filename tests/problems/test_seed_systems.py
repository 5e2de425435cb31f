"""Every system that the two seed articles name can be planned with: one solve for each.

Offers are those of the shipped catalog, cut down to the thing in question. What an article says and cannot be is in
test_seeds.py. By default there is one solve per thing that the articles name; further pairings and the European
operators are `slow`.
"""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.load import load_catalog
from tests.problems.answers import Answer, Desk, used
from tests.problems.specs import machine, only, shipped_offers, spec

CATALOG = load_catalog()
SMALL = "llama-3.1-8b-instruct"
DATACENTRE = (
    "H100 SXM", "H100 PCIe", "H100 NVL", "H200", "A100 80GB SXM", "A100 40GB PCIe", "L40S", "B100", "B200", "GB200",
    "MI300X", "MI325X", "Gaudi 3", "TPU v5p",
)  # fmt: skip
CONSUMER = ("RTX 4090", "RTX 5090", "RTX A6000", "RTX 6000 Ada", "RX 7900 XTX")
GGUF_ONLY = ("M4 Ultra", "M3 Ultra", "M4 Max", "EPYC 9654", "CPU offloading")
PROVIDERS = ("AWS", "GCP", "Azure", "Lambda", "CoreWeave", "RunPod", "Vast.ai")
EUROPEAN = (
    "nebius", "ovhcloud", "scaleway", "hetzner", "ionos", "t-systems", "stackit", "exoscale", "infomaniak", "verda",
    "seeweb", "genesis-cloud", "hyperstack", "leaseweb",
)  # fmt: skip
APIS = (
    "gpt-5.6-sol", "gpt-5.6-luna", "claude-opus-5", "claude-sonnet-5", "claude-fable-5", "gemini-3.7-flash",
    "deepseek-v4-flash", "deepseek-v4-pro", "mistral-large-3", "mistral-small-4", "llama-4-maverick", "llama-4-scout",
    "kimi-k3", "qwen3.6-27b",
)  # fmt: skip


def again(*values: str) -> Any:
    """A further case of something that another case already plans with: left to the long run."""
    return pytest.param(*values, marks=pytest.mark.slow)


def assert_planned(answer: Answer) -> None:
    """A verified plan at a positive cost, proven within the gap."""
    assert answer.code == 0, answer.result["infeasibility"]
    assert answer.best["verified"] is True
    assert answer.usd > 0
    assert answer.best["gap"] <= 0.001


@pytest.mark.parametrize("name", [*DATACENTRE, *CONSUMER, *GGUF_ONLY])
def test_every_accelerator(name: str, desk: Desk) -> None:
    gguf = {"precisions": ["q4_k_m"], "engines": ["llama.cpp"]} if name in GGUF_ONLY else {"precisions": ["bf16"]}
    answer = desk.spec(only(spec(SMALL, **gguf), shipped_offers(CATALOG, name)), top=1)
    assert_planned(answer)
    assert used(answer.best, "accelerator") == {CATALOG.accelerator(name).id}


@pytest.mark.parametrize("name", [*PROVIDERS, *map(again, EUROPEAN)])
def test_every_provider(name: str, desk: Desk) -> None:
    answer = desk.spec(spec(SMALL, policy={"providers": {"allow": [name]}}), top=1)
    assert_planned(answer)
    assert {p["provider"] for p in answer.best["purchases"]} == {CATALOG.provider(name).id}


@pytest.mark.parametrize(
    ("engine", "accelerator", "precision"),
    [
        ("vLLM", "H100", "fp8"), ("TensorRT-LLM", "H100", "fp8"), ("SGLang", "H100", "fp8"),
        ("llama.cpp", "EPYC 9654", "q4_k_m"), ("Ollama", "RTX 4090", "q4_k_m"), ("ExLlamaV2", "RTX 4090", "gptq"),
        again("vLLM", "A100", "bf16"), again("vLLM", "MI300X", "fp8"), again("vLLM", "Gaudi 3", "bf16"),
        again("llama.cpp", "RX 7900 XTX", "q4_k_m"), again("llama.cpp", "M3 Ultra", "q4_k_m"),
        again("llama.cpp", "RTX 4090", "q4_k_m"), again("Ollama", "M4 Max", "q4_k_m"),
        again("ExLlamaV2", "RTX 5090", "exl2"),
    ],
)  # fmt: skip
def test_every_engine_on_the_hardware_that_the_article_gives_it(
    engine: str, accelerator: str, precision: str, desk: Desk
) -> None:
    offers = shipped_offers(CATALOG, accelerator)
    answer = desk.spec(only(spec(SMALL, engines=[engine], precisions=[precision]), offers), top=1)
    assert_planned(answer)
    assert used(answer.best, "engine") == {CATALOG.engine(engine).id}
    assert used(answer.best, "accelerator") == {CATALOG.accelerator(accelerator).id}


@pytest.mark.parametrize(
    ("precision", "accelerator", "engine"),
    [
        ("FP16", "A100", "vllm"), ("FP8", "H100", "vllm"), ("INT8", "A100", "vllm"), ("GPTQ", "A100", "vllm"),
        ("AWQ", "RTX 4090", "vllm"), ("Q4_K_M", "RTX 4090", "llama.cpp"), ("FP4", "B200", "vllm"),
        ("Q2", "M4 Max", "llama.cpp"), ("Q3", "RTX 4090", "ollama"), again("BF16", "H100", "vllm"),
        again("FP8", "B200", "vllm"), again("FP8", "RTX 5090", "vllm"), again("W8A8", "RTX 4090", "vllm"),
        again("Q4_K_M", "EPYC 9654", "llama.cpp"), again("FP4", "B100", "trtllm"),
    ],
)  # fmt: skip
def test_every_precision_on_the_hardware_that_the_article_gives_it(
    precision: str, accelerator: str, engine: str, desk: Desk
) -> None:
    offers = shipped_offers(CATALOG, accelerator)
    answer = desk.spec(only(spec(SMALL, engines=[engine], precisions=[precision]), offers), top=1)
    assert_planned(answer)
    assert used(answer.best, "precision") == {CATALOG.precision(precision).id}


@pytest.mark.parametrize(
    ("model", "precision", "accelerator", "cards"),
    [
        ("Llama 3.1 70B", "fp8", "H100", 1), ("Mistral 7B", "fp16", "RTX 4090", 1),
        ("Llama 4 Scout", "fp8", "H100", 2), ("Llama 4 Scout", "q4", "H100", 1),
        ("Llama 4 Maverick", "fp8", "H100", 8), ("Mistral Large 3", "fp8", "H200", 8),
        ("Mistral Small 4", "fp8", "H100", 2), ("DeepSeek V4-Flash", "fp8", "H100", 4),
        ("Qwen3.6-27B", "fp8", "H100", 1), ("Qwen3.6-27B", "q4", "RTX 4090", 1),
        ("Llama 2 13B", "q4", "RTX 4090", 1), ("Llama 2 13B", "fp16", "RTX 5090", 1),
        ("Qwen3 32B", "q4", "RTX 5090", 1), ("Llama 3.1 70B", "fp16", "B200", 1),
        ("Llama 3.1 70B", "fp16", "MI300X", 1), ("Llama 3.1 70B", "q4", "RTX 4090", 4),
    ],
)  # fmt: skip
def test_every_model_on_the_cards_that_the_article_gives_it(
    model: str, precision: str, accelerator: str, cards: int, desk: Desk
) -> None:
    asked = spec(model, precisions=[precision], max_context_tokens=2048)
    answer = desk.spec(only(asked, [machine(accelerator, cards)]), top=1)
    assert_planned(answer)
    assert used(answer.best, "model") == {CATALOG.model(model).id}


@pytest.mark.parametrize(
    ("model", "precision", "accelerator", "cards", "network", "machines"),
    [
        ("DeepSeek V4-Pro", "mxfp4", "B200", 8, 0, 1),
        ("DeepSeek V4-Pro", "fp8", "B200", 8, 50, 2),
        ("Kimi K3", "mxfp4", "B200", 8, 50, 2),
        ("Kimi K3", "fp8", "B200", 8, 50, 4),
        ("Kimi K3", "mxfp4", "GB200", 72, 0, 1),
    ],
)
def test_models_beyond_a_node_of_h100_have_a_home(
    model: str, precision: str, accelerator: str, cards: int, network: float, machines: int, desk: Desk
) -> None:
    asked = spec(model, precisions=[precision], engines=["vllm", "sglang", "trtllm"])
    answer = desk.spec(only(asked, [machine(accelerator, cards, network)]), top=1)
    assert_planned(answer)
    assert [max(p["instances_by_slice"].values()) for p in answer.best["purchases"]] == [machines]


@pytest.mark.parametrize("model", ["llama-3.1-70b-instruct", "qwen3-235b-a22b"])
def test_half_a_terabyte_of_unified_memory_holds_large_models(model: str, desk: Desk) -> None:
    asked = spec(model, precisions=["q4_k_m"], engines=["llama.cpp"], traffic=0.005)
    answer = desk.spec(only(asked, shipped_offers(CATALOG, "M4 Ultra")), top=1)
    assert_planned(answer)
    assert answer.best["cost"]["total_usd_per_month"] < 500


@pytest.mark.parametrize("name", APIS)
def test_every_api(name: str, desk: Desk) -> None:
    answer = desk.spec(spec(SMALL, api_equivalents=[name], purchase={"options": ["api"]}), top=1)
    assert_planned(answer)
    (use,) = answer.best["api"]
    assert use["api"] in {a.id for a in CATALOG.api_offers(name)}
    assert "@seed" not in use["api"]


@pytest.mark.parametrize(
    ("option", "provider", "accelerator"),
    [
        ("on_demand", "lambda", "H100"), ("reserved_1y", "aws", "H100"), ("reserved_3y", "gcp", "H100"),
        ("reserved_1y", "coreweave", "H100"), ("spot", "gcp", "A100"), ("spot", "vast-ai", "RTX 4090"),
    ],
)  # fmt: skip
def test_every_purchase_option(option: str, provider: str, accelerator: str, desk: Desk) -> None:
    """Spot needs somebody who takes over, so on-demand stays allowed beside it."""
    options = ["spot", "on_demand"] if option == "spot" else [option]
    asked = spec(SMALL, precisions=["fp8", "bf16"], purchase={"options": options, "max_spot_share": 1.0})
    answer = desk.spec(only(asked, shipped_offers(CATALOG, accelerator, provider)), top=1)
    assert_planned(answer)
    assert option in {p["purchase_option"] for p in answer.best["purchases"]}


def test_owned_cards(desk: Desk) -> None:
    asked = spec("Qwen3.6-27B", precisions=["q4"], purchase={"options": ["owned"]})
    owned = [{"accelerator": "RTX-4090", "accelerators_per_instance": 1, "instances": 1, "country": "CH",
              "usd_per_used_hour": 0.07}]  # fmt: skip
    answer = desk.spec({**asked, "fleet": {"owned": owned}}, top=1)
    assert_planned(answer)
    assert {p["purchase_option"] for p in answer.best["purchases"]} == {"owned"}
    assert answer.usd == pytest.approx(0.07 * 730)
