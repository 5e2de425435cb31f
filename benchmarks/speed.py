"""Speed over the shipped catalog: `python -m benchmarks.speed [FAMILY …] [--seconds N] [--seed N]`.

For each family of `benchmarks.families` the command's own path, phase by phase, in a process of its own: reading,
candidates, reductions, compiling; the size of the programme before and after reductions; then the search for the
cheapest plan alone, with the time at which its gap first was 5, 1, 0.5 and 0.1 %. Wall seconds, with the processor
seconds of preparing beside them (on a machine with other work the first are longer); memory is the largest of our
process and of the engine's. Says nothing of the quality of plans beyond their gap.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from benchmarks.families import FAMILIES, write
from planner.candidates.build import build_problem
from planner.candidates.reduce import core
from planner.cli.main import SELDOM
from planner.cli.run import load
from planner.formulation.compile import compile_milp
from planner.solve.engine import SolverChild
from planner.solve.large import solve_programme
from planner.solve.programme import CompiledProgramme
from planner.solve.rank import QUICK_SHARE
from planner.solve.types import Infeasible, Progress, SolveOptions
from planner.units import HOURS_PER_MONTH

Found = TypeVar("Found")
GAPS = (0.05, 0.01, 0.005, 0.001)
"""Relative gaps whose first time is printed."""


@dataclass
class Measured:
    """One run of one family; seconds."""

    family: str
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0
    """Of preparing."""
    services: int = 0
    slices: int = 0
    candidates: int = 0
    kept: int = 0
    columns: int = 0
    integers: int = 0
    rows: int = 0
    reached: dict[float, float] = field(default_factory=dict)
    """Gap → when it was first reached."""
    usd: float = 0.0
    gap: float = 1.0
    own_mib: float = 0.0
    engine_mib: float = 0.0


class Watch:
    """Best incumbent and bound so far, and when each gap was reached."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.best, self.bound = float("inf"), float("-inf")
        self.reached: dict[float, float] = {}

    def see(self, progress: Progress) -> None:
        """Take a sign of life."""
        self.best = min(self.best, progress.incumbent if progress.incumbent is not None else self.best)
        self.bound = max(self.bound, progress.bound if progress.bound is not None else self.bound)
        for gap in GAPS:
            if gap not in self.reached and self.gap <= gap:
                self.reached[gap] = time.perf_counter() - self.started

    @property
    def gap(self) -> float:
        """(best − bound) / best."""
        open_part = self.best - max(self.bound, 0.0)
        return open_part / self.best if 0 < self.best < float("inf") and math.isfinite(self.bound) else float("inf")


def measure(family: str, path: Path, seconds: float) -> Measured:
    """One run."""
    gc.set_threshold(*SELDOM)
    found = Measured(family)

    def timed(phase: str, action: Callable[[], Found]) -> Found:
        started, cpu = time.perf_counter(), time.process_time()
        result = action()
        found.seconds[phase] = time.perf_counter() - started
        found.cpu_s += time.process_time() - cpu
        return result

    loaded = timed("read", lambda: load(str(path)))
    problem = timed("candidates", lambda: build_problem(loaded.spec, loaded.catalog, loaded.demand))
    reduced = timed("reduce", lambda: core(problem))
    compiled = timed("compile", lambda: compile_milp(reduced))
    milp = compiled.milp
    found.services, found.slices = len(loaded.demand.services), len(loaded.demand.slices)
    found.candidates, found.kept = len(problem.candidates), len(reduced.candidates)
    found.columns, found.rows = len(milp.variables), len(milp.rows)
    found.integers = sum(v.integer for v in milp.variables)
    programme = CompiledProgramme(compiled, loaded.catalog, problem)
    structure, quick = programme.structure(milp), programme.quick()
    with SolverChild() as child:
        watch = Watch()
        options = SolveOptions(time_limit_s=seconds, relative_gap=min(GAPS))
        if quick is not programme:
            # As the command: plans from the restriction to whole mixes, whose bound is none.
            first = replace(options, time_limit_s=QUICK_SHARE * seconds)
            start = solve_programme(child, quick.milp, first, quick.structure(quick.milp))
            watch.see(Progress(None if isinstance(start, Infeasible) else start.objective, None))
            options = replace(options, time_limit_s=seconds - (time.perf_counter() - watch.started))
        answer = solve_programme(child, milp, options, structure, None, watch.see)
        found.seconds["solve"] = time.perf_counter() - watch.started
    if not isinstance(answer, Infeasible):
        watch.see(Progress(answer.objective, answer.bound))
        found.usd = watch.best * HOURS_PER_MONTH
        found.gap, found.reached = watch.gap, watch.reached
    found.own_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found.engine_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return found


def row(m: Measured) -> str:
    """A line of the table."""
    phases = " | ".join(f"{m.seconds[p]:.2f}" for p in ("read", "candidates", "reduce", "compile"))
    reached = " | ".join(f"{m.reached[g]:.1f}" if g in m.reached else "–" for g in GAPS)
    preparing = sum(m.seconds[p] for p in ("read", "candidates", "reduce", "compile"))
    each = 1000.0 * m.cpu_s / m.services
    gap = f"{100 * m.gap:.2f}" if math.isfinite(m.gap) else "–"
    return (
        f"| {m.family} | {m.candidates:,} → {m.kept:,} | {m.integers:,} | {m.rows:,} | {phases} | {preparing:.1f} | "
        f"{each:.0f} | {reached} | {m.seconds['solve']:.0f} | {gap} | {m.usd:,.0f} | {m.own_mib:.0f} | "
        f"{m.engine_mib:.0f} |"
    )


HEAD = (
    "| services x slices | candidates → core | integers | rows | read | candidates | reduce | compile | all four | "
    "cpu ms per service | to 5 % | 1 % | 0.5 % | 0.1 % | solve | gap % | USD/month | MiB | engine MiB |"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, and how preparing and programme grow from the smallest to the largest daily family."""
    parser = argparse.ArgumentParser(description="Speed of large problems over the shipped catalog.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of: {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the search for the cheapest plan")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    unknown = [f for f in given.families if f not in FAMILIES]
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, seed {given.seed}, {given.seconds:g} s to solve\n")
    print(HEAD)
    print("| --- |" + " ---: |" * (HEAD.count("|") - 2))
    found: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.families or FAMILIES:
            path = write(name, Path(folder), given.seed)
            with multiprocessing.get_context("spawn").Pool(1) as one:  # a process each: memory is its own
                found[name] = one.apply(measure, (name, path, given.seconds))
            print(row(found[name]), flush=True)
    daily = [m for m in found.values() if m.slices > 1 and m.family.count(" ") == 2]
    if len(daily) > 1:
        small, large = daily[0], daily[-1]
        print(
            f"\nfrom {small.services} to {large.services} services ({large.services / small.services:.1f} ×): "
            f"preparing {large.cpu_s / small.cpu_s:.1f} ×, integers {large.integers / small.integers:.1f} ×, "
            f"memory {large.own_mib / small.own_mib:.1f} ×"
        )


if __name__ == "__main__":
    main()
