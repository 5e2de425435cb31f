"""Quotas resolved to the pools and options that they limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.candidates.types import Pool, QuotaRow
from planner.spec.types import Quota, QuotaMatch, QuotaUnit


def matches(pool: Pool, match: QuotaMatch) -> bool:
    """Whether every field that the quota names is the pool's, in any case of letters.

    Names of regions, zones and instance types belong to several providers, who may write them differently (`us-1`,
    `US-1`): a quota that names no provider is over all of them.
    """
    return all(
        wanted is None or wanted.lower() == (had or "").lower()
        for wanted, had in (
            (match.provider, pool.provider),
            (match.region, pool.region),
            (match.zone, pool.zone),
            (match.country, pool.country),
            (match.instance_type, pool.instance_type),
            (match.accelerator, pool.accelerator),
        )
    )


def describe(match: QuotaMatch) -> str:
    """`aws/eu-central-1/H100-SXM`, or `everything`."""
    parts = (match.provider, match.region, match.zone, match.country, match.instance_type, match.accelerator)
    return "/".join(p for p in parts if p is not None) or "everything"


def resolve_quotas(quotas: Iterable[Quota], pools: Sequence[Pool]) -> tuple[tuple[QuotaRow, ...], tuple[str, ...]]:
    """Rows for known limits in canonical order, and the names of the unknown ones (flagged, no limit)."""
    rows: list[QuotaRow] = []
    unknown: list[str] = []
    for quota in quotas:
        options = tuple(sorted(set(quota.applies_to)))
        name = f"{describe(quota.match)}:{'+'.join(options)}"
        if quota.limit == "unknown":
            unknown.append(name)
            continue
        inside = [p for p in pools if matches(p, quota.match)]
        rows.append(
            QuotaRow(
                id=name,
                pools=tuple(sorted(p.id for p in inside if p.commitment is None)),
                options=options,
                per_accelerator=quota.unit == QuotaUnit.ACCELERATORS,
                limit=float(quota.limit),
                taken=tuple(sorted(_taken(p, quota) for p in inside if _counts(p, quota))),
            )
        )
    rows.sort(key=lambda q: (q.id, q.per_accelerator, q.limit))
    numbered = [q.model_copy(update={"id": f"{q.id}#{i}"}) for i, q in enumerate(rows, 1)] if _repeats(rows) else rows
    return tuple(numbered), tuple(sorted(unknown))


def idle_quotas(quotas: Iterable[Quota], pools: Sequence[Pool]) -> tuple[str, ...]:
    """Names of quotas that no pool matches: a slip in a name makes a limit that limits nothing."""
    return tuple(sorted({describe(q.match) for q in quotas if not any(matches(p, q.match) for p in pools)}))


def idle_quota_text(name: str) -> str:
    """What to say of a quota that matches nothing."""
    return f"the quota on {name} matches nothing on offer, so it limits nothing"


def _counts(pool: Pool, quota: Quota) -> bool:
    """Whether a commitment that runs already counts: under its own option, used or not."""
    return pool.commitment is not None and pool.commitment.rsplit("/", 1)[1] in quota.applies_to


def _taken(pool: Pool, quota: Quota) -> tuple[float, float]:
    price = pool.prices[0]
    each = pool.accelerators if quota.unit == QuotaUnit.ACCELERATORS else 1
    return price.until_month or 0.0, float((price.max_instances or 0) * each)


def _repeats(rows: Sequence[QuotaRow]) -> bool:
    return len({q.id for q in rows}) < len(rows)
