"""`planner predict` from the outside."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.predict.types import COLUMNS

POINT = (
    "--model", "Qwen/Qwen3-32B-FP8", "--accelerator", "h100", "--tensor-parallel", "2", "--precision", "fp8",
    "--input-tokens", "1024", "--output-tokens", "256",
)  # fmt: skip
ROW = "qwen3-32b,H100-SXM,,2,,,,fp8,,1024,256,16,online"
FIELDS = {
    "schema_version", "output_tok_per_s", "total_tok_per_s", "req_per_s", "ttft_ms", "tpot_ms", "provenance",
    "error_band",
}  # fmt: skip


def test_json_has_the_fields_of_the_contract(planner) -> None:
    ran = planner("predict", *POINT, "--concurrency", "16", "--format", "json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert set(found) >= FIELDS
    assert found["total_tok_per_s"] == pytest.approx(found["output_tok_per_s"] * 5, rel=1e-5)
    assert found["output_tok_per_s"] == pytest.approx(found["req_per_s"] * 256, rel=1e-5)
    assert found["error_band"][0] < 1 < found["error_band"][1]
    assert found["provenance"].startswith("analytic")


def test_a_point_and_its_row_agree(planner, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(",".join(COLUMNS) + "\n" + ROW + "\n", encoding="utf-8")
    one = json.loads(planner("predict", *POINT, "--concurrency", "16", "--format", "json").out)
    ran = planner("predict", "--csv", str(source))
    (row,) = csv.DictReader(io.StringIO(ran.out))
    for name in ("output_tok_per_s", "req_per_s", "ttft_ms", "tpot_ms"):
        assert float(row[name]) == pytest.approx(one[name], rel=1e-5)


def test_a_rate_and_a_batch_are_loads_too(planner) -> None:
    slow = json.loads(planner("predict", *POINT, "--rate", "0.5", "--format", "json").out)
    assert slow["req_per_s"] == 0.5
    batch = planner("predict", *POINT, "--batch", "8", "--format", "json")
    assert batch.code == 0
    table = planner("predict", *POINT, "--rate", "100000")
    assert "more than it takes" in table.out
    assert "TTFT             not known" in table.out


def test_a_table_goes_from_standard_input_to_a_file(planner, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    text = ",".join(COLUMNS) + f"\n{ROW}\n{ROW.replace('1024', 'x')}\n"
    done = subprocess.run(
        [sys.executable, "-m", "planner", "predict", "--csv", "-", "-o", str(target)],
        input=text.encode(), capture_output=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"1 of 2 rows could not be predicted" in done.stderr
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    assert [bool(r["error"]) for r in rows] == [False, True]


def test_a_broken_table_leaves_the_target_alone(planner, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("model,accelerator\nx,y\n", encoding="utf-8")
    target.write_text("before", encoding="utf-8")
    ran = planner("predict", "--csv", str(source), "-o", str(target))
    assert (ran.code, target.read_text(encoding="utf-8")) == (2, "before")
    assert "P103" in ran.err and f"{source}:1" in ran.err


def test_a_request_longer_than_the_cache_is_said(planner) -> None:
    """A 24 GB card with 8B in 16 bit has room for some ten thousand tokens."""
    place = ("--model", "llama-3.1-8b", "--accelerator", "L4", "--precision", "bf16", "--output-tokens", "100")
    short = planner("predict", *place, "--input-tokens", "1000", "--concurrency", "1")
    long = planner("predict", *place, "--input-tokens", "100000", "--concurrency", "1")
    assert (short.code, long.code) == (0, 0)
    assert "longer than the cache" in long.out.replace("\n", " ")
    assert "longer than the cache" not in short.out.replace("\n", " ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--model", "qwen3-32b"), "Missing --accelerator, --input-tokens, --output-tokens"),
        ((*POINT, "--csv", "x.csv"), "leave out --model"),
        ((*POINT, "--rate", "1", "--batch", "2"), "exclude each other"),
        ((*POINT[:1], "nothing", *POINT[2:]), "P105"),
        ((*POINT[:-1], "nan"), "output-tokens"),
        (("--csv", "no-such-file.csv"), "P101"),
        (("--csv", "no-such-file.csv", "--format", "json"), "leave out --format json"),
        ((*POINT, "--calibration", "no-such-file.yaml"), "B101"),
    ],
)
def test_wrong_use_is_refused(planner, args: tuple[str, ...], said: str) -> None:
    ran = planner("predict", *args)
    assert ran.code == 2
    assert said in ran.err and ran.out == ""


def test_silicon_without_the_package_is_said(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk.engine", None)
    ran = planner("predict", *POINT, "--concurrency", "4", "--silicon", "--format", "json")
    assert ran.code == 0
    assert "planner[silicon]" in ran.err
    assert json.loads(ran.out)["provenance"].startswith("analytic")
