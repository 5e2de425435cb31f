"""Names that a spec may use and that have no table of their own, and names that look like a misspelt one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from planner.catalog.catalog import Catalog, nearest
from planner.catalog.query import Cell

NAME_LISTS: dict[str, tuple[str, ...]] = {
    "countries": ("id", "name", "groups", "regions"),
    "client_regions": ("id", "least_rtt_ms"),
    "certifications": ("id", "providers"),
}
"""Lists of names → their columns."""
_LOOK_ALIKE = str.maketrans({"o": "0", "i": "1", "l": "1", "-": None, "_": None, " ": None})
SHORTEST_PREFIX = 2
"""A name of fewer characters is not taken for the beginning of others."""


def name_rows(catalog: Catalog, table: str) -> tuple[dict[str, Cell], ...]:
    """The rows of a list of NAME_LISTS, sorted by id. Raises KeyError for another one."""
    make = {"countries": _countries, "client_regions": _client_regions, "certifications": _certifications}[table]
    return make(catalog)


def near(name: str, spellings: Mapping[str, str], count: int = 3) -> tuple[str, ...]:
    """Ids (`spellings`: lower-cased spelling → id) that `name` begins, look-alike characters alike; else the nearest.

    `H1OO` and `h100` both begin H100-SXM; `h100-smx` is only near to it.
    """
    word = name.strip().lower()
    folded = word.translate(_LOOK_ALIKE)
    begun: list[str] = []
    if len(folded) >= SHORTEST_PREFIX:
        begun = [i for s, i in sorted(spellings.items()) if s.translate(_LOOK_ALIKE).startswith(folded)]
    found = begun or [spellings[s] for s in nearest(word, spellings, 3 * count)]
    return tuple(dict.fromkeys(found))[:count]


@cache
def country_names() -> Mapping[str, str]:
    """ISO 3166 code → English name, as in the tz database's iso3166.tab."""
    text = (resources.files("tzdata.zoneinfo") / "iso3166.tab").read_text(encoding="utf-8")
    return {line[:2]: line[3:] for line in text.splitlines() if line[2:3] == "\t"}


def _countries(catalog: Catalog) -> tuple[dict[str, Cell], ...]:
    groups = {g.id: g.countries for g in catalog.groups}
    rows: list[dict[str, Cell]] = []
    for code in sorted(set(catalog.known_names().countries.values())):
        inside = groups.get(code, (code,))
        rows.append({
            "id": code,
            "name": f"group of {len(inside)} countries" if code in groups else country_names().get(code),
            "groups": "; ".join(g for g, members in groups.items() if code in members),
            "regions": sum(r.country in inside for r in catalog.regions),
        })  # fmt: skip
    return tuple(rows)


def _client_regions(catalog: Catalog) -> tuple[dict[str, Cell], ...]:
    least = catalog.known_names().least_round_trip_ms
    return tuple({"id": region, "least_rtt_ms": ms} for region, ms in sorted(least.items()))


def _certifications(catalog: Catalog) -> tuple[dict[str, Cell], ...]:
    known = sorted(set(catalog.known_names().certifications.values()))
    return tuple({"id": c, "providers": sum(c in p.certifications for p in catalog.providers)} for c in known)
