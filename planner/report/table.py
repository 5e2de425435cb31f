"""The result as tables for a terminal of at most 100 columns (the JSON is the contract, this is not)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base import Check
from planner.explain.refusals import DOMINATED, group_refusals, shown_kind
from planner.explain.types import IDLE, STILL, Conflict, Infeasibility, RefusalGroup
from planner.report.detail import footnotes, plan_details
from planner.report.layout import WIDTH, FittedTable, render, section, table_of
from planner.report.numbers import percent, quantity, usd
from planner.report.types import BaselineView, PlanView, Result
from planner.report.words import headline_parts, versus

SHORT_UNITS = (" ms",)
"""Units that are repeated after what there was."""
MOST_GROUPS = 8
"""Refusal groups shown; the rest is counted."""


def result_table(result: Result, width: int = WIDTH, colour: bool = False, explain: bool = True) -> str:
    """The whole result: headline, ranking, the winner in detail, baselines, refusals."""
    parts: list[RenderableType] = [headline(result), ""]
    if result.plans:
        parts += [ranking(result), *footnotes([*spot_capacity_notes(result), *result.notes]), ""]
        if len(result.plans) > 1:
            parts += [section("What the others buy", differences(result), "·"), ""]
        parts += plan_details(result, 1, explain)
    if result.infeasibility is not None:
        parts += [conflicts(result.infeasibility), ""]
    if result.baselines:
        parts += [baselines(result.baselines, result.plans), ""]
    if result.rejected:
        parts += [refusals(result), ""]
    parts.append(Text(stamp(result), style="dim"))
    return render(Group(*parts), width, colour)


def headline(result: Result, position: int = 1) -> Text:
    """One sentence on the plan at a position (from 1): what to buy, for how much, how sure."""
    name, decision, certainty = headline_parts(result, position)
    text = Text()
    text.append(f"{name}: ", style="bold")
    text.append(decision, style="bold" if result.plans else "bold red")
    if certainty:
        text.append(f", {certainty}")
    return text


def ranking(result: Result) -> FittedTable:
    """All plans, one line each, comparable at a glance."""
    table = table_of(
        "Ranked plans", "rank>", "plan~", "USD/month>", "vs best>", "gap>4", "committed\nUSD>1", "spot\ncapacity>2",
        "API\nUSD/month>3", "head-\nroom>5",
    )  # fmt: skip
    for row in ranking_rows(result):
        table.add_row(*row)
    return table


def ranking_rows(result: Result) -> list[tuple[str, ...]]:
    """Of every plan: rank, title, USD/month, vs best, gap, committed USD, spot capacity, API USD/month, head-room."""
    best = result.plans[0].cost.total_usd_per_month if result.plans else 0.0
    return [
        (
            str(p.rank), p.title, usd(p.cost.total_usd_per_month),
            "tie" if p.tie else versus(p.cost.total_usd_per_month, best), percent(p.gap), usd(p.axes.committed_usd),
            percent(p.axes.spot_share), usd(p.axes.api_usd_per_month),
            "any" if p.axes.headroom is None else f"{p.axes.headroom:.2f}×",
        )
        for p in result.plans
    ]  # fmt: skip


def spot_capacity_notes(result: Result) -> list[str]:
    """Why spot capacity may be above the limit on spot; nothing where it is not."""
    limit = result.policy.max_spot_share
    if limit is None or all(p.axes.spot_share <= limit + 1e-9 for p in result.plans):
        return []
    words = (
        "spot capacity counts all spot replicas, spare ones too, against the peak of demand; the limit of "
        f"{percent(limit)} is on the demand that they serve, and every plan keeps it"
    )
    return [words]


def differences(result: Result) -> list[str]:
    """What the extra money of every further plan buys, or what is different in it."""
    best = result.plans[0].cost.total_usd_per_month
    lines = []
    for p in result.plans[1:]:
        tie = " (a tie: the difference is below the proven gap)" if p.tie else ""
        what = f": {'; '.join(p.buys)}" if p.buys else ""
        lines.append(f"{p.title}, {versus(p.cost.total_usd_per_month, best)}{tie}{what}")
    return lines


def baselines(rows: Iterable[BaselineView], plans: tuple[PlanView, ...]) -> FittedTable:
    """What the obvious alternatives cost, and which promises they break."""
    table = table_of("Baselines", "what<", "USD/month>", "vs best>1", "fails~")
    for row in baseline_rows(rows, plans):
        table.add_row(*row)
    return table


def baseline_rows(rows: Iterable[BaselineView], plans: tuple[PlanView, ...]) -> list[tuple[str, ...]]:
    """Of every baseline: what, USD/month, vs best, fails."""
    best = plans[0].cost.total_usd_per_month if plans else 0.0
    found: list[tuple[str, ...]] = []
    for row in rows:
        open_ = row.cost is not None and not row.proven
        notes = (*row.failures, *(("best found in the time limit, not proven",) if open_ else ()))
        found.append((
            row.name.replace("_", " "), "–" if row.cost is None else ("≤ " if open_ else "") + usd(row.cost),
            "–" if row.cost is None or not plans else versus(row.cost, best), "; ".join(notes) or "–",
        ))  # fmt: skip
    return found


def refusals(result: Result, most: int = MOST_GROUPS) -> RenderableType:
    """Why the other choices are not candidates: counts by reason, each with one example."""
    return refusal_table(group_refusals(result.rejected), most)


def refusal_table(groups: Sequence[RefusalGroup], most: int = MOST_GROUPS) -> RenderableType:
    """Groups of refusals, the largest first; beyond `most` they are only counted."""
    title = "Not possible (planner explain --why-not NAME says more)"
    table = table_of(title, "count>", "reason<", "kind<1", "for example~")
    for g in groups[:most]:
        table.add_row(f"{g.count:,}", g.check.replace("_", " "), shown_kind(g.check, g.kind), example(g))
    if len(groups) > most:
        rest = sum(g.count for g in groups[most:])
        return Group(table, Text(f"  and {rest:,} more for {len(groups) - most} other reasons", style="dim"))
    return table


def example(g: RefusalGroup) -> str:
    """What was refused, what it needed and what there was."""
    if g.check == DOMINATED:
        return f"{g.example} by {_value(g.example_check.had)}"
    words = needed_and_had(g.example_check)
    return f"{g.example}: {words}" if words else g.example


def needed_and_had(check: Check) -> str:
    """What a check needed and what there was; a rule of the catalog in its own words; empty where neither is known."""
    if check.check == "support":
        return check.detail or ""
    if check.needed is None and check.had is None:
        return ""
    unit = f" {check.unit}" if check.unit else ""
    had = _value(check.had) + (unit if unit in SHORT_UNITS and isinstance(check.had, float) else "")
    return f"needed {_value(check.needed)}{unit}, had {had}"


def _value(value: float | str | None) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else quantity(value)


def conflicts(i: Infeasibility) -> RenderableType:
    """Limits that cannot be kept, and what would suffice."""
    return section("Conflicts", conflict_lines(i), "·")


def conflict_lines(i: Infeasibility) -> list[str]:
    """One line per conflict, per relaxation that suffices, per change that does not, per configuration that fits."""
    lines = [_conflict(c) for c in i.conflicts]
    for r in i.relaxations:
        what = f"{len(r.changes)} changes" if len(r.changes) > 1 else "1 change"
        cheap = ", less strict but cheaper" if r.kind == "cheap" else ""
        lines.append(
            f"would suffice ({what}{cheap}): {'; '.join(r.changes)}; then the cheapest plan is "
            f"{usd(r.total_usd_per_month)} USD/month"
        )
    idle = [n.removesuffix(f": {IDLE}") for n in i.no_help if n.endswith(IDLE)]
    if idle:
        lines.append(f"does not help at all, {IDLE}: {'; '.join(idle)}")
    still = [n.removesuffix(f": {STILL}") for n in i.no_help if n.endswith(STILL)]
    if still:
        lines.append(f"alone does not help, {STILL}: {'; '.join(still)}")
    lines += [f"alone does not help: {n}" for n in i.no_help if not n.endswith((IDLE, STILL))]
    lines += [f"would fit: {n}" for n in i.nearest]
    return lines or ["none found"]


def _conflict(c: Conflict) -> str:
    if c.text is not None:
        return c.text
    short = "has no candidate at all" if c.short_by is None else f"is short by {quantity(c.short_by)} {c.unit or ''}"
    who = f" for {', '.join(c.classes)}" if c.classes else ""
    relax = f" → {c.relax}" if c.relax else ""
    return f"{c.family} [{', '.join(c.keys)}] {short.rstrip()}{who}{relax}"


def stamp(result: Result) -> str:
    """What made the result: versions, solver, seed, catalog, spec."""
    p = result.provenance
    clock = "" if result.deterministic else " · stopped by the clock, another run may differ"
    return (
        f"planner {p.planner} · {p.solver} (OR-Tools {p.ortools}) seed {p.seed} · catalog {p.catalog.name} "
        f"{p.catalog.as_of} · spec {p.spec_sha256[:12]}{clock}"
    )
