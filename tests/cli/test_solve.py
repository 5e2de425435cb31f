"""`planner solve`, `check` and `explain` on a small spec: formats, files, exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.cli.run import left_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = Path(__file__).with_name("one_h100.yaml")


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The JSON result of the small spec, made once."""
    from planner.cli.main import run

    target = tmp_path_factory.mktemp("solved") / "result.json"
    assert run(["solve", str(SPEC), "--format", "json", "-o", str(target)]) == 0
    return target


def _variant(tmp_path: Path, **policy: str) -> Path:
    """The small spec with a policy."""
    text = SPEC.read_text(encoding="utf-8")
    assert "\npolicy:" not in text
    lines = "".join(f"  {k}: {v}\n" for k, v in policy.items())
    path = tmp_path / "variant.yaml"
    path.write_text(f"{text}\npolicy:\n{lines}", encoding="utf-8")
    return path


def test_result_is_complete_and_verified(solved: Path) -> None:
    tree = json.loads(solved.read_text())
    assert tree["status"] == "planned"
    assert tree["plans"]
    assert len(tree["plans"]) >= 3
    for plan in tree["plans"]:
        assert plan["verified"] is True
        assert plan["gap"] >= 0
        assert sum(plan["cost"]["terms"].values()) == pytest.approx(plan["cost"]["total_usd_per_month"], rel=1e-4)
        assert plan["bound_usd_per_month"] <= plan["cost"]["judged_usd_per_month"] * (1 + 1e-6)
    assert tree["provenance"]["limits"]["gap"] == 0.001


def test_same_input_gives_the_same_bytes(solved: Path, planner) -> None:
    ran = planner("solve", str(SPEC), "--format", "json")
    assert ran.code == 0
    assert ran.out == solved.read_text()


def test_time_limit_includes_what_preparing_takes() -> None:
    assert [left_of(20.0, spent) for spent in (0.0, 2.0, 10.0, 500.0)] == pytest.approx([20.0, 17.7, 8.5, 2.0])


def test_standard_input_is_read(planner_process, tmp_path: Path) -> None:
    done = planner_process("check", "-", "--format", "json", input=SPEC.read_text(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tree = json.loads(done.stdout)
    assert tree["services"][0]["candidates"] > 0
    assert tree["services"][0]["unservable"] == []


def test_check_shows_what_could_serve(planner) -> None:
    ran = planner("check", str(SPEC))
    assert ran.code == 0
    assert "the spec is sound" in ran.out
    assert "could run on" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_explain_reads_a_result(planner, solved: Path) -> None:
    ran = planner("explain", str(solved))
    assert ran.code == 0
    for words in ("Plan 1", "What binds", "Margins", "Risks"):
        assert words in ran.out
    tree = json.loads(planner("explain", str(solved), "--format", "json").out)
    assert tree["plan"]["rank"] == 1


def test_explain_refuses_a_plan_that_is_not_there(planner, solved: Path) -> None:
    ran = planner("explain", str(solved), "--plan", "99")
    assert ran.code == 2
    assert "error[U106]" in ran.err


def _promising(tmp_path: Path, slo: str) -> Path:
    """The small spec with a promise, and no API, whose latency nobody knows."""
    text = SPEC.read_text(encoding="utf-8").replace("    api_equivalents: [test-api]\n", f"    slo: {slo}\n")
    path = tmp_path / "promising.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_check_of_what_nothing_can_serve_says_why_and_exits_3(planner, tmp_path: Path) -> None:
    spec = str(_promising(tmp_path, "{ttft_p95_ms: 1.5, tpot_p95_ms: 0.05}"))
    ran = planner("check", spec)
    assert ran.code == 3
    assert "the spec is valid, but nothing can serve product/all" in ran.out
    assert "sound" not in ran.out
    assert "· product/all: " in ran.out
    assert "the nearest is llama-3.1-8b-instruct/fp8/vllm/H100-SXM/" in ran.out
    assert "nothing can serve product/all" in ran.err
    assert "ttft_p95_ms: 1.5 is 1.5 ms; did you mean 1.5s?" in ran.err
    assert "tpot_p95_ms: 0.05 is 0.05 ms; did you mean 0.05s?" in ran.err
    tree = json.loads(planner("check", spec, "--format", "json").out)
    (service,) = tree["services"]
    hurdle = service["hurdles"]["product/all"]
    assert hurdle["kind"] == "slo"
    assert hurdle["example_check"]["had"] > hurdle["example_check"]["needed"]
    assert len(tree["warnings"]) == 2
    assert planner("solve", spec).code == 3


def test_check_of_plausible_promises_warns_of_nothing(planner, tmp_path: Path) -> None:
    ran = planner("check", str(_promising(tmp_path, "{ttft_p95_ms: 2000, tpot_p95_ms: 60}")))
    assert ran.code == 0
    assert ran.err == ""
    assert "\nSlices\n  q1.s1 all hours: 730 h/month\n" in ran.out


def test_explain_refuses_a_result_of_another_shape(planner, tmp_path: Path) -> None:
    other = tmp_path / "result.json"
    other.write_text('{"provenance": {}, "schema_version": "9"}')
    ran = planner("explain", str(other))
    assert ran.code == 2
    assert "error[U107]" in ran.err


def test_why_not_names_the_failed_checks(planner, solved: Path) -> None:
    found = json.loads(planner("explain", str(solved), "--why-not", "exoscale", "--format", "json").out)
    (refused,) = found["exoscale"]["rejected"]
    assert found["exoscale"]["used_by_plans"] == []
    assert [(c["check"], c["kind"], c["needed"], c["had"]) for c in refused["checks"]] == [
        ("country", "policy", "US", "CH")
    ]
    table = planner("explain", str(solved), "--why-not", "CH").out
    assert "country [policy], 1 time:" in table
    assert "H100-SXM at exoscale/ch-test: needed US, had CH" in table


def test_used_name_is_said_to_be_used(planner, solved: Path) -> None:
    accelerator = json.loads(solved.read_text())["plans"][0]["purchases"][0]["accelerator"]
    for name in (accelerator.lower(), "H100-80GB"):
        assert "it is used by plan" in planner("explain", str(solved), "--why-not", name).out


def test_budget_that_is_too_small_is_proven_infeasible(planner, tmp_path: Path) -> None:
    spec = _variant(tmp_path, budget="{usd_per_month: 500}")
    ran = planner("solve", str(spec), "--format", "json")
    assert ran.code == 3, ran.err
    tree = json.loads(ran.out)
    assert tree["status"] == "infeasible"
    (conflict,) = [c for c in tree["infeasibility"]["conflicts"] if c["family"] == "budget"]
    assert conflict["unit"] == "USD/month"
    assert conflict["short_by"] > 100
    assert "no plan exists (proven)" in planner("solve", str(spec)).out


def test_gap_above_the_largest_allowed_exits_4(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.cli import run as run_module

    real = run_module.solve_spec

    def with_gap(*args, **kwargs):
        outcome = real(*args, **kwargs)
        plan = outcome.result.plans[0].model_copy(update={"gap": 0.2})
        result = outcome.result.model_copy(update={"plans": (plan,)})
        return run_module.Outcome(result, outcome.answer, outcome.interrupted)

    monkeypatch.setattr(run_module, "solve_spec", with_gap)
    ran = planner("solve", str(SPEC), "--max-gap", "0.1")
    assert ran.code == 4
    assert "above --max-gap" in ran.err
    assert "Ranked plans" in ran.out


def test_failed_run_leaves_the_file_alone(planner, tmp_path: Path) -> None:
    target, bad = tmp_path / "result.json", tmp_path / "bad.yaml"
    target.write_text("precious")
    bad.write_text("schema_version: 1\nname: x\nworkloads: [{name: a, model: no-such-model}]\n")
    ran = planner("solve", str(bad), "-o", str(target))
    assert ran.code == 2
    assert target.read_text() == "precious"
    assert ran.out == ""


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "S101"), ("", "S104"), ("- a\n- b\n", "S109"), ("a: [1\n", "S105"), ("name: \0\n", "S103")],
)
def test_what_is_no_spec_exits_2_with_a_code(planner, tmp_path: Path, content: str | None, code: str) -> None:
    path = tmp_path / "spec.yaml"
    if content is not None:
        path.write_text(content)
    ran = planner("solve", str(path))
    assert ran.code == 2
    assert f"error[{code}]" in ran.err
    assert "1 error" in ran.err


def test_empty_catalog_is_bad_input(planner, tmp_path: Path) -> None:
    text = SPEC.read_text(encoding="utf-8").split("catalog:")[0]
    path = tmp_path / "empty.yaml"
    path.write_text(text + "catalog: {overlays: [{replace: [offers, apis]}]}\n")
    text_error = planner("solve", str(path))
    assert text_error.code == 2
    assert "error[" in text_error.err


@pytest.mark.parametrize(
    "choice",
    [
        "path: {name}",
        "overlays: [{{offers: []}}, {name}]",
        "overlays: [{{models: [{{id: own, config: {name}}}]}}]",
    ],
)
@pytest.mark.parametrize("name", ["nowhere.yaml", "no/where", "x" * 5000, "."])
def test_file_of_a_spec_that_cannot_be_read_is_shown_where_it_is_named(
    planner, tmp_path: Path, choice: str, name: str
) -> None:
    text = SPEC.read_text(encoding="utf-8").split("catalog:")[0]
    path = tmp_path / "spec.yaml"
    path.write_text(f"{text}catalog:\n  {choice.format(name=name)}\n")
    ran = planner("check", str(path))
    assert ran.code == 2
    assert "error[C1" in ran.err
    assert f"{path}:{len(text.splitlines()) + 2}:" in ran.err
    assert "help: " in ran.err


def test_directory_is_no_spec(planner, tmp_path: Path) -> None:
    ran = planner("check", str(tmp_path))
    assert ran.code == 2
    assert "directory" in ran.err


def test_explain_full_prices_the_rules(planner) -> None:
    ran = planner("solve", str(SPEC), "--explain", "full", "--format", "json")
    assert ran.code == 0, ran.err
    first, *others = json.loads(ran.out)["plans"]
    assert first["explanation"]["rule_prices"]
    assert all(plan["explanation"]["rule_prices"] == [] for plan in others)
    assert "What rules cost" in planner("solve", str(SPEC), "--explain", "full").out


def test_missing_argument_is_bad_usage(planner) -> None:
    ran = planner("solve")
    assert ran.code == 2
    assert "SPEC" in ran.err


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_leaves_no_child(tmp_path: Path) -> None:
    from planner.spec.starter import starter_spec

    spec = tmp_path / "large.yaml"
    spec.write_text(starter_spec("large"), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "solve", str(spec), "--time-limit", "600", "--gap", "0", "--progress"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=dict(os.environ),
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "building" in line:
            break
    listed = Path(f"/proc/{process.pid}/task")
    end = time.monotonic() + 30
    # Whichever thread starts the engine's process is its parent here.
    while not (children := " ".join(p.read_text() for p in listed.glob("*/children")).split()):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not [c for c in children if Path(f"/proc/{c}").exists()]


@pytest.mark.slow
def test_ctrl_c_after_the_first_plan_prints_it(tmp_path: Path) -> None:
    from planner.spec.starter import starter_spec

    spec = tmp_path / "large.yaml"
    spec.write_text(starter_spec("large"), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "solve", str(spec), "--format", "json", "--progress"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "axis" in line or "baseline" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["plans"][0]["verified"] is True


def test_first_row_of_progress_is_on_standard_error(planner_process, tmp_path: Path) -> None:
    done = planner_process("solve", str(SPEC), "--progress", "--format", "csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "reading the spec and the catalog" in done.stderr
    assert done.stdout.startswith("rank,title,")
    quiet = planner_process("solve", str(SPEC), "--format", "csv", cwd=tmp_path)
    assert quiet.stderr == ""


def test_quota_that_matches_nothing_is_told(tmp_path: Path, planner) -> None:
    spec = tmp_path / "spec.yaml"
    quota = "\npolicy:\n  quotas:\n    - {match: {provider: lambda, accelerator: L4}, limit: 0}\n"
    spec.write_text(SPEC.read_text() + quota)
    ran = planner("solve", str(spec), "--format", "json", "--top", "1")
    assert ran.code == 0
    said = "the quota on lambda/L4 matches nothing on offer, so it limits nothing"
    assert f"warning: {said}" in ran.err
    result = json.loads(ran.out)
    assert said in result["provenance"]["assumptions"]
    assert said in [r["text"] for r in result["plans"][0]["explanation"]["risks"]]
    assert f"warning: {said}" in planner("check", str(spec)).err


@pytest.mark.parametrize("quarters", [1, 2, 4])
def test_volume_in_check_is_of_a_month_whatever_the_horizon(planner, tmp_path: Path, quarters: int) -> None:
    text = SPEC.read_text(encoding="utf-8")
    path = tmp_path / "horizon.yaml"
    path.write_text(f"{text}\nhorizon: {{quarters: {quarters}}}\n", encoding="utf-8")
    tokens = [
        sum(s["tokens_per_month"] for s in json.loads(planner("check", str(p), "--format", "json").out)["services"])
        for p in (SPEC, path)
    ]
    assert tokens[0] > 0 and tokens[1] == pytest.approx(tokens[0])
