"""The result as tables for a terminal of at most 100 columns (the JSON is the contract, this is not)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planner.base import Check
from planner.explain.binding import SENTENCES
from planner.explain.refusals import DOMINATED, group_refusals, shown_kind
from planner.explain.types import Binding, RefusalGroup
from planner.report.flat import mean_rate
from planner.report.numbers import percent, quantity, usd
from planner.report.types import (
    ApiView,
    BaselineView,
    DeploymentView,
    InfeasibilityView,
    PlanView,
    PurchaseView,
    Result,
)

WIDTH = 100
MOST_PLACES = 3
"""Places shown of a limit that binds in several."""
SHORT_UNITS = (" ms",)
"""Units that are repeated after what there was."""
MOST_GROUPS = 8
"""Refusal groups shown; the rest is counted."""


def render(renderable: RenderableType, width: int = WIDTH, colour: bool = False) -> str:
    """Text of a rich renderable; without colour it holds no escape sequence. Lines carry no trailing blanks."""
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=min(width, WIDTH), force_terminal=colour, no_color=not colour, highlight=False,
        markup=False, emoji=False,
        color_system="standard" if colour else None, legacy_windows=False,
    )  # fmt: skip
    console.print(renderable)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def result_table(result: Result, width: int = WIDTH, colour: bool = False, explain: bool = True) -> str:
    """The whole result: headline, ranking, the winner in detail, baselines, refusals."""
    parts: list[RenderableType] = [headline(result), ""]
    if result.plans:
        parts += [ranking(result), *_notes(result.notes), ""]
        if len(result.plans) > 1:
            parts += [differences(result), ""]
        parts += plan_details(result, 1, explain)
    if result.infeasibility is not None:
        parts += [conflicts(result.infeasibility), ""]
    if result.baselines:
        parts += [baselines(result.baselines, result.plans), ""]
    if result.rejected:
        parts += [refusals(result), ""]
    parts.append(Text(_stamp(result), style="dim"))
    return render(Group(*parts), width, colour)


def headline(result: Result) -> Text:
    """One sentence: what to buy, for how much, how sure."""
    text = Text()
    text.append(f"{result.name}: ", style="bold")
    if not result.plans:
        words = {"infeasible": "no plan exists (proven)", "undecided": "no plan was found in the time limit"}
        text.append(words.get(result.status, result.status), style="bold red")
        return text
    best = result.plans[0]
    text.append(f"{buys(best)} — {usd(best.cost.total_usd_per_month)} USD/month", style="bold")
    text.append(f", {proof(best.gap)}")
    return text


def buys(plan: PlanView) -> str:
    """What a plan buys in one phrase: `buy 4 × gcp/europe-west4/a3-highgpu-8g (spot)` and the APIs it calls."""
    parts = []
    for p in sorted(plan.purchases, key=lambda p: -p.usd_per_month):
        parts.append(f"{span(p.instances_by_slice.values())} × {p.offer}")
    words = ""
    if parts:
        more = f" and {len(parts) - 2} more" if len(parts) > 2 else ""
        words = "buy " + ", ".join(parts[:2]) + more
    apis = list(dict.fromkeys(a.api for a in plan.api))
    if apis:
        words += (" and call " if words else "buy no machine, call ") + ", ".join(apis[:2])
        words += f" and {len(apis) - 2} more" if len(apis) > 2 else ""
    return words or "buy nothing"


def proof(gap: float) -> str:
    """What is proven of a plan with a gap: (cost − bound) / cost is the most that any plan could save."""
    return "proven cheapest" if gap < 5e-6 else f"no plan is more than {percent(gap)} cheaper"


def span(counts: Iterable[int]) -> str:
    """`4`, or `2–6` where it differs between slices."""
    values = sorted(set(counts))
    if not values:
        return "0"
    return str(values[0]) if len(values) == 1 else f"{values[0]}–{values[-1]}"


def table_of(title: str, *columns: str) -> Table:
    """A plain table. A column is its head with a mark: `>` right, `<` left (neither is wrapped), `~` left, wrapped."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0),
        header_style="dim",
    )  # fmt: skip
    for column in columns:
        head, mark = column[:-1], column[-1]
        table.add_column(
            head, justify="right" if mark == ">" else "left", no_wrap=mark != "~", overflow="fold", vertical="top"
        )
    return table


def ranking(result: Result) -> Table:
    """All plans, one line each, comparable at a glance."""
    table = table_of(
        "Ranked plans", "#>", "plan~", "USD/month>", "vs best>", "gap>", "committed\nUSD>", "spot of\npeak>",
        "API\nUSD/month>", "head-\nroom>",
    )  # fmt: skip
    best = result.plans[0].cost.total_usd_per_month
    for position, p in enumerate(result.plans, start=1):
        total = p.cost.total_usd_per_month
        table.add_row(
            str(position), p.title, usd(total), "tie" if p.tie else versus(total, best),
            percent(p.gap), usd(p.axes.committed_usd), percent(p.axes.spot_share), usd(p.axes.api_usd_per_month),
            "any" if p.axes.headroom is None else f"{p.axes.headroom:.2f}×",
        )  # fmt: skip
    return table


def differences(result: Result) -> RenderableType:
    """What the extra money of every further plan buys, or what is different in it."""
    best = result.plans[0].cost.total_usd_per_month
    lines = []
    for position, p in enumerate(result.plans[1:], start=2):
        tie = " (a tie: the difference is below the proven gap)" if p.tie else ""
        lines.append(
            f"plan {position}, {versus(p.cost.total_usd_per_month, best)}{tie}: {'; '.join(p.buys) or p.title}"
        )
    return section("What the others buy", lines, "·")


def versus(cost: float, best: float) -> str:
    """`=`, `+2.1 %`, `12×`: relative to the best plan."""
    if best <= 0 or abs(cost - best) <= 1e-6 * best:
        return "="
    if cost >= 10.0 * best:
        return f"{cost / best:,.0f}×"
    change = cost / best - 1.0
    return ("+" if change > 0 else "-") + percent(abs(change))


def _notes(notes: Iterable[str]) -> list[RenderableType]:
    return [Padding(Text(f"· {n}", style="dim"), (0, 0, 0, 2)) for n in notes]


def plan_details(result: Result, position: int, explain: bool = True) -> list[RenderableType]:
    """The plan at a position (from 1): purchases, deployments, API volumes, cost by term, and why."""
    plan = result.plans[position - 1]
    parts: list[RenderableType] = [Text(f"Plan {position}: {plan.title}", style="bold underline"), ""]
    if plan.purchases:
        parts += [_purchases(plan.purchases), ""]
    if plan.deployments:
        parts += [_deployments(plan.deployments), ""]
    if plan.api:
        parts += [_apis(plan.api, result), ""]
    parts += [_cost(plan), ""]
    if explain:
        parts += _explanation(plan)
    return parts


def _purchases(purchases: Iterable[PurchaseView]) -> Table:
    table = table_of("Buy", "count>", "machine~", "each<", "how<", "country<", "operator<", "USD/month>", "price<")
    for p in purchases:
        table.add_row(
            span(p.instances_by_slice.values()), p.offer.rsplit("/", 1)[0],
            f"{p.accelerators_per_instance} × {p.accelerator}", p.purchase_option, p.country or "?",
            p.operator_jurisdiction or "?", usd(p.usd_per_month), p.confidence,
        )  # fmt: skip
    return table


def _latency(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _deployments(deployments: Iterable[DeploymentView]) -> Table:
    table = table_of(
        "Deploy", "count>", "model~", "engine<", "on<", "req/s\neach>", "TTFT\np95 ms>", "TPOT\np95 ms>",
        "busy at\npeak>", "from<",
    )  # fmt: skip
    for d in deployments:
        capacity = d.predicted.capacity_req_per_s_per_replica
        table.add_row(
            span(d.replicas_by_slice.values()), f"{d.model} {d.precision}", f"{d.engine} {parallelism(d)}",
            d.accelerator + (" spot" if d.spot else ""), "–" if capacity is None else quantity(capacity),
            _latency(d.predicted.ttft_p95_ms), _latency(d.predicted.tpot_p95_ms),
            "–" if d.predicted.utilization_peak is None else percent(d.predicted.utilization_peak),
            d.predicted.provenance,
        )  # fmt: skip
    return table


def parallelism(d: DeploymentView) -> str:
    """`TP2`, `TP8 PP2`, `TP8 EP8`."""
    parts = [f"TP{d.tensor_parallel}"]
    parts += [f"PP{d.pipeline_parallel}"] if d.pipeline_parallel > 1 else []
    parts += [f"EP{d.expert_parallel}"] if d.expert_parallel > 1 else []
    return " ".join(parts)


def _apis(apis: Iterable[ApiView], result: Result) -> Table:
    table = table_of("Call", "API~", "workload~", "mean req/s>", "peak req/s>", "USD/month>")
    hours = {s.id: s.hours_per_month for s in result.slices}
    for a in apis:
        mean = mean_rate(a.mean_req_per_s_by_slice, hours)
        peak = max(a.peak_req_per_s_by_slice.values(), default=0.0)
        table.add_row(a.api, a.workload, quantity(mean), quantity(peak), usd(a.usd_per_month))
    return table


def _cost(plan: PlanView) -> RenderableType:
    terms = [f"{name.replace('_', ' ')} {usd(value)}" for name, value in plan.cost.terms.items() if value]
    total = f" = {usd(plan.cost.total_usd_per_month)}" if len(terms) > 1 else ""
    lines = [f"{' + '.join(terms) or '0'}{total} USD/month"]
    tokens = [f"{w} {usd(v)}" for w, v in plan.cost.usd_per_million_tokens.items() if v is not None]
    if tokens:
        lines.append("USD per million tokens: " + ", ".join(tokens))
    if plan.cost.liability_beyond_horizon_usd:
        lines.append(f"to be paid after the horizon: {usd(plan.cost.liability_beyond_horizon_usd)} USD")
    return section("Cost", lines)


def section(title: str, lines: Iterable[str], bullet: str = "") -> RenderableType:
    """A title and lines below it; with a bullet, long lines hang."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(bullet, line)
    return Group(Text(title, style="bold"), grid)


def _explanation(plan: PlanView) -> list[RenderableType]:
    e = plan.explanation
    parts: list[RenderableType] = []
    for title, lines in (
        ("What binds", _binding(e.binding)),
        ("Break-even", [f"{f.service}: {f.text}" for f in e.flips]),
        ("Head-room", list(dict.fromkeys(_headroom(h.service, h.factors, h.product) for h in e.headroom))),
        ("Risks", [r.text + ("" if r.share is None else f" ({percent(r.share)} of the cost)") for r in e.risks]),
    ):
        if lines:
            parts += [section(title, lines, "·"), ""]
    return parts


def _binding(limits: Iterable[Binding]) -> list[str]:
    """One line per family: what it means, then where, up to three places."""
    places: dict[str, list[str]] = {}
    for b in limits:
        amount = f" ({quantity(b.used)} of {quantity(b.limit)} {b.unit}".rstrip() + ")"
        places.setdefault(b.family, []).append(", ".join(b.keys) + amount)
    lines = []
    for name, where in places.items():
        more = f"; and {len(where) - MOST_PLACES} more" if len(where) > MOST_PLACES else ""
        sentence = SENTENCES.get(name, "no slack")
        lines.append(f"{name}: {sentence}: {'; '.join(where[:MOST_PLACES])}{more}")
    return lines


def _headroom(service: str, factors: dict[str, float], product: float) -> str:
    shown = " × ".join(f"{name.replace('_', ' ')} {share:.3g}" for name, share in factors.items())
    return f"{service}: {shown} = {product:.3g} of the raw capacity is planned with"


def baselines(rows: Iterable[BaselineView], plans: tuple[PlanView, ...]) -> Table:
    """What the obvious alternatives cost, and which promises they break."""
    table = table_of("Baselines", "what<", "USD/month>", "vs best>", "fails~")
    best = plans[0].cost.total_usd_per_month if plans else 0.0
    for row in rows:
        cost = "–" if row.cost is None else usd(row.cost)
        ratio = "–" if row.cost is None or not plans else versus(row.cost, best)
        table.add_row(row.name.replace("_", " "), cost, ratio, "; ".join(row.failures) or "–")
    return table


def refusals(result: Result, most: int = MOST_GROUPS) -> RenderableType:
    """Why the other choices are not candidates: counts by reason, each with one example."""
    return refusal_table(group_refusals(result.rejected), most)


def refusal_table(groups: Sequence[RefusalGroup], most: int = MOST_GROUPS) -> RenderableType:
    """Groups of refusals, the largest first; beyond `most` they are only counted."""
    title = "Not possible (planner explain --why-not NAME says more)"
    table = table_of(title, "count>", "reason<", "kind<", "for example~")
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


def conflicts(i: InfeasibilityView) -> RenderableType:
    lines = []
    for c in i.conflicts:
        short = (
            "has no candidate at all" if c.short_by is None else f"is short by {quantity(c.short_by)} {c.unit or ''}"
        )
        who = f" for {', '.join(c.classes)}" if c.classes else ""
        relax = f" → {c.relax}" if c.relax else ""
        lines.append(f"{c.family} [{', '.join(c.keys)}] {short.rstrip()}{who}{relax}")
    lines += [f"would suffice: {', '.join(r.changes)} → {usd(r.total_usd_per_month)} USD/month" for r in i.relaxations]
    lines += [f"does not help: {n}" for n in i.no_help]
    return section("Conflicts", lines or ["none found"])


def _stamp(result: Result) -> str:
    p = result.provenance
    clock = "" if result.deterministic else " · stopped by the clock, another run may differ"
    return (
        f"planner {p.planner} · {p.solver} (OR-Tools {p.ortools}) seed {p.seed} · catalog {p.catalog.name} "
        f"{p.catalog.as_of} · spec {p.spec_sha256[:12]}{clock}"
    )
