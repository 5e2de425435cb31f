"""Numbers as people write them. Parsed here once; everything to the right of this room sees plain floats.

| field | read as written | in the field's unit |
| --- | --- | --- |
| any number | 1500, 1_500, 1,500, "1,500", 1.5e3, 0x5DC | 1500 |
| counts, tokens, money | 1.5k, 40M, 5B or 6G (10⁹), 2T (10¹²), 16Ki (2¹⁰) | 1500, 40000000, … |
| `…_ms`, `…_s`, `…_h` | 500ms, 2s, 1.5min, 2h, 1d | milliseconds, seconds, hours |
| `…_usd…`, `usd_…` | $2.50, 2.50 USD, $50k | dollars |
| `…_req_per_s`, `…_tok_per_s` | 6 req/s, 90/min, 11k tok/s | per second |
| fractions and ratios | 95%, 0.95 | 0.95 |
| `…_gib`, `…_gb` | 80GiB, 80GB | 2³⁰ or 10⁹ bytes |

A number without a unit is in the unit of its field. Refused, never guessed: a leading zero (`017` is 17 or octal 15), a
decimal comma (`2,5`), a clock time (`12:30`), NaN and infinity, a suffix that the field's unit does not have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from planner.units import GB, GIB

LARGEST = 1e18
"""Numbers beyond this are taken for a slip."""


class Unit(StrEnum):
    """What a number field counts; decides which suffixes it takes."""

    COUNT = "count"
    TOKENS = "tokens"
    FRACTION = "fraction"
    MS = "ms"
    S = "s"
    H = "h"
    USD = "usd"
    REQ_PER_S = "req/s"
    TOK_PER_S = "tok/s"
    GIB = "GiB"
    GB = "GB"


class QuantityError(ValueError):
    """Text that is not a quantity of the unit asked for; `help` says what to write."""

    def __init__(self, message: str, help_: str | None = None) -> None:
        self.message, self.help = message, help_
        super().__init__(message)


_SI = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "g": 1e9, "B": 1e9, "b": 1e9, "T": 1e12, "t": 1e12}
_WORDS = {"thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
_MULTIPLES: Mapping[str, float] = MappingProxyType({"": 1.0, **_SI, **_WORDS, **_BINARY})
_SECONDS: Mapping[str, float] = MappingProxyType(
    {
        "us": 1e-6,
        "µs": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "sec": 1.0,
        "second": 1.0,
        "seconds": 1.0,
        "min": 60.0,
        "minute": 60.0,
        "minutes": 60.0,
        "h": 3600.0,
        "hour": 3600.0,
        "hours": 3600.0,
        "d": 86400.0,
    }
)
_BYTES: Mapping[str, float] = MappingProxyType(
    {
        "B": 1.0,
        "kB": 1e3,
        "KB": 1e3,
        "MB": 1e6,
        "GB": GB,
        "TB": 1e12,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": GIB,
        "TiB": 2.0**40,
    }
)
_PER: Mapping[str, float] = MappingProxyType({"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0})
_OWN: Mapping[Unit, float] = MappingProxyType(
    {Unit.MS: 1e-3, Unit.S: 1.0, Unit.H: 3600.0, Unit.GIB: GIB, Unit.GB: GB},
)
"""A field's own unit in seconds or bytes."""

EXAMPLES: Mapping[Unit, str] = MappingProxyType(
    {
        Unit.COUNT: "1500, 1_500, 1.5k or 40M",
        Unit.TOKENS: "1500, 1.5k, 40M or 5B (billion)",
        Unit.FRACTION: "0.95 or 95%",
        Unit.MS: "40, 500ms or 2s",
        Unit.S: "0.08, 80ms or 2s",
        Unit.H: "0.15, 10min or 2h",
        Unit.USD: "2.50, $2.50 or $50k",
        Unit.REQ_PER_S: "6, 0.5 or 90 req/min",
        Unit.TOK_PER_S: "11000 or 11k",
        Unit.GIB: "80, 80GiB or 80GB",
        Unit.GB: "80, 80GB or 80GiB",
    }
)
"""What a help may show for each unit."""

_NUMBER = re.compile(
    r"""(?P<sign>[-+]?)(?P<number>
        0[xX][0-9a-fA-F]+ | 0o[0-7]+
      | [0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?
      | (?:[0-9](?:_?[0-9])*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?
    )\s*(?P<suffix>.*)""",
    re.VERBOSE | re.DOTALL,
)
_RATE = re.compile(r"(?P<multiple>[kKMGBT]?)\s*(?P<what>req|requests?|tok|tokens?|)\s*(?:/|per )\s*(?P<per>[a-z]+)")
_OTHER_MONEY = re.compile(r"[€£¥₹]|(?:EUR|GBP|CHF|JPY|CNY|RMB|INR|SEK|NOK|DKK|PLN|CZK|CAD|AUD|SGD)\b|\beuros?\b", re.I)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+(?![0-9.eExX_])")
_SEPARATORS = "write 1500, 1_500 or 1,500; the decimal sign is a point"


def unit_of(name: str) -> Unit:
    """The unit that a field's name states.

    `ttft_p95_ms` → ms, `usd_per_month` → USD, `decode_tok_per_s` → tok/s, `max_spot_share` → fraction; a count where
    the name states none.
    """
    if name.endswith("tok_per_s"):
        return Unit.TOK_PER_S
    if name.endswith("req_per_s"):
        return Unit.REQ_PER_S
    if "usd" in name.split("_"):
        return Unit.USD
    if name.endswith("_ms"):
        return Unit.MS
    if name.endswith("_s_per_request"):
        return Unit.S
    if name == "start_h":
        return Unit.H
    if name.endswith(("_gib", "_gb")):
        return Unit.GIB if name.endswith("_gib") else Unit.GB
    if name.endswith("tokens") or name in ("input", "output", "mean", "p95"):
        return Unit.TOKENS
    if name.endswith(_FRACTIONS) or name in ("low", "mid", "high"):
        return Unit.FRACTION
    return Unit.COUNT


_FRACTIONS = (
    "fraction",
    "share",
    "utilization",
    "quantile",
    "availability",
    "margin",
    "rate_per_year",
    "peak_to_mean",
    "growth_per_quarter",
)


def parse_number(text: str, unit: Unit = Unit.COUNT) -> float:
    """The number that `text` says, in `unit`. Raises QuantityError."""
    text = text.strip()
    money = unit is Unit.USD
    if money:
        text = re.sub(r"^([-+]?)(?:\$|USD\s*)", r"\1", text)
        text = re.sub(r"\s*(?:USD|\$)$", "", text)
        if _OTHER_MONEY.search(text):
            raise QuantityError(f"is not in USD: {_shown(text)}", f"amounts are in USD: write {EXAMPLES[unit]}")
    elif "$" in text or text.upper().endswith("USD"):
        raise QuantityError("is not an amount of money", f"write {EXAMPLES[unit]}")
    _refuse_traps(text)
    found = _NUMBER.fullmatch(text)
    if not found:
        raise QuantityError(f"is not a number: {_shown(text)}", f"write {EXAMPLES[unit]}")
    factor = _factor(found["suffix"].strip(), unit)
    number = _digits(found["number"])
    value = number * factor if factor >= 1.0 else number / (1.0 / factor)  # 95% is 0.95 to the last bit
    if not math.isfinite(value) or value > LARGEST:
        raise QuantityError(f"is too large to be meant: {_shown(text)}", f"write {EXAMPLES[unit]}")
    return -value if found["sign"] == "-" else value


def parse_count(text: str, unit: Unit = Unit.COUNT) -> int:
    """The whole number that `text` says. Raises QuantityError."""
    value = parse_number(text, unit)
    if value != int(value):
        raise QuantityError(f"must be a whole number, not {text.strip()}", None)
    return int(value)


def _refuse_traps(text: str) -> None:
    word = text.lstrip("+-").lower()
    if word in (".nan", "nan", ".inf", "inf", "infinity"):
        raise QuantityError("must be a finite number", "leave the field out where there is no limit")
    if word in ("yes", "no", "on", "off", "true", "false"):
        raise QuantityError(f"must be a number, not the word {text}", None)
    if _LEADING_ZERO.match(text):
        raise QuantityError(
            f"has a leading zero: {_shown(text)}", "some readers take it as octal: write the number without it"
        )
    if re.fullmatch(r"[0-9]{1,2}(:[0-9]{2})+", text):
        raise QuantityError(f"must be a number, not the clock time {text}", "some YAML readers turn it into minutes")
    if re.match(r"[-+]?[0-9_.]*,", text) and not re.match(r"[-+]?[0-9]{1,3}(,[0-9]{3})+(?![0-9,])", text):
        raise QuantityError(f"has a comma that separates no thousands: {_shown(text)}", _SEPARATORS)


def _digits(number: str) -> float:
    if number[:2].lower() in ("0x", "0o"):
        return float(int(number, 0)) if len(number) < 20 else math.inf
    return float(number.replace("_", "").replace(",", ""))


def _factor(suffix: str, unit: Unit) -> float:
    """What a suffix multiplies by, in the field's unit. Raises QuantityError."""
    if suffix == "":
        return 1.0
    found: float | None = None
    if unit in (Unit.MS, Unit.S, Unit.H):
        found = _SECONDS[suffix] / _OWN[unit] if suffix in _SECONDS else None
    elif unit in (Unit.GIB, Unit.GB):
        found = _BYTES[suffix] / _OWN[unit] if suffix in _BYTES else None
    elif unit is Unit.FRACTION:
        found = {"%": 0.01, "x": 1.0}.get(suffix)
    elif unit in (Unit.REQ_PER_S, Unit.TOK_PER_S):
        found = _rate(suffix, unit)
    else:
        words = r"\s*(tokens?|tok)$" if unit is Unit.TOKENS else r"\s*(tokens?|requests?)$"
        found = _MULTIPLES.get(re.sub(words, "", suffix))
    if found is None:
        raise QuantityError(f"has an unknown unit {_shown(suffix)}", _suffix_help(suffix, unit))
    return found


def _rate(suffix: str, unit: Unit) -> float | None:
    word = "r" if unit is Unit.REQ_PER_S else "t"
    if unit is Unit.REQ_PER_S and suffix in ("rps", "qps"):
        return 1.0
    if unit is Unit.REQ_PER_S and suffix in ("rpm", "qpm"):
        return 1.0 / 60.0
    if suffix in _MULTIPLES:
        return _MULTIPLES[suffix]
    found = _RATE.fullmatch(suffix)
    if not found or (found["what"] and not found["what"].startswith(word)):
        return None
    multiple, per = _MULTIPLES.get(found["multiple"]), _PER.get(found["per"])
    return None if multiple is None or per is None else multiple / per


def _suffix_help(suffix: str, unit: Unit) -> str:
    if suffix == "m" and unit in (Unit.COUNT, Unit.TOKENS, Unit.USD):
        return "a million is a capital M"
    if suffix == "m":
        return "minutes are min, milliseconds are ms"
    return f"write {EXAMPLES[unit]}"


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
