"""Further open models that people serve, from the fields their publishers state."""

from __future__ import annotations

from benchmarks.model_rows.row import ModelRow, decoder

QWEN_2_5_VL_VISION: dict[str, object] = {
    "model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
    "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip
JAMBA = {"mamba_dt_rank": "auto"}

MORE = (
    ModelRow(
        "llama-30b", "LLaMA 30B", decoder("llama", 6656, 60, 52, 52, 17920, 32000, 2048), ("huggyllama/llama-30b",),
        ("llama-33b",), source="arXiv 2302.13971",
    ),
    ModelRow(
        "llama-65b", "LLaMA 65B", decoder("llama", 8192, 80, 64, 64, 22016, 32000, 2048), ("huggyllama/llama-65b",),
        source="arXiv 2302.13971",
    ),
    ModelRow(
        "vicuna-7b", "Vicuna 7B", decoder("llama", 4096, 32, 32, 32, 11008, 32000, 4096), ("lmsys/vicuna-7b-v1.5",),
        source="config of Llama 2 7B, its base",
    ),
    ModelRow(
        "vicuna-13b", "Vicuna 13B", decoder("llama", 5120, 40, 40, 40, 13824, 32000, 4096), ("lmsys/vicuna-13b-v1.5",),
        source="config of Llama 2 13B, its base",
    ),
    ModelRow(
        "codellama-7b", "CodeLlama 7B", decoder("llama", 4096, 32, 32, 32, 11008, 32016, 16384),
        ("codellama/CodeLlama-7b-hf", "codellama/CodeLlama-7b-Instruct-hf"), source="arXiv 2308.12950",
    ),
    ModelRow(
        "codellama-70b", "CodeLlama 70B", decoder("llama", 8192, 80, 64, 8, 28672, 32016, 16384),
        ("codellama/CodeLlama-70b-hf", "codellama/CodeLlama-70b-Instruct-hf"), source="arXiv 2308.12950",
    ),
    ModelRow(
        "yi-34b", "Yi 34B", decoder("llama", 7168, 60, 56, 8, 20480, 64000, 4096),
        ("01-ai/Yi-34B", "01-ai/Yi-34B-Chat"), source="arXiv 2403.04652",
    ),
    ModelRow(
        "mistral-small-22b", "Mistral Small 22B", decoder("mistral", 6144, 56, 48, 8, 16384, 32768, 32768),
        ("mistralai/Mistral-Small-Instruct-2409",), source="config published with Mistral-Small-Instruct-2409",
    ),
    ModelRow(
        "phi-3-medium", "Phi 3 medium 14B", decoder("phi3", 5120, 40, 40, 10, 17920, 32064, 131072),
        ("microsoft/Phi-3-medium-128k-instruct",), source="arXiv 2404.14219",
    ),
    ModelRow(
        "phi-3.5-moe", "Phi 3.5 MoE",
        decoder(
            "phimoe", 4096, 32, 32, 8, 6400, 32064, 131072, num_local_experts=16, num_experts_per_tok=2,
            attention_bias=True,
        ),
        ("microsoft/Phi-3.5-MoE-instruct",), source="arXiv 2404.14219",
    ),
    ModelRow(
        "qwen2-0.5b-instruct", "Qwen2 0.5B",
        decoder("qwen2", 896, 24, 14, 2, 4864, 151936, 32768, tie_word_embeddings=True),
        ("Qwen/Qwen2-0.5B", "Qwen/Qwen2-0.5B-Instruct"), source="arXiv 2407.10671",
    ),
    ModelRow(
        "qwen2-1.5b-instruct", "Qwen2 1.5B",
        decoder("qwen2", 1536, 28, 12, 2, 8960, 151936, 32768, tie_word_embeddings=True),
        ("Qwen/Qwen2-1.5B", "Qwen/Qwen2-1.5B-Instruct"), source="arXiv 2407.10671",
    ),
    ModelRow(
        "qwen2-57b-a14b-instruct", "Qwen2 57B A14B",
        decoder(
            "qwen2_moe", 3584, 28, 28, 4, 18944, 151936, 131072, num_experts=64, num_experts_per_tok=8,
            moe_intermediate_size=2560, shared_expert_intermediate_size=20480,
        ),
        ("Qwen/Qwen2-57B-A14B", "Qwen/Qwen2-57B-A14B-Instruct"), source="arXiv 2407.10671",
    ),
    ModelRow(
        "qwen2.5-vl-7b", "Qwen2.5 VL 7B",
        decoder("qwen2_5_vl", 3584, 28, 28, 4, 18944, 152064, 128000, vision_config=QWEN_2_5_VL_VISION),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct-AWQ"), source="arXiv 2502.13923",
    ),
    ModelRow(
        "qwen2.5-vl-72b", "Qwen2.5 VL 72B",
        decoder(
            "qwen2_5_vl", 8192, 80, 64, 8, 29568, 152064, 128000,
            vision_config=QWEN_2_5_VL_VISION | {"intermediate_size": 3456},
        ),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "Qwen/Qwen2.5-VL-72B-Instruct-AWQ"), source="arXiv 2502.13923",
    ),
    ModelRow(
        "deepseek-v2", "DeepSeek V2",
        decoder(
            "deepseek_v2", 5120, 60, 128, 128, 12288, 102400, 163840, q_lora_rank=1536, kv_lora_rank=512,
            qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=160, n_shared_experts=2,
            num_experts_per_tok=6, moe_intermediate_size=1536, first_k_dense_replace=1,
        ),
        (
            "deepseek-ai/DeepSeek-V2", "deepseek-ai/DeepSeek-V2-Chat", "deepseek-ai/DeepSeek-V2.5",
            "deepseek-ai/DeepSeek-Coder-V2-Instruct",
        ),
        ("deepseek-v2-236b",), source="arXiv 2405.04434",
    ),
    ModelRow(
        "glm-4-9b", "GLM 4 9B", decoder("glm", 4096, 40, 32, 2, 13696, 151552, 131072, attention_bias=True),
        ("zai-org/glm-4-9b-hf", "THUDM/glm-4-9b-chat"), source="config published with glm-4-9b-chat-hf",
    ),
    ModelRow(
        "seed-oss-36b", "Seed-OSS 36B",
        decoder("seed_oss", 5120, 64, 80, 8, 27648, 155136, 524288, head_dim=128, attention_bias=True),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct",), source="config published with Seed-OSS-36B-Instruct",
    ),
    ModelRow(
        "ernie-4.5-21b-a3b", "ERNIE 4.5 21B A3B",
        decoder(
            "ernie4_5_moe", 2560, 28, 20, 4, 12288, 103424, 131072, head_dim=128, moe_num_experts=64, moe_k=6,
            moe_num_shared_experts=2, moe_intermediate_size=1536, moe_layer_start_index=1,
        ),
        ("baidu/ERNIE-4.5-21B-A3B-PT", "baidu/ERNIE-4.5-21B-A3B-Thinking"),
        source="config published with ERNIE-4.5-21B-A3B-PT",
    ),
    ModelRow(
        "command-r", "Command R 35B", decoder("cohere", 8192, 40, 64, 64, 22528, 256000, 131072),
        ("CohereLabs/c4ai-command-r-v01", "CohereForAI/c4ai-command-r-v01"),
        source="config published with c4ai-command-r-v01",
    ),
    ModelRow(
        "jamba-v0.1", "Jamba v0.1", decoder("jamba", 4096, 32, 32, 8, 14336, 65536, 262144, **JAMBA),
        ("ai21labs/Jamba-v0.1",), source="arXiv 2403.19887",
    ),
    ModelRow(
        "jamba-1.5-large", "Jamba 1.5 Large", decoder("jamba", 8192, 72, 64, 8, 24576, 65536, 262144, **JAMBA),
        ("ai21labs/AI21-Jamba-1.5-Large", "ai21labs/AI21-Jamba-Large-1.6"), source="arXiv 2408.12570",
    ),
    ModelRow(
        "dbrx-instruct", "DBRX 132B",
        {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
         "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8},
         "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}},
        ("databricks/dbrx-instruct", "databricks/dbrx-base"), ("dbrx",), source="config published with dbrx-instruct",
    ),
    ModelRow(
        "nemotron-4-340b-instruct", "Nemotron 4 340B", decoder("nemotron", 18432, 96, 96, 8, 73728, 256000, 4096),
        ("nvidia/Nemotron-4-340B-Instruct",), source="arXiv 2406.11704",
    ),
    ModelRow(
        "nemotron-nano-9b-v2", "Nemotron Nano 9B v2",
        decoder(
            "nemotron_h", 4480, 56, 40, 8, 15680, 131072, 131072, head_dim=128, mamba_num_heads=128, mamba_head_dim=80,
            n_groups=8, ssm_state_size=128, conv_kernel=4,
            hybrid_override_pattern="M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
        ),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2",), source="arXiv 2508.14444",
    ),
    ModelRow(
        "olmoe-1b-7b", "OLMoE 1B 7B",
        decoder("olmoe", 2048, 16, 16, 16, 1024, 50304, 4096, num_experts=64, num_experts_per_tok=8),
        ("allenai/OLMoE-1B-7B-0924", "allenai/OLMoE-1B-7B-0924-Instruct"), source="arXiv 2409.02060",
    ),
    ModelRow(
        "smollm3-3b", "SmolLM3 3B", decoder("smollm3", 2048, 36, 16, 4, 11008, 128256, 65536),
        ("HuggingFaceTB/SmolLM3-3B",), source="config published with SmolLM3-3B",
    ),
    ModelRow(
        "gemma-3-1b-it", "Gemma 3 1B",
        decoder("gemma3_text", 1152, 26, 4, 1, 6912, 262144, 32768, head_dim=256, sliding_window=512),
        ("google/gemma-3-1b-it", "google/gemma-3-1b-pt"), ("gemma-3-1b", "gemma3:1b"), source="arXiv 2503.19786",
    ),
    ModelRow(
        "gpt-neox-20b", "GPT-NeoX 20B", decoder("gpt_neox", 6144, 44, 64, 64, 24576, 50432, 2048),
        ("EleutherAI/gpt-neox-20b",), source="arXiv 2204.06745",
    ),
    ModelRow(
        "starcoder", "StarCoder 15B",
        {"model_type": "gpt_bigcode", "n_embd": 6144, "n_inner": 24576, "n_layer": 40, "n_head": 48,
         "vocab_size": 49152, "n_positions": 8192, "multi_query": True},
        ("bigcode/starcoder", "bigcode/starcoderbase"), source="arXiv 2305.06161",
    ),
)  # fmt: skip
