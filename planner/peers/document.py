"""Reading a peer's JSON file: what is there, of which kind, in which range; every fault of a file at once."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.errors import IMPORT_CODES, Fault, InputError

MAX_BYTES = 50_000_000
"""More is no problem file."""
LARGEST = 1e12
"""No price, rate, time or count of a real problem is greater; less than 1 ÷ this is 0."""


@dataclass(slots=True)
class Reading:
    """The faults found so far in one file."""

    file: str
    faults: list[Fault] = field(default_factory=list)

    def fault(self, code: str, message: str, path: str | None = None, help_: str | None = None) -> None:
        """Record a fault at a path such as `gpu_info.A10G.cost`."""
        self.faults.append(
            Fault(code=code, message=message, path=path, file=self.file, help=help_ or IMPORT_CODES[code].help)
        )

    def stop(self) -> None:
        """Raise InputError if anything is wrong so far."""
        if self.faults:
            raise InputError(self.faults)

    def mapping(self, value: object, path: str) -> Mapping[str, object]:
        """A JSON object; I103 and an empty one otherwise."""
        if isinstance(value, dict):
            return value
        self.fault("I103", f"{path or 'the file'} must be an object, not {kind(value)}", path or None)
        return {}

    def rows(self, value: object, path: str) -> Sequence[object]:
        """A JSON array; I103 and an empty one otherwise."""
        if isinstance(value, list):
            return value
        self.fault("I103", f"{path} must be a list, not {kind(value)}", path)
        return ()

    def text(self, owner: Mapping[str, object], key: str, path: str) -> str:
        """A text that is not empty; I103 and `?` otherwise."""
        value = owner.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        what = "is missing" if key not in owner else f"must be a name, not {kind(value)}"
        self.fault("I103", f"{path}.{key} {what}", f"{path}.{key}")
        return "?"

    def number(self, value: object, path: str, *, above: float | None = None, default: float | None = None) -> float:
        """A number from 0 to LARGEST, or greater than `above`; I103 or I104 and 1 otherwise.

        A value that is absent (None) is `default`, if there is one.
        """
        if value is None and default is not None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            what = "is missing" if value is None else f"must be a number, not {kind(value)}"
            self.fault("I103", f"{path} {what}", path)
            return 1.0
        number = float(value) if abs(value) <= sys.float_info.max else math.inf
        number = 0.0 if 0 < number < 1 / LARGEST else number
        if not 0 <= number <= LARGEST or (above is not None and number <= above):
            least = "0" if above is None else f"greater than {above:g}"
            self.fault("I104", f"{path} must be {least} … {LARGEST:g}, not {number:g}", path)
            return 1.0
        return number

    def whole(
        self, value: object, path: str, *, least: int = 1, most: float = LARGEST, default: int | None = None
    ) -> int:
        """A whole number from `least` to `most`; I103 or I104 and `least` otherwise."""
        if value is None and default is not None:
            return default
        number = self.number(value, path)
        if number != int(number) or not least <= number <= most:
            self.fault("I104", f"{path} must be a whole number from {least} to {most:g}, not {number:g}", path)
            return least
        return int(number)


def kind(value: object) -> str:
    """What a JSON value is called."""
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def read_json(path: str) -> object:
    """The JSON value of a file, `-` for standard input. Raises InputError: I101 (cannot be read), I102 (no JSON)."""
    reading = Reading("standard input" if path == "-" else path)
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else _bytes(Path(path))
    except OSError as e:
        reading.fault("I101", f"cannot read {reading.file}: {e.strerror or e}")
        raise InputError(reading.faults) from e
    if len(data) > MAX_BYTES:
        reading.fault("I101", f"{reading.file} has more than {MAX_BYTES // 1_000_000} MB")
    elif not data.strip():
        reading.fault("I102", f"{reading.file} is empty")
    reading.stop()
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as e:
        message = f"{reading.file} is not JSON: {e.msg} in line {e.lineno}, column {e.colno}"
    except RecursionError:
        message = f"{reading.file} is nested too deeply"
    except ValueError as e:
        message = f"{reading.file} is not JSON: {e}"
    reading.fault("I102", message)
    raise InputError(reading.faults)


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is no number")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [k for k, _ in pairs]
        twice = next(k for k in names if names.count(k) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return found
