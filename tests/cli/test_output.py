"""Result files appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from planner.cli.output import write_result
from planner.errors import InputError


def test_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")
    target.chmod(0o600)
    write_result("new", str(target))
    assert target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [target]


def test_failed_write_leaves_the_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_result("new", str(target))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_link_is_followed_not_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    write_result("new", str(link))
    assert link.is_symlink()
    assert real.read_text() == "new\n"


def test_device_is_written_directly() -> None:
    write_result("x", os.devnull)
    assert Path(os.devnull).exists()
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("target", ["absent/r.json", "."])
def test_impossible_target_is_refused_before_the_work(planner, tmp_path: Path, monkeypatch, target: str) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("schema", "-o", target)
    assert ran.code == 2
    assert "error[U103]" in ran.err
