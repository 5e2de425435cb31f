"""Offers of an overlay: prices per instance or per accelerator, with what is missing around them made on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date

from planner.base import Confidence, PurchaseOption
from planner.catalog.catalog import nearest
from planner.catalog.files import RawRow
from planner.catalog.rows import (
    MACHINE_FIELDS,
    OPERATOR_FIELDS,
    PLACE_FIELDS,
    PRICED_OPTIONS,
    Rows,
    build_row,
    name_map,
    short,
)
from planner.catalog.tables import TABLES, Key
from planner.catalog.types import Accelerator, InstanceType, Offer, Provider, Region, Row
from planner.errors import Fault

Add = Callable[[str, Mapping[str, object]], Row | None]
"""Adds a row to a table; None where its values are wrong (recorded)."""
DISCOUNT_FIELDS = ("provider", "region", "instance_type", "accelerator")
"""What a discount is matched by; beside them it has `options` and `fraction`."""


def interconnect_of(accelerator: Accelerator, count: int) -> str:
    """What joins the accelerators of one machine, from their data sheet."""
    if count == 1:
        return "unified" if accelerator.link == "unified" else "none"
    for start, name in (("nvlink-bridge", "nvlink-bridge"), ("nvlink5-nvl72", "nvlink-nvl72"), ("nvlink", "nvlink")):
        if accelerator.link.startswith(start):
            return name
    return "pcie" if accelerator.link == "none" else accelerator.link


def domain_of(interconnect: str, count: int) -> int:
    """Largest tensor-parallel group: a bridge joins pairs, everything else the whole machine."""
    return min(2, count) if interconnect.startswith("nvlink-bridge") else count


def expand_offer(
    rows: Rows, raw: RawRow, defaults: Mapping[str, object], faults: list[Fault], touched: set[str]
) -> RawRow | None:
    """An overlay's offer as a raw row of the table; its provider, region and instance type are added to `rows`."""
    fields = {**defaults, **raw.fields}
    dated = {k: fields[k] for k in ("source", "as_of", "confidence")}
    machine = {k: fields.pop(k) for k in MACHINE_FIELDS if k in fields}
    place = {k: fields.pop(k) for k in PLACE_FIELDS if k in fields}
    operator = {k: fields.pop(k) for k in OPERATOR_FIELDS if k in fields}
    provider = str(fields.setdefault("provider", "custom"))
    region = str(fields.setdefault("region", str(place.get("country") or "any").lower()))

    def add(table: str, given: Mapping[str, object]) -> Row | None:
        row = build_row(TABLES[table], RawRow(dict(given), raw.file, raw.line, raw.path, raw.lines), faults)
        if row is not None:
            rows[table][TABLES[table].key(row)] = row
            touched.add(table)
        return row

    _add_provider(rows, provider, operator, dated, add)
    _add_region(rows, provider, region, place, dated, raw, faults, add)
    instance = _instance_type(rows, provider, fields.get("instance_type"), machine, dated, raw, faults, add)
    if instance is None:
        return None
    fields["instance_type"] = instance.name
    _per_accelerator(fields, instance.accelerators)
    if not any(k in fields for k in ("option", "prices", *PRICED_OPTIONS)):
        fields["option"] = PurchaseOption.ON_DEMAND.value
    return RawRow(fields, raw.file, raw.line, raw.path, raw.lines)


def _per_accelerator(fields: dict[str, object], count: int) -> None:
    """Prices per accelerator-hour as prices per instance-hour."""
    price = fields.pop("price_usd_per_accelerator_hour", None)
    if price is not None:
        fields["price_usd_per_hour"] = _times(price, count)
    several = fields.pop("prices_per_accelerator", None)
    if isinstance(several, Mapping):
        fields["prices"] = {str(k): _times(v, count) for k, v in several.items()}
    elif several is not None:
        fields["prices"] = several


def _times(price: object, count: int) -> object:
    """A number times a count; anything else stays, to be reported where values are checked."""
    try:
        return round(float(str(price)) * count, 9)
    except ValueError:
        return price


def _add_provider(
    rows: Rows, provider: str, operator: Mapping[str, object], dated: Mapping[str, object], add: Add
) -> None:
    """The offer's operator: a new row, or a known one with what the offer says about it."""
    known = rows["providers"].get((provider,))
    if isinstance(known, Provider) and not operator:
        return
    base: dict[str, object] = {"id": provider, "name": provider, "operator_jurisdiction": None}
    add("providers", {**base, **(known.model_dump() if known else {}), **dated, **operator})


def add_api_provider(
    rows: Rows, fields: Mapping[str, object], defaults: Mapping[str, object], touched: set[str]
) -> None:
    """The provider of an overlay's API offer, where the catalog has none of that name."""
    name = str(fields["provider"])
    if (name,) in rows["providers"]:
        return
    law = fields.get("operator_jurisdiction")
    jurisdiction = law if isinstance(law, str) and len(law) == 2 else None
    row = Provider.model_validate({"id": name, "name": name, "operator_jurisdiction": jurisdiction, **defaults})
    rows["providers"][(name,)] = row
    touched.add("providers")


def _add_region(
    rows: Rows,
    provider: str,
    region: str,
    place: Mapping[str, object],
    dated: Mapping[str, object],
    raw: RawRow,
    faults: list[Fault],
    add: Add,
) -> None:
    """The offer's region: new, or known; a country that contradicts the known one is a C104."""
    known = rows["regions"].get((provider, region))
    given = place.get("country")
    if isinstance(known, Region):
        if given is not None and known.country is not None and str(given).upper() != known.country:
            message = f"{provider}/{region} is in {known.country}, not {short(given)}"
            faults.append(raw.fault("C104", message, "country", "name another region, or correct `regions`"))
            return
        if not place:
            return
    base: dict[str, object] = {"provider": provider, "region": region, "country": None}
    country = {"country": str(given).upper()} if given is not None else {}
    add("regions", {**base, **(known.model_dump() if known else {}), **dated, **place, **country})


def _instance_type(
    rows: Rows,
    provider: str,
    name: object,
    machine: dict[str, object],
    dated: Mapping[str, object],
    raw: RawRow,
    faults: list[Fault],
    add: Add,
) -> InstanceType | None:
    """The offer's machine: the known instance type, or a new one from what the offer says."""
    known = rows["instance_types"].get((f"{provider}/{name}",)) if name is not None else None
    if isinstance(known, InstanceType):
        for field in ("accelerator", "accelerators"):
            if field in machine and str(machine[field]) != str(getattr(known, field)):
                message = f"{known.id} has {getattr(known, field)} as {field}, not {short(machine[field])}"
                faults.append(raw.fault("C104", message, field, "name another instance type, or correct the table"))
                return None
        return known
    accelerator_name = machine.get("accelerator")
    accelerator = rows["accelerators"].get((str(accelerator_name),))
    if not isinstance(accelerator, Accelerator):
        _no_accelerator(rows, provider, name, accelerator_name, raw, faults)
        return None
    count = machine.get("accelerators", 1)
    machine["accelerators"] = count
    whole = int(str(count)) if str(count).isdigit() else 1
    machine.setdefault("interconnect", interconnect_of(accelerator, whole))
    machine.setdefault("tensor_parallel_domain", domain_of(str(machine["interconnect"]), max(whole, 1)))
    label = str(name) if name is not None else f"{whole}x{accelerator.id}"
    base: dict[str, object] = {"id": f"{provider}/{label}", "provider": provider, "name": label}
    row = add("instance_types", {**base, **dated, **machine})
    return row if isinstance(row, InstanceType) else None


def _no_accelerator(
    rows: Rows, provider: str, name: object, accelerator: object, raw: RawRow, faults: list[Fault]
) -> None:
    if accelerator is not None:
        names = name_map(rows, "accelerators")
        close = sorted({names[n] for n in nearest(str(accelerator), names)})
        hint = f"did you mean {' or '.join(close)}?" if close else None
        faults.append(raw.fault("C107", f"unknown accelerator {short(accelerator)}", "accelerator", hint))
        return
    if name is None:
        faults.append(raw.fault("C105", "an offer needs an instance_type or an accelerator"))
        return
    own = (t.name for t in rows["instance_types"].values() if isinstance(t, InstanceType) and t.provider == provider)
    close = list(nearest(str(name), own))
    hint = f"did you mean {' or '.join(close)}?" if close else "give its accelerator and how many it has"
    faults.append(raw.fault("C107", f"{provider} has no instance type {short(name)}", "instance_type", hint))


def apply_discounts(rows: Rows, raws: Iterable[RawRow], day: date, faults: list[Fault]) -> dict[Key, Row]:
    """Offers with negotiated discounts: a fraction off every offer that matches (several multiply)."""
    offers = dict(rows["offers"])
    for raw in raws:
        match = dict(raw.fields)
        fraction = match.pop("fraction", None)
        options = match.pop("options", None)
        for field, table in (("accelerator", "accelerators"), ("provider", "providers")):
            if isinstance(match.get(field), str):
                match[field] = name_map(rows, table).get(str(match[field]).lower(), match[field])
        wanted = [options] if isinstance(options, str) else options
        if not isinstance(fraction, int | float) or not 0 < fraction < 1:
            message = f"fraction must be a number between 0 and 1, not {short(fraction)}"
            faults.append(raw.fault("C104", message, "fraction", "0.18 is 18 % off"))
            continue
        if unknown := sorted(set(match) - set(DISCOUNT_FIELDS)):
            message, hint = f"a discount has no field {unknown[0]!r}", _suggest(unknown[0], DISCOUNT_FIELDS)
            faults.append(raw.fault("C104", message, unknown[0], hint))
            continue
        if odd := _unknown_of_discount(rows, match, wanted):
            field, message, hint = odd
            faults.append(raw.fault("C107" if field in match else "C104", message, field, hint))
            continue
        hits = [(k, o) for k, o in offers.items() if isinstance(o, Offer) and _matches(rows, o, match, wanted)]
        if not hits:
            faults.append(
                raw.fault(
                    "C107", f"a discount on {', '.join(f'{k} {short(v)}' for k, v in match.items())} matches no offer"
                )
            )
        for key, offer in hits:
            offers[key] = offer.model_copy(
                update={
                    "price_usd_per_hour": round(offer.price_usd_per_hour * (1 - fraction), 9),
                    "source": f"{offer.source}; overlay: {fraction:.1%} discount",
                    "as_of": day,
                    "confidence": Confidence.DERIVED,
                }
            )
    return offers


def _unknown_of_discount(
    rows: Rows, match: Mapping[str, object], options: object
) -> tuple[str, str, str | None] | None:
    """(field, message, help) of the first name of a discount that no offer has."""
    for option in options if isinstance(options, Iterable) else ():
        if str(option) not in PRICED_OPTIONS:
            return "options", f"unknown purchase option {short(option)}", f"one of {', '.join(PRICED_OPTIONS)}"
    known = {
        "provider": name_map(rows, "providers"),
        "accelerator": name_map(rows, "accelerators"),
        "region": {str(getattr(r, "region", "")): str(getattr(r, "region", "")) for r in rows["regions"].values()},
        "instance_type": {str(getattr(t, "name", "")): str(getattr(t, "name", "")) for t in
                          rows["instance_types"].values()},
    }  # fmt: skip
    for field, value in match.items():
        names = known[field]
        if value not in names.values():
            close = dict.fromkeys(names[n] for n in nearest(str(value), names))
            hint = f"did you mean {' or '.join(close)}?" if close else None
            return field, f"unknown {field.replace('_', ' ')} {short(value)} in a discount", hint
    return None


def _suggest(name: str, known: Iterable[str]) -> str | None:
    close = nearest(name, known)
    return f"did you mean {' or '.join(close)}?" if close else None


def _matches(rows: Rows, offer: Offer, match: Mapping[str, object], options: object) -> bool:
    if isinstance(options, Iterable) and offer.option.value not in {str(o) for o in options}:
        return False
    instance = rows["instance_types"].get((f"{offer.provider}/{offer.instance_type}",))
    had = {
        "provider": offer.provider,
        "region": offer.region,
        "instance_type": offer.instance_type,
        "accelerator": getattr(instance, "accelerator", None),
    }
    return all(had[k] == v for k, v in match.items())
