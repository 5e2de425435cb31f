"""The page on the workload file says what the reader does."""

import re
from pathlib import Path

import pytest

from planner.base import Frozen
from planner.catalog.load import load_catalog
from planner.errors import SPEC_CODES
from planner.spec import types
from planner.spec.document import read_document
from planner.spec.quantities import parse_number, unit_of
from planner.spec.resolve import resolve_spec
from planner.spec.shapes import fields_of
from tests.docs.console import ROOT
from tests.docs.fields import reference, split

PAGE = (ROOT / "docs" / "workload-file.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)


def test_every_code_is_listed_with_its_meaning() -> None:
    listed = dict(re.findall(r"^\| (S\d{3}) \| (.+) \|$", PAGE, re.MULTILINE))
    assert listed == {code: text.title for code, text in SPEC_CODES.items()}


@pytest.mark.parametrize(("field", "written", "value"), ROWS)
def test_quantities_are_read_as_shown(field: str, written: str, value: str) -> None:
    texts = re.findall(r"`([^`]+)`", written)
    assert len(texts) >= 2
    for text in texts:
        assert parse_number(text, unit_of(field)) == pytest.approx(float(value), rel=1e-15)


def test_the_table_of_quantities_is_found() -> None:
    assert len(ROWS) == 10


def test_every_field_is_listed_as_the_types_have_it() -> None:
    assert split(PAGE)[1] == reference(), "run python -m tests.docs.fields"


def test_every_field_of_every_type_occurs() -> None:
    models = [m for m in vars(types).values() if isinstance(m, type) and issubclass(m, Frozen)]
    models = [m for m in models if m not in (Frozen, types.TraceSummary)]  # a summary is read from a file
    assert len(models) > 20
    keys = {key for model in models for key in fields_of(model)}
    assert {key for key in keys if f"\n| `{key}` | " not in split(PAGE)[1]} == set()


EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WORKLOAD = """\
schema_version: 1
name: page
workloads:
  - name: chat
    model: llama-3.3-70b-instruct
    traffic: {peak_req_per_s: 1, classes: [{name: short, share: 1, input_tokens: 900, output_tokens: 90}]}
    sovereignty: {certifications: [iso27001, hds]}
"""


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_sound(example: str, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD + example, encoding="utf-8")
    document = read_document(str(path))
    catalog = load_catalog(overlays=[o for o in document.catalog.overlays if not isinstance(o, str)])
    spec = resolve_spec(document, catalog.known_names())
    key = example.partition(":")[0]
    assert getattr(spec, key) != types.Spec.model_fields[key].default


def test_there_is_an_example_of_every_part_beside_the_workloads() -> None:
    assert [e.partition(":")[0] for e in EXAMPLES] == ["policy", "fleet", "catalog", "measured"]
    assert {"prefill_tok_per_s", "capacity_req_per_s", "idle_iteration_ms"} <= set(re.findall(r"\w+", EXAMPLES[-1]))
