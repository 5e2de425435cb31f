"""Where a value comes from: flag > variable > project file > user file > default."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def _user_file(text: str) -> Path:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "planner" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_each_layer_beats_the_next(planner, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "gap = 0.001  (default)" in planner("solve", "--show-config").out
    user = _user_file("[solve]\ngap = 0.05\n")
    assert f"gap = 0.05  ({user})" in planner("solve", "--show-config").out
    (here / "planner.toml").write_text("[solve]\ngap = 0.04\n")
    assert "gap = 0.04  (planner.toml)" in planner("solve", "--show-config").out
    monkeypatch.setenv("PLANNER_GAP", "0.03")
    assert "gap = 0.03  (environment PLANNER_GAP)" in planner("solve", "--show-config").out
    monkeypatch.setenv("PLANNER_SOLVE_GAP", "0.02")
    assert "gap = 0.02  (environment PLANNER_SOLVE_GAP)" in planner("solve", "--show-config").out
    assert "gap = 0.01  (command line)" in planner("solve", "--gap", "0.01", "--show-config").out


def test_pyproject_table_is_the_project_file_where_there_is_no_other(planner, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.planner.solve]\ntop = 3\n[tool.planner]\nseed = 7\n")
    out = planner("--show-config").out
    assert "top = 3  (pyproject.toml [tool.planner])" in out
    assert "seed = 7  (pyproject.toml [tool.planner])" in out


def test_dashes_and_underscores_are_one(planner, here: Path) -> None:
    (here / "planner.toml").write_text("[solve]\ntime-limit = 9\n")
    assert "time_limit = 9.0  (planner.toml)" in planner("solve", "--show-config").out


def test_misspelt_key_is_an_error(planner, here: Path) -> None:
    (here / "planner.toml").write_text("[solve]\ntime_limt = 9\n")
    ran = planner("solve", "x.yaml")
    assert ran.code == 2
    assert "error[U111]" in ran.err
    assert "did you mean time_limit?" in ran.err


def test_broken_file_is_an_error_with_its_name(planner, here: Path) -> None:
    (here / "planner.toml").write_text("gap = = 1\n")
    ran = planner("solve", "x.yaml")
    assert ran.code == 2
    assert "error[U110]" in ran.err
    assert "planner.toml" in ran.err


def test_bad_value_in_a_file_is_bad_usage(planner, here: Path) -> None:
    (here / "planner.toml").write_text('[solve]\ngap = "much"\n')
    ran = planner("solve", "x.yaml")
    assert ran.code == 2
    assert "much" in ran.err
