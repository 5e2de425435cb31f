"""Architectures without a handed config count to their published totals, from the fields their publishers state."""

from __future__ import annotations

import pytest

from planner.catalog.shape import shape_from_config
from planner.catalog.shape_describe import describe_config

CONFIGS: dict[str, tuple[float, dict[str, object]]] = {
    "Jamba v0.1": (51.57, {
        "model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "mamba_dt_rank": 256,
        "max_position_embeddings": 262144,
    }),
    "Jamba 1.5 Large": (398.6, {
        "model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576, "num_hidden_layers": 72,
        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 65536, "mamba_dt_rank": "auto",
        "max_position_embeddings": 262144,
    }),
    "Phi-2": (2.78, {
        "model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
        "num_attention_heads": 32, "vocab_size": 51200, "max_position_embeddings": 2048,
    }),
    "Phi-3.5 MoE": (41.87, {
        "model_type": "phimoe", "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2,
        "vocab_size": 32064, "attention_bias": True, "max_position_embeddings": 131072,
    }),
    "StableLM 2 1.6B": (1.64, {
        "model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "use_qkv_bias": True,
        "max_position_embeddings": 4096,
    }),
    "Baichuan2 7B": (7.51, {
        "model_type": "baichuan", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "vocab_size": 125696, "model_max_length": 4096,
    }),
    "InternLM2 7B": (7.74, {
        "model_type": "internlm2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544, "bias": False,
        "max_position_embeddings": 32768,
    }),
    "Qwen 7B": (7.72, {
        "model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
        "num_attention_heads": 32, "vocab_size": 151936, "max_position_embeddings": 32768, "no_bias": True,
    }),
    "ChatGLM3 6B": (6.24, {
        "model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 28,
        "num_attention_heads": 32, "multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 65024,
        "add_qkv_bias": True, "seq_length": 8192,
    }),
    "GLM-4 9B": (9.40, {
        "model_type": "glm", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "vocab_size": 151552, "attention_bias": True,
        "max_position_embeddings": 131072,
    }),
    "MiniCPM 2B": (2.72, {
        "model_type": "minicpm", "hidden_size": 2304, "intermediate_size": 5760, "num_hidden_layers": 40,
        "num_attention_heads": 36, "num_key_value_heads": 36, "vocab_size": 122753, "max_position_embeddings": 4096,
    }),
    "StarCoder": (15.52, {
        "model_type": "gpt_bigcode", "n_embd": 6144, "n_inner": 24576, "n_layer": 40, "n_head": 48,
        "vocab_size": 49152, "n_positions": 8192, "multi_query": True,
    }),
    "GPT-2": (0.124, {
        "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024,
    }),
    "GPT-NeoX 20B": (20.55, {
        "model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 44,
        "num_attention_heads": 64, "vocab_size": 50432, "max_position_embeddings": 2048,
    }),
    "Nemotron-4 340B": (341.0, {
        "model_type": "nemotron", "hidden_size": 18432, "intermediate_size": 73728, "num_hidden_layers": 96,
        "num_attention_heads": 96, "num_key_value_heads": 8, "vocab_size": 256000, "max_position_embeddings": 4096,
    }),
    "DBRX": (131.6, {
        "model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
        "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
    }),
    "DeepSeek MoE 16B": (16.38, {
        "model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "vocab_size": 102400, "max_position_embeddings": 4096,
    }),
    "OLMoE 1B 7B": (6.92, {
        "model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8,
        "vocab_size": 50304, "max_position_embeddings": 4096,
    }),
    "ERNIE 4.5 21B A3B": (21.83, {
        "model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
        "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128, "moe_num_experts": 64, "moe_k": 6,
        "moe_num_shared_experts": 2, "moe_intermediate_size": 1536, "moe_layer_start_index": 1,
        "moe_layer_interval": 1, "vocab_size": 103424, "tie_word_embeddings": True, "max_position_embeddings": 131072,
    }),
    "Command R": (34.98, {
        "model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
        "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000, "max_position_embeddings": 131072,
    }),
    "Seed-OSS 36B": (36.15, {
        "model_type": "seed_oss", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
        "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 155136,
        "attention_bias": True, "max_position_embeddings": 524288,
    }),
    "SmolLM3 3B": (3.08, {
        "model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256, "max_position_embeddings": 65536,
    }),
    "Nemotron Nano 9B v2": (8.89, {
        "model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680, "num_hidden_layers": 56,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "mamba_num_heads": 128,
        "mamba_head_dim": 80, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4, "vocab_size": 131072,
        "tie_word_embeddings": False, "max_position_embeddings": 131072,
        "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
    }),
    "MPT 7B": (6.65, {
        "model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50432, "max_seq_len": 2048,
        "expansion_ratio": 4, "no_bias": True,
    }),
    "EXAONE 3.5 7.8B": (7.82, {
        "model_type": "exaone", "hidden_size": 4096, "intermediate_size": 14336, "num_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 102400, "tie_word_embeddings": False,
        "max_position_embeddings": 32768,
    }),
    "Llama 3.2 11B Vision, text": (9.78, {
        "model_type": "mllama_text_model", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38], "max_position_embeddings": 131072,
    }),
    "Granite 4.0 H Tiny": (6.94, {
        "model_type": "granitemoehybrid", "hidden_size": 1536, "intermediate_size": 512,
        "shared_intermediate_size": 1024, "num_hidden_layers": 40, "num_attention_heads": 12,
        "num_key_value_heads": 4, "num_local_experts": 64, "num_experts_per_tok": 6, "vocab_size": 100352,
        "tie_word_embeddings": True, "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_n_groups": 1,
        "mamba_d_state": 128, "mamba_d_conv": 4, "max_position_embeddings": 131072,
        "layer_types": [("attention" if i in (5, 15, 25, 35) else "mamba") for i in range(40)],
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_the_total_is_the_published_one(name: str) -> None:
    billions, config = CONFIGS[name]
    assert describe_config(config)["total_params_b"] == pytest.approx(billions, rel=0.01)


def test_jamba_keeps_a_cache_in_one_of_eight_layers() -> None:
    groups = {g.kind: g for g in shape_from_config(CONFIGS["Jamba v0.1"][1]).kv}
    assert (groups["full"].layers, groups["linear"].layers) == (4, 28)
    assert groups["full"].elements_per_token == 2 * 8 * 128


def test_vision_tower_of_qwen_2_5_vl_is_counted_apart() -> None:
    config: dict[str, object] = {
        "model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "use_sliding_window": False,
        "sliding_window": 32768, "tie_word_embeddings": False, "max_position_embeddings": 128000,
        "vision_config": {
            "model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
            "in_chans": 3, "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
    }  # fmt: skip
    found = describe_config(config)
    assert found["total_params_b"] == pytest.approx(7.616, rel=0.001)
    assert found["vision_params_b"] == pytest.approx(0.676, rel=0.02)
    assert found["total_params_with_vision_b"] == pytest.approx(8.292, rel=0.005)
