"""The result as a document: the JSON of DESIGN §8. Field names are the public contract."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from planner.base import Frozen
from planner.candidates.types import Rejected
from planner.explain.types import Explanation, Infeasibility


class CatalogStamp(Frozen):
    name: str
    as_of: str
    sha256: str


class Limits(Frozen):
    """What bounded the search."""

    time_limit_s: float
    gap: float
    """Relative gap at which a solve may stop."""
    max_gap: float | None = None
    within: float
    """How much more than the best plan an alternative may cost."""
    top: int


class ProvenanceStamp(Frozen):
    """Everything needed to run the same again."""

    planner: str
    ortools: str
    solver: str
    seed: int
    limits: Limits
    spec_sha256: str
    catalog: CatalogStamp
    assumptions: tuple[str, ...] = ()


class SliceView(Frozen):
    id: str
    quarter: int
    label: str
    hours_per_month: float
    order: int


class DemandView(Frozen):
    model_config = ConfigDict(serialize_by_alias=True)

    workload: str
    class_: Annotated[str, Field(alias="class")]
    """Name of the request class."""
    slice: str
    mean_req_per_s: float
    sizing_req_per_s: float
    """The rate that capacity is sized on, forecast margin included."""


class CostView(Frozen):
    total_usd_per_month: float
    """Amortised cash, mean over the horizon; penalties are excluded."""
    terms: dict[str, float]
    """USD/month; adds up to the total. `sunk` is shown and not part of it."""
    by_quarter: tuple[float, ...]
    """USD/month in each quarter."""
    total_horizon_usd: float
    liability_beyond_horizon_usd: float
    cash_usd_per_month: float | None = None
    """Invoices as they come, mean over the horizon; null in results of older versions."""
    cash_by_quarter: tuple[float, ...] = ()
    """Invoices as they come, USD/month in each quarter."""
    cash_by_month: tuple[float, ...] = ()
    """Invoices as they come, USD in each month of the horizon."""
    commitment_coverage: float | None = None
    """Part of the instance-hours used on rented firm machines that commitments cover; null without any."""
    commitment_utilization: float | None = None
    """Part of the committed instance-hours that is used; null without any."""
    effective_savings_rate: float | None = None
    """1 − cost of the rented firm machines ÷ cost of the hours used at on-demand prices; null where one has none."""
    judged_usd_per_month: float | None = None
    """What plans are ranked by and what the bound is about: with what the terminal rule counts after the horizon."""
    usd_per_million_tokens: dict[str, float | None]
    """Workload → USD per million tokens (input and output together); null without traffic."""


class SpotView(Frozen):
    """What the money of a spot purchase includes: spot while it is there, the fallback while it is away."""

    availability: float
    """Part of the time that spot is there."""
    fallback_offer: str | None
    """On-demand offer that takes over; null where nothing does."""
    fallback_usd_per_hour: float | None
    """Per instance."""


class PurchaseView(Frozen):
    offer: str
    provider: str
    region: str
    zone: str
    country: str | None
    operator_jurisdiction: str | None
    instance_type: str
    accelerator: str
    accelerators_per_instance: int
    purchase_option: str
    term_months: int
    start_quarter: int
    """The quarter in which it is bought, numbered as in `slices`."""
    start_month: float = 0.0
    """The same in months from the start of the horizon."""
    start_date: str | None = None
    """First day of a commitment that is to be made; null for what is paid by the hour, owned, or runs already."""
    end_date: str | None = None
    """First day after a commitment; null for what has no term."""
    tentative: bool = False
    """Bought later than now: to be decided again when its time comes."""
    existing: bool = False
    """A commitment that runs already, used where it helps; its price is sunk."""
    instances_by_slice: dict[str, int]
    usd_per_hour: float | None = None
    """Per instance, amortised over the term."""
    usd_per_month: float
    source: str
    as_of: str
    confidence: str
    spot: SpotView | None = None


class Predicted(Frozen):
    """What a replica of a deployment does; null where nothing was promised or nothing is known."""

    ttft_p95_ms: float | None
    tpot_p95_ms: float | None
    capacity_req_per_s_per_replica: float | None
    """Of the service's mix at its sizing rates, inside the SLO, head-room applied."""
    utilization_mean: float | None
    utilization_peak: float | None
    kv_tokens: int | None
    """Tokens that the KV cache of one replica holds."""
    provenance: str
    error_band: tuple[float, float]


class DeploymentView(Frozen):
    service: str
    workloads: tuple[str, ...]
    model: str
    precision: str
    kv_precision: str
    engine: str
    tensor_parallel: int
    pipeline_parallel: int
    expert_parallel: int
    accelerator: str
    pool: str
    spot: bool
    replicas_by_slice: dict[str, int]
    max_num_seqs: int
    max_num_batched_tokens: int
    router: str
    predicted: Predicted


class ApiView(Frozen):
    workload: str
    api: str
    provider: str
    mean_req_per_s_by_slice: dict[str, float]
    peak_req_per_s_by_slice: dict[str, float]
    usd_per_month: float
    countries: tuple[str, ...] | None = None
    """Where requests may be processed; null: unknown."""
    operator_jurisdiction: str | None = None
    confidence: str | None = None
    """Of its price."""


class AxesView(Frozen):
    """The plan's figure on every ranking axis (DESIGN §6)."""

    committed_usd: float
    """Non-cancellable money of the bought terms."""
    spot_share: float
    """Credited spot capacity over the demand's peak, summed over services; above 1 where spot alone is more."""
    api_usd_per_month: float
    configurations: int
    headroom: float | None
    """Largest t with capacity ≥ t · sizing demand; null where an API can take any amount."""


class PlanView(Frozen):
    rank: int
    """1-based; plans whose difference to the cheapest is below the proven gap share rank 1."""
    axis: str
    """What it is best in: cheapest, least_committed, …; or `alternative`."""
    also: tuple[str, ...] = ()
    """Other axes on which it is the best found."""
    title: str
    buys: tuple[str, ...] = ()
    """What its extra money over the cheapest plan buys; for an alternative also what is different."""
    tie: bool = False
    """Its difference to the cheapest is below the proven gap."""
    verified: Literal[True] = True
    cost: CostView
    bound_usd_per_month: float
    gap: float
    """Against the global cost bound."""
    axes: AxesView
    purchases: tuple[PurchaseView, ...]
    deployments: tuple[DeploymentView, ...]
    api: tuple[ApiView, ...]
    explanation: Explanation


class BaselineView(Frozen):
    name: str
    cost: float | None
    """USD/month; None: it cannot be built at all."""
    failures: tuple[str, ...] = ()
    proven: bool = True
    """False: the best that was found in the time limit, or undecided; a cheaper one of the kind may exist."""


class PolicyView(Frozen):
    """The spec's limits that a reader compares the plans with; null where there is none."""

    budget_usd_per_month: float | None = None
    budget_basis: str = "amortised"
    max_spot_share: float | None = None
    """Largest over the services."""


class AskedView(Frozen):
    """What the spec lets one service use, defaults filled in."""

    service: str
    workloads: tuple[str, ...]
    models: tuple[str, ...]
    precisions: tuple[str, ...]
    engines: tuple[str, ...]
    apis: tuple[str, ...]
    """Names of the APIs that are equivalent."""
    purchase_options: tuple[str, ...]


class PossibleView(Frozen):
    """A configuration on an offer, or an API, that could serve a service and that nothing else replaces."""

    service: str
    offer: str
    """Id of the offer of machines or of the API."""
    config: str | None
    """`model/precision/engine/accelerator/tpN…`; null for an API."""
    provider: str
    region: str
    country: str | None
    accelerator: str | None
    usd_per_accelerator_hour: float | None
    usd_per_replica_hour: float | None
    usd_per_1000_requests: float | None
    """Of the service's mix; machines fully used inside the SLO. Null where a class is not served."""


class Result(Frozen):
    """What `planner solve SPEC --format json` prints."""

    schema_version: Literal["1"] = "1"
    name: str
    """Name of the spec."""
    status: Literal["planned", "infeasible", "undecided"]
    deterministic: bool
    provenance: ProvenanceStamp
    starts_on: date | None = None
    """First day of the horizon; null in results of older versions."""
    policy: PolicyView = PolicyView()
    slices: tuple[SliceView, ...]
    scenarios: tuple[str, ...] = ()
    demand: tuple[DemandView, ...]
    plans: tuple[PlanView, ...]
    notes: tuple[str, ...] = ()
    """What the ranking has to say: axes with nothing new, ties."""
    baselines: tuple[BaselineView, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    infeasibility: Infeasibility | None = None
    asked: tuple[AskedView, ...] = ()
    possible: tuple[PossibleView, ...] = ()
