"""Shapes from published configs: totals within 1 %, caches as engines log them, errors that name the field."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from planner.catalog.shape import (
    context_limit,
    kv_bytes_per_token,
    model_from_config,
    shape_from_config,
)
from planner.catalog.shape_describe import describe_config
from planner.catalog.shape_precision import native_precision
from planner.errors import InputError

ROUNDED = {
    "deepseek-ai__DeepSeek-V4-Pro": "published as 1.6T, two digits: 1.573T rounds to it",
    "google__gemma-4-26B-A4B": "26 rounds the count with the vision tower; the card says 25.2B and 3.8B active",
}
"""Known totals that are rounded further than 1 %; the count has to round to the published digits."""

LLAMA: dict[str, object] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def number(found: Mapping[str, object], key: str) -> float:
    value = found[key]
    assert isinstance(value, int | float)
    return float(value)


def read(shared: Path, stem: str) -> dict[str, object]:
    loaded = json.loads((shared / "catalog" / "hf_configs" / f"{stem}.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def known(shared: Path) -> list[dict[str, str]]:
    with (shared / "catalog" / "models_known_params.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def code_and_field(config: Mapping[str, object]) -> tuple[str, str | None]:
    with pytest.raises(InputError) as raised:
        shape_from_config(config)
    (only,) = raised.value.faults
    return only.code, only.path


@pytest.mark.shared
def test_every_known_total_is_counted_within_one_percent(shared_data: Path) -> None:
    off = {}
    for row in known(shared_data):
        total = float(row["known_total_b"])
        counted = number(describe_config(read(shared_data, row["config"])), "total_params_b")
        if abs(counted / total - 1) > 0.01:
            off[row["config"]] = counted
    assert set(off) == set(ROUNDED)
    assert off["deepseek-ai__DeepSeek-V4-Pro"] == pytest.approx(1600, abs=50)
    gemma = describe_config(read(shared_data, "google__gemma-4-26B-A4B"))
    assert number(gemma, "total_params_b") == pytest.approx(25.2, abs=0.05)
    assert number(gemma, "total_params_with_vision_b") == pytest.approx(26, rel=0.01)


@pytest.mark.shared
def test_every_known_active_count_is_met_under_one_of_the_published_definitions(shared_data: Path) -> None:
    keys = ("active_params_b", "active_params_with_output_head_b", "active_params_without_embeddings_b")
    off = {}
    for row in known(shared_data):
        if not row["known_active_b"]:
            continue
        active = float(row["known_active_b"])
        found = describe_config(read(shared_data, row["config"]))
        if min(abs(number(found, key) / active - 1) for key in keys) > 0.03:
            off[row["config"]] = number(found, "active_params_b")
    assert off == {"google__gemma-4-26B-A4B": pytest.approx(3.8, abs=0.05)}, ROUNDED["google__gemma-4-26B-A4B"]


@pytest.mark.shared
def test_every_published_config_is_read(shared_data: Path) -> None:
    for path in sorted((shared_data / "catalog" / "hf_configs").glob("*.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        shape = shape_from_config(config, name=path.stem)
        assert shape.kv, path.stem
        assert 0 < shape.attention_params < shape.dense_params, path.stem
        assert context_limit(config) >= 2048, path.stem
        assert native_precision(config) in ("bf16", "fp8", "fp4", "mxfp4", "int4"), path.stem


@pytest.mark.shared
@pytest.mark.parametrize(
    ("stem", "kv_bytes", "attention"),
    [
        ("meta-llama__Meta-Llama-3.1-8B", 131072, "gqa"),
        ("meta-llama__Meta-Llama-3.1-70B", 327680, "gqa"),
        ("Qwen__Qwen2-7B", 57344, "gqa"),
        ("Qwen__Qwen3-32B", 262144, "gqa"),
        ("Qwen__Qwen3-30B-A3B", 98304, "gqa"),
        ("allenai__OLMo-2-1124-7B", 524288, "mha"),
        ("google__gemma-2b", 18432, "mqa"),
        ("deepseek-ai__DeepSeek-V3", 61 * 576 * 2, "mla"),
        ("deepseek-ai__DeepSeek-V3.2", 61 * 576 * 2, "mla"),
        ("moonshotai__Kimi-K2.5", 61 * 576 * 2, "mla"),
        ("zai-org__GLM-5", 78 * 576 * 2, "mla"),
        ("nvidia__Qwen3.6-27B-NVFP4", 16 * 2 * 4 * 256 * 2, "gqa+linear"),
        ("Qwen__Qwen3-Next-80B-A3B-Instruct", 12 * 2 * 2 * 256 * 2, "gqa+linear"),
        ("moonshotai__Kimi-K3", 24 * 576 * 2, "mla+linear"),
        ("nvidia__Nemotron-H-56B-Base-8K", 10 * 2 * 8 * 128 * 2, "gqa+linear"),
        ("openai__gpt-oss-120b", 36 * 2 * 8 * 64 * 2, "gqa+sliding"),
    ],
)
def test_cache_bytes_per_token(shared_data: Path, stem: str, kv_bytes: int, attention: str) -> None:
    found = describe_config(read(shared_data, stem))
    assert (found["kv_bytes_per_token"], found["attention"]) == (kv_bytes, attention)


@pytest.mark.shared
def test_an_indexer_keeps_132_bytes_per_token_and_layer(shared_data: Path) -> None:
    assert describe_config(read(shared_data, "deepseek-ai__DeepSeek-V3.2"))["index_bytes_per_token"] == 61 * 132
    # GLM 5.2 shares an indexer between layers: 21 of 78 keep keys.
    assert describe_config(read(shared_data, "zai-org__GLM-5.2"))["index_bytes_per_token"] == 21 * 132
    shape = shape_from_config(read(shared_data, "deepseek-ai__DeepSeek-V3.2"))
    assert kv_bytes_per_token(shape, 1.0) == 61 * (576 + 132)


@pytest.mark.shared
def test_only_global_layers_of_gemma_3_grow_beyond_the_window(shared_data: Path) -> None:
    shape = shape_from_config(read(shared_data, "google__gemma-3-27b-it"))
    assert {g.kind: (g.layers, g.window) for g in shape.kv} == {"sliding": (52, 1024), "full": (10, None)}


@pytest.mark.shared
def test_gemma_4_has_wider_heads_in_fewer_global_layers(shared_data: Path) -> None:
    shape = shape_from_config(read(shared_data, "google__gemma-4-26B-A4B"))
    groups = {g.kind: g for g in shape.kv}
    assert (groups["full"].layers, groups["full"].kv_heads, groups["full"].elements_per_token) == (5, 2, 2 * 2 * 512)
    assert (groups["sliding"].layers, groups["sliding"].elements_per_token) == (25, 2 * 8 * 256)


@pytest.mark.shared
def test_deepseek_v4_keeps_one_entry_for_several_tokens(shared_data: Path) -> None:
    shape = shape_from_config(read(shared_data, "deepseek-ai__DeepSeek-V4-Flash"))
    by_ratio = sorted(g.elements_per_token - g.index_elements_per_token for g in shape.kv)
    assert by_ratio == [512 / 128, 512 / 4, 512]
    assert [g.layers for g in shape.kv if g.kind == "sliding"] == [2]


@pytest.mark.shared
def test_maverick_has_experts_in_every_second_layer(shared_data: Path) -> None:
    maverick = shape_from_config(read(shared_data, "meta-llama__Llama-4-Maverick-17B-128E-Instruct"))
    scout = shape_from_config(read(shared_data, "meta-llama__Llama-4-Scout-17B-16E-Instruct"))
    assert (maverick.moe_layers, scout.moe_layers) == (24, 48)


@pytest.mark.shared
def test_latent_experts_are_narrower_than_the_model(shared_data: Path) -> None:
    shape = shape_from_config(read(shared_data, "moonshotai__Kimi-K3"))
    assert shape.expert_params == 3 * 3584 * 3072
    assert (shape.experts, shape.experts_per_token, shape.moe_layers) == (896, 16, 92)


@pytest.mark.shared
def test_native_mistral_fields_mean_the_same(shared_data: Path) -> None:
    shape = shape_from_config(read(shared_data, "mistralai__Mistral-Large-3-675B-Instruct-2512.params"))
    assert (shape.layers, shape.experts, shape.experts_per_token, shape.moe_layers) == (61, 128, 4, 58)
    assert shape.kv[0].elements_per_token == 576


@pytest.mark.shared
@pytest.mark.parametrize(
    ("stem", "precision"),
    [
        ("meta-llama__Meta-Llama-3.1-8B", "bf16"),
        ("deepseek-ai__DeepSeek-V3", "fp8"),
        ("deepseek-ai__DeepSeek-V4-Flash", "mxfp4"),
        ("sgl-project__DeepSeek-V4-Flash-FP8", "fp8"),
        ("openai__gpt-oss-120b", "mxfp4"),
        ("moonshotai__Kimi-K2.5", "int4"),
        ("moonshotai__Kimi-K3", "mxfp4"),
        ("nvidia__Qwen3.6-27B-NVFP4", "fp4"),
        ("Qwen__Qwen3-32B-FP8-Static-PerTensor", "fp8"),
    ],
)
def test_native_precision_is_that_of_most_weights(shared_data: Path, stem: str, precision: str) -> None:
    assert native_precision(read(shared_data, stem)) == precision


def test_omitted_fields_are_class_defaults() -> None:
    nested = {"architectures": ["LlavaForConditionalGeneration"], "text_config": {"model_type": "llama"}}
    assert shape_from_config(nested).total_params == pytest.approx(6.74e9, rel=0.001)
    assert shape_from_config(LLAMA).tied_embeddings is False
    assert shape_from_config({**LLAMA, "model_type": "gemma"}).tied_embeddings is True


def test_tied_embeddings_are_stored_once() -> None:
    tied, untied = (shape_from_config({**LLAMA, "tie_word_embeddings": flag}) for flag in (True, False))
    assert untied.embedding_params - tied.embedding_params == 128256 * 4096
    assert untied.dense_params == tied.dense_params


def test_a_window_as_long_as_the_context_is_no_window() -> None:
    config = {**LLAMA, "model_type": "mistral", "max_position_embeddings": 8192}
    assert [g.kind for g in shape_from_config({**config, "sliding_window": 8192}).kv] == ["full"]
    assert [g.kind for g in shape_from_config({**config, "sliding_window": 4096}).kv] == ["sliding"]


def test_a_catalog_row_carries_the_configs_own_precision_and_context() -> None:
    row = model_from_config(LLAMA, id="mine", source="my config", as_of=date(2026, 11, 30))
    assert (row.family, row.native_precision, row.max_context_tokens) == ("LlamaForCausalLM", "bf16", 131072)
    assert row.shape.active_params == row.shape.total_params


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ("C201", "config")),
        ({"model_type": "rwkv9"}, ("C202", "model_type")),
        ({"architectures": ["Unheard"], "hidden_size": 64}, ("C202", "architectures")),
        ({"architectures": None, "hidden_size": 64}, ("C202", "architectures")),
        ({**LLAMA, "model_type": "mistral", "vocab_size": None}, ("C203", "vocab_size")),
        ({**LLAMA, "model_type": "deepseek_v3"}, ("C203", "qk_nope_head_dim")),
        ({**LLAMA, "model_type": "jamba", "attn_layer_period": None, "mamba_d_conv": "x"}, ("C204", "mamba_d_conv")),
        ({**LLAMA, "hidden_size": "4096"}, ("C204", "hidden_size")),
        ({**LLAMA, "hidden_size": -1}, ("C204", "hidden_size")),
        ({**LLAMA, "hidden_size": float("nan")}, ("C204", "hidden_size")),
        ({**LLAMA, "hidden_size": float("inf")}, ("C204", "hidden_size")),
        ({**LLAMA, "hidden_size": True}, ("C204", "hidden_size")),
        ({**LLAMA, "num_hidden_layers": 10**9}, ("C204", "num_hidden_layers")),
        ({**LLAMA, "hidden_size": 1e300}, ("C204", "hidden_size")),
        ({**LLAMA, "num_key_value_heads": 5}, ("C204", "num_key_value_heads")),
        ({**LLAMA, "mlp_bias": "yes"}, ("C204", "mlp_bias")),
        ({**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 8},
         ("C204", "num_experts_per_tok")),
        ({**LLAMA, "model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 128,
          "layer_types": ["full_attention"] * 3}, ("C204", "layer_types")),
        ({**LLAMA, "model_type": "gemma4_text", "num_kv_shared_layers": 32}, ("C204", "num_kv_shared_layers")),
        ({**LLAMA, "num_experts": 8}, ("C205", "num_experts")),
        ({**LLAMA, "kv_lora_rank": 512}, ("C205", "kv_lora_rank")),
        ({**LLAMA, "model_type": "nemotron_h", "hybrid_override_pattern": "M?"}, ("C203", "mamba_num_heads")),
        ({**LLAMA, "model_type": "nemotron_h", "hybrid_override_pattern": ""}, ("C204", "hybrid_override_pattern")),
        ({**LLAMA, "model_type": "nemotron_h", "hybrid_override_pattern": "*?"}, ("C205", "hybrid_override_pattern")),
    ],
)  # fmt: skip
def test_faults_name_the_field(config: dict[str, object], expected: tuple[str, str]) -> None:
    assert code_and_field(config) == expected


@pytest.mark.parametrize(
    ("quantization", "code"),
    [({"quant_method": "telepathy"}, "C205"), ("gptq", "C204"), ([{"quant_method": "fp8"}], "C204"), (4, "C204")],
)
def test_an_unknown_quantisation_is_refused_but_does_not_hide_the_shape(quantization: object, code: str) -> None:
    config = {**LLAMA, "quantization_config": quantization}
    with pytest.raises(InputError, match=code):
        native_precision(config)
    found = describe_config(config)
    assert found["native_precision"] is None
    assert found["layers"] == 32


@pytest.mark.parametrize(
    ("quantization", "precision"),
    [
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
        ({"quant_method": "compressed-tensors", "config_groups": {
            "a": {"weights": {"num_bits": 8, "type": "int"}},
            "b": {"weights": {"num_bits": 4, "type": "float"}}}}, "fp4"),
    ],
)  # fmt: skip
def test_quantisation_methods(quantization: dict[str, object], precision: str) -> None:
    assert native_precision({**LLAMA, "quantization_config": quantization}) == precision


def test_an_unknown_architecture_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as raised:
        shape_from_config({"model_type": "lama"}, name="my-model")
    assert "my-model" in raised.value.faults[0].message
    assert "llama" in (raised.value.faults[0].help or "")
