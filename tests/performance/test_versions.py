import pytest

from planner.performance.versions import version_matches


@pytest.mark.parametrize(
    ("version", "ranges", "expected"),
    [
        ("0.19.0", ">=0.17", True),
        ("0.9.2", ">=0.17", False),
        ("0.16", ">=0.9,<0.17", True),
        ("0.19.0rc1", "0.19", True),
        ("1.0.0", "<1", False),
        ("b6500", ">=0", True),
        ("0.5", None, True),
        ("0.5", "*", True),
        ("0.5.3", "!=0.5", False),
    ],
)
def test_versions_compare_as_numbers(version, ranges, expected):
    assert version_matches(version, ranges) is expected


def test_a_clause_that_is_no_range_is_an_error():
    with pytest.raises(ValueError, match="not a version range"):
        version_matches("0.5", "newer than 0.4")
