"""AccelMark results: online points by precision and rate, or by run. The files do not state lengths; the suites do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.predict.formats.observation import NotSaid, Observation, in_flight, number_at, text_at, value_at

SUITE_TOKENS: Mapping[str, tuple[float, float]] = {
    "suite_a": (336.0, 234.0), "suite_b": (336.0, 234.0), "suite_c": (336.0, 234.0), "suite_d": (28650.0, 256.0),
    "suite_e": (336.0, 234.0), "suite_f": (95.0, 150.0), "suite_g": (336.0, 234.0),
}  # fmt: skip
"""Mean (prompt, answer) tokens of the suites' online requests, from published results of April 2026."""


def is_accelmark(document: object) -> bool:
    """Whether an object is a result."""
    return isinstance(value_at(document, "chip"), Mapping) and isinstance(value_at(document, "metrics"), Mapping)


def read_accelmark(document: Mapping[str, object], where: str) -> Iterator[tuple[str, Observation | NotSaid]]:
    """Online points that met the suite's own limits, or all where none did."""
    metrics = value_at(document, "metrics")
    for block in ("quantization_online", "online"):
        levels = value_at(metrics, block, "results_by_precision")
        if not isinstance(levels, list):
            levels = [value_at(metrics, block)]
        for level in levels:
            yield from _level(document, level, where)


def _level(document: Mapping[str, object], level: object, where: str) -> Iterator[tuple[str, Observation | NotSaid]]:
    rows = value_at(level, "results_by_qps")
    points = rows if isinstance(rows, list) else []
    sustained = [p for p in points if value_at(p, "sla_met") is True] or points
    for row in sustained:
        precision = text_at(level, "precision") or text_at(document, "model", "precision")
        place = f"{where + ', ' if where else ''}{precision} at {text_at(row, 'target_qps')} req/s"
        try:
            yield place, _point(document, level, row, precision, place)
        except NotSaid as error:
            yield place, error


def _point(
    document: Mapping[str, object], level: object, row: object, precision: str | None, where: str
) -> Observation:
    tokens = SUITE_TOKENS.get((text_at(document, "suite_id") or "").lower(), (None, None))
    rate = number_at(row, "achieved_qps") or number_at(row, "target_qps")
    ttft, tpot = number_at(row, "ttft_ms_p50"), number_at(row, "tpot_ms_p50")
    degrees = value_at(document, "task", "parallelism")
    version = text_at(document, "software", "framework_version") or ""
    name = text_at(document, "software", "framework")
    return Observation(
        where,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        concurrency=in_flight(None, rate, ttft, tpot, tokens[1]),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=text_at(level, "model_id")
        or text_at(document, "precision_model_map", precision or "", "model_id")
        or text_at(document, "model", "model_id"),
        accelerator=text_at(document, "chip", "name"),
        num_gpus=text_at(document, "chip", "count"),
        tensor_parallel=text_at(degrees, "tensor_parallel_size"),
        pipeline_parallel=text_at(degrees, "pipeline_parallel_size"),
        expert_parallel=text_at(degrees, "expert_parallel_size"),
        engine=f"{name} {version}".strip() if name else None,
        precision=precision,
        on=text_at(document, "meta", "date"),
    )
