"""Corrections and cores of random systems of conflicts, against looking at every set."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from planner.explain.hitting import Memory, find_corrections

RULES = tuple("abcdef")
conflicts = st.lists(st.frozensets(st.sampled_from(RULES), min_size=1, max_size=3), min_size=1, max_size=5)


def minimal(sets: list[frozenset[str]]) -> set[frozenset[str]]:
    return {s for s in sets if not any(other < s for other in sets)}


def every_subset() -> list[frozenset[str]]:
    return [frozenset(c) for n in range(len(RULES) + 1) for c in itertools.combinations(RULES, n)]


@given(conflicts)
def test_all_minimal_corrections_and_nothing_else_are_found(given_: list[frozenset[str]]) -> None:
    def possible(lifted: frozenset[str]) -> bool:
        return all(lifted & conflict for conflict in given_)

    found = find_corrections(RULES, Memory(possible), most=100)
    assert set(found.sets) == minimal([s for s in every_subset() if possible(s)])
    assert found.complete
    assert [len(s) for s in found.sets] == sorted(len(s) for s in found.sets)
    assert set(found.cores) <= minimal(given_)


@given(conflicts, st.integers(1, 3))
def test_the_first_corrections_are_the_smallest(given_: list[frozenset[str]], most: int) -> None:
    def possible(lifted: frozenset[str]) -> bool:
        return all(lifted & conflict for conflict in given_)

    found = find_corrections(RULES, Memory(possible), most)
    sizes = sorted(len(s) for s in minimal([s for s in every_subset() if possible(s)]))
    assert [len(s) for s in found.sets] == sizes[:most]


@given(conflicts, st.sets(st.frozensets(st.sampled_from(RULES)), max_size=6))
def test_what_is_not_decided_is_never_claimed(given_: list[frozenset[str]], blind: set[frozenset[str]]) -> None:
    def possible(lifted: frozenset[str]) -> bool | None:
        return None if lifted in blind else all(lifted & conflict for conflict in given_)

    found = find_corrections(RULES, possible, most=100)
    assert all(all(s & conflict for conflict in given_) for s in found.sets)
    assert all(any(conflict <= core for conflict in given_) for core in found.cores)


def test_an_answer_is_not_asked_for_twice_nor_where_it_follows() -> None:
    asked: list[frozenset[str]] = []

    def possible(lifted: frozenset[str]) -> bool:
        asked.append(lifted)
        return "a" in lifted

    memory = Memory(possible)
    assert memory(frozenset("a")) is True
    assert memory(frozenset("ab")) is True
    assert memory(frozenset("bc")) is False
    assert memory(frozenset("b")) is False
    assert asked == [frozenset("a"), frozenset("bc")]


def test_nothing_is_found_where_lifting_everything_is_not_enough() -> None:
    found = find_corrections(RULES, lambda _: False, most=5)
    assert (found.sets, found.cores, found.complete) == ((), (), False)
