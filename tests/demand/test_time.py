"""Time of a horizon: zones and daylight saving, growth, files of rates and requests, and what slices cost."""

import itertools
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.catalog import Catalog
from planner.demand.build import build_demand
from planner.demand.periods import day_of, month_of, periods, quarter_start
from planner.demand.sizing import sizing_rates
from planner.demand.slices import PRICE_RATIOS, Axis, curve_cost, group_hours, overstatement
from planner.demand.types import Demand
from planner.errors import InputError
from planner.spec.traces import FileFault, read_profile, read_trace
from planner.spec.types import Spec, Traffic

SpecOf = Callable[..., Spec]
LENGTHS = {"input_tokens": 1000, "output_tokens": 200}


def hours_at(demand: Demand, rate: float, cls: int = 0) -> float:
    """Hours a month in which a class has about this mean rate."""
    means = demand.classes[cls].mean_req_per_s
    return sum(s.hours_per_month for s, x in zip(demand.slices, means, strict=True) if x == pytest.approx(rate))


# ---- zones ---------------------------------------------------------------------------------------------------------

MORNING = tuple(1.0 if h == 9 else 0.0 for h in range(24))


def both(catalog: Catalog, spec_of: SpecOf, zones: tuple[str, str], start: str) -> Demand:
    """Two workloads that are busy from 9 to 10 in their zones."""
    loads = [{"traffic": {"peak_req_per_s": 1, "profile": list(MORNING), "timezone": z, **LENGTHS}} for z in zones]
    return build_demand(spec_of(*loads, horizon={"start": start}), catalog)


def test_half_hours_are_kept(catalog: Catalog, spec_of: SpecOf) -> None:
    demand = both(catalog, spec_of, ("Asia/Kolkata", "UTC"), "2027-01-01")
    assert {s.label for s in demand.slices} == {"03:30–04:30 UTC", "09–10 UTC", "04:30–09, 10–03:30 UTC"}
    assert hours_at(demand, 1.0) == pytest.approx(730 / 24)


def test_quarter_hours_are_kept(catalog: Catalog, spec_of: SpecOf) -> None:
    demand = both(catalog, spec_of, ("Asia/Kathmandu", "Asia/Kolkata"), "2027-01-01")
    overlap = [s for t, s in enumerate(demand.slices) if all(c.mean_req_per_s[t] > 0.5 for c in demand.classes)]
    assert sum(s.hours_per_month for s in overlap) == pytest.approx(0.75 * 730 / 24)


def test_clocks_that_change_apart_overlap_by_days(catalog: Catalog, spec_of: SpecOf) -> None:
    """9 h in New York is 13 or 14 h UTC; 14 h in London is 13 or 14 h UTC: two weeks of the quarter they differ."""
    late = tuple(1.0 if h == 14 else 0.0 for h in range(24))
    loads = [
        {"traffic": {"peak_req_per_s": 1, "profile": list(MORNING), "timezone": "America/New_York", **LENGTHS}},
        {"traffic": {"peak_req_per_s": 1, "profile": list(late), "timezone": "Europe/London", **LENGTHS}},
    ]
    demand = build_demand(spec_of(*loads, horizon={"start": "2027-01-01"}), catalog)
    together = [s for t, s in enumerate(demand.slices) if all(c.mean_req_per_s[t] > 0.5 for c in demand.classes)]
    # 2027: New York changes on 14 March, London on 28 March; 90 days.
    assert sum(s.hours_per_month for s in together) == pytest.approx(730 / 24 * (90 - 14) / 90)
    assert all(hours_at(demand, 1.0, c) == pytest.approx(730 / 24) for c in (0, 1))


def test_one_zone_moves_alike_whatever_its_clocks_do(catalog: Catalog, spec_of: SpecOf) -> None:
    demand = both(catalog, spec_of, ("Europe/Berlin", "Europe/Berlin"), "2027-01-01")
    assert [s.label for s in demand.slices] == ["09–08 UTC", "08–09 UTC"]


# ---- the calendar --------------------------------------------------------------------------------------------------


def test_quarters_begin_on_the_same_day_of_the_month() -> None:
    assert [quarter_start(date(2026, 11, 30), q) for q in (1, 2, 3)] == [
        date(2026, 11, 30), date(2027, 2, 28), date(2027, 5, 30)
    ]  # fmt: skip
    assert month_of(date(2027, 2, 15), date(2027, 1, 1), 1) == pytest.approx(1.5, abs=0.02)
    assert month_of(date(2026, 12, 1), date(2027, 1, 1), 1) < 0


@given(st.dates(date(2024, 1, 1), date(2030, 1, 1)), st.integers(1, 8), st.integers(0, 900), st.integers(0, 900))
def test_months_follow_the_days(start: date, quarters: int, one: int, other: int) -> None:
    early, late = sorted((one, other))
    months = [month_of(start + timedelta(d), start, quarters) for d in (early, late)]
    assert 0.0 <= months[0] <= months[1]
    inside = months[0] < 3.0 * quarters
    assert not inside or day_of(months[0], start) == start + timedelta(early)
    assert month_of(quarter_start(start, quarters + 1), start, quarters) == pytest.approx(3.0 * quarters)


@given(st.integers(1, 8), st.lists(st.floats(-5, 40), max_size=3))
def test_periods_cover_the_horizon_and_break_at_every_change_and_a_term_later(
    quarters: int, changes: list[float]
) -> None:
    found = periods(quarters, changes)
    assert found[0].begins_month == 0.0
    assert found[-1].ends_month == 3.0 * quarters
    assert all(a.ends_month == b.begins_month for a, b in itertools.pairwise(found))
    assert all(3 * (p.quarter - 1) <= p.begins_month < p.ends_month <= 3 * p.quarter for p in found)
    edges = [p.begins_month for p in found] + [3.0 * quarters]
    for change in changes:
        for term in (0.0, 12.0, 36.0):
            if change > 0.0 and change + term < 3.0 * quarters:
                assert min(abs(change + term - e) for e in edges) <= 0.05 + 1e-9


# ---- growth --------------------------------------------------------------------------------------------------------


def test_growth_is_compound_and_capacity_is_for_the_last_month(catalog: Catalog, spec_of: SpecOf) -> None:
    """15 % requests and 5 % tokens a month are 1.76 × a quarter and 3.10 × in two (not 1.45 ×)."""
    growth = {"growth_per_quarter": 1.15**3 - 1, "token_growth_per_quarter": 1.05**3 - 1}
    traffic = {"mean_req_per_s": 2.0, **LENGTHS, **growth}
    demand = build_demand(spec_of({"traffic": traffic}, horizon={"quarters": 3}), catalog)
    means = demand.classes[0].mean_req_per_s
    assert [m / means[0] for m in means] == pytest.approx([1.0, 1.2075**3, 1.2075**6])
    assert [round(m / means[0], 2) for m in means] == [1.0, 1.76, 3.1]
    months = [1 / 1.2075, 1.0, 1.2075]
    last = months[-1] / (sum(months) / 3)
    assert demand.classes[0].sizing_req_per_s == pytest.approx([m * last for m in means])


def test_growth_is_planned_at_its_middle(catalog: Catalog, spec_of: SpecOf) -> None:
    traffic = {"mean_req_per_s": 2.0, **LENGTHS, "growth_per_quarter": {"low": 0.03, "mid": 0.1, "high": 0.22}}
    demand = build_demand(spec_of({"traffic": traffic}, horizon={"quarters": 2}), catalog)
    assert demand.classes[0].mean_req_per_s == pytest.approx([2.0, 2.2])


def test_steps_have_no_growth_inside_a_quarter(catalog: Catalog, spec_of: SpecOf) -> None:
    traffic = {"mean_req_per_s": 2.0, **LENGTHS, "quarter_factors": [1, 0, 3]}
    demand = build_demand(spec_of({"traffic": traffic}, horizon={"quarters": 3}), catalog)
    assert demand.classes[0].mean_req_per_s == demand.classes[0].sizing_req_per_s == (2.0, 0.0, 6.0)


def test_machines_that_leave_cut_their_quarter(catalog: Catalog, spec_of: SpecOf) -> None:
    fleet = {"owned": [{"accelerator": "L4", "ends": "2027-05-16"}]}
    spec = spec_of({"traffic": {"mean_req_per_s": 2.0, **LENGTHS}}, fleet=fleet,
                   horizon={"start": "2027-01-01", "quarters": 3})  # fmt: skip
    slices = build_demand(spec, catalog).slices
    assert [s.id for s in slices] == ["q1.s1", "q2a.s1", "q2b.s1", "q3.s1"]
    assert slices[1].hours_per_month + slices[2].hours_per_month == pytest.approx(730.0)
    assert slices[1].ends_month == pytest.approx(3 + 3 * 45 / 91)


def test_a_commitment_that_nobody_knows_is_refused(catalog: Catalog, spec_of: SpecOf) -> None:
    for offer in ("aws/us-east-1/p5.48xlarge/on_demand", "aws/us-east-1/nothing/reserved_1y", "x"):
        fleet = {"commitments": [{"offer": offer, "instances": 1, "ends": "2027-05-16"}]}
        with pytest.raises(InputError) as error:
            build_demand(spec_of({"traffic": {"mean_req_per_s": 2.0, **LENGTHS}}, fleet=fleet), catalog)
        assert [f.code for f in error.value.faults] == ["S304"]


# ---- small rates ---------------------------------------------------------------------------------------------------


def test_a_request_a_minute_is_sized_for_four() -> None:
    assert float(sizing_rates(np.array([1 / 60]), 1.0, 0.95)[0]) == pytest.approx(4 / 60)


@given(st.floats(1e-4, 50.0), st.sampled_from([1.0, 1.5, 4.0, 16.0]), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_sizes_are_whole_requests_a_minute_and_the_fewest(rate: float, dispersion: float, percentile: float) -> None:
    from scipy import stats

    count = round(60.0 * float(sizing_rates(np.array([rate]), dispersion, percentile)[0]), 6)
    mean = 60.0 * rate
    if dispersion == 1.0:
        seen = stats.poisson(mean)
    else:
        seen = stats.nbinom(mean / (dispersion - 1.0) + 1.0, 1.0 / dispersion)
    fewest = 1 + int(seen.ppf(percentile))
    assert count == pytest.approx(max(fewest, mean), abs=1e-6)


# ---- slices against the load-duration curve ------------------------------------------------------------------------


@given(st.lists(st.floats(0.01, 10.0), min_size=24, max_size=48), st.integers(2, 12))
def test_slices_never_cost_less_than_the_hours_and_all_hours_cost_the_same(rates: list[float], most: int) -> None:
    rows, lengths = np.array([rates]), np.ones(len(rates))
    assert overstatement(rows, group_hours(rows, most), lengths) >= -1e-12
    assert overstatement(rows, group_hours(rows, len(rates)), lengths) == pytest.approx(0.0, abs=1e-9)
    for ratio in (0.3, 0.6, 0.9):
        levels = [0.0, *rates]
        tried = min(ratio * c + sum(max(0.0, x - c) for x in rates) / len(rates) for c in levels)
        assert curve_cost(rows[0], lengths / len(rates), ratio) == pytest.approx(tried)


@pytest.mark.shared
@pytest.mark.parametrize("column", ["m-large", "m-mid", "m-small", "deepseek-r1", "mm-image"])
@pytest.mark.parametrize("ratio", PRICE_RATIOS)
def test_eight_typical_hours_cost_what_measured_hours_cost(shared_data: Path, column: str, ratio: float) -> None:
    """Within 1 % at the slices' mean rates; capacity is for the busiest hour of each, see the next test."""
    week = np.array([read_profile(shared_data / "traces" / "servegen" / "hourly_rate_profile.csv", column)])
    groups = group_hours(week)
    means = np.array([week[0, list(g.hours)].mean() for g in groups])
    shares = np.array([len(g.hours) for g in groups]) / week.shape[1]
    whole = curve_cost(week[0], np.full(week.shape[1], 1.0 / week.shape[1]), ratio)
    assert curve_cost(means, shares, ratio) == pytest.approx(whole, rel=0.01)


@pytest.mark.shared
@pytest.mark.parametrize("column", ["m-large", "m-mid", "m-small", "deepseek-r1", "mm-image"])
def test_slices_reproduce_the_cost_of_measured_hours(shared_data: Path, column: str) -> None:
    """Within 1 % for every price ratio, with 48 slices; what 8 of them cost more is what the plan says."""
    path = shared_data / "traces" / "servegen" / "hourly_rate_profile.csv"
    week = np.array([read_profile(path, column)])
    lengths = np.ones(week.shape[1])
    groups = group_hours(week, 48)
    assert overstatement(week, groups, lengths) <= 0.01
    means = np.array([week[0, list(g.hours)].mean() for g in groups])
    shares = np.array([len(g.hours) for g in groups]) / week.shape[1]
    assert float((means * shares).sum()) == pytest.approx(float(week.mean()))  # volume
    assert week[0].max() in [week[0, list(g.hours)].max() for g in groups]  # peak


def test_labels_of_several_stretches_name_the_longest() -> None:
    axis = Axis(24, 1, (10, 80))
    groups = group_hours(np.array([[*([0.0] * 8), 1.0, *([0.0] * 15), *([0.0] * 7), 1.0, *([0.0] * 16)]]))
    assert [axis.name(g) for g in groups] == ["08–07 UTC", "07–08 UTC"]


# ---- files ---------------------------------------------------------------------------------------------------------


def test_a_csv_of_rates(tmp_path: Path) -> None:
    day = tmp_path / "day.csv"
    day.write_text("hour,rate\n" + "".join(f"{h},{h + 1}\n" for h in range(24)), encoding="utf-8")
    assert read_profile(day, None) == tuple(float(h + 1) for h in range(24))
    weeks = tmp_path / "weeks.csv"
    weeks.write_text("a,b\n" + "".join(f"{1 + h // 168},{h}\n" for h in range(336)), encoding="utf-8")
    assert read_profile(weeks, "a") == (1.5,) * 168
    assert read_profile(weeks, "b")[0] == 84.0


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("hour,a,b\n" + "1,2,3\n" * 24, None, "2 columns of rates"),
        ("hour,a\n" + "1,2\n" * 24, "b", "no column 'b'"),
        ("hour,a\n" + "1,2\n" * 23, None, "23 rates"),
        ("hour,a\n" + "1,x\n" * 24, None, "day.csv:2"),
        ("hour,a\n" + "1,-1\n" * 24, None, "0 or more"),
        ("hour,a\n" + "1,0\n" * 24, None, "is 0"),
        ("", None, "empty"),
    ],
)
def test_a_csv_that_says_nothing_is_refused(tmp_path: Path, text: str, column: str | None, said: str) -> None:
    path = tmp_path / "day.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFault, match=said):
        read_profile(path, column)
    with pytest.raises(FileFault, match="cannot be read"):
        read_profile(tmp_path / "no.csv", None)


def test_a_trace_of_known_requests(tmp_path: Path) -> None:
    """Two days with 60 requests a minute from 8 to 9 and 6 in other hours."""
    lines = ["timestamp,input_tokens,output_tokens"]
    for minute in range(2 * 1440):
        count = 60 if (minute // 60) % 24 == 8 else 6
        lines += [f"{60 * minute + 60 * k / count},{100 + 100 * (k % 2)},50" for k in range(count)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read_trace(path, "t.csv")
    assert len(found.weights) == 24
    assert found.mean_req_per_s == pytest.approx((60 + 23 * 6) / 24 / 60, rel=1e-3)
    assert found.weights[8] / found.weights[3] == pytest.approx(10.0, rel=1e-3)
    assert found.sizing_ratios(0.95) == pytest.approx((1.0,) * 24)
    assert found.dispersion_10s == 1.0
    assert found.input_tokens is not None
    assert found.input_tokens.mean == pytest.approx(150.0, rel=0.01)


def test_bursts_are_sized_by_requests_not_by_minutes(tmp_path: Path) -> None:
    """One minute in ten has 91 requests, the others 1: nine in ten requests come in the busy ones."""
    lines = ["time"]
    for minute in range(600):
        count = 91 if minute % 10 == 5 else 1
        lines += [str(60 * minute + 60 * k / count) for k in range(count)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read_trace(path, "t.csv")
    assert found.weights == ()
    assert found.sizing_ratios(0.5)[0] == pytest.approx(9.1, rel=0.02)
    assert found.sizing_ratios(0.95)[0] == pytest.approx(9.1, rel=0.02)
    assert found.input_tokens is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "a,b\n1,2\n", "no column of times"),
        ("t.csv", "time,input\n" + "1,2\n" * 50, "50 requests"),
        ("t.csv", "time\n" + "1\n" * 200, "spans 0 s"),
        ("t.csv", "time\nnoon\n", "t.csv:2: not a time"),
        ("t.csv", "time,input\n1,x\n", "t.csv:2: input"),
        ("t.jsonl", "[1]\n", "not a JSON object"),
        ("t.jsonl", "{\n", "not a line of JSON"),
    ],
)
def test_a_trace_that_says_nothing_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFault, match=said):
        read_trace(path, name)


@pytest.mark.shared
def test_measured_traces_are_read_as_they_were_measured(shared_data: Path) -> None:
    """Against the statistics that came with them (data/traces/trace_stats.json)."""
    conv = read_trace(shared_data / "traces" / "azure2023" / "AzureLLMInferenceTrace_conv.csv", "conv.csv")
    assert (conv.requests, conv.weights) == (19366, ())
    assert conv.span_h == pytest.approx(3501.7 / 3600, rel=1e-3)
    assert conv.mean_req_per_s == pytest.approx(5.5304, rel=0.02)
    assert conv.dispersion_10s == pytest.approx(3.86, rel=0.05)
    assert conv.input_tokens is not None
    assert (conv.input_tokens.mean, conv.input_tokens.p95) == pytest.approx((1154.7, 4083.0), rel=1e-3)
    # p95 of requests: between p95 of minutes and the busiest minute (1.52 × the mean)
    assert 1.2 < conv.sizing_ratios(0.95)[0] <= 1.53
    mooncake = read_trace(shared_data / "traces" / "mooncake" / "synthetic_trace.jsonl", "m.jsonl")
    assert mooncake.requests == 3993
    assert mooncake.span_h == pytest.approx(1022.0 / 3600, rel=1e-2)


@pytest.mark.shared
def test_a_trace_is_planned_with(shared_data: Path, catalog: Catalog, spec_of: SpecOf) -> None:
    trace = read_trace(shared_data / "traces" / "azure2023" / "AzureLLMInferenceTrace_conv.csv", "conv.csv")
    traffic = Traffic(trace=trace, profile="office-hours").model_dump()
    demand = build_demand(spec_of({"traffic": traffic, "slo": {"ttft_p95_ms": 2000}}), catalog)
    assert len(demand.classes) == 3  # short, middle and long requests
    busiest = max(range(len(demand.slices)), key=lambda t: demand.classes[0].mean_req_per_s[t])
    mean = sum(c.mean_req_per_s[busiest] for c in demand.classes)
    sizing = sum(c.sizing_req_per_s[busiest] for c in demand.classes)
    assert mean == pytest.approx(trace.mean_req_per_s)
    assert sizing / mean == pytest.approx(trace.sizing_ratios(0.95)[0])
    assert any("conv.csv" in line and "19,366 requests" in line for line in demand.assumptions)
