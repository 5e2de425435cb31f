"""Claims about the process: its noise never reaches our standard output, Ctrl-C works, an orphan leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import planner

ROOT = Path(planner.__file__).parents[1]
HEAD = """
import sys
from tests.solve.programmes import hard_knapsack
from planner.errors import Interrupted
from planner.formulation.milp import Milp
from planner.solve.engine import SolverChild
from planner.solve.types import SolveOptions
"""


def run(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def test_native_noise_never_reaches_stdout() -> None:
    code = """
import planner.solve.engine as engine
with SolverChild() as child:
    make = engine.make_request
    for name in ("highs", "scip"):
        print(child.solve(hard_knapsack(12, 3), SolveOptions(engine=name)).objective, flush=True)
"""
    process = run(code)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    first, second = out.split(b"\n")[:2]
    assert float(first) == float(second)
    assert out == first + b"\n" + second + b"\n"


def test_what_the_child_prints_is_kept_from_stdout_and_told_when_it_dies(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if any('planner.solve.child' in a for a in sys.orig_argv):\n"
        "    import builtins\n"
        "    os.write(1, b'native noise\\n')\n"
        "    os._exit(7)\n"
    )
    code = """
from planner.errors import SolverError
try:
    SolverChild().solve(hard_knapsack(5, 2), SolveOptions())
except SolverError as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-c", HEAD + code], cwd=ROOT, env=environment, capture_output=True, timeout=60, check=True
    ).stdout
    assert out == b"highs: the solver's process ended with exit status 7 (native noise)\n"


def test_ctrl_c_returns_the_incumbent() -> None:
    code = """
with SolverChild() as child:
    child.solve(hard_knapsack(5, 2), SolveOptions())
    print(child.pid, flush=True)
    answer = child.solve(hard_knapsack(80, 12), SolveOptions(time_limit_s=100, relative_gap=1e-6))
    print(answer.stop.value, answer.objective < 0, answer.bound <= answer.objective, child.pid)
"""
    process = run(code)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out == b"interrupted True True None\n", err
    assert not Path(f"/proc/{pid}").exists()


def test_ctrl_c_before_an_incumbent_raises_interrupted() -> None:
    code = """
milp = hard_knapsack(5, 2)
print("go", flush=True)
with SolverChild() as child:
    import os, signal
    send = child._exchange
    def interrupt(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return send(*arguments)
    child._exchange = interrupt
    try:
        child.solve(milp, SolveOptions())
    except Interrupted as error:
        print("Interrupted:", error, child.pid)
"""
    process = run(code)
    out, err = process.communicate(timeout=20)
    assert out == b"go\nInterrupted: interrupted before a solution was found None\n", err


def test_child_leaves_when_its_parent_is_killed_in_a_solve() -> None:
    code = """
child = SolverChild()
child.solve(hard_knapsack(5, 2), SolveOptions())
print(child.pid, flush=True)
child.solve(hard_knapsack(80, 12), SolveOptions(time_limit_s=100, relative_gap=1e-6))
"""
    process = run(code)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(0.5)
    process.kill()
    process.communicate(timeout=20)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _running(pid):
        time.sleep(0.05)
    assert not _running(pid)


def _running(pid: int) -> bool:
    """Whether the process lives (a zombie that nobody reaped does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
