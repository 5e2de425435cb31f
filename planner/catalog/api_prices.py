"""List prices of API models: a dated snapshot in `api_prices.csv`, or genai-prices at another date.

A row of `apis` may name its list price (`price: provider:model`, with a `surcharge` for a regional endpoint) instead of
giving numbers. Importing genai-prices costs about 0.2 s, so the prices of the catalog's own date are kept as data
(`benchmarks/build_api_prices.py` writes them) and the package is asked only for other dates.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner.catalog.catalog import nearest
from planner.catalog.files import RawRow, read_text
from planner.errors import Fault

SNAPSHOT = "api_prices.csv"


@dataclass(frozen=True, slots=True)
class ListPrice:
    """USD per million tokens of one API model at a date; `tiers` as in `ApiOffer.context_tiers`."""

    ref: str
    as_of: date
    source: str
    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cached_input_usd_per_mtok: float | None
    tiers: tuple[tuple[int, float, float], ...]
    context_window_tokens: int | None


def read_snapshot(directory: Path, faults: list[Fault]) -> dict[str, ListPrice]:
    """The prices in a catalog's `api_prices.csv` (none if there is no such file)."""
    path = directory / SNAPSHOT
    if not path.is_file():
        return {}
    text = read_text(path, faults) or ""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {r["ref"]: _price_of(r) for r in csv.DictReader(lines)}


def _price_of(cells: Mapping[str, str]) -> ListPrice:
    tiers = (t.split(":") for t in cells["tiers"].split(";") if t)
    return ListPrice(
        ref=cells["ref"],
        as_of=date.fromisoformat(cells["as_of"]),
        source=cells["source"],
        input_usd_per_mtok=float(cells["input_usd_per_mtok"]),
        output_usd_per_mtok=float(cells["output_usd_per_mtok"]),
        cached_input_usd_per_mtok=float(cached) if (cached := cells["cached_input_usd_per_mtok"]) else None,
        tiers=tuple((int(n), float(i), float(o)) for n, i, o in tiers),
        context_window_tokens=int(cells["context_window_tokens"]) if cells["context_window_tokens"] else None,
    )


def fill_prices(raws: Iterable[RawRow], prices: Mapping[str, ListPrice], faults: list[Fault]) -> dict[int, str]:
    """Replace `price` and `surcharge` of raw API rows by numbers. Returns index of the row → its price reference."""
    refs: dict[int, str] = {}
    for index, raw in enumerate(raws):
        ref = raw.fields.pop("price", None)
        surcharge = _fraction(raw, faults)
        if ref is None:
            continue
        price = prices.get(str(ref))
        if price is None:
            close = nearest(str(ref), prices)
            hint = f"did you mean {' or '.join(close)}?" if close else None
            faults.append(raw.fault("C107", f"no list price {ref!r}", "price", hint))
            raw.fields |= {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}
            continue
        raw.fields = price_fields(price, surcharge) | raw.fields
        refs[index] = f"{ref}|{surcharge}"
    return refs


def _fraction(raw: RawRow, faults: list[Fault]) -> float:
    given = raw.fields.pop("surcharge", None) or 0.0
    try:
        value = float(str(given))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        faults.append(raw.fault("C104", f"surcharge must be a fraction between 0 and 1, not {given!r}", "surcharge"))
        return 0.0
    return value


def price_fields(price: ListPrice, surcharge: float) -> dict[str, object]:
    """The fields of an API row that its list price gives, with the surcharge of a regional endpoint."""
    up = 1.0 + surcharge
    cached = price.cached_input_usd_per_mtok
    note = f" +{surcharge:.0%} regional" if surcharge else ""
    return {
        "input_usd_per_mtok": round(price.input_usd_per_mtok * up, 6),
        "output_usd_per_mtok": round(price.output_usd_per_mtok * up, 6),
        "cached_input_usd_per_mtok": None if cached is None else round(cached * up, 6),
        "context_tiers": tuple((n, round(i * up, 6), round(o * up, 6)) for n, i, o in price.tiers),
        "context_window_tokens": price.context_window_tokens,
        "source": f"{price.source} {price.ref}{note}",
        "as_of": price.as_of,
        "confidence": "derived" if surcharge else "list",
    }


@lru_cache(maxsize=4)
def prices_at(day: date, refs: frozenset[str]) -> dict[str, ListPrice]:
    """List prices of `provider:model` references at a date, from the installed genai-prices; unknown: absent."""
    from importlib.metadata import version

    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    moment = datetime.combine(day, time(12), tzinfo=UTC)
    models = {(p.id, m.id): m for p in snapshot.providers for m in p.models}
    found: dict[str, ListPrice] = {}
    for ref in sorted(refs):
        provider, _, name = ref.partition(":")
        model: Any = models.get((provider, name))
        price: Any = model.get_prices(moment) if model is not None else None
        if price is None or price.input_mtok is None or price.output_mtok is None:
            continue
        base_in, tiers_in = _tiered(price.input_mtok)
        base_out, tiers_out = _tiered(price.output_mtok)
        cached = None if price.cache_read_mtok is None else _tiered(price.cache_read_mtok)[0]
        starts = sorted({*tiers_in, *tiers_out})
        found[ref] = ListPrice(
            ref=ref,
            as_of=day,
            source=f"genai-prices {version('genai-prices')}",
            input_usd_per_mtok=base_in,
            output_usd_per_mtok=base_out,
            cached_input_usd_per_mtok=cached,
            tiers=tuple((s, _at(tiers_in, s, base_in), _at(tiers_out, s, base_out)) for s in starts),
            context_window_tokens=model.context_window,
        )
    return found


def _tiered(price: Any) -> tuple[float, dict[int, float]]:
    """Base price and {more than so many tokens: price}."""
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price), {}
    return float(price.base), {int(t.start): float(t.price) for t in tiers}


def _at(tiers: Mapping[int, float], start: int, base: float) -> float:
    below = [s for s in tiers if s <= start]
    return tiers[max(below)] if below else base
