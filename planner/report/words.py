"""Short phrases about plans: what is bought, when, how sure the money is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from planner.base import Confidence, PurchaseOption
from planner.report.numbers import percent, usd
from planner.report.types import DeploymentView, PlanView, PurchaseView, Result, SliceView

MOST_CHANGES = 6
"""Purchases and deployments of which it is shown when they run; the rest is counted."""
UNPROVEN = 0.995
"""A gap from which on the bound says nothing worth saying."""
_HOURS = re.compile(r"(\d\d)–(\d\d)")


def headline_parts(result: Result, position: int = 1) -> tuple[str, str, str]:
    """Name, decision with its cost, and certainty of the plan at a position (from 1); without a plan the status."""
    if not result.plans:
        words = {"infeasible": "no plan exists (proven)", "undecided": "no plan was found in the time limit"}
        return result.name, words.get(result.status, result.status), ""
    plan, best = result.plans[position - 1], result.plans[0]
    decision = f"{buys(plan)} — {usd(plan.cost.total_usd_per_month)} USD/month"
    change = versus(plan.cost.total_usd_per_month, best.cost.total_usd_per_month)
    than_best = f"{change} against the cheapest, " if position > 1 and change != "=" else ""
    return result.name, decision, than_best + certainty(plan)


def buys(plan: PlanView) -> str:
    """What a plan buys in one phrase: `buy 4 × gcp/europe-west4/a3-highgpu-8g/spot` and the APIs it calls."""
    parts = []
    for p in sorted(plan.purchases, key=lambda p: -p.usd_per_month):
        if not p.existing:
            parts.append(f"{span(running(p))} × {p.offer}" + (f" from Q{p.start_quarter}" if p.tentative else ""))
    words = ""
    if parts:
        more = f" and {len(parts) - 2} more" if len(parts) > 2 else ""
        words = "buy " + ", ".join(parts[:2]) + more
    apis = list(dict.fromkeys(a.api for a in plan.api))
    if apis:
        words += (" and call " if words else "buy no machine, call ") + ", ".join(apis[:2])
        words += f" and {len(apis) - 2} more" if len(apis) > 2 else ""
    return words or "buy nothing"


def certainty(plan: PlanView) -> str:
    """What is proven, and what the money rests on: prices that nobody published, speeds that nobody measured."""
    parts = [f"{proof(plan.gap)} at these prices"]
    soft = price_shares(plan)
    if soft:
        levels = [f"{percent(share)} of the cost is at {name} prices" for name, share in soft.items()]
        parts.append(", ".join([levels[0], *(text.replace(" of the cost is", "") for text in levels[1:])]))
    speeds = {d.predicted.provenance for d in plan.deployments}
    if speeds - {"measured"}:
        parts.append("speeds are estimates" if "measured" not in speeds else "some speeds are estimates")
    return "; ".join(parts)


def price_shares(plan: PlanView) -> dict[str, float]:
    """Part of the cost at prices that are not a seller's own: `assumed`, `seed`, `derived`, in this order."""
    total = plan.cost.total_usd_per_month
    rows = [(p.confidence, p.usd_per_month) for p in plan.purchases if p.purchase_option != PurchaseOption.OWNED]
    rows += [(a.confidence or "", a.usd_per_month) for a in plan.api]
    found = {}
    for level in (Confidence.ASSUMED, Confidence.SEED, Confidence.DERIVED):
        money = sum(amount for confidence, amount in rows if confidence == level)
        if total > 0 and money > 0:
            found[level.value] = min(1.0, money / total)
    return found


def proof(gap: float) -> str:
    """What is proven of a plan with a gap: (cost − bound) / cost is the most that any plan could save."""
    if gap > UNPROVEN:
        return "nothing is proven of how much cheaper a plan could be"
    return "proven cheapest" if gap < 5e-6 else f"no plan is more than {percent(gap)} cheaper"


def span(counts: Iterable[int]) -> str:
    """`4`, or `2–6` where it differs between slices."""
    values = sorted(set(counts))
    if not values:
        return "0"
    return str(values[0]) if len(values) == 1 else f"{values[0]}–{values[-1]}"


def running(p: PurchaseView) -> list[int]:
    """Instances per slice; of a commitment those in its term."""
    counts = list(p.instances_by_slice.values())
    return [n for n in counts if n] if p.term_months else counts


def quarters_of(purchases: Iterable[PurchaseView]) -> int:
    """How many quarters the slices of purchases lie in."""
    return len({s.partition(".")[0][:2] for p in purchases for s in p.instances_by_slice})


def versus(cost: float, best: float) -> str:
    """`=`, `+2.1 %`, `12×`: relative to the best plan."""
    if best <= 0 or abs(cost - best) <= 1e-6 * best:
        return "="
    if cost >= 10.0 * best:
        return f"{cost / best:,.0f}×"
    change = cost / best - 1.0
    return ("+" if change > 0 else "-") + percent(abs(change))


def parallelism(d: DeploymentView) -> str:
    """`TP2`, `TP8 PP2`, `TP8 EP8`."""
    parts = [f"TP{d.tensor_parallel}"]
    parts += [f"PP{d.pipeline_parallel}"] if d.pipeline_parallel > 1 else []
    parts += [f"EP{d.expert_parallel}"] if d.expert_parallel > 1 else []
    return " ".join(parts)


def place(plan: PlanView, pool: str) -> str:
    """Provider and region of a pool, and its zone where it is in one: `verda/FIN-01`, `aws/eu-west-1/eu-west-1a`."""
    found = (
        f"{p.provider}/{p.region}" + ("" if p.zone == "*" else f"/{p.zone}")
        for p in plan.purchases
        if pool_of(p.offer) == pool
    )
    return next(found, pool.rsplit("/", 1)[0])


def pool_of(offer: str) -> str:
    """The pool that an offer's instances stand in: the offer without its purchase option."""
    return offer.rsplit("/", 1)[0]


def slice_names(slices: Sequence[SliceView]) -> dict[str, str]:
    """Slice → what a person calls it: its label, with the quarter (or its part) where there are several."""
    several = len({part_of(s) for s in slices}) > 1
    return {s.id: (f"{part_of(s)} " if several else "") + (s.label or s.id) for s in slices}


def part_of(s: SliceView) -> str:
    """`Q2`, or `Q2a`, `Q2b` where something ends or begins inside the quarter."""
    head = s.id.partition(".")[0]
    return f"Q{head[1:]}" if head.startswith("q") and "." in s.id else f"Q{s.quarter}"


def changes(plan: PlanView, slices: Sequence[SliceView], most: int = MOST_CHANGES) -> list[str]:
    """When everything runs whose count is not the same all the time, purchases first, at most `most` lines.

    A deployment that only follows the purchase it stands on is left out.
    """
    rows: dict[tuple[str, bool], list[Mapping[str, int]]] = {}
    lines = []
    for p in plan.purchases:
        spot = p.purchase_option == PurchaseOption.SPOT
        rows.setdefault((pool_of(p.offer), spot), []).append(p.instances_by_slice)
        if len(set(running(p))) > 1:
            lines.append(f"{p.offer}: {when(p.instances_by_slice, slices)}")
    for d in plan.deployments:
        counts = d.replicas_by_slice
        if len(set(counts.values())) > 1 and rows.get((d.pool, d.spot)) != [counts]:
            spot_word = " spot" if d.spot else ""
            lines.append(f"replicas of {d.model} {parallelism(d)} on {d.accelerator}{spot_word}: "
                         f"{when(counts, slices)}")  # fmt: skip
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]


def when(counts: Mapping[str, int], slices: Sequence[SliceView]) -> str:
    """`2 at 07–11, 13–17 UTC; 1 at 17–18 UTC; else 0`, the largest count first; several quarters: `Q1 2–4, Q2 3`."""
    parts = list(dict.fromkeys(part_of(s) for s in slices))
    if len(parts) > 1:
        spans = {p: span(counts.get(s.id, 0) for s in slices if part_of(s) == p) for p in parts}
        return ", ".join(f"{p} {text}" for p, text in spans.items())
    names = slice_names(slices)
    present = sorted({n for n in counts.values() if n}, reverse=True)
    texts = [f"{n} at {_hours([names[s.id] for s in slices if counts.get(s.id) == n])}" for n in present]
    return "; ".join([*texts, *(["else 0"] if 0 in counts.values() else [])])


def _hours(names: Sequence[str]) -> str:
    """Names of slices as one: hours of the day are merged where all of them are such, else they are listed."""
    parts = [part for name in names for part in name.removesuffix(" UTC").split(", ")]
    runs = [(int(m[1]), int(m[2])) for part in parts if (m := _HOURS.fullmatch(part))]
    if len(runs) < len(parts):
        more = [f"{len(names) - 3} more slices"] if len(names) > 4 else []
        return " and ".join([*names[: 3 if more else None], *more])
    hours = {h % 24 for first, last in runs for h in range(first, last if last > first else last + 24)}
    return f"{', '.join(_merged(hours))} UTC" if len(hours) < 24 else "all hours"


def _merged(hours: set[int]) -> list[str]:
    """Hours of the day as ranges, joined over midnight: {22, 23, 0, 5} is `05–06`, `22–01`."""
    starts = sorted(h for h in hours if (h - 1) % 24 not in hours)
    ranges = []
    for start in starts:
        end = start + 1
        while end % 24 in hours:
            end += 1
        ranges.append(f"{start:02d}–{end if end <= 24 else end - 24:02d}")
    return ranges
