"""What ranking takes and gives: typed, and free of the rooms to its right (a verdict is whatever verifies a plan)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from planner.base import PurchaseOption
from planner.candidates.types import Plan
from planner.formulation.axes import Axis, AxisProgramme, Feature, Signature
from planner.formulation.milp import Milp
from planner.solve.large import Structure
from planner.solve.types import StopReason
from planner.solve.words import headline


class Cost(Protocol):
    """The recomputed money of a plan."""

    @property
    def total_usd_per_month(self) -> float: ...
    @property
    def judged_usd_per_month(self) -> float: ...
    @property
    def terms(self) -> Mapping[str, float]: ...


class Verdict(Protocol):
    """What verification says about a plan."""

    @property
    def ok(self) -> bool: ...
    @property
    def violations(self) -> Sequence[object]: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def headroom_factor(self) -> float | None: ...


V = TypeVar("V", bound=Verdict)
V_co = TypeVar("V_co", bound=Verdict, covariant=True)


class Rankable(Protocol):
    """A compiled programme, objective in USD per hour, with what ranking asks of it. Copies only append columns."""

    @property
    def milp(self) -> Milp: ...
    @property
    def building_s(self) -> float:
        """How long it takes to build a programme of this size."""
        ...

    @property
    def is_part(self) -> bool:
        """Whether it is a part of what may be chosen: its plans are plans, its bounds and refusals prove nothing."""
        ...

    def wider(self) -> Rankable:
        """A wider part, at last the whole."""
        ...

    def start_from(self, part: Any, values: Sequence[float]) -> tuple[float, ...]:
        """The whole numbers of a part's solution as a start for this wider programme; NaN: not said."""
        ...

    def is_last_part(self) -> bool:
        """Whether what is wider is the whole."""
        ...

    def relaxed(self) -> Milp:
        """A programme whose optimum no plan of the whole undercuts, where this is a part."""
        ...

    def plan(self, values: Sequence[float], trim: bool = True) -> Plan:
        """The plan of a solution of `milp`; `trim` leaves out replicas that nothing needs."""
        ...

    def axis(self, axis: Axis) -> AxisProgramme:
        """The programme in which an axis can be minimised."""
        ...

    def only(self, options: Collection[PurchaseOption]) -> Milp:
        """A copy in which nothing but `options` may be bought."""
        ...

    def structure(self, milp: Milp) -> Structure:
        """How this programme or a changed copy of it falls apart."""
        ...

    def short_of(self, options: Collection[PurchaseOption]) -> tuple[str, ...]:
        """Request classes that nothing of `options` can serve."""
        ...

    def signature(self, values: Sequence[float]) -> Signature:
        """What a solution is known by."""
        ...

    def quick(self) -> Rankable:
        """A restriction that is solved much faster, or the programme itself."""
        ...

    def spot_part(self, values: Sequence[float]) -> float:
        """Share of the running capacity that is on spot in the busiest slice."""
        ...

    def single_configurations(self) -> list[Milp]:
        """Copies in which one configuration runs alone, where there is one service."""
        ...

    def without(self, features: Collection[Feature]) -> Rankable | None:
        """The programme in which none of the features can be had; None where nothing is left to serve with."""
        ...


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How far to search; `time_limit_s` is that of the whole command (50 % solve, 30 % ranking, 20 % explanation)."""

    engine: str = "highs"
    time_limit_s: float = 60.0
    relative_gap: float = 1e-3
    seed: int = 0
    top: int = 5
    """Most entries to return; at least 1."""
    within: float = 0.05
    """How much more than the best plan the best on another axis may cost."""


@dataclass(frozen=True, slots=True)
class Entry(Generic[V_co]):
    """One verified plan of the ranked list."""

    rank: int
    """1-based; entries whose difference to the cheapest is below the proven gap share rank 1."""
    axis: str
    """An Axis value, or `alternative`."""
    also: tuple[str, ...]
    """Other axes on which this same plan is the best found."""
    title: str
    buys: tuple[str, ...]
    """What the extra money over the cheapest plan buys, in words; for an alternative: what is different."""
    values: tuple[float, ...]
    """Value per column of the programme."""
    plan: Plan
    verdict: V_co
    total_usd_per_month: float
    """Verified."""
    extra: float
    """Share by which it costs more than the cheapest entry."""
    bound_usd_per_month: float
    """Global: no plan at all can cost less."""
    gap: float
    """(total − bound) / total, at least 0."""
    tie: bool
    """The difference to the cheapest is below the proven gap."""
    measures: Mapping[Axis, float | None]
    """Its figure on every axis, in the unit shown to people; None: no limit (head-room)."""
    signature: Signature

    @property
    def headline(self) -> str:
        """E.g. `Least spot: +2.1 % (+1,234 USD/month): no spot (was 40 % of peak)`."""
        return headline(self.title, self.buys, self.extra, self.extra_usd_per_month, self.tie)

    @property
    def extra_usd_per_month(self) -> float:
        """How much more than the cheapest entry it costs."""
        return self.total_usd_per_month * self.extra / (1 + self.extra)


@dataclass(frozen=True, slots=True)
class Baseline(Generic[V_co]):
    """What one simple way of buying everything would cost; `failures` says why it does not work."""

    name: str
    plan: Plan | None
    verdict: V_co | None
    total_usd_per_month: float | None
    failures: tuple[str, ...]
    proven: bool = True
    """Whether it is known to be the cheapest of its kind, or none at all; else the best that was found in time."""


@dataclass(frozen=True, slots=True)
class Ranking(Generic[V_co]):
    """The outcome of a whole search."""

    status: Literal["planned", "infeasible", "undecided"]
    entries: tuple[Entry[V_co], ...]
    baselines: tuple[Baseline[V_co], ...]
    notes: tuple[str, ...]
    """For people: axes with nothing new, ties, refused plans, what time did not allow."""
    bound_usd_per_month: float | None
    """Global lower bound on the cost of any plan; None: not known."""
    deterministic: bool
    """No clock stopped anything."""
    stop: StopReason | None
    """Why the search for the cheapest plan ended; None: proven infeasible."""
    interrupted: bool
    """Ctrl-C arrived; what was found before is here."""
    refused: tuple[str, ...]
    """Violations of plans that failed their recomputation."""
    detail: str = ""
    """The engine's words on an infeasible programme."""
