"""One small finished solve made by hand: two slices, one machine pool with three prices, one API."""

from __future__ import annotations

from datetime import date

from planner.base import Check, CheckKind, Confidence, PurchaseOption
from planner.candidates.types import (
    ApiCandidate,
    ApiUse,
    Candidate,
    Deployment,
    OptionPrice,
    Plan,
    Pool,
    Problem,
    Purchase,
    Rejected,
    Route,
    SpotTerms,
)
from planner.catalog.catalog import Catalog
from planner.catalog.types import Engine, Provider
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.explain.breakeven import api_break_evens
from planner.explain.explain import explain_plan
from planner.performance.types import (
    CapacityRow,
    EngineConfig,
    HeadroomFactor,
    MemoryFit,
    Provenance,
    ReplicaCapability,
)
from planner.report.result import Answer, Entry
from planner.report.types import AxesView, BaselineView, CatalogStamp, Limits, ProvenanceStamp
from planner.spec.types import Policy, Resilience, Sovereignty, Spec, Traffic, Workload, WorkloadKind
from planner.verify.types import ApiCost, Delivery, PlanCost, PurchaseCost, Slack, Verification, Violation

DAY = date(2026, 11, 30)
HOURS = (400.0, 330.0)
POOL = "eurocloud/eu-north1/gpu-2x"
API = "eu-api/llama-70b@eu"

CONFIG = EngineConfig(
    model="llama-3.3-70b-instruct", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM",
    tensor_parallel=2,
)  # fmt: skip


def capability(**fields: object) -> ReplicaCapability:
    """2 req/s a replica, half of it lost to head-room already."""
    base: dict[str, object] = {
        "config": CONFIG,
        "served": (True,),
        "rows": (CapacityRow(name="utilization", use=(0.5,)), CapacityRow(name="kv_cache", use=(0.2,))),
        "capacity_req_per_s": (2.0,),
        "work_s": (0.4,),
        "prefill_s": (0.1,),
        "idle_iteration_s": 0.02,
        "memory": MemoryFit(
            usable_gib_per_gpu=71.3, weights_gib_per_gpu=33.9, overhead_gib_per_gpu=4.0, kv_pool_gib_per_gpu=33.4,
            kv_bytes_per_token_per_gpu=163840.0, state_bytes_per_request_per_gpu=0.0, kv_cache_tokens=219000.0,
        ),
        "provenance": Provenance.ANALYTIC,
        "error_band": (0.8, 1.25),
        "time_factor": 1.1,
        "headroom": (
            HeadroomFactor(name="estimate_quantile", share=0.9),
            HeadroomFactor(name="target_utilization", share=0.7),
        ),
    }  # fmt: skip
    return ReplicaCapability.model_validate({**base, **fields})


def price(option: PurchaseOption, usd: float, months: int = 0, **fields: object) -> OptionPrice:
    base: dict[str, object] = {
        "offer": f"{POOL}/{option.value}", "option": option, "usd_per_hour": usd, "term_months": months,
        "upfront_fraction": 0.0, "max_instances": None, "source": "price list", "as_of": DAY,
        "confidence": Confidence.LIST,
    }  # fmt: skip
    return OptionPrice.model_validate({**base, **fields})


def pool() -> Pool:
    return Pool(
        id=POOL, provider="eurocloud", region="eu-north1", zone="*", instance_type="gpu-2x", accelerator="H100-SXM",
        accelerators=2, tensor_parallel_domain=2, interconnect="nvlink", network_gb_per_s=50.0, country="FI",
        operator_jurisdiction="NL", certifications=(),
        prices=(
            price(PurchaseOption.ON_DEMAND, 6.0),
            price(PurchaseOption.RESERVED_1Y, 4.0, 12, confidence=Confidence.ASSUMED, as_of=date(2026, 1, 1)),
            price(PurchaseOption.SPOT, 2.0),
        ),
        spot=SpotTerms(interruptions_per_up_hour=0.12, start_h=0.15, availability=0.9,
                       fallback_offer=f"{POOL}/on_demand", fallback_usd_per_hour=6.0),
    )  # fmt: skip


def request_class() -> RequestClass:
    """1,000 tokens in, 500 out, mean 3 req/s in the busy slice and 1 in the quiet one."""
    return RequestClass(
        id="chat/all", workload="chat", name="all", input_tokens=1000.0, output_tokens=500.0, cached_input_tokens=0.0,
        ttft_limit_s=2.0, ttft_quantile=0.95, tpot_limit_s=0.06, tpot_quantile=0.95, client_region=None,
        max_context_tokens=16000, mean_req_per_s=(3.0, 1.0), sizing_req_per_s=(5.0, 2.0),
        band_req_per_s=((2.0, 5.0), (0.5, 2.0)), api_models=("llama-70b",),
    )  # fmt: skip


def service() -> Service:
    return Service(
        id="chat", workloads=("chat",), classes=(request_class(),), models=("llama-3.3-70b-instruct",),
        precisions=("fp8",), kv_precisions=("bf16",), engines=("vllm",), gpu_memory_utilization=0.9, max_num_seqs=None,
        kind=WorkloadKind.ONLINE, sovereignty=Sovereignty(countries=("EU",)), resilience=Resilience(),
        options=tuple(PurchaseOption), max_spot_share=0.5, band_weights=((2 / 3, 1 / 3), (2 / 3, 1 / 3)),
    )  # fmt: skip


def demand() -> Demand:
    slices = tuple(
        Slice(id=f"q1-{name}", quarter=0, label=name, hours_per_month=h, order=i)
        for i, (name, h) in enumerate(zip(("day", "night"), HOURS, strict=True))
    )
    return Demand(slices=slices, services=(service(),))


def problem(**fields: object) -> Problem:
    base: dict[str, object] = {
        "demand": demand(),
        "pools": (pool(),),
        "candidates": (
            Candidate(service="chat", capability=capability(), pool=POOL,
                      options=(PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.SPOT)),
        ),
        "apis": (
            ApiCandidate(service="chat", request_class="chat/all", api=API, provider="eu-api", region="eu",
                         usd_per_request=0.002, tokens_per_request=1500.0, max_req_per_s=None, max_tok_per_min=None,
                         countries=("FR",), operator_jurisdiction="FR", source="price list", as_of=DAY,
                         confidence=Confidence.LIST),
        ),
        "quotas": (),
        "policy": Policy(),
        "rejected": (
            Rejected(
                what="llama-3.3-70b-instruct/bf16/vllm/L4/tp1", service="chat",
                checks=(Check(check="memory", kind=CheckKind.PHYSICAL, needed=131.4, had=19.9, unit="GiB per GPU"),),
            ),
            Rejected(what="uscloud/us-east1/gpu-8x", service="chat", count=12,
                     checks=(Check(check="country", kind=CheckKind.POLICY, needed="EU", had="US"),
                             Check(check="operator_jurisdiction", kind=CheckKind.POLICY, needed="EU", had="US"))),
        ),
        "unknown_quotas": ("eurocloud H100-SXM",),
    }  # fmt: skip
    return Problem.model_validate({**base, **fields})


def plan() -> Plan:
    """Two reserved instances all day, one on spot by day, the rest of the peak by API."""
    return Plan(
        purchases=(
            Purchase(pool=POOL, option=PurchaseOption.RESERVED_1Y, instances=(1, 1)),
            Purchase(pool=POOL, option=PurchaseOption.SPOT, instances=(1, 0)),
        ),
        deployments=(
            Deployment(service="chat", config=CONFIG.id, pool=POOL, spot=False, replicas=(1, 1),
                       routes=(Route(request_class="chat/all", slice=0, band=1, req_per_s=2.0),
                               Route(request_class="chat/all", slice=1, band=1, req_per_s=2.0))),
            Deployment(service="chat", config=CONFIG.id, pool=POOL, spot=True, replicas=(1, 0),
                       routes=(Route(request_class="chat/all", slice=0, band=1, req_per_s=1.5),)),
        ),
        api=(
            ApiUse(request_class="chat/all", api=API,
                   routes=(Route(request_class="chat/all", slice=0, band=1, req_per_s=1.5),)),
        ),
    )  # fmt: skip


def verification(**fields: object) -> Verification:
    reserved, spot, api = 4.0 * 730.0, 2.4 * 400.0, 0.5 * 400.0 * 3600.0 * 0.002
    total = reserved + spot + api
    delivery = Delivery(
        service="chat", config=CONFIG.id, pool=POOL, spot=False, capability=capability(), utilization_mean=0.4,
        utilization_peak=0.7, row_load_peak=1.0, binding_row="utilization", ttft_p95_ms=812.3, tpot_p95_ms=41.7,
    )  # fmt: skip
    base: dict[str, object] = {
        "cost": PlanCost(
            terms={"reserved": reserved, "spot": spot, "api": api}, total_usd_per_month=total,
            judged_usd_per_month=total, by_quarter=(total,), cash_by_quarter=(total,),
            cash_usd_per_month=total, usd_per_million_tokens={"chat": 1.234567891},
            liability_beyond_horizon_usd=26280.0, committed_usd=4.0 * 8760.0,
            purchases=(
                PurchaseCost(pool=POOL, option=PurchaseOption.RESERVED_1Y, offer=f"{POOL}/reserved_1y",
                             usd_per_month=reserved, cash_usd_per_month=reserved, committed_usd=4.0 * 8760.0,
                             liability_beyond_horizon_usd=26280.0),
                PurchaseCost(pool=POOL, option=PurchaseOption.SPOT, offer=f"{POOL}/spot", usd_per_month=spot,
                             cash_usd_per_month=spot, committed_usd=0.0, liability_beyond_horizon_usd=0.0),
            ),
            api=(ApiCost(request_class="chat/all", api=API, usd_per_month=api, mean_req_per_s=(0.5, 0.0),
                         peak_req_per_s=(1.5, 0.0)),),
        ),
        "deliveries": (delivery, delivery.model_copy(update={"spot": True})),
        "binding": (Slack(family="replica_capacity", key=("chat", POOL, 0, 1), needed=1.0, had=1.0, unit="replicas"),
                    Slack(family="replica_capacity", key=("chat", POOL, 1, 1), needed=1.0, had=1.0, unit="replicas")),
        "headroom_factor": None,
        "violations": (),
    }  # fmt: skip
    return Verification.model_validate({**base, **fields})


def broken() -> Verification:
    """The same with one violation."""
    return verification(violations=(Violation(family="quota", key=("q",), needed=3.0, had=2.0, unit="instances"),))


def catalog() -> Catalog:
    origin = {"source": "test", "as_of": DAY, "confidence": Confidence.LIST}
    empty: dict[str, tuple[()]] = dict.fromkeys(
        ("accelerators", "instance_types", "offers", "regions", "models", "precisions", "support", "apis", "profiles",
         "spot_markets", "round_trips", "groups"), ()
    )  # fmt: skip
    return Catalog(
        name="sample", as_of=DAY, sha256="c" * 64,
        providers=(Provider.model_validate(
            {"id": "eurocloud", "name": "Eurocloud", "operator_jurisdiction": "NL", **origin}),),
        engines=(Engine.model_validate(
            {"id": "vllm", "name": "vLLM", "version": "0.19", "production": True, "vendors": ("nvidia",),
             "kinds": ("gpu",), "precisions": ("fp8",), **origin}),),
        **empty,
    )  # fmt: skip


def spec(**fields: object) -> Spec:
    base: dict[str, object] = {
        "schema_version": 1,
        "name": "eu-chat",
        "workloads": (Workload(name="chat", models=("llama-3.3-70b-instruct",), traffic=Traffic(mean_req_per_s=2.0)),),
        "policy": Policy.model_validate({"headroom": {"forecast_margin": 1.25}, "price_date": DAY}),
    }
    return Spec.model_validate({**base, **fields})


def provenance() -> ProvenanceStamp:
    return ProvenanceStamp(
        planner="0.1.0", ortools="9.15.6755", solver="highs", seed=0,
        limits=Limits(time_limit_s=60.0, gap=0.001, within=0.05, top=6), spec_sha256="a" * 64,
        catalog=CatalogStamp(name="sample", as_of=DAY.isoformat(), sha256="c" * 64), assumptions=("a month is 730 h",),
    )  # fmt: skip


def answer(check: Verification | None = None) -> Answer:
    checked = check or verification()
    entry = Entry(
        rank=1, axis="cheapest", also=(), title="Cheapest", buys=(), tie=False, plan=plan(), check=checked,
        explanation=explain_plan(spec(), catalog(), problem(), api_break_evens(problem()), plan(), checked),
        bound_usd_per_month=5300.0, gap=0.0012345678,
        axes=AxesView(
            committed_usd=35040.0, spot_share=0.39, api_usd_per_month=1440.0, configurations=1, headroom=None
        ),
    )  # fmt: skip
    return Answer(
        spec=spec(), catalog=catalog(), problem=problem(), status="planned", deterministic=True,
        provenance=provenance(), entries=(entry,), notes=("least spot: nothing new",),
        baselines=(
            BaselineView(name="all_api", cost=11376.0),
            BaselineView(name="all_reserved", cost=None, failures=("chat: no reserved price",)),
        ),
    )  # fmt: skip
