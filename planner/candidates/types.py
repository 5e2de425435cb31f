"""What may be chosen (`Problem`) and what was chosen (`Plan`). No variables, no constraints."""

from __future__ import annotations

from datetime import date
from functools import cached_property

from pydantic import Field

from planner.base import Check, Confidence, Frozen, PurchaseOption
from planner.demand.types import Demand
from planner.performance.types import ReplicaCapability
from planner.spec.types import Horizon, Policy


class OptionPrice(Frozen):
    """One way to pay for an instance of a pool."""

    offer: str
    option: PurchaseOption
    usd_per_hour: float
    """Per instance, amortised over the term; for `owned` per used hour."""
    term_months: int
    upfront_fraction: float
    max_instances: int | None
    source: str
    as_of: date
    confidence: Confidence
    flags: tuple[str, ...] = ()
    quarter_factors: tuple[float, ...] = ()
    """[quarter] price relative to `usd_per_hour`; empty: the same in every quarter."""
    from_month: float = 0.0
    """Sold from this month of the horizon on."""
    until_month: float | None = None
    """There until this month; None: for good."""

    def usd_in(self, quarter: int) -> float:
        """Price per instance and hour of what is bought in a quarter (from 1)."""
        return self.usd_per_hour * self.quarter_factors[quarter - 1] if self.quarter_factors else self.usd_per_hour


class SpotTerms(Frozen):
    """How spot of a pool behaves and what its absence costs (DESIGN §5.3)."""

    interruptions_per_up_hour: float
    start_h: float
    availability: float
    fallback_offer: str | None
    """On-demand offer that takes over while spot is away; None under `spot.model: credited`."""
    fallback_usd_per_hour: float | None
    """Per instance of this pool."""
    fallback_factors: tuple[float, ...] = ()
    """[quarter] the fallback's price relative to that; empty: the same in every quarter."""


class Pool(Frozen):
    """One instance type at one provider, region and zone, whatever option it is bought under; p in the formulas."""

    id: str
    provider: str
    region: str
    zone: str
    instance_type: str
    accelerator: str
    accelerators: int
    """G."""
    tensor_parallel_domain: int
    interconnect: str
    network_gb_per_s: float
    country: str | None
    operator_jurisdiction: str | None
    certifications: tuple[str, ...]
    prices: tuple[OptionPrice, ...]
    spot: SpotTerms | None

    commitment: str | None = None
    """Offer of the commitment that runs already and that these machines are held under; None: they can be bought."""

    def price(self, option: PurchaseOption) -> OptionPrice | None:
        """The price under an option, or None where it is not sold."""
        return next((p for p in self.prices if p.option == option), None)


class Candidate(Frozen):
    """A service's configuration in a pool: one column that a plan may use."""

    service: str
    capability: ReplicaCapability
    pool: str
    options: tuple[PurchaseOption, ...]
    """Purchase options that the service allows and the pool sells, instances only."""

    @cached_property
    def id(self) -> str:
        return f"{self.service}|{self.capability.config.id}|{self.pool}"


class ApiCandidate(Frozen):
    """An API that may serve one request class."""

    service: str
    request_class: str
    api: str
    provider: str
    region: str
    usd_per_request: float
    tokens_per_request: float
    max_req_per_s: float | None
    """Over all classes that use the API; None: unknown."""
    max_tok_per_min: float | None
    countries: tuple[str, ...] | None
    operator_jurisdiction: str | None
    source: str
    as_of: date
    confidence: Confidence


class Rejected(Frozen):
    """A refused thing with all failed checks; `count` equal refusals were folded into it."""

    what: str
    service: str | None = None
    checks: tuple[Check, ...]
    count: int = 1


class QuotaRow(Frozen):
    """A limit over a set of purchases, resolved to pools."""

    id: str
    pools: tuple[str, ...]
    options: tuple[PurchaseOption, ...]
    per_accelerator: bool
    limit: float
    taken: tuple[tuple[float, float], ...] = ()
    """(until month, amount) of what commitments that run already hold of it."""

    def left(self, ends_month: float) -> float:
        """What may be bought in a slice that ends then."""
        return max(0.0, self.limit - sum(amount for until, amount in self.taken if until > ends_month - 1e-6))


class Problem(Frozen):
    """Everything the programme needs: demand, columns, limits. The formulation reads nothing else."""

    demand: Demand
    pools: tuple[Pool, ...]
    candidates: tuple[Candidate, ...]
    apis: tuple[ApiCandidate, ...]
    quotas: tuple[QuotaRow, ...]
    policy: Policy
    horizon: Horizon = Horizon()
    tail_quarters: int = 0
    """Quarters after the horizon until the longest term on offer, begun in the last quarter, has ended."""
    rejected: tuple[Rejected, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown_quotas: tuple[str, ...] = ()
    idle_quotas: tuple[str, ...] = ()
    """Quotas that match no pool."""


class Purchase(Frozen):
    """Instances of a pool under an option, per slice (a commitment is constant over the slices of its term)."""

    pool: str
    option: PurchaseOption
    instances: tuple[int, ...] = Field(description="[slice]")
    start_month: float = 0.0
    """When a commitment begins, in months from the start of the horizon."""


class Route(Frozen):
    """Rate of one request class sent to a deployment or API in one slice and band."""

    request_class: str
    slice: int
    band: int
    req_per_s: float


class Deployment(Frozen):
    """Replicas of a service's configuration in a pool, on spot or not."""

    service: str
    config: str
    """`EngineConfig.id`."""
    pool: str
    spot: bool
    replicas: tuple[int, ...]
    """[slice]"""
    routes: tuple[Route, ...]


class ApiUse(Frozen):
    request_class: str
    api: str
    routes: tuple[Route, ...]


class Plan(Frozen):
    """A decision. Costs are not stated here: whoever needs them recomputes them (`verify.cost`)."""

    purchases: tuple[Purchase, ...]
    deployments: tuple[Deployment, ...]
    api: tuple[ApiUse, ...]
