"""Errors as text on standard error: a code, one sentence, the place, the line, a help (STYLE §8)."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

import click

from planner.errors import Fault, InputError, Interrupted, PlannerError, SolverError, VerificationError

SHOWN_COLUMNS = 100
"""Source lines longer than this are cut around the fault."""
_COLOURS = {"error": "red", "warning": "yellow"}


def colour_on() -> bool:
    """Colour only on a terminal, and never with NO_COLOR set (no-color.org: any non-empty value)."""
    import os

    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _printable(text: str) -> str:
    """Control characters made visible: a file must not be able to drive the reader's terminal."""
    return "".join(
        c if not unicodedata.category(c).startswith("C") else ("    " if c == "\t" else f"\\x{ord(c):02x}")
        for c in text
    )


def _width(text: str) -> int:
    """Terminal columns: wide East Asian characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in _printable(text)
    )


def _window(source: str, column: int, length: int) -> tuple[str, int, int]:
    """The part of a long line around the fault: (text, 0-based start of the fault in it, length inside it)."""
    start = max(0, min(column - 1, len(source)))
    length = max(1, min(length, len(source) - start, SHOWN_COLUMNS))
    if len(source) <= SHOWN_COLUMNS:
        return source, start, length
    left = max(0, min(start - 20, len(source) - SHOWN_COLUMNS))
    text = source[left : left + SHOWN_COLUMNS]
    head, tail = ("…" if left else ""), ("…" if left + SHOWN_COLUMNS < len(source) else "")
    return head + text + tail, start - left + len(head), max(1, min(length, left + SHOWN_COLUMNS - start))


def render_fault(fault: Fault, colour: bool = False) -> str:
    """One fault in the form of STYLE §8, without a final newline.

    error[S204]: tpot_p95_ms must be greater than 0
      --> workload.yaml:7:22
       |
     7 |         tpot_p95_ms: -3
       |                      ^^
      help: time per output token at the 95th percentile, in milliseconds, e.g. 40
    """

    def style(text: str, **how: object) -> str:
        return click.style(text, **how) if colour else text  # type: ignore[arg-type]

    tone = _COLOURS.get(fault.severity, "red")
    lines = [style(f"{fault.severity}[{fault.code}]", fg=tone, bold=True) + f": {_printable(fault.message)}"]
    file = getattr(fault, "file", None) or fault.path
    if file is not None:
        place = _printable(file)
        if fault.line is not None:
            place += f":{fault.line}" + (f":{fault.column}" if fault.column is not None else "")
        if fault.path is not None and fault.path != file:
            place += f" ({_printable(fault.path)})"
        lines.append(f"  {style('-->', fg='blue', bold=True)} {place}")
    if fault.line is not None and fault.source is not None:
        number = str(fault.line)
        gutter = " " * (max(len(number), 2) + 1) + style("|", fg="blue")
        text, start, length = _window(fault.source, fault.column or 1, fault.length)
        lines.append(gutter)
        lines.append(f"{number:>{max(len(number), 2)}} {style('|', fg='blue')} {_printable(text)}".rstrip())
        carets = "^" * max(1, _width(text[start : start + length]))
        lines.append(f"{gutter} {' ' * _width(text[:start])}{style(carets, fg=tone, bold=True)}")
    if fault.help:
        lines.append(f"  {style('help', fg='cyan')}: {_printable(fault.help)}")
    return "\n".join(lines)


def summary(faults: Sequence[Fault]) -> str:
    """`3 errors, 1 warning`."""
    parts = []
    for severity in ("error", "warning"):
        n = sum(f.severity == severity for f in faults)
        if n:
            parts.append(f"{n} {severity}{'s' if n > 1 else ''}")
    return ", ".join(parts)


def print_faults(faults: Sequence[Fault]) -> None:
    """All faults and a line that counts them, to standard error."""
    colour = colour_on()
    for fault in faults:
        click.echo(render_fault(fault, colour) + "\n", err=True, color=colour)
    click.echo(summary(faults), err=True)


def print_planner_error(error: PlannerError) -> None:
    """Any of our errors as text on standard error."""
    if isinstance(error, InputError):
        print_faults(error.faults)
        return
    code = "E101" if isinstance(error, SolverError) else "E102" if isinstance(error, VerificationError) else None
    if isinstance(error, VerificationError):
        message = "a plan failed its recomputation and is not shown: " + "; ".join(error.violations[:5])
    else:
        message = str(error)
    tag = "error" if code is None else f"error[{code}]"
    if isinstance(error, Interrupted):
        tag = "interrupted"
    colour = colour_on()
    click.echo((click.style(tag, fg="red", bold=True) if colour else tag) + f": {_printable(message)}", err=True)


def print_usage_error(error: click.ClickException) -> None:
    """A wrong use of the command line, in the same form: what is wrong, then how to get help."""
    message = error.format_message()
    hint = None
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.get_usage()}  (see '{error.ctx.command_path} --help')"
    code = "U102" if isinstance(error, click.FileError) else "U101"
    click.echo(render_fault(Fault(code, message, help=hint), colour_on()), err=True)
