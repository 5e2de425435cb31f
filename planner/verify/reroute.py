"""How much a set of replicas can serve when its load may be spread freely among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.verify.normalise import Running


@dataclass(frozen=True, slots=True)
class Host:
    """Replicas of one deployment as a router sees them: Σ_r x_r · uses[row][r] ≤ room, classes not served excluded."""

    uses: tuple[tuple[float, ...], ...]
    """[row][class] replicas per req/s, forecast margin included."""
    served: tuple[bool, ...]
    room: float
    """Replicas, credited."""
    spot: bool

    @classmethod
    def of(cls, running: Running, replicas: float, margin: float) -> Host:
        """`replicas` of a deployment whose configuration was assessed."""
        assert running.capability is not None
        uses = tuple(tuple(margin * u for u in row.use) for row in running.capability.rows)
        return cls(uses, running.capability.served, replicas * running.credit, running.deployment.spot)


def _alone(rates: Sequence[float], host: Host) -> float:
    if any(x > 0 and not s for x, s in zip(rates, host.served, strict=True)):
        return 0.0
    loads = [math.fsum(x * u for x, u in zip(rates, row, strict=True)) for row in host.uses]
    return min((host.room / load for load in loads if load > 0), default=math.inf)


def largest_scale(
    rates: Sequence[float], hosts: Sequence[Host], api: Sequence[float] | None = None, max_spot_share: float = 1.0
) -> float:
    """Largest t such that the hosts together serve t · rates [class, req/s]; inf where nothing limits it.

    With `api` [class, req/s], which scales with the rest, at most `max_spot_share` of a class (hosts and API together)
    may land on spot hosts. A linear programme in x[r, host] and t; in closed form for one host.
    """
    active = [r for r, x in enumerate(rates) if x > 0]
    if not active:
        return math.inf
    standing = [h for h in hosts if h.room > 0]
    limited = max_spot_share < 1.0 and any(h.spot for h in standing)
    if not standing:
        return 0.0
    if len(standing) == 1 and not limited:
        return _alone(rates, standing[0])
    return _spread(rates, active, standing, api or [0.0] * len(rates), max_spot_share)


def _spread(
    rates: Sequence[float], active: Sequence[int], hosts: Sequence[Host], api: Sequence[float], max_spot_share: float
) -> float:
    import numpy as np
    from scipy.optimize import linprog

    column = {(r, h): j for j, (r, h) in enumerate((r, h) for r in active for h in range(len(hosts)))}
    t = len(column)
    upper = [(0.0, None if hosts[h].served[r] else 0.0) for r, h in column] + [(0.0, None)]
    equal = np.zeros((len(active), t + 1))
    for i, r in enumerate(active):
        equal[i, t] = -rates[r]
        for h in range(len(hosts)):
            equal[i, column[r, h]] = 1.0
    rows, limits = [], []
    for h, host in enumerate(hosts):
        for use in host.uses:
            row = np.zeros(t + 1)
            for r in active:
                row[column[r, h]] = use[r]
            rows.append(row)
            limits.append(host.room)
    for r in active:
        row = np.zeros(t + 1)
        for h, host in enumerate(hosts):
            row[column[r, h]] = 1.0 if host.spot else 0.0
        row[t] = -max_spot_share * (rates[r] + api[r])
        rows.append(row)
        limits.append(0.0)
    objective = np.zeros(t + 1)
    objective[t] = -1.0
    found = linprog(
        objective, A_ub=np.array(rows), b_ub=limits, A_eq=equal, b_eq=np.zeros(len(active)), bounds=upper,
        method="highs",
    )  # fmt: skip
    if found.status == 3:
        return math.inf
    return float(found.x[t]) if found.status == 0 else 0.0
