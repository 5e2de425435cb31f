"""The review page of a result: recommendation, decisions, ranking, cost, capacity, sensitivity, sources, refusals.

Every number is one of the result's, or the sum or product that its caption states, written as the terminal writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.explain.refusals import DOMINATED, group_refusals, shown_kind
from planner.explain.types import VolumeCurve
from planner.report.detail import cost_lines, explanation_sections, spot_notes
from planner.report.flat import mean_rate
from planner.report.numbers import percent, quantity, usd
from planner.report.page import Block, Bullets, Heading, Page, Paragraph, Section, Table
from planner.report.review_facts import begins, committed_usd, needs_signature
from planner.report.review_figures import break_even, capacity, cost_figures, fronts, place_figures, tornado
from planner.report.table import (
    baseline_rows,
    conflict_lines,
    differences,
    example,
    ranking_rows,
    spot_capacity_notes,
    stamp,
)
from planner.report.types import DeploymentView, PlanView, PurchaseView, Result
from planner.report.words import (
    buys,
    certainty,
    changes,
    headline_parts,
    parallelism,
    place,
    running,
    slice_names,
    span,
    versus,
)

RANKED = ("rank>", "plan", "USD/month>", "vs best>", "gap>", "committed USD>", "spot capacity>", "API USD/month>",
          "head-room>")  # fmt: skip
"""Heads of the ranked table, as in the terminal."""
NOT_FULL = "The result was made without --explain full, so this was not worked out."


def review_page(result: Result, curve: VolumeCurve | None = None) -> Page:
    """The page of a result; `curve` is the answer of `planner breakeven` for the same spec."""
    sections: list[Section] = []
    if result.infeasibility is not None:
        lines = Bullets(tuple(conflict_lines(result.infeasibility)))
        sections.append(Section("conflicts", "What conflicts, and what would suffice", (lines,)))
    if result.plans:
        best = result.plans[0]
        sections += [
            Section("decisions", "Decisions", _decisions(result, best)),
            Section("ranked", "Ranked plans", _ranked(result)),
            Section("cost", "Cost", (*cost_figures(result), Bullets(tuple(cost_lines(best, result))))),
            Section("capacity", "Demand against capacity", capacity(result, best)),
            Section("fronts", "What cost buys", fronts(result)),
            Section("sensitivity", "What the cost hangs on", _or_note(tornado(best))),
            Section("break-even", "Break-even", break_even(best, curve)),
            Section("places", "Where data and operators are", place_figures(best)),
            Section("deployments", "What runs", _runs(result, best)),
            Section("why", "Why this plan", _why(result, best)),
        ]
    if result.baselines:
        heads = ("what", "USD/month>", "vs best>", "fails")
        rows = tuple(baseline_rows(result.baselines, result.plans))
        table = Table("What the obvious alternatives cost, and which promises they break", heads, rows)
        sections.append(Section("baselines", "Baselines", (table,)))
    sections.append(Section("assumptions", "Assumptions and sources", _assumptions(result)))
    if result.rejected:
        sections.append(Section("rejected", "Rejected options", _rejected(result)))
    return Page(result.name, result.status, recommendation(result), tuple(sections), stamp(result))


def recommendation(result: Result) -> tuple[str, ...]:
    """Three sentences: what to buy for how much, how sure that is, and what comes next."""
    if not result.plans:
        return _without_plan(result)
    best = result.plans[0]
    decision = f"{_capital(buys(best))}, for {usd(best.cost.total_usd_per_month)} USD/month."
    commits = "It commits to nothing that cannot be cancelled"
    if best.axes.committed_usd:
        commits = f"It commits {usd(best.axes.committed_usd)} USD that cannot be cancelled"
    if len(result.plans) == 1:
        return decision, f"{_capital(certainty(best))}.", f"{commits}; no plan of another kind was found."
    other = result.plans[1]
    change = versus(other.cost.total_usd_per_month, best.cost.total_usd_per_month)
    change = "a tie" if other.tie else "the same" if change == "=" else change
    what = f": {'; '.join(other.buys)}" if other.buys else ""
    next_best = f"the next plan, {other.title}, costs {usd(other.cost.total_usd_per_month)} USD/month ({change}){what}"
    return decision, f"{_capital(certainty(best))}.", f"{commits}; {next_best}."


def _without_plan(result: Result) -> tuple[str, ...]:
    if result.status == "undecided":
        limit = quantity(result.provenance.limits.time_limit_s)
        return (
            f"No plan was found in the time limit of {limit} s.",
            "That proves nothing: there may be plans.",
            "Solve it again with a longer --time-limit.",
        )
    found = result.infeasibility
    conflicts = len(found.conflicts) if found else 0
    named = f"{conflicts} limit{'s' if conflicts != 1 else ''} of the spec cannot be kept together."
    if found is None or not found.relaxations:
        return "No plan exists: that is proven.", named, "No change was found that makes a plan possible."
    first = found.relaxations[0]
    words = f"{'; '.join(first.changes)}; then the cheapest plan is {usd(first.total_usd_per_month)} USD/month."
    return "No plan exists: that is proven.", named, f"This would suffice: {words}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _or_note(blocks: Sequence[Block]) -> tuple[Block, ...]:
    return tuple(blocks) or (Paragraph(NOT_FULL),)


def _decisions(result: Result, plan: PlanView) -> tuple[Block, ...]:
    """What has to be signed by when, and what may wait."""
    rows: list[tuple[str, ...]] = [_purchase_row(result, p) for p in sorted(plan.purchases, key=_by_weight)]
    rows += [
        (
            "agree on", f"API {a.api} for {a.workload}", "–", begins(result, 0.0), "pay per use", "0",
            usd(a.usd_per_month), "now",
        )
        for a in plan.api
    ]  # fmt: skip
    heads = ("do", "what", "count>", "by", "how", "committed USD>", "USD/month>", "when decided")
    caption = (
        "What has to be done by which day. “By” is the day on which it must stand ready; lead times of sellers are not "
        "included. Committed: instances × USD/h × 730 h × months of the term."
    )
    notes = ["tentative: to be decided again when its time comes, with the figures of then"]
    if not any(p.tentative for p in plan.purchases):
        notes = []
    return (Table(caption, heads, tuple(rows)), *([Bullets(tuple(notes))] if notes else []),
            *_bullets(changes(plan, result.slices), "When it runs"))  # fmt: skip


def _by_weight(p: PurchaseView) -> tuple[bool, float, float]:
    return not needs_signature(p), p.start_month, -p.usd_per_month


def _purchase_row(result: Result, p: PurchaseView) -> tuple[str, ...]:
    committed = committed_usd(p)
    verb = "sign" if needs_signature(p) else "nothing to sign" if p.existing else "rent"
    if p.purchase_option == "owned":
        verb = "use"
    verb = f"expect to {verb}" if p.tentative and not p.existing else verb
    how = p.purchase_option + (f", {p.term_months} months" if p.term_months else "")
    how += f", until {p.end_date}" if p.end_date else ""
    day = "runs already" if p.existing else p.start_date or begins(result, p.start_month)
    return (
        verb, p.offer, span(running(p)), day, how,
        "–" if committed is None else usd(committed), usd(p.usd_per_month),
        "before" if p.existing else "tentative" if p.tentative else "now",
    )  # fmt: skip


def _bullets(lines: Iterable[str], title: str) -> list[Block]:
    found = tuple(lines)
    return [Heading(title), Bullets(found)] if found else []


def _ranked(result: Result) -> tuple[Block, ...]:
    caption = (
        "All plans, the cheapest first. Gap: how much cheaper any plan could still be. Committed: money of the terms "
        "that cannot be cancelled. Head-room: multiple of the planned demand that is still served."
    )
    return (
        Table(caption, RANKED, tuple(ranking_rows(result))),
        *_bullets(differences(result), "What the others buy"),
        *_bullets([*spot_capacity_notes(result), *result.notes], "Notes"),
    )


def _runs(result: Result, plan: PlanView) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if plan.deployments:
        heads = ("count>", "model", "precision", "engine", "accelerator", "place", "req/s each>", "TTFT p95 ms>",
                 "TPOT p95 ms>", "busy at peak>", "speed")  # fmt: skip
        caption = "Replicas of the first plan, and what is predicted of each"
        blocks.append(Table(caption, heads, tuple(_deployment_row(plan, d) for d in plan.deployments)))
    if plan.api:
        hours = {s.id: s.hours_per_month for s in result.slices}
        calls = tuple(
            (
                a.api, a.workload, quantity(mean_rate(a.mean_req_per_s_by_slice, hours)),
                quantity(max(a.peak_req_per_s_by_slice.values(), default=0.0)), usd(a.usd_per_month),
            )
            for a in plan.api
        )  # fmt: skip
        blocks.append(
            Table(
                "APIs that the first plan calls", ("API", "workload", "mean req/s>", "peak req/s>", "USD/month>"), calls
            )
        )
    return tuple(blocks)


def _deployment_row(plan: PlanView, d: DeploymentView) -> tuple[str, ...]:
    p = d.predicted
    each = p.capacity_req_per_s_per_replica
    return (
        span(d.replicas_by_slice.values()), d.model, d.precision, f"{d.engine} {parallelism(d)}",
        d.accelerator + (" spot" if d.spot else ""), place(plan, d.pool), "–" if each is None else quantity(each),
        _whole(p.ttft_p95_ms), _whole(p.tpot_p95_ms),
        "–" if p.utilization_peak is None else percent(p.utilization_peak), p.provenance,
    )  # fmt: skip


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _why(result: Result, plan: PlanView) -> tuple[Block, ...]:
    told = explanation_sections(plan, slice_names(result.slices))
    blocks = [block for title, lines in told for block in _bullets(lines, title)]
    if not plan.explanation.rule_prices:
        blocks += [Heading("What rules cost"), Paragraph(NOT_FULL)]
    return tuple(blocks)


def _assumptions(result: Result) -> tuple[Block, ...]:
    """What was assumed, then every price of every plan, and every speed, with where it is from."""
    c = result.provenance.catalog
    blocks: list[Block] = [
        Paragraph(f"Catalog {c.name}, as of {c.as_of}, digest {c.sha256[:12]}. A month is 730 hours."),
    ]
    if result.provenance.assumptions:
        blocks.append(Bullets(tuple(result.provenance.assumptions)))
    users: dict[tuple[str, ...], list[str]] = {}
    for n, plan in enumerate(result.plans, start=1):
        rows: list[tuple[str, ...]] = [
            (
                p.offer, "–" if p.usd_per_hour is None else f"{usd(p.usd_per_hour)} USD/h", p.confidence, p.source,
                p.as_of,
            )
            for p in plan.purchases
        ]  # fmt: skip
        rows += [(a.api, "by token", a.confidence or "–", f"catalog {c.name}", c.as_of) for a in plan.api]
        rows += [
            (
                f"{d.model}/{d.precision}/{d.engine}/{d.accelerator} {parallelism(d)}", "speed", d.predicted.provenance,
                f"true time {d.predicted.error_band[0]:.2f}× to {d.predicted.error_band[1]:.2f}× of it", c.as_of,
            )
            for d in plan.deployments
        ]  # fmt: skip
        for row in rows:
            used = users.setdefault(row, [])
            if str(n) not in used:
                used.append(str(n))
    if users:
        heads = ("of", "what", "confidence", "source", "as of", "in plans")
        table = tuple((*row, ", ".join(plans)) for row, plans in users.items())
        blocks.append(Table("Prices and speeds that the plans rest on", heads, table))
    blocks += [Paragraph(spot_note) for spot_note in (spot_notes(result.plans[0].purchases) if result.plans else [])]
    return tuple(blocks)


def _rejected(result: Result) -> tuple[Block, ...]:
    rows = tuple(
        (
            f"{g.count:,}", g.check.replace("_", " "), shown_kind(g.check, g.kind),
            g.service or "every service", example(g),
        )
        for g in group_refusals(result.rejected)
    )  # fmt: skip
    caption = "Why the other choices are not in the plans: how many, and one example with what was needed and had"
    note = f"planner explain RESULT --why-not NAME says it of one name. {DOMINATED.replace('_', ' ').capitalize()}: "
    note += "another choice does at least as much for no more money."
    return Table(caption, ("count>", "reason", "kind", "service", "for example"), rows), Paragraph(note)


def title_of(result: Result) -> str:
    """Name and decision, for a window's title."""
    name, decision, _ = headline_parts(result)
    return f"{name}: {decision}"
