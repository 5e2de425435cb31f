"""One engine process for the room, and specs as mappings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.cli.run import Loaded, load
from planner.solve.engine import SolverChild

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"


@pytest.fixture(scope="session")
def child() -> Iterator[SolverChild]:
    with SolverChild() as running:
        yield running


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, Any] | str], Loaded]:
    """A spec from a mapping, or from a file of `problems/`, with its catalog."""
    path = tmp_path_factory.mktemp("specs") / "spec.yaml"

    def loaded(spec: dict[str, Any] | str) -> Loaded:
        if isinstance(spec, str):
            return load(str(PROBLEMS / spec))
        path.write_text(json.dumps(spec), encoding="utf-8")
        return load(str(path))

    return loaded
