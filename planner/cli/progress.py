"""One line on standard error that says how far a long run is."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

QUIET_S = 2.0
"""Nothing is shown before that: most runs are over by then."""
EVERY_S = 0.5
ANSI_CLEAR_LINE = "\r\x1b[2K"


class ProgressLine:
    """What is being done, and incumbent, bound and gap of the solve. Silent off a terminal unless asked for.

    `asked`: True shows it always and at once, False never, None on a terminal after 2 s. Off a terminal every change
    is a line of its own. Thread-safe; a context manager that wipes the line at its end.
    """

    def __init__(self, asked: bool | None = None) -> None:
        self._terminal = sys.stderr.isatty()
        self._on = self._terminal if asked is None else asked
        self._start = time.monotonic()
        self._quiet_s = 0.0 if asked else QUIET_S
        self._last, self._shown = 0.0, ""
        self._lock = threading.Lock()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            if self._terminal and self._shown:
                sys.stderr.write(ANSI_CLEAR_LINE)
                sys.stderr.flush()

    def stage(self, text: str) -> None:
        """Begin a stage, e.g. `candidates`."""
        self._show(text, force=True)

    def numbers(self, text: str, incumbent: float | None, bound: float | None) -> None:
        """Incumbent and bound, USD/month, of the solve that `text` names."""
        parts = [text]
        if incumbent is not None:
            parts.append(f"best {incumbent:,.0f} USD/month")
        if bound is not None:
            parts.append(f"bound {bound:,.0f}")
        if incumbent and bound is not None:
            parts.append(f"gap {100.0 * max(0.0, incumbent - bound) / abs(incumbent):.2f} %")
        self._show(" · ".join(parts))

    def _show(self, text: str, force: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            if not self._on or now - self._start < self._quiet_s:
                return
            if not force and (now - self._last < EVERY_S or text == self._shown):
                return
            self._last, self._shown = now, text
            line = f"[{now - self._start:4.0f} s] {text}"
            sys.stderr.write(f"{ANSI_CLEAR_LINE}{line[:118]}" if self._terminal else f"{line}\n")
            sys.stderr.flush()
