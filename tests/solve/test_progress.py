"""Claims about logs and solution files: what is read is true, what is not understood is left alone."""

from pathlib import Path

import pytest

from planner.solve.progress import read_last_solution, read_sign
from planner.solve.wire import Sign

HIGHS = " L     131      39        41   0.00%   -2091.918255    -2061.6            1.47%  906  10  787  4917  0.6s"
HIGHS_EARLY = " J       0       0         0   0.00%   -inf            -85                Large    0  0  0  0  0.0s"
SCIP = (
    "L 0.0s|     1 |     0 |   169 |     - |    rens|   0 |  60 |  10 |  21 |  11 | 11 |   0 |   0 "
    "|-2.092876e+03 |-2.063600e+03 |   1.42%| unknown"
)


def test_highs_line_gives_incumbent_and_a_bound_that_is_safe() -> None:
    sign = read_sign(HIGHS)
    assert sign is not None
    assert sign.incumbent == -2061.6
    assert sign.bound == pytest.approx(-2091.918255)
    assert sign.bound is not None
    assert sign.bound < -2091.918255


def test_first_incumbent_comes_without_a_bound() -> None:
    assert read_sign(HIGHS_EARLY) == Sign(-85.0, None)


def test_scip_line() -> None:
    sign = read_sign(SCIP)
    assert sign is not None
    assert sign.incumbent == -2063.6
    assert sign.bound is not None
    assert -2093.0 < sign.bound < -2092.876


@pytest.mark.parametrize(
    "line", ["", "Presolving model", "  Gap  1.45% (tolerance: 0.01%)", " time | node | left", "a|" * 17]
)
def test_other_lines_are_nothing(line: str) -> None:
    assert read_sign(line) is None


def test_last_complete_solution_counts(tmp_path: Path) -> None:
    path = tmp_path / "solutions"
    path.write_text("Objective 3\n# Columns 2\n 1\n 2\nObjective 2\n# Columns 2\nname 0.5\n 7\n")
    assert read_last_solution(path, 2) == [0.5, 7.0]
    # The last line is cut off: nobody knows whether 7 was to be 75.
    path.write_text("Objective 3\n# Columns 2\n 1\n 2\nObjective 2\n# Columns 2\n 0.5\n 7")
    assert read_last_solution(path, 2) == [1.0, 2.0]
    path.write_text("Objective 3\n# Columns 2\n 1\n")
    assert read_last_solution(path, 2) is None
    path.write_text("Objective 3\n# Columns 1\nnan\n")
    assert read_last_solution(path, 1) is None
    assert read_last_solution(tmp_path / "absent", 1) is None
