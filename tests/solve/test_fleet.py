"""Fleets of covering services: no prices give a bound above the optimum, and plans keep every rule."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.formulation.fleet import Fleet, FleetPlan, FleetService, Option, Quota, uncovered
from planner.solve.around import Around, State
from planner.solve.crew import Crew
from planner.solve.first import first_states, simple_prices
from planner.solve.fleet import search
from planner.solve.pricing import Prices, Pricing
from planner.solve.types import Infeasible, Solved, SolveOptions


@st.composite
def fleets(draw: st.DrawFn, places: bool = True) -> Fleet:
    """Up to two services, three slices, four markets; every rule that a fleet knows."""
    slices = draw(st.integers(1, 3))
    markets = draw(st.integers(1, 4))
    rooms = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=markets, max_size=markets))
    spot = draw(st.lists(st.booleans(), min_size=markets, max_size=markets))
    options = []
    for m in range(markets):
        price = draw(st.integers(1, 12)) * rooms[m]
        for t in range(slices):
            options.append(Option(m, (t,), float(price), 40.0))
        if not spot[m] and slices > 1 and draw(st.booleans()):
            first = draw(st.integers(0, slices - 2))
            window = tuple(range(first, draw(st.integers(first + 2, slices))))
            options.append(Option(m, window, len(window) * price * draw(st.sampled_from([0.4, 0.7])), 40.0))
    quotas = []
    if draw(st.booleans()):
        own = [o for o, x in enumerate(options) if x.market == 0]
        quotas.append(Quota(tuple(own), (1.0,) * len(own), (float(draw(st.integers(0, 4))),) * slices))
    services = [draw(services_of(s, slices, rooms, spot, places)) for s in range(draw(st.integers(1, 2)))]
    return Fleet(np.full(slices, 2.0), np.asarray(rooms), tuple(options), tuple(services), tuple(quotas))


@st.composite
def services_of(
    draw: st.DrawFn, number: int, slices: int, rooms: list[int], spot: list[bool], places: bool
) -> FleetService:
    items = [(m, g) for m, room in enumerate(rooms) for g in (1, 2) if g <= room]
    items = draw(st.lists(st.sampled_from(items), min_size=1, max_size=4, unique=True))
    kind = draw(st.sampled_from(["plain", "spare", "survive", "batch"] if places else ["plain", "spare", "batch"]))
    capacity = np.asarray([[draw(st.integers(1, 9)) * 0.7] * slices for _ in items])
    bands = draw(st.integers(1, 2))
    top = [draw(st.integers(0, 12)) * 1.1 for _ in range(slices)]
    rate = np.asarray([[x * (0.5 if bands == 2 and b == 0 else 1.0) for b in range(bands)] for x in top])
    api = draw(st.one_of(st.none(), st.integers(1, 8)))
    batch = kind == "batch"
    return FleetService(
        name=f"s{number}",
        market=np.asarray([m for m, _ in items]),
        size=np.asarray([g for _, g in items]),
        capacity=capacity,
        firm=np.asarray([not spot[m] for m, _ in items]),
        place=np.asarray([m % 2 for m, _ in items]),
        rate=np.zeros((slices, 1)) if batch else rate,
        api_cost=None if api is None or batch else np.full(rate.shape, api / bands),
        spot_share=1.0 if batch else draw(st.sampled_from([0.0, 0.5, 1.0])),
        spare=kind == "spare",
        survive=draw(st.sampled_from([0.5, 1.0])) if kind == "survive" else None,
        volume=draw(st.integers(1, 20)) * 1.3 if batch else None,
        window=tuple(range(draw(st.integers(0, slices - 1)), slices)) if batch else (),
    )


@pytest.fixture(scope="module")
def crew() -> Crew:  # type: ignore[misc]
    with Crew(size=1) as made:
        yield made


def optimum(fleet: Fleet, crew: Crew) -> tuple[float, FleetPlan | None]:
    """The whole fleet as one programme, solved to the end."""
    pricing = Pricing(fleet, crew)
    items = {
        b: [(i, t) for i in range(fleet.services[x.service].market.size) for t in sorted(set(x.slices.tolist()))]
        for b, x in enumerate(pricing.blocks)
    }
    nothing = State({}, np.zeros(len(fleet.options), np.int64))
    around = Around(pricing, nothing, items, range(len(fleet.options)))
    answer = crew.solve(around.programme(), SolveOptions(relative_gap=0.0, time_limit_s=30))
    if isinstance(answer, Infeasible):
        return math.inf, None
    assert isinstance(answer, Solved)
    return answer.objective, around.taken(answer.values).plan(fleet, pricing)


SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(fleet=fleets(), data=st.data())
def test_the_certificate_holds_at_any_prices(fleet: Fleet, data: st.DataObject, crew: Crew) -> None:
    best, plan = optimum(fleet, crew)
    if plan is not None:
        assert not uncovered(fleet, plan, 1e-6)
        assert plan.cost(fleet) == pytest.approx(best, rel=1e-6, abs=1e-6)
    pricing = Pricing(fleet, crew, hard_gap=0.0, hard_s=30.0)
    for cells in (7, 50, 1000):
        prices = data.draw(st.lists(st.floats(0, 12), min_size=fleet.markets, max_size=fleet.markets))
        hourly = np.where(fleet.tied[:, None], np.asarray(prices)[:, None], fleet.hourly)
        quotas = np.full((len(fleet.quotas), fleet.slices), data.draw(st.floats(0, 3)))
        bound, _ = pricing.price(Prices(hourly, quotas), cells)
        assert bound <= best + 1e-6 * max(1.0, abs(best)) or math.isinf(best)


@SLOW
@given(fleet=fleets())
def test_a_search_brackets_the_optimum(fleet: Fleet, crew: Crew) -> None:
    best, _ = optimum(fleet, crew)
    answer = search(fleet, crew, SolveOptions(time_limit_s=20, relative_gap=0.0), small=0)
    assert answer.bound <= best + 1e-6 * max(1.0, abs(best))
    if answer.plan is not None:
        assert not uncovered(fleet, answer.plan, 1e-6)
        assert answer.objective >= best - 1e-6 * max(1.0, abs(best))
        assert answer.plan.cost(fleet) == pytest.approx(answer.objective)
    else:
        assert math.isinf(best) or answer.bound < math.inf


def test_one_big_instance_for_many_small_replicas() -> None:
    """Three replicas of 1 in an instance of 4 are bought once, whole."""
    service = FleetService(
        name="s", market=np.array([0]), size=np.array([1]), capacity=np.array([[1.0]]), firm=np.array([True]),
        place=np.array([0]), rate=np.array([[2.5]]), api_cost=None,
    )  # fmt: skip
    fleet = Fleet(np.array([1.0]), np.array([4]), (Option(0, (0,), 4.0, 9.0),), (service,))
    with Crew(size=1) as crew:
        answer = search(fleet, crew, SolveOptions(relative_gap=0.0, time_limit_s=20))
    assert answer.objective == pytest.approx(4.0)
    assert answer.plan is not None
    assert answer.plan.replicas[0].tolist() == [[3]]
    assert list(itertools.chain(answer.plan.bought)) == [1]


@SLOW
@given(fleet=fleets())
def test_a_first_plan_keeps_every_rule(fleet: Fleet, crew: Crew) -> None:
    """Whatever comes out at once is a plan, and without limits something does wherever a plan exists."""
    best, _ = optimum(fleet, crew)
    pricing = Pricing(fleet, crew)
    states = first_states(pricing, simple_prices(fleet), 500)
    for state in states:
        broken = uncovered(fleet, state.plan(fleet, pricing))
        assert all(what.startswith("quota") for what in broken) if fleet.quotas else not broken
        assert broken or state.cost(fleet, pricing) >= best - 1e-6 * max(1.0, abs(best))
    if not fleet.quotas and math.isfinite(best):
        assert states
