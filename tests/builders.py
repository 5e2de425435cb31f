"""Tiny catalogs, specs and demands with round numbers, for tests that want to compute by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from planner.base import TERM_MONTHS, Confidence, PurchaseOption
from planner.catalog.catalog import Catalog
from planner.catalog.types import (
    Accelerator,
    ApiOffer,
    CountryGroup,
    Engine,
    EngineOverhead,
    InstanceType,
    KvGroup,
    LlmModel,
    ModelShape,
    Offer,
    Precision,
    Provider,
    Region,
    RoundTrip,
    SpotMarket,
)
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.spec.types import LengthClass, Measured, Policy, Purchase, Resilience, Sovereignty, Spec, Traffic, Workload

ORIGIN: dict[str, Any] = {"source": "test", "as_of": date(2026, 11, 30), "confidence": Confidence.LIST}
MODEL = "tiny"
PRECISION = "bf16"
ENGINE = "vllm"


def accelerator(name: str = "A", **fields: Any) -> Accelerator:
    """A GPU with 80 GB."""
    base: dict[str, Any] = {
        "id": name, "vendor": "nvidia", "kind": "gpu", "memory_gb": 80.0, "memory_gib_visible": 79.0,
        "memory_type": "HBM3", "bandwidth_gb_per_s": 3000.0, "bf16_tflops": 900.0, "link": "nvlink",
        "link_gb_per_s": 900.0, "compute_capability": "9.0",
    }  # fmt: skip
    return Accelerator(**{**base, **ORIGIN, **fields})


def instance_type(
    provider: str, name: str, accelerator_id: str = "A", accelerators: int = 1, **fields: Any
) -> InstanceType:
    """A machine whose accelerators share one fast link."""
    base: dict[str, Any] = {
        "id": f"{provider}/{name}", "provider": provider, "name": name, "accelerator": accelerator_id,
        "accelerators": accelerators, "interconnect": "nvlink", "tensor_parallel_domain": accelerators,
    }  # fmt: skip
    return InstanceType(**{**base, **ORIGIN, **fields})


def offer(provider: str, region: str, instance: str, option: PurchaseOption, price: float, **fields: Any) -> Offer:
    """A price per instance-hour."""
    base: dict[str, Any] = {
        "provider": provider, "region": region, "instance_type": instance, "option": option,
        "price_usd_per_hour": price, "term_months": TERM_MONTHS[option],
    }  # fmt: skip
    return Offer(**{**base, **ORIGIN, **fields})


def provider(name: str, jurisdiction: str | None = "DE", **fields: Any) -> Provider:
    """An operator."""
    return Provider(**{"id": name, "name": name, "operator_jurisdiction": jurisdiction, **ORIGIN, **fields})


def region(provider_id: str, name: str, country: str | None = "DE") -> Region:
    """A region in one country."""
    return Region(provider=provider_id, region=name, country=country, **ORIGIN)


def api(provider_id: str = "apico", model: str = "tiny-api", **fields: Any) -> ApiOffer:
    """An API at 1 USD per million input and 2 per million output tokens."""
    base: dict[str, Any] = {
        "provider": provider_id, "model": model, "input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0,
        "countries": ("DE",), "operator_jurisdiction": "DE",
    }  # fmt: skip
    return ApiOffer(**{**base, **ORIGIN, **fields})


def tiny_model(name: str = MODEL) -> LlmModel:
    """8 heads, so tensor parallelism of 1, 2, 4 or 8; about 0.4 GB in 16 bit."""
    shape = ModelShape(
        layers=4, hidden=1024, heads=8, kv_heads=8, head_dim=128, vocab=32768, tied_embeddings=True, intermediate=4096,
        embedding_params=32768.0 * 1024, dense_params=4.0 * (4 * 1024**2 + 3 * 1024 * 4096),
        attention_params=4.0 * 4 * 1024**2,
        kv=(KvGroup(layers=4, kind="full", kv_heads=8, elements_per_token=2.0 * 8 * 128),),
    )  # fmt: skip
    return LlmModel(
        id=name, name=name, family="LlamaForCausalLM", shape=shape, native_precision=PRECISION,
        max_context_tokens=32768, **ORIGIN,
    )  # fmt: skip


def _precision() -> Precision:
    return Precision(
        id=PRECISION, bytes_per_param=2.0, compute="bf16", weight_only=False, quality_impact="none",
        quality_loss_percent_low=0.0, quality_loss_percent_high=0.0, kv_bytes=2.0, **ORIGIN,
    )  # fmt: skip


def _engine() -> Engine:
    overhead = EngineOverhead(
        versions=">=0.17", logits_factor=3.8, minimum_gib=0.75, moe_gib=0.5, non_torch_gib_tp1=0.25,
        non_torch_gib_tpn=2.1, source="test",
    )  # fmt: skip
    return Engine(
        id=ENGINE, name=ENGINE, version="0.19", production=True, vendors=("nvidia",), kinds=("gpu",),
        precisions=(PRECISION,), overheads=(overhead,), **ORIGIN,
    )  # fmt: skip


def make_catalog(
    accelerators: Iterable[Accelerator] | None = None,
    instance_types: Iterable[InstanceType] = (),
    offers: Iterable[Offer] = (),
    providers: Iterable[Provider] | None = None,
    regions: Iterable[Region] | None = None,
    apis: Iterable[ApiOffer] = (),
    spot_markets: Iterable[SpotMarket] | None = None,
    round_trips: Iterable[RoundTrip] = (),
) -> Catalog:
    """A catalog of one model, one precision and one engine, rows in the order given."""
    offers, apis = tuple(offers), tuple(apis)
    operators = list(providers if providers is not None else map(provider, sorted({o.provider for o in offers})))
    operators += [provider(a.provider) for a in apis if a.provider not in {p.id for p in operators}]
    places = sorted({(o.provider, o.region) for o in offers})
    market = SpotMarket(interruptions_per_up_hour=0.5, start_h=0.2, availability=0.8, **ORIGIN)
    return Catalog(
        name="tiny",
        as_of=date(2026, 11, 30),
        sha256="0" * 64,
        accelerators=tuple(accelerators if accelerators is not None else [accelerator()]),
        instance_types=tuple(instance_types),
        offers=offers,
        providers=tuple(operators),
        regions=tuple(regions if regions is not None else [region(p, r) for p, r in places]),
        models=(tiny_model(),),
        precisions=(_precision(),),
        engines=(_engine(),),
        support=(),
        apis=apis,
        profiles=(),
        spot_markets=tuple(spot_markets if spot_markets is not None else [market]),
        round_trips=tuple(round_trips),
        groups=(CountryGroup(id="EU", countries=("DE", "FR"), **ORIGIN),),
    )


def measured(capacity: float, accelerator_id: str = "A", tensor_parallel: int = 1, **fields: Any) -> Measured:
    """One replica serves so many requests per second (of every class, or of `class_`)."""
    base: dict[str, Any] = {
        "model": MODEL, "accelerator": accelerator_id, "tensor_parallel": tensor_parallel, "precision": PRECISION,
        "capacity_req_per_s": capacity,
    }  # fmt: skip
    if "class_" in fields:
        fields["class"] = fields.pop("class_")
    return Measured(**{**base, **fields})


def workload(
    name: str = "chat", rate: float = 4.0, classes: Sequence[LengthClass] | None = None, **fields: Any
) -> Workload:
    """A flat on-line workload without latency promises, 1,000 tokens in and 500 out."""
    traffic: dict[str, Any] = {"mean_req_per_s": rate, "profile": fields.pop("profile", None)}
    if classes is None:
        traffic |= {"input_tokens": 1000.0, "output_tokens": 500.0}
    else:
        traffic["classes"] = tuple(classes)
    base: dict[str, Any] = {
        "name": name, "models": (MODEL,), "traffic": Traffic(**traffic), "precisions": (PRECISION,),
        "engines": (ENGINE,),
    }  # fmt: skip
    return Workload(**{**base, **fields})


def make_spec(workloads: Iterable[Workload] | None = None, measured: Iterable[Measured] = (), **fields: Any) -> Spec:
    """A spec that trusts measurements only, with no utilisation cap and no margin unless `policy` says so."""
    policy = {"estimators": ("measured",), "headroom": {"target_utilization": 1.0}, **fields.pop("policy", {})}
    return Spec(
        schema_version=1,
        name="tiny",
        workloads=tuple(workloads if workloads is not None else [workload()]),
        measured=tuple(measured),
        policy=Policy(**policy),
        **fields,
    )


def request_class(
    bands: Sequence[Sequence[float]], weights: Sequence[Sequence[float]], name: str = "chat/all", **fields: Any
) -> RequestClass:
    """A class with its rates [slice][band]; the mean follows from the weights, the top band sizes."""
    owner, short = name.split("/")
    means = tuple(sum(f * x for f, x in zip(fs, xs, strict=True)) for fs, xs in zip(weights, bands, strict=True))
    base: dict[str, Any] = {
        "id": name, "workload": owner, "name": short, "input_tokens": 1000.0, "output_tokens": 500.0,
        "cached_input_tokens": 0.0, "ttft_limit_s": None, "ttft_quantile": None, "tpot_limit_s": None,
        "tpot_quantile": None, "client_region": None, "max_context_tokens": None, "mean_req_per_s": means,
        "sizing_req_per_s": tuple(x[-1] for x in bands), "band_req_per_s": tuple(map(tuple, bands)), "api_models": (),
    }  # fmt: skip
    return RequestClass(**{**base, **fields})


def service(
    classes: Sequence[RequestClass], weights: Sequence[Sequence[float]], name: str = "chat", **fields: Any
) -> Service:
    """A service of the tiny model that may be bought in every way."""
    base: dict[str, Any] = {
        "id": name, "workloads": tuple(dict.fromkeys(c.workload for c in classes)), "classes": tuple(classes),
        "models": (MODEL,), "precisions": (PRECISION,), "kv_precisions": ("bf16",), "engines": (ENGINE,),
        "gpu_memory_utilization": 0.9, "max_num_seqs": None, "kind": "online", "sovereignty": Sovereignty(),
        "resilience": Resilience(), "options": tuple(PurchaseOption), "max_spot_share": 1.0,
        "band_weights": tuple(map(tuple, weights)),
    }  # fmt: skip
    return Service(**{**base, **fields})


def demand(services: Sequence[Service], hours: Sequence[float] = (730.0,)) -> Demand:
    """Slices of one quarter with these hours per month."""
    slices = tuple(
        Slice(id=f"q1-s{i + 1}", quarter=1, label=f"slice {i + 1}", hours_per_month=h, order=i)
        for i, h in enumerate(hours)
    )
    return Demand(slices=slices, services=tuple(services))


def purchase_options(*options: PurchaseOption) -> Purchase:
    """The `purchase` of a workload that allows only these options."""
    return Purchase(options=options)
