"""Start-up logs of the handed cases against `fit`: verdict, pool and cached tokens of every start."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planner.catalog.catalog import Catalog
from planner.performance.engines import engine_named
from planner.performance.fit import FitAnswer, FitQuestion, answer

WEIGHT_DTYPES = (
    ("fp32", "fp32"), ("mxfp4", "mxfp4"), ("int8", "int8"), ("int4", "int4"), ("nf4", "nf4"), ("4-bit", "int4"),
    ("fp8", "fp8"), ("bf16", "bf16"),
)  # fmt: skip
"""Words of a log's weight format → precision."""
ACCELERATORS = {
    "A100/H100-80GB": "H100-SXM", "A6000-class 48GB": "RTX-A6000", "Gaudi2 96GB (94.62 GiB)": "Gaudi2",
    "TPU v5e-8": "TPU-v5e", "A10G 24GB": "A10G", "L40S 48GB": "L40S",
    "48 GB-class GPU (not stated)": "L40S", "8-GPU node": "A100-SXM-40GB",
}  # fmt: skip
UTILIZATION = 0.9
"""vLLM's default, where a log does not state it."""


@dataclass(frozen=True, slots=True)
class Start:
    """One logged start and what `fit` says of it."""

    id: str
    title: str
    expected: bool
    logged_pool_gib: float | None
    logged_tokens: float | None
    stated: bool
    """Whether the log states the utilisation (else the default is assumed and pools are not compared)."""
    answer: FitAnswer

    @property
    def pool_error_gib(self) -> float | None:
        """Predicted pool less the logged one, of starts that succeeded or printed a pool."""
        if self.logged_pool_gib is None or not self.stated:
            return None
        return self.answer.memory.kv_pool_gib_per_gpu - self.logged_pool_gib

    @property
    def tokens_error(self) -> float | None:
        """Relative error of the cached tokens."""
        if not self.logged_tokens or not self.stated:
            return None
        return self.answer.memory.kv_cache_tokens / self.logged_tokens - 1


def engine_of(text: str) -> str:
    """vLLM with the version that a log names or its date implies."""
    if "<0.17" in text:
        return "vllm@0.16"
    stated = re.search(r"\d+\.\d+(\.\d+)?", text)
    if stated and "20" not in stated.group(0)[:2]:
        return f"vllm@{stated.group(0)}"
    if "V0" in text:
        return "vllm@0.5" if "2024-03" in text else "vllm@0.8"
    return "vllm@0.10" if "2025" in text else "vllm@0.20"


def question_of(facts: dict[str, Any], catalog: Catalog) -> FitQuestion:
    """The question that a log answers. Raises UnknownName for names that the catalog lacks."""
    precision = next(p for text, p in WEIGHT_DTYPES if text in facts["weight_dtype"])
    kv = "fp32" if precision == "fp32" else facts["kv_dtype"]
    model = catalog.model(re.sub(r" \(.*\)", "", facts["model"]))
    return FitQuestion(
        model=model,
        accelerator=catalog.accelerator(ACCELERATORS.get(facts["gpu"], facts["gpu"])),
        engine=engine_named(engine_of(facts["engine"]), catalog),
        precision=catalog.precision(precision),
        kv_precision=catalog.precision(kv),
        max_model_len=facts["max_model_len"] or 2048,
        tensor_parallel=facts["tp"],
        pipeline_parallel=facts["pp"],
        gpu_memory_utilization=facts.get("gpu_memory_utilization") or UTILIZATION,
    )


def starts(cases: Path, catalog: Catalog, *, logged_memory: bool = False) -> list[Start]:
    """Every handed start. `logged_memory`: with the card's memory as the log prints it instead of the catalog's."""
    found = []
    for line in cases.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] != "fit_gold":
            continue
        facts, expected = case["facts"], case["expected"]
        question = question_of(facts, catalog)
        if logged_memory and facts.get("gpu_total_gib"):
            card = question.accelerator.model_copy(update={"memory_gib_visible": facts["gpu_total_gib"]})
            question = replace(question, accelerator=card)
        pool = facts.get("kv_gib_per_gpu", expected.get("kv_gib_per_gpu"))
        tokens = facts.get("kv_tokens", expected.get("kv_tokens", expected.get("kv_tokens_from_gib")))
        if facts.get("gpu_blocks_16"):
            tokens = 16 * facts["gpu_blocks_16"]
        stated = facts.get("gpu_memory_utilization") is not None
        found.append(
            Start(case["id"], case["title"], expected["fits"], pool, tokens, stated, answer(question, catalog))
        )
    return found


def starts_table(rows: list[Start]) -> str:
    """All starts as Markdown, then the errors over all."""
    lines = [
        "| case | start | logged | fit | pool GiB logged | predicted | error | tokens logged | predicted | error |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        memory = r.answer.memory
        pool, tokens = r.pool_error_gib, r.tokens_error
        lines.append(
            f"| {r.id} | {r.title} | {'starts' if r.expected else 'fails'} | "
            f"{'starts' if r.answer.fits else 'fails'}{'' if r.answer.fits == r.expected else ' (wrong)'} | "
            f"{_number(r.logged_pool_gib)} | {memory.kv_pool_gib_per_gpu:.2f} | {_number(pool, '+.2f')} | "
            f"{_number(r.logged_tokens, ',.0f')} | {memory.kv_cache_tokens:,.0f} | "
            f"{_number(None if tokens is None else 100 * tokens, '+.1f')} |"
        )
    return "\n".join([*lines, "", summary(rows)])


def _number(value: float | None, form: str = ".2f") -> str:
    return "" if value is None else format(value, form)


def summary(rows: list[Start]) -> str:
    """Verdicts, mean absolute error of pools, median absolute error of tokens."""
    pools = [abs(r.pool_error_gib) for r in rows if r.pool_error_gib is not None]
    tokens = sorted(abs(r.tokens_error) for r in rows if r.tokens_error is not None)
    right = sum(r.answer.fits == r.expected for r in rows)
    return (
        f"verdicts right: {right} of {len(rows)}; pool: mean {sum(pools) / len(pools):.3f} GiB, worst {max(pools):.2f} "
        f"({len(pools)} starts); tokens: median {100 * tokens[len(tokens) // 2]:.2f} % ({len(tokens)} starts)"
    )
