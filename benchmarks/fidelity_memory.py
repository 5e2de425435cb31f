"""How true parameter counts and memory are: every config with a known total, every logged start.

    python -m benchmarks.fidelity_memory --models PATH_OF_SHARED_DATA
    python -m benchmarks.fidelity_memory --starts PATH_OF_SHARED_DATA

Prints Markdown tables; rows that miss their target stay in and say why they do.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory_starts import starts, starts_table
from planner.catalog.load import load_catalog
from planner.catalog.shape_describe import describe_config

TOTAL_TARGET = 0.01
ACTIVE_TARGET = 0.03
ACTIVE_KEYS = {
    "active_params_b": "both embeddings",
    "active_params_with_output_head_b": "output head",
    "active_params_without_embeddings_b": "no embeddings",
}
REASONS = {
    "deepseek-ai__DeepSeek-V4-Pro": "published as 1.6T: 1.573T rounds to it (1.599T with the draft layer)",
    "google__gemma-4-26B-A4B": "26 counts the vision tower; the model card says 25.2B, 3.8B active",
    "Qwen__Qwen3.5-35B-A3B": "A3B is a rounded name",
}


@dataclass(frozen=True, slots=True)
class Count:
    """One config's counts against what is published, in billions."""

    config: str
    known_total: float
    total: float
    with_vision: float
    known_active: float | None
    active: float
    """Under the definition that comes nearest to the published figure."""
    definition: str

    @property
    def total_error(self) -> float:
        """Relative error of the language model's total."""
        return self.total / self.known_total - 1

    @property
    def active_error(self) -> float | None:
        """Relative error of the nearest active count."""
        return None if self.known_active is None else self.active / self.known_active - 1


def counts(shared: Path) -> list[Count]:
    """Every config with a known total, as counted."""
    found = []
    with (shared / "catalog" / "models_known_params.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            config = json.loads((shared / "catalog" / "hf_configs" / f"{row['config']}.json").read_text("utf-8"))
            got = {k: v for k, v in describe_config(config).items() if isinstance(v, float)}
            known = float(row["known_active_b"]) if row["known_active_b"] else None
            key = min(ACTIVE_KEYS, key=lambda k, got=got, known=known: abs(got[k] - (known or got[k])))  # type: ignore[misc]
            found.append(
                Count(row["config"], float(row["known_total_b"]), got["total_params_b"],
                      got["total_params_with_vision_b"], known, got[key], ACTIVE_KEYS[key])
            )  # fmt: skip
    return found


def model_table(rows: list[Count]) -> str:
    """All rows as Markdown, then what is within the targets."""
    lines = [
        "| config | known B | counted B | error | with vision B | known active B | counted | error | counted with | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for r in rows:
        vision = f"{r.with_vision:.3f}" if r.with_vision > r.total else ""
        active = "" if r.known_active is None else f"{r.known_active:g}"
        error = "" if r.active_error is None else f"{100 * r.active_error:+.1f} %"
        lines.append(
            f"| {r.config} | {r.known_total:g} | {r.total:.3f} | {100 * r.total_error:+.2f} % | {vision} | {active} | "
            f"{r.active:.2f} | {error} | {r.definition} | {REASONS.get(r.config, '')} |"
        )
    totals = [r for r in rows if abs(r.total_error) <= TOTAL_TARGET]
    actives = [r for r in rows if r.active_error is not None]
    near = [r for r in actives if abs(r.active_error or 0.0) <= ACTIVE_TARGET]
    lines.append("")
    lines.append(
        f"totals within {TOTAL_TARGET:.0%}: {len(totals)} of {len(rows)}; active within {ACTIVE_TARGET:.0%}: "
        f"{len(near)} of {len(actives)}"
    )
    return "\n".join(lines)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder with catalog/ and cases/")
    parser.add_argument("--models", action="store_true", help="parameter counts")
    parser.add_argument("--starts", action="store_true", help="start-up logs against fit")
    parser.add_argument("--logged-memory", action="store_true", help="with the memory that each log prints")
    args = parser.parse_args()
    if args.models:
        print(model_table(counts(args.shared)))
    if args.starts:
        cases = args.shared / "cases" / "cases_handed.jsonl"
        print(starts_table(starts(cases, load_catalog(), logged_memory=args.logged_memory)))


if __name__ == "__main__":
    main()
