"""The one adapter to the engines: a programme in, a typed answer out, solved in a child process that we can kill."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from planner.errors import Interrupted, SolverError
from planner.solve.capabilities import CAPABILITIES, Capability, check_capability
from planner.solve.interpret import Interpreter
from planner.solve.types import Answer, Infeasible, Progress, Solved, SolveOptions, StopReason, Undecided
from planner.solve.wire import Failure, Ready, Reply, Request, Sign

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from planner.formulation.milp import Milp
    from planner.solve.arrays import Arrays, Sparse

    Pipe = Connection[Any, Any]

START_TIMEOUT_S = 60.0
"""A child that has not imported its engines by then is broken."""
GRACE_S = 5.0
"""How long after its own time limit an engine may go on before it is killed; at least a quarter of the limit."""

OnProgress = Callable[[Progress], None]


def hard_limit_s(time_limit_s: float) -> float:
    """Seconds after which an engine that was given `time_limit_s` is killed."""
    return time_limit_s + max(GRACE_S, 0.25 * time_limit_s)


class _ChildDied(Exception):
    """The pipe closed: the child is gone."""


class _HardStop(Exception):
    """The engine ignored its time limit."""


class SolverChild:
    """An engine process that solves one programme after another; a context manager.

    It starts at the first solve, or early with `start()`, which returns at once. A process that had to be killed
    (time limit ignored, Ctrl-C, native crash) is replaced at the next solve.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Pipe | None = None
        self._ready = False
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self.ortools_version = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the process ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the child if there is none; does not wait for it."""
        if self._process is not None and self._process.poll() is None:
            return
        self._discard()
        from multiprocessing import Pipe as make_pipe

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="planner-solve-")
        ours, theirs = make_pipe(duplex=True)
        root = str(Path(__file__).resolve().parents[2])
        # Not -m: that would put the current folder, and whatever modules lie in it, on the child's path.
        code = "import sys; r = sys.argv.pop(1); r in sys.path or sys.path.insert(0, r); "
        code += "from planner.solve.child import main; main()"
        with self._log_path().open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, root, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(theirs.fileno(),), start_new_session=True,
            )  # fmt: skip
        theirs.close()
        self._pipe, self._ready = ours, False

    def kill(self) -> None:
        """Kill the child at once; the next solve starts another."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._discard()

    def close(self) -> None:
        """End the child and remove its files; a later solve would start anew."""
        self.kill()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _discard(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _log_path(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "log"

    @property
    def pid(self) -> int | None:
        """Process id of the child, None where none runs."""
        return None if self._process is None else self._process.pid

    # -- solving -------------------------------------------------------------------------------------------------

    def solve(
        self,
        milp: Milp | Sparse,
        options: SolveOptions,
        hint: Sequence[float] | None = None,
        progress: OnProgress | None = None,
    ) -> Answer:
        """Solve `milp` within `options`.

        `hint`: a value per column to start from (NaN: unknown); a complete feasible one also is the incumbent of
        last resort.
        `progress` is called with incumbent and bound as the engine finds them (at most ten times a second).

        Returns Solved (objective and bound in the programme's own sense, integers whole), Infeasible (proven), or
        Undecided (a limit stopped it; the incumbent, if any, is feasible). After Ctrl-C: Undecided with stop
        INTERRUPTED where an incumbent is known, else Interrupted is raised.
        Raises SolverError: unsupported request, numbers no engine should see, unbounded, crash, nonsense.
        """
        work = Interpreter(milp, options, hint)
        if not math.isfinite(options.time_limit_s):
            raise SolverError(options.engine, f"a time limit of {options.time_limit_s} s", "name a finite one")
        capability = check_capability(work.arrays, options)
        trivial = work.trivial()
        if trivial is not None:
            return trivial
        if options.time_limit_s <= 0:
            return work.stopped(None, None, StopReason.TIME_LIMIT)
        answer = self._run(work, capability, options, progress)
        if isinstance(answer, Reply):
            answer = self._follow_up(work, capability, options, answer)
        return answer

    def _run(
        self, work: Interpreter, capability: Capability, options: SolveOptions, progress: OnProgress | None
    ) -> Reply | Answer:
        """One request; a kill turns into the incumbent that the engine left behind."""
        self._count += 1
        best = Sign(None, None)

        def on_sign(sign: Sign) -> None:
            nonlocal best
            best = Sign(
                sign.incumbent if sign.incumbent is not None else best.incumbent,
                sign.bound if sign.bound is not None else best.bound,
            )
            if progress is not None:
                progress(work.progress(best))

        saved: Path | None = None
        try:
            self.start()
            if capability.saves_incumbents and self._folder is not None:
                saved = Path(self._folder.name) / f"incumbents-{self._count}"
            request = make_request(work.scaled, capability, options, work.scaled_hint(), saved)
            return self._exchange(request, on_sign)
        except _HardStop:
            self.kill()
            return work.stopped(saved, best.bound, StopReason.TIME_LIMIT)
        except KeyboardInterrupt:
            self.kill()
            answer = work.stopped(saved, best.bound, StopReason.INTERRUPTED)
            if answer.values is None:
                raise Interrupted("interrupted before a solution was found") from None
            return answer
        except _ChildDied:
            raise self._death(options.engine) from None
        except SolverError:
            raise
        except BaseException:
            # A reply may still be on its way: the next request must not take it for its own.
            self.kill()
            raise
        finally:
            if saved is not None:
                saved.unlink(missing_ok=True)

    def _exchange(self, request: Request, on_sign: Callable[[Sign], None]) -> Reply:
        """Send a request and wait for its reply within its deadline."""
        self._wait_ready()
        assert self._pipe is not None
        deadline = time.monotonic() + hard_limit_s(request.time_limit_s)
        try:
            self._pipe.send(request)
        except (BrokenPipeError, ConnectionResetError):
            raise _ChildDied from None
        while True:
            message = self._receive(deadline)
            if isinstance(message, Sign):
                on_sign(message)
            elif isinstance(message, Failure):
                raise SolverError(request.solver_type, f"{message.kind} in the solver's process", message.text)
            elif isinstance(message, Reply):
                return message

    def _wait_ready(self) -> None:
        if self._ready:
            return
        message = self._receive(time.monotonic() + START_TIMEOUT_S)
        assert isinstance(message, Ready)
        self.ortools_version, self._ready = message.ortools_version, True

    def _receive(self, deadline: float) -> object:
        assert self._pipe is not None
        try:
            if not self._pipe.poll(max(0.0, deadline - time.monotonic())):
                raise _HardStop
            return self._pipe.recv()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            raise _ChildDied from None

    def _death(self, engine: str) -> SolverError:
        """What killed the child, with the last words of its log."""
        assert self._process is not None
        code = self._process.wait()
        how = f"exit status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"signal {signal.Signals(-code).name}"
        log = self._log_path()
        words = log.read_bytes()[-500:].decode("utf-8", "replace").strip() if log.exists() else ""
        self._discard()
        return SolverError(engine, f"the solver's process ended with {how}", words)

    # -- second looks --------------------------------------------------------------------------------------------

    def _follow_up(self, work: Interpreter, capability: Capability, options: SolveOptions, reply: Reply) -> Answer:
        """Interpret a reply; ask again where the engine left it open or rounding broke a row."""
        if reply.reason == "INFEASIBLE_OR_UNBOUNDED":
            free = self._run(work.without_objective(), capability, options, None)
            if isinstance(free, Reply):
                reply = work.disambiguate(free)
            else:
                return Undecided(None, None, None, StopReason.TIME_LIMIT)
        answer = work.interpret(reply, capability)
        if answer is not None:
            return answer
        polish = work.with_integers_fixed(reply)
        engine = "glop" if not polish.arrays.integer.any() else "highs"
        limits = SolveOptions(engine=engine, time_limit_s=max(5.0, 0.25 * options.time_limit_s), seed=options.seed)
        fixed = self._run(polish, CAPABILITIES[engine], limits, None)
        return work.adopt(reply, fixed if isinstance(fixed, Reply) else None)


def make_request(
    arrays: Arrays, capability: Capability, options: SolveOptions, hint: bytes | None, incumbent_file: Path | None
) -> Request:
    """The request for scaled arrays; options that the engine refuses are left out (its capabilities say which)."""
    import numpy as np

    integer_programme = bool(arrays.integer.any())
    return Request(
        objective=arrays.objective.tobytes(),
        lower=arrays.lower.tobytes(),
        upper=arrays.upper.tobytes(),
        integer=arrays.integer.astype(np.uint8).tobytes(),
        row_of=arrays.row_of.tobytes(),
        column_of=arrays.column_of.tobytes(),
        coefficient=arrays.coefficient.tobytes(),
        row_lower=arrays.row_lower.tobytes(),
        row_upper=arrays.row_upper.tobytes(),
        hint=hint,
        solver_type=capability.mathopt_name,
        time_limit_s=options.time_limit_s,
        relative_gap=options.relative_gap if capability.gap and integer_programme else None,
        absolute_gap=options.absolute_gap * abs(arrays.objective_scale)
        if capability.gap and integer_programme
        else None,
        node_limit=options.node_limit if integer_programme else None,
        seed=options.seed if capability.seed else None,
        threads=capability.threads,
        incumbent_file=str(incumbent_file) if incumbent_file is not None and integer_programme else None,
        want_progress=integer_programme,
    )


def prove(
    child: SolverChild, milp: Milp, answer: Answer, options: SolveOptions, engine: str = "scip"
) -> tuple[bool | None, Answer]:
    """A second opinion on `answer` from another engine.

    Returns (agrees, that engine's answer): True when the two intervals [bound, objective] overlap (or both are
    infeasible), False when they contradict each other, None when the second engine decided nothing.
    """
    from dataclasses import replace

    hint = answer.values if isinstance(answer, Solved | Undecided) else None
    second = child.solve(milp, replace(options, engine=engine), hint)
    return agree(answer, second, milp.maximise), second


def agree(first: Answer, second: Answer, maximise: bool = False) -> bool | None:
    """Whether two answers to one programme can both be true; None where one of them says nothing."""
    if isinstance(first, Infeasible) or isinstance(second, Infeasible):
        other = second if isinstance(first, Infeasible) else first
        if isinstance(other, Infeasible):
            return True
        return None if other.values is None else False
    if first.objective is None or second.objective is None or first.bound is None or second.bound is None:
        return None
    sign = -1.0 if maximise else 1.0
    slack = 1e-6 * max(1.0, abs(first.objective), abs(second.objective))
    return (
        sign * first.bound <= sign * second.objective + slack
        and sign * second.bound <= sign * first.objective + slack
        and math.isfinite(first.objective)
    )
