"""`fit`: monotone where it must be, exact where it says so, and right about the starts that were logged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.memory_starts import starts
from planner.catalog.load import load_catalog
from planner.catalog.types import SupportRule
from planner.errors import InputError
from planner.performance.engines import default_max_num_seqs, engine_named
from planner.performance.fit import FitQuestion, answer, cache_checks, holds, layouts, memory_of, smallest
from planner.performance.fit_advice import suggestions
from planner.performance.fit_survey import survey
from planner.report.fit import breakdown

CATALOG = load_catalog()
MODELS = (
    "llama-3.1-8b-instruct", "llama-3.3-70b-instruct", "qwen2.5-72b-instruct", "deepseek-r1", "gpt-oss-120b",
    "gemma-3-27b-it", "qwen3.6-27b", "kimi-k3", "deepseek-v4-flash", "nemotron-3-nano-30b-a3b", "mixtral-8x7b",
)  # fmt: skip
ACCELERATORS = ("H100-SXM", "H200-SXM", "B200-SXM", "A100-SXM-40GB", "L4", "RTX-4090", "MI300X")
CHUNKING = ("vllm@0.19", "vllm@0.11", "vllm@0.22", "sglang")


def ask(
    model: str = "llama-3.3-70b-instruct", accelerator: str = "H100-SXM", precision: str = "fp8", kv: str = "bf16",
    engine: str = "vllm", max_model_len: int = 8192, **more: int | float | None,
) -> FitQuestion:  # fmt: skip
    return FitQuestion(
        model=CATALOG.model(model), accelerator=CATALOG.accelerator(accelerator), engine=engine_named(engine, CATALOG),
        precision=CATALOG.precision(precision), kv_precision=CATALOG.precision(kv), max_model_len=max_model_len,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


questions = st.builds(
    ask,
    model=st.sampled_from(MODELS),
    accelerator=st.sampled_from(ACCELERATORS),
    precision=st.sampled_from(("bf16", "fp8", "int4", "fp4")),
    kv=st.sampled_from(("bf16", "fp8")),
    engine=st.sampled_from(CHUNKING),
    max_model_len=st.integers(1, 200_000),
    tensor_parallel=st.sampled_from((1, 2, 4, 8)),
    pipeline_parallel=st.sampled_from((1, 2)),
    max_num_seqs=st.sampled_from((None, 1, 16, 256, 1024)),
    gpu_memory_utilization=st.floats(0.3, 1.0),
    concurrency=st.integers(1, 8),
)


# --- theorems (DESIGN §11) -------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(questions, st.floats(0.0, 1.0))
def test_fit_is_monotone_in_utilisation(question: FitQuestion, share: float) -> None:
    low = replace(question, gpu_memory_utilization=0.01 + share * (question.gpu_memory_utilization - 0.01))
    less, more = answer(low, CATALOG), answer(question, CATALOG)
    assert less.fits <= more.fits
    assert less.memory.kv_pool_gib_per_gpu <= more.memory.kv_pool_gib_per_gpu
    assert less.max_concurrency <= more.max_concurrency
    assert less.longest_context_tokens <= more.longest_context_tokens


@settings(max_examples=80, deadline=None)
@given(questions, st.integers(1, 200_000))
def test_fit_is_monotone_in_context(question: FitQuestion, other: int) -> None:
    short, long = sorted((question.max_model_len, other))
    less, more = (answer(replace(question, max_model_len=n), CATALOG) for n in (long, short))
    assert less.fits <= more.fits
    assert less.max_concurrency <= more.max_concurrency * (1 + 1e-9)


@settings(max_examples=80, deadline=None)
@given(questions, st.integers(1, 2048), st.integers(1, 2048))
def test_fit_is_monotone_in_sequences(question: FitQuestion, one: int, other: int) -> None:
    few, many = sorted((max(one, question.concurrency), max(other, question.concurrency)))
    less, more = (answer(replace(question, max_num_seqs=n), CATALOG) for n in (many, few))
    assert less.fits <= more.fits
    assert less.memory.kv_pool_gib_per_gpu <= more.memory.kv_pool_gib_per_gpu


@settings(max_examples=60, deadline=None)
@given(questions, st.sampled_from(("vllm@0.19", "vllm@0.8", "vllm@0.4")))
def test_the_longest_context_is_the_longest(question: FitQuestion, engine: str) -> None:
    question = replace(question, engine=engine_named(engine, CATALOG))
    found = answer(question, CATALOG)
    longest = found.longest_context_tokens
    limit = max(question.model.max_context_tokens, question.max_model_len)
    assert 0 <= longest <= limit
    if longest:
        assert holds(question, longest)
    if 0 < longest < limit:
        assert not holds(question, longest + 1)
    if found.fits:
        assert longest >= question.max_model_len


@settings(max_examples=60, deadline=None)
@given(questions)
def test_the_parts_add_up_to_the_card(question: FitQuestion) -> None:
    found = answer(question, CATALOG)
    *parts, (_, whole) = breakdown(found)
    assert sum(gib for _, gib in parts) == pytest.approx(whole)
    m = found.memory
    assert m.weights_gib_per_gpu + m.overhead_gib_per_gpu + m.kv_pool_gib_per_gpu == pytest.approx(m.usable_gib_per_gpu)


@settings(max_examples=40, deadline=None)
@given(questions)
def test_every_suggestion_suffices(question: FitQuestion) -> None:
    found = answer(question, CATALOG)
    advice = suggestions(found, CATALOG)
    if found.fits and found.max_concurrency >= 4:
        assert advice == ()
    for suggestion in advice:
        assert suggestion.answer.fits and suggestion.change and suggestion.text
        again = answer(suggestion.answer.question, CATALOG)
        assert again == suggestion.answer
        for key, value in suggestion.change.items():
            now = getattr(again.question, key)
            assert getattr(now, "id", now) == value


# --- the smallest set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "accelerator", "precision", "accelerators"),
    [
        ("llama-3.3-70b-instruct", "H100-SXM", "fp8", 2),
        ("llama-3.3-70b-instruct", "H100-SXM", "bf16", 4),
        ("llama-3.3-70b-instruct", "H200-SXM", "fp8", 1),
        ("deepseek-r1", "H200-SXM", "fp8", 8),
        ("deepseek-r1", "H100-SXM", "fp8", 16),
        ("llama-3.1-8b-instruct", "L4", "fp8", 1),
    ],
)
def test_the_fewest_accelerators(model: str, accelerator: str, precision: str, accelerators: int) -> None:
    found = smallest(ask(model, accelerator, precision, max_model_len=16384), CATALOG)
    assert (found.fits, found.question.config.accelerators) == (True, accelerators)


def test_nothing_smaller_fits() -> None:
    question = ask("qwen3-30b-a3b", "RTX-4090", "fp8", max_model_len=32768)
    found = smallest(question, CATALOG)
    assert found.fits
    for other in layouts(question):
        if other.config.accelerators < found.question.config.accelerators:
            assert not answer(other, CATALOG).fits


def test_every_accelerator_has_a_row_and_those_that_fit_come_first() -> None:
    rows = survey(ask("llama-3.3-70b-instruct", precision="fp8"), CATALOG)
    assert {r.question.accelerator.id for r in rows} == {a.id for a in CATALOG.accelerators}
    verdicts = [r.fits for r in rows]
    assert verdicts == sorted(verdicts, reverse=True) and verdicts[0] and not verdicts[-1]
    for row in rows:
        assert row.fits or row.checks, row.question.accelerator.id


# --- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "check"),
    [
        (ask("r1-distill-qwen-7b", "A100-SXM-80GB", "bf16", tensor_parallel=8), "tensor_parallel_divides_heads"),
        (ask("llama-3.1-70b-instruct", "A100-SXM-80GB", "bf16", tensor_parallel=3), "tensor_parallel_divides_heads"),
        (ask("qwen3-30b-a3b", "H100-SXM", "fp8", tensor_parallel=4), "tensor_parallel_splits_moe_intermediate"),
        (ask("llama-3.1-8b-instruct", "V100-SXM2-32GB", "int4"), "support"),
        (ask("llama-3.1-8b-instruct", "RTX-3090", "bf16", "fp8"), "support"),
        (ask("deepseek-v3", "H100-SXM", "fp8", engine="vllm@0.6.4", tensor_parallel=8, pipeline_parallel=2), "support"),
        (ask("llama-3.1-8b-instruct", "M3-Ultra", "bf16"), "engine_vendor"),
        (ask("llama-3.1-8b-instruct", "MI300X", "bf16", engine="trtllm"), "engine_vendor"),
    ],
)
def test_what_an_engine_refuses_does_not_fit(question: FitQuestion, check: str) -> None:
    found = answer(question, CATALOG)
    assert not found.fits
    assert check in {c.check for c in found.checks}


def test_a_version_that_learned_pipelines_is_admitted() -> None:
    old, new = (
        answer(
            ask("deepseek-v3", "H200-SXM", "fp8", engine=f"vllm@{v}", tensor_parallel=8, pipeline_parallel=2), CATALOG
        )
        for v in ("0.6.4", "0.6.6")
    )
    assert "support" in {c.check for c in old.checks}
    assert new.fits


@pytest.mark.parametrize(
    ("model", "degree", "before", "after"),
    [
        ("qwen3-30b-a3b", 4, False, True),  # T14: 768/4 = 192 = 1.5 blocks
        ("qwen3.6-35b-a3b", 8, False, True),  # T15: 64 columns
        ("qwen3-30b-a3b", 2, True, True),
        ("qwen3-30b-a3b", 16, False, False),  # 48 columns
    ],
)
def test_what_a_split_must_divide_is_a_row_with_versions(model: str, degree: int, before: bool, after: bool) -> None:
    for version, admitted in (("0.19", before), ("0.25", after)):
        found = answer(ask(model, "H100-SXM", "fp8", engine=f"vllm@{version}", tensor_parallel=degree), CATALOG)
        refused = "tensor_parallel_splits_moe_intermediate" in {c.check for c in found.checks}
        assert refused is not admitted, version


def test_t10_tiny_experts_stay_whole_in_every_version() -> None:
    """320 columns over 2, 4 or 8 ranks are no multiple of 64 or 128: expert parallelism, or one rank."""
    model = CATALOG.model("qwen3-30b-a3b")
    tiny = model.model_copy(update={"shape": model.shape.model_copy(update={"moe_intermediate": 320})})
    for version in ("0.19", "0.25"):
        for degree in (1, 2, 4, 8):
            question = replace(ask(engine=f"vllm@{version}", tensor_parallel=degree), model=tiny)
            whole = replace(question, expert_parallel=degree)
            assert answer(question, CATALOG).fits is (degree == 1)
            assert answer(whole, CATALOG).fits


def test_latent_attention_prefers_requests_of_its_own_where_the_version_can() -> None:
    notes = {
        version: answer(
            ask("deepseek-r1", "H200-SXM", "fp8", engine=f"vllm@{version}", tensor_parallel=8), CATALOG
        ).notes
        for version in ("0.8", "0.19")
    }
    assert [any("attention data parallelism" in n for n in notes[v]) for v in ("0.8", "0.19")] == [False, True]
    spread = replace(
        ask("deepseek-r1", "H200-SXM", "fp8", tensor_parallel=8), expert_parallel=8, attention_data_parallel=8
    )
    assert answer(spread, CATALOG).memory.kv_cache_tokens > 3 * 640_000


def test_a_padded_quantity_need_not_divide() -> None:
    question = ask("r1-distill-qwen-7b", "A100-SXM-80GB", "bf16", tensor_parallel=8)
    like = CATALOG.support[0].model_dump()
    pads = [
        SupportRule.model_validate(
            {**dict.fromkeys(like), **{k: like[k] for k in ("source", "as_of", "confidence")}, "blocks": 1.0,
             "id": f"pad-{quantity}", "effect": "pad", "quantity": quantity, "engine": "vllm", "reason": "padded"}
        )
        for quantity in ("heads", "kv_heads")
    ]  # fmt: skip
    padded = replace(CATALOG, support=(*CATALOG.support, *pads))
    assert not answer(question, CATALOG).fits
    assert answer(question, padded).fits


def test_weights_that_are_dequantised_are_noted() -> None:
    """FP8 on Ampere saves memory, not time (handed case G67)."""
    ampere, hopper = (answer(ask("llama-3.1-8b-instruct", a, "fp8"), CATALOG) for a in ("A100-SXM-80GB", "H100-SXM"))
    assert [any("dequantised" in n for n in found.notes) for found in (ampere, hopper)] == [True, False]


def test_28_heads_on_eight_cards_are_answered_with_four() -> None:
    """Handed case T03."""
    found = answer(ask("r1-distill-qwen-7b", "A100-SXM-80GB", "bf16", tensor_parallel=8), CATALOG)
    assert {"tensor_parallel": 4} in [dict(s.change) for s in suggestions(found, CATALOG)]


def test_70b_on_three_cards_is_answered_with_four_or_with_narrower_weights_on_two() -> None:
    """Handed case T05."""
    found = answer(ask("llama-3.1-70b-instruct", "A100-SXM-80GB", "bf16", tensor_parallel=3), CATALOG)
    changes = [dict(s.change) for s in suggestions(found, CATALOG)]
    assert {"tensor_parallel": 4} in changes
    assert {"tensor_parallel": 2, "precision": "fp8"} in changes


def test_starting_is_not_serving() -> None:
    """72B in 16 bit on two H100 starts with 20 k tokens of cache (FACTS §1, handed case G24)."""
    found = answer(
        ask("qwen2.5-72b-instruct", precision="bf16", tensor_parallel=2, gpu_memory_utilization=0.95), CATALOG
    )
    assert found.fits
    assert found.max_concurrency == pytest.approx(2.5, abs=0.2)
    assert any("too few to serve" in note for note in found.notes)
    assert suggestions(found, CATALOG)


def test_requests_at_once_are_asked_for() -> None:
    one, many = (ask(tensor_parallel=2, max_model_len=32768, concurrency=n) for n in (1, 64))
    assert answer(one, CATALOG).fits
    (check,) = answer(many, CATALOG).checks
    assert (check.check, check.needed) == ("concurrency", 64)
    assert float(check.had or 0) == pytest.approx(answer(one, CATALOG).max_concurrency)


def test_a_hybrid_must_find_room_for_its_states() -> None:
    """Handed case G63: 4.76 GiB for 65,536 tokens of a 27B hybrid, of which 0.53 GiB do not grow."""
    question = ask("qwen3.6-27b", "RTX-3090", "int4", engine="vllm@0.20", max_model_len=65536)
    need = answer(question, CATALOG).request_gib_per_gpu
    assert need == pytest.approx(4.76, rel=0.06)
    assert need - 65536 * memory_of(question, 65536).kv_bytes_per_token_per_gpu / 2**30 == pytest.approx(0.53, abs=0.05)


def test_a_context_beyond_the_models_own_is_noted() -> None:
    found = answer(ask("qwen3-4b", "RTX-5090", "bf16", max_model_len=131072, gpu_memory_utilization=0.92), CATALOG)
    assert found.fits
    assert any("131,072" in note for note in found.notes)


# --- engines ---------------------------------------------------------------------------------------------------------


def test_an_engine_is_named_with_or_without_a_version() -> None:
    assert engine_named("vllm", CATALOG).version == CATALOG.engine("vllm").version
    assert engine_named("vllm@0.11.2", CATALOG).version == "0.11.2"
    assert engine_named("TensorRT-LLM@1.0", CATALOG).id == "trtllm"
    for bad in ("vllm@", "vllm@new", "vllm@0.1@", "vllm@0.1;2"):
        with pytest.raises(InputError, match="U113"):
            engine_named(bad, CATALOG)


def test_defaults_follow_card_and_version() -> None:
    h100, l4 = CATALOG.accelerator("H100-SXM"), CATALOG.accelerator("L4")
    new, old = engine_named("vllm@0.19", CATALOG), engine_named("vllm@0.8", CATALOG)
    assert (default_max_num_seqs(new, h100), default_max_num_seqs(new, l4)) == (1024, 256)
    assert (default_max_num_seqs(old, h100), default_max_num_seqs(old, l4)) == (256, 256)


def test_older_engines_profile_more_where_the_context_is_shorter() -> None:
    """Handed cases G30 and G31: 20 k starts, 29 k does not, 35 k does."""
    asked = [
        ask("llama-3.1-8b-instruct", "RTX-3090", "bf16", engine="vllm@0.8", max_model_len=n)
        for n in (20000, 29000, 35000)
    ]
    assert [not cache_checks(q, memory_of(q, q.max_model_len)) for q in asked] == [True, False, True]


# --- start-up logs ---------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_handed_starts(shared_data: Path) -> None:
    rows = starts(shared_data / "cases" / "cases_handed.jsonl", CATALOG)
    assert len(rows) == 34
    assert [r.id for r in rows if r.answer.fits != r.expected] == []
    pools = [abs(r.pool_error_gib) for r in rows if r.pool_error_gib is not None]
    tokens = sorted(abs(r.tokens_error) for r in rows if r.tokens_error is not None)
    assert len(pools) >= 26 and sum(pools) / len(pools) < 0.30
    assert len(tokens) >= 23 and tokens[len(tokens) // 2] < 0.03
