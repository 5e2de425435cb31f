"""Names as benchmark files write them."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.catalog import UnknownName
from planner.catalog.load import load_catalog
from planner.predict.names import NameFinder, is_unstated, precision_in


@cache
def finder() -> NameFinder:
    return NameFinder(load_catalog())


@pytest.mark.parametrize(
    ("text", "model", "precision"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b-instruct", None),
        ("Qwen/Qwen3-32B-FP8", "qwen3-32b", "fp8"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b-instruct", "int8"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b-instruct", "int4"),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8-dynamic", "llama-3.1-70b-instruct", "fp8"),
        ("QWEN3_32B", "qwen3-32b", None),
        ("some-mirror/Qwen3-32B-AWQ", "qwen3-32b", "int4"),
        ("nvidia/Qwen3-30B-A3B-NVFP4", "qwen3-30b-a3b", "fp4"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "r1-distill-qwen-14b", None),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF-Q4_K_M", None, "q4_k_m"),
    ],
)
def test_models_are_found_by_hub_names_of_any_publisher(text: str, model: str | None, precision: str | None) -> None:
    assert precision_in(text) == precision
    if model is not None:
        assert finder().model(text)[0].id == model


@pytest.mark.parametrize(
    ("text", "accelerator", "count"),
    [
        ("4xNVIDIA_L40S", "L40S", 4),
        ("8 x NVIDIA H100 80GB HBM3", "H100-SXM", 8),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB", None),
        ("NVIDIA GeForce RTX 5090", "RTX-5090", None),
        ("Tesla T4", "T4", None),
        ("AMD Instinct MI300X", "MI300X", None),
        ("NVIDIA-H100-PCIe", "H100-PCIe", None),
        ("h200_sxm", "H200-SXM", None),
        ("NVIDIA H100 SXM5 80GB", "H100-SXM", None),
        ("H100 SXM x8", "H100-SXM", 8),
        ("A100-40G", "A100-SXM-40GB", None),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-BSE", None),
    ],
)
def test_accelerators_are_found_as_drivers_report_them(text: str, accelerator: str, count: int | None) -> None:
    found, stated = finder().accelerator(text)
    assert (found.id, stated) == (accelerator, count)


def test_another_memory_is_another_accelerator() -> None:
    for text in ("H100 40GB", "A100 SXM 20GB", "L40S 80GB"):
        with pytest.raises(UnknownName):
            finder().accelerator(text)


@pytest.mark.parametrize(
    ("text", "engine", "version", "stands_in"),
    [
        ("vLLM 0.7.3", "vllm", "0.7.3", False),
        ("vllm@0.19", "vllm", "0.19", False),
        ("TensorRT-LLM v0.9", "trtllm", "0.9", False),
        ("trtllm 1.1.0-dev.2", "trtllm", "1.1.0", False),
        ("sglang", "sglang", None, False),
        ("LMDeploy 0.6", "vllm", None, True),
        ("something-nobody-knows", "vllm", None, True),
    ],
)
def test_engines_are_found_with_their_version(text: str, engine: str, version: str | None, stands_in: bool) -> None:
    found = finder().engine(text)
    assert (found.engine.id, found.version, found.stands_for is not None) == (engine, version, stands_in)


def test_a_slip_in_an_engines_name_is_no_other_engine() -> None:
    with pytest.raises(UnknownName) as caught:
        finder().engine("vlllm")
    assert caught.value.suggestions == ("vllm",)


@given(st.data())
def test_an_alias_means_its_row_whatever_is_written_around_it(data: st.DataObject) -> None:
    catalog = finder().catalog
    row = data.draw(st.sampled_from(catalog.models))
    name = data.draw(st.sampled_from((row.id, *row.aliases)))
    if catalog.model(name) is not row:
        return
    words = name.replace(" ", data.draw(st.sampled_from("-_ ")))
    dressed = data.draw(st.sampled_from([words, words.upper(), f" {words} ", words.lower()]))
    if "/" not in dressed and finder().catalog.known_names().models.get(f"acme/{dressed.strip().lower()}") is None:
        dressed = data.draw(st.sampled_from([dressed, f"acme/{dressed.strip()}"]))
    assert finder().model(dressed)[0] is row


@given(st.text(max_size=40))
def test_any_other_text_is_unknown_and_nothing_worse(text: str) -> None:
    for find in (finder().model, finder().accelerator, finder().engine):
        try:
            find(text)
        except UnknownName:
            continue


def test_what_does_not_state_is_told_from_what_does() -> None:
    assert all(is_unstated(t) for t in ("", "  ", "see-submission (fp8 / fp4 typical)", "see model", "n/a", "unknown"))
    assert not any(is_unstated(t) for t in ("fp8", "seedling", "nan0", "autobahn"))
