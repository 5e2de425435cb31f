"""What the user asked for: `workload.yaml` after parsing. Field names are the public contract (workload.example.yaml).

All numbers here are plain SI-ish numbers in the unit of their name; human strings ("500ms", "40M", "20:00") were parsed
by `spec.quantities` before these types see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.base import Frozen, PurchaseOption

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Tokens = Annotated[float, Field(ge=1)]
Count = Annotated[int, Field(ge=1)]
GrowthRate = Annotated[float, Field(gt=-1, le=10)]


@dataclass(frozen=True, slots=True)
class NameOf:
    """Marks a text as a name of one of the kinds of `base.KnownNames`, or as a name that people choose."""

    kind: str


@dataclass(frozen=True, slots=True)
class FileOf:
    """Marks a value that is written as the name of a file and read from it."""

    kind: str


ModelName = Annotated[str, NameOf("models")]
PrecisionName = Annotated[str, NameOf("precisions")]
EngineName = Annotated[str, NameOf("engines")]
AcceleratorName = Annotated[str, NameOf("accelerators")]
ProviderName = Annotated[str, NameOf("providers")]
RegionName = Annotated[str, NameOf("regions")]
ApiName = Annotated[str, NameOf("apis")]
ProfileName = Annotated[str, NameOf("profiles")]
CountryName = Annotated[str, NameOf("countries")]
ClientRegionName = Annotated[str, NameOf("client_regions")]
InstanceTypeName = Annotated[str, NameOf("instance_types")]
CertificationName = Annotated[str, NameOf("certifications")]
OwnName = Annotated[str, NameOf("own")]
"""Chosen by the writer of the file; becomes part of ids."""


class Terminal(StrEnum):
    """What commitments that outlast the horizon are worth."""

    REPEAT = "repeat"
    DROP = "drop"
    CHARGE = "charge"


class Horizon(Frozen):
    """The time that is planned: quarters from a first day on."""

    start: date | None = None
    """First day of the horizon. Default: the policy's price date."""
    quarters: Annotated[int, Field(ge=1, le=8)] = 1
    """Quarters that are planned, at most 8; a quarter is 3 months of 730 hours."""
    terminal: Terminal = Terminal.REPEAT
    """What commitments that outlast the horizon are worth; repeat: the last quarter goes on as it is."""
    discount_rate_per_year: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Rate that later payments are discounted at, per year."""
    slices_per_quarter: Annotated[int, Field(ge=1, le=168)] = 8
    """Most typical hours that a quarter is planned with; more of them follow the hours more closely and take longer."""


class TokenVolume(Frozen):
    """Tokens of all requests together."""

    input: NonNegative
    """Prompt tokens."""
    output: NonNegative
    """Generated tokens."""


class LengthClass(Frozen):
    """Requests of one length."""

    name: OwnName
    """Unique in the workload; `measured` rows refer to it."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Share of the workload's requests; the shares of a workload add up to 1."""
    input_tokens: Tokens
    """Prompt tokens of a request."""
    output_tokens: Tokens
    """Generated tokens of a request."""


class TokenDistribution(Frozen):
    """Lengths by their mean and 95th percentile."""

    mean: Tokens
    """Mean tokens per request."""
    p95: Tokens | None = None
    """Tokens of a request at the 95th percentile."""


class Growth(Frozen):
    """Growth from one quarter to the next, as a fraction; plans are made for `mid`."""

    low: GrowthRate
    """If little comes of it."""
    mid: GrowthRate
    """What is planned for."""
    high: GrowthRate
    """If more comes than expected."""


class TraceSummary(Frozen):
    """What a file of requests says of a workload, taken when the workload file is read."""

    file: str
    """As written in the workload file."""
    sha256: str
    """Digest of the file."""
    requests: int
    """Requests in it."""
    span_h: float
    """From its first to its last request."""
    mean_req_per_s: float
    """Requests over the span."""
    weights: tuple[float, ...]
    """24 (a day or more) or 168 (a week or more) relative rates in the trace's clock; empty: less than a day."""
    ratios: dict[str, tuple[float, ...]]
    """Percentile (`p95`) → for each of these hours (or for all) the rate of the minutes that so many requests arrive in
    or in quieter ones, over the hour's mean."""
    dispersion_10s: float
    """Index of dispersion of 10-second counts around their hour's mean."""
    input_tokens: TokenDistribution | None
    """Prompt lengths; None: the file has none."""
    output_tokens: TokenDistribution | None
    """Generated lengths."""

    def sizing_ratios(self, percentile: float) -> tuple[float, ...]:
        """Sizing ÷ mean rate of each hour for a percentile of requests, 0.5, 0.9, 0.95 or 0.99."""
        return self.ratios[f"p{round(100 * percentile)}"]


class Traffic(Frozen):
    """Exactly one way to say how much, and one way to say how long the requests are."""

    peak_req_per_s: NonNegative | None = None
    """Mean rate in the busiest hour of the profile, in requests per second."""
    mean_req_per_s: NonNegative | None = None
    """Mean rate over all hours, in requests per second."""
    requests_per_month: NonNegative | None = None
    """Requests in a month of 730 hours."""
    tokens_per_month: TokenVolume | None = None
    """Prompt and generated tokens in a month of 730 hours."""
    tokens_per_day: TokenVolume | None = None
    """Prompt and generated tokens in a day."""
    trace: Annotated[TraceSummary | None, FileOf("trace")] = None
    """File of requests (CSV or JSON lines with a time, input and output tokens): rates, bursts and lengths are its."""
    peak_to_mean: Annotated[float, Field(ge=1)] | None = None
    """Busiest hour ÷ mean. Default: from the profile, which is reshaped to meet it where both are given."""
    profile: ProfileName | tuple[NonNegative, ...] | None = None
    """Catalog id, 24 / 168 weights (hour of day / of week), or a CSV of hourly rates. Default: flat."""
    profile_column: str | None = None
    """Column of the CSV that holds the rates. Default: its only one besides the time."""
    timezone: str = "UTC"
    """Time zone of the profile, a name of the tz database."""
    dispersion_10s: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """Index of dispersion of arrivals at 10 s; 1 = Poisson, real traffic stays below 1,000."""
    classes: tuple[LengthClass, ...] | None = None
    """Length mix: request classes with their share."""
    input_tokens: Tokens | TokenDistribution | None = None
    """Prompt tokens of a request, or {mean, p95}."""
    output_tokens: Tokens | TokenDistribution | None = None
    """Generated tokens of a request, or {mean, p95}."""
    cached_input_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of prompt tokens found in a prefix cache: saves prefill work, never KV."""
    growth_per_quarter: Growth | GrowthRate = 0.0
    """Growth of requests from one quarter to the next, e.g. 10%, or {low, mid, high}."""
    token_growth_per_quarter: Growth | GrowthRate = 0.0
    """Growth of tokens per request from one quarter to the next."""
    quarter_factors: tuple[NonNegative, ...] | None = None
    """In place of growth: multiples of the rate in each quarter, e.g. [1, 1.2, 2]; one for each quarter."""

    @property
    def growth(self) -> float:
        """Growth of requests that is planned for."""
        return _planned(self.growth_per_quarter)

    @property
    def token_growth(self) -> float:
        """Growth of tokens per request that is planned for."""
        return _planned(self.token_growth_per_quarter)


def _planned(growth: Growth | float) -> float:
    return growth.mid if isinstance(growth, Growth) else growth


class Percentile(StrEnum):
    """Percentiles that a promise can be made at."""

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
    """time to first token at the median, in milliseconds, e.g. 1500"""
    ttft_p90_ms: Positive | None = None
    """time to first token at the 90th percentile, in milliseconds, e.g. 1500"""
    ttft_p95_ms: Positive | None = None
    """time to first token at the 95th percentile, in milliseconds, e.g. 1500"""
    ttft_p99_ms: Positive | None = None
    """time to first token at the 99th percentile, in milliseconds, e.g. 1500"""
    tpot_p50_ms: Positive | None = None
    """time per output token at the median, in milliseconds, e.g. 40"""
    tpot_p90_ms: Positive | None = None
    """time per output token at the 90th percentile, in milliseconds, e.g. 40"""
    tpot_p95_ms: Positive | None = None
    """time per output token at the 95th percentile, in milliseconds, e.g. 40"""
    tpot_p99_ms: Positive | None = None
    """time per output token at the 99th percentile, in milliseconds, e.g. 40"""
    client_region: ClientRegionName | None = None
    """Where the clients are, e.g. eu-west: adds the network round trip to TTFT. Default: none."""

    def limit(self, metric: Literal["ttft", "tpot"]) -> tuple[Percentile, float] | None:
        """(percentile, limit in ms) promised for the metric, or None."""
        for p in Percentile:
            value = getattr(self, f"{metric}_{p.value}_ms")
            if value is not None:
                return p, float(value)
        return None


class Sovereignty(Frozen):
    """Where, and under whose law, data may be processed."""

    countries: tuple[CountryName, ...] | None = None
    """Where data may be processed: country codes and groups (EU, EEA, US, …). Default: anywhere."""
    operator_jurisdictions: tuple[CountryName, ...] | None = None
    """Whose law the operator may be under. Default: any."""
    certifications: tuple[CertificationName, ...] = ()
    """Required of the provider or API, e.g. [iso27001, soc2]; one that is not known counts as not held."""


class SpareDomain(StrEnum):
    """What one spare stands in for."""

    REPLICA = "replica"
    INSTANCE = "instance"
    ZONE = "zone"


class Spare(Frozen):
    """Capacity beyond the need, for when something fails."""

    count: Annotated[int, Field(ge=0, le=1000)] = 1
    """How many may fail at once while the demand is still served."""
    domain: SpareDomain = SpareDomain.REPLICA
    """What fails: a replica, an instance or a zone."""


class Resilience(Frozen):
    """What may fail while promises are kept."""

    spare: Spare | None = None
    """Spare capacity. Default: none."""
    survive_loss_of: tuple[Literal["zone", "region", "provider", "spot"], ...] = ()
    """What may be lost as a whole. Default: nothing."""
    serve_fraction: Fraction = 1.0
    """Share of demand that must still be served after such a loss."""


class Purchase(Frozen):
    """How capacity may be paid for."""

    options: tuple[PurchaseOption, ...] = tuple(PurchaseOption)
    """How capacity may be paid for. Default: every way."""
    max_spot_share: Fraction | None = None
    """Most of a workload's requests that spot serves. Default: 0.5 with an SLO, 1 without."""


class WorkloadKind(StrEnum):
    """Requests as they come, or work with a deadline."""

    ONLINE = "online"
    BATCH = "batch"


class Window(Frozen):
    """When batch work may run, every day. An end at or before the start is on the next day."""

    start: str
    """Time of day from which the day's volume is there, e.g. "20:00"."""
    end: str
    """Time of day by which the day's volume must be done, e.g. "06:00"."""
    timezone: str = "UTC"
    """Time zone of both, a name of the tz database."""

    @property
    def start_h(self) -> float:
        """Hours after local midnight."""
        return _hours(self.start)

    @property
    def length_h(self) -> float:
        """Hours from start to end, above 0 and at most 24."""
        return (_hours(self.end) - _hours(self.start)) % 24.0 or 24.0


def _hours(clock: str) -> float:
    hours, minutes = clock.split(":")
    return int(hours) + int(minutes) / 60.0


class Tenancy(StrEnum):
    """Whether replicas are shared with other workloads."""

    SHARED = "shared"
    DEDICATED = "dedicated"


class Workload(Frozen):
    """A stream of requests with its lengths, its promises and its rules."""

    name: OwnName
    """Unique in the file."""
    kind: WorkloadKind = WorkloadKind.ONLINE
    """online: requests with promises; batch: a volume per day."""
    models: Annotated[tuple[ModelName, ...], Field(min_length=1)]
    """Acceptable models; `model: x` is read as `models: [x]`."""
    precisions: Annotated[tuple[PrecisionName, ...], Field(min_length=1)] | None = None
    """Acceptable weight precisions. Default: the checkpoint's native one and fp8; 4 bit and below only when listed."""
    kv_precisions: Annotated[tuple[PrecisionName, ...], Field(min_length=1)] = ("bf16",)
    """Acceptable precisions of the KV cache."""
    engines: Annotated[tuple[EngineName, ...], Field(min_length=1)] | None = None
    """Acceptable inference engines. Default: the catalog's production engines."""
    max_context_tokens: Count | None = None
    """Longest request to be admitted. Default: the longest class × 4, at most the model's limit."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Engine setting: share of the accelerator's memory that the engine may take."""
    max_num_seqs: Count | None = None
    """Engine setting: most sequences decoded together. Default: the engine's."""
    api_equivalents: tuple[ApiName, ...] = ()
    """API models that may stand in. Default: none."""
    tenancy: Tenancy = Tenancy.SHARED
    """Whether workloads with the same model and rules may share replicas."""
    traffic: Traffic
    """How much, and how long the requests are."""
    slo: Slo = Slo()
    """Latency promises, e.g. {ttft_p95_ms: 2000, tpot_p95_ms: 60}. Default: throughput only."""
    sovereignty: Sovereignty = Sovereignty()
    """Where and under whose law data may be processed. Default: no restriction."""
    resilience: Resilience = Resilience()
    """What may fail, e.g. {spare: {count: 1}}. Default: nothing is spare."""
    purchase: Purchase = Purchase()
    """How capacity may be paid for, e.g. {options: [on_demand, api]}. Default: every way."""
    window: Window | None = None
    """When a batch workload may run, e.g. {start: "20:00", end: "06:00"}. Default: all day, done by midnight UTC."""


class BudgetBasis(StrEnum):
    """Commitments spread over their term, or invoices as they come."""

    AMORTISED = "amortised"
    CASH = "cash"


class Budget(Frozen):
    """Most that a plan may cost."""

    usd_per_month: NonNegative
    """Most that a month may cost."""
    basis: BudgetBasis = BudgetBasis.AMORTISED
    """amortised: commitments are spread over their term; cash: what falls due in the quarter."""


class QuotaMatch(Frozen):
    """Every given field must match; a field left out matches anything."""

    provider: ProviderName | None = None
    """Provider of the purchases that count. Default: any."""
    region: RegionName | None = None
    """Region of the purchases that count. Default: any."""
    zone: str | None = None
    """Zone of the purchases that count. Default: any."""
    country: CountryName | None = None
    """Country, or group of countries, of the region. Default: any."""
    instance_type: InstanceTypeName | None = None
    """Instance type that counts. Default: any."""
    accelerator: AcceleratorName | None = None
    """Accelerator of the instance types that count. Default: any."""


class QuotaUnit(StrEnum):
    """What a quota counts."""

    ACCELERATORS = "accelerators"
    INSTANCES = "instances"


class Quota(Frozen):
    """The most one may buy of a set of purchases."""

    match: QuotaMatch = QuotaMatch()
    """Which purchases count, e.g. {provider: aws, accelerator: H100-SXM}. Default: all."""
    unit: QuotaUnit = QuotaUnit.ACCELERATORS
    """What is counted."""
    applies_to: tuple[PurchaseOption, ...] = (
        PurchaseOption.ON_DEMAND,
        PurchaseOption.RESERVED_1Y,
        PurchaseOption.RESERVED_3Y,
        PurchaseOption.SPOT,
    )
    """Ways to buy that count. Default: all but owned."""
    limit: Annotated[float, Field(ge=0)] | Literal["unknown"]
    """Most of that unit at once; 0 = none may be bought; `unknown` is no limit but is flagged as a risk."""


class ProviderPolicy(Frozen):
    """Which providers may be used, and how many."""

    allow: Annotated[tuple[ProviderName, ...], Field(min_length=1)] | None = None
    """Only these providers. Default: all but those that sell hardware to own (`on-prem`)."""
    deny: tuple[ProviderName, ...] = ()
    """None of these providers."""
    max_count: Count | None = None
    """At most so many different providers (clouds and API providers together). Default: no limit."""


class Estimator(StrEnum):
    """Where a performance figure is from."""

    MEASURED = "measured"
    SILICON = "silicon"
    ANALYTIC = "analytic"


class SpotModel(StrEnum):
    """Whether spot counts with a fallback, or by its availability."""

    FALLBACK = "fallback"
    CREDITED = "credited"


class SpotPolicy(Frozen):
    """How spot capacity behaves, in place of the catalog's figures of each market."""

    model: SpotModel = SpotModel.FALLBACK
    """fallback: on-demand instances take over while spot is away; credited: spot counts by its availability."""
    interruptions_per_up_hour: NonNegative | None = None
    """Interruptions of one instance in an hour that it is up. Default: the market's."""
    start_h: NonNegative | None = None
    """Hours until a replacement serves, e.g. 10min. Default: the market's."""
    availability: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the time that spot can be had. Default: the market's."""
    rework_fraction: NonNegative | None = None
    """Work that is done again after interruptions ÷ work that is to be done, e.g. 0.2. Default: none."""


class OpsOverhead(Frozen):
    """What running machines of one's own costs beside them."""

    fraction: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Share of the bill for machines (not for API calls) that is added to it."""
    fixed_usd_per_month: Annotated[float, Field(ge=0, le=1e7)] = 0.0
    """Charged once as soon as anything is self-hosted."""


class Headroom(Frozen):
    """Margins that capacity is planned with."""

    forecast_margin: Annotated[float, Field(ge=1, le=100)] = 1.0
    """Sizing rates are multiplied by this, e.g. 1.2; money is not."""
    target_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Most of a replica that is used where no latency promise limits it: of measured rates and capacities too."""
    estimate_quantile: Annotated[float, Field(gt=0, lt=1)] = 0.7
    """Which quantile of an estimate's error band is planned with; higher is more careful."""


class Policy(Frozen):
    """Rules over all workloads together."""

    budget: Budget | None = None
    """Most that the plan may cost, e.g. {usd_per_month: 50_000}. Default: none."""
    quotas: tuple[Quota, ...] = ()
    """Limits over sets of purchases. Absent = no limit, 0 = none, unknown = flagged."""
    providers: ProviderPolicy = ProviderPolicy()
    """Which providers may be used. Default: all."""
    estimators: Annotated[tuple[Estimator, ...], Field(min_length=1)] = tuple(Estimator)
    """Which performance figures are trusted."""
    spot: SpotPolicy = SpotPolicy()
    """How spot capacity behaves. Default: as each offer's market."""
    max_configurations: Count | None = None
    """At most so many different configurations in use. Default: no limit."""
    ops_overhead: OpsOverhead = OpsOverhead()
    """What running machines of one's own costs beside them. Default: nothing."""
    headroom: Headroom = Headroom()
    """Margins that capacity is planned with; their product is printed."""
    price_date: date | None = None
    """Prices as of this day. Default: the catalog's date."""


class OwnedMachines(Frozen):
    """Machines that are there and paid for."""

    accelerator: AcceleratorName
    """Accelerator of the machines."""
    accelerators_per_instance: Count = 1
    """Accelerators of one machine."""
    instances: Count = 1
    """Machines."""
    country: CountryName | None = None
    """Where they stand. Default: unknown, so no workload with a country rule may use them."""
    usd_per_used_hour: NonNegative = 0.0
    """Operating cost of one instance for one used hour; the purchase is sunk."""
    ends: date | None = None
    """First day without them: end of life or of the contract. Default: they stay."""


class HeldCommitment(Frozen):
    """A commitment that runs already: sunk, and used wherever it helps."""

    offer: Annotated[str, Field(min_length=1)]
    """What was bought: provider/region[/zone]/instance_type/option, e.g. aws/us-east-1/p5.48xlarge/reserved_1y."""
    instances: Count
    """Instances."""
    ends: date
    """First day without it."""
    usd_per_hour: NonNegative | None = None
    """What an instance costs per hour, used or not. Default: the catalog's price."""


class Fleet(Frozen):
    """What is there today."""

    owned: tuple[OwnedMachines, ...] = ()
    """Machines that are there and paid for."""
    commitments: tuple[HeldCommitment, ...] = ()
    """Commitments that run already: paid until they end, whatever is decided."""


class CatalogChoice(Frozen):
    """Which catalog is used, and what is laid over it."""

    path: str | None = None
    """Folder of a catalog. Default: the one shipped with planner."""
    overlays: tuple[str | dict[str, object], ...] = ()
    """Catalog fragments: paths of YAML files, or the same mapping written inline."""


class Measured(Frozen):
    """A trusted measurement of one replica: two rates, a capacity, or an iteration time with the work per request."""

    model: ModelName
    """Model that was measured."""
    accelerator: AcceleratorName
    """Accelerator that it ran on."""
    tensor_parallel: Count = 1
    """Accelerators that share each layer."""
    pipeline_parallel: Count = 1
    """Groups of layers."""
    precision: PrecisionName
    """Precision of the weights."""
    engine: EngineName | None = None
    """Engine that was measured. Default: any."""
    class_: Annotated[str | None, Field(alias="class")] = None
    """Request class that `capacity_req_per_s` was measured with. Default: every class."""
    prefill_tok_per_s: Positive | None = None
    """Prompt tokens per second of one replica inside its latency limits; with decode_tok_per_s."""
    decode_tok_per_s: Positive | None = None
    """Generated tokens per second of one replica inside its latency limits; with prefill_tok_per_s."""
    capacity_req_per_s: Positive | None = None
    """Requests per second of one replica inside its latency limits."""
    idle_iteration_ms: Positive | None = None
    """Iteration time of an idle replica; with work_s_per_request."""
    work_s_per_request: Positive | None = None
    """Replica time that one request takes; with idle_iteration_ms."""
    source: str | None = None
    """Where the figure is from."""


class MeasuredFile(Frozen):
    """A benchmark's output, a calibration, or a CSV of measured rows; the other fields say what the file does not.

    A benchmark is a point: it corrects the estimates of its model, accelerator and engine, and is no capacity.
    """

    file: str
    """Path of the file, relative to this one."""
    model: ModelName | None = None
    """Model that was measured. Default: the file's."""
    accelerator: AcceleratorName | None = None
    """Accelerator that it ran on. Default: the file's."""
    num_gpus: Count | None = None
    """Accelerators in all; more than the degrees need are further replicas. Default: the file's."""
    tensor_parallel: Count | None = None
    """Accelerators that share each layer. Default: the file's."""
    pipeline_parallel: Count | None = None
    """Groups of layers. Default: the file's, else 1."""
    expert_parallel: Count | None = None
    """Accelerators that share the experts. Default: the file's, else what the model needs."""
    precision: PrecisionName | None = None
    """Precision of the weights. Default: the file's, else the model's native one."""
    kv_precision: PrecisionName | None = None
    """Precision of the KV cache. Default: bf16."""
    engine: EngineName | None = None
    """Engine that was measured. Default: the file's, else vllm."""
    input_tokens: Tokens | None = None
    """Mean prompt tokens of a request. Default: the file's."""
    output_tokens: Tokens | None = None
    """Mean generated tokens of a request. Default: the file's."""
    concurrency: Annotated[float, Field(ge=1)] | None = None
    """Requests in flight, on all accelerators together. Default: the file's."""


class Spec(Frozen):
    """A workload file."""

    schema_version: Literal[1]
    """Version of this file format: 1."""
    name: OwnName
    """Name of the review."""
    horizon: Horizon = Horizon()
    """The time that is planned."""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    """What is to be served."""
    policy: Policy = Policy()
    """Rules over all workloads together."""
    fleet: Fleet = Fleet()
    """What is there today."""
    catalog: CatalogChoice = CatalogChoice()
    """What can be bought. Default: the catalog shipped with planner."""
    measured: tuple[MeasuredFile | Measured, ...] = ()
    """Measurements that are trusted before any estimate."""

    @property
    def measured_rows(self) -> tuple[Measured, ...]:
        """The measurements that are written out."""
        return tuple(m for m in self.measured if isinstance(m, Measured))

    @property
    def measured_files(self) -> tuple[MeasuredFile, ...]:
        """Files of measurements that are still to be read."""
        return tuple(m for m in self.measured if isinstance(m, MeasuredFile))
