"""Names near a misspelt one."""

import pytest

from planner.catalog.names import near

KNOWN = {"h100-sxm": "H100-SXM", "h100-80gb": "H100-SXM", "h100-nvl": "H100-NVL", "l4": "L4", "exoscale": "exoscale"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("H1OO", ("H100-SXM", "H100-NVL")),
        ("h100", ("H100-SXM", "H100-NVL")),
        ("h100-smx", ("H100-SXM",)),
        ("exoscal", ("exoscale",)),
        ("l", ("L4",)),
        ("zzz", ()),
    ],
)
def test_beginnings_and_look_alikes_come_first(name: str, found: tuple[str, ...]) -> None:
    assert set(near(name, KNOWN)) >= set(found)
    assert bool(near(name, KNOWN)) == bool(found)
