"""A small part of a problem to find first plans in: what would serve a service cheapest on its own, place by place.

Whatever is left out only narrows the choice, so a plan of the part is a plan of the problem; its bound is none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.base import TERM_MONTHS, PurchaseOption
from planner.candidates.domains import place_of
from planner.candidates.markets import Market, markets_of, shortened
from planner.candidates.types import Candidate, Problem
from planner.demand.types import Service

PLACES = 3
"""Places kept per configuration, way to pay and unit of width, where a rule tells places apart."""
PLACES_TO_SPREAD = 2
"""So many places at least hold a service that lives through the loss of one: the dearest of them is looked at."""


@dataclass(frozen=True, eq=False)
class _Choice:
    """A candidate under one way to pay (by the hour, committed, spot)."""

    candidate: Candidate
    place: tuple[str, ...]
    provider: str
    region: str
    usd_per_hour: float
    """What serving the whole service on this alone costs at its peak, with one instance to spare."""
    limited: bool


def narrowed(problem: Problem, width: int) -> Problem:
    """The problem with the candidates that serve a service cheapest alone; the wider, the more of them.

    Per service and way to pay (by the hour, committed, spot): `width` configurations, each in the cheapest pool of
    3·`width` places. Places of further providers and regions are added until there is one to spare of each. What is
    sold in limited number is kept beside them, as it may not last. A service of which no configuration serves every
    class keeps all it has. Deterministic: ties fall to the smaller id.
    """
    markets = {(m.pool.id, m.option): m for m in markets_of(problem)}
    of_service: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in problem.candidates:
        of_service[candidate.service].append(candidate)
    kept: set[int] = set()
    for service in problem.demand.services:
        own = of_service[service.id]
        kinds = _choices(problem, service, own, markets)
        if not kinds:
            kept |= {id(c) for c in own}
        for choices in kinds.values():
            kept |= {id(c) for c in _cheapest(choices, width)}
    return shortened(problem, [c for c in problem.candidates if id(c) in kept])


def _choices(
    problem: Problem, service: Service, candidates: Sequence[Candidate],
    markets: Mapping[tuple[str, PurchaseOption], Market],
) -> dict[str, list[_Choice]]:  # fmt: skip
    """Way to pay → everything that serves the whole mix, cheapest first."""
    best: dict[tuple[str, int], _Choice] = {}
    for candidate in candidates:
        load = _peak_replicas(problem, service, candidate)
        if load is None:
            continue
        for option in candidate.options:
            market = markets[candidate.pool, option]
            choice = _choice(service, candidate, market, load)
            key = _kind(option), id(candidate)
            if key not in best or choice.usd_per_hour < best[key].usd_per_hour:
                best[key] = choice
    found: dict[str, list[_Choice]] = defaultdict(list)
    for (kind, _), choice in best.items():
        found[kind].append(choice)
    for choices in found.values():
        choices.sort(key=lambda c: (c.usd_per_hour, c.candidate.id))
    return found


def _kind(option: PurchaseOption) -> str:
    if option is PurchaseOption.SPOT:
        return "spot"
    return "committed" if TERM_MONTHS[option] else "hourly"


def _peak_replicas(problem: Problem, service: Service, candidate: Candidate) -> float | None:
    """Replicas that the top rate of the busiest slice keeps busy; None where a class with demand is not served."""
    capability = candidate.capability
    most = 0.0
    for t in range(len(problem.demand.slices)):
        rates = {r: c.band_req_per_s[t][-1] for r, c in enumerate(service.classes) if c.band_req_per_s[t][-1] > 0}
        if not all(capability.served[r] for r in rates):
            return None
        most = max([most, *(math.fsum(row.use[r] * rate for r, rate in rates.items()) for row in capability.rows)])
    return most * problem.policy.headroom.forecast_margin


def _choice(service: Service, candidate: Candidate, market: Market, load: float) -> _Choice:
    pool, size = market.pool, candidate.capability.config.accelerators
    replicas = max(1, math.ceil(load - 1e-9))
    room = pool.accelerators
    spare = math.ceil(size / room)
    instances = replicas * spare if size > room else math.ceil(replicas / (room // size))
    usd = market.usd_per_accelerator_hour * room * (instances + spare)
    return _Choice(
        candidate, place_of(service, pool), pool.provider, f"{pool.provider}/{pool.region}", usd, market.limited
    )


def _cheapest(choices: Sequence[_Choice], width: int) -> list[Candidate]:
    """The candidates of the best configurations in their best places."""
    of_config: dict[str, list[_Choice]] = defaultdict(list)
    for choice in choices:
        of_config[choice.candidate.capability.config.id].append(choice)
    ranked = sorted(of_config, key=lambda name: (*_spread_cost(of_config[name]), name))
    return [c for name in ranked[:width] for c in _in_places(of_config[name], width)]


def _spread_cost(choices: Sequence[_Choice]) -> tuple[int, float]:
    """(places that lack, cost in the dearest place that is needed) of a configuration; choices cheapest first."""
    wanted = PLACES_TO_SPREAD if any(c.place for c in choices) else 1
    best: dict[tuple[str, ...], float] = {}
    for choice in choices:
        if not choice.limited:
            best.setdefault(choice.place, choice.usd_per_hour)
    costs = list(best.values())[:wanted]
    return wanted - len(costs), max(costs, default=choices[0].usd_per_hour)


def _in_places(choices: Sequence[_Choice], width: int) -> list[Candidate]:
    """One candidate per place, cheapest first, and what is limited on the way."""
    found: list[Candidate] = []
    places: set[tuple[str, ...]] = set()
    providers: set[str] = set()
    regions: set[str] = set()
    several = any(c.place for c in choices)
    most = PLACES * width if several else 1
    for choice in choices:
        apart = several and (
            (choice.provider not in providers and len(providers) <= width)
            or (choice.region not in regions and len(regions) <= width)
        )
        full = len(places) >= most
        if choice.place in places or (full and not apart):
            continue
        found.append(choice.candidate)
        if not choice.limited:
            places.add(choice.place)
            providers.add(choice.provider)
            regions.add(choice.region)
    return found
