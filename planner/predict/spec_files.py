"""`measured: - file:` of a spec: benchmarks and calibrations become points of the catalog, CSVs measured rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from planner.catalog.catalog import Catalog, UnknownName
from planner.catalog.types import BenchmarkPoint
from planner.errors import BENCHMARK_CODES, Fault, InputError
from planner.predict.calibration_file import is_calibration, read_calibration
from planner.predict.configure import Configurator
from planner.predict.formats.detect import read_benchmark, read_bytes, read_csv
from planner.predict.measure import LOAD_STATED, STATED, measure
from planner.spec.types import Measured, MeasuredFile, Spec

KINDS = (
    ("prefill_tok_per_s", "decode_tok_per_s"),
    ("capacity_req_per_s",),
    ("idle_iteration_ms", "work_s_per_request"),
)
"""The three kinds of a measured row, each with the figures that it needs."""
FIGURES = frozenset(f for kind in KINDS for f in kind)
KEYS = {(f.alias or n): n for n, f in Measured.model_fields.items()}
NUMBERS = FIGURES | {"tensor_parallel", "pipeline_parallel"}


def read_measured_files(spec: Spec, catalog: Catalog, base: Path) -> tuple[Spec, Catalog]:
    """The spec with the rows of its files written out, and the catalog with the points of its benchmarks.

    Paths are relative to `base`. Raises InputError (B1xx) with the faults of all files.
    """
    if not spec.measured_files:
        return spec, catalog
    configurator = Configurator(catalog)
    rows: list[Measured] = list(spec.measured_rows)
    points: list[BenchmarkPoint] = []
    faults: list[Fault] = []
    for entry in spec.measured_files:
        try:
            found = _read(entry, configurator, str(base / entry.file))
        except InputError as error:
            faults += error.faults
            continue
        rows += [x for x in found if isinstance(x, Measured)]
        points += [x for x in found if isinstance(x, BenchmarkPoint)]
    faults += [*_twice(rows), *_unknown_classes(spec, rows)]
    if faults:
        raise InputError(faults)
    unique = sorted(dict.fromkeys(rows), key=lambda m: m.model_dump_json())
    return spec.model_copy(update={"measured": tuple(unique)}), catalog.with_benchmarks(points)


def _read(entry: MeasuredFile, configurator: Configurator, path: str) -> Sequence[Measured | BenchmarkPoint]:
    data = read_bytes(path)
    stated = {n: str(v) for n in (*STATED, *LOAD_STATED) if (v := getattr(entry, n, None)) is not None}
    if is_calibration(data):
        if stated:
            message = f"a calibration says everything: leave out {', '.join(stated)}"
            raise InputError([Fault("B104", message, file=path, help=BENCHMARK_CODES["B104"].help)])
        return read_calibration(data, path, configurator.catalog)
    head = data.lstrip(b"\xef\xbb\xbf \r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    if not head.startswith(("{", "[")) and FIGURES & {h.strip().strip('"').lower() for h in head.split(",")}:
        return _measured_rows(read_csv(data.decode("utf-8-sig"), path), entry, configurator, path)
    return measure([read_benchmark(data, path)], stated, configurator).points


def _measured_rows(
    table: Sequence[Sequence[str]], entry: MeasuredFile, configurator: Configurator, path: str
) -> list[Measured]:
    """Rows of a CSV whose heads are the fields of a measured row. Raises InputError (B104, B105)."""
    heads = [h.strip().lower() for h in table[0]]
    faults: list[Fault] = []

    def fault(code: str, message: str, line: int) -> None:
        faults.append(Fault(code, message, file=path, line=line, help=BENCHMARK_CODES[code].help))

    for unknown in sorted(set(heads) - KEYS.keys()):
        fault("B104", f"unknown column {unknown[:40]!r}: a measured row has {', '.join(KEYS)}", 1)
    if faults:
        raise InputError(faults)
    rows: list[Measured] = []
    for line, cells in enumerate(table[1:], start=2):
        if not any(c.strip() for c in cells):
            continue
        if len(cells) != len(heads):
            fault("B104", f"the row has {len(cells)} cells, the head {len(heads)}", line)
            continue
        said = {h: c.strip() for h, c in zip(heads, cells, strict=True) if c.strip()}
        try:
            rows.append(_row(said, entry, configurator))
        except (UnknownName, ValueError) as error:
            code = "B105" if isinstance(error, ValidationError) else "B104"
            fault(code, _words(error), line)
    if faults:
        raise InputError(faults)
    return rows


def _row(said: Mapping[str, str], entry: MeasuredFile, configurator: Configurator) -> Measured:
    """One row. Raises UnknownName or ValueError (ValidationError for a value out of range)."""
    names = configurator.names
    fields: dict[str, object] = {**said}
    for name in ("model", "accelerator", "precision", "engine", "tensor_parallel", "pipeline_parallel"):
        stated = getattr(entry, name)
        if stated is not None:
            fields[name] = stated
    if missing := [n for n in ("model", "accelerator", "precision") if n not in fields]:
        raise ValueError(f"the row does not say {' and '.join(missing)}")
    fields["model"] = names.model(str(fields["model"]))[0].id
    fields["accelerator"] = names.accelerator(str(fields["accelerator"]))[0].id
    fields["precision"] = names.precision(str(fields["precision"])).id
    if "engine" in fields:
        fields["engine"] = names.engine(str(fields["engine"])).engine.id
    given = [kind for kind in KINDS if any(f in fields for f in kind)]
    if not given:
        raise ValueError(f"the row has no measurement: {', or '.join(' and '.join(k) for k in KINDS)}")
    if len(given) > 1:
        raise ValueError(f"{given[0][0]} and {given[1][0]} are two kinds of measurement: write one row for each")
    absent = [f for f in given[0] if f not in fields]
    if absent:
        there = next(f for f in given[0] if f in fields)
        raise ValueError(f"{there} needs {absent[0]} beside it")
    return Measured.model_validate(fields)


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}, not {first['input']!r}"
    return str(error)


def _twice(rows: Sequence[Measured]) -> list[Fault]:
    """The same replica measured with different figures, in a file or beside one."""
    first: dict[tuple[object, ...], Measured] = {}
    faults = []
    for row in rows:
        subject = (row.model, row.accelerator, row.tensor_parallel, row.pipeline_parallel, row.precision, row.engine)
        key = (*subject, row.class_, row.capacity_req_per_s is None, row.idle_iteration_ms is None)
        known = first.setdefault(key, row)
        if _figures(known) != _figures(row):
            where = f"{row.model} on {row.accelerator}, TP {row.tensor_parallel}, {row.precision}"
            message = f"{where} is measured twice with different figures"
            faults.append(Fault("B105", message, path="measured", help="keep one of the two rows"))
    return faults


def _unknown_classes(spec: Spec, rows: Sequence[Measured]) -> list[Fault]:
    """Rows of a class that no workload has; workloads without classes have one, or three of a distribution."""
    known = {"all", "short", "middle", "long"}
    known |= {c.name for w in spec.workloads for c in w.traffic.classes or ()}
    return [
        Fault("B104", f"no workload has a class named {row.class_!r}", path="measured", help="name one, or none")
        for row in rows
        if row.class_ is not None and row.class_.rsplit("/", 1)[-1] not in known
    ]


def _figures(row: Measured) -> tuple[object, ...]:
    return tuple(getattr(row, f) for f in sorted(FIGURES))
