"""Small programmes for the tests of the room."""

import numpy as np

from planner.formulation.milp import Milp


def hard_knapsack(items: int, dimensions: int) -> Milp:
    """Correlated weights and values: plenty of solutions at once, a proof much later."""
    random = np.random.default_rng(7)
    weight = random.integers(10, 100, (dimensions, items)).astype(float)
    value = weight.mean(axis=0) + random.integers(0, 20, items)
    milp = Milp()
    for j in range(items):
        milp.cost("value", milp.add("take", (j,), 0, 1, True), -float(value[j]))
    for i in range(dimensions):
        milp.row("weight", (i,), [(j, float(weight[i, j])) for j in range(items)], upper=float(weight[i].sum() // 2))
    return milp
