"""`planner breakeven`: the crossover in a sentence, the curve as a chart of characters, and its table."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.explain.types import CurvePoint, VolumeCurve
from planner.report.layout import WIDTH, FittedTable, render, section, table_of
from planner.report.numbers import dump_json, percent, usd
from planner.units import MILLION

HEIGHT, MARGIN = 14, 12
"""Rows of the chart, and columns for its labels."""
COLUMNS = (
    "factor", "tokens_per_month", "all_api_usd_per_month", "machines_usd_per_month", "utilization",
    "best_usd_per_month", "best_api_share", "machines",
)  # fmt: skip


def curve_text(curve: VolumeCurve, format_: str, width: int = WIDTH, colour: bool = False) -> str:
    """The curve as `table`, `json` or `csv`."""
    if format_ == "json":
        return dump_json(curve.model_dump(mode="json"))
    if format_ == "csv":
        return _csv(curve.points)
    parts: list[RenderableType] = [Text(f"{curve.name}: API against machines over volume", style="bold"), ""]
    parts += [section("Crossover", verdict_lines(curve), "·"), ""]
    chart = chart_lines(curve.points, min(width, WIDTH))
    if chart:
        parts += [Text("\n".join(chart)), ""]
    parts.append(_table(curve.points))
    return render(Group(*parts), width, colour)


def verdict_lines(curve: VolumeCurve) -> list[str]:
    """Where machines first cost no more than the API, how busy they are there, and what holds today."""
    today = min(curve.points, key=lambda p: abs(p.factor - 1.0))
    lines = [_today(today, curve.stopped)]
    c = curve.crossover
    if c is None:
        if curve.stopped:
            return [*lines, "the time ended before a crossover was found; give a longer --time-limit"]
        if today.all_api_usd_per_month is None:
            return [*lines, "no API serves all of the demand: there is nothing to compare"]
        if today.machines_usd_per_month is None:
            return [*lines, "machines cannot serve all of the demand"]
        return [*lines, "no volume of this mix was found at which machines cost no more than the API"]
    busy = "" if c.utilization is None else f", busy {percent(c.utilization)} of the time"
    lines.append(
        f"machines first cost no more than the API at {_millions(c.tokens_per_month)} tokens/month "
        f"(×{c.factor:.4g} of today): {c.machines}{busy}, {usd(c.usd_per_month)} USD/month by either"
    )
    lines.append(f"solved just below: {_sides(c.below)}; just above: {_sides(c.above)}")
    later = [p for p in curve.points if p.factor > c.factor and _api_cheaper(p)]
    if later:
        last = max(later, key=lambda p: p.factor)
        lines.append(
            f"machines come whole: up to {_millions(last.tokens_per_month)} tokens/month there are volumes at which "
            "all by API is the cheaper one again"
        )
    return lines


def _today(p: CurvePoint, stopped: bool) -> str:
    """Today's bills, the last one with its unit; what is missing was not found in time, or cannot be."""
    no_api, no_machines = ("all by API: not found in time", "machines only: not found in time") if stopped else (
        "no API serves all", "machines cannot")  # fmt: skip
    bills = (("all by API", p.all_api_usd_per_month, no_api), ("machines only", p.machines_usd_per_month, no_machines),
             ("best of both", p.best_usd_per_month, ""))  # fmt: skip
    words = [none if cost is None else f"{name} {usd(cost)}" for name, cost, none in bills]
    known = [i for i, (_, cost, _) in enumerate(bills) if cost is not None]
    if known:
        words[known[-1]] += " USD/month"
    share = "" if p.best_api_share is None else f" ({percent(p.best_api_share)} of requests by API)"
    return f"today, {_millions(p.tokens_per_month)} tokens/month: {', '.join(w for w in words if w)}{share}"


def _sides(p: CurvePoint) -> str:
    api, own = p.all_api_usd_per_month, p.machines_usd_per_month
    words = ["–" if x is None else usd(x) for x in (api, own)]
    return f"API {words[0]}, machines {words[1]}"


def _api_cheaper(p: CurvePoint) -> bool:
    api, own = p.all_api_usd_per_month, p.machines_usd_per_month
    return api is not None and own is not None and api < own


def _table(points: Sequence[CurvePoint]) -> FittedTable:
    table = table_of("Curve", "M tokens/month>", "× today>", "all API>", "machines>", "busy>2", "best>", "API share>3",
                     "machines bought~")  # fmt: skip
    for p in points:
        bills = (p.all_api_usd_per_month, p.machines_usd_per_month)
        table.add_row(
            _millions(p.tokens_per_month).removesuffix(" M"), f"{p.factor:.3g}",
            *("–" if x is None else usd(x) for x in bills), "–" if p.utilization is None else percent(p.utilization),
            "–" if p.best_usd_per_month is None else usd(p.best_usd_per_month),
            "–" if p.best_api_share is None else percent(p.best_api_share), _short(p.machines),
        )  # fmt: skip
    return table


def _short(machines: str | None) -> str:
    """Without provider and place: `2 × h100-x8/on_demand`."""
    parts = (machines or "–").split(" + ")
    return " + ".join(re.sub(r"× .*/([^/]+/[^/]+)$", r"× \1", part) for part in parts)


def chart_lines(points: Sequence[CurvePoint], width: int) -> list[str]:
    """Cost over volume, both logarithmic: `a` all API, `m` machines only, `*` both, `·` the best of both below them."""
    marks = [("a", [p.all_api_usd_per_month for p in points]), ("m", [p.machines_usd_per_month for p in points]),
             ("·", [p.best_usd_per_month for p in points])]  # fmt: skip
    costs = [math.log(c) for _, row in marks for c in row if c is not None and c > 0]
    xs = [math.log(p.tokens_per_month) for p in points if p.tokens_per_month > 0]
    if len(xs) < 3 or not costs or max(costs) - min(costs) < 1e-9:
        return []
    columns = width - MARGIN - 2
    grid = [[" "] * columns for _ in range(HEIGHT)]
    low, high = min(costs), max(costs)
    for mark, row in marks:
        for p, cost in zip(points, row, strict=True):
            if cost is None or cost <= 0:
                continue
            x = round((math.log(p.tokens_per_month) - xs[0]) / (xs[-1] - xs[0]) * (columns - 1))
            y = round((high - math.log(cost)) / (high - low) * (HEIGHT - 1))
            if grid[y][x] == " ":
                grid[y][x] = mark
            elif mark == "m" and grid[y][x] == "a":
                grid[y][x] = "*"
    labels = {0: usd(math.exp(high)), HEIGHT - 1: usd(math.exp(low))}
    lines = ["USD/month: a all by API, m machines only, * both, · the best of both where it is cheaper"]
    lines += [f"{labels.get(i, ''):>{MARGIN - 2}} │{''.join(row)}".rstrip() for i, row in enumerate(grid)]
    left, right = _millions(points[0].tokens_per_month), f"{_millions(points[-1].tokens_per_month)} tokens/month"
    lines.append(f"{'':>{MARGIN - 2}} └{'─' * columns}")
    lines.append(f"{'':>{MARGIN}}{left}{right:>{columns - len(left)}}")
    return lines


def _csv(points: Sequence[CurvePoint]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for p in points:
        row = [getattr(p, c) for c in COLUMNS]
        writer.writerow(["" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in row])
    return buffer.getvalue()


def _millions(tokens: float) -> str:
    return f"{tokens / MILLION:,.4g} M" if tokens < 1e9 else f"{tokens / MILLION:,.0f} M"
