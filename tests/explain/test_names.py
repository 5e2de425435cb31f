"""How names that people ask about are read."""

import pytest

from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog
from planner.explain.names import read_name


@pytest.fixture(scope="module")
def shipped() -> Catalog:
    return load_catalog()


def test_beginning_of_several_ids_is_read_as_all_of_them(shipped: Catalog) -> None:
    read = read_name("A100", shipped)
    assert {"a100", "a100-sxm-80gb", "a100-sxm-40gb"} <= set(read.same)
    assert not any(s.startswith("a10-") or s == "a10" for s in read.same)
    assert read.kinds == ("accelerator",)
    assert read.said is not None
    assert "a spec that says A100 means A100-SXM-80GB" in read.said


def test_alias_is_read_as_the_one_id(shipped: Catalog) -> None:
    read = read_name("H100-80GB", shipped)
    assert set(read.same) == {"h100-80gb", "h100-sxm"}
    assert read.said == "H100-80GB is read as H100-SXM"


@pytest.mark.parametrize("name", ["L4", "l4", "vllm", "exoscale", "EU"])
def test_plain_names_need_no_words(shipped: Catalog, name: str) -> None:
    read = read_name(name, shipped)
    assert read.said is None
    assert read.kinds
    assert read.near == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [("H1OO", "H100-SXM"), ("exoscal", "exoscale"), ("llama-3.3-70b-instrct", "llama-3.3-70b-instruct"),
     ("vlm", "vllm"), ("ownclod", "owncloud")],
)  # fmt: skip
def test_slips_are_answered_with_near_names(shipped: Catalog, name: str, meant: str) -> None:
    read = read_name(name, shipped, ["owncloud"])
    assert read.kinds == ()
    assert meant in read.near


def test_names_that_the_catalog_cannot_sell_are_told(shipped: Catalog) -> None:
    bare = Catalog(**{**{f: getattr(shipped, f) for f in shipped.__dataclass_fields__}, "offers": (), "apis": ()})
    assert not read_name("L4", bare).sold_by_catalog
    assert read_name("L4", shipped).sold_by_catalog
    assert read_name("vllm", bare).sold_by_catalog
