"""A YAML document as nodes that know where they stand, and what can be done with nodes before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingAbc
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: 1-based line and column, and how many characters to underline."""

    line: int
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value as written; `plain` is False for quoted and block text, which is never null or a boolean."""

    text: str
    plain: bool
    place: Place

    @property
    def is_null(self) -> bool:
        """YAML 1.2 core schema: null, ~ or nothing."""
        return self.plain and self.text in ("", "~", "null", "Null", "NULL")

    @property
    def boolean(self) -> bool | None:
        """YAML 1.2 core schema: true and false only; `yes`, `no`, `on` and `off` are text. None: not a boolean."""
        return _BOOLEANS.get(self.text) if self.plain else None


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of nodes."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: str
    key_place: Place
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with their values, in file order."""

    entries: dict[str, Entry] = field(hash=False)
    place: Place

    def get(self, key: str) -> Node | None:
        """The value of a key; None where it is absent or null."""
        entry = self.entries.get(key)
        return None if entry is None or is_null(entry.value) else entry.value


Node = Scalar | Sequence | Mapping

_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9](?:_?[0-9])*")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9](?:_?[0-9])*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


def is_null(node: Node) -> bool:
    """Whether the node says nothing."""
    return isinstance(node, Scalar) and node.is_null


def to_plain(node: Node) -> object:
    """The node as plain Python values by the YAML 1.2 core schema (underscores between digits are allowed).

    Used for inline catalog fragments, which the catalog reads itself. Dates stay text. A leading zero (`017`) stays
    text too: it is 17 to one reader and 15 to another.
    """
    if isinstance(node, Mapping):
        return {key: to_plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [to_plain(item) for item in node.items]
    if not node.plain:
        return node.text
    if node.is_null:
        return None
    if node.boolean is not None:
        return node.boolean
    return _number(node.text)


def _number(text: str) -> object:
    digits = text.lstrip("+-")
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _INTEGER.fullmatch(text) and (digits == "0" or not digits.startswith("0")):
        return int(text.replace("_", "")) if len(text) < 300 else float("inf")
    if _FLOAT.fullmatch(text) and not _INTEGER.fullmatch(text):
        return float(text.replace("_", ""))
    return _SPECIAL.get(text.lower(), text)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A key of `given` in the upper mapping drops the keys of `dropped` from the lower one: they exclude each other."""

    given: frozenset[str]
    dropped: frozenset[str]


Alternatives = MappingAbc[tuple[str, ...], tuple[Alternative, ...]]
"""Per path of keys, e.g. ("traffic",)."""


def overlay(base: Mapping, over: Mapping, alternatives: Alternatives, path: tuple[str, ...] = ()) -> Mapping:
    """`over` on top of `base`: mappings merge key by key, anything else (null included) replaces."""
    given = {key for key in over.entries if over.get(key) is not None}
    dropped: set[str] = set()
    for rule in alternatives.get(path, ()):
        if rule.given & given:
            dropped |= rule.dropped - over.entries.keys()
    merged = {key: entry for key, entry in base.entries.items() if key not in dropped}
    for key, entry in over.entries.items():
        below = merged.get(key)
        if below and isinstance(below.value, Mapping) and isinstance(entry.value, Mapping):
            value: Node = overlay(below.value, entry.value, alternatives, (*path, key))
        else:
            value = entry.value
        merged[key] = Entry(key, entry.key_place, value)
    return Mapping(merged, over.place)
