"""A plain CSV of measured points: the columns of `planner predict --csv` with tpot_ms, ttft_ms or output_tok_per_s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from planner.predict.formats.observation import NotSaid, Observation, first_number, number_at, text_at
from planner.predict.table import ALSO_CALLED, FULL_LOAD

MEASURED: Mapping[str, tuple[str, ...]] = {
    "tpot_ms": ("tpot_ms", "tpot_ms_p50", "median_tpot_ms", "mean_tpot_ms"),
    "ttft_ms": ("ttft_ms", "ttft_ms_p50", "median_ttft_ms", "mean_ttft_ms"),
    "output_tok_per_s": ("output_tok_per_s", "output_tok_s_total", "output_throughput"),
    "req_per_s": ("req_per_s", "request_s", "request_throughput"),
}
"""Measured figures and their columns, the first that is given counts."""
STATED = frozenset(f.name for f in fields(Observation)) - {"where", "kind", *MEASURED}


def is_points_csv(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the heads name lengths and a measured figure."""
    heads = {h.strip().lower() for h in rows[0]} if rows else set()
    lengths = all({name, *ALSO_CALLED.get(name, ())} & heads for name in ("input_tokens", "output_tokens"))
    return lengths and any(heads & set(names) for names in MEASURED.values())


def read_points_csv(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, Observation | NotSaid]]:
    """A point per line."""
    heads = [h.strip().lower() for h in rows[0]]
    names = {other: name for name, others in ALSO_CALLED.items() for other in others if name not in heads}
    for line, row in enumerate(rows[1:], start=2):
        where = f"line {line}"
        if not any(c.strip() for c in row):
            continue
        if len(row) != len(heads):
            yield where, NotSaid(f"the row has {len(row)} cells, the head {len(heads)}")
            continue
        cell = {names.get(h, h): c.strip() for h, c in zip(heads, row, strict=True)}
        try:
            yield where, _point(cell, where)
        except NotSaid as error:
            yield where, error


def _point(cell: Mapping[str, str], where: str) -> Observation:
    output = number_at(cell, "output_tokens")
    rate = first_number(cell, *MEASURED["req_per_s"])
    tokens = first_number(cell, *MEASURED["output_tok_per_s"])
    text = cell.get("concurrency", "").lower()
    full = text in FULL_LOAD
    return Observation(
        where,
        input_tokens=number_at(cell, "input_tokens"),
        output_tokens=output,
        concurrency=float("inf") if full else number_at(cell, "concurrency"),
        req_per_s=rate if rate or not (tokens and output) else tokens / output,
        ttft_ms=first_number(cell, *MEASURED["ttft_ms"]),
        tpot_ms=first_number(cell, *MEASURED["tpot_ms"]),
        kind=cell.get("kind") or ("offline_throughput" if full else "online"),
        **{n: text_at(cell, n) for n in STATED if n not in {"input_tokens", "output_tokens", "concurrency", "on"}},
        on=text_at(cell, "date"),
    )
