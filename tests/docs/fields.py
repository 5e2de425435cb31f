"""What the page on the workload file has to say of every field, from the types."""

from collections.abc import Iterator
from enum import Enum

from planner.base import Frozen
from planner.spec.quantities import Unit
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
from planner.spec.types import Spec
from tests.docs.console import ROOT

_UNITS = {Unit.COUNT: "number", Unit.USD: "USD", Unit.H: "hours"}
_KINDS = {"own": "name", "apis": "API model", "countries": "country"}


def reference() -> str:
    """The part of the page that lists every field: a table for each mapping of a workload file."""
    parts = []
    for model, path in _mappings():
        title = f"`{path}`" if path else "The top of the file"
        parts += [f"### {title}", "", " ".join((model.__doc__ or "").split()), ""]
        parts += ["| field | takes | default | meaning |", "| --- | --- | --- | --- |"]
        parts += [_row(key, spec) for key, spec in fields_of(model).items()]
        parts.append("")
    return "\n".join(parts[:-1])


def _row(key: str, spec: FieldShape) -> str:
    meaning = spec.description.rstrip(".")
    return f"| `{key}` | {takes(spec.shape)} | {default(spec)} | {meaning} |".replace("|  |", "| |")


def _mappings() -> Iterator[tuple[type[Frozen], str]]:
    """(type, its place in the file) of every mapping, each at the first place where it is met."""
    todo: list[tuple[type[Frozen], str]] = [(Spec, "")]
    for model, path in todo:
        yield model, path
        for key, spec in fields_of(model).items():
            for inner in _records(spec.shape):
                where = f"{path}.{key}" if path else key
                if inner not in [m for m, _ in todo]:
                    todo.append((inner, f"{where}[]" if isinstance(spec.shape, Listing) else where))


def _records(shape: Shape) -> list[type[Frozen]]:
    match shape:
        case Record(model=model):
            return [model]
        case Listing(item=item):
            return _records(item)
        case Either(options=options):
            return [m for o in options for m in _records(o)]
    return []


def takes(shape: Shape) -> str:
    """The kind of value, in a word or two."""
    match shape:
        case Number(unit=unit, whole=whole):
            return "whole number" if whole else "ratio" if bounded(shape) else _UNITS.get(unit, unit.value)
        case Choice(words=words):
            return ", ".join(f"`{w}`" for w in words)
        case Listing(item=item):
            return f"list of {' or '.join(_plural(word) for word in takes(item).split(' or '))}"
        case Either(options=options):
            return " or ".join(takes(o) for o in options)
        case Record(model=model):
            return (
                f"mapping of {', '.join(f'`{k}`' for k in fields_of(model))}"
                if len(fields_of(model)) < 4
                else "mapping"
            )
        case Text(kind=kind):
            return _KINDS.get(kind, kind.removesuffix("s").replace("_", " ")) if kind else "text"
        case Day():
            return "date"
        case Fragment():
            return "mapping"


def _plural(word: str) -> str:
    noun, of, rest = word.partition(" of ")
    return word if "`" in noun else f"{noun.removesuffix('y')}{'ies' if noun.endswith('y') else 's'}{of}{rest}"


def bounded(shape: Number) -> bool:
    """Whether a number without a unit may be above 1: no share."""
    return shape.unit is Unit.FRACTION and shape.ge == 1.0


def default(spec: FieldShape) -> str:
    """The default as it would be written; blank where there is none or it is an empty mapping."""
    if spec.required:
        return "required"
    value = spec.default.value if isinstance(spec.default, Enum) else spec.default
    if isinstance(value, tuple):
        words = ", ".join(str(v.value if isinstance(v, Enum) else v) for v in value)
        return f"`[{words}]`"
    return f"`{value:g}`" if isinstance(value, int | float) else f"`{value}`" if isinstance(value, str) else ""


START, END = "from the types -->\n\n", "\n\n<!-- end -->"


def split(page: str) -> tuple[str, str, str]:
    """The page before, in and after the reference."""
    before, _, rest = page.partition(START)
    inside, _, after = rest.partition(END)
    return before + START, inside, END + after


if __name__ == "__main__":
    path = ROOT / "docs" / "workload-file.md"
    before, _, after = split(path.read_text(encoding="utf-8"))
    path.write_text(before + reference() + after, encoding="utf-8")
