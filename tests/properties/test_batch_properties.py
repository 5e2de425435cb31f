"""Batch work beside online work against every count of replicas; nothing of the formulation is used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from planner.base import PurchaseOption
from planner.candidates.reduce import core
from planner.candidates.types import Candidate, Problem
from planner.demand.types import Service
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from planner.verify.packing import instances_needed
from tests.formulation import small

EXACT = SolveOptions(relative_gap=0.0, absolute_gap=1e-9, time_limit_s=30.0)
OD, R1 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y
MOST = 3000
"""Combinations of counts that a test may try."""


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def optimum(problem: Problem, engine: SolverChild) -> float | None:
    """USD per hour; None: infeasible."""
    answer = engine.solve(compile_milp(problem).milp, EXACT)
    if isinstance(answer, Infeasible):
        return None
    assert isinstance(answer, Solved)
    return answer.objective


# ---- the best plan -----------------------------------------------------------------------------------------------


def best(problem: Problem) -> float | None:
    """USD per hour of the cheapest plan of one online and one batch service without spot; None: infeasible."""
    online, batch = problem.demand.services
    hours = [s.hours_per_month for s in problem.demand.slices]
    slices = range(len(hours))
    seats = [(s, c) for s in (online, batch) for c in problem.candidates if c.service == s.id]
    ranges = [range(most(s, c, t) + 1) for t in slices for s, c in seats]
    assume(math.prod(len(r) for r in ranges) <= MOST)
    found: float | None = None
    for counts in itertools.product(*ranges):
        per_slice = [counts[t * len(seats) : (t + 1) * len(seats)] for t in slices]
        machines = machines_usd(problem, [c for _, c in seats], per_slice, hours)
        if found is None or machines < found - 1e-9:
            if not all(serves(online, seats, per_slice[t], t) for t in slices):
                continue
            calls = calls_usd(problem, batch, seats, per_slice)
            if calls is not None:
                total = machines + calls / HOURS_PER_MONTH
                found = total if found is None else min(found, total)
    return found


def most(s: Service, c: Candidate, t: int) -> int:
    reach = max((sum(w) / w[t] for w in s.windows if w[t]), default=1.0)
    rates = [x.mean_req_per_s[t] * reach for x in s.classes]
    return math.ceil(max(sum(a * u for a, u in zip(rates, r.use, strict=True)) for r in c.capability.rows) - 1e-9)


def serves(s: Service, seats: Sequence[tuple[Service, Candidate]], counts: Sequence[int], t: int) -> bool:
    """One class: whether the replicas serve slice t."""
    served = sum(
        n / max(r.use[0] for r in c.capability.rows) for n, (x, c) in zip(counts, seats, strict=True) if x is s
    )
    return served >= s.classes[0].mean_req_per_s[t] - 1e-9


def machines_usd(
    problem: Problem, seats: Sequence[Candidate], counts: Sequence[Sequence[int]], hours: Sequence[float]
) -> float:
    """The cheapest purchases for the machines that these replicas need in each slice."""
    usd = 0.0
    for pool in problem.pools:
        needed = []
        for row in counts:
            sizes: dict[int, int] = {}
            for n, c in zip(row, seats, strict=True):
                if c.pool == pool.id and n:
                    size = c.capability.config.accelerators
                    sizes[size] = sizes.get(size, 0) + n
            needed.append(instances_needed(sizes, pool.accelerators, 0) if sizes else 0)
        rent, reserved = pool.price(OD), pool.price(R1)
        bills = []
        for kept in range(max(needed) + 1 if reserved else 1):
            if rent is None and max(needed) > kept:
                continue
            each = rent.usd_per_hour if rent else 0.0
            by_hour = sum(h / HOURS_PER_MONTH * each * max(0, n - kept) for h, n in zip(hours, needed, strict=True))
            bills.append(by_hour + kept * (reserved.usd_per_hour if reserved else 0.0))
        usd += min(bills, default=math.inf)
    return usd


def calls_usd(
    problem: Problem, s: Service, seats: Sequence[tuple[Service, Candidate]], counts: Sequence[Sequence[int]]
) -> float | None:
    """The least API bill per month with which the batch work is done in time."""
    own = [(t, n, c) for t, row in enumerate(counts) for n, (x, c) in zip(row, seats, strict=True) if x is s]
    classes, slices = range(len(s.classes)), range(len(counts))
    prices = {a.request_class: a.usd_per_request for a in problem.apis}
    width = len(own) * len(classes) + len(slices) * len(classes)

    def api(t: int, r: int) -> int:
        return len(own) * len(classes) + t * len(classes) + r

    rows: list[list[float]] = []
    limits: list[float] = []
    for j, (_, n, c) in enumerate(own):
        for row in c.capability.rows:
            terms = [0.0] * width
            for r in classes:
                terms[j * len(classes) + r] = row.use[r]
            rows.append(terms)
            limits.append(n + 1e-9)
    for window in s.windows:
        for r in classes:
            terms = [0.0] * width
            for j, (t, _, _) in enumerate(own):
                terms[j * len(classes) + r] = -window[t]
            for t in slices:
                terms[api(t, r)] = -window[t]
            rows.append(terms)
            limits.append(-sum(h * s.classes[r].mean_req_per_s[t] for t, h in enumerate(window)))
    money = [0.0] * width
    hours = [x.hours_per_month for x in problem.demand.slices]
    bounds: list[tuple[float, float | None]] = [(0.0, None)] * width
    for t in slices:
        for r in classes:
            price = prices.get(s.classes[r].id)
            money[api(t, r)] = hours[t] * SECONDS_PER_HOUR * (price or 0.0)
            bounds[api(t, r)] = (0.0, None if price is not None else 0.0)
    answer = linprog(money, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    return float(answer.fun) if answer.status == 0 else None


# ---- cases -------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Problem:
    """One online class and a batch service of one or two classes, two or three slices, one or two windows."""
    hours = draw(st.sampled_from([(365.0, 365.0), (500.0, 230.0), (200.0, 330.0, 200.0)]))
    windows = draw(st.sampled_from(["all", "last", "two"]))
    held = [[h if windows != "last" or t == len(hours) - 1 else 0.0 for t, h in enumerate(hours)]]
    if windows == "two":
        held = [[hours[0], *[h / 2 for h in hours[1:]]], [0.0, *[h / 2 for h in hours[1:]]]]
    online = small.request_class([draw(st.sampled_from([0.0, 0.7, 1.6])) for _ in hours], workload="a", name="c")
    batch = []
    for r in range(draw(st.integers(1, 2))):
        even = draw(st.sampled_from([0.4, 0.9]))
        batch.append(
            small.request_class(
                [even if any(w[t] for w in held) else 0.0 for t in range(len(hours))], name=f"b{r}", workload="b"
            )
        )
    asked = [small.service(online, name="a"), small.service(*batch, name="b", windows=held, max_spot_share=1.0)]
    market = []
    for j in range(draw(st.integers(1, 2))):
        size, usd = draw(st.sampled_from([1, 2])), draw(st.sampled_from([1.0, 1.5]))
        options = draw(st.sampled_from([(OD,), (OD, R1), (R1,)]))
        market.append(small.pool(f"p{j}", size, {o: usd * size * (0.6 if o is R1 else 1.0) for o in options}))
    seats = []
    for s in asked:
        size = draw(st.sampled_from([1, 1, 2]))
        rows = [
            tuple(draw(st.sampled_from([0.5, 0.8, 1.0])) / size for _ in s.classes)
            for _ in range(draw(st.integers(1, 2)))
        ]
        k = small.capability(size, *rows, precision=s.id)
        seats += [small.candidate(k, p, name=s.id) for p in market if draw(st.sampled_from([True, True, False]))]
    calls = [small.api(c, 4e-4, name="b") for c in batch] if draw(st.booleans()) else []
    return small.problem(hours, asked, market, seats, calls)


@given(cases())
def test_batch_work_is_done_in_time_at_the_least_cost(engine, problem):
    usd = best(problem)
    event("infeasible" if usd is None else "planned")
    had = optimum(problem, engine)
    assert (had is None) == (usd is None)
    if usd is not None:
        assert had == pytest.approx(usd, rel=1e-6, abs=1e-6)


@given(cases())
def test_reductions_keep_the_optimum_of_batch_work(engine, problem):
    whole, left = optimum(problem, engine), optimum(core(problem), engine)
    assert (whole is None) == (left is None)
    if whole is not None:
        assert left == pytest.approx(whole, rel=1e-6, abs=1e-6)
