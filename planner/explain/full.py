"""`--explain full`: what needs re-solves, within the time that solving and ranking left (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.catalog.catalog import Catalog
from planner.errors import Interrupted
from planner.explain.flips import find_flips, inputs_of
from planner.explain.parallel import Workers
from planner.explain.robustness import Contender, robustness
from planner.explain.rule_prices import Answered, rule_prices, sorted_prices
from planner.explain.tornado import sensitivities
from planner.explain.types import Explanation
from planner.explain.whatif import Clock, Solution
from planner.solve.engine import SolverChild
from planner.spec.types import Spec

PRICES_SHARE, FLIPS_SHARE, TORNADO_SHARE = 0.4, 0.6, 0.8
"""Shares of the time that is left for the prices of rules, then for flips, then for the tornado; what one does not use
goes to the rest."""


def explain_deeply(
    told: Explanation, spec: Spec, catalog: Catalog, answered: Answered, child: SolverChild, limit_s: float,
    best: Solution, contenders: Sequence[Contender], engine: str = "highs", seed: int = 0,
) -> tuple[Explanation, bool, bool]:  # fmt: skip
    """The first plan's explanation with robustness and what needs re-solves: prices of rules, flips, tornado.

    After Ctrl-C what is finished is kept. The second value says whether a clock, or Ctrl-C, decided something, the
    third whether it was Ctrl-C.
    """
    told = told.model_copy(update={"robustness": robustness(spec, best.problem, contenders, seed)})
    with Workers(catalog, child, Clock(limit_s), engine, seed) as workers:
        try:
            prices = sorted_prices(rule_prices(spec, answered, workers, PRICES_SHARE))
            told = told.model_copy(update={"rule_prices": prices})
            inputs = inputs_of(best)
            flips = find_flips(spec, best, inputs, workers, FLIPS_SHARE)
            told = told.model_copy(update={"flips": (*told.flips, *flips)})
            bars = sensitivities(spec, best, inputs, workers, TORNADO_SHARE)
            told = told.model_copy(update={"tornado": bars})
        except (Interrupted, KeyboardInterrupt):
            return told, True, True
        return told, workers.cut, False
