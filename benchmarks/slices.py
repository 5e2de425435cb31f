"""What slices cost against hour-by-hour planning: `python -m benchmarks.slices CSV`, a CSV of hourly rates.

For every column of rates and every number of slices: the largest excess of the cheapest mix of terms and machines by
the hour over that on the hours' own load-duration curve, for prices of terms of 0.3 to 0.9 of the price by the hour.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from planner.demand.slices import group_hours, overstatement
from planner.spec.traces import CLOCKS, read_profile

SLICES = (4, 8, 12, 16, 24, 32, 48, 84, 168)


def excesses(path: Path, column: str) -> dict[int, float]:
    """Number of slices → largest excess of cost, as a share, over price ratios 0.3 to 0.9."""
    week = np.array([read_profile(path, column)])
    lengths = np.ones(week.shape[1])
    return {n: overstatement(week, group_hours(week, n), lengths) for n in SLICES}


def columns(path: Path) -> list[str]:
    """Columns of rates of a CSV with a head."""
    with path.open(encoding="utf-8", newline="") as file:
        return [name for name in next(csv.reader(file)) if name.lower() not in CLOCKS]


def main(argv: list[str] | None = None) -> int:
    """Print a table with a row per column of rates."""
    path = Path((sys.argv[1:] if argv is None else argv)[0])
    print("column".ljust(16) + "".join(f"{n:>8}" for n in SLICES))
    for column in columns(path):
        print(column.ljust(16) + "".join(f"{100 * x:7.2f}%" for x in excesses(path, column).values()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
