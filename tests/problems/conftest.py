"""One solver process and one desk for all whole runs of this folder."""

from collections.abc import Iterator

import pytest

from planner.solve.engine import SolverChild
from tests.problems.answers import Desk


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with SolverChild() as child:
        yield Desk(child, tmp_path_factory.mktemp("specs"))
