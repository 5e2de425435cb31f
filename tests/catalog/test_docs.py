"""The page on the catalog: its overlay loads, its codes are the loader's, its tables are all."""

import re
from pathlib import Path

import planner.catalog
from planner.catalog.files import load_yaml
from planner.catalog.load import load_catalog
from planner.catalog.tables import TABLES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "catalog.md").read_text(encoding="utf-8")


def test_the_overlay_of_the_page_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    data = load_yaml(text)
    assert isinstance(data, dict)
    found = load_catalog(overlays=[data])
    offers = {o.id: o for o in found.offers}
    assert offers["acme/eu-1/8xH100-SXM/reserved_1y"].price_usd_per_hour == 20.0
    assert offers["aws/eu-north-1/p5.48xlarge/on_demand"].price_usd_per_hour == 41.6
    assert round(found.model("ours").shape.total_params / 1e9, 2) == 70.55
    assert found.provider("acme").operator_jurisdiction == "DE"


def test_every_code_is_on_the_page_and_raised_somewhere() -> None:
    listed = set(re.findall(r"^\| (C\d{3}) \|", PAGE, re.M))
    folder = Path(planner.catalog.__file__).parent
    raised = {c for p in folder.glob("*.py") for c in re.findall(r'"(C1\d\d)"', p.read_text(encoding="utf-8"))}
    assert listed == raised


def test_every_table_is_on_the_page() -> None:
    assert all(f"\n| {table} | " in PAGE for table in TABLES)
