"""The parts of a review page, without how they are drawn: HTML and Markdown are made from the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FigureKind = Literal["stack", "quarters", "capacity", "front", "tornado", "curve", "log_curve", "places"]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; a head that ends with `>` is set right."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart: what is drawn (`rows`, by kind, see `planner.report.charts`) and the same as a table."""

    id: str
    kind: FigureKind
    title: str
    """What it shows, as a phrase."""
    caption: str
    """What a reader should see in it, and what it leaves out."""
    rows: tuple[Mapping[str, str | float | bool], ...]
    table: Table
    x_title: str = ""
    y_title: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    lines: tuple[str, ...]


Block = Table | Figure | Heading | Paragraph | Bullets


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part; `id` is what a link names."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole review page."""

    name: str
    """Name of the spec: text of a user."""
    status: str
    summary: tuple[str, ...]
    """The recommendation, a sentence each."""
    sections: tuple[Section, ...]
    stamp: str
    """What made the result."""
