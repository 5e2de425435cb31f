"""aiperf and genai-perf: the JSON and CSV exports of a profile run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from planner.predict.formats.observation import NotSaid, Observation, in_flight, number_at, text_at, value_at

_UNIT = re.compile(r"\s*\([^()]*\)\s*$")


def is_aiperf(document: object) -> bool:
    """Whether an object holds statistics by metric."""
    return isinstance(value_at(document, "request_throughput"), Mapping) and (
        isinstance(value_at(document, "time_to_first_token"), Mapping)
        or isinstance(value_at(document, "inter_token_latency"), Mapping)
        or isinstance(value_at(document, "request_latency"), Mapping)
    )


def read_aiperf(document: Mapping[str, object], where: str) -> Observation:
    """The point of an export. Raises NotSaid."""
    if number_at(document, "request_count", "avg") == 0:
        raise NotSaid("no request was completed")
    ttft, tpot = (_median(document, m) for m in ("time_to_first_token", "inter_token_latency"))
    output = number_at(document, "output_sequence_length", "avg")
    rate = number_at(document, "request_throughput", "avg")
    return Observation(
        where,
        input_tokens=number_at(document, "input_sequence_length", "avg"),
        output_tokens=output,
        concurrency=in_flight(_concurrency(document), rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=_model(document),
        on=text_at(document, "start_time"),
    )


def _median(document: Mapping[str, object], metric: str) -> float | None:
    return number_at(document, metric, "p50") or number_at(document, metric, "avg")


def _concurrency(document: Mapping[str, object]) -> float | None:
    """As set, if it was: by newer configs per phase, by older ones beside the load generator's options."""
    config = value_at(document, "input_config")
    phases = value_at(config, "phases")
    for phase in phases if isinstance(phases, list) else ():
        if text_at(phase, "kind") in {None, "profiling"} and (found := number_at(phase, "concurrency")):
            return found
    for path in (("loadgen", "concurrency"), ("concurrency",), ("perf_analyzer", "stimulus", "concurrency")):
        if found := number_at(config, *path):
            return found
    return None


def _model(document: Mapping[str, object]) -> str | None:
    config = value_at(document, "input_config")
    items = value_at(config, "models", "items")
    if isinstance(items, list) and items:
        return text_at(items[0], "name")
    for path in (("endpoint", "model_names"), ("model_names",), ("model",)):
        names = value_at(config, *path)
        if isinstance(names, list) and names and isinstance(names[0], str):
            return names[0]
        if isinstance(names, str):
            return names
    return None


def is_aiperf_csv(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table starts with the export's heads."""
    return bool(rows) and list(rows[0][:2]) == ["Metric", "avg"]


def read_aiperf_csv(rows: Sequence[Sequence[str]]) -> Observation:
    """The point of a CSV export: statistics first, single values below. Raises NotSaid."""
    document: dict[str, dict[str, str]] = {}
    heads: Sequence[str] = ()
    for row in rows:
        if row[:1] == ["Metric"]:
            heads = row[1:]
        elif len(row) > 1 and heads:
            name = _UNIT.sub("", row[0]).strip().lower().replace("-", "_").replace(" ", "_")
            names = ("avg",) if list(heads[:1]) == ["Value"] else heads
            document.setdefault(name, dict(zip(names, row[1:], strict=False)))
        elif not any(row):
            heads = ()
    found = dict(document)
    if number_at(found, "request_count", "avg") == 0:
        raise NotSaid("no request was completed")
    ttft, tpot = (_median(found, m) for m in ("time_to_first_token", "inter_token_latency"))
    output, rate = number_at(found, "output_sequence_length", "avg"), number_at(found, "request_throughput", "avg")
    return Observation(
        "",
        input_tokens=number_at(found, "input_sequence_length", "avg"),
        output_tokens=output,
        concurrency=in_flight(number_at(found, "effective_concurrency", "p50"), rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
    )
