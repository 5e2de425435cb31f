"""Index sets of the programme: configurations, pools, purchase groups, slices and bands, with their coefficients.

Single letters as in docs/design.md: s service, r request class, k configuration of a service, p pool, τ slice, b band.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from planner.base import PurchaseOption
from planner.candidates.types import ApiCandidate, Candidate, OptionPrice, Pool, Problem
from planner.demand.types import RequestClass, Service
from planner.formulation.calendar import EPS, Calendar
from planner.performance.types import ReplicaCapability
from planner.spec.types import SpareDomain, SpotModel

FIRM = (PurchaseOption.OWNED, PurchaseOption.RESERVED_3Y, PurchaseOption.RESERVED_1Y, PurchaseOption.ON_DEMAND)
COMMITMENTS = (PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y)
Group = tuple[PurchaseOption, ...]
"""Firm options that a service may use in a pool: services of different groups never share an instance."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A configuration's place in one pool."""

    pool: int
    group: Group
    """Empty: no firm option."""
    spot: bool


@dataclass(frozen=True, slots=True)
class Config:
    """k: one capability of one service with the pools that can host it."""

    index: int
    name: str
    service: int
    capability: ReplicaCapability
    seats: tuple[Seat, ...]

    @property
    def size(self) -> int:
        """g: accelerators of one replica."""
        return self.capability.config.accelerators


@dataclass(frozen=True, slots=True)
class ApiColumn:
    """a for one class: an API that may take its overflow."""

    service: int
    request_class: int
    candidate: ApiCandidate


class Sets:
    """Everything a constraint family loops over. Built once from a `Problem`; never changed."""

    def __init__(self, problem: Problem, stress: float = 1.0, mixed: bool = False, sparse: bool = False) -> None:
        """`stress` widens the bounds so that this multiple of the demand could be served (head-room).

        `mixed`: every configuration takes the whole mix of its service, as behind a router that does not look at
        lengths. A restriction, so its plans are plans of the programme, found much faster; its bound is none.

        `sparse`: losses of places are written with one sum over all places, of which each loss takes its own part.
        """
        self.problem = problem
        self.stress = stress
        self.mixed = mixed
        self.sparse = sparse
        self.slices = problem.demand.slices
        self.services: tuple[Service, ...] = problem.demand.services
        self.pools: tuple[Pool, ...] = problem.pools
        self.margin = problem.policy.headroom.forecast_margin
        self.pool_index = {p.id: i for i, p in enumerate(self.pools)}
        self.service_index = {s.id: i for i, s in enumerate(self.services)}
        self.calendar = Calendar(self.slices, problem.horizon, problem.tail_quarters)
        self._service_rates: dict[tuple[int, int, int], float] = {}
        self._mix_capacities: dict[tuple[int, int, int], float] = {}
        self._replica_limits: dict[tuple[int, int], int] = {}
        self._instance_rates: dict[tuple[int, int], float] = {}
        self.configs = self._configs(problem.candidates)
        self.apis = self._apis()

    # ---- sets ------------------------------------------------------------------------------------------------

    def _configs(self, candidates: tuple[Candidate, ...]) -> tuple[Config, ...]:
        # One k per capability object: pools of equal round trips share it.
        grouped: dict[tuple[int, str, int], list[Candidate]] = defaultdict(list)
        for c in candidates:
            grouped[self.service_index[c.service], c.capability.config.id, id(c.capability)].append(c)
        found: list[Config] = []
        names: dict[tuple[int, str], int] = defaultdict(int)
        ordered = sorted(grouped.items(), key=lambda kv: (kv[0][0], kv[0][1], min(c.pool for c in kv[1])))
        for (service, name, _), members in ordered:
            capability = members[0].capability
            if not any(capability.served[r] for r in self.active_classes[service]):
                continue
            names[service, name] += 1
            number = names[service, name]
            seats = tuple(self._seat(c) for c in sorted(members, key=lambda c: c.pool))
            found.append(Config(len(found), name if number == 1 else f"{name}~{number}", service, capability, seats))
        return tuple(found)

    def _seat(self, candidate: Candidate) -> Seat:
        return Seat(
            pool=self.pool_index[candidate.pool],
            group=tuple(o for o in FIRM if o in candidate.options),
            spot=PurchaseOption.SPOT in candidate.options,
        )

    def _apis(self) -> tuple[ApiColumn, ...]:
        found = []
        for a in self.problem.apis:
            s = self.service_index[a.service]
            ids = [c.id for c in self.services[s].classes]
            found.append(ApiColumn(s, ids.index(a.request_class), a))
        return tuple(found)

    @cached_property
    def active_classes(self) -> tuple[tuple[int, ...], ...]:
        """[service] classes with any demand."""
        return tuple(
            tuple(r for r, c in enumerate(s.classes) if max(c.sizing_req_per_s, default=0.0) > 0) for s in self.services
        )

    @cached_property
    def configs_of(self) -> tuple[tuple[Config, ...], ...]:
        """[service] its configurations."""
        found: list[list[Config]] = [[] for _ in self.services]
        for k in self.configs:
            found[k.service].append(k)
        return tuple(map(tuple, found))

    @cached_property
    def apis_of(self) -> tuple[tuple[ApiColumn, ...], ...]:
        """[service] its API columns."""
        found: list[list[ApiColumn]] = [[] for _ in self.services]
        for a in self.apis:
            found[a.service].append(a)
        return tuple(map(tuple, found))

    def is_covering(self, s: int) -> bool:
        """One class, or one mix: routed rates vanish and capacity is a covering row (DESIGN §5.6)."""
        return not self.services[s].is_batch and (len(self.active_classes[s]) == 1 or self.mixed)

    def shares_overflow(self, s: int) -> bool:
        """One mix of several classes, of which an API takes the same part of each."""
        return self.is_covering(s) and len(self.active_classes[s]) > 1 and bool(self.apis_of[s])

    def bands(self, s: int, t: int) -> tuple[int, ...]:
        """Bands that can bind: without an API only the top one (a smaller rate scales the top band's routing down)."""
        weights = self.services[s].band_weights[t]
        return tuple(range(len(weights))) if self.apis_of[s] else (len(weights) - 1,)

    # ---- coefficients ----------------------------------------------------------------------------------------

    def weight(self, t: int) -> float:
        """Share of the judged time that slice τ stands for; with one quarter its share of the month."""
        return self.calendar.slice_weight[t]

    def request_class(self, s: int, r: int) -> RequestClass:
        return self.services[s].classes[r]

    def rate(self, s: int, r: int, t: int, b: int) -> float:
        """λ[r,τ,b] in req/s."""
        return self.request_class(s, r).band_req_per_s[t][b]

    def top(self, s: int, r: int, t: int) -> float:
        """λ of the top band in req/s."""
        return self.request_class(s, r).band_req_per_s[t][-1]

    def reach(self, s: int, t: int) -> float:
        """Largest multiple of the even rate that work may be done at in slice τ: all of a window's volume in it.

        1 for online work, which is done as it comes. max over the windows that hold τ of Σ_u hours[u] / hours[τ]
        """
        windows = self.services[s].windows
        return max((math.fsum(w) / w[t] for w in windows if w[t] > 0), default=1.0)

    def service_rate(self, s: int, t: int, b: int) -> float:
        """Σ_r λ[r,τ,b]."""
        found = self._service_rates.get((s, t, b))
        if found is None:
            found = math.fsum(self.rate(s, r, t, b) for r in self.active_classes[s])
            self._service_rates[s, t, b] = found
        return found

    def mix_capacity(self, k: Config, t: int, b: int = -1) -> float:
        """`_mix_capacity`, found once."""
        key = (k.index, t, b)
        found = self._mix_capacities.get(key)
        if found is None:
            found = self._mix_capacities[key] = self._mix_capacity(k, t, b)
        return found

    def _mix_capacity(self, k: Config, t: int, b: int = -1) -> float:
        """Total rate [req/s] of a band's mix (default: the top one's) that one replica serves, forecast margin off.

        cap = 1 / (margin · max_j Σ_r use[j,r]·share_r), 0 where a class of the mix is not served.
        """
        s = k.service
        total = self.service_rate(s, t, b)
        if total <= 0:
            return 0.0
        shares = {r: self.rate(s, r, t, b) / total for r in self.active_classes[s]}
        if any(share > 0 and not k.capability.served[r] for r, share in shares.items()):
            return 0.0
        used = max(math.fsum(row.use[r] * share for r, share in shares.items()) for row in k.capability.rows)
        return 1.0 / (self.margin * used)

    def worth(self, k: Config, t: int, b: int, credit: float = 1.0) -> float:
        """Part of the service's whole demand in a band that one replica of a credit serves, at most all of it.

        Every class is taken in proportion to its rate: 1 / (margin · max_j Σ_r use[j,r]·λ[r,τ,b]).
        """
        rate = self.service_rate(k.service, t, b)
        return min(1.0, credit * self.mix_capacity(k, t, b) / rate) if rate > 0 else 0.0

    def replica_limit(self, k: Config, t: int) -> int:
        """`_replica_limit`, found once."""
        key = (k.index, t)
        found = self._replica_limits.get(key)
        if found is None:
            found = self._replica_limits[key] = self._replica_limit(k, t)
        return found

    def _replica_limit(self, k: Config, t: int) -> int:
        """Most replicas of k in one pool that a plan needs in slice τ: alone they serve all that k can serve, and still
        do so after a loss elsewhere; plus spares."""
        s = k.service
        served = [r for r in self.active_classes[s] if k.capability.served[r]]
        load = max(math.fsum(row.use[r] * self.margin * self.top(s, r, t) for r in served) for row in k.capability.rows)
        load *= self.reach(s, t)
        if load <= 0:
            return 0
        credit = min((self.spot_credit(seat.pool) for seat in k.seats if seat.spot), default=1.0)
        # Spares count with the best credit of any pool, so in the worst pool more stand in for them.
        spares = math.ceil(self.spare_count(s) * self.best_spot_credit(k) / credit - 1e-9)
        least = max(1, math.ceil(self.stress * load / credit - 1e-9))
        return least + max(spares, self.spare_count(s)) + self._instance_spares(k, t)

    def _instance_spares(self, k: Config, t: int) -> int:
        """Replicas of k that make up for the largest loss of instances, wherever that is."""
        count = self.spare_count(k.service, SpareDomain.INSTANCE)
        own = self.mix_capacity(k, t) * min((self.spot_credit(x.pool) for x in k.seats if x.spot), default=1.0)
        if count == 0 or own <= 0:
            return 0
        return math.ceil(count * self._most_in_an_instance(k.service, t) / own - 1e-9)

    def _most_in_an_instance(self, s: int, t: int) -> float:
        """Largest rate of the mix that one instance of any pool serves."""
        found = self._instance_rates.get((s, t))
        if found is None:
            found = self._instance_rates[s, t] = max(
                max(1, self.pools[seat.pool].accelerators // j.size) * self.mix_capacity(j, t)
                for j in self.configs_of[s]
                for seat in j.seats
            )
        return found

    def spare_count(self, s: int, domain: SpareDomain = SpareDomain.REPLICA) -> int:
        """How many replicas (or instances, or zones) of a service may fail at once; batch work waits instead."""
        spare = self.services[s].resilience.spare
        wanted = spare is not None and spare.domain == domain and not self.services[s].is_batch
        return spare.count if spare is not None and wanted else 0

    def survives(self, s: int) -> tuple[str, ...]:
        """What a service must survive the loss of, at `serve_fraction` of its demand."""
        rule = self.services[s].resilience
        return rule.survive_loss_of if rule.serve_fraction > 0 and not self.services[s].is_batch else ()

    def best_spot_credit(self, k: Config) -> float:
        """Largest credit of a pool in which k may run on spot; 1 where it may not."""
        return max((self.spot_credit(seat.pool) for seat in k.seats if seat.spot), default=1.0)

    def spot_credit(self, p: int) -> float:
        """Capacity of a spot replica relative to a firm one: (1 − ν·start_h)/(1 + rework), times the availability if
        credited."""
        terms = self.pools[p].spot
        if terms is None:
            return 1.0
        again = 1.0 + (self.problem.policy.spot.rework_fraction or 0.0)
        credit = max(0.0, 1.0 - terms.interruptions_per_up_hour * terms.start_h) / again
        return credit * terms.availability if self.problem.policy.spot.model == SpotModel.CREDITED else credit

    def spot_usd_per_hour(self, p: int, t: int) -> tuple[float, float]:
        """(held spot, fallback) expected USD per target instance and hour in slice τ."""
        pool = self.pools[p]
        price, terms = pool.price(PurchaseOption.SPOT), pool.spot
        if price is None or terms is None:
            raise ValueError(f"pool {pool.id} sells no spot")
        away = 0.0
        if self.problem.policy.spot.model == SpotModel.FALLBACK:
            if terms.fallback_usd_per_hour is None:
                raise ValueError(f"spot of pool {pool.id} has no fallback")
            away = (1.0 - terms.availability) * terms.fallback_usd_per_hour
            if terms.fallback_factors:
                away *= terms.fallback_factors[self.slices[t].quarter - 1]
        return terms.availability * price.usd_in(self.slices[t].quarter), away

    def sold_in(self, price: OptionPrice, t: int) -> bool:
        """Whether what is paid by the hour can be had in the whole of slice τ."""
        s = self.slices[t]
        until = math.inf if price.until_month is None else price.until_month
        return price.from_month <= s.begins_month + EPS and until >= s.ends_month - EPS

    def starts(self, price: OptionPrice) -> tuple[tuple[int, float], ...]:
        """(period, month) at which a commitment may begin."""
        until = math.inf if price.until_month is None else price.until_month
        months = enumerate(self.calendar.starts())
        return tuple((i, a) for i, a in months if price.from_month <= a + EPS and a < until - EPS)

    def sizes(self, p: int, group: Group | None) -> tuple[int, ...]:
        """Replica sizes that share instances of pool p (group None: the spot instances), ascending."""
        return tuple(sorted({k.size for k in self.seats_of.get((p, group), ())}))

    @cached_property
    def markets(self) -> tuple[tuple[int, Group | None], ...]:
        """(pool, group) of everything that instances are bought for; group None is spot."""
        found: set[tuple[int, Group]] = set()
        spot: set[int] = set()
        for k in self.configs:
            for seat in k.seats:
                if seat.group:
                    found.add((seat.pool, seat.group))
                if seat.spot:
                    spot.add(seat.pool)
        firm: list[tuple[int, Group | None]] = [*sorted(found)]
        return tuple(firm + [(p, None) for p in sorted(spot)])

    @cached_property
    def seats_of(self) -> dict[tuple[int, Group | None], list[Config]]:
        """(pool, group) → configurations seated there."""
        found: dict[tuple[int, Group | None], list[Config]] = defaultdict(list)
        for k in self.configs:
            for seat in k.seats:
                if seat.group:
                    found[seat.pool, seat.group].append(k)
                if seat.spot:
                    found[seat.pool, None].append(k)
        return found


def is_divisor_chain(sizes: tuple[int, ...]) -> bool:
    """Whether each size divides the next: then total size decides whether replicas pack into equal instances."""
    return all(b % a == 0 for a, b in itertools.pairwise(sizes))


def maximal_patterns(sizes: tuple[int, ...], room: int) -> list[tuple[int, ...]]:
    """All ways to fill one instance of `room` accelerators with replicas of `sizes` to which nothing can be added."""
    patterns: list[tuple[int, ...]] = []

    def extend(index: int, left: int, counts: tuple[int, ...]) -> None:
        if index == len(sizes):
            if not sizes or left < min(sizes):
                patterns.append(counts)
            return
        for n in range(left // sizes[index], -1, -1):
            extend(index + 1, left - n * sizes[index], (*counts, n))

    extend(0, room, ())
    return patterns
