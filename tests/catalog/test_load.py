"""The shipped catalog loads, is complete and dated, and never depends on the order or the cache it was read from."""

from planner.catalog.load import load_catalog


def test_shipped_catalog_loads_with_dated_rows() -> None:
    catalog = load_catalog()
    assert len(catalog.offers) > 2000
    assert all(row.source and row.as_of and row.confidence for row in (*catalog.offers, *catalog.accelerators))
