"""A `Problem` of covering services as a `Fleet`, and a fleet's plan back as a `Plan` or as a programme's values."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from planner.base import PurchaseOption
from planner.candidates.types import Plan, Purchase
from planner.formulation.emergency import zones
from planner.formulation.extract import assemble
from planner.formulation.fleet import Fleet, FleetPlan, FleetService, Option, Quota
from planner.formulation.milp import Key, Milp
from planner.formulation.sets import COMMITMENTS, Config, Group, Sets, is_divisor_chain
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT, commit_key, group_name
from planner.spec.types import SpareDomain, SpotModel
from planner.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PLACES = {"zone", "region", "provider"}


@dataclass(frozen=True)
class Seated:
    """One item of a service: a configuration in a market."""

    config: Config
    pool: int
    kind: str
    """`firm` or `spot`."""
    market: int


@dataclass(frozen=True)
class Bought:
    """What an option of the fleet is in the problem."""

    pool: int
    group: Group | None
    option: PurchaseOption
    slice: int | None
    """None: a commitment."""
    period: int = 0
    start_month: float = 0.0

    @property
    def column(self) -> tuple[str, Key]:
        """Family and key of its variable."""
        if self.group is None:
            return "spot", (self.pool, self.slice or 0)
        if self.slice is None:
            return "commit", commit_key(self.pool, self.group, self.option, self.period)
        return self.option.value, (self.pool, group_name(self.group), self.slice)


def why_no_fleet(sets: Sets) -> str | None:
    """What makes a problem no fleet of covering services, in words; None where it is one."""
    policy = sets.problem.policy
    if policy.budget is not None:
        return "a budget ties everything together"
    if policy.providers.max_count is not None or policy.max_configurations is not None:
        return "providers or configurations are counted"
    if policy.ops_overhead.fixed_usd_per_month > 0:
        return "a fixed cost of self-hosting"
    for i in range(len(sets.services)):
        if sets.active_classes[i] and (reason := _why_not(sets, i)):
            return f"{sets.services[i].id}: {reason}"
    return None


def packs_by_size(sets: Sets, p: int, group: Group | None) -> bool:
    """Whether total size decides if replicas fit into instances of a market; else a fleet's packing is a relaxation."""
    room = sets.pools[p].accelerators
    return is_divisor_chain((*(g for g in sets.sizes(p, group) if g <= room), room))


def _why_not(sets: Sets, i: int) -> str | None:
    service = sets.services[i]
    if not sets.is_covering(i) and not (service.is_batch and len(sets.active_classes[i]) == 1):
        return "several request classes"
    if service.is_batch and service.max_spot_share < 1:
        return "a limit on spot of batch work"
    if len(sets.active_classes[i]) > 1 and sets.apis_of[i]:
        return "several request classes and an API"
    if any(a.candidate.max_req_per_s is not None or a.candidate.max_tok_per_min is not None for a in sets.apis_of[i]):
        return "an API with rate limits"
    spares = {d: sets.spare_count(i, d) for d in SpareDomain}
    if any(n for d, n in spares.items() if d != SpareDomain.REPLICA) or spares[SpareDomain.REPLICA] > 1:
        return "spares other than one replica"
    survived = sets.survives(i)
    if len(survived) > 1 or not set(survived) <= PLACES:
        return "more than one kind of loss to survive"
    if survived and survived[0] != "zone" and any(a.candidate.region != "global" for a in sets.apis_of[i]):
        return "an API that is lost with its region"
    if survived and survived[0] == "provider" and sets.apis_of[i]:
        return "an API that is lost with its provider"
    if survived == ("zone",):
        pools = [p for own in zones(sets, i).values() for p in own]
        if len(set(pools)) < len(pools):
            return "pools that are lost with several zones"
    if service.windows and (len(service.windows) > 1 or sets.apis_of[i]):
        return "batch work with several windows or an API"
    return None


@dataclass(frozen=True)
class FleetMap:
    """A fleet with what its items and options are in the problem it was built from."""

    sets: Sets
    fleet: Fleet
    items: tuple[tuple[Seated, ...], ...]
    """[service of the fleet]"""
    service: tuple[int, ...]
    """[service of the fleet] service of the problem."""
    bought: tuple[Bought, ...]

    def plan(self, found: FleetPlan, trim: bool = True) -> Plan:
        """The plan with its routes."""
        replicas: dict[tuple[int, int, str], list[int]] = {}
        api: dict[int, dict[int, dict[tuple[int, str, int], float]]] = defaultdict(lambda: defaultdict(dict))
        for f, i in enumerate(self.service):
            for seated, counts in zip(self.items[f], found.replicas[f], strict=True):
                if counts.any():
                    replicas[seated.config.index, seated.pool, seated.kind] = [int(n) for n in counts]
            if self._api_of[f] is not None:
                r, name = self._api_of[f] or (0, "")
                for t, b, modelled in self._bands(f, i):
                    rate = float(found.api[f][t, modelled])
                    if rate > 0:
                        api[i][t][r, name, b] = rate
        return assemble(self.sets, replicas, api, self._purchases(found), trim)

    def _bands(self, f: int, i: int) -> Iterator[tuple[int, int, int]]:
        for t in range(self.fleet.slices):
            for number, b in enumerate(self.sets.bands(i, t)):
                yield t, b, number + self.fleet.services[f].rate.shape[1] - len(self.sets.bands(i, t))

    @cached_property
    def _api_of(self) -> list[tuple[int, str] | None]:
        return [_cheapest_api(self.sets, i) for i in self.service]

    def _purchases(self, found: FleetPlan) -> tuple[Purchase, ...]:
        counts: dict[tuple[int, PurchaseOption, float], list[int]] = {}
        slices = self.fleet.slices
        for o, b in enumerate(self.bought):
            n = int(found.bought[o])
            if n:
                row = counts.setdefault((b.pool, b.option, b.start_month), [0] * slices)
                for t in self.fleet.options[o].slices:
                    row[t] += n
        return tuple(
            Purchase(pool=self.sets.pools[p].id, option=option, instances=tuple(row), start_month=start)
            for (p, option, start), row in sorted(counts.items())
        )

    def values(self, milp: Milp, found: FleetPlan) -> dict[int, float]:
        """Column → value of all replicas, purchases and API rates of a compiled programme (others are not said).

        Nor are the purchases of a market where total size does not decide what fits: as many as it takes are left to
        whoever completes the values.
        """
        values: dict[int, float] = {}
        families = {"replicas", "spot_replicas", "api", "commit", "on_demand", "owned", "spot"}
        unsaid = {b.column for b in self.bought if not packs_by_size(self.sets, b.pool, b.group)}
        for column, variable in enumerate(milp.variables):
            if variable.family in families and (variable.family, variable.key) not in unsaid:
                values[column] = 0.0

        def put(family: str, key: Key, value: float) -> None:
            column = milp.column(family, key)
            if column is not None:
                values[column] = value

        for f, i in enumerate(self.service):
            for seated, counts in zip(self.items[f], found.replicas[f], strict=True):
                family = "replicas" if seated.kind == FIRM_SEAT else "spot_replicas"
                for t in counts.nonzero()[0].tolist():
                    put(family, (seated.config.index, seated.pool, t), float(counts[t]))
            chosen = self._api_of[f]
            if chosen is not None:
                for t, b, modelled in self._bands(f, i):
                    rate = float(found.api[f][t, modelled])
                    if rate > 0:
                        put("api", (i, *chosen, t, b), rate / self.sets.top(i, chosen[0], t))
        for o, what in enumerate(self.bought):
            if found.bought[o] and what.column not in unsaid:
                put(*what.column, float(found.bought[o]))
        return values


def build_fleet(sets: Sets) -> FleetMap | None:
    """The fleet of a problem; None where `why_no_fleet` gives a reason. Objective: USD per hour, as the programme's.

    Where sizes do not divide each other (4 in an instance of 6) the fleet packs by total size all the same: that is a
    relaxation, so its bound holds, and `FleetMap.values` leaves the purchases there open.
    """
    import numpy as np

    if why_no_fleet(sets) is not None:
        return None
    markets = {market: number for number, market in enumerate(sets.markets)}
    services, items, numbers = [], [], []
    for i in range(len(sets.services)):
        if sets.active_classes[i]:
            seated = tuple(_seated(sets, i, markets))
            services.append(_service(sets, i, seated))
            items.append(seated)
            numbers.append(i)
    hours = np.asarray([s.hours_per_month for s in sets.slices])
    rooms = np.fromiter((sets.pools[p].accelerators for p, _ in sets.markets), np.int64, len(sets.markets))
    bought, options = _options(sets, _most(services, hours, rooms))
    sold = np.zeros((len(markets), len(sets.slices)), bool)
    for option in options:
        sold[option.market, list(option.slices)] = True
    # Where nothing is sold nothing runs.
    services = [replace(s, capacity=s.capacity * sold[s.market]) for s in services]
    fleet = Fleet(
        hours=hours,
        room=rooms,
        options=tuple(options),
        services=tuple(services),
        quotas=tuple(_quotas(sets, bought, options)),
    )
    return FleetMap(sets, fleet, tuple(items), tuple(numbers), tuple(bought))


def _seated(sets: Sets, i: int, markets: dict[tuple[int, Group | None], int]) -> Iterator[Seated]:
    for k in sets.configs_of[i]:
        for seat in k.seats:
            if seat.group:
                yield Seated(k, seat.pool, FIRM_SEAT, markets[seat.pool, seat.group])
            if seat.spot:
                yield Seated(k, seat.pool, SPOT_SEAT, markets[seat.pool, None])


def _service(sets: Sets, i: int, seated: tuple[Seated, ...]) -> FleetService:
    import numpy as np

    service, slices = sets.services[i], range(len(sets.slices))
    per_config = {k.index: [sets.mix_capacity(k, t) for t in slices] for k in sets.configs_of[i]}
    credits = [sets.spot_credit(x.pool) if x.kind == SPOT_SEAT else 1.0 for x in seated]
    capacity = np.asarray([per_config[x.config.index] for x in seated]).reshape(len(seated), len(slices))
    rooms = [sets.pools[x.pool].accelerators for x in seated]
    size = [math.ceil(x.config.size / g) * g if x.config.size > g else x.config.size
            for x, g in zip(seated, rooms, strict=True)]  # fmt: skip
    bands = max((len(sets.bands(i, t)) for t in slices), default=1)
    rate, api_cost = np.zeros((len(slices), bands)), np.zeros((len(slices), bands))
    usd = _cheapest_usd(sets, i)
    for t in slices:
        for number, b in enumerate(sets.bands(i, t)):
            column = number + bands - len(sets.bands(i, t))
            rate[t, column] = sets.service_rate(i, t, b)
            if usd is not None:
                share = sets.weight(t) * service.band_weights[t][b]
                api_cost[t, column] = share * SECONDS_PER_HOUR * usd
    survived = sets.survives(i)
    places = _places(sets, i, survived[0]) if survived else {}
    names = [places.get(x.pool, "") for x in seated]
    numbers = {name: n for n, name in enumerate(sorted(set(names)))}
    window: tuple[int, ...] = ()
    volume = None
    if service.windows:
        hours = service.windows[0]
        window = tuple(t for t in slices if hours[t] > 0)
        volume = math.fsum(hours[t] * sets.service_rate(i, t, -1) for t in slices)
        share_of_slice = np.asarray([hours[t] / sets.slices[t].hours_per_month for t in slices])
        capacity = capacity * share_of_slice[None, :]
    return FleetService(
        name=service.id,
        market=np.asarray([x.market for x in seated], np.int64),
        size=np.asarray(size, np.int64),
        capacity=capacity * np.asarray(credits).reshape(-1, 1),
        firm=np.asarray([x.kind == FIRM_SEAT for x in seated], bool),
        place=np.asarray([numbers[n] for n in names], np.int64),
        rate=np.zeros_like(rate) if volume is not None else rate,
        api_cost=api_cost if usd is not None else None,
        spot_share=1.0 if volume is not None else service.max_spot_share,
        spare=sets.spare_count(i) == 1,
        survive=service.resilience.serve_fraction if survived else None,
        volume=volume,
        window=window,
    )


def _places(sets: Sets, i: int, what: str) -> dict[int, str]:
    """Pool → the place that is lost with it; one's own machines belong to no provider."""
    if what == "zone":
        return {p: name for name, pools in zones(sets, i).items() for p in pools}
    found = {}
    for k in sets.configs_of[i]:
        for seat in k.seats:
            pool = sets.pools[seat.pool]
            own = pool.provider == "owned" and what == "provider"
            found[seat.pool] = (
                f"owned {seat.pool}"
                if own
                else pool.provider
                if what == "provider"
                else f"{pool.provider}/{pool.region}"
            )
    return found


def _cheapest_api(sets: Sets, i: int) -> tuple[int, str] | None:
    found = min(
        ((a.candidate.usd_per_request, a.candidate.api, a.request_class) for a in sets.apis_of[i]), default=None
    )
    return None if found is None else (found[2], found[1])


def _cheapest_usd(sets: Sets, i: int) -> float | None:
    return min((a.candidate.usd_per_request for a in sets.apis_of[i]), default=None)


def _most(services: list[FleetService], hours: Floats, rooms: Ints) -> Floats:
    """[M, T] most instances that any plan needs: every item on its own serves all of its service, with its spare."""
    import numpy as np

    found = np.zeros((rooms.size, hours.size))
    for s in services:
        asked = np.broadcast_to(s.top, s.capacity.shape) if s.volume is None else s.volume / hours[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            replicas = np.where((s.capacity > 0) & (asked > 0), np.ceil(asked / s.capacity) + int(s.spare), 0.0)
        room = rooms[s.market][:, None]
        inside = np.maximum(room // s.size[:, None], 1)
        whole = np.where(s.size[:, None] > room, replicas * (s.size[:, None] // room), np.ceil(replicas / inside))
        np.add.at(found, s.market, whole)
    return found


def _options(sets: Sets, limits: Floats) -> tuple[list[Bought], list[Option]]:
    """Every way to buy instances of every market, with its share of the overhead."""
    bought: list[Bought] = []
    options: list[Option] = []
    factor = 1.0 + sets.problem.policy.ops_overhead.fraction
    slices = range(len(sets.slices))

    def add(what: Bought, market: int, covered: tuple[int, ...], cost: float, most: float, stated: float) -> None:
        bought.append(what)
        options.append(Option(market, covered, factor * cost, min(most, stated), stated < most, tuple(what.column[1])))

    for number, (p, group) in enumerate(sets.markets):
        for option in (PurchaseOption.SPOT,) if group is None else group:
            price = sets.pools[p].price(option)
            if price is None:
                continue
            stated = math.inf if price.max_instances is None else float(price.max_instances)
            if option in COMMITMENTS:
                for period, start in sets.starts(price):
                    term = float(price.term_months)
                    covered = tuple(t for t in slices if sets.calendar.covers(start, term, t))
                    if covered:
                        usd = sets.calendar.charged(start, term) * price.usd_in(sets.calendar.quarter_of(start))
                        most = float(limits[number, list(covered)].max())
                        add(Bought(p, group, option, None, period, start), number, covered, usd, most, stated)
                continue
            for t in slices:
                if not sets.sold_in(price, t):
                    continue
                if group is None:
                    usd = sets.weight(t) * math.fsum(sets.spot_usd_per_hour(p, t))
                else:
                    usd = sets.weight(t) * price.usd_in(sets.slices[t].quarter)
                add(Bought(p, group, option, t), number, (t,), usd, float(limits[number, t]), stated)
    return bought, options


def _quotas(sets: Sets, bought: list[Bought], options: list[Option]) -> Iterator[Quota]:
    """The rows of `formulation.limits.quota`."""
    fallback = sets.problem.policy.spot.model == SpotModel.FALLBACK
    by_pool: dict[tuple[int, PurchaseOption], list[int]] = defaultdict(list)
    for o, b in enumerate(bought):
        by_pool[b.pool, b.option].append(o)
    for q in sets.problem.quotas:
        weights: dict[int, float] = defaultdict(float)
        for pool_id in q.pools:
            p = sets.pool_index[pool_id]
            size = float(sets.pools[p].accelerators) if q.per_accelerator else 1.0
            for option in q.options:
                for o in by_pool[p, option]:
                    weights[o] += size
            spot = sets.pools[p].spot
            if fallback and spot and PurchaseOption.ON_DEMAND in q.options:
                for o in by_pool[p, PurchaseOption.SPOT]:
                    weights[o] += (1 - spot.availability) * size
        kept = {o: w for o, w in weights.items() if w > 0}
        if kept:
            limit = tuple(q.left(s.ends_month) for s in sets.slices)
            yield Quota(tuple(kept), tuple(kept.values()), limit)
    stocks: dict[str, list[tuple[int, PurchaseOption, int]]] = {}
    for p, pool in enumerate(sets.pools):
        for price in pool.prices:
            if price.max_instances is not None:
                stocks.setdefault(price.offer, []).append((p, price.option, price.max_instances))
    for sold in stocks.values():
        own = [o for p, option, _ in sold for o in by_pool[p, option]]
        if len({options[o].market for o in own}) > 1 or any(len(by_pool[p, option]) > 1 for p, option, _ in sold):
            most = float(min(limit for _, _, limit in sold))
            yield Quota(tuple(own), (1.0,) * len(own), (most,) * len(sets.slices))
