"""`vllm bench serve --save-result`, and tools that write its keys (SGLang's bench_serving, InferenceX).

Times are in milliseconds (`median_tpot_ms`) or, from InferenceX, in seconds (`median_tpot`).
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.predict.formats.observation import (
    NotSaid,
    Observation,
    first_number,
    in_flight,
    number_at,
    text_at,
)

MARKS = ("median_tpot_ms", "mean_tpot_ms", "median_ttft_ms", "mean_ttft_ms", "median_tpot", "median_ttft")
TOOLS = frozenset({"openai", "openai-chat", "openai-completions", "openai-audio"})
"""Backends that name a protocol, not an engine."""


def is_vllm_bench(document: object) -> bool:
    """Whether an object has this tool's keys."""
    return isinstance(document, Mapping) and any(m in document for m in MARKS) and "tput_per_gpu" not in document


def in_seconds(document: Mapping[str, object]) -> bool:
    """Whether times are in seconds, as InferenceX writes them."""
    return not any(m in document for m in MARKS if m.endswith("_ms"))


def read_vllm_bench(document: Mapping[str, object], where: str) -> Observation:
    """The point of one result object. Raises NotSaid."""
    completed = number_at(document, "completed")
    if completed == 0:
        raise NotSaid("no request was completed")
    ttft, tpot = _time_ms(document, "ttft"), _time_ms(document, "tpot")
    output = _mean_tokens(document, "output", completed)
    rate = first_number(document, "request_throughput")
    stated = first_number(document, "max_concurrency")
    if stated is None and _sent_at_once(document):
        stated = first_number(document, "num_prompts", "completed")
    backend = text_at(document, "backend")
    accelerator, gpus, parallel = _hardware(document)
    return Observation(
        where,
        input_tokens=_mean_tokens(document, "input", completed),
        output_tokens=output,
        concurrency=in_flight(stated, rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=text_at(document, "model_id") or text_at(document, "model"),
        engine=None if backend is None or backend.lower() in TOOLS else backend,
        on=text_at(document, "date"),
        accelerator=accelerator,
        num_gpus=gpus,
        tensor_parallel=parallel,
    )


def _hardware(document: Mapping[str, object]) -> tuple[str | None, str | None, str | None]:
    """Metadata that people add with `--metadata gpu=4xL40S`: accelerators and their number."""
    name = text_at(document, "gpu") or text_at(document, "gpu_name") or text_at(document, "accelerator")
    count = text_at(document, "gpu_count") or text_at(document, "num_gpus")
    parallel = text_at(document, "tensor_parallel_size") or text_at(document, "tp")
    copies = number_at(document, "decode_replicas")
    if count is None and name and copies and copies > 1 and parallel is None:
        head = name.split("x", 1)[0].strip()
        if head.isdigit() and int(head) == copies:
            parallel = "1"  # as many accelerators as copies: one each
    return name, count, parallel


def _time_ms(document: Mapping[str, object], what: str) -> float | None:
    """Median, else mean, in milliseconds."""
    found = first_number(document, f"median_{what}_ms", f"mean_{what}_ms")
    if found is not None:
        return found
    seconds = first_number(document, f"median_{what}", f"mean_{what}")
    return None if seconds is None else seconds * 1e3


def _mean_tokens(document: Mapping[str, object], side: str, completed: float | None) -> float | None:
    total = number_at(document, f"total_{side}_tokens")
    return total / completed if total is not None and completed else None


def _sent_at_once(document: Mapping[str, object]) -> bool:
    """Whether the request rate is infinite."""
    rate = document.get("request_rate")
    return (isinstance(rate, str) and rate.lower() in {"inf", "infinity"}) or rate == float("inf")
