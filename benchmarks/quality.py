"""Quality against peers: `python -m benchmarks.quality FOLDER`, FOLDER with `melange/` and `inferno/` problems.

For every problem: the known optimum, our plan's cost with its gap, the cost of the peer's own formulation as a naive
MILP (PuLP, CBC), and both times, taken in turns in one run. `solve` is reducing, compiling and solving in a running
child process; `whole` is everything from the spec's text to the verified plan with its bound; `naive` is building and
solving with CBC. Times are medians. Costs in USD per hour. Rows that we lose are printed like the others.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.naive import Naive, load_pulp, one_kind_cost, slices_cost
from planner.candidates.build import build_problem
from planner.cli.progress import ProgressLine
from planner.cli.run import RunOptions, load, solve_loaded
from planner.peers.inferno import read_inferno
from planner.peers.inferno_spec import inferno_spec
from planner.peers.melange import melange_spec, read_melange
from planner.solve.engine import SolverChild
from planner.solve.large import solve_programme
from planner.solve.programme import CompiledProgramme
from planner.solve.types import SolveOptions
from planner.units import HOURS_PER_MONTH

LIMIT_S = 60.0
CENTS_PER_USD = 100.0


@dataclass(frozen=True, slots=True)
class Ours:
    """Cost in USD per hour (None: no plan), its gap, and the seconds of the programme and of the whole line."""

    usd_per_hour: float | None
    gap: float
    status: str
    solve_s: float
    whole_s: float


@dataclass(frozen=True, slots=True)
class Line:
    """One problem."""

    name: str
    exact: float | None
    ours: Ours
    naive: Naive


def solve_ours(path: Path, child: SolverChild) -> Ours:
    """One spec through the planner, and its programme alone, at gap 0."""
    started = time.perf_counter()
    options = RunOptions(gap=0.0, top=1, explain="none", time_limit_s=LIMIT_S)
    result = solve_loaded(load(str(path)), options, child, ProgressLine(asked=False)).result
    whole_s = time.perf_counter() - started
    loaded = load(str(path))
    problem = build_problem(loaded.spec, loaded.catalog, loaded.demand)
    started = time.perf_counter()
    programme = CompiledProgramme.of(problem, loaded.catalog)
    solve_programme(
        child, programme.milp, SolveOptions(time_limit_s=LIMIT_S, relative_gap=0.0), programme.structure(programme.milp)
    )
    solve_s = time.perf_counter() - started
    plan = result.plans[0] if result.plans else None
    cost = None if plan is None else plan.cost.total_usd_per_month / HOURS_PER_MONTH
    return Ours(cost, 0.0 if plan is None else plan.gap, result.status, solve_s, whole_s)


def compare(
    name: str, exact: float | None, text: str, naive: Callable[[], Naive], child: SolverChild, repeats: int
) -> Line:
    """A problem, both ways in turns; the times are medians over `repeats`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(text, encoding="utf-8")
        pairs = [(solve_ours(path, child), naive()) for _ in range(repeats)]
    ours, theirs = pairs[0]
    return Line(
        name,
        exact,
        Ours(
            ours.usd_per_hour, ours.gap, ours.status,
            statistics.median(o.solve_s for o, _ in pairs), statistics.median(o.whole_s for o, _ in pairs),
        ),
        Naive(theirs.usd_per_hour, statistics.median(n.seconds for _, n in pairs), theirs.status),
    )  # fmt: skip


def melange_lines(folder: Path, slices: int, child: SolverChild, repeats: int) -> list[Line]:
    """Every Mélange problem of a folder with a `results.csv` of exact costs."""
    with (folder / "results.csv").open(encoding="utf-8") as file:
        exact = {row["problem"]: row["exact_usd_per_h"] for row in csv.DictReader(file)}
    lines = []
    for path in sorted(folder.glob("*.json")):
        problem = read_melange(str(path))
        text = melange_spec(problem, path.stem, path.name)
        known = float(exact[path.stem]) if exact.get(path.stem) else None
        lines.append(
            compare(path.stem, known, text, lambda p=problem: slices_cost(p, slices, LIMIT_S), child, repeats)  # type: ignore[misc]
        )
    return lines


def inferno_line(folder: Path, child: SolverChild, repeats: int) -> Line:
    """llm-inferno's small sample."""
    exact = json.loads((folder / "exact-small.json").read_text(encoding="utf-8"))
    system = read_inferno(str(folder / "small"))
    return compare(
        "inferno-small",
        exact["multi-limited"]["cost"] / CENTS_PER_USD,
        inferno_spec(system, "inferno-small", "small"),
        lambda: one_kind_cost(system, LIMIT_S),
        child,
        repeats,
    )


def row(line: Line) -> str:
    """One row of the table."""

    def money(value: float | None, otherwise: str) -> str:
        return otherwise if value is None else f"{value:.6g}"

    ours, naive = line.ours, line.naive
    gap = "" if ours.usd_per_hour is None else f"{100 * ours.gap:.2g} %"
    cells = (
        line.name, money(line.exact, "–"), money(ours.usd_per_hour, ours.status), gap,
        money(naive.usd_per_hour, naive.status.lower()), f"{ours.solve_s:.3f}", f"{ours.whole_s:.3f}",
        f"{naive.seconds:.3f}", f"{ours.solve_s / naive.seconds:.2f}", f"{ours.whole_s / naive.seconds:.2f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--slices", type=int, default=4, help="slices per request size of the naive model")
    parser.add_argument("--repeats", type=int, default=3, help="repeats; times are medians")
    options = parser.parse_args()
    load_pulp()
    with SolverChild() as child:
        melange = melange_lines(options.folder / "melange", options.slices, child, options.repeats)
        lines = [*melange, inferno_line(options.folder / "inferno", child, options.repeats)]
    print("| problem | exact | ours | gap | naive | solve s | whole s | naive s | solve ÷ naive | whole ÷ naive |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for line in lines:
        print(row(line))
    feasible = [x for x in melange if x.exact is not None]
    ratios = [x.ours.solve_s / x.naive.seconds for x in feasible]
    print(f"median solve ÷ naive: {statistics.median(ratios):.2f}, slower in {sum(r > 1 for r in ratios)} problems")
    for what, times in (
        ("solve", [x.ours.solve_s for x in feasible]),
        ("whole", [x.ours.whole_s for x in feasible]),
        ("naive", [x.naive.seconds for x in feasible]),
    ):
        print(f"median {what} of the {len(feasible)} feasible Mélange problems: {statistics.median(times):.3f} s")


if __name__ == "__main__":
    main()
