"""Every architecture the catalog can read: its builder and its class defaults.

Defaults are those of the configuration classes in transformers (or of the repository's own class) for fields that
configs omit because they equal the default. Only such fields are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.catalog import shape_classic as old
from planner.catalog import shape_families as fam
from planner.catalog import shape_recent as new
from planner.catalog.shape_classic import Classic
from planner.catalog.shape_config import ConfigReader
from planner.catalog.shape_layers import Style, common, expert_block
from planner.catalog.shape_parts import Decoder

UNTIED: dict[str, object] = {"tie_word_embeddings": False}
TIED: dict[str, object] = {"tie_word_embeddings": True}
HEAD_128: dict[str, object] = UNTIED | {"head_dim": 128}


@dataclass(frozen=True, slots=True)
class Family:
    """An architecture: the name engines know it by, its builder, its class defaults."""

    architecture: str
    build: Callable[[ConfigReader], Decoder]
    defaults: Mapping[str, object] = field(default_factory=lambda: UNTIED)


LLAMA = common(Style(output_bias=True))
LLAMA_7B: dict[str, object] = UNTIED | {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
QWEN_MOE: dict[str, object] = UNTIED | {"decoder_sparse_step": 1}
GEMMA: dict[str, object] = TIED | {"head_dim": 256}
GEMMA3: dict[str, object] = TIED | {
    "head_dim": 256,
    "vocab_size": 262208,
    "max_position_embeddings": 131072,
    "sliding_window": 4096,
    "window_pattern": 6,
}
LLAMA4: dict[str, object] = UNTIED | {"vocab_size": 202048, "head_dim": 128, "interleave_moe_layer_step": 1}

QWEN2 = common(Style(qkv_bias=True, windows=True))
QWEN3 = common(Style(qk_norm="head", windows=True))
QWEN3_MOE = common(Style(qk_norm="head", windows=True, blocks=expert_block))
MISTRAL = common(Style(windows=True))

FAMILIES: dict[str, Family] = {
    "llama": Family("LlamaForCausalLM", LLAMA, LLAMA_7B),
    "aquila": Family("AquilaForCausalLM", LLAMA),
    "mistral": Family("MistralForCausalLM", MISTRAL),
    "ministral3": Family("Mistral3ForConditionalGeneration", MISTRAL),
    "mixtral": Family("MixtralForCausalLM", common(Style(windows=True, blocks=expert_block))),
    "mistral4": Family("Mistral3ForConditionalGeneration", fam.deepseek),
    "qwen2": Family("Qwen2ForCausalLM", QWEN2),
    "qwen2_moe": Family(
        "Qwen2MoeForCausalLM", common(Style(qkv_bias=True, windows=True, blocks=expert_block)), QWEN_MOE
    ),
    "qwen3": Family("Qwen3ForCausalLM", QWEN3, HEAD_128),
    "qwen3_moe": Family("Qwen3MoeForCausalLM", QWEN3_MOE, QWEN_MOE),
    "qwen3_vl_text": Family("Qwen3VLForConditionalGeneration", QWEN3, HEAD_128),
    "qwen3_vl_moe_text": Family("Qwen3VLMoeForConditionalGeneration", QWEN3_MOE, QWEN_MOE),
    "qwen3_next": Family("Qwen3NextForCausalLM", fam.qwen3_next, QWEN_MOE),
    "qwen3_5_text": Family("Qwen3_5ForConditionalGeneration", fam.qwen3_next),
    "qwen3_5_moe_text": Family("Qwen3_5MoeForConditionalGeneration", fam.qwen3_next, QWEN_MOE),
    "gemma": Family("GemmaForCausalLM", common(Style()), GEMMA),
    "gemma2": Family(
        "Gemma2ForCausalLM", common(Style(norms=4, windows=True)), GEMMA | {"sliding_window": 4096, "window_pattern": 2}
    ),
    "gemma3_text": Family(
        "Gemma3ForConditionalGeneration", common(Style(qk_norm="head", norms=4, windows=True)), GEMMA3
    ),
    "gemma4_text": Family("Gemma4ForConditionalGeneration", fam.gemma4, GEMMA),
    "phi3": Family("Phi3ForCausalLM", MISTRAL),
    "phi": Family("PhiForCausalLM", Classic(norms=1, head_bias=True), UNTIED),
    "phimoe": Family(
        "PhiMoEForCausalLM", common(Style(qkv_bias=True, output_bias=True, norm_bias=True, blocks=expert_block))
    ),
    "olmo": Family("OlmoForCausalLM", common(Style(norms=0))),
    "olmo2": Family("Olmo2ForCausalLM", common(Style(qk_norm="full"))),
    "olmo3": Family("Olmo3ForCausalLM", common(Style(qk_norm="full", windows=True))),
    "olmoe": Family("OlmoeForCausalLM", common(Style(qk_norm="full", blocks=expert_block))),
    "starcoder2": Family("Starcoder2ForCausalLM", Classic(windows=True), TIED),
    "deepseek_v2": Family("DeepseekV2ForCausalLM", fam.deepseek),
    "deepseek_v3": Family("DeepseekV3ForCausalLM", fam.deepseek),
    "deepseek_v32": Family("DeepseekV32ForCausalLM", fam.deepseek),
    "deepseek_v4": Family("DeepseekV4ForCausalLM", fam.deepseek_v4),
    "kimi_k2": Family("DeepseekV3ForCausalLM", fam.deepseek),
    "kimi_linear": Family("KimiLinearForCausalLM", fam.kimi_linear),
    "glm": Family("GlmForCausalLM", common(Style(qkv_bias=True)), HEAD_128),
    "chatglm": Family("ChatGLMModel", old.chatglm, UNTIED),
    "glm4": Family("Glm4ForCausalLM", common(Style(norms=4)), UNTIED),
    "glm4_moe": Family("Glm4MoeForCausalLM", common(Style(qk_norm="head", blocks=expert_block)), HEAD_128),
    "glm_moe_dsa": Family("GlmMoeDsaForCausalLM", fam.deepseek),
    "minimax_m2": Family("MiniMaxM2ForCausalLM", common(Style(qk_norm="full", blocks=expert_block))),
    "minimax_m3": Family("MiniMaxM3ForCausalLM", fam.minimax_m3),
    "mimo": Family("MiMoForCausalLM", QWEN2),
    "mimo_v2_flash": Family("MiMoV2FlashForCausalLM", fam.mimo_v2),
    "step3p5": Family("Step3p5ForCausalLM", fam.step3),
    "step3p7": Family("Step3p7FlashForCausalLM", fam.step3),
    "gpt_oss": Family("GptOssForCausalLM", fam.gpt_oss),
    "llama4_text": Family("Llama4ForConditionalGeneration", fam.llama4, LLAMA4),
    "nemotron_h": Family("NemotronHForCausalLM", fam.nemotron_h),
    "nemotron-nas": Family("DeciLMForCausalLM", fam.nemotron_nas),
    "deci": Family("DeciLMForCausalLM", fam.deci),
    "jamba": Family("JambaForCausalLM", fam.jamba, UNTIED | {
        "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1,
        "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "num_experts": 16, "num_experts_per_tok": 2,
    }),
    "granite": Family("GraniteForCausalLM", LLAMA),
    "granitemoehybrid": Family("GraniteMoeHybridForCausalLM", fam.granite_hybrid, TIED),
    "cohere": Family("CohereForCausalLM", common(Style(norms=1)), TIED),
    "cohere2": Family("Cohere2ForCausalLM", common(Style(norms=1, windows=True)), TIED | {"window_pattern": 4}),
    "smollm3": Family("SmolLM3ForCausalLM", common(Style(windows=True)), TIED),
    "seed_oss": Family("SeedOssForCausalLM", common(Style(qkv_bias=True)), UNTIED),
    "falcon": Family("FalconForCausalLM", old.falcon, TIED),
    "gptj": Family("GPTJForCausalLM", Classic(attention_bias=False, norms=1, head_bias=True), UNTIED),
    "gpt_neox": Family("GPTNeoXForCausalLM", Classic(), UNTIED),
    "gpt_bigcode": Family("GPTBigCodeForCausalLM", old.gpt_bigcode, TIED),
    "nemotron": Family("NemotronForCausalLM", old.nemotron),
    "qwen": Family("QWenLMHeadModel", old.qwen),
    "baichuan": Family("BaichuanForCausalLM", common(Style())),
    "internlm": Family("InternLMForCausalLM", common(Style(qkv_bias=True, output_bias=True))),
    "internlm2": Family("InternLM2ForCausalLM", common(Style())),
    "minicpm": Family("MiniCPMForCausalLM", common(Style()), TIED),
    "orion": Family("OrionForCausalLM", common(Style(norm_bias=True))),
    "stablelm": Family("StableLmForCausalLM", common(Style(norm_bias=True))),
    "deepseek": Family("DeepseekForCausalLM", common(Style(blocks=expert_block))),
    "dbrx": Family("DbrxForCausalLM", old.dbrx),
    "granitemoe": Family("GraniteMoeForCausalLM", common(Style(blocks=expert_block))),
    "exaone4": Family("Exaone4ForCausalLM", common(Style(qk_norm="head", windows=True))),
    "ernie4_5": Family("Ernie4_5ForCausalLM", common(Style()), TIED),
    "ernie4_5_moe": Family("Ernie4_5_MoeForCausalLM", old.ernie_moe, TIED),
    "gpt2": Family("GPT2LMHeadModel", Classic(positions=("n_positions",)), TIED),
    "opt": Family("OPTForCausalLM", Classic(positions=("max_position_embeddings",), position_offset=2), TIED),
    "bloom": Family("BloomForCausalLM", Classic(embedding_norm=True), TIED),
    "exaone": Family("ExaoneForCausalLM", LLAMA),
    "mpt": Family("MPTForCausalLM", old.mpt, TIED | {"expansion_ratio": 4}),
    "mllama_text_model": Family("MllamaForConditionalGeneration", new.mllama),
    "glm4v_text": Family("Glm4vForConditionalGeneration", common(Style(norms=4, qkv_bias=True))),
    "falcon_h1": Family("FalconH1ForCausalLM", new.falcon_h1),
    "bamba": Family("BambaForCausalLM", new.bamba),
    "lfm2": Family("Lfm2ForCausalLM", new.lfm2, TIED),
    "lfm2_moe": Family("Lfm2MoeForCausalLM", new.lfm2, TIED),
    "longcat_flash": Family("LongcatFlashForCausalLM", new.longcat, UNTIED | {
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048, "n_routed_experts": 512, "zero_expert_num": 256,
        "moe_topk": 12, "hidden_size": 6144, "num_attention_heads": 64, "vocab_size": 131072, "num_layers": 28,
        "max_position_embeddings": 131072,
    }),
    "minimax": Family("MiniMaxForCausalLM", new.lightning),
    "minimax_text_01": Family("MiniMaxText01ForCausalLM", new.lightning),
    "minimax_m1": Family("MiniMaxM1ForCausalLM", new.lightning),
    "hunyuan_v1_moe": Family("HunYuanMoEV1ForCausalLM", new.hunyuan),
    "hunyuan_v1_dense": Family("HunYuanDenseV1ForCausalLM", new.hunyuan),
    "hy_v3": Family("HYV3ForCausalLM", new.hy3),
    "bailing_moe": Family("BailingMoeForCausalLM", new.bailing),
    "bailing_moe_v2": Family("BailingMoeV2ForCausalLM", new.bailing),
    "bailing_hybrid": Family("BailingMoeV3ForCausalLM", new.bailing, UNTIED | {"num_shared_experts": 1}),
    "inkling_text": Family("InklingForConditionalGeneration", new.inkling, UNTIED | {
        "hidden_size": 6144, "num_hidden_layers": 66, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 128, "swa_num_key_value_heads": 16, "sliding_window_size": 512, "intermediate_size": 24576,
        "moe_intermediate_size": 3072, "n_routed_experts": 256, "num_experts_per_tok": 6, "n_shared_experts": 2,
        "vocab_size": 201024, "max_position_embeddings": 131072,
    }),
    "afmoe": Family("AfmoeForCausalLM", new.afmoe, UNTIED | {"num_shared_experts": 1, "num_dense_layers": 1}),
    "laguna": Family("LagunaForCausalLM", new.laguna, HEAD_128),
    "exaone_moe": Family("ExaoneMoeForCausalLM", new.exaone_moe, UNTIED | {
        "first_k_dense_replace": 1, "sliding_window": 4096, "window_pattern": 4, "num_shared_experts": 1,
    }),
    "olmo_hybrid": Family("OlmoHybridForCausalLM", new.olmo_hybrid),
    "apertus": Family("ApertusForCausalLM", new.ungated, UNTIED | {"qk_norm": True}),
    "arcee": Family("ArceeForCausalLM", new.ungated),
    "minicpm3": Family("MiniCPM3ForCausalLM", new.dense_latent, TIED),
    "grok-1": Family("Grok1ForCausalLM", new.grok, TIED),
    "step3_text": Family("Step3VLForConditionalGeneration", new.step3_text),
    "gemma3n_text": Family("Gemma3nForConditionalGeneration", new.gemma3n, TIED | {
        "head_dim": 256, "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
        "altup_num_inputs": 4, "laurel_rank": 64, "num_kv_shared_layers": 15, "sliding_window": 512,
        "window_pattern": 5, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 262400,
        "hidden_size": 2048, "num_hidden_layers": 35, "intermediate_size": 16384, "max_position_embeddings": 32768,
    }),
    "dots1": Family("Dots1ForCausalLM", common(Style(qk_norm="head", blocks=expert_block, windows=True)), UNTIED),
    "solar_open": Family(
        "SolarOpenForCausalLM", common(Style(blocks=expert_block)), HEAD_128
    ),
    "flex_olmo": Family("FlexOlmoForCausalLM", common(Style(qk_norm="full", blocks=expert_block))),
    "glm4_moe_lite": Family("Glm4MoeLiteForCausalLM", fam.deepseek, UNTIED | {
        "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
        "first_k_dense_replace": 1,
    }),
}  # fmt: skip

ARCHITECTURES: dict[str, str] = {family.architecture: kind for kind, family in reversed(FAMILIES.items())} | {
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "gemma3": "gemma3_text",
    "Gemma3ForCausalLM": "gemma3_text",
    "gemma4": "gemma4_text",
    "Gemma4ForCausalLM": "gemma4_text",
    "llama4": "llama4_text",
    "Llama4ForCausalLM": "llama4_text",
    "glm4v_moe_text": "glm4_moe",
    "glm4v_moe": "glm4_moe",
    "glm4v": "glm4v_text",
    "mllama": "mllama_text_model",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "BaiChuanForCausalLM": "baichuan",
    "kimi_k3": "kimi_linear",
    "KimiK3ForConditionalGeneration": "kimi_linear",
    "kimi_k25": "kimi_k2",
    "KimiK25ForConditionalGeneration": "kimi_k2",
    "DeepseekV32ForCausalLM": "deepseek_v32",
    "AquilaModel": "aquila",
    "inkling_mm_model": "inkling_text",
    "InklingForCausalLM": "inkling_text",
    "mimo_v2": "mimo_v2_flash",
    "MiMoV2ForCausalLM": "mimo_v2_flash",
    "gemma3n": "gemma3n_text",
    "Gemma3nForCausalLM": "gemma3n_text",
    "hunyuan": "hunyuan_v1_moe",
    "HunYuanForCausalLM": "hunyuan_v1_dense",
    "HunYuanMoeForCausalLM": "hunyuan_v1_moe",
    "BailingHybridForCausalLM": "bailing_hybrid",
    "BailingMoeV2_5ForCausalLM": "bailing_hybrid",
    "BailingMoeLinearForCausalLM": "bailing_hybrid",
    "BailingMoeLinearV2ForCausalLM": "bailing_hybrid",
    "bailing_moe_linear": "bailing_hybrid",
    "step3_vl": "step3_text",
    "Step3TextForCausalLM": "step3_text",
    "phi4mm": "phi3",
    "Phi4MMForCausalLM": "phi3",
    "Phi4MultimodalForCausalLM": "phi3",
    "phi4_multimodal": "phi3",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_omni_moe_thinker": "qwen3_moe",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_5_omni_thinker": "qwen2",
    "kimi_vl": "deepseek_v3",
    "git": "grok-1",
    "mistral3": "mistral",
    "internlm3": "internlm2",
    "InternLM3ForCausalLM": "internlm2",
}
"""Other names of a family: architectures, and model types of wrappers."""
