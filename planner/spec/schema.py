"""The JSON Schema of a workload file, for editors: the file as people write it, human quantities included."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from planner.base import Frozen
from planner.spec.quantities import EXAMPLES
from planner.spec.shapes import (
    Choice,
    Day,
    Either,
    FieldShape,
    Fragment,
    Listing,
    Number,
    Record,
    Shape,
    Text,
    fields_of,
)
from planner.spec.support import UNSUPPORTED_KEYS
from planner.spec.types import Spec, Workload

JsonSchema = dict[str, object]

QUANTITY = r"^[-+]?(USD ?|\$)?[0-9.][0-9_,.]*([eE][-+]?[0-9]+)?( ?[A-Za-zµ%$/]+){0,2}$"
"""A number with separators and a unit; the reader is stricter and knows which unit a field takes."""
_NULL: Mapping[str, str] = MappingProxyType({"type": "null"})


def spec_schema() -> JsonSchema:
    """JSON Schema (draft 2020-12) of a workload file.

    Every optional field may be null, which means that it is not given. Keys of the format that are not supported yet
    are in it with that remark. Rules over several fields are left to `planner check`.
    """
    definitions: dict[str, JsonSchema] = {}
    root = _properties(Spec, definitions)
    workload = _properties(Workload, definitions)
    model: JsonSchema = {"description": "The model, where there is just one: a catalog id or alias.", **_text()}
    # `defaults` may give any field of a workload but its name, so no other field is required of a workload itself.
    fields = {"model": model, **{k: _nullable(v) for k, v in workload.items() if k != "name"}}
    one_model: JsonSchema = {"not": {"required": ["model", "models"]}}
    definitions["Workload"] = {**_object({"name": workload["name"], **fields}, ["name"]), **one_model}
    definitions["Defaults"] = {
        "description": "Fields that workloads have unless they say otherwise; mappings are merged key by key.",
        **_object(fields, []),
        **one_model,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "planner workload file",
        **_object({**root, "defaults": _nullable({"$ref": "#/$defs/Defaults"})}, _required(Spec)),
        "$defs": dict(sorted(definitions.items())),
    }


def _define(model: type[Frozen], definitions: dict[str, JsonSchema]) -> None:
    """Put the schema of a type, and of all it refers to, among the definitions."""
    if model.__name__ not in definitions:
        definitions[model.__name__] = {}  # holds the place while it is made
        found = _object(_properties(model, definitions), _required(model))
        notes: JsonSchema = {"description": " ".join(model.__doc__.split())} if model.__doc__ else {}
        definitions[model.__name__] = {**notes, **found}


def _required(model: type[Frozen]) -> list[str]:
    return [key for key, spec in fields_of(model).items() if spec.required]


def _properties(model: type[Frozen], definitions: dict[str, JsonSchema]) -> dict[str, JsonSchema]:
    properties = {key: _field(spec, definitions) for key, spec in fields_of(model).items()}
    for key in UNSUPPORTED_KEYS.get(model, {}):
        properties[key] = {"description": "Part of the format, not supported yet."}
    return properties


def _object(properties: dict[str, JsonSchema], required: list[str]) -> JsonSchema:
    found: JsonSchema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _field(spec: FieldShape, definitions: dict[str, JsonSchema]) -> JsonSchema:
    found = _shape(spec.shape, definitions)
    if not spec.required:
        found = _nullable(found)
    notes: JsonSchema = {"description": spec.description.replace("`", "")} if spec.description else {}
    default = _plain(spec.default)
    if default is not None:
        notes["default"] = default
    if isinstance(spec.shape, Number) and (spec.shape.ge is None or spec.shape.ge != spec.shape.le):
        notes["examples"] = [text.strip() for text in EXAMPLES[spec.shape.unit].replace(" or ", ", ").split(",")]
    return {**notes, **found}


def _plain(value: object) -> object:
    """A default as JSON; None where there is nothing to show."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, bool | int | float | str) else None


def _nullable(schema: JsonSchema) -> JsonSchema:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return {**schema, "anyOf": options if _NULL in options else [*options, dict(_NULL)]}
    notes = {k: v for k, v in schema.items() if k in ("description", "default", "examples")}
    return {**notes, "anyOf": [{k: v for k, v in schema.items() if k not in notes}, dict(_NULL)]}


def _text() -> JsonSchema:
    return {"type": "string", "minLength": 1}


def _shape(shape: Shape, definitions: dict[str, JsonSchema]) -> JsonSchema:
    match shape:
        case Number():
            return _number(shape)
        case Text():
            return _text()
        case Choice(words=words):
            return {"enum": list(words)}
        case Day():
            return {"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
        case Fragment():
            return {"type": "object"}
        case Listing(item=item, min_length=least):
            found: JsonSchema = {"type": "array", "items": _shape(item, definitions)}
            return {**found, "minItems": least} if least else found
        case Either(options=options):
            return {"anyOf": [part for option in options for part in _parts(_shape(option, definitions))]}
        case Record(model=model):
            _define(model, definitions)
            return {"$ref": f"#/$defs/{model.__name__}"}


def _parts(schema: JsonSchema) -> list[JsonSchema]:
    options = schema.get("anyOf")
    return options if isinstance(options, list) else [schema]


def _number(shape: Number) -> JsonSchema:
    if shape.ge is not None and shape.ge == shape.le:
        return {"const": int(shape.ge)}
    bounds = {"minimum": shape.ge, "exclusiveMinimum": shape.gt, "maximum": shape.le, "exclusiveMaximum": shape.lt}
    number: JsonSchema = {"type": "integer" if shape.whole else "number"}
    number |= {k: v for k, v in bounds.items() if v is not None}
    return {"anyOf": [number, {"type": "string", "pattern": QUANTITY}]}
