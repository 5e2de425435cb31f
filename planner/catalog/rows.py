"""From raw rows to typed rows: values, duplicates, references. Every fault is collected, none stops the reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from planner.base import COUNTRY_ALIASES, TERM_MONTHS, Confidence, PurchaseOption
from planner.catalog.catalog import nearest, spellings
from planner.catalog.files import RawRow
from planner.catalog.tables import TABLES, Key, Table
from planner.catalog.types import (
    ApiOffer,
    CountryGroup,
    Engine,
    InstanceType,
    LlmModel,
    Offer,
    PricePath,
    Provider,
    Region,
    Row,
    SpotMarket,
    SupportRule,
    TrafficProfile,
)
from planner.errors import Fault

Rows = dict[str, dict[Key, Row]]
"""Table name → key → row."""

SPOT_NOT_BELOW_ON_DEMAND = "spot_not_below_on_demand"
LEAST_PRICE = 1e-4
"""USD per instance-hour; less is a slip of the unit."""
SUPERSEDED = "superseded"
COMPUTED_FLAGS = frozenset({SPOT_NOT_BELOW_ON_DEMAND, SUPERSEDED})
PRICED_OPTIONS = tuple(o.value for o in PurchaseOption if o is not PurchaseOption.API)
PLACE_FIELDS = ("country", "zones")
OPERATOR_FIELDS = ("operator_jurisdiction", "certifications", "marketplace")
MACHINE_FIELDS = (
    "accelerator", "accelerators", "interconnect", "tensor_parallel_domain", "network_gb_per_s", "vcpus", "memory_gib",
)  # fmt: skip
PRICE_FIELDS = ("prices", "prices_per_accelerator", "price_usd_per_accelerator_hour", *PRICED_OPTIONS)
WRITTEN_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"offers": (*PLACE_FIELDS, *OPERATOR_FIELDS, *MACHINE_FIELDS, *PRICE_FIELDS), "models": ("config",)}
)
"""Table → what an overlay's row may have beside the fields of the table's own rows."""


def build_rows(table: Table, raws: Iterable[RawRow], faults: list[Fault]) -> dict[Key, Row]:
    """Typed rows by key. Faults: C104 a value, C105 no field, C106 a duplicate, C108 a price, C109 undated."""
    rows: dict[Key, Row] = {}
    places: dict[Key, RawRow] = {}
    if table.name == "offers":
        raws = chain.from_iterable(expand_prices(r, faults) for r in raws)
    for raw in raws:
        row = build_row(table, raw, faults)
        if row is None:
            continue
        key = table.key(row)
        if key in rows:
            first = places[key]
            where = f" (first on line {first.line} of {first.file})" if first.line and first.file else ""
            faults.append(raw.fault("C106", f"{table.noun} {'/'.join(key)} is given twice{where}"))
            continue
        rows[key], places[key] = row, raw
    return rows


def build_row(table: Table, raw: RawRow, faults: list[Fault]) -> Row | None:
    """One typed row, or None with its faults recorded."""
    flags = {n for n, info in table.row.model_fields.items() if info.annotation is bool}
    if odd := [n for n, v in raw.fields.items() if isinstance(v, bool) and n not in flags]:
        faults.extend(raw.fault("C104", f"{n} must not be {str(raw.fields[n]).lower()}", n) for n in odd)
        return None
    try:
        row = table.row.model_validate(raw.fields)
    except ValidationError as e:
        faults.extend(_fault_of(table, raw, d) for d in e.errors(include_url=False, include_context=False))
        return None
    wrong = [raw.fault(code, message, name) for code, name, message in _senseless(row)]
    faults.extend(wrong)
    return None if wrong else row


def _senseless(row: Row) -> Iterator[tuple[str, str, str]]:
    """(code, field, message) of values that a type cannot refuse."""
    match row:
        case Offer() if row.price_usd_per_hour == 0 and row.option is not PurchaseOption.OWNED:
            yield "C108", "price_usd_per_hour", f"the price of {row.id} is zero: only owned machines may cost nothing"
        case Offer() if 0 < row.price_usd_per_hour < LEAST_PRICE:
            message = f"the price of {row.id} is below {LEAST_PRICE:g} USD per hour: a slip of the unit?"
            yield "C108", "price_usd_per_hour", message
        case Offer() if row.option is PurchaseOption.API:
            yield "C104", "option", f"{row.id}: `api` is no way to buy an instance; API models belong in `apis`"
        case ApiOffer() if row.input_usd_per_mtok == 0 and row.output_usd_per_mtok == 0:
            yield "C108", "input_usd_per_mtok", f"the prices of {row.id} are zero"
        case TrafficProfile() if len(row.weights) not in (24, 168) or not sum(row.weights) > 0:
            message = f"profile {row.id} needs 24 or 168 weights that are not all zero, not {len(row.weights)}"
            yield "C104", "weights", message
        case InstanceType() if row.tensor_parallel_domain > row.accelerators and row.network_gb_per_s == 0:
            message = f"{row.id}: a tensor-parallel domain beyond one machine needs network_gb_per_s"
            yield "C104", "tensor_parallel_domain", message
        case Region() if row.country is not None and not _is_country(row.country):
            yield "C104", "country", f"country of {row.provider}/{row.region} must be an ISO code such as DE or US"
        case Provider() if row.operator_jurisdiction is not None and not _is_country(row.operator_jurisdiction):
            yield "C104", "operator_jurisdiction", f"jurisdiction of {row.id} must be an ISO code such as DE or US"


def _is_country(code: str) -> bool:
    return len(code) == 2 and code.isalpha() and code.isupper()


def _fault_of(table: Table, raw: RawRow, detail: ErrorDetails) -> Fault:
    loc = [str(p) for p in detail["loc"]]
    name, where = (loc[0] if loc else ""), ".".join(loc)
    kind = detail["type"]
    if kind == "missing":
        code = "C109" if name in ("source", "as_of", "confidence") else "C105"
        known = "every row says where it is from, when, and how sure it is" if code == "C109" else None
        return raw.fault(code, f"{table.noun} without {where}", name, known)
    if kind == "extra_forbidden":
        close = nearest(name, (*table.row.model_fields, *WRITTEN_FIELDS.get(table.name, ())))
        hint = f"did you mean {' or '.join(close)}?" if close else None
        return raw.fault("C104", f"{table.noun} has no field {where!r}", name, hint)
    code = "C109" if name == "as_of" else "C108" if "price" in name or "usd" in name else "C104"
    return raw.fault(code, f"{where} {_sentence(detail)}, not {short(detail.get('input'))}", name)


def _sentence(detail: ErrorDetails) -> str:
    message = detail["msg"]
    return message.removeprefix("Input ").removeprefix("Value error, ").rstrip(".")


def short(value: object) -> str:
    """A value for a message: never longer than a phrase."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def expand_prices(raw: RawRow, faults: list[Fault]) -> list[RawRow]:
    """One raw offer per purchase option: `prices: {on_demand: 3.6, …}`, price columns, or one option with its price.

    `price_usd_per_accelerator_hour` and `prices_per_accelerator` were made per instance by the overlay reader.
    """
    fields = dict(raw.fields)
    prices: dict[str, object] = {o: fields.pop(o) for o in PRICED_OPTIONS if o in fields}
    given = fields.pop("prices", None)
    if isinstance(given, Mapping):
        prices |= {str(k): v for k, v in given.items()}
    elif given is not None:
        faults.append(raw.fault("C104", "prices must map purchase options to prices", "prices"))
        return []
    unknown = sorted(set(prices) - set(PRICED_OPTIONS))
    if unknown:
        hint = f"one of {', '.join(PRICED_OPTIONS)}"
        faults.append(raw.fault("C104", f"unknown purchase option {unknown[0]!r}", "prices", hint))
        return []
    if not prices:
        return [_with_term(RawRow(fields, raw.file, raw.line, raw.path, raw.lines))]
    return [
        _with_term(RawRow({**fields, "option": o, "price_usd_per_hour": p}, raw.file, raw.line, raw.path, raw.lines))
        for o, p in prices.items()
        if p is not None
    ]


def _with_term(raw: RawRow) -> RawRow:
    option = raw.fields.get("option")
    if "term_months" not in raw.fields and isinstance(option, str) and option in PRICED_OPTIONS:
        raw.fields["term_months"] = TERM_MONTHS[PurchaseOption(option)]
    return raw


def flag_offers(rows: Rows) -> dict[Key, Row]:
    """Offers with their computed flags.

    `spot_not_below_on_demand`: spot that is no discount. `superseded`: a price from the seed articles where a current
    one of the same provider and accelerator is known. Plans do not use either (`Offer.usable`).
    """
    offers = [o for o in rows["offers"].values() if isinstance(o, Offer)]
    on_demand = {o.pool_id: o.price_usd_per_hour for o in offers if o.option is PurchaseOption.ON_DEMAND}
    sells = {_system(rows, o) for o in offers if o.confidence is not Confidence.SEED}
    flagged: dict[Key, Row] = {}
    for offer in offers:
        flags = set(offer.flags) - COMPUTED_FLAGS
        if offer.option is PurchaseOption.SPOT and offer.price_usd_per_hour >= on_demand.get(offer.pool_id, math.inf):
            flags.add(SPOT_NOT_BELOW_ON_DEMAND)
        if offer.confidence is Confidence.SEED and _system(rows, offer) in sells:
            flags.add(SUPERSEDED)
        new = tuple(sorted(flags))
        flagged[(offer.id,)] = offer if new == offer.flags else offer.model_copy(update={"flags": new})
    return flagged


def expand_countries(rows: Rows) -> dict[Key, Row]:
    """API offers with country groups (`EU`) in `countries` written out as country codes."""
    groups = {g.id.upper(): g.countries for g in rows["groups"].values() if isinstance(g, CountryGroup)}
    found: dict[Key, Row] = {}
    for key, api in rows["apis"].items():
        given = api.countries if isinstance(api, ApiOffer) else None
        if given is None:
            found[key] = api
            continue
        named = (COUNTRY_ALIASES.get(name.lower(), name.upper()) for name in given)
        codes = tuple(sorted({c for name in named for c in groups.get(name, (name,))}))
        found[key] = api if codes == given else api.model_copy(update={"countries": codes})
    return found


def _system(rows: Rows, offer: Offer) -> tuple[str, str]:
    instance = rows["instance_types"].get((f"{offer.provider}/{offer.instance_type}",))
    return offer.provider, str(getattr(instance, "accelerator", ""))


def check_references(rows: Rows) -> list[Fault]:
    """C107 for every name that no row has, C106 for an alias that two rows claim."""
    faults: list[Fault] = []
    index = {t: _names(rows, t, faults) for t in ("accelerators", "providers", "precisions", "engines", "models")}
    types = {(t.provider, t.name) for t in rows["instance_types"].values() if isinstance(t, InstanceType)}
    places = {(r.provider, r.region) for r in rows["regions"].values() if isinstance(r, Region)}

    def refer(row: str, table: str, name: str | None) -> None:
        if name is None or name == "*" or name.lower() in index[table] or (table == "models" and not index[table]):
            return
        close = sorted({index[table][n] for n in nearest(name, index[table])})
        hint = f"did you mean {' or '.join(close)}?" if close else None
        faults.append(Fault(code="C107", message=f"{row}: unknown {TABLES[table].noun} {name!r}", help=hint))

    for t in rows["instance_types"].values():
        if isinstance(t, InstanceType):
            refer(t.id, "providers", t.provider)
            refer(t.id, "accelerators", t.accelerator)
    for o in rows["offers"].values():
        if not isinstance(o, Offer):
            continue
        if (o.provider, o.instance_type) not in types:
            close_types = nearest(o.instance_type, (n for p, n in types if p == o.provider))
            hint = f"did you mean {' or '.join(close_types)}?" if close_types else None
            message = f"{o.id}: {o.provider} has no instance type {o.instance_type!r}"
            faults.append(Fault(code="C107", message=message, help=hint))
        if (o.provider, o.region) not in places:
            faults.append(Fault(code="C107", message=f"{o.id}: {o.provider} has no region {o.region!r}"))
    for row in chain(*(rows[t].values() for t in REFERRING)):
        for table, name in _references(row):
            refer(_label(row), table, name)
    return faults


REFERRING = ("regions", "models", "engines", "support", "apis", "spot_markets", "price_paths")
"""Tables whose rows name rows of other tables."""


def _references(row: Row) -> list[tuple[str, str | None]]:
    match row:
        case Region():
            return [("providers", row.provider)]
        case LlmModel():
            names = (row.native_precision, *(c.precision for c in row.checkpoints))
            return [("precisions", n) for n in names]
        case Engine():
            return [("precisions", n) for n in (*row.precisions, *row.kv_precisions)]
        case SupportRule():
            return [
                ("precisions", row.precision),
                ("precisions", row.kv_precision),
                ("engines", row.engine),
                ("accelerators", row.accelerator),
            ]
        case ApiOffer():
            return [("models", row.open_weights_model), ("providers", row.provider)]
        case SpotMarket() | PricePath():
            return [("providers", row.provider), ("accelerators", row.accelerator)]
    return []


def _label(row: Row) -> str:
    return str(getattr(row, "id", None) or f"{type(row).__name__} {getattr(row, 'provider', '')}")


def name_map(rows: Rows, table: str) -> dict[str, str]:
    """Spelling (lower-cased) → id of a table whose rows have ids."""
    return _names(rows, table, [])


def _names(rows: Rows, table: str, faults: list[Fault]) -> dict[str, str]:
    """Spelling (lower-cased) → id, with a C106 for a spelling of two rows."""
    index: dict[str, str] = {}
    for row in rows[table].values():
        row_id = str(getattr(row, "id", ""))
        for name in spellings(row_id, getattr(row, "aliases", ())):
            other = index.setdefault(name, row_id)
            if other != row_id:
                message = f"{TABLES[table].noun}s {other} and {row_id} both claim the name {name!r}"
                faults.append(Fault(code="C106", message=message))
    return index
