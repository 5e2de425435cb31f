"""API against machines over volume: the crossover is the smallest volume, and both sides are solved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planner.cli.run import Loaded
from planner.explain.curve import volume_curve
from planner.explain.parallel import Workers
from planner.explain.types import VolumeCurve
from planner.explain.whatif import Clock
from planner.report.breakeven import chart_lines, curve_text, verdict_lines
from planner.solve.engine import SolverChild

Read = Callable[[dict[str, Any] | str], Loaded]


def curve_of(name: str, read: Read, child: SolverChild, points: int = 5) -> VolumeCurve:
    loaded = read(name)
    with Workers(loaded.catalog, child, Clock(60.0), count=1) as workers:
        return volume_curve(loaded.spec, workers, points).model_copy(update={"name": loaded.spec.name})


@pytest.mark.parametrize(
    ("name", "mtok", "usd"),
    [
        ("seeds/maverick-crossover.yaml", 28356.12, 18904.08),  # the seed's article, in a month of 730 hours
        ("scenarios/s05-startup.yaml", 757.04, 511.0),
        ("scenarios/s06-api-a.yaml", 2271.11, 3066.0),
        ("scenarios/s07-671b-tp8.yaml", 24698.3, 23710.4),
    ],
)
def test_crossover_is_where_both_bills_are_equal(
    name: str, mtok: float, usd: float, read: Read, child: SolverChild
) -> None:
    curve = curve_of(name, read, child)
    c = curve.crossover
    assert c is not None
    assert c.tokens_per_month == pytest.approx(mtok * 1e6, rel=1e-4)
    assert c.usd_per_month == pytest.approx(usd, rel=1e-4)
    assert c.tokens_per_month == pytest.approx(c.factor * curve.tokens_per_month_now)
    below, above = c.below, c.above
    assert below.all_api_usd_per_month is not None
    assert below.machines_usd_per_month is not None
    assert below.all_api_usd_per_month < below.machines_usd_per_month
    assert above.all_api_usd_per_month is not None
    assert above.all_api_usd_per_month == pytest.approx(c.usd_per_month * above.factor / c.factor, rel=1e-6)
    assert c.utilization is not None
    assert 0 < c.utilization <= 1
    for p in curve.points:
        bills = [b for b in (p.all_api_usd_per_month, p.machines_usd_per_month) if b is not None]
        assert p.best_usd_per_month is not None
        assert p.best_usd_per_month <= min(bills) * (1 + 2e-3)
        if p.factor < c.factor * (1 - 1e-9) and p.machines_usd_per_month is not None:
            assert p.all_api_usd_per_month is not None
            assert p.all_api_usd_per_month < p.machines_usd_per_month


def test_utilisation_at_the_crossover_is_the_scenarios(read: Read, child: SolverChild) -> None:
    """A node of 8 × H200 at 2,500 tokens/s needs 94 % utilisation to cost what the API does."""
    c = curve_of("scenarios/s07-671b-tp8.yaml", read, child, points=2).crossover
    assert c is not None
    assert c.utilization == pytest.approx(0.94, abs=0.005)


def test_api_that_is_always_cheaper_has_no_crossover(read: Read, child: SolverChild) -> None:
    curve = curve_of("scenarios/s06-api-b.yaml", read, child, points=3)
    if curve.crossover is not None:  # a mix of part-filled machines may still meet it
        assert curve.crossover.usd_per_month > 0
    assert any("today" in line for line in verdict_lines(curve))


def test_without_an_api_there_is_nothing_to_compare(read: Read, child: SolverChild) -> None:
    curve = curve_of("scenarios/s06-self-hosted.yaml", read, child, points=2)
    assert curve.crossover is None
    assert "nothing to compare" in verdict_lines(curve)[-1]
    assert all(p.all_api_usd_per_month is None for p in curve.points)


def test_table_chart_csv_and_json_say_the_same(read: Read, child: SolverChild) -> None:
    curve = curve_of("scenarios/s05-startup.yaml", read, child, points=6)
    text = curve_text(curve, "table")
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "757 M tokens/month" in text
    assert len(json.loads(curve_text(curve, "json"))["points"]) == len(curve.points) == 6
    head, *rows = curve_text(curve, "csv").splitlines()
    assert head.startswith("factor,tokens_per_month,all_api_usd_per_month")
    assert len(rows) == 6
    chart = chart_lines(curve.points, 60)
    assert all(len(line) <= 100 for line in chart)
    assert sum(line.count("a") for line in chart[1:-2]) + sum(line.count("*") for line in chart[1:-2]) >= 5


def test_share_by_api_is_of_all_requests_not_of_services(read: Read, child: SolverChild) -> None:
    """Nine in ten requests are of the service that must call an API; the other one may not."""
    kinds = {"often": ("api", 0.9), "seldom": ("on_demand", 0.1)}
    spec = {
        "schema_version": 1, "name": "shares",
        "workloads": [
            {"name": name, "model": "llama-3.1-8b-instruct", "precisions": ["fp8"], "api_equivalents": ["m"],
             "traffic": {"mean_req_per_s": rate, "input_tokens": 1000, "output_tokens": 100},
             "purchase": {"options": [option]}}
            for name, (option, rate) in kinds.items()
        ],
        "catalog": {"overlays": [{
            "replace": ["offers", "apis"],
            "offers": [{"provider": "a", "region": "r", "country": "US", "operator_jurisdiction": "US",
                        "accelerator": "H100-SXM", "accelerators": 1, "prices": {"on_demand": 1.0}}],
            "apis": [{"provider": "api", "model": "m", "countries": ["US"], "operator_jurisdiction": "US",
                      "input_usd_per_mtok": 1, "output_usd_per_mtok": 1}],
        }]},
    }  # fmt: skip
    loaded = read(spec)
    with Workers(loaded.catalog, child, Clock(60.0), count=1) as workers:
        curve = volume_curve(loaded.spec, workers, 2)
    assert [p.best_api_share for p in curve.points] == pytest.approx([0.9] * len(curve.points))
    assert not curve.stopped
