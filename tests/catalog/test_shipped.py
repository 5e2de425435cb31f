"""What the shipped catalog must hold: every system of the seed articles, right facts, sane prices."""

import re
from datetime import date

import pytest

from planner.base import Confidence, PurchaseOption
from planner.catalog.api_prices import prices_at, read_snapshot
from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog, shipped_directory
from planner.catalog.types import Offer

CATALOG = load_catalog()
SEED_ACCELERATORS = (
    "H100 SXM", "H100 PCIe", "H100 NVL", "H200", "A100 80GB SXM", "A100 40GB PCIe", "L40S", "B100", "B200", "GB200",
    "RTX 4090", "RTX 5090", "RTX A6000", "RTX 6000 Ada", "MI300X", "MI325X", "RX 7900 XTX", "Gaudi 3", "M4 Ultra",
    "M3 Ultra", "M4 Max", "EPYC 9654", "CPU offloading", "TPU v5p",
)  # fmt: skip
SEED_APIS = (
    "gpt-5.6-sol", "gpt-5.6-luna", "claude-opus-5", "claude-sonnet-5", "claude-fable-5", "gemini-3.7-flash",
    "deepseek-v4-flash", "deepseek-v4-pro", "mistral-large-3", "mistral-small-4", "llama-4-maverick", "llama-4-scout",
    "kimi-k3", "qwen3.6-27b",
)  # fmt: skip
EUROPEAN = (
    "nebius", "ovhcloud", "scaleway", "hetzner", "ionos", "t-systems", "stackit", "exoscale", "infomaniak", "verda",
    "seeweb", "genesis-cloud", "hyperstack", "leaseweb",
)  # fmt: skip


def per_accelerator(offer: Offer, catalog: Catalog = CATALOG) -> float:
    return offer.price_usd_per_hour / catalog.instance_type(offer.provider, offer.instance_type).accelerators


def offers_of(accelerator: str) -> list[Offer]:
    wanted = CATALOG.accelerator(accelerator).id
    kinds = {(t.provider, t.name) for t in CATALOG.instance_types if t.accelerator == wanted}
    return [o for o in CATALOG.offers if (o.provider, o.instance_type) in kinds]


@pytest.mark.parametrize("name", SEED_ACCELERATORS)
def test_every_accelerator_of_the_seeds_can_be_bought(name: str) -> None:
    assert any(o.usable for o in offers_of(name)), name


@pytest.mark.parametrize("name", ("aws", "gcp", "azure", "lambda", "coreweave", "runpod", "vast-ai", *EUROPEAN))
def test_every_provider_sells_something(name: str) -> None:
    assert any(o.usable and o.provider == CATALOG.provider(name).id for o in CATALOG.offers), name


@pytest.mark.parametrize("name", ("vLLM", "TensorRT-LLM", "SGLang", "llama.cpp", "Ollama", "ExLlamaV2"))
def test_every_engine_has_precisions_and_overheads(name: str) -> None:
    engine = CATALOG.engine(name)
    assert engine.overheads and set(engine.precisions) <= {p.id for p in CATALOG.precisions}


def test_three_engines_are_planned_with_by_default() -> None:
    assert {e.id for e in CATALOG.engines if e.production} == {"vllm", "sglang", "trtllm"}


@pytest.mark.parametrize(
    ("name", "precision", "low", "high"),
    [("FP16", "bf16", 2, 2), ("BF16", "bf16", 2, 2), ("FP8", "fp8", 1, 1), ("INT8", "int8", 1, 1),
     ("w8a8", "int8", 1, 1), ("GPTQ", "int4", 0.519, 0.52), ("AWQ", "int4", 0.519, 0.52),
     ("Q4_K_M", "q4_k_m", 0.6, 0.62),
     ("FP4", "fp4", 0.5, 0.57), ("NVFP4", "fp4", 0.5, 0.57), ("MXFP4", "mxfp4", 0.53, 0.54), ("Q3", "q3_k_m", 0.4, 0.5),
     ("Q2", "q2_k", 0.3, 0.4)],
)  # fmt: skip
def test_every_precision_of_the_seeds_has_its_bytes(name: str, precision: str, low: float, high: float) -> None:
    found = CATALOG.precision(name)
    assert found.id == precision
    assert low <= found.bytes_per_param <= high
    assert found.opt_in == (found.bytes_per_param < 1)


@pytest.mark.parametrize("name", SEED_APIS)
def test_every_api_model_of_the_seeds_has_a_current_price(name: str) -> None:
    current = [a for a in CATALOG.api_offers(name) if a.confidence is not Confidence.SEED]
    assert current
    assert all(a.input_usd_per_mtok > 0 and a.output_usd_per_mtok >= a.input_usd_per_mtok * 0.9 for a in current)


def test_every_seed_price_is_a_seed_row() -> None:
    table = {
        "aws": {"A100-SXM-80GB": 3.97, "H100-SXM": 4.76, "L40S": 1.72},
        "gcp": {"A100-SXM-80GB": 2.21, "H100-SXM": 3.35, "H200-SXM": 4.30, "L40S": 1.70},
        "azure": {"A100-SXM-80GB": 3.40, "H100-SXM": 3.69, "L40S": 1.84},
        "lambda": {"A100-SXM-80GB": 1.29, "H100-SXM": 2.49, "H200-SXM": 3.29, "L40S": 0.99, "B200-SXM": 4.99},
        "coreweave": {"A100-SXM-80GB": 1.28, "H100-SXM": 2.49, "H200-SXM": 3.49, "L40S": 1.14, "B200-SXM": 5.49},
    }
    for provider, prices in table.items():
        for accelerator, price in prices.items():
            rows = [
                o
                for o in offers_of(accelerator)
                if (o.provider, o.confidence, o.option) == (provider, Confidence.SEED, PurchaseOption.ON_DEMAND)
            ]
            assert {round(per_accelerator(o), 6) for o in rows} == {price}, (provider, accelerator)


def test_hardware_facts_that_the_seeds_have_wrong() -> None:
    facts = {
        name: CATALOG.accelerator(name) for name in ("L40S", "H100-PCIe", "A100-PCIe-40GB", "RTX-4090", "RTX-5090")
    }
    assert facts["L40S"].memory_type.startswith("GDDR6 ")
    assert (facts["H100-PCIe"].memory_type, facts["H100-PCIe"].link) == ("HBM2e", "nvlink-bridge")
    assert facts["A100-PCIe-40GB"].bandwidth_gb_per_s == 1555
    assert (facts["RTX-4090"].bf16_tflops, facts["RTX-5090"].bf16_tflops) == (165.2, 209.5)
    assert CATALOG.accelerator("B200").memory_gb == 180
    assert 2 * CATALOG.accelerator("GB200").memory_gb == 372
    assert CATALOG.instance_type("aws", "p4d.24xlarge").accelerator == "A100-SXM-40GB"
    assert CATALOG.instance_type("gcp", "a2-highgpu-1g").accelerator == "A100-SXM-40GB"
    assert CATALOG.instance_type("azure", "Standard_NC40ads_H100_v5").accelerator == "H100-NVL"
    assert not [o for o in offers_of("L40S") if o.provider in ("gcp", "azure") and o.usable]
    assert not [o for o in CATALOG.offers if o.provider == "lambda" and o.option is PurchaseOption.SPOT and o.usable]
    fp8 = {a.id for a in CATALOG.accelerators if a.fp8_tflops}
    assert {"L4", "L40S", "RTX-4090", "H200-SXM", "MI300X", "Gaudi3", "H100-SXM", "B200-SXM"} <= fp8
    assert not fp8 & {"A100-SXM-80GB", "A100-SXM-40GB", "RTX-A6000", "RX-7900-XTX", "T4", "RTX-3090"}
    assert {a.id for a in CATALOG.accelerators if a.fp4_tflops} >= {"B300-SXM", "RTX-5090", "MI355X", "B200-SXM"}


def test_visible_memory_is_below_the_data_sheet_and_as_measured() -> None:
    measured = {"H100-SXM": 79.2, "A100-SXM-40GB": 39.38, "RTX-3090": 23.6, "A40": 44.35, "RTX-6000-Ada": 47.5,
                "B200-SXM": 178.35, "A10G": 22.06, "L40S": 44.4}  # fmt: skip
    for name, gib in measured.items():
        assert CATALOG.accelerator(name).memory_gib_visible == gib
    for a in CATALOG.accelerators:
        assert 0.6 * a.memory_gb <= a.memory_gib_visible <= a.memory_gb


def test_prices_are_sane() -> None:
    for offer in CATALOG.offers:
        price = per_accelerator(offer)
        assert 0.05 <= price <= 60, offer.id
        assert offer.term_months == {"reserved_1y": 12, "reserved_3y": 36}.get(offer.option.value, 0)
        assert not set(" ,") & set(offer.id), offer.id


def test_no_hidden_zero_spot_or_free_commitment() -> None:
    on_demand = {o.pool_id: o.price_usd_per_hour for o in CATALOG.offers if o.option is PurchaseOption.ON_DEMAND}
    for offer in CATALOG.offers:
        full = on_demand.get(offer.pool_id)
        if full is None or offer.option is PurchaseOption.ON_DEMAND or not offer.usable:
            continue
        assert offer.price_usd_per_hour < full, offer.id


def test_small_a3_machines_are_spot_only() -> None:
    for size in (1, 2, 4):
        options = {o.option for o in CATALOG.offers if o.instance_type == f"a3-highgpu-{size}g"}
        assert options == {PurchaseOption.SPOT}


def test_references_are_canonical_ids() -> None:
    accelerators = {a.id for a in CATALOG.accelerators}
    providers = {p.id for p in CATALOG.providers}
    assert {t.accelerator for t in CATALOG.instance_types} <= accelerators
    assert {t.provider for t in CATALOG.instance_types} <= providers
    assert {a.provider for a in CATALOG.apis} <= providers
    models = {m.id for m in CATALOG.models}
    assert {a.open_weights_model for a in CATALOG.apis} - {None} <= models


def test_tensor_parallel_domains_follow_the_link() -> None:
    for t in CATALOG.instance_types:
        if t.interconnect == "nvlink-nvl72":
            assert t.tensor_parallel_domain == 72 and t.network_gb_per_s > 0
        elif t.interconnect == "nvlink-bridge":
            assert t.tensor_parallel_domain == min(2, t.accelerators)
        else:
            assert t.tensor_parallel_domain == t.accelerators
        assert t.network_gb_per_s == 0 or t.accelerators >= 4


def test_an_eu_only_workload_finds_many_offers() -> None:
    eu = CATALOG.countries(["EU"])
    places = {(r.provider, r.region) for r in CATALOG.regions if r.country in eu}
    big = {(t.provider, t.name) for t in CATALOG.instance_types
           if t.accelerators * CATALOG.accelerator(t.accelerator).memory_gib_visible >= 140}  # fmt: skip
    found = [o for o in CATALOG.offers if (o.provider, o.region) in places and (o.provider, o.instance_type) in big]
    assert len({o.pool_id for o in found}) > 100
    assert {"aws", "gcp", "azure", "nebius", "scaleway", "ovhcloud", "verda"} <= {o.provider for o in found}
    operators = {o.provider for o in found if CATALOG.provider(o.provider).operator_jurisdiction in eu}
    assert len(operators) >= 8


def test_prefixes_that_look_european_are_not() -> None:
    for provider, region, country in (("aws", "eu-west-2", "GB"), ("aws", "eu-central-2", "CH"),
                                      ("gcp", "europe-west6", "CH"), ("azure", "norwayeast", "NO"),
                                      ("verda", "ICE-01", "IS")):  # fmt: skip
        found = CATALOG.region(provider, region)
        assert found is not None and found.country == country
        assert country not in CATALOG.countries(["EU"])


def test_groups_have_their_members() -> None:
    assert len(CATALOG.countries(["EU"])) == 27
    assert CATALOG.countries(["EEA"]) - CATALOG.countries(["EU"]) == {"IS", "LI", "NO"}
    assert CATALOG.countries(["eu", "ch"]) >= {"DE", "CH"}


def test_marketplaces_and_unstated_places_fail_closed() -> None:
    for name in ("vast-ai", "runpod", "salad", "akash"):
        assert CATALOG.provider(name).marketplace
    for region in CATALOG.regions:
        if region.region in ("any", "seed", "own-site", "north-america"):
            assert region.country is None


def test_european_endpoints_cost_a_tenth_more_and_stay_under_us_law() -> None:
    apis = {a.id: a for a in CATALOG.apis}
    for base, regional in (("openai/gpt-5.6-sol", "openai/gpt-5.6-sol@eu"),
                           ("aws/claude-opus-5", "aws/claude-opus-5@eu"),
                           ("gcp/gemini-3.7-flash", "gcp/gemini-3.7-flash@eu")):  # fmt: skip
        assert apis[regional].input_usd_per_mtok == pytest.approx(1.1 * apis[base].input_usd_per_mtok)
        assert apis[regional].operator_jurisdiction == "US"
        assert set(apis[regional].countries or ()) <= CATALOG.countries(["EU"])
    assert apis["mistral/mistral-large-3"].operator_jurisdiction == "FR"


def test_list_prices_agree_with_the_package_on_the_pinned_date() -> None:
    faults: list[object] = []
    snapshot = read_snapshot(shipped_directory(), faults)  # type: ignore[arg-type]
    assert not faults and len(snapshot) > 50
    fresh = prices_at(date(2026, 11, 30), frozenset(snapshot))
    for ref, price in snapshot.items():
        now = fresh[ref]
        assert (price.input_usd_per_mtok, price.output_usd_per_mtok) == (
            now.input_usd_per_mtok,
            now.output_usd_per_mtok,
        )
        assert price.tiers == now.tiers


def test_purchases_cost_what_their_note_says() -> None:
    rows = [o for o in CATALOG.offers if o.provider == "on-prem"]
    assert len(rows) > 15
    for offer in rows:
        parts = re.match(
            r"\((\d+) x (\d+) \+ (\d+)\) / \(36 x 730 h\) \+ ([\d.]+) kW x 200 USD / 730 h", offer.note or ""
        )
        assert parts, offer.note
        count, card, host, kw = (float(p) for p in parts.groups())
        assert offer.price_usd_per_hour == pytest.approx((count * card + host) / (36 * 730) + kw * 200 / 730, abs=1e-3)
        assert offer.option is PurchaseOption.RESERVED_3Y


def test_profiles_and_spot_markets() -> None:
    assert {p.id for p in CATALOG.profiles} >= {
        "flat", "office-hours", "consumer-evening", "business-global", "office-week", "batch-night", "servegen-m-large",
    }  # fmt: skip
    default = CATALOG.spot_market("coreweave", "H100-SXM")
    assert (default.interruptions_per_up_hour, default.start_h, default.availability) == (0.12, 0.15, 0.9)
    assert CATALOG.spot_market("vast-ai", "RTX-4090").availability == 0.7


def test_support_rules_know_the_published_traps() -> None:
    def rules(precision: str, engine: str | None = None) -> dict[str, float | None]:
        return {
            r.effect: r.compute_capability_below
            for r in CATALOG.support
            if r.precision == precision and r.engine == engine and r.vendor == "nvidia"
        }

    assert rules("int4") == {"refuse": 7.5}
    assert rules("awq-asymmetric") == {"refuse": 8.0}
    assert rules("fp8", "vllm") == {"weight_only": 8.9}
    assert rules("fp8", "trtllm") == {"refuse": 8.9}
    assert rules("fp4", "vllm") == {"weight_only": 10.0}
    kv = [r for r in CATALOG.support if r.kv_precision == "fp8" and r.vendor == "nvidia"]
    assert [(r.effect, r.compute_capability_below) for r in kv] == [("refuse", 8.9)]
    assert any(r.family == "DeepseekV3ForCausalLM" and r.parallelism == "pipeline" for r in CATALOG.support)
    gguf = {"q4_k_m", "q3_k_m", "q2_k"}
    assert {e.id for e in CATALOG.engines if gguf & set(e.precisions)} == {"llama.cpp", "ollama"}
    assert {e.id for e in CATALOG.engines if "exl2-4.0bpw" in e.precisions} == {"exllamav2"}


def test_no_public_gpu_cloud_claims_an_attestation_that_covers_other_services() -> None:
    """SecNumCloud is given to single services: no offer of the catalog is among them, so none may count as one."""
    holders = {p.id for p in CATALOG.providers if "secnumcloud" in p.certifications}
    assert holders
    assert not holders & {o.provider for o in CATALOG.offers}


def test_regions_of_aws_and_gcp_that_sell_name_their_zones() -> None:
    """Azure has regions without availability zones; the other two have none."""
    catalog = load_catalog()
    for provider in ("aws", "gcp"):
        for region in sorted({o.region for o in catalog.offers if o.provider == provider and o.usable}):
            row = catalog.region(provider, region)
            assert row is not None and len(row.zones) >= 2, region
            assert all(zone.startswith(region) for zone in row.zones)
