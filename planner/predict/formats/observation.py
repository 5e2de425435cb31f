"""What a benchmark's output says of one point, and reading values out of its documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

LARGEST = 1e12


class NotSaid(ValueError):
    """A document lacks what makes it a point, or states what cannot be; the text says what."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured point; None where the file does not say."""

    where: str
    """Place in the file: `object 2`, `line 7`; blank where the file is the point."""
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    """Requests in flight, as set or as it came out; inf: as many as fit."""
    req_per_s: float | None = None
    """Completed requests per second, all accelerators together."""
    ttft_ms: float | None = None
    """Median, else mean."""
    tpot_ms: float | None = None
    """Median gap after the first token, else mean."""
    kind: str = "online"
    model: str | None = None
    accelerator: str | None = None
    num_gpus: str | None = None
    tensor_parallel: str | None = None
    pipeline_parallel: str | None = None
    expert_parallel: str | None = None
    engine: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    on: str | None = None
    """Date, as the file writes it."""


def value_at(document: object, *path: str) -> object:
    """The value at a path of keys; None where there is none."""
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def number_at(document: object, *path: str) -> float | None:
    """A number at a path, also written as text; None where absent, null or NaN. Raises NotSaid for anything else."""
    value = value_at(document, *path)
    if value is None or isinstance(value, bool):
        return None
    name = ".".join(path)
    if isinstance(value, str):
        if not value.strip():
            return None
        try:
            value = float(value)
        except ValueError:
            raise NotSaid(f"{name} must be a number, not {value!r}") from None
    if not isinstance(value, int | float):
        raise NotSaid(f"{name} must be a number, not {'an object' if isinstance(value, Mapping) else 'a list'}")
    number = float(value) if abs(value) <= LARGEST or math.isnan(value) else math.inf
    if math.isnan(number):
        return None
    if not 0 <= number <= LARGEST:
        raise NotSaid(f"{name} must be from 0 to {LARGEST:g}, not {value}")
    return number


def first_number(document: object, *names: str) -> float | None:
    """The first of these keys that holds a number above 0."""
    for name in names:
        found = number_at(document, name)
        if found:
            return found
    return None


def text_at(document: object, *path: str) -> str | None:
    """A text or whole number at a path as text; None where absent or blank."""
    value = value_at(document, *path)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return f"{value:g}" if math.isfinite(value) else None
    return value.strip() or None if isinstance(value, str) else None


def in_flight(
    stated: float | None, req_per_s: float | None, ttft_ms: float | None, tpot_ms: float | None, output: float | None
) -> float | None:
    """Requests in flight: as stated, else by Little's law: rate · (TTFT + (output − 1)·TPOT); at least one."""
    if stated:
        return stated
    if not req_per_s or tpot_ms is None or output is None:
        return None
    return max(1.0, req_per_s * ((ttft_ms or 0.0) + max(output - 1.0, 0.0) * tpot_ms) / 1e3)
