"""Every error a user can meet, as data; `cli/` alone turns them into text.

    PlannerError                    exit 1   our failure
    ├── InputError                  exit 2   bad input: carries every fault found
    ├── SolverError                 exit 1   an engine crashed or answered nonsense
    ├── VerificationError           exit 1   a plan failed its recomputation and is not shown
    └── Interrupted                 exit 130 Ctrl-C

Codes: S1xx reading a file, S2xx a field's value, S3xx names and references, S4xx not supported yet,
C1xx catalog rows, U1xx usage of a command, E1xx solving.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    `line` and `column` are 1-based (None: the fault has no place in a file); `length` is how many characters to
    underline; `source` is the text of that line.
    """

    code: str
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    length: int = 1
    source: str | None = None
    help: str | None = None
    severity: str = "error"
    file: str | None = None
    """Name of the file where it is not the spec itself (catalog tables, overlays)."""


class PlannerError(Exception):
    """Base of all our errors."""

    exit_code = 1


class InputError(PlannerError):
    """The input is wrong; `faults` holds everything found, in file order."""

    exit_code = 2

    def __init__(self, faults: tuple[Fault, ...] | list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{f.code}: {f.message}" for f in self.faults))


class SolverError(PlannerError):
    """An engine failed: `engine`, `what` happened and the engine's own words in `detail`."""

    def __init__(self, engine: str, what: str, detail: str = "") -> None:
        self.engine, self.what, self.detail = engine, what, detail
        super().__init__(f"{engine}: {what}" + (f" ({detail})" if detail else ""))


class VerificationError(PlannerError):
    """A plan did not survive its recomputation; `violations` says where."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        self.violations = violations
        super().__init__("; ".join(violations))


class Interrupted(PlannerError):
    """The user pressed Ctrl-C."""

    exit_code = 130
