"""What would the answer be if the spec, or a price, were another? Candidates → solve → verify, once more."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from planner.candidates.build import Memo, build_problem
from planner.candidates.types import ApiCandidate, Plan, Pool, Problem
from planner.catalog.catalog import Catalog
from planner.demand.build import build_demand
from planner.explain.infeasible import unservable
from planner.formulation.axes import Signature, minimising
from planner.formulation.milp import Milp
from planner.performance.types import EngineConfig
from planner.solve.engine import SolverChild
from planner.solve.large import solve_programme
from planner.solve.programme import CompiledProgramme
from planner.solve.types import Answer, Infeasible, SolveOptions, Undecided
from planner.spec.types import Spec
from planner.units import HOURS_PER_MONTH
from planner.verify.types import Verification
from planner.verify.verify import Verifier

LEAST_TIME_S = 0.05
"""A solve is not begun with less time than this."""
QUICK_SHARE = 0.4
"""Share of the time of a solve for the restriction in which replicas take the whole mix."""


class Clock:
    """Seconds left until a deadline that many questions share."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; 0 when it is over."""
        return max(0.0, self.end - time.monotonic())


@dataclass(frozen=True)
class Solution:
    """The cheapest verified plan of an edited spec."""

    spec: Spec
    catalog: Catalog
    programme: CompiledProgramme
    values: tuple[float, ...]
    plan: Plan
    check: Verification
    known: Signature | None = None
    """Its signature, where it is known without `values`."""

    @property
    def usd_per_month(self) -> float:
        """Recomputed cost by which plans are ranked: amortised, with what comes after the horizon."""
        return self.check.cost.judged_usd_per_month

    @property
    def problem(self) -> Problem:
        """What was to choose from."""
        return self.programme.problem

    @cached_property
    def signature(self) -> Signature:
        """What a reviewer knows the plan by."""
        return self.programme.signature(self.values) if self.known is None else self.known

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """Pools by id."""
        return {p.id: p for p in self.problem.pools}

    def services_of(self, workloads: Collection[str]) -> frozenset[str]:
        """Ids of the services of some workloads."""
        return frozenset(s.id for s in self.problem.demand.services if set(s.workloads) & set(workloads))

    def pools_of(self, workloads: Collection[str]) -> tuple[Pool, ...]:
        """Pools on which some workloads run."""
        own = self.services_of(workloads)
        used = {d.pool for d in self.plan.deployments if d.service in own and any(d.replicas)}
        return tuple(p for p in self.problem.pools if p.id in used)

    def configs_of(self, workloads: Collection[str]) -> tuple[EngineConfig, ...]:
        """Engine configurations that run for some workloads."""
        own = self.services_of(workloads)
        return tuple(d.capability.config for d in self.check.deliveries if d.service in own)

    def apis_of(self, workloads: Collection[str]) -> tuple[ApiCandidate, ...]:
        """API candidates that some workloads call."""
        own = self.services_of(workloads)
        called = {(u.request_class, u.api) for u in self.plan.api if any(r.req_per_s > 0 for r in u.routes)}
        return tuple(a for a in self.problem.apis if a.service in own and (a.request_class, a.api) in called)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a question came to."""

    status: Literal["planned", "infeasible", "undecided"]
    solution: Solution | None = None
    bound_usd_per_month: float = 0.0
    """No plan of the edited spec costs less; 0 where nothing was proven, infinite where there is no plan."""

    @property
    def usd_per_month(self) -> float | None:
        """Cost of the plan, where there is one."""
        return None if self.solution is None else self.solution.usd_per_month


class WhatIf:
    """Answers questions about edited specs with one solver process; assessments of untouched services are kept."""

    def __init__(
        self, catalog: Catalog, child: SolverChild, clock: Clock, engine: str = "highs", seed: int = 0,
        memo: Memo | None = None,
    ) -> None:  # fmt: skip
        self.catalog = catalog
        self.child = child
        self.clock = clock
        self.engine = engine
        self.seed = seed
        self.memo: Memo = {} if memo is None else memo
        self.cut = False
        """Whether a clock decided an answer: another run may answer otherwise."""

    def problem(self, spec: Spec, catalog: Catalog | None = None) -> Problem:
        """What the edited spec leaves to choose from; a catalog may differ from the own one in prices only."""
        rows = catalog or self.catalog
        return build_problem(spec, rows, build_demand(spec, rows), memo=self.memo)

    def is_possible(self, spec: Spec) -> bool | None:
        """Whether the edited spec has a plan; None: not decided in time."""
        if self.clock.left < LEAST_TIME_S:
            self.cut = True
            return None
        problem = self.problem(spec)
        if unservable(problem):
            return False
        programme = CompiledProgramme.of(problem, self.catalog)
        answer = self._solve(programme, minimising(programme.milp, {}), self.clock.left, 1.0)
        if isinstance(answer, Infeasible):
            return False
        return None if answer.values is None else True

    def best(self, spec: Spec, gap: float, limit_s: float | None = None, catalog: Catalog | None = None) -> Reply:
        """The cheapest plan of the edited spec, verified, within `limit_s` seconds (default: all that is left)."""
        rows = catalog or self.catalog
        if self.clock.left < LEAST_TIME_S:
            self.cut = True
            return Reply("undecided")
        problem = self.problem(spec, rows)
        if unservable(problem):
            return Reply("infeasible", None, float("inf"))
        return self.best_of(spec, rows, CompiledProgramme.of(problem, rows), gap, limit_s)

    def best_of(
        self, spec: Spec, catalog: Catalog, programme: CompiledProgramme, gap: float, limit_s: float | None = None,
        milp: Milp | None = None, trim: bool = True,
    ) -> Reply:  # fmt: skip
        """The same for a compiled programme; `milp` is it with more rows or fewer choices.

        `trim`: leave out replicas that nothing needs.
        """
        clock = Clock(min(self.clock.left, limit_s if limit_s is not None else self.clock.left))
        whole = milp or programme.milp
        quick = programme.quick() if milp is None else programme
        first = None
        if quick is not programme:
            answer = self._solve(quick, quick.milp, QUICK_SHARE * clock.left, gap)
            first = self._verified(spec, catalog, quick, answer)
        answer = self._solve(programme, whole, clock.left, gap)
        if isinstance(answer, Infeasible):
            return Reply("infeasible", None, float("inf"))
        found = [s for s in (first, self._verified(spec, catalog, programme, answer, trim)) if s is not None]
        best = min(found, key=lambda s: s.usd_per_month, default=None)
        bound = max(0.0, answer.bound or 0.0) * HOURS_PER_MONTH
        if best is None:
            return Reply("undecided", None, bound)
        return Reply("planned", best, min(bound, best.usd_per_month))

    def _solve(self, programme: CompiledProgramme, milp: Milp, limit_s: float, gap: float) -> Answer:
        options = SolveOptions(
            engine=self.engine, time_limit_s=max(LEAST_TIME_S, limit_s), relative_gap=gap, seed=self.seed
        )
        answer = solve_programme(self.child, milp, options, programme.structure(milp))
        self.cut |= isinstance(answer, Undecided)
        return answer

    def _verified(
        self, spec: Spec, catalog: Catalog, programme: CompiledProgramme, answer: Answer, trim: bool = True
    ) -> Solution | None:
        """The plan of an answer, if there is one and it stands its recomputation."""
        if isinstance(answer, Infeasible) or answer.values is None:
            return None
        values = answer.values[: len(programme.milp.variables)]
        plan = programme.plan(values, trim)
        check = Verifier(spec, catalog, programme.problem.demand).verify(plan)
        return Solution(spec, catalog, programme, tuple(values), plan, check) if check.ok else None


def is_proven(reply: Reply, gap: float) -> bool:
    """Whether the plan of a reply is the cheapest within a relative gap."""
    cost = reply.usd_per_month
    return cost is not None and cost - reply.bound_usd_per_month <= gap * max(1.0, abs(cost)) + 1e-6


def with_prices(catalog: Catalog, factors: dict[str, float]) -> Catalog:
    """The catalog with the prices of some offers and APIs multiplied; keys are ids of offers and APIs."""
    offers = tuple(
        o.model_copy(update={"price_usd_per_hour": o.price_usd_per_hour * factors[o.id]}) if o.id in factors else o
        for o in catalog.offers
    )
    apis = tuple(
        a.model_copy(update=_api_prices(a.model_dump(), factors[a.id])) if a.id in factors else a for a in catalog.apis
    )
    return replace(catalog, offers=offers, apis=apis)


def _api_prices(row: dict[str, object], factor: float) -> dict[str, object]:
    update: dict[str, object] = {}
    for field in ("input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok"):
        value = row.get(field)
        if isinstance(value, int | float):
            update[field] = value * factor
    tiers = row.get("context_tiers")
    if isinstance(tiers, list | tuple):
        update["context_tiers"] = tuple((above, i * factor, o * factor) for above, i, o in tiers)
    return update
