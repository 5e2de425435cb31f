"""A fault in an inline catalog fragment stands where the workload file says it."""

from pathlib import Path

import pytest

from planner.errors import Fault
from planner.spec.document import SpecDocument, read_document
from planner.spec.locate import locate

TEXT = """\
schema_version: 1
name: t
workloads: []
catalog:
  overlays:
    - own.yaml
    - offers:
        - {provider: acme, accelerator: L4, price_usd_per_hour: 0}
"""


@pytest.fixture
def document(tmp_path: Path) -> SpecDocument:
    (tmp_path / "w.yaml").write_text(TEXT, encoding="utf-8")
    return read_document(str(tmp_path / "w.yaml"))


def place(document: SpecDocument, path: str) -> tuple[int | None, int | None]:
    (fault,) = locate(document, [Fault("C108", "zero", path)])
    return fault.line, fault.column


def test_a_field_a_row_and_a_missing_field_have_places(document: SpecDocument) -> None:
    row = "catalog.overlays[1].offers[0]"
    assert place(document, f"{row}.price_usd_per_hour") == (8, 65)
    assert place(document, row) == (8, 11)
    assert place(document, f"{row}.country") == (8, 11)
    assert place(document, "catalog.path") == (4, 1)
    assert place(document, "nowhere") == (None, None)


def test_faults_of_other_files_stay(document: SpecDocument) -> None:
    fault = Fault("C108", "zero", "offers[0]", line=3, file="own.yaml")
    assert locate(document, [fault]) == (fault,)
    (found,) = locate(document, [Fault("C108", "zero", "catalog.overlays[0]")])
    assert found.file == document.path and found.source == "    - own.yaml"
