"""The models the catalog names: where each shape is from, how users spell them, what their checkpoints weigh.

`build_models.py` turns these rows into `catalogs/models.json`. A row's `config` is the stem of a published config, or
the fields of one as its publisher or paper states them.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.base import Confidence

DERIVED, ASSUMED, LIST = Confidence.DERIVED, Confidence.ASSUMED, Confidence.LIST
VLLM_LOG = "vLLM start-up log"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model. `repos` are hub ids, from which aliases follow; `weights`: (precision, GiB over all GPUs, source)."""

    id: str
    name: str
    config: str | dict[str, object]
    repos: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    native: str | None = None
    context: int | None = None
    weights: tuple[tuple[str, float, str], ...] = ()
    confidence: Confidence | None = None
    source: str | None = None
    note: str | None = None


def decoder(
    kind: str,
    hidden: int,
    layers: int,
    heads: int,
    kv_heads: int,
    feed_forward: int,
    vocab: int,
    context: int,
    **more: object,
) -> dict[str, object]:
    """A config of the common fields under their hub names; `more` holds what the architecture adds."""
    return {
        "model_type": kind,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": feed_forward,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        **more,
    }


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
        ("meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B-Instruct"), ("llama-3.2-1b", "llama3.2-1b", "llama3.2:1b"),
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

MISTRAL_24B = decoder("mistral", 5120, 40, 32, 8, 32768, 131072, 131072, head_dim=128)
MISTRAL = (
    ModelRow(
        "mistral-7b-instruct", "Mistral 7B v0.3", "mistralai__Mistral-7B-v0.3",
        (
            "mistralai/Mistral-7B-v0.3", "mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-Instruct-v0.2",
            "mistralai/Mistral-7B-v0.2",
        ),
        ("mistral-7b", "Mistral 7B", "mistral-7b-v0.3-instruct", "mistral:7b"),
    ),
    ModelRow(
        "mistral-7b-v0.1", "Mistral 7B v0.1", "mistralai__Mistral-7B-v0.1",
        ("mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.1"),
    ),
    ModelRow(
        "mixtral-8x7b-instruct", "Mixtral 8x7B", "mistralai__Mixtral-8x7B-v0.1",
        ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1"), ("mixtral-8x7b", "mixtral:8x7b"),
    ),
    ModelRow(
        "mixtral-8x22b-instruct", "Mixtral 8x22B", "mistralai__Mixtral-8x22B-v0.1",
        ("mistralai/Mixtral-8x22B-v0.1", "mistralai/Mixtral-8x22B-Instruct-v0.1"), ("mixtral-8x22b", "mixtral:8x22b"),
    ),
    ModelRow(
        "mistral-nemo-12b", "Mistral Nemo 12B",
        decoder("mistral", 5120, 40, 32, 8, 14336, 131072, 131072, head_dim=128),
        ("mistralai/Mistral-Nemo-Base-2407", "mistralai/Mistral-Nemo-Instruct-2407"),
        ("mistral-nemo", "mistral-nemo-instruct"), source="config published with Mistral-Nemo-Instruct-2407",
    ),
    ModelRow(
        "mistral-small-3-24b", "Mistral Small 3 24B", MISTRAL_24B,
        (
            "mistralai/Mistral-Small-24B-Instruct-2501", "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
            "mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistralai/Devstral-Small-2505",
        ),
        ("mistral-small-3", "mistral-small-3.1", "mistral-small-3.2", "mistral-small-24b"),
        source="config published with Mistral-Small-24B-Instruct-2501",
    ),
    ModelRow(
        "mistral-large-2", "Mistral Large 2 123B",
        decoder("mistral", 12288, 88, 96, 8, 28672, 32768, 131072, head_dim=128),
        ("mistralai/Mistral-Large-Instruct-2407", "mistralai/Mistral-Large-Instruct-2411"), ("mistral-large-123b",),
        source="config published with Mistral-Large-Instruct-2407",
    ),
    ModelRow(
        "codestral-22b", "Codestral 22B", decoder("mistral", 6144, 56, 48, 8, 16384, 32768, 32768),
        ("mistralai/Codestral-22B-v0.1",), ("codestral",), source="config published with Codestral-22B-v0.1",
    ),
    ModelRow(
        "ministral-3-3b", "Ministral 3 3B", "mistralai__Ministral-3-3B-Instruct-2512",
        ("mistralai/Ministral-3-3B-Instruct-2512", "mistralai/Ministral-3-3B-Reasoning-2512"),
    ),
    ModelRow(
        "ministral-3-8b", "Ministral 3 8B",
        decoder("ministral3", 4096, 34, 32, 8, 14336, 131072, 262144, head_dim=128, tie_word_embeddings=False),
        ("mistralai/Ministral-3-8B-Instruct-2512", "mistralai/Ministral-3-8B-Reasoning-2512"),
        source="config published with Ministral-3-8B-Instruct-2512; vision encoder left out",
    ),
    ModelRow(
        "ministral-3-14b", "Ministral 3 14B",
        decoder("ministral3", 5120, 40, 32, 8, 16384, 131072, 262144, head_dim=128, tie_word_embeddings=False),
        ("mistralai/Ministral-3-14B-Instruct-2512", "mistralai/Ministral-3-14B-Reasoning-2512"),
        source="config published with Ministral-3-14B-Instruct-2512; vision encoder left out",
    ),
    ModelRow(
        "mistral-small-4", "Mistral Small 4 119B", "mistralai__Mistral-Small-4-119B-2603.classdefault",
        ("mistralai/Mistral-Small-4-119B-2603", "mistralai/Mistral-Small-4-119B-2603-NVFP4"),
        ("mistral-small-4-119b", "Mistral Small 4"), native="fp8", context=262144, confidence=DERIVED,
        source="class defaults of Mistral4Config, documented for Mistral-Small-4-119B-2603; vision encoder left out",
        note="119B with 6.5B active; the seed article takes it for a 24B model with 4B active",
    ),
    ModelRow(
        "mistral-large-3", "Mistral Large 3 675B", "mistralai__Mistral-Large-3-675B-Instruct-2512.params",
        (
            "mistralai/Mistral-Large-3-675B-Instruct-2512", "mistralai/Mistral-Large-3-675B-Base-2512",
            "mistralai/Mistral-Large-3-675B-Instruct-2512-NVFP4",
        ),
        ("mistral-large-3-675b", "Mistral Large 3"), native="fp8", note="vision encoder (2.5B) left out",
    ),
)  # fmt: skip

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
        ),
        native="bf16", context=262144, note="context of the 2507 release; 40960 before",
    ),
    ModelRow(
        "qwen3-coder-480b-a35b", "Qwen3 Coder 480B A35B", "Qwen__Qwen3-Coder-480B-A35B-Instruct",
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"), ("qwen3-coder",),
    ),
    ModelRow(
        "qwen3-next-80b-a3b", "Qwen3 Next 80B A3B", "Qwen__Qwen3-Next-80B-A3B-Instruct",
        (
            "Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen/Qwen3-Next-80B-A3B-Thinking",
            "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8",
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
        ("Qwen/Qwen3-VL-235B-A22B-Instruct", "Qwen/Qwen3-VL-235B-A22B-Thinking"),
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
        "qwen3.8-27b", "Qwen3.8 27B", "nvidia__Qwen3.6-27B-NVFP4", ("Qwen/Qwen3.8-27B", "Qwen/Qwen3.8-27B-FP8"),
        native="bf16", confidence=ASSUMED,
        source="shape of Qwen3.6-27B; a start-up log's 67.7 KiB of KV per token agrees within 6 %",
    ),
)  # fmt: skip

DEEPSEEK_R1_FP8 = ("fp8", 635.28, f"{VLLM_LOG}: 79.41 GiB on each of 8 (HabanaAI vllm-fork#809)")
DEEPSEEK_R1_INT4 = ("int4", 339.36, f"{VLLM_LOG}, AWQ: 21.21 GiB on each of 16 (vllm#14447)")
DEEPSEEK_V2_LITE = decoder(
    "deepseek_v2", 2048, 27, 16, 16, 10944, 102400, 163840, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
    v_head_dim=128, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=1408,
    first_k_dense_replace=1,
)  # fmt: skip
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
            "nvidia/DeepSeek-V3-0324-NVFP4",
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
        ),
        note="published with 4-bit experts and the rest in FP8",
    ),
    ModelRow(
        "deepseek-v4-pro", "DeepSeek V4-Pro", "deepseek-ai__DeepSeek-V4-Pro",
        ("deepseek-ai/DeepSeek-V4-Pro", "nvidia/DeepSeek-V4-Pro-NVFP4", "sgl-project/DeepSeek-V4-Pro-FP8"),
        note="published with 4-bit experts and the rest in FP8",
    ),
    ModelRow(
        "kimi-k2-instruct", "Kimi K2", "moonshotai__Kimi-K2-Instruct",
        ("moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Base"), ("kimi-k2",),
    ),
    ModelRow(
        "kimi-k2-thinking", "Kimi K2 Thinking", "moonshotai__Kimi-K2-Instruct",
        ("moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2-Instruct-0905", "nvidia/Kimi-K2-Thinking-NVFP4"),
        native="int4", context=262144, confidence=DERIVED, source="config of Kimi-K2-Instruct, same architecture",
    ),
    ModelRow(
        "kimi-k2.5", "Kimi K2.5", "moonshotai__Kimi-K2.5", ("moonshotai/Kimi-K2.5", "nvidia/Kimi-K2.5-NVFP4"),
    ),
    ModelRow(
        "kimi-k2.6", "Kimi K2.6", "moonshotai__Kimi-K2.5", ("moonshotai/Kimi-K2.6", "nvidia/Kimi-K2.6-NVFP4"),
        confidence=ASSUMED, source="config of Kimi-K2.5; vLLM recipes give the same totals",
    ),
    ModelRow(
        "kimi-k2.7-code", "Kimi K2.7 Code", "nvidia__Kimi-K2.7-Code-NVFP4",
        ("moonshotai/Kimi-K2.7-Code", "nvidia/Kimi-K2.7-Code-NVFP4"), native="int4",
    ),
    ModelRow("kimi-k3", "Kimi K3", "moonshotai__Kimi-K3", ("moonshotai/Kimi-K3", "nvidia/Kimi-K3-NVFP4")),
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
        ("zai-org/GLM-4.7", "zai-org/GLM-4.7-FP8"), confidence=ASSUMED,
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
        ("stepfun-ai/Step-3.7-Flash", "stepfun-ai/Step-3.7-Flash-FP8"), context=262144,
    ),
)  # fmt: skip

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
        weights=(("fp4", 13.47, f"{VLLM_LOG}, llm-d-benchmark"),),
    ),
    ModelRow(
        "gpt-oss-120b", "gpt-oss 120B", "openai__gpt-oss-120b", ("openai/gpt-oss-120b",), ("gpt-oss:120b",),
        weights=(("fp4", 64.38, f"{VLLM_LOG}, llm-d-benchmark"),),
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

ROWS: tuple[ModelRow, ...] = (*LLAMA_1_AND_2, *LLAMA_3, *MISTRAL, *QWEN, *MLA_AND_MOE, *OTHERS)
