"""The best plan of a tiny case by trying every count; nothing of the formulation or a MILP solver is used.

Slices are independent once the commitments are fixed, so all replica counts are tried per slice and all commitments
over them. Routing given the replicas is closed form for one class and a small linear programme for several.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Deployment, Plan, Purchase, Route
from planner.demand.types import Service
from planner.performance.types import ReplicaCapability
from planner.spec.types import QuotaUnit
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from planner.verify.facts import Facts
from planner.verify.market import PoolFacts, api_usd_per_request
from planner.verify.packing import instances_needed

OD, SPOT, OWNED, API = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT, PurchaseOption.OWNED, PurchaseOption.API
RESERVED = (PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y)
EPS = 1e-9


class TooLarge(Exception):
    """The case has more combinations than a test should try."""


@dataclass(frozen=True, eq=False)
class Column:
    """Replicas of a configuration of a service in a pool, on spot or firm."""

    service: Service
    config: str
    pool: PoolFacts
    spot: bool
    capability: ReplicaCapability

    @property
    def credit(self) -> float:
        return self.pool.spot.credit if self.spot and self.pool.spot else 1.0

    @property
    def size(self) -> int:
        return self.capability.config.accelerators


@dataclass
class Routing:
    """Cheapest routing of one service in one slice: `gpu[column][class][band]` and `api[class][band]`, req/s."""

    usd_per_hour: float
    gpu: dict[Column, list[list[float]]]
    api: list[list[float]]


@dataclass
class Choice:
    """One combination of replicas in a slice."""

    counts: tuple[int, ...]
    routing: list[Routing]
    usd_per_hour: float
    firm: dict[str, int]
    spot: dict[str, int]


def _within(code: str | None, names: tuple[str, ...] | None, facts: Facts) -> bool:
    return names is None or (code is not None and code in facts.catalog.countries(names))


def _allowed(service: Service, pool: PoolFacts, facts: Facts) -> bool:
    rule = service.sovereignty
    law = pool.owned or _within(pool.operator_jurisdiction, rule.operator_jurisdictions, facts)
    return law and _within(pool.country, rule.countries, facts)


def columns_of(service: Service, facts: Facts) -> list[Column]:
    """Everything that may run a service."""
    found = []
    for pool_id in sorted({o.pool_id for o in facts.catalog.offers}):
        pool = facts.market.pool(pool_id)
        if pool is None or not _allowed(service, pool, facts):
            continue
        for config in facts.configurations(service, pool):
            if "@" in config:  # the same configuration, named with the instance's link
                continue
            capability = facts.capability(service, config, pool)
            if not isinstance(capability, ReplicaCapability):
                continue
            firm = any(o in pool.tariffs and o in service.options for o in (OD, OWNED, *RESERVED))
            if firm:
                found.append(Column(service, config, pool, False, capability))
            spot = SPOT in service.options and pool.spot is not None and service.max_spot_share > 0
            if spot and OD in service.options and pool.spot and pool.spot.fallback_usd_per_hour is not None:
                found.append(Column(service, config, pool, True, capability))
    return found


def _api_price(service: Service, facts: Facts) -> list[float | None]:
    """[class] cheapest USD per request, None where no API may serve it."""
    found: list[float | None] = []
    for c in service.classes:
        offers = {a.id: a for name in c.api_models for a in facts.catalog.api_offers(name)}
        usable = [
            a
            for a in offers.values()
            if all(_within(x, service.sovereignty.countries, facts) for x in a.countries or ())
        ]
        prices = [api_usd_per_request(a, c.input_tokens, c.output_tokens, c.cached_input_tokens) for a in usable]
        found.append(min(prices, default=None) if API in service.options else None)
    return found


def most_replicas(column: Column, facts: Facts) -> int:
    """Enough to serve all that the column can serve, plus spares."""
    service = column.service
    top = 0.0
    for row in column.capability.rows:
        for t in range(len(facts.demand.slices)):
            rates = [c.band_req_per_s[t][-1] for c in service.classes]
            top = max(top, facts.margin * sum(x * u for x, u in zip(rates, row.use, strict=True)))
    spare = service.resilience.spare
    return math.ceil(top / column.credit - EPS) + (spare.count if spare else 0)


def route(service: Service, counts: dict[Column, int], t: int, facts: Facts) -> Routing | None:
    """The cheapest routing of a service in a slice, or None: the replicas do not suffice."""
    prices = _api_price(service, facts)
    limits = [a.max_req_per_s for a in facts.catalog.apis if a.max_req_per_s is not None]
    cap = min(limits, default=math.inf)
    routing = Routing(0.0, {k: [[] for _ in service.classes] for k in counts}, [[] for _ in service.classes])
    for b, weight in enumerate(service.band_weights[t]):
        rates = [c.band_req_per_s[t][b] for c in service.classes]
        band = _route_band(service, counts, rates, prices, cap, facts)
        if band is None:
            return None
        usd, gpu, api = band
        routing.usd_per_hour += weight * usd
        for k, xs in gpu.items():
            for r, x in enumerate(xs):
                routing.gpu[k][r].append(x)
        for r, x in enumerate(api):
            routing.api[r].append(x)
    return routing


def _worth(k: Column, rates: list[float], facts: Facts) -> float:
    """Part of `rates`, all in proportion, that one replica serves."""
    if not all(ok for x, ok in zip(rates, k.capability.served, strict=True) if x > 0):
        return 0.0
    loads = (sum(x * u for x, u in zip(rates, row.use, strict=True)) for row in k.capability.rows)
    return k.credit / (facts.margin * max(loads))


def _route_band(
    service: Service,
    counts: dict[Column, int],
    rates: list[float],
    prices: list[float | None],
    cap: float,
    facts: Facts,
) -> tuple[float, dict[Column, list[float]], list[float]] | None:
    """USD per hour, routed and API rates of one band by a linear programme.

    Whichever spares are lost, the replicas left take the whole mix, as much of it as of the class that needs them most.
    """
    standing = [k for k, n in counts.items() if n > 0]
    spare = service.resilience.spare.count if service.resilience.spare else 0
    losses: list[dict[Column, int]] = [{}]
    if spare and standing:
        for lost in itertools.combinations_with_replacement(standing, min(spare, sum(counts.values()))):
            gone = {k: lost.count(k) for k in standing}
            if all(counts[k] >= gone[k] for k in standing):
                losses.append(gone)
    classes, hosts = range(len(rates)), range(len(standing))
    width = len(rates) * (1 + len(standing))

    def x(r: int, h: int) -> int:
        return len(rates) + r * len(standing) + h

    less: list[tuple[dict[int, float], float]] = [(dict.fromkeys(classes, 1.0), min(cap, 1e9))]
    for r in classes:
        less.append(({r: -1.0, **{x(r, h): -1.0 for h in hosts}}, -rates[r]))
    for h, k in enumerate(standing):
        for row in k.capability.rows:
            less.append(({x(r, h): facts.margin * row.use[r] for r in classes}, counts[k] * k.credit))
    for gone in losses[1:]:
        left = sum((counts[k] - gone[k]) * _worth(k, rates, facts) for k in standing)
        less += [({r: -1.0 / rates[r]}, left - 1.0 + EPS) for r in classes if rates[r] > 0]
    for r in classes:
        on_spot = {x(r, h): 1.0 for h, k in enumerate(standing) if k.spot}
        less.append((on_spot, service.max_spot_share * rates[r]))
    matrix = np.zeros((len(less), width))
    for i, (row_terms, _) in enumerate(less):
        for j, v in row_terms.items():
            matrix[i, j] = v
    bounds: list[tuple[float, float | None]] = [(0.0, rates[r] if prices[r] is not None else 0.0) for r in classes]
    bounds += [(0.0, rates[r] if k.capability.served[r] else 0.0) for r in classes for k in standing]
    money = [SECONDS_PER_HOUR * (prices[r] or 0.0) for r in classes] + [0.0] * (width - len(rates))
    found = linprog(money, A_ub=matrix, b_ub=[v for _, v in less], bounds=bounds, method="highs")
    if found.status != 0:
        return None
    api = [float(found.x[r]) for r in classes]
    gpu: dict[Column, list[float]] = {k: [0.0] * len(rates) for k in counts}
    for r in classes:
        taken = [max(0.0, float(found.x[x(r, h)])) for h in hosts]
        scale = (rates[r] - api[r]) / sum(taken) if sum(taken) > 0 else 0.0
        for h, k in enumerate(standing):
            gpu[k][r] = taken[h] * scale
    return float(found.fun), gpu, api


def choices_of_slice(columns: list[Column], t: int, facts: Facts, most: int = 600) -> list[Choice]:
    """Every combination of replica counts that serves slice t."""
    ranges = [range(most_replicas(k, facts) + 1) for k in columns]
    if math.prod(len(r) for r in ranges) > most:
        raise TooLarge
    known: dict[tuple[str, tuple[int, ...]], Routing | None] = {}
    found = []
    for counts in itertools.product(*ranges):
        routings: list[Routing] = []
        for service in facts.demand.services:
            own = {k: n for k, n in zip(columns, counts, strict=True) if k.service.id == service.id}
            key = (service.id, tuple(own.values()))
            if key not in known:
                known[key] = route(service, own, t, facts)
            routing = known[key]
            if routing is None:
                break
            routings.append(routing)
        else:
            firm, spot = _machines(columns, counts, False), _machines(columns, counts, True)
            found.append(Choice(counts, routings, sum(r.usd_per_hour for r in routings), firm, spot))
    return found


def _machines(columns: list[Column], counts: tuple[int, ...], spot: bool) -> dict[str, int]:
    sizes: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    groups: dict[str, int] = {}
    for k, n in zip(columns, counts, strict=True):
        if k.spot == spot and n:
            sizes[k.pool.id][k.size] += n
            groups[k.pool.id] = k.pool.accelerators
    return {p: instances_needed(s, groups[p], 0) for p, s in sizes.items()}


def _holds(quota_counts: dict[tuple[str, PurchaseOption], int], facts: Facts) -> bool:
    """Quotas and offer limits for one slice."""
    for (pool_id, option), n in quota_counts.items():
        tariff = facts.market.tariff(pool_id, option)
        if n and (tariff is None or (tariff.max_instances is not None and n > tariff.max_instances)):
            return False
    for quota in facts.spec.policy.quotas:
        if quota.limit == "unknown":
            continue
        held = 0.0
        for (pool_id, option), n in quota_counts.items():
            pool = facts.market.pool(pool_id)
            assert pool is not None
            m = quota.match
            if any(
                w is not None and w != h for w, h in ((m.provider, pool.provider), (m.accelerator, pool.accelerator))
            ):
                continue
            size = pool.accelerators if quota.unit is QuotaUnit.ACCELERATORS else 1
            held += n * size * (option in quota.applies_to)
            if option is SPOT and OD in quota.applies_to and pool.spot:
                held += n * size * (1 - pool.spot.availability)
        if held > float(quota.limit) + 1e-7:
            return False
    return True


@dataclass
class Best:
    """The cheapest plan and its cost."""

    usd_per_month: float
    plan: Plan


def best_plan(facts: Facts, most: int = 600) -> Best | None:
    """Try everything; None: infeasible. Raises TooLarge. All services must allow the same options."""
    columns = [k for s in facts.demand.services for k in columns_of(s, facts)]
    options = facts.demand.services[0].options
    assert all(s.options == options for s in facts.demand.services)
    slices = [choices_of_slice(columns, t, facts, most) for t in range(len(facts.demand.slices))]
    pools = sorted({k.pool.id for k in columns if not k.spot})
    commits = [(p, o) for p in pools for o in RESERVED if o in options and facts.market.tariff(p, o)]
    ranges = [range(max((c.firm.get(p, 0) for s in slices for c in s), default=0) + 1) for p, _ in commits]
    best: Best | None = None
    for committed in itertools.product(*ranges):
        found = _with_commitments(dict(zip(commits, committed, strict=True)), columns, slices, facts)
        if found and (best is None or found.usd_per_month < best.usd_per_month - EPS):
            best = found
    return best


def _with_commitments(
    commits: dict[tuple[str, PurchaseOption], int], columns: list[Column], slices: list[list[Choice]], facts: Facts
) -> Best | None:
    overhead = facts.spec.policy.ops_overhead
    factor = 1.0 + overhead.fraction
    fixed_bill = sum(n * facts.market.tariff(p, o).usd_per_hour * HOURS_PER_MONTH for (p, o), n in commits.items())  # type: ignore[union-attr]
    # With and without the fixed overhead: machine-free choices avoid it only if no slice has a machine.
    results = []
    for machines in (True, False):
        if not machines and any(commits.values()):
            continue
        picked, bill, api_bill = [], fixed_bill, 0.0
        for t, choices in enumerate(slices):
            hours = facts.demand.slices[t].hours_per_month
            options = [c for c in choices if machines or not any(c.counts)]
            priced = [(p, c, counts) for c in options if (p := _slice_bill(c, commits, facts)) for counts in [p[1]]]
            if not priced:
                picked = []
                break
            (usd, counts), choice, _ = min(priced, key=lambda v: factor * v[0][0] + v[1].usd_per_hour)
            picked.append((choice, counts))
            bill += hours * usd
            api_bill += hours * choice.usd_per_hour
        if picked:
            bought = any(commits.values()) or any(any(c.counts) for c, _ in picked)
            total = factor * bill + api_bill + (overhead.fixed_usd_per_month if bought else 0.0)
            results.append(Best(total, _plan(commits, columns, picked, facts)))
    return min(results, key=lambda r: r.usd_per_month, default=None)


def _slice_bill(
    choice: Choice, commits: dict[tuple[str, PurchaseOption], int], facts: Facts
) -> tuple[float, dict[tuple[str, PurchaseOption], int]] | None:
    """USD per hour of what is rented by the hour, and all instances; None where a limit forbids it."""
    counts = {key: n for key, n in commits.items() if n}
    usd = 0.0
    options = facts.demand.services[0].options
    for pool_id, needed in choice.firm.items():
        extra = needed - sum(n for (p, _), n in commits.items() if p == pool_id)
        tariff = facts.market.tariff(pool_id, OD)
        if extra > 0:
            if tariff is None or OD not in options:
                return None
            usd += extra * tariff.usd_per_hour
            counts[pool_id, OD] = extra
    for pool_id, n in choice.spot.items():
        pool, tariff = facts.market.pool(pool_id), facts.market.tariff(pool_id, SPOT)
        assert pool is not None and pool.spot is not None and tariff is not None
        away = 1.0 - pool.spot.availability
        usd += n * (pool.spot.availability * tariff.usd_per_hour + away * (pool.spot.fallback_usd_per_hour or 0.0))
        counts[pool_id, SPOT] = n
    return (usd, counts) if _holds(counts, facts) else None


def _plan(
    commits: dict[tuple[str, PurchaseOption], int],
    columns: list[Column],
    picked: list[tuple[Choice, dict[tuple[str, PurchaseOption], int]]],
    facts: Facts,
) -> Plan:
    bought: dict[tuple[str, PurchaseOption], list[int]] = defaultdict(lambda: [0] * len(picked))
    for t, (_, counts) in enumerate(picked):
        for key, n in {**counts, **commits}.items():
            bought[key][t] = n
    deployments, api_routes = [], defaultdict(list)
    for i, k in enumerate(columns):
        routes = []
        for t, (choice, _) in enumerate(picked):
            position = [s.id for s in facts.demand.services].index(k.service.id)
            for r, bands in enumerate(choice.routing[position].gpu[k]):
                for b, x in enumerate(bands):
                    if x > EPS:
                        c = k.service.classes[r].id
                        routes.append(Route(request_class=c, slice=t, band=b, req_per_s=x))
        replicas = tuple(c.counts[i] for c, _ in picked)
        if any(replicas):
            deployments.append(
                Deployment(
                    service=k.service.id,
                    config=k.config,
                    pool=k.pool.id,
                    spot=k.spot,
                    replicas=replicas,
                    routes=tuple(routes),
                )
            )
    for t, (choice, _) in enumerate(picked):
        for service, routing in zip(facts.demand.services, choice.routing, strict=True):
            for c, bands in zip(service.classes, routing.api, strict=True):
                for b, x in enumerate(bands):
                    if x > EPS:
                        api_routes[c.id, c.api_models[0]].append(
                            Route(request_class=c.id, slice=t, band=b, req_per_s=x)
                        )
    return Plan(
        purchases=tuple(
            Purchase(pool=p, option=o, instances=tuple(n)) for (p, o), n in sorted(bought.items()) if any(n)
        ),
        deployments=tuple(deployments),
        api=tuple(
            ApiUse(request_class=c, api=facts.catalog.api_offers(name)[0].id, routes=tuple(found))
            for (c, name), found in sorted(api_routes.items())
        ),
    )
