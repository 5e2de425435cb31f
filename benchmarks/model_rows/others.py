"""gpt-oss, Phi, Gemma, Granite, Nemotron, OLMo and the older models that measurements name."""

from __future__ import annotations

from benchmarks.model_rows.row import ASSUMED, VLLM_LOG, ModelRow, decoder

GPT_OSS_20B: dict[str, object] = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32,
    "num_experts_per_tok": 4, "sliding_window": 128, "max_position_embeddings": 131072, "vocab_size": 201088,
    "layer_types": ["sliding_attention", "full_attention"] * 12, "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
GRANITE_4_MICRO = decoder(
    "granitemoehybrid", 2560, 40, 40, 8, 8192, 100352, 131072, head_dim=64, shared_intermediate_size=8192,
    num_local_experts=0, layer_types=["attention"] * 40, tie_word_embeddings=True,
)  # fmt: skip

OTHERS = (
    ModelRow(
        "gpt-oss-20b", "gpt-oss 20B", GPT_OSS_20B, ("openai/gpt-oss-20b",), ("gpt-oss:20b",), source="arXiv 2508.10925",
        weights=(("mxfp4", 13.47, f"{VLLM_LOG}, llm-d-benchmark"), ("fp4", 13.47, f"{VLLM_LOG}, llm-d-benchmark")),
    ),
    ModelRow(
        "gpt-oss-120b", "gpt-oss 120B", "openai__gpt-oss-120b", ("openai/gpt-oss-120b",), ("gpt-oss:120b",),
        weights=(("mxfp4", 64.38, f"{VLLM_LOG}, llm-d-benchmark"), ("fp4", 64.38, f"{VLLM_LOG}, llm-d-benchmark")),
    ),
    ModelRow(
        "phi-4", "Phi 4 14B", decoder("phi3", 5120, 40, 40, 10, 17920, 100352, 16384), ("microsoft/phi-4",),
        ("phi4", "phi-4-14b"), source="config published with phi-4",
    ),
    ModelRow(
        "phi-4-reasoning", "Phi 4 Reasoning 14B", decoder("phi3", 5120, 40, 40, 10, 17920, 100352, 32768),
        ("microsoft/Phi-4-reasoning", "microsoft/Phi-4-reasoning-plus"), source="config published with Phi-4-reasoning",
    ),
    ModelRow("phi-3.5-mini", "Phi 3.5 mini", "microsoft__Phi-3.5-mini-instruct", ("microsoft/Phi-3.5-mini-instruct",)),
    ModelRow("phi-4-mini", "Phi 4 mini", "microsoft__Phi-4-mini-instruct", ("microsoft/Phi-4-mini-instruct",)),
    ModelRow("gemma-2b", "Gemma 2B", "google__gemma-2b", ("google/gemma-2b", "google/gemma-2b-it")),
    ModelRow("gemma-2-2b-it", "Gemma 2 2B", "google__gemma-2-2b", ("google/gemma-2-2b", "google/gemma-2-2b-it")),
    ModelRow("gemma-2-9b-it", "Gemma 2 9B", "google__gemma-2-9b", ("google/gemma-2-9b", "google/gemma-2-9b-it")),
    ModelRow(
        "gemma-2-27b-it", "Gemma 2 27B",
        decoder("gemma2", 4608, 46, 32, 16, 36864, 256000, 8192, head_dim=128, sliding_window=4096),
        ("google/gemma-2-27b", "google/gemma-2-27b-it"), source="arXiv 2408.00118",
    ),
    ModelRow(
        "gemma-3-4b-it", "Gemma 3 4B",
        decoder("gemma3_text", 2560, 34, 8, 4, 10240, 262208, 131072, head_dim=256, sliding_window=1024),
        ("google/gemma-3-4b-it", "google/gemma-3-4b-pt"), ("gemma-3-4b", "gemma3:4b"),
        source="arXiv 2503.19786; vision encoder left out",
    ),
    ModelRow(
        "gemma-3-12b-it", "Gemma 3 12B",
        decoder("gemma3_text", 3840, 48, 16, 8, 15360, 262208, 131072, head_dim=256, sliding_window=1024),
        ("google/gemma-3-12b-it", "google/gemma-3-12b-pt"), ("gemma-3-12b", "gemma3:12b"),
        source="arXiv 2503.19786; vision encoder left out",
    ),
    ModelRow(
        "gemma-3-27b-it", "Gemma 3 27B", "google__gemma-3-27b-it", ("google/gemma-3-27b-it", "google/gemma-3-27b-pt"),
        ("gemma-3-27b", "gemma3:27b"),
    ),
    ModelRow(
        "gemma-4-26b-a4b", "Gemma 4 26B A4B", "google__gemma-4-26B-A4B",
        ("google/gemma-4-26B-A4B", "google/gemma-4-26B-A4B-it", "nvidia/Gemma-4-26B-A4B-NVFP4"),
    ),
    ModelRow(
        "gemma-4-31b-it", "Gemma 4 31B", "nvidia__Gemma-4-31B-IT-NVFP4",
        ("google/gemma-4-31B-it", "google/gemma-4-31B", "nvidia/Gemma-4-31B-IT-NVFP4"), ("gemma-4",), native="bf16",
    ),
    ModelRow(
        "granite-4.0-micro", "Granite 4.0 Micro", GRANITE_4_MICRO,
        ("ibm-granite/granite-4.0-micro", "ibm-granite/granite-4.0-micro-base"),
        source="config published with granite-4.0-micro",
        weights=(("fp8", 3.4244, f"{VLLM_LOG}, dynamic FP8"),),
    ),
    ModelRow(
        "nemotron-3-nano-30b-a3b", "Nemotron 3 Nano 30B A3B", "nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        (
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8",
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
        ),
        ("nemotron-3-nano",),
    ),
    ModelRow(
        "nemotron-3-super-120b-a12b", "Nemotron 3 Super 120B A12B", "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
        (
            "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
            "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
        ),
        ("nemotron-3-super",), native="bf16",
    ),
    ModelRow(
        "nemotron-3-ultra-550b-a55b", "Nemotron 3 Ultra 550B A55B", "nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4",
        ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4"),
        ("nemotron-3-ultra",), native="bf16",
    ),
    ModelRow(
        "nemotron-h-56b", "Nemotron-H 56B", "nvidia__Nemotron-H-56B-Base-8K", ("nvidia/Nemotron-H-56B-Base-8K",),
    ),
    ModelRow("olmo-2-7b", "OLMo 2 7B", "allenai__OLMo-2-1124-7B", ("allenai/OLMo-2-1124-7B",)),
    ModelRow("olmo-2-13b", "OLMo 2 13B", "allenai__OLMo-2-1124-13B", ("allenai/OLMo-2-1124-13B",)),
    ModelRow("olmo-2-32b", "OLMo 2 32B", "allenai__OLMo-2-0325-32B", ("allenai/OLMo-2-0325-32B",)),
    ModelRow("starcoder2-7b", "StarCoder2 7B", "bigcode__starcoder2-7b", ("bigcode/starcoder2-7b",)),
    ModelRow(
        "smollm2-135m", "SmolLM2 135M", "HuggingFaceTB__SmolLM2-135M",
        ("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M-Instruct"),
    ),
    ModelRow("llava-1.5-7b", "LLaVA 1.5 7B", "llava-hf__llava-1.5-7b-hf", ("llava-hf/llava-1.5-7b-hf",)),
    ModelRow(
        "gpt-j-6b", "GPT-J 6B",
        {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400, "n_positions": 2048},
        ("EleutherAI/gpt-j-6b",), ("gptj-6b", "gpt-j"), source="config published with gpt-j-6b",
    ),
    ModelRow(
        "opt-6.7b", "OPT 6.7B", decoder("opt", 4096, 32, 32, 32, 16384, 50272, 2048), ("facebook/opt-6.7b",),
        source="arXiv 2205.01068",
    ),
    ModelRow(
        "bloom-7b", "BLOOM 7B1",
        {"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "n_head": 32, "vocab_size": 250880,
         "seq_length": 2048},
        ("bigscience/bloom-7b1",), source="arXiv 2211.05100",
    ),
    ModelRow(
        "falcon-180b", "Falcon 180B",
        {"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80, "num_attention_heads": 232,
         "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": True, "max_position_embeddings": 2048,
         "tie_word_embeddings": False},
        ("tiiuae/falcon-180B", "tiiuae/falcon-180B-chat"), source="arXiv 2311.16867",
    ),
    ModelRow(
        "falcon-40b", "Falcon 40B",
        {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
         "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": True, "max_position_embeddings": 2048},
        ("tiiuae/falcon-40b", "tiiuae/falcon-40b-instruct"), source="arXiv 2311.16867",
    ),
    ModelRow(
        "falcon-7b", "Falcon 7B",
        {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
         "multi_query": True, "vocab_size": 65024, "new_decoder_architecture": False, "max_position_embeddings": 2048},
        ("tiiuae/falcon-7b", "tiiuae/falcon-7b-instruct"), source="arXiv 2311.16867",
    ),
    ModelRow(
        "aquila-7b", "Aquila 7B", decoder("aquila", 4096, 32, 32, 32, 11008, 100008, 2048),
        ("BAAI/Aquila-7B", "BAAI/AquilaChat-7B"), source="config published with Aquila-7B",
    ),
    ModelRow(
        "decilm-7b", "DeciLM 7B",
        decoder(
            "deci", 4096, 32, 32, 4, 14336, 32000, 8192,
            num_key_value_heads_per_layer=[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2,
                                           1, 2, 2, 1, 1, 1, 4, 4],
        ),
        ("Deci/DeciLM-7B", "Deci/DeciLM-7B-instruct"), confidence=ASSUMED,
        source="widths as published (7.04B parameters); order of key-value heads over layers assumed",
    ),
)  # fmt: skip
