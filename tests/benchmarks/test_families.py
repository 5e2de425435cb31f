"""Families: every file is one that the command takes, from a fixed seed; large ones are the same in any order."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.families import FAMILIES, LENGTHS, MODELS, spec, write
from planner.catalog.load import load_catalog
from planner.cli.run import RunOptions, load, solve_spec
from planner.report.result import result_json


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_a_spec_of_its_size(name: str, tmp_path: Path) -> None:
    if FAMILIES[name].services > 24:
        pytest.skip("the same code at another size")
    loaded = load(str(write(name, tmp_path)))
    assert len(loaded.demand.services) == FAMILIES[name].services
    assert len(loaded.demand.slices) == (8 if FAMILIES[name].daily else 1)


def test_a_seed_gives_one_file() -> None:
    assert spec("12 x 8", 1) == spec("12 x 8", 1) != spec("12 x 8", 2)


def test_models_are_known() -> None:
    catalog = load_catalog()
    for name, _, sold in MODELS:
        assert catalog.model(name).id == name
        assert bool(catalog.api_offers(name)) or not sold
    assert len({use for use, *_ in LENGTHS}) == len(LENGTHS)


def shuffled(tree: Any, mixer: random.Random) -> Any:
    """The same file with every list whose order means nothing, and every mapping, in another order."""
    if isinstance(tree, dict):
        keys = list(tree)
        mixer.shuffle(keys)
        return {k: shuffled(tree[k], mixer) for k in keys}
    if isinstance(tree, list):
        mixed = [shuffled(x, mixer) for x in tree]
        mixer.shuffle(mixed)
        return mixed
    return tree


def answer(fields: Any, path: Path) -> dict[str, Any]:
    path.write_text(json.dumps(fields))
    options = RunOptions(time_limit_s=300.0, gap=0.05, top=1, explain="none")
    result: dict[str, Any] = json.loads(result_json(solve_spec(str(path), options).result))
    del result["provenance"]["spec_sha256"]
    return result


@pytest.mark.slow
def test_order_changes_nothing(tmp_path: Path) -> None:
    fields = spec("12 APIs x 8")
    fields["workloads"] = fields["workloads"][:2]
    first = answer(fields, tmp_path / "spec.yaml")
    assert first["deterministic"]
    assert answer(shuffled(fields, random.Random(3)), tmp_path / "spec.yaml") == first
