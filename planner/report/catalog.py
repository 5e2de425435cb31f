"""Catalog rows as text: lists, single rows, findings of a check."""

from __future__ import annotations

import difflib
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from planner.base import Frozen
from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.check import Finding
from planner.catalog.types import ApiOffer, InstanceType, Offer, Region
from planner.errors import Fault, InputError
from planner.report.flat import Cell, csv_text, markdown_text
from planner.report.numbers import dump_json

COLUMNS: dict[str, tuple[str, ...]] = {
    "accelerators": ("id", "vendor", "kind", "memory_gb", "bandwidth_gb_per_s", "bf16_tflops", "link"),
    "instance_types": ("id", "accelerator", "accelerators", "interconnect", "tensor_parallel_domain"),
    "offers": ("id", "accelerators", "accelerator", "country", "price_usd_per_hour", "confidence"),
    "providers": ("id", "name", "operator_jurisdiction", "marketplace", "certifications"),
    "regions": ("provider", "region", "country", "zones"),
    "models": ("id", "family", "native_precision", "max_context_tokens", "total_params_b", "active_params_b"),
    "precisions": ("id", "bytes_per_param", "compute", "weight_only", "kv_bytes", "opt_in", "quality_impact"),
    "engines": ("id", "version", "production", "vendors", "precisions"),
    "support": ("id", "effect", "reason"),
    "apis": ("id", "input_usd_per_mtok", "output_usd_per_mtok", "countries", "operator_jurisdiction", "as_of"),
    "profiles": ("id", "description", "confidence"),
    "spot_markets": ("provider", "accelerator", "interruptions_per_up_hour", "start_h", "availability"),
    "round_trips": ("client_region", "country", "rtt_ms"),
    "groups": ("id", "countries"),
}
"""Columns of a list; JSON and `show` hold every field."""


def table_rows(catalog: Catalog, table: str) -> tuple[Frozen, ...]:
    """The rows of a table by its name."""
    rows: tuple[Frozen, ...] = getattr(catalog, table)
    return rows


def row_dict(row: Frozen, catalog: Catalog) -> dict[str, Any]:
    """All fields of a row, and what follows from them.

    The id of rows that compose theirs, the accelerator and country of an offer, a model's parameters in billions.
    """
    values = row.model_dump(mode="json") | _joined(row, catalog)
    row_id = getattr(row, "id", None)
    head = {"id": row_id} if row_id is not None and "id" not in values else {}
    shape = getattr(row, "shape", None)
    tail = {}
    if shape is not None:
        tail = {"total_params_b": shape.total_params / 1e9, "active_params_b": shape.active_params / 1e9}
    return head | values | tail


def _joined(row: Frozen, catalog: Catalog) -> dict[str, Any]:
    """What other tables say of an offer."""
    if not isinstance(row, Offer):
        return {}
    place = catalog.region(row.provider, row.region)
    try:
        machine = catalog.instance_type(row.provider, row.instance_type)
    except UnknownName:
        return {}
    return {
        "accelerator": machine.accelerator,
        "accelerators": machine.accelerators,
        "country": place.country if place else None,
    }


def filter_rows(catalog: Catalog, table: str, conditions: Sequence[tuple[str, str]]) -> list[Frozen]:
    """Rows whose fields have the values asked for. Raises InputError (U105) for a field that the table lacks."""
    rows = list(table_rows(catalog, table))
    for field, value in conditions:
        known = row_dict(rows[0], catalog) if rows else {field: None}
        if field not in known:
            raise InputError([Fault("U105", f"{table} has no field '{field}'", help="fields: " + ", ".join(known))])
        wanted = {value.lower(), _canonical(catalog, field, value).lower()}
        rows = [r for r in rows if wanted & _values(row_dict(r, catalog).get(field))]
    return rows


def _values(value: Any) -> set[str]:
    many = value if isinstance(value, list | tuple) else [value]
    return {str(v).lower() for v in many}


def _canonical(catalog: Catalog, field: str, value: str) -> str:
    lookup = getattr(catalog, field, None)
    if field not in ("accelerator", "model", "precision", "engine", "provider") or lookup is None:
        return value
    try:
        return str(lookup(value).id)
    except UnknownName:
        return value


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value)
    return value if isinstance(value, str | int | float) or value is None else str(value)


def rows_text(catalog: Catalog, table: str, rows: Sequence[Frozen], format_: str, colour: bool = False) -> str:
    """Rows of one table in a format."""
    if format_ == "json":
        return dump_json([row_dict(r, catalog) for r in rows])
    columns = COLUMNS[table]
    cells = [{c: _cell(values.get(c)) for c in columns} for values in (row_dict(r, catalog) for r in rows)]
    if format_ == "csv":
        return csv_text(columns, cells)
    if format_ == "markdown":
        return markdown_text(columns, cells)
    return _grid(columns, cells, colour) + f"{len(rows):,} row{'s' if len(rows) != 1 else ''}\n"


def tables_text(catalog: Catalog, tables: Sequence[str], format_: str, colour: bool = False) -> str:
    """The names of the tables with their sizes."""
    cells: list[dict[str, Cell]] = [{"table": t, "rows": len(table_rows(catalog, t))} for t in tables]
    if format_ == "json":
        return dump_json({"name": catalog.name, "as_of": catalog.as_of.isoformat(), "sha256": catalog.sha256,
                          "tables": {str(c["table"]): c["rows"] for c in cells}})  # fmt: skip
    if format_ == "csv":
        return csv_text(("table", "rows"), cells)
    if format_ == "markdown":
        return markdown_text(("table", "rows"), cells)
    return f"{catalog.name}, as of {catalog.as_of}\n" + _grid(("table", "rows"), cells, colour)


def _grid(columns: Sequence[str], cells: Iterable[dict[str, Cell]], colour: bool) -> str:
    from rich.table import Table

    from planner.report.table import WIDTH, render

    rows = list(cells)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for c in columns:
        numeric = all(isinstance(r[c], int | float) or r[c] is None for r in rows)
        longest = max((len(str(r[c])) for r in rows), default=0)
        whole = c == columns[0] and longest <= WIDTH // 2
        head = c.replace("_", " ")
        table.add_column(head, justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for r in rows:
        table.add_row(*("" if r[c] is None else _short(r[c]) for c in columns))
    width = shutil.get_terminal_size((WIDTH, 24)).columns if colour else WIDTH
    return render(table, width, colour)


def _short(value: Cell) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def names_of(row: Frozen) -> tuple[str, ...]:
    """Every name that a row answers to, as written."""
    own: list[str | None] = [getattr(row, "id", None), *getattr(row, "aliases", ())]
    if isinstance(row, InstanceType):
        own.append(row.name)
    elif isinstance(row, Offer):
        own.append(row.pool_id)
    elif isinstance(row, Region):
        own += [row.region, f"{row.provider}/{row.region}"]
    elif isinstance(row, ApiOffer):
        own += [row.model, f"{row.provider}/{row.model}"]
    return tuple(n for n in own if n)


def find_rows(catalog: Catalog, tables: Sequence[str], name: str) -> list[tuple[str, Frozen]]:
    """(table, row) of every row that answers to a name, in any case."""
    wanted = name.lower()
    return [(t, row) for t in tables for row in table_rows(catalog, t) if wanted in {n.lower() for n in names_of(row)}]


def suggestions(catalog: Catalog, tables: Sequence[str], name: str, count: int = 3) -> list[str]:
    """The names that look most like `name`, best first."""
    known = {n.lower(): n for t in tables for row in table_rows(catalog, t) for n in names_of(row)}
    return [known[n] for n in difflib.get_close_matches(name.lower(), sorted(known), n=count, cutoff=0.6)]


def found_text(catalog: Catalog, found: Sequence[tuple[str, Frozen]], format_: str, colour: bool = False) -> str:
    """Rows in full, one block each."""
    if format_ == "json":
        return dump_json([{"table": t, **row_dict(r, catalog)} for t, r in found])
    blocks = []
    for table, row in found:
        lines = [f"[{table}]"]
        lines += [f"{k} = {_flat(v)}" for k, v in row_dict(row, catalog).items() if v not in (None, [], "")]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_flat(v)}" for k, v in value.items() if v not in (None, [], "")) + "}"
    if isinstance(value, list | tuple):
        return ", ".join(_flat(v) for v in value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def check_text(
    catalog: Catalog, findings: Sequence[Finding], format_: str, everything: bool = False, colour: bool = False
) -> str:
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
    rows_checked = sum(len(table_rows(catalog, t)) for t in COLUMNS)
    lines.append(f"{rows_checked:,} rows: 0 errors, {warnings} warnings, {sum(counts.values())} notes")
    return "\n".join(lines) + "\n"
