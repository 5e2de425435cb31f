"""The variables of DESIGN §5.2. Every one has a finite bound that follows from the demand."""

from __future__ import annotations

import math

from planner.base import PurchaseOption
from planner.formulation.milp import INF, Key, Milp
from planner.formulation.sets import COMMITMENTS, Config, Group, Sets

FIRM_SEAT, SPOT_SEAT = "firm", "spot"


def group_name(group: Group) -> str:
    """`owned+on_demand`: the key of a purchase group."""
    return "+".join(o.value for o in group)


def add_variables(m: Milp, s: Sets) -> None:
    """All variables of the programme.

    replicas[k,p,τ], spot_replicas[k,p,τ] ∈ ℤ  replicas
    commit[p,group,option,start], on_demand[p,group,τ], owned[p,group,τ], spot[p,τ] ∈ ℤ  instances
    (the start is a period; the first one is not in the key)
    x[r,k,seat,τ,b] ≥ 0  routed rate as a share of the class's top rate in τ (only with several classes)
    hosted[s,τ,b] ∈ [0,1]  part of every class that replicas take (only `mixed`, with an API)
    api[r,a,τ,b] ≥ 0     the same for an API
    """
    for k in s.configs:
        for t in range(len(s.slices)):
            limit = s.replica_limit(k, t)
            for seat in k.seats:
                if seat.group:
                    m.add("replicas", (k.index, seat.pool, t), 0, limit, integer=True)
                if seat.spot:
                    m.add("spot_replicas", (k.index, seat.pool, t), 0, limit, integer=True)
    for p, group in s.markets:
        _instances(m, s, p, group)
    for i in range(len(s.services)):
        _routing(m, s, i)


def commit_key(p: int, group: Group, option: PurchaseOption, period: int) -> Key:
    """Key of a commitment that begins with a period."""
    first: Key = (p, group_name(group), option.value)
    return first if period == 0 else (*first, period)


def instance_limit(s: Sets, p: int, group: Group | None, t: int) -> int:
    """Most instances that the replicas seated in a market can fill in slice τ, each configuration on its own."""
    room = s.pools[p].accelerators
    needed = 0
    for k in s.seats_of[p, group]:
        replicas = s.replica_limit(k, t)
        needed += replicas * math.ceil(k.size / room) if k.size > room else math.ceil(replicas / (room // k.size))
    return needed


def _instances(m: Milp, s: Sets, p: int, group: Group | None) -> None:
    slices = range(len(s.slices))
    limits = [instance_limit(s, p, group, t) for t in slices]
    for option in (PurchaseOption.SPOT,) if group is None else group:
        price = s.pools[p].price(option)
        stated = INF if price is None or price.max_instances is None else price.max_instances
        if price is None:
            continue
        if option in COMMITMENTS:
            for period, start in s.starts(price):
                covered = [limits[t] for t in slices if s.calendar.covers(start, price.term_months, t)]
                key = commit_key(p, group or (), option, period)
                m.add("commit", key, 0, min(max(covered, default=0), stated), integer=True)
            continue
        for t in slices:
            key = (p, t) if group is None else (p, group_name(group), t)
            m.add(option.value, key, 0, min(limits[t], stated) if s.sold_in(price, t) else 0, integer=True)


def _routing(m: Milp, s: Sets, i: int) -> None:
    for t in range(len(s.slices)):
        for b in s.bands(i, t):
            for a in s.apis_of[i]:
                if (limit := _share(s, i, a.request_class, t, b)) > 0:
                    m.add("api", (i, a.request_class, a.candidate.api, t, b), 0, limit)
            if s.shares_overflow(i) and s.service_rate(i, t, b) > 0:
                m.add("hosted", (i, t, b), 0, 1)
            if s.is_covering(i):
                continue
            for r in s.active_classes[i]:
                if (limit := _share(s, i, r, t, b)) > 0:
                    for k in s.configs_of[i]:
                        if k.capability.served[r]:
                            for seat in seat_kinds(k):
                                m.add("x", (i, r, k.index, seat, t, b), 0, limit)


def _share(s: Sets, i: int, r: int, t: int, b: int) -> float:
    top = s.top(i, r, t)
    return s.rate(i, r, t, b) / top * s.reach(i, t) if top > 0 else 0.0


def seat_kinds(k: Config) -> tuple[str, ...]:
    """`firm` and / or `spot`: where replicas of k may run."""
    kinds = []
    if any(seat.group for seat in k.seats):
        kinds.append(FIRM_SEAT)
    if any(seat.spot for seat in k.seats):
        kinds.append(SPOT_SEAT)
    return tuple(kinds)


def replica_terms(m: Milp, s: Sets, k: Config, t: int, kind: str, factor: float = 1.0) -> list[tuple[int, float]]:
    """factor · credited replicas of k in slice τ over all pools, firm or spot."""
    name = "replicas" if kind == FIRM_SEAT else "spot_replicas"
    terms = []
    for seat in k.seats:
        column = m.column(name, (k.index, seat.pool, t))
        if column is not None:
            credit = s.spot_credit(seat.pool) if kind == SPOT_SEAT else 1.0
            terms.append((column, factor * credit))
    return terms
