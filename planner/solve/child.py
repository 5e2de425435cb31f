"""The solver's process: reads requests from a pipe, solves them with MathOpt, writes replies. Started by `engine`.

It lives in its own session, so Ctrl-C in a terminal never reaches it, and its standard output is moved out of the
way before any engine is loaded: engines print there. It ends when its pipe closes, also in the middle of a solve.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from array import array
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from planner.solve.progress import read_sign
from planner.solve.wire import Failure, Ready, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Pipe = Connection[Any, Any]

SIGN_INTERVAL_S = 0.1


def model_proto(request: Request) -> Any:
    """The programme as MathOpt's ModelProto, filled array by array (60 k variables: see benchmarks/)."""
    from ortools.math_opt import model_pb2

    model = model_pb2.ModelProto()
    lower, row_lower = array("d", request.lower), array("d", request.row_lower)
    variables = model.variables
    variables.ids.extend(range(len(lower)))
    variables.lower_bounds.extend(lower)
    variables.upper_bounds.extend(array("d", request.upper))
    variables.integers.extend(map(bool, request.integer))
    costs = [(j, c) for j, c in enumerate(array("d", request.objective)) if c != 0.0]
    model.objective.linear_coefficients.ids.extend(j for j, _ in costs)
    model.objective.linear_coefficients.values.extend(c for _, c in costs)
    model.linear_constraints.ids.extend(range(len(row_lower)))
    model.linear_constraints.lower_bounds.extend(row_lower)
    model.linear_constraints.upper_bounds.extend(array("d", request.row_upper))
    model.linear_constraint_matrix.row_ids.extend(array("q", request.row_of))
    model.linear_constraint_matrix.column_ids.extend(array("q", request.column_of))
    model.linear_constraint_matrix.coefficients.extend(array("d", request.coefficient))
    return model


def parameters_proto(request: Request) -> Any:
    """Limits and seed as MathOpt's SolveParametersProto; what the engine refuses is absent from the request."""
    from datetime import timedelta

    from ortools.math_opt import parameters_pb2

    parameters = parameters_pb2.SolveParametersProto()
    parameters.time_limit.FromTimedelta(timedelta(seconds=request.time_limit_s))
    for name, value in (
        ("relative_gap_tolerance", request.relative_gap),
        ("absolute_gap_tolerance", request.absolute_gap),
        ("node_limit", request.node_limit),
        ("random_seed", request.seed),
        ("threads", request.threads),
    ):
        if value is not None:
            setattr(parameters, name, value)
    if request.incumbent_file is not None:
        parameters.highs.string_options["mip_improving_solution_file"] = request.incumbent_file
    return parameters


def hint_proto(request: Request) -> Any:
    """A starting solution as MathOpt's ModelSolveParametersProto."""
    from ortools.math_opt import model_parameters_pb2

    parameters = model_parameters_pb2.ModelSolveParametersProto()
    if request.hint is not None:
        known = [(j, v) for j, v in enumerate(array("d", request.hint)) if v == v]
        hint = parameters.solution_hints.add()
        hint.variable_values.ids.extend(j for j, _ in known)
        hint.variable_values.values.extend(v for _, v in known)
    return parameters


def _first_feasible(result: Any, count: int) -> bytes | None:
    """Values of the first feasible solution, zeros where MathOpt leaves a column out."""
    from ortools.math_opt import solution_pb2

    for solution in result.solutions:
        primal = solution.primal_solution
        if primal.feasibility_status == solution_pb2.SOLUTION_STATUS_FEASIBLE:
            values = array("d", bytes(8 * count))
            for column, value in zip(primal.variable_values.ids, primal.variable_values.values, strict=True):
                values[column] = value
            return values.tobytes()
    return None


def _duals(result: Any, rows: int) -> bytes | None:
    """Dual values of the first solution that has them, zeros where MathOpt leaves a row out."""
    for solution in result.solutions:
        if solution.HasField("dual_solution"):
            values = array("d", bytes(8 * rows))
            duals = solution.dual_solution.dual_values
            for row, value in zip(duals.ids, duals.values, strict=True):
                values[row] = value
            return values.tobytes()
    return None


def solve(request: Request, report: Callable[[Sequence[str]], None] | None) -> Reply:
    """Solve one request. MathOpt's refusals become a Reply with reason REFUSED and the status' own text."""
    from ortools.math_opt import callback_pb2, parameters_pb2, result_pb2
    from ortools.math_opt.core.python import solver
    from pybind11_abseil.status import StatusNotOk  # type: ignore[import-untyped]

    started = time.monotonic()
    try:
        result = solver.solve(  # type: ignore[no-untyped-call]
            model_proto(request), parameters_pb2.SolverTypeProto.Value(request.solver_type),
            parameters_pb2.SolverInitializerProto(), parameters_proto(request), hint_proto(request),
            report, callback_pb2.CallbackRegistrationProto(), None, None,
        )  # fmt: skip
    except StatusNotOk as status:
        return Reply("REFUSED", "", str(status), None, float("nan"), time.monotonic() - started)
    termination = result.termination
    return Reply(
        reason=result_pb2.TerminationReasonProto.Name(termination.reason).removeprefix("TERMINATION_REASON_"),
        limit=result_pb2.LimitProto.Name(termination.limit).removeprefix("LIMIT_") if termination.limit else "",
        detail=termination.detail,
        values=_first_feasible(result, len(request.lower) // 8),
        bound=termination.objective_bounds.dual_bound,
        seconds=time.monotonic() - started,
        duals=None if any(request.integer) else _duals(result, len(request.row_lower) // 8),
    )


def _reporter(pipe: Pipe) -> Callable[[Sequence[str]], None]:
    """A message callback that sends at most ten signs of life per second."""
    last = 0.0

    def report(lines: Sequence[str]) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SIGN_INTERVAL_S:
            return
        for line in reversed(lines):
            sign = read_sign(line)
            if sign is not None:
                last = now
                pipe.send(sign)
                return

    return report


def _read_requests(pipe: Pipe, requests: queue.SimpleQueue[Request]) -> None:
    """Feed the queue; leave at once when the other side is gone."""
    while True:
        try:
            requests.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)


def _hide_stdout() -> None:
    """Whatever writes to file descriptor 1 from here on writes to file descriptor 2."""
    sys.stdout.flush()
    os.dup2(2, 1)


def main() -> None:
    """Serve the pipe whose file descriptor is the first argument until it closes."""
    _hide_stdout()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe: Pipe = Connection(int(sys.argv[1]))
    requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(pipe, requests), daemon=True).start()
    import ortools
    from ortools.math_opt import model_parameters_pb2, model_pb2, solution_pb2  # noqa: F401  (loaded while we wait)
    from ortools.math_opt.core.python import solver  # noqa: F401

    pipe.send(Ready(ortools.__version__))
    while True:
        request = requests.get()
        try:
            pipe.send(solve(request, _reporter(pipe) if request.want_progress else None))
        except Exception as error:  # any failure here belongs to the caller, with its text
            pipe.send(Failure(type(error).__name__, str(error)))


if __name__ == "__main__":
    main()
