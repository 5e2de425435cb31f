"""The page on the workload file says what the reader does."""

import re

import pytest

from planner.errors import SPEC_CODES
from planner.spec.quantities import parse_number, unit_of
from tests.docs.console import ROOT

PAGE = (ROOT / "docs" / "workload-file.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)


def test_every_code_is_listed_with_its_meaning() -> None:
    listed = dict(re.findall(r"^\| (S\d{3}) \| (.+) \|$", PAGE, re.MULTILINE))
    assert listed == {code: text.title for code, text in SPEC_CODES.items()}


@pytest.mark.parametrize(("field", "written", "value"), ROWS)
def test_quantities_are_read_as_shown(field: str, written: str, value: str) -> None:
    texts = re.findall(r"`([^`]+)`", written)
    assert len(texts) >= 2
    for text in texts:
        assert parse_number(text, unit_of(field)) == pytest.approx(float(value), rel=1e-15)


def test_the_table_of_quantities_is_found() -> None:
    assert len(ROWS) == 10
