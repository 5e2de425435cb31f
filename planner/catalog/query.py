"""Looking things up for people: the rows of a table as columns and cells, and everything known of a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum

from pydantic import BaseModel

from planner.catalog.catalog import Catalog, UnknownName, nearest, spellings
from planner.catalog.tables import TABLES
from planner.catalog.types import Offer, Row

Cell = str | int | float | bool | None

COLUMNS: dict[str, tuple[str, ...]] = {
    "accelerators": ("id", "vendor", "kind", "memory_gb", "memory_gib_visible", "bandwidth_gb_per_s", "bf16_tflops",
                     "fp8_tflops", "fp4_tflops", "link", "compute_capability"),
    "instance_types": ("id", "accelerator", "accelerators", "interconnect", "tensor_parallel_domain",
                       "network_gb_per_s"),
    "offers": ("id", "accelerator", "accelerators", "price_usd_per_hour", "price_usd_per_accelerator_hour", "country",
               "flags"),
    "providers": ("id", "name", "operator_jurisdiction", "marketplace", "certifications"),
    "regions": ("provider", "region", "country", "zones"),
    "models": ("id", "name", "family", "total_params_b", "active_params_b", "native_precision", "max_context_tokens"),
    "precisions": ("id", "bytes_per_param", "compute", "weight_only", "kv_bytes", "quality_impact"),
    "engines": ("id", "version", "production", "vendors", "precisions", "kv_precisions"),
    "support": ("id", "effect", "reason"),
    "apis": ("id", "input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok", "countries",
             "operator_jurisdiction", "open_weights_model"),
    "profiles": ("id", "peak_to_mean", "description"),
    "spot_markets": ("provider", "accelerator", "interruptions_per_up_hour", "start_h", "availability"),
    "price_paths": ("provider", "accelerator", "option", "decline_per_year", "changes"),
    "round_trips": ("client_region", "country", "rtt_ms"),
    "groups": ("id", "countries"),
}  # fmt: skip
"""What a list of each table shows, besides where the row is from."""
PROVENANCE = ("source", "as_of", "confidence")


@dataclass(frozen=True, slots=True)
class Found:
    """A row that bears a name: its table, its id and all its fields as cells."""

    table: str
    id: str
    fields: dict[str, Cell]


def rows_of(catalog: Catalog, table: str) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """(column names, rows) of a table in canonical order. Raises UnknownName."""
    if table not in TABLES:
        raise UnknownName("catalog table", table, nearest(table, TABLES) or tuple(TABLES))
    columns = COLUMNS[table] + PROVENANCE
    rows: tuple[Row, ...] = getattr(catalog, table)
    return columns, tuple(tuple(_cell(_value(catalog, row, c)) for c in columns) for row in rows)


def show(catalog: Catalog, name: str) -> tuple[Found, ...]:
    """Every row of any table that the name (id, alias or part of an id between slashes) is one of.

    Raises UnknownName with the nearest names.
    """
    wanted = name.strip().lower()
    exact: list[Found] = []
    partial: list[Found] = []
    known: set[str] = set()
    for table in TABLES:
        for row in getattr(catalog, table):
            names = _names(row)
            known |= names
            if wanted in names:
                exact.append(_found(catalog, table, row))
            elif wanted in _parts(row):
                partial.append(_found(catalog, table, row))
    found = exact or partial
    if not found:
        raise UnknownName("name", name, nearest(name, known))
    return tuple(found)


def row_id(row: Row) -> str:
    """The row's id, or its key fields between slashes."""
    own = getattr(row, "id", None)
    if own is not None:
        return str(own)
    for fields in (("provider", "region"), ("provider", "accelerator"), ("client_region", "country")):
        if all(hasattr(row, f) for f in fields):
            return "/".join(str(getattr(row, f)) for f in fields)
    return type(row).__name__


def _names(row: Row) -> set[str]:
    return {row_id(row).lower(), *spellings(row_id(row), getattr(row, "aliases", ()))}


def _parts(row: Row) -> set[str]:
    parts = {p.lower() for p in row_id(row).replace("@", "/").split("/")}
    accelerator = getattr(row, "accelerator", None)
    return parts | ({str(accelerator).lower()} if accelerator else set())


def _found(catalog: Catalog, table: str, row: Row) -> Found:
    extra = {c: _cell(_value(catalog, row, c)) for c in COLUMNS[table] if c not in type(row).model_fields}
    fields = {name: _cell(getattr(row, name)) for name in type(row).model_fields}
    return Found(table, row_id(row), {**({"id": row_id(row)} if "id" not in fields else {}), **fields, **extra})


def _value(catalog: Catalog, row: Row, column: str) -> object:
    """A field, or one of the columns that are computed for people."""
    if isinstance(row, Offer) and column in ("accelerator", "accelerators", "price_usd_per_accelerator_hour"):
        kind = catalog.instance_type(row.provider, row.instance_type)
        if column == "price_usd_per_accelerator_hour":
            return round(row.price_usd_per_hour / kind.accelerators, 6)
        return getattr(kind, column)
    if isinstance(row, Offer) and column == "country":
        region = catalog.region(row.provider, row.region)
        return region.country if region else None
    if column in ("total_params_b", "active_params_b"):
        shape = getattr(row, "shape", None)
        return round(float(getattr(shape, column.removesuffix("_b"))) / 1e9, 3)
    if column == "peak_to_mean":
        weights: tuple[float, ...] = getattr(row, "weights", ())
        return round(max(weights) * len(weights) / sum(weights), 3) if sum(weights) else None
    return getattr(row, column)


def _cell(value: object) -> Cell:
    """A value as one cell: tuples joined, nested rows as JSON."""
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, tuple):
        return "; ".join(str(_cell(v)) for v in value)
    return str(value)
