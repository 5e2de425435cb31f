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


@pytest.mark.parametrize(
    ("text", "near"),
    [("gpa = 0.1\n", "gap"), ("time-limt = 9\n", "time_limit"), ("[slove]\ngap = 0.1\n", "solve"), ("qqqq = 1\n", "")],
)
def test_misspelt_key_or_table_at_the_top_is_an_error(planner, here: Path, text: str, near: str) -> None:
    (here / "planner.toml").write_text(text)
    ran = planner("check", "x.yaml")
    assert ran.code == 2
    assert "error[U111]" in ran.err
    assert (f"did you mean {near}?" if near else "see 'planner --help'") in ran.err


def test_options_and_tables_of_other_commands_are_no_error(planner, here: Path) -> None:
    (here / "planner.toml").write_text("gap = 0.1\n[solve]\ntop = 2\n[catalog.list]\nformat = 'json'\n")
    ran = planner("check", "--show-config")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    "text",
    [
        "gap = [1]",
        "gap = true",
        "top = {}",
        "progress = 1",
        "solver = ['highs']",
        "seed = 1979-05-27",
        "[solve]\ngap = []",
    ],
)
def test_value_of_the_wrong_kind_in_a_file_is_bad_usage(planner, here: Path, text: str) -> None:
    (here / "planner.toml").write_text(text + "\n")
    ran = planner("solve", "x.yaml")
    assert ran.code == 2
    assert "error[U11" in ran.err
    assert "planner.toml" in ran.err


@pytest.mark.parametrize(("option", "value"), [("gap", "5%"), ("within", "7.5 %"), ("max-gap", "250%")])
def test_a_share_may_be_a_percentage_wherever_it_comes_from(
    planner, here: Path, monkeypatch: pytest.MonkeyPatch, option: str, value: str
) -> None:
    key, read = option.replace("-", "_"), {"5%": "0.05", "7.5 %": "0.075", "250%": "2.5"}[value]
    assert f"{key} = {read}  (command line)" in planner("solve", f"--{option}", value, "--show-config").out
    monkeypatch.setenv(f"PLANNER_{key.upper()}", value)
    assert f"{key} = {read}" in planner("solve", "--show-config").out


@pytest.mark.parametrize("value", ["101%", "-1%", "%", "five%", "nan%", "inf%"])
def test_a_percentage_out_of_range_or_of_no_number_is_bad_usage(planner, here: Path, value: str) -> None:
    ran = planner("solve", "x.yaml", f"--gap={value}")
    assert (ran.code, ran.err.count("error[U101]")) == (2, 1)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "-1", "abc", ""])
@pytest.mark.parametrize("option", ["gap", "max-gap", "within", "time-limit"])
def test_number_that_is_none_is_bad_usage_wherever_it_comes_from(
    planner, here: Path, monkeypatch: pytest.MonkeyPatch, option: str, value: str
) -> None:
    ran = planner("solve", "x.yaml", f"--{option}={value}")
    assert (ran.code, ran.err.count("error[U101]")) == (2, 1)
    assert f"--{option}" in ran.err
    if value:  # an empty variable is one that is not set
        variable = f"PLANNER_{option.replace('-', '_').upper()}"
        monkeypatch.setenv(variable, value)
        ran = planner("solve", "x.yaml")
        assert (ran.code, ran.err.count("error[U101]")) == (2, 1)
        assert f"It comes from environment {variable}" in ran.err


def test_catalog_of_the_command_line_is_not_looked_for_in_the_spec(planner, here: Path) -> None:
    (here / "x.yaml").write_text("schema_version: 1\nname: x\ncatalog: {path: null}\n")
    ran = planner("check", "x.yaml", "--catalog", "nowhere")
    assert ran.code == 2
    assert f"--> {here / 'nowhere'}\n" in ran.err
