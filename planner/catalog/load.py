"""Loading the catalog: the shipped tables (or a directory of them) with overlays on top."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Any, cast

from planner.catalog import cache
from planner.catalog.api_prices import fill_prices, price_fields, prices_at, read_snapshot
from planner.catalog.catalog import Catalog
from planner.catalog.files import SUFFIXES, load_yaml, read_rows, read_text, table_files
from planner.catalog.overlay import apply_overlay, read_overlay
from planner.catalog.rows import Rows, build_rows, check_references, expand_countries, flag_offers
from planner.catalog.tables import TABLES, Key, sorted_rows
from planner.catalog.types import Row
from planner.errors import Fault, InputError

HEADER = "catalog.yaml"
HELP = {
    "C101": "give a readable YAML, JSON or CSV file, or a directory of them",
    "C102": f"an overlay has mode, replace, discounts and these tables: {', '.join(TABLES)}",
    "C103": "a table is a list of rows and a row a mapping, e.g. offers: [{provider: acme, accelerator: H100-SXM, …}]",
    "C104": "`planner catalog show NAME` shows a row of the kind with all its fields",
    "C105": "`planner catalog show NAME` shows a row of the kind with all its fields",
    "C106": "keep one of them, or give the other another name",
    "C107": "`planner catalog list` and `planner catalog list TABLE` show the names that are known",
    "C108": "a price is a number of USD, e.g. 2.49, per hour of an instance or per million tokens",
    "C109": "give source, as_of (a date) and confidence (list, derived, assumed or seed)",
}
"""What to do about a fault that has no help of its own."""


@dataclass(slots=True)
class Tables:
    """Everything read from a catalog directory, before it is frozen into a `Catalog`."""

    name: str
    as_of: date
    price_date: date
    rows: Rows
    digests: dict[str, str] = field(default_factory=dict)
    """Table → digest of its canonical rows."""
    price_refs: dict[Key, str] = field(default_factory=dict)
    """API offer → its list price and surcharge, `provider:model|0.1`."""


def load_catalog(
    path: str | None = None,
    overlays: Sequence[str | Mapping[str, object]] = (),
    base_dir: Path | None = None,
    price_date: date | None = None,
) -> Catalog:
    """The catalog that a spec works with.

    `path`: a catalog directory (default: the shipped one); `overlays`: YAML or JSON files (relative to `base_dir`) or
    mappings, applied in order (see `planner.catalog.overlay`); `price_date`: the date of API list prices and the
    default `as_of` of overlay rows (default: the catalog's). Raises InputError with every fault (C1xx).
    """
    directory = shipped_directory() if path is None else (base_dir or Path()) / path
    tables = read_directory(directory)
    faults: list[Fault] = []
    day = price_date or tables.price_date
    if day != tables.price_date:
        _reprice(tables, day)
    changed: set[str] = set()
    for index, given in enumerate(overlays):
        overlay = read_overlay(given, base_dir, index, faults)
        if overlay is not None:
            changed |= apply_overlay(tables.rows, overlay, day, faults)
    if changed and not faults:
        faults.extend(check_references(tables.rows))
        tables.rows["offers"] = flag_offers(tables.rows)
        tables.rows["apis"] = expand_countries(tables.rows)
        changed |= {"offers", "apis"}
        tables.digests |= {t: _digest(tables.rows, t) for t in changed}
    if faults:
        raise _refusal(faults)
    return _freeze(tables, day)


def _refusal(faults: Sequence[Fault]) -> InputError:
    """The error to raise, every fault with something to do about it."""
    return InputError([replace(f, help=f.help or HELP.get(f.code)) for f in faults])


def shipped_directory() -> Path:
    """The catalog inside the installed package, or `catalogs/` of a checkout."""
    inside = Path(str(resource_files("planner"))) / "_catalogs"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "catalogs"


def read_directory(directory: Path) -> Tables:
    """All tables of a directory, from the cache where nothing changed. Raises InputError."""
    if not os.path.isdir(directory):  # noqa: PTH112 (a name too long for the system is no directory, not an error)
        message = f"catalog {str(directory)!r} is not a directory"
        help_ = "a directory of catalog tables; leave it out for the catalog shipped with planner"
        raise InputError([Fault(code="C101", message=message, path="catalog.path", help=help_)])
    if not (directory / HEADER).is_file():
        message = f"{str(directory)!r} holds no catalog: there is no {HEADER}"
        help_ = "give the directory that holds catalog.yaml and the tables"
        raise InputError([Fault(code="C101", message=message, path="catalog.path", help=help_)])
    files = sorted(p for p in directory.rglob("*") if p.suffix in SUFFIXES)
    key = cache.content_key(files)
    found = cache.load(key)
    if isinstance(found, Tables):
        return found
    tables = _parse_directory(directory)
    cache.store(key, tables)
    return tables


def _parse_directory(directory: Path) -> Tables:
    faults: list[Fault] = []
    header = _header(directory, faults)
    prices = read_snapshot(directory, faults)
    rows: Rows = {}
    refs: dict[Key, str] = {}
    for table in TABLES.values():
        raws = [r for p in table_files(directory, table.name) for r in read_rows(p, table, faults)]
        if table.name == "apis":
            by_index = fill_prices(raws, prices, faults)
            refs = {_api_key(raws[i].fields): ref for i, ref in by_index.items()}
        rows[table.name] = build_rows(table, raws, faults)
    faults += check_references(rows)
    if not rows["offers"] and not rows["apis"] and not faults:
        message = f"catalog {directory.name!r} holds neither offers nor API offers"
        faults.append(Fault(code="C103", message=message, path="catalog.path"))
    if faults:
        raise _refusal(faults)
    rows["offers"] = flag_offers(rows)
    rows["apis"] = expand_countries(rows)
    tables = Tables(header[0], header[1], header[2], rows, price_refs=refs)
    tables.digests = {t: _digest(rows, t) for t in TABLES}
    return tables


def _api_key(fields: Mapping[str, object]) -> Key:
    region = fields.get("region", "global")
    tail = "" if region == "global" else f"@{region}"
    return (f"{fields.get('provider')}/{fields.get('model')}{tail}",)


def _header(directory: Path, faults: list[Fault]) -> tuple[str, date, date]:
    """(name, as_of, price date) of `catalog.yaml`."""
    default = (directory.name, date(1970, 1, 1), date(1970, 1, 1))
    text = read_text(directory / HEADER, faults)
    if text is None:
        return default
    try:
        data = cast(Any, load_yaml(text))
        as_of = data["as_of"]
        price_date = data.get("price_date", as_of)
        if not isinstance(as_of, date) or not isinstance(price_date, date):
            raise ValueError("as_of and price_date must be dates, e.g. 2026-11-30")
        return str(data["name"]), as_of, price_date
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        message = f"{HEADER} needs name, as_of and price_date: {e}"
        faults.append(Fault(code="C103", message=message, file=HEADER))
        return default


def _reprice(tables: Tables, day: date) -> None:
    """List prices of the API offers at another date; an offer without a price on that day keeps its own."""
    wanted = frozenset(ref.partition("|")[0] for ref in tables.price_refs.values())
    prices = prices_at(day, wanted)
    apis = tables.rows["apis"]
    for key, ref in tables.price_refs.items():
        name, _, surcharge = ref.partition("|")
        if name in prices and key in apis:
            fields = price_fields(prices[name], float(surcharge))
            kept = {} if fields["context_window_tokens"] else {"context_window_tokens"}
            update = {k: v for k, v in fields.items() if k not in kept and k != "confidence"}
            apis[key] = apis[key].model_copy(update=update)
    tables.digests["apis"] = _digest(tables.rows, "apis")


def _digest(rows: Rows, table: str) -> str:
    digest = hashlib.sha256()
    for row in sorted_rows(TABLES[table], rows[table]):
        digest.update(row.model_dump_json().encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _freeze(tables: Tables, day: date) -> Catalog:
    parts = [tables.name, tables.as_of.isoformat(), day.isoformat(), *(tables.digests[t] for t in TABLES)]
    frozen: dict[str, tuple[Row, ...]] = {t: sorted_rows(TABLES[t], tables.rows[t]) for t in TABLES}
    sha256 = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return Catalog(name=tables.name, as_of=tables.as_of, price_date=day, sha256=sha256, **cast(Any, frozen))
