"""Files that a workload's traffic names: a CSV of hourly rates, and a trace of requests with their summary.

Nothing of a file is kept but numbers: a spec is complete without it, and its digest says which file they are from.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.spec.types import TokenDistribution, TraceSummary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_BYTES = 400_000_000
HOURS_PER_DAY, HOURS_PER_WEEK = 24, 168
TIMES = ("timestamp", "time", "arrival", "arrived_at", "arrival_time", "timestamp_ms", "arrival_ms", "usage_hour")
INPUTS = ("contexttokens", "input_tokens", "input_length", "prompt_tokens", "num_prefill_tokens", "input")
OUTPUTS = ("generatedtokens", "output_tokens", "output_length", "completion_tokens", "num_decode_tokens", "output")
CLOCKS = (*TIMES, "hour", "date", "day", "weekday")
"""Columns of a CSV of rates that count or name its rows."""
PERCENTILES = (0.5, 0.9, 0.95, 0.99)
LEAST_REQUESTS = 100
"""A trace of fewer tells nothing of bursts."""


class FileFault(ValueError):
    """A file that cannot be used; the text says why and, with its line, where."""


def read_profile(path: Path, column: str | None) -> tuple[float, ...]:
    """24 or 168 rates from a CSV with a row an hour, Monday first; whole weeks beyond one are averaged.

    Raises FileFault.
    """
    rows = list(csv.reader(io.StringIO(_text(path)[0])))
    rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise FileFault(f"{path.name} is empty")
    names = [] if all(_number(cell) is not None for cell in rows[0]) else rows[0]
    index = _column(path, names, len(rows[0]), column)
    values: list[float] = []
    body = rows[1:] if names else rows
    while body and (index >= len(body[-1]) or not body[-1][index]):
        body.pop()  # other columns may be longer
    for line, row in enumerate(body, start=2 if names else 1):
        value = _number(row[index]) if index < len(row) else None
        if value is None or value < 0.0:
            cell = row[index] if index < len(row) else ""
            raise FileFault(f"{path.name}:{line}: a rate must be a number of 0 or more, not '{cell}'")
        values.append(value)
    weeks, rest = divmod(len(values), HOURS_PER_WEEK)
    if len(values) != HOURS_PER_DAY and (rest or not weeks):
        raise FileFault(f"{path.name} has {len(values)} rates, not 24 or whole weeks of 168")
    if not any(values):
        raise FileFault(f"every rate in {path.name} is 0")
    if weeks < 2:
        return tuple(values)
    return tuple(math.fsum(values[h::HOURS_PER_WEEK]) / weeks for h in range(HOURS_PER_WEEK))


def _column(path: Path, names: Sequence[str], width: int, wanted: str | None) -> int:
    if wanted is not None:
        if wanted not in names:
            raise FileFault(f"{path.name} has no column '{wanted}': it has {', '.join(names) or 'no names'}")
        return list(names).index(wanted)
    rates = [i for i in range(width) if not names or names[i].lower() not in CLOCKS]
    if len(rates) != 1:
        raise FileFault(f"{path.name} has {len(rates)} columns of rates: name one in profile_column")
    return rates[0]


def read_trace(path: Path, shown: str) -> TraceSummary:
    """The summary of a trace. Times are read in the clock that they are written in, a stated offset as UTC.

    Raises FileFault.
    """
    import numpy as np

    text, digest = _text(path)
    times, inputs, outputs = _requests(path, text)
    if len(times) < LEAST_REQUESTS:
        raise FileFault(f"{path.name} has {len(times)} requests; a trace needs at least {LEAST_REQUESTS}")
    order = np.argsort(times, kind="stable")
    t = np.asarray(times, dtype=np.float64)[order]
    span_s = float(t[-1] - t[0])
    if span_s < 600.0:
        raise FileFault(f"{path.name} spans {span_s:.0f} s; a trace needs at least 10 minutes")
    hours = HOURS_PER_WEEK if span_s >= 7 * 86400.0 else HOURS_PER_DAY if span_s >= 86400.0 else 0
    mean, weights, ratios = _rates(t, hours)
    return TraceSummary(
        file=shown,
        sha256=digest,
        requests=len(t),
        span_h=span_s / 3600.0,
        mean_req_per_s=mean,
        weights=weights,
        ratios=ratios,
        dispersion_10s=_dispersion(t, 10.0),
        input_tokens=_lengths(inputs),
        output_tokens=_lengths(outputs),
    )


def _rates(t: Floats, hours: int) -> tuple[float, tuple[float, ...], dict[str, tuple[float, ...]]]:
    """(mean rate, weights of the hours, sizing ratios): an hour of the day or week is all its whole minutes."""
    import numpy as np

    first = math.floor(t[0] / 60.0)
    minute = np.floor(t / 60.0).astype(np.int64) - first
    counts = np.bincount(minute).astype(np.float64)
    whole = counts[1:-1] if len(counts) > 3 else counts  # the first and the last minute may be parts
    start = first + (1 if len(counts) > 3 else 0)
    if not hours:
        return float(whole.mean()) / 60.0, (), {f"p{round(100 * p)}": (_ratio(whole, p),) for p in PERCENTILES}
    hour = ((start + np.arange(len(whole))) // 60) % hours
    rate = np.array([whole[hour == h].mean() / 60.0 for h in range(hours)])
    mean = float(rate.mean())
    ratios = {
        f"p{round(100 * p)}": tuple(_ratio(whole[hour == h], p) for h in range(hours)) for p in PERCENTILES
    }  # fmt: skip
    return mean, tuple(float(x) for x in rate / mean), ratios


def _ratio(counts: Floats, percentile: float) -> float:
    """The request-weighted quantile of minutes over their mean: that share of requests come in minutes no busier."""
    import numpy as np

    total = float(counts.sum())
    if total <= 0.0:
        return 1.0
    ordered = np.sort(counts)
    position = int(np.searchsorted(np.cumsum(ordered), percentile * total * (1.0 - 1e-12)))
    return max(1.0, float(ordered[min(position, len(ordered) - 1)]) / float(counts.mean()))


def _dispersion(t: Floats, window_s: float) -> float:
    """Index of dispersion of counts in windows: their variance over their mean, taken within each hour."""
    import numpy as np

    window = np.floor((t - t[0]) / window_s).astype(np.int64)
    counts = np.bincount(window).astype(np.float64)[:-1]
    per_hour = max(2, round(3600.0 / window_s))
    found, weights = [], []
    for begin in range(0, len(counts), per_hour):
        part = counts[begin : begin + per_hour]
        if len(part) >= per_hour // 4 and part.mean() > 0.0:
            found.append(float(part.var() / part.mean()))
            weights.append(float(part.sum()))
    return max(1.0, float(np.average(found, weights=weights))) if found else 1.0


def _lengths(values: Sequence[float]) -> TokenDistribution | None:
    import numpy as np

    if not values:
        return None
    mean = max(1.0, float(np.mean(values)))
    return TokenDistribution(mean=mean, p95=min(max(mean, float(np.quantile(values, 0.95))), 18.9 * mean))


# ---- rows ----------------------------------------------------------------------------------------------------------


def _text(path: Path) -> tuple[str, str]:
    """The text of a file and its digest. Raises FileFault."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileFault(f"{path.name} is larger than {MAX_BYTES // 1_000_000} MB")
        data = path.read_bytes()
        return data.decode("utf-8-sig"), hashlib.sha256(data).hexdigest()
    except UnicodeDecodeError:
        raise FileFault(f"{path.name} is not UTF-8 text") from None
    except OSError as error:
        raise FileFault(f"{path.name} cannot be read: {(error.strerror or str(error)).lower()}") from None


def _requests(path: Path, text: str) -> tuple[list[float], list[float], list[float]]:
    """Times in seconds, prompt and generated tokens of every request (empty where the file has no such column)."""
    times: list[float] = []
    inputs: list[float] = []
    outputs: list[float] = []
    keys: tuple[str, str | None, str | None] | None = None
    factor = 1.0
    for line, row in _rows(path, text):
        if keys is None:
            keys = _keys(path, row)
            factor = _unit(keys[0], row)
        times.append(_time(path, line, row.get(keys[0]), factor))
        for key, found in ((keys[1], inputs), (keys[2], outputs)):
            if key is not None:
                found.append(_tokens(path, line, key, row.get(key)))
    return times, inputs, outputs


def _rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        for line, raw in enumerate(text.splitlines(), start=1):
            if raw.strip():
                try:
                    row = json.loads(raw)
                except ValueError:
                    raise FileFault(f"{path.name}:{line}: not a line of JSON") from None
                if not isinstance(row, dict):
                    raise FileFault(f"{path.name}:{line}: not a JSON object")
                yield line, row
        return
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        yield reader.line_num, {str(k).strip(): v for k, v in row.items() if k is not None}


def _keys(path: Path, row: Mapping[str, object]) -> tuple[str, str | None, str | None]:
    lower = {str(k).lower(): str(k) for k in row}
    time = next((lower[k] for k in TIMES if k in lower), None)
    if time is None:
        raise FileFault(f"{path.name} has no column of times: one of {', '.join(TIMES[:5])}")
    return (
        time,
        next((lower[k] for k in INPUTS if k in lower), None),
        next((lower[k] for k in OUTPUTS if k in lower), None),
    )


def _unit(key: str, row: Mapping[str, object]) -> float:
    """Seconds of one unit of a numeric time: milliseconds by name, by size, or in Mooncake's format."""
    value = _number(row.get(key))
    if value is None:
        return 1.0
    return 1e-3 if key.lower().endswith("_ms") or value > 1e11 or "hash_ids" in row else 1.0


def _time(path: Path, line: int, value: object, factor: float) -> float:
    """Seconds since Monday 0 h of some week, or since the file's own zero."""
    number = _number(value)
    if number is not None:
        # Epoch seconds: 1970-01-01 was a Thursday.
        return number * factor + (3 * 86400.0 if number * factor > 1e8 else 0.0)
    text = str(value).strip()
    head, dot, tail = text.partition(".")
    digits = "".join(c for c in tail if c.isdigit()) if dot else ""
    try:
        day = datetime.fromisoformat(text if not dot else f"{head}.{tail[: min(6, len(digits))]}{tail[len(digits) :]}")
    except ValueError:
        raise FileFault(f"{path.name}:{line}: not a time: '{text[:40]}'") from None
    utc = day.replace(tzinfo=UTC) if day.tzinfo is None else day.astimezone(UTC)
    return utc.timestamp() + 3 * 86400.0


def _tokens(path: Path, line: int, key: str, value: object) -> float:
    number = _number(value)
    if number is None or number < 0.0:
        raise FileFault(f"{path.name}:{line}: {key} must be a number of 0 or more, not '{value}'")
    return number


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value) if isinstance(value, int | float) else float(str(value).strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None
