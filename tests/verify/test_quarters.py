"""Plans over several quarters: terms, machines that leave, offers to come, and what all of it costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from planner.base import PurchaseOption
from planner.candidates.types import Deployment, Plan, Purchase, Route
from planner.catalog.types import PricePath
from planner.spec.types import Fleet, HeldCommitment, Horizon, Traffic
from planner.verify.verify import Verifier
from tests import builders as b

OD, R1, OWNED = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.OWNED
POOL, CONFIG, CLASS = "cloud/eu/box", "tiny/bf16/vllm/A/tp1", "chat/all"


def verifier(quarters: int = 3, offers: dict[str, Any] | None = None, paths: tuple[PricePath, ...] = (), **fields: Any):
    """A request a second in every quarter, one machine does one; on demand at 4 USD, a year at 2."""
    load = b.workload(
        traffic=Traffic(mean_req_per_s=1.0, quarter_factors=(1.0,) * quarters, input_tokens=1000.0, output_tokens=500.0)
    )
    horizon = {"start": date(2027, 1, 1), "quarters": quarters, "terminal": "drop", **fields.pop("horizon", {})}
    spec = b.make_spec([load], [b.measured(1.0)], horizon=Horizon(**horizon), **fields)
    catalog = b.make_catalog(
        instance_types=[b.instance_type("cloud", "box")],
        offers=[
            b.offer("cloud", "eu", "box", OD, 4.0, **(offers or {})),
            b.offer("cloud", "eu", "box", R1, 2.0, **(offers or {})),
        ],
    )
    return Verifier(spec, replace(catalog, price_paths=paths, price_date=date(2027, 1, 1)))


def plan(*purchases: Purchase, pools: tuple[str, ...] = (POOL,) * 3) -> Plan:
    """One replica in every slice, in the pool given for it."""
    deployments = []
    for pool in sorted(set(pools)):
        mine = [t for t, p in enumerate(pools) if p == pool]
        routes = tuple(Route(request_class=CLASS, slice=t, band=0, req_per_s=1.0) for t in mine)
        replicas = tuple(int(t in mine) for t in range(len(pools)))
        deployments.append(
            Deployment(service="chat", config=CONFIG, pool=pool, spot=False, replicas=replicas, routes=routes)
        )
    return Plan(purchases=purchases, deployments=tuple(deployments), api=())


def families(v: Verifier, p: Plan) -> set[str]:
    return {x.family for x in v.verify(p).violations}


def test_a_term_serves_from_its_start_on_and_only_then() -> None:
    v = verifier()
    hourly = Purchase(pool=POOL, option=OD, instances=(1, 0, 0))
    term = Purchase(pool=POOL, option=R1, instances=(0, 1, 1), start_month=3.0)
    assert families(v, plan(hourly, term)) == set()
    assert families(v, plan(hourly, term.model_copy(update={"start_month": 0.0}))) == {"commitment_window"}
    assert families(v, plan(hourly, term.model_copy(update={"start_month": 4.0}))) == {"commitment_window"}
    assert families(v, plan(term.model_copy(update={"instances": (1, 1, 1)}))) == {"commitment_window"}
    assert families(v, plan(term)) == {"instance_packing"}


def test_a_term_ends_after_four_quarters() -> None:
    v = verifier(5)
    pools = (POOL,) * 5
    term = Purchase(pool=POOL, option=R1, instances=(1, 1, 1, 1, 1))
    assert families(v, plan(term, pools=pools)) == {"commitment_window"}
    short = Purchase(pool=POOL, option=R1, instances=(1, 1, 1, 1, 0))
    assert families(v, plan(short, pools=pools)) == {"instance_packing"}
    hourly = Purchase(pool=POOL, option=OD, instances=(0, 0, 0, 0, 1))
    cost = v.verify(plan(short, hourly, pools=pools)).cost
    assert cost.by_quarter == pytest.approx([1460.0] * 4 + [2920.0])
    assert cost.liability_beyond_horizon_usd == 0.0


def test_what_is_left_of_a_term_is_due_after_the_horizon_and_charged_where_asked() -> None:
    term = Purchase(pool=POOL, option=R1, instances=(1, 1, 1))
    dropped = verifier().verify(plan(term)).cost
    assert dropped.liability_beyond_horizon_usd == pytest.approx(3 * 1460.0)
    assert dropped.judged_usd_per_month == dropped.total_usd_per_month == pytest.approx(1460.0)
    charged = verifier(horizon={"terminal": "charge"}).verify(plan(term)).cost
    assert charged.total_usd_per_month == pytest.approx(1460.0)
    assert charged.judged_usd_per_month == pytest.approx(12 * 1460.0 / 9)


def test_the_last_quarter_goes_on_until_the_longest_term_ends() -> None:
    """Two quarters by the hour, then a term: 9 months of horizon and 9 more of the last quarter."""
    hourly = Purchase(pool=POOL, option=OD, instances=(1, 1, 0))
    term = Purchase(pool=POOL, option=R1, instances=(0, 0, 1), start_month=6.0)
    cost = verifier(horizon={"terminal": "repeat"}).verify(plan(hourly, term)).cost
    assert cost.total_usd_per_month == pytest.approx((2 * 2920 + 1460) / 3)
    assert cost.judged_usd_per_month == pytest.approx((2 * 2920 + 1460 + 3 * 1460) / 6)


def test_later_payments_are_discounted() -> None:
    hourly = Purchase(pool=POOL, option=OD, instances=(1, 1, 2))
    even = verifier().verify(plan(hourly)).cost
    cost = verifier(horizon={"discount_rate_per_year": 0.1}).verify(plan(hourly)).cost
    assert cost.total_usd_per_month == even.total_usd_per_month
    worth = [1.1 ** -((q + 0.5) / 4) for q in range(3)]
    judged = sum(w * 2920 * n for w, n in zip(worth, (1, 1, 2), strict=True)) / sum(worth)
    assert cost.judged_usd_per_month == pytest.approx(judged)
    assert cost.judged_usd_per_month < even.judged_usd_per_month


def test_nothing_is_bought_before_it_is_sold() -> None:
    v = verifier(offers={"available_from": date(2027, 4, 1)})
    assert families(v, plan(Purchase(pool=POOL, option=OD, instances=(1, 1, 1)))) == {"offer"}
    assert families(v, plan(Purchase(pool=POOL, option=R1, instances=(1, 1, 1)))) == {"offer"}
    later = Purchase(pool=POOL, option=R1, instances=(0, 1, 1), start_month=3.0)
    assert families(v, plan(later)) == {"instance_packing"}


def test_a_term_keeps_the_price_that_it_began_with() -> None:
    path = PricePath(decline_per_year=0.5, **b.ORIGIN)
    v = verifier(paths=(path,))
    factor = 0.5 ** (90 / 365.25)
    hourly = v.verify(plan(Purchase(pool=POOL, option=OD, instances=(1, 1, 1)))).cost
    assert hourly.by_quarter[:2] == pytest.approx([2920.0, 2920.0 * factor])
    first = Purchase(pool=POOL, option=OD, instances=(1, 0, 0))
    term = Purchase(pool=POOL, option=R1, instances=(0, 1, 1), start_month=3.0)
    assert v.verify(plan(first, term)).cost.by_quarter[1:] == pytest.approx([1460.0 * factor] * 2)


def test_a_running_commitment_is_sunk_and_serves_until_it_ends() -> None:
    held = HeldCommitment(offer=f"{POOL}/reserved_1y", instances=1, ends=date(2027, 5, 16), usd_per_hour=3.0)
    v = verifier(fleet=Fleet(commitments=(held,)))
    assert [s.id for s in v.facts.demand.slices] == ["q1.s1", "q2a.s1", "q2b.s1", "q3.s1"]
    mine = Purchase(pool=f"{POOL}#held", option=OWNED, instances=(1, 1, 0, 0))
    hourly = Purchase(pool=POOL, option=OD, instances=(0, 0, 1, 1))
    pools = (f"{POOL}#held",) * 2 + (POOL,) * 2
    verdict = v.verify(plan(mine, hourly, pools=pools))
    assert verdict.violations == ()
    assert verdict.cost.by_quarter == pytest.approx([0.0, 2920.0 * 46 / 91, 2920.0])
    assert verdict.cost.sunk_usd_per_month == pytest.approx(3 * 730 * (3 + 3 * 45 / 91) / 9)
    assert verdict.cost.commitments.utilization == pytest.approx(1.0)
    too_long = Purchase(pool=f"{POOL}#held", option=OWNED, instances=(1, 1, 1, 1))
    assert families(v, plan(too_long, pools=(f"{POOL}#held",) * 4)) == {"offer"}


def test_a_budget_holds_in_every_quarter_and_cash_falls_due_at_the_start() -> None:
    uneven = Purchase(pool=POOL, option=OD, instances=(1, 1, 2))
    policy = {"budget": {"usd_per_month": 4000.0}}
    assert [v.key for v in verifier(policy=policy).verify(plan(uneven)).violations] == [("amortised", "Q3")]
    term = Purchase(pool=POOL, option=R1, instances=(1, 1, 1))
    upfront = {"upfront_fraction": 1.0}
    cost = verifier(offers=upfront).verify(plan(term)).cost
    assert cost.cash_by_quarter == pytest.approx([12 * 1460.0 / 3, 0.0, 0.0])
    assert cost.cash_by_month == pytest.approx([12 * 1460.0] + [0.0] * 8)
    cash = {"budget": {"usd_per_month": 4000.0, "basis": "cash"}}
    assert families(verifier(offers=upfront, policy=cash), plan(term)) == {"budget"}


def test_a_running_commitment_counts_against_its_quota() -> None:
    held = HeldCommitment(offer=f"{POOL}/reserved_1y", instances=2, ends=date(2027, 7, 1), usd_per_hour=3.0)
    policy = {"quotas": ({"limit": 2.0, "applies_to": ("reserved_1y",)},)}
    v = verifier(fleet=Fleet(commitments=(held,)), policy=policy)
    term = Purchase(pool=POOL, option=R1, instances=(1, 1, 1))
    assert families(v, plan(term)) == {"quota"}
    assert {x.key[1] for x in v.verify(plan(term)).violations} == {"q1.s1", "q2.s1"}
