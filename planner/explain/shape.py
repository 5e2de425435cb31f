"""What kind of plan it is, finer than a signature: whether machines, an API or both serve, and what is bought."""

from __future__ import annotations

import math

from planner.demand.types import Demand
from planner.explain.whatif import Solution
from planner.formulation.axes import Feature
from planner.solve.words import feature_text
from planner.units import HOURS_PER_MONTH, MILLION, SECONDS_PER_HOUR

Shape = frozenset[Feature]
TRACE = 1e-3
"""Less than this share of a service's requests by API is none."""
MOST_PARTS = 4
"""Purchases and APIs named of a plan."""


def api_shares(x: Solution) -> dict[str, float]:
    """Service → share of its requests that APIs serve, over the whole month."""
    demand = x.problem.demand
    hours = [s.hours_per_month for s in demand.slices]
    by_api: dict[str, float] = {}
    for use in x.check.cost.api:
        by_api[use.request_class] = by_api.get(use.request_class, 0.0) + _volume(use.mean_req_per_s, hours)
    shares = {}
    for s in demand.services:
        total = math.fsum(_volume(c.mean_req_per_s, hours) for c in s.classes)
        called = math.fsum(by_api.get(c.id, 0.0) for c in s.classes)
        shares[s.id] = called / total if total > 0 else 0.0
    return shares


def api_share(x: Solution) -> float:
    """Share of all requests that APIs serve, over the whole month."""
    demand = x.problem.demand
    hours = [s.hours_per_month for s in demand.slices]
    total = math.fsum(_volume(c.mean_req_per_s, hours) for s in demand.services for c in s.classes)
    called = math.fsum(_volume(use.mean_req_per_s, hours) for use in x.check.cost.api)
    return called / total if total > 0 else 0.0


def _volume(rates: tuple[float, ...], hours: list[float]) -> float:
    return math.fsum(r * h for r, h in zip(rates, hours, strict=True))


def shape_of(x: Solution) -> Shape:
    """The plan's signature, with `machines`, `API` or both per service."""
    states = {
        ("served", s, "machines" if share < TRACE else "API" if share > 1 - TRACE else "machines and API")
        for s, share in api_shares(x).items()
    }
    return frozenset({f for f in x.signature if f[0] != "api"} | states)


def makeup(x: Solution) -> str:
    """What is bought and called, in words: `3 × cloud/us-1/h100-x2/reserved_1y + api-a/model-a (14 % of requests)`."""
    counts: dict[str, list[int]] = {}
    spent: dict[str, float] = {}
    for p, cost in zip(x.plan.purchases, x.check.cost.purchases, strict=True):
        if any(p.instances):
            before = counts.get(cost.offer, [0] * len(p.instances))
            counts[cost.offer] = [a + b for a, b in zip(before, p.instances, strict=True)]
            spent[cost.offer] = spent.get(cost.offer, 0.0) + cost.usd_per_month
    parts = []
    for offer, n in counts.items():
        low, high = min(n), max(n)
        parts.append((-spent[offer], f"{high if low == high else f'{low}–{high}'} × {offer}"))
    called: dict[str, float] = {}
    for use in x.check.cost.api:
        if max(use.mean_req_per_s, default=0.0) > 0:
            called[use.api] = called.get(use.api, 0.0) + use.usd_per_month
    share = sum(api_shares(x).values()) / max(1, len(x.problem.demand.services))
    parts += [(-usd, f"{api} ({100 * share:.2g} % of requests)") for api, usd in called.items()]
    names = [text for _, text in sorted(parts)]
    more = f" and {len(names) - MOST_PARTS} more" if len(names) > MOST_PARTS else ""
    return " + ".join(names[:MOST_PARTS]) + more if names else "nothing"


def told_apart(x: Solution, other: Solution) -> str:
    """What is bought and called; where that is the same in another plan, also what runs on it."""
    text = makeup(x)
    if text != makeup(other):
        return text
    features = sorted(shape_of(x) - shape_of(other)) or sorted(shape_of(x))
    return f"{text} ({', '.join(feature_text(f) for f in features)})"


def utilization(x: Solution) -> float | None:
    """Mean share of the replicas' time that is busy, weighted by replicas; None without machines."""
    weights = [max(d.replicas, default=0) for d in x.plan.deployments]
    found = {(d.service, d.config, d.pool, d.spot): d.utilization_mean for d in x.check.deliveries}
    pairs = [(w, found.get((d.service, d.config, d.pool, d.spot)))
             for w, d in zip(weights, x.plan.deployments, strict=True) if w > 0]  # fmt: skip
    known = [(w, u) for w, u in pairs if u is not None]
    total = sum(w for w, _ in known)
    return math.fsum(w * u for w, u in known) / total if total else None


def tokens_per_month(demand: Demand) -> float:
    """Input and output tokens of a mean month."""
    hours = [s.hours_per_month for s in demand.slices]
    scale = HOURS_PER_MONTH / math.fsum(hours) if hours else 0.0
    return scale * math.fsum(
        _volume(c.mean_req_per_s, hours) * SECONDS_PER_HOUR * (c.input_tokens + c.output_tokens) for c in demand.classes
    )


def millions(tokens: float) -> str:
    """`1,234 M`."""
    return f"{tokens / MILLION:,.4g} M" if tokens < 1e8 else f"{tokens / MILLION:,.0f} M"
