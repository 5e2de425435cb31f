"""What verify must find, on tight plans that brute force made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from planner.base import TERM_MONTHS, PurchaseOption
from planner.candidates.types import ApiUse, Plan
from planner.verify.verify import Verifier
from tests import strategies as s
from tests.properties.brute import Best, TooLarge, best_plan


def best_of(case: s.Case, verifier: Verifier) -> Best:
    """The cheapest plan of a case; cases without one are left out."""
    try:
        best = best_plan(verifier.facts)
    except TooLarge:
        best = None
    assume(best is not None)
    assert best is not None
    return best


@given(s.cases())
def test_the_best_plan_by_brute_force_verifies_at_its_cost(case):
    verifier = Verifier(case.spec, case.catalog)
    best = best_of(case, verifier)
    found = verifier.verify(best.plan, best.usd_per_month)
    assert found.violations == ()
    assert sum(found.cost.terms.values()) == pytest.approx(found.cost.total_usd_per_month)
    assert found.headroom_factor is None or found.headroom_factor >= 1 - 1e-6


def replaced(items: tuple, index: int, **changes) -> tuple:
    return tuple(x.model_copy(update=changes) if i == index else x for i, x in enumerate(items))


def without(items: tuple, index: int) -> tuple:
    return items[:index] + items[index + 1 :]


def bumped(counts: tuple[int, ...], index: int, by: int) -> tuple[int, ...]:
    return tuple(n + by if i == index else n for i, n in enumerate(counts))


def purchase_mutations(plan: Plan, case: s.Case) -> Iterator[tuple[str, Plan]]:
    """One instance less or more, another pool, another option."""
    pools = sorted({o.pool_id for o in case.catalog.offers} | {"cloud9/r1/box"})
    for i, p in enumerate(plan.purchases):
        for t, n in enumerate(p.instances):
            for by in (-1, 1):
                if n + by >= 0 and not (by > 0 and n == 0):
                    # A commitment changes as a whole; changing one slice is a mutation too.
                    changed = {"instances": bumped(p.instances, t, by)}
                    yield (
                        f"instances {by:+d}",
                        plan.model_copy(update={"purchases": replaced(plan.purchases, i, **changed)}),
                    )
        if TERM_MONTHS[p.option]:
            for by in (-1, 1):
                whole = {"instances": tuple(n + by for n in p.instances)}
                yield f"commitment {by:+d}", plan.model_copy(update={"purchases": replaced(plan.purchases, i, **whole)})
        for pool in pools:
            if pool != p.pool:
                yield (
                    "purchase in another pool",
                    plan.model_copy(update={"purchases": replaced(plan.purchases, i, pool=pool)}),
                )
        for option in PurchaseOption:
            if option is not p.option:
                other = replaced(plan.purchases, i, option=option)
                yield "another option", plan.model_copy(update={"purchases": other})
        yield "purchase dropped", plan.model_copy(update={"purchases": without(plan.purchases, i)})


def replica_mutations(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """One replica less."""
    for i, d in enumerate(plan.deployments):
        for t, n in enumerate(d.replicas):
            if n:
                fewer = replaced(plan.deployments, i, replicas=bumped(d.replicas, t, -1))
                yield "replica less", plan.model_copy(update={"deployments": fewer})


def deployment_mutations(plan: Plan, case: s.Case) -> Iterator[tuple[str, Plan]]:
    """Another pool, precision or parallelism, spot flipped, a route less or more."""
    pools = sorted({o.pool_id for o in case.catalog.offers})
    for i, d in enumerate(plan.deployments):

        def changed(i: int = i, **fields) -> Plan:
            return plan.model_copy(update={"deployments": replaced(plan.deployments, i, **fields)})

        for pool in pools:
            if pool != d.pool:
                yield "deployment in another pool", changed(pool=pool)
        yield "another precision", changed(config=d.config.replace("/bf16/", "/fp8/"))
        yield "another engine", changed(config=d.config.replace("/vllm/", "/sglang/"))
        yield "another parallelism", changed(config=d.config[:-1] + ("2" if d.config.endswith("1") else "1"))
        yield "spot flipped", changed(spot=not d.spot)
        yield "another service", changed(service="nobody")
        for j, r in enumerate(d.routes):
            yield "route less", changed(routes=without(d.routes, j))
            yield "route twice", changed(routes=(*d.routes, r))
            yield "route in another band", changed(routes=replaced(d.routes, j, band=r.band + 1))
        yield "deployment dropped", plan.model_copy(update={"deployments": without(plan.deployments, i)})


def api_mutations(plan: Plan, case: s.Case) -> Iterator[tuple[str, Plan]]:
    """A route less or more, another API."""
    for i, a in enumerate(plan.api):

        def changed(i: int = i, **fields) -> Plan:
            return plan.model_copy(update={"api": replaced(plan.api, i, **fields)})

        for j, r in enumerate(a.routes):
            yield "API route less", changed(routes=without(a.routes, j))
            yield "API route twice", changed(routes=(*a.routes, r))
        yield "another API", changed(api="apico/unknown")
        yield "API dropped", plan.model_copy(update={"api": without(plan.api, i)})
    for c in {r.request_class for d in plan.deployments for r in d.routes}:
        moved = _moved_to_api(plan, c)
        if case.catalog.apis and moved is not None:
            yield "served by an API", moved


def _moved_to_api(plan: Plan, request_class: str) -> Plan | None:
    """One route of a class handed from its replicas to the API."""
    for i, d in enumerate(plan.deployments):
        for j, r in enumerate(d.routes):
            if r.request_class == request_class:
                kept = replaced(plan.deployments, i, routes=without(d.routes, j))
                use = ApiUse(request_class=request_class, api="apico/tiny-api", routes=(r,))
                return plan.model_copy(update={"deployments": kept, "api": (*plan.api, use)})
    return None


def mutations(plan: Plan, case: s.Case) -> Iterator[tuple[str, Plan]]:
    """Every single mutation of a plan."""
    yield from purchase_mutations(plan, case)
    yield from replica_mutations(plan)
    yield from deployment_mutations(plan, case)
    yield from api_mutations(plan, case)


def tightened(plan: Plan, verifier: Verifier) -> Plan:
    """The plan without the replicas that only fill machines already paid for."""
    for _, mutated in replica_mutations(plan):
        if verifier.verify(mutated).ok:
            return tightened(mutated, verifier)
    return plan


@given(s.cases())
def test_every_mutation_of_a_tight_plan_is_caught(case):
    verifier = Verifier(case.spec, case.catalog)
    best = best_of(case, verifier)
    plan = tightened(best.plan, verifier)
    assert verifier.verify(plan, best.usd_per_month).ok
    seen = set()
    for name, mutated in mutations(plan, case):
        seen.add(name)
        assert not verifier.verify(mutated, best.usd_per_month).ok, f"{name} went unnoticed:\n{plan}\n→\n{mutated}"
    event(f"kinds of mutation: {len(seen)}")


@given(s.cases(), st.data())
def test_no_plan_makes_verify_raise(case, data):
    """Three mutations after each other, the last of them a nonsense name or count: a verdict, never an exception."""
    verifier = Verifier(case.spec, case.catalog)
    plan = best_of(case, verifier).plan
    for _ in range(2):
        options = list(mutations(plan, case))
        assume(options)
        plan = data.draw(st.sampled_from(options))[1]
    for bad in nonsense(plan):
        assert not verifier.verify(bad).ok


def nonsense(plan: Plan) -> Iterator[Plan]:
    """The plan with names and counts that cannot be."""
    for i, _ in enumerate(plan.purchases):
        for change in ({"pool": ""}, {"pool": "a/b/c/d/e"}, {"instances": ()}, {"option": PurchaseOption.API}):
            yield plan.model_copy(update={"purchases": replaced(plan.purchases, i, **change)})
    for i, _ in enumerate(plan.deployments):
        for change in ({"config": ""}, {"pool": "//"}, {"service": ""}, {"replicas": ()}, {"replicas": (-1, -1)}):
            yield plan.model_copy(update={"deployments": replaced(plan.deployments, i, **change)})
    for i, _ in enumerate(plan.api):
        yield plan.model_copy(update={"api": replaced(plan.api, i, api="", request_class="")})
