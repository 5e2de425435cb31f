"""How far predictions are from measurements that the parameters never saw, beside simpler models and a peer.

    python -m benchmarks.fidelity [MEASURED.csv] [--residuals LEFT_OUT.npz] [--markdown FILE]

Every row of the table is left-out: four folds over configurations, one model left out, one accelerator left out. With
`--residuals` the left-out errors that `benchmarks.fit_performance --residuals` kept are read; without it they are
fitted again (some minutes). Beside them, on the same rows: the raw roofline, a roofline at fixed MBU 0.7 and MFU 0.5,
and NVIDIA aiconfigurator where it covers a row.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks import perf_fit
from benchmarks.fidelity_peers import aiconfigurator_errors, roofline_errors
from benchmarks.fidelity_reasons import reason_for
from benchmarks.fit_performance import ape, left_out_errors
from benchmarks.perf_points import OFFLINE, ONLINE, SINGLE, STATIC, Points, read_points
from planner.catalog.load import load_catalog
from planner.performance.parameters import KNOWN, NEW_ACCELERATOR, NEW_MODEL, load_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

TPOT, TTFT, RATE = 0, 1, 2
LEAST_ROWS = 3
FULL_LOAD = "TensorRT-LLM perf-overview"


@dataclass(frozen=True)
class Evidence:
    """Measured points and errors ln(measured/predicted) of everything that predicts them, `[point, quantity]`."""

    points: Points
    left: dict[str, Array]
    roofline: Array
    fixed: Array
    peer: Array


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    name: str
    rows: int
    values: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True)
class Target:
    """What issue 4 asks for: a share of points, a quantity, how it is left out, and the bound on the median."""

    name: str
    quantity: int
    distance: str
    bound: float
    where: Callable[[Points], Flags]
    percentile: float = 50.0


def stated(points: Points) -> Flags:
    """Online points that state their concurrency."""
    result: Flags = (points.kind == ONLINE) & ~points.open_load
    return result


def _maximum(points: Points, moe: bool) -> Flags:
    full: Flags = np.char.startswith(points.source, FULL_LOAD)
    result: Flags = full & (points.moe == moe) & (points.kind == OFFLINE)
    return result


def _offline(points: Points) -> Flags:
    result: Flags = np.isin(points.kind, (STATIC, OFFLINE)) & ~np.char.startswith(points.source, FULL_LOAD)
    return result


TARGETS = (
    Target("TPOT, configuration left out", TPOT, KNOWN, 0.12, stated),
    Target("TPOT, model left out", TPOT, NEW_MODEL, 0.15, stated),
    Target("TPOT, accelerator left out", TPOT, NEW_ACCELERATOR, 0.18, stated),
    Target("TPOT, configuration left out, p90", TPOT, KNOWN, 0.45, stated, 90.0),
    Target("TTFT, configuration left out", TTFT, KNOWN, 0.30, stated),
    Target("maximum load, dense", RATE, KNOWN, 0.15, lambda p: _maximum(p, moe=False)),
    Target("maximum load, MoE", RATE, KNOWN, 0.25, lambda p: _maximum(p, moe=True)),
    Target("static batch and offline", RATE, KNOWN, 0.12, _offline),
    Target("single stream, TPOT", TPOT, KNOWN, 0.15, lambda p: p.kind == SINGLE),
)


def median(errors: Array, q: float = 50.0) -> str:
    """Percentile of the absolute percentage error; `–` for too few rows."""
    values = errors[~np.isnan(errors)]
    return f"{np.percentile(ape(values), q):.1%}" if len(values) >= LEAST_ROWS else "–"


def coverage(points: Points, errors: Array) -> float:
    """Share of points inside the 80 % interval of the other half of the configurations; NaN for few points."""
    half = perf_fit.folds(points.group, 2) == "0"
    inside: list[Array] = []
    for mine in (half, ~half):
        from_, to = errors[~mine], errors[mine]
        from_, to = from_[~np.isnan(from_)], to[~np.isnan(to)]
        if min(len(from_), len(to)) < 10:
            return float("nan")
        low, high = np.quantile(from_, (0.1, 0.9))
        inside.append(((to >= low) & (to <= high)).astype(np.float64))
    return float(np.mean(np.concatenate(inside)))


def line(e: Evidence, name: str, where: Flags, quantity: int, reason: str = "") -> Line:
    """Errors of everything on the same points."""
    known = e.left[KNOWN][where, quantity]
    peer = e.peer[where, quantity]
    on_peer = np.where(np.isnan(peer), np.nan, known)
    share = coverage(e.points.take(where), known) if where.any() else float("nan")
    return Line(
        name,
        int((~np.isnan(known)).sum()),
        (
            median(known),
            median(known, 90.0),
            median(e.left[NEW_MODEL][where, quantity]),
            median(e.left[NEW_ACCELERATOR][where, quantity]),
            "–" if np.isnan(share) else f"{share:.0%}",
            median(e.roofline[where, quantity]),
            median(e.fixed[where, quantity]),
            median(peer),
            median(on_peer),
        ),
        reason,
    )


HEAD = (
    "", "rows", "median", "p90", "model left out", "accelerator left out", "in 80 % interval", "raw roofline",
    "MBU 0.7, MFU 0.5", "aiconfigurator", "ours on its rows", "why it is off",
)  # fmt: skip


def table(lines: Iterable[Line]) -> str:
    """Markdown."""
    rows = [(x.name, str(x.rows), *x.values, x.reason) for x in lines if x.rows]
    text = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    return "\n".join(text + ["| " + " | ".join(r) + " |" for r in rows])


def sections(e: Evidence) -> list[tuple[str, str]]:
    """Title and table of every view."""
    p = e.points
    kinds = (
        ("online, TPOT", stated(p), TPOT),
        ("online, TTFT", stated(p), TTFT),
        ("online at a rate (requests in flight by Little's law), TPOT", p.open_load, TPOT),
        ("static batch, throughput", p.kind == STATIC, RATE),
        ("offline and maximum load, throughput", p.kind == OFFLINE, RATE),
        ("single stream, TPOT", p.kind == SINGLE, TPOT),
        ("single stream, TTFT", p.kind == SINGLE, TTFT),
    )
    found = [("By kind of run", table(line(e, n, w, q) for n, w, q in kinds)), ("Against the targets", targets(e))]
    for title, labels in (
        ("By source", p.source), ("By accelerator", p.accelerator), ("By model", p.model), ("By engine", p.engine),
    ):  # fmt: skip
        found.append((title, table(_lines(e, labels))))
    return found


def _lines(e: Evidence, labels: NDArray[np.str_]) -> list[Line]:
    """A line per label and quantity: TPOT of online and single stream, throughput of the others."""
    lines = []
    for label in sorted(set(labels)):
        mine = labels == label
        for suffix, where, quantity in (
            ("TPOT", mine & np.isin(e.points.kind, (ONLINE, SINGLE)), TPOT),
            ("throughput", mine & np.isin(e.points.kind, (STATIC, OFFLINE)), RATE),
            ("TTFT", mine & stated(e.points), TTFT),
        ):
            lines.append(line(e, f"{label}, {suffix}", where, quantity, reason_for(str(label), suffix)))
    return lines


def targets(e: Evidence) -> str:
    """Every target with what was reached, kept or missed."""
    rows = []
    for t in TARGETS:
        errors = e.left[t.distance][t.where(e.points), t.quantity]
        errors = errors[~np.isnan(errors)]
        value = float(np.percentile(ape(errors), t.percentile))
        rows.append(
            f"| {t.name} | {len(errors)} | {value:.1%} | {t.bound:.0%} | {'kept' if value <= t.bound else 'missed'} |"
        )
    return "\n".join(["| target | rows | reached | bound | |", "|---|---|---|---|---|", *rows])


def gather(measured: Path, residuals: Path | None) -> Evidence:
    """Points and the errors of everything. Raises OSError; ValueError where residuals are of another file."""
    parameters, catalog = load_parameters(), load_catalog()
    points, skipped = read_points(measured, catalog, parameters)
    for reason, count in sorted(skipped.items()):
        print(f"left out {count:5d}: {reason}", file=sys.stderr)
    if residuals is None:
        design = perf_fit.design(points)
        left = left_out_errors(points, design, perf_fit.fit(points, design))
    else:
        kept = np.load(residuals)
        if not np.array_equal(kept["row"], points.row):
            raise ValueError(f"{residuals} was made from other rows: run benchmarks.fit_performance again")
        left = {d: kept[d] for d in (KNOWN, NEW_MODEL, NEW_ACCELERATOR)}
    frame = pd.read_csv(measured, low_memory=False)
    return Evidence(
        points,
        left,
        roofline_errors(points, parameters, mbu=1.0, mfu=1.0),
        roofline_errors(points, parameters, mbu=0.7, mfu=0.5),
        aiconfigurator_errors(points, frame, measured.parent / "aiconfigurator" / "aic_silicon_predictions.csv"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("PLANNER_SHARED_DATA", "../shared/data"))
    parser.add_argument("measured", type=Path, nargs="?", default=shared / "perf" / "measured.csv")
    parser.add_argument("--residuals", type=Path)
    parser.add_argument("--markdown", type=Path, help="write the table here too")
    args = parser.parse_args(arguments)
    text = "\n\n".join(f"## {title}\n\n{body}" for title, body in sections(gather(args.measured, args.residuals)))
    print(text)
    if args.markdown:
        args.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
