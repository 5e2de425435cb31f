"""Demand as the programme sees it: volumes kept, peaks kept, order of no meaning."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.catalog import Catalog
from planner.demand.build import build_demand
from planner.demand.types import Demand, Service
from planner.errors import InputError
from planner.spec.types import Spec

SpecOf = Callable[..., Spec]
LENGTHS = {"input_tokens": 1500, "output_tokens": 300}


def workload_volume(demand: Demand, name: str) -> float:
    """Requests per month of a workload."""
    return math.fsum(
        c.mean_req_per_s[t] * s.hours_per_month * 3600.0
        for c in demand.classes
        if c.workload == name
        for t, s in enumerate(demand.slices)
    )


def test_flat_peak_is_one_slice_with_poisson_head_room(catalog: Catalog, spec_of: SpecOf) -> None:
    spec = spec_of({"traffic": {"peak_req_per_s": 6, **LENGTHS}, "slo": {"ttft_p95_ms": 2000}})
    demand = build_demand(spec, catalog)
    (chat,) = demand.classes
    assert [s.label for s in demand.slices] == ["all hours"]
    assert demand.slices[0].hours_per_month == 730.0
    assert chat.mean_req_per_s == pytest.approx((6.0,))
    assert 6.4 < chat.sizing_req_per_s[0] < 6.7  # 360 ± 1.645·19 requests a minute, and the request itself
    assert chat.ttft_limit_s == 2.0
    assert chat.ttft_quantile == 0.95
    assert chat.tpot_limit_s is None


def test_without_a_promise_capacity_is_the_mean(catalog: Catalog, spec_of: SpecOf) -> None:
    demand = build_demand(spec_of({"traffic": {"mean_req_per_s": 2, **LENGTHS}}), catalog)
    assert demand.classes[0].sizing_req_per_s == demand.classes[0].mean_req_per_s
    assert demand.services[0].band_weights == ((1.0,),)
    assert demand.services[0].max_spot_share == 1.0


def test_burstiness_raises_the_sizing_rate_only(catalog: Catalog, spec_of: SpecOf) -> None:
    def chat(dispersion: float) -> Service:
        traffic = {"peak_req_per_s": 6, "dispersion_10s": dispersion, **LENGTHS}
        return build_demand(spec_of({"traffic": traffic, "slo": {"tpot_p95_ms": 60}}), catalog).services[0]

    calm, bursty = chat(1).classes[0], chat(16).classes[0]
    assert bursty.sizing_req_per_s[0] > calm.sizing_req_per_s[0]
    assert bursty.mean_req_per_s == calm.mean_req_per_s


def test_peak_rate_is_the_busiest_hour_of_the_profile(catalog: Catalog, spec_of: SpecOf) -> None:
    spec = spec_of({"traffic": {"peak_req_per_s": 10, "profile": "office-hours", **LENGTHS}})
    demand = build_demand(spec, catalog)
    assert [s.label for s in demand.slices] == ["00–07 UTC", "07–17 UTC", "17–24 UTC"]
    assert demand.classes[0].mean_req_per_s == pytest.approx((2.0, 10.0, 4.0))
    assert [s.id for s in demand.slices] == ["q1.s1", "q1.s2", "q1.s3"]


@pytest.mark.parametrize("dust", [1e-12, 1e-300])
def test_hours_of_practically_no_traffic_are_empty_and_keep_the_volume(
    catalog: Catalog, spec_of: SpecOf, dust: float
) -> None:
    traffic = {
        "requests_per_month": 2.628e6,
        "profile": [dust] * 12 + [1.0] * 12,
        "input_tokens": 9,
        "output_tokens": 9,
    }
    (cls,) = build_demand(spec_of({"traffic": traffic, "slo": {"tpot_p95_ms": 50}}), catalog).services[0].classes
    assert cls.mean_req_per_s == (0.0, 2.0)
    assert cls.band_req_per_s[0] == (0.0,)


def test_time_zone_moves_the_hours_and_is_an_assumption(catalog: Catalog, spec_of: SpecOf) -> None:
    traffic = {"peak_req_per_s": 10, "profile": "office-hours", "timezone": "Europe/Berlin", **LENGTHS}
    demand = build_demand(spec_of({"traffic": traffic}, horizon={"start": "2027-01-01"}), catalog)
    assert [s.label for s in demand.slices] == ["23–06 UTC", "06–16 UTC", "16–23 UTC"]
    moves = "UTC+1 h on 86 days and UTC+2 h on 4 days of the quarter from 2027-01-01, so its hours move"
    assert demand.assumptions == (f"w0: Europe/Berlin is {moves}",)
    summer = build_demand(spec_of({"traffic": traffic}, horizon={"start": "2027-07-01"}), catalog)
    assert summer.slices[1].label == "05–15 UTC"


def test_peak_to_mean_reshapes_the_profile(catalog: Catalog, spec_of: SpecOf) -> None:
    for ratio in (1.0, 1.3, 2.0, 2.3):
        traffic = {"mean_req_per_s": 1, "profile": "office-hours", "peak_to_mean": ratio, **LENGTHS}
        demand = build_demand(spec_of({"traffic": traffic}), catalog)
        assert max(demand.classes[0].mean_req_per_s) == pytest.approx(ratio)
        assert workload_volume(demand, "w0") == pytest.approx(730 * 3600, rel=1e-9)


def test_a_ratio_beyond_the_profile_is_refused(catalog: Catalog, spec_of: SpecOf) -> None:
    traffic = {"mean_req_per_s": 1, "profile": "office-hours", "peak_to_mean": 3, **LENGTHS}
    with pytest.raises(InputError) as error:
        build_demand(spec_of({"traffic": traffic}), catalog)
    assert error.value.faults[0].code == "S208"
    assert "below 2.4" in error.value.faults[0].message


def test_a_ratio_without_a_profile_makes_a_day(catalog: Catalog, spec_of: SpecOf) -> None:
    demand = build_demand(spec_of({"traffic": {"mean_req_per_s": 1, "peak_to_mean": 2.5, **LENGTHS}}), catalog)
    assert max(demand.classes[0].sizing_req_per_s) == pytest.approx(2.5)
    assert len(demand.slices) == 8
    assert "one peak a day at 14:00 UTC" in demand.assumptions[0]


def test_what_was_left_open_is_an_assumption(catalog: Catalog, spec_of: SpecOf) -> None:
    slo = {"ttft_p95_ms": 500}
    spec = spec_of(
        {"traffic": {"mean_req_per_s": 1, **LENGTHS}, "slo": slo},
        {"traffic": {"mean_req_per_s": 1, "profile": "office-hours", "dispersion_10s": 16, **LENGTHS}, "slo": slo},
        {"traffic": {"mean_req_per_s": 1, "profile": "office-hours", "dispersion_10s": 1, **LENGTHS}, "slo": slo},
    )
    assert build_demand(spec, catalog).assumptions == (
        "w0: no profile given, so the same rate in every hour",
        "w0: no dispersion_10s given, so Poisson arrivals inside an hour",
        "w1: dispersion_10s above 10: mean and dispersion describe such bursts poorly, so leave head-room",
    )


def test_volumes_alone_make_requests_of_a_default_shape(catalog: Catalog, spec_of: SpecOf) -> None:
    spec = spec_of({"traffic": {"tokens_per_month": {"input": 30e6, "output": 10e6}}})
    demand = build_demand(spec, catalog)
    (only,) = demand.classes
    assert (only.input_tokens, only.output_tokens) == pytest.approx((900.0, 300.0))
    assert only.mean_req_per_s[0] * 730 * 3600 * only.output_tokens == pytest.approx(10e6, rel=1e-12)
    assert "900 input and 300 output tokens" in demand.assumptions[0]


def test_both_volumes_are_kept_exactly(catalog: Catalog, spec_of: SpecOf) -> None:
    traffic = {"tokens_per_day": {"input": 6e9, "output": 398e6}, "input_tokens": 3000, "output_tokens": 200}
    (only,) = build_demand(spec_of({"traffic": traffic}), catalog).classes
    daily = only.mean_req_per_s[0] * 86400.0
    assert daily * only.input_tokens == pytest.approx(6e9, rel=1e-12)
    assert daily * only.output_tokens == pytest.approx(398e6, rel=1e-12)


def test_length_distribution_becomes_three_classes(catalog: Catalog, spec_of: SpecOf) -> None:
    for mean, p95 in ((1500.0, 4000.0), (1000.0, 1000.0), (100.0, 600.0), (100.0, 1500.0), (100.0, 900.0)):
        traffic = {"mean_req_per_s": 1, "input_tokens": {"mean": mean, "p95": p95}, "output_tokens": 300}
        classes = build_demand(spec_of({"traffic": traffic}), catalog).classes
        rate = math.fsum(c.mean_req_per_s[0] for c in classes)
        assert rate == pytest.approx(1.0)
        assert math.fsum(c.mean_req_per_s[0] * c.input_tokens for c in classes) == pytest.approx(mean)
        assert max(c.input_tokens for c in classes) >= p95 * (1 - 1e-12)
        assert all(c.input_tokens > 0 for c in classes)


def test_a_long_class_stays_inside_the_context(catalog: Catalog, spec_of: SpecOf) -> None:
    lengths = {"input_tokens": {"mean": 1500, "p95": 4000}, "output_tokens": 300}
    spec = spec_of({"traffic": {"mean_req_per_s": 1, **lengths}, "max_context_tokens": 4500})
    classes = build_demand(spec, catalog).classes
    assert [c.name for c in classes] == ["short", "long"]
    assert classes[1].input_tokens == 4000
    assert math.fsum(c.mean_req_per_s[0] * c.input_tokens for c in classes) == pytest.approx(1500)


def test_a_prompt_has_at_least_one_token(catalog: Catalog, spec_of: SpecOf) -> None:
    (only,) = build_demand(spec_of({"traffic": {"tokens_per_day": {"input": 1e3, "output": 1e6}}}), catalog).classes
    assert (only.input_tokens, only.output_tokens) == pytest.approx((1.0, 1000.0))


def test_same_rules_share_replicas_and_dedicated_ones_do_not(catalog: Catalog, spec_of: SpecOf) -> None:
    one = {"traffic": {"mean_req_per_s": 1, **LENGTHS}, "models": ("a", "b")}
    same = {**one, "models": ("b", "a")}
    demand = build_demand(spec_of(one, same, {**one, "tenancy": "dedicated"}), catalog)
    assert [s.id for s in demand.services] == ["w0+w1", "w2"]
    assert demand.services[0].models == ("a", "b")
    split = build_demand(spec_of(one, {**one, "sovereignty": {"countries": ("EU",)}}), catalog)
    assert [s.id for s in split.services] == ["w0", "w1"]


def test_order_of_lists_changes_no_byte(catalog: Catalog, spec_of: SpecOf) -> None:
    chat = {
        "name": "chat",
        "models": ("a", "b"),
        "traffic": {
            "peak_req_per_s": 3,
            "profile": "office-hours",
            "classes": [
                {"name": "x", "share": 0.3, "input_tokens": 10, "output_tokens": 20},
                {"name": "y", "share": 0.7, "input_tokens": 30, "output_tokens": 10},
            ],
        },
    }
    bot = {"name": "bot", "traffic": {"mean_req_per_s": 1, **LENGTHS}}
    turned = {**chat, "models": ("b", "a"), "traffic": {**chat["traffic"], "classes": chat["traffic"]["classes"][::-1]}}  # type: ignore[dict-item,index]
    first, second = build_demand(spec_of(chat, bot), catalog), build_demand(spec_of(bot, turned), catalog)
    assert first.model_dump_json() == second.model_dump_json()


def test_api_only_where_the_options_allow_it(catalog: Catalog, spec_of: SpecOf) -> None:
    base = {"traffic": {"mean_req_per_s": 1, **LENGTHS}, "api_equivalents": ("x", "y")}
    assert build_demand(spec_of(base), catalog).classes[0].api_models == ("x", "y")
    without = {**base, "purchase": {"options": ("on_demand",)}}
    assert build_demand(spec_of(without), catalog).classes[0].api_models == ()


weights = st.lists(st.floats(0, 10), min_size=24, max_size=24).filter(lambda w: sum(w) > 0.01)
week = st.lists(st.floats(0, 10), min_size=168, max_size=168).filter(lambda w: sum(w) > 0.01)


@given(
    st.lists(
        st.tuples(
            st.one_of(weights, week),
            st.floats(1e-6, 1e4),
            st.floats(1, 60),
            st.sampled_from([None, "ttft_p95_ms", "tpot_p99_ms", "ttft_p50_ms"]),
            st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_slices_keep_volume_and_peaks(
    catalog: Catalog, spec_of: SpecOf, rows: list[tuple[list[float], float, float, str | None, str]]
) -> None:
    workloads = [
        {
            "traffic": {"mean_req_per_s": rate, "profile": w, "dispersion_10s": d, "timezone": tz, **LENGTHS},
            "slo": {slo: 500} if slo else {},
        }
        for w, rate, d, slo, tz in rows
    ]
    demand = build_demand(spec_of(*workloads), catalog)
    assert len(demand.slices) <= 8
    assert math.fsum(s.hours_per_month for s in demand.slices) == 730.0
    for i, (w, rate, *_rest) in enumerate(rows):
        assert workload_volume(demand, f"w{i}") == pytest.approx(rate * 730 * 3600, rel=1e-9)
        (only,) = (c for c in demand.classes if c.workload == f"w{i}")
        assert max(only.sizing_req_per_s) >= max(w) / (sum(w) / len(w)) * rate * (1 - 1e-9)
    for service in demand.services:
        for t, shares in enumerate(service.band_weights):
            assert math.fsum(shares) == pytest.approx(1.0, abs=1e-12)
            for c in service.classes:
                band = c.band_req_per_s[t]
                mean = math.fsum(f * r for f, r in zip(shares, band, strict=True))
                assert mean == pytest.approx(c.mean_req_per_s[t], rel=1e-9, abs=1e-15)
                assert band[-1] == c.sizing_req_per_s[t]
                assert all(r >= 0 for r in band)
                assert all(a <= b * (1 + 1e-12) for a, b in pairwise(band))
