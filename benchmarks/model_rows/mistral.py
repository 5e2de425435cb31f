"""Mistral and Mixtral."""

from __future__ import annotations

from benchmarks.model_rows.row import DERIVED, ModelRow, decoder

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
