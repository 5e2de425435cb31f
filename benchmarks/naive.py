"""The models that peers publish, as PuLP programmes solved by CBC: what a plain MILP gives, and how long it takes.

Needs the extra `bench` (`pip install planner[bench]`).
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

from planner.peers.inferno import InfernoSystem
from planner.peers.melange import MelangeProblem


@dataclass(frozen=True, slots=True)
class Naive:
    """Cost in USD per hour (None: infeasible, or nothing within the limit), wall seconds to build and solve."""

    usd_per_hour: float | None
    seconds: float
    status: str


def load_pulp() -> Any:
    """The PuLP module. Exits with a hint where it is not installed."""
    try:
        import pulp
    except ImportError as error:
        raise SystemExit("benchmarks.quality needs PuLP: pip install 'planner[bench]'") from error
    return pulp


def slices_cost(problem: MelangeProblem, slices: int, limit_s: float) -> Naive:
    """Mélange's formulation: every size cut into equal slices, every slice on one GPU type, whole GPUs.

        min Σ_g cost_g·n_g    Σ_g x[i,g] = 1 ∀ slice i    Σ_i x[i,g]·rate_i/tput_g ≤ n_g ∀ g    x binary, n integer

    A slice has no variable on a GPU that cannot serve its size (the peer gives it a throughput of 1e-6).
    """
    pulp = load_pulp()
    started = time.perf_counter()
    model = pulp.LpProblem("slices", pulp.LpMinimize)
    counts = [model.add_variable(f"n{g}", 0, x.limit, cat="Integer") for g, x in enumerate(problem.gpus)]
    model += pulp.lpSum(x.usd_per_hour * n for x, n in zip(problem.gpus, counts, strict=True))
    loads: list[list[Any]] = [[] for _ in problem.gpus]
    for b, (bucket, share) in enumerate(problem.shares.items()):
        rate = problem.req_per_s * share / slices
        served = [
            (g, x.capacity_req_per_s[bucket]) for g, x in enumerate(problem.gpus) if bucket in x.capacity_req_per_s
        ]
        for i in range(slices):
            chosen = {g: model.add_variable(f"x{b}_{i}_{g}", cat="Binary") for g, _ in served}
            model += pulp.lpSum(chosen.values()) == 1
            for g, capacity in served:
                loads[g].append(rate / capacity * chosen[g])
    for terms, n in zip(loads, counts, strict=True):
        model += pulp.lpSum(terms) <= n
    return _solve(pulp, model, started, limit_s)


def one_kind_cost(system: InfernoSystem, limit_s: float) -> Naive:
    """llm-inferno's formulation: every server on one kind of accelerator, as many replicas as it then needs.

    min Σ cost[s,a]·x[s,a]    Σ_a x[s,a] = 1 ∀ server s    Σ chips[s,a]·x[s,a] ≤ limit ∀ type    x binary
    """
    pulp = load_pulp()
    started = time.perf_counter()
    model = pulp.LpProblem("kinds", pulp.LpMinimize)
    chips = {a.name: a for a in system.accelerators}
    used: dict[str, list[Any]] = {a.type: [] for a in system.accelerators}
    costs = []
    for s, server in enumerate(system.servers):
        chosen: list[Any] = []
        for name, (units, capacity) in server.capacity.items():
            x = model.add_variable(f"x{s}_{len(chosen)}", cat="Binary")
            instances = units * math.ceil(server.req_per_s / capacity)
            costs.append(instances * chips[name].usd_per_hour * x)
            used[chips[name].type].append(instances * chips[name].multiplicity * x)
            chosen.append(x)
        model += pulp.lpSum(chosen) == 1
    model += pulp.lpSum(costs)
    for kind, terms in used.items():
        if system.limits is not None:
            model += pulp.lpSum(terms) <= system.limits.get(kind, 0)
    return _solve(pulp, model, started, limit_s)


def _solve(pulp: Any, model: Any, started: float, limit_s: float) -> Naive:
    with warnings.catch_warnings():
        # The CBC that comes with PuLP 3 is what "a plain MILP" means here; PuLP 4 will want another package for it.
        warnings.simplefilter("ignore", DeprecationWarning)
        model.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=limit_s, gapRel=0.0))
    seconds = time.perf_counter() - started
    status = str(pulp.LpStatus[model.status])
    value = pulp.value(model.objective) if status == "Optimal" else None
    return Naive(None if value is None else float(value), seconds, status)
