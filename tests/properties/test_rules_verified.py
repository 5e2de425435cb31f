"""Plans under survival rules, spares and batch windows: what the programme makes verifies at its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from planner.candidates.build import build_problem
from planner.candidates.reduce import core
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.types import Infeasible, Solved, SolveOptions
from planner.spec.types import Resilience, Spare, SpareDomain, Window, Workload, WorkloadKind
from planner.units import HOURS_PER_MONTH
from planner.verify.verify import Verifier
from tests import strategies as s

EXACT = SolveOptions(relative_gap=1e-7, time_limit_s=20.0)


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


@st.composite
def resilience(draw: st.DrawFn) -> Resilience:
    """Spares of any domain, places that may be lost, or both."""
    spare = draw(st.sampled_from([None, (1, "replica"), (1, "instance"), (2, "instance"), (1, "zone")]))
    lost = draw(st.sampled_from([(), ("zone",), ("region",), ("provider",), ("spot",), ("spot", "zone")]))
    return Resilience(
        spare=Spare(count=spare[0], domain=SpareDomain(spare[1])) if spare else None,
        survive_loss_of=lost, serve_fraction=draw(st.sampled_from([1.0, 0.5])) if lost else 1.0,
    )  # fmt: skip


@st.composite
def ruled(draw: st.DrawFn, workload: Workload) -> Workload:
    """The workload with rules about losses, or as batch work with a window."""
    if draw(st.sampled_from([True, True, False])):
        return workload.model_copy(update={"resilience": draw(resilience())})
    changes: dict[str, Any] = {"profile": None, "peak_to_mean": None}
    window = draw(st.sampled_from([None, Window(start="20:00", end="06:00"), Window(start="10:00", end="16:00")]))
    traffic = workload.traffic.model_copy(update=changes)
    return workload.model_copy(update={"kind": WorkloadKind.BATCH, "window": window, "traffic": traffic})


@st.composite
def cases(draw: st.DrawFn) -> s.Case:
    """A case whose regions have zones and whose workloads have rules."""
    case = draw(s.cases(most_workloads=2))
    zones = draw(st.sampled_from([(), ("a", "b"), ("a", "b", "c")]))
    regions = tuple(r.model_copy(update={"zones": zones}) for r in case.catalog.regions)
    workloads = tuple(draw(ruled(w)) for w in case.spec.workloads)
    return s.Case(case.spec.model_copy(update={"workloads": workloads}), replace(case.catalog, regions=regions))


@settings(max_examples=60)
@given(cases(), st.booleans())
def test_what_is_planned_under_rules_verifies_at_its_cost(engine: SolverChild, case: s.Case, mixed: bool) -> None:
    verifier = Verifier(case.spec, case.catalog)
    problem = core(build_problem(case.spec, case.catalog, verifier.facts.demand))
    compiled = compile_milp(problem, mixed=mixed)
    answer = engine.solve(compiled.milp, EXACT)
    event("infeasible" if isinstance(answer, Infeasible) else "planned")
    if isinstance(answer, Solved):
        verdict = verifier.verify(compiled.plan(answer.values), answer.objective * HOURS_PER_MONTH)
        assert verdict.violations == ()
        assert verdict.headroom_factor is None or verdict.headroom_factor >= 1 - 1e-6
        batch = {x.id for x in verifier.facts.demand.services if x.is_batch}
        plan = compiled.plan(answer.values)
        for i, d in enumerate(plan.deployments):
            if d.service in batch and d.routes:
                idle = d.model_copy(update={"routes": d.routes[1:]})
                late = plan.model_copy(
                    update={"deployments": (*plan.deployments[:i], idle, *plan.deployments[i + 1 :])}
                )
                assert "batch_deadline" in {v.family for v in verifier.verify(late).violations}
