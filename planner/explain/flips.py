"""At which price, volume or utilisation another kind of plan becomes the cheapest; both sides are solved.

    cost(plan, t) = a + b·t       t a price as a multiple of today's

The lines of two plans cross where the cheaper one changes; a solve just below and just above says whether a third plan
is cheaper there (then the search goes on between) or the kind of plan changes at the crossing. Volume and utilisation
have no lines: the bracket is halved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.explain.edits import edit_policy, scaled_demand
from planner.explain.parallel import Workers
from planner.explain.shape import millions, shape_of, tokens_per_month, told_apart, utilization
from planner.explain.types import Flip, FlipSide
from planner.explain.whatif import Clock, Solution, WhatIf, is_proven, with_prices
from planner.spec.types import Spec
from planner.verify.verify import Verifier

FARTHEST = 10.0
"""Prices and volumes are moved up to this many times, or to this part."""
LARGEST_VOLUME = 100.0
"""Volume is moved up to this many times: a start-up grows."""
STEPS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
"""Volumes looked at, outwards, until the kind of plan changes."""
BESIDE = 0.005
"""How far beside a crossing both sides are solved, relative."""
MOST_ROUNDS = 8
MOST_OFFERS, MOST_APIS = 3, 2
"""Inputs that are moved: what costs most, the rest is left out."""
GAP = 1e-3
"""Relative gap of the solves: a crossing is no sharper."""
OPEN_GAP = 0.02
"""A plan whose own gap is wider says nothing about the kind of the cheapest."""
GREED = 3.0
"""One question may take so many times its fair part of the time, while the part of all of them lasts."""
LOWEST_UTILIZATION = 0.05


@dataclass(frozen=True, slots=True)
class Input:
    """Something that may turn out otherwise, as a multiple of its value today."""

    what: str
    """`price`, `volume` or `utilization`."""
    name: str
    now: float
    unit: str
    used: bool = True
    linear: bool = False
    """Whether the cost of a plan is a line over it."""
    low: float = 1.0 / FARTHEST
    high: float = FARTHEST

    def ask(self, desk: WhatIf, spec: Spec, factor: float, limit_s: float, gap: float = GAP) -> Solution | None:
        """The cheapest plan with the input at `factor` times today's value; None where no good one was found."""
        if self.what == "price":
            reply = desk.best(spec, gap, limit_s, with_prices(desk.catalog, {self.name: factor}))
        elif self.what == "volume":
            reply = desk.best(scaled_demand(spec, factor), gap, limit_s)
        else:
            reply = desk.best(_utilized(spec, self.now * factor), gap, limit_s)
        return reply.solution if is_proven(reply, OPEN_GAP) else None


def _utilized(spec: Spec, share: float) -> Spec:
    rule = spec.policy.headroom.model_copy(update={"target_utilization": min(1.0, share)})
    return edit_policy(spec, headroom=rule)


def inputs_of(best: Solution, others: Sequence[Solution] = ()) -> tuple[Input, ...]:
    """What the choice hangs on: prices of what is used, and of what others would use; volume; utilisation."""
    found = _prices_of(best, used=True)
    known = {i.name for i in found}
    for other in others:
        fresh = [i for i in _prices_of(other, used=False) if i.name not in known]
        found += fresh[:2]
        known |= {i.name for i in fresh}
    found += [i for i in _idle_apis(best) if i.name not in known][:MOST_APIS]
    found.append(Input("volume", "volume", tokens_per_month(best.problem.demand), "tokens/month", high=LARGEST_VOLUME))
    target = best.spec.policy.headroom.target_utilization
    if any(f.name == "target_utilization" for d in best.check.deliveries for f in d.capability.headroom):
        found.append(
            Input("utilization", "target_utilization", target, "of a replica", low=LOWEST_UTILIZATION / target,
                  high=1.0 / target)
        )  # fmt: skip
    return tuple(found)


def _prices_of(x: Solution, used: bool) -> list[Input]:
    """Prices of offers and APIs of a plan, the most money first."""
    prices = {o.id: o.price_usd_per_hour for o in x.catalog.offers}
    spent: dict[str, float] = {}
    for c in x.check.cost.purchases:
        if c.usd_per_month > 0 and prices.get(c.offer, 0.0) > 0:
            spent[c.offer] = spent.get(c.offer, 0.0) + c.usd_per_month
    offers = sorted(spent, key=lambda o: (-spent[o], o))[:MOST_OFFERS]
    found = [Input("price", o, prices[o], "USD/h", used, linear=True) for o in offers]
    called: dict[str, float] = {}
    for a in x.check.cost.api:
        if a.usd_per_month > 0:
            called[a.api] = called.get(a.api, 0.0) + a.usd_per_month
    return found + [_api_input(x, a, used) for a in sorted(called, key=lambda a: (-called[a], a))[:MOST_APIS]]


def _idle_apis(x: Solution) -> list[Input]:
    """APIs that could serve and are not called, the cheapest first."""
    price = {a.api: a.usd_per_request / max(1.0, a.tokens_per_request) for a in x.problem.apis}
    called = {a.api for a in x.check.cost.api if a.usd_per_month > 0}
    return [_api_input(x, a, False) for a in sorted(price, key=lambda a: (price[a], a)) if a not in called]


def _api_input(x: Solution, api: str, used: bool) -> Input:
    """The API's price per million tokens of the mix that it could serve."""
    rows = [a for a in x.problem.apis if a.api == api]
    tokens = math.fsum(a.tokens_per_request for a in rows)
    usd = math.fsum(a.usd_per_request for a in rows)
    return Input("price", api, 1e6 * usd / tokens if tokens > 0 else 0.0, "USD per M tokens", used, linear=True)


def find_flips(
    spec: Spec, best: Solution, inputs: Sequence[Input], workers: Workers, part: float = 1.0
) -> tuple[Flip, ...]:
    """Where the kind of plan changes, of every input upwards and downwards (of what is not used: cheaper only)."""
    asked = [
        (i, up) for i in inputs for up in (True, False) if (i.used or not up) and (i.high if up else 1 / i.low) > 1.01
    ]
    limit_s, stage = GREED * workers.share_s(len(asked), part), Clock(part * workers.clock.left)

    def ask(desk: WhatIf, item: tuple[Input, bool]) -> Flip | None:
        return _Search(spec, best, item[0], item[1], desk, Clock(min(limit_s, stage.left))).flip()

    return tuple(f for f in workers.map(ask, asked) if f is not None)


@dataclass
class _Search:
    """One input in one direction. `near` is the side of today's kind of plan, `far` the other."""

    spec: Spec
    best: Solution
    input: Input
    up: bool
    desk: WhatIf
    clock: Clock

    def solve(self, factor: float) -> Solution | None:
        if self.clock.left <= 0:
            self.desk.cut = True
            return None
        return self.input.ask(self.desk, self.spec, factor, self.clock.left)

    def is_same(self, x: Solution) -> bool:
        return shape_of(x) == shape_of(self.best)

    def flip(self) -> Flip | None:
        """The nearest change of kind; one that says that there is none; None where the time ended."""
        end = self.input.high if self.up else self.input.low
        near, near_plan = 1.0, self.best
        far_plan = None
        far = end
        steps = [end] if self.input.linear else self._steps(end)
        for far in steps:
            far_plan = self.solve(far)
            if far_plan is None or not self.is_same(far_plan):
                break
            near, near_plan = far, far_plan
        if far_plan is None:
            return None
        if self.is_same(far_plan):
            return self._none(end)
        return self._narrow(near, near_plan, far, far_plan)

    def _steps(self, end: float) -> list[float]:
        found = [s if self.up else 1.0 / s for s in STEPS]
        inside = [s for s in found if (s < end if self.up else s > end)]
        return [*inside, end]

    def _narrow(self, near: float, near_plan: Solution, far: float, far_plan: Solution) -> Flip:
        """The change between two solved sides; where the time ends, as far as it was narrowed."""
        away = 1.0 + BESIDE if self.up else 1.0 - BESIDE
        for _ in range(4 * MOST_ROUNDS):
            if abs(math.log(far / near)) < 2.2 * BESIDE:
                return self._found(math.sqrt(near * far), near, near_plan, far, far_plan)
            at = self._crossing(near, near_plan, far, far_plan)
            if not self.input.linear:
                plan = self.solve(at)
                if plan is None:
                    return self._found(at, near, near_plan, far, far_plan)
                if self.is_same(plan):
                    near, near_plan = at, plan
                else:
                    far, far_plan = at, plan
                continue
            before, behind = self.solve(at / away), self.solve(at * away)
            if before is None or behind is None:
                return self._found(at, near, near_plan, far, far_plan)
            if not self.is_same(before):
                far, far_plan = at / away, before
            elif self.is_same(behind):
                near, near_plan = at * away, behind
            else:
                return self._found(at, at / away, before, at * away, behind)
        return self._found(math.sqrt(near * far), near, near_plan, far, far_plan)

    def _crossing(self, near: float, near_plan: Solution, far: float, far_plan: Solution) -> float:
        """Where the two plans cost the same, if that is well between; else the middle."""
        middle = math.sqrt(near * far)
        if not self.input.linear:
            return middle
        (a0, b0), (a1, b1) = self._line(near_plan, near), self._line(far_plan, far)
        if abs(b0 - b1) < 1e-9:
            return middle
        at = (a1 - a0) / (b0 - b1)
        low, high = sorted((near, far))
        return at if low * (1 + BESIDE) < at < high / (1 + BESIDE) else middle

    def _line(self, plan: Solution, factor: float) -> tuple[float, float]:
        """(a, b) of cost = a + b·factor, from pricing the plan at two prices."""
        twice = with_prices(self.desk.catalog, {self.input.name: 2 * factor})
        more = Verifier(self.spec, twice, plan.problem.demand).price(plan.plan).judged_usd_per_month
        slope = (more - plan.usd_per_month) / factor
        return plan.usd_per_month - slope * factor, slope

    def _found(self, at: float, near: float, near_plan: Solution, far: float, far_plan: Solution) -> Flip:
        i = self.input
        sides = tuple(
            FlipSide(value=i.now * f, usd_per_month=p.usd_per_month, plan=told_apart(p, q), utilization=utilization(p))
            for f, p, q in ((near, near_plan, far_plan), (far, far_plan, near_plan))
        )
        word = "above" if self.up else "below"
        busy = sides[1].utilization if sides[1].utilization is not None else sides[0].utilization
        load = "" if busy is None or i.what != "volume" else f"; machines are busy {100 * busy:.0f} % of the time there"
        where = f"{word} {_amount(i, i.now * at)} (×{at:.3g} of today's {_amount(i, i.now)})"
        if abs(math.log(far / near)) > 3.0 * BESIDE:
            where = f"from somewhere between {_amount(i, i.now * near)} and {_amount(i, i.now * far)} on"
        text = (
            f"{_label(i)}: {where} the cheapest plan is {sides[1].plan} instead of {sides[0].plan}, "
            f"{sides[1].usd_per_month:,.0f} USD/month there{load}"
        )
        return Flip(
            what=i.what, service="", at=i.now * at, unit=i.unit, now=i.now, text=text, input=i.name, factor=at,
            usd_per_month_at=sides[1].usd_per_month, sides=sides, verified=True,
        )  # fmt: skip

    def _none(self, end: float) -> Flip:
        i = self.input
        text = (
            f"{_label(i)}: the kind of plan stays the same {'up' if self.up else 'down'} to {_amount(i, i.now * end)}"
        )
        return Flip(
            what=i.what, service="", at=None, unit=i.unit, now=i.now, text=f"{text} (×{end:.3g})", input=i.name,
            verified=True,
        )  # fmt: skip


def _label(i: Input) -> str:
    return {"price": f"price of {i.name}", "volume": "volume", "utilization": "target utilisation"}[i.what]


def _amount(i: Input, value: float) -> str:
    if i.what == "volume":
        return f"{millions(value)} tokens/month"
    return f"{100 * value:.3g} %" if i.what == "utilization" else f"{value:.4g} {i.unit}"
