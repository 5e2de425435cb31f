"""`planner report` from the command line: files, errors, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import util
from pathlib import Path

import pytest

from planner.report.result import build_result, result_json
from tests.cli.conftest import Ran
from tests.report import sample

Planner = Callable[..., Ran]


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(result_json(build_result(sample.answer())), encoding="utf-8")
    return path


def test_page_is_written_to_a_file(planner: Planner, result: Path, tmp_path: Path) -> None:
    target = tmp_path / "review.html"
    ran = planner("report", str(result), "-o", str(target))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_markdown_goes_to_standard_output(planner: Planner, result: Path) -> None:
    ran = planner("report", str(result), "--format", "markdown")
    assert ran.code == 0
    assert ran.out.startswith("# eu-chat\n")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff\xfe\x00", b"schema_version: 1\nname: x\n", b'{"a": 1}', b'{"provenance": {}}',
        b'{"provenance": 1, "status": "planned"}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_", ["html", "markdown"])
def test_another_file_is_an_error_and_leaves_the_target_alone(
    planner: Planner, tmp_path: Path, content: bytes, format_: str
) -> None:
    source, target = tmp_path / "other.json", tmp_path / "review.html"
    source.write_bytes(content)
    target.write_text("before")
    ran = planner("report", str(source), "--format", format_, "-o", str(target))
    assert ran.code == 2
    assert "error[U107]" in ran.err
    assert "planner solve SPEC --format json" in ran.err
    assert target.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".part") == []


def test_truncated_result_is_an_error(planner: Planner, result: Path) -> None:
    text = result.read_text()
    result.write_text(text[: len(text) // 2])
    assert "error[U107]" in planner("report", str(result)).err


def test_missing_file_is_an_error(planner: Planner, tmp_path: Path) -> None:
    ran = planner("report", str(tmp_path / "none.json"))
    assert ran.code == 2
    assert "cannot read" in ran.err


def test_curve_of_another_spec_is_an_error(planner: Planner, result: Path, tmp_path: Path) -> None:
    curve = tmp_path / "curve.json"
    curve.write_text('{"name": "other", "tokens_per_month_now": 1.0, "points": [], "crossover": null}')
    ran = planner("report", str(result), "--curve", str(curve))
    assert ran.code == 2
    assert "error[U119]" in ran.err


def test_missing_libraries_are_named_with_the_way_to_install_them(
    planner: Planner, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == "vl_convert" else find(name, *rest))
    ran = planner("report", str(result))
    assert ran.code == 2
    assert "error[U120]: an HTML page needs vl_convert" in ran.err
    assert "planner[report]" in ran.err
    assert planner("report", str(result), "--format", "markdown").code == 0
