"""`Compiled` as ranking wants it: the core of a problem, its quick restriction, and the problem without a feature."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.base import PurchaseOption
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
from planner.formulation.compile import Compiled, compile_milp
from planner.formulation.fleet_build import FleetMap, build_fleet
from planner.formulation.milp import Milp
from planner.formulation.variables import group_name
from planner.solve.large import Structure

LINKING = {"commit", "used", "used_provider", "self_hosted", "is_used"}
"""Families of integer variables that belong to no slice; with them fixed a programme falls apart into slices."""
FLEET_BLOCKS = 48
"""From so many services × slices on, a problem keeps what the search for whole commitments needs."""
PURCHASES = {"commit", "on_demand", "owned", "spot", "pattern"}
"""Families of variables that count instances."""


@dataclass(frozen=True)
class CompiledProgramme:
    """`Compiled` as ranking wants it: compiled from the core of `problem`."""

    compiled: Compiled
    catalog: Catalog
    problem: Problem
    """The whole problem, from which features are taken away."""
    building_s: float = 0.0
    """How long reducing and compiling took: what another programme of this size will take."""

    @classmethod
    def of(cls, problem: Problem, catalog: Catalog) -> CompiledProgramme:
        """Reduce and compile a problem; same optimum and bound as the whole."""
        started = time.monotonic()
        reduced = core(problem)
        if len(problem.demand.services) * len(problem.demand.slices) >= FLEET_BLOCKS:
            reduced = with_hourly(reduced, problem)
        compiled = compile_milp(reduced)
        return cls(compiled, catalog, problem, time.monotonic() - started)

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
        return CompiledProgramme(
            compile_milp(self.compiled.problem, mixed=True), self.catalog, self.problem, self.building_s
        )

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
        return CompiledProgramme(
            compile_milp(core(left, record=False), mixed=mixed), self.catalog, left, self.building_s
        )
