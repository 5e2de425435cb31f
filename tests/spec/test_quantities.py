"""Numbers as people write them: the documented spellings, and refusals instead of guesses."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.spec.quantities import QuantityError, Unit, parse_count, parse_number, unit_of


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("500ms", Unit.MS, 500.0),
        ("500 ms", Unit.MS, 500.0),
        ("2s", Unit.MS, 2000.0),
        ("1.5min", Unit.MS, 90_000.0),
        ("80ms", Unit.S, 0.08),
        ("10min", Unit.H, 1 / 6),
        ("40M", Unit.TOKENS, 40e6),
        ("5B", Unit.TOKENS, 5e9),
        ("6G", Unit.TOKENS, 6e9),
        ("5B tokens", Unit.TOKENS, 5e9),
        ("1.5k", Unit.COUNT, 1500.0),
        ("16Ki", Unit.TOKENS, 16384.0),
        ("2 million", Unit.COUNT, 2e6),
        ("80GiB", Unit.GIB, 80.0),
        ("80GB", Unit.GIB, 80e9 / 2**30),
        ("80GiB", Unit.GB, 80 * 2**30 / 1e9),
        ("1_000_000", Unit.COUNT, 1e6),
        ("1,000,000", Unit.COUNT, 1e6),
        ("1,234.5", Unit.COUNT, 1234.5),
        ("1e6", Unit.COUNT, 1e6),
        ("1.0e6", Unit.COUNT, 1e6),
        ("1e+6", Unit.COUNT, 1e6),
        ("1.0e+6", Unit.COUNT, 1e6),
        ("1e-3", Unit.COUNT, 0.001),
        (".5", Unit.COUNT, 0.5),
        ("0x1F", Unit.COUNT, 31.0),
        ("0o17", Unit.COUNT, 15.0),
        ("$2.50", Unit.USD, 2.5),
        ("2.50 USD", Unit.USD, 2.5),
        ("$50k", Unit.USD, 50_000.0),
        ("-$5", Unit.USD, -5.0),
        ("95%", Unit.FRACTION, 0.95),
        ("7%", Unit.FRACTION, 0.07),
        ("2.5x", Unit.FRACTION, 2.5),
        ("6 req/s", Unit.REQ_PER_S, 6.0),
        ("90/min", Unit.REQ_PER_S, 1.5),
        ("6 rps", Unit.REQ_PER_S, 6.0),
        ("11k tok/s", Unit.TOK_PER_S, 11_000.0),
        ("0", Unit.COUNT, 0.0),
        ("0.0", Unit.FRACTION, 0.0),
        ("-3", Unit.MS, -3.0),
    ],
)
def test_documented_spellings(text: str, unit: Unit, value: float) -> None:
    assert parse_number(text, unit) == pytest.approx(value, rel=1e-15)


def test_percentages_are_exact() -> None:
    assert all(parse_number(f"{n}%", Unit.FRACTION) == n / 100 for n in range(101))


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("017", Unit.COUNT, "leading zero"),
        ("00", Unit.COUNT, "leading zero"),
        ("12:30", Unit.COUNT, "clock time"),
        ("1:00:00", Unit.S, "clock time"),
        (".nan", Unit.COUNT, "finite"),
        ("NaN", Unit.MS, "finite"),
        ("-.inf", Unit.COUNT, "finite"),
        ("inf", Unit.USD, "finite"),
        ("1e400", Unit.COUNT, "too large"),
        ("1e30", Unit.TOKENS, "too large"),
        ("no", Unit.COUNT, "not the word no"),
        ("true", Unit.COUNT, "not the word true"),
        ("1,5", Unit.COUNT, "comma"),
        ("1,000,00", Unit.COUNT, "comma"),
        ("1.000.000", Unit.COUNT, "unknown unit"),
        ("40m", Unit.TOKENS, "unknown unit"),
        ("5m", Unit.MS, "unknown unit"),
        ("80GiB", Unit.TOKENS, "unknown unit"),
        ("95%", Unit.COUNT, "unknown unit"),
        ("$3", Unit.MS, "money"),
        ("3 USD", Unit.COUNT, "money"),
        ("2s", Unit.TOKENS, "unknown unit"),
        ("6 tok/s", Unit.REQ_PER_S, "unknown unit"),
        ("many", Unit.COUNT, "not a number"),
        ("", Unit.COUNT, "not a number"),
        ("1_", Unit.COUNT, "unknown unit"),
        ("--1", Unit.COUNT, "not a number"),
        ("٣", Unit.COUNT, "not a number"),
    ],
)
def test_refused_never_guessed(text: str, unit: Unit, words: str) -> None:
    with pytest.raises(QuantityError) as error:
        parse_number(text, unit)
    assert words in error.value.message


def test_whole_numbers() -> None:
    assert parse_count("16k") == 16000
    with pytest.raises(QuantityError, match="whole number"):
        parse_count("2.5")


def test_units_are_in_the_names() -> None:
    assert unit_of("ttft_p95_ms") is Unit.MS
    assert unit_of("work_s_per_request") is Unit.S
    assert unit_of("start_h") is Unit.H
    assert unit_of("usd_per_month") is Unit.USD
    assert unit_of("fixed_usd_per_month") is Unit.USD
    assert unit_of("usd_per_used_hour") is Unit.USD
    assert unit_of("decode_tok_per_s") is Unit.TOK_PER_S
    assert unit_of("peak_req_per_s") is Unit.REQ_PER_S
    assert unit_of("max_spot_share") is Unit.FRACTION
    assert unit_of("forecast_margin") is Unit.FRACTION
    assert unit_of("input_tokens") is Unit.TOKENS
    assert unit_of("requests_per_month") is Unit.COUNT
    assert unit_of("memory_gib") is Unit.GIB


@given(st.text(max_size=30), st.sampled_from(Unit))
def test_any_text_is_a_finite_number_or_a_refusal(text: str, unit: Unit) -> None:
    try:
        value = parse_number(text, unit)
    except QuantityError as error:
        assert error.message
    else:
        assert abs(value) <= 1e18


@given(st.floats(0, 1e17, allow_nan=False), st.sampled_from(Unit))
def test_numbers_without_a_unit_are_in_the_unit_of_the_field(value: float, unit: Unit) -> None:
    assert parse_number(repr(value), unit) == value


@pytest.mark.shared
def test_handed_yaml_cases_are_parsed_or_refused_and_never_zero(shared_data: Path) -> None:
    lines = (shared_data / "cases" / "cases_handed.jsonl").read_text(encoding="utf-8").splitlines()
    inputs = [x for case in map(json.loads, lines) if case["kind"] == "yaml" for x in case["facts"].get("inputs", [])]
    assert len(inputs) >= 13
    for text in inputs:
        for unit in (Unit.COUNT, Unit.TOKENS, Unit.USD, Unit.FRACTION, Unit.MS):
            try:
                assert parse_number(text, unit) != 0.0
            except QuantityError as error:
                assert error.message
