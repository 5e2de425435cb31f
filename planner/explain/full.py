"""`--explain full`: what needs re-solves, within the time that solving and ranking left (DESIGN §7)."""

from __future__ import annotations

from planner.catalog.catalog import Catalog
from planner.errors import Interrupted
from planner.explain.parallel import Workers
from planner.explain.rule_prices import Answered, rule_prices, sorted_prices
from planner.explain.types import Explanation
from planner.explain.whatif import Clock
from planner.solve.engine import SolverChild
from planner.spec.types import Spec

PRICES_SHARE = 0.5
"""Share of the time for the prices of rules; what it does not use goes to the rest."""


def explain_deeply(
    told: Explanation, spec: Spec, catalog: Catalog, answered: Answered, child: SolverChild, limit_s: float,
    engine: str = "highs", seed: int = 0,
) -> Explanation:  # fmt: skip
    """The first plan's explanation with the prices of rules.

    After Ctrl-C what is finished is kept.
    """
    with Workers(catalog, child, Clock(limit_s), engine, seed) as workers:
        try:
            prices = sorted_prices(rule_prices(spec, answered, workers, PRICES_SHARE))
            told = told.model_copy(update={"rule_prices": prices})
        except Interrupted:
            pass
    return told
