"""Write `catalogs/api_prices.csv`: what genai-prices says on the catalog's price date of every price `apis.csv` names.

python benchmarks/build_api_prices.py [CATALOGS]
"""

from __future__ import annotations

import csv
import sys
from datetime import date
from pathlib import Path

from planner.catalog.api_prices import SNAPSHOT, prices_at
from planner.catalog.files import load_yaml

HEADS = (
    "ref", "input_usd_per_mtok", "output_usd_per_mtok", "cached_input_usd_per_mtok", "tiers",
    "context_window_tokens", "as_of", "source",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Look the prices up and write them; a price that is not known is an error."""
    catalogs = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1] / "catalogs"
    refs = wanted(catalogs / "apis.csv")
    day = price_date(catalogs / "catalog.yaml")
    prices = prices_at(day, frozenset(refs))
    missing = sorted(set(refs) - set(prices))
    if missing:
        print(f"no price on {day} for: {', '.join(missing)}", file=sys.stderr)
        return 1
    lines = [
        "# Made by benchmarks/build_api_prices.py: USD per million tokens; tiers: above so many tokens:input:output."
    ]
    lines.append(",".join(HEADS))
    for ref in refs:
        p = prices[ref]
        tiers = ";".join(f"{n}:{i:g}:{o:g}" for n, i, o in p.tiers)
        cached = "" if p.cached_input_usd_per_mtok is None else f"{p.cached_input_usd_per_mtok:g}"
        window = p.context_window_tokens or ""
        cells = (ref, f"{p.input_usd_per_mtok:g}", f"{p.output_usd_per_mtok:g}", cached, tiers, window, day, p.source)
        lines.append(",".join(str(c) for c in cells))
    (catalogs / SNAPSHOT).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def wanted(path: Path) -> list[str]:
    """Every list price that the API table names, sorted."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return sorted({row["price"] for row in csv.DictReader(lines) if row["price"]})


def price_date(path: Path) -> date:
    """The catalog's price date. Raises ValueError."""
    data = load_yaml(path.read_text(encoding="utf-8"))
    day = data["price_date"] if isinstance(data, dict) else None
    if not isinstance(day, date):
        raise ValueError(f"{path} has no price_date")
    return day


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
