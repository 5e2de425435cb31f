"""The order in which overlay fragments are given changes no byte of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog
from planner.catalog.tables import TABLES
from planner.solve.engine import SolverChild
from tests import strategies as s
from tests.properties.test_solver_properties import solve


@pytest.fixture(scope="module")
def engine() -> Iterator[SolverChild]:
    with SolverChild() as child:
        yield child


def rows(catalog: Catalog, table: str) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json", exclude_none=True) for row in getattr(catalog, table)]


def write_base(catalog: Catalog, folder: Path) -> None:
    """Every table as a file, of the offers only the first."""
    (folder / "catalog.yaml").write_text("name: tiny\nas_of: 2026-11-30\nprice_date: 2026-11-30\n", encoding="utf-8")
    for table in TABLES:
        kept = rows(catalog, table)[:1] if table == "offers" else [] if table == "apis" else rows(catalog, table)
        (folder / f"{table}.json").write_text(json.dumps(kept), encoding="utf-8")


def fragments(catalog: Catalog) -> list[dict[str, object]]:
    """One overlay fragment per other offer and API."""
    offers = [{"offers": [row]} for row in rows(catalog, "offers")[1:]]
    return [*offers, *({"apis": [row]} for row in rows(catalog, "apis"))]


@settings(max_examples=12)
@given(s.cases(), st.data())
def test_permuting_overlays_changes_no_byte(engine, tmp_path_factory, case, data):
    folder = tmp_path_factory.mktemp("catalog")
    write_base(case.catalog, folder)
    parts = fragments(case.catalog)
    first = load_catalog(str(folder), parts)
    second = load_catalog(str(folder), data.draw(st.permutations(parts)))
    assert (first.offers, first.apis) == (second.offers, second.apis)
    assert len(first.offers) == len(case.catalog.offers)
    one, two = solve(s.Case(case.spec, first), engine), solve(s.Case(case.spec, second), engine)
    direct = solve(case, engine)
    if one is None or two is None or direct is None:
        assert one is two is direct
        return
    assert one.plan.model_dump_json() == two.plan.model_dump_json() == direct.plan.model_dump_json()
