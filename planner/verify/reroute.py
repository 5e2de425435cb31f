"""How much a set of replicas can serve when its load may be spread freely among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.verify.normalise import Running
from planner.verify.optimize import scipy_optimize


@dataclass(frozen=True, slots=True)
class Host:
    """Replicas of one deployment as a router sees them: Σ_r x_r · uses[row][r] ≤ room, classes not served excluded."""

    uses: tuple[tuple[float, ...], ...]
    """[row][class] replicas per req/s, forecast margin included."""
    served: tuple[bool, ...]
    room: float
    """Replicas, credited."""

    @classmethod
    def of(cls, running: Running, replicas: float, margin: float) -> Host:
        """`replicas` of a deployment whose configuration was assessed."""
        assert running.capability is not None
        uses = tuple(tuple(margin * u for u in row.use) for row in running.capability.rows)
        return cls(uses, running.capability.served, replicas * running.credit)


def largest_scale(
    rates: Sequence[float], hosts: Sequence[Host], api: Sequence[float] | None = None, enough: float = math.inf
) -> float:
    """Largest t such that the hosts and a fixed `api` rate serve t · rates; all [class, req/s]. inf without rates.

        max t   s.t.   Σ_h x[r,h] + api_r ≥ t·rate_r,   Σ_r use[h,j,r]·x[r,h] ≤ room_h,   x ≥ 0

    In closed form for one class, or where one host serves every class; else by a linear programme. A t that is at
    least `enough` may be returned as any smaller one that is.
    """
    active = [r for r, x in enumerate(rates) if x > 0]
    fixed = list(api) if api is not None else [0.0] * len(rates)
    standing = [h for h in hosts if h.room > 0]
    if not active:
        return math.inf
    if not standing:
        return min(fixed[r] / rates[r] for r in active)
    if len(active) == 1:
        (r,) = active
        return (math.fsum(_room_for_class(h, r) for h in standing) + fixed[r]) / rates[r]
    if len(standing) == 1 and all(standing[0].served[r] for r in active):
        alone = _alone(rates, fixed, active, standing[0])
        if all(alone * rates[r] >= fixed[r] for r in active):
            return alone
    same_mix = math.fsum(
        _alone(rates, [0.0] * len(rates), active, h) for h in standing if all(h.served[r] for r in active)
    )
    return same_mix if same_mix >= enough else _spread(rates, fixed, active, standing)


def _room_for_class(host: Host, r: int) -> float:
    """Rate of one class alone that a host serves, req/s."""
    if not host.served[r]:
        return 0.0
    return min((host.room / use[r] for use in host.uses if use[r] > 0), default=math.inf)


def _alone(rates: Sequence[float], api: Sequence[float], active: Sequence[int], host: Host) -> float:
    """min over rows of (room + Σ use·api) / Σ use·rate: exact while every class has something left for the host."""
    limits = []
    for use in host.uses:
        load = math.fsum(use[r] * rates[r] for r in active)
        if load > 0:
            limits.append((host.room + math.fsum(use[r] * api[r] for r in active)) / load)
    return min(limits, default=math.inf)


def _spread(rates: Sequence[float], api: Sequence[float], active: Sequence[int], hosts: Sequence[Host]) -> float:
    import numpy as np

    column = {(r, h): j for j, (r, h) in enumerate((r, h) for r in active for h in range(len(hosts)))}
    t = len(column)
    rows, limits = [], []
    for r in active:
        row = np.zeros(t + 1)
        row[t] = 1.0
        for h in range(len(hosts)):
            row[column[r, h]] = -1.0 / rates[r]
        rows.append(row)
        limits.append(api[r] / rates[r])
    for h, host in enumerate(hosts):
        for use in host.uses:
            row = np.zeros(t + 1)
            for r in active:
                row[column[r, h]] = use[r]
            rows.append(row)
            limits.append(host.room)
    upper = [(0.0, None if hosts[h].served[r] else 0.0) for r, h in column] + [(0.0, None)]
    objective = np.zeros(t + 1)
    objective[t] = -1.0
    found = scipy_optimize().linprog(objective, A_ub=np.array(rows), b_ub=limits, bounds=upper, method="highs")
    if found.status == 3:
        return math.inf
    return float(found.x[t]) if found.status == 0 else 0.0
