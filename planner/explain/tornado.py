"""How much the bill moves when an input turns out otherwise: the problem solved again on both sides (a tornado)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.explain.flips import GREED, Input
from planner.explain.parallel import Workers
from planner.explain.shape import makeup, shape_of
from planner.explain.types import Sensitivity
from planner.explain.whatif import Clock, Solution, WhatIf
from planner.spec.types import Spec

SWING = 0.2
"""How far prices and volumes are moved, both ways."""
UTILIZATION_SWING = 0.1
"""How far the target utilisation is moved, absolute."""
GAP = 1e-3


def sensitivities(
    spec: Spec, best: Solution, inputs: Sequence[Input], workers: Workers, part: float = 1.0
) -> tuple[Sensitivity, ...]:
    """The inputs that matter, the widest swing of the cheapest plan's cost first."""
    asked = [(i, f) for i in inputs if i.used for f in _factors(i)]
    limit_s, stage = GREED * workers.share_s(len(asked), part), Clock(part * workers.clock.left)

    def ask(desk: WhatIf, item: tuple[Input, float]) -> Solution | None:
        if stage.left <= 0:
            desk.cut = True
            return None
        return item[0].ask(desk, spec, item[1], min(limit_s, stage.left), GAP)

    found = dict(zip(((i.name, f) for i, f in asked), workers.map(ask, asked), strict=True))
    bars = []
    for i in inputs:
        if i.used:
            low, high = _factors(i)
            if found[i.name, low] is None and found[i.name, high] is None:
                continue
            bars.append(_bar(i, low, high, found[i.name, low], found[i.name, high], best))
    return tuple(sorted(bars, key=lambda b: (-b.swing_usd_per_month, b.input)))


def _factors(i: Input) -> tuple[float, float]:
    if i.what == "utilization":
        low, high = max(0.05, i.now - UTILIZATION_SWING), min(1.0, i.now + UTILIZATION_SWING)
        return low / i.now, high / i.now
    return 1.0 - SWING, 1.0 + SWING


def _bar(
    i: Input, low: float, high: float, below: Solution | None, above: Solution | None, best: Solution
) -> Sensitivity:
    costs = [None if s is None else s.usd_per_month for s in (below, above)]
    known = [c for c in (*costs, best.usd_per_month) if c is not None]
    kinds = [None if s is None or shape_of(s) == shape_of(best) else makeup(s) for s in (below, above)]
    return Sensitivity(
        input=i.name, what=i.what, unit=i.unit, now=i.now, low=i.now * low, high=i.now * high,
        usd_per_month_low=costs[0], usd_per_month_high=costs[1], usd_per_month_now=best.usd_per_month,
        swing_usd_per_month=max(known) - min(known), other_plan_low=kinds[0], other_plan_high=kinds[1],
    )  # fmt: skip
