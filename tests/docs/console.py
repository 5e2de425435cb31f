"""Console blocks of the documentation: read, run, compared with what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
NUMBER_TOLERANCE = 0.25
"""Shown figures may drift with the catalog this far before the page must be made anew."""
_NUMBER = re.compile(r"^[+-]?\d[\d,]*(\.\d+)?$")


@dataclass
class Step:
    """One command with the lines that the page shows below it."""

    document: str
    line: int
    command: str
    shown: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What a following `$ echo $?` shows, else 0."""
        return self._code

    _code: int = 0


def steps(document: Path) -> list[Step]:
    """The commands of a document's console blocks, in order."""
    found: list[Step] = []
    for number, line in _console_lines(document):
        if line.startswith("$ "):
            found.append(Step(document.name, number, line[2:]))
        elif found:
            found[-1].shown.append(line)
    kept: list[Step] = []
    for step in found:
        if step.command == "echo $?":
            kept[-1]._code = int(step.shown[0])
        else:
            kept.append(step)
    return kept


def _console_lines(document: Path) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside:
            yield number, line


def missing_lines(shown: list[str], output: str) -> list[str]:
    """Shown lines that the output does not have, in order; `…` stands for anything, figures may differ a little."""
    rest = output.splitlines()
    missing = []
    for line in shown:
        if not line.strip() or line.strip() in ("…", "..."):
            continue
        at = next((i for i, real in enumerate(rest) if alike(line, real)), None)
        if at is None:
            missing.append(line)
        else:
            rest = rest[at + 1 :]
    return missing


def alike(shown: str, real: str) -> bool:
    """Equal word by word, numbers within the tolerance; a last word `…` stands for the rest of the line."""
    left, right = shown.split(), real.split()
    if left and left[-1] == "…":
        left = left[:-1]
        right = right[: len(left)]
    return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))


def _same(a: str, b: str) -> bool:
    if a == b:
        return True
    a, b = (w.strip("(),;:×=") for w in (a, b))
    if not (_NUMBER.match(a) and _NUMBER.match(b)):
        return a == b
    x, y = (float(w.replace(",", "")) for w in (a, b))
    return abs(x - y) <= NUMBER_TOLERANCE * max(abs(x), abs(y))
