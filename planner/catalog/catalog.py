"""The catalog in memory: rows, and names that resolve."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Protocol, TypeVar

from planner.base import COUNTRY_ALIASES, KnownNames
from planner.catalog.types import (
    Accelerator,
    ApiOffer,
    BenchmarkPoint,
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
    SpotMarket,
    SupportRule,
    TrafficProfile,
)
from planner.errors import PlannerError


class UnknownName(PlannerError):
    """A name that no catalog row has; `suggestions` are the nearest known ones."""

    exit_code = 2

    def __init__(self, kind: str, name: str, suggestions: tuple[str, ...]) -> None:
        self.kind, self.name, self.suggestions = kind, name, suggestions
        hint = f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


class _Named(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Named)


def spellings(row_id: str, aliases: Iterable[str] = ()) -> tuple[str, ...]:
    """Every way to write a row's names, lower-cased: as they are, and with spaces or underscores for hyphens.

    `RTX-4090` is also `rtx 4090` and `rtx_4090`.
    """
    found: dict[str, None] = {}
    for name in (row_id, *aliases):
        low = name.lower()
        hyphens = low.replace(" ", "-").replace("_", "-")
        found |= dict.fromkeys((low, hyphens, hyphens.replace("-", " "), hyphens.replace("-", "_")))
    return tuple(found)


def name_index(rows: Iterable[T]) -> dict[str, T]:
    """Every spelling, lower-cased, → row.

    An id wins over another row's alias, and both over the wider ways to say it: the row's name for people, and an
    accelerator with its vendor in front as drivers report it (`NVIDIA L4`).
    """
    index: dict[str, T] = {}
    rows = tuple(rows)
    for row in rows:
        for name in spellings(row.id, getattr(row, "aliases", ())):
            index.setdefault(name, row)
    index |= {row.id.lower(): row for row in rows}
    for row in rows:
        own, vendor = getattr(row, "name", None), getattr(row, "vendor", None)
        wider = [own] if own else []
        if vendor:
            wider += [f"{vendor} {n}" for n in (row.id, *getattr(row, "aliases", ()))]
        for name in spellings("", wider):
            if name:
                index.setdefault(name, row)
    return index


def nearest(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The known names that look most like `name`, best first."""
    return tuple(difflib.get_close_matches(name.lower(), sorted(known), n=count, cutoff=0.6))


@dataclass(frozen=True)
class Catalog:
    """All tables. Rows are sorted canonically by the loader; lookups accept ids and aliases in any case."""

    name: str
    as_of: date
    sha256: str
    accelerators: tuple[Accelerator, ...]
    instance_types: tuple[InstanceType, ...]
    offers: tuple[Offer, ...]
    providers: tuple[Provider, ...]
    regions: tuple[Region, ...]
    models: tuple[LlmModel, ...]
    precisions: tuple[Precision, ...]
    engines: tuple[Engine, ...]
    support: tuple[SupportRule, ...]
    apis: tuple[ApiOffer, ...]
    profiles: tuple[TrafficProfile, ...]
    spot_markets: tuple[SpotMarket, ...]
    round_trips: tuple[RoundTrip, ...]
    groups: tuple[CountryGroup, ...]
    price_paths: tuple[PricePath, ...] = ()
    price_date: date | None = None
    """The day of the prices; None: `as_of`."""
    benchmarks: tuple[BenchmarkPoint, ...] = ()
    """What a user measured; no table, but what `planner calibrate` read from benchmark files."""

    @cached_property
    def _accelerators(self) -> Mapping[str, Accelerator]:
        return name_index(self.accelerators)

    @cached_property
    def _models(self) -> Mapping[str, LlmModel]:
        return name_index(self.models)

    @cached_property
    def _precisions(self) -> Mapping[str, Precision]:
        return name_index(self.precisions)

    @cached_property
    def _engines(self) -> Mapping[str, Engine]:
        return name_index(self.engines)

    @cached_property
    def _providers(self) -> Mapping[str, Provider]:
        return name_index(self.providers)

    @cached_property
    def _profiles(self) -> Mapping[str, TrafficProfile]:
        return name_index(self.profiles)

    @cached_property
    def _instance_types(self) -> Mapping[tuple[str, str], InstanceType]:
        return {(t.provider, t.name): t for t in self.instance_types}

    @cached_property
    def _regions(self) -> Mapping[tuple[str, str], Region]:
        return {(r.provider, r.region): r for r in self.regions}

    @cached_property
    def _groups(self) -> Mapping[str, frozenset[str]]:
        return {g.id.upper(): frozenset(g.countries) for g in self.groups}

    @staticmethod
    def _get(kind: str, index: Mapping[str, T], name: str) -> T:
        row = index.get(name.strip().lower())
        if row is None:
            raise UnknownName(kind, name, tuple(dict.fromkeys(index[n].id for n in nearest(name, index))))
        return row

    def with_benchmarks(self, points: Iterable[BenchmarkPoint]) -> Catalog:
        """This catalog with further measured points; its digest is of both."""
        added = tuple(points)
        if not added:
            return self
        text = "\n".join((self.sha256, *(p.model_dump_json() for p in added)))
        digest = hashlib.sha256(text.encode()).hexdigest()
        return replace(self, benchmarks=(*self.benchmarks, *added), sha256=digest)

    def accelerator(self, name: str) -> Accelerator:
        """The row of an accelerator id or alias. Raises UnknownName."""
        return self._get("accelerator", self._accelerators, name)

    def model(self, name: str) -> LlmModel:
        """The row of a model id or alias. Raises UnknownName."""
        return self._get("model", self._models, name)

    def precision(self, name: str) -> Precision:
        """The row of a precision id or alias. Raises UnknownName."""
        return self._get("precision", self._precisions, name)

    def engine(self, name: str) -> Engine:
        """The row of an engine id or alias. Raises UnknownName."""
        return self._get("engine", self._engines, name)

    def provider(self, name: str) -> Provider:
        """The row of a provider id or alias. Raises UnknownName."""
        return self._get("provider", self._providers, name)

    def profile(self, name: str) -> TrafficProfile:
        """The row of a traffic profile. Raises UnknownName."""
        return self._get("traffic profile", self._profiles, name)

    def instance_type(self, provider: str, name: str) -> InstanceType:
        """The row of a provider's instance type. Raises UnknownName."""
        found = self._instance_types.get((provider, name))
        if found is None:
            raise UnknownName("instance type", f"{provider}/{name}", ())
        return found

    def region(self, provider: str, region: str) -> Region | None:
        """The row of a provider's region, or None: nothing is known of it (fails closed)."""
        return self._regions.get((provider, region))

    def countries(self, names: Iterable[str]) -> frozenset[str]:
        """Country codes named directly or through groups (EU, EEA, …)."""
        found: set[str] = set()
        for name in names:
            found |= self._groups.get(name.upper(), frozenset({name.upper()}))
        return frozenset(found)

    def api_offers(self, name: str) -> tuple[ApiOffer, ...]:
        """Offers of an API model by model id, alias, `provider/model` or offer id; empty where unknown."""
        wanted = name.lower()
        return tuple(
            a
            for a in self.apis
            if wanted
            in {a.model.lower(), a.id.lower(), f"{a.provider}/{a.model}".lower(), *(x.lower() for x in a.aliases)}
        )

    def spot_market(self, provider: str, accelerator: str) -> SpotMarket:
        """The most specific row on how spot behaves. Raises UnknownName when there is not even a `*` row."""
        for key in ((provider, accelerator), (provider, "*"), ("*", accelerator), ("*", "*")):
            for row in self.spot_markets:
                if (row.provider, row.accelerator) == key:
                    return row
        raise UnknownName("spot market", f"{provider}/{accelerator}", ())

    def price_factor(self, offer: Offer, day: date) -> float:
        """Price of an offer on a day ÷ its price today, by the most specific price path; 1 where there is none."""
        if not self.price_paths:
            return 1.0
        accelerator = self.instance_type(offer.provider, offer.instance_type).accelerator
        rows = {(row.provider, row.accelerator, row.option): row for row in self.price_paths}
        for provider in (offer.provider, "*"):
            for name in (accelerator, "*"):
                for option in (offer.option.value, "*"):
                    row = rows.get((provider, name, option))
                    if row is not None:
                        return row.factor(day, self.price_date or self.as_of)
        return 1.0

    def known_names(self) -> KnownNames:
        """All names a spec may use."""
        apis: dict[str, str] = {}
        for a in self.apis:
            apis |= {x.lower(): a.model for x in (a.model, *a.aliases)}
            apis |= {a.id.lower(): a.id, f"{a.provider}/{a.model}".lower(): f"{a.provider}/{a.model}"}
        certifications = [p.certifications for p in self.providers] + [a.certifications for a in self.apis]
        countries = {r.country.lower(): r.country for r in self.regions if r.country}
        for g in self.groups:
            countries |= {g.id.lower(): g.id, **{c.lower(): c for c in g.countries}}
        countries |= {
            p.operator_jurisdiction.lower(): p.operator_jurisdiction for p in self.providers if p.operator_jurisdiction
        }
        countries |= {alias: code for alias, code in COUNTRY_ALIASES.items() if code.lower() in countries}
        least: dict[str, float] = {}
        for trip in self.round_trips:
            least[trip.client_region] = min(trip.rtt_ms, least.get(trip.client_region, trip.rtt_ms))
        return KnownNames(
            models={n: r.id for n, r in self._models.items()},
            precisions={n: r.id for n, r in self._precisions.items()},
            engines={n: r.id for n, r in self._engines.items()},
            accelerators={n: r.id for n, r in self._accelerators.items()},
            providers={n: r.id for n, r in self._providers.items()},
            regions={r.region.lower(): r.region for r in self.regions},
            apis=apis,
            profiles={n: r.id for n, r in self._profiles.items()},
            countries=countries,
            client_regions={r.client_region.lower(): r.client_region for r in self.round_trips},
            instance_types={t.name.lower(): t.name for t in self.instance_types},
            certifications={c.lower(): c for held in certifications for c in held},
            least_round_trip_ms=least,
        )
