"""Packing replicas into instances, against a search that tries everything."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.verify.packing import _assignable, instances_needed, is_divisor_chain

OD, R1 = PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y


def fewest_by_search(sizes: dict[int, int], accelerators: int) -> int:
    items = sorted((g for g, n in sizes.items() for _ in range(n)), reverse=True)

    @cache
    def fits(index: int, rooms: tuple[int, ...]) -> bool:
        if index == len(items):
            return True
        options = {r for r in rooms if r >= items[index]}
        return any(fits(index + 1, tuple(sorted(_with_room(rooms, r, r - items[index])))) for r in options)

    count = 0
    while not fits(0, (accelerators,) * count):
        count += 1
    return count


def _with_room(rooms, old, new):
    left = list(rooms)
    left.remove(old)
    return [*left, new]


@pytest.mark.parametrize(
    ("sizes", "chain"), [([1, 2, 4], True), ([8], True), ([], True), ([3], False), ([2, 3], False), ([6], False)]
)
def test_divisor_chain(sizes, chain):
    assert is_divisor_chain(sizes, 8) is chain


@pytest.mark.parametrize(
    ("sizes", "needed"),
    [
        ({1: 3, 2: 2, 4: 1}, 2),
        ({8: 2, 1: 1}, 3),
        ({16: 1, 8: 1}, 3),
        ({12: 2}, 4),
        ({3: 4}, 2),
        ({5: 2, 3: 2}, 2),
        ({}, 0),
    ],
)
def test_instances_needed_by_hand(sizes, needed):
    assert instances_needed(sizes, 8, 0) == needed


@given(st.dictionaries(st.integers(1, 6), st.integers(0, 3), max_size=3), st.integers(4, 8), st.integers(0, 6))
def test_instances_needed_decides_as_a_search_does(sizes, accelerators, enough):
    sizes = {g: n for g, n in sizes.items() if g <= accelerators}
    exact = fewest_by_search(sizes, accelerators)
    needed = instances_needed(sizes, accelerators, enough)
    assert needed >= exact
    assert (needed <= enough) == (exact <= enough)


def test_options_of_services_decide_where_replicas_may_go():
    groups = {(2, frozenset({OD, R1})): 1, (1, frozenset({OD})): 1, (1, frozenset({R1})): 1}
    assert not _assignable(groups, {OD: 1, R1: 1}, 2)  # each option has one accelerator left, the pair needs two of one
    assert _assignable(groups, {OD: 2, R1: 1}, 2)
    assert not _assignable({(1, frozenset()): 1}, {OD: 1}, 2)
    assert _assignable({(4, frozenset({R1})): 1, (1, frozenset({OD})): 2}, {OD: 1, R1: 2}, 2)
    assert not _assignable({(4, frozenset({R1})): 1}, {OD: 2, R1: 1}, 2)
