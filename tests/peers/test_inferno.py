"""llm-inferno's systems: its queue's capacities, its limits, faults, and the optimum of its sample."""

import json
import shutil
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.peers.inferno import read_inferno
from planner.peers.inferno_spec import inferno_spec
from tests.peers.solving import solve

USD_PER_MONTH = 7.30
"""Of one cent per hour."""
PARTS = {
    "accelerator-data.json": {
        "accelerators": [
            {"name": "solo", "type": "chip", "multiplicity": 1, "memSize": 80, "memBW": 2000, "cost": 100},
            {"name": "pair", "type": "chip", "multiplicity": 2, "memSize": 160, "memBW": 4000, "cost": 150},
        ]
    },
    "model-data.json": {
        "models": [
            {"name": "m", "acc": "solo", "accCount": 3, "maxBatchSize": 1, "atTokens": 100,
             "perfParms": {"alpha": 10, "beta": 0, "gamma": 0}},
            {"name": "m", "acc": "pair", "accCount": 1, "maxBatchSize": 1, "atTokens": 100,
             "perfParms": {"alpha": 10, "beta": 0, "gamma": 0}},
        ]
    },
    "serviceclass-data.json": {"serviceClasses": [{"name": "gold", "modelTargets": [{"model": "m"}]}]},
    "server-data.json": {
        "servers": [
            {"name": "one", "class": "gold", "model": "m",
             "currentAlloc": {"load": {"arrivalRate": 60, "AvgInTokens": 0, "AvgOutTokens": 99}}},
        ]
    },
    "capacity-data.json": {"count": [{"type": "chip", "count": 7}]},
}  # fmt: skip
"""Requests of 100 iterations of 10 ms, one at a time: μ = 1 req/s, capacity 0.999/1.999 req/s where all that arrive
at 0.999 are counted. 1 req/s needs 3 replicas: of one pair each (150 cents) or of three solos (300)."""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    for name, data in PARTS.items():
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    return tmp_path


def put(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def cents(folder: Path, child) -> float | None:
    (folder / "out").mkdir(exist_ok=True)
    result = solve(inferno_spec(read_inferno(str(folder)), "test", "system"), folder / "out", child)
    return result.plans[0].cost.total_usd_per_month / USD_PER_MONTH if result.plans else None


def test_the_queue_says_what_a_replica_takes(system: Path) -> None:
    server = read_inferno(str(system)).servers[0]
    assert server.capacity["pair"] == (1, pytest.approx(0.999 / 1.999))
    assert server.capacity["solo"] == (3, pytest.approx(0.999 / 1.999))


def test_three_pairs_serve_it(system: Path, child) -> None:
    assert cents(system, child) == pytest.approx(3 * 150)


def test_chips_of_a_type_are_shared_by_its_accelerators(system: Path, child) -> None:
    put(system, "accelerator-data.json", '"cost": 100', '"cost": 40')
    assert cents(system, child) == pytest.approx(1 * 120 + 2 * 150)  # 3 + 2·2 = 7 chips; three solos of 3 need 9


def test_too_few_chips_are_proven_too_few(system: Path, child) -> None:
    put(system, "capacity-data.json", "7", "5")
    assert cents(system, child) is None


def test_without_a_capacity_file_or_with_unlimited_there_is_no_limit(system: Path, child) -> None:
    put(system, "accelerator-data.json", '"cost": 100', '"cost": 40')
    (system / "optimizer-data.json").write_text('{"optimizer": {"unlimited": true}}', encoding="utf-8")
    assert read_inferno(str(system)).limits is None
    (system / "optimizer-data.json").unlink()
    (system / "capacity-data.json").unlink()
    assert cents(system, child) == pytest.approx(3 * 120)


def test_a_promise_that_no_rate_keeps_leaves_no_capacity(system: Path) -> None:
    put(system, "serviceclass-data.json", '{"model": "m"}', '{"model": "m", "slo-itl": 9}')
    assert read_inferno(str(system)).servers[0].capacity == {}


def test_one_file_for_the_whole_system_says_the_same(system: Path, tmp_path_factory) -> None:
    parts = {
        "accelerator-data.json": "acceleratorData", "model-data.json": "modelData", "server-data.json": "serverData",
        "serviceclass-data.json": "serviceClassData", "capacity-data.json": "capacityData",
    }  # fmt: skip
    whole = tmp_path_factory.mktemp("whole")
    text = json.dumps({"system": {part: PARTS[name] for name, part in parts.items()}})
    (whole / "system-data.json").write_text(text, encoding="utf-8")
    assert read_inferno(str(whole)) == read_inferno(str(system))


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("server-data.json", '"model": "m"', '"model": "other"', ["I108", "I108"]),
        ("server-data.json", '"class": "gold"', '"class": "lead"', ["I108"]),
        ("server-data.json", "60", "0", ["I107"]),
        ("server-data.json", '"AvgOutTokens": 99', '"AvgOutTokens": 0', ["I104"]),
        ("model-data.json", '"acc": "pair"', '"acc": "trio"', ["I108"]),
        ("model-data.json", '"maxBatchSize": 1', '"maxBatchSize": 1e9', ["I104", "I104"]),
        ("model-data.json", '"alpha": 10', '"alpha": 0', ["I104"] * 2),
        ("accelerator-data.json", "150", "0", ["I104"]),
        ("accelerator-data.json", '"pair"', '"solo"', ["I108"]),
        ("accelerator-data.json", '"accelerators": [', '"accelerators": [3, ', ["I103"]),
        ("capacity-data.json", "7", "-7", ["I104"]),
        ("server-data.json", "{", "", ["I102"]),
    ],
)
def test_a_wrong_system_is_refused_with_every_fault(
    system: Path, name: str, old: str, new: str, expected: list[str]
) -> None:
    put(system, name, old, new)
    with pytest.raises(InputError) as caught:
        read_inferno(str(system))
    assert [f.code for f in caught.value.faults] == expected


def test_an_empty_folder_and_no_folder_are_refused(tmp_path: Path) -> None:
    for folder, count in ((tmp_path, 4), (tmp_path / "no", 1)):
        with pytest.raises(InputError) as caught:
            read_inferno(str(folder))
        assert [f.code for f in caught.value.faults] == ["I101"] * count


@pytest.mark.shared
def test_the_queue_gives_the_peers_own_candidates(shared_data: Path) -> None:
    folder = shared_data / "peers" / "inferno"
    theirs = json.loads((folder / "candidates-small.json").read_text(encoding="utf-8"))["candidates"]
    ours = {(s.name, a): x for s in read_inferno(str(folder / "small")).servers for a, x in s.capacity.items()}
    assert len(theirs) == 55
    for c in theirs:
        _, rate = ours[c["Server"], c["Acc"]]
        assert rate * 60 == pytest.approx(c["MaxRPM"], rel=1e-4)  # theirs are 32-bit numbers


@pytest.mark.shared
def test_the_sample_costs_its_mixed_optimum(shared_data: Path, tmp_path: Path, child) -> None:
    shutil.copytree(shared_data / "peers" / "inferno" / "small", tmp_path / "small")
    assert cents(tmp_path / "small", child) == pytest.approx(22343.5, rel=1e-5)
