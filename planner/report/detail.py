"""One plan in detail: what to buy and when, where to deploy, what it costs, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from planner.explain.binding import SENTENCES
from planner.explain.types import Binding, Flip, HeadroomProduct, Robustness, Sensitivity
from planner.report.flat import mean_rate
from planner.report.layout import FittedTable, section, table_of
from planner.report.numbers import percent, quantity, usd
from planner.report.types import ApiView, PlanView, PurchaseView, Result
from planner.report.words import changes, parallelism, place, pool_of, quarters_of, running, slice_names, span
from planner.units import MILLION

MOST_PLACES = 3
"""Places shown of a limit that binds in several."""


def plan_details(result: Result, position: int, explain: bool = True) -> list[RenderableType]:
    """The plan at a position (from 1): purchases, deployments, API volumes, cost by term, and why."""
    plan = result.plans[position - 1]
    parts: list[RenderableType] = [Text(f"Plan {position}: {plan.title}", style="bold underline"), ""]
    if plan.purchases:
        parts += [_purchases(plan.purchases), *footnotes(spot_notes(plan.purchases)), ""]
    if decisions(plan):
        parts += [section("Decide", decisions(plan), "·"), ""]
    if plan.deployments:
        parts += [_deployments(plan), ""]
    moments = changes(plan, result.slices)
    if moments:
        parts += [section("When", moments, "·"), ""]
    if plan.api:
        parts += [_apis(plan.api, result), ""]
    parts += [section("Cost", cost_lines(plan, result)), ""]
    if explain:
        parts += _explanation(plan, slice_names(result.slices))
    return parts


def decisions(plan: PlanView) -> list[str]:
    """What is to be signed by which day, and what ends, in order of time; nothing where all is decided at once."""
    lines: list[tuple[str, str]] = []
    for p in plan.purchases:
        count = max(p.instances_by_slice.values(), default=0)
        if p.existing and p.end_date is not None:
            lines.append((p.end_date, f"{p.end_date}: {p.offer} ends"))
        elif p.start_date is not None:
            word = "expected" if p.tentative else "sign"
            lines.append((p.start_date, f"{p.start_date}: {word} {count} × {p.offer}, until {p.end_date}"))
    several = any(p.existing or p.tentative for p in plan.purchases)
    return [text for _, text in sorted(lines)] if several else []


def footnotes(lines: Iterable[str]) -> list[RenderableType]:
    """Dimmed lines below a table."""
    return [Padding(Text(f"· {line}", style="dim"), (0, 0, 0, 2)) for line in lines]


def _purchases(purchases: Iterable[PurchaseView]) -> FittedTable:
    rows = list(purchases)
    several = quarters_of(rows) > 1
    table = table_of(
        "Buy", "count>", "machine~", "each<4", "how<", "country<1", "operator<3", "USD/h>", "USD/month>", "price<2"
    )
    for p in rows:
        table.add_row(
            span(running(p)), machine(p, several), f"{p.accelerators_per_instance} × {p.accelerator}",
            p.purchase_option, p.country or "?", p.operator_jurisdiction or "?",
            "–" if p.usd_per_hour is None else usd(p.usd_per_hour), usd(p.usd_per_month), p.confidence,
        )  # fmt: skip
    return table


def machine(p: PurchaseView, several: bool) -> str:
    """The pool, and where there are several quarters the one in which it is bought."""
    name = pool_of(p.offer) + ("\nruns already" if p.existing else "")
    if not several or p.existing or p.start_quarter == 1:
        return name
    return f"{name}\nfrom quarter {p.start_quarter}" + (", tentative" if p.tentative else "")


def spot_notes(purchases: Iterable[PurchaseView]) -> list[str]:
    """What the USD/month of spot includes: one line for every availability, with the fallbacks."""
    found: dict[float, dict[str, None]] = {}
    for p in purchases:
        if p.spot is not None:
            fallbacks = found.setdefault(p.spot.availability, {})
            if p.spot.fallback_offer is not None:
                price = p.spot.fallback_usd_per_hour
                fallbacks[p.spot.fallback_offer + ("" if price is None else f" at {usd(price)} USD/h")] = None
    return [
        f"spot USD/month: spot is there {percent(share)} of the time; "
        + (f"included for the rest: {', '.join(fallbacks)}" if fallbacks else "nothing takes over for the rest")
        for share, fallbacks in found.items()
    ]


def _latency(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _deployments(plan: PlanView) -> FittedTable:
    table = table_of(
        "Deploy", "count>", "model~", "engine~", "on, at~", "req/s\neach>2", "TTFT\np95 ms>", "TPOT\np95 ms>",
        "busy at\npeak>4", "from<3",
    )  # fmt: skip
    for d in plan.deployments:
        capacity = d.predicted.capacity_req_per_s_per_replica
        table.add_row(
            span(d.replicas_by_slice.values()), f"{d.model}\n{d.precision}", f"{d.engine}\n{parallelism(d)}",
            d.accelerator + (" spot" if d.spot else "") + f"\n{place(plan, d.pool)}",
            "–" if capacity is None else quantity(capacity),
            _latency(d.predicted.ttft_p95_ms), _latency(d.predicted.tpot_p95_ms),
            "–" if d.predicted.utilization_peak is None else percent(d.predicted.utilization_peak),
            d.predicted.provenance,
        )  # fmt: skip
    return table


def _apis(apis: Iterable[ApiView], result: Result) -> FittedTable:
    table = table_of("Call", "API~", "workload~", "mean req/s>2", "peak req/s>1", "USD/month>", "price<3")
    hours = {s.id: s.hours_per_month for s in result.slices}
    for a in apis:
        mean = mean_rate(a.mean_req_per_s_by_slice, hours)
        peak = max(a.peak_req_per_s_by_slice.values(), default=0.0)
        table.add_row(
            a.api, a.workload, quantity(mean), quantity(peak), usd(a.usd_per_month), a.confidence or "–",
        )  # fmt: skip
    return table


def cost_lines(plan: PlanView, result: Result) -> list[str]:
    """The terms and their sum, the budget, what a million tokens cost, what is left to pay after the horizon."""
    terms = [
        f"{name.replace('_', ' ')} {usd(value)}"
        for name, value in plan.cost.terms.items() if value and name != "sunk"
    ]  # fmt: skip
    total = f" = {usd(plan.cost.total_usd_per_month)}" if len(terms) > 1 else ""
    lines = [f"{' + '.join(terms) or '0'}{total} USD/month"]
    if plan.cost.terms.get("sunk"):
        lines.append(f"beside it, sunk in commitments that run already: {usd(plan.cost.terms['sunk'])} USD/month")
    if len(plan.cost.by_quarter) > 1:
        lines.append(f"by quarter: {', '.join(usd(x) for x in plan.cost.by_quarter)} USD/month")
        lines.append(f"invoices by quarter: {', '.join(usd(x) for x in plan.cost.cash_by_quarter)} USD/month")
    if plan.cost.commitment_utilization is not None and plan.cost.commitment_coverage is not None:
        saved = plan.cost.effective_savings_rate
        lines.append(
            f"commitments: {percent(plan.cost.commitment_utilization)} used, "
            f"{percent(plan.cost.commitment_coverage)} of the hours on rented firm machines covered"
            + (
                ""
                if saved is None
                else f"; {percent(abs(saved))} {'below' if saved >= 0 else 'above'} on-demand prices"
            )
        )
    judged = plan.cost.judged_usd_per_month
    if judged is not None and abs(judged - plan.cost.total_usd_per_month) > 1e-6 * abs(judged):
        lines.append(f"judged at {usd(judged)} USD/month, with what the terminal rule counts after the horizon")
    budget, cash = result.policy.budget_usd_per_month, result.policy.budget_basis == "cash"
    spent = plan.cost.cash_usd_per_month if cash else plan.cost.total_usd_per_month
    if budget is not None and spent is not None:
        lines.append(f"{usd(spent)} of {usd(budget)} USD/month budget" + (" (cash)" if cash else ""))
    tokens = [f"{w} {usd(v)}" for w, v in plan.cost.usd_per_million_tokens.items() if v is not None]
    if tokens:
        lines.append("USD per million tokens: " + ", ".join(tokens))
    if plan.cost.liability_beyond_horizon_usd:
        lines.append(f"to be paid after the horizon: {usd(plan.cost.liability_beyond_horizon_usd)} USD")
    return lines


def explanation_sections(plan: PlanView, names: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Titles and lines of everything that is explained about a plan; `names` of slices by id. None is empty."""
    e = plan.explanation
    told = [
        ("What binds", _binding(e.binding, names)),
        ("What rules cost", [p.text for p in e.rule_prices]),
        ("Break-even", [f"{f.service}: {f.text}" for f in e.flips if not f.verified]),
        ("What would change the plan (solved on both sides)", flip_lines(e.flips)),
        ("What the cost hangs on", sensitivity_lines(e.tornado)),
        ("If estimates and prices turn out otherwise", robustness_lines(e.robustness)),
        ("Margins", margin_lines(e.headroom)),
        ("Risks", risk_lines(plan)),
    ]
    return [(title, lines) for title, lines in told if lines]


def _explanation(plan: PlanView, names: Mapping[str, str]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for title, lines in explanation_sections(plan, names):
        parts += [section(title, lines, "·"), ""]
    return parts


def flip_lines(flips: Iterable[Flip]) -> list[str]:
    """Verified flips, and in one line at the end what changes nothing as far as it was moved."""
    verified = [f for f in flips if f.verified]
    still = [f.text.replace(": the kind of plan stays the same", "") for f in verified if f.at is None]
    lines = [f.text for f in verified if f.at is not None]
    return [*lines, f"the kind of plan stays the same: {'; '.join(still)}"] if still else lines


def sensitivity_lines(bars: Iterable[Sensitivity]) -> list[str]:
    """One line per bar of the tornado: the bill on both sides, and where the plan becomes another."""
    lines = []
    for b in bars:
        sides = []
        for value, cost, other in (
            (b.low, b.usd_per_month_low, b.other_plan_low), (b.high, b.usd_per_month_high, b.other_plan_high),
        ):  # fmt: skip
            money = "not solved in time" if cost is None else f"{usd(cost)} USD/month"
            sides.append(f"{_figure(value, b.unit)} → {money}" + (f" ({other})" if other else ""))
        name = b.input if b.what == "price" else b.input.replace("_", " ")
        lines.append(f"{name}, today {_figure(b.now, b.unit)}: {'; '.join(sides)}")
    return lines


def robustness_lines(r: Robustness | None) -> list[str]:
    """How often each plan is the cheapest, what it costs then, and the method."""
    if r is None:
        return []
    lines = [
        f"plan {p.position} ({p.title}): cheapest in {percent(p.win_probability)} of {r.draws:,} draws; 80 % of the "
        f"draws cost {usd(p.p10_usd_per_month)} to {usd(p.p90_usd_per_month)} USD/month; regret "
        f"{usd(p.mean_regret_usd_per_month)} on average, {usd(p.p95_regret_usd_per_month)} in the worst 5 %"
        for p in r.plans
    ]
    return [*lines, f"method (seed {r.seed}): {r.method}"]


def _figure(value: float, unit: str) -> str:
    """Tokens in millions, shares in percent."""
    if unit == "tokens/month":
        return f"{quantity(value / MILLION)} M {unit}"
    return percent(value) if unit == "of a replica" else f"{quantity(value)} {unit}"


def risk_lines(plan: PlanView) -> list[str]:
    """Risks, with the part of the cost that each touches."""
    return [r.text + ("" if r.share is None else f" ({percent(r.share)} of the cost)") for r in plan.explanation.risks]


def _binding(limits: Iterable[Binding], names: Mapping[str, str]) -> list[str]:
    """One line per family: what it means, then where (slices by their names), up to three places."""
    places: dict[str, list[str]] = {}
    for b in limits:
        amount = f" ({quantity(b.used)} of {quantity(b.limit)} {b.unit}".rstrip() + ")"
        places.setdefault(b.family, []).append(", ".join(names.get(k, k) for k in b.keys) + amount)
    lines = []
    for name, where in places.items():
        more = f"; and {len(where) - MOST_PLACES} more" if len(where) > MOST_PLACES else ""
        sentence = SENTENCES.get(name, "no slack")
        lines.append(f"{name}: {sentence}: {'; '.join(where[:MOST_PLACES])}{more}")
    return lines


def margin_lines(products: Iterable[HeadroomProduct]) -> list[str]:
    """The spec's margins by name with what each takes from capacity, and of which configurations where not of all."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    everything = set()
    for product in products:
        what = " ".join(product.config.split("/")[2:]) or product.config
        everything.add(what)
        for name, factor in product.factors.items():
            stated = product.stated.get(name)
            found.setdefault(_margin(name, stated), {}).setdefault(f"×{factor:.2f}", {})[what] = None
    lines = []
    for name, factors in found.items():
        effects = [f"{factor} ({', '.join(where)})" for factor, where in factors.items()]
        if len(factors) == 1 and everything == set(*factors.values()):
            effects = list(factors)
        lines.append(name if effects == ["×1.00"] else f"{name} → capacity {', '.join(effects)}")
    return lines


def _margin(name: str, stated: float | None) -> str:
    words = name.replace("utilization", "utilisation").replace("_", " ")
    if stated is None:
        return words
    return f"{words} P{100 * stated:.3g}" if name == "estimate_quantile" else f"{words} {stated:g}"
