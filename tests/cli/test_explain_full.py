"""`--explain full` from end to end: the result, its schema, its words, and the same bytes again."""

import json
from pathlib import Path

import jsonschema
import pytest

PROBLEMS = Path(__file__).resolve().parents[2] / "problems" / "scenarios"
SPEC = PROBLEMS / "s06-api-a.yaml"
SECTIONS = (
    "What binds", "What rules cost", "Break-even", "What would change the plan", "What the cost hangs on",
    "If estimates and prices turn out otherwise", "Margins", "Risks",
)  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from planner.cli.main import run

    target = tmp_path_factory.mktemp("full") / "result.json"
    options = ["--explain", "full", "--format", "json", "--time-limit", "100", "-o", str(target)]
    assert run(["solve", str(SPEC), *options]) == 0
    return target


def test_result_keeps_the_contract(planner, full: Path) -> None:
    schema = json.loads(planner("schema", "--of", "result").out)
    result = json.loads(full.read_text())
    jsonschema.validate(result, schema)
    first, *others = result["plans"]
    told = first["explanation"]
    assert told["rule_prices"]
    assert told["tornado"]
    assert told["robustness"]["plans"]
    assert {f["what"] for f in told["flips"]} >= {"api_volume", "api_price", "price", "volume"}
    for plan in others:
        rest = plan["explanation"]
        assert (rest["rule_prices"], rest["tornado"], rest["robustness"]) == ([], [], None)


def test_everything_is_said_in_words_within_the_width(planner, full: Path) -> None:
    text = planner("explain", str(full)).out
    assert all(title in text for title in SECTIONS)
    assert all(len(line) <= 100 for line in text.splitlines())
    page = planner("solve", str(SPEC), "--explain", "full", "--format", "markdown").out
    assert all(f"## {title}" in page for title in SECTIONS)


def test_printed_numbers_are_those_of_the_result(planner, full: Path) -> None:
    result = json.loads(full.read_text())
    text = " ".join(planner("explain", str(full)).out.split())
    told = result["plans"][0]["explanation"]
    cost = result["plans"][0]["cost"]
    assert sum(cost["terms"].values()) - cost["terms"]["sunk"] == pytest.approx(cost["total_usd_per_month"], rel=1e-5)
    for p in told["rule_prices"]:
        assert p["low_usd_per_month"] == pytest.approx(
            max(0.0, p["with_bound_usd_per_month"] - p["without_usd_per_month"]), abs=0.2
        )
        assert p["high_usd_per_month"] == pytest.approx(
            max(0.0, p["with_usd_per_month"] - p["without_bound_usd_per_month"]), abs=0.2
        )
        if p["verdict"] == "costs":
            assert f"{p['low_usd_per_month']:,.0f} to {p['high_usd_per_month']:,.0f}" in text
    for b in told["tornado"]:
        for side in ("low", "high"):
            assert f"{b[f'usd_per_month_{side}']:,.0f} USD/month" in text
    for f in told["flips"]:
        if f["sides"]:
            assert f["factor"] == pytest.approx(f["at"] / f["now"], rel=1e-4)
            assert f"{f['sides'][1]['usd_per_month']:,.0f} USD/month there" in text
    for p in told["robustness"]["plans"]:
        assert f"plan {p['position']} ({p['title']}): cheapest in" in text


def test_same_input_same_bytes(planner, full: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    options = ["--explain", "full", "--format", "json", "--time-limit", "100", "-o", str(again)]
    assert planner("solve", str(SPEC), *options).code == 0
    first = json.loads(full.read_text())
    if first["deterministic"]:
        assert again.read_bytes() == full.read_bytes()


def test_without_explanation_an_infeasible_spec_names_its_limits_only(planner) -> None:
    ran = planner("solve", str(PROBLEMS / "s11-infeasible.yaml"), "--explain", "none", "--format", "json")
    assert ran.code == 3
    told = json.loads(ran.out)["infeasibility"]
    assert told["conflicts"]
    assert told["relaxations"] == told["no_help"] == []
