"""Why a line of the plan is there: its cost, what runs on it, why so many, what rules say, what else could serve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from planner.explain.binding import SENTENCES
from planner.report.layout import output_width, render, section
from planner.report.numbers import dump_json, percent, quantity, usd
from planner.report.types import ApiView, DeploymentView, PlanView, PossibleView, PurchaseView, Result
from planner.report.words import parallelism, pool_of, slice_names, span
from planner.units import SECONDS_PER_HOUR

MOST_OTHERS = 3
"""Other choices named of a service."""


Line = PurchaseView | DeploymentView | ApiView


@dataclass(frozen=True, slots=True)
class Told:
    """A line of the plan with its reasons."""

    line: str
    reasons: tuple[str, ...]


def find_lines(plan: PlanView, wanted: str) -> list[Line]:
    """Lines of the plan that a word names: a position (purchases, deployments, APIs, from 1) or a part of a name."""
    lines = _lines(plan)
    if wanted.strip().isdigit():
        number = int(wanted)
        return lines[number - 1 : number] if number >= 1 else []
    word = wanted.strip().lower()
    return [line for line in lines if word and word in _names(line)]


def line_names(plan: PlanView) -> tuple[str, ...]:
    """How every line may be asked for, in order."""
    return tuple(_title(line) for line in _lines(plan))


def why_text(result: Result, position: int, words: Sequence[str], format_: str, colour: bool = False) -> str:
    """The reasons of every line that the words name, as `table` or `json`."""
    plan = result.plans[position - 1]
    told = {w: [why_line(result, position, line) for line in find_lines(plan, w)] for w in words}
    if format_ == "json":
        return dump_json({w: [{"line": t.line, "reasons": list(t.reasons)} for t in ts] for w, ts in told.items()})
    parts: list[RenderableType] = []
    for lines in told.values():
        for t in lines:
            parts += [Text(f"Why {t.line}?", style="bold"), section("", t.reasons, "·"), ""]
    return render(Group(*parts), output_width(), colour)


def why_line(result: Result, position: int, line: Line) -> Told:
    """What a line costs, what it is for, what binds, which rules touch it, and the next choices."""
    plan = result.plans[position - 1]
    if isinstance(line, PurchaseView):
        reasons = _purchase(line, plan, result)
    elif isinstance(line, DeploymentView):
        reasons = _deployment(line, plan, result)
    else:
        reasons = _api(line, plan, result)
    return Told(_title(line), tuple(reasons))


def _names(line: Line) -> str:
    if isinstance(line, PurchaseView):
        return f"{line.offer} {line.accelerator}".lower()
    if isinstance(line, DeploymentView):
        return f"{line.service} {line.model} {line.precision} {line.accelerator} {line.pool}".lower()
    return f"{line.workload} {line.api}".lower()


def _lines(plan: PlanView) -> list[Line]:
    return [*plan.purchases, *plan.deployments, *plan.api]


def _title(line: Line) -> str:
    if isinstance(line, PurchaseView):
        return f"{span(line.instances_by_slice.values())} × {line.offer}"
    if isinstance(line, DeploymentView):
        count = span(line.replicas_by_slice.values())
        return f"{count} × {line.model} {line.precision} {parallelism(line)} on {line.pool} for {line.service}"
    return f"{line.api} for {line.workload}"


def instance_hours(p: PurchaseView, result: Result) -> float:
    """Instance-hours of a mean month."""
    hours = {s.id: s.hours_per_month for s in result.slices}
    total = math.fsum(n * hours.get(s, 0.0) for s, n in p.instances_by_slice.items())
    return total / max(1, len({s.quarter for s in result.slices}))


def _purchase(p: PurchaseView, plan: PlanView, result: Result) -> list[str]:
    hours = instance_hours(p, result)
    share = p.usd_per_month / plan.cost.total_usd_per_month if plan.cost.total_usd_per_month > 0 else 0.0
    reasons = []
    if p.usd_per_hour is not None:
        plain = hours * p.usd_per_hour
        other = "" if math.isclose(plain, p.usd_per_month, rel_tol=1e-3, abs_tol=0.01) else _differs(p)
        reasons.append(
            f"it costs {usd(p.usd_per_month)} USD/month, {percent(share)} of the plan: {quantity(hours)} "
            f"instance-hours at {usd(p.usd_per_hour)} USD/h{other}; price {p.confidence}, {p.source}, as of {p.as_of}"
        )
    runs = [d for d in plan.deployments if d.pool == pool_of(p.offer) and d.spot == (p.purchase_option == "spot")]
    reasons += [
        f"it runs {span(d.replicas_by_slice.values())} replicas of {d.model} {d.precision} ({parallelism(d)}) for "
        f"{', '.join(d.workloads)}"
        for d in runs
    ]
    reasons += _binding(plan, {pool_of(p.offer), p.offer, *(d.service for d in runs)}, result)
    reasons += _rules(plan)
    return reasons + [line for s in dict.fromkeys(d.service for d in runs) for line in _others(result, s, {p.offer})]


def _differs(p: PurchaseView) -> str:
    return ", with what stands in while spot is away" if p.spot is not None else ", and what is charged beside it"


def _deployment(d: DeploymentView, plan: PlanView, result: Result) -> list[str]:
    reasons = [f"it serves {', '.join(d.workloads)}"]
    capacity = d.predicted.capacity_req_per_s_per_replica
    peak = max(
        (math.fsum(x.sizing_req_per_s for x in result.demand if x.slice == s.id and x.workload in d.workloads)
         for s in result.slices), default=0.0,
    )  # fmt: skip
    if capacity:
        reasons.append(
            f"a replica carries {quantity(capacity)} req/s inside the promises ({d.predicted.provenance}); the busiest "
            f"hour is sized at {quantity(peak)} req/s, which takes {quantity(peak / capacity)} such replicas alone"
        )
    if d.predicted.utilization_mean is not None and d.predicted.utilization_peak is not None:
        reasons.append(
            f"its replicas are busy {percent(d.predicted.utilization_mean)} of the time, "
            f"{percent(d.predicted.utilization_peak)} in the busiest hour"
        )
    reasons += _binding(plan, {d.service, d.pool}, result) + _rules(plan)
    offers = {p.offer for p in plan.purchases if pool_of(p.offer) == d.pool}
    return reasons + _others(result, d.service, offers)


def _api(a: ApiView, plan: PlanView, result: Result) -> list[str]:
    hours = {s.id: s.hours_per_month for s in result.slices}
    quarters = max(1, len({s.quarter for s in result.slices}))
    requests = (
        SECONDS_PER_HOUR / quarters * math.fsum(r * hours.get(s, 0.0) for s, r in a.mean_req_per_s_by_slice.items())
    )
    wanted = (
        SECONDS_PER_HOUR
        / quarters
        * math.fsum(x.mean_req_per_s * hours.get(x.slice, 0.0) for x in result.demand if x.workload == a.workload)
    )
    reasons = [
        f"it takes {quantity(requests)} requests a month"
        + (f", {percent(requests / wanted)} of {a.workload}" if wanted > 0 else "")
        + f", for {usd(a.usd_per_month)} USD/month"
        + (f": {usd(1000 * a.usd_per_month / requests)} USD per 1,000 requests" if requests > 0 else "")
    ]
    services = [s.service for s in result.asked if a.workload in s.workloads]
    reasons += _binding(plan, {a.api, *services}, result) + _rules(plan)
    return reasons + [line for s in services for line in _others(result, s, {a.api})]


def _binding(plan: PlanView, names: Iterable[str], result: Result) -> list[str]:
    """Limits without room that are about it: why not one less, or one more."""
    wanted, slices = set(names), slice_names(result.slices)
    found: dict[str, str] = {}
    for b in plan.explanation.binding:
        keys = {k for key in b.keys for k in (key, key.split("/")[0])}
        if keys & wanted:
            where = ", ".join(slices.get(k, k) for k in b.keys)
            found.setdefault(b.family, f"{b.family}: {SENTENCES.get(b.family, 'no slack')} ({where})")
    return list(found.values())


def _rules(plan: PlanView) -> list[str]:
    """Rules that make the plan dearer, where their prices were asked."""
    return [f"a rule stands behind it: {p.text}" for p in plan.explanation.rule_prices if p.verdict == "costs"]


def _others(result: Result, service: str, used: set[str]) -> list[str]:
    """The next choices of a service by price when full; dearer for this demand or left out by a rule of counts."""
    rows = [p for p in result.possible if p.service == service and p.usd_per_1000_requests is not None]
    own = min((p for p in rows if p.offer in used), key=_price, default=None)
    others: dict[str, PossibleView] = {}
    for p in sorted(rows, key=_price):
        if p.offer not in used:
            others.setdefault(p.offer, p)
    lines = []
    if own is not None:
        lines.append(f"when full it serves {service} for {usd(_price(own))} USD per 1,000 requests")
    for p in list(others.values())[:MOST_OTHERS]:
        lines.append(f"another choice for {service}: {p.offer}, {usd(_price(p))} USD per 1,000 requests when full")
    return lines


def _price(p: PossibleView) -> float:
    return math.inf if p.usd_per_1000_requests is None else p.usd_per_1000_requests
