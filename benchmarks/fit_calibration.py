"""How much a few measured points of a (model, accelerator, engine) correct the estimates of its other points.

    python -m benchmarks.fit_calibration RESIDUALS.csv [--search 100]

RESIDUALS.csv has a row per measured point of a replica with its load, as estimated by a fit that never saw its model:
model, accelerator, engine, configuration, concurrency, input_tokens, output_tokens, and tpot_log and ttft_log, the
logarithms of measured ÷ predicted time (blank: not measured). Of every subject with at least four rows, k rows are
drawn (seeded, many times), `performance.calibration` is given them, and the others are judged: median and 90th
percentile of the absolute percentage error, and the share inside the 80 % interval. `--search` tries kernels around the
shipped one and prints the best: `catalogs/calibration.yaml` is then written by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from planner.performance.calibration import At, Corrector, Kernel, Residual, load_calibration_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST_ROWS = 4
DRAWS = 12
COUNTS = (0, 1, 2, 3, 5)
HALF = NormalDist().inv_cdf(0.9)
WORDS = ("everywhere", "near", "same", "same_near", "noise")


@dataclass(frozen=True)
class Subject:
    """Residuals ln(measured/predicted) of one model, accelerator and engine, and where they are."""

    at: list[At]
    log_ratio: Array


@dataclass(frozen=True)
class Score:
    """Of all judged rows."""

    median_ape: float
    p90_ape: float
    inside: float
    """Share in the 80 % interval."""
    rows: int


def subjects(frame: pd.DataFrame, column: str) -> list[Subject]:
    """Subjects with enough rows that have the residual."""
    found = []
    for _, rows in frame[frame[column].notna()].groupby(["model", "accelerator", "engine"], sort=True):
        if len(rows) >= LEAST_ROWS:
            loads = zip(
                rows["configuration"], rows["concurrency"], rows["input_tokens"], rows["output_tokens"], strict=True
            )
            at = [At(str(c), float(n), float(i), float(o)) for c, n, i, o in loads]
            found.append(Subject(at, rows[column].to_numpy(dtype=np.float64)))
    return found


def judge(found: Sequence[Subject], kernel: Kernel, count: int, draws: int = DRAWS) -> Score:
    """Errors of the rows that were not drawn; without a drawn row, of the plain estimate."""
    random = np.random.default_rng(0)
    errors: list[Array] = []
    scaled: list[Array] = []
    for s in found:
        for _ in range(draws if count else 1):
            if len(s.at) <= count:
                continue
            drawn = random.choice(len(s.at), count, replace=False)
            others = np.setdiff1d(np.arange(len(s.at)), drawn)
            rest, sigma = s.log_ratio[others], np.full(len(others), kernel.prior)
            if count:
                corrector = Corrector([Residual(s.at[i], float(s.log_ratio[i])) for i in drawn], kernel)
                correction = corrector.correct([s.at[i] for i in others])
                rest, sigma = rest - np.log(correction.factor), correction.sigma_log
            errors.append(np.abs(np.exp(-rest) - 1.0))
            scaled.append(np.abs(rest) / sigma)
    error, width = np.concatenate(errors), np.concatenate(scaled)
    return Score(float(np.median(error)), float(np.quantile(error, 0.9)), float(np.mean(width <= HALF)), len(error))


def search(found: Sequence[Subject], start: Kernel, tries: int) -> Kernel:
    """The kernel with the smallest medians after 1, 2 and 3 points and honest intervals, near the start."""
    random, best, least = np.random.default_rng(1), start, np.inf
    for t in range(tries + 1):
        kernel = start if t == 0 else varied(start, random)
        scores = [judge(found, kernel, k, 4) for k in (1, 2, 3)]
        cost = sum(s.median_ape for s in scores) + 0.25 * sum(abs(s.inside - 0.8) for s in scores)
        if cost < least:
            best, least = kernel, cost
    return best


def varied(kernel: Kernel, random: np.random.Generator) -> Kernel:
    """Every number times exp of a normal of width 0.4."""

    def vary(value: float) -> float:
        return float(value * np.exp(random.normal(0.0, 0.4)))

    lengths = kernel.lengths.model_copy(update={n: vary(v) for n, v in kernel.lengths.model_dump().items()})
    return kernel.model_copy(update={**{w: vary(getattr(kernel, w)) for w in WORDS}, "lengths": lengths})


def main() -> None:
    """Print the errors after a few points, and perhaps a better kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("residuals", type=Path)
    parser.add_argument("--search", type=int, default=0, metavar="TRIES")
    args = parser.parse_args()
    frame, shipped = pd.read_csv(args.residuals), load_calibration_parameters()
    for title, column, kernel in (("TPOT", "tpot_log", shipped.step), ("TTFT", "ttft_log", shipped.first_token)):
        found = subjects(frame, column)
        print(f"{title}: {sum(len(s.at) for s in found)} rows of {len(found)} subjects")
        for count in COUNTS:
            s = judge(found, kernel, count)
            print(
                f"  {count} points: median {s.median_ape:6.1%}  p90 {s.p90_ape:6.1%}  in the interval {s.inside:4.0%}"
            )
        if args.search:
            print("  better:", search(found, kernel, args.search).model_dump())


if __name__ == "__main__":
    main()
