"""Every console block of the README and of docs/ does what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.console import DOCUMENTS, ROOT, alike, missing_lines, steps

RUNNABLE = re.compile(r"([A-Z_]+=\S+ )*planner |cat |sed ")
WITH_BLOCKS = [d for d in DOCUMENTS if d.exists() and steps(d)]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as after `git clone`, with `planner` on the path."""
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "planner"
    shim.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m planner "$@"\n')
    shim.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    (work / "problems").symlink_to(ROOT / "problems")
    return work


@pytest.mark.parametrize("document", WITH_BLOCKS, ids=lambda d: d.name)
def test_console_blocks_of(document: Path, desk: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PLANNER_")}
    environment |= {
        "PATH": f"{desk.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(desk.parent / "config"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    for step in steps(document):
        assert RUNNABLE.match(step.command), f"{step.document}:{step.line}: what runs this?"
        shown_file = re.fullmatch(r"cat (\S+)", step.command)
        if shown_file and not (desk / shown_file[1]).exists():
            (desk / shown_file[1]).write_text("\n".join(step.shown) + "\n", encoding="utf-8")
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=desk, env=environment, capture_output=True, text=True, timeout=120
        )
        where = f"{step.document}:{step.line}: $ {step.command}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == step.exit_code, where
        missing = missing_lines(step.shown, done.stdout + done.stderr)
        assert not missing, f"not in the output: {missing}\n{where}"


def test_links_of_the_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        if not document.exists():
            continue
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_readme_has_exactly_two_set_up_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("```sh\n", 1)[1].split("```", 1)[0].strip().splitlines()
    assert len(block) == 2
    assert "planner solve problems/quickstart.yaml" in block[0]
    assert "pytest" in block[1]
    assert text.count("```sh\n") == 1


def test_shown_figures_may_drift_but_words_may_not() -> None:
    assert alike("cost 14,600 USD", "cost   14,900 USD")
    assert not alike("cost 14,600 USD", "cost 29,000 USD")
    assert not alike("cost 14,600 USD", "price 14,600 USD")
    assert alike("a b …", "a b c d")
    assert missing_lines(["one", "…", "three"], "one\ntwo\nthree") == []
    assert missing_lines(["three", "one"], "one\ntwo\nthree") == ["one"]
