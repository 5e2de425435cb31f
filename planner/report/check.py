"""What a spec asks for and what could serve it, before anything is solved."""

from __future__ import annotations

from typing import Literal

from planner.base import CheckKind, Frozen
from planner.candidates.quotas import idle_quota_text
from planner.candidates.types import Problem
from planner.demand.types import Service
from planner.explain.infeasible import unservable
from planner.explain.refusals import group_refusals, main_reason
from planner.explain.risks import bursty_traffic
from planner.explain.types import RefusalGroup
from planner.report.layout import output_width, render, section, table_of
from planner.report.numbers import dump_json, quantity
from planner.report.table import example, refusal_table
from planner.spec.types import Spec
from planner.units import SECONDS_PER_MONTH

LEAST_PLAUSIBLE_MS: dict[Literal["ttft", "tpot"], float] = {"ttft": 5.0, "tpot": 1.0}
"""Limits below this are taken for a slip in the unit."""


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
    hurdles: dict[str, RefusalGroup]
    """Such a class → why: the refusal that came nearest, or the most common reason."""


class Summary(Frozen):
    """The answer of `planner check`."""

    name: str
    slices: dict[str, float]
    """Slice → hours per month."""
    slice_labels: dict[str, str]
    """Slice → what it is for people."""
    services: tuple[ServiceSummary, ...]
    pools: int
    refused: tuple[RefusalGroup, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Values that look like a slip, and traffic that rows alone do not size."""

    @property
    def unservable(self) -> tuple[str, ...]:
        """Classes of any service that nothing can serve: the spec is proven infeasible."""
        return tuple(c for s in self.services for c in s.unservable)


def slips(spec: Spec) -> tuple[str, ...]:
    """Latency limits so small that seconds were probably meant."""
    found = []
    for workload in spec.workloads:
        for metric, least_ms in LEAST_PLAUSIBLE_MS.items():
            limit = workload.slo.limit(metric)
            if limit is not None and limit[1] < least_ms:
                name, value = f"{metric}_{limit[0].value}_ms", f"{limit[1]:g}"
                found.append(f"{workload.name}: {name}: {value} is {value} ms; did you mean {value}s?")
    return tuple(found)


def summarise(spec: Spec, problem: Problem) -> Summary:
    """Workloads, services, slices, demand, candidates and refusals of a problem."""
    lost = unservable(problem)
    return Summary(
        name=spec.name,
        slices={s.id: s.hours_per_month for s in problem.demand.slices},
        slice_labels={s.id: s.label for s in problem.demand.slices},
        services=tuple(
            _service(s, problem, tuple(c.keys[1] for c in lost if c.keys[0] == s.id)) for s in problem.demand.services
        ),
        pools=len(problem.pools),
        refused=group_refusals(problem.rejected),
        assumptions=problem.assumptions,
        warnings=(
            *slips(spec),
            *(r.text for r in bursty_traffic(spec)),
            *(idle_quota_text(q) for q in problem.idle_quotas),
        ),
    )


def _service(service: Service, problem: Problem, lost: tuple[str, ...]) -> ServiceSummary:
    hours = [s.hours_per_month for s in problem.demand.slices]
    total = sum(hours)
    margin = problem.policy.headroom.forecast_margin
    means = {c.id: sum(r * h for r, h in zip(c.mean_req_per_s, hours, strict=True)) / total for c in service.classes}
    peaks = [margin * sum(c.sizing_req_per_s[i] for c in service.classes) for i in range(len(hours))]
    own = [c for c in problem.candidates if c.service == service.id]
    refused = [r for r in problem.rejected if r.service == service.id]
    return ServiceSummary(
        id=service.id,
        workloads=service.workloads,
        models=service.models,
        classes=len(service.classes),
        mean_req_per_s=sum(means.values()),
        sizing_req_per_s=max(peaks, default=0.0),
        tokens_per_month=sum(
            means[c.id] * SECONDS_PER_MONTH * (c.input_tokens + c.output_tokens) for c in service.classes
        ),
        candidates=len(own),
        accelerators=tuple(sorted({c.capability.config.accelerator for c in own})),
        apis=tuple(sorted({a.api for a in problem.apis if a.service == service.id})),
        unservable=lost,
        hurdles={name: why for name in lost if (why := main_reason(refused, name)) is not None},
    )


def plural(count: int, word: str) -> str:
    """`1 slice`, `2 slices`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _verdict(summary: Summary) -> str:
    lost = summary.unservable
    return f"the spec is valid, but nothing can serve {', '.join(lost)}" if lost else "the spec is sound"


def _why(service: ServiceSummary) -> list[str]:
    """One line for each class that nothing can serve."""
    lines = []
    for name in service.unservable:
        why = service.hurdles.get(name)
        if why is None:
            lines.append(f"{name}: no machine and no API that the spec allows is on offer")
        else:
            reason = why.check.replace("_", " ")
            word = "the nearest is" if why.kind == CheckKind.SLO.value else "for example"
            lines.append(f"{name}: {reason} [{why.kind}], {plural(why.count, 'refusal')}; {word} {example(why)}")
    return lines


def _slice(summary: Summary, id_: str) -> str:
    label = summary.slice_labels.get(id_, "")
    return f"{id_} {label}{': ' if label else ''}{summary.slices[id_]:.0f} h/month"


def check_text(summary: Summary, format_: str, colour: bool = False) -> str:
    """The summary as `table` or `json`."""
    if format_ == "json":
        return dump_json(summary.model_dump(mode="json"))
    from rich.console import Group, RenderableType

    count = len(summary.services)
    parts: list[RenderableType] = [
        f"{summary.name}: {_verdict(summary)}. {plural(count, 'service')}, {plural(len(summary.slices), 'slice')}, "
        + plural(summary.pools, "usable pool"),
        "",
    ]
    why = [line for s in summary.services for line in _why(s)]
    if why:
        parts += [section("What stands in the way", why, "·"), ""]
    table = table_of(
        "Services", "service<", "models~", "mean\nreq/s>", "sizing\nreq/s>", "M tokens\n/month>", "candidates>",
        "accelerators>2", "APIs>1",
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
    parts.append(section("Slices", [_slice(summary, k) for k in summary.slices]))
    if summary.assumptions:
        parts += ["", section("Assumptions", summary.assumptions, "·")]
    if summary.refused:
        parts += ["", refusal_table(summary.refused)]
    return render(Group(*parts), output_width(), colour)
