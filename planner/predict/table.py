"""`planner predict --csv`: a table of points in, the same table with predictions beside it out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from planner.errors import PREDICT_CODES, Fault, InputError
from planner.performance.calibration import NOTHING_MEASURED, Calibration
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import LoadKind
from planner.predict.batch import Load, predict_many
from planner.predict.configure import Configurator, PlaceError
from planner.predict.names import is_unstated
from planner.predict.silicon import SiliconTables
from planner.predict.types import COLUMNS, MORE_COLUMNS, NEEDED, RESULTS, Configured, Place, Prediction

ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "accelerator": ("gpu",),
    "tensor_parallel": ("tp",),
    "pipeline_parallel": ("pp",),
    "expert_parallel": ("ep",),
    "input_tokens": ("isl",),
    "output_tokens": ("osl",),
    "concurrency": ("concurrency_or_batch", "max_concurrency", "batch"),
    "kind": ("metric_kind",),
    "request_rate": ("rate",),
}
"""Other heads of the columns, used where the usual one is absent."""
PLACE_FIELDS = tuple(Place.__slots__)
MOST_TOKENS = 1e8
MOST_REQUESTS = 1e7
FULL_LOAD = ("max", "inf", "infinite", "unlimited")
CLASH = "predicted_"
"""Put before a result's name where the table has a column of that name."""
csv.field_size_limit(1_000_000)


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file: heads and rows as they are."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PredictedTable:
    """The table with its predictions or errors, row by row."""

    table: Table
    answers: tuple[Prediction | str, ...]
    """A prediction, or what is wrong with the row."""

    @property
    def failed(self) -> int:
        """Rows without a prediction."""
        return sum(isinstance(a, str) for a in self.answers)


def read_table(data: bytes, file: str) -> Table:
    """The rows of a CSV file. Raises InputError (P1xx) for what is wrong with the file as a whole."""

    def refuse(code: str, message: str, line: int | None = None, help_: str | None = None) -> InputError:
        return InputError([Fault(code, message, file=file, line=line, help=help_ or PREDICT_CODES[code].help)])

    if not data.strip():
        raise refuse("P102", "the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise refuse("P102", f"the file is not UTF-8 text: byte {e.start + 1}") from e
    if "\0" in text:
        raise refuse("P102", "the file holds a NUL character", text[: text.index("\0")].count("\n") + 1)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [tuple(row) for row in reader]
    except csv.Error as e:
        raise refuse("P102", f"the file is not CSV: {e}", reader.line_num) from e
    heads = tuple(h.strip() for h in rows[0]) if rows else ()
    if twice := sorted({h for h in heads if h and heads.count(h) > 1}):
        raise refuse("P104", f"the column {twice[0]} is given twice", 1)
    found = Table(heads, tuple(rows[1:]))
    places = columns_of(found)
    if missing := [c for c in NEEDED if c not in places]:
        raise refuse("P103", f"the table has no column {', '.join(missing)}", 1)
    return found


def columns_of(table: Table) -> dict[str, int]:
    """Known column → its index in the table."""
    index = {h.lower().replace(" ", "_"): i for i, h in reversed(tuple(enumerate(table.heads)))}
    found: dict[str, int] = {}
    for name in (*COLUMNS, *MORE_COLUMNS):
        at = next((index[n] for n in (name, *ALSO_CALLED.get(name, ())) if n in index), None)
        if at is not None:
            found[name] = at
    return found


def predict_table(
    table: Table,
    configurator: Configurator,
    parameters: PerformanceParameters,
    calibration: Calibration = NOTHING_MEASURED,
    silicon: SiliconTables | None = None,
) -> PredictedTable:
    """A prediction for every row that states enough; what is wrong with each of the others."""
    reader, width = _RowReader(table, configurator), len(table.heads)
    answers: list[Prediction | str] = [""] * len(table.rows)
    places: dict[int, tuple[int, Configured]] = {}
    which: list[int] = []
    loads: list[Load] = []
    asked: list[int] = []
    for i, row in enumerate(table.rows):
        try:
            if len(row) != width:
                raise PlaceError(_ragged(row, width))
            load, place = reader.read(row)
        except PlaceError as error:
            answers[i] = str(error)
            continue
        which.append(places.setdefault(id(place), (len(places), place))[0])
        loads.append(load)
        asked.append(i)
    found = predict_many([p for _, p in places.values()], which, loads, parameters, calibration, silicon)
    for i, answer in zip(asked, found, strict=True):
        answers[i] = answer
    return PredictedTable(table, tuple(answers))


class _RowReader:
    """Reads rows of one table; a place that was seen before is not looked up again."""

    def __init__(self, table: Table, configurator: Configurator) -> None:
        columns = columns_of(table)
        self._configurator = configurator
        self._fields = tuple(f for f in PLACE_FIELDS if f in columns and f != "kind")
        self._cells = itemgetter(*(columns[f] for f in self._fields))
        self._at = {f: columns.get(f) for f in ("input_tokens", "output_tokens", "concurrency", "request_rate", "kind")}
        self._extras = tuple((f, at) for f in EXTRA_LIMITS if (at := columns.get(f)) is not None)
        self._known: dict[tuple[tuple[str, ...], str], Configured | PlaceError] = {}

    def read(self, row: Sequence[str]) -> tuple[Load, Configured]:
        """The load and the place of a row. Raises PlaceError."""
        load, kind = _load(*("" if at is None else row[at] for at in self._at.values()))
        if self._extras:
            load = replace(load, **_extras(load, {f: row[at] for f, at in self._extras}))
        key = (self._cells(row), kind)
        place = self._known.get(key)
        if place is None:
            stated = {f: text.strip() for f, text in zip(self._fields, key[0], strict=True)}
            try:
                place = self._configurator.configure(Place(**stated, kind=kind))
            except PlaceError as error:
                place = error
            self._known[key] = place
        if isinstance(place, PlaceError):
            raise place
        return load, place


def _ragged(row: Sequence[str], width: int) -> str:
    if not row:
        return "the row is empty"
    return f"the row has {len(row)} cell{'s' if len(row) > 1 else ''}, the head {width}"


def _load(tokens_in: str, tokens_out: str, concurrency: str, rate: str, kind: str) -> tuple[Load, str]:
    """The load of a row and its kind, which `max` as a concurrency also states. Raises PlaceError."""
    prompt = _number(tokens_in, "input_tokens", 0.0, MOST_TOKENS)
    answer = _number(tokens_out, "output_tokens", 1.0, MOST_TOKENS)
    kind, text, arrivals = kind.strip(), concurrency.strip().lower(), math.nan
    if rate and rate.strip().lower() not in {"", *FULL_LOAD}:
        arrivals = _number(rate, "request_rate", 0.0, MOST_REQUESTS, above=True)
    if text.startswith("max(") and text.endswith(")"):
        return Load(prompt, answer, _number(text[4:-1], "concurrency", 1.0, MOST_REQUESTS)), kind or OFFLINE
    if text in FULL_LOAD:
        return Load(prompt, answer), kind or OFFLINE
    if is_unstated(text):
        return Load(prompt, answer, 1.0 if kind == LoadKind.SINGLE_STREAM else math.inf, arrivals), kind
    return Load(prompt, answer, _number(text, "concurrency", 1.0, MOST_REQUESTS), arrivals), kind


def _extras(load: Load, cells: Mapping[str, str]) -> dict[str, float]:
    """Prefix caching and speculative decoding as a row declares them. Raises PlaceError."""
    found = {f: _number(text, f, *EXTRA_LIMITS[f]) for f, text in cells.items() if not is_unstated(text)}
    if found.get("cached_input_tokens", 0.0) > load.input_tokens:
        raise PlaceError("cached_input_tokens are more than input_tokens")
    return found


OFFLINE = LoadKind.OFFLINE_THROUGHPUT.value
EXTRA_LIMITS: Mapping[str, tuple[float, float]] = {"cached_input_tokens": (0.0, 1e8), "tokens_per_step": (1.0, 64.0)}
"""Least and most of what a load may declare besides."""


def _number(text: str, name: str, least: float, most: float, above: bool = False) -> float:
    """A number in a range. Raises PlaceError."""
    try:
        number = float(text)
    except ValueError:
        said = "is not stated" if is_unstated(text) else f"must be a number, not {text.strip()!r}"
        raise PlaceError(f"{name} {said}") from None
    if not least <= number <= most or (above and number <= least):
        raise PlaceError(f"{name} must be {'above' if above else 'from'} {least:g} to {most:g}, not {text.strip()}")
    return number


def table_text(predicted: PredictedTable) -> str:
    """The table as CSV: its own columns as they were, then the predictions."""
    heads = predicted.table.heads
    taken = {h.lower() for h in heads}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*heads, *(CLASH + r if r in taken else r for r in RESULTS)))
    width = len(heads)
    for row, answer in zip(predicted.table.rows, predicted.answers, strict=True):
        cells = row if len(row) == width else (*row[:width], *[""] * (width - len(row)))
        writer.writerow((*cells, *result_cells(answer)))
    return out.getvalue()


def result_cells(answer: Prediction | str) -> tuple[str, ...]:
    """Cells of RESULTS; 6 significant digits."""
    if isinstance(answer, str):
        return (*[""] * (len(RESULTS) - 1), answer)
    a, (low, high) = answer, answer.error_band
    numbers = (a.output_tok_per_s, a.total_tok_per_s, a.req_per_s, a.ttft_ms, a.tpot_ms)
    return (
        *("" if n is None else f"{n:.6g}" for n in numbers), a.provenance, f"{low:.6g}", f"{high:.6g}", "",
    )  # fmt: skip
