"""Families of workload files over the shipped catalog: sizes and mixtures that reviews really have, from a fixed seed.

`python -m benchmarks.families FOLDER` writes one file per family; `planner solve` takes each as it is. A service is a
model of the catalog with lengths, promises, a daily rhythm, a place where it may run and ways it may be paid for, drawn
from the lists below.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Workload = dict[str, Any]

MODELS: tuple[tuple[str, float, bool], ...] = (
    ("llama-3.1-8b-instruct", 12.0, True),
    ("qwen2.5-7b-instruct", 12.0, False),
    ("qwen3-8b", 10.0, False),
    ("gemma-3-12b-it", 8.0, False),
    ("mistral-nemo-12b", 8.0, False),
    ("qwen3-14b", 7.0, False),
    ("phi-4", 7.0, False),
    ("gpt-oss-20b", 12.0, True),
    ("mistral-small-3-24b", 6.0, True),
    ("gemma-3-27b-it", 5.0, True),
    ("qwen3-30b-a3b", 10.0, False),
    ("qwen3-32b", 5.0, True),
    ("qwen2.5-32b-instruct", 5.0, False),
    ("mixtral-8x7b-instruct", 4.0, True),
    ("llama-3.3-70b-instruct", 3.0, True),
    ("qwen2.5-72b-instruct", 3.0, False),
    ("r1-distill-llama-70b", 2.0, True),
    ("glm-4.5-air", 4.0, False),
    ("gpt-oss-120b", 8.0, True),
    ("qwen3-235b-a22b", 3.0, True),
    ("llama-4-scout", 4.0, True),
    ("deepseek-v3.1", 2.0, False),
)
"""(catalog id, usual busiest rate [req/s], an API sells it too)."""
LENGTHS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("chat", 900, 250, {"ttft_p95_ms": 2000, "tpot_p95_ms": 60}),
    ("search", 3500, 300, {"ttft_p95_ms": 3000, "tpot_p95_ms": 80}),
    ("code", 1800, 120, {"ttft_p95_ms": 1500, "tpot_p95_ms": 50}),
    ("extract", 2200, 180, {"ttft_p95_ms": 8000, "tpot_p95_ms": 120}),
    ("write", 500, 800, {"ttft_p95_ms": 3000, "tpot_p95_ms": 70}),
    ("sort", 600, 20, {"ttft_p95_ms": 2500}),
)
"""(use, input tokens, output tokens, promises)."""
RHYTHMS = ("office-hours", "consumer-evening", "business-global", "coding-assistant", "servegen-m-mid")
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC")
PLACES: tuple[tuple[float, Mapping[str, Any]], ...] = (
    (0.5, {}),
    (0.2, {"countries": ["EU"]}),
    (0.15, {"countries": ["EU", "CH"], "operator_jurisdictions": ["EU", "CH"]}),
    (0.15, {"countries": ["US"]}),
)
"""(share of services, rule)."""
MIXED: tuple[tuple[float, Mapping[str, Any]], ...] = (
    (0.1, {}),
    (0.3, {"countries": ["EU"]}),
    (0.2, {"countries": ["EU", "CH"], "operator_jurisdictions": ["EU", "CH"]}),
    (0.15, {"countries": ["DE", "FR"]}),
    (0.15, {"countries": ["US"]}),
    (0.1, {"operator_jurisdictions": ["EU", "CH", "GB"]}),
)
PAYING: tuple[tuple[float, Sequence[str] | None], ...] = (
    (0.5, None),
    (0.3, ["on_demand", "reserved_1y", "reserved_3y"]),
    (0.1, ["on_demand", "reserved_1y", "spot"]),
    (0.1, ["on_demand"]),
)
"""(share of services, purchase options; None: all)."""


@dataclass(frozen=True, slots=True)
class Family:
    """How the services of a file are drawn."""

    services: int
    daily: bool = True
    """Rates follow the hours of a day (8 slices); otherwise they stand still (1 slice)."""
    volume: float = 1.0
    """Multiplies every rate."""
    places: tuple[tuple[float, Mapping[str, Any]], ...] = PLACES
    spares: float = 0.0
    """Share of services that keep a spare replica."""
    two_classes: float = 0.0
    """Share of services with requests of two lengths."""
    apis: float = 0.0
    """Share of the services with a model that is sold by the token which may overflow to an API."""


FAMILIES: dict[str, Family] = {
    "1 x 1": Family(1, daily=False),
    "12 x 8": Family(12),
    "50 x 8": Family(50),
    "200 x 8": Family(200),
    "60 small x 8": Family(60, volume=0.03),
    "24 mixed sovereignty x 8": Family(24, places=MIXED),
    "12 spares x 8": Family(12, spares=0.7),
    "12 APIs x 8": Family(12, apis=1.0),
    "12 two classes x 8": Family(12, two_classes=0.5, apis=0.5),
}


def _pick(random_: random.Random, shares: Sequence[tuple[float, Any]]) -> Any:
    return random_.choices([value for _, value in shares], [share for share, _ in shares])[0]


def workload(random_: random.Random, number: int, family: Family) -> Workload:
    """One service of a family."""
    model, usual, sold = random_.choice(MODELS)
    use, input_tokens, output_tokens, promises = random_.choice(LENGTHS)
    stretch = random_.lognormvariate(0.0, 0.35)
    lengths = {
        "input_tokens": max(20, round(input_tokens * stretch)),
        "output_tokens": max(5, round(output_tokens * random_.lognormvariate(0.0, 0.25))),
    }
    traffic: dict[str, Any] = {
        "peak_req_per_s": float(f"{usual * family.volume * random_.lognormvariate(0.0, 0.8):.3g}")
    }
    if family.daily:
        traffic |= {"profile": random_.choice(RHYTHMS), "timezone": random_.choice(ZONES)}
    if random_.random() < family.two_classes:
        long = {"input_tokens": lengths["input_tokens"] * 4, "output_tokens": lengths["output_tokens"] * 2}
        traffic["classes"] = [{"name": "usual", "share": 0.85, **lengths}, {"name": "long", "share": 0.15, **long}]
    else:
        traffic |= lengths
    options = _pick(random_, PAYING)
    spare = random_.random() < family.spares
    api = sold and random_.random() < family.apis
    if not api:
        options = options or ["on_demand", "reserved_1y", "reserved_3y", "spot"]
    made: Workload = {
        "name": f"{use}-{number:03d}",
        "model": model,
        "max_context_tokens": 16000,
        "tenancy": "dedicated",
        "traffic": traffic,
        "slo": {name: round(value * random_.uniform(0.9, 1.4)) for name, value in promises.items()},
        "sovereignty": dict(_pick(random_, family.places)),
    }
    if api:
        made["api_equivalents"] = [model]
        options = None if options is None else [*options, "api"]
    if options is not None:
        made["purchase"] = {"options": options}
    if spare:
        made["resilience"] = {"spare": {"count": 1, "domain": "replica"}}
    return made


def spec(name: str, seed: int = 0) -> dict[str, Any]:
    """The workload file of a family as plain data; same name and seed, same file."""
    family = FAMILIES[name]
    random_ = random.Random(f"{name}/{seed}")
    return {
        "schema_version": 1,
        "name": name.replace(" ", "-"),
        "workloads": [workload(random_, number, family) for number in range(family.services)],
    }


def write(name: str, folder: Path, seed: int = 0) -> Path:
    """Write the file of a family (JSON is YAML) and return its path."""
    path = folder / f"{name.replace(' ', '-')}-{seed}.yaml"
    lines = [json.dumps(w) for w in spec(name, seed)["workloads"]]
    head = f"schema_version: 1\nname: {name.replace(' ', '-')}\nworkloads:\n"
    path.write_text(head + "".join(f"  - {line}\n" for line in lines), encoding="utf-8")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every family into a folder."""
    parser = argparse.ArgumentParser(description="Write the workload files of all families.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in FAMILIES:
        print(write(name, given.folder, given.seed))


if __name__ == "__main__":
    main()
