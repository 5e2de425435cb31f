"""Speed of the way to an engine and back: `python -m benchmarks.solving`. Says nothing of the quality of plans.

Covering programmes of a known size (services × pools × slices, seed 0), one process, HiGHS, gap 0.1 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from planner.formulation.milp import Milp
from planner.solve.arrays import scale, to_arrays
from planner.solve.engine import SolverChild
from planner.solve.types import SolveOptions


def covering(services: int, pools: int, slices: int) -> Milp:
    """services × pools × slices integer columns, a demand row per service and slice, a quota row per pool and slice."""
    random = np.random.default_rng(0)
    price, capacity = random.uniform(1, 100, pools), random.uniform(0.3, 10, (services, pools))
    milp = Milp()
    for s in range(services):
        for p in range(pools):
            for t in range(slices):
                column = milp.add("replicas", (s, p, t), 0, 1000, True)
                milp.cost("on_demand", column, float(price[p] * random.uniform(0.9, 1.1)))
    for s in range(services):
        for t in range(slices):
            terms = [(s * pools * slices + p * slices + t, float(capacity[s, p])) for p in range(pools)]
            milp.row("serve_demand", (s, t), terms, lower=float(random.uniform(10, 100)))
    for p in range(pools):
        for t in range(slices):
            milp.row("quota", (p, t), [(s * pools * slices + p * slices + t, 1.0) for s in range(services)], upper=50.0)
    return milp


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def main() -> None:
    """Print one line per figure."""
    trivial, small, large = covering(1, 1, 1), covering(1, 250, 4), covering(10, 250, 24)
    options = SolveOptions(time_limit_s=20)
    with SolverChild() as child:
        print(f"start and first answer        {seconds(lambda: child.solve(trivial, options), 1):7.3f} s")
        print(f"again, 1 variable             {seconds(lambda: child.solve(trivial, options)):7.3f} s")
        print(f"again, 1,000 variables        {seconds(lambda: child.solve(small, options)):7.3f} s")
        nothing = SolveOptions(time_limit_s=1e-3)
        print(f"60,000 variables, no solving  {seconds(lambda: child.solve(large, nothing), 3):7.3f} s")
    arrays = to_arrays(large)
    print(f"60,000 variables to arrays    {seconds(lambda: to_arrays(large)):7.3f} s")
    print(f"scaling them                  {seconds(lambda: scale(large, arrays, 'highs')):7.3f} s")


if __name__ == "__main__":
    main()
