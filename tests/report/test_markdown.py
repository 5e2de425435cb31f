"""The review page, and the columns of the CSV beside it."""

import csv
import io

import pytest

from planner.report.markdown import escape
from planner.report.result import build_result
from planner.report.text import result_text
from tests.report import sample


@pytest.mark.parametrize(
    "heading",
    ["# eu-chat", "## Ranked plans", "## Cheapest", "### Buy", "### Deploy", "### When", "### Call", "### Cost",
     "## Margins", "## Risks", "## Baselines", "## Assumptions"],
)  # fmt: skip
def test_page_has_every_part_once(heading: str) -> None:
    lines = result_text(build_result(sample.answer()), "markdown").splitlines()
    assert lines.count(heading) == 1


def test_page_starts_with_the_decision() -> None:
    text = result_text(build_result(sample.answer()), "markdown")
    assert "**buy 1 × eurocloud/eu-north1/gpu-2x/reserved\\_1y" in text
    assert "55 % of the cost is at assumed prices" in text


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    text = result_text(build_result(sample.answer()), "markdown")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 5
    for lines in tables:
        assert len({line.count("|") for line in lines}) == 1
        assert len(lines) >= 3


def test_names_are_never_read_as_markup() -> None:
    assert escape("a|b <c> *d*\n# e") == "a\\|b \\<c\\> \\*d\\* \\# e"


def test_page_of_an_infeasible_spec_says_so() -> None:
    result = build_result(sample.answer()).model_copy(update={"plans": (), "status": "infeasible"})
    text = result_text(result, "markdown")
    assert "**no plan exists (proven)**." in text
    assert "## Ranked plans" not in text


def test_page_without_explanation_has_no_risks() -> None:
    assert "## Risks" not in result_text(build_result(sample.answer()), "markdown", explain=False)


def test_csv_says_price_place_confidence_and_latency() -> None:
    rows = list(csv.DictReader(io.StringIO(result_text(build_result(sample.answer()), "csv"))))
    bought, deployed, called = rows[0], rows[2], rows[-1]
    assert (bought["usd_per_hour"], bought["country"], bought["operator_jurisdiction"], bought["confidence"]) == (
        "4", "FI", "NL", "assumed"
    )  # fmt: skip
    assert (deployed["ttft_p95_ms"], deployed["tpot_p95_ms"], deployed["confidence"]) == ("812.3", "41.7", "analytic")
    assert (called["country"], called["operator_jurisdiction"], called["confidence"]) == ("FR", "FR", "list")


def test_commitments_of_several_quarters_say_when_they_begin() -> None:
    result = build_result(sample.answer())
    plan = result.plans[0]
    term = next(p for p in plan.purchases if p.purchase_option.startswith("reserved"))
    counts = {"q1.s1": 0, "q2.s1": 1}
    now = term.model_copy(update={"start_date": "2027-01-01", "end_date": "2028-01-01"})
    later = term.model_copy(
        update={"start_quarter": 2, "start_date": "2027-04-01", "end_date": "2028-04-01", "tentative": True,
                "instances_by_slice": counts}
    )  # fmt: skip
    result = result.model_copy(update={"plans": (plan.model_copy(update={"purchases": (now, later)}),)})
    page = result_text(result, "markdown")
    assert "### Decide" in page and "- 2027-04-01: expected 1 ×" in page
    assert ", from quarter 2, tentative |" in page
    rows = [r for r in csv.DictReader(io.StringIO(result_text(result, "csv"))) if r["kind"] == "purchase"]
    assert [(r["start_date"], r["end_date"], r["tentative"]) for r in rows] == [
        ("2027-01-01", "2028-01-01", "0"), ("2027-04-01", "2028-04-01", "1")
    ]  # fmt: skip
