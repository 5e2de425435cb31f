"""Reading a workload file: limits first, then YAML with places, then the little that must be known before the rest."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from planner.errors import Fault, InputError
from planner.spec.compose import compose, make_fault, split_lines
from planner.spec.nodes import Mapping, is_null
from planner.spec.reader import INVALID, Reader
from planner.spec.shapes import DAY, record
from planner.spec.types import CatalogChoice

MAX_BYTES = 5_000_000


@dataclass(frozen=True)
class SpecDocument:
    """A workload file as nodes. `catalog` and `price_date` are read already, so that the catalog can be loaded."""

    path: str
    """As shown in messages; `<stdin>` for standard input."""
    base_dir: Path
    """Relative paths of the file are relative to this."""
    sha256: str
    """Digest of the file's bytes."""
    lines: tuple[str, ...]
    root: Mapping
    catalog: CatalogChoice
    """The default choice where the file's own has faults; those are found again by `resolve_spec`."""
    price_date: date | None
    faults: tuple[Fault, ...]
    """Duplicate keys, and what is wrong with `catalog` or `policy.price_date`: reported by `resolve_spec`."""


def read_document(path: str) -> SpecDocument:
    """The workload file at `path` ('-': standard input).

    Raises InputError where there is no readable YAML mapping: S101–S109, S111. Duplicate keys (S110) are kept in
    `faults` together with everything else that `resolve_spec` finds.
    """
    shown = "<stdin>" if path == "-" else path
    data = _read_bytes(path, shown)
    text = _decode(data, shown)
    root, faults = compose(text, shown)
    lines = tuple(split_lines(text))
    if root is None or is_null(root):
        raise _no_place("S104", f"{shown} is empty", shown)
    if not isinstance(root, Mapping):
        source = lines[root.place.line - 1]
        message = "a workload file must be a mapping of fields to values"
        raise InputError([*faults, make_fault("S109", message, shown, root.place, source, None)])
    reader = Reader(shown, lines, names=None)
    catalog, price_date = _early(root, reader)
    base_dir = Path.cwd() if path == "-" else Path(path).resolve().parent
    digest = hashlib.sha256(data).hexdigest()
    return SpecDocument(shown, base_dir, digest, lines, root, catalog, price_date, (*faults, *reader.faults))


def _early(root: Mapping, reader: Reader) -> tuple[CatalogChoice, date | None]:
    catalog, price_date = CatalogChoice(), None
    node = root.get("catalog")
    if node is not None:
        found = reader.read(record(CatalogChoice), node, root.entries["catalog"].key_place, "catalog")
        catalog = found if isinstance(found, CatalogChoice) else catalog
    policy = root.get("policy")
    if isinstance(policy, Mapping) and (day := policy.get("price_date")) is not None:
        found = reader.read(DAY, day, policy.entries["price_date"].key_place, "price_date")
        price_date = found if found is not INVALID and isinstance(found, date) else None
    return catalog, price_date


def _read_bytes(path: str, shown: str) -> bytes:
    """At most one byte more than the limit, from a file, a pipe or standard input."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        elif Path(path).is_dir():
            raise _no_place("S101", f"{shown} is a directory, not a workload file", shown)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _no_place("S101", f"there is no file {shown}", shown, _neighbours(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _no_place("S101", f"{shown} cannot be read: {reason.lower()}", shown) from None
    if len(data) > MAX_BYTES:
        raise _no_place("S102", f"{shown} is larger than {MAX_BYTES // 1_000_000} MB", shown)
    return data


def _neighbours(path: str) -> str | None:
    """A help that names the YAML files that lie where the missing one was expected."""
    try:
        found = sorted(p.name for p in Path(path).parent.iterdir() if p.suffix in (".yaml", ".yml"))
    except OSError:
        return None
    return f"YAML files there: {', '.join(found[:5])}" if found else None


def _decode(data: bytes, shown: str) -> str:
    if b"\0" in data:
        raise _no_place("S103", f"{shown} is a binary file, not text", shown)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            [make_fault("S103", f"{shown} is not UTF-8 text (line {line})", shown, None, None, None)]
        ) from None
    if not text.strip():
        raise _no_place("S104", f"{shown} is empty", shown)
    return text


def _no_place(code: str, message: str, shown: str, help_: str | None = None) -> InputError:
    return InputError([make_fault(code, message, shown, None, None, help_)])
