"""How a name that a person asks about is read: an id, an alias, the beginning of several ids, or a slip."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from planner.catalog.catalog import Catalog
from planner.catalog.names import near
from planner.explain.refusals import spellings

KINDS: Mapping[str, str] = {
    "accelerators": "accelerator",
    "models": "model",
    "precisions": "precision",
    "engines": "engine",
    "providers": "provider",
    "apis": "API",
    "countries": "country",
    "regions": "region",
    "instance_types": "instance type",
}
"""Kinds of names that may be asked about, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A name as it was read."""

    name: str
    same: tuple[str, ...]
    """The name and every id it stands for, lower-cased."""
    kinds: tuple[str, ...] = ()
    """Kinds (words of KINDS) that the catalog knows the name as; empty: it knows no such name."""
    said: str | None = None
    """How it was read, where that is not plain."""
    near: tuple[str, ...] = ()
    """Names like it, for a name that is unknown."""
    sold_by_catalog: bool = True
    """Whether the catalog offers it for money; True for names that are not for sale (models, engines, …)."""


def read_name(name: str, catalog: Catalog, others: Collection[str] = ()) -> Reading:
    """How `name` is read: what the catalog knows it as, accelerators whose id it begins included.

    `others` are names that a spec added to the catalog (only suggested).
    """
    known = catalog.known_names()
    word = name.strip().lower()
    tables: dict[str, dict[str, str]] = {kind: getattr(known, kind) for kind in KINDS}
    kinds = [KINDS[kind] for kind, table in tables.items() if word in table]
    alias = tables["accelerators"].get(word)
    sisters = _sisters(word, catalog)
    same = tuple(dict.fromkeys([*spellings(word, catalog), *(s.lower() for s in sisters)]))
    if sisters and "accelerator" not in kinds:
        kinds.append("accelerator")
    if kinds:
        sold = _sold(same, catalog) or not {"accelerator", "provider", "region", "instance type", "API"} & set(kinds)
        return Reading(name, same, tuple(kinds), _said(name, alias, sisters), sold_by_catalog=sold)
    index = {o.lower(): o for o in others}
    for table in reversed(tables.values()):
        index |= table
    return Reading(name, same, near=near(word, index))


def _sisters(word: str, catalog: Catalog) -> list[str]:
    """Ids of the accelerators that a name begins which is no id itself: `A100` begins A100-SXM-40GB and others."""
    ids = [a.id for a in catalog.accelerators]
    return [] if word in {i.lower() for i in ids} else [i for i in ids if i.lower().startswith(f"{word}-")]


def _said(name: str, alias: str | None, sisters: Collection[str]) -> str | None:
    if sisters:
        means = f"; a spec that says {name} means {alias}" if alias else ""
        return f"{name} is read as every accelerator that begins so: {', '.join(sisters)}{means}"
    if alias is not None and alias.lower() != name.strip().lower():
        return f"{name} is read as {alias}"
    return None


def _sold(same: Collection[str], catalog: Catalog) -> bool:
    """Whether an offer or API of the catalog bears one of the names."""
    for o in catalog.offers:
        kind = catalog.instance_type(o.provider, o.instance_type)
        names = {kind.accelerator, o.provider, o.region, f"{o.provider}/{o.region}", o.instance_type}
        if any(n.lower() in same for n in names):
            return True
    apis = (
        n for a in catalog.apis for n in (a.id, a.provider, a.model, f"{a.provider}/{a.model}", a.region, *a.aliases)
    )
    return any(n.lower() in same for n in apis)
