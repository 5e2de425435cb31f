"""Spares and survival against every way to lose something, tried one by one; nothing of the formulation is used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from planner.base import PurchaseOption
from planner.candidates.types import Candidate, Pool, Problem, SpotTerms
from planner.demand.types import Service
from planner.formulation.compile import compile_milp
from planner.performance.types import ReplicaCapability
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.spec.types import Policy, Resilience, Spare, SpareDomain
from planner.units import SECONDS_PER_HOUR
from planner.verify.packing import instances_needed
from tests.formulation import small

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)
OD, SPOT = PurchaseOption.ON_DEMAND, PurchaseOption.SPOT
MOST = 1500
"""Combinations of counts that a test may try."""
EPS = 1e-9


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


@dataclass(frozen=True)
class Seat:
    """Replicas of a configuration in a pool, on spot or firm."""

    k: ReplicaCapability
    pool: Pool
    spot: bool

    @property
    def credit(self) -> float:
        terms = self.pool.spot
        return 1 - terms.interruptions_per_up_hour * terms.start_h if self.spot and terms else 1.0

    @property
    def size(self) -> int:
        return self.k.config.accelerators

    def worth(self, rates: Sequence[float], share: float = 1.0) -> float:
        if any(x > 0 and not ok for x, ok in zip(rates, self.k.served, strict=True)):
            return 0.0
        return share * self.credit / max(sum(x * u for x, u in zip(rates, r.use, strict=True)) for r in self.k.rows)


# ---- what can be lost --------------------------------------------------------------------------------------------


def losses(service: Service, seats: Sequence[Seat], counts: Sequence[int]) -> Iterator[tuple[list[float], str, float]]:
    """(replicas left of each seat, provider whose APIs are gone, share of the demand that must be served)."""
    rule, fraction = service.resilience, service.resilience.serve_fraction
    spare = rule.spare
    if spare and spare.domain is SpareDomain.REPLICA:
        for gone in itertools.combinations_with_replacement(range(len(seats)), min(spare.count, sum(counts))):
            left = [n - gone.count(j) for j, n in enumerate(counts)]
            if min(left) >= 0:
                yield [float(n) for n in left], "", 1.0
    if spare and spare.domain is SpareDomain.INSTANCE:
        for gone in itertools.product(*(range(n + 1) for n in counts)):
            if fits(seats, gone, spare.count):
                yield [float(n - g) for n, g in zip(counts, gone, strict=True)], "", 1.0
    if spare and spare.domain is SpareDomain.ZONE:
        for places in itertools.combinations(zones(seats), min(spare.count, len(zones(seats)))):
            yield (
                [0.0 if any(in_zone(x.pool, z) for z in places) else n for x, n in zip(seats, counts, strict=True)],
                "",
                1.0,
            )
    for what in rule.survive_loss_of:
        for place in zones(seats):
            provider, region, _ = place
            if what == "zone":
                yield [0.0 if in_zone(x.pool, place) else n for x, n in zip(seats, counts, strict=True)], "", fraction
            elif what == "region":
                here = [(x.pool.provider, x.pool.region) == (provider, region) for x in seats]
                yield [0.0 if h else n for h, n in zip(here, counts, strict=True)], "", fraction
            elif what == "spot":
                here = [x.spot and (x.pool.provider, x.pool.region) == (provider, region) for x in seats]
                kept = [1 - x.pool.spot.availability if x.pool.spot else 0.0 for x in seats]
                yield [n * a if h else n for h, n, a in zip(here, counts, kept, strict=True)], "", fraction
        for provider in {x.pool.provider for x in seats} | {"acme", "beta"} if what == "provider" else ():
            yield (
                [0.0 if x.pool.provider == provider else n for x, n in zip(seats, counts, strict=True)],
                provider,
                fraction,
            )


def zones(seats: Sequence[Seat]) -> list[tuple[str, str, str]]:
    return sorted({(x.pool.provider, x.pool.region, x.pool.zone) for x in seats})


def in_zone(pool: Pool, zone: tuple[str, str, str]) -> bool:
    """Whether a pool goes with a zone; what may stand anywhere in the region goes with each."""
    provider, region, name = zone
    return (pool.provider, pool.region) == (provider, region) and pool.zone in (name, "*")


def fits(seats: Sequence[Seat], gone: Sequence[int], instances: int) -> bool:
    """Whether so many replicas may stand on so many instances (a replica over several is lost with any of them)."""
    markets: dict[tuple[str, bool], dict[int, int]] = {}
    room: dict[tuple[str, bool], int] = {}
    for x, g in zip(seats, gone, strict=True):
        if g:
            key = (x.pool.id, x.spot)
            room[key] = x.pool.accelerators
            sizes = markets.setdefault(key, {})
            size = min(x.size, x.pool.accelerators)
            sizes[size] = sizes.get(size, 0) + g
    return sum(instances_needed(sizes, room[key], 0) for key, sizes in markets.items()) <= instances


# ---- the best plan -----------------------------------------------------------------------------------------------


def best(problem: Problem) -> float | None:
    """USD per hour of the cheapest plan of one service in one slice; None: infeasible."""
    (service,) = problem.demand.services
    pools = {p.id: p for p in problem.pools}
    seats = [Seat(c.capability, pools[c.pool], o is SPOT) for c in problem.candidates for o in c.options]
    spare = service.resilience.spare
    by_instance = spare is not None and spare.domain is SpareDomain.INSTANCE
    extra = spare.count * (max(p.accelerators for p in problem.pools) if by_instance else 1) if spare else 0
    tops = [c.band_req_per_s[0][-1] for c in service.classes]
    most = []
    for x in seats:
        served = [t if ok else 0.0 for t, ok in zip(tops, x.k.served, strict=True)]
        load = max(sum(a * u for a, u in zip(served, r.use, strict=True)) for r in x.k.rows)
        most.append(math.ceil(load / x.credit - EPS) + extra)
    assume(math.prod(m + 1 for m in most) <= MOST)
    found: float | None = None
    for counts in itertools.product(*(range(m + 1) for m in most)):
        machines = instances_usd(seats, counts)
        if found is None or machines < found - EPS:
            calls = api_usd(problem, service, seats, counts)
            if calls is not None and (found is None or machines + calls < found):
                found = machines + calls
    return found


def instances_usd(seats: Sequence[Seat], counts: Sequence[int]) -> float:
    usd = 0.0
    for pool in {x.pool.id: x.pool for x in seats}.values():
        for spot in (False, True):
            sizes: dict[int, int] = {}
            for x, n in zip(seats, counts, strict=True):
                if x.pool.id == pool.id and x.spot == spot and n:
                    sizes[x.size] = sizes.get(x.size, 0) + n
            price = pool.price(SPOT if spot else OD)
            if sizes and price is not None:
                each = price.usd_per_hour
                if spot and pool.spot:
                    a = pool.spot.availability
                    each = a * each + (1 - a) * (pool.spot.fallback_usd_per_hour or 0.0)
                usd += each * instances_needed(sizes, pool.accelerators, 0)
    return usd


def api_usd(problem: Problem, service: Service, seats: Sequence[Seat], counts: Sequence[int]) -> float | None:
    """The least API bill with which these replicas do, None: with none."""
    total = 0.0
    emergencies = list(losses(service, seats, counts))
    for b, weight in enumerate(service.band_weights[0]):
        rates = [c.band_req_per_s[0][b] for c in service.classes]
        if sum(rates) <= 0:
            continue
        apis = [a for a in problem.apis if rates[[c.id for c in service.classes].index(a.request_class)] > 0]
        index = {c.id: r for r, c in enumerate(service.classes)}
        width = len(apis) + len(seats) * len(rates)

        def x(j: int, r: int, width: int = len(apis), classes: int = len(rates)) -> int:
            return width + j * classes + r

        less: list[tuple[dict[int, float], float]] = []
        for r, rate in enumerate(rates):
            served = {x(j, r): -1.0 for j in range(len(seats))}
            served |= {j: -1.0 for j, a in enumerate(apis) if index[a.request_class] == r}
            less.append((served, -rate))
            on_spot = {x(j, r): 1.0 for j, seat in enumerate(seats) if seat.spot}
            less.append((on_spot, service.max_spot_share * rate))
        for j, seat in enumerate(seats):
            for row in seat.k.rows:
                less.append(({x(j, r): row.use[r] for r in range(len(rates))}, counts[j] * seat.credit))
        for left, lost, target in emergencies:
            had = sum(n * seat.worth(rates) for n, seat in zip(left, seats, strict=True))
            for r, rate in enumerate(rates):
                if rate > 0:
                    calls = {
                        j: -1.0 / rate for j, a in enumerate(apis) if index[a.request_class] == r and a.provider != lost
                    }
                    less.append((calls, had - target))
        bounds: list[tuple[float, float | None]] = [(0.0, rates[index[a.request_class]]) for a in apis]
        bounds += [(0.0, None if seat.k.served[r] else 0.0) for seat in seats for r in range(len(rates))]
        money = [SECONDS_PER_HOUR * a.usd_per_request for a in apis] + [0.0] * (width - len(apis))
        matrix = [[terms.get(j, 0.0) for j in range(width)] for terms, _ in less]
        answer = linprog(money, A_ub=matrix, b_ub=[v + EPS for _, v in less], bounds=bounds, method="highs")
        if answer.status != 0:
            return None
        total += weight * float(answer.fun)
    return total


# ---- cases -------------------------------------------------------------------------------------------------------

USES = st.sampled_from([0.3, 0.5, 0.8, 1.0])


@st.composite
def cases(draw: st.DrawFn) -> Problem:
    """One service in one slice with two or three seats."""
    tops = [draw(st.sampled_from([1.0, 1.7, 2.3])) for _ in range(draw(st.integers(1, 2)))]
    banded = draw(st.booleans())
    classes = [
        small.request_class([0.75 * x if banded else x], name=f"c{j}", bands=[[0.5 * x, x]] if banded else [[x]])
        for j, x in enumerate(tops)
    ]
    spare = draw(
        st.sampled_from(
            [None, (1, "replica"), (2, "replica"), (1, "instance"), (2, "instance"), (1, "zone"), (2, "zone")]
        )
    )
    lost = draw(
        st.sampled_from(
            [(), ("zone",), ("region",), ("provider",), ("spot",)] if spare is None else [(), (), ("zone",)]
        )
    )
    rule = Resilience(
        spare=Spare(count=spare[0], domain=SpareDomain(spare[1])) if spare else None,
        survive_loss_of=lost, serve_fraction=draw(st.sampled_from([1.0, 0.6])) if lost else 1.0,
    )  # fmt: skip
    service = small.service(
        *classes,
        weights=[[0.5, 0.5] if banded else [1.0]],
        resilience=rule,
        max_spot_share=draw(st.sampled_from([0.5, 1.0])),
    )
    market = [draw(places(f"p{j}")) for j in range(draw(st.integers(1, 3)))]
    seats: list[Candidate] = []
    for number in range(draw(st.integers(1, 2))):
        size = draw(st.sampled_from([1, 1, 2, 4]))
        rows = [tuple(draw(USES) / size for _ in tops) for _ in range(draw(st.integers(1, 2)))]
        k = small.capability(size, *rows, precision=f"p{number}")
        for pool in market:
            if draw(st.sampled_from([True, True, False])):
                seats.append(small.candidate(k, pool))
    assume(seats)
    calls = []
    if draw(st.booleans()):
        provider = draw(st.sampled_from(["acme", "beta"]))
        calls = [small.api(c, draw(st.sampled_from([2e-4, 6e-4])), provider=provider) for c in classes]
    return small.problem((730.0,), [service], market, seats, calls, Policy())


@st.composite
def places(draw: st.DrawFn, name: str) -> Pool:
    """A pool of 1 to 4 accelerators somewhere."""
    size, usd = draw(st.sampled_from([1, 1, 2, 4])), draw(st.sampled_from([1.0, 1.3, 2.0]))
    prices, spot = {OD: usd * size}, None
    if draw(st.sampled_from([False, False, True])):
        prices[SPOT] = 0.4 * usd * size
        spot = SpotTerms(
            interruptions_per_up_hour=0.5, start_h=draw(st.sampled_from([0.0, 0.2])), availability=0.7,
            fallback_offer="x", fallback_usd_per_hour=prices[OD],
        )  # fmt: skip
    return small.pool(
        name, size, prices, spot=spot, provider=draw(st.sampled_from(["acme", "beta"])),
        region=draw(st.sampled_from(["r", "q"])), zone=draw(st.sampled_from(["a", "b"])),
    )  # fmt: skip


@given(cases())
def test_the_cheapest_plan_that_bears_every_loss_is_found(engine, problem):
    usd = best(problem)
    answer = engine.solve(compile_milp(problem).milp, EXACT)
    event("infeasible" if usd is None else "planned")
    if usd is None:
        assert isinstance(answer, Infeasible)
    else:
        assert isinstance(answer, Solved)
        assert answer.objective == pytest.approx(usd, rel=1e-6, abs=1e-6)
