"""Reads incumbent and bound from an engine's log lines, and improving solutions from a HiGHS solution file."""

from __future__ import annotations

import math
import re
from pathlib import Path

from planner.solve.wire import Sign

_HIGHS = re.compile(r"\d+\.\d+%\s+(\S+)\s+(\S+)\s+\S+\s")
"""`Src Proc InQueue | Leaves Expl% | BestBound BestSol Gap | …`"""


def _number(text: str) -> float | None:
    """A finite number, else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _safe_bound(text: str) -> float | None:
    """A printed lower bound less one unit of its last printed digit: the log rounds to nearest."""
    value = _number(text)
    if value is None:
        return None
    digits = len(re.sub(r"[eE].*|[^0-9]", "", text).lstrip("0"))
    exact = digits < 7 and "e" not in text.lower()
    return value if exact else value - abs(value) * 10.0 ** (1 - max(digits, 1))


def read_sign(line: str) -> Sign | None:
    """Incumbent and (slightly lowered) bound in one line of a HiGHS or SCIP table; None for any other line."""
    if line.count("|") == 17:
        cells = [cell.strip() for cell in line.split("|")]
        bound, incumbent = cells[14], cells[15]
    else:
        match = _HIGHS.search(line)
        if match is None:
            return None
        bound, incumbent = match.groups()
    sign = Sign(_number(incumbent), _safe_bound(bound))
    return None if sign.incumbent is None and sign.bound is None else sign


def read_last_solution(path: Path, columns: int) -> list[float] | None:
    """The last complete improving solution that HiGHS wrote (`Objective v`, `# Columns n`, n lines `name value`)."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return None
    starts = [i for i, line in enumerate(lines) if line.startswith("# Columns ")]
    for start in reversed(starts):
        block = lines[start + 1 : start + 1 + columns]
        # The very last line may be cut off in the middle of a number: it counts only if a newline follows it.
        if len(block) < columns or start + 1 + columns >= len(lines):
            continue
        values = [_number(line.rpartition(" ")[2]) for line in block]
        if all(v is not None for v in values):
            return [float(v) for v in values if v is not None]
    return None
