"""Catalog rows as text: lists, single rows, findings of a check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from planner.catalog import query
from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.check import Finding
from planner.catalog.names import NAME_LISTS, name_rows, near
from planner.errors import Fault, InputError
from planner.report.flat import Cell, csv_text, markdown_text
from planner.report.numbers import dump_json

SHOWN: dict[str, tuple[str, ...]] = {
    "accelerators": ("id", "vendor", "kind", "memory_gb", "bandwidth_gb_per_s", "bf16_tflops", "link"),
    "instance_types": ("id", "accelerator", "accelerators", "interconnect", "tensor_parallel_domain"),
    "offers": ("id", "accelerator", "country", "price_usd_per_hour", "confidence"),
    "models": ("id", "family", "total_params_b", "active_params_b", "native_precision", "max_context_tokens"),
    "apis": ("id", "input_usd_per_mtok", "output_usd_per_mtok", "countries", "operator_jurisdiction"),
    "engines": ("id", "version", "production", "vendors", "precisions"),
}
"""Columns of a table on a terminal, where all of them would not fit; the other formats have every column."""
LONGEST_ID = 60
"""Ids up to this many characters are not wrapped."""
Rows = Sequence[dict[str, Cell]]


def list_rows(catalog: Catalog, table: str, conditions: Sequence[tuple[str, str]]) -> list[dict[str, Cell]]:
    """Rows of a table as columns, those only whose fields have the values asked for (in any case, or by alias).

    Raises InputError (U105) for a field that the table lacks.
    """
    found, fields = _rows_and_fields(catalog, table)
    for field, value in conditions:
        known = fields[0] if fields else {field: None}
        if field not in known:
            raise InputError([Fault("U105", f"{table} has no field '{field}'", help="fields: " + ", ".join(known))])
        wanted = {value.lower(), _canonical(catalog, field, value).lower()}
        kept = [i for i, row in enumerate(fields) if wanted & _values(row.get(field))]
        found, fields = [found[i] for i in kept], [fields[i] for i in kept]
    return found


def _rows_and_fields(catalog: Catalog, table: str) -> tuple[list[dict[str, Cell]], list[dict[str, object]]]:
    """The rows of a table as columns, and all that they may be filtered by."""
    if table in NAME_LISTS:
        names = name_rows(catalog, table)
        many: list[dict[str, object]] = [
            {k: v.split("; ") if k == "groups" and isinstance(v, str) else v for k, v in r.items()} for r in names
        ]
        return list(names), many
    columns, cells = query.rows_of(catalog, table)
    found = [dict(zip(columns, row, strict=True)) for row in cells]
    fields = [{**c, **r.model_dump(mode="json")} for c, r in zip(found, getattr(catalog, table), strict=True)]
    return found, fields


def empty_hint(catalog: Catalog, table: str, conditions: Sequence[tuple[str, str]]) -> str | None:
    """Why no row fits the conditions: the first value that no row has, with the nearest ones that rows have.

    None where there are no conditions.
    """
    _, fields = _rows_and_fields(catalog, table)
    for field, value in conditions:
        shown = {str(v).lower(): str(v) for row in fields for v in _listed(row.get(field)) if v is not None}
        canonical = _canonical(catalog, field, value)
        if {value.lower(), canonical.lower()} & shown.keys():
            continue
        close = near(value, shown) or near(value, _spellings(catalog, field))
        help_ = f"; did you mean {' or '.join(close)}?" if close else ""
        if canonical.lower() != value.lower():
            help_ = f" ({value} is {canonical})"
        return f"no row of {table} has {field}={value}{help_}"
    if not conditions:
        return None
    return f"rows of {table} have each of these values, but no row has all of them"


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


def _spellings(catalog: Catalog, field: str) -> dict[str, str]:
    known = catalog.known_names()
    return dict(getattr(known, f"{field}s", {}))


def _values(value: object) -> set[str]:
    return {str(v).lower() for v in _listed(value)}


def _canonical(catalog: Catalog, field: str, value: str) -> str:
    lookup = getattr(catalog, field, None)
    if field not in ("accelerator", "model", "precision", "engine", "provider") or lookup is None:
        return value
    try:
        return str(lookup(value).id)
    except UnknownName:
        return value


def rows_text(table: str, rows: Rows, format_: str, colour: bool = False) -> str:
    """Rows of one table in a format."""
    if format_ == "json":
        return dump_json(list(rows))
    all_columns = NAME_LISTS[table] if table in NAME_LISTS else query.COLUMNS[table] + query.PROVENANCE
    columns = tuple(rows[0]) if rows else all_columns
    if format_ == "csv":
        return csv_text(columns, rows)
    if format_ == "markdown":
        return markdown_text(columns, rows)
    shown = SHOWN.get(table) or NAME_LISTS.get(table) or query.COLUMNS[table]
    return _grid(shown, rows, colour) + f"{len(rows):,} row{'s' if len(rows) != 1 else ''}\n"


def tables_text(catalog: Catalog, tables: Sequence[str], format_: str, colour: bool = False) -> str:
    """The names of the tables with their sizes."""
    cells: list[dict[str, Cell]] = [{"table": t, "rows": len(getattr(catalog, t))} for t in tables]
    if format_ == "json":
        return dump_json({"name": catalog.name, "as_of": catalog.as_of.isoformat(), "sha256": catalog.sha256,
                          "tables": {str(c["table"]): c["rows"] for c in cells}})  # fmt: skip
    if format_ == "csv":
        return csv_text(("table", "rows"), cells)
    if format_ == "markdown":
        return markdown_text(("table", "rows"), cells)
    more = f"other names that a spec may use: planner catalog list {' | '.join(NAME_LISTS)}\n"
    return f"{catalog.name}, as of {catalog.as_of}\n" + _grid(("table", "rows"), cells, colour) + more


def _grid(columns: Sequence[str], rows: Rows, colour: bool) -> str:
    from rich.table import Table

    from planner.report.layout import output_width, render

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for c in columns:
        numeric = all(isinstance(r[c], int | float) or r[c] is None for r in rows)
        longest = max((len(str(r[c])) for r in rows), default=0)
        whole = c == columns[0] and longest <= LONGEST_ID
        table.add_column(c.replace("_", " "), justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for r in rows:
        table.add_row(*(_short(r[c]) for c in columns))
    return render(table, output_width(), colour)


def _short(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def found_text(found: Iterable[query.Found], format_: str) -> str:
    """Rows in full, one block each."""
    if format_ == "json":
        return dump_json([{"table": f.table, **f.fields} for f in found])
    blocks = []
    for f in found:
        lines = [f"[{f.table}]"]
        lines += [f"{k} = {f'{v:.10g}' if isinstance(v, float) else v}" for k, v in f.fields.items()
                  if v not in (None, "")]  # fmt: skip
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def check_text(catalog: Catalog, findings: Sequence[Finding], format_: str, everything: bool = False) -> str:
    """Findings of a check: all warnings, and of the notes one per kind with their count unless `everything`."""
    columns = ("severity", "check", "table", "row", "message")
    rows: list[dict[str, Cell]] = [{c: str(getattr(f, c)) for c in columns} for f in findings]
    if format_ == "json":
        return dump_json({"name": catalog.name, "as_of": catalog.as_of.isoformat(), "findings": rows})
    if format_ == "csv":
        return csv_text(columns, rows)
    if format_ == "markdown":
        return markdown_text(columns, rows)
    counts = Counter(f.check for f in findings if f.severity != "warning")
    lines = [f"warning[{f.check}]: {f.row}: {f.message}" for f in findings if f.severity == "warning"]
    for check, count in sorted(counts.items()):
        notes = [f for f in findings if f.check == check and f.severity != "warning"]
        lines += [f"note[{f.check}]: {f.row}: {f.message}" for f in notes[: None if everything else 1]]
        if not everything and count > 1:
            lines.append(f"  and {count - 1:,} more notes of this kind")
    warnings = sum(f.severity == "warning" for f in findings)
    rows_checked = sum(len(getattr(catalog, t)) for t in query.COLUMNS)
    lines.append(f"{rows_checked:,} rows: 0 errors, {warnings} warnings, {sum(counts.values())} notes")
    return "\n".join(lines) + "\n"
