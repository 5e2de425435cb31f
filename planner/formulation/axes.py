"""What ranking needs of the programme: axes, signatures and restrictions (DESIGN §6). Each returns a changed copy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from planner.base import PurchaseOption
from planner.candidates.places import jurisdiction_class
from planner.catalog.catalog import Catalog
from planner.formulation.compile import Compiled, compile_milp
from planner.formulation.families import (
    TERM_OF,
    capacity_terms,
    configuration_indicators,
    option_terms,
)
from planner.formulation.milp import Milp
from planner.formulation.sets import COMMITMENTS, Config, Sets
from planner.formulation.variables import SPOT_SEAT, replica_terms, seat_kinds
from planner.units import HOURS_PER_MONTH

USED_SHARE = 0.10
"""A thing is "used" when it carries at least this share of volume (DESIGN §6)."""
MOST_HEADROOM = 4.0
"""Head-room is looked for up to this multiple of the demand."""


class Axis(StrEnum):
    CHEAPEST = "cheapest"
    LEAST_COMMITTED = "least_committed"
    LEAST_SPOT = "least_spot"
    LEAST_API = "least_api"
    FEWEST_CONFIGURATIONS = "fewest_configurations"
    MOST_HEADROOM = "most_headroom"


@dataclass(frozen=True)
class AxisProgramme:
    """A programme that has the axis's expression; minimise `expression` (head-room is negated)."""

    axis: Axis
    milp: Milp
    expression: dict[int, float]
    unit: str
    sign: float = 1.0
    """Value shown to people = sign · expression."""


def axis_programme(compiled: Compiled, axis: Axis) -> AxisProgramme:
    """The programme in which an axis can be minimised or fixed."""
    s = compiled.sets
    if axis == Axis.MOST_HEADROOM:
        milp, t = with_headroom(compiled)
        return AxisProgramme(axis, milp, {t: -1.0}, "× demand", -1.0)
    if axis == Axis.FEWEST_CONFIGURATIONS:
        milp = compiled.milp.copy()
        return AxisProgramme(axis, milp, dict.fromkeys(configuration_indicators(milp, s), 1.0), "configurations")
    if axis == Axis.LEAST_SPOT:
        return AxisProgramme(axis, compiled.milp, spot_share(compiled), "share of peak capacity")
    if axis == Axis.LEAST_COMMITTED:
        return AxisProgramme(axis, compiled.milp, committed_usd(compiled), "USD")
    if axis == Axis.LEAST_API:
        api = {c: v * HOURS_PER_MONTH for c, v in compiled.milp.terms.get("api", {}).items()}
        return AxisProgramme(axis, compiled.milp, api, "USD/month")
    return AxisProgramme(axis, compiled.milp, compiled.cost, "USD/h")


def committed_usd(compiled: Compiled) -> dict[int, float]:
    """Non-cancellable USD: price·730·term of every commitment."""
    s, m = compiled.sets, compiled.milp
    found: dict[int, float] = {}
    for p, pool in enumerate(s.pools):
        for option in COMMITMENTS:
            price = pool.price(option)
            if price is not None:
                for column, _ in option_terms(m, s, p, option, 0):
                    found[column] = price.usd_per_hour * HOURS_PER_MONTH * price.term_months
    return found


def spot_share(compiled: Compiled) -> dict[int, float]:
    """Σ_s credited spot capacity over the top rate, at each service's busiest slice."""
    s = compiled.sets
    found: dict[int, float] = {}
    for i in range(len(s.services)):
        t = busiest(s, i)
        total = s.service_rate(i, t, -1)
        if total > 0:
            for column, value in capacity_terms(compiled.milp, s, i, t, 1.0 / total, (SPOT_SEAT,)):
                found[column] = found.get(column, 0.0) + value
    return found


def busiest(s: Sets, i: int) -> int:
    """The slice in which a service's top rate is largest."""
    return max(range(len(s.slices)), key=lambda t: (s.service_rate(i, t, -1), -t))


def with_headroom(compiled: Compiled) -> tuple[Milp, int]:
    """A copy with t: the largest factor on every service's demand that its replicas and bought API rate still serve.

    Σ_k y[r,k,τ] + Σ_a api[r,a,τ,top] ≥ t·λ[r,τ],   margin·Σ_r use·y ≤ credited replicas      ∀ s, τ

    (y is the stressed routing; with one class it is Σ cap·replicas + api ≥ t·λ.) API rates stay as bought. The
    bounds are wide enough for that demand; the columns of the programme come first and in their order.
    """
    wide = compile_milp(compiled.problem, stress=MOST_HEADROOM)
    s, m = wide.sets, wide.milp
    factor = m.add("headroom", (), 1.0, MOST_HEADROOM)
    for i in range(len(s.services)):
        for t in range(len(s.slices)):
            _stress(m, s, i, t, factor)
    return m, factor


def _stress(m: Milp, s: Sets, i: int, t: int, factor: int) -> None:
    top_band = len(s.services[i].band_weights[t]) - 1
    classes = [r for r in s.active_classes[i] if s.top(i, r, t) > 0]
    routed: dict[int, list[tuple[int, float]]] = {r: [(factor, -1.0)] for r in classes}
    for a in s.apis_of[i]:
        column = m.column("api", (i, a.request_class, a.candidate.api, t, top_band))
        if column is not None:
            routed[a.request_class].append((column, 1.0))
    if s.is_covering(i):
        for r in classes:
            routed[r] += capacity_terms(m, s, i, t, 1.0 / s.top(i, r, t))
    else:
        for k in s.configs_of[i]:
            _stress_config(m, s, k, t, classes, routed)
    for r in classes:
        m.row("headroom", (i, r, t), routed[r], lower=0.0)


def _stress_config(
    m: Milp, s: Sets, k: Config, t: int, classes: list[int], routed: dict[int, list[tuple[int, float]]]
) -> None:
    served = [r for r in classes if k.capability.served[r]]
    ys = {r: m.add("stressed", (k.service, r, k.index, t), 0, MOST_HEADROOM) for r in served}
    for r, y in ys.items():
        routed[r].append((y, 1.0))
    room = [term for kind in seat_kinds(k) for term in replica_terms(m, s, k, t, kind, -1.0)]
    for j, row in enumerate(k.capability.rows):
        work = [(y, s.margin * row.use[r] * s.top(k.service, r, t)) for r, y in ys.items()]
        m.row("headroom", ("capacity", k.index, j, t), work + room, upper=0.0)


# ---- restrictions ------------------------------------------------------------------------------------------------


def only_options(compiled: Compiled, options: Collection[PurchaseOption]) -> Milp:
    """A copy in which nothing else may be bought (for the baselines all-API, all-on-demand, all-reserved)."""
    s, m = compiled.sets, compiled.milp.copy()
    closed: set[int] = set()
    for p in range(len(s.pools)):
        for option in PurchaseOption:
            if option not in options:
                closed |= {c for t in range(len(s.slices)) for c, _ in option_terms(m, s, p, option, t)}
    if PurchaseOption.API not in options:
        closed |= {c for c, v in enumerate(m.variables) if v.family == "api"}
    for column in closed:
        m.variables[column] = replace(m.variables[column], upper=0.0)
    return m


def bounded(milp: Milp, name: str, expression: dict[int, float], upper: float) -> Milp:
    """A copy with Σ expression ≤ upper."""
    m = milp.copy()
    scale = max((abs(v) for v in expression.values()), default=1.0) or 1.0
    m.row("axis", (name,), [(c, v / scale) for c, v in expression.items()], upper=upper / scale)
    return m


def minimising(milp: Milp, expression: dict[int, float]) -> Milp:
    """A copy whose objective is an expression."""
    m = milp.copy()
    m.terms = {"axis": dict(expression)}
    return m


# ---- signatures --------------------------------------------------------------------------------------------------

Feature = tuple[str, ...]
"""("kind", service, model, accelerator, precision, tpN) | ("place", service, class) | ("paid", purchase class) |
("api", service): what reviewers tell plans apart by."""
PURCHASE_CLASS = {**TERM_OF, PurchaseOption.SPOT: "spot"}


class Signatures:
    """What a plan is known by: per service its dominant kind (or API) and place, and the dominant purchase class.

    Kinds and places weigh by capacity in the service's busiest slice, APIs by mean volume, purchase classes by money
    as a share of the best plan's cost. Another plan differs when one of the dominant things carries less than 10 %
    (DESIGN §6); counts and regions make no difference.
    """

    def __init__(self, compiled: Compiled, catalog: Catalog, best_cost: float) -> None:
        self._milp = compiled.milp
        self.expressions = _features(compiled, catalog, max(best_cost, 1e-9))

    def of(self, values: Sequence[float]) -> frozenset[Feature]:
        """The dominant features of a solution; ties fall to the smaller name."""
        shares = {f: self._milp.value(e, values) for f, e in self.expressions.items()}
        rivals: dict[tuple[str, str], list[Feature]] = defaultdict(list)
        for f, share in shares.items():
            if share >= USED_SHARE:
                rivals["served" if f[0] in ("kind", "api") else f[0], f[1] if f[0] != "paid" else ""].append(f)
        return frozenset(min(fs, key=lambda f: (-round(shares[f], 6), f)) for fs in rivals.values())

    def forbid(self, milp: Milp, signatures: Iterable[frozenset[Feature]]) -> Milp:
        """A copy whose solutions differ from every signature: one of its features carries less than 10 %.

        Σ_{f in signature} u_f ≤ |signature| − 1,   share_f ≤ 10 % + (most_f − 10 %)·u_f,   u_f ∈ {0,1}
        """
        m = milp.copy()
        made: dict[Feature, int] = {}
        for number, signature in enumerate(signatures):
            for f in sorted(signature - set(made)):
                made[f] = self._indicator(m, f)
            m.row("no_good", (number,), [(made[f], 1.0) for f in sorted(signature)], upper=len(signature) - 1.0)
        return m

    def _indicator(self, m: Milp, feature: Feature) -> int:
        expression = self.expressions[feature]
        most = math.fsum(v * m.variables[c].upper for c, v in expression.items())
        u = m.add("is_used", feature, 0, 1, integer=True)
        below = USED_SHARE * (1 - 1e-3)
        m.row("is_used", feature, [*expression.items(), (u, -max(most - below, 0.0))], upper=below)
        return u


def _features(compiled: Compiled, catalog: Catalog, best_cost: float) -> dict[Feature, dict[int, float]]:
    s, m = compiled.sets, compiled.milp
    found: dict[Feature, dict[int, float]] = defaultdict(dict)

    def add(feature: Feature, column: int, value: float) -> None:
        found[feature][column] = found[feature].get(column, 0.0) + value

    for i, service in enumerate(s.services):
        t = busiest(s, i)
        total = s.service_rate(i, t, -1)
        if total <= 0:
            continue
        for k in s.configs_of[i]:
            c = k.capability.config
            kind = ("kind", service.id, c.model, c.accelerator, c.precision, f"tp{c.tensor_parallel}")
            for seat in k.seats:
                pool = s.pools[seat.pool]
                place = ("place", service.id, jurisdiction_class(pool.country, pool.operator_jurisdiction, catalog))
                for name in ("replicas", "spot_replicas"):
                    column = m.column(name, (k.index, seat.pool, t))
                    value = s.mix_capacity(k, t) / total
                    if column is not None and value > 0:
                        add(kind, column, value)
                        add(place, column, value)
        volume = math.fsum(
            s.weight(u) * sum(c.mean_req_per_s[u] for c in service.classes) for u in range(len(s.slices))
        )
        for a in s.apis_of[i]:
            for u in range(len(s.slices)):
                for b in s.bands(i, u):
                    column = m.column("api", (i, a.request_class, a.candidate.api, u, b))
                    if column is not None and volume > 0:
                        time = s.weight(u) * service.band_weights[u][b]
                        add(("api", service.id), column, time * s.top(i, a.request_class, u) / volume)
    for p, pool in enumerate(s.pools):
        for price in pool.prices:
            for t in range(len(s.slices)):
                for column, _ in option_terms(m, s, p, price.option, t):
                    spent = sum(m.terms.get(term, {}).get(column, 0.0) for term in (TERM_OF.get(price.option, "spot"),))
                    feature = ("paid", PURCHASE_CLASS[price.option])
                    if column not in found[feature]:
                        add(feature, column, spent / best_cost)
    return {f: e for f, e in sorted(found.items()) if e}
