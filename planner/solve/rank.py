"""The ranked list: the cheapest plan, the best on every other axis near it, then plans of another kind (DESIGN §6).

    z* = min cost
    per axis f:   f* = min f  s.t. cost ≤ (1 + within)·z*,   then  min cost  s.t. f ≤ f*, cost ≤ (1 + within)·z*
    alternatives: min cost  s.t. the signature differs from all seen

Every entry was recomputed by `verify`; what it refuses is not shown. One engine process serves all solves.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal

from planner.base import PurchaseOption
from planner.candidates.types import Plan
from planner.errors import Interrupted, SolverError
from planner.formulation.axes import (
    SLOTS,
    Axis,
    AxisProgramme,
    Signature,
    bounded,
    minimising,
)
from planner.formulation.milp import Milp
from planner.solve import words
from planner.solve.arrange import Found, arrange, entries, is_better
from planner.solve.engine import SolverChild
from planner.solve.large import relaxed_but, solve_programme
from planner.solve.ranking import Baseline, Entry, Rankable, Ranking, RankOptions, V
from planner.solve.types import Answer, Infeasible, Progress, Solved, SolveOptions, StopReason, Undecided
from planner.units import HOURS_PER_MONTH

SOLVE_SHARE, RANK_SHARE = 0.5, 0.3
"""Shares of the command's time; what the first does not use goes to the second."""
LEAST_TIME_S = 0.05
"""A solve is not begun with less time than this."""
ALTERNATIVE_GAP = 5e-3
"""Alternatives are sought to this gap at least; what they cost is verified, and the bound shown is global."""
OPEN_GAP = 0.4
"""An alternative whose own gap is wider says nothing about its kind and is not shown."""
PROOF_SHARE = 0.8
"""Share of the remaining solving time for the proof once a quick plan is known."""
QUICK_SHARE = 0.4
"""Share of the solving time for the first plan."""
SINGLE_S = 1.0
"""Longest search for the best plan of one configuration."""
TIDY_S = 2.0
"""Longest search for a tidier plan of the same cost."""
PART_SHARE, BOUND_SHARE = 0.3, 0.5
"""Shares of the remaining solving time for the first part of a programme too large to build, then for a better bound
than that of its linear programme."""
TRIES = 3
"""How many refused alternatives end the search for more."""
NARROWER: tuple[tuple[PurchaseOption, ...], ...] = (
    tuple(o for o in PurchaseOption if o is not PurchaseOption.SPOT),
    (PurchaseOption.ON_DEMAND, PurchaseOption.OWNED, PurchaseOption.API),
    (PurchaseOption.ON_DEMAND,),
    (PurchaseOption.API,),
)
"""What may still be bought while looking for a plan that verification accepts."""
BASELINES: dict[str, tuple[PurchaseOption, ...]] = {
    "all_api": (PurchaseOption.API,),
    "all_on_demand": (PurchaseOption.ON_DEMAND,),
    "all_reserved": (PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y),
}
BOUGHT = {"commit", "on_demand", "owned", "spot"}
"""Families of variables that are instances of an offer."""
_CLOCKS = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)

Verify = Callable[[Plan], V]
OnStage = Callable[[str, Progress], None]


def rank(
    programme: Rankable,
    verify: Verify[V],
    options: RankOptions,
    child: SolverChild,
    progress: OnStage | None = None,
) -> Ranking[V]:
    """Rank the plans of a programme.

    `verify` recomputes a plan; only plans whose verdict is `ok` are returned. `progress(stage, progress)` is called
    with incumbents and bounds in USD per month; stages: `solve`, `axis <name>`, `baseline <name>`, `alternative <n>`.

    Ctrl-C after the first plan returns what was found (`interrupted`); before it, Interrupted is raised.
    Raises SolverError when the search for the cheapest plan fails; later failures become notes.
    """
    search: _Search[V] = _Search(programme, verify, options, child, progress)
    try:
        outcome = search.cheapest()
        if outcome is not None:
            return outcome
        if options.top > 1:
            search.axes()
        search.baselines()
        if options.top > 1:
            search.alternatives()
    except (Interrupted, KeyboardInterrupt) as stop:
        # Ctrl-C comes as Interrupted out of a solve, as KeyboardInterrupt while a plan is verified.
        if not search.found:
            raise Interrupted("before a plan was found") from stop
        search.interrupted = True
    return search.result()


@dataclass
class _Search(Generic[V]):
    """The state of one ranking."""

    programme: Rankable
    verify: Verify[V]
    options: RankOptions
    child: SolverChild
    progress: OnStage | None
    found: list[Found[V]] = field(default_factory=list)
    bases: list[Baseline[V]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    bound: float | None = None
    """USD per hour."""
    stop: StopReason | None = None
    deterministic: bool = True
    interrupted: bool = False
    rushed: bool = False
    """Time ran out before every branch was looked at."""
    undecided: bool = False
    """Of some branch it is not known whether it holds a plan worth showing."""
    started: float = field(default_factory=time.monotonic)
    best_usd_per_hour: float = math.inf
    alone: tuple[tuple[float, ...] | None] | None = None
    """The best solution with one configuration, once looked for."""
    reference: tuple[float, ...] = ()
    """A good solution of `programme`: where searches start."""

    def __post_init__(self) -> None:
        self.whole = self.programme
        """Without the quick restriction: what proofs and baselines are about."""

    @property
    def columns(self) -> int:
        return len(self.programme.milp.variables)

    def remaining_s(self) -> float:
        """Seconds until ranking must end."""
        return self.started + (SOLVE_SHARE + RANK_SHARE) * self.options.time_limit_s - time.monotonic()

    def _is_late(self, programmes: float) -> bool:
        """Whether no time is left to build so many further programmes, and to solve the last."""
        late = self.remaining_s() < LEAST_TIME_S + programmes * self.programme.building_s
        if late:
            self.deterministic = False
        return late

    # -- solving -------------------------------------------------------------------------------------------------

    def solve(
        self,
        stage: str,
        milp: Milp,
        limit_s: float,
        hint: Sequence[float] | None = None,
        money: bool = True,
        gap: float = 0.0,
    ) -> Answer | None:
        """One solve; None when no time is left. `money`: the objective is USD per hour and worth reporting.

        Raises Interrupted after Ctrl-C unless an incumbent was kept.
        """
        if limit_s < LEAST_TIME_S:
            self.deterministic = False
            return None
        report = self.progress
        if report is not None:
            report(stage, Progress(None, None))

        def on_progress(sign: Progress) -> None:
            if report is not None and money:
                report(stage, sign.times(HOURS_PER_MONTH))

        options = SolveOptions(
            engine=self.options.engine,
            time_limit_s=limit_s,
            relative_gap=max(gap, self.options.relative_gap),
            seed=self.options.seed,
        )
        padded = None if hint is None else [*hint, *[math.nan] * (len(milp.variables) - len(hint))]
        answer = solve_programme(
            self.child,
            milp,
            options,
            self.programme.structure(milp),
            padded,
            on_progress if report is not None else None,
        )
        if isinstance(answer, Undecided) and answer.stop in _CLOCKS:
            self.deterministic = False
        if not isinstance(answer, Infeasible) and answer.clocked:
            self.deterministic = False
        if isinstance(answer, Undecided) and answer.stop is StopReason.INTERRUPTED:
            self.interrupted = True
        return answer

    def share_s(self, solves_left: int) -> float:
        """A fair part of the remaining time for the next solve."""
        return self.remaining_s() / max(1, solves_left)

    def admit(
        self, axis: str, values: Sequence[float], label: str, programme: Rankable | None = None
    ) -> Found[V] | None:
        """Verify a solution of a programme (default: the main one); a refused one becomes a note."""
        programme = programme or self.programme
        own = tuple(values[: len(programme.milp.variables)])
        plan = programme.plan(own, trim=axis != Axis.MOST_HEADROOM)
        verdict = self.verify(plan)
        if not verdict.ok:
            reason = "; ".join(str(v) for v in verdict.violations[:3])
            self.refused.append(reason)
            self.notes.append(f"{label}: a plan failed its recomputation and is not shown: {reason}")
            return None
        return Found(axis, own, plan, verdict, self.measure(programme, own, plan, verdict), programme.signature(own))

    def measure(self, source: Rankable, values: Sequence[float], plan: Plan, verdict: V) -> dict[Axis, float | None]:
        """The plan's figure on every axis, from the plan itself where the programme would need extra columns."""
        figures: dict[Axis, float | None] = {Axis.CHEAPEST: verdict.cost.judged_usd_per_month}
        figures[Axis.LEAST_SPOT] = source.spot_part(values)
        committed = source.axis(Axis.LEAST_COMMITTED)
        figures[Axis.LEAST_COMMITTED] = committed.milp.value(committed.expression, values) + 0.0
        # The bill, as it stands beside the plan; over several quarters the programme's figure is what it judges by.
        figures[Axis.LEAST_API] = verdict.cost.terms.get("api", 0.0)
        figures[Axis.FEWEST_CONFIGURATIONS] = float(len({(d.service, d.config) for d in plan.deployments}))
        figures[Axis.MOST_HEADROOM] = verdict.headroom_factor
        return figures

    # -- stages --------------------------------------------------------------------------------------------------

    def cheapest(self) -> Ranking[V] | None:
        """Find z*; a Ranking where the search ends here (infeasible, undecided, or nothing verifies)."""
        # Where one plan is asked for, only the baselines need what is meant for ranking.
        share = SOLVE_SHARE if self.options.top > 1 else SOLVE_SHARE + RANK_SHARE / 2
        deadline = self.started + share * self.options.time_limit_s
        if self.programme.is_part:
            ended = self._cheapest_of_parts(deadline)
            if self.found or ended is not None:
                return ended
        quick = self._quick(deadline)
        hint = None if quick is None else self._hint(quick)
        # With a good plan at hand some of the time for the proof is left to the ranking.
        limit_s = (deadline - time.monotonic()) * (1.0 if quick is None else PROOF_SHARE)
        answer = self.solve("solve", self.programme.milp, limit_s, hint)
        if isinstance(answer, Infeasible):
            return self._ended("infeasible", answer.detail)
        if answer is not None:
            self.stop, self.bound = answer.stop, answer.bound
            better = answer.objective is not None and (
                quick is None or answer.objective * HOURS_PER_MONTH < quick.total * (1 - 1e-9)
            )
            if answer.values is not None and better and not self._take(self._tidied(answer.values, deadline)):
                self._cheapest_that_verifies(deadline)
        if quick is not None:
            # From here on everything is sought among plans whose replicas take the whole mix: much faster.
            self.programme, self.reference, self.alone = self.programme.quick(), quick.values, None
            if not self.found or quick.total <= self.found[0].total:
                self.found.clear()
                self._take(self._tidied(quick.values, deadline))
        if self.found:
            return self.result() if self.interrupted else None
        if self.interrupted:
            raise Interrupted("interrupted before a plan was found")
        return self._ended("undecided", "")

    def _cheapest_of_parts(self, deadline: float) -> Ranking[V] | None:
        """The cheapest plan in parts of the programme, each wider than the one before, with a bound of the whole.

        Where no part has a plan, `programme` is the whole afterwards, and nothing is found.
        """
        best: tuple[Found[V], Rankable] | None = None
        part = self.programme
        first = True
        while part.is_part:
            self.programme = self.whole = part.quick()
            best = self._in_part(best, deadline)
            if first and not self.interrupted and (proof := self._bound_of_relaxed(deadline)) is not None:
                return self._ended("infeasible", proof.detail)
            first = False
            if self.interrupted or (best is not None and part.is_last_part()):
                break
            part = part.wider()
        if best is None:
            if self.interrupted:
                raise Interrupted("interrupted before a plan was found")
            self.programme = self.whole = part
            return None
        found, self.programme = best
        self.whole = self.programme
        self.notes.append(words.PART_NOTE)
        self.stop = StopReason.GAP if self.deterministic else StopReason.TIME_LIMIT
        self._take(self._tidied(found.values, deadline))
        return self.result() if self.interrupted else None

    def _in_part(self, best: tuple[Found[V], Rankable] | None, deadline: float) -> tuple[Found[V], Rankable] | None:
        """The better of the best plan so far and one of `programme`, each with where it is from."""
        part = self.programme
        hint = None if best is None else part.start_from(best[1], best[0].values)
        limit_s = (PART_SHARE if best is None else 1.0) * (deadline - time.monotonic())
        try:
            answer = self.solve("solve", part.milp, limit_s, hint)
        except SolverError:
            if best is None:
                raise
            return best
        if answer is None or isinstance(answer, Infeasible) or answer.values is None:
            return best
        if best is not None and (answer.objective or 0.0) * HOURS_PER_MONTH >= best[0].total * (1 - 1e-9):
            return best
        found = self.admit(Axis.CHEAPEST, answer.values, "first plan", part)
        return best if found is None else (found, part)

    def _bound_of_relaxed(self, deadline: float) -> Infeasible | None:
        """Set `bound` from the relaxed whole: its linear programme, then for a while with whole numbers.

        The linear programme may take the time of the ranking as well: without it nothing is known of the gap.
        """
        if self.progress is not None:
            self.progress("bound", Progress(None, None))
        milp = self.programme.relaxed()
        for whole_numbers in (False, True):
            kept = range(len(milp.variables)) if whole_numbers else ()
            limit_s = BOUND_SHARE * (deadline - time.monotonic()) if whole_numbers else self.remaining_s()
            if limit_s < LEAST_TIME_S or self.interrupted:
                self.deterministic = False
                break
            limits = SolveOptions(self.options.engine, limit_s, self.options.relative_gap, seed=self.options.seed)
            answer = self.child.solve(relaxed_but(milp, kept), limits)
            if isinstance(answer, Infeasible):
                return answer
            if answer.bound is not None:
                self.bound = answer.bound if self.bound is None else max(self.bound, answer.bound)
            if isinstance(answer, Undecided):
                self.deterministic = False
                self.interrupted |= answer.stop is StopReason.INTERRUPTED
        return None

    def _quick(self, deadline: float) -> Found[V] | None:
        """A verified plan of the quick restriction, where there is one: a start for the proof and for the ranking."""
        programme = self.programme.quick()
        if programme is self.programme:
            return None
        limit_s = QUICK_SHARE * (deadline - time.monotonic())
        answer = self.solve("first plan", programme.milp, limit_s)
        if answer is None or isinstance(answer, Infeasible) or answer.values is None:
            return None
        return self.admit(Axis.CHEAPEST, answer.values, "first plan", programme)

    def _hint(self, quick: Found[V]) -> tuple[float, ...]:
        """The whole numbers of a quick plan by name, as a start for the whole programme; NaN: not said."""
        return _by_name(self.programme.quick().milp, quick.values, self.programme.milp)

    def _tidied(self, values: Sequence[float], deadline: float) -> Sequence[float]:
        """Of the plans that cost exactly the same, one with fewer configurations on the same instances.

        Inside paid instances the choice of configuration is free, so an engine may return any medley of them.
        """
        milp = self.programme.milp
        plan = self.programme.plan(values[: self.columns])
        fewest = len({d.service for d in plan.deployments})
        if len({(d.service, d.config) for d in plan.deployments}) <= fewest or self._is_late(0.5):
            return values
        cost = milp.value(milp.objective(), values[: self.columns])
        alone = self._best_alone(deadline)
        if alone is not None and milp.value(milp.objective(), alone) <= cost + 1e-7 * max(1.0, abs(cost)):
            return alone
        programme = self.programme.axis(Axis.FEWEST_CONFIGURATIONS)
        same = bounded(programme.milp, "cost", milp.objective(), cost + 1e-7 * max(1.0, abs(cost)))
        for column, variable in enumerate(same.variables):
            if variable.family in BOUGHT:
                bought = float(round(values[column]))
                same.variables[column] = replace(variable, lower=bought, upper=bought)
        limit_s = min(TIDY_S, max(self.remaining_s() / 4, deadline - time.monotonic()))
        try:
            answer = self.solve("tidying", minimising(same, programme.expression), limit_s, values, False)
        except SolverError:
            return values
        found = None if answer is None or isinstance(answer, Infeasible) else answer.values
        return values if found is None else found

    def _best_alone(self, deadline: float) -> tuple[float, ...] | None:
        """The cheapest solution in which one configuration runs alone; None with several services."""
        if self.alone is None:
            self.alone = (self._cheapest_alone(self.programme, deadline, 0.0),)
        return self.alone[0]

    def _cheapest_alone(self, programme: Rankable, deadline: float, gap: float) -> tuple[float, ...] | None:
        best: tuple[float, tuple[float, ...]] | None = None
        for milp in programme.single_configurations():
            limit_s = min(SINGLE_S, deadline - time.monotonic())
            if self.interrupted or limit_s < LEAST_TIME_S:
                break
            answer = self.solve("one configuration", milp, limit_s, money=False, gap=gap)
            if isinstance(answer, Solved | Undecided) and answer.values is not None:
                usd = answer.objective if answer.objective is not None else math.inf
                if best is None or usd < best[0]:
                    best = (usd, answer.values)
        return best[1] if best else None

    def _take(self, values: Sequence[float]) -> bool:
        """Make a solution the reference for everything else, if it verifies."""
        best = self.admit(Axis.CHEAPEST, values, words.NAMES[Axis.CHEAPEST])
        if best is None:
            return False
        self.best_usd_per_hour = best.total / HOURS_PER_MONTH
        self.reference = best.values
        self.found.append(best)
        return True

    def _cheapest_that_verifies(self, deadline: float) -> None:
        """Formulation and verification disagree: narrow the purchase options until a plan stands."""
        for options in NARROWER:
            left_s = deadline - time.monotonic()
            answer = None if self.interrupted else self.solve("solve", self.programme.only(options), left_s)
            if isinstance(answer, Solved | Undecided) and answer.values is not None and self._take(answer.values):
                return

    def axes(self) -> None:
        """The best plan on every other axis within (1 + within)·z*."""
        wanted = [a for a in Axis if a is not Axis.CHEAPEST]
        for index, axis in enumerate(wanted):
            if self.interrupted:
                return
            solves_left = 2 * (len(wanted) - index) + len(BASELINES) + self.options.top
            try:
                self._axis(axis, solves_left)
            except SolverError as error:
                self.notes.append(f"{words.NAMES[axis]}: {error}")

    def _axis(self, axis: Axis, solves_left: int) -> None:
        name, best = words.NAMES[axis], self.found[0]
        if self._is_late(1.0 if axis is Axis.MOST_HEADROOM else 0.1):
            self.notes.append(f"{name}: not looked for, the time limit was reached")
            return
        programme = self.programme.axis(axis)
        if not programme.expression:
            self.notes.append(f"{name}: nothing of the kind can be bought, every plan is the same on it")
            return
        unlimited = axis is Axis.MOST_HEADROOM and best.measures[axis] is None
        if unlimited or self._is_lowest(programme, self.reference):
            self.notes.append(f"{name}: the cheapest plan already is ({words.amount(axis, best.measures[axis])})")
            return
        cost = self.programme.milp.objective()
        limit = self.best_usd_per_hour * (1 + self.options.within) + 1e-6
        if axis is Axis.FEWEST_CONFIGURATIONS:
            alone = self._best_alone(self.started + (SOLVE_SHARE + RANK_SHARE) * self.options.time_limit_s)
            if alone is not None and self.programme.milp.value(cost, alone) <= limit:
                self._admit_axis(axis, alone)
                return
        near = bounded(programme.milp, "cost", cost, limit)
        stage = f"axis {name}"
        first = self.solve(
            stage, minimising(near, programme.expression), self.share_s(solves_left), self.reference, False
        )
        values = None if first is None or isinstance(first, Infeasible) else first.values
        if values is None:
            self.notes.append(f"{name}: not decided in the time limit")
            return
        reached = programme.milp.value(programme.expression, values)
        fixed = bounded(near, axis.value, programme.expression, reached + max(1e-6, 1e-4 * abs(reached)))
        second = self.solve(stage, fixed, self.share_s(solves_left - 1), values)
        if isinstance(second, Solved | Undecided) and second.values is not None:
            values = second.values
        self._admit_axis(axis, values, decided=isinstance(first, Solved))

    def _admit_axis(self, axis: Axis, values: Sequence[float], decided: bool = True) -> None:
        """Keep the best plan of an axis if it is better there than the cheapest."""
        name, best = words.NAMES[axis], self.found[0]
        entry = self.admit(axis, values, name)
        if entry is None:
            return
        if is_better(axis, entry.measures[axis], best.measures[axis]):
            self.found.append(entry)
        elif not decided:
            self.notes.append(f"{name}: nothing better was found in the time limit")
        elif self.programme is not self.whole:
            self.notes.append(f"{name}: nothing better was found")
        else:
            self.notes.append(
                f"{name}: nothing better than the cheapest plan ({words.amount(axis, best.measures[axis])}) "
                f"within {100 * self.options.within:g} %"
            )

    @staticmethod
    def _is_lowest(programme: AxisProgramme, values: Sequence[float]) -> bool:
        """Whether no solution at all can be lower on the axis (only columns that `values` has are looked at)."""
        lowest = 0.0
        for column, coefficient in programme.expression.items():
            if column >= len(values):
                return False
            variable = programme.milp.variables[column]
            lowest += min(coefficient * variable.lower, coefficient * variable.upper)
        return programme.milp.value(programme.expression, values) <= lowest + 1e-9 * max(1.0, abs(lowest))

    def baselines(self) -> None:
        """All API, all on-demand, all reserved: costed where they work, with the reason where they do not."""
        for index, (name, bought) in enumerate(BASELINES.items()):
            if self.interrupted:
                return
            limit_s = self.share_s(len(BASELINES) - index + self.options.top)
            try:
                self.bases.append(self._best_baseline(name, bought, limit_s))
            except SolverError as error:
                self.bases.append(Baseline(name, None, None, None, (str(error),)))

    def _best_baseline(self, name: str, bought: tuple[PurchaseOption, ...], limit_s: float) -> Baseline[V]:
        """The whole programme's answer, or the quick one's where time ran out and that is cheaper."""
        stage = f"baseline {name}"
        answer = self.solve(stage, self.whole.only(bought), limit_s)
        best = self._baseline(name, answer, self.whole)
        if isinstance(answer, Undecided) and self.programme is not self.whole:
            other = self._baseline(name, self.solve(stage, self.programme.only(bought), limit_s), self.programme)
            totals = [b.total_usd_per_month or math.inf for b in (best, other)]
            best = other if totals[1] < totals[0] else best
        return best

    def _baseline(self, name: str, answer: Answer | None, programme: Rankable) -> Baseline[V]:
        if isinstance(answer, Infeasible):
            short = programme.short_of(BASELINES[name])
            why = [f"nothing of the kind can serve {what}" for what in short]
            if programme.is_part:
                why = ["no such plan among the configurations and places that were searched"]
            why = why or ["cannot serve every workload inside its promises and limits"]
            return Baseline(name, None, None, None, tuple(why))
        if answer is None or answer.values is None:
            return Baseline(name, None, None, None, ("not decided in the time limit",), False)
        values = tuple(answer.values[: len(programme.milp.variables)])
        plan = programme.plan(values)
        verdict = self.verify(plan)
        if verdict.ok:
            self._adopt(programme, values, plan, verdict)
        total = verdict.cost.total_usd_per_month
        return Baseline(
            name, plan, verdict, total, tuple(str(v) for v in verdict.violations), isinstance(answer, Solved)
        )

    def _adopt(self, programme: Rankable, values: tuple[float, ...], plan: Plan, verdict: V) -> None:
        """A verified plan that is cheaper than the cheapest so far takes its place, wherever it was found."""
        if self.found and verdict.cost.judged_usd_per_month < self.found[0].total * (1 - 1e-9):
            measures = self.measure(programme, values, plan, verdict)
            best = Found(Axis.CHEAPEST, values, plan, verdict, measures, programme.signature(values))
            self.found.insert(0, best)
            self.best_usd_per_hour = best.total / HOURS_PER_MONTH
            if programme is self.programme:
                self.reference = values

    def alternatives(self) -> None:
        """Plans of another kind, cheapest first, until the list is full.

        A plan of another kind lacks at least one feature of the plan before it: each feature taken away is a branch,
        the branch with the cheapest plan is shown and branched again (Lawler's k-best scheme).
        """
        self._show_alone()
        tried: set[Signature] = set()
        open_nodes: list[tuple[float, int, Signature, Found[V]]] = []
        self._branch(frozenset(), self.found[0].signature, tried, open_nodes)
        seen = {f.signature for f in self.found}
        refusals = len(self.refused)
        while open_nodes and len(arrange(self.found)) < self.options.top and not self.interrupted:
            _, _, dropped, node = heapq.heappop(open_nodes)
            if node.signature not in seen:
                seen.add(node.signature)
                self.found.append(node)
            if len(arrange(self.found)) < self.options.top and len(self.refused) - refusals < TRIES:
                self._branch(dropped, node.signature, tried, open_nodes)
        if self.rushed:
            self.notes.append("further alternatives were not looked for: the time limit was reached")
        elif not open_nodes and len(arrange(self.found)) < self.options.top and not self.interrupted:
            among = " among the configurations and places that were searched" if self.programme.is_part else ""
            said = "whether there is a further plan of another kind was not decided in the time limit"
            self.notes.append(said if self.undecided else f"there is no further plan of another kind{among}")

    def _show_alone(self) -> None:
        """The plan of one configuration is worth seeing also where it costs more than the axis may."""
        alone = self.alone[0] if self.alone else None
        fewest = min((f.measures[Axis.FEWEST_CONFIGURATIONS] or 0.0 for f in self.found), default=0.0)
        if alone is not None and fewest > 1 and self.options.top > len(arrange(self.found)):
            entry = self.admit(words.ALTERNATIVE, alone, "one configuration")
            if entry is not None:
                self.found.append(entry)

    def _branch(
        self,
        dropped: Signature,
        signature: Signature,
        tried: set[Signature],
        open_nodes: list[tuple[float, int, Signature, Found[V]]],
    ) -> None:
        """Solve the programme without each feature of a plan in turn; what verifies becomes an open node."""
        for feature in sorted(signature, key=lambda f: (SLOTS.index(f[0]) if f[0] in SLOTS else 0, f)):
            gone = dropped | {feature}
            if gone in tried or self.interrupted:
                continue
            tried.add(gone)
            label = f"without {', '.join(words.feature_text(f, short=True) for f in sorted(gone))}"
            if self._is_late(1.0):
                self.rushed = True
                return
            programme = self.programme.without(gone)
            if programme is None:
                continue
            limit_s = self.share_s(len(signature))
            until = time.monotonic() + limit_s / 2
            try:
                start = self._cheapest_alone(programme, until, ALTERNATIVE_GAP)
                answer = self.solve(label, programme.milp, limit_s, start, gap=ALTERNATIVE_GAP)
            except SolverError as error:
                self.notes.append(f"{label}: {error}")
                self.undecided = True
                continue
            if answer is None or isinstance(answer, Infeasible) or answer.values is None:
                self.undecided |= not isinstance(answer, Infeasible)
                continue
            if answer.objective and (answer.bound or 0.0) < (1 - OPEN_GAP) * answer.objective:
                self.notes.append(f"{label}: no good plan in the time limit")
                self.undecided = True
                continue
            node = self.admit(words.ALTERNATIVE, answer.values, label, programme)
            if node is not None:
                heapq.heappush(open_nodes, (node.total, len(tried), gone, node))

    # -- result --------------------------------------------------------------------------------------------------

    def _ended(self, status: Literal["infeasible", "undecided"], detail: str) -> Ranking[V]:
        """A search that ends without a plan."""
        return replace(self.result(), status=status, detail=detail)

    def result(self) -> Ranking[V]:
        """Everything found so far, arranged."""
        made: list[Entry[V]] = []
        if self.found:
            made = entries(self.found, self.bound, self.options.top)
        ties = [e.title for e in made if e.tie]
        notes = list(self.notes)
        if ties:
            notes.append(words.tie_note(ties, made[0].gap))
        return Ranking(
            status="planned",
            entries=tuple(made),
            baselines=tuple(self.bases),
            notes=tuple(dict.fromkeys(notes)),
            bound_usd_per_month=None if self.bound is None else self.bound * HOURS_PER_MONTH,
            deterministic=self.deterministic,
            stop=self.stop,
            interrupted=self.interrupted,
            refused=tuple(self.refused),
        )


def _by_name(source: Milp, values: Sequence[float], target: Milp) -> tuple[float, ...]:
    """The whole numbers of a solution for the columns of the same name in another programme; NaN: not said."""
    named = {(v.family, v.key): value for v, value in zip(source.variables, values, strict=False) if v.integer}
    return tuple(named.get((v.family, v.key), math.nan) for v in target.variables)
