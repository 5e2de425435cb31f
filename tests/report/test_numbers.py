"""Numbers in JSON: the text is that of the standard library with every float rounded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.report.numbers import dump_json, rounded

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TREES = st.recursive(LEAVES, lambda t: st.lists(t, max_size=4) | st.dictionaries(st.text(), t, max_size=4))


def rounded_tree(value: Any) -> Any:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {k: rounded_tree(v) for k, v in value.items()}
    return [rounded_tree(v) for v in value] if isinstance(value, list) else value


@given(TREES)
def test_text_is_that_of_the_standard_library(tree):
    assert dump_json(tree) == json.dumps(rounded_tree(tree), indent=2) + "\n"


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="cannot stand in a result"):
        dump_json({"a": [1.0, bad]})
