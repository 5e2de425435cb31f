"""Small hand-made problems: no catalog, no estimate, every number visible."""

from datetime import date

from planner.base import Confidence, PurchaseOption
from planner.candidates.types import ApiCandidate, Candidate, OptionPrice, Pool, Problem, SpotTerms
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.performance.types import CapacityRow, EngineConfig, MemoryFit, Provenance, ReplicaCapability
from planner.spec.types import Policy, Resilience, Sovereignty, Spare, WorkloadKind

AS_OF = date(2026, 11, 30)
ALL = tuple(o for o in PurchaseOption)


def slices(*hours: float) -> tuple[Slice, ...]:
    return tuple(
        Slice(id=f"q1.s{i + 1}", quarter=1, label=f"slice {i + 1}", hours_per_month=h, order=i)
        for i, h in enumerate(hours)
    )


def request_class(
    rates: list[float],
    name: str = "all",
    workload: str = "w",
    bands: list[list[float]] | None = None,
    apis: tuple[str, ...] = (),
) -> RequestClass:
    tops = [b[-1] for b in bands] if bands else rates
    return RequestClass(
        id=f"{workload}/{name}",
        workload=workload,
        name=name,
        input_tokens=1000,
        output_tokens=200,
        cached_input_tokens=0,
        ttft_limit_s=None,
        ttft_quantile=None,
        tpot_limit_s=None,
        tpot_quantile=None,
        client_region=None,
        max_context_tokens=None,
        mean_req_per_s=tuple(rates),
        sizing_req_per_s=tuple(tops),
        band_req_per_s=tuple(tuple(b) for b in bands) if bands else tuple((r,) for r in rates),
        api_models=apis,
    )


def service(
    *classes: RequestClass,
    spares: int = 0,
    max_spot_share: float = 0.5,
    weights: list[list[float]] | None = None,
    name: str = "s",
    resilience: Resilience | None = None,
    windows: list[list[float]] | None = None,
) -> Service:
    count = len(classes[0].mean_req_per_s)
    return Service(
        id=name,
        workloads=("w",),
        classes=classes,
        models=("m",),
        precisions=None,
        kv_precisions=("bf16",),
        engines=None,
        gpu_memory_utilization=0.9,
        max_num_seqs=None,
        kind=WorkloadKind.BATCH if windows else WorkloadKind.ONLINE,
        sovereignty=Sovereignty(),
        resilience=resilience or Resilience(spare=Spare(count=spares) if spares else None),
        options=ALL,
        max_spot_share=max_spot_share,
        band_weights=tuple(tuple(w) for w in weights) if weights else ((1.0,),) * count,
        windows=tuple(tuple(w) for w in windows or ()),
    )


def capability(
    size: int, *use: tuple[float, ...], accelerator: str = "X", precision: str = "bf16"
) -> ReplicaCapability:
    config = EngineConfig(
        model="m",
        precision=precision,
        kv_precision="bf16",
        engine="vllm",
        accelerator=accelerator,
        tensor_parallel=size,
    )
    served = tuple(all(u[r] != float("inf") for u in use) for r in range(len(use[0])))
    finite = [tuple(0.0 if v == float("inf") else v for v in u) for u in use]
    rows = tuple(CapacityRow(name=f"row{j}", use=u) for j, u in enumerate(finite))
    capacity = tuple(1 / max(r.use[i] for r in rows) if ok else 0.0 for i, ok in enumerate(served))
    memory = MemoryFit(
        usable_gib_per_gpu=70,
        weights_gib_per_gpu=30,
        overhead_gib_per_gpu=2,
        kv_pool_gib_per_gpu=38,
        kv_bytes_per_token_per_gpu=1e5,
        state_bytes_per_request_per_gpu=0,
        kv_cache_tokens=400000,
    )
    zeros = (0.0,) * len(served)
    return ReplicaCapability(
        config=config,
        served=served,
        rows=rows,
        capacity_req_per_s=capacity,
        work_s=zeros,
        prefill_s=zeros,
        idle_iteration_s=None,
        memory=memory,
        provenance=Provenance.MEASURED,
        error_band=(1, 1),
        time_factor=1,
        headroom=(),
    )


def pool(
    name: str,
    size: int,
    prices: dict[PurchaseOption, float],
    accelerator: str = "X",
    country: str | None = "DE",
    most: dict[PurchaseOption, int] | None = None,
    spot: SpotTerms | None = None,
    provider: str = "acme",
    region: str = "r",
    zone: str = "*",
) -> Pool:
    terms = {PurchaseOption.RESERVED_1Y: 12, PurchaseOption.RESERVED_3Y: 36}
    rows = tuple(
        OptionPrice(
            offer=f"{name}/{o.value}",
            option=o,
            usd_per_hour=usd,
            term_months=terms.get(o, 0),
            upfront_fraction=0,
            max_instances=(most or {}).get(o),
            source="test",
            as_of=AS_OF,
            confidence=Confidence.LIST,
        )
        for o, usd in sorted(prices.items())
    )
    return Pool(
        id=name,
        provider=provider,
        region=region,
        zone=zone,
        instance_type=name,
        accelerator=accelerator,
        accelerators=size,
        tensor_parallel_domain=size,
        interconnect="nvlink",
        network_gb_per_s=0,
        country=country,
        operator_jurisdiction="DE",
        certifications=(),
        prices=rows,
        spot=spot,
    )


def candidate(
    k: ReplicaCapability, p: Pool, options: tuple[PurchaseOption, ...] | None = None, name: str = "s"
) -> Candidate:
    return Candidate(
        service=name, capability=k, pool=p.id, options=options or tuple(sorted(x.option for x in p.prices))
    )


def api(
    cls: RequestClass, usd_per_request: float, limit: float | None = None, name: str = "s", provider: str = "acme"
) -> ApiCandidate:
    return ApiCandidate(
        service=name,
        request_class=cls.id,
        api=f"{provider}/big",
        provider=provider,
        region="global",
        usd_per_request=usd_per_request,
        tokens_per_request=1200,
        max_req_per_s=limit,
        max_tok_per_min=None,
        countries=None,
        operator_jurisdiction=None,
        source="test",
        as_of=AS_OF,
        confidence=Confidence.LIST,
    )


def problem(
    hours: tuple[float, ...],
    services: list[Service],
    pools: list[Pool],
    candidates: list[Candidate],
    apis: list[ApiCandidate] | None = None,
    policy: Policy | None = None,
) -> Problem:
    return Problem(
        demand=Demand(slices=slices(*hours), services=tuple(services)),
        pools=tuple(sorted(pools, key=lambda p: p.id)),
        candidates=tuple(sorted(candidates, key=lambda c: c.id)),
        apis=tuple(apis or ()),
        quotas=(),
        policy=policy or Policy(),
    )
