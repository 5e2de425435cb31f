"""Where a reduction that looks right is not: each of these cost money or a plan before its condition was stated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.base import PurchaseOption
from planner.candidates.reduce import core
from planner.candidates.types import OptionPrice, Pool, Problem
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Solved, SolveOptions
from planner.spec.types import Budget, BudgetBasis, Policy
from tests.formulation.small import candidate, capability, pool, problem, request_class, service

OD, R1 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y


@pytest.fixture(scope="module")
def child() -> Iterator[SolverChild]:
    with SolverChild() as engine:
        yield engine


def usd_per_hour(p: Problem, child: SolverChild) -> float:
    answer = child.solve(compile_milp(p).milp, SolveOptions(relative_gap=0.0))
    assert isinstance(answer, Solved)
    return answer.objective


def seats(p: Problem) -> set[tuple[str, str]]:
    """(service, pool) of every candidate."""
    return {(c.service, c.pool) for c in p.candidates}


def by_day_and_by_night(cheaper: tuple[str, str]) -> Problem:
    """Two services busy at different hours share reserved machines in `both`; each has a cheaper place of its own."""
    hours = (365.0, 365.0)
    day = service(request_class([1.0, 0.0], workload="day"), name="day")
    night = service(request_class([0.0, 1.0], workload="night"), name="night")
    places = {
        "both": pool("both", 1, {R1: 1.0}, accelerator="X"),
        "sun": pool("sun", 1, {R1: 0.9}, accelerator="Y"),
        "moon": pool("moon", 1, {R1: 0.9}, accelerator="Z"),
    }
    wanted = [("day", "both"), ("night", "both"), ("day", cheaper[0]), ("night", cheaper[1])]
    found = [
        candidate(capability(1, (1.0,), accelerator=places[p].accelerator, precision=s), places[p], name=s)
        for s, p in wanted
    ]
    return problem(hours, [day, night], [places[p] for p in sorted({p for _, p in wanted})], found)


def test_a_commitment_that_serves_one_by_day_and_another_by_night_is_kept(child: SolverChild) -> None:
    whole = by_day_and_by_night(("sun", "moon"))
    assert usd_per_hour(whole, child) == pytest.approx(1.0)
    assert usd_per_hour(core(whole), child) == pytest.approx(1.0)


def test_a_commitment_leaves_where_all_who_share_it_go_to_one_place(child: SolverChild) -> None:
    whole = by_day_and_by_night(("sun", "sun"))
    left = core(whole)
    assert seats(left) == {("day", "sun"), ("night", "sun")}
    assert usd_per_hour(left, child) == pytest.approx(usd_per_hour(whole, child)) == pytest.approx(0.9)


def test_a_replica_over_two_instances_may_stand_on_a_reserved_and_a_rented_one(child: SolverChild) -> None:
    """One reserved instance is to be had: with a rented one beside it a replica of two costs 1.6, not 2."""
    k = capability(2, (1.0,))
    one = pool("one", 1, {OD: 1.0, R1: 0.6}, most={R1: 1})
    other = pool("another", 1, {OD: 1.0})
    whole = problem((730,), [service(request_class([1.0]))], [one, other], [candidate(k, one), candidate(k, other)])
    assert usd_per_hour(whole, child) == pytest.approx(1.6)
    assert usd_per_hour(core(whole), child) == pytest.approx(1.6)


def upfront(p: Pool, share: float) -> Pool:
    """The pool with its reserved price paid upfront."""

    def paid(price: OptionPrice) -> OptionPrice:
        return price.model_copy(update={"upfront_fraction": share if price.term_months else 0.0})

    return p.model_copy(update={"prices": tuple(map(paid, p.prices))})


def test_a_dearer_commitment_without_upfront_payment_is_kept_for_a_budget_in_cash(child: SolverChild) -> None:
    cheap, dear = upfront(pool("cheap", 1, {R1: 0.9}, accelerator="Y"), 1.0), pool("dear", 1, {R1: 1.0})
    found = [candidate(capability(1, (1.0,), accelerator=p.accelerator), p) for p in (cheap, dear)]
    policy = Policy(budget=Budget(usd_per_month=1000.0, basis=BudgetBasis.CASH))
    whole = problem((730,), [service(request_class([1.0]))], [cheap, dear], found, policy=policy)
    assert usd_per_hour(core(whole), child) == pytest.approx(usd_per_hour(whole, child)) == pytest.approx(1.0)


def test_one_configuration_in_two_places_counts_once(child: SolverChild) -> None:
    """The cheap place of `p0` has room for one; its dear place is beaten by `p1`, but that would be a second one."""
    a, b = capability(1, (1.0,), precision="p0"), capability(1, (1.0,), accelerator="Y", precision="p1")
    little, dear = pool("little", 1, {OD: 0.1}, most={OD: 1}), pool("dear", 1, {OD: 1.0})
    other = pool("other", 1, {OD: 0.9}, accelerator="Y")
    found = [candidate(a, little), candidate(a, dear), candidate(b, other)]
    one = service(request_class([2.0]))
    whole = problem((730,), [one], [little, dear, other], found, policy=Policy(max_configurations=1))
    assert usd_per_hour(core(whole), child) == pytest.approx(usd_per_hour(whole, child)) == pytest.approx(1.1)
    free = whole.model_copy(update={"policy": Policy()})
    assert ("s", "dear") not in seats(core(free))
    assert usd_per_hour(core(free), child) == pytest.approx(usd_per_hour(free, child)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("room", "option", "kept"), [(1, OD, {"p1"}), (8, OD, {"p0", "p1"}), (8, R1, {"p1"}), (1, R1, {"p1"})]
)
def test_a_weaker_configuration_leaves_its_own_pool(room: int, option: PurchaseOption, kept: set[str]) -> None:
    """Not where it may ride along on a rented instance that is paid for: its precision may be the better one."""
    weak, strong = capability(1, (1.0,), precision="p0"), capability(1, (0.5,), precision="p1")
    p = pool("p", room, {option: float(room)})
    asked = service(request_class([1.0, 2.0]))
    left = core(problem((365, 365), [asked], [p], [candidate(weak, p), candidate(strong, p)]))
    assert {c.capability.config.precision for c in left.candidates} == kept
    assert {c.check for r in left.rejected for c in r.checks} == ({"dominated_by"} if len(kept) == 1 else set())
