"""`planner init` and `planner schema`."""

import json
from pathlib import Path

import pytest


def test_starter_is_sound_as_written(planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("init")
    assert ran.code == 0
    assert "planner solve workload.yaml" in ran.err
    assert "name: workload" in (tmp_path / "workload.yaml").read_text()
    checked = planner("check", "workload.yaml")
    assert checked.code == 0, checked.err
    assert "the spec is sound" in checked.out


def test_existing_file_is_kept_unless_forced(planner, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    ran = planner("init", str(path))
    assert ran.code == 2
    assert "error[U104]" in ran.err
    assert path.read_text() == "precious"
    assert planner("init", str(path), "--force").code == 0
    assert "name: mine" in path.read_text()


def test_starter_goes_to_standard_output(planner) -> None:
    ran = planner("init", "-", "--name", "eu review")
    assert ran.code == 0
    assert 'name: "eu review"' in ran.out
    assert planner("init", "-", "--name", "a/b").code == 2


def test_folder_that_is_not_there_is_refused(planner, tmp_path: Path) -> None:
    assert "error[U103]" in planner("init", str(tmp_path / "no" / "w.yaml")).err


@pytest.mark.parametrize(("of", "field"), [("spec", "workloads"), ("result", "plans")])
def test_schemas_are_json_with_descriptions(planner, of: str, field: str) -> None:
    ran = planner("schema", "--of", of)
    assert ran.code == 0
    tree = json.loads(ran.out)
    assert "$schema" in tree
    assert field in tree["properties"]
    assert '"description"' in ran.out
