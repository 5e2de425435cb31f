"""Fleets whose replicas do not fill instances by total size: the bound holds, and plans pack for real."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.candidates.types import Problem
from planner.formulation.compile import compile_milp
from planner.formulation.fleet_build import build_fleet, packs_by_size
from planner.solve.crew import Crew
from planner.solve.engine import SolverChild
from planner.solve.fleet import search
from planner.solve.large import Clock, _with_fixed
from planner.solve.types import Solved, SolveOptions
from tests.formulation.small import candidate, capability, pool, problem, request_class, service

OD, R1 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Replicas of 1, 2, 4 in instances of 6, of two services over two slices, beside instances that they fill."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=2, max_size=3, unique=True))
    odd = pool("odd", 6, {OD: draw(st.sampled_from([3.0, 5.0])), R1: draw(st.sampled_from([1.5, 4.0]))})
    even = pool("even", 4, {OD: draw(st.sampled_from([3.0, 4.5]))})
    services, seats = [], []
    for name in ("a", "b"):
        rates = draw(st.lists(st.integers(1, 12).map(float), min_size=2, max_size=2))
        services.append(service(request_class(rates, workload=name), name=name))
        for g in sizes:
            k = capability(g, (draw(st.sampled_from([0.5, 1.0, 1.7])) / g,))
            seats += [candidate(k, odd, name=name), candidate(k, even, name=name)]
    return problem((500, 230), services, [odd, even], seats)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problems())
def test_bound_holds_and_plans_pack(child: SolverChild, p: Problem) -> None:
    compiled = compile_milp(p)
    fleet = build_fleet(compiled.sets)
    assert fleet is not None
    exact = child.solve(compiled.milp, SolveOptions(relative_gap=0.0))
    assert isinstance(exact, Solved)
    limits = SolveOptions(time_limit_s=5.0, relative_gap=1e-6)
    with Crew(child) as crew:
        found = search(fleet.fleet, crew, limits)
    assert found.bound <= exact.objective * (1 + 1e-6)
    if found.plan is not None:
        fixed = fleet.values(compiled.milp, found.plan)
        values = _with_fixed(child, compiled.milp, fixed, limits, Clock(5.0), None)
        assert values is not None
        assert compiled.milp.value(compiled.milp.objective(), values) >= exact.objective * (1 - 1e-6)


def test_some_sizes_do_not_pack_by_size() -> None:
    odd = pool("odd", 6, {OD: 3.0})
    seats = [candidate(capability(g, (1.0,)), odd) for g in (1, 2, 4)]
    for some, packs in ((seats, False), (seats[:2], True)):
        sets = compile_milp(problem((730,), [service(request_class([3.0]))], [odd], some)).sets
        assert [packs_by_size(sets, p, group) for p, group in sets.markets] == [packs]


def test_open_purchases_are_not_said(child: SolverChild) -> None:
    odd = pool("odd", 6, {OD: 3.0})
    seats = [candidate(capability(g, (1.0 / g,)), odd) for g in (1, 2, 4)]
    compiled = compile_milp(problem((730,), [service(request_class([9.0]))], [odd], seats))
    fleet = build_fleet(compiled.sets)
    assert fleet is not None
    with Crew(child) as crew:
        found = search(fleet.fleet, crew, SolveOptions(time_limit_s=5.0))
    assert found.plan is not None
    said = fleet.values(compiled.milp, found.plan)
    assert not any(compiled.milp.variables[c].family == "on_demand" for c in said)
