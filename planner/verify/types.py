"""What a recomputation of a plan finds: its cost, what it delivers, what binds and what it breaks."""

from __future__ import annotations

from planner.base import Frozen, PurchaseOption
from planner.performance.types import ReplicaCapability

Key = tuple[str | int, ...]


class Violation(Frozen):
    """One broken promise or rule, in the words of the constraint family that states it (DESIGN §5.3)."""

    family: str
    key: Key
    """What it is about: service, pool, slice, band, … in the order that the family names them."""
    needed: float | str | None = None
    had: float | str | None = None
    unit: str = ""
    detail: str = ""
    """One sentence for a person."""

    def __str__(self) -> str:
        numbers = "" if self.needed is None and self.had is None else f": needed {self.needed}, had {self.had}"
        unit = f" {self.unit}" if self.unit and numbers else ""
        text = f" ({self.detail})" if self.detail else ""
        return f"{self.family}[{','.join(map(str, self.key))}]{numbers}{unit}{text}"


class Slack(Frozen):
    """How close a satisfied limit is: `needed ≤ had`, both in `unit`; binding means that they are equal."""

    family: str
    key: Key
    needed: float
    had: float
    unit: str

    @property
    def slack(self) -> float:
        """What is left, in `unit`."""
        return self.had - self.needed


class PurchaseCost(Frozen):
    """What one purchase of the plan costs."""

    pool: str
    option: PurchaseOption
    offer: str
    usd_per_month: float
    """Amortised, mean over the horizon. For spot with the fallback of its absent share."""
    cash_usd_per_month: float
    """Mean invoice per month of the horizon (an up-front payment falls into it whole)."""
    committed_usd: float
    """Over the whole term; 0 for what can be cancelled."""
    liability_beyond_horizon_usd: float
    """Payments due after the horizon's end."""
    usd_by_period: tuple[float, ...] = ()
    """[period of the horizon] amortised, USD per month while it lasts."""
    cash_by_quarter: tuple[float, ...] = ()
    """[quarter] mean invoice per month of the quarter."""


class ApiCost(Frozen):
    """What one API use of the plan costs."""

    request_class: str
    api: str
    usd_per_month: float
    mean_req_per_s: tuple[float, ...]
    """[slice]"""
    peak_req_per_s: tuple[float, ...]
    """[slice]: largest over the bands."""
    usd_by_period: tuple[float, ...] = ()
    """[period of the horizon] USD per month while it lasts."""


class CommitmentUse(Frozen):
    """How well commitments are used, over the horizon; null where there is nothing to divide by."""

    coverage: float | None = None
    """Part of the instance-hours used on rented firm machines that commitments cover."""
    utilization: float | None = None
    """Part of the committed instance-hours that is used."""
    effective_savings_rate: float | None = None
    """1 − cost of the rented firm machines ÷ cost of the hours used at on-demand prices."""


class PlanCost(Frozen):
    """Money of a plan, per month of 730 h, mean over the horizon. Margins and error bands are in none of it."""

    terms: dict[str, float]
    """on_demand, reserved, spot, spot_fallback, owned, api, ops_overhead where they occur; they add up to the total."""
    total_usd_per_month: float
    """Amortised cash."""
    cash_usd_per_month: float
    """Mean invoice per month of the horizon."""
    usd_per_million_tokens: dict[str, float | None]
    """workload → its share of the cost per million tokens (input and output together); None without traffic."""
    liability_beyond_horizon_usd: float
    committed_usd: float
    """Non-cancellable: all payments that the plan's commitments bind us to."""
    purchases: tuple[PurchaseCost, ...]
    """In the order of `Plan.purchases`."""
    api: tuple[ApiCost, ...]
    """In the order of `Plan.api`."""
    judged_usd_per_month: float
    """What plans are compared by: the mean over the horizon and over what its terminal rule counts after it."""
    by_quarter: tuple[float, ...]
    """[quarter] amortised, USD per month."""
    cash_by_quarter: tuple[float, ...]
    """[quarter] mean invoice per month."""
    sunk_usd_per_month: float = 0.0
    """Commitments that run already, used or not; in no other figure."""
    cash_by_month: tuple[float, ...] = ()
    """[month of the horizon] invoices in USD."""
    commitments: CommitmentUse = CommitmentUse()
    """How well commitments are used."""


class Delivery(Frozen):
    """What one deployment of the plan delivers."""

    service: str
    config: str
    pool: str
    spot: bool
    capability: ReplicaCapability
    utilization_mean: float
    """Share of the replicas' time that is busy, mean over the horizon's hours, at the mean rates."""
    utilization_peak: float
    """The same in the busiest slice and band, forecast margin included."""
    row_load_peak: float
    """Largest used share of a capacity row, forecast margin included; 1 = a row binds."""
    binding_row: str | None
    """Name of that row (tpot, ttft, max_num_seqs, kv_cache, utilization); None without load."""
    ttft_p95_ms: float | None
    """Worst class, at the peak load with the forecast margin; None where nothing is known or nothing is routed."""
    tpot_p95_ms: float | None


class Verification(Frozen):
    """The verdict on a plan; `violations` empty = everything recomputed holds."""

    cost: PlanCost
    deliveries: tuple[Delivery, ...]
    """In the order of `Plan.deployments`; those whose configuration cannot be assessed are absent."""
    binding: tuple[Slack, ...]
    """Limits without slack (within tolerance), in canonical order."""
    headroom_factor: float | None
    """Largest t such that its replicas, re-routed, and its API rates serve t times the demand; None: no demand."""
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """Nothing is violated."""
        return not self.violations
