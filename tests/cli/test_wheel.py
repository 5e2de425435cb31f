"""The wheel stands on its own: outside the checkout the catalog is found and the entry point works."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder), str(ROOT)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("planner-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def _run(site: Path, cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PLANNER_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "planner", *args], cwd=cwd, capture_output=True, text=True, timeout=120,
        env={**environment, "PYTHONPATH": str(site)},
    )  # fmt: skip


@pytest.mark.slow
def test_catalog_is_found_outside_the_checkout(site: Path, tmp_path: Path) -> None:
    assert (site / "planner" / "_catalogs" / "accelerators.csv").is_file()
    where = _run(site, tmp_path, "catalog", "show", "H100-SXM")
    assert where.returncode == 0, where.stderr
    assert "[accelerators]" in where.stdout
    code = "import planner.catalog.load as l; print(l.shipped_directory())"
    found = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(site)})  # fmt: skip
    assert found.stdout.strip() == str(site / "planner" / "_catalogs")


@pytest.mark.slow
def test_solve_works_from_the_wheel(site: Path, tmp_path: Path) -> None:
    spec = Path(__file__).with_name("one_h100.yaml")
    done = _run(site, tmp_path, "solve", str(spec), "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rank,title,")


@pytest.mark.slow
def test_wheel_has_licence_entry_point_and_nothing_else(site: Path) -> None:
    (info,) = site.glob("planner-*.dist-info")
    assert "planner = planner.__main__:main" in (info / "entry_points.txt").read_text()
    assert (info / "licenses" / "LICENSE").is_file()
    assert {p.name for p in site.iterdir()} == {"planner", info.name}
