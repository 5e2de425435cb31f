"""Seats that others replace are left out: a service's configuration in a pool, whatever the accelerator (FACTS §6)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.base import TERM_MONTHS, Check, CheckKind, PurchaseOption
from planner.candidates.domains import place_of, spares_by_instance
from planner.candidates.markets import Market, both_prices, markets_of, shortened
from planner.candidates.types import Candidate, Problem, Rejected
from planner.performance.types import ReplicaCapability

Options = tuple[PurchaseOption, ...]
MOST_COMMON = 16
"""So many pools are tried, cheapest first, as the one to which everything that shares commitments goes."""


@dataclass(frozen=True, eq=False)
class Place:
    """A candidate's replica under one option: what it costs alone and what it serves."""

    candidate: Candidate
    market: Market
    size: int
    usd_per_hour: float
    """size · price per accelerator: what a replica costs at least, and exactly where it fills whole instances."""
    whole: bool
    """It fills whole instances, so nothing else shares them."""


@dataclass(frozen=True, eq=False)
class Desk:
    """What shares the instances of a pool: all its candidates with the same firm options, or those on spot."""

    pool: str
    options: Options
    candidates: list[Candidate]

    def lasting(self, slices: int) -> bool:
        """Whether instances stay over slices while who uses them changes."""
        return slices > 1 and any(TERM_MONTHS[o] for o in self.options)


def reduce_seats(problem: Problem, record: bool = True) -> Problem:
    """The problem without the seats whose replicas others replace.

    In one pool, replicas of b replace one of a of the same service where h ≥ 1 of b fit into a's accelerators and serve
    every mix that it serves. Those smaller than their instance stay unless commitments outlast a slice: on an instance
    that is paid for anyway the better precision is worth having.

    Elsewhere, one replica of a, worth its share of an instance, is replaced under each of its options by h replicas of
    a seat b of the same service when h·cost_b ≤ cost_a, b fills whole instances (so it costs no more than its share),
    no limit touches b, and h of b serve every mix that one of a serves (all rows no higher divided by h; spot: no less
    credit). b is paid in the same way, or by the hour where a is a commitment. A seat leaves with all its firm options,
    so that who shares instances stays as it is, and

    - replicas smaller than their instance go all together: one might ride along in an instance paid for another;
    - where commitments outlast a slice, the same instance may serve one seat by day and another by night, so all
      seats of a desk go together, under each commitment to places that are paid by the hour or to one desk; to one pool
      under all options where a replica needs several instances, because it may stand on reserved and rented ones.

    Where a place may be lost, a seat leaves only for another in the same place. Where an instance may be lost, only one
    of the same size replaces another in the same pool; elsewhere nothing changes, as b fills whole instances.

    Under `max_configurations` only the same configuration replaces another, under `providers.max_count` only the same
    provider. Every step is exact for the problem that the steps before have left, so the whole is. Without `record`
    no refusals are written.
    """
    work = _Work(problem)
    for desk in work.desks:
        work.in_place(desk)
    for desk in sorted(work.desks, key=work.cost, reverse=True):
        work.elsewhere(desk)
    return work.left(record)


class _Work:
    """The problem while seats leave it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.slices = len(problem.demand.slices)
        self.one_provider = problem.policy.providers.max_count is not None
        self.one_configuration = problem.policy.max_configurations is not None
        self.services = {s.id: s for s in problem.demand.services}
        self.places: dict[tuple[int, PurchaseOption], Place] = {}
        self.desks: list[Desk] = []
        self.strong: dict[tuple[str, PurchaseOption], list[Place]] = defaultdict(list)
        """(service, option) → places that may replace others, cheapest first."""
        self.winners: dict[tuple[int, PurchaseOption], Place] = {}
        self.served: dict[tuple[int, int, int], bool] = {}
        self._fill()

    def _fill(self) -> None:
        seated: dict[tuple[str, PurchaseOption], Market] = {(m.pool.id, m.option): m for m in markets_of(self.problem)}
        desks: dict[tuple[str, Options], Desk] = {}
        for c in sorted(self.problem.candidates, key=lambda c: (c.pool, c.id)):
            firm = tuple(o for o in c.options if o != PurchaseOption.SPOT)
            spot = tuple(o for o in c.options if o == PurchaseOption.SPOT)
            for options in (firm, spot):
                if options:
                    desks.setdefault((c.pool, options), Desk(c.pool, options, [])).candidates.append(c)
            for option in c.options:
                market, size = seated[c.pool, option], c.capability.config.accelerators
                usd = size * market.usd_per_accelerator_hour
                place = Place(c, market, size, usd, size % market.pool.accelerators == 0)
                self.places[id(c), option] = place
                if place.whole and not market.limited:
                    self.strong[c.service, option].append(place)
        self.desks = list(desks.values())
        for rivals in self.strong.values():
            rivals.sort(key=lambda b: (b.usd_per_hour, b.candidate.id))

    # ---- what is left ----------------------------------------------------------------------------------------

    def alive(self, desk: Desk) -> list[Candidate]:
        """Candidates of a desk that have not left."""
        return [c for c in desk.candidates if (id(c), desk.options[0]) not in self.winners]

    def cost(self, desk: Desk) -> tuple[float, str, Options]:
        """Dear desks leave first; of equal ones the larger id."""
        price = min(self.places[id(desk.candidates[0]), o].market.usd_per_accelerator_hour for o in desk.options)
        return price, desk.pool, desk.options

    def left(self, record: bool) -> Problem:
        """The problem without the seats that have left, each recorded with what replaces it."""
        kept: list[Candidate] = []
        rejected: list[Rejected] = []
        for c in self.problem.candidates:
            options = tuple(o for o in c.options if (id(c), o) not in self.winners)
            if options:
                kept.append(c if options == c.options else c.model_copy(update={"options": options}))
            if record and options != c.options:
                gone = [o for o in c.options if o not in options]
                rejected += [_refusal(self.places[id(c), o], self.winners[id(c), o]) for o in gone]
        return shortened(self.problem, kept, rejected)

    # ---- in one pool -----------------------------------------------------------------------------------------

    def in_place(self, desk: Desk) -> None:
        """Let seats leave that another one of the same service and desk replaces in the accelerators they take."""
        if self.one_configuration:
            return
        for a in sorted(desk.candidates, key=lambda c: c.id, reverse=True):
            rivals = [b for b in self.alive(desk) if b is not a and b.service == a.service]
            winner = next((b for b in rivals if self._covers(desk, b, a)), None)
            if winner is not None:
                for option in desk.options:
                    self._gone(a, option, self.places[id(winner), option])

    def _covers(self, desk: Desk, b: Candidate, a: Candidate) -> bool:
        mine, other = self.places[id(a), desk.options[0]], self.places[id(b), desk.options[0]]
        room = mine.market.pool.accelerators
        if mine.size != other.size and spares_by_instance(self.services[a.service]):
            return False
        if not (mine.whole and other.whole) and not desk.lasting(self.slices):
            return False
        if mine.size <= room or other.whole:
            copies = mine.size // other.size
        else:
            copies = mine.size // room * (room // other.size)
        return copies > 0 and self._serves(other, mine, copies)

    # ---- elsewhere -------------------------------------------------------------------------------------------

    def elsewhere(self, desk: Desk) -> None:
        """Let seats of a desk leave for other pools."""
        left = self.alive(desk)
        if not left:
            return
        if len(left) > 1 and desk.lasting(self.slices):
            self._leave(desk, self._to_one_desk(desk, left))
            return
        small = [a for a in left if not self.places[id(a), desk.options[0]].whole]
        found = {id(a): self._best(desk, a) for a in left}
        if not all(found[id(a)] for a in small):
            found |= {id(a): None for a in small}
        self._leave(desk, {key: places for key, places in found.items() if places})

    def _leave(self, desk: Desk, found: dict[int, list[Place]]) -> None:
        for key, places in found.items():
            for option, place in zip(desk.options, places, strict=True):
                self._gone(self.places[key, option].candidate, option, place)

    def _best(self, desk: Desk, a: Candidate) -> list[Place] | None:
        """Per option the cheapest place that replaces a seat, or None where one has none."""
        found = []
        for option in desk.options:
            place = self.places[id(a), option]
            winner = next(self._rivals(place), None) or self._by_the_hour(place)
            if winner is None:
                return None
            found.append(winner)
        return found

    def _by_the_hour(self, a: Place) -> Place | None:
        """The cheapest place paid by the hour that replaces a."""
        return next(self._rivals(a, option=PurchaseOption.ON_DEMAND if TERM_MONTHS[a.market.option] else None), None)

    def _rivals(self, a: Place, pool: str | None = None, option: PurchaseOption | None = None) -> Iterator[Place]:
        """Places that replace a, cheapest first; of one pool if given; paid as a unless an option is given."""
        option = option or a.market.option
        strong = self.strong[a.candidate.service, option]
        if pool is not None:
            strong = [b for b in strong if b.candidate.pool == pool]
        # A copy: places leave the list while a reader still holds the generator.
        dearest, own = a.usd_per_hour, a.candidate.pool
        for b in strong[:]:
            if b.usd_per_hour > dearest:
                return
            if b.candidate.pool != own and self._outdoes(b, a) and self._may(b, a):
                yield b

    def _gone(self, candidate: Candidate, option: PurchaseOption, winner: Place) -> None:
        """A seat leaves under one option for a place that replaces it."""
        self.winners[id(candidate), option] = winner
        place = self.places[id(candidate), option]
        if place.whole and not place.market.limited:
            self.strong[candidate.service, option].remove(place)

    def _outdoes(self, b: Place, a: Place) -> bool:
        """Whether replicas of b, for no more money, serve what one of a serves on no worse terms."""
        copies = math.floor(a.usd_per_hour / b.usd_per_hour + 1e-9) if b.usd_per_hour > 0 else 1
        if a.market.option != b.market.option:
            terms = b.market.option == PurchaseOption.ON_DEMAND
        elif a.market.option == PurchaseOption.SPOT:
            terms = all(mine <= theirs for mine, theirs in zip(b.market.terms, a.market.terms, strict=True))
        else:
            terms = b.market.terms[0] == a.market.terms[0] and b.market.terms[1] <= a.market.terms[1]
        return copies > 0 and terms and self._serves(b, a, copies)

    def _serves(self, b: Place, a: Place, copies: int) -> bool:
        """`_serves` of their capabilities, found once: many pools hold the same ones."""
        mine, other = a.candidate.capability, b.candidate.capability
        key = id(mine), id(other), copies
        if key not in self.served:
            self.served[key] = _serves(mine, other, copies)
        return self.served[key]

    def _may(self, b: Place, a: Place) -> bool:
        """Whether time, rules that count providers or configurations, or that tell places apart, let b replace a."""
        if a.market.path or b.market.path or b.market.from_month > a.market.from_month:
            return False  # prices that move are compared pool by pool only, see `reduce_markets`
        service = self.services[a.candidate.service]
        if place_of(service, a.market.pool) != place_of(service, b.market.pool):
            return False
        same = b.candidate.capability.config.id == a.candidate.capability.config.id
        return (not self.one_provider or b.market.pool.provider == a.market.pool.provider) and (
            not self.one_configuration or same
        )

    def _to_one_desk(self, desk: Desk, left: Sequence[Candidate]) -> dict[int, list[Place]]:
        """The places that replace all seats of a desk, under each commitment in one desk; empty: there are none."""
        over_several = any(
            p.size > p.market.pool.accelerators for a in left if (p := self.places[id(a), desk.options[0]])
        )
        rows = {o: [self.places[id(a), o] for a in left] for o in desk.options}
        hourly = {o: [b for a in seats if (b := self._by_the_hour(a)) is not None] for o, seats in rows.items()}
        free = {o for o, found in hourly.items() if len(found) == len(left)}
        columns: list[list[Place]] = []
        pools: set[str] = set()
        for option, seats in rows.items():
            apart = option in free and (not over_several or len(free) == len(rows))
            column = hourly[option] if apart else self._in_one_desk(seats, pools)
            if column is None:
                return {}
            if over_several and not apart:
                pools = {b.candidate.pool for b in column}
            columns.append(column)
        return {id(a): [column[i] for column in columns] for i, a in enumerate(left)}

    def _in_one_desk(self, seats: Sequence[Place], pools: set[str]) -> list[Place] | None:
        """Places of one desk that replace each of the seats; in one of `pools` where any are named."""
        first = (b for b in self._rivals(seats[0]) if not pools or b.candidate.pool in pools)
        tried: set[tuple[str, Options]] = set()
        for b in first:
            target = (b.candidate.pool, _firm(b.candidate))
            if target in tried:
                continue
            tried.add(target)
            column = [
                next((c for c in self._rivals(a, target[0]) if _firm(c.candidate) == target[1]), None) for a in seats
            ]
            if all(column):
                return [c for c in column if c is not None]
            if len(tried) >= MOST_COMMON:
                break
        return None


def _firm(c: Candidate) -> Options:
    return tuple(o for o in c.options if o != PurchaseOption.SPOT)


def _serves(mine: ReplicaCapability, other: ReplicaCapability, copies: int) -> bool:
    """Whether so many replicas of `other` serve every mix that one of `mine` serves, row by row.

    Σ x·use_other/copies ≤ Σ x·use_mine ≤ 1.
    """
    served = [r for r, ok in enumerate(mine.served) if ok]
    if not all(other.served[r] for r in served):
        return False
    return all(any(all(row.use[r] <= copies * base.use[r] for r in served) for base in mine.rows) for row in other.rows)


def _refusal(loser: Place, winner: Place) -> Rejected:
    c, option = loser.candidate, loser.market.option
    prices = both_prices(loser.market, loser.usd_per_hour, winner.market, winner.usd_per_hour)
    check = Check(
        check="dominated_by",
        kind=CheckKind.POLICY,
        needed="less money per replica, or more served by one",
        had=f"{winner.candidate.id.split('|', 1)[1]}/{winner.market.option.value}",
        detail=f"{prices} USD per replica-hour; replicas there serve at least as much for no more money and no longer "
        "commitment",
    )
    return Rejected(what=f"{c.id.split('|', 1)[1]}/{option.value}", service=c.service, checks=(check,))
