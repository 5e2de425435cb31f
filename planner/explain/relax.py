"""How an infeasible spec becomes feasible: the smallest sets of changes, each as small as it can be, each solved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from planner.demand.build import build_demand
from planner.explain.edits import Amount, Rule, edit_policy, lift_all
from planner.explain.types import Change, Relaxation
from planner.explain.whatif import Solution, WhatIf
from planner.spec.types import Budget, BudgetBasis, Spec
from planner.verify.verify import Verifier

EXACT_GAP = 1e-6
"""Relative gap of a solve whose cost becomes a limit."""
FINAL_GAP = 1e-3
FAR = 10**9
"""Steps beyond which nobody looks."""
ENDLESS_MS = 1e9
"""A latency that is no limit."""
SOLVE_SHARE = 0.4
"""Share of the time that is left for the least cost with the rules lifted."""
NEAR_COST = 0.01
"""How much dearer than with the rules lifted a relaxation may be that is not the smallest but a cheap one."""
MUCH_DEARER = 1.1
"""From this multiple on the smallest relaxation is so dear that the cheap one is told beside it."""
ORDER = ("budget", "sovereignty", "quality", "purchase", "provider", "quota", "resilience", "slo", "demand")
"""Kinds of rules in the order in which they are narrowed: money and choices before promises."""


@dataclass(frozen=True)
class Narrowed:
    """A set of changes with its edited spec and the plan that it leaves."""

    changes: tuple[Change, ...]
    spec: Spec
    rules: tuple[Rule, ...]
    usd_per_month: float
    one_less: tuple[tuple[str, Callable[[], Spec]], ...]
    """Per change: the spec in which it is one unit, or one item, smaller, and the others as they are."""
    kind: str = "smallest"
    """`smallest`, or `cheap`: the smallest amounts that leave a plan for at most `cost_limit`."""
    cost_limit: float | None = None
    """USD/month."""

    def relaxation(self) -> Relaxation:
        """As it is told."""
        return Relaxation(
            changes=tuple(c.text for c in self.changes),
            total_usd_per_month=self.usd_per_month,
            kind=self.kind,
            edits=self.changes,
        )


@dataclass(frozen=True)
class _State:
    """A rule that is given up, as far as it is narrowed."""

    rule: Rule
    apply: Callable[[Spec], Spec]
    change: Change
    less: Callable[[Spec], Spec] | None = None


def narrow(spec: Spec, rules: Sequence[Rule], whatif: WhatIf, cost_limit: float | None = None) -> Narrowed | None:
    """The smallest changes of these rules that leave a plan: no amount can be a unit less while the others stay.

    Amounts are made small one after the other (`ORDER`): the budget is the least cost with the other rules lifted, a
    list takes the names that the cheapest plan uses, an amount is sought between the stated and the first that
    suffices. `cost_limit` (USD/month) keeps the plan cheap while amounts shrink. None where no plan was found.
    """
    ordered = sorted(rules, key=lambda r: (ORDER.index(r.kind), r.id))
    limited = spec if cost_limit is None else _capped(spec, cost_limit)
    states = _loosest(limited, ordered, whatif)
    found = whatif.best(_edited(limited, states), EXACT_GAP, SOLVE_SHARE * whatif.clock.left).solution
    if found is None:
        return None
    for i, state in enumerate(states):
        others = [s for j, s in enumerate(states) if j != i]

        def works(edit: Callable[[Spec], Spec], others: Sequence[_State] = others) -> bool | None:
            return whatif.is_possible(edit(_edited(limited, others)))

        states[i] = _narrowed(state, found, works)
    edited = _edited(spec, states)
    cost = _cost(edited, found, whatif)
    if cost is None:
        return None
    return Narrowed(
        changes=tuple(s.change for s in states),
        spec=edited,
        rules=tuple(ordered),
        usd_per_month=cost,
        one_less=tuple(_one_less(spec, states)),
        kind="smallest" if cost_limit is None else "cheap",
        cost_limit=cost_limit,
    )


def _cost(edited: Spec, found: Solution, whatif: WhatIf) -> float | None:
    """Cost of the cheapest plan of the edited spec: that of the looser one where it stands in this one too."""
    if Verifier(edited, whatif.catalog, build_demand(edited, whatif.catalog)).verify(found.plan).ok:
        return found.usd_per_month
    return whatif.best(edited, FINAL_GAP).usd_per_month


def _loosest(spec: Spec, rules: Sequence[Rule], whatif: WhatIf) -> list[_State]:
    """Every rule dropped, but promises kept with an endless limit where that leaves a plan.

    A workload without promises is sized on its mean demand: a limit that suffices then need not do so with a promise.
    """
    states = [_State(r, r.lift, _dropped(r)) for r in rules]
    for i, state in enumerate(states):
        amount = state.rule.amount
        if state.rule.kind == "slo" and amount is not None:
            kept = replace(state, apply=lambda s, a=amount: a.set(s, ENDLESS_MS))  # type: ignore[misc]
            if whatif.is_possible(_edited(spec, [*states[:i], kept, *states[i + 1 :]])) is True:
                states[i] = kept
    return states


def _edited(spec: Spec, states: Iterable[_State]) -> Spec:
    for state in states:
        spec = state.apply(spec)
    return spec


def _capped(spec: Spec, usd_per_month: float) -> Spec:
    """The spec with a budget that is no looser than its own."""
    own = spec.policy.budget
    if own is not None and (own.basis is BudgetBasis.CASH or own.usd_per_month <= usd_per_month):
        return spec
    return edit_policy(spec, budget=Budget(usd_per_month=usd_per_month))


def _one_less(spec: Spec, states: Sequence[_State]) -> Iterable[tuple[str, Callable[[], Spec]]]:
    for i, state in enumerate(states):
        less = state.less
        if less is not None:
            others = [s for j, s in enumerate(states) if j != i]
            yield state.change.text, lambda less=less, others=others: less(_edited(spec, others))  # type: ignore[misc]


def _dropped(rule: Rule) -> Change:
    return Change(rule=rule.id, text=rule.lifted_words(), unit=rule.amount.unit if rule.amount else None)


Works = Callable[[Callable[[Spec], Spec]], bool | None]


def _narrowed(state: _State, found: Solution, works: Works) -> _State:
    rule = state.rule
    if rule.items is not None:
        return _fewest_items(state, found, works)
    if rule.amount is not None:
        return _smallest_amount(state, rule.amount, found, works)
    return replace(state, less=lambda s: s)


def _fewest_items(state: _State, found: Solution, works: Works) -> _State:
    """Only the names that the cheapest plan uses, and of those only what is needed."""
    rule, items = state.rule, state.rule.items
    assert items is not None
    alone = next((n for n in items.preferred if works(lambda s, n=n: items.allow(s, (n,))) is True), None)  # type: ignore[misc]
    names = sorted(items.beyond(found)) if alone is None else [alone]
    if not names or works(lambda s: items.allow(s, names)) is not True:
        return replace(state, less=lambda s: s)
    for name in list(names):
        fewer = [n for n in names if n != name]
        if fewer and works(lambda s, fewer=fewer: items.allow(s, fewer)) is True:  # type: ignore[misc]
            names = fewer
    kept = tuple(names)
    text = f"{items.verb} {', '.join(kept)} in {rule.text}"
    return _State(
        rule, lambda s: items.allow(s, kept), Change(rule=rule.id, text=text, items=kept, smallest=True),
        lambda s: items.allow(s, kept[:-1]) if len(kept) > 1 else s,
    )  # fmt: skip


def _smallest_amount(state: _State, amount: Amount, found: Solution, works: Works) -> _State:
    """The least number of whole steps with which there is a plan."""
    rule = state.rule

    def to(steps: int) -> float:
        value = round(amount.now + amount.looser * amount.step * steps, 9)
        last = amount.last
        return value if last is None else max(last, value) if amount.looser < 0 else min(last, value)

    asked: dict[int, bool | None] = {0: False}

    def enough(steps: int) -> bool:
        if steps not in asked:
            asked[steps] = works(lambda s: amount.set(s, to(steps)))
        return asked[steps] is True

    first = _hint(amount, found)
    steps = _least(enough, first, _most_steps(amount))
    if steps is None:
        return replace(state, less=lambda s: s)
    value = to(steps)
    text = f"{rule.id} {_shown(amount.now, amount)} → {_shown(value, amount)} {amount.unit}"
    change = Change(rule=rule.id, text=text, now=amount.now, to=value, unit=amount.unit,
                    smallest=asked.get(steps - 1) is False)  # fmt: skip
    return _State(rule, lambda s: amount.set(s, value), change, lambda s: amount.set(s, to(steps - 1)))


def _shown(value: float, amount: Amount) -> str:
    return f"{value:,.0f}" if amount.step >= 1.0 and value == round(value) else f"{value:,.6g}"


def _most_steps(amount: Amount) -> int | None:
    return None if amount.last is None else math.ceil(abs(amount.last - amount.now) / amount.step - 1e-9)


def _hint(amount: Amount, found: Solution) -> int:
    """Steps that a plan with the rule lifted shows to be about enough; 1 where it shows nothing."""
    value = None if amount.shown_by is None else amount.shown_by(found)
    if value is None or not math.isfinite(value):
        return 1
    return max(1, math.ceil(amount.looser * (value - amount.now) / amount.step - 1e-6))


def _least(enough: Callable[[int], bool], first: int, most: int | None) -> int | None:
    """The least n ≥ 1 with `enough(n)`, which is monotone: doubling from `first`, then halving. None: not to `most`."""
    low, high = 0, first if most is None else min(first, most)
    while not enough(high):
        low = high
        if (most is not None and high >= most) or high > FAR:
            return None
        high = 2 * high if most is None else min(2 * high, most)
    if high > 1 and low < high - 1 and high == first and not enough(high - 1):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def relaxations_of(spec: Spec, rules: Sequence[Rule], whatif: WhatIf) -> list[Narrowed]:
    """The smallest changes of a set of rules; where those leave dear plans only, also the smallest for a cheap plan."""
    smallest = narrow(spec, rules, whatif)
    if smallest is None:
        return []
    found = [smallest]
    if not any(r.kind == "slo" for r in rules):
        return found  # the other amounts leave the least cost, or are what it costs
    free = whatif.best(lift_all(spec, rules), FINAL_GAP, SOLVE_SHARE * whatif.clock.left)
    if free.usd_per_month is not None and smallest.usd_per_month > MUCH_DEARER * free.usd_per_month:
        cheap = narrow(spec, rules, whatif, (1 + NEAR_COST) * free.usd_per_month)
        if cheap is not None and cheap.usd_per_month < smallest.usd_per_month:
            found.append(cheap)
    return found
