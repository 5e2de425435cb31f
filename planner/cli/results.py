"""Reading documents that earlier commands wrote: the result of a solve, the curve of a break-even."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from planner.base import Frozen
    from planner.explain.types import VolumeCurve
    from planner.report.types import Result

    Document = TypeVar("Document", bound=Frozen)

RESULT_HELP = "make it anew with: planner solve SPEC --format json -o result.json"
CURVE_HELP = "make it with: planner breakeven SPEC --format json -o curve.json"


def read_result(source: str) -> Result:
    """The result in a file (`-`: standard input). Raises InputError (U107) for anything else."""
    from planner.report.types import Result

    return _read(source, Result, "a result", '"provenance"', RESULT_HELP)


def read_curve(source: str) -> VolumeCurve:
    """The curve in a file that `planner breakeven --format json` wrote. Raises InputError (U107)."""
    from planner.explain.types import VolumeCurve

    return _read(source, VolumeCurve, "a break-even curve", '"crossover"', CURVE_HELP)


def _read(source: str, kind: type[Document], what: str, mark: str, help_: str) -> Document:
    text = _text(source, help_)
    if not text.lstrip().startswith("{") or mark not in text:
        raise InputError([Fault("U107", f"{source} is not {what} of planner", path=source, help=help_)])
    return parse(text, source, kind, what, help_)


def _text(source: str, help_: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        said = f"cannot read {source}: {error.strerror or error}"
        raise InputError([Fault("U107", said, path=source, help=help_)]) from error
    except UnicodeDecodeError as error:
        raise InputError([Fault("U107", f"{source} is not text", path=source, help=help_)]) from error


def parse(text: str, source: str, kind: type[Document], what: str = "a result", help_: str = RESULT_HELP) -> Document:
    """The document in JSON text, every field checked. Raises InputError (U107) that names the first wrong field."""
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(p) for p in first["loc"])
        said = f"not {what} of this version of planner: {place + ': ' if place else ''}{first['msg']}"
        raise InputError([Fault("U107", said, path=source, help=help_)]) from error
