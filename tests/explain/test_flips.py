"""Where the kind of plan changes: both sides solved, and the crossing where two bills are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.cli.run import Loaded
from planner.explain.flips import BESIDE, find_flips, inputs_of
from planner.explain.parallel import Workers
from planner.explain.shape import api_shares, shape_of
from planner.explain.tornado import sensitivities
from planner.explain.types import Flip, Sensitivity
from planner.explain.whatif import Clock, Solution, with_prices
from planner.report.detail import sensitivity_lines
from planner.solve.engine import SolverChild

Read = Callable[[dict[str, Any] | str], Loaded]
Told = tuple[Solution, tuple[Flip, ...], tuple[Sensitivity, ...]]


@pytest.fixture(scope="module")
def told(read: Read, child: SolverChild) -> Callable[[str], Told]:
    done: dict[str, Told] = {}

    def ask(name: str) -> Told:
        if name not in done:
            loaded = read(name)
            with Workers(loaded.catalog, child, Clock(90.0), count=1) as workers:
                best = workers.first.best(loaded.spec, 1e-6).solution
                assert best is not None
                inputs = inputs_of(best)
                flips = find_flips(loaded.spec, best, inputs, workers)
                done[name] = (best, flips, sensitivities(loaded.spec, best, inputs, workers))
        return done[name]

    return ask


def one(flips: tuple[Flip, ...], name: str, up: bool) -> Flip:
    (found,) = [f for f in flips if f.input == name and f.factor is not None and (f.factor > 1) is up]
    return found


def check_sides(flip: Flip) -> None:
    """The change lies between two solved plans of another make, close together, and the text says its numbers."""
    assert flip.at is not None
    assert flip.factor is not None
    assert flip.verified
    near, far = flip.sides
    assert flip.at == pytest.approx(flip.factor * flip.now)
    assert min(near.value, far.value) <= flip.at <= max(near.value, far.value)
    assert abs(near.value - far.value) <= 2.3 * BESIDE * flip.at
    assert near.plan != far.plan
    assert f"×{flip.factor:.3g}" in flip.text
    assert f"{far.usd_per_month:,.0f} USD/month there" in flip.text


def test_price_at_which_nothing_goes_to_api_a(told: Callable[[str], Told]) -> None:
    """Five reserved machines, 15,330, against four, 12,264, and 1,406 by API for the rest: equal at 3,066 / 1,406."""
    best, flips, _ = told("scenarios/s06-api-a.yaml")
    assert best.usd_per_month == pytest.approx(13065, rel=1e-3)
    flip = one(flips, "api-a/model-a", up=True)
    check_sides(flip)
    assert flip.factor == pytest.approx(3066 / 1406, rel=0.005)
    assert flip.sides[1].plan == "5 × cloud/us-1/h100-x2/reserved_1y"
    assert flip.sides[1].usd_per_month == pytest.approx(15330.0)


def test_price_at_which_nothing_goes_to_api_b_is_the_same_price(told: Callable[[str], Told]) -> None:
    """API B asks half of API A for this mix: twice the factor, the same price per token."""
    best, flips, _ = told("scenarios/s06-api-b.yaml")
    assert best.usd_per_month == pytest.approx(9999, rel=1e-3)
    flip = one(flips, "api-b/model-b", up=True)
    check_sides(flip)
    other = one(told("scenarios/s06-api-a.yaml")[1], "api-a/model-a", up=True)
    assert flip.at == pytest.approx(other.at, rel=0.01)
    assert flip.sides[1].usd_per_month == pytest.approx(15330.0)


def test_volume_at_which_a_start_up_buys_its_first_machine(told: Callable[[str], Told]) -> None:
    """757 M tokens a month against one L4 (FACTS: before redundancy or staff)."""
    _, flips, _ = told("scenarios/s05-startup.yaml")
    flip = one(flips, "volume", up=True)
    check_sides(flip)
    assert flip.at == pytest.approx(757e6, rel=0.02)
    assert flip.sides[0].plan.startswith("api/mid-open-weights")
    assert flip.sides[1].plan == "1 × cloud/us-1/l4-x1/on_demand"
    assert "busy" in flip.text


@pytest.mark.parametrize("name", ["scenarios/s06-api-a.yaml", "scenarios/s05-startup.yaml"])
def test_every_flip_is_a_change_of_kind(name: str, told: Callable[[str], Told], read: Read, child: SolverChild) -> None:
    """Solved once more, on today's side the plan is of today's kind and on the other side it is not."""
    best, flips, _ = told(name)
    loaded = read(name)
    names = {i.name: i for i in inputs_of(best)}
    with Workers(loaded.catalog, child, Clock(60.0), count=1) as workers:
        for flip in flips:
            if flip.at is None:
                assert flip.sides == ()
                continue
            check_sides(flip)
            sides = [
                names[str(flip.input)].ask(workers.first, loaded.spec, s.value / flip.now, 10.0, 1e-6)
                for s in flip.sides
            ]
            assert [s is not None and shape_of(s) == shape_of(best) for s in sides] == [True, False]
            for told_side, solved in zip(flip.sides, sides, strict=True):
                assert solved is not None
                assert told_side.usd_per_month == pytest.approx(solved.usd_per_month, rel=1e-3)


def test_tornado_is_sorted_and_its_bars_are_recomputable(told: Callable[[str], Told], read: Read) -> None:
    best, _, bars = told("scenarios/s06-api-a.yaml")
    assert {b.input for b in bars} == {
        "cloud/us-1/h100-x2/reserved_1y", "api-a/model-a", "volume", "target_utilization",
    }  # fmt: skip
    swings = [b.swing_usd_per_month for b in bars]
    assert swings == sorted(swings, reverse=True)
    for b in bars:
        costs = (b.usd_per_month_low, b.usd_per_month_high, b.usd_per_month_now)
        assert None not in costs
        known = [c for c in costs if c is not None]
        assert b.swing_usd_per_month == pytest.approx(max(known) - min(known))
        assert b.low < b.now < b.high
    lines = sensitivity_lines(bars)
    assert len(lines) == len(bars)
    # with the API a fifth cheaper today's plan costs a fifth of its part less, and the best plan no more than that
    api = next(b for b in bars if b.input == "api-a/model-a")
    cheaper = best.usd_per_month - 0.2 * best.check.cost.terms["api"]
    assert api.usd_per_month_low is not None
    assert api.usd_per_month_low <= cheaper + 1.0


def test_prices_of_offers_and_apis_are_multiplied_and_nothing_else(read: Read) -> None:
    catalog = read("scenarios/s06-api-a.yaml").catalog
    other = with_prices(catalog, {"cloud/us-1/h100-x2/reserved_1y": 2.0, "api-a/model-a": 0.5})
    for before, after in zip(catalog.offers, other.offers, strict=True):
        factor = 2.0 if before.id == "cloud/us-1/h100-x2/reserved_1y" else 1.0
        assert after == before.model_copy(update={"price_usd_per_hour": factor * before.price_usd_per_hour})
    for old, new in zip(catalog.apis, other.apis, strict=True):
        factor = 0.5 if old.id == "api-a/model-a" else 1.0
        assert new.input_usd_per_mtok == pytest.approx(factor * old.input_usd_per_mtok)
        assert new.output_usd_per_mtok == pytest.approx(factor * old.output_usd_per_mtok)


def test_share_by_api_is_of_the_whole_month(told: Callable[[str], Told]) -> None:
    """Three of 4.57 machines' worth at the peak of four hours: the API takes the rest of those hours only."""
    best, _, _ = told("scenarios/s06-api-a.yaml")
    (share,) = api_shares(best).values()
    mean = 15e9 / 3000 / (730 * 3600)
    over = 4 / 24 * (2.5 * mean - 3 * 1.04055)
    assert share == pytest.approx(over / mean, rel=0.02)
