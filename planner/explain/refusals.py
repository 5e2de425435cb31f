"""Why not X: refusals grouped by reason, and those that name X."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from planner.base import Check, CheckKind
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


def shown_kind(check: str, kind: str) -> str:
    """The kind of a failed check in words for people: what another choice replaces lost on price, not to a rule."""
    return "price" if check == DOMINATED else kind


def main_reason(rejected: Sequence[Rejected], request_class: str | None = None) -> RefusalGroup | None:
    """The last hurdle: of what failed nothing but promises the one that came nearest; else the most common reason.

    With a class, the promises of that class where refusals name it. None where nothing was refused but for price.
    """
    real = [r for r in rejected if any(c.check != DOMINATED for c in r.checks)]
    close = [r for r in real if all(c.kind is CheckKind.SLO for c in r.checks)]
    own = [r for r in close if any((c.detail or "").startswith(f"{request_class}: ") for c in r.checks)]
    close = own or close
    if not close:
        return next(iter(group_refusals(real)), None)
    nearest = min(close, key=lambda r: (max(map(_overrun, r.checks)), r.what))
    check = max(nearest.checks, key=_overrun)
    count = sum(r.count for r in close if any(c.check == check.check for c in r.checks))
    return RefusalGroup(service=nearest.service, check=check.check, kind=check.kind.value, count=count,
                        example=nearest.what, example_check=check)  # fmt: skip


def _overrun(check: Check) -> float:
    """How many times what was needed there is; infinite where that is no number."""
    if isinstance(check.needed, float) and isinstance(check.had, float) and check.needed > 0:
        return check.had / check.needed
    return math.inf


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
