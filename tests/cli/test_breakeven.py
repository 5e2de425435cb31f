"""`planner breakeven`."""

import json
from pathlib import Path

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"


def test_curve_as_json_on_standard_output(planner) -> None:
    ran = planner("breakeven", str(PROBLEMS / "scenarios" / "s05-startup.yaml"), "--points", "3", "--format", "json")
    assert ran.code == 0, ran.err
    curve = json.loads(ran.out)
    assert curve["name"] == "scenario-5-startup"
    assert len(curve["points"]) == 3
    assert curve["crossover"]["machines"] == "1 × cloud/us-1/l4-x1/on_demand"


def test_nothing_priced_in_time_exits_4(planner) -> None:
    ran = planner("breakeven", str(PROBLEMS / "scenarios" / "s05-startup.yaml"), "--time-limit", "0.001")
    assert ran.code == 4
    assert "not found in time" in ran.out
    assert "nothing to compare" not in ran.out and "cannot" not in ran.out
