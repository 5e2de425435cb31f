"""The result as flat rows: one line per purchase, deployment and API use of every plan (CSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from planner.report.numbers import rounded
from planner.report.types import PlanView, Result

COLUMNS = (
    "rank", "title", "plan_usd_per_month", "gap", "kind", "what", "service", "model", "precision", "engine", "pool",
    "option", "accelerator", "count_min", "count_max", "mean_req_per_s", "peak_req_per_s", "usd_per_month",
    "usd_per_hour", "country", "operator_jurisdiction", "confidence", "ttft_p95_ms", "tpot_p95_ms",
    "start_date", "end_date", "tentative",
)  # fmt: skip
"""Columns of a flat row; blank where a column does not apply to the kind (purchase, deployment, api).

`confidence` is that of the price (`list`, `derived`, `assumed`, `seed`), of a deployment that of its speed (`measured`,
`silicon`, `analytic`). A commitment has its term, and is `tentative` (1)
where it begins later."""

Cell = str | int | float | None


def flat_rows(result: Result) -> list[dict[str, Cell]]:
    """All lines of all plans, in rank order."""
    hours = {s.id: s.hours_per_month for s in result.slices}
    return [dict.fromkeys(COLUMNS) | _head(plan) | row for plan in result.plans for row in _lines(plan, hours)]


def mean_rate(by_slice: Mapping[str, float], hours_per_month: Mapping[str, float]) -> float:
    """Mean over the month of a rate per slice, weighted with the slices' hours; same unit as the rates."""
    total = sum(hours_per_month.get(s, 0.0) for s in by_slice)
    return sum(rate * hours_per_month.get(s, 0.0) for s, rate in by_slice.items()) / total if total > 0 else 0.0


def _head(plan: PlanView) -> dict[str, Cell]:
    return {
        "rank": plan.rank,
        "title": plan.title,
        "plan_usd_per_month": plan.cost.total_usd_per_month,
        "gap": plan.gap,
    }


def _lines(plan: PlanView, hours: Mapping[str, float]) -> Iterable[dict[str, Cell]]:
    for p in plan.purchases:
        counts = p.instances_by_slice.values()
        yield {
            "kind": "purchase", "what": p.offer, "pool": p.offer.rsplit("/", 1)[0], "option": p.purchase_option,
            "accelerator": p.accelerator, "count_min": min(counts), "count_max": max(counts),
            "usd_per_month": p.usd_per_month, "usd_per_hour": p.usd_per_hour, "country": p.country,
            "operator_jurisdiction": p.operator_jurisdiction, "confidence": p.confidence,
            "start_date": p.start_date, "end_date": p.end_date, "tentative": int(p.tentative),
        }  # fmt: skip
    for d in plan.deployments:
        counts = d.replicas_by_slice.values()
        yield {
            "kind": "deployment", "service": d.service, "model": d.model, "precision": d.precision,
            "what": f"{d.model} TP{d.tensor_parallel} PP{d.pipeline_parallel} EP{d.expert_parallel}",
            "engine": d.engine, "pool": d.pool, "option": "spot" if d.spot else "firm", "accelerator": d.accelerator,
            "count_min": min(counts), "count_max": max(counts), "confidence": d.predicted.provenance,
            "ttft_p95_ms": d.predicted.ttft_p95_ms, "tpot_p95_ms": d.predicted.tpot_p95_ms,
        }  # fmt: skip
    for a in plan.api:
        yield {
            "kind": "api", "what": a.api, "service": a.workload,
            "mean_req_per_s": mean_rate(a.mean_req_per_s_by_slice, hours),
            "peak_req_per_s": max(a.peak_req_per_s_by_slice.values(), default=0.0),
            "usd_per_month": a.usd_per_month,
            "country": None if a.countries is None else " ".join(a.countries),
            "operator_jurisdiction": a.operator_jurisdiction, "confidence": a.confidence,
        }  # fmt: skip


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{rounded(cell):g}" if isinstance(cell, float) and not cell.is_integer() else str(_whole(cell))


def _whole(cell: str | int | float) -> str | int:
    return int(cell) if isinstance(cell, float) else cell


def csv_text(columns: Sequence[str], rows: Iterable[dict[str, Cell]]) -> str:
    """RFC 4180 CSV with a head line; a text that a spreadsheet would run as a formula is quoted with an apostrophe."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_inert(_text(row.get(c)), row.get(c)) for c in columns])
    return buffer.getvalue()


def _inert(text: str, cell: Cell) -> str:
    return "'" + text if isinstance(cell, str) and text[:1] in ("=", "+", "-", "@") else text


def markdown_text(columns: Sequence[str], rows: Iterable[dict[str, Cell]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in rows:
        lines.append("| " + " | ".join(_text(row.get(c)).replace("|", "\\|") for c in columns) + " |")
    return "\n".join(lines) + "\n"
