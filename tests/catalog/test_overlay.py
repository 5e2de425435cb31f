"""A user's own prices, models and rows on top of the shipped catalog."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.base import Confidence, PurchaseOption
from planner.catalog.catalog import Catalog
from planner.catalog.check import check_catalog
from planner.catalog.files import load_yaml
from planner.catalog.load import load_catalog
from planner.errors import Fault, InputError

ACME = {"provider": "acme", "region": "eu-1", "country": "DE", "accelerator": "H100-SXM", "accelerators": 8}
SHIPPED = load_catalog()


def overlaid(*overlays: dict[str, Any]) -> Catalog:
    return load_catalog(overlays=overlays)


def fault_of(*overlays: dict[str, Any] | str, base_dir: Path | None = None) -> Fault:
    with pytest.raises(InputError) as caught:
        load_catalog(overlays=overlays, base_dir=base_dir)
    assert len(caught.value.faults) == 1, caught.value
    return caught.value.faults[0]


def test_an_offer_brings_its_provider_region_and_instance_type() -> None:
    found = overlaid({"offers": [{**ACME, "prices": {"on_demand": 28.8, "reserved_1y": 20.0}}]})
    new = [o for o in found.offers if o.provider == "acme"]
    assert [(o.id, o.price_usd_per_hour, o.term_months) for o in new] == [
        ("acme/eu-1/8xH100-SXM/on_demand", 28.8, 0),
        ("acme/eu-1/8xH100-SXM/reserved_1y", 20.0, 12),
    ]
    assert (new[0].source, new[0].as_of, new[0].confidence) == ("overlay", date(2026, 11, 30), Confidence.LIST)
    kind = found.instance_type("acme", "8xH100-SXM")
    assert (kind.accelerators, kind.interconnect, kind.tensor_parallel_domain) == (8, "nvlink", 8)
    region = found.region("acme", "eu-1")
    assert region is not None and region.country == "DE"
    assert found.provider("acme").operator_jurisdiction is None
    assert found.sha256 != SHIPPED.sha256
    assert set(SHIPPED.offers) < set(found.offers)


def test_prices_per_accelerator_are_times_the_count() -> None:
    found = overlaid(
        {
            "replace": ["offers", "apis"],
            "offers": [
                {**ACME, "price_usd_per_accelerator_hour": 3.6},
                {**ACME, "region": "us-1", "country": "us", "prices_per_accelerator": {"spot": 1.4}},
            ],
        }
    )
    assert [(o.id, o.price_usd_per_hour) for o in found.offers] == [
        ("acme/eu-1/8xH100-SXM/on_demand", 28.8),
        ("acme/us-1/8xH100-SXM/spot", 11.2),
    ]
    assert found.apis == ()
    region = found.region("acme", "us-1")
    assert region is not None and region.country == "US"


def test_an_offer_may_say_no_more_than_accelerator_and_price() -> None:
    found = overlaid({"replace": "offers", "offers": [{"accelerator": "l4", "price_usd_per_hour": 0.7}]})
    (offer,) = found.offers
    assert offer.id == "custom/any/1xL4/on_demand"
    region = found.region("custom", "any")
    assert region is not None and region.country is None


def test_a_known_offer_is_replaced_and_keeps_its_place() -> None:
    row = {"provider": "aws", "region": "us-east-1", "instance_type": "p5.48xlarge", "on_demand": 40.0}
    found = overlaid({"offers": [row]})
    assert len(found.offers) == len(SHIPPED.offers)
    (offer,) = (o for o in found.offers if o.id == "aws/us-east-1/p5.48xlarge/on_demand")
    assert offer.price_usd_per_hour == 40.0
    assert found.instance_types == SHIPPED.instance_types


def test_operator_and_certifications_come_with_the_offer() -> None:
    row = {**ACME, "operator_jurisdiction": "de", "certifications": "iso27001", "price_usd_per_hour": 20}
    provider = overlaid({"offers": [row]}).provider("acme")
    assert (provider.operator_jurisdiction, provider.certifications) == ("DE", ("iso27001",))


def test_an_accelerator_alias_becomes_its_id() -> None:
    found = overlaid({"offers": [{**ACME, "accelerator": "H100-80GB", "price_usd_per_hour": 20}]})
    assert found.instance_type("acme", "8xH100-SXM").accelerator == "H100-SXM"


def test_bridged_cards_form_pairs_and_pcie_cards_one_domain() -> None:
    rows = [
        {**ACME, "accelerator": "H100-NVL", "accelerators": 4, "price_usd_per_hour": 20},
        {**ACME, "accelerator": "L40S", "accelerators": 4, "price_usd_per_hour": 9},
    ]
    found = overlaid({"offers": rows})
    assert found.instance_type("acme", "4xH100-NVL").tensor_parallel_domain == 2
    assert found.instance_type("acme", "4xL40S").tensor_parallel_domain == 4
    assert found.instance_type("acme", "4xL40S").interconnect == "pcie"


def test_mode_replace_empties_the_tables_it_gives() -> None:
    found = overlaid({"mode": "replace", "offers": [{**ACME, "price_usd_per_hour": 20}]})
    assert len(found.offers) == 1
    assert found.apis == SHIPPED.apis


def test_own_api_prices_with_countries_and_groups() -> None:
    row = {"provider": "hostx", "model": "our-api", "input_usd_per_mtok": 0.6, "output_usd_per_mtok": 0.9}
    found = overlaid({"replace": ["apis"], "apis": [{**row, "countries": ["EU", "CH"]}]})
    (api,) = found.apis
    assert api.id == "hostx/our-api"
    assert api.countries is not None and {"DE", "FR", "CH"} < set(api.countries) and "EU" not in api.countries
    assert found.provider("hostx").operator_jurisdiction is None
    (us,) = overlaid({"replace": ["apis"], "apis": [{**row, "countries": "us"}]}).apis
    assert us.countries == ("US",)


def test_a_row_that_exists_is_patched_not_emptied() -> None:
    found = overlaid({"engines": [{"id": "vllm", "max_num_seqs": 64}]})
    engine = found.engine("vllm")
    assert (engine.max_num_seqs, engine.source) == (64, "overlay")
    assert engine.precisions == SHIPPED.engine("vllm").precisions


def test_a_discount_is_taken_off_what_matches() -> None:
    rule = {"provider": "aws", "accelerator": "h100", "options": ["on_demand"], "fraction": 0.25}
    found = overlaid({"discounts": [rule]})
    before = {o.id: o for o in SHIPPED.offers}
    changed = [o for o in found.offers if o != before[o.id]]
    assert changed and all(o.provider == "aws" and o.option is PurchaseOption.ON_DEMAND for o in changed)
    assert all(o.price_usd_per_hour == pytest.approx(0.75 * before[o.id].price_usd_per_hour) for o in changed)
    assert all(o.confidence is Confidence.DERIVED and "25.0% discount" in o.source for o in changed)


def test_own_model_with_an_inline_shape() -> None:
    shape = SHIPPED.model("llama-3.1-8b-instruct").shape.model_dump()
    model = overlaid({"models": [{"id": "our-8b", "aliases": "ours", "shape": shape}]}).model("ours")
    assert (model.id, model.native_precision, model.source) == ("our-8b", "bf16", "overlay")
    assert model.shape == SHIPPED.model("llama-3.1-8b-instruct").shape


def test_own_model_from_a_config_beside_the_overlay(tmp_path: Path) -> None:
    config = (
        '{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 128256,'
        ' "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "model_type": "llama",'
        ' "max_position_embeddings": 131072, "tie_word_embeddings": false}'
    )
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    (tmp_path / "own.yaml").write_text("models:\n  - {id: our-8b, config: config.json}\n", encoding="utf-8")
    model = load_catalog(overlays=["own.yaml"], base_dir=tmp_path).model("our-8b")
    assert model.shape.total_params == pytest.approx(8.03e9, rel=0.01)
    assert fault_of({"models": [{"id": "x", "config": "gone.json"}]}, base_dir=tmp_path).code == "C101"


@pytest.mark.parametrize(
    ("overlay", "code", "words"),
    [
        ({"offer": []}, "C102", "offers"),
        ({"mode": "add"}, "C102", "extend or replace"),
        ({"replace": ["ofers"]}, "C102", "offers"),
        ({"offers": {"a": 1}}, None, ""),
        ({"offers": "x"}, "C103", "list of rows"),
        ({"offers": ["x"]}, "C103", "mapping"),
        ({"offers": [{**ACME, "accelerator": "H100-SXN", "price_usd_per_hour": 3}]}, "C107", "H100-SXM"),
        ({"offers": [{**ACME, "price_usd_per_hour": 0}]}, "C108", "zero"),
        ({"offers": [{**ACME, "price_usd_per_hour": -1}]}, "C108", "greater than or equal"),
        ({"offers": [{**ACME, "price_usd_per_hour": float("nan")}]}, "C108", "finite"),
        ({"offers": [{**ACME, "price_usd_per_hour": "2.50 USD"}]}, "C108", "number"),
        ({"offers": [{**ACME, "price_usd_per_hour": True}]}, "C104", "true"),
        ({"offers": [{**ACME, "price_per_hour": 3}]}, "C105", "price_usd_per_hour"),
        ({"offers": [{**ACME, "prices": {"ondemand": 3}}]}, "C104", "on_demand"),
        ({"offers": [{**ACME, "prices": 3}]}, "C104", "map"),
        ({"offers": [{"provider": "aws", "instance_type": "p5.48xl", "price_usd_per_hour": 3}]}, "C107", "p5.48xlarge"),
        ({"offers": [{"provider": "acme", "price_usd_per_hour": 3}]}, "C105", "accelerator"),
        ({"offers": [{**ACME, "provider": "aws", "region": "eu-central-1", "country": "FR",
                      "price_usd_per_hour": 3}]}, "C104", "DE"),
        ({"offers": [{**ACME, "country": "Germany", "price_usd_per_hour": 3}]}, "C104", "ISO"),
        ({"offers": [{**ACME, "provider": "aws", "instance_type": "p5.48xlarge", "accelerators": 4,
                      "price_usd_per_hour": 3}]}, "C104", "accelerators"),
        ({"profiles": [{"id": "mine", "weights": [1, 2, 3]}]}, "C104", "24 or 168"),
        ({"discounts": [{"provider": "aws", "fraction": 25}]}, "C104", "between 0 and 1"),
        ({"discounts": [{"provider": "nobody", "fraction": 0.25}]}, "C107", "unknown provider 'nobody'"),
        ({"discounts": [{"provider": "awss", "fraction": 0.25}]}, "C107", "did you mean aws"),
        ({"discounts": [{"provider": "aws", "region": "eu-nowhere-1", "fraction": 0.2}]}, "C107", "unknown region"),
        ({"discounts": [{"provider": "aws", "accelerator": "MI300X", "fraction": 0.2}]}, "C107", "no offer"),
        ({"discounts": [{"provider": "aws", "acelerator": "L4", "fraction": 0.2}]}, "C104", "did you mean accelerator"),
        ({"discounts": [{"options": ["ondemand"], "fraction": 0.2}]}, "C104", "one of on_demand"),
        ({"offers": [{**ACME, "contry": "DE", "price_usd_per_hour": 3}]}, "C104", "did you mean country"),
        ({"apis": [{"provider": "x", "model": "y", "input_usd_per_mtok": 0,
                    "output_usd_per_mtok": 0}]}, "C108", "zero"),
        ({"spot_markets": [{"provider": "awz", "interruptions_per_up_hour": 0.1, "availability": 0.9}]}, "C107", "aws"),
    ],
)  # fmt: skip
def test_faults_say_what_and_help(overlay: dict[str, Any], code: str | None, words: str) -> None:
    if code is None:
        assert overlaid(overlay).offers == SHIPPED.offers
        return
    with pytest.raises(InputError) as caught:
        overlaid(overlay)
    first = caught.value.faults[0]
    assert first.code == code
    text = " ".join(f"{f.message} {f.help}" for f in caught.value.faults)
    assert words in text


def test_faults_of_an_overlay_file_have_a_line(tmp_path: Path) -> None:
    text = "offers:\n  - provider: acme\n    accelerator: H100-SXM\n    price_usd_per_hour: -3\n"
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    fault = fault_of("own.yaml", base_dir=tmp_path)
    assert (fault.code, fault.file, fault.line) == ("C108", "own.yaml", 4)


def test_faults_of_an_overlay_file_have_the_line_of_an_unknown_table_and_discount(tmp_path: Path) -> None:
    text = "ofers: []\ndiscounts:\n  - provider: awss\n    fraction: 0.1\n"
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_catalog(overlays=["own.yaml"], base_dir=tmp_path)
    assert [(f.code, f.file, f.line) for f in caught.value.faults] == [("C102", "own.yaml", 1), ("C107", "own.yaml", 3)]


def test_faults_of_a_discount_that_is_written_inline_have_its_path() -> None:
    fault = fault_of({"discounts": [{"provider": "awss", "fraction": 0.1}]})
    assert fault.path == "catalog.overlays[0].discounts[0].provider"


def test_a_discount_takes_aliases_and_the_united_kingdom_has_two_codes() -> None:
    found = overlaid({"discounts": [{"provider": "AWS", "fraction": 0.5}], "offers": [
        {**ACME, "country": "UK", "price_usd_per_hour": 30}]})  # fmt: skip
    assert any("50.0% discount" in o.source for o in found.offers if o.provider == "aws")
    region = found.region("acme", "eu-1")
    assert region is not None and region.country == "GB"
    assert found.known_names().countries["uk"] == "GB"


def test_overlays_that_are_no_overlays(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- 1\n", encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("a: [\n", encoding="utf-8")
    (tmp_path / "twice.yaml").write_text("offers: []\noffers: []\n", encoding="utf-8")
    assert fault_of("list.yaml", base_dir=tmp_path).code == "C103"
    for name in ("broken.yaml", "twice.yaml", "gone.yaml", "."):
        assert fault_of(name, base_dir=tmp_path).code == "C101"


def test_an_alias_bomb_is_a_fault_and_not_a_flood(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    text = "\n".join([*levels, "offers:", "  - {provider: acme, accelerator: *a8, price_usd_per_hour: *a8}"])
    (tmp_path / "bomb.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_catalog(overlays=["bomb.yaml"], base_dir=tmp_path)
    assert all(len(f.message) < 500 for f in caught.value.faults)


def test_a_provider_that_looks_like_a_known_one_is_a_finding() -> None:
    found = overlaid({"offers": [{**ACME, "provider": "coreweve", "price_usd_per_hour": 20}]})
    assert [f.row for f in check_catalog(found) if f.check == "provider_lookalike"] == ["coreweve"]


def test_rows_read_from_yaml_keep_norway() -> None:
    data = load_yaml("offers: [{provider: acme, country: no, accelerator: L4, price_usd_per_hour: 1e0}]")
    assert isinstance(data, dict)
    region = load_catalog(overlays=[data]).region("acme", "no")
    assert region is not None and region.country == "NO"


@settings(max_examples=8)
@given(order=st.permutations(range(4)))
def test_order_of_overlay_rows_changes_nothing(order: list[int]) -> None:
    rows = [
        {**ACME, "prices": {"on_demand": 28.8, "spot": 9.0}},
        {**ACME, "region": "us-1", "country": "US", "price_usd_per_hour": 23.2},
        {"accelerator": "L4", "price_usd_per_hour": 0.7},
        {**ACME, "accelerators": 4, "price_usd_per_hour": 12.0},
    ]
    assert overlaid({"offers": [rows[i] for i in order]}) == overlaid({"offers": rows})


@settings(max_examples=8)
@given(price=st.floats(min_value=0.01, max_value=1000, allow_nan=False), fraction=st.floats(0.01, 0.99))
def test_spot_is_flagged_exactly_where_it_is_no_discount(price: float, fraction: float) -> None:
    rows = [{**ACME, "prices": {"on_demand": price, "spot": price * fraction}}]
    (spot,) = (o for o in overlaid({"offers": rows}).offers if o.id == "acme/eu-1/8xH100-SXM/spot")
    assert spot.usable
    rows = [{**ACME, "prices": {"on_demand": price * fraction, "spot": price}}]
    (spot,) = (o for o in overlaid({"offers": rows}).offers if o.id == "acme/eu-1/8xH100-SXM/spot")
    assert not spot.usable
