"""What each field takes, read off the types once: the reader and the JSON Schema both follow it."""

from __future__ import annotations

import types
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as at
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from planner.base import Frozen
from planner.spec.quantities import Unit, unit_of
from planner.spec.types import FileOf, NameOf


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a unit, inside bounds (None: no bound)."""

    unit: Unit
    whole: bool = False
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Words; `kind` names the table of `KnownNames` that must know them, `own` a name that people choose."""

    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words. `enum` turns the word into a member."""

    words: tuple[str, ...]
    enum: type[StrEnum] | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day, 2027-01-31."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A free mapping that another room reads."""


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known fields."""

    model: type[Frozen]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of one shape."""

    item: Shape
    min_length: int = 0


@dataclass(frozen=True, slots=True)
class Either:
    """One of several shapes that the kind of value tells apart."""

    options: tuple[Shape, ...]


Shape = Number | Text | Choice | Day | Fragment | Record | Listing | Either


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field of a record: its key in the file, its name in the type, and what it takes."""

    key: str
    attribute: str
    shape: Shape
    required: bool
    default: object
    description: str


def record(model: type[Frozen]) -> Record:
    """The shape of a type."""
    return Record(model)


DAY = Day()


@cache
def fields_of(model: type[Frozen]) -> dict[str, FieldShape]:
    """Key in the file → field, in the order of the type."""
    found = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        default = None if info.default is PydanticUndefined else info.default
        shape = _shape(info.annotation, tuple(info.metadata), key)
        found[key] = FieldShape(key, name, shape, info.is_required(), default, info.description or "")
    return found


def _shape(annotation: Any, metadata: tuple[object, ...], key: str) -> Shape:
    if any(isinstance(m, FileOf) for m in metadata):
        return Text()
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *extra = args
        flat: list[object] = [*metadata]
        for item in extra:
            flat += item.metadata if isinstance(item, FieldInfo) else [item]
        return _shape(inner, tuple(flat), key)
    if origin in (Union, types.UnionType):
        options = tuple(_shape(a, metadata, key) for a in args if a is not type(None))
        return options[0] if len(options) == 1 else Either(options)
    if origin is tuple:
        least = next((m.min_length for m in metadata if isinstance(m, at.MinLen)), 0)
        return Listing(_shape(args[0], (), key), least)
    if origin is Literal:
        return Number(Unit.COUNT, whole=True, ge=args[0], le=args[0]) if args == (1,) else Choice(tuple(args))
    if origin is dict:
        return Fragment()
    return _leaf(annotation, metadata, key)


def _leaf(annotation: Any, metadata: tuple[object, ...], key: str) -> Shape:
    if annotation in (int, float):
        return _number(annotation is int, metadata, unit_of(key))
    if annotation is str:
        return Text(next((m.kind for m in metadata if isinstance(m, NameOf)), None))
    if annotation is date:
        return DAY
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Choice(tuple(m.value for m in annotation), annotation)
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return Record(annotation)
    raise TypeError(f"{key}: no way to read {annotation!r}")


def _number(whole: bool, metadata: tuple[object, ...], unit: Unit) -> Number:
    bounds: dict[str, float] = {}
    for m in metadata:
        for kind, name in ((at.Gt, "gt"), (at.Ge, "ge"), (at.Lt, "lt"), (at.Le, "le")):
            if isinstance(m, kind):
                bounds[name] = float(getattr(m, name))
    return Number(unit, whole, **bounds)
