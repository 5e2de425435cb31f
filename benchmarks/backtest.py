"""Commitments decided quarter by quarter, replayed on three years of demand: `python -m benchmarks.backtest CSV.GZ`.

The file has hourly machine counts by region and type (USAGE_HOUR, REGION_NUM, INSTANCE_TYPE, NORM_USAGE). At the start
of every quarter terms are bought per region and type from what is known then; the quarter is replayed: terms are paid
whether used or not, what is above them by the hour at 1 USD. Nothing is known before the first quarter, so it is bought
by the hour and left out of every figure. Savings are against buying everything by the hour:

    quarterly   the rule below, at the start of every quarter
    constant    the best level that never changes, chosen in hindsight
    perfect     the best level of every quarter, chosen in hindsight (for terms of a quarter no rule can save more)

The rule: the level that the last four weeks, moved by their own trend, exceed in a share of the hours equal to the
price ratio (FACTS §4), less the terms that still run.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.demand.slices import committed_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QUARTER_H = 2190
"""A quarter: 3 months of 730 hours."""
WINDOW_H, TREND_H = 4 * 168, 2 * 168
"""What the level is taken from, and the latest part of it that tells the trend."""
RATIOS = (0.4, 0.5, 0.6, 0.7, 0.8)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Replay:
    """USD of one series, or of several together; on demand costs 1 an hour."""

    on_demand: float = 0.0
    quarterly: float = 0.0
    constant: float = 0.0
    perfect: float = 0.0

    def __add__(self, other: Replay) -> Replay:
        return Replay(
            self.on_demand + other.on_demand, self.quarterly + other.quarterly, self.constant + other.constant,
            self.perfect + other.perfect,
        )  # fmt: skip

    def savings(self) -> tuple[float, float, float]:
        """(quarterly, constant, perfect) as shares of buying everything by the hour."""
        if self.on_demand <= 0.0:
            return 0.0, 0.0, 0.0
        return tuple(1.0 - x / self.on_demand for x in (self.quarterly, self.constant, self.perfect))  # type: ignore[return-value]


def read_series(path: Path) -> dict[Key, Floats]:
    """(region, type) → machines in every hour from the first to the last of the file."""
    found: dict[Key, dict[int, float]] = defaultdict(dict)
    hours: dict[str, int] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            stamp = row["USAGE_HOUR"]
            if stamp not in hours:
                hours[stamp] = int(datetime.fromisoformat(stamp).timestamp() // 3600)
            found[row["REGION_NUM"], row["INSTANCE_TYPE"]][hours[stamp]] = float(row["NORM_USAGE"])
    first, last = min(hours.values()), max(hours.values())
    return {k: np.array([v.get(h, 0.0) for h in range(first, last + 1)]) for k, v in sorted(found.items())}


def level(demand: Floats, ratio: float) -> float:
    """What to commit to for demand like this."""
    return committed_level(demand, np.full(len(demand), 1.0 / len(demand)), ratio)


def cost(demand: Floats, committed: float, ratio: float) -> float:
    """USD of a stretch with so much committed."""
    return ratio * committed * len(demand) + float(np.maximum(demand - committed, 0.0).sum())


def wanted(known: Floats, ratio: float) -> float:
    """The level for the next quarter from all that is known."""
    window = known[-WINDOW_H:]
    mean = float(window.mean())
    trend = float(known[-TREND_H:].mean()) / mean if mean > 0.0 else 1.0
    return level(window * trend, ratio)


def replay(demand: Floats, ratio: float, term_quarters: int) -> Replay:
    """Every whole quarter after the first, decided at its start."""
    bought: list[tuple[int, float]] = []
    found = Replay()
    quarters = len(demand) // QUARTER_H
    whole = demand[QUARTER_H : quarters * QUARTER_H]
    for q in range(1, quarters):
        now = demand[q * QUARTER_H : (q + 1) * QUARTER_H]
        running = sum(n for begun, n in bought if begun > q - term_quarters)
        more = max(0.0, wanted(demand[: q * QUARTER_H], ratio) - running)
        bought.append((q, more))
        found += Replay(float(now.sum()), cost(now, running + more, ratio), 0.0, cost(now, level(now, ratio), ratio))
    return found + Replay(constant=cost(whole, level(whole, ratio), ratio))


def table(series: dict[Key, Floats], ratio: float, term_quarters: int) -> dict[Key, Replay]:
    """A replay for every region and type."""
    return {key: replay(demand, ratio, term_quarters) for key, demand in series.items()}


def main(argv: list[str] | None = None) -> int:
    """Print one table by region and type (0.6, three months), then totals for both terms and every ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    series = read_series(parser.parse_args(argv).path)
    rows = table(series, 0.6, 1)
    print("terms of three months at 0.6 of the price by the hour")
    print("region type  machine-hours  quarterly  constant   perfect")
    for (region, kind), r in rows.items():
        print(f"{region:>6} {kind:>4} {r.on_demand:>14,.0f}" + "".join(f"{100 * x:>9.1f} %" for x in r.savings()))
    print("\nall regions and types\n  term ratio  quarterly  constant   perfect")
    for term, name in ((1, "3 mo"), (4, "1 yr")):
        for ratio in RATIOS:
            total = sum(table(series, ratio, term).values(), Replay())
            print(f"{name:>6} {ratio:>5.1f}" + "".join(f"{100 * x:>9.2f} %" for x in total.savings()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
