"""Ranking in parts: a plan soon, a bound of the whole, wider parts where one has no plan."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import planner.solve.programme as programme_module
from planner.candidates.types import Problem
from planner.solve.engine import SolverChild
from planner.solve.programme import CompiledProgramme, is_heavy
from planner.solve.rank import rank
from planner.solve.ranking import RankOptions
from planner.solve.types import Solved, SolveOptions
from planner.spec.types import Budget, Policy, Resilience, Spare, SpareDomain
from tests.formulation.small import candidate, capability, pool, problem, request_class, service
from tests.solve.test_rank import OD, catalog, verifier


@pytest.fixture(scope="module")
def child() -> Iterator[SolverChild]:
    with SolverChild() as running:
        yield running


@pytest.fixture(autouse=True)
def everything_is_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme_module, "HEAVY", 1)


def spread(zones: int, stock: int | None = None, rate: float = 10.0, policy: Policy | None = None) -> Problem:
    """One instance to spare and any zone may be lost; 1 req/s per accelerator, dearer from zone to zone."""
    rule = Resilience(
        spare=Spare(count=1, domain=SpareDomain.INSTANCE), survive_loss_of=("zone",), serve_fraction=1.0
    )  # fmt: skip
    cls = request_class([rate])
    pools = [pool(f"p{z}", 2, {OD: 4.0 + 0.1 * z}, zone=f"z{z}") for z in range(zones)]
    if stock is not None:
        pools = [
            p.model_copy(update={"prices": tuple(x.model_copy(update={"max_instances": stock}) for x in p.prices)})
            for p in pools
        ]
    seats = [candidate(k, p) for p in pools for k in (capability(1, (1.0,)), capability(2, (0.6,)))]
    return problem((730.0,), [service(cls).model_copy(update={"resilience": rule})], pools, seats, policy=policy)


def in_parts(p: Problem) -> CompiledProgramme:
    return CompiledProgramme.of(p, catalog(), in_parts=True)


@pytest.mark.parametrize("zones", [2, 3, 6, 9])
def test_a_part_gives_a_plan_and_a_bound_of_the_whole(child: SolverChild, zones: int) -> None:
    p = spread(zones)
    programme = in_parts(p)
    assert programme.is_part
    found = rank(programme, verifier(p), RankOptions(time_limit_s=20.0, top=1), child)
    best = rank(CompiledProgramme.of(p, catalog()), verifier(p), RankOptions(time_limit_s=20.0, top=1), child)
    assert found.status == "planned"
    assert found.bound_usd_per_month is not None
    assert 0 < found.bound_usd_per_month <= best.entries[0].total_usd_per_month * (1 + 1e-9)
    assert found.entries[0].total_usd_per_month >= best.entries[0].total_usd_per_month * (1 - 1e-3)
    assert any("sought among" in note for note in found.notes)


def test_a_plan_comes_in_little_time(child: SolverChild) -> None:
    p = spread(40, rate=30.0)
    found = rank(in_parts(p), verifier(p), RankOptions(time_limit_s=6.0, top=1), child)
    assert found.status == "planned"
    assert found.entries[0].gap < 1


def test_parts_without_a_plan_are_widened_to_the_whole(child: SolverChild) -> None:
    """Each zone sells two instances: only all zones together are enough."""
    p = spread(9, stock=1, rate=9.0)
    found = rank(in_parts(p), verifier(p), RankOptions(time_limit_s=30.0, top=1), child)
    best = rank(CompiledProgramme.of(p, catalog()), verifier(p), RankOptions(time_limit_s=30.0, top=1), child)
    assert found.status == best.status == "planned"
    assert found.entries[0].total_usd_per_month == pytest.approx(best.entries[0].total_usd_per_month, rel=1e-3)


def test_what_has_no_plan_is_proven_to_have_none(child: SolverChild) -> None:
    p = spread(3, stock=1, rate=50.0)
    found = rank(in_parts(p), verifier(p), RankOptions(time_limit_s=20.0, top=1), child)
    assert found.status == "infeasible"


def test_only_rules_for_emergencies_make_a_problem_heavy() -> None:
    p = spread(3)
    assert is_heavy(p)
    calm = [s.model_copy(update={"resilience": Resilience()}) for s in p.demand.services]
    assert not is_heavy(p.model_copy(update={"demand": p.demand.model_copy(update={"services": tuple(calm)})}))


def test_the_whole_of_a_part_is_the_core(child: SolverChild) -> None:
    programme = in_parts(spread(9))
    last = programme
    while last.is_part:
        assert last.core == programme.core
        assert len(last.compiled.problem.candidates) <= len(last.core.candidates)
        last = last.wider()
    assert last.compiled.problem == programme.core
    assert last.wider() is last
    assert programme.whole().milp.objective() == last.milp.objective()
    assert replace(programme, width=2).is_last_part()


def test_a_plan_of_a_part_is_a_start_for_what_is_wider(child: SolverChild) -> None:
    """With its whole numbers held, the wider programme has a solution of the same cost."""
    p = spread(9)
    part = in_parts(p.model_copy(update={"pools": p.pools[::-1]}))  # the dear ones first, so numbers differ
    answer = child.solve(part.milp, SolveOptions(time_limit_s=20.0))
    assert isinstance(answer, Solved)
    wider = part.wider()
    assert wider.compiled.sets.pool_index["p0"] > part.compiled.sets.pool_index["p0"]
    start = wider.start_from(part, answer.values)
    held = wider.milp.copy()
    held.variables = [
        replace(v, lower=x, upper=x) if v.integer else v for v, x in zip(held.variables, start, strict=True)
    ]
    again = child.solve(held, SolveOptions(time_limit_s=20.0))
    assert isinstance(again, Solved)
    assert again.objective == pytest.approx(answer.objective, rel=1e-6)


def test_wide_problems_that_prices_cannot_take_apart_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme_module, "HEAVY", 10**9)
    strict = spread(4)
    relaxed = tuple(s.model_copy(update={"resilience": Resilience()}) for s in strict.demand.services)
    plain = strict.model_copy(update={"demand": strict.demand.model_copy(update={"services": relaxed})})
    budget = plain.model_copy(update={"policy": Policy(budget=Budget(usd_per_month=1e6))})
    assert not is_heavy(plain) and not is_heavy(budget)
    monkeypatch.setattr(programme_module, "WIDE", 1)
    assert not is_heavy(plain), "prices take it apart"
    assert is_heavy(budget)
