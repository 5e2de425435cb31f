"""A review page as one HTML file that loads nothing: inline SVG and style, no script. Needs the extra `report`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from planner.report.charts import NARROW, WIDE, figure_svg
from planner.report.page import Block, Bullets, Figure, Heading, Page, Paragraph, Table

if TYPE_CHECKING:
    from jinja2 import Template

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def page_html(page: Page, title: str) -> str:
    """The page as HTML text. Every text is escaped; characters that no XML may hold or that turn text round are `�`."""
    drawn = {
        block.id: (figure_svg(_shown_figure(block), WIDE), figure_svg(_shown_figure(block), NARROW))
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Figure)
    }
    return _template().render(page=page, title=title, drawn=drawn, kind_of=_kind)


def seen(text: str) -> str:
    """Text in which control characters, and those that reverse what follows, are a visible `�`."""
    return _UNSEEN.sub("\ufffd", text)


def _shown_figure(figure: Figure) -> Figure:
    rows = tuple({k: seen(v) if isinstance(v, str) else v for k, v in row.items()} for row in figure.rows)
    return Figure(
        figure.id, figure.kind, figure.title, figure.caption, rows, figure.table, figure.x_title, figure.y_title
    )


def _kind(block: Block) -> str:
    kinds = {Table: "table", Figure: "figure", Heading: "heading", Paragraph: "paragraph", Bullets: "bullets"}
    return kinds[type(block)]


@cache
def _template() -> Template:
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              finalize=lambda v: seen(v) if type(v) is str else v)  # fmt: skip
    return environment.from_string(
        (files("planner.report") / "templates" / "review.html.j2").read_text(encoding="utf-8")
    )
