"""Checks of what may fail: spares by replica, instance or zone, and the loss of a zone, region, provider or spot.

In an emergency every replica takes all classes of its service in proportion to their rates (its whole mix), and APIs
keep the rates that the plan gives them; a plan that holds so holds whatever the router did before. One replica is worth
the part of the service's demand in the band that it serves alone, at most all of it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.demand.types import Service
from planner.spec.types import Spare, SpareDomain, WorkloadKind
from planner.verify.facts import Facts
from planner.verify.findings import Findings
from planner.verify.normalise import Called, Normal, Running

GLOBAL = "global"
"""Region of an API that has none."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Replicas of one deployment in one slice and band."""

    running: Running
    count: int
    worth: float
    """Of one replica, 0 to 1."""

    @property
    def total(self) -> float:
        return self.count * self.worth


def check_resilience(normal: Normal, facts: Facts, out: Findings) -> None:
    """`spare` and `survive_loss` of every service, in every slice and band."""
    for service in facts.demand.services:
        rule = service.resilience
        if service.kind is WorkloadKind.BATCH or (rule.spare is None and not rule.survive_loss_of):
            continue
        running = [r for r in normal.running if r.service.id == service.id and r.capability is not None]
        called = [c for c in normal.called if c.service.id == service.id]
        for t in range(len(facts.demand.slices)):
            for b in range(len(service.band_weights[t])):
                rates = [c.band_req_per_s[t][b] for c in service.classes]
                if math.fsum(rates) > 0:
                    standing = [
                        Standing(r, r.deployment.replicas[t], worth(r, rates, facts.margin))
                        for r in running
                        if r.deployment.replicas[t]
                    ]
                    if rule.spare is not None and rule.spare.count:
                        _spare(service, rule.spare, standing, called, (t, b), facts, out)
                    for what in rule.survive_loss_of:
                        _survive(service, what, standing, called, (t, b), facts, out)


def worth(running: Running, rates: Sequence[float], margin: float, share: float = 1.0) -> float:
    """Part of `rates` [class, req/s], all in proportion, that one replica serves; `share` of it stays standing."""
    assert running.capability is not None
    if any(x > 0 and not ok for x, ok in zip(rates, running.capability.served, strict=True)):
        return 0.0
    used = max(
        margin * math.fsum(x * u for x, u in zip(rates, row.use, strict=True)) for row in running.capability.rows
    )
    return min(1.0, share * running.credit / used) if used > 0 else 1.0


def _needed(service: Service, called: Iterable[Called], place: tuple[int, int], target: float) -> float:
    """What replicas must serve so that `target` of every class is served: the API may take most of one, less of others.

    max_r (target − Σ_a api_r / rate_r), at least 0
    """
    t, b = place
    by_api: dict[str, float] = defaultdict(float)
    for c in called:
        by_api[c.request_class.id] += c.rates[t][b]
    parts = [by_api[c.id] / c.band_req_per_s[t][b] for c in service.classes if c.band_req_per_s[t][b] > 0]
    return max(0.0, *(target - part for part in parts))


def _spare(
    service: Service,
    rule: Spare,
    standing: Sequence[Standing],
    called: Sequence[Called],
    place: tuple[int, int],
    facts: Facts,
    out: Findings,
) -> None:
    """With any `count` replicas, instances or zones lost, the others serve what no API takes.

    By instance the loss is the worst that so many instances may hold, since a plan does not say which replicas share an
    instance; by zone it is that of the zones that hold most. It binds where one replica less would not do.
    """
    needed = _needed(service, called, place, 1.0)
    total = math.fsum(s.total for s in standing)
    if rule.domain is SpareDomain.REPLICA:
        lost = _largest(standing, rule.count)
        step = _largest(standing, rule.count + 1) - lost
    else:
        if rule.domain is SpareDomain.INSTANCE:
            lost = _instances(standing, rule.count)
        else:
            lost = math.fsum(sorted(_zones(standing).values(), reverse=True)[: rule.count])
        step = min((s.worth for s in standing if s.worth > 0), default=0.0)
    t, b = place
    out.at_most(
        "spare",
        (service.id, facts.demand.slices[t].id, b),
        needed,
        max(0.0, total - lost),
        "times the demand",
        step=step,
        subject=(service.id,),
        detail=f"with {rule.count} {rule.domain}(s) lost the others cannot serve what no API takes",
    )


def _largest(standing: Iterable[Standing], count: int) -> float:
    """What the `count` replicas that serve most are worth together."""
    lost = 0.0
    for s in sorted(standing, key=lambda s: -s.worth):
        taken = min(count, s.count)
        lost, count = lost + taken * s.worth, count - taken
    return lost


def _instances(standing: Sequence[Standing], count: int) -> float:
    """The worst that `count` instances may hold together, in whichever pools, firm and spot apart."""
    markets: dict[tuple[str, bool], list[Standing]] = defaultdict(list)
    for s in standing:
        markets[s.running.pool.id, s.running.deployment.spot].append(s)
    worst = [0.0] * (count + 1)
    for held in markets.values():
        here = [0.0, *(_in_instances(held, n) for n in range(1, count + 1))]
        worst = [max(worst[n - j] + here[j] for j in range(n + 1)) for n in range(count + 1)]
    return worst[count]


def _in_instances(held: Sequence[Standing], instances: int) -> float:
    """Most that so many instances of one pool may hold: every set of replicas that fits is tried, by size.

    A replica over several instances is lost with any of them.
    """
    room = held[0].running.pool.accelerators
    values: dict[int, list[float]] = defaultdict(list)
    for s in held:
        size = min(s.running.accelerators, room)
        values[size] += [s.worth] * min(s.count, instances * (room // size))
    sums = {size: [0.0, *itertools.accumulate(sorted(v, reverse=True))] for size, v in values.items()}
    states = {(0,) * len(sums)}
    ways = list(itertools.product(*(range(room // size + 1) for size in sums)))
    single = [w for w in ways if sum(n * size for n, size in zip(w, sums, strict=True)) <= room]
    for _ in range(instances):
        states = {tuple(min(a + b, len(v) - 1) for a, b, v in zip(x, y, sums.values(), strict=True))
                  for x in states for y in single}  # fmt: skip
    return max(math.fsum(v[n] for n, v in zip(state, sums.values(), strict=True)) for state in states)


def _zones(standing: Sequence[Standing]) -> dict[str, float]:
    """Zone → what stands in it. A region without zones is one; what stands in no zone of a region that has some may be
    in any of them."""
    regions: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for s in standing:
        pool = s.running.pool
        regions[pool.provider, pool.region][pool.zone] += s.total
    found = {}
    for (provider, region), places in regions.items():
        anywhere = places.pop("*", 0.0) if len(places) > 1 else 0.0
        for zone, value in places.items():
            found[f"{provider}/{region}/{zone}"] = value + anywhere
    return found


# ---- losing a place ----------------------------------------------------------------------------------------------


def _survive(
    service: Service,
    what: str,
    standing: Sequence[Standing],
    called: Sequence[Called],
    place: tuple[int, int],
    facts: Facts,
    out: Findings,
) -> None:
    """Without any one place of a kind, what is left serves `serve_fraction` of every class.

    Of lost spot, the share stays that on-demand stands in for on average (1 − availability; none when credited).
    """
    t, b = place
    fraction = service.resilience.serve_fraction
    total = math.fsum(s.total for s in standing)
    losses = _losses(what, standing, place, service, facts)
    cases = []
    for name in sorted(losses.keys() | {_api_place(what, c) for c in called} - {""}):
        left_apis = [c for c in called if _api_place(what, c) != name]
        needed = _needed(service, left_apis, place, fraction)
        cases.append((max(0.0, total - losses.get(name, 0.0)) - needed, needed, name))
    if not cases:
        return
    slack, needed, name = min(cases)
    had = slack + needed
    step = min((s.worth for s in standing if s.worth > 0), default=0.0)
    key = (service.id, facts.demand.slices[t].id, b, what, name)
    detail = f"without {what} {name} too little is left"
    out.at_most(
        "survive_loss", key, needed, had, "times the demand", step=step, subject=(service.id, what), detail=detail
    )


def _losses(
    what: str, standing: Sequence[Standing], place: tuple[int, int], service: Service, facts: Facts
) -> Mapping[str, float]:
    """Place → what is lost with it."""
    if what == "zone":
        return _zones(standing)
    t, b = place
    rates = [c.band_req_per_s[t][b] for c in service.classes]
    found: dict[str, float] = defaultdict(float)
    for s in standing:
        pool = s.running.pool
        if what == "provider":
            if not pool.owned:
                found[pool.provider] += s.total
        elif what == "region":
            found[f"{pool.provider}/{pool.region}"] += s.total
        elif s.running.deployment.spot and pool.spot is not None:
            away = 0.0 if pool.spot.credited else 1.0 - pool.spot.availability
            kept = worth(s.running, rates, facts.margin, away)
            found[f"{pool.provider}/{pool.region}"] += s.count * (s.worth - kept)
    # Whether spot is used at all is no matter: the mix must be served as in an emergency either way.
    return found or ({"nowhere": 0.0} if what == "spot" else {})


def _api_place(what: str, called: Called) -> str:
    """The place that an API is lost with; empty: none."""
    if what == "provider":
        return called.offer.provider
    if what == "region" and called.offer.region != GLOBAL:
        return f"{called.offer.provider}/{called.offer.region}"
    return ""
