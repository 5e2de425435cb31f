"""The shipped models: every name users and measurements write is known, and every shape is plausible."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from planner.catalog.shape import kv_bytes_per_token, kv_fixed_bytes
from planner.catalog.types import LlmModel

ROOT = Path(__file__).resolve().parents[2]
GIB = 2.0**30
NOT_MODELS = {"Gemma-4 on H200", "Qwen3.8-Flash-Next-FP8"}
"""A hardware remark, and a model of which nothing but its expert width is public."""


@pytest.fixture(scope="module")
def models() -> tuple[LlmModel, ...]:
    rows = json.loads((ROOT / "catalogs" / "models.json").read_text(encoding="utf-8"))
    return tuple(LlmModel.model_validate(row) for row in rows)


@pytest.fixture(scope="module")
def by_name(models: tuple[LlmModel, ...]) -> dict[str, LlmModel]:
    return {name.lower(): model for model in models for name in (model.id, *model.aliases)}


def test_no_name_means_two_models(models: tuple[LlmModel, ...]) -> None:
    names = [name for model in models for name in {n.lower() for n in (model.id, *model.aliases)}]
    assert len(names) == len(set(names))


def test_ids_are_lower_case_words(models: tuple[LlmModel, ...]) -> None:
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.\-]*", model.id) for model in models)


def test_every_row_says_where_it_is_from(models: tuple[LlmModel, ...]) -> None:
    assert all(len(model.source) > 10 for model in models)


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("llama-3.3-70b-instruct", "llama-3.3-70b-instruct"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct"),
        ("Llama 4 Maverick", "llama-4-maverick"),
        ("Llama 4 Scout", "llama-4-scout"),
        ("Mistral Large 3", "mistral-large-3"),
        ("Mistral Small 4", "mistral-small-4"),
        ("DeepSeek V4-Flash", "deepseek-v4-flash"),
        ("DeepSeek V4-Pro", "deepseek-v4-pro"),
        ("Kimi K3", "kimi-k3"),
        ("Qwen3.6-27B", "qwen3.6-27b"),
        ("Llama 3.1 70B", "llama-3.1-70b-instruct"),
        ("Mistral 7B", "mistral-7b-instruct"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
    ],
)
def test_the_seed_articles_spellings_are_known(by_name: dict[str, LlmModel], name: str, model_id: str) -> None:
    assert by_name[name.lower()].id == model_id


@pytest.mark.shared
def test_every_measured_model_is_known(by_name: dict[str, LlmModel], shared_data: Path) -> None:
    with (shared_data / "perf" / "measured.csv").open(encoding="utf-8", newline="") as file:
        names = {row["model"] for row in csv.DictReader(file)}
    assert {name for name in names if name.lower() not in by_name} == set()


@pytest.mark.shared
def test_every_published_config_has_a_row(by_name: dict[str, LlmModel], shared_data: Path) -> None:
    stems = [p.name.removesuffix(".json") for p in (shared_data / "catalog" / "hf_configs").glob("*.json")]
    repos = [re.sub(r"\.(params|classdefault)$", "", stem).replace("__", "/") for stem in stems]
    assert [repo for repo in repos if repo.lower() not in by_name] == []


@pytest.mark.shared
def test_every_model_of_the_handed_cases_is_known(by_name: dict[str, LlmModel], shared_data: Path) -> None:
    lines = (shared_data / "cases" / "cases_handed.jsonl").read_text(encoding="utf-8").splitlines()
    named = [name for line in lines if isinstance(name := json.loads(line)["facts"].get("model"), str)]
    assert [n for n in named if n not in NOT_MODELS and plain(n) not in by_name] == []


def plain(name: str) -> str:
    """A case's model name without its remarks on precision and attention."""
    return re.sub(r"( \(hybrid\)| hybrid| fp16| bf16| FP8| NVFP4| GPTQ-Int8|-FP8)$", "", name).lower()


@pytest.mark.shared
def test_cache_bytes_agree_with_the_start_up_logs(by_name: dict[str, LlmModel], shared_data: Path) -> None:
    checked = 0
    for line in (shared_data / "cases" / "cases_handed.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        expected = case["expected"].get("kv_bytes_per_token_per_gpu")
        if not expected:
            continue
        facts = case["facts"]
        width = 1.0 if facts["kv_dtype"] == "fp8" else 2.0
        shape = by_name[plain(facts["model"])].shape
        per_gpu = sum(
            width * g.layers * g.elements_per_token * (1 / min(facts["tp"], g.kv_heads) if g.kv_heads else 1)
            for g in shape.kv
        )
        assert per_gpu / facts["pp"] == pytest.approx(expected), case["id"]
        checked += 1
    assert checked >= 20


@pytest.mark.shared
def test_weights_of_16_bit_starts_agree_with_the_logs(by_name: dict[str, LlmModel], shared_data: Path) -> None:
    checked = []
    for line in (shared_data / "cases" / "cases_handed.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        facts = case["facts"]
        if facts.get("weight_dtype") != "bf16" or not facts.get("weights_gib_per_gpu"):
            continue
        weights = by_name[plain(facts["model"])].shape.total_params * 2 / GIB / facts["num_gpus"]
        assert facts["weights_gib_per_gpu"] == pytest.approx(weights, rel=0.021), case["id"]
        checked.append(case["id"])
    assert len(checked) >= 12


def test_a_hybrid_keeps_16_gib_at_262144_tokens(by_name: dict[str, LlmModel]) -> None:
    shape = by_name["qwen3.6-27b"].shape
    assert kv_bytes_per_token(shape) * 262144 == 16.0 * GIB
    # llama.cpp keeps four sequences of recurrent state and reports 598.5 MiB; its convolution history is 32-bit.
    assert 4 * kv_fixed_bytes(shape) / 2**20 == pytest.approx(598.5, rel=0.03)


def test_gpt_oss_layers_alternate_a_window_of_128(by_name: dict[str, LlmModel]) -> None:
    shape = by_name["gpt-oss-20b"].shape
    assert [(g.kind, g.layers, g.window) for g in shape.kv] == [("sliding", 12, 128), ("full", 12, None)]


def test_latent_cache_is_not_sharded(by_name: dict[str, LlmModel]) -> None:
    (group,) = by_name["deepseek-r1"].shape.kv
    assert (group.kind, group.kv_heads, group.layers, group.elements_per_token) == ("mla", 0, 61, 576)


def test_the_seeds_small_mistral_is_a_large_model(by_name: dict[str, LlmModel]) -> None:
    shape = by_name["mistral-small-4"].shape
    assert shape.total_params == pytest.approx(119e9, rel=0.01)
    assert shape.active_params == pytest.approx(6.5e9, rel=0.03)


@pytest.mark.parametrize(
    ("name", "precision", "gib"),
    [
        ("llama-3.1-405b", "fp8", 462.0),
        ("deepseek-r1", "fp8", 635.0),
        ("gpt-oss-20b", "mxfp4", 13.47),
        ("gpt-oss-120b", "mxfp4", 64.38),
    ],
)
def test_checkpoints_weigh_what_logs_say(by_name: dict[str, LlmModel], name: str, precision: str, gib: float) -> None:
    (found,) = [c.weights_gib for c in by_name[name].checkpoints if c.precision == precision]
    assert found == pytest.approx(gib, rel=0.001)


def test_checkpoints_with_quantised_experts_only_are_heavier_than_the_rule(by_name: dict[str, LlmModel]) -> None:
    # vLLM's recipe asks 714 GB for Kimi-K2.5, that is 595 GB of weights and a fifth on top.
    (kimi,) = [c.weights_gib for c in by_name["kimi-k2.5"].checkpoints if c.precision == "int4"]
    assert kimi * GIB == pytest.approx(714e9 / 1.2, rel=0.01)
    for name in ("kimi-k3", "deepseek-v4-pro", "deepseek-v4-flash", "gpt-oss-120b"):
        model = by_name[name]
        assert model.native_precision in {c.precision for c in model.checkpoints}


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-2-7b", 6.74),
        ("gpt-j-6b", 6.05),
        ("opt-6.7b", 6.66),
        ("bloom-7b", 7.07),
        ("falcon-180b", 179.5),
        ("falcon-7b", 6.92),
        ("falcon-40b", 41.3),
        ("decilm-7b", 7.04),
        ("aquila-7b", 7.3),
        ("qwen1.5-7b", 7.72),
        ("qwen2.5-0.5b", 0.494),
        ("qwen2.5-32b", 32.76),
        ("qwen2.5-72b", 72.7),
        ("qwen3-4b", 4.02),
        ("qwen3-14b", 14.77),
        ("phi-4", 14.66),
        ("gpt-oss-20b", 20.9),
        ("granite-4.0-micro", 3.4),
        ("gemma-2-27b-it", 27.23),
        ("mistral-small-3-24b", 23.57),
        ("mistral-nemo", 12.25),
        ("r1-distill-qwen-1.5b", 1.78),
        ("deepseek-v2-lite", 15.7),
    ],
)
def test_shapes_from_public_knowledge_count_the_published_total(
    by_name: dict[str, LlmModel], name: str, billions: float
) -> None:
    assert by_name[name].shape.total_params == pytest.approx(billions * 1e9, rel=0.01)
