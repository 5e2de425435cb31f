"""One solver process for the room's tests."""

from collections.abc import Iterator

import pytest

from planner.solve.engine import SolverChild


@pytest.fixture(scope="session")
def child() -> Iterator[SolverChild]:
    with SolverChild() as running:
        yield running
