"""Overlays: a user's own prices, discounts, models and rows on top of the shipped catalog.

An overlay is a mapping (inline in the spec, or a YAML or JSON file) from table names to lists of rows:

    mode: extend | replace        # replace: the tables that this overlay gives are emptied first
    replace: [offers, apis]       # … or exactly these are emptied first, given or not
    discounts:                    # negotiated: a fraction off existing offers that match
      - {provider: aws, accelerator: H100-SXM, options: [on_demand], fraction: 0.18}
    offers:
      - {provider: acme, region: eu-1, country: DE, accelerator: H100-SXM, accelerators: 8,
         prices: {on_demand: 28.8, reserved_1y: 20.0}}
    models:
      - {id: our-70b, config: our-70b/config.json}

A row replaces the row with the same key and keeps what it does not mention. An offer brings what is missing with it:
its instance type, region and provider. `source` defaults to `overlay`, `as_of` to the price date and `confidence` to
`list`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from planner.base import COUNTRY_ALIASES
from planner.catalog.catalog import nearest
from planner.catalog.files import RawRow, document_rows, expanded_size, field_lines, load_yaml, read_text
from planner.catalog.overlay_models import expand_model
from planner.catalog.overlay_offers import add_api_provider, apply_discounts, expand_offer
from planner.catalog.rows import Rows, build_rows, name_map, short
from planner.catalog.tables import TABLES, Key, Table, tuple_fields
from planner.errors import Fault

MAX_NODES = 2_000_000
"""Values in one overlay, aliases written out: more is an alias bomb or no overlay."""
CONTROL = ("mode", "replace", "discounts", "name")
ORDER = (
    "groups", "accelerators", "precisions", "engines", "providers", "regions", "models", "instance_types", "offers",
    "support", "apis", "profiles", "spot_markets", "price_paths", "round_trips",
)  # fmt: skip
"""References first, so that an overlay may refer to what it brings."""
REFERRING = {"accelerator": "accelerators", "provider": "providers", "engine": "engines", "precision": "precisions"}


@dataclass(frozen=True, slots=True)
class Overlay:
    """A parsed overlay: the mapping, the file it is from (None: inline), where relative paths start, its path."""

    data: Mapping[str, object]
    file: str | None
    base_dir: Path
    path: str
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each key where the reader knows it."""


def read_overlay(
    given: str | Mapping[str, object], base_dir: Path | None, index: int, faults: list[Fault]
) -> Overlay | None:
    """An overlay from a file name or a mapping; C101 or C103 where it is neither."""
    where = f"catalog.overlays[{index}]"
    base = base_dir or Path()
    if isinstance(given, Mapping):
        return _sound(Overlay({str(k): v for k, v in given.items()}, None, base, where), faults)
    path = base / given
    unread: list[Fault] = []
    text = read_text(path, unread)
    if text is None:
        help_ = "a YAML or JSON file of catalog tables; its path is relative to the workload file"
        faults += [replace(f, path=where, file=None, help=help_) for f in unread]
        return None
    try:
        data = load_yaml(text)
    except ValueError as e:
        faults.append(Fault(code="C101", message=f"overlay {given} is not readable YAML: {e}", path=where, file=given))
        return None
    if not isinstance(data, Mapping):
        message = f"overlay {given} must be a mapping of tables"
        faults.append(Fault(code="C103", message=message, path=where, file=given))
        return None
    return _sound(Overlay({str(k): v for k, v in data.items()}, given, path.parent, "", field_lines(data)), faults)


def _sound(overlay: Overlay, faults: list[Fault]) -> Overlay | None:
    """The overlay, unless YAML aliases blow it up."""
    try:
        if expanded_size(overlay.data) <= MAX_NODES:
            return overlay
        message = f"overlay has more than {MAX_NODES} values once its YAML aliases are written out"
    except RecursionError:
        message = "overlay is nested too deeply"
    faults.append(Fault(code="C103", message=message, path=overlay.path or None, file=overlay.file))
    return None


def apply_overlay(rows: Rows, overlay: Overlay, day: date, faults: list[Fault]) -> set[str]:
    """Put an overlay's rows over `rows` (changed in place). Returns the names of the tables it touched."""
    touched = _empty_replaced(rows, overlay, faults)
    for name in ORDER:
        if overlay.data.get(name) is None:
            continue
        table = TABLES[name]
        path = f"{overlay.path}.{name}" if overlay.path else name
        raws = document_rows(overlay.data[name], overlay.file, table, faults, path)
        expand = _expander(rows, overlay, name, day, faults, touched)
        ready = [e for raw in raws if (e := expand(raw)) is not None]
        rows[name] = rows[name] | build_rows(table, ready, faults)
        touched.add(name)
    if overlay.data.get("discounts") is not None:
        path = f"{overlay.path}.discounts" if overlay.path else "discounts"
        raws = document_rows(overlay.data["discounts"], overlay.file, TABLES["offers"], faults, path)
        rows["offers"] = apply_discounts(rows, raws, day, faults)
        touched.add("offers")
    return touched


def _empty_replaced(rows: Rows, overlay: Overlay, faults: list[Fault]) -> set[str]:
    """Empty the tables that the overlay replaces; C102 for names that are no tables."""

    def fault(message: str, name: str, hint: str | None = None) -> None:
        path = ".".join(p for p in (overlay.path, name) if p)
        line = overlay.lines.get(name)
        faults.append(Fault(code="C102", message=message, path=path, line=line, file=overlay.file, help=hint))

    known = (*TABLES, *CONTROL)
    for name in overlay.data:
        if name not in known:
            close = nearest(name, known)
            fault(f"unknown table {name!r} in overlay", name, f"did you mean {' or '.join(close)}?" if close else None)
    mode = overlay.data.get("mode", "extend")
    if mode not in ("extend", "replace"):
        fault(f"mode must be extend or replace, not {short(mode)}", "mode")
    given = overlay.data.get("replace", ())
    if given is not None and not isinstance(given, Sequence):
        fault(f"replace must be a list of tables, not {short(given)}", "replace", "e.g. [offers, apis]")
    replaced = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    if mode == "replace":
        replaced += [t for t in TABLES if overlay.data.get(t) is not None]
    for name in replaced:
        if not isinstance(name, str) or name not in TABLES:
            close = nearest(short(name), TABLES)
            hint = f"did you mean {' or '.join(close)}?" if close else None
            fault(f"replace names no table: {short(name)}", "replace", hint)
        else:
            rows[name] = {}
    return {n for n in replaced if isinstance(n, str) and n in TABLES}


def _expander(
    rows: Rows, overlay: Overlay, name: str, day: date, faults: list[Fault], touched: set[str]
) -> Callable[[RawRow], RawRow | None]:
    """What turns an overlay's raw row into a full one."""
    defaults: dict[str, object] = {"source": "overlay", "as_of": day, "confidence": "list"}
    table = TABLES[name]
    names = {field: name_map(rows, other) for field, other in REFERRING.items()}

    def expand(raw: RawRow) -> RawRow | None:
        fields = _canonical(names, _wrapped(table, raw.fields))
        raw = RawRow(fields, raw.file, raw.line, raw.path, raw.lines)
        if name == "offers":
            return expand_offer(rows, raw, defaults, faults, touched)
        if name == "models":
            return expand_model(raw, overlay.base_dir, defaults, day, faults, rows)
        if name == "apis" and isinstance(fields.get("provider"), str):
            add_api_provider(rows, fields, defaults, touched)
        inherited = _existing(rows, name, fields)
        raw.fields = DEFAULTS.get(name, _nothing)(fields) | inherited | defaults | fields
        return raw

    return expand


def _canonical(names: Mapping[str, Mapping[str, str]], fields: Mapping[str, object]) -> dict[str, object]:
    """Fields with references by alias replaced by ids; unknown names stay (and are reported later)."""
    found = dict(fields)
    for name, known in names.items():
        value = found.get(name)
        if isinstance(value, str):
            found[name] = known.get(value.strip().lower(), value)
    return found


def _wrapped(table: Table, fields: Mapping[str, object]) -> dict[str, object]:
    """Fields with a lone string where a list is expected made a list, and country codes in capitals."""
    several = tuple_fields(table.row) | ({"certifications", "zones"} if table.name == "offers" else set())
    found = {n: (v,) if n in several and isinstance(v, str) else v for n, v in fields.items()}
    for name in ("country", "operator_jurisdiction"):
        value = found.get(name)
        if isinstance(value, str) and table.name != "round_trips":
            found[name] = COUNTRY_ALIASES.get(value.lower(), value.upper())
    return found


def _existing(rows: Rows, name: str, fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of the row that this one replaces, found by its key fields."""
    keys: dict[str, Callable[[Mapping[str, object]], Key]] = {
        "instance_types": lambda f: (f"{f.get('provider')}/{f.get('name')}",),
        "regions": lambda f: (str(f.get("provider")), str(f.get("region"))),
        "apis": lambda f: (api_id(f),),
        "spot_markets": lambda f: (str(f.get("provider", "*")), str(f.get("accelerator", "*"))),
        "price_paths": lambda f: tuple(str(f.get(k, "*")) for k in ("provider", "accelerator", "option")),
        "round_trips": lambda f: (str(f.get("client_region")), str(f.get("country"))),
    }
    by_key = keys.get(name)
    row = rows[name].get(by_key(fields) if by_key else (str(fields.get("id")),))
    return {} if row is None else row.model_dump()


def api_id(fields: Mapping[str, object]) -> str:
    """`provider/model[@region]` of raw API fields."""
    region = fields.get("region", "global")
    return f"{fields.get('provider')}/{fields.get('model')}" + ("" if region == "global" else f"@{region}")


def _nothing(fields: Mapping[str, object]) -> dict[str, object]:
    return {}


def _accelerator_defaults(fields: Mapping[str, object]) -> dict[str, object]:
    memory = fields.get("memory_gb")
    visible = {"memory_gib_visible": round(0.99 * memory, 2)} if isinstance(memory, int | float) else {}
    return {"kind": "gpu", "vendor": "nvidia", "memory_type": "not stated", "link": "none", **visible}


def _instance_defaults(fields: Mapping[str, object]) -> dict[str, object]:
    count = fields.get("accelerators", 1)
    return {
        "id": f"{fields.get('provider')}/{fields.get('name')}",
        "accelerators": count,
        "interconnect": "pcie",
        "tensor_parallel_domain": count,
    }


DEFAULTS: dict[str, Callable[[Mapping[str, object]], dict[str, object]]] = {
    "accelerators": _accelerator_defaults,
    "instance_types": _instance_defaults,
    "providers": lambda f: {"name": f.get("id"), "operator_jurisdiction": None},
    "regions": lambda f: {"country": None},
    "profiles": lambda f: {"description": "from an overlay"},
    "spot_markets": lambda f: {"start_h": 0.15},
}
