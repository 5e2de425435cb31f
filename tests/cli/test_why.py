"""`planner explain --why LINE` and `--why-not NAME` with the spec at hand."""

import json
import math
from pathlib import Path

import pytest

PROBLEMS = Path(__file__).resolve().parents[2] / "problems" / "scenarios"
SPEC = PROBLEMS / "s06-api-a.yaml"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from planner.cli.main import run

    target = tmp_path_factory.mktemp("why") / "result.json"
    assert run(["solve", str(SPEC), "--format", "json", "-o", str(target)]) == 0
    return target


def test_numbers_of_a_line_follow_from_the_result(planner, solved: Path) -> None:
    result = json.loads(solved.read_text())
    plan = result["plans"][0]
    (purchase,) = plan["purchases"]
    hours = {s["id"]: s["hours_per_month"] for s in result["slices"]}
    instance_hours = math.fsum(n * hours[s] for s, n in purchase["instances_by_slice"].items())
    ran = planner("explain", str(solved), "--why", "h100-x2/reserved", "--why", "3", "--format", "json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    (line,) = told["h100-x2/reserved"]
    assert f"{instance_hours:,.0f} instance-hours" in line["reasons"][0]
    assert instance_hours * purchase["usd_per_hour"] == pytest.approx(purchase["usd_per_month"])
    assert f"{purchase['usd_per_month']:,.0f} USD/month" in line["reasons"][0]
    assert any(r.startswith("it runs 1–3 replicas") for r in line["reasons"])
    assert any(r.startswith("replica_capacity: ") for r in line["reasons"])
    (api,) = told["3"]
    (used,) = plan["api"]
    requests = 3600 * math.fsum(r * hours[s] for s, r in used["mean_req_per_s_by_slice"].items())
    assert f"it takes {requests:,.0f} requests a month" in api["reasons"][0]
    assert f"{1000 * used['usd_per_month'] / requests:.2f} USD per 1,000 requests" in api["reasons"][0]


def test_lines_in_words_fit_the_width(planner, solved: Path) -> None:
    ran = planner("explain", str(solved), "--why", "1", "--why", "2", "--why", "3")
    assert ran.code == 0
    assert ran.out.count("Why ") == 3
    assert all(len(line) <= 100 for line in ran.out.splitlines())


@pytest.mark.parametrize("word", ["9", "0", "gaudi", "", " "])
def test_line_that_is_not_there_is_an_error_with_what_there_is(planner, solved: Path, word: str) -> None:
    ran = planner("explain", str(solved), "--why", word)
    assert ran.code == 2
    assert "U117" in ran.err
    assert "1 3 × cloud/us-1/h100-x2/reserved_1y" in ran.err


def test_name_is_forced_in_where_the_spec_is_at_hand(planner, tmp_path: Path) -> None:
    spec = PROBLEMS / "s05-startup.yaml"
    target = tmp_path / "result.json"
    assert planner("solve", str(spec), "--format", "json", "-o", str(target)).code == 0
    without = json.loads(planner("explain", str(target), "--why-not", "L4", "--format", "json").out)["L4"]
    assert without["forced"] is None
    told = planner("explain", str(target), "--spec", str(spec), "--why-not", "L4", "--format", "json")
    forced = json.loads(told.out)["L4"]["forced"]
    assert forced["usd_per_month"] == pytest.approx(511.0)
    assert forced["extra_usd_per_month"] == pytest.approx(511.0 - 27.0)
    assert "the cheapest plan found is 1 × cloud/us-1/l4-x1/on_demand" in planner(
        "explain", str(spec), "--why-not", "L4"
    ).out.replace("\n  ", " ")


def test_another_spec_than_the_results_is_refused(planner, tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    assert planner("solve", str(PROBLEMS / "s05-startup.yaml"), "--format", "json", "-o", str(target)).code == 0
    ran = planner("explain", str(target), "--spec", str(SPEC), "--why-not", "L4")
    assert ran.code == 2
    assert "U118" in ran.err
