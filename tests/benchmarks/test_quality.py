"""The comparison with peers: their formulations cost what can be said by hand, and a row is printed for both sides."""

import sys
from pathlib import Path

import pytest

from benchmarks import naive
from benchmarks.quality import Line, Ours, compare, row
from planner.peers.melange import MelangeGpu, MelangeProblem, melange_spec
from planner.solve.engine import SolverChild

PROBLEM = MelangeProblem(
    gpus=(
        MelangeGpu("small", 1.0, {(0, 0): 1.0}, None),
        MelangeGpu("big", 3.0, {(0, 0): 4.0, (0, 1): 2.0}, None),
    ),
    shares={(0, 0): 2 / 3, (0, 1): 1 / 3},
    req_per_s=4.5,
)
"""Split freely it costs 5 USD/h; with whole sizes on one GPU type 6."""


def test_missing_pulp_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pulp", None)
    with pytest.raises(SystemExit, match=r"planner\[bench\]"):
        naive.load_pulp()


@pytest.mark.parametrize(("slices", "usd_per_hour"), [(1, 6.0), (3, 5.0)])
def test_slices_cost_what_they_can(slices: int, usd_per_hour: float) -> None:
    pytest.importorskip("pulp")
    assert naive.slices_cost(PROBLEM, slices, 10.0).usd_per_hour == pytest.approx(usd_per_hour)


def test_both_sides_are_measured(tmp_path: Path) -> None:
    with SolverChild() as child:
        text = melange_spec(PROBLEM, "test", "test")
        line = compare("test", 5.0, text, lambda: naive.Naive(6.0, 0.5, "Optimal"), child, 1)
    assert line.ours.usd_per_hour == pytest.approx(5.0)
    assert 0 < line.ours.solve_s < line.ours.whole_s + 5
    assert row(line).startswith("| test | 5 | 5 | 0 % | 6 | ")


def test_a_row_without_a_plan_says_why() -> None:
    ours = Ours(None, 0.0, "infeasible", 0.1, 0.2)
    text = row(Line("test", None, ours, naive.Naive(None, 0.1, "Infeasible")))
    assert text == "| test | – | infeasible |  | infeasible | 0.100 | 0.200 | 0.100 | 1.00 | 2.00 |"
