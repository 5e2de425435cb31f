"""`Compiled` as ranking wants it: the core of a problem, its quick restriction, and the problem without a feature.

Where rules for emergencies make the core of a problem too large to build, ranking searches a part of it
(`candidates.narrow`), widened step by step, and proves with a relaxation of the core.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from planner.base import PurchaseOption
from planner.candidates.domains import place_of, spares_by_instance
from planner.candidates.narrow import narrowed
from planner.candidates.reduce import core, with_hourly
from planner.candidates.types import Plan, Problem
from planner.catalog.catalog import Catalog
from planner.formulation.axes import (
    Axis,
    AxisProgramme,
    Feature,
    Signature,
    Signatures,
    axis_programme,
    only_options,
    single_configurations,
    spot_part,
    without,
)
from planner.formulation.compile import Compiled, compile_milp, relaxed_milp
from planner.formulation.fleet_build import FleetMap, build_fleet, why_no_fleet
from planner.formulation.milp import Key, Milp
from planner.formulation.sets import Sets
from planner.formulation.variables import group_name
from planner.solve.large import Structure

LINKING = {"commit", "used", "used_provider", "self_hosted", "is_used"}
"""Families of integer variables that belong to no slice; with them fixed a programme falls apart into slices."""
FLEET_BLOCKS = 48
"""From so many services × slices on, a problem keeps what the search for whole commitments needs."""
HEAVY = 6000
"""From so many seats × slices under rules for emergencies on, a part of the problem is searched first."""
WIDE = 3000
"""From so many seats × slices on, a part is searched first as well where prices cannot take the programme apart."""
WIDTHS = (1, 2)
"""How wide the parts are, see `narrowed`; what is no wider than the core follows them."""
PURCHASES = {"commit", "on_demand", "owned", "spot", "pattern"}
"""Families of variables that count instances."""

BY_CONFIG = {"spares"}
BY_CONFIG_AND_POOL = {"replicas", "spot_replicas", "at_least"}
"""Families of integer variables whose keys begin with the number of a configuration (and of a pool)."""


@dataclass(frozen=True)
class CompiledProgramme:
    """`Compiled` as ranking wants it: compiled from the core of `problem`."""

    compiled: Compiled
    catalog: Catalog
    problem: Problem
    """The whole problem, from which features are taken away."""
    building_s: float = 0.0
    """How long reducing and compiling took: what another programme of this size will take."""
    kept: Problem | None = None
    """The core that this is a part of; None: it is the core itself, so what is proven here holds for all."""
    width: int = 0
    """How wide the part is; 0: it is the core itself."""

    @classmethod
    def of(cls, problem: Problem, catalog: Catalog, in_parts: bool = False) -> CompiledProgramme:
        """Reduce and compile a problem; same optimum and bound as the whole.

        `in_parts`: of a core that rules for emergencies make too large, only the first part (see `wider`).
        """
        started = time.monotonic()
        reduced = core(problem)
        if in_parts and is_heavy(reduced):
            return cls._part(reduced, WIDTHS[0], catalog, problem, started)
        if len(problem.demand.services) * len(problem.demand.slices) >= FLEET_BLOCKS:
            reduced = with_hourly(reduced, problem)
        compiled = compile_milp(reduced)
        return cls(compiled, catalog, problem, time.monotonic() - started)

    @classmethod
    def _part(
        cls, reduced: Problem, width: int, catalog: Catalog, problem: Problem, started: float, mixed: bool = False
    ) -> CompiledProgramme:
        compiled = compile_milp(narrowed(reduced, width), mixed=mixed)
        return cls(compiled, catalog, problem, time.monotonic() - started, reduced, width)

    @property
    def core(self) -> Problem:
        """The reduced problem, of which this may be a part."""
        return self.kept or self.compiled.problem

    @property
    def is_part(self) -> bool:
        """Whether there is more to choose from than what was compiled: its bound is none."""
        return self.kept is not None

    def wider(self) -> CompiledProgramme:
        """The next wider part, at last the core; itself where it is the core."""
        if self.kept is None:
            return self
        width = next((w for w in WIDTHS if w > self.width), None)
        if width is None:
            return self.whole()
        return self._part(self.kept, width, self.catalog, self.problem, time.monotonic())

    def start_from(self, part: CompiledProgramme, values: Sequence[float]) -> tuple[float, ...]:
        """The whole numbers of a part's solution for this wider programme: 0 for what only this has, NaN: not said."""
        own, others = self.compiled.sets, part.compiled.sets
        configs = {(k.service, id(k.capability)): k.index for k in own.configs}
        config = {k.index: configs.get((k.service, id(k.capability)), -1) for k in others.configs}
        pool = {i: own.pool_index.get(p.id, -1) for i, p in enumerate(others.pools)}
        named: dict[tuple[str, Key], float] = {}
        for v, value in zip(part.milp.variables, values, strict=False):
            key = v.key
            if v.family in BY_CONFIG:
                key = (config[int(key[0])], *key[1:])
            if v.family in BY_CONFIG_AND_POOL:
                key = (config[int(key[0])], pool[int(key[1])], *key[2:])
            if v.family in PURCHASES:
                key = (pool[int(key[0])], *key[1:])
            named[v.family, key] = value
        return tuple(named.get((v.family, v.key), 0.0) if v.integer else math.nan for v in self.milp.variables)

    def whole(self) -> CompiledProgramme:
        """The core, compiled: it may be very large."""
        if self.kept is None:
            return self
        started = time.monotonic()
        compiled = compile_milp(self.kept)
        return CompiledProgramme(compiled, self.catalog, self.problem, time.monotonic() - started)

    def is_last_part(self) -> bool:
        """Whether what is wider is the core itself."""
        return self.width == WIDTHS[-1]

    def relaxed(self) -> Milp:
        """A programme of the whole core whose optimum is a bound for it."""
        return relaxed_milp(self.core).milp

    @property
    def milp(self) -> Milp:
        """The programme."""
        return self.compiled.milp

    def plan(self, values: Sequence[float], trim: bool = True) -> Plan:
        """The plan of a solution."""
        return self.compiled.plan(values, trim)

    def axis(self, axis: Axis) -> AxisProgramme:
        """The programme of an axis."""
        return axis_programme(self.compiled, axis)

    def only(self, options: Collection[PurchaseOption]) -> Milp:
        """Nothing but `options` may be bought."""
        return only_options(self.compiled, options)

    def structure(self, milp: Milp) -> Structure:
        """Columns of no slice, purchases, and purchases that several services share."""
        linking, instances, shared = [], [], []
        users: dict[tuple[int, str], set[int]] = defaultdict(set)
        for (p, group), seated in self.compiled.sets.seats_of.items():
            users[p, "spot" if group is None else group_name(group)] |= {k.service for k in seated}
        for column, variable in enumerate(milp.variables):
            if variable.integer and variable.family in LINKING:
                linking.append(column)
            if variable.family in PURCHASES:
                instances.append(column)
                key = "spot" if variable.family == "spot" else str(variable.key[1])
                if len(users[int(variable.key[0]), key]) > 1:
                    shared.append(column)
        fleet = self._fleet if milp is self.milp else None
        return Structure(frozenset(linking), frozenset(instances), frozenset(shared), fleet)

    @cached_property
    def _fleet(self) -> FleetMap | None:
        return build_fleet(self.compiled.sets)

    def short_of(self, options: Collection[PurchaseOption]) -> tuple[str, ...]:
        """Request classes with demand that no candidate of `options` can serve."""
        sets, problem = self.compiled.sets, self.compiled.problem
        served = {
            (c.service, r)
            for c in problem.candidates
            if set(options) & set(c.options)
            for r, ok in enumerate(c.capability.served)
            if ok
        }
        by_api = {a.request_class for a in problem.apis} if PurchaseOption.API in options else set()
        found = []
        for i, service in enumerate(sets.services):
            for r in sets.active_classes[i]:
                if (service.id, r) not in served and service.classes[r].id not in by_api:
                    found.append(service.classes[r].id)
        return tuple(found)

    @cached_property
    def _quick(self) -> CompiledProgramme:
        sets = self.compiled.sets
        several = not sets.mixed and any(len(classes) > 1 for classes in sets.active_classes)
        if not several:
            return self
        return replace(self, compiled=compile_milp(self.compiled.problem, mixed=True))

    def quick(self) -> CompiledProgramme:
        """The restriction in which replicas take the whole mix of their service; itself where that is no matter."""
        return self._quick

    @cached_property
    def _signatures(self) -> Signatures:
        return Signatures(self.compiled, self.catalog)

    def signature(self, values: Sequence[float]) -> Signature:
        """What a solution is known by."""
        return self._signatures.of(values)

    def spot_part(self, values: Sequence[float]) -> float:
        """Share of the running capacity that is on spot in the busiest slice."""
        return spot_part(self.compiled, values)

    def single_configurations(self) -> list[Milp]:
        """Copies in which one configuration runs alone, where there is one service."""
        return single_configurations(self.compiled)

    def without(self, features: Collection[Feature]) -> CompiledProgramme | None:
        """The same question where none of the features can be had."""
        left = without(self.problem, features, self.catalog)
        if left is None:
            return None
        mixed = self.compiled.sets.mixed
        if self.is_part:
            reduced = core(left, record=False)
            return self._part(reduced, self.width, self.catalog, left, time.monotonic(), mixed)
        return CompiledProgramme(
            compile_milp(core(left, record=False), mixed=mixed), self.catalog, left, self.building_s
        )


def is_heavy(reduced: Problem) -> bool:
    """Whether a core is too large for an engine to find anything in as one programme.

    Rules for emergencies apply to so many seats that the rows for them are too many to build; or there are many seats
    and nothing that takes the programme apart by prices (`fleet_build.why_no_fleet`).
    """
    strict = {
        s.id for s in reduced.demand.services if spares_by_instance(s) or any(place_of(s, p) for p in reduced.pools)
    }
    slices = len(reduced.demand.slices)
    if sum(c.service in strict for c in reduced.candidates) * slices >= HEAVY:
        return True
    return len(reduced.candidates) * slices >= WIDE and why_no_fleet(Sets(reduced)) is not None
