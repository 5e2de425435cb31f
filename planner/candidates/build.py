"""From spec, catalog and demand to the `Problem`: every possible column, and a record of everything refused."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from planner.base import Check, CheckKind
from planner.candidates.allowed import Allowed, AllowedPools
from planner.candidates.apis import build_apis
from planner.candidates.domains import in_zones, needs_zones, spares_by_instance
from planner.candidates.hosts import Host, HostConfigs
from planner.candidates.markets import shortened
from planner.candidates.pools import build_pools
from planner.candidates.prune import prune_configs
from planner.candidates.quotas import idle_quota_text, idle_quotas, resolve_quotas
from planner.candidates.types import ApiCandidate, Candidate, Pool, Problem, Rejected
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand, RequestClass, Service
from planner.performance.assess import assess_many
from planner.performance.types import EngineConfig, Refusal, ReplicaCapability, RequestLoad
from planner.spec.types import Spec, WorkloadKind
from planner.units import MONTHS_PER_QUARTER, ms_to_s

Progress = Callable[[str], None]
Memo = dict[object, tuple[list[Candidate], list[Rejected]]]
"""Candidates and refusals of a service by everything that they depend on."""
MOST_REPLICAS = 100_000
"""A configuration of which a service would need more than this is refused, not squeezed into the programme."""

Hosted = dict[Host, Allowed]
"""Pools by kind of host."""


def build_problem(
    spec: Spec, catalog: Catalog, demand: Demand, progress: Progress | None = None, memo: Memo | None = None
) -> Problem:
    """Everything that a plan may use, and everything refused with all its failed checks.

    Deterministic: services, pools, candidates and refusals come in canonical order whatever the order of the input.
    `memo` keeps the candidates of services over many specs of one catalog: what an edit does not touch is not
    assessed again. The catalogs may differ in prices only.
    """
    say = progress or (lambda _: None)
    anywhere, rejected_offers = build_pools(spec, catalog)
    apart = in_zones(anywhere, catalog) if any(map(needs_zones, demand.services)) else anywhere
    pools = tuple(sorted({p.id: p for p in (*anywhere, *apart)}.values(), key=lambda p: p.id))
    rejected: list[Rejected] = list(rejected_offers)
    candidates: list[Candidate] = []
    apis: list[ApiCandidate] = []
    configs = HostConfigs(catalog, spec.measured_rows)
    regional, zoned = AllowedPools(anywhere, spec, catalog), AllowedPools(apart, spec, catalog)
    for service in demand.services:
        say(f"candidates of {service.id}")
        places = zoned if needs_zones(service) else regional
        allowed, refused_pools = places.of(service)
        found, refused = _remembered(service, allowed, configs, spec, catalog, memo)
        candidates += found
        rejected += [*refused_pools, *refused]
        found_apis, refused_apis = build_apis(service, spec.policy, catalog)
        apis += found_apis
        rejected += refused_apis
    quotas, unknown = resolve_quotas(spec.policy.quotas, pools)
    idle = idle_quotas(spec.policy.quotas, pools)
    tail = tail_quarters(spec, catalog)
    problem = Problem(
        demand=demand,
        pools=pools,
        candidates=(),
        apis=tuple(apis),
        quotas=quotas,
        policy=spec.policy,
        horizon=spec.horizon,
        tail_quarters=tail,
        rejected=tuple(fold(rejected)),
        assumptions=(
            *demand.assumptions,
            *_zones_assumed(demand, anywhere, apart),
            *(idle_quota_text(q) for q in idle),
        ),
        unknown_quotas=unknown,
        idle_quotas=idle,
    )
    return shortened(problem, candidates)


def _remembered(
    service: Service, allowed: Allowed, configs: HostConfigs, spec: Spec, catalog: Catalog, memo: Memo | None
) -> tuple[list[Candidate], list[Rejected]]:
    """`service_candidates`, made once per everything that it reads of service, pools and policy."""
    if memo is None:
        return service_candidates(service, allowed, configs, spec, catalog)
    places = tuple((p.id, configs.host(p), p.country, options) for p, options in allowed)
    policy = (spec.policy.headroom, spec.policy.estimators, spec.policy.max_configurations is None)
    key = (service, places, policy, spec.measured_rows)
    if key not in memo:
        memo[key] = service_candidates(service, allowed, configs, spec, catalog)
    return memo[key]


def tail_quarters(spec: Spec, catalog: Catalog) -> int:
    """Quarters from the horizon's end until the longest term on offer, begun in the last quarter, has ended.

    On offer: sold somewhere in the catalog under an option that some workload allows.
    """
    allowed = {option for w in spec.workloads for option in w.purchase.options}
    terms = [o.term_months for o in catalog.offers if o.usable and o.option in allowed]
    return max(0, max(terms, default=0) // MONTHS_PER_QUARTER - 1)


def _zones_assumed(demand: Demand, anywhere: Sequence[Pool], apart: Sequence[Pool]) -> list[str]:
    """What is taken for granted where a region's machines are planned zone by zone."""
    names = [s.id for s in demand.services if needs_zones(s)]
    if not names or apart == anywhere:
        return []
    line = (
        f"{', '.join(names)}: every zone of a region is taken to have what the region sells, at the region's price; "
        "which zones have an accelerator is not published for all"
    )
    return [line]


def fold(rejected: Iterable[Rejected]) -> list[Rejected]:
    """Equal refusals become one with their count; order of first appearance."""
    # By service and name first: hashing all the checks of every refusal would take longer than comparing a few.
    alike: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    found: list[Rejected] = []
    counts: list[int] = []
    for r in rejected:
        places = alike[r.service, r.what]
        place = next((i for i in places if found[i].checks == r.checks), None)
        if place is None:
            places.append(len(found))
            found.append(r)
            counts.append(r.count)
        else:
            counts[place] += r.count
    return [r if r.count == n else r.model_copy(update={"count": n}) for r, n in zip(found, counts, strict=True)]


def round_trip_s(cls: RequestClass, country: str | None, catalog: Catalog) -> float:
    """Network round trip [s] between the class's clients and a country; the worst known one where it is unknown.

    0 for a class that names no client region or promises no TTFT (nothing depends on it then).
    """
    if cls.client_region is None or cls.ttft_limit_s is None:
        return 0.0
    rows = [r for r in catalog.round_trips if r.client_region == cls.client_region]
    exact = [r for r in rows if country is not None and r.country == country]
    grouped = [r for r in rows if country is not None and country in catalog.countries((r.country,))]
    best = exact or grouped or rows
    return ms_to_s(max((r.rtt_ms for r in best), default=0.0))


def request_loads(service: Service, country: str | None, catalog: Catalog) -> tuple[RequestLoad, ...]:
    """The service's classes as performance sees them from a country."""
    return tuple(
        RequestLoad(
            id=c.id,
            input_tokens=c.input_tokens,
            output_tokens=c.output_tokens,
            cached_input_tokens=c.cached_input_tokens,
            ttft_limit_s=c.ttft_limit_s,
            ttft_quantile=c.ttft_quantile,
            tpot_limit_s=c.tpot_limit_s,
            tpot_quantile=c.tpot_quantile,
            rtt_s=round_trip_s(c, country, catalog),
            max_context_tokens=c.max_context_tokens,
        )
        for c in service.classes
    )


def service_candidates(
    service: Service, allowed: Allowed, configs: HostConfigs, spec: Spec, catalog: Catalog
) -> tuple[list[Candidate], list[Rejected]]:
    """Candidates of one service over its allowed pools, dominated configurations left out, and all refusals."""
    runnable, refusals = configs.of(service, {configs.host(pool) for pool, _ in allowed})
    loads_in = {country: request_loads(service, country, catalog) for country in {p.country for p, _ in allowed}}
    by_loads: dict[tuple[RequestLoad, ...], Hosted] = {}
    for pool, options in allowed:
        hosted = by_loads.setdefault(loads_in[pool.country], {})
        hosted.setdefault(configs.host(pool), []).append((pool, options))
    assessed: list[tuple[Hosted, dict[EngineConfig, ReplicaCapability]]] = []
    for loads, hosted in by_loads.items():
        capable, refused = _assessed(service, loads, hosted, runnable, spec, catalog)
        refusals += refused
        assessed.append((hosted, capable))
    where = None if spec.policy.max_configurations is None else _where(assessed, runnable)
    found: list[Candidate] = []
    dominated: list[Rejected] = []
    for hosted, capable in assessed:
        # Hosts that run the same configurations keep the same ones.
        kept_of: dict[tuple[EngineConfig, ...], list[ReplicaCapability]] = {}
        for host in sorted(hosted):
            able = tuple(c for c in runnable[host] if c in capable)
            if able not in kept_of:
                kept_of[able], losers = prune_configs(
                    [capable[c] for c in able], catalog, where, equal_size=spares_by_instance(service)
                )
                dominated += [r.model_copy(update={"service": service.id}) for r in losers]
            found += [
                Candidate(service=service.id, capability=k, pool=pool.id, options=options)
                for k in kept_of[able]
                for pool, options in hosted[host]
            ]
    refused_configs = [Rejected(what=r.config.id, service=service.id, checks=r.checks) for r in dict.fromkeys(refusals)]
    return sorted(found, key=lambda c: c.id), [*sorted(refused_configs, key=lambda r: r.what), *_unique(dominated)]


def _assessed(
    service: Service,
    loads: tuple[RequestLoad, ...],
    hosts: Iterable[Host],
    runnable: Mapping[Host, Sequence[EngineConfig]],
    spec: Spec,
    catalog: Catalog,
) -> tuple[dict[EngineConfig, ReplicaCapability], list[Refusal]]:
    """What each configuration of some hosts can do for the loads, and why others can do nothing, or not all."""
    capable: dict[EngineConfig, ReplicaCapability] = {}
    refusals: list[Refusal] = []
    rates = _largest_rates(service, spec.policy.headroom.forecast_margin)
    for answer in assess_many(
        list(dict.fromkeys(c for h in sorted(hosts) for c in runnable[h])),
        loads,
        catalog,
        headroom=spec.policy.headroom,
        batch=service.kind == WorkloadKind.BATCH,
        measured=spec.measured_rows,
        estimators=spec.policy.estimators,
    ):
        if isinstance(answer, Refusal):
            refusals.append(answer)
        elif check := _too_slow(rates, answer):
            refusals.append(Refusal(config=answer.config, checks=(check,)))
        else:
            capable[answer.config] = answer
            refusals += [Refusal(config=answer.config, checks=checks) for _, checks in answer.refused_classes if checks]
    return capable, refusals


def _largest_rates(service: Service, margin: float) -> list[tuple[float, ...]]:
    """[several][class] sizing rates with their margin, of slices that no other slice exceeds in every class."""
    several = {tuple(margin * c.sizing_req_per_s[t] for c in service.classes) for t in range(len(service.band_weights))}
    return [a for a in several if not any(b != a and all(x <= y for x, y in zip(a, b, strict=True)) for b in several)]


def _too_slow(several: Sequence[Sequence[float]], replica: ReplicaCapability) -> Check | None:
    """The check that a replica fails which is so slow, or a demand so large, that no fleet of it is a plan."""
    most = 0.0
    for rates in several:
        served = [x if ok else 0.0 for x, ok in zip(rates, replica.served, strict=True)]
        most = max(most, *(math.fsum(x * u for x, u in zip(served, row.use, strict=True)) for row in replica.rows))
    if most <= MOST_REPLICAS:
        return None
    detail = "so many replicas would be needed that no fleet of them is a plan"
    return Check(
        check="replicas", kind=CheckKind.PHYSICAL, needed=most, had=MOST_REPLICAS, unit="replicas", detail=detail
    )


def _where(
    assessed: Sequence[tuple[Hosted, Mapping[EngineConfig, object]]], runnable: Mapping[Host, Sequence[EngineConfig]]
) -> dict[EngineConfig, set[tuple[int, Host]]]:
    """Where each configuration can serve: kinds of hosts, apart by the round trips of their country."""
    found: dict[EngineConfig, set[tuple[int, Host]]] = defaultdict(set)
    for number, (hosted, capable) in enumerate(assessed):
        for host in hosted:
            for config in runnable[host]:
                if config in capable:
                    found[config].add((number, host))
    return found


def _unique(rejected: Iterable[Rejected]) -> list[Rejected]:
    return sorted(dict.fromkeys(rejected), key=lambda r: r.what)
