"""Markets that another one replaces everywhere are left out before anything is built (FACTS §6)."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.types import Candidate, Pool, Problem, Rejected
from planner.spec.types import SpotModel

Seat = tuple[str, str, int]
"""(service, configuration id, identity of its capability): pools of equal round trips share one capability object."""


@dataclass(frozen=True)
class Market:
    """A pool under one purchase option, with the candidates that may use it and all their options there."""

    pool: Pool
    option: PurchaseOption
    seats: Mapping[Seat, frozenset[PurchaseOption]]
    sizes: tuple[int, ...]
    usd_per_accelerator_hour: float
    """Expected price; spot includes what its absence costs."""
    terms: tuple[float, ...]
    """What must be equal or no worse besides the price: (term, upfront) or (−credit, …)."""
    limited: bool
    """A quota or an offer limit touches it."""


def core(problem: Problem) -> Problem:
    """The problem without markets and seats that others replace: same optimum, far fewer columns.

    The bound that is proven on the core holds for the whole problem. What reviewers want to see beside the best plan
    (another accelerator, another law) is found by taking features away from the whole problem, see `without`.
    """
    return reduce_seats(reduce_markets(reduce_apis(problem)))


def reduce_apis(problem: Problem) -> Problem:
    """The problem without APIs that cost more per request than one without limits.

    An API whose rate limits are unknown counts as unlimited in the programme, so for each class nothing dearer than
    the cheapest such API is ever called. Ties fall to the smaller id. Not under `providers.max_count`, where calling a
    dearer API of a provider that is used anyway may save a provider.
    """
    if problem.policy.providers.max_count is not None:
        return problem
    cheapest: dict[tuple[str, str], tuple[float, str]] = {}
    for a in problem.apis:
        if a.max_req_per_s is None and a.max_tok_per_min is None:
            key = (a.service, a.request_class)
            cheapest[key] = min(cheapest.get(key, (math.inf, "")), (a.usd_per_request, a.api))
    kept, rejected = [], []
    for a in problem.apis:
        price, winner = cheapest.get((a.service, a.request_class), (math.inf, ""))
        if (a.usd_per_request, a.api) <= (price, winner):
            kept.append(a)
            continue
        check = Check(
            check="dominated_by",
            kind=CheckKind.POLICY,
            needed=price,
            had=a.usd_per_request,
            unit="USD/request",
            detail=f"{winner} serves the same requests for less",
        )
        rejected.append(Rejected(what=f"api {a.api} for {a.request_class}", service=a.service, checks=(check,)))
    return problem.model_copy(update={"apis": tuple(kept), "rejected": (*problem.rejected, *rejected)})


def reduce_markets(problem: Problem) -> Problem:
    """The problem without the markets that another one replaces.

    An instance is bought under one option, so each option of a pool is a market of its own. Market q replaces market
    p of the same option when every instance bought in p can be bought in q for no more money: same accelerator;
    G_q divides G_p and every replica size of p fills instances of q whole or divides them; every
    candidate of p is one of q, and candidates that share an instance in p share one in q; no higher price per
    accelerator (spot: expected price and no less credited capacity; commitments: same term); no quota and no offer
    limit touches q. Under `providers.max_count` only within one provider. Ties fall to the smaller id.
    """
    groups: dict[tuple[str, ...], list[Market]] = defaultdict(list)
    one_provider = problem.policy.providers.max_count is not None
    for market in _markets(problem):
        provider = market.pool.provider if one_provider else ""
        groups[market.pool.accelerator, market.option, provider].append(market)
    winners: dict[tuple[str, PurchaseOption], str] = {}
    for members in groups.values():
        for p in members:
            for q in members:
                if q is p or not _replaces(q, p):
                    continue
                if q.pool.id < p.pool.id or not _replaces(p, q):
                    winners[p.pool.id, p.option] = q.pool.id
                    break
    return _without(problem, winners)


def _markets(problem: Problem) -> list[Market]:
    by_pool: dict[str, list[Candidate]] = defaultdict(list)
    for c in problem.candidates:
        by_pool[c.pool].append(c)
    quotas = {(p, o) for q in problem.quotas for p in q.pools for o in q.options}
    credited = problem.policy.spot.model == SpotModel.CREDITED
    found = []
    for pool in problem.pools:
        for price in pool.prices:
            users = [c for c in by_pool.get(pool.id, ()) if price.option in c.options]
            if not users:
                continue
            usd, terms = price.usd_per_hour, (float(price.term_months), price.upfront_fraction)
            spot = price.option == PurchaseOption.SPOT
            if spot and pool.spot is not None:
                s = pool.spot
                usd *= s.availability
                usd += 0.0 if credited else (1 - s.availability) * (s.fallback_usd_per_hour or 0.0)
                credit = 1 - s.interruptions_per_up_hour * s.start_h
                terms = (-credit * s.availability if credited else -credit, 0.0)
            limited = price.max_instances is not None or (pool.id, price.option) in quotas
            # Spot that is away is bought on demand, so a quota on that touches it too.
            limited = limited or (spot and (pool.id, PurchaseOption.ON_DEMAND) in quotas)
            found.append(
                Market(
                    pool=pool,
                    option=price.option,
                    seats={(c.service, c.capability.config.id, id(c.capability)): frozenset(c.options) for c in users},
                    sizes=tuple(sorted({c.capability.config.accelerators for c in users})),
                    usd_per_accelerator_hour=usd / pool.accelerators,
                    terms=terms,
                    limited=limited,
                )
            )
    return found


def _replaces(q: Market, p: Market) -> bool:
    room = q.pool.accelerators
    return (
        q.usd_per_accelerator_hour <= p.usd_per_accelerator_hour
        and not q.limited
        and p.pool.accelerators % room == 0
        and _terms_no_worse(q, p)
        and _fit_whole(room, p.sizes)
        and p.seats.keys() <= q.seats.keys()
        and _share_alike(q, p)
    )


def _terms_no_worse(q: Market, p: Market) -> bool:
    return q.terms <= p.terms if q.option == PurchaseOption.SPOT else q.terms == p.terms


def _fit_whole(room: int, sizes: tuple[int, ...]) -> bool:
    """Every size fills instances of `room` whole, or divides one, and the sizes form a divisor chain."""
    whole = all(g % room == 0 if g > room else room % g == 0 for g in sizes)
    return whole and all(b % a == 0 for a, b in itertools.pairwise(sizes))


def _share_alike(q: Market, p: Market) -> bool:
    """Candidates with equal options in p have equal options in q, so what shared an instance still may."""
    image: dict[frozenset[PurchaseOption], frozenset[PurchaseOption]] = {}
    return all(image.setdefault(options, q.seats[seat]) == q.seats[seat] for seat, options in p.seats.items())


# ---- seats -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A candidate's replica under one option: what it costs alone and what it serves."""

    candidate: Candidate
    market: Market
    size: int
    usd_per_hour: float
    """size · price per accelerator: what a replica costs at least, and exactly where it fills whole instances."""
    whole: bool
    """It fills whole instances, so nothing else shares them."""


def reduce_seats(problem: Problem) -> Problem:
    """The problem without the seats whose replicas others replace, whatever their accelerator.

    A replica of seat a, worth its share of an instance, is replaced by h ≥ 1 replicas of seat b of the same service
    and option when h·cost_b ≤ cost_a, b fills whole instances (so it costs no more than its share), no limit touches
    b, and h replicas of b serve every mix that one of a serves (all rows no higher divided by h; spot: no less
    credit). A replica smaller than its instance might ride along in one that is paid for others, so the small seats
    of a market go all together or not at all.
    """
    one_provider = problem.policy.providers.max_count is not None
    candidates = {(c.pool, c.service, c.capability.config.id, id(c.capability)): c for c in problem.candidates}
    markets = _markets(problem)
    places: list[Place] = []
    for market in markets:
        for seat in market.seats:
            c = candidates[(market.pool.id, *seat)]
            size = c.capability.config.accelerators
            usd = size * market.usd_per_accelerator_hour
            places.append(Place(c, market, size, usd, size % market.pool.accelerators == 0))
    strong: dict[tuple[str, ...], list[Place]] = defaultdict(list)
    for a in places:
        if a.whole and not a.market.limited:
            strong[a.candidate.service, a.market.option, a.market.pool.provider if one_provider else ""].append(a)
    for rivals in strong.values():
        rivals.sort(key=lambda a: (a.usd_per_hour, a.candidate.id))
    beaten: dict[tuple[str, PurchaseOption], dict[str, str]] = defaultdict(dict)
    for a in places:
        key = (a.candidate.service, a.market.option, a.market.pool.provider if one_provider else "")
        winner = next((b for b in _cheaper(strong[key], a) if _outdoes(b, a)), None)
        if winner is not None:
            beaten[a.market.pool.id, a.market.option][a.candidate.id] = winner.candidate.id
    for market in markets:
        small = [a for a in places if a.market is market and not a.whole]
        lost = beaten[market.pool.id, market.option]
        if not all(a.candidate.id in lost for a in small):
            for a in small:
                lost.pop(a.candidate.id, None)
    return _unseat(problem, beaten)


def _cheaper(rivals: list[Place], a: Place) -> Iterator[Place]:
    """Rivals that cost no more than a, cheapest first."""
    return itertools.takewhile(lambda b: b.usd_per_hour <= a.usd_per_hour, rivals)


def _outdoes(b: Place, a: Place) -> bool:
    """Whether replicas of b replace one of a; a strict order, so that two seats never remove each other."""
    if b.candidate is a.candidate and b.market is a.market:
        return False
    copies = math.floor(a.usd_per_hour / b.usd_per_hour + 1e-9) if b.usd_per_hour > 0 else 1
    if not _serves(b, a, copies):
        return False
    if b.usd_per_hour < a.usd_per_hour or not a.whole or a.market.limited:
        return True
    # Equal cost and both may replace: the one that serves strictly more stays, else the smaller id.
    return not _serves(a, b, 1) or b.candidate.id < a.candidate.id


def _serves(b: Place, a: Place, copies: int) -> bool:
    if a.market.option == PurchaseOption.SPOT and b.market.terms > a.market.terms:
        return False
    mine, other = a.candidate.capability, b.candidate.capability
    served = [r for r, ok in enumerate(mine.served) if ok]
    if not all(other.served[r] for r in served):
        return False
    return all(any(all(row.use[r] <= copies * base.use[r] for r in served) for base in mine.rows) for row in other.rows)


def _unseat(problem: Problem, beaten: Mapping[tuple[str, PurchaseOption], Mapping[str, str]]) -> Problem:
    kept = []
    rejected = []
    for c in problem.candidates:
        lost = {o: beaten[c.pool, o][c.id] for o in c.options if c.id in beaten.get((c.pool, o), {})}
        options = tuple(o for o in c.options if o not in lost)
        if options:
            kept.append(c if not lost else c.model_copy(update={"options": options}))
        for option, winner in lost.items():
            check = Check(
                check="dominated_by",
                kind=CheckKind.POLICY,
                needed="less money per replica, or more served by one",
                had=f"{winner.split('|', 1)[1]}/{option.value}",
                detail="replicas there serve at least as much for no more money under the same option",
            )
            rejected.append(
                Rejected(what=f"{c.id.split('|', 1)[1]}/{option.value}", service=c.service, checks=(check,))
            )
    return shortened(problem, kept, rejected)


# ---- the shorter problem -----------------------------------------------------------------------------------------


def _without(problem: Problem, winners: Mapping[tuple[str, PurchaseOption], str]) -> Problem:
    kept = []
    for c in problem.candidates:
        options = tuple(o for o in c.options if (c.pool, o) not in winners)
        if options:
            kept.append(c if options == c.options else c.model_copy(update={"options": options}))
    return shortened(problem, kept, [_dominated(pool, option, winners) for pool, option in sorted(winners)])


def shortened(problem: Problem, kept: Sequence[Candidate], rejected: Sequence[Rejected] = ()) -> Problem:
    """The problem with fewer candidates: pools that none sits in leave, and quotas over such pools."""
    used = {c.pool for c in kept}
    quotas = [q.model_copy(update={"pools": tuple(p for p in q.pools if p in used)}) for q in problem.quotas]
    return problem.model_copy(
        update={
            "pools": tuple(p for p in problem.pools if p.id in used),
            "candidates": tuple(kept),
            "quotas": tuple(q for q in quotas if q.pools),
            "rejected": (*problem.rejected, *rejected),
        }
    )


def _dominated(pool: str, option: PurchaseOption, winners: Mapping[tuple[str, PurchaseOption], str]) -> Rejected:
    last = pool
    while (last, option) in winners:
        last = winners[last, option]
    check = Check(
        check="dominated_by",
        kind=CheckKind.POLICY,
        needed="a lower price per accelerator, or a place apart",
        had=f"{last}/{option.value}",
        detail="the same accelerators under the same law cost no more there",
    )
    return Rejected(what=f"{pool}/{option.value}", checks=(check,))
