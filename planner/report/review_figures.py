"""The figures of a review page: what is drawn, what to see in it, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.explain.types import Flip, VolumeCurve
from planner.report.detail import sensitivity_lines
from planner.report.numbers import percent, quantity, usd
from planner.report.page import Block, Bullets, Figure, Paragraph, Table
from planner.report.review_facts import SliceCapacity, busiest, capacity_by_slice, places, services_of
from planner.report.types import PlanView, Result
from planner.report.words import slice_names
from planner.units import MILLION

MOST_SLICES = 16
"""Slices that are drawn; of more the busiest of every quarter."""
MOST_SERVICES = 8
"""Services whose capacity is drawn; of more the table alone is shown."""
Row = dict[str, str | float | bool]


def plan_name(position: int, plan: PlanView) -> str:
    """`2 Most head-room`: the position in the list tells plans of equal titles apart."""
    return f"{position} {plan.title}"


def named_plans(result: Result) -> list[tuple[str, PlanView]]:
    """The plans by the names that the figures use."""
    return [(plan_name(n, p), p) for n, p in enumerate(result.plans, start=1)]


def cost_figures(result: Result) -> list[Block]:
    """Cost by term over all plans; cost by quarter of the first plan."""
    names = _terms(result.plans)
    rows: list[Row] = []
    for name, plan in named_plans(result):
        rows += [{"plan": name, "term": t.replace("_", " "), "usd": plan.cost.terms.get(t, 0.0)} for t in names]
    table = Table(
        "USD/month by term",
        ("plan", *(f"{t.replace('_', ' ')}>" for t in names), "total>"),
        tuple(
            (name, *(usd(plan.cost.terms.get(t, 0.0)) for t in names), usd(plan.cost.total_usd_per_month))
            for name, plan in named_plans(result)
        ),
    )
    caption = "Amortised cost, mean over the horizon; the terms add up to the total."
    blocks: list[Block] = [
        Figure("cost-by-term", "stack", "Cost of every plan by term", caption, tuple(rows), table, "USD/month"),
        _quarters(result.plans[0]),
    ]
    return blocks


def _terms(plans: Iterable[PlanView]) -> list[str]:
    """Terms that any plan pays, in the order of the result; what is sunk is no part of the total."""
    found = {t: None for p in plans for t, value in p.cost.terms.items() if value and t != "sunk"}
    order = list(dict.fromkeys(t for p in plans for t in p.cost.terms))
    return sorted(found, key=order.index)


def _quarters(plan: PlanView) -> Block:
    cost = plan.cost
    if len(cost.by_quarter) < 2:
        return Paragraph(f"By quarter: one quarter is planned, {usd(sum(cost.by_quarter))} USD/month in it.")
    known = len(cost.cash_by_quarter) == len(cost.by_quarter)
    cash: Sequence[float | None] = cost.cash_by_quarter if known else [None] * len(cost.by_quarter)
    rows: list[Row] = []
    cells = []
    for n, (amount, paid) in enumerate(zip(cost.by_quarter, cash, strict=True), start=1):
        rows.append({"quarter": f"Q{n}", "series": "amortised", "usd": amount})
        if paid is not None:
            rows.append({"quarter": f"Q{n}", "series": "invoices", "usd": paid})
        cells.append((f"Q{n}", usd(amount), "–" if paid is None else usd(paid)))
    table = Table("USD/month by quarter, first plan", ("quarter", "amortised>", "invoices>"), tuple(cells))
    caption = "Amortised spreads a commitment over its term; invoices are what is paid in the quarter."
    return Figure("cost-by-quarter", "quarters", "Cost of the first plan by quarter", caption, tuple(rows), table,
                  "USD/month")  # fmt: skip


def capacity(result: Result, plan: PlanView) -> tuple[Block, ...]:
    """Per service: demand and what serves it in every slice."""
    blocks: list[Block] = []
    names = slice_names(result.slices)
    found = [(s, w, capacity_by_slice(result, plan, s, w)) for s, w in sorted(services_of(result, plan).items())]
    for position, (service, workloads, rows) in enumerate(found, start=1):
        table = _capacity_table(service, workloads, rows, names)
        if not rows:
            blocks.append(Paragraph(f"{service}: the result does not say what its replicas can serve."))
        elif position > MOST_SERVICES:
            blocks.append(table)
        else:
            blocks.append(_capacity_figure(result, position, service, rows, names, table))
    note = (
        "Capacity is replicas × the rate that one serves of the service's mix in its busiest slice, inside its "
        "promises; where the mix of classes changes from slice to slice, that is a yardstick and not the check that "
        "every plan has passed. Spare replicas count. Of APIs it is what they take at the peak."
    )
    return (*blocks, Paragraph(note))


def _capacity_table(
    service: str, workloads: Iterable[str], rows: Iterable[SliceCapacity], names: dict[str, str]
) -> Table:
    of = ", ".join(workloads)
    return Table(
        f"{service}, requests/s by slice" + (f" ({of})" if of != service else ""),
        ("slice", "demand>", "firm machines>", "spot>", "API>"),
        tuple(
            (
                names.get(r.slice, r.slice), quantity(r.demand_req_per_s), quantity(r.firm_req_per_s),
                quantity(r.spot_req_per_s), quantity(r.api_req_per_s),
            )
            for r in rows
        ),
    )  # fmt: skip


def _capacity_figure(
    result: Result, position: int, service: str, rows: list[SliceCapacity], names: dict[str, str], table: Table
) -> Figure:
    drawn = busiest(rows, result.slices, MOST_SLICES)
    data: list[Row] = []
    for r in drawn:
        parts = (("firm machines", r.firm_req_per_s), ("spot", r.spot_req_per_s), ("API", r.api_req_per_s))
        name = names.get(r.slice, r.slice)
        data += [{"slice": name, "by": by, "rate": rate, "demand": r.demand_req_per_s} for by, rate in parts]
    caption = "Bars: what could be served. Mark across a bar: the demand that is planned for, forecast margin included."
    if len(drawn) < len(rows):
        caption += f" Of {len(rows)} slices the busiest of every quarter is drawn; the table has all."
    return Figure(f"capacity-{position}", "capacity", f"{service}: demand against capacity", caption, tuple(data),
                  table, "requests/s")  # fmt: skip


def fronts(result: Result) -> tuple[Block, ...]:
    """Cost against latency and against commitment, over the ranked plans."""
    blocks: list[Block] = []
    for key, unit, promised in (("ttft", "TTFT p95, ms", "first token"), ("tpot", "TPOT p95, ms", "time per token")):
        values = [(name, p, _latency(p, key)) for name, p in named_plans(result)]
        known = [(name, p.cost.total_usd_per_month, v) for name, p, v in values if v is not None]
        if known:
            missing = ", ".join(name for name, _, v in values if v is None)
            caption = f"Each point is a plan: its slowest deployment's {promised}. The line joins plans that no other "
            caption += "beats in both." + (
                f" Without own replicas, so without a prediction: {missing}." if missing else ""
            )
            blocks.append(_front(f"cost-{key}", f"Cost against {unit.split(',')[0]}", caption, known, unit, "{:,.0f}"))
    if not blocks:
        blocks.append(Paragraph("No plan has a predicted latency: no promise was made, or all is served by APIs."))
    committed = [(n, p.cost.total_usd_per_month, p.axes.committed_usd) for n, p in named_plans(result)]
    caption = (
        "Each point is a plan. Committed: money that cannot be cancelled. The line joins plans that no other beats "
    )
    caption += "in both."
    blocks.append(_front("cost-committed", "Cost against commitment", caption, committed, "committed, USD", "usd"))
    return tuple(blocks)


def _latency(plan: PlanView, key: str) -> float | None:
    found = [v for d in plan.deployments if (v := getattr(d.predicted, f"{key}_p95_ms")) is not None]
    return max(found, default=None)


def _front(
    id_: str, title: str, caption: str, points: Sequence[tuple[str, float, float]], unit: str, form: str
) -> Figure:
    best = undominated([(x, y) for _, x, y in points])
    rows: tuple[Row, ...] = tuple(
        {"plan": name, "number": name.split(" ", 1)[0], "x": x, "y": y, "front": (x, y) in best}
        for name, x, y in points
    )
    cells = tuple((name, usd(x), usd(y) if form == "usd" else form.format(y)) for name, x, y in points)
    return Figure(id_, "front", title, caption, rows, Table(title, ("plan", "USD/month>", f"{unit}>"), cells),
                  "USD/month", unit)  # fmt: skip


def undominated(points: Sequence[tuple[float, float]]) -> set[tuple[float, float]]:
    """Points that no other one is at most equal to in both and below in one."""
    return {
        p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)
    }  # fmt: skip


def tornado(plan: PlanView) -> tuple[Block, ...]:
    """What the cheapest plan costs when an input is lower or higher; empty where that was not worked out."""
    bars = plan.explanation.tornado
    if not bars:
        return ()
    rows: list[Row] = []
    cells = []
    for b in bars:
        name = b.input if b.what == "price" else b.input.replace("_", " ")
        for side, cost in (("lower", b.usd_per_month_low), ("higher", b.usd_per_month_high)):
            if cost is not None:
                rows.append({"input": name, "side": side, "from": b.usd_per_month_now, "to": cost})
        low, high = ("not solved in time" if c is None else usd(c) for c in (b.usd_per_month_low, b.usd_per_month_high))
        cells.append((name, _figure(b.low, b.unit), low, _figure(b.high, b.unit), high, usd(b.swing_usd_per_month)))
    heads = ("input", "low>", "USD/month at low>", "high>", "USD/month at high>", "swing>")
    caption = "What the cheapest plan costs, solved again, when one input is lower or higher; the widest swing first."
    figure = Figure("tornado", "tornado", "Cost when inputs move", caption, tuple(rows),
                    Table("USD/month when one input moves", heads, tuple(cells)), "USD/month")  # fmt: skip
    return figure, Bullets(tuple(sensitivity_lines(bars)))


def _figure(value: float, unit: str) -> str:
    if unit == "tokens/month":
        return f"{quantity(value / MILLION)} M {unit}"
    return percent(value) if unit == "of a replica" else f"{quantity(value)} {unit}"


def break_even(plan: PlanView, curve: VolumeCurve | None) -> tuple[Block, ...]:
    """API against machines over volume: the curve where one was given, else what the flips say."""
    blocks: list[Block] = []
    if curve is not None:
        blocks.append(_curve(curve))
    else:
        found = [f for f in plan.explanation.flips if f.what == "api_volume"]
        blocks += [_line(n, f) for n, f in enumerate(found, start=1) if f.at is not None and f.usd_per_month_at]
    lines = [f"{f.service}: {f.text}" for f in plan.explanation.flips if not f.verified]
    if lines:
        blocks.append(Bullets(tuple(lines)))
    if not blocks:
        return (
            Paragraph(
                "The result states no break-even: not both an API and rented machines can serve a service alone."
            ),
        )
    if curve is None:
        how = "The curve with machines bought whole is solved by: planner breakeven SPEC --format json -o curve.json; "
        blocks.append(Paragraph(how + "planner report RESULT --curve curve.json"))
    return tuple(blocks)


def _line(position: int, f: Flip) -> Figure:
    """The API's bill, proportional to volume, to beyond the break-even, where the machines' bill equals it."""
    at, bill = f.at or 0.0, f.usd_per_month_at or 0.0
    rows: list[Row] = []
    cells = []
    for name, volume in sorted((("today", f.now), ("break-even", at)), key=lambda v: v[1]):
        cells.append((name, f"{quantity(volume / MILLION)} M", usd(bill * volume / at)))
    for volume in sorted({f.now / MILLION, at / MILLION, 1.25 * max(at, f.now) / MILLION}):
        rows.append({"series": "all by API", "volume": volume, "usd": bill * volume * MILLION / at})
        rows.append({"series": "machines at the break-even", "volume": volume, "usd": bill})
    heads = ("where", "tokens/month>", "all by API, USD/month>")
    caption = (
        f"{f.service}: the API's bill grows with volume; at {quantity(at / MILLION)} M tokens/month it reaches the "
    )
    caption += f"{usd(bill)} USD/month of the machines that serve that volume. More volume may need more machines."
    table = Table(f"{f.service}: today and break-even", heads, tuple(cells))
    return Figure(f"break-even-{position}", "curve", f"{f.service}: API against machines", caption, tuple(rows), table,
                  "M tokens/month", "USD/month")  # fmt: skip


def _curve(curve: VolumeCurve) -> Figure:
    rows: list[Row] = []
    for p in curve.points:
        for series, value in (
            ("all by API", p.all_api_usd_per_month), ("machines only", p.machines_usd_per_month),
            ("best of both", p.best_usd_per_month),
        ):  # fmt: skip
            if value is not None:
                rows.append({"series": series, "volume": p.tokens_per_month / MILLION, "usd": value})
    cells = tuple(
        (
            f"×{p.factor:.3g}", f"{quantity(p.tokens_per_month / MILLION)} M",
            *(
                "–" if v is None else usd(v)
                for v in (p.all_api_usd_per_month, p.machines_usd_per_month, p.best_usd_per_month)
            ),
        )
        for p in curve.points
    )  # fmt: skip
    cross = curve.crossover
    caption = "No crossover was found." if cross is None else (
        f"Machines first cost no more than the API at {quantity(cross.tokens_per_month / MILLION)} M tokens/month "
        f"(×{cross.factor:.4g} of today): {usd(cross.usd_per_month)} USD/month by either."
    )  # fmt: skip
    heads = ("of today>", "tokens/month>", "all by API>", "machines only>", "best of both>")
    return Figure("break-even-curve", "log_curve", "API against machines over volume",
                  caption + " Both axes are logarithmic.", tuple(rows), Table("USD/month over volume", heads, cells),
                  "M tokens/month", "USD/month")  # fmt: skip


def place_figures(plan: PlanView) -> tuple[Block, ...]:
    """Countries and laws of the first plan as a matrix: no map, as the result knows countries and no coordinates."""
    found = places(plan)
    if not found:
        return (Paragraph("The first plan uses nothing that stands anywhere."),)
    rows: tuple[Row, ...] = tuple(
        {"country": r.country, "operator": r.operator, "what": r.what, "usd": r.usd_per_month,
         "label": f"{r.what} {usd(r.usd_per_month)}"}
        for r in found
    )  # fmt: skip
    cells = tuple((r.country, r.operator, r.what, ", ".join(r.providers), usd(r.usd_per_month)) for r in found)
    heads = ("data in", "operator under the law of", "what", "providers", "USD/month>")
    caption = (
        "USD/month of the first plan by the country in which data are processed and the law that the operator is under."
    )
    table = Table("USD/month of the first plan by country, law and provider", heads, cells)
    return (
        Figure(
            "countries", "places", "Countries and laws", caption, rows, table, "operator under the law of", "data in"
        ),
    )
