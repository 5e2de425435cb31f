"""Which tables a catalog has, what a row of each is, and what makes two rows the same one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Union, get_args, get_origin

from planner.catalog.types import (
    Accelerator,
    ApiOffer,
    CountryGroup,
    Engine,
    InstanceType,
    LlmModel,
    Offer,
    Precision,
    PricePath,
    Provider,
    Region,
    RoundTrip,
    Row,
    SpotMarket,
    SupportRule,
    TrafficProfile,
)

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name, its row type, the key that must be unique and the words for one row."""

    name: str
    row: type[Row]
    key: Callable[[Row], Key]
    noun: str


def _by(*fields: str) -> Callable[[Row], Key]:
    return lambda row: tuple(str(getattr(row, f)) for f in fields)


TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        Table("accelerators", Accelerator, _by("id"), "accelerator"),
        Table("instance_types", InstanceType, _by("id"), "instance type"),
        Table("offers", Offer, _by("id"), "offer"),
        Table("providers", Provider, _by("id"), "provider"),
        Table("regions", Region, _by("provider", "region"), "region"),
        Table("models", LlmModel, _by("id"), "model"),
        Table("precisions", Precision, _by("id"), "precision"),
        Table("engines", Engine, _by("id"), "engine"),
        Table("support", SupportRule, _by("id"), "support rule"),
        Table("apis", ApiOffer, _by("id"), "API offer"),
        Table("profiles", TrafficProfile, _by("id"), "traffic profile"),
        Table("spot_markets", SpotMarket, _by("provider", "accelerator"), "spot market"),
        Table("price_paths", PricePath, _by("provider", "accelerator", "option"), "price path"),
        Table("round_trips", RoundTrip, _by("client_region", "country"), "round trip"),
        Table("groups", CountryGroup, _by("id"), "country group"),
    )
}


@cache
def tuple_fields(row: type[Row]) -> frozenset[str]:
    """Fields of a row type that hold a tuple: in CSV their parts are separated by `;`."""
    return frozenset(name for name, info in row.model_fields.items() if _is_tuple(info.annotation))


def _is_tuple(annotation: object) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_is_tuple(a) for a in get_args(annotation))
    return get_origin(annotation) is tuple


def sorted_rows(table: Table, rows: Mapping[Key, Row]) -> tuple[Row, ...]:
    """Rows in canonical order: by key, whatever order they were read in."""
    return tuple(rows[k] for k in sorted(rows))
