"""GuideLLM reports, JSON and CSV, from 0.2 to 0.8.

Its `time_per_output_token_ms` counts the first token; our TPOT is its `inter_token_latency_ms`. Rates are means: its
medians of rates are of instants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from planner.predict.formats.observation import NotSaid, Observation, in_flight, number_at, text_at, value_at

CLOSED = frozenset({"concurrent", "synchronous", "throughput"})


def is_guidellm(document: object) -> bool:
    """Whether an object is a report: benchmarks with metrics."""
    rows = value_at(document, "benchmarks")
    return isinstance(rows, list) and all(isinstance(r, Mapping) and "metrics" in r for r in rows)


def read_guidellm(document: Mapping[str, object], where: str) -> Iterator[tuple[str, Observation | NotSaid]]:
    """The points of a report, or what is wrong with each."""
    rows = value_at(document, "benchmarks")
    for number, row in enumerate(rows if isinstance(rows, list) else (), start=1):
        place = f"benchmark {number}" if not where else f"{where}, benchmark {number}"
        try:
            yield place, _read(row, document, place)
        except NotSaid as error:
            yield place, error


def _read(row: object, document: Mapping[str, object], where: str) -> Observation:
    metrics = value_at(row, "metrics")
    done = number_at(metrics, "request_totals", "successful")
    if done == 0:
        raise NotSaid("no request was completed")
    ttft, tpot = (_metric(metrics, m) for m in ("time_to_first_token_ms", "inter_token_latency_ms"))
    output = _metric(metrics, "output_token_count", "mean")
    rate = _metric(metrics, "requests_per_second", "mean")
    strategy = value_at(row, "config", "strategy") or value_at(row, "args", "strategy")
    kind = text_at(strategy, "type_")
    stated = None
    if kind == "synchronous":
        stated = 1.0
    elif kind == "concurrent":
        stated = number_at(strategy, "streams") or number_at(strategy, "max_concurrency")
    elif kind == "throughput":
        stated = _metric(metrics, "request_concurrency", "mean")
    model = (
        text_at(row, "config", "backend", "model")
        or text_at(row, "worker", "backend_model")
        or text_at(document, "config", "spec", "backend", "model")
        or text_at(document, "args", "model")
    )
    return Observation(
        where,
        input_tokens=_metric(metrics, "prompt_token_count", "mean"),
        output_tokens=output,
        concurrency=in_flight(stated, rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=model,
    )


def _metric(metrics: object, name: str, statistic: str = "median") -> float | None:
    """A statistic over the successful requests, above 0; else the mean."""
    for which in (statistic, "mean"):
        found = number_at(metrics, name, "successful", which)
        if found:
            return found
    return None


def is_guidellm_csv(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table has this tool's three heads."""
    return len(rows) > 2 and rows[0][:1] == ["Run Info"] and "Time to First Token" in rows[0]


def read_guidellm_csv(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, Observation | NotSaid]]:
    """The points of a CSV report: a line each below group, metric and statistic."""
    index = {(g, m, s): i for i, (g, m, s) in reversed(tuple(enumerate(zip(*rows[:3], strict=False))))}
    for line, row in enumerate(rows[3:], start=4):
        if not any(row):
            continue
        cell = {k: row[i] for k, i in index.items() if i < len(row)}
        try:
            yield f"line {line}", _read_line(cell, f"line {line}")
        except NotSaid as error:
            yield f"line {line}", error


def _read_line(cell: Mapping[tuple[str, str, str], str], where: str) -> Observation:
    if number_at({"Successful": cell.get(("Request Counts", "Successful", ""))}, "Successful") == 0:
        raise NotSaid("no request was completed")

    def of(group: str, metric: str, *statistics: str) -> float | None:
        for s in statistics:
            if found := number_at({group: cell.get((group, metric, s))}, group):
                return found
        return None

    ttft = of("Time to First Token", "Successful ms", "Median", "Mean")
    tpot = of("Inter Token Latency", "Successful ms", "Median", "Mean")
    output = of("Token Metrics", "Successful Output Tokens", "Mean")
    rate = of("Server Throughput", "Successful Requests/Sec", "Mean")
    strategy = re.match(r"(\w+)(?:@([\d.]+))?", cell.get(("Benchmark", "Strategy", ""), ""))
    kind, setting = strategy.groups() if strategy else ("", None)
    stated = float(setting) if kind == "concurrent" and setting else (1.0 if kind == "synchronous" else None)
    if kind == "throughput":
        stated = of("Server Throughput", "Successful Concurrency", "Mean")
    return Observation(
        where,
        input_tokens=of("Token Metrics", "Successful Input Tokens", "Mean"),
        output_tokens=output,
        concurrency=in_flight(stated, rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=_backend_model(cell.get(("Run Info", "Backend", ""), "")),
        on=cell.get(("Benchmark", "Start Time", "")) or cell.get(("Timings", "Start Time", "")),
    )


def _backend_model(text: str) -> str | None:
    try:
        return text_at(json.loads(text), "model")
    except ValueError:
        return None
