"""Explanations as text: one plan in full, or why names are not used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base import Check, CheckKind
from planner.candidates.types import Rejected
from planner.explain.names import Reading
from planner.explain.refusals import DOMINATED, shown_kind, why_not
from planner.explain.types import ForcedPlan
from planner.report.detail import plan_details
from planner.report.layout import output_width, render, section
from planner.report.numbers import dump_json
from planner.report.table import baselines, conflicts, headline, needed_and_had, refusals
from planner.report.types import PlanView, Result
from planner.report.verdict import Verdict, services, verdict

MOST_SHOWN = 20
"""Reasons shown for a name; the rest is counted."""
MOST_EXAMPLES = 3
"""Refusals named of a reason."""
KIND_ORDER = (CheckKind.PHYSICAL, CheckKind.SLO, CheckKind.POLICY)


def plan_text(result: Result, number: int | None, format_: str, colour: bool = False) -> str:
    """The plan at a position (from 1) with its explanation; without a plan what conflicts."""
    plan = None if number is None else result.plans[number - 1]
    if format_ == "json":
        tree: dict[str, Any] = {"schema_version": result.schema_version, "status": result.status}
        tree["plan"] = None if plan is None else plan.model_dump(mode="json", by_alias=True)
        tree["infeasibility"] = None if result.infeasibility is None else result.infeasibility.model_dump(mode="json")
        return dump_json(tree)
    parts: list[RenderableType] = [headline(result, number or 1), ""]
    if number is not None:
        parts += plan_details(result, number)
    if result.infeasibility is not None:
        parts += [conflicts(result.infeasibility), ""]
    if result.baselines:
        parts += [baselines(result.baselines, result.plans), ""]
    if result.rejected:
        parts.append(refusals(result, most=MOST_SHOWN))
    if result.provenance.assumptions:
        parts += ["", section("Assumptions", result.provenance.assumptions, "·")]
    return render(Group(*parts), output_width(), colour)


def is_dearer(reading: Reading, result: Result) -> bool:
    """Whether a name is possible and only price keeps it out of plan 1."""
    return _verdict(reading, result).kind == "dearer"


def _verdict(r: Reading, result: Result) -> Verdict:
    return verdict(r, users(result, r.same), why_not(result.rejected, r.same), result)


def why_not_text(
    result: Result,
    readings: Sequence[Reading],
    format_: str,
    colour: bool = False,
    forced: Mapping[str, ForcedPlan] | None = None,
) -> str:
    """For every name: the main reason, the plans that use it, the refusals that concern it.

    `forced`: name → the cheapest plan found in which it is used.
    """
    forced = forced or {}
    found = [(r, users(result, r.same), why_not(result.rejected, r.same)) for r in readings]
    answers = [verdict(r, ranks, refused, result) for r, ranks, refused in found]
    if format_ == "json":
        return dump_json(
            {
                r.name: {
                    "read_as": list(r.same), "answer": answer.kind, "text": answer.text, "used_by_plans": list(ranks),
                    "forced": forced[r.name].model_dump(mode="json") if r.name in forced else None,
                    "rejected": [x.model_dump(mode="json") for x in refused],
                }
                for (r, ranks, refused), answer in zip(found, answers, strict=True)
            }
        )  # fmt: skip
    parts: list[RenderableType] = []
    for (r, _, refused), answer in zip(found, answers, strict=True):
        parts += [
            Text(f"Why not {r.name}?", style="bold"),
            *_answer(r, answer, refused, result, forced.get(r.name)),
            "",
        ]
    return render(Group(*parts), output_width(), colour)


def users(result: Result, wanted: Collection[str]) -> tuple[int, ...]:
    """Positions (from 1) of the plans that use an accelerator, model, precision, provider, region, country or API."""
    names = {w.lower() for w in wanted}
    return tuple(n for n, plan in enumerate(result.plans, start=1) if names & _used_names(plan))


def _used_names(plan: PlanView) -> set[str]:
    names: set[str | None] = set()
    for p in plan.purchases:
        names |= {p.offer, p.provider, p.region, f"{p.provider}/{p.region}", p.country, p.operator_jurisdiction}
        names |= {p.instance_type, p.accelerator, p.purchase_option}
    for d in plan.deployments:
        names |= {d.model, d.precision, d.engine, d.accelerator, d.pool}
    for a in plan.api:
        names |= {a.api, a.provider, a.api.split("/", 1)[-1], a.api.split("@", 1)[0]}
    return {n.lower() for n in names if n}


def _answer(
    r: Reading, answer: Verdict, refused: Sequence[Rejected], result: Result, forced: ForcedPlan | None
) -> list[RenderableType]:
    """How the name was read, the main reason, then every group of refusals."""
    several = len(services(result)) > 1
    lines = [answer.text] if r.said is None else [r.said, answer.text]
    lines += [] if forced is None else [forced.text]
    groups = _alike(refused)
    lines += [_refusals(members, several) for members in groups[:MOST_SHOWN]]
    if len(groups) > MOST_SHOWN:
        rest = sum(r.count for members in groups[MOST_SHOWN:] for r in members)
        lines.append(f"and {rest:,} more refusals for other reasons (--format json lists all)")
    return [section("", lines, "·")]


def _alike(refused: Sequence[Rejected]) -> list[list[Rejected]]:
    """Refusals with the same failed checks together: what cannot work first, what another choice replaces last."""
    groups: dict[tuple[str, ...], list[Rejected]] = {}
    for r in refused:
        groups.setdefault(tuple(c.check for c in _once(r.checks)), []).append(r)

    def order(members: list[Rejected]) -> tuple[bool, list[int], int]:
        checks = members[0].checks
        weights = [KIND_ORDER.index(c.kind) for c in checks]
        return any(c.check == DOMINATED for c in checks), weights, -sum(r.count for r in members)

    return sorted(groups.values(), key=order)


def _once(checks: Sequence[Check]) -> list[Check]:
    """The first failure of every check (a latency is checked for each class)."""
    return list({c.check: c for c in reversed(checks)}.values())[::-1]


def _refusals(members: Sequence[Rejected], name_service: bool) -> str:
    """Which checks failed and how often; below it the first few with what was needed and what there was."""
    checks = _once(members[0].checks)
    count = sum(r.count for r in members)
    reasons = " and ".join(f"{_words(c)} [{shown_kind(c.check, c.kind)}]" for c in checks)
    lines = [f"{reasons}, {count:,} time{'s' if count > 1 else ''}:"]
    for r in members[:MOST_EXAMPLES]:
        where = f"{r.service or 'every service'}: " if name_service else ""
        found = _once(r.checks)
        numbers = [_numbers(c, named=len(found) > 1) for c in found]
        lines.append(f"– {where}{r.what}: {'; '.join(n for n in numbers if n)}".rstrip(": "))
    if count > len(members[:MOST_EXAMPLES]):
        lines.append(f"– and {count - len(members[:MOST_EXAMPLES]):,} more")
    return "\n".join(lines)


def _words(check: Check) -> str:
    return check.check.replace("_", " ")


def _numbers(check: Check, named: bool) -> str:
    words = needed_and_had(check)
    if not words:
        return check.detail or ""
    if check.check == DOMINATED:
        return f"replaced by {check.had}" + (f": {check.detail}" if check.detail else "")
    return f"{_words(check)} {words}" if named and check.check != "support" else words
