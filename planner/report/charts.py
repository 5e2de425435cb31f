"""The figures of a review page as SVG: altair draws, vl-convert renders without a browser and without a network.

Colours are CSS variables of the page (`var(--ink)`), so that one drawing serves light, dark and print. Needs the extra
`report`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from planner.report.page import Figure

TERM_COLOURS = {
    "reserved": 1, "on demand": 2, "spot": 3, "spot fallback": 4, "owned": 5, "power": 6, "api": 7, "egress": 8,
    "ops overhead": 9,
}  # fmt: skip
"""Cost term → colour of the page, so that a term looks the same on every page; others share the last."""
COLOURS = 10
WIDE, NARROW = 700, 330
"""Widths in pixels: a desktop's or a printed page's column, and a phone's."""
PADDING = {"left": 16, "right": 12, "top": 4, "bottom": 4}
"""Room for labels where the reader's fonts are wider than those that were measured."""
_KEPT = {"svg", "g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clipPath", "title"}
_DROPPED = re.compile(r"(on.*|href|role|aria-.*|pointer-events|cursor|class|style)\Z")
_NAME = re.compile(r"\{[^}]*\}")


def figure_svg(figure: Figure, width: int) -> str:
    """The figure as one `<svg>` element of that width; only shapes and text, no script, link or style is in it."""
    import vl_convert

    chart = _chart(figure, width)
    tree = chart.to_dict()
    svg = vl_convert.vegalite_to_svg(tree, vl_version=_version(tree), allowed_base_urls=[])
    return _inert(svg, f"{figure.id}-{width}")


def _version(tree: Mapping[str, Any]) -> str | None:
    """The renderer's version of the grammar that altair wrote the chart in; None (its newest) where it has none."""
    import vl_convert

    found = re.search(r"/v(\d+\.\d+)", str(tree.get("$schema", "")))
    return found[1] if found and found[1] in vl_convert.get_vegalite_versions() else None


def _inert(svg: str, name: str) -> str:
    """The drawing with known elements alone, hidden from screen readers, ids made unique by `name`."""
    root = ElementTree.fromstring(svg)

    def clean(element: ElementTree.Element) -> None:
        element.tag = _NAME.sub("", element.tag)
        for key in list(element.attrib):
            bare = _NAME.sub("", key)
            value = element.attrib.pop(key)
            if not _DROPPED.match(bare):
                value = re.sub(r"url\(#(.*?)\)", rf"url(#{name}-\1)", value)
                element.set(bare, f"{name}-{value}" if bare == "id" else value)
        for child in list(element):
            if _NAME.sub("", child.tag) in _KEPT:
                clean(child)
            else:
                element.remove(child)

    clean(root)
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    return ElementTree.tostring(root, encoding="unicode")


def _chart(figure: Figure, width: int) -> Any:
    chart = _KINDS[figure.kind](figure, width)
    return (
        chart.properties(width=width, background="transparent", padding=PADDING)
        .configure(autosize={"type": "fit-x", "contains": "padding"}, font="Arial, 'Liberation Sans', sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor="var(--ink)", titleColor="var(--ink)", gridColor="var(--line)", domainColor="var(--muted)",
            tickColor="var(--muted)", labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
            labelLimit=_limit(width),
        )
        .configure_legend(
            labelColor="var(--ink)", titleColor="var(--ink)", labelFontSize=12, orient="top", title=None,
            columns=5 if width == WIDE else 2, labelLimit=150, columnPadding=20,
        )
        .configure_text(color="var(--ink)", fontSize=12)
    )  # fmt: skip


def _limit(width: int) -> int:
    """Pixels of a label beside a bar."""
    return width * 2 // 5 if width == WIDE else width // 3


def _colour(number: int) -> str:
    return f"var(--c{number})"


def _scale(pairs: Mapping[str, int]) -> Any:
    import altair as alt

    return alt.Scale(domain=list(pairs), range=[_colour(c) for c in pairs.values()])


def _money(title: str, width: int, zero: bool = True) -> Any:
    import altair as alt

    axis = alt.Axis(format=",.0f" if width == WIDE else "~s", tickCount=6 if width == WIDE else 4)
    return {"title": title, "axis": axis, "scale": alt.Scale(zero=zero, nice=True)}


def _base(figure: Figure) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData([dict(row) for row in figure.rows]))


def _stack(figure: Figure, width: int) -> Any:
    import altair as alt

    terms = dict.fromkeys(str(r["term"]) for r in figure.rows)
    colours = {t: TERM_COLOURS.get(t, COLOURS) for t in terms}
    return _base(figure).transform_calculate(rank=_position(list(colours), "term")).mark_bar(
        stroke="var(--paper)", strokeWidth=1
    ).encode(
        y=alt.Y("plan:N", sort=None, title=None),
        x=alt.X("usd:Q", **_money(figure.x_title, width)),
        color=alt.Color("term:N", scale=_scale(colours), sort=list(colours)),
        order=alt.Order("rank:Q"),
    ).properties(height=alt.Step(28))  # fmt: skip


def _position(names: list[str], field: str) -> str:
    """Expression: the place of a field's value among fixed names (they are ours, never a user's)."""
    listed = ", ".join(f"'{re.sub(r'[^A-Za-z0-9 ]', '', n)}'" for n in names)
    return f"indexof([{listed}], datum.{field})"


def _quarters(figure: Figure, width: int) -> Any:
    import altair as alt

    return _base(figure).mark_bar().encode(
        y=alt.Y("quarter:N", sort=None, title=None),
        yOffset=alt.YOffset("series:N", sort=["amortised", "invoices"]),
        x=alt.X("usd:Q", **_money(figure.x_title, width)),
        color=alt.Color("series:N", scale=_scale({"amortised": 1, "invoices": 7})),
    ).properties(height=alt.Step(16))  # fmt: skip


def _capacity(figure: Figure, width: int) -> Any:
    import altair as alt

    colours = {"firm machines": 1, "spot": 3, "API": 7}
    y = alt.Y("slice:N", sort=None, title=None)
    bars = _base(figure).transform_calculate(rank=_position(list(colours), "by")).mark_bar(
        stroke="var(--paper)", strokeWidth=1
    ).encode(
        y=y, x=alt.X("rate:Q", title=figure.x_title, axis=alt.Axis(tickCount=6 if width == WIDE else 4)),
        color=alt.Color("by:N", scale=_scale(colours)), order=alt.Order("rank:Q"),
    )  # fmt: skip
    marks = _base(figure).mark_tick(color="var(--ink)", thickness=3, size=22).encode(y=y, x="demand:Q")
    return (bars + marks).properties(height=alt.Step(26))


def _front(figure: Figure, width: int) -> Any:
    import altair as alt

    x = alt.X("x:Q", **_money(figure.x_title, width, zero=False))
    y = alt.Y(
        "y:Q", title=figure.y_title, axis=alt.Axis(format="~s", tickCount=5), scale=alt.Scale(zero=False, nice=True)
    )
    base = _base(figure)
    line = base.transform_filter("datum.front").mark_line(color=_colour(1), interpolate="step-after", strokeDash=[4, 3])
    points = base.mark_circle(size=90, opacity=1, color=_colour(1))
    labels = base.mark_text(align="left", dx=8, dy=-6, fontWeight="bold")
    return (
        line.encode(x=x, y=y) + points.encode(x=x, y=y) + labels.encode(x=x, y=y, text="number:N")
    ).properties(height=260 if width == WIDE else 220)  # fmt: skip


def _tornado(figure: Figure, width: int) -> Any:
    import altair as alt

    y = alt.Y("input:N", sort=None, title=None)
    bars = _base(figure).mark_bar().encode(
        y=y, x=alt.X("from:Q", **_money(figure.x_title, width, zero=False)), x2="to:Q",
        color=alt.Color("side:N", scale=_scale({"lower": 1, "higher": 7}), sort=["lower", "higher"]),
    )  # fmt: skip
    now = _base(figure).mark_rule(color="var(--ink)", strokeWidth=2).encode(x=alt.X("from:Q", aggregate="min"))
    return (bars + now).properties(height=alt.Step(26))


def _curve(figure: Figure, width: int) -> Any:
    return _lines(figure, width, log=False)


def _log_curve(figure: Figure, width: int) -> Any:
    return _lines(figure, width, log=True)


def _lines(figure: Figure, width: int, log: bool) -> Any:
    import altair as alt

    scale = alt.Scale(type="log") if log else alt.Scale(zero=True)
    axis = alt.Axis(format="~s", tickCount=5)
    order = ("all by API", "machines at the break-even", "machines only", "best of both")
    present = [s for s in order if any(r["series"] == s for r in figure.rows)]
    colours = {s: {"all by API": 7, "best of both": 3}.get(s, 1) for s in present}
    dashes = alt.Scale(domain=present, range=[{"best of both": [2, 3]}.get(s, [1, 0]) for s in present])
    base = _base(figure).transform_filter("datum.usd > 0 && datum.volume > 0") if log else _base(figure)
    return base.mark_line(strokeWidth=2.5, point={"filled": True, "size": 40}).encode(
        x=alt.X("volume:Q", title=figure.x_title, scale=scale, axis=axis),
        y=alt.Y("usd:Q", title=figure.y_title, scale=scale, axis=axis),
        color=alt.Color("series:N", scale=_scale(colours), legend=alt.Legend(columns=1 if width == NARROW else 3,
                                                                              labelLimit=220)),
        strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None),
    ).properties(height=280 if width == WIDE else 230)  # fmt: skip


def _places(figure: Figure, width: int) -> Any:
    """Countries against laws; what shares a cell stands in lines of it."""
    import altair as alt

    lines: dict[tuple[str, str], list[str]] = {}
    for r in figure.rows:
        lines.setdefault((str(r["country"]), str(r["operator"])), []).append(str(r["label"]))
    cells = [{"country": c, "operator": o, "label": label} for (c, o), label in lines.items()]
    tallest = max((len(c["label"]) for c in cells), default=1)
    base = alt.Chart(alt.InlineData(cells))
    x = alt.X("operator:N", title=figure.x_title, axis=alt.Axis(labelAngle=0, orient="top"))
    y = alt.Y("country:N", title=figure.y_title)
    boxes = base.mark_rect(fill="var(--soft)", stroke="var(--c1)", cornerRadius=4).encode(x=x, y=y)
    text = base.mark_text(lineHeight=15, baseline="middle", dy=-7.5 * (tallest - 1)).encode(x=x, y=y, text="label:N")
    return (boxes + text).properties(height=alt.Step(26 + 15 * tallest))


_KINDS: Mapping[str, Callable[[Figure, int], Any]] = {
    "stack": _stack, "quarters": _quarters, "capacity": _capacity, "front": _front, "tornado": _tornado,
    "curve": _curve, "log_curve": _log_curve, "places": _places,
}  # fmt: skip
