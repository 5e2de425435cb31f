"""A rule at exactly what a plan uses holds; one step tighter, verify names the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import assume, event, given

from planner.base import PurchaseOption
from planner.candidates.types import Plan
from planner.spec.types import Budget, Policy, ProviderPolicy, Quota, QuotaUnit, SpotModel
from planner.verify.facts import Facts
from planner.verify.verify import Verifier
from tests import strategies as s
from tests.properties.brute import TooLarge, best_plan

STEP = 1e-3


def with_policy(case: s.Case, **fields) -> s.Case:
    return replace(case, spec=case.spec.model_copy(update={"policy": case.spec.policy.model_copy(update=fields)}))


def with_workloads(case: s.Case, change: Callable) -> s.Case:
    return replace(case, spec=case.spec.model_copy(update={"workloads": tuple(map(change, case.spec.workloads))}))


def check(case: s.Case, plan: Plan, family: str, allowed: s.Case | None, tighter: s.Case | None) -> None:
    """`allowed` accepts the plan, `tighter` names exactly this family."""
    event(family)
    if allowed is not None:
        assert Verifier(allowed.spec, allowed.catalog).verify(plan).violations == ()
    if tighter is not None:
        found = {v.family for v in Verifier(tighter.spec, tighter.catalog).verify(plan).violations}
        assert found == {family}, f"{family}: found {found}"


@given(s.cases())
def test_every_rule_binds_exactly_where_the_plan_stands(case):
    verifier = Verifier(case.spec, case.catalog)
    try:
        best = best_plan(verifier.facts)
    except TooLarge:
        best = None
    assume(best is not None)
    plan, facts = best.plan, verifier.facts
    usd = best.usd_per_month
    check(case, plan, "budget", *(with_policy(case, budget=Budget(usd_per_month=usd + d)) for d in (STEP, -1.0)))
    providers(case, plan, facts)
    quotas(case, plan, facts)
    offer_limits(case, plan)
    api_limits(case, plan)
    spot(case, plan)
    pairs = {(d.service, d.config) for d in plan.deployments}
    if len(pairs) > 1:
        limits = (with_policy(case, max_configurations=len(pairs) - d) for d in (0, 1))
        check(case, plan, "configurations", *limits)


def providers(case: s.Case, plan: Plan, facts: Facts) -> None:
    used = {p.pool.split("/")[0] for p in plan.purchases} | {a.api.split("/")[0] for a in plan.api}
    assume(used)
    allow = with_policy(case, providers=ProviderPolicy(allow=tuple(sorted(used)), max_count=len(used)))
    deny = with_policy(case, providers=ProviderPolicy(deny=(min(used),)))
    check(case, plan, "provider_limits", allow, deny)
    if len(used) > 1:
        check(case, plan, "provider_limits", None, with_policy(case, providers=ProviderPolicy(max_count=len(used) - 1)))
    elsewhere = with_workloads(case, lambda w: w.model_copy(update={"sovereignty": s.sovereign("JP")}))
    check(case, plan, "sovereignty", None, elsewhere)


def quotas(case: s.Case, plan: Plan, facts: Facts) -> None:
    options = tuple(o for o in PurchaseOption if o not in (PurchaseOption.API, PurchaseOption.OWNED))
    held = 0.0
    for t in range(len(facts.demand.slices)):
        now = 0.0
        for p in plan.purchases:
            pool = facts.market.pool(p.pool)
            away = 1 - pool.spot.availability if p.option is PurchaseOption.SPOT else 0.0
            now += p.instances[t] * pool.accelerators * (1 + away)
        held = max(held, now)
    if held:
        exact, less = (
            with_policy(case, quotas=(Quota(unit=QuotaUnit.ACCELERATORS, applies_to=options, limit=held + d),))
            for d in (0.0, -0.01)
        )
        check(case, plan, "quota", exact, less)


def offer_limits(case: s.Case, plan: Plan) -> None:
    for p in plan.purchases:
        most = max(p.instances)

        def limited(limit: int, p=p) -> s.Case:
            offers = tuple(
                o.model_copy(update={"max_instances": limit}) if o.id == f"{p.pool}/{p.option.value}" else o
                for o in case.catalog.offers
            )
            return replace(case, catalog=replace(case.catalog, offers=offers))

        check(case, plan, "offer", limited(most), limited(most - 1))


def api_limits(case: s.Case, plan: Plan) -> None:
    if plan.api:
        loads: dict[tuple[int, int], float] = {}
        for a in plan.api:
            for r in a.routes:
                loads[r.slice, r.band] = loads.get((r.slice, r.band), 0.0) + r.req_per_s
        most = max(loads.values())

        def limited(limit: float) -> s.Case:
            apis = tuple(a.model_copy(update={"max_req_per_s": limit}) for a in case.catalog.apis)
            return replace(case, catalog=replace(case.catalog, apis=apis))

        check(case, plan, "api_limits", limited(most), limited(most - max(1e-4, 1e-3 * most)))


def spot(case: s.Case, plan: Plan) -> None:
    if any(d.spot and d.routes for d in plan.deployments):

        def share(value: float) -> s.Case:
            return with_workloads(
                case,
                lambda w: w.model_copy(update={"purchase": w.purchase.model_copy(update={"max_spot_share": value})}),
            )

        check(case, plan, "spot_limit", share(1.0), share(0.0))
        credited: Policy = case.spec.policy.model_copy(
            update={"spot": case.spec.policy.spot.model_copy(update={"model": SpotModel.CREDITED})}
        )
        found = Verifier(case.spec.model_copy(update={"policy": credited}), case.catalog).verify(plan)
        # Credited spot counts its availability as capacity: never more capacity, never dearer.
        assert found.cost.total_usd_per_month <= verifier_cost(case, plan) + STEP


def verifier_cost(case: s.Case, plan: Plan) -> float:
    return Verifier(case.spec, case.catalog).price(plan).total_usd_per_month
