"""The one sentence that answers `--why-not NAME`: which of the possible reasons it is."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planner.candidates.types import Rejected
from planner.explain.names import Reading
from planner.explain.refusals import DOMINATED, main_reason, shown_kind, why_not
from planner.report.numbers import usd
from planner.report.table import example
from planner.report.types import AskedView, PossibleView, Result
from planner.units import SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which answer it is, and the sentence."""

    kind: str
    """`used`, `dearer`, `refused`, `unknown`, `not_asked`, `not_offered` or `not_needed`."""
    text: str


ASKED_IN = {
    "model": ("models", "list it under models of a workload"),
    "precision": ("precisions", "list it under precisions of a workload"),
    "engine": ("engines", "list it under engines of a workload"),
    "API": ("apis", "list it under api_equivalents of a workload"),
}
"""Kind of name → (what the spec lists, how to ask for it)."""


def verdict(r: Reading, ranks: Sequence[int], refused: Sequence[Rejected], result: Result) -> Verdict:
    """Why a name is not used: it is, it is possible but dearer, refused, unknown, not asked for, or not on offer."""
    rows = [p for p in result.possible if _bears(p, r.same)]
    used = f"it is used by plan{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
    if ranks and (1 in ranks or not rows):
        return Verdict("used", used)
    if rows:
        return Verdict("dearer", (f"{used}, not by plan 1; " if ranks else "") + _dearer(rows[0], result))
    replaced = _replaced(refused, r.same)
    if replaced is not None:
        check = next(c for c in replaced.checks if c.check == DOMINATED)
        text = f"it is possible, but another choice is never dearer: {replaced.what} is replaced by {check.had}"
        return Verdict("dearer", _for(replaced.service, result) + text + (f": {check.detail}" if check.detail else ""))
    reason = main_reason(refused) if refused else None
    if reason is not None:
        words = f"main reason: {reason.check.replace('_', ' ')} [{shown_kind(reason.check, reason.kind)}], "
        times = f"{reason.count:,} of {sum(x.count for x in refused):,} refusals; "
        return Verdict("refused", _for(reason.service, result) + words + times + example(reason))
    if refused:
        return Verdict("refused", "another configuration of it serves at least as much for no more money")
    if not r.kinds:
        hint = f"did you mean {' or '.join(r.near)}?" if r.near else "planner catalog list shows what there is"
        return Verdict("unknown", f"neither the catalog nor the result knows a name {r.name}; {hint}")
    return _absent(r, result)


def services(result: Result) -> tuple[str, ...]:
    """Ids of the services that the result speaks of."""
    return tuple(sorted({r.service for r in result.rejected if r.service} | {a.service for a in result.asked}))


def _absent(r: Reading, result: Result) -> Verdict:
    """A known name that nothing in the result bears."""
    for kind in r.kinds:
        field, how = ASKED_IN.get(kind, ("", ""))
        if field and result.asked:
            listed = sorted({n for a in result.asked for n in getattr(a, field)})
            if not {n.lower() for n in listed} & set(r.same):
                said = f"it asks for {', '.join(listed)}" if listed else f"it asks for no {kind}"
                return Verdict(
                    "not_asked", f"the spec does not ask for the {kind} {r.name}: {said}; to allow it, {how}"
                )
    kind = r.kinds[0]
    if not r.sold_by_catalog:
        text = (
            f"the catalog knows the {kind} {r.name}, but no offer in it has it; a catalog overlay takes your own prices"
        )
        return Verdict("not_offered", text)
    if kind in ASKED_IN:
        return Verdict("not_needed", f"nothing that was considered has the {kind} {r.name}")
    text = f"no offer of the spec's catalog that a service may use has the {kind} {r.name} (planner catalog show)"
    return Verdict("not_needed", text)


def _bears(p: PossibleView, same: Collection[str]) -> bool:
    names = {p.provider, p.region, f"{p.provider}/{p.region}", p.country, p.accelerator, p.offer}
    names |= {*(p.config or "").split("/"), *p.offer.split("/"), p.offer.split("/", 1)[-1], p.offer.split("@", 1)[0]}
    return any(n.lower() in same for n in names if n)


def _replaced(refused: Sequence[Rejected], same: Collection[str]) -> Rejected | None:
    """The first thing that only price was against and that something without the name replaces."""
    for r in refused:
        if all(c.check == DOMINATED for c in r.checks):
            winners = [Rejected(what=str(c.had), checks=()) for c in r.checks]
            if not why_not(winners, same):
                return r
    return None


def _dearer(p: PossibleView, result: Result) -> str:
    """The cheapest way to use it against what plan 1 does for the service."""
    what = p.offer if p.config is None else f"{p.config} on {p.offer}"
    head = f"{_for(p.service, result)}it is possible; its cheapest way, {what}, costs {_prices(p)}"
    if not result.plans:
        return head
    winner = _winner(p.service, result)
    return f"{head}; plan 1 is the cheaper one" + (f" with {winner}" if winner else "")


def _prices(p: PossibleView) -> str:
    parts = [
        None if value is None else f"{usd(value)} USD per {per}"
        for value, per in (
            (p.usd_per_accelerator_hour, "accelerator-hour"), (p.usd_per_1000_requests, "1,000 requests when full"),
        )
    ]  # fmt: skip
    return " and ".join(x for x in parts if x) or "an unknown amount"


def _winner(service: str, result: Result) -> str | None:
    """What plan 1 uses for a service, with its prices; None where the result does not say."""
    plan = result.plans[0]
    bought = {p.offer for p in plan.purchases}
    used = {(d.model, d.precision, d.engine, d.accelerator) for d in plan.deployments if d.service == service}
    for p in result.possible:
        if p.service == service and p.config and p.offer in bought and tuple(p.config.split("/")[:4]) in used:
            return f"{p.config} on {p.offer}, {_prices(p)}"
    asked = next((a for a in result.asked if a.service == service), None)
    return None if asked is None else _by_api(asked, result)


def _by_api(asked: AskedView, result: Result) -> str | None:
    hours = {s.id: s.hours_per_month for s in result.slices}
    uses = [a for a in result.plans[0].api if a.workload in asked.workloads]
    requests = math.fsum(
        rate * hours[s] * SECONDS_PER_HOUR for a in uses for s, rate in a.mean_req_per_s_by_slice.items() if s in hours
    )
    if requests <= 0:
        return None
    price = 1000.0 * math.fsum(a.usd_per_month for a in uses) / requests
    return f"{' and '.join(dict.fromkeys(a.api for a in uses))}, {usd(price)} USD per 1,000 requests"


def _for(service: str | None, result: Result) -> str:
    """`chat: ` where there are several services."""
    return f"{service}: " if service and len(services(result)) > 1 else ""
