"""What a spec asks for and what could serve it, before anything is solved."""

from __future__ import annotations

from planner.base import Frozen
from planner.candidates.types import Problem
from planner.demand.types import Service
from planner.explain.infeasible import unservable
from planner.explain.refusals import group_refusals
from planner.explain.types import RefusalGroup
from planner.report.numbers import dump_json, quantity
from planner.report.table import WIDTH, refusal_table, render, section, table_of
from planner.spec.types import Spec
from planner.units import SECONDS_PER_HOUR


class ServiceSummary(Frozen):
    id: str
    workloads: tuple[str, ...]
    models: tuple[str, ...]
    classes: int
    mean_req_per_s: float
    """Mean over the month, all classes."""
    sizing_req_per_s: float
    """Largest over the slices, forecast margin included."""
    tokens_per_month: float
    candidates: int
    """Configurations in pools."""
    accelerators: tuple[str, ...]
    """Kinds that could serve it."""
    apis: tuple[str, ...]
    unservable: tuple[str, ...]
    """Classes that nothing can serve."""


class Summary(Frozen):
    """The answer of `planner check`."""

    name: str
    slices: dict[str, float]
    """Slice → hours per month."""
    services: tuple[ServiceSummary, ...]
    pools: int
    refused: tuple[RefusalGroup, ...]
    assumptions: tuple[str, ...]


def summarise(spec: Spec, problem: Problem) -> Summary:
    """Workloads, services, slices, demand, candidates and refusals of a problem."""
    lost = unservable(problem)
    return Summary(
        name=spec.name,
        slices={s.id: s.hours_per_month for s in problem.demand.slices},
        services=tuple(
            _service(s, problem, tuple(c.keys[1] for c in lost if c.keys[0] == s.id)) for s in problem.demand.services
        ),
        pools=len(problem.pools),
        refused=group_refusals(problem.rejected),
        assumptions=problem.assumptions,
    )


def _service(service: Service, problem: Problem, lost: tuple[str, ...]) -> ServiceSummary:
    hours = [s.hours_per_month for s in problem.demand.slices]
    total = sum(hours)
    margin = problem.policy.headroom.forecast_margin
    means = {c.id: sum(r * h for r, h in zip(c.mean_req_per_s, hours, strict=True)) / total for c in service.classes}
    peaks = [margin * sum(c.sizing_req_per_s[i] for c in service.classes) for i in range(len(hours))]
    own = [c for c in problem.candidates if c.service == service.id]
    return ServiceSummary(
        id=service.id,
        workloads=service.workloads,
        models=service.models,
        classes=len(service.classes),
        mean_req_per_s=sum(means.values()),
        sizing_req_per_s=max(peaks, default=0.0),
        tokens_per_month=sum(
            means[c.id] * total * SECONDS_PER_HOUR * (c.input_tokens + c.output_tokens) for c in service.classes
        ),
        candidates=len(own),
        accelerators=tuple(sorted({c.capability.config.accelerator for c in own})),
        apis=tuple(sorted({a.api for a in problem.apis if a.service == service.id})),
        unservable=lost,
    )


def plural(count: int, word: str) -> str:
    """`1 slice`, `2 slices`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def check_text(summary: Summary, format_: str, colour: bool = False) -> str:
    """The summary as `table` or `json`."""
    if format_ == "json":
        return dump_json(summary.model_dump(mode="json"))
    from rich.console import Group, RenderableType

    count = len(summary.services)
    parts: list[RenderableType] = [
        f"{summary.name}: the spec is sound. {plural(count, 'service')}, {plural(len(summary.slices), 'slice')}, "
        + plural(summary.pools, "usable pool"),
        "",
    ]
    table = table_of(
        "Services", "service<", "models~", "mean\nreq/s>", "sizing\nreq/s>", "M tokens\n/month>", "candidates>",
        "accelerators>", "APIs>",
    )  # fmt: skip
    for s in summary.services:
        table.add_row(
            s.id, ", ".join(s.models), quantity(s.mean_req_per_s), quantity(s.sizing_req_per_s),
            quantity(s.tokens_per_month / 1e6), f"{s.candidates:,}", str(len(s.accelerators)), str(len(s.apis)),
        )  # fmt: skip
    parts += [table, ""]
    for s in summary.services:
        if s.accelerators:
            parts.append(section(f"{s.id} could run on", [", ".join(s.accelerators)]))
        if s.apis:
            parts.append(section(f"{s.id} could call", [", ".join(s.apis)]))
        parts.append("")
    parts.append(section("Slices", [", ".join(f"{k} {v:.0f} h/month" for k, v in summary.slices.items())]))
    if summary.assumptions:
        parts += ["", section("Assumptions", summary.assumptions, "·")]
    if summary.refused:
        parts += ["", refusal_table(summary.refused)]
    return render(Group(*parts), WIDTH, colour)
