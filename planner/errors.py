"""Every error a user can meet, as data; `cli/` alone turns them into text.

    PlannerError                    exit 1   our failure
    ├── InputError                  exit 2   bad input: carries every fault found
    ├── SolverError                 exit 1   an engine crashed or answered nonsense
    ├── VerificationError           exit 1   a plan failed its recomputation and is not shown
    └── Interrupted                 exit 130 Ctrl-C

Codes: S1xx reading a file, S2xx a field's value, S3xx names and references, S4xx not supported yet,
C1xx catalog rows, C2xx model configs, I1xx imported files, P1xx points to predict, B1xx benchmark files,
U1xx usage of a command, E1xx solving.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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


@dataclass(frozen=True, slots=True)
class Code:
    """What an error code stands for: a title, and what to do about it when the fault itself has no better help."""

    title: str
    help: str


SPEC_CODES: Mapping[str, Code] = MappingProxyType(
    {
        "S101": Code("the file cannot be read", "give the path of a workload file, or - for standard input"),
        "S102": Code(
            "the file is too large", "a workload file is at most 5 MB; put large tables into catalog overlays"
        ),
        "S103": Code("the file is not text", "save the file as UTF-8 text"),
        "S104": Code("the file is empty", "`planner init` writes a starter file"),
        "S105": Code("the file is not YAML", "check quotes, brackets and indentation at the place shown"),
        "S106": Code("the file holds several documents", "keep one document: remove everything after the second ---"),
        "S107": Code("the file is too large once its aliases are expanded", "write the repeated parts out, or fewer"),
        "S108": Code("the file is nested too deeply", "a workload file needs fewer than ten levels"),
        "S109": Code("the file is not a mapping", "a workload file starts with schema_version, name and workloads"),
        "S110": Code("a key is given twice", "keep one of the two"),
        "S111": Code("a YAML feature that a workload file does not use", "write plain keys and values"),
        "S201": Code("unknown field", "`planner schema` lists every field"),
        "S202": Code("wrong kind of value", "`planner schema` says what each field takes"),
        "S203": Code("not a quantity", "write a number, or a number with a unit such as 500ms, 40M or 95%"),
        "S204": Code("out of range", "the unit of a number is in the name of its field"),
        "S205": Code("a required field is missing", "`planner schema` lists the required fields"),
        "S206": Code("fields that exclude each other", "keep one of them"),
        "S207": Code("not one of the choices", "choose one of the words listed"),
        "S208": Code("values that contradict each other", "change one of them"),
        "S209": Code("shares do not add up to 1", "the shares of a workload's classes add up to 1"),
        "S210": Code(
            "not a traffic profile", "give 24 weights (hours of a day) or 168 (hours of a week, Monday first)"
        ),
        "S211": Code("no traffic, so nothing to plan", "give a rate or volume greater than 0"),
        "S212": Code("a name is used twice", "rename one of them"),
        "S213": Code("not a date", "write a date as 2027-01-31"),
        "S214": Code("not a usable name", "use letters, digits, spaces, '.', '_' and '-'"),
        "S215": Code("a file that cannot be used", "a CSV or .jsonl; its path is relative to the workload file"),
        "S301": Code(
            "a name that the catalog does not know",
            "`planner catalog list models` (accelerators, countries, …) shows every known name",
        ),
        "S302": Code("unknown time zone", "use a name of the tz database such as Europe/Berlin, or UTC"),
        "S303": Code("a name that the file does not define", "use the name of a class of one of the workloads"),
        "S304": Code(
            "not a commitment that the catalog knows", "write provider/region/instance_type/reserved_1y or reserved_3y"
        ),
        "S401": Code("not supported yet", "leave the field out or give its neutral value"),
    }
)
"""Every code of the spec room; each has a test."""


IMPORT_CODES: Mapping[str, Code] = MappingProxyType(
    {
        "I101": Code("the file cannot be read", "give the path of the problem's file or folder"),
        "I102": Code("the file is not JSON", "check that the file is complete"),
        "I103": Code("a field is missing or of the wrong kind", "compare the file with the peer's own examples"),
        "I104": Code("a value is out of range", "rates, prices and times are finite and not negative"),
        "I105": Code("tables of different sizes", "every table has a row and a column for every request size"),
        "I106": Code("shares do not add up to 1", "give the share of the requests that have each size"),
        "I107": Code("nothing to plan", "give at least one accelerator and some traffic"),
        "I108": Code("a name that the files do not define", "name an accelerator, model or class of the same system"),
    }
)
"""Every code of the room that imports peers' files; each has a test."""


PREDICT_CODES: Mapping[str, Code] = MappingProxyType(
    {
        "P101": Code("the file cannot be read", "give the path of a CSV file, or - for standard input"),
        "P102": Code("the file is not CSV", "save the table as UTF-8 text with a head and commas between cells"),
        "P103": Code(
            "a column is missing", "the head names model, accelerator, input_tokens, output_tokens; more are optional"
        ),
        "P104": Code("a column is given twice", "keep one of the two"),
        "P105": Code("the point cannot be predicted", "`planner predict --help` lists what a point needs"),
    }
)
"""Every code of `planner predict`; each has a test."""


BENCHMARK_CODES: Mapping[str, Code] = MappingProxyType(
    {
        "B101": Code("the file cannot be read", "give the path of a benchmark's output, or - for standard input"),
        "B102": Code("the file is no benchmark's output", "give the file as the tool wrote it; check that it is whole"),
        "B103": Code(
            "the format is not known",
            "known are vllm bench serve, GuideLLM, aiperf or genai-perf, InferenceX, AccelMark, and a CSV of points",
        ),
        "B104": Code("the file does not say enough", "give what the file does not say as an option"),
        "B105": Code("a value is out of range", "times, rates and token counts are finite and greater than 0"),
        "B106": Code("not a calibration", "give a file that `planner calibrate` wrote"),
        "B107": Code("nothing to learn from", "give a benchmark with completed requests and a time per output token"),
    }
)
"""Every code of `planner calibrate` and of `measured: - file:`; each has a test."""
