"""Which sets of rules conflict, and which smallest sets of rules to give up end all conflicts.

A *core* is a smallest set of rules that cannot hold together; a *correction* is a smallest set whose lifting leaves a
plan. Every correction hits every core, and the smallest set that hits all cores known is either a correction or shows
another core (implicit hitting sets: Reiter 1987, Ignatiev et al. 2015).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MOST_CHANGES = 6
"""Rules that are given up together; more is no advice."""

Oracle = Callable[[frozenset[str]], bool | None]
"""Whether there is a plan with these rules lifted; None: not decided."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """What was found, in order."""

    sets: tuple[frozenset[str], ...]
    """Corrections, fewest rules first."""
    cores: tuple[frozenset[str], ...]
    complete: bool
    """Whether there are no others of at most `MOST_CHANGES` rules."""


@dataclass
class Memory:
    """An oracle that is asked as seldom as can be: lifting more never takes a plan away."""

    oracle: Oracle
    lifted_enough: list[frozenset[str]] = field(default_factory=list)
    too_few: list[frozenset[str]] = field(default_factory=list)

    def knows(self, lifted: frozenset[str]) -> bool | None:
        """What follows from earlier answers."""
        if any(known <= lifted for known in self.lifted_enough):
            return True
        return False if any(lifted <= known for known in self.too_few) else None

    def __call__(self, lifted: frozenset[str]) -> bool | None:
        """The oracle's answer, remembered."""
        known = self.knows(lifted)
        if known is not None:
            return known
        answer = self.oracle(lifted)
        if answer is not None:
            (self.lifted_enough if answer else self.too_few).append(lifted)
        return answer


def find_corrections(rules: Sequence[str], possible: Oracle, most: int) -> Corrections:
    """Corrections by number of rules, at most `most` of them, and the cores met on the way.

    Nothing is possible without a change: only then are single rules corrections.

    `rules` in order of preference: of equally small sets the one of earlier rules comes first. Empty where lifting
    everything is not known to be enough.
    """
    every = frozenset(rules)
    sets: list[frozenset[str]] = []
    cores: list[frozenset[str]] = []
    open_: list[frozenset[str]] = []
    for rule in rules:  # one change is the best advice, and cheap to ask for
        if len(sets) < most and possible(frozenset({rule})) is True:
            sets.append(frozenset({rule}))
    if not sets and possible(every) is not True:
        return Corrections((), (), False)
    while len(sets) < most:
        hit = smallest_hitting(rules, cores, sets, open_)
        if hit is None:
            return Corrections(tuple(sets), tuple(cores), not open_)
        answer = possible(hit)
        if answer is True:
            sets.append(hit)
        elif answer is False:
            cores.append(shrink(rules, every - hit, possible))
        else:
            open_.append(hit)
            if len(open_) > len(rules):
                break
    return Corrections(tuple(sets), tuple(cores), False)


def shrink(rules: Sequence[str], kept: frozenset[str], possible: Oracle) -> frozenset[str]:
    """A smallest set of the kept rules that cannot hold together (deletion; what is not decided stays)."""
    every = frozenset(rules)
    for rule in reversed(rules):
        if rule in kept and possible(every - (kept - {rule})) is False:
            kept -= {rule}
    return kept


def smallest_hitting(
    rules: Sequence[str],
    cores: Sequence[frozenset[str]],
    known: Sequence[frozenset[str]],
    skipped: Sequence[frozenset[str]],
) -> frozenset[str] | None:
    """The first smallest set with a rule of every core that holds no known correction and is not skipped."""
    elements = [r for r in rules if any(r in core for core in cores)]
    for size in range(min(MOST_CHANGES, len(elements)) + 1):
        for chosen in itertools.combinations(elements, size):
            found = frozenset(chosen)
            if all(found & core for core in cores) and not any(k <= found for k in known) and found not in skipped:
                return found
    return None
