"""DeepSeek, Kimi, GLM, MiniMax, MiMo and Step."""

from __future__ import annotations

from benchmarks.model_rows.row import ASSUMED, DERIVED, VLLM_LOG, ModelRow, decoder

DEEPSEEK_R1_FP8 = ("fp8", 635.28, f"{VLLM_LOG}: 79.41 GiB on each of 8 (HabanaAI vllm-fork#809)")
DEEPSEEK_R1_INT4 = ("int4", 339.36, f"{VLLM_LOG}, AWQ: 21.21 GiB on each of 16 (vllm#14447)")
DEEPSEEK_V2_LITE = decoder(
    "deepseek_v2", 2048, 27, 16, 16, 10944, 102400, 163840, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
    v_head_dim=128, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=1408,
    first_k_dense_replace=1,
)  # fmt: skip
KIMI_INT4 = ("int4", 0.5625, 2.0)
"""Groups of 32 with a 16-bit scale; attention, shared experts and the dense layer stay 16 bit."""
KIMI_MXFP4 = ("mxfp4", 0.53125, 2.0)
DEEPSEEK_MXFP4 = ("mxfp4", 0.53125, 1.0)
GLM_4_5 = decoder(
    "glm4_moe", 5120, 92, 96, 8, 12288, 151552, 131072, head_dim=128, use_qk_norm=True, attention_bias=True,
    n_routed_experts=160, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=1536,
    first_k_dense_replace=3,
)  # fmt: skip

MLA_AND_MOE = (
    ModelRow(
        "deepseek-v2-lite", "DeepSeek V2 Lite", DEEPSEEK_V2_LITE,
        ("deepseek-ai/DeepSeek-V2-Lite", "deepseek-ai/DeepSeek-V2-Lite-Chat"), source="arXiv 2405.04434, appendix B",
    ),
    ModelRow(
        "deepseek-v3", "DeepSeek V3", "deepseek-ai__DeepSeek-V3",
        (
            "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-0324", "deepseek-ai/DeepSeek-V3-Base",
            "nvidia/DeepSeek-V3-0324-NVFP4", "nvidia/DeepSeek-V3-FP4",
        ),
        weights=(DEEPSEEK_R1_FP8, DEEPSEEK_R1_INT4),
    ),
    ModelRow(
        "deepseek-v3.1", "DeepSeek V3.1", "deepseek-ai__DeepSeek-V3",
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V3.1-Terminus", "nvidia/DeepSeek-V3.1-NVFP4"),
        weights=(DEEPSEEK_R1_FP8,), confidence=DERIVED,
        source="config of DeepSeek-V3, of which it is a further training",
    ),
    ModelRow(
        "deepseek-r1", "DeepSeek R1", "deepseek-ai__DeepSeek-V3",
        (
            "deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1-0528", "nvidia/DeepSeek-R1-0528-NVFP4",
            "nvidia/DeepSeek-R1-0528-NVFP4-v2", "nvidia/DeepSeek-R1-NVFP4", "nvidia/DeepSeek-R1-FP4",
            "cognitivecomputations/DeepSeek-R1-AWQ", "amd/DeepSeek-R1-0528-MXFP4",
        ),
        ("deepseek-r1-671b", "deepseek-r1:671b", "DeepSeek-R1 671B", "DeepSeek R1 671B"),
        weights=(DEEPSEEK_R1_FP8, DEEPSEEK_R1_INT4), confidence=DERIVED,
        source="config of DeepSeek-V3, of which it is a further training",
    ),
    ModelRow(
        "deepseek-v3.2", "DeepSeek V3.2", "deepseek-ai__DeepSeek-V3.2",
        ("deepseek-ai/DeepSeek-V3.2", "deepseek-ai/DeepSeek-V3.2-Exp", "nvidia/DeepSeek-V3.2-NVFP4"),
    ),
    ModelRow(
        "deepseek-v4-flash", "DeepSeek V4-Flash", "deepseek-ai__DeepSeek-V4-Flash",
        (
            "deepseek-ai/DeepSeek-V4-Flash", "nvidia/DeepSeek-V4-Flash-NVFP4", "sgl-project/DeepSeek-V4-Flash-FP8",
            "deepseek-ai/DeepSeek-V4-Flash-0731",
        ),
        mixed=DEEPSEEK_MXFP4, note="published with 4-bit experts and the rest in FP8",
    ),
    ModelRow(
        "deepseek-v4-pro", "DeepSeek V4-Pro", "deepseek-ai__DeepSeek-V4-Pro",
        ("deepseek-ai/DeepSeek-V4-Pro", "nvidia/DeepSeek-V4-Pro-NVFP4", "sgl-project/DeepSeek-V4-Pro-FP8",
         "deepseek-ai/DeepSeek-V4-Pro-0813"),
        mixed=DEEPSEEK_MXFP4, note="published with 4-bit experts and the rest in FP8",
    ),
    ModelRow(
        "kimi-k2-instruct", "Kimi K2", "moonshotai__Kimi-K2-Instruct",
        ("moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Base"), ("kimi-k2",),
    ),
    ModelRow(
        "kimi-k2-thinking", "Kimi K2 Thinking", "moonshotai__Kimi-K2-Instruct",
        ("moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2-Instruct-0905", "nvidia/Kimi-K2-Thinking-NVFP4"),
        native="int4", mixed=KIMI_INT4, context=262144, confidence=DERIVED,
        source="config of Kimi-K2-Instruct, same architecture",
    ),
    ModelRow(
        "kimi-k2.5", "Kimi K2.5", "moonshotai__Kimi-K2.5",
        ("moonshotai/Kimi-K2.5", "nvidia/Kimi-K2.5-NVFP4", "amd/Kimi-K2.5-MXFP4"), mixed=KIMI_INT4,
    ),
    ModelRow(
        "kimi-k2.6", "Kimi K2.6", "moonshotai__Kimi-K2.5", ("moonshotai/Kimi-K2.6", "nvidia/Kimi-K2.6-NVFP4"),
        mixed=KIMI_INT4, confidence=ASSUMED, source="config of Kimi-K2.5; vLLM recipes give the same totals",
    ),
    ModelRow(
        "kimi-k2.7-code", "Kimi K2.7 Code", "nvidia__Kimi-K2.7-Code-NVFP4",
        ("moonshotai/Kimi-K2.7-Code", "nvidia/Kimi-K2.7-Code-NVFP4"), native="int4", mixed=KIMI_INT4,
    ),
    ModelRow(
        "kimi-k3", "Kimi K3", "moonshotai__Kimi-K3",
        ("moonshotai/Kimi-K3", "nvidia/Kimi-K3-NVFP4", "RedHatAI/Kimi-K3-NVFP4"), mixed=KIMI_MXFP4,
    ),
    ModelRow(
        "kimi-linear-48b-a3b", "Kimi Linear 48B A3B", "moonshotai__Kimi-Linear-48B-A3B-Instruct.classdefault",
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "moonshotai/Kimi-Linear-48B-A3B-Base"), confidence=DERIVED,
        source="class defaults of KimiLinearConfig",
    ),
    ModelRow(
        "glm-4.5", "GLM 4.5", GLM_4_5, ("zai-org/GLM-4.5", "zai-org/GLM-4.5-FP8"),
        source="config published with GLM-4.5",
    ),
    ModelRow(
        "glm-4.6", "GLM 4.6", GLM_4_5 | {"max_position_embeddings": 202752}, ("zai-org/GLM-4.6", "zai-org/GLM-4.6-FP8"),
        source="config published with GLM-4.6",
    ),
    ModelRow(
        "glm-4.7", "GLM 4.7", GLM_4_5 | {"max_position_embeddings": 202752},
        ("zai-org/GLM-4.7", "zai-org/GLM-4.7-FP8", "nvidia/GLM-4.7-NVFP4"), confidence=ASSUMED,
        source="config of GLM-4.6; vLLM recipes give the same totals",
    ),
    ModelRow(
        "glm-4.5-air", "GLM 4.5 Air", "zai-org__GLM-4.5-Air.classdefault",
        ("zai-org/GLM-4.5-Air", "zai-org/GLM-4.5-Air-FP8"), confidence=DERIVED,
        source="class defaults of Glm4MoeConfig with the head size 128 of published checkpoints",
    ),
    ModelRow("glm-5", "GLM 5", "zai-org__GLM-5", ("zai-org/GLM-5", "zai-org/GLM-5-FP8", "nvidia/GLM-5-NVFP4")),
    ModelRow(
        "glm-5.1", "GLM 5.1", "zai-org__GLM-5.1", ("zai-org/GLM-5.1", "zai-org/GLM-5.1-FP8", "nvidia/GLM-5.1-NVFP4"),
    ),
    ModelRow(
        "glm-5.2", "GLM 5.2", "zai-org__GLM-5.2", ("zai-org/GLM-5.2", "zai-org/GLM-5.2-FP8", "nvidia/GLM-5.2-NVFP4"),
    ),
    ModelRow("glm-5.3", "GLM 5.3", "zai-org__GLM-5.3", ("zai-org/GLM-5.3", "zai-org/GLM-5.3-FP8")),
    ModelRow(
        "minimax-m2.5", "MiniMax M2.5", "MiniMaxAI__MiniMax-M2.5",
        ("MiniMaxAI/MiniMax-M2.5", "MiniMaxAI/MiniMax-M2", "MiniMaxAI/MiniMax-M2.1", "nvidia/MiniMax-M2.5-NVFP4"),
    ),
    ModelRow(
        "minimax-m2.7", "MiniMax M2.7", "nvidia__MiniMax-M2.7-NVFP4",
        ("MiniMaxAI/MiniMax-M2.7", "nvidia/MiniMax-M2.7-NVFP4"), native="fp8",
    ),
    ModelRow(
        "minimax-m3", "MiniMax M3", "MiniMaxAI__MiniMax-M3", ("MiniMaxAI/MiniMax-M3", "nvidia/MiniMax-M3-NVFP4"),
    ),
    ModelRow("mimo-7b", "MiMo 7B", "XiaomiMiMo__MiMo-7B-Base", ("XiaomiMiMo/MiMo-7B-Base", "XiaomiMiMo/MiMo-7B-RL")),
    ModelRow("mimo-v2-flash", "MiMo V2 Flash", "XiaomiMiMo__MiMo-V2-Flash", ("XiaomiMiMo/MiMo-V2-Flash",)),
    ModelRow(
        "step-3.7-flash", "Step 3.7 Flash", "stepfun-ai__Step-3.7-Flash",
        ("stepfun-ai/Step-3.7-Flash", "stepfun-ai/Step-3.7-Flash-FP8", "stepfun-ai/Step-3.7-Flash-NVFP4"),
        context=262144,
    ),
)  # fmt: skip
