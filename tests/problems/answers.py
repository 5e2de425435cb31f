"""Whole runs of the product in this process, and what one looks for in their answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.cli.progress import ProgressLine
from planner.cli.run import RunOptions, exit_code, load, solve_loaded
from planner.report.result import result_json
from planner.solve.engine import SolverChild

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "problems"
MONTH_H = 730.0


@dataclass(frozen=True)
class Answer:
    """The exit code and the document that `planner solve SPEC --format json` gives."""

    code: int
    result: dict[str, Any]

    @property
    def best(self) -> dict[str, Any]:
        """The first plan."""
        plan: dict[str, Any] = self.result["plans"][0]
        return plan

    @property
    def usd(self) -> float:
        """USD/month of the first plan."""
        return float(self.best["cost"]["total_usd_per_month"])

    @property
    def baselines(self) -> dict[str, float | None]:
        """USD/month by name; None: cannot be built."""
        return {b["name"]: b["cost"] for b in self.result["baselines"]}

    def checks(self, *words: str) -> list[dict[str, Any]]:
        """Failed checks of every refused thing whose name holds all words."""
        found = [r for r in self.result["rejected"] if all(w in r["what"] for w in words)]
        return [c for r in found for c in r["checks"]]

    def flips(self, what: str) -> list[dict[str, Any]]:
        """Break-evens of the first plan: `api_volume` or `api_price`."""
        return [f for f in self.best["explanation"]["flips"] if f["what"] == what]


class Desk:
    """Solves specs one after the other with one solver process; each file once."""

    def __init__(self, child: SolverChild, folder: Path) -> None:
        self._child = child
        self._folder = folder
        self._solved: dict[Path, Answer] = {}

    def file(self, path: Path, **options: Any) -> Answer:
        """The answer to a spec file; solved with the options of the first call."""
        if path not in self._solved:
            self._solved[path] = self._solve(path, RunOptions(**options))
        return self._solved[path]

    def spec(self, spec: Mapping[str, Any], **options: Any) -> Answer:
        """The answer to a spec given as a mapping (JSON is YAML)."""
        path = self._folder / "spec.yaml"
        path.write_text(json.dumps(spec), encoding="utf-8")
        return self._solve(path, RunOptions(**options))

    def _solve(self, path: Path, options: RunOptions) -> Answer:
        outcome = solve_loaded(load(str(path)), options, self._child, ProgressLine(asked=False))
        return Answer(exit_code(outcome, options.max_gap), json.loads(result_json(outcome.result)))


def accelerators(plan: Mapping[str, Any]) -> dict[str, int]:
    """Accelerators bought, by kind, at the largest."""
    counts: Counter[str] = Counter()
    for p in plan["purchases"]:
        counts[p["accelerator"]] += max(p["instances_by_slice"].values()) * p["accelerators_per_instance"]
    return dict(counts)


def used(plan: Mapping[str, Any], field: str) -> set[Any]:
    """Values of a field over deployments that run somewhere."""
    return {d[field] for d in plan["deployments"] if any(d["replicas_by_slice"].values())}
