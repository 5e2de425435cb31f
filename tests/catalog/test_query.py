"""Lists, look-ups and findings for people."""

import pytest

from planner.catalog.catalog import UnknownName
from planner.catalog.check import check_catalog
from planner.catalog.load import load_catalog
from planner.catalog.query import rows_of, show
from planner.catalog.tables import TABLES

CATALOG = load_catalog()


@pytest.mark.parametrize("table", TABLES)
def test_every_table_lists_with_provenance(table: str) -> None:
    columns, rows = rows_of(CATALOG, table)
    assert columns[-3:] == ("source", "as_of", "confidence")
    assert len(rows) == len(getattr(CATALOG, table))
    assert all(len(row) == len(columns) for row in rows)
    assert all(cell is None or isinstance(cell, str | int | float) for row in rows for cell in row)


def test_offers_list_price_per_accelerator_and_country() -> None:
    columns, rows = rows_of(CATALOG, "offers")
    found = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}["aws/eu-north-1/p5.48xlarge/on_demand"]
    assert (found["accelerator"], found["accelerators"], found["country"]) == ("H100-SXM", 8, "SE")
    assert found["price_usd_per_accelerator_hour"] == pytest.approx(58.8928 / 8)


def test_an_unknown_table_or_name_suggests() -> None:
    with pytest.raises(UnknownName) as table:
        rows_of(CATALOG, "offer")
    assert "offers" in table.value.suggestions
    with pytest.raises(UnknownName) as name:
        show(CATALOG, "H100-SXN")
    assert "h100-sxm" in name.value.suggestions


def test_show_finds_ids_aliases_and_parts() -> None:
    assert [(f.table, f.id) for f in show(CATALOG, "h100-80gb")] == [("accelerators", "H100-SXM")]
    assert {f.table for f in show(CATALOG, "p5.48xlarge")} == {"instance_types", "offers"}
    (engine,) = show(CATALOG, "TensorRT-LLM")
    assert engine.fields["precisions"] == "; ".join(CATALOG.engine("trtllm").precisions)
    (model,) = (f for f in show(CATALOG, "llama-3.3-70b-instruct") if f.table == "models")
    assert model.fields["total_params_b"] == pytest.approx(70.55, abs=0.1)


def test_the_check_names_what_a_keeper_of_prices_should_see() -> None:
    findings = check_catalog(CATALOG)
    by_check = {f.check: f for f in findings}
    assert {f.row for f in findings if f.check == "spot_not_below_on_demand"} == {
        "dataoorts/any/1x-A100-80GB-PCIe/spot",
        "runpod/any/1x-A100-SXM-secure/spot",
        "runpod/any/1x-H100-SXM-secure/spot",
        "runpod/any/1x-RTX-4090-secure/spot",
    }
    assert "commitment_without_discount" not in by_check
    for expected in ("stale", "undated", "country_unknown", "operator_unknown", "superseded", "not_sold",
                     "spot_far_below_on_demand", "assumed_prices", "no_instance_type"):  # fmt: skip
        assert expected in by_check, expected
    assert findings == check_catalog(CATALOG)
