"""The JSON Schema accepts what the reader accepts, and refuses what no reader could."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.spec.compose import compose
from planner.spec.nodes import to_plain
from planner.spec.schema import QUANTITY, spec_schema
from planner.spec.starter import starter_spec

Check = Callable[[object], list[str]]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}


def problems(value: object, schema: dict[str, Any], root: dict[str, Any], where: str = "$") -> list[str]:
    """The keywords that the schema uses, checked by hand."""
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, where)
    found: list[str] = []
    if "anyOf" in schema and all(problems(value, option, root, where) for option in schema["anyOf"]):
        found.append(f"{where}: no alternative takes {value!r}")
    if "not" in schema and isinstance(value, dict) and all(k in value for k in schema["not"]["required"]):
        found.append(f"{where}: excluded combination")
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is no choice")
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool)):
        return [*found, f"{where}: {value!r} is no {schema['type']}"]
    if isinstance(value, int | float):
        found += [f"{where}: {value} too small" for k in ("minimum",) if k in schema and value < schema[k]]
        found += [f"{where}: {value} too small" for k in ("exclusiveMinimum",) if k in schema and value <= schema[k]]
        found += [f"{where}: {value} too large" for k in ("maximum",) if k in schema and value > schema[k]]
        found += [f"{where}: {value} too large" for k in ("exclusiveMaximum",) if k in schema and value >= schema[k]]
    if isinstance(value, str):
        pattern = schema.get("pattern")
        found += [f"{where}: {value!r} has not the form"] if pattern and not re.search(pattern, value) else []
        found += [f"{where}: too short"] if len(value) < schema.get("minLength", 0) else []
    if isinstance(value, list):
        found += [f"{where}: too few"] if len(value) < schema.get("minItems", 0) else []
        for i, item in enumerate(value):
            found += problems(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict):
        found += [f"{where}: {k} is missing" for k in schema.get("required", []) if k not in value]
    if isinstance(value, dict) and "properties" in schema:
        for key, item in value.items():
            if key in schema["properties"]:
                found += problems(item, schema["properties"][key], root, f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                found.append(f"{where}: unknown {key}")
    return found


@pytest.fixture(scope="module")
def check() -> Check:
    schema: dict[str, Any] = spec_schema()

    def run(value: object) -> list[str]:
        return problems(value, schema, schema)

    return run


def plain(text: str) -> object:
    node, _ = compose(text, "w.yaml")
    assert node is not None
    return to_plain(node)


def test_the_starter_passes(check: Check) -> None:
    assert check(plain(starter_spec("review"))) == []


@pytest.mark.shared
def test_the_annotated_example_passes(check: Check, shared_data: Path) -> None:
    assert check(plain((shared_data.parent / "workload.example.yaml").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": None}, "$.name"),
        ({"schema_version": 2}, "not 1"),
        ({"workloads": []}, "too few"),
        ({"horizon": {"quaters": 1}}, "$.horizon"),
        ({"policy": {"budget": {"usd_per_month": -1}}}, "$.policy"),
        ({"policy": {"budget": {"usd_per_month": "many"}}}, "$.policy"),
        ({"workloads": [{"name": "a", "tenancy": "sharde"}]}, "tenancy"),
        ({"workloads": [{"name": "a", "model": "m", "models": ["n"]}]}, "excluded"),
        ({"workloads": [{"model": "m"}]}, "name is missing"),
        ({"defaults": {"name": "a"}}, "$.defaults"),
        ({"measured": [{"accelerator": "L4"}]}, "$.measured"),
    ],
)
def test_what_is_wrong_fails(check: Check, change: dict[str, object], words: str) -> None:
    sound = {"schema_version": 1, "name": "x", "workloads": [{"name": "a", "model": "m", "traffic": {}}]}
    assert check(sound) == []
    assert any(words in line for line in check({**sound, **change}))


def test_every_field_is_described() -> None:
    schema: dict[str, Any] = spec_schema()
    tables = {"": schema, **schema["$defs"]}
    fields = {f"{name}.{key}": value for name, table in tables.items() for key, value in table["properties"].items()}
    assert len(fields) > 100
    assert [name for name, field in fields.items() if not _described(field, schema)] == []


def _described(field: dict[str, Any], schema: dict[str, Any]) -> bool:
    references = [o["$ref"].rsplit("/", 1)[1] for o in field.get("anyOf", []) if "$ref" in o]
    return bool(field.get("description") or any(schema["$defs"][r].get("description") for r in references))


def test_a_field_says_its_default_and_how_its_quantities_are_written() -> None:
    schema: dict[str, Any] = spec_schema()
    slo = schema["$defs"]["Slo"]["properties"]["tpot_p95_ms"]
    assert slo["description"].startswith("time per output token at the 95th percentile")
    assert "500ms" in slo["examples"]
    assert schema["$defs"]["Workload"]["properties"]["gpu_memory_utilization"]["default"] == 0.9
    assert "not supported yet" in schema["$defs"]["Workload"]["properties"]["preemptible"]["description"]
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    "text", ["500ms", "2 s", "40M", "5B tokens", "6 req/s", "90 req/min", "$2.50", "USD 5", "95%", "1,000,000", "1e6"]
)
def test_quantities_look_like_quantities(text: str) -> None:
    assert re.search(QUANTITY, text)
    assert not re.search(QUANTITY, "fast")
