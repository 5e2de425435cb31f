"""From YAML text to nodes: every key and value with its place, duplicates found, aliases bounded before they expand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from planner.errors import SPEC_CODES, Fault, InputError
from planner.spec.nodes import Entry, Mapping, Node, Place, Scalar, Sequence

MAX_NODES = 50_000
"""Nodes of a document, aliases expanded: about a second of reading."""
MAX_DEPTH = 64

_BETTER_AT_THE_START = ("end of stream", "<stream end>", "could not find expected ':'")
"""Problems that are better shown where the quote, bracket or line began than where YAML noticed."""
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


def split_lines(text: str) -> list[str]:
    """The lines of a text as YAML counts them."""
    return re.split("\r\n|[\r\n\x85\u2028\u2029]", text)


def compose(text: str, path: str) -> tuple[Node | None, list[Fault]]:
    """The document's root node (None: there is no document) and the duplicate keys found.

    Raises InputError (S105 syntax, S106 several documents, S107 too many nodes, S108 too deep, S111 a YAML feature that
    is not supported) where reading cannot go on.
    """
    composer = _Composer(path, split_lines(text))
    return composer.run(text), composer.faults


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been seen."""

    is_mapping: bool
    place: Place
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[Entry] = field(default_factory=list)
    key: tuple[str, Place] | None = None
    size: int = 1


@dataclass(slots=True)
class _Composer:
    path: str
    lines: list[str]
    faults: list[Fault] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int] | None] = field(default_factory=dict)
    """Finished nodes with their expanded size; None while the node is still open."""
    root: Node | None = None
    documents: int = 0
    total: int = 0
    """Nodes so far, aliases expanded."""

    def run(self, text: str) -> Node | None:
        """Take every event; the root node, or None where there is no document."""
        for event in self._events(text):
            self._take(event)
        return self.root

    def _events(self, text: str) -> Iterator[Any]:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            yield from YAML(typ="safe", pure=True).parse(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            if error.context_mark and any(words in str(error.problem) for words in _BETTER_AT_THE_START):
                mark = error.context_mark
            place = Place(mark.line + 1, mark.column + 1) if mark else None
            raise self._fatal("S105", *_explain(error), place) from None
        except (YAMLError, ValueError, IndexError) as error:
            raise self._fatal("S105", f"the file is not YAML: {_first_line(error)}", None, None) from None

    def _take(self, event: Any) -> None:
        name = type(event).__name__
        if name == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise self._fatal("S106", "the file holds more than one document", None, _place(event))
        elif name == "ScalarEvent":
            self._check_tag(event)
            plain = event.style in (None, "") and event.tag is None
            node = Scalar(event.value, plain, _place(event))
            self._count(1, node.place)
            self._add(node, 1)
            self._remember(event.anchor, node, 1)
        elif name == "AliasEvent":
            self._alias(event)
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            self._check_tag(event)
            if len(self.stack) >= MAX_DEPTH:
                raise self._fatal("S108", f"more than {MAX_DEPTH} levels of nesting", None, _place(event))
            self._count(1, _place(event))
            self.stack.append(_Open(name == "MappingStartEvent", _place(event), event.anchor))
            if event.anchor:
                self.anchors[event.anchor] = None
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self._close(event)

    def _check_tag(self, event: Any) -> None:
        tag = str(event.tag) if event.tag is not None else None
        if tag is not None and tag != "!" and tag not in _PLAIN_TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            raise self._fatal("S111", f"the YAML tag {shown} is not supported", None, _place(event))

    def _alias(self, event: Any) -> None:
        place = _place(event)
        if event.anchor not in self.anchors:
            raise self._fatal("S105", f"the alias *{event.anchor} refers to nothing", "define it before with &", place)
        found = self.anchors[event.anchor]
        if found is None:
            raise self._fatal("S107", f"the alias *{event.anchor} contains itself", None, place)
        self._count(found[1], place)
        self._add(found[0], found[1])

    def _count(self, size: int, place: Place) -> None:
        self.total += size
        if self.total > MAX_NODES:
            message = f"the file has more than {MAX_NODES:,} values once its aliases are expanded"
            raise self._fatal("S107", message, None, place)

    def _add(self, node: Node, size: int) -> None:
        """Put a finished node of `size` expanded nodes where it belongs."""
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        top.size += size
        if not top.is_mapping:
            top.items.append(node)
        elif top.key is None:
            if not isinstance(node, Scalar):
                raise self._fatal("S111", "a key must be a word, not a list or a mapping", None, node.place)
            top.key = (node.text, node.place)
        else:
            key, place = top.key
            top.key = None
            self._put(top, key, place, node)

    def _put(self, top: _Open, key: str, place: Place, value: Node) -> None:
        if key == "<<":
            parts = value.items if isinstance(value, Sequence) else (value,)
            for part in parts:
                if not isinstance(part, Mapping):
                    raise self._fatal("S111", "the merge key << takes a mapping or a list of mappings", None, place)
                top.merged.extend(part.entries.values())
        elif key in top.entries:
            first = top.entries[key].key_place
            message = f"{key} is given twice: first at line {first.line}, column {first.column}"
            self.faults.append(self._fault("S110", message, None, place))
        else:
            top.entries[key] = Entry(key, place, value)

    def _close(self, event: Any) -> None:
        done = self.stack.pop()
        place = done.place
        end = event.end_mark
        if end.line + 1 == place.line:
            place = Place(place.line, place.column, max(1, end.column + 1 - place.column))
        node: Node
        if done.is_mapping:
            for entry in done.merged:
                done.entries.setdefault(entry.key, entry)
            node = Mapping(done.entries, place)
        else:
            node = Sequence(tuple(done.items), place)
        self._add(node, done.size)
        self._remember(done.anchor, node, done.size)

    def _remember(self, anchor: str | None, node: Node, size: int) -> None:
        if anchor:
            self.anchors[anchor] = (node, size)

    def _line(self, place: Place | None) -> str | None:
        return self.lines[place.line - 1] if place and place.line <= len(self.lines) else None

    def _fault(self, code: str, message: str, help_: str | None, place: Place | None) -> Fault:
        return make_fault(code, message, self.path, place, self._line(place), help_)

    def _fatal(self, code: str, message: str, help_: str | None, place: Place | None) -> InputError:
        return InputError([*self.faults, self._fault(code, message, help_, place)])


def make_fault(code: str, message: str, path: str, place: Place | None, source: str | None, help_: str | None) -> Fault:
    """A fault at a place; the code's own help where there is no better one."""
    text = help_ or SPEC_CODES[code].help
    if place is None:
        return Fault(code, message, path, help=text)
    room = max(1, len(source) - place.column + 1) if source is not None else place.length
    return Fault(code, message, path, place.line, place.column, min(place.length, room), source, text)


def _place(event: Any) -> Place:
    start, end = event.start_mark, event.end_mark
    length = end.column - start.column if end.line == start.line else 1
    return Place(start.line + 1, start.column + 1, max(1, length))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["it cannot be read"])[0]


def _explain(error: Any) -> tuple[str, str | None]:
    """(message, help) of a syntax error in our words where we know better ones."""
    problem = str(error.problem or error.context or "it cannot be read")
    if "'\\t'" in problem:
        return "a tab where YAML wants spaces", "indent with spaces"
    if "mapping values are not allowed" in problem:
        return "a second ': ' in one line, or a wrong indentation", "quote the text, or start a new line for the key"
    if "could not find expected ':'" in problem:
        return "a line that is neither 'key: value' nor '- item'", "a key ends with ': '; check the indentation"
    if "cannot start any token" in problem:
        return f"not YAML: {problem}", "quote text that starts with a special character"
    if "end of stream" in problem or "<stream end>" in problem:
        return "the file ends inside a quote or a bracket", "close the quote or bracket that was opened last"
    where = f" {error.context}" if error.context and error.context != problem else ""
    return f"not YAML: {problem}{where}", None
