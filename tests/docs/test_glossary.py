"""The glossary defines each word once, and what people meet in the output."""

import re

import pytest

from planner.report.words import proof
from planner.units import MONTHS_PER_QUARTER
from tests.docs.console import ROOT

ENTRIES = re.findall(
    r"^\| (?!word|---)([^|]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text("utf-8"), re.MULTILINE
)
MEANINGS = dict(ENTRIES)


def test_a_word_is_defined_once() -> None:
    assert len(ENTRIES) == len(MEANINGS) > 50


@pytest.mark.parametrize(
    "word",
    ["busy at peak", "firm", "fallback", "amortised", "horizon", "replica", "req/s each", "`usd_per_million_tokens`",
     "tie", "gap", "bound", "proven"],
)  # fmt: skip
def test_words_of_the_output_are_defined(word: str) -> None:
    assert len(MEANINGS[word]) > 30


def test_figures_of_the_glossary_are_those_of_the_code() -> None:
    assert f"quarters of {MONTHS_PER_QUARTER} months" in MEANINGS["horizon"]
    assert proof(0.0000049) == "proven cheapest" != proof(0.0000051)
    assert "below 0.0005 %" in MEANINGS["proven"]
