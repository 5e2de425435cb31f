"""The catalog against the shared data: names in measurements, collected prices, the script that made the files."""

import csv
import importlib.util
from pathlib import Path

import pytest

from planner.catalog.load import load_catalog, shipped_directory

CATALOG = load_catalog()
NO_DEVICE = ("unstated", "AMD Instinct MI300X 192GB HBM3 (x")
"""Rows of measured.csv that name no single device."""


@pytest.mark.shared
def test_every_measured_device_is_known(shared_data: Path) -> None:
    with (shared_data / "perf" / "measured.csv").open(encoding="utf-8") as f:
        names = {row["gpu"] for row in csv.DictReader(f)}
    known = CATALOG.known_names().accelerators
    assert not sorted(n for n in names if n and not n.startswith(NO_DEVICE) and n.lower() not in known)


@pytest.mark.shared
def test_every_device_of_the_specs_is_known_with_its_figures(shared_data: Path) -> None:
    with (shared_data / "catalog" / "gpu_specs.csv").open(encoding="utf-8") as f:
        for row in csv.DictReader(f):
            accelerator = CATALOG.accelerator(row["gpu"])
            if accelerator.kind != "cpu":
                assert accelerator.memory_gb == float(row["memory_gb"])
                assert accelerator.bandwidth_gb_per_s == float(row["mem_bw_gb_s"].split("-")[0])


@pytest.mark.shared
def test_regions_agree_with_the_collected_countries(shared_data: Path) -> None:
    with (shared_data / "catalog" / "region_country.csv").open(encoding="utf-8") as f:
        for row in csv.DictReader(f):
            region = CATALOG.region(row["provider"], row["region"])
            assert region is not None and region.country == row["country"], row


@pytest.mark.shared
def test_the_committed_offers_are_what_the_script_makes(shared_data: Path, tmp_path: Path) -> None:
    script = shipped_directory().parent / "benchmarks" / "build_offers.py"
    spec = importlib.util.spec_from_file_location("build_offers", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["build_offers"] = module
    spec.loader.exec_module(module)
    assert module.main([str(shared_data / "catalog"), str(tmp_path)]) == 0
    for made in sorted(tmp_path.rglob("*.csv")):
        committed = shipped_directory() / made.relative_to(tmp_path)
        assert made.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8"), made.name
