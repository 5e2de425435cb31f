"""How numbers are written: 6 significant digits in JSON, grouped and short in a table."""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring_ascii
from typing import Any

SIGNIFICANT_DIGITS = 6


def rounded(value: float) -> float:
    """`value` to 6 significant digits; never -0.0. Raises ValueError for NaN or infinity."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot stand in a result")
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") + 0.0


def dump_json(tree: Any) -> str:
    """JSON text, numbers rounded: ASCII, two spaces, no NaN, keys in the order given, one newline at the end."""
    return _text(tree, "\n") + "\n"


def _text(value: Any, newline: str) -> str:
    """What `json.dumps(value, indent=2)` gives with rounded floats, in one pass: results can be large."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, float):
        return repr(rounded(value))
    if isinstance(value, dict):
        if not value:
            return "{}"
        inner = newline + "  "
        items = [f"{_key(k)}: {_text(v, inner)}" for k, v in value.items()]
        return "{" + inner + f",{inner}".join(items) + newline + "}"
    if isinstance(value, list | tuple):
        if not value:
            return "[]"
        inner = newline + "  "
        return "[" + inner + f",{inner}".join([_text(v, inner) for v in value]) + newline + "]"
    return json.dumps(value, allow_nan=False)


def _key(key: Any) -> str:
    return encode_basestring_ascii(key) if isinstance(key, str) else f'"{json.dumps(key)}"'


def usd(value: float) -> str:
    """Whole dollars from 100 up, cents below: `14,600`, `27.00`; tiny prices keep two digits."""
    if value == 0:
        return "0"
    if abs(value) >= 99.995:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def percent(share: float) -> str:
    """`12 %`, `2.1 %`, `0.05 %`; 0 stays `0 %`."""
    p = 100.0 * share
    if abs(p) < 0.005:
        return "0 %"
    if abs(p) < 0.1:
        return f"{p:.2f} %"
    return f"{p:.1f} %" if abs(p) < 9.95 else f"{p:.0f} %"


def quantity(value: float) -> str:
    """A number for people: three significant digits, grouped thousands."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def tokens(value: float) -> str:
    """`600 M`, `1.25 G`, `40 k` tokens."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"
