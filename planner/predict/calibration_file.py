"""Calibrations on disk: what `planner calibrate` writes, YAML or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.errors import BENCHMARK_CODES, Fault, InputError
from planner.performance.calibration import Calibration

VERSION = 1
HEAD = "# What your own benchmarks say of the estimates, written by `planner calibrate`.\n"
MOST_BYTES = 20_000_000


def read_calibrations(files: Iterable[str]) -> Calibration:
    """All files together; a later file's scale replaces an earlier one's. Raises InputError (B106)."""
    found = Calibration()
    for file in files:
        found = found.with_scales(read_calibration(file).scales)
    return found


def read_calibration(file: str) -> Calibration:
    """One file. Raises InputError (B101, B106)."""
    try:
        data = Path(file).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError([Fault("B101", f"cannot read {file}: {why}", help=BENCHMARK_CODES["B101"].help)]) from error
    tree = parse_yaml(data, file)
    if not is_calibration(tree):
        raise _refusal(file, "the file is no calibration: it has no `planner_calibration`")
    body = {k: v for k, v in tree.items() if k != "planner_calibration"}
    if tree["planner_calibration"] != VERSION:
        raise _refusal(file, f"calibrations of version {tree['planner_calibration']} are not known")
    try:
        return Calibration.model_validate(body)
    except ValidationError as error:
        faults = []
        for e in error.errors():
            path = ".".join(str(p) for p in e["loc"])
            faults.append(Fault("B106", f"{path}: {e['msg']}", file=file, help=BENCHMARK_CODES["B106"].help))
        raise InputError(faults) from None


def is_calibration(tree: object) -> bool:
    """Whether a parsed file says that it is one."""
    return isinstance(tree, dict) and "planner_calibration" in tree


def parse_yaml(data: bytes, file: str) -> Any:
    """The value of a YAML or JSON file. Raises InputError (B102)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(data) > MOST_BYTES:
        raise InputError([Fault("B102", f"{file} has more than {MOST_BYTES // 1_000_000} MB", file=file)])
    try:
        return YAML(typ="safe", pure=True).load(data.decode("utf-8-sig"))
    except (YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        why = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise InputError(
            [Fault("B102", f"the file is neither YAML nor JSON: {why}", file=file, line=line,
                   help=BENCHMARK_CODES["B102"].help)]
        ) from error  # fmt: skip


def calibration_text(calibration: Calibration, as_json: bool) -> str:
    """The file of a calibration."""
    tree = {"planner_calibration": VERSION, **calibration.model_dump(mode="json", exclude_none=True)}
    if as_json:
        import json

        return json.dumps(tree, indent=2) + "\n"
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 120
    out = StringIO()
    yaml.dump(tree, out)
    return HEAD + out.getvalue()


def _refusal(file: str, message: str) -> InputError:
    return InputError([Fault("B106", message, file=file, help=BENCHMARK_CODES["B106"].help)])
