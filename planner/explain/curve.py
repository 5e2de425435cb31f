"""API against machines over volume: what each costs, and the smallest volume at which machines cost no more.

    A(v) = v·A(1)      all by API, linear in the volume
    M(v)               machines only, a step function that never falls
    v* = the smallest v with M(v) ≤ A(v):   v ← M(v)/A(1) from below, until M no longer changes

Below v* every v has M(v) > A(v), so the sequence rises to v* and cannot pass it. Each value is a solve with a verified
plan, over all pools, options and mixes of machines (`breakeven` has the closed form for one pool).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.base import PurchaseOption
from planner.explain.edits import scaled_demand
from planner.explain.parallel import Workers
from planner.explain.shape import api_share, makeup, tokens_per_month, utilization
from planner.explain.types import Crossover, CurvePoint, VolumeCurve
from planner.explain.whatif import Reply, Solution, WhatIf
from planner.solve.programme import CompiledProgramme
from planner.spec.types import Spec

MACHINES = tuple(o for o in PurchaseOption if o is not PurchaseOption.API)
SMALLEST = 1e-3
"""Part of today's volume at which the search for the crossover begins."""
LARGEST = 1e4
"""Multiple of today's volume beyond which nobody looks."""
MOST_ROUNDS = 80
EXACT_GAP = 1e-6
CURVE_GAP = 1e-3
BESIDE = 1e-3
"""How far beside the crossover both sides are solved, relative."""
SPAN = 10.0
"""The curve goes from a tenth of the crossover, or of today, to ten times it."""


@dataclass(frozen=True, slots=True)
class Bills:
    """One volume: by API alone, by machines alone, by the best of both."""

    factor: float
    api: Reply
    machines: Reply
    best: Reply


def bills(spec: Spec, desk: WhatIf, factor: float, gap: float, limit_s: float, kinds: str = "amb") -> Bills:
    """The three bills at a multiple of today's volume; `kinds` says which are asked (a, m, b)."""
    edited = scaled_demand(spec, factor)
    problem = desk.problem(edited)
    programme = CompiledProgramme.of(problem, desk.catalog)

    def ask(kind: str, options: Sequence[PurchaseOption] | None) -> Reply:
        if kind not in kinds or desk.clock.left <= 0:
            return Reply("undecided")
        milp = None if options is None else programme.only(options)
        return desk.best_of(edited, desk.catalog, programme, gap, limit_s, milp)

    return Bills(factor, ask("a", (PurchaseOption.API,)), ask("m", MACHINES), ask("b", None))


def volume_curve(spec: Spec, workers: Workers, points: int) -> VolumeCurve:
    """The curve around the crossover (or today's volume), `points` of it, with today's and the crossover itself."""
    desk = workers.first
    today = bills(spec, desk, 1.0, EXACT_GAP, workers.clock.left / 4)
    tokens = tokens_per_month(desk.problem(spec).demand)
    crossing = None if today.api.usd_per_month is None else _crossover(spec, desk, today.api.usd_per_month, tokens)
    middle = 1.0 if crossing is None else crossing.factor
    low, high = min(1.0, middle / SPAN), max(1.0, middle * SPAN)
    grid = [low * (high / low) ** (i / (points - 1)) for i in range(points)] if points > 1 else []
    limit_s = workers.share_s(max(1, len(grid))) / 3

    def ask(one: WhatIf, factor: float) -> Bills:
        return bills(spec, one, factor, CURVE_GAP, limit_s)

    found = [b for b in workers.map(ask, [f for f in grid if abs(f - 1.0) > 1e-9]) if b is not None]
    rows = sorted((_point(b, tokens) for b in [*found, today]), key=lambda p: p.factor)
    asked = [r for b in [*found, today] for r in (b.api, b.machines, b.best)]
    stopped = workers.clock.left <= 0 or any(r.status == "undecided" for r in asked)
    return VolumeCurve(points=tuple(rows), crossover=crossing, tokens_per_month_now=tokens, stopped=stopped)


def _crossover(spec: Spec, desk: WhatIf, api_usd_per_month: float, tokens: float) -> Crossover | None:
    """v* with both sides solved; None where machines never cost as little, cannot serve, or the time ended."""
    if api_usd_per_month <= 0:
        return None
    factor, cost, plan = SMALLEST, -1.0, None
    for _ in range(MOST_ROUNDS):
        reply = bills(spec, desk, factor, EXACT_GAP, desk.clock.left / 4, "m").machines
        if reply.usd_per_month is None:
            return None
        plan = reply.solution
        if reply.usd_per_month <= cost * (1 + 1e-9):
            break
        cost = reply.usd_per_month
        factor = cost / api_usd_per_month
        if factor > LARGEST:
            return None
    else:
        return None
    below = bills(spec, desk, factor * (1 - BESIDE), EXACT_GAP, desk.clock.left / 4, "am")
    above = bills(spec, desk, factor * (1 + BESIDE), EXACT_GAP, desk.clock.left / 4, "am")
    if plan is None:
        return None
    return Crossover(
        factor=factor, tokens_per_month=factor * tokens, usd_per_month=cost, machines=makeup(plan),
        utilization=utilization(plan),
        below=_point(below, tokens), above=_point(above, tokens),
    )  # fmt: skip


def _point(b: Bills, tokens: float) -> CurvePoint:
    machines: Solution | None = b.machines.solution
    best = b.best.solution
    return CurvePoint(
        factor=b.factor,
        tokens_per_month=b.factor * tokens,
        all_api_usd_per_month=b.api.usd_per_month,
        machines_usd_per_month=b.machines.usd_per_month,
        machines=None if machines is None else makeup(machines),
        utilization=None if machines is None else utilization(machines),
        best_usd_per_month=b.best.usd_per_month,
        best_api_share=None if best is None else api_share(best),
    )
