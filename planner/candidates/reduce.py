"""Markets that another one replaces everywhere are left out before anything is built (FACTS §6)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.places import jurisdiction_class
from planner.candidates.types import Candidate, Pool, Problem, Rejected
from planner.catalog.catalog import Catalog
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


def reduce_markets(problem: Problem, catalog: Catalog) -> Problem:
    """The problem without the markets that another one replaces; the optimum is the same.

    An instance is bought under one option, so each option of a pool is a market of its own. Market q replaces market
    p of the same option when every instance bought in p can be bought in q for no more money: same accelerator and
    jurisdiction class; G_q divides G_p and every replica size of p fills instances of q whole or divides them; every
    candidate of p is one of q, and candidates that share an instance in p share one in q; no higher price per
    accelerator (spot: expected price and no less credited capacity; commitments: same term); no quota and no offer
    limit touches q. Under `providers.max_count` only within one provider. Ties fall to the smaller id. Different
    jurisdiction classes are kept, because reviewers tell plans apart by them.
    """
    groups: dict[tuple[str, ...], list[Market]] = defaultdict(list)
    one_provider = problem.policy.providers.max_count is not None
    for market in _markets(problem):
        pool = market.pool
        place = jurisdiction_class(pool.country, pool.operator_jurisdiction, catalog)
        groups[pool.accelerator, place, market.option, pool.provider if one_provider else ""].append(market)
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
        not q.limited
        and p.pool.accelerators % room == 0
        and q.usd_per_accelerator_hour <= p.usd_per_accelerator_hour
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


def _without(problem: Problem, winners: Mapping[tuple[str, PurchaseOption], str]) -> Problem:
    kept = []
    for c in problem.candidates:
        options = tuple(o for o in c.options if (c.pool, o) not in winners)
        if options:
            kept.append(c if options == c.options else c.model_copy(update={"options": options}))
    used = {c.pool for c in kept}
    rejected = [_dominated(pool, option, winners) for pool, option in sorted(winners)]
    return problem.model_copy(
        update={
            "pools": tuple(p for p in problem.pools if p.id in used),
            "candidates": tuple(kept),
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
