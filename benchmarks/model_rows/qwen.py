"""Qwen 1.5 to 3.8, and the models distilled into or trained from them."""

from __future__ import annotations

from benchmarks.model_rows.llama import LLAMA_3_8B, LLAMA_3_70B
from benchmarks.model_rows.row import ASSUMED, VLLM_LOG, ModelRow, decoder

QWEN_2_5 = {
    "0.5b": decoder("qwen2", 896, 24, 14, 2, 4864, 151936, 32768, tie_word_embeddings=True),
    "1.5b": decoder("qwen2", 1536, 28, 12, 2, 8960, 151936, 32768, tie_word_embeddings=True),
    "3b": decoder("qwen2", 2048, 36, 16, 2, 11008, 151936, 32768, tie_word_embeddings=True),
    "7b": decoder("qwen2", 3584, 28, 28, 4, 18944, 152064, 131072),
    "14b": decoder("qwen2", 5120, 48, 40, 8, 13824, 152064, 131072),
    "32b": decoder("qwen2", 5120, 64, 40, 8, 27648, 152064, 131072),
    "72b": decoder("qwen2", 8192, 80, 64, 8, 29568, 152064, 131072),
}
QWEN_2_5_REPOS = {"0.5b": "0.5B", "1.5b": "1.5B", "3b": "3B", "7b": "7B", "14b": "14B", "32b": "32B", "72b": "72B"}


def qwen_2_5(size: str, config: dict[str, object]) -> ModelRow:
    """One size of Qwen2.5 with its coder and quantised repositories."""
    repo = f"Qwen/Qwen2.5-{QWEN_2_5_REPOS[size]}"
    variants = ("", "-Instruct", "-Instruct-AWQ", "-Instruct-GPTQ-Int4", "-Instruct-GPTQ-Int8")
    coder = () if size == "72b" else (f"Qwen/Qwen2.5-Coder-{QWEN_2_5_REPOS[size]}-Instruct",)
    return ModelRow(
        f"qwen2.5-{size}-instruct",
        f"Qwen2.5 {QWEN_2_5_REPOS[size]}",
        config,
        tuple(repo + v for v in variants) + coder,
        (f"qwen2.5-{size}", f"qwen2.5:{size}", f"qwen-2.5-{size}"),
        source="arXiv 2412.15115",
        note="128k context with YaRN" if config["max_position_embeddings"] == 131072 else None,
    )


DISTILLS = (
    ("qwen-1.5b", "Qwen-1.5B", QWEN_2_5["1.5b"] | {"tie_word_embeddings": False, "max_position_embeddings": 131072}),
    ("qwen-7b", "Qwen-7B", QWEN_2_5["7b"]),
    ("qwen-14b", "Qwen-14B", QWEN_2_5["14b"]),
    ("qwen-32b", "Qwen-32B", QWEN_2_5["32b"]),
    ("llama-8b", "Llama-8B", LLAMA_3_8B | {"max_position_embeddings": 131072}),
    ("llama-70b", "Llama-70B", LLAMA_3_70B | {"max_position_embeddings": 131072}),
)


def distill(size: str, repo: str, config: dict[str, object]) -> ModelRow:
    """One of the dense models distilled from DeepSeek-R1."""
    return ModelRow(
        f"r1-distill-{size}",
        f"DeepSeek R1 Distill {repo}",
        config,
        (f"deepseek-ai/DeepSeek-R1-Distill-{repo}",),
        source="arXiv 2501.12948: base model of that size",
    )


QWEN_3 = {
    "1.7B": decoder("qwen3", 2048, 28, 16, 8, 6144, 151936, 131072, head_dim=128, tie_word_embeddings=True),
    "4B": decoder("qwen3", 2560, 36, 32, 8, 9728, 151936, 262144, head_dim=128, tie_word_embeddings=True),
    "8B": decoder("qwen3", 4096, 36, 32, 8, 12288, 151936, 131072, head_dim=128),
    "14B": decoder("qwen3", 5120, 40, 40, 8, 17408, 151936, 131072, head_dim=128),
}


def qwen_3(
    size: str, config: dict[str, object] | str, context: int | None = None, more: tuple[str, ...] = ()
) -> ModelRow:
    """One dense size of Qwen3; the context is that with YaRN, or of the 2507 release."""
    repo = f"Qwen/Qwen3-{size}"
    known = isinstance(config, str)
    variants = ("", "-Base", "-FP8", "-AWQ", "-Instruct-2507", "-Thinking-2507")
    return ModelRow(
        f"qwen3-{size.lower()}",
        f"Qwen3 {size}",
        config,
        (*(repo + v for v in variants), *more),
        (f"qwen3:{size.lower()}",),
        context=context,
        source=None if known else "arXiv 2505.09388",
        note="context with YaRN or of the 2507 release; 40960 without",
    )


QWEN = (
    ModelRow(
        "qwen1.5-7b", "Qwen1.5 7B", decoder("qwen2", 4096, 32, 32, 32, 11008, 151936, 32768),
        ("Qwen/Qwen1.5-7B", "Qwen/Qwen1.5-7B-Chat"), source="config published with Qwen1.5-7B",
    ),
    ModelRow(
        "qwen1.5-moe-a2.7b", "Qwen1.5 MoE A2.7B", "Qwen__Qwen1.5-MoE-A2.7B",
        ("Qwen/Qwen1.5-MoE-A2.7B", "Qwen/Qwen1.5-MoE-A2.7B-Chat"),
    ),
    ModelRow("qwen2-7b-instruct", "Qwen2 7B", "Qwen__Qwen2-7B", ("Qwen/Qwen2-7B", "Qwen/Qwen2-7B-Instruct")),
    ModelRow(
        "qwen2-72b-instruct", "Qwen2 72B", decoder("qwen2", 8192, 80, 64, 8, 29568, 152064, 131072),
        ("Qwen/Qwen2-72B", "Qwen/Qwen2-72B-Instruct"),
        source="arXiv 2407.10671",
    ),
    *(qwen_2_5(size, config) for size, config in QWEN_2_5.items()),
    ModelRow(
        "acemath-7b", "AceMath 7B", decoder("qwen2", 3584, 28, 28, 4, 18944, 152064, 4096),
        ("nvidia/AceMath-7B-Instruct",), source="config of Qwen2.5-Math-7B, its base",
    ),
    ModelRow(
        "qwq-32b", "QwQ 32B", QWEN_2_5["32b"], ("Qwen/QwQ-32B", "Qwen/QwQ-32B-Preview", "Qwen/QwQ-32B-AWQ"),
        source="config of Qwen2.5-32B, its base",
    ),
    *(distill(*row) for row in DISTILLS),
    qwen_3("0.6B", "Qwen__Qwen3-0.6B"),
    *(qwen_3(size, config) for size, config in QWEN_3.items()),
    qwen_3("32B", "Qwen__Qwen3-32B", 131072, ("Qwen/Qwen3-32B-FP8-Static-PerTensor",)),
    ModelRow(
        "qwen3-30b-a3b", "Qwen3 30B A3B", "Qwen__Qwen3-30B-A3B",
        (
            "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-30B-A3B-Instruct-2507",
            "Qwen/Qwen3-30B-A3B-Thinking-2507", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "nvidia/Qwen3-30B-A3B-NVFP4",
        ),
        ("qwen3:30b",), context=262144, note="context of the 2507 release; 40960 before",
    ),
    ModelRow(
        "qwen3-235b-a22b", "Qwen3 235B A22B", "nvidia__Qwen3-235B-A22B-NVFP4",
        (
            "Qwen/Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B-FP8", "Qwen/Qwen3-235B-A22B-Instruct-2507",
            "Qwen/Qwen3-235B-A22B-Thinking-2507", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
            "nvidia/Qwen3-235B-A22B-NVFP4", "nvidia/Qwen3-235B-A22B-FP8",
            "nvidia/Qwen3-235B-A22B-Instruct-2507-NVFP4",
        ),
        native="bf16", context=262144, note="context of the 2507 release; 40960 before",
    ),
    ModelRow(
        "qwen3-coder-480b-a35b", "Qwen3 Coder 480B A35B", "Qwen__Qwen3-Coder-480B-A35B-Instruct",
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8",
         "nvidia/Qwen3-Coder-480B-A35B-Instruct-NVFP4"), ("qwen3-coder",),
    ),
    ModelRow(
        "qwen3-next-80b-a3b", "Qwen3 Next 80B A3B", "Qwen__Qwen3-Next-80B-A3B-Instruct",
        (
            "Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen/Qwen3-Next-80B-A3B-Thinking",
            "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "nvidia/Qwen3-Next-80B-A3B-Instruct-NVFP4",
        ),
    ),
    ModelRow(
        "qwen3-vl-4b", "Qwen3 VL 4B", "Qwen__Qwen3-VL-4B-Instruct",
        ("Qwen/Qwen3-VL-4B-Instruct", "Qwen/Qwen3-VL-4B-Thinking"),
    ),
    ModelRow(
        "qwen3-vl-32b", "Qwen3 VL 32B", "Qwen__Qwen3-VL-32B-Instruct",
        ("Qwen/Qwen3-VL-32B-Instruct", "Qwen/Qwen3-VL-32B-Thinking"),
    ),
    ModelRow(
        "qwen3-vl-30b-a3b", "Qwen3 VL 30B A3B", "Qwen__Qwen3-VL-30B-A3B-Instruct",
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", "Qwen/Qwen3-VL-30B-A3B-Thinking"),
    ),
    ModelRow(
        "qwen3-vl-235b-a22b", "Qwen3 VL 235B A22B", "Qwen__Qwen3-VL-235B-A22B-Instruct",
        (
            "Qwen/Qwen3-VL-235B-A22B-Instruct", "Qwen/Qwen3-VL-235B-A22B-Thinking",
            "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8", "nvidia/Qwen3-VL-235B-A22B-Instruct-NVFP4",
        ),
    ),
    ModelRow("qwen3.5-27b", "Qwen3.5 27B", "Qwen__Qwen3.5-27B", ("Qwen/Qwen3.5-27B", "Qwen/Qwen3.5-27B-FP8")),
    ModelRow(
        "qwen3.5-35b-a3b", "Qwen3.5 35B A3B", "Qwen__Qwen3.5-35B-A3B",
        ("Qwen/Qwen3.5-35B-A3B", "Qwen/Qwen3.5-35B-A3B-FP8"),
    ),
    ModelRow(
        "qwen3.5-122b-a10b", "Qwen3.5 122B A10B", "Qwen__Qwen3.5-122B-A10B",
        ("Qwen/Qwen3.5-122B-A10B", "Qwen/Qwen3.5-122B-A10B-FP8", "nvidia/Qwen3.5-122B-A10B-NVFP4"),
    ),
    ModelRow(
        "qwen3.5-397b-a17b", "Qwen3.5 397B A17B", "nvidia__Qwen3.5-397B-A17B-NVFP4",
        ("Qwen/Qwen3.5-397B-A17B", "Qwen/Qwen3.5-397B-A17B-FP8", "nvidia/Qwen3.5-397B-A17B-NVFP4"), native="bf16",
    ),
    ModelRow(
        "qwen3.6-27b", "Qwen3.6 27B", "nvidia__Qwen3.6-27B-NVFP4",
        ("Qwen/Qwen3.6-27B", "Qwen/Qwen3.6-27B-FP8", "nvidia/Qwen3.6-27B-NVFP4"), ("qwen3.6:27b",), native="bf16",
    ),
    ModelRow(
        "qwen3.6-35b-a3b", "Qwen3.6 35B A3B", "nvidia__Qwen3.6-35B-A3B-NVFP4",
        ("Qwen/Qwen3.6-35B-A3B", "Qwen/Qwen3.6-35B-A3B-FP8", "nvidia/Qwen3.6-35B-A3B-NVFP4"), native="bf16",
    ),
    ModelRow(
        "qwen3.8-27b", "Qwen3.8 27B", "nvidia__Qwen3.6-27B-NVFP4",
        ("Qwen/Qwen3.8-27B", "Qwen/Qwen3.8-27B-FP8", "Inferact/Qwen3.8-27B-NVFP4"),
        native="bf16", confidence=ASSUMED,
        source="shape of Qwen3.6-27B; a start-up log's 67.7 KiB of KV per token agrees within 6 %",
        weights=(
            ("fp8", 28.56, f"{VLLM_LOG}: 14.28 GiB on each of 2 (vLLM recipes#810, model inferred)"),
            ("fp4", 24.04, f"{VLLM_LOG}: 12.02 GiB on each of 2 (vLLM recipes#810, model inferred)"),
        ),
    ),
)  # fmt: skip
