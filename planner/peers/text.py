"""Writing a workload file: one line per row, so that a reader can compare it with the file it is from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

LONGEST = 60
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"})


def own_names(texts: Iterable[str]) -> dict[str, str]:
    """Text → a name that may become part of ids: letters, digits, `.`, `_`, `-`; unique in any case."""
    taken: set[str] = set()
    names: dict[str, str] = {}
    for text in texts:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:LONGEST].strip("-._") or "unnamed"
        name, count = base, 1
        while name.lower() in taken:
            count += 1
            name = f"{base}-{count}"
        taken.add(name.lower())
        names[text] = name
    return names


def flow(value: object) -> str:
    """A value in YAML's flow style; numbers in the shortest form that reads back as the same number."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) and value.lower() not in _WORDS else json.dumps(value)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def rows(indent: int, values: Iterable[Mapping[str, object]]) -> list[str]:
    """One list item per line."""
    return [" " * indent + f"- {flow(v)}" for v in values]


def comment(text: str) -> str:
    """A text that may stand in a comment: one line, nothing but printable characters."""
    return "".join(c if c.isprintable() else " " for c in text)
