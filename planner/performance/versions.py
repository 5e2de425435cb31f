"""Engine version ranges as catalog rows state them: `>=0.9,<0.17`, `0.19`, `*`."""

from __future__ import annotations

import re
from functools import lru_cache

_CLAUSE = re.compile(r"^\s*(>=|<=|==|!=|>|<)?\s*v?(\d+(?:\.\d+)*)\S*\s*$")


@lru_cache(maxsize=512)
def version_tuple(version: str) -> tuple[int, ...]:
    """Leading numbers of a version without trailing zeros, e.g. `0.19.0rc1` → (0, 19). Empty where there are none."""
    match = re.match(r"\D*(\d+(?:\.\d+)*)", version)
    if match is None:
        return ()
    parts = [int(part) for part in match.group(1).split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


@lru_cache(maxsize=2048)
def version_matches(version: str, ranges: str | None) -> bool:
    """Whether a version lies in every clause of a comma-separated range; no range, `*` or no numbers match all.

    Raises ValueError for a clause that is not `[operator]numbers`.
    """
    if ranges is None or ranges.strip() in {"", "*"}:
        return True
    have = version_tuple(version)
    return all(_clause_matches(have, clause) for clause in ranges.split(","))


def _clause_matches(have: tuple[int, ...], clause: str) -> bool:
    match = _CLAUSE.match(clause)
    if match is None:
        raise ValueError(f"not a version range: {clause!r}")
    operator, want = match.group(1) or "==", version_tuple(match.group(2))
    if operator == "==":
        return have[: len(want)] == want
    if operator == "!=":
        return have[: len(want)] != want
    return {">=": have >= want, "<=": have <= want, ">": have > want, "<": have < want}[operator]
