"""Bad input ends with exit 2, says what and where and what to do, prints nothing, and leaves an existing file alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.problems.answers import Desk

GOOD = """\
schema_version: 1
name: chat
workloads:
  - name: chat
    model: llama-3.1-8b-instruct
    precisions: [fp8]
    traffic: {mean_req_per_s: 1, input_tokens: 1000, output_tokens: 200}
    slo: {ttft_p95_ms: 2000, tpot_p95_ms: 60}
    sovereignty: {countries: [DE]}
    purchase: {options: [on_demand, api]}
policy:
  headroom: {forecast_margin: 1.1}
measured:
  - {model: llama-3.1-8b-instruct, accelerator: L4, tensor_parallel: 1, precision: fp8, capacity_req_per_s: 2.5}
catalog:
  overlays:
    - replace: [offers, apis]
      offers:
        - {provider: cloud, operator_jurisdiction: DE, region: eu-1, country: DE, instance_type: l4, accelerator: L4,
           prices: {on_demand: 0.7}}
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    """`run(*args)` is `planner solve *args -o FILE`; FILE must stay as it was."""
    from planner.cli.main import run as planner

    target = tmp_path / "result.json"
    target.write_text("precious")

    def call(*args: str, output: str | None = None) -> Ran:
        capsys.readouterr()
        code = planner(["solve", *args, "--format", "json", "-o", output or str(target)])
        captured = capsys.readouterr()
        if code:
            assert target.read_text() == "precious"
            assert not [p for p in tmp_path.iterdir() if p.suffix == ".part"]
        return Ran(code, captured.out, captured.err)

    return call


def assert_refused(ran: Ran, code: str, *words: str) -> None:
    """Exit 2 with this fault code and these words on standard error, a help, no traceback, no result."""
    assert ran.code == 2, ran.err
    assert f"error[{code}]" in ran.err
    assert "help: " in ran.err
    for word in words:
        assert word in ran.err
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    assert ran.out == ""


def test_the_good_spec_is_good(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    ran = run(str(path), output="-")
    assert ran.code == 0, ran.err
    assert '"status": "planned"' in ran.out


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        # numbers that are none
        ("mean_req_per_s: 1,", "mean_req_per_s: .nan,", "S203", "w.yaml:7:"),
        ("mean_req_per_s: 1,", "mean_req_per_s: nan,", "S203", "w.yaml:7:"),
        ("mean_req_per_s: 1,", "mean_req_per_s: .inf,", "S203", "w.yaml:7:"),
        ("mean_req_per_s: 1,", "mean_req_per_s: 1e400,", "S203", "w.yaml:7:"),
        ("capacity_req_per_s: 2.5", "capacity_req_per_s: .nan", "S203", "w.yaml:14:"),
        ("on_demand: 0.7", "on_demand: .nan", "C108", "finite number"),
        ("on_demand: 0.7", "on_demand: .inf", "C108", "finite number"),
        ("on_demand: 0.7", "on_demand: 0", "C108", "zero"),
        ("on_demand: 0.7", "on_demand: -0.7", "C108", "greater than"),
        ("on_demand: 0.7", "on_demand: 1e300", "C108", "1000000"),
        ("on_demand: 0.7", "on_demand: 1e-12", "C108", "unit"),
        ("input_tokens: 1000", "input_tokens: -5", "S204", "w.yaml:7:"),
        ("input_tokens: 1000", "input_tokens: 12:30", "S203", "w.yaml:7:"),
        ("forecast_margin: 1.1", "forecast_margin: 1e12", "S204", "w.yaml:12:"),
        # no traffic
        ("mean_req_per_s: 1,", "mean_req_per_s: 0,", "S211", "w.yaml:7:"),
        # promises that contradict each other or themselves
        ("tpot_p95_ms: 60}", "tpot_p95_ms: 60, ttft_p99_ms: 900}", "S208", "w.yaml:8:"),
        ("ttft_p95_ms: 2000", "ttft_p95_ms: -1", "S204", "w.yaml:8:"),
        ("tpot_p95_ms: 60}", "tpot_p95_ms: 0}", "S204", "w.yaml:8:"),
        ("ttft_p95_ms: 2000", "ttft_p95_ms: 1, client_region: us-east", "S208", "w.yaml:8:"),
        ("ttft_p95_ms: 2000", "ttft_p97_ms: 2000", "S201", "ttft_p9"),
        # names
        ("model: llama-3.1-8b-instruct\n", "model: lama-3.1-8b-instruct\n", "S301", "llama-3.1-8b-instruct"),
        ("precisions: [fp8]", "precisions: [fp9]", "S301", "fp8"),
        ("precisions: [fp8]", "precisions: [fp8]\n    engines: [vlm]", "S301", "vllm"),
        ("accelerator: L4, tensor", "accelerator: L44S, tensor", "S301", "L40S"),
        ("accelerator: L4,\n", "accelerator: L44,\n", "C107", "L40"),
        ("countries: [DE]", "countries: [XX]", "S301", "w.yaml:9:"),
        ("countries: [DE]", "regions: [no]", "S201", "w.yaml:9:"),
        # structure
        ("name: chat\nworkloads", "name: chat\nname: chat\nworkloads", "S110", "first at line 2"),
        ("purchase:", "purchases:", "S201", "purchase"),
        ("options: [on_demand, api]", "options: [ondemand]", "S207", "on_demand"),
        ("mean_req_per_s: 1,", "mean_req_per_s: 1, peak_req_per_s: 2,", "S206", "w.yaml:7:"),
        ("mean_req_per_s: 1, ", "", "S205", "w.yaml:7:"),
        ("    precisions: [fp8]\n", "    precisions: [fp8]\n    preemptible: true\n", "S401", "not supported"),
        ("schema_version: 1\n", "schema_version: 2\n", "S204", "w.yaml:1:"),
        # a catalog with nothing in it, or that is none
        (GOOD[GOOD.index("      offers:") :], "", "C103", "nothing that can be bought"),
        ("replace: [offers, apis]", "replace: true", "C102", "list of tables"),
        ("replace: [offers, apis]", "replace: [ofers]", "C102", "offers"),
        ("catalog:\n", "catalog:\n  path: /no/such/catalog\n", "C101", "not a directory"),
        ("      offers:", "      ofers:", "C102", "offers"),
    ],
)  # fmt: skip
def test_a_fault_of_a_spec_is_told_with_its_place(
    old: str, new: str, code: str, words: str, run: Callable[..., Ran], tmp_path: Path
) -> None:
    assert GOOD.count(old) == 1
    path = tmp_path / "w.yaml"
    path.write_text(GOOD.replace(old, new))
    assert_refused(run(str(path)), code, words)


def test_faults_come_all_at_once(run: Callable[..., Ran], tmp_path: Path) -> None:
    text = GOOD.replace("mean_req_per_s: 1,", "mean_req_per_s: .nan,").replace("[DE]", "[XX]").replace("[fp8]", "[fp9]")
    path = tmp_path / "w.yaml"
    path.write_text(text)
    ran = run(str(path))
    assert_refused(ran, "S203")
    assert [line.split(":", 1)[0] for line in ran.err.splitlines() if line.startswith("error[")] == [
        "error[S301]", "error[S203]", "error[S301]",
    ]  # fmt: skip
    assert "3 errors" in ran.err


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "S104"), (b"\x7fELF\0\0", "S103"), (b"name: caf\xe9\n", "S103"), (b"a: [1\n", "S105"),
        (b"{\"a\": 1,,}", "S105"), (b"<html></html>", "S109"), (b"%PDF-1.7\n1 0 obj\n", "S105"), (b"- a\n", "S109"),
        (b"a: 1\n---\nb: 2\n", "S106"), (b"[" * 100_000, "S108"), (b"a: !!python/object:os.system x\n", "S111"),
        (b"name: x\xef\xbf\xbe\n", "S105"),
    ],
)  # fmt: skip
def test_what_is_no_spec(content: bytes, code: str, run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(content)
    assert_refused(run(str(path)), code)


def test_a_directory_a_missing_file_and_50_megabytes(run: Callable[..., Ran], tmp_path: Path) -> None:
    assert_refused(run(str(tmp_path)), "S101", "directory")
    assert_refused(run(str(tmp_path / "w.yml")), "S101")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"# comment\n" * 5_000_000)
    assert_refused(run(str(large)), "S102")


def test_an_alias_bomb_is_refused_in_the_spec_and_in_an_overlay(run: Callable[..., Ran], tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 40)]
    bomb = tmp_path / "bomb.yaml"
    bomb.write_text("\n".join(levels))
    assert_refused(run(str(bomb)), "S107")
    path = tmp_path / "w.yaml"
    path.write_text(GOOD.replace("  overlays:\n", "  overlays:\n    - bomb.yaml\n"))
    assert_refused(run(str(path)), "C103", "aliases")


def test_an_unwritable_target_is_told_before_the_work(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(GOOD)
    monkeypatch.setattr("planner.cli.run.solve_spec", lambda *_: pytest.fail("solved before the target was checked"))
    for target in (tmp_path, tmp_path / "no" / "such" / "folder" / "x.json"):
        ran = run(str(path), output=str(target))
        assert_refused(ran, "U103", "cannot write")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that takes no file, whoever asks")
def test_a_folder_that_takes_no_file_is_an_error_and_no_traceback(run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(GOOD)
    ran = run(str(path), output="/proc/self/x.json")
    assert ran.code == 2
    assert "error[U103]: cannot write /proc/self/x.json" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "options",
    [
        ("--gap", "nan"), ("--time-limit", "nan"), ("--time-limit", "inf"), ("--within", "nan"), ("--max-gap", "nan"),
        ("--gap", "-1"), ("--top", "0"), ("--seed", "x"), ("--solver", "cbc"), ("--explain", "deep"),
    ],
)  # fmt: skip
def test_option_values_that_make_no_sense(options: tuple[str, str], run: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(GOOD)
    assert_refused(run(str(path), *options), "U101", options[0])


def test_norway_is_a_country_and_not_false(desk: Desk, tmp_path: Path) -> None:
    """`no` in a list of countries is Norway, also in an overlay, and the plan stands there."""
    text = GOOD.replace("countries: [DE]", "countries: [no]")
    path = tmp_path / "norway.yaml"
    path.write_text(text)
    nowhere = desk.file(path)
    assert nowhere.code == 3
    (check,) = nowhere.checks("L4 at cloud")
    assert (check["check"], check["needed"], check["had"]) == ("country", "NO", "DE")
    there = tmp_path / "there.yaml"
    there.write_text(text.replace("country: DE", "country: no"))
    answer = desk.file(there)
    assert answer.code == 0
    assert {p["country"] for p in answer.best["purchases"]} == {"NO"}
