"""Which tool wrote a file, by its content; and reading it."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import BENCHMARK_CODES, Fault, InputError
from planner.predict.formats.accelmark import is_accelmark, read_accelmark
from planner.predict.formats.aiperf import is_aiperf, is_aiperf_csv, read_aiperf, read_aiperf_csv
from planner.predict.formats.guidellm import is_guidellm, is_guidellm_csv, read_guidellm, read_guidellm_csv
from planner.predict.formats.inferencex import is_inferencex, read_inferencex
from planner.predict.formats.observation import NotSaid, Observation
from planner.predict.formats.points_csv import is_points_csv, read_points_csv
from planner.predict.formats.vllm_bench import in_seconds, is_vllm_bench, read_vllm_bench

MAX_BYTES = 200_000_000
FIRST = "vllm bench serve"
Found = Iterator[tuple[str, Observation | NotSaid]]


@dataclass(frozen=True, slots=True)
class BenchmarkFile:
    """A file as it was read."""

    file: str
    format: str
    observations: tuple[Observation, ...]
    skipped: tuple[Fault, ...]
    """Points that the file holds but does not say enough of, as warnings."""


def read_bytes(file: str) -> bytes:
    """The content of a file, `-` for standard input. Raises InputError (B101)."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(file, "rb") as handle:  # noqa: PTH123 (a name too long for a path is an error of the system)
                data = handle.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _refusal("B101", file, f"cannot read {file}: {why}") from error
    if len(data) > MAX_BYTES:
        raise _refusal("B101", file, f"the file has more than {MAX_BYTES // 1_000_000} MB")
    return data


def read_benchmark(data: bytes, file: str) -> BenchmarkFile:
    """The points of a benchmark's output. Raises InputError (B102, B103, B107) where it holds none."""
    if not data.strip():
        raise _refusal("B102", file, "the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refusal("B102", file, f"the file is not UTF-8 text: byte {error.start + 1}") from error
    start = text.lstrip()[:1]
    name, found = _json_points(text, file) if start in {"{", "["} else _csv_points(text, file)
    points, skipped = [], []
    for where, answer in found:
        if isinstance(answer, NotSaid):
            place = f"{where}: " if where else ""
            skipped.append(
                Fault("B104", f"{place}{answer}", file=file, help=BENCHMARK_CODES["B104"].help, severity="warning")
            )
        else:
            points.append(answer)
    if not points:
        why = f": {skipped[0].message}" if skipped else ""
        raise _refusal("B107", file, f"the file holds no measured point{why}")
    return BenchmarkFile(file, name, tuple(points), tuple(skipped))


def _json_points(text: str, file: str) -> tuple[str, Found]:
    documents = list(_objects(text, file))
    if len(documents) == 1 and isinstance(documents[0][1], list):
        documents = [(i, d) for i, d in enumerate(documents[0][1], start=1)]
    several = len(documents) > 1
    kinds: list[str] = []
    points: list[tuple[str, Observation | NotSaid]] = []
    for number, document in documents:
        where = f"object {number}" if several else ""
        kind, found = _document(document, where)
        if kind is None:
            keys = ", ".join(list(document)[:5]) if isinstance(document, Mapping) else type(document).__name__
            place = f"{where}: " if where else ""
            raise _refusal("B103", file, f"{place}no known tool writes this (it begins with {keys})")
        kinds.append(kind)
        points += found
    return kinds[0] if kinds else "nothing", iter(points)


def _document(document: object, where: str) -> tuple[str | None, Found]:
    """(tool, its points) of one JSON object; None where no tool writes it."""
    if not isinstance(document, Mapping):
        return None, iter(())
    if is_guidellm(document):
        return "GuideLLM", read_guidellm(document, where)
    if is_accelmark(document):
        return "AccelMark", read_accelmark(document, where)
    for name, mine, read in (
        ("aiperf", is_aiperf, read_aiperf),
        ("InferenceX", is_inferencex, read_inferencex),
        (FIRST, is_vllm_bench, read_vllm_bench),
    ):
        if mine(document):
            try:
                shown = "InferenceX" if name == FIRST and in_seconds(document) else name
                return shown, iter([(where, read(document, where))])
            except NotSaid as error:
                return name, iter([(where, error)])
    return None, iter(())


def _objects(text: str, file: str) -> Iterator[tuple[int, object]]:
    """The JSON values of a text, one after the other. Raises InputError (B102) with the line."""
    decoder = json.JSONDecoder()
    at, number = 0, 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text):
            return
        number += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
            what = "ends in the middle of an object: it is truncated" if cut else f"is not JSON: {error.msg}"
            raise _refusal("B102", file, f"the file {what}", error.lineno, error.colno) from error
        except RecursionError as error:
            raise _refusal("B102", file, "the file is nested too deeply") from error
        yield number, value


def _csv_points(text: str, file: str) -> tuple[str, Found]:
    rows = read_csv(text, file)
    if is_aiperf_csv(rows):
        try:
            return "aiperf", iter([("", read_aiperf_csv(rows))])
        except NotSaid as error:
            return "aiperf", iter([("", error)])
    if is_guidellm_csv(rows):
        return "GuideLLM", read_guidellm_csv(rows)
    if is_points_csv(rows):
        return "CSV of points", read_points_csv(rows)
    heads = ", ".join(rows[0][:5]) if rows else ""
    raise _refusal("B103", file, f"no known tool writes this table (it begins with {heads[:100]})")


def read_csv(text: str, file: str) -> Sequence[Sequence[str]]:
    """Rows of a CSV text. Raises InputError (B102) with the line."""
    if "\0" in text:
        raise _refusal("B102", file, "the file holds a NUL character", text[: text.index("\0")].count("\n") + 1)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise _refusal("B102", file, f"the file is neither JSON nor CSV: {error}", reader.line_num) from error


def _refusal(code: str, file: str, message: str, line: int | None = None, column: int | None = None) -> InputError:
    shown = "standard input" if file == "-" else file
    return InputError([Fault(code, message, file=shown, line=line, column=column, help=BENCHMARK_CODES[code].help)])
