"""Why not X: refusals grouped by reason, and those that name X."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from planner.candidates.types import Rejected
from planner.catalog.catalog import Catalog, UnknownName
from planner.explain.types import RefusalGroup

DOMINATED = "dominated_by"
"""The check of what another candidate replaces in every plan: no obstacle, only a reduction."""


def group_refusals(rejected: Sequence[Rejected]) -> tuple[RefusalGroup, ...]:
    """One group per (service, check, kind), most refusals first, what another choice merely replaces last.

    A refusal with two failed checks is in two groups.
    """
    groups: dict[tuple[str, str, str], RefusalGroup] = {}
    for r in rejected:
        for check in r.checks:
            key = (r.service or "", check.check, check.kind.value)
            before = groups.get(key)
            if before is None:
                groups[key] = RefusalGroup(
                    service=r.service, check=check.check, kind=check.kind.value, count=r.count, example=r.what,
                    example_check=check,
                )  # fmt: skip
            else:
                groups[key] = before.model_copy(update={"count": before.count + r.count})

    def order(g: RefusalGroup) -> tuple[bool, int, str, str, str]:
        return g.check == DOMINATED, -g.count, g.service or "", g.check, g.kind

    return tuple(sorted(groups.values(), key=order))


def why_not(rejected: Sequence[Rejected], wanted: Collection[str]) -> tuple[Rejected, ...]:
    """The refusals that concern a thing with the names `wanted` (see `spellings`).

    A name matches a whole part of what was refused, a run of parts (`provider/region`), or a value that a check
    needed or had.
    """
    return tuple(r for r in rejected if any(_names(r, w) for w in wanted))


def spellings(name: str, catalog: Catalog | None = None) -> tuple[str, ...]:
    """The name in lower case and the canonical ids it may stand for."""
    found = [name.lower()]
    if catalog is not None:
        lookups: tuple[Callable[[str], object], ...] = (
            catalog.accelerator, catalog.model, catalog.precision, catalog.engine, catalog.provider,
        )  # fmt: skip
        for lookup in lookups:
            try:
                row_id = getattr(lookup(name), "id", name).lower()
            except UnknownName:
                continue
            if row_id not in found:
                found.append(row_id)
    return tuple(found)


def _names(r: Rejected, wanted: str) -> bool:
    what = r.what.lower()
    bounded = f"/{what.replace('|', '/').replace(' ', '/').replace('@', '/').replace('+', '/')}/"
    if f"/{wanted.strip('/')}/" in bounded:
        return True
    values = (c.needed for c in r.checks), (c.had for c in r.checks)
    return any(isinstance(v, str) and wanted == v.lower() for side in values for v in side)
