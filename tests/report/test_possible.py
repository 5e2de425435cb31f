"""What was asked for and what was possible, beside the plans."""

import pytest

from planner.report.possible import asked, mix_capacity, possible
from planner.units import SECONDS_PER_HOUR
from tests.report import sample


def test_possible_rows_carry_the_prices_of_the_candidates() -> None:
    problem = sample.problem()
    rows = possible(problem, problem.candidates)
    pool = problem.pools[0]
    machines = [r for r in rows if r.config is not None]
    assert len(machines) == sum(len([o for o in c.options if pool.price(o)]) for c in problem.candidates)
    for row in machines:
        (candidate,) = [c for c in problem.candidates if c.capability.config.id == row.config]
        (price,) = [p for p in pool.prices if p.offer == row.offer]
        each = price.usd_per_hour / pool.accelerators
        capacity = mix_capacity(candidate.capability, problem.demand.services[0])
        assert capacity is not None
        assert row.usd_per_accelerator_hour == pytest.approx(each)
        assert row.usd_per_replica_hour == pytest.approx(each * candidate.capability.config.accelerators)
        hourly = row.usd_per_replica_hour or 0.0
        assert row.usd_per_1000_requests == pytest.approx(1000 * hourly / (capacity * SECONDS_PER_HOUR))
    (api,) = [r for r in rows if r.config is None]
    assert api.offer == sample.API
    assert api.usd_per_1000_requests == pytest.approx(2.0)


def test_asked_has_the_defaults_filled_in() -> None:
    (row,) = asked(sample.demand().services, sample.catalog())
    service = sample.service()
    assert row.models == service.models
    assert row.precisions
    assert row.engines
    assert row.purchase_options == tuple(o.value for o in service.options)
