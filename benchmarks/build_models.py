"""Build `catalogs/models.json` from published configs and check the counts against published totals.

    python benchmarks/build_models.py PATH_OF_SHARED_DATA [--output catalogs/models.json]

Prints one line per model (and per known total) and fails where a name is used twice.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.model_rows import ROWS
from benchmarks.model_rows.row import ModelRow
from planner.base import Confidence
from planner.catalog.shape import kv_bytes_per_token, model_from_config, shape_from_config
from planner.catalog.shape_describe import describe_config
from planner.catalog.types import Checkpoint, LlmModel, ModelShape

AS_OF = date(2026, 11, 30)


def load_config(row: ModelRow, configs: Path) -> Mapping[str, object]:
    """The config of a row: inline, or a file of the folder."""
    if isinstance(row.config, str):
        loaded = json.loads((configs / f"{row.config}.json").read_text(encoding="utf-8"))
        assert isinstance(loaded, dict), row.config
        return loaded
    return row.config


def aliases_of(row: ModelRow) -> tuple[str, ...]:
    """Other spellings of a row: stated ones, its name, hub ids with and without owner; unlike the id and each other."""
    found: dict[str, str] = {}
    for name in (*row.aliases, row.name, *row.repos, *(repo.split("/")[-1] for repo in row.repos)):
        if name.lower() != row.id:
            found.setdefault(name.lower(), name)
    return tuple(found.values())


def source_of(row: ModelRow) -> str:
    """Where the shape is from."""
    if row.source:
        return row.source
    return f"config published as {str(row.config).replace('__', '/')}"


def checkpoints_of(row: ModelRow, shape: ModelShape) -> tuple[Checkpoint, ...]:
    """What the row's checkpoints weigh: as logged, or counted where only the experts are quantised."""
    logged = tuple(Checkpoint(precision=p, weights_gib=gib, source=s) for p, gib, s in row.weights)
    if row.mixed is None:
        return logged
    precision, expert_bytes, other_bytes = row.mixed
    experts = shape.moe_layers * shape.experts * shape.expert_params
    wide = shape.embedding_params + shape.vision_params
    total = experts * expert_bytes + wide * 2.0 + (shape.total_params - experts - wide) * other_bytes
    source = f"counted: routed experts {expert_bytes} bytes per parameter with scales, others {other_bytes:g}"
    return (*logged, Checkpoint(precision=precision, weights_gib=round(total / 2**30, 2), source=source))


def build(row: ModelRow, configs: Path) -> LlmModel:
    """The catalog row."""
    known, config = isinstance(row.config, str), load_config(row, configs)
    return model_from_config(
        config,
        id=row.id,
        name=row.name,
        aliases=aliases_of(row),
        native=row.native,
        max_context_tokens=row.context,
        checkpoints=checkpoints_of(row, shape_from_config(config, name=row.id)),
        source=source_of(row),
        as_of=AS_OF,
        confidence=row.confidence or (Confidence.LIST if known else Confidence.DERIVED),
        note=row.note,
    )


def check_names(models: list[LlmModel]) -> None:
    """Every id and alias names one model. Raises SystemExit otherwise."""
    owner: dict[str, str] = {}
    for model in models:
        for name in {n.lower() for n in (model.id, *model.aliases)}:
            if name in owner:
                raise SystemExit(f"{name} names both {owner[name]} and {model.id}")
            owner[name] = model.id


def table(models: list[LlmModel]) -> str:
    """Parameters and cache of every model, one line each."""
    lines = [f"{'model':34} {'total B':>9} {'active B':>9} {'KV B/token':>11} {'context':>9}  native  confidence"]
    for m in models:
        s = m.shape
        lines.append(
            f"{m.id:34} {s.total_params / 1e9:9.3f} {s.active_params / 1e9:9.3f} {kv_bytes_per_token(s):11.0f} "
            f"{m.max_context_tokens:9}  {m.native_precision:7} {m.confidence.value}"
        )
    return "\n".join(lines)


def known_table(shared: Path) -> str:
    """Counted against published totals and active parameters, one line per published config."""
    lines = [f"{'config':56} {'known B':>9} {'counted':>9} {'error %':>8} {'active':>7} {'both / head / none':>24}"]
    with (shared / "catalog" / "models_known_params.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            config = json.loads((shared / "catalog" / "hf_configs" / f"{row['config']}.json").read_text("utf-8"))
            got = describe_config(config)
            total, known = float(str(got["total_params_b"])), float(row["known_total_b"])
            keys = ("active_params_b", "active_params_with_output_head_b", "active_params_without_embeddings_b")
            active = " / ".join(f"{float(str(got[key])):.2f}" for key in keys)
            error = 100 * (total / known - 1)
            lines.append(
                f"{row['config']:56} {known:9.3f} {total:9.3f} {error:8.2f} {row['known_active_b']:>7} {active:>24}"
            )
    return "\n".join(lines)


def main() -> None:
    """Write the table of models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path, help="folder with catalog/hf_configs and catalog/models_known_params.csv")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "catalogs" / "models.json")
    args = parser.parse_args()
    models = [build(row, args.shared / "catalog" / "hf_configs") for row in ROWS]
    check_names(models)
    print(table(models), known_table(args.shared), sep="\n\n")
    rows = [model.model_dump(mode="json", exclude_defaults=True) for model in models]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
