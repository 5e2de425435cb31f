"""`planner import melange` and `planner import inferno`."""

import io
import json
import sys
from pathlib import Path

import pytest

from planner.errors import IMPORT_CODES
from tests.peers.test_inferno import PARTS
from tests.peers.test_melange import SPLIT


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "toy 1.json"
    path.write_text(json.dumps(SPLIT), encoding="utf-8")
    return path


def test_imported_problem_solves_at_its_optimum(planner, problem: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    ran = planner("import", "melange", str(problem), "-o", str(spec))
    assert (ran.code, ran.out) == (0, "")
    assert "planner solve" in ran.err
    assert "name: toy-1" in spec.read_text(encoding="utf-8")
    solved = planner("solve", str(spec), "--gap", "0", "--top", "1", "--format", "json")
    assert solved.code == 0, solved.err
    assert json.loads(solved.out)["plans"][0]["cost"]["total_usd_per_month"] == pytest.approx(5 * 730)


def test_standard_input_to_standard_output(planner, problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(problem.read_bytes())))
    ran = planner("import", "melange", "-", "--name", "my review")
    assert ran.code == 0
    assert 'name: "my review"' in ran.out
    assert ran.err == ""


def test_a_wrong_file_leaves_the_target_as_it_was(planner, tmp_path: Path) -> None:
    target, broken = tmp_path / "spec.yaml", tmp_path / "broken.json"
    target.write_text("precious")
    broken.write_text(json.dumps(SPLIT)[:60])
    ran = planner("import", "melange", str(broken), "-o", str(target))
    assert ran.code == 2
    assert "error[I102]" in ran.err
    assert target.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


def test_a_system_with_nothing_that_serves_is_infeasible_and_says_what(planner, tmp_path: Path) -> None:
    for name, data in PARTS.items():
        text = json.dumps(data).replace('{"model": "m"}', '{"model": "m", "slo-itl": 1}')
        (tmp_path / name).write_text(text, encoding="utf-8")
    spec = tmp_path / "spec.yaml"
    assert planner("import", "inferno", str(tmp_path), "-o", str(spec)).code == 0
    ran = planner("solve", str(spec))
    assert ran.code == 3
    assert "one" in ran.out


@pytest.mark.parametrize("words", [("melange",), ("inferno",), ("melange", "x.json", "--name", "a/b"), ("other", "x")])
def test_wrong_usage(planner, words: tuple[str, ...]) -> None:
    ran = planner("import", *words)
    assert ran.code == 2
    assert "error[U101]" in ran.err


def test_every_import_code_is_documented(planner) -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for code, text in IMPORT_CODES.items():
        assert f"| {code} | {text.title} |" in page
        assert text.help
