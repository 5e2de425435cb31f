"""Explanations can be recomputed by hand."""

from datetime import date

import pytest

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.types import Rejected
from planner.explain.binding import binding_limits
from planner.explain.breakeven import all_api, api_break_evens, replicas_per_volume, requests_per_month
from planner.explain.headroom import headroom_products
from planner.explain.infeasible import unservable
from planner.explain.refusals import group_refusals, main_reason, spellings, why_not
from planner.explain.risks import bursty_traffic, find_risks
from planner.spec.types import OpsOverhead, Policy, Resilience, Slo, Spare
from planner.verify.types import Slack
from tests.report import sample


def test_limit_that_binds_in_two_slices_is_told_once() -> None:
    (only,) = binding_limits(sample.verification())
    assert only.family == "replica_capacity"
    assert only.keys == ("chat", sample.POOL)
    assert only.text == (
        f"with one replica less the rest could not serve at the sizing rate: chat, {sample.POOL} (1 of 1 replicas)"
    )


def test_unknown_family_still_has_a_sentence() -> None:
    check = sample.verification(binding=(Slack(family="new_rule", key=(), needed=2.0, had=2.0, unit=""),))
    assert binding_limits(check)[0].text == "new_rule has no slack (2 of 2)"


def test_headroom_is_one_product_with_the_margin_inside() -> None:
    (only,) = headroom_products(sample.spec(), sample.verification())
    assert only.factors == {"forecast_margin": 0.8, "estimate_quantile": 0.9, "target_utilization": 0.7}
    assert only.product == pytest.approx(0.8 * 0.9 * 0.7)
    assert only.stated == {"forecast_margin": 1.25, "estimate_quantile": 0.7, "target_utilization": 0.9}


def test_risks_name_price_estimate_spot_place_and_limits() -> None:
    found = {
        r.kind: r
        for r in find_risks(sample.spec(), sample.catalog(), sample.problem(), sample.plan(), sample.verification())
    }
    total = sample.verification().cost.total_usd_per_month
    assert found["assumed_price"].share == pytest.approx(2920 / total)
    assert "2026-01-01" in found["stale_price"].text
    assert "0.80×" in found["estimated_performance"].text
    assert found["spot_exposure"].share == pytest.approx(960 / total)
    assert "eurocloud/eu-north1" in found["single_region"].text
    assert "eurocloud H100-SXM" in found["unknown_quota"].text
    assert sample.API in found["unknown_api_limit"].text
    assert "seed_price" not in found


def test_unknown_country_and_operator_are_risks() -> None:
    def kinds(**fields: object) -> dict[str, float | None]:
        pool = sample.pool().model_copy(update=fields)
        problem = sample.problem(pools=(pool,))
        found = find_risks(sample.spec(), sample.catalog(), problem, sample.plan(), sample.verification())
        return {r.kind: r.share for r in found}

    total = sample.verification().cost.total_usd_per_month
    assert kinds(country=None)["unknown_country"] == pytest.approx((2920 + 960) / total)
    assert kinds(operator_jurisdiction=None)["unknown_operator"] == pytest.approx((2920 + 960) / total)
    assert not {"unknown_country", "unknown_operator"} & set(kinds())


def test_fresh_price_is_not_stale() -> None:
    spec = sample.spec(policy=Policy(price_date=date(2026, 2, 1)))
    kinds = [r.kind for r in find_risks(spec, sample.catalog(), sample.problem(), sample.plan(), sample.verification())]
    assert "stale_price" not in kinds


def test_month_weighs_slices_by_their_hours() -> None:
    demand = sample.demand()
    assert requests_per_month((3.0, 1.0), demand.slices) == pytest.approx(3600 * (3 * 400 + 330))


def test_break_even_is_the_volume_where_both_bills_are_equal() -> None:
    """All-API: 5,508,000 requests × 0.002 USD = 11,016 USD for 8.262 G tokens. One instance: 2,920 USD a month, and it
    carries 2 of the 6.25 … req/s that are sized on, so more than one is needed before the API costs as much."""
    problem = sample.problem()
    flip, *_ = api_break_evens(problem)
    volume = all_api(problem.demand.services[0], problem.demand.slices, problem.apis)
    assert volume is not None
    assert volume.api_usd_per_month == pytest.approx(11016.0)
    assert flip.now == pytest.approx(5_508_000 * 1500)
    load = replicas_per_volume(problem.demand.services[0], problem.candidates[0], problem.demand, 1.0)
    assert load == pytest.approx(2.5)
    # i instances carry i/2.5 of the volume; the API asks 11,016·t: i·2,920 = 11,016·t at t = i/3.773 ≤ i/2.5.
    assert flip.at is not None
    assert flip.at == pytest.approx(flip.now * 2920 / 11016)
    assert flip.usd_per_month_at == pytest.approx(2920.0)
    assert flip.text.startswith("at today's volume, 8,262 M tokens/month, machines are cheaper: ")
    assert "tip it" not in flip.text


def test_verdict_is_of_todays_volume_even_above_the_first_crossing() -> None:
    """One instance carries 0.4 of the volume and costs 2,920: with the API at 7,446 a month they meet at 0.392 of it.
    All of it takes three instances, 8,760 USD: today the API is cheaper."""
    apis = tuple(a.model_copy(update={"usd_per_request": 7446 / 5_508_000}) for a in sample.problem().apis)
    flip, price, *_ = api_break_evens(sample.problem(apis=apis))
    assert flip.at is not None
    assert flip.at == pytest.approx(flip.now * 2920 / 7446)
    assert flip.text.startswith("at today's volume, 8,262 M tokens/month, the API is cheaper: all by API ")
    assert " 7,446, all on 3 × " in flip.text
    assert "machines first cost no more than the API at 3,240 M tokens/month" in flip.text
    assert flip.text.endswith("today to the API")
    assert "which is below it" in price.text


def test_api_price_at_which_hosting_costs_the_same() -> None:
    """Three instances carry 2.5 replicas' worth: 8,760 USD against 11,016 by API for 8,262 M tokens."""
    _, flip = api_break_evens(sample.problem())
    assert flip.what == "api_price"
    assert flip.at == pytest.approx(3 * 2920.0 / 8262)
    assert flip.now == pytest.approx(11016 / 8262)
    assert "which is above it" in flip.text
    assert "3 × eurocloud/eu-north1/gpu-2x/reserved_1y" in flip.text


def test_overhead_and_fixed_costs_move_the_break_even() -> None:
    policy = Policy(ops_overhead=OpsOverhead(fraction=0.3, fixed_usd_per_month=100.0))
    flip, *_ = api_break_evens(sample.problem(policy=policy))
    assert flip.usd_per_month_at == pytest.approx(100.0 + 1.3 * 2920.0)


def test_spare_needs_one_more_instance() -> None:
    service = sample.service().model_copy(update={"resilience": Resilience(spare=Spare(count=1))})
    demand = sample.demand().model_copy(update={"services": (service,)})
    flip, *_ = api_break_evens(sample.problem(demand=demand))
    # Two instances, one a spare: 5,840 USD = t·11,016 at t = 0.53 > 1/2.5; three carry 0.8 and cost 8,760 = 0.795.
    assert flip.usd_per_month_at == pytest.approx(3 * 2920.0)


def test_api_that_is_always_cheaper_has_no_break_even() -> None:
    cheap = tuple(a.model_copy(update={"usd_per_request": 0.0002}) for a in sample.problem().apis)
    flip, *_ = api_break_evens(sample.problem(apis=cheap))
    assert flip.at is None
    assert "no volume" in flip.text


def test_no_break_even_without_an_api_or_without_machines() -> None:
    assert api_break_evens(sample.problem(apis=())) == ()
    assert api_break_evens(sample.problem(candidates=())) == ()


def test_spot_is_no_ground_for_a_break_even() -> None:
    spot_only = tuple(c.model_copy(update={"options": (PurchaseOption.SPOT,)}) for c in sample.problem().candidates)
    assert api_break_evens(sample.problem(candidates=spot_only)) == ()


def test_refusals_are_grouped_by_reason_with_counts() -> None:
    groups = group_refusals(sample.problem().rejected)
    assert [(g.check, g.count) for g in groups] == [("country", 12), ("operator_jurisdiction", 12), ("memory", 1)]
    assert groups[2].example == "llama-3.3-70b-instruct/bf16/vllm/L4/tp1"


@pytest.mark.parametrize(
    ("name", "count"),
    [("L4", 1), ("l4", 1), ("llama-3.3-70b-instruct", 1), ("bf16", 1), ("uscloud", 1), ("uscloud/us-east1", 1),
     ("US", 1), ("L40S", 0), ("4", 0)],
)  # fmt: skip
def test_why_not_finds_whole_names_only(name: str, count: int) -> None:
    assert len(why_not(sample.problem().rejected, spellings(name))) == count


def _refused(what: str, *checks: Check, count: int = 1) -> Rejected:
    return Rejected(what=what, service="chat", checks=checks, count=count)


def _slow(had: float, cls: str) -> Check:
    return Check(check="tpot", kind=CheckKind.SLO, needed=10.0, had=had, unit="ms", detail=f"{cls}: too slow")


def test_main_reason_is_the_nearest_of_those_that_only_break_a_promise() -> None:
    country = Check(check="country", kind=CheckKind.POLICY, needed="EU", had="US")
    refused = [
        _refused("a", country, count=90), _refused("b", _slow(30.0, "chat/long")),
        _refused("c", _slow(20.0, "chat/long")),
        _refused("d", _slow(11.0, "chat/short")), _refused("e", _slow(10.5, "chat/long"), country),
    ]  # fmt: skip
    found = main_reason(refused, "chat/long")
    assert found is not None
    assert (found.check, found.example, found.count) == ("tpot", "c", 2)
    anyone = main_reason(refused)
    assert anyone is not None
    assert anyone.example == "d"


def test_main_reason_without_a_broken_promise_is_the_most_common_one() -> None:
    country = Check(check="country", kind=CheckKind.POLICY, needed="EU", had="US")
    memory = Check(check="memory", kind=CheckKind.PHYSICAL, needed=80.0, had=20.0, unit="GiB")
    replaced = Check(check="dominated_by", kind=CheckKind.POLICY, had="x")
    found = main_reason([_refused("a", memory), _refused("b", country, count=3), _refused("c", replaced, count=9)])
    assert found is not None
    assert (found.check, found.count) == ("country", 3)
    assert main_reason([_refused("c", replaced)]) is None


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        ((_slow(20.0, "chat/all"),), "tpot needed 10 ms, had 20 ms, e.g. a"),
        ((Check(check="country", kind=CheckKind.POLICY, needed="EU", had="US"),), "country needed EU, had US, e.g. a"),
        ((Check(check="spot_fallback", kind=CheckKind.POLICY, needed="x"),),
         "spot fallback needed x, had nothing, e.g. a"),
        ((), "nothing that may be bought could"),
    ],
)  # fmt: skip
def test_what_nothing_can_serve_comes_with_the_rule_in_the_way(checks: tuple[Check, ...], says: str) -> None:
    refused = tuple(_refused("a", check) for check in checks)
    asked = sample.problem().model_copy(update={"candidates": (), "apis": (), "rejected": refused})
    lost = unservable(asked)
    assert {c.keys[1] for c in lost} == {c.id for s in asked.demand.services for c in s.classes}
    assert all(c.relax == f"nothing can serve it: {says}" for c in lost)


def test_bursty_arrivals_are_said_where_latency_is_promised() -> None:
    """FACTS: above an index of dispersion of about 10 at 10 s, rows under-size; a trace is asked for."""

    def kinds(dispersion: float, slo: Slo) -> list[str]:
        spec = sample.spec()
        workloads = tuple(
            w.model_copy(update={"traffic": w.traffic.model_copy(update={"dispersion_10s": dispersion}), "slo": slo})
            for w in spec.workloads
        )
        return [r.kind for r in bursty_traffic(spec.model_copy(update={"workloads": workloads}))]

    assert set(kinds(10.1, Slo(ttft_p95_ms=1000.0))) == {"bursty_arrivals"}
    assert kinds(10.0, Slo(ttft_p95_ms=1000.0)) == []
    assert kinds(100.0, Slo()) == []


def test_an_absurd_first_token_is_a_risk() -> None:
    check = sample.verification()

    def kinds(ttft_ms: float | None) -> set[str]:
        late = tuple(d.model_copy(update={"ttft_p95_ms": ttft_ms}) for d in check.deliveries)
        found = find_risks(
            sample.spec(), sample.catalog(), sample.problem(), sample.plan(),
            check.model_copy(update={"deliveries": late}),
        )  # fmt: skip
        return {r.kind for r in found}

    assert "slow_first_token" in kinds(30_001.0)
    assert "slow_first_token" not in kinds(29_999.0) | kinds(None)
