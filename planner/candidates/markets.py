"""Markets: what reductions compare. An instance is bought under one option, so a pool's options are markets apart."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.candidates.domains import place_of, spares_by_instance, survives_spot
from planner.candidates.types import Candidate, Pool, Problem, Rejected
from planner.spec.types import SpotModel

_DISCOUNT = re.compile(r"overlay: (\S+%) discount")
"""How the source of an offer says that an overlay took a discount off it."""
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
    """What must be equal or no worse besides the price: (term, upfront); spot: (−credit, share that can be lost)."""
    limited: bool
    """A quota or an offer limit touches it."""
    path: tuple[float, ...] = ()
    """[quarter] price per accelerator-hour where prices move; empty: the same in every quarter."""
    from_month: float = 0.0
    """Sold from this month of the horizon on."""
    places: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(service, place) of every service whose rules tell places apart (`domains.place_of`)."""
    by_instance: bool = False
    """A service has spares by instance here, so it matters which of its replicas share one."""


def markets_of(problem: Problem) -> list[Market]:
    """Every pool and option that a candidate may use."""
    seated = _seats_by_pool(problem)
    quotas = {(p, o) for q in problem.quotas for p in q.pools for o in q.options}
    credited = problem.policy.spot.model == SpotModel.CREDITED
    found = []
    services = {s.id: s for s in problem.demand.services}
    for pool in problem.pools:
        users = seated.get(pool.id, ())
        for price in pool.prices if users else ():
            seats = {seat: options for seat, options, _ in users if price.option in options}
            if not seats:
                continue
            usd, terms = price.usd_per_hour, (float(price.term_months), price.upfront_fraction)
            spot = price.option == PurchaseOption.SPOT
            if spot and pool.spot is not None:
                s = pool.spot
                usd *= s.availability
                usd += 0.0 if credited else (1 - s.availability) * (s.fallback_usd_per_hour or 0.0)
                credit = 1 - s.interruptions_per_up_hour * s.start_h
                # What goes when all spot is lost matters where a service must live through that.
                gone = 1.0 if credited else s.availability
                survived = any(survives_spot(services[name]) for name, _, _ in seats)
                terms = (-credit * s.availability if credited else -credit, gone if survived else math.inf)
            limited = price.max_instances is not None or (pool.id, price.option) in quotas
            # Spot that is away is bought on demand, so a quota on that touches it too.
            limited = limited or (spot and (pool.id, PurchaseOption.ON_DEMAND) in quotas)
            found.append(
                Market(
                    pool=pool,
                    option=price.option,
                    seats=seats,
                    sizes=tuple(sorted({size for _, options, size in users if price.option in options})),
                    usd_per_accelerator_hour=usd / pool.accelerators,
                    terms=terms,
                    limited=limited,
                    path=_path(pool, price.option, credited),
                    from_month=price.from_month,
                    places=tuple(
                        (name, place)
                        for name in sorted({name for name, _, _ in seats})
                        if (place := place_of(services[name], pool))
                    ),
                    by_instance=any(spares_by_instance(services[name]) for name, _, _ in seats),
                )
            )
    return found


def _path(pool: Pool, option: PurchaseOption, credited: bool) -> tuple[float, ...]:
    price = pool.price(option)
    if price is None or not (price.quarter_factors or (pool.spot is not None and pool.spot.fallback_factors)):
        return ()
    quarters = range(1, max(len(price.quarter_factors), len(pool.spot.fallback_factors) if pool.spot else 0) + 1)
    found = []
    for q in quarters:
        usd = price.usd_in(q)
        if option == PurchaseOption.SPOT and pool.spot is not None:
            s = pool.spot
            away = (s.fallback_usd_per_hour or 0.0) * (s.fallback_factors[q - 1] if s.fallback_factors else 1.0)
            usd = usd * s.availability + (0.0 if credited else (1 - s.availability) * away)
        found.append(usd / pool.accelerators)
    return tuple(found)


def _seats_by_pool(problem: Problem) -> dict[str, list[tuple[Seat, frozenset[PurchaseOption], int]]]:
    """Pool → (seat, its options, accelerators of a replica)."""
    sets: dict[tuple[PurchaseOption, ...], frozenset[PurchaseOption]] = {}
    found: dict[str, list[tuple[Seat, frozenset[PurchaseOption], int]]] = defaultdict(list)
    for c in problem.candidates:
        config = c.capability.config
        options = sets.get(c.options) or sets.setdefault(c.options, frozenset(c.options))
        found[c.pool].append(((c.service, config.id, id(c.capability)), options, config.accelerators))
    return found


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


def both_prices(loser: Market, usd: float, winner: Market, winner_usd: float) -> str:
    """`verda 3.12, lambda 2.98`: two prices with the discounts that were negotiated for them, spot as expected."""
    return f"{_price(loser, usd)}, {_price(winner, winner_usd)}"


def _price(market: Market, usd: float) -> str:
    price = market.pool.price(market.option)
    notes = ["expected"] if market.option == PurchaseOption.SPOT else []
    notes += [f"after a discount of {d}" for d in _DISCOUNT.findall(price.source if price is not None else "")]
    return f"{market.pool.provider} {usd:.3g}" + (f" ({', '.join(notes)})" if notes else "")
