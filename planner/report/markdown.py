"""The result as a Markdown page to review: decision, ranking, the winner in detail, risks, baselines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.report.detail import cost_lines, decisions, explanation_sections, machine, spot_notes
from planner.report.flat import mean_rate
from planner.report.numbers import quantity, usd
from planner.report.table import (
    baseline_rows,
    conflict_lines,
    differences,
    ranking_rows,
    spot_capacity_notes,
    stamp,
)
from planner.report.types import PlanView, Result
from planner.report.words import (
    changes,
    headline_parts,
    parallelism,
    place,
    quarters_of,
    running,
    slice_names,
    span,
)

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|#"})


def result_markdown(result: Result, explain: bool = True) -> str:
    """The page; names are escaped, so that none is read as markup."""
    name, decision, certainty = headline_parts(result)
    blocks = [f"# {escape(name)}", f"**{escape(decision)}**" + (f", {escape(certainty)}." if certainty else ".")]
    if result.plans:
        best = result.plans[0]
        blocks += ["## Ranked plans", _ranking(result)]
        blocks += [bullets([*spot_capacity_notes(result), *result.notes])]
        blocks += _titled("### What the others buy", differences(result))
        blocks += [f"## {escape(best.title)}", *_plan(best, result)]
        if explain:
            for title, lines in explanation_sections(best, slice_names(result.slices)):
                blocks += _titled(f"## {title}", lines)
    if result.infeasibility is not None:
        blocks += _titled("## Conflicts", conflict_lines(result.infeasibility))
    if result.baselines:
        blocks += ["## Baselines", _baselines(result)]
    blocks += _titled("## Assumptions", result.provenance.assumptions)
    blocks.append(f"---\n\n{escape(stamp(result))}")
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """Text without a character that Markdown would read as markup."""
    return " ".join(text.split()).translate(_SPECIAL)


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [title, bullets(lines)] if lines else []


def bullets(lines: Iterable[str]) -> str:
    """A list, a line each, escaped."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a column whose head ends with `>` is set right."""
    heads = [escape(c.removesuffix(">")) for c in columns]
    rules = ["---:" if c.endswith(">") else "---" for c in columns]
    lines = [heads, rules, *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ranking(result: Result) -> str:
    columns = ("rank>", "plan", "USD/month>", "vs best>", "gap>", "committed USD>", "spot capacity>", "API USD/month>",
               "head-room>")  # fmt: skip
    return table(columns, ranking_rows(result))


def _plan(plan: PlanView, result: Result) -> list[str]:
    """What the plan buys, deploys and calls, when, and what it costs."""
    blocks = []
    if plan.purchases:
        several = quarters_of(plan.purchases) > 1
        columns = ("count>", "machine", "each", "how", "country", "operator", "USD/h>", "USD/month>", "price")
        blocks += ["### Buy", table(columns, [
            (
                span(running(p)), machine(p, several).replace("\n", ", "),
                f"{p.accelerators_per_instance} × {p.accelerator}", p.purchase_option, p.country or "?",
                p.operator_jurisdiction or "?", "–" if p.usd_per_hour is None else usd(p.usd_per_hour),
                usd(p.usd_per_month), f"{p.confidence}, {p.as_of}",
            )
            for p in plan.purchases
        ]), bullets(spot_notes(plan.purchases))]  # fmt: skip
        blocks += _titled("### Decide", decisions(plan))
    if plan.deployments:
        columns = ("count>", "model", "precision", "engine", "accelerator", "place", "TTFT p95 ms>", "TPOT p95 ms>",
                   "speed")  # fmt: skip
        blocks += ["### Deploy", table(columns, [
            (
                span(d.replicas_by_slice.values()), d.model, d.precision, f"{d.engine} {parallelism(d)}",
                d.accelerator + (" spot" if d.spot else ""), place(plan, d.pool),
                _whole(d.predicted.ttft_p95_ms), _whole(d.predicted.tpot_p95_ms), d.predicted.provenance,
            )
            for d in plan.deployments
        ])]  # fmt: skip
    blocks += _titled("### When", changes(plan, result.slices))
    if plan.api:
        hours = {s.id: s.hours_per_month for s in result.slices}
        heads = ("API", "workload", "mean req/s>", "peak req/s>", "USD/month>", "price")
        blocks += ["### Call", table(heads, [
            (
                a.api, a.workload, quantity(mean_rate(a.mean_req_per_s_by_slice, hours)),
                quantity(max(a.peak_req_per_s_by_slice.values(), default=0.0)), usd(a.usd_per_month),
                a.confidence or "–",
            )
            for a in plan.api
        ])]  # fmt: skip
    return [*blocks, *_titled("### Cost", cost_lines(plan, result))]


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _baselines(result: Result) -> str:
    return table(("what", "USD/month>", "vs best>", "fails"), baseline_rows(result.baselines, result.plans))
