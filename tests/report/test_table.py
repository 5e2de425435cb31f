"""What a reader of the terminal sees."""

import csv
import io
import json

import pytest

from planner.report.numbers import percent, quantity, rounded, tokens, usd
from planner.report.result import build_result
from planner.report.schema import result_schema
from planner.report.table import baseline_rows, result_table
from planner.report.text import result_text
from planner.report.types import BaselineView
from planner.report.words import span, versus
from tests.report import sample


def test_headline_says_what_to_buy_for_how_much_and_how_sure() -> None:
    first = result_table(build_result(sample.answer())).splitlines()[0:3]
    head = " ".join(line.strip() for line in first)
    assert "eu-chat: buy 1 × eurocloud/eu-north1/gpu-2x/reserved_1y" in head
    assert "5,320 USD/month" in head
    assert (
        "no plan is more than 0.1 % cheaper at these prices; 55 % of the cost is at assumed prices; speeds are" in head
    )


def test_table_is_at_most_100_columns_and_plain() -> None:
    text = result_table(build_result(sample.answer()))
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_table_fits_a_narrow_terminal() -> None:
    assert max(map(len, result_table(build_result(sample.answer()), width=72).splitlines())) <= 72


def test_colour_only_when_asked() -> None:
    assert "\x1b[" in result_table(build_result(sample.answer()), colour=True)


@pytest.mark.parametrize(
    "words",
    ["Ranked plans", "Buy", "Deploy", "Call", "Cost", "What binds", "Break-even", "Margins", "When", "Risks",
     "Baselines", "Not possible", "least spot: nothing new"],
)  # fmt: skip
def test_table_has_every_part(words: str) -> None:
    assert words in result_table(build_result(sample.answer()))


def test_names_are_never_read_as_markup() -> None:
    answer = sample.answer()
    named = answer.spec.model_copy(update={"name": "[red]x[/red] :smile:"})
    result = build_result(answer.__class__(named, *(getattr(answer, f) for f in list(answer.__slots__)[1:])))
    assert "[red]x[/red] :smile:" in result_table(result)


def test_infeasible_result_says_so_first() -> None:
    result = build_result(sample.answer()).model_copy(update={"plans": (), "status": "infeasible"})
    assert "no plan exists (proven)" in result_table(result).splitlines()[0]


def test_csv_has_one_line_per_purchase_deployment_and_api() -> None:
    rows = list(csv.DictReader(io.StringIO(result_text(build_result(sample.answer()), "csv"))))
    assert [r["kind"] for r in rows] == ["purchase", "purchase", "deployment", "deployment", "api"]
    assert {r["rank"] for r in rows} == {"1"}
    spot = next(r for r in rows if r["option"] == "spot")
    assert (spot["count_min"], spot["count_max"], spot["usd_per_month"]) == ("0", "1", "960")
    api = rows[-1]
    assert float(api["mean_req_per_s"]) == pytest.approx(0.5 * 400 / 730, rel=1e-5)


def test_csv_never_starts_a_formula() -> None:
    result = build_result(sample.answer())
    evil = result.plans[0].model_copy(update={"title": '=HYPERLINK("x")'})
    rows = list(csv.DictReader(io.StringIO(result_text(result.model_copy(update={"plans": (evil,)}), "csv"))))
    assert rows[0]["title"].startswith("'=")


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown format"):
        result_text(build_result(sample.answer()), "html")


def test_schema_describes_the_result() -> None:
    schema = result_schema()
    assert "Amortised cash" in json.dumps(schema)
    assert schema["properties"]["schema_version"]["const"] == "1"
    assert "class" in schema["$defs"]["DemandView"]["properties"]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (14600.4, "14,600"), (27, "27.00"), (0.0123, "0.01"), (0.00123, "0.0012")]
)
def test_usd(value: float, text: str) -> None:
    assert usd(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 %"), (0.021, "2.1 %"), (0.12, "12 %"), (0.0005, "0.05 %")])
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


def test_other_numbers() -> None:
    assert (tokens(6e8), tokens(1.25e9), tokens(40000), tokens(3)) == ("600 M", "1.25 G", "40 k", "3")
    assert (quantity(0), quantity(1234.5), quantity(0.12345)) == ("0", "1,234", "0.123")
    assert (versus(102.1, 100), versus(100, 100), versus(1, 0)) == ("+2.1 %", "=", "=")
    assert (span([2, 2]), span([6, 2]), span([])) == ("2", "2–6", "0")
    assert str(rounded(-0.0)) == "0.0"
    with pytest.raises(ValueError, match="cannot stand"):
        rounded(float("nan"))


def test_a_baseline_that_time_ended_is_no_fact() -> None:
    plans = build_result(sample.answer()).plans
    rows = baseline_rows(
        (
            BaselineView(name="all_api", cost=5000.0, proven=False),
            BaselineView(name="all_on_demand", cost=5000.0),
            BaselineView(name="all_reserved", cost=None, failures=("not decided in the time limit",), proven=False),
        ),
        plans,
    )
    assert rows[0][1] == "≤ 5,000" and "not proven" in rows[0][3]
    assert rows[1][1] == "5,000" and rows[1][3] == "–"
    assert rows[2][1] == "–" and rows[2][3] == "not decided in the time limit"
