"""The group: lazy help, versions, exit codes, signals and pipes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planner import __version__
from planner.cli import main as main_module
from planner.cli.main import COMMANDS, load_command
from planner.errors import Interrupted, SolverError, VerificationError

Cli = Callable[..., "object"]
ROOT = Path(__file__).resolve().parents[2]


def test_help_names_every_command_and_every_exit_code(planner) -> None:
    ran = planner("--help")
    assert ran.code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", ran.out, re.MULTILINE)
    for code in ("0", "1", "2", "3", "4", "130"):
        assert re.search(rf"(^|[ ·]){code} ", ran.out)


def test_help_texts_of_the_group_are_those_of_the_commands() -> None:
    for name, text in COMMANDS.items():
        command = load_command(name)
        assert " ".join((command.help or "").split("\n\n")[0].split()) == text


def test_help_imports_nothing_heavy() -> None:
    """`planner --help` stays below 0.3 s because it imports neither the types nor any table or solver library."""
    code = (
        "import sys\nfrom planner.cli.main import run\nassert run(['--help']) == 0\n"
        "heavy = {'numpy','pandas','scipy','ortools','rich','genai_prices','pydantic','ruamel'}\n"
        "loaded = heavy & {m.split('.')[0] for m in sys.modules}\nassert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr


def test_version(planner) -> None:
    ran = planner("--version")
    assert (ran.code, ran.out) == (0, f"planner, version {__version__}\n")


def test_unknown_command_suggests_the_nearest(planner) -> None:
    ran = planner("sovle", "x.yaml")
    assert ran.code == 2
    assert "error[U101]" in ran.err
    assert "Did you mean solve?" in ran.err
    assert ran.out == ""


def test_unknown_option_is_bad_usage(planner) -> None:
    ran = planner("schema", "--fromat", "json")
    assert ran.code == 2
    assert "--fromat" in ran.err
    assert "planner schema --help" in ran.err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (SolverError("highs", "crashed", "signal 11"), 1, "error[E101]: highs: crashed (signal 11)"),
        (VerificationError(("quota[x]: needed 3, had 2",)), 1, "error[E102]: a plan failed its recomputation"),
        (Interrupted("before a plan was found"), 130, "interrupted: before a plan was found"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("a\nb"), 1, "internal error: RuntimeError: a b — please report"),
    ],
)
def test_every_failure_has_its_exit_code(
    planner, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(main_module.cli, "main", fail)
    ran = planner("schema")
    assert ran.code == code
    assert text in ran.err
    assert "Traceback" not in ran.err


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("inner")

    monkeypatch.setenv("PLANNER_DEBUG", "1")
    monkeypatch.setattr(main_module.cli, "main", fail)
    with pytest.raises(RuntimeError, match="inner"):
        main_module.run(["schema"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_is_told_once_and_exits_1(planner_process) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "planner", "schema", "--of", "result"], stdout=full,
                              stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error[U109]: No space left on device\n"


def test_ascii_terminal_still_gets_the_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "planner", "--help"], capture_output=True, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0
    assert b"Exit codes: 0 at least one verified plan" in done.stdout


def test_closed_pipe_is_no_error() -> None:
    root = Path(__file__).parents[2]
    line = f"{sys.executable} -m planner schema --of result | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=root, timeout=60)
    assert done.stdout == "{\n0\n"
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_closed_standard_streams_lead_nowhere(tmp_path: Path, closed: tuple[int, ...]) -> None:
    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "planner", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            cwd=ROOT, preexec_fn=close, timeout=60,
        )  # fmt: skip

    target = tmp_path / "result.json"
    solved = call("solve", "problems/scenarios/s06-api-b.yaml", "--top", "1", "--format", "json", "-o", str(target))
    assert (solved.returncode, solved.stderr) == (0, "")
    assert json.loads(target.read_text())["status"] == "planned"
    empty = call("solve", "-")
    assert empty.returncode == 2
    assert 2 in closed or "error[S104]" in empty.stderr


INTERRUPTING = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            exec("raise KeyboardInterrupt")  # dataclasses are made by exec: the interpreter remembers these

sys.meta_path.insert(0, Interrupt())
sys.argv = ["planner", "solve", {spec!r}]
runpy.run_module("planner", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module", ["planner.cli.main", "click", "planner.cli.commands.solve", "planner.cli.run", "planner.candidates.build"]
)
def test_ctrl_c_while_modules_load_exits_130(module: str) -> None:
    """The places are the imports of a run, from the first to those in the middle of the work."""
    code = INTERRUPTING.format(module=module, spec="problems/scenarios/s06-api-b.yaml")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
