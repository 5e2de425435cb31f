"""The frozen base of every boundary type, and the closed choices that several rooms share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A boundary type: frozen, unknown keys refused, tuples rather than lists, attribute docstrings in the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; a changed copy forgets what `cached_property` kept of the original."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            kept = vars(copied)
            for name in [n for n in kept if n not in type(self).__pydantic_fields__]:
                del kept[name]
        return copied


class PurchaseOption(StrEnum):
    """How capacity is paid for. `api` is no offer of an instance; it is listed where a user may choose it."""

    ON_DEMAND = "on_demand"
    RESERVED_1Y = "reserved_1y"
    RESERVED_3Y = "reserved_3y"
    SPOT = "spot"
    OWNED = "owned"
    API = "api"


TERM_MONTHS: dict[PurchaseOption, int] = {
    PurchaseOption.ON_DEMAND: 0,
    PurchaseOption.SPOT: 0,
    PurchaseOption.OWNED: 0,
    PurchaseOption.RESERVED_1Y: 12,
    PurchaseOption.RESERVED_3Y: 36,
}


class Confidence(StrEnum):
    """How sure a catalog row is: published list price, derived from one, assumed, or from the seed articles."""

    LIST = "list"
    DERIVED = "derived"
    ASSUMED = "assumed"
    SEED = "seed"


class CheckKind(StrEnum):
    """Why something was refused: it cannot exist, a rule forbids it, or it misses a promise."""

    PHYSICAL = "physical"
    POLICY = "policy"
    SLO = "slo"


class Check(Frozen):
    """One failed check, made where the check is (DESIGN §5.3)."""

    check: str
    """Name of the check, e.g. `memory`, `tensor_parallel_divides_heads`, `country`, `tpot`."""
    kind: CheckKind
    needed: float | str | None = None
    had: float | str | None = None
    unit: str | None = None
    detail: str | None = None
    """One sentence for a person."""


COUNTRY_ALIASES: Mapping[str, str] = MappingProxyType({"uk": "GB"})
"""Spelling (lower-cased) of a country that everybody uses → its ISO code."""


class KnownNames(Frozen):
    """Every name that a spec may use, per kind: spelling (id or alias, lower-cased) → canonical id."""

    models: dict[str, str]
    precisions: dict[str, str]
    engines: dict[str, str]
    accelerators: dict[str, str]
    providers: dict[str, str]
    regions: dict[str, str]
    """Region names of any provider."""
    apis: dict[str, str]
    """API model ids, `provider/model` and offer ids; canonical: `provider/model[@region]` or the model id."""
    profiles: dict[str, str]
    countries: dict[str, str]
    """Country codes and groups."""
    client_regions: dict[str, str]
    instance_types: dict[str, str]
    """Instance type names of any provider."""
    certifications: dict[str, str] = {}
    """Certifications that some provider or API has; empty: not known, so any is accepted."""
    least_round_trip_ms: dict[str, float] = {}
    """Client region → the shortest network round trip from it to anywhere."""
