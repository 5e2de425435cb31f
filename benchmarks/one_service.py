"""Speed of one service over the whole shipped catalog: `python -m benchmarks.one_service [--repeats N]`.

For each case the command's own path, phase by phase: reading the spec and the catalog, enumerating candidates, building
the programme, and the search for the cheapest plan until it is proven to 0.1 % (HiGHS, seed 0). `in the engine` is the
time inside the engine's process up to that proof, `proof` the wall time of the search with all that surrounds it.
Says nothing of the quality of plans.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planner.candidates.build import build_problem
from planner.cli.run import load
from planner.solve.engine import SolverChild
from planner.solve.programme import CompiledProgramme
from planner.solve.rank import rank
from planner.solve.ranking import RankOptions
from planner.solve.types import Answer, Progress
from planner.verify.verify import Verifier

PROOF = ("first plan", "solve", "tidying")
"""Stages until the cheapest plan is proven."""
CHAT: dict[str, Any] = {
    "name": "chat",
    "model": "llama-3.3-70b-instruct",
    "max_context_tokens": 16000,
    "traffic": {"peak_req_per_s": 6, "input_tokens": 1500, "output_tokens": 350},
    "slo": {"ttft_p95_ms": 2000, "tpot_p95_ms": 60},
}
DAY: dict[str, Any] = {"profile": "office-hours", "timezone": "Europe/Berlin"}
TWO: list[dict[str, Any]] = [
    {"name": "short", "share": 0.8, "input_tokens": 1200, "output_tokens": 300},
    {"name": "long", "share": 0.2, "input_tokens": 4000, "output_tokens": 600},
]
SPARE: dict[str, Any] = {"spare": {"count": 1, "domain": "replica"}}
CASES: dict[str, dict[str, Any]] = {
    "1 slice": CHAT,
    "1 slice, spare": {**CHAT, "resilience": SPARE},
    "8 slices": {**CHAT, "traffic": {**CHAT["traffic"], **DAY}},
    "8 slices, spare": {**CHAT, "traffic": {**CHAT["traffic"], **DAY}, "resilience": SPARE},
    "8 slices, 2 classes, spare": {
        **CHAT, "traffic": {"peak_req_per_s": 6, "classes": TWO, **DAY}, "resilience": SPARE,
    },
    "the same in the EU": {
        **CHAT, "traffic": {"peak_req_per_s": 6, "classes": TWO, **DAY}, "resilience": SPARE,
        "sovereignty": {"countries": ["EU"]},
    },
}  # fmt: skip


class TimedChild(SolverChild):
    """Adds up the wall time of its solves by stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = ""
        self.seconds: dict[str, float] = {}

    def solve(self, *args: Any, **kwargs: Any) -> Answer:
        """As ever, with a clock."""
        started = time.perf_counter()
        try:
            return super().solve(*args, **kwargs)
        finally:
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + time.perf_counter() - started


def clocked(action: Callable[[], Any]) -> tuple[Any, float]:
    """(result, wall seconds)."""
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def measure(path: Path, child: TimedChild) -> dict[str, float]:
    """Seconds per phase, and what the search found."""
    loaded, reading = clocked(lambda: load(str(path)))
    problem, candidates = clocked(lambda: build_problem(loaded.spec, loaded.catalog, loaded.demand))
    programme, building = clocked(lambda: CompiledProgramme.of(problem, loaded.catalog))
    verify = Verifier(loaded.spec, loaded.catalog, loaded.demand).verify
    child.seconds = {}
    ended: list[float] = []

    def on_stage(stage: str, _: Progress) -> None:
        if stage not in PROOF and not ended:
            ended.append(time.perf_counter())
        child.stage = stage

    started = time.perf_counter()
    ranking = rank(programme, verify, RankOptions(time_limit_s=60.0, top=1), child, on_stage)
    best = ranking.entries[0]
    return {
        "reading": reading,
        "candidates": candidates,
        "building": building,
        "engine": sum(child.seconds.get(stage, 0.0) for stage in PROOF),
        "proof": (ended[0] if ended else time.perf_counter()) - started,
        "integers": sum(v.integer for v in programme.milp.variables),
        "usd": best.verdict.cost.total_usd_per_month,
        "gap": best.gap,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per case: medians of seconds, size of the programme, cost and gap."""
    parser = argparse.ArgumentParser(description="Speed of one service over the whole catalog.")
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args(arguments).repeats
    print(
        f"{'case':28}{'integers':>9}{'reading':>9}{'cand.':>7}{'build':>7}{'engine':>8}{'proof':>7}{'USD':>9}{'gap':>9}"
    )
    with TimedChild() as child, tempfile.TemporaryDirectory() as folder:
        child.start()
        for name, workload in CASES.items():
            path = Path(folder) / "spec.yaml"
            path.write_text(json.dumps({"schema_version": 1, "name": "one", "workloads": [workload]}))
            runs = [measure(path, child) for _ in range(repeats)]
            found = {key: sorted(run[key] for run in runs)[repeats // 2] for key in runs[0]}
            print(
                f"{name:28}{found['integers']:9.0f}{found['reading']:9.2f}{found['candidates']:7.2f}"
                f"{found['building']:7.2f}{found['engine']:8.2f}{found['proof']:7.2f}{found['usd']:9.0f}"
                f"{found['gap']:9.2%}"
            )


if __name__ == "__main__":
    main()
