"""`planner calibrate`, and the files that it writes and reads in `predict` and `solve`."""

import json
from pathlib import Path

import pytest

from tests.predict.formats.test_formats import VLLM

SPEC = (Path(__file__).parent / "one_h100.yaml").read_text(encoding="utf-8").replace(", api]", "]")
POINT = {
    **VLLM, "model_id": "meta-llama/Llama-3.1-8B-Instruct", "total_input_tokens": 2000 * 640,
    "total_output_tokens": 200 * 640, "median_ttft_ms": 300.0,
}  # fmt: skip
STATED = ("--accelerator", "H100-SXM", "--tensor-parallel", "1", "--precision", "fp8")
ROW = "model,accelerator,tensor_parallel,precision,class,prefill_tok_per_s,decode_tok_per_s,capacity_req_per_s,idle_iteration_ms,work_s_per_request"  # noqa: E501
LOADS = ((32, 0.7), (64, 1.0))
"""Requests in flight, and the time per output token as a share of that at full load."""
SUBJECT = "llama-3.1-8b,H100-SXM,1,fp8"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return points(tmp_path / "bench.json", 40.0)


def points(file: Path, tpot_ms: float) -> Path:
    texts = (json.dumps({**POINT, "max_concurrency": c, "median_tpot_ms": tpot_ms * share}) for c, share in LOADS)
    file.write_text("\n".join(texts), encoding="utf-8")
    return file


def with_measured(tmp_path: Path, *rows: str) -> str:
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC + "measured:\n" + "".join(f"  - {r}\n" for r in rows), encoding="utf-8")
    return str(file)


def solved(planner, spec: str) -> dict[str, object]:
    ran = planner("solve", spec, "--format", "json", "--top", "1", "--explain", "none")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def deployed(result: dict) -> dict:
    return result["plans"][0]["deployments"][0]["predicted"]


def test_a_calibration_is_written_and_corrects_predictions(planner, tmp_path: Path, bench: Path) -> None:
    for name in ("c.yaml", "c.json"):
        target = tmp_path / name
        ran = planner("calibrate", str(bench), *STATED, "-o", str(target))
        assert ran.code == 0 and ran.out == ""
        assert "2 points: time per output token" in ran.err
        point = ("--model", "llama-3.1-8b", "--input-tokens", "2000", "--output-tokens", "200", "--concurrency", "64")
        answer = planner("predict", *point, *STATED, "--format", "json", "--calibration", str(target))
        found = json.loads(answer.out)
        plain = json.loads(planner("predict", *point, *STATED, "--format", "json").out)
        assert abs(found["tpot_ms"] / 40.0 - 1) < 0.7 * abs(plain["tpot_ms"] / 40.0 - 1)
        assert found["provenance"].startswith("calibrated by 2 points")
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["planner_calibration"] == 1


def test_standard_input_and_output(planner, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bench.read_bytes())))
    ran = planner("calibrate", "-", *STATED)
    assert ran.code == 0
    assert ran.out.startswith("# Measured points") and "source: standard input, object 2" in ran.out


@pytest.mark.parametrize(
    ("text", "args", "said"),
    [
        ("", STATED, "B102"),
        ("{", STATED, "B102"),
        ("{}", STATED, "B103"),
        (json.dumps(POINT), STATED[2:], "--accelerator"),
        (json.dumps(POINT), (*STATED, "--engine", "vlllm"), "did you mean vllm"),
        (json.dumps({**POINT, "completed": 0}), STATED, "B107"),
    ],
)
def test_a_file_that_says_nothing_is_refused(
    planner, tmp_path: Path, text: str, args: tuple[str, ...], said: str
) -> None:
    file, target = tmp_path / "b.json", tmp_path / "out.yaml"
    file.write_text(text, encoding="utf-8")
    ran = planner("calibrate", str(file), *args, "-o", str(target))
    assert ran.code == 2
    assert said in ran.err and str(file) in ran.err
    assert not target.exists()


def test_every_broken_file_of_several_is_named(planner, tmp_path: Path, bench: Path) -> None:
    ran = planner("calibrate", str(bench), str(tmp_path / "none.json"), *STATED)
    assert ran.code == 2 and "none.json" in ran.err


def test_a_number_far_off_is_doubted_aloud(planner, tmp_path: Path) -> None:
    ran = planner("calibrate", str(points(tmp_path / "b.json", 4000.0)), *STATED)
    assert ran.code == 0
    assert "check model, accelerator" in ran.err


def test_a_benchmark_in_a_spec_corrects_the_plan(planner, tmp_path: Path, bench: Path) -> None:
    said = "accelerator: H100-SXM, tensor_parallel: 1, precision: fp8"
    plain = solved(planner, _plain(tmp_path))
    slow = solved(planner, with_measured(tmp_path, f"{{file: bench.json, {said}}}"))
    assert deployed(plain)["provenance"] == "analytic"
    assert deployed(slow)["provenance"] == "calibrated"
    assert deployed(slow)["capacity_req_per_s_per_replica"] < deployed(plain)["capacity_req_per_s_per_replica"]
    assert deployed(slow)["error_band"][1] < deployed(plain)["error_band"][1]
    assert slow["provenance"]["catalog"]["sha256"] != plain["provenance"]["catalog"]["sha256"]
    points(bench, 1.0)
    quick = solved(planner, with_measured(tmp_path, f"{{file: bench.json, {said}}}"))
    assert deployed(quick)["capacity_req_per_s_per_replica"] > deployed(slow)["capacity_req_per_s_per_replica"]


def _plain(tmp_path: Path) -> str:
    file = tmp_path / "plain.yaml"
    file.write_text(SPEC, encoding="utf-8")
    return str(file)


def test_a_calibration_in_a_spec_is_its_benchmarks(planner, tmp_path: Path, bench: Path) -> None:
    planner("calibrate", str(bench), *STATED, "-o", str(tmp_path / "c.yaml"))
    said = "accelerator: H100-SXM, tensor_parallel: 1, precision: fp8"
    one = solved(planner, with_measured(tmp_path, f"{{file: bench.json, {said}}}"))
    other = solved(planner, with_measured(tmp_path, "{file: c.yaml}"))
    assert one["plans"] == other["plans"]
    ran = planner("check", with_measured(tmp_path, "{file: c.yaml, precision: fp8}"))
    assert ran.code == 2 and "leave out precision" in ran.err


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        (",11000,2500,,,", "{prefill_tok_per_s: 11000, decode_tok_per_s: 2500, %s}"),
        (",,,3.2,,", "{capacity_req_per_s: 3.2, %s}"),
        ("all,,,3.2,,", "{class: all, capacity_req_per_s: 3.2, %s}"),
        (",,,,12,0.08", "{idle_iteration_ms: 12, work_s_per_request: 0.08, %s}"),
    ],
)
def test_a_table_of_rows_is_the_rows(planner, tmp_path: Path, cells: str, row: str) -> None:
    (tmp_path / "rows.csv").write_text(f"{ROW}\n{SUBJECT},{cells}\n", encoding="utf-8")
    subject = "model: llama-3.1-8b, accelerator: H100-SXM, tensor_parallel: 1, precision: fp8"
    table = solved(planner, with_measured(tmp_path, "{file: rows.csv}"))
    written = solved(planner, with_measured(tmp_path, row % subject))
    assert deployed(table)["provenance"] == "measured"
    assert table["plans"] == written["plans"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{ROW}\n{SUBJECT},,,,-1,,\n", "B105"),
        (f"{ROW}\n{SUBJECT},,11000,,,,\n", "B104"),
        (f"{ROW}\n{SUBJECT},,11000,,,,\n", "prefill_tok_per_s needs decode_tok_per_s beside it"),
        (f"{ROW}\n{SUBJECT},,11000,9,3,,\n", "two kinds of measurement"),
        (f"{ROW}\n{SUBJECT},,,,,,\n", "has no measurement"),
        (f"{ROW}\n{SUBJECT},,,,-1,,\n", "capacity_req_per_s: Input should be greater than 0"),
        (f"{ROW}\n{SUBJECT},nobody,,,1,,\n", "no workload has a class named 'nobody'"),
        (f"{ROW}\n{SUBJECT},,,,1,,\n{SUBJECT},,,,2,,\n", "measured twice"),
        (f"{ROW},colour\n{SUBJECT},,,,1,,,red\n", "unknown column 'colour'"),
        (f"{ROW}\nllama-9,H100-SXM,1,fp8,,,,1,,\n", "unknown model 'llama-9'"),
        (f"{ROW}\n{SUBJECT}\n", "the row has 4 cells, the head 10"),
    ],
)
def test_a_broken_table_of_rows_is_refused(planner, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    ran = planner("solve", with_measured(tmp_path, "{file: rows.csv}"))
    assert ran.code == 2
    assert said in ran.err


def test_a_missing_file_of_a_spec_is_said(planner, tmp_path: Path) -> None:
    ran = planner("solve", with_measured(tmp_path, "{file: none.json}"))
    assert ran.code == 2
    assert "B101" in ran.err and "none.json" in ran.err


def test_estimators_without_measured_leave_benchmarks_aside(planner, tmp_path: Path, bench: Path) -> None:
    spec = Path(
        with_measured(tmp_path, "{file: bench.json, accelerator: H100-SXM, tensor_parallel: 1, precision: fp8}")
    )
    spec.write_text(spec.read_text(encoding="utf-8") + "policy: {estimators: [analytic]}\n", encoding="utf-8")
    assert deployed(solved(planner, str(spec)))["provenance"] == "analytic"
