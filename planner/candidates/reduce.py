"""Pools that another pool replaces everywhere are left out before anything is built (FACTS §6, "two markets")."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.places import jurisdiction_class
from planner.candidates.types import Pool, Problem, Rejected
from planner.catalog.catalog import Catalog
from planner.spec.types import SpotModel

Seat = tuple[str, str, int]
"""(service, configuration id, identity of its capability): pools of equal round trips share one capability object."""
Seats = Mapping[Seat, frozenset[PurchaseOption]]
"""Options of the candidates of one pool."""


def reduce_pools(problem: Problem, catalog: Catalog) -> Problem:
    """The problem without the pools that another one replaces; the optimum is the same.

    q replaces p when every plan that buys in p can buy the same accelerators in q for no more money:
    same accelerator and jurisdiction class; G_q divides G_p and every replica size of p fits whole instances of q;
    every candidate of p exists in q with at least its options, and services that share an instance in p share one in
    q; no option that p sells costs more per accelerator in q (spot: expected price, and credited capacity no less);
    no quota and no offer limit touches q. Under `providers.max_count` only within one provider. Ties fall to the
    smaller id. Different jurisdiction classes are kept, because reviewers tell plans apart by them.
    """
    seats: dict[str, dict[Seat, frozenset[PurchaseOption]]] = defaultdict(dict)
    sizes: dict[str, set[int]] = defaultdict(set)
    for c in problem.candidates:
        seats[c.pool][c.service, c.capability.config.id, id(c.capability)] = frozenset(c.options)
        sizes[c.pool].add(c.capability.config.accelerators)
    limited = {p for q in problem.quotas for p in q.pools}
    groups: dict[tuple[str, ...], list[Pool]] = defaultdict(list)
    for pool in problem.pools:
        if pool.id in seats:
            one_provider = pool.provider if problem.policy.providers.max_count is not None else ""
            place = jurisdiction_class(pool.country, pool.operator_jurisdiction, catalog)
            groups[pool.accelerator, place, one_provider].append(pool)
    credited = problem.policy.spot.model == SpotModel.CREDITED
    winners: dict[str, str] = {}
    for members in groups.values():
        for p in members:
            for q in members:
                if q is p or q.id in limited or not _replaces(q, p, seats, sizes, credited):
                    continue
                if q.id < p.id or p.id in limited or not _replaces(p, q, seats, sizes, credited):
                    winners[p.id] = q.id
                    break
    return _without(problem, winners)


def _without(problem: Problem, winners: dict[str, str]) -> Problem:
    rejected = [
        Rejected(
            what=f"pool {p}",
            checks=(
                Check(
                    check="dominated_by",
                    kind=CheckKind.POLICY,
                    needed="a lower price per accelerator under some option, or a limit apart",
                    had=_final(winners, p),
                    detail="the same accelerators under the same law cost no more there, under every option",
                ),
            ),
        )
        for p in sorted(winners)
    ]
    return problem.model_copy(
        update={
            "pools": tuple(p for p in problem.pools if p.id not in winners),
            "candidates": tuple(c for c in problem.candidates if c.pool not in winners),
            "quotas": tuple(
                q.model_copy(update={"pools": left})
                for q in problem.quotas
                if (left := tuple(p for p in q.pools if p not in winners))
            ),
            "rejected": (*problem.rejected, *rejected),
        }
    )


def _final(winners: dict[str, str], pool: str) -> str:
    """The pool that stays at the end of the chain of replacements."""
    while pool in winners:
        pool = winners[pool]
    return pool


def _replaces(q: Pool, p: Pool, seats: Mapping[str, Seats], sizes: Mapping[str, set[int]], credited: bool) -> bool:
    return (
        p.accelerators % q.accelerators == 0
        and _fit_whole(q.accelerators, sizes[p.id])
        and _prices_no_higher(q, p, seats[p.id], credited)
        and _hosts_all(q, p, seats)
        and _shares_alike(seats[q.id], seats[p.id])
    )


def _prices_no_higher(q: Pool, p: Pool, used: Seats, credited: bool) -> bool:
    for option in frozenset[PurchaseOption]().union(*used.values()):
        mine, other = p.price(option), q.price(option)
        if mine is None or other is None or other.max_instances is not None:
            return False
        if option == PurchaseOption.SPOT:
            if not _spot_no_worse(q, p, credited):
                return False
            continue
        dearer = other.usd_per_hour / q.accelerators > mine.usd_per_hour / p.accelerators
        same_terms = (other.term_months, other.upfront_fraction) == (mine.term_months, mine.upfront_fraction)
        if dearer or not same_terms:
            return False
    return True


def _spot_no_worse(q: Pool, p: Pool, credited: bool) -> bool:
    mine, other = p.spot, q.spot
    if mine is None or other is None:
        return False
    if other.interruptions_per_up_hour * other.start_h > mine.interruptions_per_up_hour * mine.start_h:
        return False
    if credited and other.availability < mine.availability:
        return False

    def expected(pool: Pool) -> float:
        price, terms = pool.price(PurchaseOption.SPOT), pool.spot
        if price is None or terms is None:
            return float("inf")
        away = 0.0 if credited else (1 - terms.availability) * (terms.fallback_usd_per_hour or 0.0)
        return (terms.availability * price.usd_per_hour + away) / pool.accelerators

    return expected(q) <= expected(p)


def _fit_whole(room: int, sizes: set[int]) -> bool:
    """Every size fills instances of `room` whole, or divides one, and the sizes form a divisor chain."""
    whole = all(g % room == 0 if g > room else room % g == 0 for g in sizes)
    return whole and all(b % a == 0 for a, b in itertools.pairwise(sorted(sizes)))


def _hosts_all(q: Pool, p: Pool, seats: Mapping[str, Seats]) -> bool:
    """Every candidate of p is one of q with at least its options."""
    other = seats[q.id]
    return all(options <= other.get(seat, frozenset()) for seat, options in seats[p.id].items())


def _shares_alike(other: Seats, mine: Seats) -> bool:
    """Candidates with equal options in p have equal options in q, so what shared an instance still may."""
    image: dict[frozenset[PurchaseOption], frozenset[PurchaseOption]] = {}
    return all(image.setdefault(options, other[key]) == other[key] for key, options in mine.items())
