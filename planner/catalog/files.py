"""Reading catalog files: CSV, YAML and JSON become raw rows that remember where they stand.

A table lives in `<table>.csv|yaml|json` and in any `<table>/*.csv|yaml|json` beside it.

CSV: lines `# default: field = value` before the header give a value to every blank cell of that column (or to a column
that is not there); other `#` lines are comments; tuples are separated by `;`; a blank cell is an absent field, `-` one
that is known to be unknown.
YAML and JSON: a list of rows, or a mapping `{defaults: {…}, rows: […]}`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.catalog.tables import Table, tuple_fields
from planner.errors import Fault

SUFFIXES = (".csv", ".json", ".yaml", ".yml")
MAX_BYTES = 20_000_000


@dataclass(slots=True)
class RawRow:
    """A row before validation: `fields` as read, and where it stands."""

    fields: dict[str, object]
    file: str | None = None
    line: int | None = None
    path: str | None = None
    """Place in a document, e.g. `offers[3]`."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each field where the reader knows it."""

    def fault(self, code: str, message: str, name: str | None = None, help_text: str | None = None) -> Fault:
        """A fault at this row (or at one of its fields)."""
        path = ".".join(p for p in (self.path, name) if p) or None
        line = self.lines.get(name, self.line) if name else self.line
        return Fault(code=code, message=message, path=path, line=line, file=self.file, help=help_text)


def table_files(directory: Path, table: str) -> list[Path]:
    """Every file that holds rows of a table, in name order."""
    single = [directory / f"{table}{s}" for s in SUFFIXES]
    folder = directory / table
    several = sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES) if folder.is_dir() else []
    return [p for p in single if p.is_file()] + several


def read_rows(path: Path, table: Table, faults: list[Fault]) -> list[RawRow]:
    """Raw rows of one file; what cannot be read is added to `faults` (C101, C103)."""
    text = read_text(path, faults)
    if text is None:
        return []
    if path.suffix == ".csv":
        return list(csv_rows(text, path.name, table, faults))
    try:
        data = json.loads(text) if path.suffix == ".json" else load_yaml(text)
    except ValueError as e:
        faults.append(Fault(code="C101", message=f"{path.name} cannot be parsed: {e}", file=path.name))
        return []
    return document_rows(data, path.name, table, faults)


def read_text(path: Path, faults: list[Fault]) -> str | None:
    """The text of a file, or a C101 fault: missing, a directory, too big, not UTF-8."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES // 1_000_000} MB")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        faults.append(Fault(code="C101", message=f"cannot read {path.name}: {why}", file=str(path)))
        return None


def load_yaml(text: str) -> object:
    """YAML 1.2 with line numbers. Raises ValueError with one sentence."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    parser = YAML(typ="rt", pure=True)
    parser.allow_duplicate_keys = False
    try:
        return parser.load(text)
    except MarkedYAMLError as e:
        where = f" (line {e.problem_mark.line + 1})" if e.problem_mark else ""
        raise ValueError(f"{(e.problem or 'not YAML').splitlines()[0]}{where}") from None
    except (YAMLError, RecursionError) as e:
        raise ValueError(str(e).splitlines()[0] if str(e) else "not YAML") from None


def csv_rows(text: str, file: str, table: Table, faults: list[Fault]) -> Iterator[RawRow]:
    """Rows of a CSV text (see the module's docstring); cells stay strings, tuples are split."""
    defaults: dict[str, str] = {}
    lines: list[str] = []
    numbers: list[int] = []
    for number, text_line in enumerate(text.splitlines(), start=1):
        if text_line.startswith("#"):
            head, _, rest = text_line[1:].partition(":")
            name, equals, value = rest.partition("=")
            if head.strip() == "default" and equals:
                defaults[name.strip()] = value.strip()
        elif text_line.strip():
            lines.append(text_line)
            numbers.append(number)
    reader = csv.reader(io.StringIO("\n".join(lines)))
    header = next(reader, None)
    if header is None:
        faults.append(Fault(code="C103", message=f"{file} has no header line", file=file))
        return
    for cells in reader:
        line = numbers[min(reader.line_num, len(numbers)) - 1]
        if len(cells) > len(header):
            message = f"{len(cells)} cells under {len(header)} columns"
            faults.append(Fault(code="C103", message=message, file=file, line=line))
            continue
        values = defaults | {n: c.strip() for n, c in zip(header, cells, strict=False) if c.strip()}
        yield RawRow(_split_tuples(values, table), file=file, line=line)


def _split_tuples(values: Mapping[str, str], table: Table) -> dict[str, object]:
    several = tuple_fields(table.row)
    found: dict[str, object] = {}
    for name, value in values.items():
        parts = tuple(p.strip() for p in value.split(";") if p.strip())
        found[name] = None if value == "-" else parts if name in several else value
    return found


def document_rows(data: object, file: str | None, table: Table, faults: list[Fault], path: str = "") -> list[RawRow]:
    """Rows of a parsed YAML or JSON table."""
    defaults: Mapping[str, object] = {}
    if isinstance(data, Mapping):
        given = data.get("defaults") or {}
        defaults = given if isinstance(given, Mapping) else {}
        data = data.get("rows", [])
    if not isinstance(data, Sequence) or isinstance(data, str):
        message = f"{table.name} must be a list of rows"
        faults.append(Fault(code="C103", message=message, file=file, path=path or None))
        return []
    rows = []
    for index, item in enumerate(data):
        here = f"{path or table.name}[{index}]"
        line = _line(data, index)
        if not isinstance(item, Mapping):
            message = f"a row of {table.name} must be a mapping, not {type(item).__name__}"
            faults.append(Fault(code="C103", message=message, file=file, path=here, line=line))
            continue
        fields = {str(k): v for k, v in {**defaults, **item}.items()}
        rows.append(RawRow(fields, file=file, line=line, path=here, lines=field_lines(item)))
    return rows


def expanded_size(data: object) -> int:
    """How many values a document has once every YAML alias is written out, counted without writing it out."""
    sizes: dict[int, int] = {}

    def size(node: object) -> int:
        if isinstance(node, Mapping):
            children: Sequence[object] = tuple(node.values())
        elif isinstance(node, Sequence) and not isinstance(node, str | bytes):
            children = node
        else:
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1
            sizes[id(node)] = 1 + sum(size(child) for child in children)
        return sizes[id(node)]

    return size(data)


def _line(container: object, key: object) -> int | None:
    """1-based line of an item where ruamel kept it."""
    lc = getattr(container, "lc", None)
    data = getattr(lc, "data", None)
    if not isinstance(data, dict) or key not in data:
        return None
    return int(data[key][0]) + 1


def field_lines(item: Mapping[object, object]) -> dict[str, int]:
    """Key → 1-based line of a mapping, of the keys whose line ruamel kept."""
    return {str(k): line for k in item if (line := _line(item, k)) is not None}
