"""Mélange problems: read whole or refused with every fault, solved at their exact optimum."""

import csv
import json
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.peers.melange import NO_CAPACITY_REQ_PER_S, bucket_name, melange_spec, read_melange
from planner.units import HOURS_PER_MONTH
from tests.peers.solving import solve

SPLIT = {
    "gpu_info": {"small": {"cost": 1.0, "tputs": [[1.0, 0]]}, "BIG": {"cost": 3.0, "tputs": [[4.0, 2.0]]}},
    "workload_distribution": [[2 / 3, 1 / 3]],
    "total_request_rate": 4.5,
}
"""3 req/s of the first size and 1.5 of the second: one BIG takes all of the second in 75 % of its time and 1 req/s of
the first in the rest, two small ones the other 2: 5 USD/h. A size that is not split costs 6 (2 BIG, or 3 + 1)."""
NAMES = [
    "P01-toy-30rps", "P03-toy-301rps", "P04-aibrix-shipped-conv-10rps", "P07-aibrix-e2e10s-conv-25rps",
    "P09-pilot7b-tpot40-5rps", "P10-pilot7b-tpot40-150rps", "P13-split70b-tpot60-conv-20rps",
    "P14-split70b-tpot60-code-15rps", "P16-split70b-9types-tpot60-conv-200rps", "P20-pilot7b-tpot60-40rps",
    "P22-aibrix-e2e20s-mix-60rps",
]  # fmt: skip


def problem_file(folder: Path, problem: object) -> str:
    path = folder / "problem.json"
    path.write_text(problem if isinstance(problem, str) else json.dumps(problem), encoding="utf-8")
    return str(path)


def spec_of(folder: Path, problem: object) -> str:
    return melange_spec(read_melange(problem_file(folder, problem)), "test", "problem.json")


def codes(folder: Path, problem: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_melange(problem_file(folder, problem))
    return [f.code for f in caught.value.faults]


def changed(**fields: object) -> dict[str, object]:
    return {**SPLIT, **fields}


def test_a_size_is_split_over_two_kinds_where_that_is_cheaper(tmp_path: Path, child) -> None:
    result = solve(spec_of(tmp_path, SPLIT), tmp_path, child)
    plan = result.plans[0]
    assert plan.cost.total_usd_per_month == pytest.approx(5.0 * HOURS_PER_MONTH)
    assert plan.gap == 0
    assert {p.instance_type: max(p.instances_by_slice.values()) for p in plan.purchases} == {"small": 2, "BIG": 1}


def test_a_limit_on_a_gpu_is_kept(tmp_path: Path, child) -> None:
    limited = {**SPLIT["gpu_info"], "small": {"cost": 1.0, "limit": 1, "tputs": [[1.0, 0]]}}
    result = solve(spec_of(tmp_path, changed(gpu_info=limited)), tmp_path, child)
    assert result.plans[0].cost.total_usd_per_month == pytest.approx(6.0 * HOURS_PER_MONTH)


@pytest.mark.parametrize("nothing", [0, None, 1e-6])
def test_a_size_that_no_gpu_serves_is_named(tmp_path: Path, child, nothing: float | None) -> None:
    useless = {"small": {"cost": 1.0, "tputs": [[1.0, nothing]]}}
    result = solve(spec_of(tmp_path, changed(gpu_info=useless)), tmp_path, child)
    assert result.status == "infeasible"
    assert result.infeasibility is not None
    assert [c.keys[-1] for c in result.infeasibility.conflicts] == ["requests/row1-column2"]


def test_sizes_without_requests_and_capacities_that_are_none_have_no_row(tmp_path: Path) -> None:
    slow = {"cost": 1.0, "tputs": [[1.0, NO_CAPACITY_REQ_PER_S / 2]]}
    problem = read_melange(problem_file(tmp_path, changed(gpu_info={"slow": slow}, workload_distribution=[[0, 1]])))
    assert problem.shares == {(0, 1): 1.0}
    assert problem.gpus[0].capacity_req_per_s == {}
    assert bucket_name((0, 1)) == "row1-column2"


def test_any_names_become_names_of_a_spec(tmp_path: Path, child) -> None:
    gpu = {"cost": 2.0, "tputs": [[5.0, 5.0]]}
    odd = {"a/b": gpu, "A b": gpu, "no": gpu, "H100-SXM": gpu, "": gpu, "1e3": gpu, "é: {x}\n# y": gpu}
    result = solve(spec_of(tmp_path, changed(gpu_info=odd)), tmp_path, child)
    assert result.plans[0].cost.total_usd_per_month == pytest.approx(2.0 * HOURS_PER_MONTH)


def test_a_rounded_distribution_keeps_every_rate(tmp_path: Path) -> None:
    problem = read_melange(problem_file(tmp_path, changed(workload_distribution=[[0.6667, 0.3334]])))
    assert sum(problem.shares.values()) == pytest.approx(1.0, abs=1e-15)
    assert problem.req_per_s * problem.shares[0, 0] == pytest.approx(4.5 * 0.6667, rel=1e-12)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("", ["I102"]),
        ("   \n", ["I102"]),
        ('{"gpu_info": {"small": {"cost": 1.0, "tp', ["I102"]),
        ('{"gpu_info": NaN}', ["I102"]),
        ('{"total_request_rate": 1, "total_request_rate": 2}', ["I102"]),
        ("[" * 100_000, ["I102"]),
        ("[]", ["I103"]),
        ({}, ["I103"] * 3),
        (changed(total_request_rate="fast"), ["I103"]),
        (changed(total_request_rate=0), ["I104"]),
        (changed(total_request_rate=10**400), ["I104"]),
        (changed(gpu_info={}), ["I107"]),
        (changed(gpu_info={"small": {}}), ["I103", "I103"]),
        (changed(gpu_info={"small": {"cost": -1, "tputs": [[1.0, 1.0]]}}), ["I104"]),
        (changed(gpu_info={"small": {"cost": 1, "tputs": [[1.0]]}}), ["I105"]),
        (changed(gpu_info={"small": {"cost": 1, "tputs": [[1.0, -2.0]]}}), ["I104"]),
        (changed(gpu_info={"small": {"cost": 1, "limit": 1.5, "tputs": [[1.0, 2.0]]}}), ["I104"]),
        (changed(workload_distribution=[[1.0], [0.0, 0.0]]), ["I105", "I105", "I105"]),
        (changed(workload_distribution=[]), ["I103"]),
        (changed(workload_distribution=[[0.5, 0.4]]), ["I106"]),
        (changed(workload_distribution=[[0, 0]]), ["I106"]),
    ],
)
def test_a_wrong_file_is_refused_with_every_fault(tmp_path: Path, problem: object, expected: list[str]) -> None:
    assert codes(tmp_path, problem) == expected


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_melange(str(tmp_path / "nothing.json"))
    assert [f.code for f in caught.value.faults] == ["I101"]


@pytest.mark.shared
@pytest.mark.parametrize("name", NAMES)
def test_handed_problem_costs_its_exact_optimum(name: str, shared_data: Path, tmp_path: Path, child) -> None:
    folder = shared_data / "peers" / "melange"
    with (folder / "results.csv").open(encoding="utf-8") as file:
        exact = {row["problem"]: row["exact_usd_per_h"] for row in csv.DictReader(file)}[name]
    text = melange_spec(read_melange(str(folder / f"{name}.json")), name, f"{name}.json")
    plan = solve(text, tmp_path, child).plans[0]
    assert plan.cost.total_usd_per_month == pytest.approx(float(exact) * HOURS_PER_MONTH, rel=1e-5)
    assert plan.gap <= 1e-9
    assert plan.verified


@pytest.mark.shared
def test_handed_problem_without_an_answer_names_its_sizes(shared_data: Path, tmp_path: Path, child) -> None:
    name = "P17-unservable-aibrix-e2e2s-code-40rps"
    problem = read_melange(str(shared_data / "peers" / "melange" / f"{name}.json"))
    result = solve(melange_spec(problem, name, name), tmp_path, child)
    unserved = {bucket_name(b) for b in problem.shares if not any(b in g.capacity_req_per_s for g in problem.gpus)}
    assert unserved
    assert result.status == "infeasible"
    assert result.infeasibility is not None
    assert {c.keys[-1].split("/")[-1] for c in result.infeasibility.conflicts} == unserved
