"""Running the command line in this process, and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No PLANNER_ variables, no user file: what a test sets is all there is."""
    for name in [n for n in os.environ if n.startswith("PLANNER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config-home"))
    yield


@pytest.fixture
def planner(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`planner(*args)` in this process."""
    from planner.cli.main import run

    def call(*args: str) -> Ran:
        capsys.readouterr()
        code = run(args)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is as wide as its user's screen, and test runners set that too: here it is always 100."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def planner_process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`planner(*args)` as a process, for what one process cannot show: signals, pipes, start-up."""

    def call(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            [sys.executable, "-m", "planner", *args], capture_output=True, text=True, env=environment, timeout=120,
            **options,
        )  # fmt: skip

    return call
