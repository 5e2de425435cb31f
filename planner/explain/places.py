"""Where and with whom a solution runs: what a rule on places, operators, certificates or providers would see."""

from __future__ import annotations

from collections.abc import Collection

from planner.candidates.places import OWN
from planner.catalog.catalog import Catalog
from planner.explain.whatif import Solution


def places_used(solution: Solution, workloads: Collection[str]) -> frozenset[str]:
    """Country codes where some workloads are served; unknown ones cannot be named and are left out."""
    found = {p.country for p in solution.pools_of(workloads)}
    found |= {c for a in solution.apis_of(workloads) for c in a.countries or ()}
    return frozenset(c for c in found if c is not None)


def jurisdictions_used(solution: Solution, workloads: Collection[str]) -> frozenset[str]:
    """Country codes of the operators that serve some workloads; one's own machines have none."""
    found = {p.operator_jurisdiction for p in solution.pools_of(workloads)}
    found |= {a.operator_jurisdiction for a in solution.apis_of(workloads)}
    return frozenset(c for c in found if c is not None and c != OWN)


def certifications_lacking(
    solution: Solution, workloads: Collection[str], required: Collection[str], catalog: Catalog
) -> frozenset[str]:
    """Required certifications that something used for some workloads does not hold."""
    held = [
        {c.lower() for c in p.certifications} for p in solution.pools_of(workloads) if p.operator_jurisdiction != OWN
    ]
    ids = {a.api for a in solution.apis_of(workloads)}
    held += [{c.lower() for c in a.certifications} for a in catalog.apis if a.id in ids]
    return frozenset(c for c in required if any(c.lower() not in h for h in held))


def providers_used(solution: Solution) -> frozenset[str]:
    """Providers of everything that is bought or called."""
    bought = {p.pool for p in solution.plan.purchases if any(p.instances)}
    called = {u.api for u in solution.plan.api}
    found = {p.provider for p in solution.problem.pools if p.id in bought}
    found |= {a.provider for a in solution.problem.apis if a.api in called}
    return frozenset(found - {"owned"})
