"""Explanations as text: one plan in full, or why names are not used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base import Check
from planner.candidates.types import Rejected
from planner.explain.refusals import why_not
from planner.report.numbers import dump_json, quantity
from planner.report.table import WIDTH, baselines, conflicts, headline, plan_details, refusals, render, section
from planner.report.types import PlanView, Result

MOST_SHOWN = 20


def plan_text(result: Result, number: int | None, format_: str, colour: bool = False) -> str:
    """The plan at a position (from 1) with its explanation; without a plan what conflicts."""
    plan = None if number is None else result.plans[number - 1]
    if format_ == "json":
        tree: dict[str, Any] = {"schema_version": result.schema_version, "status": result.status}
        tree["plan"] = None if plan is None else plan.model_dump(mode="json", by_alias=True)
        tree["infeasibility"] = None if result.infeasibility is None else result.infeasibility.model_dump(mode="json")
        return dump_json(tree)
    parts: list[RenderableType] = [headline(result), ""]
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
    return render(Group(*parts), WIDTH, colour)


def why_not_text(result: Result, names: Mapping[str, Collection[str]], format_: str, colour: bool = False) -> str:
    """For every name (→ its spellings): the plans that use it, and the refusals that concern it."""
    found = {name: (users(result, same), why_not(result.rejected, same)) for name, same in names.items()}
    if format_ == "json":
        return dump_json(
            {
                name: {"used_by_plans": list(ranks), "rejected": [r.model_dump(mode="json") for r in refused]}
                for name, (ranks, refused) in found.items()
            }
        )
    parts: list[RenderableType] = []
    for name, (ranks, refused) in found.items():
        parts += [Text(f"Why not {name}?", style="bold"), *_answer(name, ranks, refused, result), ""]
    return render(Group(*parts), WIDTH, colour)


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
        names |= {d.model, d.precision, d.kv_precision, d.engine, d.accelerator, d.pool}
    for a in plan.api:
        names |= {a.api, a.provider, a.api.split("/", 1)[-1], a.api.split("@", 1)[0]}
    return {n.lower() for n in names if n}


def _answer(name: str, ranks: Sequence[int], refused: Sequence[Rejected], result: Result) -> list[RenderableType]:
    lines = []
    if ranks:
        lines.append(f"it is used by plan{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}")
    for r in refused[:MOST_SHOWN]:
        times = f" ({r.count:,} times)" if r.count > 1 else ""
        where = f"{r.service}: " if r.service and len({d.workload for d in result.demand}) > 1 else ""
        lines.append(f"{where}{r.what}{times}: " + "; ".join(_check(c) for c in r.checks))
    if len(refused) > MOST_SHOWN:
        lines.append(f"and {len(refused) - MOST_SHOWN:,} more refusals (--format json lists all)")
    if not lines:
        lines.append(
            f"nothing was refused because of {name} and no shown plan uses it: it is possible but dearer, "
            "or no offer of the catalog has it (planner catalog show)"
        )
    return [section("", lines, "·")]


def _value(value: float | str | None) -> str:
    return value if isinstance(value, str) else "nothing" if value is None else quantity(value)


def _check(check: Check) -> str:
    words = check.check.replace("_", " ")
    if check.needed is None and check.had is None:
        return f"{words} [{check.kind}]" + (f", {check.detail}" if check.detail else "")
    unit = f" {check.unit}" if check.unit else ""
    needed, had = _value(check.needed), _value(check.had)
    tail = f" ({check.detail})" if check.detail else ""
    return f"{words} [{check.kind}]: needed {needed}{unit}, had {had}{unit if had != 'nothing' else ''}{tail}"
