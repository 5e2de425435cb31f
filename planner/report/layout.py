"""Tables and sections for a terminal of 60 to 100 columns: names break only where a person would break them."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

WIDTH = 100
NARROWEST = 60
GAP = 2
"""Blanks between two columns."""
NARROW_CELL = 16
"""A column that is wrapped gets at least this, or what it needs where that is less."""
_COLUMN = re.compile(r"(?s)(?P<head>.*)(?P<mark>[<>~])(?P<drop>\d?)\Z")


def output_width() -> int:
    """Columns to write for: COLUMNS, else the terminal's, else 100; within 60 to 100."""
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


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


def section(title: str, lines: Iterable[str], bullet: str = "") -> RenderableType:
    """A title and lines below it; with a bullet, long lines hang."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(bullet, line)
    return Group(Text(title, style="bold"), grid)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at blanks, else behind a `/`, else behind a `-`, else anywhere."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            if len(joined) <= width:
                line = joined
                continue
            if line:
                lines.append(line)
            *full, line = _broken(word, max(1, width))
            lines += full
        lines.append(line)
    return lines


def _broken(word: str, width: int) -> list[str]:
    parts = []
    while len(word) > width:
        at = word.rfind("/", 1, width) + 1 or word.rfind("-", 1, width) + 1 or width
        parts.append(word[:at])
        word = word[at:]
    return [*parts, word]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; the one with the highest `drop` goes first where the table is too wide, 0 never."""

    head: str
    right: bool
    wrap: bool
    drop: int

    @classmethod
    def read(cls, text: str) -> Column:
        """`head>` is set right, `head<` left, `head~` left and wrapped; a digit behind it is `drop`."""
        found = _COLUMN.match(text)
        if found is None:
            raise ValueError(f"column {text!r} has no mark")
        mark = found["mark"]
        return cls(found["head"], mark == ">", mark == "~", int(found["drop"] or 0))


@dataclass(slots=True)
class FittedTable:
    """A plain table that drops its less important columns, then wraps its long ones, until it fits."""

    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """One cell for every column. Raises ValueError for another number of cells."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(cells)

    def widths(self, available: int) -> dict[int, int]:
        """Position of every column that stays → its width; together with the gaps at most `available` if it can be."""
        shown = list(range(len(self.columns)))
        least = [self._least(i) for i in shown]
        while sum(least[i] for i in shown) + GAP * (len(shown) - 1) > available:
            droppable = [i for i in shown if self.columns[i].drop]
            if not droppable:
                break
            shown.remove(max(droppable, key=lambda i: self.columns[i].drop))
        widths = {i: self._natural(i) for i in shown}
        wrap = [i for i in shown if self.columns[i].wrap]
        spare = available - GAP * (len(shown) - 1)
        while wrap and sum(widths.values()) > spare:
            roomy = [i for i in wrap if widths[i] > least[i]] or [i for i in wrap if widths[i] > 1]
            if not roomy:
                break
            widths[max(roomy, key=lambda i: widths[i])] -= 1
        return widths

    def _cells(self, i: int) -> Iterator[str]:
        yield self.columns[i].head
        yield from (row[i] for row in self.rows)

    def _natural(self, i: int) -> int:
        return max(len(line) for cell in self._cells(i) for line in cell.split("\n"))

    def _least(self, i: int) -> int:
        natural = self._natural(i)
        if not self.columns[i].wrap:
            return natural
        pieces = (piece for cell in self._cells(i) for piece in re.split(r"(?<=/)|\s", cell))
        return max(min(natural, NARROW_CELL), *map(len, pieces))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(
            title=self.title or None, title_justify="left", title_style="bold", box=None, pad_edge=False,
            padding=(0, GAP, 0, 0), header_style="dim",
        )  # fmt: skip
        widths = self.widths(options.max_width)
        for i, width in widths.items():
            column = self.columns[i]
            table.add_column(column.head, justify="right" if column.right else "left", width=width, vertical="top")
        for row in self.rows:
            table.add_row(*("\n".join(wrapped(row[i], width)) for i, width in widths.items()))
        yield table


def table_of(title: str, *columns: str) -> FittedTable:
    """An empty table; how a column is written is said at `Column.read`."""
    return FittedTable(title, tuple(map(Column.read, columns)))
