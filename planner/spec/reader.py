"""Reading nodes into types by their shapes. Every fault is noted with its place and reading goes on."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from planner.base import Frozen, KnownNames
from planner.errors import Fault
from planner.spec.compose import make_fault
from planner.spec.names import (
    KINDS,
    LONGEST_NAME,
    country_help,
    find_name,
    is_file_name,
    is_usable_name,
    known_table,
    name_help,
)
from planner.spec.nodes import Entry, Node, Place, Scalar, is_null, to_plain
from planner.spec.nodes import Mapping as MappingNode
from planner.spec.nodes import Sequence as SequenceNode
from planner.spec.quantities import EXAMPLES, QuantityError, parse_count, parse_number
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


class _Invalid(Enum):
    INVALID = "invalid"


INVALID: Final = _Invalid.INVALID
"""What reading gives where there was a fault."""


@dataclass(slots=True)
class Reading:
    """One mapping while it is read: what checks and unsupported-field rules look at."""

    reader: Reader
    node: MappingNode
    owner: Place
    """The key that the mapping belongs to, or its first character."""
    what: str
    values: dict[str, object]
    """Key → value of the fields that were given and are sound."""
    misspelt: set[str] = field(default_factory=set)
    """Keys that unknown keys of this mapping are taken for."""

    def given(self, *keys: str) -> tuple[str, ...]:
        """Those of the keys that the file gives with a value, sound or not."""
        return tuple(k for k in keys if self.node.get(k) is not None)

    def meant(self, *keys: str) -> bool:
        """Whether an unknown key is taken for one of these: that is said once, not as a missing field as well."""
        return not self.misspelt.isdisjoint(keys)

    def key_place(self, key: str) -> Place:
        """Where a key stands; the owner's place if it is not there."""
        entry = self.node.entries.get(key)
        return entry.key_place if entry else self.owner

    def value_place(self, key: str) -> Place:
        """Where a key's value stands; the owner's place if it is not there."""
        entry = self.node.entries.get(key)
        return entry.value.place if entry else self.owner

    def number(self, key: str) -> float | None:
        """The value of a sound number field that was given."""
        value = self.values.get(key)
        return float(value) if isinstance(value, int | float) else None

    def fault(self, code: str, message: str, place: Place, help_: str | None = None) -> None:
        """Note a fault at a place."""
        self.reader.fault(code, message, place, help_)


Check = Callable[[Reading], None]


@dataclass(slots=True)
class Reader:
    """Reads nodes of one file. `names` None: names are kept as written."""

    path: str
    lines: tuple[str, ...]
    names: KnownNames | None
    checks: Mapping[type[Frozen], Check] = field(default_factory=lambda: MappingProxyType({}))
    """Run on every mapping of a type, after its fields."""
    unsupported: Mapping[type[Frozen], Mapping[str, Check]] = field(default_factory=lambda: MappingProxyType({}))
    """Keys of a type that are part of the format but of no type: each has a rule that refuses or accepts it."""
    homes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Key → the mapping that it belongs to, for keys that are in the wrong one."""
    base_dir: Path = field(default_factory=Path)
    """Where relative paths of the file start."""
    faults: list[Fault] = field(default_factory=list)
    unknown: set[Place] = field(default_factory=set)
    """Where unknown fields were found."""
    noted: int = 0
    """Faults so far, with those that several workloads inherit counted each time."""

    def fault(self, code: str, message: str, place: Place, help_: str | None = None) -> None:
        """Note a fault at a place."""
        source = self.lines[place.line - 1] if place.line <= len(self.lines) else None
        found = make_fault(code, message, self.path, place, source, help_)
        self.noted += 1
        if found not in self.faults:  # several workloads may inherit one faulty default: said once
            self.faults.append(found)

    def read(self, shape: Shape, node: Node, owner: Place, what: str, help_: str = "") -> object:
        """The value of a node, or INVALID with faults noted.

        `owner` is the place of the key it belongs to, `what` its name in messages, `help_` the field's description.
        """
        match shape:
            case Record():
                return self._record(shape, node, owner, what, help_)
            case Listing():
                return self._listing(shape, node, owner, what, help_)
            case Either():
                return self._either(shape, node, owner, what, help_)
            case Fragment():
                return to_plain(node) if isinstance(node, MappingNode) else self._wrong(node, what, "a mapping", help_)
        if not isinstance(node, Scalar):
            return self._wrong(node, what, _wanted(shape), help_)
        if node.is_null:
            return self._wrong(node, what, _wanted(shape), help_)
        match shape:
            case Number():
                return self._number(shape, node, what, help_)
            case Text():
                return self._text(shape, node, what)
            case Choice():
                return self._choice(shape, node, what)
            case Day():
                return self._day(node, what)

    def _wrong(self, node: Node, what: str, wanted: str, help_: str) -> Literal[_Invalid.INVALID]:
        had = {MappingNode: "a mapping", SequenceNode: "a list"}.get(type(node))
        had = had or ("nothing" if is_null(node) else f"{_short(node.text)}" if isinstance(node, Scalar) else "")
        self.fault("S202", f"{what} must be {wanted}, not {had}", node.place, help_ or None)
        return INVALID

    def _number(self, shape: Number, node: Scalar, what: str, help_: str) -> object:
        try:
            value: float | int = (parse_count if shape.whole else parse_number)(node.text, shape.unit)
        except QuantityError as error:
            hint = "; ".join(x for x in (error.help, help_) if x) or f"write {EXAMPLES[shape.unit]}"
            self.fault("S203", f"{what} {error.message}", node.place, hint)
            return INVALID
        problem = _out_of(shape, value)
        if problem:
            self.fault("S204", f"{what} must be {problem}", node.place, help_ or f"write {EXAMPLES[shape.unit]}")
            return INVALID
        return value

    def _text(self, shape: Text, node: Scalar, what: str) -> object:
        if node.boolean is not None:
            self.fault("S202", f"{what} must be a word, not the boolean {node.text}", node.place, "quote it")
            return INVALID
        text = node.text.strip()
        if not text:
            self.fault("S202", f"{what} must not be empty", node.place)
            return INVALID
        if shape.kind == "own":
            return self._own_name(text, node, what)
        if shape.kind and self.names:
            return self._known(shape.kind, text, node, what)
        return text

    def _own_name(self, text: str, node: Scalar, what: str) -> object:
        if not is_usable_name(text):
            help_ = f"use letters, digits, spaces, '.', '_' and '-', at most {LONGEST_NAME}: it becomes part of ids"
            self.fault("S214", f"{what} is not a usable name: {_short(text)}", node.place, help_)
            return INVALID
        return text

    def _known(self, kind: str, text: str, node: Scalar, what: str) -> object:
        table = known_table(self.names, kind)
        found = find_name(kind, text, table) if table or kind != "certifications" else text
        if found is None and kind == "profiles" and is_file_name(text):
            return text  # read by the rule of traffic
        if found is None:
            hint = country_help(text, table) if kind == "countries" else name_help(text, table)
            hint = hint or f"`planner catalog list {kind}` shows every known name"
            if kind == "models" and self.names and text.lower() in self.names.apis:
                hint = "that is an API model: name an open model here, and list this one under api_equivalents"
            self.fault("S301", f"unknown {KINDS[kind]} {_short(text)} in {what}", node.place, hint)
            return INVALID
        return found

    def _choice(self, shape: Choice, node: Scalar, what: str) -> object:
        text = node.text.strip()
        word = text.lower().replace("-", "_")
        if word in shape.words:
            return shape.enum(word) if shape.enum else word
        near = difflib.get_close_matches(word, shape.words, n=1)
        hint = f"did you mean {near[0]}?" if near else None
        self.fault("S207", f"{what} must be {_or(shape.words)}, not {_short(text)}", node.place, hint)
        return INVALID

    def _day(self, node: Scalar, what: str) -> object:
        text = node.text.strip()
        try:
            return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else self._no_day(node, what)
        except ValueError:
            return self._no_day(node, what)

    def _no_day(self, node: Scalar, what: str) -> object:
        self.fault("S213", f"{what} must be a date, not {_short(node.text)}", node.place)
        return INVALID

    def _listing(self, shape: Listing, node: Node, owner: Place, what: str, help_: str) -> object:
        if not isinstance(node, SequenceNode):
            written = node.text if isinstance(node, Scalar) and not node.is_null else None
            hint = f"write [{written}]" if written else help_
            if written and written.lower() in ("no", "off", "false", "none"):
                hint = f"write [{written.upper()}] if that is a name, or leave the field out for no restriction"
            return self._wrong(node, what, "a list", hint)
        items = []
        for item in node.items:
            items.append(self.read(shape.item, item, item.place, _ITEMS.get(what, what), help_))
        if len(node.items) < shape.min_length:
            self.fault("S202", f"{what} must not be an empty list", node.place, "give at least one")
            return INVALID
        return INVALID if INVALID in items else tuple(items)

    def _either(self, shape: Either, node: Node, owner: Place, what: str, help_: str) -> object:
        option = _pick(shape, node)
        if option is None:
            return self._wrong(node, what, _wanted(shape), help_)
        return self.read(option, node, owner, what, help_)

    def _record(self, shape: Record, node: Node, owner: Place, what: str, help_: str) -> object:
        if not isinstance(node, MappingNode):
            return self._wrong(node, what, f"a mapping of {_some(tuple(fields_of(shape.model)))}", help_)
        before = self.noted
        reading = Reading(self, node, owner, what, {})
        self.read_fields(shape.model, reading)
        missing = [f for k, f in fields_of(shape.model).items() if f.required and node.get(k) is None]
        said = [f for f in missing if not reading.meant(f.key)]
        if said:
            hint = said[0].description if len(said) == 1 else None
            keys = tuple("model" if f.key == "models" else f.key for f in said)
            self.fault("S205", f"{what} needs {_and(keys)}", owner, hint)
        check = self.checks.get(shape.model)
        if check:
            check(reading)
        if self.noted > before:
            return INVALID
        return shape.model.model_validate(dict(reading.values))

    def read_fields(self, model: type[Frozen], reading: Reading) -> None:
        """Read the fields of a mapping that are there; nothing is required. Unknown and unsupported keys are faults."""
        known, refused = fields_of(model), self.unsupported.get(model, {})
        for entry in reading.node.entries.values():
            if entry.key in refused:
                if not is_null(entry.value):
                    refused[entry.key](reading)
            elif entry.key not in known:
                self._unknown_key(entry, reading, (*known, *refused))
            elif not is_null(entry.value):
                self._read_field(known[entry.key], entry, reading)

    def _read_field(self, spec: FieldShape, entry: Entry, reading: Reading) -> None:
        value = self.read(spec.shape, entry.value, entry.key_place, entry.key, spec.description)
        if value is not INVALID:
            reading.values[entry.key] = value

    def _unknown_key(self, entry: Entry, reading: Reading, known: tuple[str, ...]) -> None:
        hint = self._key_help(entry, reading.what, known)
        reading.misspelt.update(_near_keys(entry.key.lower(), known))
        if entry.key_place in self.unknown:  # inherited from defaults: said there
            self.noted += 1
        else:
            self.unknown.add(entry.key_place)
            self.fault("S201", f"unknown field {_short(entry.key)} in {reading.what}", entry.key_place, hint)

    def _key_help(self, entry: Entry, what: str, known: tuple[str, ...]) -> str:
        key = entry.key.lower()
        if key in self.homes and not _longer_or_shorter(key, known):
            return f"{key} belongs to {self.homes[key]}"
        if near := _near_keys(key, known):
            return f"did you mean {' or '.join(near)}?"
        if key.isdigit() and is_null(entry.value):
            return "inside { } a comma ends the value: write 1_000_000, or put the number into quotes"
        if ":" in key and is_null(entry.value):
            return "put a space after the colon"
        return f"{what} takes {', '.join(known)}"


def _longer_or_shorter(key: str, known: tuple[str, ...]) -> list[str]:
    return [k for k in known if k.startswith(f"{key}_") or key.startswith(f"{k}_")][:3]


def _near_keys(key: str, known: tuple[str, ...]) -> list[str]:
    """The known keys that an unknown one is taken for."""
    return _longer_or_shorter(key, known) or difflib.get_close_matches(key, known, n=2, cutoff=0.6)


_ITEMS: Mapping[str, str] = MappingProxyType(
    {
        "workloads": "a workload",
        "classes": "a class",
        "quotas": "a quota",
        "owned": "an owned machine",
        "measured": "a measured row",
    }
)
"""What one item of a list is called."""


def _pick(shape: Either, node: Node) -> Shape | None:
    """The option that a node's kind points to."""
    if isinstance(node, MappingNode):
        records = [o for o in shape.options if isinstance(o, Record)]
        if len(records) > 1:
            return next((o for o in records if _complete(o, node)), records[-1])
        wanted: tuple[type, ...] = (Record, Fragment)
    elif isinstance(node, SequenceNode):
        wanted = (Listing,)
    else:
        for option in shape.options:
            if isinstance(option, Choice) and node.text.strip().lower() in option.words:
                return option
        wanted = (Number, Text, Choice, Day)
    return next((o for o in shape.options if isinstance(o, wanted)), None)


def _complete(shape: Record, node: MappingNode) -> bool:
    """Whether a mapping has every field that a type requires."""
    return all(node.get(k) is not None for k, f in fields_of(shape.model).items() if f.required)


def _out_of(shape: Number, value: float) -> str | None:
    """What a value should have been, where it is out of bounds."""
    for bound, wrong, words in (
        (shape.gt, operator.le, "greater than"),
        (shape.ge, operator.lt, "at least"),
        (shape.lt, operator.ge, "less than"),
        (shape.le, operator.gt, "at most"),
    ):
        if bound is not None and wrong(value, bound):
            return f"{words} {bound:g}" if shape.ge != shape.le or shape.ge is None else f"{bound:g}"
    return None


def _wanted(shape: Shape) -> str:
    match shape:
        case Number(whole=whole):
            return "a whole number" if whole else "a number"
        case Text():
            return "a word"
        case Choice(words=words):
            return _or(words)
        case Day():
            return "a date"
        case Listing():
            return "a list"
        case Either(options=options):
            return " or ".join(_wanted(o) for o in options)
        case Record() | Fragment():
            return "a mapping"


def _or(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _and(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _some(words: tuple[str, ...]) -> str:
    return ", ".join(words[:4]) + (", …" if len(words) > 4 else "")


def _short(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return f"'{line}'" if len(text) <= 40 and line == text else f"'{line[:37]}…'"
