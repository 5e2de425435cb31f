"""Markets that another one replaces everywhere are left out before anything is built (FACTS §6)."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.domains import api_place_matters
from planner.candidates.markets import Market, both_prices, markets_of, shortened
from planner.candidates.seats import reduce_seats
from planner.candidates.types import Problem, Rejected


def core(problem: Problem, record: bool = True) -> Problem:
    """The problem without markets and seats that others replace: same optimum, far fewer columns.

    The bound that is proven on the core holds for the whole problem. What reviewers want to see beside the best plan
    (another accelerator, another law) is found by taking features away from the whole problem, see `without`. With
    `record` what leaves is written among the refusals; searches beside the main one need no such list.
    """
    return reduce_seats(reduce_markets(reduce_apis(problem), record), record)


def with_hourly(reduced: Problem, whole: Problem) -> Problem:
    """A reduced problem in which nothing that may be committed lacks its own on-demand offer.

    Between the reduced and the whole problem, so the optimum is that of both. A dearer hour in the same pool is never
    needed, but without it whole commitments cannot be sought apart from the choice of pools (docs/decomposition.md).
    """
    hourly = {c.id for c in whole.candidates if PurchaseOption.ON_DEMAND in c.options}
    long = {PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y}
    kept = [
        c.model_copy(update={"options": (*c.options, PurchaseOption.ON_DEMAND)})
        if long & set(c.options) and PurchaseOption.ON_DEMAND not in c.options and c.id in hourly
        else c
        for c in reduced.candidates
    ]
    return reduced.model_copy(update={"candidates": tuple(kept)})


def reduce_apis(problem: Problem) -> Problem:
    """The problem without APIs that cost more per request than one without limits.

    An API whose rate limits are unknown counts as unlimited in the programme, so for each class nothing dearer than
    the cheapest such API is ever called. Ties fall to the smaller id. Not under `providers.max_count`, where calling a
    dearer API of a provider that is used anyway may save a provider; nor where a service must live through the loss of
    a provider or region, because the dearer API may be elsewhere.
    """
    if problem.policy.providers.max_count is not None:
        return problem
    cheapest: dict[tuple[str, str], tuple[float, str]] = {}
    apart = {s.id for s in problem.demand.services if api_place_matters(s)}
    for a in problem.apis:
        if a.max_req_per_s is None and a.max_tok_per_min is None:
            key = (a.service, a.request_class)
            cheapest[key] = min(cheapest.get(key, (math.inf, "")), (a.usd_per_request, a.api))
    kept, rejected = [], []
    for a in problem.apis:
        price, winner = cheapest.get((a.service, a.request_class), (math.inf, ""))
        if a.service in apart or (a.usd_per_request, a.api) <= (price, winner):
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


def reduce_markets(problem: Problem, record: bool = True) -> Problem:
    """The problem without the markets that another one replaces.

    An instance is bought under one option, so each option of a pool is a market of its own. Market q replaces market
    p of the same option when every instance bought in p can be bought in q for no more money: same accelerator;
    G_q divides G_p and every replica size of p fills instances of q whole or divides them; every
    candidate of p is one of q, and candidates that share an instance in p share one in q; no higher price per
    accelerator (spot: expected price and no less credited capacity; commitments: same term); no quota and no offer
    limit touches q. Where a place may be lost (`survive_loss_of`, spares by zone) q is in the same one; where an
    instance may be lost, one of q holds a single replica. A replica over several instances may stand on reserved and
    rented ones at once, so where there are any, q replaces p under every firm option or none. Under
    `providers.max_count` only within one provider.
    Ties fall to the smaller id.
    """
    groups: dict[tuple[str, ...], list[Market]] = defaultdict(list)
    one_provider = problem.policy.providers.max_count is not None
    markets = markets_of(problem)
    firm: dict[str, dict[PurchaseOption, Market]] = defaultdict(dict)
    for market in markets:
        provider = market.pool.provider if one_provider else ""
        groups[market.pool.accelerator, market.option, provider].append(market)
        if market.option != PurchaseOption.SPOT:
            firm[market.pool.id][market.option] = market
    winners: dict[tuple[str, PurchaseOption], Market] = {}
    losers: list[Market] = []
    for members in groups.values():
        able = [q for q in members if not q.limited]
        for p in members:
            together = _together(p, firm)
            for q in able:
                # The price first: it rules out most, and nothing is cheaper to compare.
                if q is p or not _never_dearer(q, p) or not _all_replaced(q, together, firm):
                    continue
                if q.pool.id < p.pool.id or not _all_replaced(p, _together(q, firm), firm):
                    winners[p.pool.id, p.option] = q
                    losers.append(p)
                    break
    return _without(problem, winners, losers if record else ())


def _together(p: Market, firm: Mapping[str, Mapping[PurchaseOption, Market]]) -> Sequence[Market]:
    """The markets of p's pool that are replaced with it or not at all."""
    spans = p.option != PurchaseOption.SPOT and any(m.sizes[-1] > p.pool.accelerators for m in firm[p.pool.id].values())
    return list(firm[p.pool.id].values()) if spans else [p]


def _all_replaced(q: Market, markets: Sequence[Market], firm: Mapping[str, Mapping[PurchaseOption, Market]]) -> bool:
    """Whether the pool of q replaces each of the markets."""
    for p in markets:
        other = q if q.option == p.option else firm[q.pool.id].get(p.option)
        if other is None or not _replaces(other, p):
            return False
    return True


def _replaces(q: Market, p: Market) -> bool:
    room = q.pool.accelerators
    return (
        _never_dearer(q, p)
        and not q.limited
        and p.pool.accelerators % room == 0
        and _terms_no_worse(q, p)
        and _fit_whole(room, p.sizes)
        and p.seats.keys() <= q.seats.keys()
        and _share_alike(q, p)
        and set(p.places) <= set(q.places)
        and (not p.by_instance or 2 * q.sizes[0] > room)
    )


def _never_dearer(q: Market, p: Market) -> bool:
    """No higher price per accelerator in any quarter, and sold no later."""
    if q.from_month > p.from_month:
        return False
    if not q.path and not p.path:
        return q.usd_per_accelerator_hour <= p.usd_per_accelerator_hour
    length = max(len(q.path), len(p.path))
    mine = q.path or (q.usd_per_accelerator_hour,) * length
    theirs = p.path or (p.usd_per_accelerator_hour,) * length
    return all(a <= b for a, b in zip(mine, theirs, strict=True))


def _terms_no_worse(q: Market, p: Market) -> bool:
    if q.option == PurchaseOption.SPOT:
        return all(mine <= theirs for mine, theirs in zip(q.terms, p.terms, strict=True))
    return q.terms == p.terms


def _fit_whole(room: int, sizes: tuple[int, ...]) -> bool:
    """Every size fills instances of `room` whole, or divides one, and the sizes form a divisor chain."""
    whole = all(g % room == 0 if g > room else room % g == 0 for g in sizes)
    return whole and all(b % a == 0 for a, b in itertools.pairwise(sizes))


def _share_alike(q: Market, p: Market) -> bool:
    """Candidates with equal options in p have equal options in q, so what shared an instance still may."""
    image: dict[frozenset[PurchaseOption], frozenset[PurchaseOption]] = {}
    return all(image.setdefault(options, q.seats[seat]) == q.seats[seat] for seat, options in p.seats.items())


def _without(
    problem: Problem, winners: Mapping[tuple[str, PurchaseOption], Market], losers: Sequence[Market]
) -> Problem:
    kept = []
    for c in problem.candidates:
        options = tuple(o for o in c.options if (c.pool, o) not in winners)
        if options:
            kept.append(c if options == c.options else c.model_copy(update={"options": options}))
    ordered = sorted(losers, key=lambda m: (m.pool.id, m.option))
    return shortened(problem, kept, [_dominated(market, winners) for market in ordered])


def _dominated(market: Market, winners: Mapping[tuple[str, PurchaseOption], Market]) -> Rejected:
    last = market
    while (last.pool.id, last.option) in winners:
        last = winners[last.pool.id, last.option]
    prices = both_prices(market, market.usd_per_accelerator_hour, last, last.usd_per_accelerator_hour)
    check = Check(
        check="dominated_by",
        kind=CheckKind.POLICY,
        needed="a lower price per accelerator, or a place apart",
        had=f"{last.pool.id}/{market.option.value}",
        detail=f"{prices} USD per accelerator-hour; the same accelerators under the same law cost no more there",
    )
    services = {service for service, _, _ in market.seats}
    service = services.pop() if len(services) == 1 else None
    return Rejected(what=f"{market.pool.id}/{market.option.value}", service=service, checks=(check,))
