"""One result in any of the formats."""

from __future__ import annotations

from planner.report.flat import COLUMNS, csv_text, flat_rows
from planner.report.result import result_json
from planner.report.types import Result


def result_text(result: Result, format_: str, colour: bool = False, explain: bool = True) -> str:
    """The result as `table`, `json`, `csv` or `markdown`. Raises ValueError for another format."""
    if format_ == "json":
        return result_json(result)
    if format_ == "csv":
        return csv_text(COLUMNS, flat_rows(result))
    if format_ == "markdown":
        from planner.report.markdown import result_markdown

        return result_markdown(result, explain)
    if format_ != "table":
        raise ValueError(f"unknown format {format_!r}")
    from planner.report.layout import output_width
    from planner.report.table import result_table

    return result_table(result, output_width(), colour, explain)
