"""First prices: the linear relaxation over items, grown from those that look cheap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planner.solve.arrays import sparse
from planner.solve.crew import Crew
from planner.solve.master import Master
from planner.solve.pricing import Prices
from planner.solve.types import Solved, SolveOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def first_prices(master: Master, crew: Crew, engine: str, seconds: float) -> Prices | None:
    """Duals of the linear programme in which replicas and instances may be fractions; None where time ran out.

    A replica counts at most what is asked for, which changes no whole cover and tightens the relaxation. Rules about
    spares and losses of places are left out: their rows would be most of the programme, and these prices are a start.
    """
    import numpy as np

    fleet, pricing, t_count = master.fleet, master.pricing, master.fleet.slices
    quota_rows = len(fleet.quotas) * t_count
    next_row = master.cells.size + quota_rows
    rows, columns, values = (list(x) for x in zip(master._options, strict=True))
    cost = [fleet.option_cost[master.bought], master.penalties()]
    upper = [fleet.option_limit[master.bought], np.full(quota_rows, math.inf)]
    lower_rows: list[float] = []
    next_column = master.bought.size + quota_rows

    for block in pricing.blocks:
        service = fleet.services[block.service]
        kinds = pricing.kinds[block.service]
        demand = float(block.rates[-1])
        kind_of_item = np.repeat(np.arange(kinds.first.size), np.diff(kinds.offset))
        # Every (member of a kind, slice of the block).
        member = np.concatenate([np.arange(kinds.offset[k], kinds.offset[k + 1]) for k in block.kinds])
        slices = np.repeat(block.slices, np.diff(kinds.offset)[block.kinds])
        capacity = np.repeat(block.capacity, np.diff(kinds.offset)[block.kinds])
        firm = np.repeat(block.firm, np.diff(kinds.offset)[block.kinds])
        del kind_of_item
        market, item = kinds.market[member], kinds.item[member]
        ok = capacity > 0
        market, item, slices, capacity, firm = market[ok], item[ok], slices[ok], capacity[ok], firm[ok]
        number = next_column + np.arange(market.size)
        size = service.size[item].astype(float)
        tied = fleet.tied[market]
        cells = master.row_of_cell[market * t_count + slices]
        rows.append(cells[tied])
        columns.append(number[tied])
        values.append(-size[tied])
        cost.append(np.where(tied, 0.0, size * np.where(tied, 0.0, fleet.hourly[market, slices])))
        upper.append(np.full(market.size, math.inf))
        share = np.minimum(capacity / demand, 1.0)
        needs = [(share, 1.0)]
        if service.volume is None and service.spot_share < 1:
            needs.append((np.where(firm, np.minimum(share, 1 - service.spot_share), 0.0), 1 - service.spot_share))
        next_column += market.size
        api = service.api_cost is not None and service.volume is None
        if api:
            cost.append(np.asarray([float((block.api * block.rates).sum())]))
            upper.append(np.ones(1))
        for weights, needed in needs:
            some = weights > 0
            rows.append(np.full(int(some.sum()), next_row))
            columns.append(number[some])
            values.append(weights[some])
            if api:
                rows.append(np.array([next_row]))
                columns.append(np.array([next_column]))
                values.append(np.ones(1))
            lower_rows.append(needed)
            next_row += 1
        next_column += int(api)
    limits = -np.asarray([q.limit for q in fleet.quotas], np.float64).ravel()
    low = np.concatenate([np.zeros(master.cells.size), limits, np.asarray(lower_rows)])
    objective = np.concatenate(cost)
    programme = sparse(
        objective, (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)), low,
        np.full(low.size, math.inf), np.zeros(objective.size), np.concatenate(upper), np.zeros(objective.size, bool),
    )  # fmt: skip
    answer = crew.solve(programme, SolveOptions(engine=engine, time_limit_s=max(seconds, 0.1)))
    if not isinstance(answer, Solved) or answer.duals is None:
        return None
    duals = np.maximum(np.asarray(answer.duals), 0.0)
    found = np.where(np.isfinite(fleet.hourly), fleet.hourly, 0.0).ravel()
    found[master.cells] = duals[: master.cells.size]
    return Prices(
        found.reshape(fleet.markets, t_count),
        duals[master.cells.size : master.cells.size + quota_rows].reshape(len(fleet.quotas), t_count),
    )
