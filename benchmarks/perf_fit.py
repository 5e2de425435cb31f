"""Hierarchical least squares: global parameters and corrections per level, shrunk toward none.

    minimise  Σ soft-L1(ln(measured / predicted) / σ)  +  Σ (ln correction / τ)²  +  Σ (ln(global / start) / τ)²

A point's parameters are exp(global + Σ corrections of its keys), so the derivative needs one evaluation of the model
per parameter name, whatever the number of corrections; the rest is a sparse design matrix. Gauss–Newton with
Levenberg damping and reweighting for the soft-L1 loss.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse as _sparse
from scipy.sparse import linalg as _linalg

from benchmarks.perf_points import OFFLINE, ONLINE, SINGLE, STATIC, Points
from planner.performance.points import predict_points
from planner.performance.rates import LEVELS, LIMITS, NAMES, USUAL_RUN, Rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

sparse: Any = _sparse
linalg: Any = _linalg
"""Without types of their own."""
Matrix = Any
"""scipy.sparse.csr_matrix"""
START = {
    "mfu_scale": 0.8,
    "mbu_scale": 0.95,
    "prefill_mfu": 0.9,
    "expert_mfu": 0.6,
    "expert_mbu": 0.8,
    "kv_mbu": 0.7,
    "latency_scale": 1.2,
    "reduce_scale": 1.0,
    "layer_s": 3e-5,
    "moe_layer_s": 3e-5,
    "latent_layer_s": 2e-5,
    "request_s": 1e-5,
    "scheduler_s": 1e-3,
    "interference": 0.7,
    "admission_s": 5e-4,
    "prefill_overhead_s": 0.02,
    "latent_prefill_s": 1e-3,
    "queue": 0.5,
    "burst": 0.1,
    "time_scale": 1.0,
    "first_token_scale": 1.0,
}
FIXED = frozenset({"time_scale", "first_token_scale"})
"""Global values that the others already express."""
GLOBAL_WIDTH = 0.7
SPEED = dict.fromkeys(("mfu_scale", "mbu_scale", "kv_mbu", "prefill_mfu"), 0.15)
HOST = {"layer_s": 0.3, "scheduler_s": 0.4, "request_s": 0.4, "admission_s": 0.4, "prefill_overhead_s": 0.4}
"""How fast kernels are launched and requests scheduled is a matter of the machine around the accelerator."""
SERVED = {"time_scale": 0.1, "first_token_scale": 0.1}
BOTH = ("mfu_scale", "mbu_scale", "prefill_mfu", "layer_s", "scheduler_s")
ENGINE = (
    *SPEED,
    *HOST,
    "expert_mfu",
    "expert_mbu",
    "moe_layer_s",
    "latent_layer_s",
    "interference",
    "latency_scale",
    "queue",
    "burst",
)
CHIP = {**SPEED, **HOST, "latency_scale": 0.3, "reduce_scale": 0.3}
CORRECTED: Mapping[str, Mapping[str, float]] = {
    "class": {n: 1.5 * w for n, w in CHIP.items()},
    "generation": {n: 0.7 * w for n, w in CHIP.items()},
    "accelerator": {n: 0.7 * w for n, w in CHIP.items()},
    "arithmetic": dict.fromkeys(("mfu_scale", "mbu_scale", "prefill_mfu"), 0.1),
    "engine": dict.fromkeys(ENGINE, 0.4),
    "version": dict.fromkeys(ENGINE, 0.3),
    "engine_arithmetic": dict.fromkeys((*BOTH, "expert_mbu"), 0.1),
    "engine_class": dict.fromkeys(BOTH, 0.2),
    "engine_accelerator": dict.fromkeys(BOTH, 0.15),
    "link": {"latency_scale": 0.5, "reduce_scale": 0.5},
    "run": dict.fromkeys(ENGINE, 0.4),
    "engine_run": dict.fromkeys(ENGINE, 0.4),
    "chip_run": {**SPEED, **HOST},
    "model": SERVED,
    "model_engine": SERVED,
    "model_accelerator": SERVED,
    "served": {"time_scale": 0.15, "first_token_scale": 0.15},
}
"""Level → parameter → prior width of its correction's logarithm."""
TPOT_SIGMA, TTFT_SIGMA, RATE_SIGMA = 0.12, 0.35, 0.12
STEP = 1e-4
ROUNDS = 40
MODEL_ROUNDS = 3
REFERENCE_CLASS = "nvidia/gpu/hbm"
REFERENCE_GENERATIONS = frozenset({"nvidia/9.0", "nvidia/10"})
FULL_LOAD = "TensorRT-LLM perf-overview"
RUN_LEVELS = frozenset({"run", "engine_run", "chip_run"})
"""Levels without a correction for the usual kind of run."""
MODEL_LEVELS = frozenset({"model", "model_engine", "model_accelerator", "served"})
FROZEN = 1e-5
"""Prior width of an entry that stays as it is."""
CONVERGED = 3e-4
"""Relative gain of two rounds in a row below which the fit ends."""


@dataclass(frozen=True)
class Design:
    """Columns of theta: the global parameters, then every correction that a level's keys make."""

    names: tuple[tuple[str, str, str], ...]
    """(level, key, parameter); level and key are empty for the global ones."""
    matrices: tuple[Matrix, ...]
    """Per parameter name: [point, column] 0/1."""
    width: Array
    """Prior width of every column."""
    start: Array


def design(points: Points) -> Design:
    """The corrections that these points can tell."""
    names: list[tuple[str, str, str]] = [("", "", n) for n in NAMES]
    widths = [1e-6 if n in FIXED else GLOBAL_WIDTH for n in NAMES]
    entries: dict[str, list[tuple[NDArray[np.intp], int]]] = {
        n: [(np.arange(len(points)), i)] for i, n in enumerate(NAMES)
    }
    for at, level in enumerate(LEVELS):
        for key in sorted(set(points.keys[:, at])):
            if is_reference(level, str(key)):
                continue
            rows = np.flatnonzero(points.keys[:, at] == key)
            for name, width in CORRECTED[level].items():
                entries[name].append((rows, len(names)))
                names.append((level, key, name))
                widths.append(width)
    shape = (len(points), len(names))
    return Design(
        names=tuple(names),
        matrices=tuple(_indicator(entries[n], shape) for n in NAMES),
        width=np.array(widths),
        start=np.array([np.log(START[n]) for n in NAMES] + [0.0] * (len(names) - len(NAMES))),
    )


def is_reference(level: str, key: str) -> bool:
    """Whether the global values are about this key, so that it has no correction."""
    return {
        "class": key == REFERENCE_CLASS,
        "generation": key in REFERENCE_GENERATIONS,
        "version": key.endswith("/current"),
        "engine_class": key.endswith(REFERENCE_CLASS),
        "link": key == "none" or key.startswith("nvlink"),
    }.get(level, level in RUN_LEVELS and key.rsplit("/", 1)[-1] == USUAL_RUN)


def _indicator(entries: list[tuple[NDArray[np.intp], int]], shape: tuple[int, int]) -> Matrix:
    rows = np.concatenate([r for r, _ in entries])
    columns = np.concatenate([np.full(len(r), c) for r, c in entries])
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


def rates_of(d: Design, theta: Array) -> Array:
    """Logarithms of every point's parameters, `[point, parameter]`."""
    return np.column_stack([m @ theta for m in d.matrices])


def as_rates(logs: Array) -> Rates:
    """Parameters within their limits."""
    found = {}
    for i, name in enumerate(NAMES):
        values = np.exp(logs[:, i : i + 1])
        low, high = LIMITS.get(name, (0.0, np.inf))
        found[name] = np.clip(values, low, high)
    return Rates(**found)


def errors(points: Points, rates: Rates) -> Array:
    """ln(measured/predicted) time, `[point, 3]`: TPOT, TTFT, and time per output token of a throughput; NaN: none."""
    found = predict_points(points.columns, rates, points.kind, points.load)
    out = points.load.output * found.req_per_s * points.replicas
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.log(points.tpot / found.tpot_s)
        ttft = np.log(points.ttft / found.ttft_s)
        rate = np.log(out / points.out_tok_per_s)
    whole = np.isin(points.kind, (OFFLINE, STATIC, SINGLE))[:, None]
    rate = np.where(whole & np.isnan(points.tpot), rate, np.nan)
    return np.hstack([tpot, ttft, rate])


def sigmas(points: Points, crowd: float) -> Array:
    """How far a point's errors count, `[point, 3]`; n points of one configuration count as n^(1 − 2·crowd)."""
    _, inverse, counts = np.unique(points.group, return_inverse=True, return_counts=True)
    share = (counts[inverse] ** crowd)[:, None]
    return np.hstack([share * TPOT_SIGMA, share * TTFT_SIGMA, share * RATE_SIGMA])


def fit(points: Points, d: Design, start: Array | None = None, rounds: int = ROUNDS) -> Array:
    """Theta in three stages, each on what the one before leaves.

    1. Global values and engines, on the reference: online loads and full load of today's engines.
    2. Corrections of everything else, on all points, every configuration counting once.
    3. Models that were measured.

    In one stage a model's or an accelerator's own factor carries part of what all of them share, and a new one misses
    it. `start`: theta of an earlier fit.
    """
    level = np.array([name for name, _, _ in d.names])
    core = np.flatnonzero(is_core(points))
    today = set(points.engine[core])
    engine = np.array([name == "engine" and key in today for name, key, _ in d.names])
    own = np.isin(level, sorted(MODEL_LEVELS))
    theta = d.start.copy() if start is None else np.where((level == "") | engine, start, d.start)
    reference, there = points.take(core), rows_of(d, core)
    theta = _stage(reference, there, theta, level == "", rounds, crowd=0.25)
    theta = _stage(reference, there, theta, engine, rounds, crowd=0.25)
    if start is not None:
        theta = np.where((level == "") | engine, theta, start)
    theta = _stage(points, d, theta, ~((level == "") | engine | own), rounds, crowd=0.5)
    return _stage(points, d, np.where(own, d.start, theta), own, MODEL_ROUNDS, crowd=0.25)


def is_core(points: Points) -> NDArray[np.bool_]:
    """The reference points: stated online loads and full load of the engines of today."""
    stated = (points.kind == ONLINE) & ~points.open_load
    result: NDArray[np.bool_] = stated | np.char.startswith(points.source, FULL_LOAD)
    return result


def _stage(points: Points, d: Design, start: Array, free: NDArray[np.bool_], rounds: int, crowd: float) -> Array:
    """Damped Gauss–Newton over the free entries; the others stay."""
    theta = start.copy()
    center = np.where(free, d.start, start)
    scale, prior = sigmas(points, crowd), np.where(free, d.width, FROZEN) ** -2.0
    d = replace(d, start=center)
    damping, value, idle = 1e-3, _objective(points, d, theta, scale, prior), 0
    for _ in range(rounds):
        jacobian, residual = _linearised(points, d, theta, scale)
        gradient = jacobian.T @ residual + prior * (theta - d.start)
        diagonal = np.asarray(jacobian.multiply(jacobian).sum(axis=0)).ravel() + prior
        before = value
        for _ in range(5):
            move = _solve(jacobian, prior + damping * diagonal, diagonal, -gradient)
            trial = theta + np.clip(move, -1.0, 1.0)
            after = _objective(points, d, trial, scale, prior)
            if after < value:
                damping, theta, value = damping / 5, trial, after
                break
            damping *= 10
        idle = idle + 1 if before - value < CONVERGED * before else 0
        if idle == 2:
            break
    return theta


def _objective(points: Points, d: Design, theta: Array, scale: Array, prior: Array) -> float:
    z = errors(points, as_rates(rates_of(d, theta))) / scale
    loss = np.nansum(2.0 * (np.sqrt(1.0 + z**2) - 1.0))
    return float(loss + np.sum(prior * (theta - d.start) ** 2))


def _linearised(points: Points, d: Design, theta: Array, scale: Array) -> tuple[Matrix, Array]:
    """(Jacobian, residuals) of half the loss, each row times the root of its soft-L1 weight 1/√(1 + z²)."""
    logs = rates_of(d, theta)
    base = errors(points, as_rates(logs)) / scale
    slopes = np.empty((len(NAMES), *base.shape))
    for i in range(len(NAMES)):
        moved = logs.copy()
        moved[:, i] += STEP
        slopes[i] = (errors(points, as_rates(moved)) / scale - base) / STEP
    parts, residuals = [], []
    for target in range(base.shape[1]):
        rows = np.flatnonzero(~np.isnan(base[:, target]))
        z = base[rows, target]
        root = (1.0 + z**2) ** -0.25
        blocks = [sparse.diags(slopes[i, rows, target] * root) @ d.matrices[i][rows] for i in range(len(NAMES))]
        parts.append(sum(blocks[1:], start=blocks[0]))
        residuals.append(z * root)
    return sparse.vstack(parts).tocsr(), np.concatenate(residuals)


def _solve(jacobian: Matrix, ridge: Array, diagonal: Array, right: Array) -> Array:
    """(JᵀJ + ridge)⁻¹ right by conjugate gradients, preconditioned by the diagonal."""
    size = len(right)
    across = linalg.LinearOperator((size, size), matvec=lambda v: jacobian.T @ (jacobian @ v) + ridge * v)
    whitened = linalg.LinearOperator((size, size), matvec=lambda v: v / diagonal)
    result: Array = linalg.cg(across, right, M=whitened, rtol=1e-4, maxiter=300)[0]
    return result


def left_out(points: Points, d: Design, labels: NDArray[np.str_], start: Array, rounds: int = 6) -> Array:
    """Errors of every point under parameters fitted without its label, `[point, 3]`.

    Each fit starts at `start` with every correction that its own points do not tell taken off.
    """
    result = np.full((len(points), 3), np.nan)
    for label in sorted(set(labels)):
        outside, inside = np.flatnonzero(labels != label), np.flatnonzero(labels == label)
        part = rows_of(d, outside)
        told = np.sum([np.asarray(m.sum(axis=0)).ravel() for m in part.matrices], axis=0) > 0
        theta = fit(points.take(outside), part, np.where(told, start, d.start), rounds)
        result[inside] = errors(points.take(inside), as_rates(rates_of(rows_of(d, inside), theta)))
    return result


def rows_of(d: Design, rows: NDArray[np.intp]) -> Design:
    """The design of some of the points."""
    return Design(d.names, tuple(m[rows] for m in d.matrices), d.width, d.start)


def lumped(labels: NDArray[np.str_], weight: NDArray[np.bool_], least: int, lumps: int) -> NDArray[np.str_]:
    """Labels to leave out in turn: those with at least `least` of the weighted points alone, the others in lumps."""
    names = sorted(set(labels))
    large = {n for n in names if int((weight & (labels == n)).sum()) >= least}
    small = {n: f"lump {i % lumps}" for i, n in enumerate(n for n in names if n not in large)}
    return np.array([small.get(str(n), str(n)) for n in labels])


def folds(groups: NDArray[np.str_], count: int) -> NDArray[np.str_]:
    """A fold per configuration group, by a digest of its name (no seed, stable over runs)."""
    return np.array([str(zlib.crc32(g.encode()) % count) for g in groups])
