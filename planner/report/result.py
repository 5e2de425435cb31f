"""From a finished solve to the document of DESIGN §8. Every number is the verification's, none the solver's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from planner.base import PurchaseOption
from planner.candidates.types import ApiUse, Candidate, Deployment, Plan, Pool, Problem, Purchase, Rejected
from planner.catalog.catalog import Catalog, UnknownName
from planner.demand.build import first_day
from planner.demand.periods import day_of
from planner.demand.types import Demand, Service, Slice
from planner.explain.types import Explanation, Infeasibility
from planner.report.numbers import dump_json
from planner.report.possible import asked, mix_capacity, possible
from planner.report.types import (
    ApiView,
    AxesView,
    BaselineView,
    CostView,
    DemandView,
    DeploymentView,
    PlanView,
    PolicyView,
    Predicted,
    ProvenanceStamp,
    PurchaseView,
    Result,
    SliceView,
    SpotView,
)
from planner.spec.types import Spec
from planner.units import MONTHS_PER_QUARTER
from planner.verify.types import ApiCost, Delivery, PurchaseCost, Verification

TERMS = ("reserved", "on_demand", "spot", "owned", "power", "api", "egress", "ops_overhead", "sunk")
"""Cost terms that are always there, 0 where none occur, in this order; others follow by name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One verified plan of the ranked list, ready to be reported."""

    rank: int
    axis: str
    also: tuple[str, ...]
    title: str
    buys: tuple[str, ...]
    tie: bool
    plan: Plan
    check: Verification
    explanation: Explanation
    bound_usd_per_month: float
    gap: float
    axes: AxesView


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a solve found."""

    spec: Spec
    catalog: Catalog
    problem: Problem
    status: Literal["planned", "infeasible", "undecided"]
    deterministic: bool
    provenance: ProvenanceStamp
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    baselines: tuple[BaselineView, ...] = ()
    infeasibility: Infeasibility | None = None
    kept: tuple[Candidate, ...] = ()
    """Candidates that nothing else replaces."""


def build_result(answer: Answer) -> Result:
    """The document of a solve. Raises ValueError for a plan that did not verify: such a plan is never shown."""
    demand = answer.problem.demand
    plans = tuple(_plan(entry, answer) for entry in answer.entries)
    return Result(
        name=answer.spec.name,
        status=answer.status,
        deterministic=answer.deterministic,
        provenance=answer.provenance,
        starts_on=first_day(answer.spec, answer.catalog),
        policy=_policy(answer),
        slices=tuple(
            SliceView(id=s.id, quarter=s.quarter, label=s.label, hours_per_month=s.hours_per_month, order=s.order)
            for s in demand.slices
        ),
        demand=_demand(demand, answer.spec.policy.headroom.forecast_margin),
        plans=plans,
        notes=answer.notes,
        baselines=answer.baselines,
        rejected=sorted_rejected(answer.problem.rejected),
        infeasibility=answer.infeasibility,
        asked=asked(demand.services, answer.catalog),
        possible=possible(answer.problem, answer.kept),
    )


def _policy(answer: Answer) -> PolicyView:
    budget = answer.spec.policy.budget
    spot = [s.max_spot_share for s in answer.problem.demand.services]
    return PolicyView(
        budget_usd_per_month=None if budget is None else budget.usd_per_month,
        budget_basis="amortised" if budget is None else budget.basis.value,
        max_spot_share=max(spot, default=None),
    )


def result_json(result: Result) -> str:
    """The document as JSON text: numbers to 6 significant digits, no wall times, same input same bytes."""
    return dump_json(result.model_dump(mode="json", by_alias=True))


def sorted_rejected(rejected: Sequence[Rejected]) -> tuple[Rejected, ...]:
    """Refusals in an order that does not depend on how they were found."""
    return tuple(sorted(rejected, key=lambda r: (r.service or "", r.what, [c.check for c in r.checks])))


def _demand(demand: Demand, margin: float) -> tuple[DemandView, ...]:
    return tuple(
        DemandView.model_validate(
            {
                "workload": c.workload,
                "class": c.name,
                "slice": s.id,
                "mean_req_per_s": c.mean_req_per_s[i],
                "sizing_req_per_s": c.sizing_req_per_s[i] * margin,
            }
        )
        for c in demand.classes
        for i, s in enumerate(demand.slices)
    )


def _plan(entry: Entry, answer: Answer) -> PlanView:
    if not entry.check.ok:
        raise ValueError(f"plan {entry.rank} did not verify: {entry.check.violations[0]}")
    slices = [s.id for s in answer.problem.demand.slices]
    pools = {p.id: p for p in answer.problem.pools}
    cost = entry.check.cost
    return PlanView(
        rank=entry.rank,
        axis=entry.axis,
        also=entry.also,
        title=entry.title,
        buys=entry.buys,
        tie=entry.tie,
        cost=_cost(entry.check, answer.spec),
        bound_usd_per_month=entry.bound_usd_per_month,
        gap=max(0.0, entry.gap),
        axes=entry.axes,
        purchases=tuple(
            _purchase(p, c, pools[p.pool], answer.problem.demand.slices, first_day(answer.spec, answer.catalog))
            for p, c in sorted(
                zip(entry.plan.purchases, cost.purchases, strict=True),
                key=lambda pc: (pc[0].pool, pc[0].option.value, pc[0].start_month),
            )
            if any(p.instances)
        ),
        deployments=_deployments(entry, answer, pools, slices),
        api=_apis(entry.plan.api, cost.api, answer.problem, slices),
        explanation=entry.explanation,
    )


def _cost(check: Verification, spec: Spec) -> CostView:
    cost = check.cost
    extra = sorted(set(cost.terms) - set(TERMS))
    terms = {name: cost.terms.get(name, 0.0) for name in (*TERMS, *extra)}
    terms["sunk"] = cost.sunk_usd_per_month
    quarters = spec.horizon.quarters
    return CostView(
        total_usd_per_month=cost.total_usd_per_month,
        terms=terms,
        by_quarter=cost.by_quarter,
        total_horizon_usd=cost.total_usd_per_month * MONTHS_PER_QUARTER * quarters,
        liability_beyond_horizon_usd=cost.liability_beyond_horizon_usd,
        cash_usd_per_month=cost.cash_usd_per_month,
        cash_by_quarter=cost.cash_by_quarter,
        judged_usd_per_month=cost.judged_usd_per_month,
        cash_by_month=cost.cash_by_month,
        commitment_coverage=cost.commitments.coverage,
        commitment_utilization=cost.commitments.utilization,
        effective_savings_rate=cost.commitments.effective_savings_rate,
        usd_per_million_tokens=dict(sorted(cost.usd_per_million_tokens.items())),
    )


def _purchase(purchase: Purchase, cost: PurchaseCost, pool: Pool, slices: Sequence[Slice], begin: date) -> PurchaseView:
    price = pool.price(purchase.option)
    if price is None:
        raise ValueError(f"{purchase.pool} is not sold as {purchase.option.value}")
    first = next(s for s, n in zip(slices, purchase.instances, strict=True) if n)
    start = purchase.start_month if price.term_months else MONTHS_PER_QUARTER * (first.quarter - 1.0)
    until = price.until_month if pool.commitment else start + price.term_months if price.term_months else None
    return PurchaseView(
        offer=pool.commitment or f"{purchase.pool}/{purchase.option.value}",
        provider=pool.provider,
        region=pool.region,
        zone=pool.zone,
        country=pool.country,
        operator_jurisdiction=pool.operator_jurisdiction,
        instance_type=pool.instance_type,
        accelerator=pool.accelerator,
        accelerators_per_instance=pool.accelerators,
        purchase_option=purchase.option.value if pool.commitment is None else pool.commitment.rsplit("/", 1)[1],
        term_months=price.term_months,
        start_quarter=first.quarter,
        start_month=start,
        start_date=day_of(start, begin).isoformat() if price.term_months else None,
        end_date=None if until is None else day_of(until, begin).isoformat(),
        tentative=start > 0.0,
        existing=pool.commitment is not None,
        instances_by_slice=dict(zip((s.id for s in slices), purchase.instances, strict=True)),
        usd_per_hour=price.usd_in(first.quarter),
        usd_per_month=cost.usd_per_month,
        source=price.source,
        as_of=price.as_of.isoformat(),
        confidence=price.confidence.value,
        spot=_spot(pool) if purchase.option is PurchaseOption.SPOT else None,
    )


def _spot(pool: Pool) -> SpotView | None:
    terms = pool.spot
    if terms is None:
        return None
    return SpotView(
        availability=terms.availability,
        fallback_offer=terms.fallback_offer,
        fallback_usd_per_hour=terms.fallback_usd_per_hour,
    )


def _deployments(entry: Entry, answer: Answer, pools: dict[str, Pool], slices: list[str]) -> tuple[DeploymentView, ...]:
    services = {s.id: s for s in answer.problem.demand.services}
    found = {(d.service, d.config, d.pool, d.spot): d for d in entry.check.deliveries}
    views = []
    for d in sorted(entry.plan.deployments, key=lambda d: (d.service, d.config, d.pool, d.spot)):
        if any(d.replicas):
            delivery = found[d.service, d.config, d.pool, d.spot]
            views.append(_deployment(d, delivery, services[d.service], pools[d.pool], answer.catalog, slices))
    return tuple(views)


def _deployment(
    d: Deployment, delivery: Delivery, service: Service, pool: Pool, catalog: Catalog, slices: list[str]
) -> DeploymentView:
    config = delivery.capability.config
    return DeploymentView(
        service=d.service,
        workloads=service.workloads,
        model=config.model,
        precision=config.precision,
        kv_precision=config.kv_precision,
        engine=config.engine,
        tensor_parallel=config.tensor_parallel,
        pipeline_parallel=config.pipeline_parallel,
        expert_parallel=config.expert_parallel,
        accelerator=pool.accelerator,
        pool=d.pool,
        spot=d.spot,
        replicas_by_slice=dict(zip(slices, d.replicas, strict=True)),
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        router=_router(catalog, config.engine),
        predicted=Predicted(
            ttft_p95_ms=_finite(delivery.ttft_p95_ms),
            tpot_p95_ms=_finite(delivery.tpot_p95_ms),
            capacity_req_per_s_per_replica=mix_capacity(delivery.capability, service),
            utilization_mean=_finite(delivery.utilization_mean),
            utilization_peak=_finite(delivery.utilization_peak),
            kv_tokens=math.floor(max(0.0, delivery.capability.memory.kv_cache_tokens)),
            provenance=delivery.capability.provenance.value,
            error_band=delivery.capability.error_band,
        ),
    )


def _router(catalog: Catalog, engine: str) -> str:
    try:
        return catalog.engine(engine).router
    except UnknownName:
        return "least-request"


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _apis(uses: Sequence[ApiUse], costs: Sequence[ApiCost], problem: Problem, slices: list[str]) -> tuple[ApiView, ...]:
    """API volumes, the classes of one workload at one API added up."""
    workload_of = {c.id: c.workload for c in problem.demand.classes}
    offers = {a.api: a for a in problem.apis}
    sums: dict[tuple[str, str], tuple[list[float], list[float], list[float]]] = {}
    for use, cost in zip(uses, costs, strict=True):
        key = (workload_of[use.request_class], use.api)
        mean, peak, money = sums.setdefault(key, ([0.0] * len(slices), [0.0] * len(slices), [0.0]))
        for i in range(len(slices)):
            mean[i] += cost.mean_req_per_s[i]
            peak[i] += cost.peak_req_per_s[i]
        money[0] += cost.usd_per_month
    return tuple(
        ApiView(
            workload=workload,
            api=api,
            provider=offers[api].provider,
            mean_req_per_s_by_slice=dict(zip(slices, mean, strict=True)),
            peak_req_per_s_by_slice=dict(zip(slices, peak, strict=True)),
            usd_per_month=money[0],
            countries=offers[api].countries,
            operator_jurisdiction=offers[api].operator_jurisdiction,
            confidence=offers[api].confidence.value,
        )
        for (workload, api), (mean, peak, money) in sorted(sums.items())
        if max(peak, default=0.0) > 0 or money[0] > 0
    )
