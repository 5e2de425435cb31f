"""What an explanation says (DESIGN §7). Every number can be recomputed from the plan, the spec and the catalog."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.base import Check, Frozen

IDLE = "no conflict is about it"
"""Of a rule that could be given up without changing anything."""
STILL = "there is still no plan"
"""Of a rule that does not suffice, where the conflicts that remain are not short enough to be told."""


class Binding(Frozen):
    """A limit with no room left in the verified plan."""

    family: str
    """Constraint family (DESIGN §5.3)."""
    keys: tuple[str, ...]
    used: float
    limit: float
    unit: str
    text: str
    """One sentence for a person."""


class FlipSide(Frozen):
    """The cheapest plan just beside a flip, solved and verified."""

    value: float
    """Of the input, in the flip's unit."""
    usd_per_month: float
    plan: str
    """What is bought and called."""
    utilization: float | None = None
    """Mean share of the replicas' time that is busy; None without machines."""


class Flip(Frozen):
    """A break-even: the value of something at which another choice becomes the cheaper one."""

    what: str
    """`api_volume`: the smallest volume at which an all-API bill equals the self-hosted one (machines come whole, so
    above it either may be the cheaper one); `api_price`: the API price at which both bills are equal today. Under
    `--explain full` also `price`, `volume`, `utilization`: where the kind of the cheapest plan changes."""
    service: str
    """Empty: all services together."""
    at: float | None
    """None: no value flips the choice."""
    unit: str
    now: float
    """Today's value."""
    usd_per_month_at: float | None = None
    """Both bills at the break-even."""
    text: str
    input: str | None = None
    """The offer, API or figure that is moved; None: a closed form."""
    factor: float | None = None
    """at ÷ now."""
    sides: tuple[FlipSide, ...] = ()
    """The plans solved on today's side and on the other."""
    verified: bool = False
    """Whether both sides were solved."""


class Sensitivity(Frozen):
    """One bar of the tornado: what the cheapest plan costs when an input is lower or higher."""

    input: str
    what: str
    """price | volume | utilization."""
    unit: str
    now: float
    low: float
    high: float
    usd_per_month_low: float | None
    """Cost of the cheapest plan at `low`; None: not solved in time, or none."""
    usd_per_month_high: float | None
    usd_per_month_now: float
    swing_usd_per_month: float
    """Largest of the three costs − the smallest."""
    other_plan_low: str | None = None
    """What is bought instead, where the kind of plan changes; None: it does not."""
    other_plan_high: str | None = None


class Risk(Frozen):
    """Something that the plan's numbers rest on and that may turn out otherwise."""

    kind: str
    share: float | None = None
    """Part of the plan's money that it touches, 0…1."""
    text: str


class HeadroomProduct(Frozen):
    """All margins of one deployment: factors ≤ 1 that multiply its capacity, and their product (DESIGN §4)."""

    service: str
    config: str
    pool: str
    factors: dict[str, float]
    product: float
    stated: dict[str, float] = Field(default_factory=dict)
    """The spec's values behind the factors: forecast margin ≥ 1, quantile of the estimate, target utilisation."""


class RulePrice(Frozen):
    """What a rule of the spec costs: between which amounts the cheapest plan would be cheaper without it."""

    rule: str
    """Where the spec says it."""
    kind: str
    """sovereignty | slo | resilience | purchase | quota | budget | provider."""
    says: str
    low_usd_per_month: float
    """with_bound − without, at least 0."""
    high_usd_per_month: float
    """with − without_bound, at least 0."""
    with_usd_per_month: float
    """Cost of the best plan with the rule."""
    with_bound_usd_per_month: float
    """No plan with the rule costs less."""
    without_usd_per_month: float
    """Cost of the best verified plan without it; the plan with it is one."""
    without_bound_usd_per_month: float
    verdict: Literal["costs", "free", "not_resolved"]
    """`costs`: a positive price is proven; `free`: less than half a percent of the cost; else the gaps hide it."""
    uses: tuple[str, ...] = ()
    """What the cheaper plan uses that the rule does not allow."""
    text: str


class PlanRobustness(Frozen):
    """One plan of the list over all draws."""

    position: int
    """In the list, from 1."""
    title: str
    win_probability: float
    """Share of the draws in which no plan of the list is cheaper; equal ones share it."""
    mean_usd_per_month: float
    p10_usd_per_month: float
    p90_usd_per_month: float
    mean_regret_usd_per_month: float
    """Cost less the cheapest plan's of the list, mean over the draws."""
    p95_regret_usd_per_month: float


class Robustness(Frozen):
    """The list of plans under estimates and prices that turn out otherwise."""

    draws: int
    seed: int
    method: str
    """What was varied, how, and what the figures do not see."""
    plans: tuple[PlanRobustness, ...]


class ForcedPlan(Frozen):
    """The cheapest plan found in which something that was not chosen is used."""

    service: str
    """Service of which it carries at least a tenth; `the plan` for an offer."""
    usd_per_month: float
    extra_usd_per_month: float
    """Over the plan that it is compared with."""
    bound_usd_per_month: float
    """No plan with it, among the choices that were left in, costs less."""
    plan: str
    text: str


class CurvePoint(Frozen):
    """One volume: all by API, machines only, and the best of both."""

    factor: float
    """Multiple of today's volume."""
    tokens_per_month: float
    all_api_usd_per_month: float | None
    """None: no API serves all of it."""
    machines_usd_per_month: float | None
    """None: machines cannot serve it, or not found in time."""
    machines: str | None
    """What is bought then."""
    utilization: float | None
    """Mean share of the replicas' time that is busy, machines only."""
    best_usd_per_month: float | None
    best_api_share: float | None
    """Share of requests that the best plan sends to APIs."""


class Crossover(Frozen):
    """The smallest volume at which machines alone cost no more than the API alone."""

    factor: float
    tokens_per_month: float
    usd_per_month: float
    """Both bills."""
    machines: str
    """What is bought there."""
    utilization: float | None
    """Mean share of the replicas' time that is busy there."""
    below: CurvePoint
    """Solved just below, where the API is cheaper."""
    above: CurvePoint
    """Solved just above."""


class VolumeCurve(Frozen):
    """API against machines over volume."""

    schema_version: Literal["1"] = "1"
    name: str = ""
    tokens_per_month_now: float
    points: tuple[CurvePoint, ...]
    """By volume."""
    crossover: Crossover | None
    """None: at no volume, or not found in time."""
    stopped: bool = False
    """The time of the whole, or of a solve, ended: what is null may be there, it was not found in time."""


class Explanation(Frozen):
    """Why a plan looks as it does."""

    binding: tuple[Binding, ...] = ()
    rule_prices: tuple[RulePrice, ...] = ()
    """Of the problem, so with the first plan only; the dearest first. Empty without `--explain full`."""
    flips: tuple[Flip, ...] = ()
    tornado: tuple[Sensitivity, ...] = ()
    """The inputs that matter, the widest swing first; with the first plan only, under `--explain full`."""
    robustness: Robustness | None = None
    """Of the list, so with the first plan only, under `--explain full`; null for a list of one."""
    risks: tuple[Risk, ...] = ()
    headroom: tuple[HeadroomProduct, ...] = ()


class RefusalGroup(Frozen):
    """Refusals for the same reason: how many, and one of them as an example."""

    service: str | None
    check: str
    kind: str
    count: int
    example: str
    """What was refused."""
    example_check: Check
    """The example's failed check, with needed and had."""


class Conflict(Frozen):
    """A limit that cannot be kept: in its unit, by how much at least."""

    family: str
    """Constraint family (DESIGN §5.3)."""
    keys: tuple[str, ...]
    short_by: float | None
    """None: the amount is not known."""
    unit: str | None
    relax: str | None = None
    """How one would relax it."""
    classes: tuple[str, ...] = ()
    """Request classes that come short while all limits stay as they are; empty: the keys name them."""
    rules: tuple[str, ...] = ()
    """Rules of the spec that cannot be kept together, nothing else in the way; giving up one of them ends the
    conflict. Empty: no rule of the spec stands in the way."""
    text: str | None = None
    """One sentence for a person."""


class Change(Frozen):
    """One rule of the spec given up, as far as needed."""

    rule: str
    """Where the spec says it."""
    text: str
    now: float | None = None
    """The number that the spec says."""
    to: float | None = None
    """The number that suffices."""
    unit: str | None = None
    items: tuple[str, ...] = ()
    """Names that are allowed, or no longer required."""
    smallest: bool = False
    """Whether one unit, or one name, less was shown not to suffice; False: the rule is given up as a whole."""


class Relaxation(Frozen):
    """A set of changes that leaves a plan; no change of it can be left out."""

    changes: tuple[str, ...]
    """In words."""
    total_usd_per_month: float
    """Of the cheapest plan of the spec with the changes, verified."""
    kind: str = "smallest"
    """`smallest`: no amount can be a unit less; `cheap`: the smallest amounts that leave a plan near the least cost."""
    edits: tuple[Change, ...] = ()
    """The changes as numbers and names."""


class Infeasibility(Frozen):
    """Why there is no plan, and what would make one."""

    conflicts: tuple[Conflict, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    """Fewest changes first, then the cheapest."""
    no_help: tuple[str, ...] = ()
    """Single changes that leave no plan, with what still stands in the way."""
    nearest: tuple[str, ...] = ()
    """Configurations near to what does not fit into memory, and that fit."""
    complete: bool = False
    """Whether all smallest sets of changes were looked at; False: the time ended, or no rule stands in the way."""
