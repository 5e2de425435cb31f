"""Calibrations on disk: the points that `planner calibrate` read, in the catalog's names, YAML or JSON.

Measurements are kept, not factors: what they say of an estimate is computed when they are used, so that a calibration
stays true when the estimates get better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.types import BenchmarkPoint
from planner.errors import BENCHMARK_CODES, Fault, InputError
from planner.predict.formats.detect import read_bytes

VERSION = 1
KEY = "planner_calibration"
HEAD = "# Measured points that correct planner's estimates, written by `planner calibrate`.\n"


def with_calibrations(catalog: Catalog, files: Iterable[str]) -> Catalog:
    """The catalog with the points of calibration files. Raises InputError (B101, B102, B106)."""
    points = [p for file in files for p in read_calibration(read_bytes(file), file, catalog)]
    return catalog.with_benchmarks(points)


def read_calibration(data: bytes, file: str, catalog: Catalog) -> list[BenchmarkPoint]:
    """The points of one file, their names known to the catalog. Raises InputError (B102, B106)."""
    tree = _tree(data, file)
    if not isinstance(tree, dict) or KEY not in tree:
        raise _refusal(file, [f"the file is no calibration: it has no `{KEY}`"])
    if tree[KEY] != VERSION:
        raise _refusal(file, [f"calibrations of version {str(tree[KEY])[:20]} are not known"])
    rows, unknown = tree.get("points"), sorted(str(k) for k in tree.keys() - {KEY, "points"})
    if not isinstance(rows, list) or not rows:
        raise _refusal(file, ["points must be a list of measured points"])
    problems = [f"unknown field {k}" for k in unknown]
    points = []
    for number, row in enumerate(rows, start=1):
        try:
            point = BenchmarkPoint.model_validate(row)
            _check(point, catalog)
            points.append(point)
        except ValidationError as error:
            problems += [f"point {number}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        except (UnknownName, ValueError) as error:
            problems.append(f"point {number}: {error}")
    if problems:
        raise _refusal(file, problems)
    return points


def _check(point: BenchmarkPoint, catalog: Catalog) -> None:
    """Names are the catalog's, and something was measured. Raises UnknownName or ValueError."""
    catalog.model(point.model)
    catalog.accelerator(point.accelerator)
    catalog.engine(point.engine)
    catalog.precision(point.precision)
    if catalog.precision(point.kv_precision).kv_bytes is None:
        raise ValueError(f"{point.kv_precision} is no precision of a KV cache")
    if point.tpot_ms is None and point.req_per_s is None:
        raise ValueError("needs tpot_ms or req_per_s")


def is_calibration(data: bytes) -> bool:
    """Whether a file says that it is one."""
    return KEY.encode() in data[:1000]


def _tree(data: bytes, file: str) -> Any:
    """The value of a YAML or JSON file. Raises InputError (B102)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(data.decode("utf-8-sig"))
    except (YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        why = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        message, help_ = f"the file is neither YAML nor JSON: {why}", BENCHMARK_CODES["B102"].help
        raise InputError([Fault("B102", message, file=file, line=line, help=help_)]) from error


def calibration_text(points: Sequence[BenchmarkPoint], as_json: bool) -> str:
    """The file of some points."""
    rows = [p.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for p in points]
    tree = {KEY: VERSION, "points": rows}
    if as_json:
        import json

        return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 120
    out = StringIO()
    yaml.dump(tree, out)
    return HEAD + out.getvalue()


def _refusal(file: str, messages: Sequence[str]) -> InputError:
    help_ = BENCHMARK_CODES["B106"].help
    return InputError([Fault("B106", m, file=file, help=help_) for m in messages])


def file_name(path: str, base: Path | None = None) -> str:
    """A path relative to a folder, as it is opened."""
    return str((base or Path()) / path) if path != "-" else path
