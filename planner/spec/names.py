"""Names in a workload file: which are known, which are near, which may be chosen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType

from planner.base import KnownNames
from planner.spec.countries import COUNTRY_CODES

_OWN_NAME = re.compile(r"\w(?:[\w .\-]*\w)?")
LONGEST_NAME = 80

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "models": "model",
        "precisions": "precision",
        "engines": "engine",
        "accelerators": "accelerator",
        "providers": "provider",
        "regions": "region",
        "apis": "API model",
        "profiles": "traffic profile",
        "countries": "country or group of countries",
        "client_regions": "client region",
        "instance_types": "instance type",
        "certifications": "certification",
    }
)
"""What a name of each kind is called."""


def is_usable_name(text: str) -> bool:
    """Whether a chosen name may become part of ids."""
    return bool(_OWN_NAME.fullmatch(text)) and len(text) <= LONGEST_NAME


def is_file_name(text: str) -> bool:
    """Whether a profile is meant as a file of its own."""
    return text.lower().endswith((".csv", ".parquet", ".json")) or "/" in text


def known_table(names: KnownNames | None, kind: str) -> dict[str, str]:
    """Spelling → canonical name of one kind. API providers count as providers too."""
    if names is None:
        return {}
    table: dict[str, str] = getattr(names, kind)
    if kind != "providers":
        return table
    hosts = {api.split("/", 1)[0] for api in names.apis.values() if "/" in api}
    return {**{h.lower(): h for h in hosts}, **table}


def suggestions(text: str, table: Mapping[str, str], count: int = 2) -> list[str]:
    """The canonical names whose spelling is nearest to `text`, best first; only those about as near as the best."""
    word = text.lower()

    def ratio(spelling: str) -> float:
        return difflib.SequenceMatcher(None, spelling, word).ratio()

    near = difflib.get_close_matches(word, sorted(table), n=8, cutoff=0.6)
    near = [n for n in near if ratio(n) >= 0.93 * ratio(near[0])]
    near += [s for s in sorted(table) if not near and len(word) >= 3 and word in s]
    return list(dict.fromkeys(table[n] for n in near))[:count]


_FEW = 16
"""Up to so many names are listed in full."""


def squeezed(text: str) -> str:
    """Letters and digits alone, lower-cased: `ISO/IEC 27001` and `iso-27001` are both `iso27001`."""
    return re.sub(r"[\W_]", "", text.lower()).replace("isoiec", "iso")


def find_name(kind: str, text: str, table: Mapping[str, str]) -> str | None:
    """The canonical name that `text` means; certifications are known however their parts are separated."""
    found = table.get(text.lower())
    if found is None and kind == "certifications":
        return {squeezed(spelling): name for spelling, name in table.items()}.get(squeezed(text))
    return found


def country_help(text: str, table: Mapping[str, str]) -> str | None:
    """The code of a country that was written as a name; else as for any other name."""
    code = COUNTRY_CODES.get(text.lower())
    if code is not None and code.lower() in table:
        return f"did you mean {table[code.lower()]}?"
    return name_help(text, table) or "countries are ISO codes such as DE, groups are such as EU or EEA"


def name_help(text: str, table: Mapping[str, str]) -> str | None:
    """What to write instead of an unknown name: the nearest ones, or all where there are few."""
    near = suggestions(text, table)
    if near:
        return f"did you mean {' or '.join(near)}?"
    names = sorted(set(table.values()))
    return f"known: {', '.join(names)}" if 0 < len(names) <= _FEW else None
