"""A predicted point as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.numbers import dump_json, rounded

if TYPE_CHECKING:
    from planner.predict.types import Prediction


def prediction_text(answer: Prediction, format_: str) -> str:
    """The point as a `table` for people, or as `json` with the field names of the contract."""
    document = prediction_document(answer)
    if format_ == "json":
        return dump_json(document)
    low, high = answer.error_band
    lines = [
        ("output", f"{answer.output_tok_per_s:,.1f} tok/s"),
        ("prompt + output", f"{answer.total_tok_per_s:,.1f} tok/s"),
        ("requests", f"{answer.req_per_s:.4g} req/s"),
        ("TTFT", "not known" if answer.ttft_ms is None else f"{answer.ttft_ms:,.0f} ms"),
        ("TPOT", "none: one token" if answer.tpot_ms is None else f"{answer.tpot_ms:.2f} ms"),
        ("true time", f"{low:.2f} to {high:.2f} of these, in 80 % of cases"),
        ("from", answer.provenance),
    ]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines) + "\n"


def prediction_document(answer: Prediction) -> dict[str, object]:
    """The point as JSON values, 6 significant digits."""
    document: dict[str, object] = {"schema_version": "1"}
    for name in ("output_tok_per_s", "total_tok_per_s", "req_per_s", "ttft_ms", "tpot_ms"):
        value = getattr(answer, name)
        document[name] = None if value is None else rounded(value)
    document["provenance"] = answer.provenance
    document["error_band"] = [rounded(x) for x in answer.error_band]
    return document
