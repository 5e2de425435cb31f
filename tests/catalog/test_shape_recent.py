"""Architectures of 2025 and 2026 count to their published totals, from the fields their publishers state."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog.shape import model_from_config, shape_from_config
from planner.catalog.shape_describe import describe_config
from planner.errors import InputError


def mixed(layers: int, period: int, other: str, full: frozenset[int] | None = None) -> list[str]:
    """`full_attention` in every `period`-th layer (or in those of `full`), `other` in the rest."""
    return ["full_attention" if (i in full if full else (i + 1) % period == 0) else other for i in range(layers)]


STEP3_SPARSE = ",".join(map(str, range(4, 60)))
CONFIGS: dict[str, tuple[float, dict[str, object]]] = {
    "falcon-h1-34b": (33.6, {
        "model_type": "falcon_h1", "hidden_size": 5120, "num_hidden_layers": 72, "num_attention_heads": 20,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 21504, "mamba_d_ssm": 4096,
        "mamba_n_heads": 32, "mamba_d_head": 128, "mamba_n_groups": 2, "mamba_d_state": 256, "mamba_d_conv": 4,
        "vocab_size": 261120, "max_position_embeddings": 131072,
    }),
    "lfm2-8b-a1b": (8.34, {
        "model_type": "lfm2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 7168, "moe_intermediate_size": 1792, "num_experts": 32,
        "num_experts_per_tok": 4, "num_dense_layers": 2, "vocab_size": 65536,
        "layer_types": mixed(24, 0, "conv", frozenset((2, 6, 10, 14, 18, 21))), "max_position_embeddings": 131072,
    }),
    "lfm2-1.2b": (1.17, {
        "model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_key_value_heads": 8, "block_ff_dim": 12288, "block_auto_adjust_ff_dim": True,
        "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "vocab_size": 65536,
        "full_attn_idxs": [2,5,8,10,12,14], "max_position_embeddings": 131072,
    }),
    "longcat": (560, {
        "model_type": "longcat_flash", "num_layers": 28,
    }),
    "minimax-m1": (456, {
        "model_type": "minimax_m1", "hidden_size": 6144, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 32, "num_experts_per_tok": 2,
        "intermediate_size": 9216, "vocab_size": 200064, "attn_type_list": ([0] * 7 + [1]) * 10,
        "max_position_embeddings": 131072,
    }),
    "hunyuan-a13b": (80, {
        "model_type": "hunyuan_v1_moe", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "attention_head_dim": 128, "num_experts": 64, "moe_topk": [8] * 32,
        "moe_intermediate_size": [3072] * 32, "num_shared_expert": [1] * 32, "intermediate_size": 3072,
        "vocab_size": 128167, "tie_word_embeddings": True, "use_cla": False, "max_position_embeddings": 131072,
    }),
    "hy3": (295, {
        "model_type": "hy_v3", "hidden_size": 4096, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_experts": 192, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "expert_hidden_dim": 1536, "moe_intermediate_size": 1536, "intermediate_size": 13312,
        "first_k_dense_replace": 1, "vocab_size": 120832, "tie_word_embeddings": False, "qk_norm": True,
        "max_position_embeddings": 131072,
    }),
    "ling-mini-2": (16.26, {
        "model_type": "bailing_moe", "hidden_size": 2048, "num_hidden_layers": 20, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "moe_intermediate_size": 512, "moe_shared_expert_intermediate_size": 512,
        "intermediate_size": 5120, "first_k_dense_replace": 1, "vocab_size": 157184, "use_qk_norm": True,
        "max_position_embeddings": 131072,
    }),
    "ling-1t": (1000, {
        "model_type": "bailing_moe", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432,
        "first_k_dense_replace": 4, "vocab_size": 157184, "use_qk_norm": True, "max_position_embeddings": 131072,
    }),
    "trinity-mini": (26.1, {
        "model_type": "afmoe", "hidden_size": 2048, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "moe_intermediate_size": 1024, "intermediate_size": 6144, "num_dense_layers": 2,
        "vocab_size": 200192, "sliding_window": 2048, "layer_types": mixed(32, 4, "sliding_attention"),
        "max_position_embeddings": 131072,
    }),
    "dots1": (142.8, {
        "model_type": "dots1", "hidden_size": 4096, "num_hidden_layers": 62, "num_attention_heads": 32,
        "num_key_value_heads": 32, "n_routed_experts": 128, "num_experts_per_tok": 6, "n_shared_experts": 2,
        "moe_intermediate_size": 1408, "intermediate_size": 10944, "first_k_dense_replace": 1, "vocab_size": 152064,
        "max_position_embeddings": 131072,
    }),
    "apertus-8b": (8.05, {
        "model_type": "apertus", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 21504, "vocab_size": 131072, "max_position_embeddings": 131072,
    }),
    "afm-4.5b": (4.62, {
        "model_type": "arcee", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 20,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 18432, "vocab_size": 128004,
        "max_position_embeddings": 131072,
    }),
    "inkling": (975, {"model_type": "inkling_text"}),
    "ling-2.5-1t": (1012, {
        "model_type": "bailing_hybrid", "hidden_size": 8192, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "moe_shared_expert_intermediate_size": 2048, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "first_k_dense_replace": 4,
        "layer_group_size": 8, "vocab_size": 157184, "max_position_embeddings": 131072,
    }),
    "mimo-v2.5-pro": (1021, {
        "model_type": "mimo_v2", "vocab_size": 152576, "hidden_size": 6144, "num_hidden_layers": 70,
        "num_attention_heads": 128, "num_key_value_heads": 8, "head_dim": 192, "v_head_dim": 128,
        "swa_num_key_value_heads": 8, "sliding_window": 128,
        "hybrid_layer_pattern": [0] + ([1] * 6 + [0]) * 9 + [1] * 6,
        "moe_layer_freq": [0] + [1] * 69, "intermediate_size": 16384, "n_routed_experts": 384,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "max_position_embeddings": 1048576,
    }),
    "glm-4.7-flash": (30, {
        "model_type": "glm4_moe_lite", "hidden_size": 2048, "num_hidden_layers": 47, "num_attention_heads": 20,
        "num_key_value_heads": 20, "n_routed_experts": 64, "num_experts_per_tok": 4, "n_shared_experts": 1,
        "moe_intermediate_size": 1536, "intermediate_size": 10240, "vocab_size": 154880,
        "max_position_embeddings": 131072,
    }),
    "k-exaone": (236, {
        "model_type": "exaone_moe", "hidden_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432, "vocab_size": 153600,
        "sliding_window": 128, "sliding_window_pattern": "LLLG", "max_position_embeddings": 131072,
    }),
    "solar-open": (102.6, {
        "model_type": "solar_open", "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "n_shared_experts": 1, "moe_intermediate_size": 1280, "intermediate_size": 10240, "first_k_dense_replace": 0,
        "vocab_size": 196608, "max_position_embeddings": 131072,
    }),
    "minicpm3": (4.07, {
        "model_type": "minicpm3", "hidden_size": 2560, "num_hidden_layers": 62, "num_attention_heads": 40,
        "num_key_value_heads": 40, "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
        "qk_rope_head_dim": 32, "intermediate_size": 6400, "vocab_size": 73448, "max_position_embeddings": 131072,
    }),
    "grok-1": (314, {
        "model_type": "grok-1", "hidden_size": 6144, "intermediate_size": 32768, "num_hidden_layers": 64,
        "num_attention_heads": 48, "num_key_value_heads": 8, "num_experts": 8, "num_experts_per_tok": 2,
        "vocab_size": 131072, "max_position_embeddings": 131072,
    }),
    "grok-2": (270, {
        "model_type": "git", "hidden_size": 8192, "intermediate_size": 32768, "moe_intermediate_size": 16384,
        "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
        "num_local_experts": 8, "num_experts_per_tok": 2, "residual_moe": True, "vocab_size": 131072,
        "max_position_embeddings": 131072,
    }),
    "step3": (316, {
        "model_type": "step3_text", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 64,
        "share_q_dim": 2048, "num_attention_groups": 1, "head_dim": 256, "intermediate_size": 18432,
        "moe_intermediate_size": 5120, "share_expert_dim": 5120, "moe_num_experts": 48, "moe_top_k": 3,
        "vocab_size": 128815, "moe_layers_enum": STEP3_SPARSE, "max_position_embeddings": 131072,
    }),
    "gemma3n-e4b": (6.87, {
        "model_type": "gemma3n_text",
    }),
    "gemma3n-e2b": (4.46, {
        "model_type": "gemma3n_text", "num_hidden_layers": 30, "intermediate_size": [8192] * 30,
        "num_kv_shared_layers": 10,
    }),
    "gemma4-e2b": (4.63, {
        "model_type": "gemma4_text", "hidden_size": 1536, "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 1, "head_dim": 256, "global_head_dim": 512, "intermediate_size": 6144,
        "num_kv_shared_layers": 20, "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
        "use_double_wide_mlp": True, "vocab_size": 262144, "sliding_window": 512,
        "layer_types": mixed(35, 5, "sliding_attention"), "max_position_embeddings": 131072,
    }),
    "gemma4-e4b": (7.46, {
        "model_type": "gemma4_text", "hidden_size": 2560, "num_hidden_layers": 42, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512, "intermediate_size": 10240,
        "num_kv_shared_layers": 18, "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
        "use_double_wide_mlp": False, "vocab_size": 262144, "sliding_window": 512,
        "layer_types": mixed(42, 6, "sliding_attention"), "max_position_embeddings": 131072,
    }),
    "olmo-hybrid": (7.4, {
        "model_type": "olmo_hybrid", "hidden_size": 3840, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 30, "vocab_size": 100352, "max_position_embeddings": 131072,
    }),
    "bamba-9b": (9.78, {
        "model_type": "bamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "attn_layer_indices": [9,18,27], "mamba_n_heads": 128,
        "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "vocab_size": 128256,
        "max_position_embeddings": 131072,
    }),
}  # fmt: skip
"""Publishers round to two or three digits; Gemma 4 E is counted without its vision and audio encoders."""


@pytest.mark.parametrize("name", CONFIGS)
def test_the_total_is_the_published_one(name: str) -> None:
    billions, config = CONFIGS[name]
    found = describe_config(config)
    assert found["total_params_b"] == pytest.approx(billions, rel=0.01)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_parts_add_up(name: str) -> None:
    found = describe_config(CONFIGS[name][1])
    parts = found["parameters"]
    assert isinstance(parts, dict)
    assert sum(p["total_b"] for p in parts.values()) == pytest.approx(found["total_params_with_vision_b"], rel=1e-9)
    assert sum(p["active_b"] for p in parts.values()) == pytest.approx(found["active_params_b"], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "billions"),
    [("inkling", 41), ("ling-2.5-1t", 63), ("mimo-v2.5-pro", 42), ("minimax-m1", 45.9), ("hy3", 21)],
)
def test_the_active_count_is_the_published_one(name: str, billions: float) -> None:
    found = describe_config(CONFIGS[name][1])
    keys = ("active_params_b", "active_params_without_embeddings_b")
    assert min(abs(float(str(found[key])) / billions - 1) for key in keys) < 0.03


def test_falcon_h1_keeps_a_cache_and_a_state_in_every_layer() -> None:
    found = describe_config(CONFIGS["falcon-h1-34b"][1])
    assert set(found["attention_per_layer"]) == {"full+linear"}
    shape = shape_from_config(CONFIGS["falcon-h1-34b"][1])
    assert {(g.kind, g.layers) for g in shape.kv} == {("full", 72), ("linear", 72)}


def test_layers_that_share_a_cache_keep_none_of_their_own() -> None:
    kept = describe_config(CONFIGS["gemma4-e2b"][1])["attention_per_layer"]
    assert isinstance(kept, list)
    assert (kept.count("none"), len(kept)) == (20, 35)


def test_per_layer_embeddings_are_embeddings() -> None:
    """Gemma 4 E2B is 2.3B effective parameters: those outside the embeddings of its layers (and the vision tower)."""
    found = describe_config(CONFIGS["gemma4-e2b"][1])
    assert found["active_params_with_output_head_b"] == pytest.approx(2.3, rel=0.02)


def test_groups_of_ling_end_with_latent_attention() -> None:
    config: dict[str, object] = {
        "model_type": "bailing_hybrid", "hidden_size": 1536, "intermediate_size": 4608, "num_hidden_layers": 25,
        "num_attention_heads": 16, "head_dim": 128, "vocab_size": 157184, "layer_group_size": 4,
        "short_conv_kernel_size": 4, "no_kda_lora": True, "gated_attention_proj_granularity_type": "head_wise",
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512, "num_experts": 128,
        "num_experts_per_tok": 8, "num_shared_experts": 1, "moe_intermediate_size": 512, "first_k_dense_replace": 1,
        "max_position_embeddings": 131072,
    }  # fmt: skip
    kinds = describe_config(config)["attention_per_layer"]
    assert kinds == [*["linear", "linear", "linear", "mla"] * 6, "mla"]
    softmax = {**config, "layer_group_size": None, "kv_lora_rank": None, "num_key_value_heads": 4}
    assert set(describe_config(softmax)["attention_per_layer"]) == {"full"}


# --- what a quantised checkpoint keeps wide ----------------------------------------------------------------------


def read(shared: Path, stem: str) -> dict[str, object]:
    loaded = json.loads((shared / "catalog" / "hf_configs" / f"{stem}.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.shared
@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("deepseek-ai__DeepSeek-V3", {"attention": 1, "dense": 1, "shared_expert": 1, "expert": 1}),
        ("moonshotai__Kimi-K2.5", {"attention": 2, "dense": 2, "shared_expert": 2, "expert": 0.5625}),
        ("moonshotai__Kimi-K3", {"attention": 2, "dense": 2, "shared_expert": 2, "expert": 0.53125}),
        ("openai__gpt-oss-120b", {"attention": 2, "expert": 0.53125 * 3072 / 2880}),
        ("nvidia__DeepSeek-V4-Flash-NVFP4", {"attention": 1, "shared_expert": 1, "expert": 0.5625}),
        ("deepseek-ai__DeepSeek-V4-Pro", {"attention": 1, "shared_expert": 1, "expert": 0.53125}),
        ("nvidia__Gemma-4-31B-IT-NVFP4", {"attention": 2, "dense": 0.5625}),
        ("nvidia__Qwen3.6-27B-NVFP4", {"attention": 1, "dense": 0.5625}),
        ("nvidia__Qwen3.5-397B-A17B-NVFP4", {"attention": 2, "shared_expert": 2, "expert": 0.5625}),
        ("nvidia__GLM-5.1-NVFP4", {"attention": 2, "dense": 2, "shared_expert": 2, "expert": 0.5625}),
        ("MiniMaxAI__MiniMax-M2.5", {"attention": 1, "expert": 1}),
    ],
)
def test_parts_of_a_quantised_checkpoint(shared_data: Path, stem: str, expected: dict[str, float]) -> None:
    assert describe_config(read(shared_data, stem))["bytes_per_param"] == expected


@pytest.mark.shared
def test_gpt_oss_weighs_what_start_up_logs_say(shared_data: Path) -> None:
    found = describe_config(read(shared_data, "openai__gpt-oss-120b"))
    assert found["weights_gib"] == pytest.approx(64.38, rel=0.005)


LLAMA_405B = {
    "model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126,
    "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip


def test_the_official_405b_fp8_weighs_what_start_up_logs_say() -> None:
    """57.75 GiB on each of 8 (FACTS §1): attention and the first and last layer stay 16 bit."""
    wide = [f"model.layers.{i}.self_attn.{m}_proj" for i in range(126) for m in "qkvo"]
    wide += [f"model.layers.{i}.mlp.{m}_proj" for i in (0, 125) for m in ("gate", "up", "down")]
    quantised = {**LLAMA_405B, "quantization_config": {"quant_method": "fbgemm_fp8", "modules_to_not_convert": wide}}
    found = describe_config(quantised)
    assert found["weights_gib"] == pytest.approx(57.752 * 8, rel=0.02)
    assert found["kept_16_bit"] == ["embedding", "attention"]
    row = model_from_config(quantised, id="x", source="s", as_of=date(2026, 11, 30))
    (checkpoint,) = row.checkpoints
    assert (checkpoint.precision, checkpoint.weights_gib) == ("fp8", pytest.approx(found["weights_gib"], rel=1e-3))


@pytest.mark.parametrize(
    ("quantisation", "dense_bytes"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 0.5 + 2.5 / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, 0.5 + 2 / 32),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, 1.0),
        ({"quant_method": "fp8", "ignored_layers": ["lm_head", "model.layers.*.self_attn*"]}, 1.0),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, 0.5625),
    ],
)
def test_integer_and_float_methods(quantisation: dict[str, object], dense_bytes: float) -> None:
    found = describe_config({**LLAMA_405B, "quantization_config": quantisation})
    sizes = found["bytes_per_param"]
    assert isinstance(sizes, dict)
    assert sizes["dense"] == pytest.approx(dense_bytes)
    assert sizes["attention"] == (2.0 if "ignored_layers" in quantisation else pytest.approx(dense_bytes))


ODD: tuple[object, ...] = (
    None, 0, -1, 1, 3, 2.5, 1e30, float("nan"), float("inf"), "x", "", [], [1], ["a"], {}, {"a": 1}, True, 10**9,
    [None] * 100, [0] * 100, [10**6] * 100, ["full_attention"] * 100,
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(CONFIGS)), st.data())
def test_a_broken_config_is_counted_or_refused_and_never_crashes(name: str, data: st.DataObject) -> None:
    config = dict(CONFIGS[name][1])
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from(sorted(config)))
        config[key] = data.draw(st.sampled_from(ODD))
    try:
        found = describe_config(config)
    except InputError as refused:
        assert all(f.code in ("C201", "C202", "C203", "C204", "C205") and f.path for f in refused.faults)
        return
    total, active = float(str(found["total_params_with_vision_b"])), float(str(found["active_params_b"]))
    assert 0 < active <= total * (1 + 1e-9) < float("inf")
