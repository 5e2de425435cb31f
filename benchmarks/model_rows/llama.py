"""Llama 1 to 4, CodeLlama and the Nemotrons made from Llama."""

from __future__ import annotations

from benchmarks.model_rows.row import DERIVED, VLLM_LOG, ModelRow, decoder

LLAMA_1_AND_2 = (
    ModelRow(
        "llama-7b", "LLaMA 7B", decoder("llama", 4096, 32, 32, 32, 11008, 32000, 2048), ("huggyllama/llama-7b",),
        ("llama-1-7b",), source="arXiv 2302.13971",
    ),
    ModelRow(
        "llama-13b", "LLaMA 13B", decoder("llama", 5120, 40, 40, 40, 13824, 32000, 2048), ("huggyllama/llama-13b",),
        source="arXiv 2302.13971",
    ),
    ModelRow(
        "llama-2-7b", "Llama 2 7B", decoder("llama", 4096, 32, 32, 32, 11008, 32000, 4096),
        ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-chat-hf"), ("llama2-7b", "llama-2-7b-chat"),
        source="arXiv 2307.09288",
    ),
    ModelRow(
        "llama-2-13b", "Llama 2 13B", decoder("llama", 5120, 40, 40, 40, 13824, 32000, 4096),
        ("meta-llama/Llama-2-13b-hf", "meta-llama/Llama-2-13b-chat-hf"), ("llama2-13b", "llama-2-13b-chat"),
        source="arXiv 2307.09288",
    ),
    ModelRow(
        "llama-2-70b", "Llama 2 70B", "meta-llama__Llama-2-70b-hf",
        ("meta-llama/Llama-2-70b-hf", "meta-llama/Llama-2-70b-chat-hf"), ("llama2-70b", "llama-2-70b-chat"),
        context=4096,
    ),
    ModelRow(
        "codellama-13b", "CodeLlama 13B", decoder("llama", 5120, 40, 40, 40, 13824, 32016, 16384),
        ("codellama/CodeLlama-13b-hf", "codellama/CodeLlama-13b-Instruct-hf"), source="arXiv 2308.12950",
    ),
    ModelRow(
        "codellama-34b", "CodeLlama 34B", decoder("llama", 8192, 48, 64, 8, 22016, 32000, 16384),
        ("codellama/CodeLlama-34b-hf", "codellama/CodeLlama-34b-Instruct-hf"), source="arXiv 2308.12950",
    ),
)  # fmt: skip

LLAMA_3_8B = decoder("llama", 4096, 32, 32, 8, 14336, 128256, 8192)
LLAMA_3_70B = decoder("llama", 8192, 80, 64, 8, 28672, 128256, 8192)
LLAMA_3 = (
    ModelRow(
        "llama-3-8b-instruct", "Llama 3 8B", LLAMA_3_8B,
        ("meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B-Instruct"), ("llama-3-8b", "llama3-8b"),
        source="arXiv 2407.21783",
    ),
    ModelRow(
        "llama-3-70b-instruct", "Llama 3 70B", LLAMA_3_70B,
        ("meta-llama/Meta-Llama-3-70B", "meta-llama/Meta-Llama-3-70B-Instruct"),
        ("llama-3-70b", "llama3-70b", "llama-70b"), source="arXiv 2407.21783",
    ),
    ModelRow(
        "llama-3.1-8b-instruct", "Llama 3.1 8B", "meta-llama__Meta-Llama-3.1-8B",
        (
            "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B",
            "meta-llama/Meta-Llama-3.1-8B-Instruct", "nvidia/Llama-3.1-8B-Instruct-FP8",
            "nvidia/Llama-3.1-8B-Instruct-NVFP4",
            "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
            "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8",
            "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8",
        ),
        ("llama-3.1-8b", "llama3.1-8b", "llama3.1:8b"),
    ),
    ModelRow(
        "llama-3.1-70b-instruct", "Llama 3.1 70B", "meta-llama__Meta-Llama-3.1-70B",
        (
            "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Meta-Llama-3.1-70B",
            "meta-llama/Meta-Llama-3.1-70B-Instruct", "nvidia/Llama-3.1-70B-Instruct-FP8",
            "RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8", "neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8",
        ),
        ("llama-3.1-70b", "llama3.1-70b", "llama3.1:70b"),
    ),
    ModelRow(
        "llama-3.1-405b-instruct", "Llama 3.1 405B", "meta-llama__Meta-Llama-3.1-405B",
        (
            "meta-llama/Llama-3.1-405B", "meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-405B-Instruct-FP8",
            "meta-llama/Meta-Llama-3.1-405B", "meta-llama/Meta-Llama-3.1-405B-Instruct",
            "meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "nvidia/Llama-3.1-405B-Instruct-FP8",
        ),
        ("llama-3.1-405b", "llama3.1-405b", "llama3.1:405b"),
        weights=(("fp8", 462.016, f"{VLLM_LOG}, official FP8 checkpoint: 57.752 GiB on each of 8 (vllm#6746)"),),
        note="the official FP8 checkpoint keeps attention in 16 bit",
    ),
    ModelRow(
        "llama-3.2-1b-instruct", "Llama 3.2 1B", "meta-llama__Llama-3.2-1B",
        ("meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B-Instruct", "AMead10/Llama-3.2-1B-Instruct-AWQ"),
        ("llama-3.2-1b", "llama3.2-1b", "llama3.2:1b"),
    ),
    ModelRow(
        "llama-3.2-3b-instruct", "Llama 3.2 3B", "meta-llama__Llama-3.2-3B",
        ("meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-3B-Instruct"), ("llama-3.2-3b", "llama3.2-3b", "llama3.2:3b"),
    ),
    ModelRow(
        "llama-3.3-70b-instruct", "Llama 3.3 70B", "meta-llama__Meta-Llama-3.1-70B",
        (
            "meta-llama/Llama-3.3-70B-Instruct", "nvidia/Llama-3.3-70B-Instruct-FP8",
            "nvidia/Llama-3.3-70B-Instruct-NVFP4", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
        ),
        ("llama-3.3-70b", "llama3.3-70b", "llama3.3:70b", "llama-3.3-70b-fp8"), confidence=DERIVED,
        source="config of Llama 3.1 70B, of which it is a further training",
    ),
    ModelRow(
        "llama-3.1-nemotron-70b-instruct", "Llama 3.1 Nemotron 70B", "meta-llama__Meta-Llama-3.1-70B",
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "neuralmagic/Llama-3.1-Nemotron-70B-Instruct-HF-FP8-dynamic"),
        ("nemotron-70b", "llama-3.1-nemotron-70b"), confidence=DERIVED,
        source="config of Llama 3.1 70B, of which it is a further training",
    ),
    ModelRow(
        "llama-3.3-nemotron-super-49b", "Llama 3.3 Nemotron Super 49B", "nvidia__Llama-3_3-Nemotron-Super-49B-v1",
        (
            "nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nvidia/Llama-3_3-Nemotron-Super-49B-v1-FP8",
            "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5",
        ),
        ("nemotron-super-49b",),
    ),
    ModelRow(
        "llama-4-scout", "Llama 4 Scout", "meta-llama__Llama-4-Scout-17B-16E-Instruct",
        (
            "meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Scout-17B-16E",
            "nvidia/Llama-4-Scout-17B-16E-Instruct-FP8", "nvidia/Llama-4-Scout-17B-16E-Instruct-NVFP4",
            "RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic",
        ),
        ("llama-4-scout-17b-16e", "llama4-scout", "llama-4-scout-instruct"),
    ),
    ModelRow(
        "llama-4-maverick", "Llama 4 Maverick", "meta-llama__Llama-4-Maverick-17B-128E-Instruct",
        (
            "meta-llama/Llama-4-Maverick-17B-128E-Instruct", "meta-llama/Llama-4-Maverick-17B-128E",
            "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "nvidia/Llama-4-Maverick-17B-128E-Instruct-FP8",
        ),
        ("llama-4-maverick-17b-128e", "llama4-maverick", "llama-4-maverick-instruct"),
    ),
)  # fmt: skip
