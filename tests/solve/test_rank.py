"""Claims about the ranked list, on a problem small enough to reason about."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

import pytest

import planner.solve.rank as rank_module
from planner.base import PurchaseOption
from planner.candidates.types import Plan, Problem, SpotTerms
from planner.catalog.catalog import Catalog
from planner.errors import Interrupted, SolverError
from planner.formulation.axes import Axis
from planner.formulation.compile import Compiled
from planner.solve.engine import SolverChild
from planner.solve.programme import CompiledProgramme
from planner.solve.rank import rank
from planner.solve.ranking import Entry, Ranking, RankOptions
from planner.solve.types import Progress, Solved, SolveOptions, StopReason, Undecided
from planner.spec.types import Budget, Policy
from tests.formulation.small import api, candidate, capability, pool, problem, request_class, service

OD, R1, R3, SPOT, API = (
    PurchaseOption.ON_DEMAND,
    PurchaseOption.RESERVED_1Y,
    PurchaseOption.RESERVED_3Y,
    PurchaseOption.SPOT,
    PurchaseOption.API,
)


@dataclass(frozen=True)
class Money:
    total_usd_per_month: float
    api_usd_per_month: float = 0.0

    @property
    def terms(self) -> dict[str, float]:
        return {"api": self.api_usd_per_month}

    @property
    def judged_usd_per_month(self) -> float:
        return self.total_usd_per_month


@dataclass(frozen=True)
class Checked:
    """A verdict made from the plan itself: prices of the problem times what is bought."""

    cost: Money
    headroom_factor: float | None
    violations: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.violations


def verifier(p: Problem, refuse: Callable[[Plan], bool] = lambda _: False) -> Callable[[Plan], Checked]:
    """Costs and head-room recomputed without the programme; `refuse` marks plans as broken."""
    pools = {x.id: x for x in p.pools}
    hours = [s.hours_per_month for s in p.demand.slices]
    capacity = {(c.service, c.capability.config.id): c.capability.capacity_req_per_s[0] for c in p.candidates}
    per_request = {(a.request_class, a.api): a.usd_per_request for a in p.apis}

    def verify(plan: Plan) -> Checked:
        total = 0.0
        for bought in plan.purchases:
            place = pools[bought.pool]
            price = place.price(bought.option)
            assert price is not None
            usd = price.usd_per_hour
            if bought.option is SPOT:
                assert place.spot is not None
                assert place.spot.fallback_usd_per_hour is not None
                share = place.spot.availability
                usd = share * usd + (1 - share) * place.spot.fallback_usd_per_hour
            total += sum(usd * n * h for n, h in zip(bought.instances, hours, strict=True))
        calls = sum(
            r.req_per_s * 3600 * hours[r.slice] * per_request[use.request_class, use.api]
            for use in plan.api
            for r in use.routes
        )
        total += calls
        served = sum(capacity[d.service, d.config] * d.replicas[0] for d in plan.deployments)
        over_api = sum(r.req_per_s for use in plan.api for r in use.routes if r.slice == 0)
        demand = sum(c.band_req_per_s[0][-1] for c in p.demand.classes)
        broken = ("replica_capacity[chat]",) if refuse(plan) else ()
        return Checked(Money(total, calls), (served + over_api) / demand, broken)

    return verify


def small_problem(policy: Policy | None = None) -> Problem:
    """10 req/s. Chip X: 1 req/s, 4.00 on demand, 2.50 reserved, 1.60 on spot. Chip Y: 3 req/s, 15.00 on demand."""
    cls = request_class([10.0], apis=("big",))
    terms = SpotTerms(
        interruptions_per_up_hour=0.0, start_h=0.1, availability=0.9, fallback_offer="x/on_demand",
        fallback_usd_per_hour=4.0,
    )  # fmt: skip
    x, y = pool("x", 1, {OD: 4.0, R1: 2.5, SPOT: 1.6}, spot=terms), pool("y", 1, {OD: 15.0}, accelerator="Y")
    kx, ky = capability(1, (1.0,)), capability(1, (1 / 3.3,), accelerator="Y")
    return problem(
        (730.0,), [service(cls, max_spot_share=0.5)], [x, y], [candidate(kx, x), candidate(ky, y)],
        [api(cls, 6.0 / 3600)], policy,
    )  # fmt: skip


def catalog() -> Catalog:
    """Without a row: signatures only ask it for country groups."""
    tables = dict.fromkeys(
        ("accelerators", "instance_types", "offers", "providers", "regions", "models", "precisions", "engines",
         "support", "apis", "profiles", "spot_markets", "round_trips", "groups"), ()
    )  # fmt: skip
    return Catalog(name="test", as_of=date(2026, 11, 30), sha256="0" * 64, **tables)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def child() -> Iterator[SolverChild]:
    with SolverChild() as running:
        yield running


def compiled_programme(p: Problem) -> CompiledProgramme:
    return CompiledProgramme.of(p, catalog())


def ranked(child: SolverChild, p: Problem, **changes: object) -> Ranking[Checked]:
    options = RankOptions(**{"time_limit_s": 30.0, "within": 0.6, "top": 8, "relative_gap": 0.0, **changes})  # type: ignore[arg-type]
    return rank(compiled_programme(p), verifier(p), options, child)


def by_axis(ranking: Ranking[Checked], axis: Axis) -> Entry[Checked] | None:
    return next((e for e in ranking.entries if axis in (e.axis, *e.also)), None)


def test_cheapest_comes_first_with_the_global_bound(child: SolverChild) -> None:
    """Half on spot (1.84 with its fallback), the other half reserved at 2.50."""
    ranking = ranked(child, small_problem())
    assert ranking.status == "planned"
    assert ranking.deterministic
    assert ranking.stop is StopReason.OPTIMAL
    best = ranking.entries[0]
    assert best.axis == Axis.CHEAPEST
    assert best.total_usd_per_month == pytest.approx(730 * (5 * 2.5 + 5 * (0.9 * 1.6 + 0.1 * 4.0)))
    assert best.gap <= 1e-6
    assert {e.bound_usd_per_month for e in ranking.entries} == {best.bound_usd_per_month}
    totals = [e.total_usd_per_month for e in ranking.entries]
    assert totals == sorted(totals)
    assert all(e.gap == pytest.approx(1 - e.bound_usd_per_month / e.total_usd_per_month) for e in ranking.entries)


def test_each_axis_is_bought_at_the_least_money(child: SolverChild) -> None:
    ranking = ranked(child, small_problem())
    no_spot = by_axis(ranking, Axis.LEAST_SPOT)
    assert no_spot is not None
    assert no_spot.measures[Axis.LEAST_SPOT] == 0.0
    assert no_spot.total_usd_per_month == pytest.approx(730 * 10 * 2.5)
    assert "no spot (was 50 % of peak)" in no_spot.buys
    assert no_spot.headline.startswith("Least spot: +15.2 % (+2,409 USD/month): no spot")
    free = by_axis(ranking, Axis.LEAST_COMMITTED)
    assert free is not None
    assert free.measures[Axis.LEAST_COMMITTED] == 0.0
    assert free.total_usd_per_month == pytest.approx(730 * (5 * 4.0 + 5 * 1.84))
    assert not any(p.option is R1 for p in free.plan.purchases)


def test_headroom_keeps_replicas_that_today_nobody_needs(child: SolverChild) -> None:
    ranking = ranked(child, small_problem())
    roomy, best = by_axis(ranking, Axis.MOST_HEADROOM), ranking.entries[0]
    assert roomy is not None
    assert best.measures[Axis.MOST_HEADROOM] == pytest.approx(1.0)
    assert roomy.measures[Axis.MOST_HEADROOM] >= 1.5  # type: ignore[operator]
    assert roomy.total_usd_per_month <= 1.6 * best.total_usd_per_month * (1 + 1e-9)


def test_axis_with_nothing_new_says_so(child: SolverChild) -> None:
    ranking = ranked(child, small_problem())
    assert "least API: the cheapest plan already is (0 USD/month)" in ranking.notes
    assert any(n.startswith("fewest configurations: nothing better than the cheapest plan (1)") for n in ranking.notes)


def test_alternatives_are_of_another_kind(child: SolverChild) -> None:
    ranking = ranked(child, small_problem())
    alternatives = [e for e in ranking.entries if e.axis == "alternative"]
    assert alternatives
    assert len({e.signature for e in ranking.entries}) >= 3
    assert len({e.signature for e in alternatives}) == len(alternatives)
    assert all(e.buys for e in alternatives)


def test_no_entry_is_dominated_on_its_axis(child: SolverChild) -> None:
    ranking = ranked(child, small_problem(), within=2.0)
    for entry in ranking.entries:
        if entry.axis in ("alternative", Axis.CHEAPEST):
            continue
        axis = Axis(entry.axis)
        for other in ranking.entries:
            if other is not entry and other.total_usd_per_month <= entry.total_usd_per_month:
                mine, theirs = entry.measures[axis], other.measures[axis]
                assert mine is None or theirs is None or mine != theirs


def test_top_limits_the_list(child: SolverChild) -> None:
    assert len(ranked(child, small_problem(), top=1).entries) == 1
    assert len(ranked(child, small_problem(), top=3).entries) == 3


def test_entries_within_the_gap_are_a_tie(child: SolverChild) -> None:
    """With a gap of 30 % nobody can say that +15 % is more expensive."""
    loose = ranked(child, small_problem())
    assert not any(e.tie for e in loose.entries[1:])
    assert [e.rank for e in loose.entries] == list(range(1, len(loose.entries) + 1))
    from planner.solve.arrange import Found, entries

    found = [
        Found(e.axis, e.values, e.plan, e.verdict, dict(e.measures), e.signature)
        for e in loose.entries
        if e.axis != "alternative"
    ]
    best = loose.entries[0].total_usd_per_month
    made = entries(found, 0.8 * best / 730, 8)
    assert [e.tie for e in made] == [False] + [e.extra <= 0.2 for e in made[1:]]
    assert any(e.tie and e.rank == 1 for e in made)


def test_baselines_are_costed_or_say_why_not(child: SolverChild) -> None:
    bases = {b.name: b for b in ranked(child, small_problem()).baselines}
    assert bases["all_api"].total_usd_per_month == pytest.approx(730 * 10 * 6.0)
    assert bases["all_on_demand"].total_usd_per_month == pytest.approx(730 * 40.0)
    assert bases["all_reserved"].total_usd_per_month == pytest.approx(730 * 25.0)
    without = small_problem().model_copy(update={"apis": ()})
    failed = {b.name: b for b in ranked(child, without).baselines}["all_api"]
    assert failed.total_usd_per_month is None
    assert failed.failures == ("nothing of the kind can serve w/all",)


def test_infeasible_is_told(child: SolverChild) -> None:
    ranking = ranked(child, small_problem(Policy(budget=Budget(usd_per_month=10.0))))
    assert ranking.status == "infeasible"
    assert ranking.entries == ()
    assert ranking.stop is None


def test_no_time_is_undecided(child: SolverChild) -> None:
    ranking = ranked(child, small_problem(), time_limit_s=1e-4)
    assert ranking.status == "undecided"
    assert not ranking.deterministic


def test_plan_that_fails_verification_is_never_shown(child: SolverChild) -> None:
    """Everything with spot is refused: the cheapest that stands takes its place, and the notes say what happened."""
    p = small_problem()

    def has_spot(plan: Plan) -> bool:
        return any(x.option is SPOT for x in plan.purchases)

    options = RankOptions(time_limit_s=30, within=0.6, top=4, relative_gap=0.0)
    ranking = rank(compiled_programme(p), verifier(p, has_spot), options, child)
    assert ranking.entries
    assert not any(has_spot(e.plan) for e in ranking.entries)
    assert any("failed its recomputation" in n for n in ranking.notes)
    assert ranking.refused
    nothing = rank(compiled_programme(p), verifier(p, lambda _: True), options, child)
    assert nothing.status == "undecided"
    assert nothing.entries == ()


def test_two_runs_give_the_same_list(child: SolverChild) -> None:
    def text(ranking: Ranking[Checked]) -> str:
        plans = [(e.headline, e.values, e.plan.model_dump(mode="json")) for e in ranking.entries]
        return json.dumps([plans, ranking.notes])

    with SolverChild() as other:
        assert text(ranked(child, small_problem())) == text(ranked(other, small_problem()))


def test_scip_finds_the_same_costs(child: SolverChild) -> None:
    highs = ranked(child, small_problem(), top=3)
    scip = ranked(child, small_problem(), top=3, engine="scip")
    assert scip.entries[0].total_usd_per_month == pytest.approx(highs.entries[0].total_usd_per_month)


def test_progress_names_the_stages(child: SolverChild) -> None:
    p, stages = small_problem(), []
    rank(
        compiled_programme(p), verifier(p), RankOptions(time_limit_s=30, top=3), child,
        lambda stage, progress: stages.append((stage, progress)),
    )  # fmt: skip
    names = list(dict.fromkeys(s for s, _ in stages))
    assert names[0] == "solve"
    assert "axis least spot" in names
    assert "baseline all_api" in names
    assert all(isinstance(x, Progress) for _, x in stages)


class Broken(SolverChild):
    """A child that does something else from its n-th solve on."""

    def __init__(self, after: int, error: BaseException | None) -> None:
        super().__init__()
        self.left, self.error = after, error

    def solve(self, *arguments, **keywords):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left >= 0:
            return super().solve(*arguments, **keywords)
        if self.error is not None:
            raise self.error
        return Undecided(None, None, None, StopReason.TIME_LIMIT)


def run_broken(after: int, error: BaseException | None) -> Ranking[Checked]:
    p = small_problem()
    with Broken(after, error) as broken:
        return rank(compiled_programme(p), verifier(p), RankOptions(time_limit_s=30, within=0.6), broken)


def test_interrupt_keeps_what_was_found() -> None:
    ranking = run_broken(1, Interrupted("interrupted"))
    assert ranking.interrupted
    assert len(ranking.entries) == 1
    with pytest.raises(Interrupted):
        run_broken(0, Interrupted("interrupted"))


def test_ctrl_c_outside_an_engine_keeps_what_was_found() -> None:
    ranking = run_broken(1, KeyboardInterrupt())
    assert ranking.interrupted
    assert len(ranking.entries) == 1
    with pytest.raises(Interrupted):
        run_broken(0, KeyboardInterrupt())


def test_engine_failure_after_the_first_plan_is_a_note() -> None:
    ranking = run_broken(1, SolverError("highs", "crashed"))
    assert len(ranking.entries) == 1
    assert any("crashed" in n for n in ranking.notes)
    assert all(b.failures == ("highs: crashed",) for b in ranking.baselines)
    with pytest.raises(SolverError):
        run_broken(0, SolverError("highs", "crashed"))


def test_time_out_after_the_first_plan_says_what_is_missing() -> None:
    ranking = run_broken(1, None)
    assert len(ranking.entries) == 1
    assert not ranking.deterministic
    assert "least spot: not decided in the time limit" in ranking.notes


def test_compiled_programme_is_unchanged_by_ranking(child: SolverChild) -> None:
    p = small_problem()
    programme = CompiledProgramme.of(p, catalog())
    compiled: Compiled = programme.compiled
    before = (len(compiled.milp.variables), len(compiled.milp.rows), compiled.milp.objective())
    rank(programme, verifier(p), RankOptions(time_limit_s=30), child)
    assert (len(compiled.milp.variables), len(compiled.milp.rows), compiled.milp.objective()) == before


def test_baselines_are_no_dearer_than_a_plan_of_their_own_kind(child: SolverChild) -> None:
    """Two classes that two cheap configurations take one each: the mix would need a dearer one."""
    a, b = request_class([2.0], "a"), request_class([2.0], "b")
    never = float("inf")
    p, q, r = (
        pool("p", 1, {OD: 1.0}),
        pool("q", 1, {OD: 1.0}, accelerator="Y"),
        pool("r", 1, {OD: 9.0}, accelerator="Z"),
    )
    split = problem(
        (730,), [service(a, b)], [p, q, r],
        [candidate(capability(1, (0.5, never)), p), candidate(capability(1, (never, 0.5), accelerator="Y"), q),
         candidate(capability(1, (0.25, 0.25), accelerator="Z"), r)],
    )  # fmt: skip
    found = ranked(child, split)
    assert found.entries[0].total_usd_per_month == pytest.approx(2 * 730)
    (on_demand,) = [x for x in found.baselines if x.name == "all_on_demand"]
    assert on_demand.total_usd_per_month == pytest.approx(2 * 730)


def test_a_cheaper_baseline_becomes_the_first_plan(child: SolverChild) -> None:
    """A search that ends on a dear plan (here: made to buy on demand) does not hide the cheap baseline beside it."""
    p = small_problem()
    programme = CompiledProgramme.of(p, catalog())
    best = ranked(child, p).entries[0]
    (api_only,) = [b for b in ranked(child, p).baselines if b.name == "all_api"]
    dear = child.solve(programme.only((OD,)), SolveOptions(time_limit_s=10.0))
    assert isinstance(dear, Solved) and api_only.total_usd_per_month is not None
    search = rank_module._Search(programme, verifier(p), RankOptions(time_limit_s=20.0), child, None)
    assert search._take(dear.values)
    search.bound = best.bound_usd_per_month
    first = search.found[0].total
    search.baselines()
    now = search.result().entries[0].total_usd_per_month
    cheapest = min(b.total_usd_per_month for b in search.bases if b.total_usd_per_month is not None and not b.failures)
    assert now == pytest.approx(min(first, cheapest))
    assert cheapest < first, "otherwise nothing is shown here"
