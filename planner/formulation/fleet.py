"""Covering services over markets as plain arrays: what prices and dynamic programmes work on (docs/decomposition.md).

A *market* is what replicas are packed into: one pool, firm or spot. An *option* buys instances of a market for a set
of slices (on demand: one slice; a commitment: all slices of its term) at one cost. A *service* is covered by whole
replicas of its *items* (a configuration in a market), by an API, or both.

    Σ_items size·replicas[i,τ]  ≤  room·Σ_{o covers τ} bought[o]                                     ∀ market, τ
    Σ_o weight[q,o]·bought[o]   ≤  limit[q]        over the options that cover τ                      ∀ quota q, τ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class FleetService:
    """One service with the places where its replicas may stand. Sizes: I items, T slices, B bands."""

    name: str
    market: Ints
    """[I]"""
    size: Ints
    """[I] accelerators that one replica holds in its market (a replica over several instances holds them whole)."""
    capacity: Floats
    """[I, T] rate of one replica: credit of spot and forecast margin are inside; 0: cannot serve this slice."""
    firm: Bools
    """[I]"""
    place: Ints
    """[I] failure domain that `survive` speaks of."""
    rate: Floats
    """[T, B] rate per band, the top band last; 0 for batch work."""
    api_cost: Floats | None
    """[T, B] objective per unit of rate that an API takes; None: no API."""
    spot_share: float = 1.0
    """φ: 1 − φ of the rate is covered without spot."""
    spare: bool = False
    """With its largest running replica gone the rest still covers what no API takes."""
    survive: float | None = None
    """With any one place gone, so much of the rate is still covered."""
    volume: float | None = None
    """Batch work: Σ_τ hours[τ]·capacity·replicas ≥ volume over the slices of `window`."""
    window: tuple[int, ...] = ()

    @property
    def top(self) -> Floats:
        """[T] rate of the top band."""
        top: Floats = self.rate[:, -1]
        return top


@dataclass(frozen=True)
class Option:
    """A way to buy instances of a market; `slices` are those in which they run."""

    market: int
    slices: tuple[int, ...]
    cost: float
    """Objective per instance over all its slices."""
    limit: float
    """Most instances that may be had or that any plan needs; finite."""
    stated: bool = False
    """The limit is somebody's, not just what plans need."""
    key: tuple[str | int, ...] = ()
    """What the caller knows it by."""


@dataclass(frozen=True)
class Quota:
    """Σ weight·bought ≤ limit[τ] in every slice τ, over the options that cover it."""

    options: tuple[int, ...]
    weights: tuple[float, ...]
    limit: tuple[float, ...]
    """[T]"""


@dataclass(frozen=True)
class Fleet:
    """A whole problem of covering services. Objective as given by the options' costs (minimised)."""

    hours: Floats
    """[T] hours per month (batch volumes are rates × hours)."""
    room: Ints
    """[M] accelerators of one instance."""
    options: tuple[Option, ...]
    services: tuple[FleetService, ...]
    quotas: tuple[Quota, ...] = ()
    market_names: tuple[str, ...] = field(default=())

    @property
    def slices(self) -> int:
        """T"""
        return int(self.hours.size)

    @property
    def markets(self) -> int:
        """M"""
        return int(self.room.size)

    @cached_property
    def tied(self) -> Bools:
        """[M] markets whose price is open: they have a commitment or a limit; elsewhere instances are paid by the slice
        and the price is known."""
        import numpy as np

        tied = np.zeros(self.markets, bool)
        for o in self.options:
            tied[o.market] |= len(o.slices) > 1 or o.stated
        for q in self.quotas:
            for index in q.options:
                tied[self.options[index].market] = True
        return tied

    @cached_property
    def hourly(self) -> Floats:
        """[M, T] cheapest cost per accelerator of an option for that slice alone; inf where there is none."""
        import numpy as np

        found = np.full((self.markets, self.slices), np.inf)
        for o in self.options:
            if len(o.slices) == 1:
                t = o.slices[0]
                found[o.market, t] = min(found[o.market, t], o.cost / self.room[o.market])
        return found

    @cached_property
    def window(self) -> Bools:
        """[O, T] slices that an option covers."""
        import numpy as np

        found = np.zeros((len(self.options), self.slices), bool)
        for index, o in enumerate(self.options):
            found[index, list(o.slices)] = True
        return found

    @cached_property
    def option_market(self) -> Ints:
        """[O]"""
        import numpy as np

        return np.fromiter((o.market for o in self.options), np.int64, len(self.options))

    @cached_property
    def option_cost(self) -> Floats:
        """[O]"""
        import numpy as np

        return np.fromiter((o.cost for o in self.options), np.float64, len(self.options))

    @cached_property
    def option_limit(self) -> Floats:
        """[O]"""
        import numpy as np

        return np.fromiter((o.limit for o in self.options), np.float64, len(self.options))


@dataclass
class FleetPlan:
    """Whole replicas, purchases and API rates."""

    replicas: list[Ints]
    """[service] [I, T]"""
    api: list[Floats]
    """[service] [T, B] rate to the API."""
    bought: Ints
    """[O]"""

    def cost(self, fleet: Fleet) -> float:
        """The objective."""
        import math

        total = math.fsum((self.bought * fleet.option_cost).tolist())
        for service, api in zip(fleet.services, self.api, strict=True):
            if service.api_cost is not None:
                total += math.fsum((api * service.api_cost).ravel().tolist())
        return total


def uncovered(fleet: Fleet, plan: FleetPlan, tolerance: float = 1e-7) -> list[str]:
    """What a plan breaks, in words; empty where it keeps every rule."""
    import numpy as np

    broken: list[str] = []
    used = np.zeros((fleet.markets, fleet.slices))
    for s, n, api in zip(fleet.services, plan.replicas, plan.api, strict=True):
        np.add.at(used, s.market, n * s.size[:, None])
        broken += [f"{s.name}: {what}" for what in _service_faults(fleet, s, n, api, tolerance)]
    had = np.zeros((fleet.markets, fleet.slices))
    running = fleet.window * plan.bought[:, None]
    np.add.at(had, fleet.option_market, running * fleet.room[fleet.option_market][:, None])
    for m, t in np.argwhere(used > had + 1e-6):
        broken.append(f"market {m} slice {t}: {used[m, t]:g} accelerators in {had[m, t]:g}")
    for number, q in enumerate(fleet.quotas):
        load = (running[list(q.options)] * np.asarray(q.weights)[:, None]).sum(axis=0)
        if (load > np.asarray(q.limit) + 1e-6).any():
            broken.append(f"quota {number}")
    if (plan.bought > fleet.option_limit + 1e-6).any():
        broken.append("more instances than there are")
    return broken


def _service_faults(fleet: Fleet, s: FleetService, n: Ints, api: Floats, tolerance: float) -> list[str]:
    import numpy as np

    if s.volume is not None:
        outside = [t for t in range(fleet.slices) if t not in s.window]
        done = (n * s.capacity).sum(axis=0) @ fleet.hours
        short = done < s.volume * (1 - tolerance)
        return (["volume"] if short else []) + (["window"] if n[:, outside].any() else [])
    total = (n * s.capacity).sum(axis=0)[:, None]
    firm = (n * s.capacity)[s.firm].sum(axis=0)[:, None]
    slack = tolerance * np.maximum(s.rate, 1e-9)
    hosted = s.rate - api
    lost = np.where(n > 0, s.capacity, 0.0).max(axis=0, initial=0.0)[:, None] if s.spare else 0.0
    faults = []
    if s.api_cost is None and (api > slack).any():
        faults.append("api")
    if ((hosted > slack) & (hosted > total - lost + slack)).any():
        faults.append("rate")
    if (firm + api < (1 - s.spot_share) * s.rate - slack).any():
        faults.append("spot share")
    if s.survive is not None:
        for place in np.unique(s.place):
            left = total - (n * s.capacity)[s.place == place].sum(axis=0)[:, None]
            if (left + api < s.survive * s.rate - slack).any():
                faults.append(f"loss of place {place}")
    return faults


def kinds_of(service: FleetService) -> tuple[Ints, list[Ints]]:
    """Items that differ only in their market: (first item of each kind, items of each kind)."""
    import numpy as np

    key: Sequence[tuple[object, ...]] = [
        (int(z), bool(f), int(p) if service.survive is not None else 0, c.tobytes())
        for z, f, p, c in zip(service.size, service.firm, service.place, service.capacity, strict=True)
    ]
    found: dict[tuple[object, ...], list[int]] = {}
    for i, k in enumerate(key):
        found.setdefault(k, []).append(i)
    members = [np.asarray(m, np.int64) for m in found.values()]
    return np.asarray([m[0] for m in members], np.int64), members
