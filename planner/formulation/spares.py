"""Spares: what is set aside so that the loss of any `count` replicas, instances or zones is borne (DESIGN §5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulation.emergency import left_over, lost_instances, most, serve_what_is_hosted, zones
from planner.formulation.families import Terms
from planner.formulation.milp import Milp
from planner.formulation.registry import family
from planner.formulation.sets import Config, Sets
from planner.spec.types import SpareDomain


@family("spare", unit="req/s", relax="ask for fewer spares")
def spare(m: Milp, s: Sets) -> None:
    """With any `count` replicas, instances or zones gone, the others still serve everything that no API takes.

        Σ left·worth[k,τ,b] + Σ_a api[r,a,τ,b]/λ[r,τ,b]  ≥  1                                         ∀ r, τ, b

    worth  part of the service's whole demand in the band that one replica serves, every class of it in proportion: in
           an emergency replicas take the whole mix, so the row is safe for every routing (`Sets.worth`)
    left   replicas less the largest loss, one function each: `_by_replica`, `_by_instance`, `_by_zone`

    An API share needs no spare, and keeps its rates.
    """
    for i in range(len(s.services)):
        for t in range(len(s.slices)):
            if not s.configs_of[i] or s.service_rate(i, t, -1) <= 0:
                continue
            if s.spare_count(i):
                _by_replica(m, s, i, t)
            if s.spare_count(i, SpareDomain.INSTANCE):
                _by_instance(m, s, i, t)
            if s.spare_count(i, SpareDomain.ZONE):
                _by_zone(m, s, i, t)


def _by_instance(m: Milp, s: Sets, i: int, t: int) -> None:
    """The loss of any `count` instances: Σ worth·replicas − L + … ≥ 1, L ≥ what they may hold (`lost_instances`).

    Which replicas share an instance is not decided, so an instance may hold whatever of the service fits into it.
    """
    for b in s.bands(i, t):
        if s.service_rate(i, t, b) > 0:
            lost = lost_instances(m, s, i, t, b, s.spare_count(i, SpareDomain.INSTANCE))
            terms = [*left_over(m, s, i, t, b), (lost, -1.0)]
            serve_what_is_hosted(m, s, "spare", (i, t, b), terms, (i, t, b))


def _by_zone(m: Milp, s: Sets, i: int, t: int) -> None:
    """The loss of the `count` zones that hold most.

        Σ worth·replicas − count·θ − Σ_z excess_z + …  ≥  1,    excess_z ≥ Σ_{p in z} worth·replicas − θ

    with θ, excess ≥ 0: the sum of the `count` largest is min_θ count·θ + Σ_z max(0, L_z − θ). One zone: Σ_{p not in z}.
    """
    count = s.spare_count(i, SpareDomain.ZONE)
    for b in s.bands(i, t):
        if s.service_rate(i, t, b) <= 0:
            continue
        places = zones(s, i)
        if count == 1:
            for name, gone in places.items():
                terms = left_over(m, s, i, t, b, gone)
                serve_what_is_hosted(m, s, "spare", (i, t, b, name), terms, (i, t, b))
            continue
        everything = left_over(m, s, i, t, b)
        level = m.add("lost", (i, t, b, "level"), 0, most(m, everything))
        terms = [*everything, (level, -float(count))]
        for name, gone in places.items():
            excess = m.add("lost", (i, t, b, name), 0, most(m, everything))
            there = left_over(m, s, i, t, b, [p for p in range(len(s.pools)) if p not in gone])
            row = [(excess, 1.0), (level, 1.0), *((c, -v) for c, v in there)]
            m.row("spare", ("zone", i, t, b, name), row, lower=0.0)
            terms.append((excess, -1.0))
        serve_what_is_hosted(m, s, "spare", (i, t, b), terms, (i, t, b))


# ---- by replica --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """Replicas of one configuration that count alike: firm ones, or those on spot of one credit."""

    config: Config
    label: str
    credit: float
    columns: tuple[int, ...]


def _units(m: Milp, s: Sets, i: int, t: int, b: int) -> list[Unit]:
    """The units of a service that serve its whole mix."""
    found = []
    for k in s.configs_of[i]:
        if s.mix_capacity(k, t, b) <= 0:
            continue
        firm = [m.column("replicas", (k.index, seat.pool, t)) for seat in k.seats if seat.group]
        found.append(Unit(k, "firm", 1.0, tuple(c for c in firm if c is not None)))
        for credit in sorted({s.spot_credit(seat.pool) for seat in k.seats if seat.spot}, reverse=True):
            pools = [seat.pool for seat in k.seats if seat.spot and s.spot_credit(seat.pool) == credit]
            columns = [m.column("spot_replicas", (k.index, p, t)) for p in pools]
            found.append(Unit(k, f"spot {credit:.12g}", credit, tuple(c for c in columns if c is not None)))
    return [u for u in found if u.credit > 0 and any(m.variables[c].upper > 0 for c in u.columns)]


def _by_replica(m: Milp, s: Sets, i: int, t: int) -> None:
    """The loss of the `count` replicas that serve most: `spares[u,τ]` of the replicas of a unit u are set aside.

        Σ_u spares[u,τ] ≤ count,   spares[u,τ] ≤ replicas[u,τ]                                             ∀ s, τ
        count·uses[v,τ] ≤ Σ_{worth[u] ≥ v} spares[u,τ],   uses[v,τ] = 1 where more than spares run at a level ≥ v
        Σ_u worth[u]·(replicas[u,τ] − spares[u,τ]) + …  ≥  1

    With several classes and an API the mix may differ by band, and with it what serves most, so each band sets its own
    spares aside.
    """
    one_class = len(s.active_classes[i]) == 1
    for b in (-1,) if one_class else s.bands(i, t):
        if s.service_rate(i, t, b) <= 0:
            continue
        band = () if one_class else (b,)
        units = _units(m, s, i, t, b)
        spares = _set_aside(m, s, i, t, units, band)
        _levels(m, s, i, t, b, units, spares, band)
        for served in s.bands(i, t) if one_class else (b,):
            if s.service_rate(i, t, served) > 0:
                aside = [(c, -s.worth(u.config, t, served, u.credit)) for u, c in zip(units, spares, strict=True)]
                terms = [*left_over(m, s, i, t, served), *aside]
                serve_what_is_hosted(m, s, "spare", (i, t, served), terms, (i, t, served))


def _set_aside(m: Milp, s: Sets, i: int, t: int, units: list[Unit], band: tuple[int, ...]) -> list[int]:
    """The columns of `spares`, one per unit."""
    count = s.spare_count(i)
    found = []
    for u in units:
        column = m.add("spares", (u.config.index, t, u.label, *band), 0, count, integer=True)
        running = [(c, 1.0) for c in u.columns]
        m.row("spare", ("of", u.config.index, t, u.label, *band), [*running, (column, -1.0)], lower=0.0)
        found.append(column)
    m.row("spare", ("count", i, t, *band), [(c, 1.0) for c in found], upper=float(count))
    return found


def _uses(m: Milp, s: Sets, i: int, t: int, key: tuple[int, ...], aside: list[int]) -> Terms:
    """An expression that is 1 only where all `count` spares are among `aside`."""
    count = s.spare_count(i)
    shares = [(c, 1.0 / count) for c in aside]
    if count == 1:
        return shares
    column = m.add("uses_level", (i, t, *key), 0, 1, integer=True)
    m.row("spare", ("uses", i, t, *key), [*shares, (column, -1.0)], lower=0.0)
    return [(column, 1.0)]


def _levels(
    m: Milp, s: Sets, i: int, t: int, b: int, units: list[Unit], spares: list[int], band: tuple[int, ...]
) -> None:
    """Spares serve at least as much of the mix as every other replica that runs, level by level of capacity.

    One class: Σ_{cap ≥ v} cap·(replicas − spares) ≤ (Λ + v_max)/credit·uses. More is never needed, unless places may be
    lost: while the capacity exceeds Λ by a replica's, a replica can be taken away (a spot one first, for `spot_limit`).
    Else: replicas − spares ≤ their limit·uses, one by one, because one may be needed for one class, or in one place.
    """
    capacity = [s.mix_capacity(u.config, t, b) * u.credit for u in units]
    credit = min((u.credit for u in units), default=1.0)
    reach = (s.stress * s.service_rate(i, t, b) + max(capacity, default=0.0)) / credit
    for number, level in enumerate(sorted(set(capacity))):
        above = [j for j, v in enumerate(capacity) if v >= level]
        uses = _uses(m, s, i, t, (number, *band), [spares[j] for j in above])
        if len(s.active_classes[i]) == 1 and not s.survives(i):
            running: Terms = []
            for j in above:
                running += [(c, capacity[j] / reach) for c in units[j].columns]
                running.append((spares[j], -capacity[j] / reach))
            m.row("spare", ("level", i, t, number), [*running, *((c, -v) for c, v in uses)], upper=0.0)
            continue
        for j in above:
            limit = sum(m.variables[c].upper for c in units[j].columns)
            if capacity[j] == level:
                beyond = [*((c, -1.0) for c in units[j].columns), (spares[j], 1.0)]
                row = [*beyond, *((c, limit * v) for c, v in uses)]
                m.row("spare", ("stand_in", i, t, units[j].config.index, units[j].label, *band), row, lower=0.0)
