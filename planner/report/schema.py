"""The JSON Schema of a result."""

from __future__ import annotations

from typing import Any

from planner.report.types import Result

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def result_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what `planner solve --format json` prints."""
    schema = Result.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": DIALECT, "$id": "planner/result/1", **schema, "title": "planner result"}
