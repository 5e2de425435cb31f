"""The starter file is sound, named as asked, and can be planned."""

import re
from pathlib import Path

import pytest

from planner.catalog.load import load_catalog
from planner.demand.build import build_demand
from planner.errors import InputError
from planner.spec.document import read_document
from planner.spec.resolve import resolve_spec
from planner.spec.starter import starter_spec


@pytest.mark.parametrize("name", ["review", "2027", "santé 2027", "no", "true", "null"])
def test_the_starter_is_read_with_the_shipped_catalog(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("init") / "workload.yaml"
    path.write_text(starter_spec(name), encoding="utf-8")
    catalog = load_catalog()
    spec = resolve_spec(read_document(str(path)), catalog.known_names())
    assert spec.name == name
    assert spec.workloads[0].sovereignty.countries == ("EU",)
    demand = build_demand(spec, catalog)
    assert len(demand.services) == 1
    assert demand.classes[0].api_models


def test_a_name_that_cannot_be_an_id_is_refused() -> None:
    for name in ("", "a/b", "a: b", "x\ny"):
        with pytest.raises(InputError) as error:
            starter_spec(name)
        assert error.value.faults[0].code == "S214"


def uncommented(text: str) -> str:
    """The starter with every commented-out line taken in; the two comments at its top stay."""
    top, rest = text.splitlines()[:2], text.splitlines()[2:]
    return "\n".join([*top, *(re.sub(r"^( *)# ", r"\1", line) for line in rest)]) + "\n"


def test_what_the_starter_shows_commented_out_is_sound(tmp_path: Path) -> None:
    text = uncommented(starter_spec("review"))
    path = tmp_path / "workload.yaml"
    path.write_text(text, encoding="utf-8")
    document = read_document(str(path))
    catalog = load_catalog(overlays=document.catalog.overlays)
    spec = resolve_spec(document, catalog.known_names())
    assert spec.workloads[0].sovereignty.certifications == ("iso27001",)
    assert {o.price_usd_per_hour for o in catalog.offers if o.provider == "acme"} == {20.0, 16.0}
    assert any("10.0% discount" in o.source for o in catalog.offers if o.provider == "scaleway")
    assert spec.measured[0].decode_tok_per_s == 2500
    assert spec.policy.budget is not None and spec.policy.quotas and spec.policy.providers.deny == ("vast-ai",)
