"""What ranking needs of the programme: axes, signatures and restrictions (DESIGN §6). Each returns a changed copy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from planner.base import PurchaseOption
from planner.candidates.markets import shortened
from planner.candidates.places import jurisdiction_class
from planner.candidates.types import ApiCandidate, Pool, Problem
from planner.catalog.catalog import Catalog
from planner.formulation.compile import Compiled, compile_milp
from planner.formulation.cost import TERM_OF
from planner.formulation.families import api_terms, capacity_terms, commitments, option_terms
from planner.formulation.limits import configuration_indicators
from planner.formulation.milp import Milp
from planner.formulation.sets import COMMITMENTS, Config, Sets
from planner.formulation.variables import FIRM_SEAT, SPOT_SEAT, replica_terms, seat_kinds
from planner.performance.types import EngineConfig
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
    """Non-cancellable USD: price·730·term of every commitment that the plan makes."""
    s, m = compiled.sets, compiled.milp
    found: dict[int, float] = {}
    for p, group in s.markets:
        for option in COMMITMENTS if group else ():
            price = s.pools[p].price(option)
            if price is None or option not in (group or ()):
                continue
            for column, start, term in commitments(m, s, p, group or (), option):
                found[column] = price.usd_in(s.calendar.quarter_of(start)) * HOURS_PER_MONTH * term
    return found


def spot_share(compiled: Compiled) -> dict[int, float]:
    """Σ_s credited spot capacity over the top rate, at each service's busiest slice."""
    s = compiled.sets
    found: dict[int, float] = {}
    for i in range(len(s.services)):
        for t, part in shown(s, i):
            for column, value in capacity_terms(compiled.milp, s, i, t, part / s.service_rate(i, t, -1), (SPOT_SEAT,)):
                found[column] = found.get(column, 0.0) + value
    return found


def spot_part(compiled: Compiled, values: Sequence[float]) -> float:
    """Share of the running capacity that is on spot in the busiest slice, over all services (0 without any)."""
    s, m = compiled.sets, compiled.milp

    def held(i: int, kinds: tuple[str, ...]) -> float:
        return math.fsum(v * values[c] for t, part in shown(s, i) for c, v in capacity_terms(m, s, i, t, part, kinds))

    services = range(len(s.services))
    total = math.fsum(held(i, (FIRM_SEAT, SPOT_SEAT)) for i in services)
    return math.fsum(held(i, (SPOT_SEAT,)) for i in services) / total if total > 0 else 0.0


def busiest(s: Sets, i: int) -> int:
    """The slice in which a service's top rate is largest."""
    return max(range(len(s.slices)), key=lambda t: (s.service_rate(i, t, -1), -t))


def shown(s: Sets, i: int) -> list[tuple[int, float]]:
    """Slices by which a service is described, with their shares: the busiest, or all in which batch work may run."""
    hours = math.fsum(w.hours_per_month for t, w in enumerate(s.slices) if s.service_rate(i, t, -1) > 0)
    if s.services[i].is_batch:
        return [(t, w.hours_per_month / hours) for t, w in enumerate(s.slices) if s.service_rate(i, t, -1) > 0]
    return [(busiest(s, i), 1.0)] if hours > 0 else []


def with_headroom(compiled: Compiled) -> tuple[Milp, int]:
    """A copy with t: the largest factor on every service's demand that its replicas and bought API rate still serve.

    Σ_k y[r,k,τ] + Σ_a api[r,a,τ,top] ≥ t·λ[r,τ],   margin·Σ_r use·y ≤ credited replicas      ∀ s, τ

    (y is the stressed routing; with one class it is Σ cap·replicas + api ≥ t·λ.) API rates stay as bought. The
    bounds are wide enough for that demand; the columns of the programme come first and in their order.
    """
    wide = compile_milp(compiled.problem, stress=MOST_HEADROOM, mixed=compiled.sets.mixed)
    s, m = wide.sets, wide.milp
    factor = m.add("headroom", (), 1.0, MOST_HEADROOM)
    for i, service in enumerate(s.services):
        if service.is_batch:
            _stress_batch(m, s, i, factor)
            continue
        for t in range(len(s.slices)):
            _stress(m, s, i, t, factor)
    return m, factor


def _stress_batch(m: Milp, s: Sets, i: int, factor: int) -> None:
    """Σ_τ hours[w,τ]·(Σ_k y[r,k,τ] + Σ_a api[r,a,τ]) ≥ t·Σ_τ hours[w,τ]·λ[r,τ] for every window."""
    routed: dict[int, dict[int, list[tuple[int, float]]]] = {}
    for t in range(len(s.slices)):
        classes = [r for r in s.active_classes[i] if s.top(i, r, t) > 0]
        routed[t] = {r: api_terms(m, s, i, r, t, 0) for r in classes}
        for k in s.configs_of[i] if classes else ():
            _stress_config(m, s, k, t, classes, routed[t])
    for w, hours in enumerate(s.services[i].windows):
        for r in s.active_classes[i]:
            volume = math.fsum(h * s.top(i, r, t) for t, h in enumerate(hours))
            if volume > 0:
                parts = [(t, h * s.top(i, r, t) / volume) for t, h in enumerate(hours) if h * s.top(i, r, t) > 0]
                done = [(c, v * part) for t, part in parts for c, v in routed[t][r]]
                m.row("headroom", (i, r, "window", w), [*done, (factor, -1.0)], lower=0.0)


def _stress(m: Milp, s: Sets, i: int, t: int, factor: int) -> None:
    top_band = len(s.services[i].band_weights[t]) - 1
    classes = [r for r in s.active_classes[i] if s.top(i, r, t) > 0]
    routed: dict[int, list[tuple[int, float]]] = {r: [(factor, -1.0)] for r in classes}
    for a in s.apis_of[i]:
        column = m.column("api", (i, a.request_class, a.candidate.api, t, top_band))
        if column is not None:
            routed[a.request_class].append((column, 1.0))
    if s.is_covering(i):
        total = s.service_rate(i, t, -1)
        for r in classes:
            routed[r] += capacity_terms(m, s, i, t, 1.0 / total)
    else:
        for k in s.configs_of[i]:
            _stress_config(m, s, k, t, classes, routed)
    for r in classes:
        m.row("headroom", (i, r, t), routed[r], lower=0.0)


def _stress_config(
    m: Milp, s: Sets, k: Config, t: int, classes: list[int], routed: dict[int, list[tuple[int, float]]]
) -> None:
    served = [r for r in classes if k.capability.served[r]]
    most = MOST_HEADROOM * s.reach(k.service, t)
    ys = {r: m.add("stressed", (k.service, r, k.index, t), 0, most) for r in served}
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


def single_configurations(compiled: Compiled) -> list[Milp]:
    """One copy per configuration of a problem with one service, in which no other configuration runs.

    Empty with several services: then the fewest configurations are a programme of their own.
    """
    s = compiled.sets
    if sum(bool(classes) for classes in s.active_classes) != 1:
        return []
    names = sorted({k.capability.config.id for k in s.configs})
    found = []
    for name in names:
        others = {k.index for k in s.configs if k.capability.config.id != name}
        m = compiled.milp.copy()
        for column, v in enumerate(m.variables):
            if v.family in ("replicas", "spot_replicas", "spares") and v.key[0] in others:
                m.variables[column] = replace(v, upper=0.0)
        found.append(m)
    return found


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
"""What reviewers tell plans apart by: ("accelerator" | "precision" | "model" | "place" | "api", service[, which]) and
("paid", purchase class). Counts, regions and parallel degrees make no difference."""
Signature = frozenset[Feature]
"""The features that a plan is known by."""
PURCHASE_CLASS = {**TERM_OF, PurchaseOption.SPOT: "spot"}
SLOTS = ("accelerator", "model", "precision", "place", "paid")
"""Order of interest; an API competes for the accelerator's slot."""


class Signatures:
    """What a plan is known by: the dominant feature of every slot (DESIGN §6).

    Accelerators, precisions, models and places weigh by capacity in the service's busiest slice, an API by mean
    volume, purchase classes by money as a share of the plan's instances. What carries less than 10 % is no feature.
    """

    def __init__(self, compiled: Compiled, catalog: Catalog) -> None:
        self._milp = compiled.milp
        self.expressions = _features(compiled, catalog)

    def of(self, values: Sequence[float]) -> frozenset[Feature]:
        """The dominant features of a solution; ties fall to the smaller name."""
        shares = {f: self._milp.value(e, values) for f, e in self.expressions.items()}
        bought = math.fsum(v for f, v in shares.items() if f[0] == "paid")
        rivals: dict[tuple[str, str], list[tuple[float, Feature]]] = defaultdict(list)
        for f, share in shares.items():
            weight = share / bought if f[0] == "paid" and bought > 0 else share
            if weight >= USED_SHARE:
                slot = "accelerator" if f[0] == "api" else f[0]
                rivals[slot, f[1] if f[0] != "paid" else ""].append((-round(weight, 6), f))
        return frozenset(min(found)[1] for found in rivals.values())


def without(problem: Problem, features: Collection[Feature], catalog: Catalog) -> Problem | None:
    """The problem in which none of the features can be had; None where a service with demand is left with nothing."""
    apis = tuple(a for a in problem.apis if ("api", a.service) not in features)
    places = {p.id: jurisdiction_class(p.country, p.operator_jurisdiction, catalog) for p in problem.pools}
    kept = []
    for c in problem.candidates:
        config = c.capability.config
        gone = {
            ("accelerator", c.service, config.accelerator),
            ("precision", c.service, config.precision),
            ("model", c.service, config.model),
            ("place", c.service, places[c.pool]),
        }
        options = tuple(o for o in c.options if ("paid", PURCHASE_CLASS[o]) not in features)
        if options and not gone & set(features):
            kept.append(c if options == c.options else c.model_copy(update={"options": options}))
    served = {c.service for c in kept} | {a.service for a in apis}
    if any(s.id not in served for s in problem.demand.services if any(max(c.sizing_req_per_s) > 0 for c in s.classes)):
        return None
    return shortened(problem.model_copy(update={"apis": apis}), kept)


def _features(compiled: Compiled, catalog: Catalog) -> dict[Feature, dict[int, float]]:
    s, m = compiled.sets, compiled.milp
    found: dict[Feature, dict[int, float]] = defaultdict(dict)

    def add(feature: Feature, column: int, value: float) -> None:
        found[feature][column] = found[feature].get(column, 0.0) + value

    for i, service in enumerate(s.services):
        for t, part, k in ((t, part, k) for t, part in shown(s, i) for k in s.configs_of[i]):
            c = k.capability.config
            for seat in k.seats:
                pool = s.pools[seat.pool]
                place = jurisdiction_class(pool.country, pool.operator_jurisdiction, catalog)
                for name in ("replicas", "spot_replicas"):
                    column = m.column(name, (k.index, seat.pool, t))
                    if column is not None:
                        value = part * _weight(s, k, t) / s.service_rate(i, t, -1)
                        add(("accelerator", service.id, c.accelerator), column, value)
                        add(("precision", service.id, c.precision), column, value)
                        add(("model", service.id, c.model), column, value)
                        add(("place", service.id, place), column, value)
        if shown(s, i):
            _api_feature(compiled, i, add)
    for p, pool in enumerate(s.pools):
        for price in pool.prices:
            columns = {c for t in range(len(s.slices)) for c, _ in option_terms(m, s, p, price.option, t)}
            term = m.terms.get(TERM_OF.get(price.option, "spot"), {})
            for column in columns:
                add(("paid", PURCHASE_CLASS[price.option]), column, term.get(column, 0.0))
    return {f: e for f, e in sorted(found.items()) if e}


def carried_by(
    compiled: Compiled,
    is_config: Callable[[EngineConfig, Pool], bool],
    is_api: Callable[[ApiCandidate], bool],
) -> dict[str, dict[int, float]]:
    """Service → the part of it that some configurations and APIs carry, as column → share.

    Configurations by capacity in the service's busiest slice, APIs by mean volume, as features do.
    """
    s = compiled.sets
    found: dict[str, dict[int, float]] = {}
    for i, service in enumerate(s.services):
        t = busiest(s, i)
        total = s.service_rate(i, t, -1)
        expression: dict[int, float] = {}
        for k in s.configs_of[i] if total > 0 else ():
            for seat in k.seats:
                if is_config(k.capability.config, s.pools[seat.pool]):
                    for name in ("replicas", "spot_replicas"):
                        column = compiled.milp.column(name, (k.index, seat.pool, t))
                        if column is not None:
                            expression[column] = _weight(s, k, t) / total

        def add(_: Feature, column: int, value: float, into: dict[int, float] = expression) -> None:
            into[column] = into.get(column, 0.0) + value

        if total > 0:
            _api_feature(compiled, i, add, is_api)
        found[service.id] = expression
    return found


def _weight(s: Sets, k: Config, t: int) -> float:
    """Capacity of one replica for the mix; where it serves only part of the mix, for that part."""
    capacity = s.mix_capacity(k, t)
    return capacity if capacity > 0 else max(k.capability.capacity_req_per_s, default=0.0) / s.margin


def _api_feature(
    compiled: Compiled,
    i: int,
    add: Callable[[Feature, int, float], None],
    is_api: Callable[[ApiCandidate], bool] = lambda _: True,
) -> None:
    s, service = compiled.sets, compiled.sets.services[i]
    slices = range(len(s.slices))
    volume = math.fsum(s.weight(u) * math.fsum(c.mean_req_per_s[u] for c in service.classes) for u in slices)
    for a in (a for a in s.apis_of[i] if is_api(a.candidate)):
        for u in slices:
            for b in s.bands(i, u):
                column = compiled.milp.column("api", (i, a.request_class, a.candidate.api, u, b))
                if column is not None and volume > 0:
                    time = s.weight(u) * service.band_weights[u][b]
                    add(("api", service.id), column, time * s.top(i, a.request_class, u) / volume)
