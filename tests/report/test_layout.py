"""Tables that fit, and names that break where a person would break them."""

import pytest

from planner.report.layout import output_width, render, table_of, wrapped
from planner.report.result import build_result
from planner.report.table import result_table
from tests.report import sample


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("llama-3.3-70b-instruct fp8", 24, ["llama-3.3-70b-instruct", "fp8"]),
        ("verda/FIN-01/1x-H200-SXM5", 20, ["verda/FIN-01/", "1x-H200-SXM5"]),
        ("1x-H200-SXM5", 9, ["1x-H200-", "SXM5"]),
        ("abcdef", 4, ["abcd", "ef"]),
        ("a b\nc", 9, ["a b", "c"]),
        ("", 5, [""]),
    ],
)
def test_text_breaks_at_blanks_then_slashes_then_dashes(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_less_important_columns_go_first() -> None:
    table = table_of("T", "count>", "machine~", "each<2", "price<1")
    table.add_row("2", "provider/region/instance", "8 × H100-SXM", "assumed")
    assert table.widths(100) == {0: 5, 1: 24, 2: 12, 3: 7}
    assert set(table.widths(40)) == {0, 1, 3}
    assert set(table.widths(25)) == {0, 1}
    text = render(table, 40)
    assert "2  provider/region/instance  assumed" in text
    assert "H100" not in text


def test_column_that_cannot_go_is_broken_rather_than_cut() -> None:
    table = table_of("", "a<", "b~")
    table.add_row("x" * 10, "y" * 30)
    text = render(table, 24)
    assert text.count("y") == 30
    assert max(map(len, text.splitlines())) <= 24


def test_cells_must_match_the_columns() -> None:
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        table_of("", "a<", "b<").add_row("x")
    with pytest.raises(ValueError, match="no mark"):
        table_of("", "a")


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("60", 60), ("20", 60), ("500", 100), ("", 100)])
def test_width_is_that_of_columns_within_60_to_100(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert output_width() == width


@pytest.mark.parametrize("width", [60, 70, 80, 90, 100])
def test_no_name_is_broken_inside_a_word(width: int) -> None:
    text = result_table(build_result(sample.answer()), width)
    assert max(map(len, text.splitlines())) <= width
    buy = text[text.index("\nBuy\n") : text.index("\nDeploy\n")]
    for word in ("eurocloud/eu-north1/", "gpu-2x", "reserved_1y", "2,920", "4.00"):
        assert word in buy
    assert ("operator" in buy) == (width >= 90)
