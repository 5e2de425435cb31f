"""Configurations that others cover leave, but not where they are counted and are needed elsewhere."""

from __future__ import annotations

import pytest

from planner.candidates.prune import prune_configs
from tests import builders as b
from tests.formulation.small import capability

ONE, TWO = capability(1, (1.0,)), capability(2, (1.0,))
"""Two of ONE serve twice what TWO serves."""


@pytest.mark.parametrize(
    ("hosts", "kept"),
    [
        (None, [ONE]),
        ({ONE.config: {"near", "far"}, TWO.config: {"near", "far"}}, [ONE]),
        # Far away ONE is too slow: who may run one configuration everywhere needs TWO here as well.
        ({ONE.config: {"near"}, TWO.config: {"near", "far"}}, [ONE, TWO]),
    ],
)
def test_a_covered_configuration_leaves_where_its_winner_runs_wherever_it_does(hosts, kept) -> None:
    for given in ([ONE, TWO], [TWO, ONE]):
        found, refused = prune_configs(given, b.make_catalog(), hosts)
        assert found == kept
        assert [r.what for r in refused] == [] if TWO in kept else [TWO.config.id]
