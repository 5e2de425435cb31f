"""Growth, steps, and the files that traffic may name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.errors import Fault
from planner.spec.types import Growth, Spec

Faults = Callable[[str], list[Fault]]
HEAD = "schema_version: 1\nname: review\n"
LENGTHS = "input_tokens: 100, output_tokens: 10"


def spec_text(traffic: str, rest: str = "") -> str:
    return f"{HEAD}{rest}workloads:\n  - name: chat\n    model: llama-70b\n    traffic: {traffic}\n"


def test_growth_is_a_number_or_three(load: Callable[[str], Spec]) -> None:
    one = load(spec_text(f"{{mean_req_per_s: 1, {LENGTHS}, growth_per_quarter: 10%}}")).workloads[0].traffic
    assert (one.growth, one.token_growth) == (0.1, 0.0)
    three = f"{{mean_req_per_s: 1, {LENGTHS}, growth_per_quarter: {{low: 3%, mid: 10%, high: 0.22}}}}"
    found = load(spec_text(three)).workloads[0].traffic
    assert found.growth_per_quarter == Growth(low=0.03, mid=0.1, high=0.22)
    assert found.growth == 0.1


@pytest.mark.parametrize(
    ("traffic", "rest", "code", "words"),
    [
        ("growth_per_quarter: -100%", "", "S204", "greater than -1"),
        ("growth_per_quarter: {low: 0, mid: 0.1}", "", "S205", "needs high"),
        ("growth_per_quarter: 1%, quarter_factors: [1]", "", "S206", "how the rate changes"),
        ("quarter_factors: [1, 2]", "", "S208", "2 values for 1 quarters"),
        ("quarter_factors: [0, 0.0]", "horizon: {quarters: 2}\n", "S211", "nothing to plan"),
        ("profile_column: a", "", "S208", "without a CSV"),
        ("profile: none.csv", "", "S215", "cannot be read: no such file"),
        ("", "horizon: {quarters: 9}\n", "S204", "at most 8"),
        ("", "horizon: {slices_per_quarter: 200}\n", "S204", "at most 168"),
        ("", "fleet: {commitments: [{offer: a/b/c/reserved_1y, instances: 1}]}\n", "S205", "needs ends"),
    ],
)
def test_time_that_makes_no_sense_is_refused(faults: Faults, traffic: str, rest: str, code: str, words: str) -> None:
    found = faults(spec_text(f"{{mean_req_per_s: 1, {LENGTHS}, {traffic}}}", rest))
    assert [f.code for f in found] == [code]
    assert words in found[0].message
    assert found[0].line


def test_files_are_found_beside_the_workload_file(load: Callable[[str], Spec], tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("a,b\n" + "1,2\n" * 12 + "3,4\n" * 12, encoding="utf-8")
    text = spec_text(f"{{mean_req_per_s: 1, {LENGTHS}, profile: day.csv, profile_column: b}}")
    assert load(text).workloads[0].traffic.profile == (2.0,) * 12 + (4.0,) * 12
    rows = [f"{30 * k},{100 + k % 7},10" for k in range(200)]
    (tmp_path / "t.csv").write_text("time,input_tokens,output_tokens\n" + "\n".join(rows), encoding="utf-8")
    trace = load(spec_text("{trace: t.csv}")).workloads[0].traffic.trace
    assert trace is not None
    assert (trace.requests, trace.file) == (200, "t.csv")


def test_a_trace_says_how_much_when_and_how_long(faults: Faults, tmp_path: Path) -> None:
    rows = [str(600 * k) for k in range(400)]  # two days and more
    (tmp_path / "t.csv").write_text("time\n" + "\n".join(rows), encoding="utf-8")
    assert [f.code for f in faults(spec_text("{trace: t.csv}"))] == ["S205", "S205"]
    assert [f.code for f in faults(spec_text(f"{{trace: t.csv, {LENGTHS}, profile: office-hours}}"))] == ["S206"]
    assert [f.code for f in faults(spec_text(f"{{trace: t.csv, {LENGTHS}, mean_req_per_s: 1}}"))] == ["S206"]
    assert faults(spec_text(f"{{trace: t.csv, {LENGTHS}}}")) == []
    found = faults(spec_text("{trace: none.csv}"))
    assert [f.code for f in found] == ["S215"]
    assert found[0].help is not None
    assert "relative to the workload file" in found[0].help
