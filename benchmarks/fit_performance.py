"""Fit the analytic model to measured serving points and write `catalogs/performance.yaml` and its corrections.

    python -m benchmarks.fit_performance MEASURED.csv [--output catalogs/performance.yaml]

Aggregated rows with lengths and tensor parallelism are used: online, static batch, maximum load and single stream
together. The form is in `perf_fit`. Intervals come from residuals of rows that a fit did not see: 4 folds over
configurations for what was measured before, leaving one model out and leaving one accelerator out for what was not.
"""

from __future__ import annotations

import argparse
import math
from datetime import date
from io import StringIO
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from ruamel.yaml import YAML

from benchmarks import perf_fit
from benchmarks.perf_points import OFFLINE, ONLINE, SINGLE, STATIC, Points, masked_first_tokens, read_points
from planner.catalog.load import load_catalog
from planner.performance.parameters import (
    KNOWN,
    NEW_ACCELERATOR,
    NEW_BOTH,
    NEW_MODEL,
    ErrorModel,
    PerformanceParameters,
    corrections_path,
    default_path,
    load_parameters,
)
from planner.performance.rates import NAMES, within_limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDS = 4
ALONE, LUMPS = 10, 2
"""Models and accelerators with so many online rows are left out one at a time, the others in two lumps."""
LEAST_ROWS = 20
"""Fewer left-out rows of a kind and quantity do not make an interval of their own."""
SEEN_ROWS = 5
"""An accelerator or model with fewer rows counts as one that was not measured."""
SMALLEST = 0.01
"""Corrections nearer to none are not kept."""
QUANTITIES = ("tpot", "ttft", "rate")
STAND_INS = {"tpot": ("rate",), "rate": ("tpot",), "ttft": ()}
KINDS = (ONLINE, STATIC, OFFLINE, SINGLE)


def seen(labels: NDArray[np.str_]) -> tuple[str, ...]:
    """Labels with enough rows, sorted."""
    names, counts = np.unique(labels, return_counts=True)
    return tuple(str(n) for n, k in zip(names, counts, strict=True) if k >= SEEN_ROWS)


def ape(residual: Array) -> Array:
    """Absolute percentage error of the prediction against the measurement."""
    result: Array = np.abs(np.exp(-residual) - 1.0)
    return result


def error_model(residual: Array, widen: float = 1.0) -> ErrorModel:
    """80 % interval of measured/predicted from left-out residuals, and a log-normal width that matches it."""
    low, high = np.quantile(residual, (0.1, 0.9)) * widen
    error = ape(residual)
    return ErrorModel(
        sigma_log=round(float(high - low) / (2 * NormalDist().inv_cdf(0.9)), 4),
        low=round(math.exp(low), 4),
        high=round(math.exp(high), 4),
        median_ape=round(float(np.median(error)), 4),
        p90_ape=round(float(np.quantile(error, 0.9)), 4),
        rows=len(residual),
    )


def error_models(points: Points, left: dict[str, Array]) -> dict[str, dict[str, dict[str, ErrorModel]]]:
    """Kind → quantity → distance; a kind without enough rows of a quantity takes the nearest that has them.

    An accelerator and a model that are both new add their variances.
    """
    result: dict[str, dict[str, dict[str, ErrorModel]]] = {}
    for kind in KINDS:
        result[kind] = {}
        for at, quantity in enumerate(QUANTITIES):
            found = {d: _residuals(points, e, kind, at) for d, e in left.items()}
            models = {d: error_model(r) for d, r in found.items()}
            wide = math.hypot(models[NEW_MODEL].sigma_log, models[NEW_ACCELERATOR].sigma_log)
            base = models[NEW_ACCELERATOR].sigma_log
            models[NEW_BOTH] = error_model(found[NEW_ACCELERATOR], wide / base)
            result[kind][quantity] = models
    return result


def _residuals(points: Points, errors: Array, kind: str, at: int) -> Array:
    """Left-out residuals of a quantity: of the kind, else of its stand-in, else of the online rows."""
    mine = points.kind == kind
    columns = [at, *(QUANTITIES.index(q) for q in STAND_INS[QUANTITIES[at]])]
    for rows in (mine, points.kind == ONLINE):
        for column in columns:
            values = errors[rows & ~points.open_load, column]
            values = values[~np.isnan(values)]
            if len(values) >= LEAST_ROWS:
                chosen: Array = values
                return chosen
    raise ValueError(f"no left-out rows for {kind} {QUANTITIES[at]}")


def corrections(d: perf_fit.Design, theta: Array) -> list[tuple[str, str, str, float]]:
    """(level, key, parameter, factor) of every correction that matters."""
    rows = zip(d.names[len(NAMES) :], theta[len(NAMES) :], strict=True)
    return [(lv, k, n, round(math.exp(x), 4)) for (lv, k, n), x in rows if abs(x) >= SMALLEST]


def write(path: Path, parameters: PerformanceParameters, rows: list[tuple[str, str, str, float]]) -> None:
    """Write the parameters, keys in the order of the type, and the table of corrections beside them."""
    yaml = YAML()
    yaml.width = 120
    text = StringIO()
    yaml.dump(parameters.model_dump(mode="json", exclude={"corrections"}), text)
    head = (
        "# Parameters of the analytic model, written by benchmarks/fit_performance.py (efficiencies, links: by hand).\n"
        "# Factors per accelerator, engine, model, …: performance_corrections.csv.\n"
    )
    path.write_text(head + text.getvalue(), encoding="utf-8")
    lines = [
        "# Factors on the parameters of performance.yaml, written by benchmarks/fit_performance.py",
        "level,key,parameter,factor",
        *(f"{level},{key},{name},{factor:g}" for level, key, name, factor in sorted(rows)),
    ]
    corrections_path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def left_out_errors(points: Points, d: perf_fit.Design, theta: Array) -> dict[str, Array]:
    """Errors of rows under fits that saw neither their configuration, their model nor their accelerator."""
    stated = (points.kind == ONLINE) & ~points.open_load
    labels = {
        KNOWN: perf_fit.folds(points.group, FOLDS),
        NEW_MODEL: perf_fit.lumped(points.model, stated, ALONE, LUMPS),
        NEW_ACCELERATOR: perf_fit.lumped(points.accelerator, stated, ALONE, LUMPS),
    }
    return {distance: perf_fit.left_out(points, d, names, theta, rounds=5) for distance, names in labels.items()}


def main() -> None:
    """Fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--output", type=Path, default=default_path())
    parser.add_argument("--on", type=date.fromisoformat, default=date(2026, 11, 30), help="date of the fit")
    parser.add_argument(
        "--residuals", type=Path, help="keep the left-out residuals here (.npz), for benchmarks.fidelity"
    )
    args = parser.parse_args()
    before, catalog = load_parameters(default_path()), load_catalog()
    every_engine = before.model_copy(update={"engines_seen": tuple(e.id for e in catalog.engines)})
    points, skipped = read_points(args.measured, catalog, every_engine)
    design = perf_fit.design(points)
    theta = perf_fit.fit(points, design)
    left = left_out_errors(points, design, theta)
    if args.residuals:
        np.savez(args.residuals, row=points.row, allow_pickle=False, **left)
    models = error_models(points, left)
    for kind, quantities in models.items():
        for quantity, by_distance in quantities.items():
            for distance, m in by_distance.items():
                error = f"median {m.median_ape:6.1%}  p90 {m.p90_ape:6.1%}"
                print(f"{kind:20s} {quantity:5s} {distance:16s} {m.rows:5d} rows  {error}")
    record = {
        "fitted_on": args.on,
        "rows": len(points),
        "configurations": len(set(points.group)),
        "left_out": dict(sorted(skipped.items())),
        "ttft_masked": masked_first_tokens(args.measured),
        "note": "errors of predictions relative to measurements that the fit did not see: 4 folds over configurations "
        "(known), one model left out, one accelerator left out",
    }
    after = {
        **before.model_dump(exclude={"corrections"}),
        "corrections": {},
        "as_of": args.on,
        "fitted": {n: float(f"{within_limits(n, math.exp(theta[i])):.4g}") for i, n in enumerate(NAMES)},
        "errors": {k: {q: {d: m.model_dump() for d, m in x.items()} for q, x in v.items()} for k, v in models.items()},
        "accelerators_seen": seen(points.accelerator),
        "models_seen": seen(points.model),
        "engines_seen": seen(points.engine),
        "fit": record,
    }
    write(args.output, PerformanceParameters.model_validate(after), corrections(design, theta))


if __name__ == "__main__":
    main()
