"""What the user asked for: `workload.yaml` after parsing. Field names are the public contract (workload.example.yaml).

All numbers here are plain SI-ish numbers in the unit of their name; human strings ("500ms", "40M", "20:00") were parsed
by `spec.quantities` before these types see them.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.base import Frozen, PurchaseOption

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Terminal(StrEnum):
    REPEAT = "repeat"
    DROP = "drop"
    CHARGE = "charge"


class Horizon(Frozen):
    start: date | None = None
    """First day of the horizon. Default: the policy's price date."""
    quarters: Count = 1
    terminal: Terminal = Terminal.REPEAT
    discount_rate_per_year: NonNegative = 0.0


class TokenVolume(Frozen):
    input: NonNegative
    """Prompt tokens."""
    output: NonNegative
    """Generated tokens."""


class LengthClass(Frozen):
    name: str
    share: Annotated[float, Field(gt=0, le=1)]
    """Share of the workload's requests; the shares of a workload add up to 1."""
    input_tokens: Positive
    output_tokens: Positive


class TokenDistribution(Frozen):
    mean: Positive
    p95: Positive | None = None


class Traffic(Frozen):
    """Exactly one way to say how much, and one way to say how long the requests are."""

    peak_req_per_s: NonNegative | None = None
    mean_req_per_s: NonNegative | None = None
    requests_per_month: NonNegative | None = None
    tokens_per_month: TokenVolume | None = None
    tokens_per_day: TokenVolume | None = None
    peak_to_mean: Annotated[float, Field(ge=1)] | None = None
    profile: str | tuple[NonNegative, ...] | None = None
    """Catalog id, or 24 / 168 weights (hour of day / of week). Default: flat."""
    timezone: str = "UTC"
    dispersion_10s: Annotated[float, Field(ge=1)] = 1.0
    """Index of dispersion of arrivals at 10 s; 1 = Poisson."""
    classes: tuple[LengthClass, ...] | None = None
    input_tokens: Positive | TokenDistribution | None = None
    output_tokens: Positive | TokenDistribution | None = None
    cached_input_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.0


class Percentile(StrEnum):
    P50 = "p50"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"


PERCENTILE_VALUE: dict[Percentile, float] = {
    Percentile.P50: 0.50,
    Percentile.P90: 0.90,
    Percentile.P95: 0.95,
    Percentile.P99: 0.99,
}


class Slo(Frozen):
    """Latency promises; at most one percentile per metric. None given = throughput only."""

    ttft_p50_ms: Positive | None = None
    ttft_p90_ms: Positive | None = None
    ttft_p95_ms: Positive | None = None
    ttft_p99_ms: Positive | None = None
    tpot_p50_ms: Positive | None = None
    tpot_p90_ms: Positive | None = None
    tpot_p95_ms: Positive | None = None
    tpot_p99_ms: Positive | None = None
    client_region: str | None = None
    """Adds the network round trip to TTFT."""

    def limit(self, metric: Literal["ttft", "tpot"]) -> tuple[Percentile, float] | None:
        """(percentile, limit in ms) promised for the metric, or None."""
        for p in Percentile:
            value = getattr(self, f"{metric}_{p.value}_ms")
            if value is not None:
                return p, float(value)
        return None


class Sovereignty(Frozen):
    countries: tuple[str, ...] | None = None
    """Where data may be processed: country codes and groups (EU, EEA, US, …). None: anywhere."""
    operator_jurisdictions: tuple[str, ...] | None = None
    """Whose law the operator may be under. None: any."""
    certifications: tuple[str, ...] = ()
    """Required of the provider or API."""


class SpareDomain(StrEnum):
    REPLICA = "replica"
    INSTANCE = "instance"
    ZONE = "zone"


class Spare(Frozen):
    count: Annotated[int, Field(ge=0)] = 1
    domain: SpareDomain = SpareDomain.REPLICA


class Resilience(Frozen):
    spare: Spare | None = None
    survive_loss_of: tuple[Literal["zone", "region", "provider", "spot"], ...] = ()
    serve_fraction: Fraction = 1.0


class Purchase(Frozen):
    options: tuple[PurchaseOption, ...] = tuple(PurchaseOption)
    max_spot_share: Fraction | None = None
    """Default 0.5 with an SLO, 1.0 without."""


class WorkloadKind(StrEnum):
    ONLINE = "online"
    BATCH = "batch"


class Tenancy(StrEnum):
    SHARED = "shared"
    DEDICATED = "dedicated"


class Workload(Frozen):
    name: str
    kind: WorkloadKind = WorkloadKind.ONLINE
    models: tuple[str, ...]
    """Acceptable models (`model: x` is read as `models: [x]`); canonical catalog ids once `load_spec` is done."""
    precisions: tuple[str, ...] | None = None
    kv_precisions: tuple[str, ...] = ("bf16",)
    engines: tuple[str, ...] | None = None
    max_context_tokens: Count | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    max_num_seqs: Count | None = None
    api_equivalents: tuple[str, ...] = ()
    tenancy: Tenancy = Tenancy.SHARED
    traffic: Traffic
    slo: Slo = Slo()
    sovereignty: Sovereignty = Sovereignty()
    resilience: Resilience = Resilience()
    purchase: Purchase = Purchase()


class BudgetBasis(StrEnum):
    AMORTISED = "amortised"
    CASH = "cash"


class Budget(Frozen):
    usd_per_month: NonNegative
    basis: BudgetBasis = BudgetBasis.AMORTISED


class QuotaMatch(Frozen):
    """Every given field must match; a field left out matches anything."""

    provider: str | None = None
    region: str | None = None
    zone: str | None = None
    country: str | None = None
    instance_type: str | None = None
    accelerator: str | None = None


class QuotaUnit(StrEnum):
    ACCELERATORS = "accelerators"
    INSTANCES = "instances"


class Quota(Frozen):
    match: QuotaMatch = QuotaMatch()
    unit: QuotaUnit = QuotaUnit.ACCELERATORS
    applies_to: tuple[PurchaseOption, ...] = (
        PurchaseOption.ON_DEMAND,
        PurchaseOption.RESERVED_1Y,
        PurchaseOption.RESERVED_3Y,
        PurchaseOption.SPOT,
    )
    limit: Annotated[float, Field(ge=0)] | Literal["unknown"]
    """0 = none may be bought; `unknown` is no limit but is flagged as a risk."""


class ProviderPolicy(Frozen):
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    max_count: Count | None = None
    """At most so many different providers (clouds and API providers together)."""


class Estimator(StrEnum):
    MEASURED = "measured"
    SILICON = "silicon"
    ANALYTIC = "analytic"


class SpotModel(StrEnum):
    FALLBACK = "fallback"
    CREDITED = "credited"


class SpotPolicy(Frozen):
    """Overrides of the offers' own spot figures; None leaves the offer's."""

    model: SpotModel = SpotModel.FALLBACK
    interruptions_per_up_hour: NonNegative | None = None
    start_h: NonNegative | None = None
    availability: Annotated[float, Field(gt=0, le=1)] | None = None
    rework_fraction: NonNegative | None = None


class OpsOverhead(Frozen):
    fraction: NonNegative = 0.0
    """Of the self-hosted bill (instances, not API)."""
    fixed_usd_per_month: NonNegative = 0.0
    """Charged once as soon as anything is self-hosted."""


class Headroom(Frozen):
    forecast_margin: Annotated[float, Field(ge=1)] = 1.0
    target_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    estimate_quantile: Annotated[float, Field(gt=0, lt=1)] = 0.7


class Policy(Frozen):
    budget: Budget | None = None
    quotas: tuple[Quota, ...] = ()
    providers: ProviderPolicy = ProviderPolicy()
    estimators: tuple[Estimator, ...] = tuple(Estimator)
    spot: SpotPolicy = SpotPolicy()
    max_configurations: Count | None = None
    ops_overhead: OpsOverhead = OpsOverhead()
    headroom: Headroom = Headroom()
    price_date: date | None = None


class OwnedMachines(Frozen):
    accelerator: str
    accelerators_per_instance: Count = 1
    instances: Count = 1
    country: str | None = None
    usd_per_used_hour: NonNegative = 0.0
    """Operating cost of one instance for one used hour; the purchase is sunk."""


class Fleet(Frozen):
    owned: tuple[OwnedMachines, ...] = ()


class CatalogChoice(Frozen):
    path: str | None = None
    overlays: tuple[str | dict[str, object], ...] = ()
    """Catalog fragments: paths of YAML files, or the same mapping written inline."""


class Measured(Frozen):
    """A trusted measurement of one replica. Three kinds: rates, a capacity per class, or the TPOT row's figures."""

    model: str
    accelerator: str
    tensor_parallel: Count = 1
    pipeline_parallel: Count = 1
    precision: str
    engine: str | None = None
    class_: Annotated[str | None, Field(alias="class")] = None
    prefill_tok_per_s: Positive | None = None
    decode_tok_per_s: Positive | None = None
    capacity_req_per_s: NonNegative | None = None
    idle_iteration_ms: Positive | None = None
    work_s_per_request: Positive | None = None
    source: str | None = None


class Spec(Frozen):
    schema_version: Literal[1]
    name: str
    horizon: Horizon = Horizon()
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    policy: Policy = Policy()
    fleet: Fleet = Fleet()
    catalog: CatalogChoice = CatalogChoice()
    measured: tuple[Measured, ...] = ()
