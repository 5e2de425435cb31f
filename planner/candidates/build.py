"""From spec, catalog and demand to the `Problem`: every possible column, and a record of everything refused."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.apis import build_apis
from planner.candidates.markets import shortened
from planner.candidates.places import place_checks, provider_checks
from planner.candidates.pools import build_pools
from planner.candidates.prune import prune_configs
from planner.candidates.quotas import resolve_quotas
from planner.candidates.types import ApiCandidate, Candidate, Pool, Problem, Rejected
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand, RequestClass, Service
from planner.performance.assess import assess_many
from planner.performance.configs import enumerate_configs
from planner.performance.types import EngineConfig, Refusal, ReplicaCapability, RequestLoad
from planner.spec.types import Spec, SpotModel, WorkloadKind
from planner.units import MONTHS_PER_QUARTER, ms_to_s

Progress = Callable[[str], None]
Memo = dict[object, tuple[list[Candidate], list[Rejected]]]
"""Candidates and refusals of a service by everything that they depend on."""
MOST_REPLICAS = 100_000
"""A configuration of which a service would need more than this is refused, not squeezed into the programme."""
MOST_RESTARTING = 0.999
"""Spot that spends this share of its time starting again serves nothing."""
INSTANCE_OPTIONS = tuple(o for o in PurchaseOption if o != PurchaseOption.API)


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """What a configuration needs to know of a pool: equal hosts take equal configurations."""

    accelerator: str
    tensor_parallel_domain: int
    accelerators: int
    network_gb_per_s: float
    interconnect: str

    @classmethod
    def of(cls, pool: Pool) -> Host:
        size = (pool.tensor_parallel_domain, pool.accelerators)
        return cls(pool.accelerator, *size, pool.network_gb_per_s, pool.interconnect)


def build_problem(
    spec: Spec, catalog: Catalog, demand: Demand, progress: Progress | None = None, memo: Memo | None = None
) -> Problem:
    """Everything that a plan may use, and everything refused with all its failed checks.

    Deterministic: services, pools, candidates and refusals come in canonical order whatever the order of the input.
    `memo` keeps the candidates of services over many specs of one catalog: what an edit does not touch is not
    assessed again. The catalogs may differ in prices only.
    """
    say = progress or (lambda _: None)
    pools, rejected_offers = build_pools(spec, catalog)
    rejected: list[Rejected] = list(rejected_offers)
    candidates: list[Candidate] = []
    apis: list[ApiCandidate] = []
    for service in demand.services:
        say(f"candidates of {service.id}")
        allowed, refused_pools = allowed_pools(service, pools, spec, catalog)
        found, refused = _remembered(service, allowed, spec, catalog, memo)
        candidates += found
        rejected += [*refused_pools, *refused]
        found_apis, refused_apis = build_apis(service, spec.policy, catalog)
        apis += found_apis
        rejected += refused_apis
    quotas, unknown = resolve_quotas(spec.policy.quotas, pools)
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
        assumptions=demand.assumptions,
        unknown_quotas=unknown,
    )
    return shortened(problem, candidates)


def _remembered(
    service: Service,
    allowed: Sequence[tuple[Pool, tuple[PurchaseOption, ...]]],
    spec: Spec,
    catalog: Catalog,
    memo: Memo | None,
) -> tuple[list[Candidate], list[Rejected]]:
    """`service_candidates`, made once per everything that it reads of service, pools and policy."""
    if memo is None:
        return service_candidates(service, allowed, spec, catalog)
    places = tuple((p.id, Host.of(p), p.country, options) for p, options in allowed)
    policy = (spec.policy.headroom, spec.policy.estimators, spec.policy.max_configurations is None)
    key = (service, places, policy, spec.measured)
    if key not in memo:
        memo[key] = service_candidates(service, allowed, spec, catalog)
    return memo[key]


def tail_quarters(spec: Spec, catalog: Catalog) -> int:
    """Quarters from the horizon's end until the longest term on offer, begun in the last quarter, has ended.

    On offer: sold somewhere in the catalog under an option that some workload allows.
    """
    allowed = {option for w in spec.workloads for option in w.purchase.options}
    terms = [o.term_months for o in catalog.offers if o.usable and o.option in allowed]
    return max(0, max(terms, default=0) // MONTHS_PER_QUARTER - 1)


def fold(rejected: Iterable[Rejected]) -> list[Rejected]:
    """Equal refusals become one with their count; order of first appearance."""
    counts: dict[Rejected, int] = defaultdict(int)
    for r in rejected:
        counts[r] += r.count
    return [r.model_copy(update={"count": n}) for r, n in counts.items()]


def pool_options(service: Service, pool: Pool, spec: Spec) -> tuple[list[PurchaseOption], list[Check]]:
    """Purchase options that the service allows and the pool sells, and why spot of the pool is not among them."""
    allowed = set(service.options)
    if pool.commitment is not None and PurchaseOption(pool.commitment.rsplit("/", 1)[1]) in allowed:
        allowed.add(PurchaseOption.OWNED)  # held machines are there for whoever may use such a commitment
    sold = [p.option for p in pool.prices if p.option in allowed and p.max_instances != 0]
    failed: list[Check] = []
    if PurchaseOption.SPOT in sold:
        terms = pool.spot
        restarting = terms.interruptions_per_up_hour * terms.start_h if terms else 0.0
        no_fallback = spec.policy.spot.model == SpotModel.FALLBACK and (
            terms is None or terms.fallback_usd_per_hour is None or PurchaseOption.ON_DEMAND not in service.options
        )
        if restarting > MOST_RESTARTING:
            sold.remove(PurchaseOption.SPOT)
            detail = "it is interrupted so often that it does nothing but start"
            failed.append(
                Check(check="spot_restarts", kind=CheckKind.PHYSICAL, needed=MOST_RESTARTING, had=restarting,
                      unit="of its time", detail=detail)
            )  # fmt: skip
        elif no_fallback:
            sold.remove(PurchaseOption.SPOT)
            detail = "while spot is away on-demand of the same place must take over, and none is sold or allowed"
            failed.append(
                Check(check="spot_fallback", kind=CheckKind.POLICY, needed="on_demand", had="none", detail=detail)
            )
        elif service.max_spot_share == 0:
            sold.remove(PurchaseOption.SPOT)
            detail = "purchase.max_spot_share is 0"
            failed.append(Check(check="max_spot_share", kind=CheckKind.POLICY, needed=0.0, had="spot", detail=detail))
    return sold, failed


def allowed_pools(
    service: Service, pools: Sequence[Pool], spec: Spec, catalog: Catalog
) -> tuple[list[tuple[Pool, tuple[PurchaseOption, ...]]], list[Rejected]]:
    """Pools that the service may use with their allowed options; refusals are per provider, region and accelerator."""
    allowed: list[tuple[Pool, tuple[PurchaseOption, ...]]] = []
    rejected: list[Rejected] = []
    for pool in pools:
        countries = (pool.country,) if pool.country else None
        failed = [] if pool.provider == "owned" else provider_checks(pool.provider, spec.policy.providers, catalog)
        failed += place_checks(countries, pool.operator_jurisdiction, pool.certifications, service.sovereignty, catalog)
        options, option_checks = pool_options(service, pool, spec)
        if not options and not option_checks:
            sold = ", ".join(p.option.value for p in pool.prices)
            wanted = ", ".join(o.value for o in service.options)
            failed.append(Check(check="option", kind=CheckKind.POLICY, needed=wanted, had=sold))
        if failed or not options:
            checks = (*failed, *option_checks)
            rejected.append(
                Rejected(what=f"{pool.accelerator} at {pool.provider}/{pool.region}", service=service.id, checks=checks)
            )
        else:
            allowed.append((pool, tuple(sorted(options))))
            if option_checks:
                what = f"{PurchaseOption.SPOT.value} {pool.accelerator} at {pool.provider}/{pool.region}"
                rejected.append(Rejected(what=what, service=service.id, checks=tuple(option_checks)))
    return allowed, rejected


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


def service_precisions(service: Service, model: str, catalog: Catalog) -> tuple[str, ...]:
    """The listed precisions, or the checkpoint's native one and FP8 (the contract's default)."""
    if service.precisions is not None:
        return service.precisions
    return tuple(sorted({catalog.model(model).native_precision, "fp8"}))


def service_engines(service: Service, catalog: Catalog) -> tuple[str, ...]:
    """The listed engines, or the catalog's production engines."""
    return service.engines or tuple(e.id for e in catalog.engines if e.production)


def host_configs(
    service: Service, hosts: Iterable[Host], spec: Spec, catalog: Catalog
) -> tuple[dict[Host, list[EngineConfig]], list[Refusal]]:
    """Configurations that each kind of host can run, and those it cannot."""
    runnable: dict[Host, list[EngineConfig]] = {}
    refusals: list[Refusal] = []
    for host in sorted(hosts):
        runnable[host] = []
        for model in service.models:
            configs, refused = enumerate_configs(
                catalog,
                model,
                host.accelerator,
                precisions=service_precisions(service, model, catalog),
                kv_precisions=service.kv_precisions,
                engines=service_engines(service, catalog),
                gpu_memory_utilization=service.gpu_memory_utilization,
                max_num_seqs=service.max_num_seqs,
                tensor_parallel_domain=host.tensor_parallel_domain,
                accelerators_per_instance=host.accelerators,
                network_gb_per_s=host.network_gb_per_s,
                interconnect=host.interconnect,
                measured=spec.measured,
            )
            runnable[host] += configs
            refusals += refused
    return runnable, refusals


def service_candidates(
    service: Service, allowed: Sequence[tuple[Pool, tuple[PurchaseOption, ...]]], spec: Spec, catalog: Catalog
) -> tuple[list[Candidate], list[Rejected]]:
    """Candidates of one service over its allowed pools, dominated configurations left out, and all refusals."""
    runnable, refusals = host_configs(service, {Host.of(p) for p, _ in allowed}, spec, catalog)
    by_loads: dict[tuple[RequestLoad, ...], list[tuple[Pool, tuple[PurchaseOption, ...]]]] = defaultdict(list)
    for pool, options in allowed:
        by_loads[request_loads(service, pool.country, catalog)].append((pool, options))
    found: list[Candidate] = []
    dominated: list[Rejected] = []
    assessed: list[tuple[list[tuple[Pool, tuple[PurchaseOption, ...]]], dict[EngineConfig, ReplicaCapability]]] = []
    for loads, members in sorted(by_loads.items(), key=lambda kv: kv[1][0][0].id):
        hosts = {Host.of(p) for p, _ in members}
        configs = list(dict.fromkeys(c for h in sorted(hosts) for c in runnable[h]))
        capable: dict[EngineConfig, ReplicaCapability] = {}
        for answer in assess_many(
            configs,
            loads,
            catalog,
            headroom=spec.policy.headroom,
            batch=service.kind == WorkloadKind.BATCH,
            measured=spec.measured,
            estimators=spec.policy.estimators,
        ):
            if isinstance(answer, Refusal):
                refusals.append(answer)
            elif check := _too_slow(service, answer, spec.policy.headroom.forecast_margin):
                refusals.append(Refusal(config=answer.config, checks=(check,)))
            else:
                capable[answer.config] = answer
                refusals += [
                    Refusal(config=answer.config, checks=checks) for _, checks in answer.refused_classes if checks
                ]
        assessed.append((members, capable))
    where = None if spec.policy.max_configurations is None else _where(assessed, runnable)
    for members, capable in assessed:
        for host in sorted({Host.of(p) for p, _ in members}):
            kept, losers = prune_configs([capable[c] for c in runnable[host] if c in capable], catalog, where)
            dominated += [r.model_copy(update={"service": service.id}) for r in losers]
            for pool, options in members:
                if Host.of(pool) == host:
                    found += [Candidate(service=service.id, capability=k, pool=pool.id, options=options) for k in kept]
    refused = [Rejected(what=r.config.id, service=service.id, checks=r.checks) for r in dict.fromkeys(refusals)]
    return sorted(found, key=lambda c: c.id), [*sorted(refused, key=lambda r: r.what), *_unique(dominated)]


def _too_slow(service: Service, replica: ReplicaCapability, margin: float) -> Check | None:
    """The check that a replica fails which is so slow, or a demand so large, that no fleet of it is a plan."""
    most = 0.0
    for t in range(len(service.band_weights)):
        rates = [
            margin * c.sizing_req_per_s[t] if ok else 0.0 for c, ok in zip(service.classes, replica.served, strict=True)
        ]
        most = max(most, *(math.fsum(x * u for x, u in zip(rates, row.use, strict=True)) for row in replica.rows))
    if most <= MOST_REPLICAS:
        return None
    detail = "so many replicas would be needed that no fleet of them is a plan"
    return Check(
        check="replicas", kind=CheckKind.PHYSICAL, needed=most, had=MOST_REPLICAS, unit="replicas", detail=detail
    )


def _where(
    assessed: Sequence[tuple[Sequence[tuple[Pool, tuple[PurchaseOption, ...]]], Mapping[EngineConfig, object]]],
    runnable: Mapping[Host, Sequence[EngineConfig]],
) -> dict[EngineConfig, set[tuple[int, Host]]]:
    """Where each configuration can serve: kinds of hosts, apart by the round trips of their country."""
    found: dict[EngineConfig, set[tuple[int, Host]]] = defaultdict(set)
    for number, (members, capable) in enumerate(assessed):
        for host in {Host.of(p) for p, _ in members}:
            for config in runnable[host]:
                if config in capable:
                    found[config].add((number, host))
    return found


def _unique(rejected: Iterable[Rejected]) -> list[Rejected]:
    return sorted(dict.fromkeys(rejected), key=lambda r: r.what)
