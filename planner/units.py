"""Constants and conversions. `gb` is 10⁹ bytes, `gib` is 2³⁰; a month is 730 hours."""

from __future__ import annotations

HOURS_PER_MONTH = 730.0
HOURS_PER_WEEK = 168.0
MONTHS_PER_QUARTER = 3
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_MONTH = HOURS_PER_MONTH * SECONDS_PER_HOUR
DAYS_PER_MONTH = HOURS_PER_MONTH / 24.0
GIB = 2.0**30
GB = 1e9
MILLION = 1e6
MS_PER_S = 1000.0


def gb_to_gib(gb: float) -> float:
    """10⁹-byte gigabytes as gibibytes."""
    return gb * GB / GIB


def gib_to_gb(gib: float) -> float:
    """Gibibytes as 10⁹-byte gigabytes."""
    return gib * GIB / GB


def ms_to_s(ms: float) -> float:
    """Milliseconds as seconds."""
    return ms / 1000.0


def s_to_ms(s: float) -> float:
    """Seconds as milliseconds."""
    return s * 1000.0
