"""One result in any of the formats."""

from __future__ import annotations

import shutil

from planner.report.flat import COLUMNS, csv_text, flat_rows, markdown_text
from planner.report.result import result_json
from planner.report.types import Result


def result_text(result: Result, format_: str, colour: bool = False, explain: bool = True) -> str:
    """The result as `table`, `json`, `csv` or `markdown`. Raises ValueError for another format."""
    if format_ == "json":
        return result_json(result)
    if format_ == "csv":
        return csv_text(COLUMNS, flat_rows(result))
    if format_ == "markdown":
        return markdown_text(COLUMNS, flat_rows(result))
    if format_ != "table":
        raise ValueError(f"unknown format {format_!r}")
    from planner.report.table import WIDTH, result_table

    width = shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH
    return result_table(result, width, colour, explain)
