"""Spare replicas: what is set aside so that the loss of any `count` replicas is borne (DESIGN §5.3, N+1)."""

from __future__ import annotations

from planner.formulation.families import Terms, capacity_terms, covered, overflow_terms
from planner.formulation.milp import Milp
from planner.formulation.registry import family
from planner.formulation.sets import Config, Sets
from planner.formulation.variables import loss, replica_terms, seat_kinds


@family("spare", unit="req/s", relax="ask for fewer spares")
def spare(m: Milp, s: Sets) -> None:
    """With any `count` replicas gone, the others still serve everything that no API takes.

    `spares[k,τ]` of the replicas of k are set aside, and a spare can stand in for any other that runs:

        Σ_k spares[k,τ] ≤ count,   spares[k,τ] ≤ replicas[k,τ]                                             ∀ s, τ
        count·uses[j,τ] ≤ Σ_{k stands in for j} spares[k,τ],   uses[j,τ] = 1 where j runs beyond its spares

    Without an API, k stands in for j where it serves at least as much of the whole mix, and the others serve it all:

        Σ_k cap[k]·(replicas[k,τ] − spares[k,τ])  ≥  Λ[τ]

    With an API (and several classes) k stands in for j where no row of k is above one of j, and `replica_capacity`
    routes over replicas − spares: the API may take other parts of one class than of another. A replica counts at most
    Λ (tighter, same whole-number solutions). An API share needs no spare.
    """
    for i in range(len(s.services)):
        if s.spare_count(i) == 0 or not s.configs_of[i]:
            continue
        for t in range(len(s.slices)):
            if s.service_rate(i, t, -1) > 0:
                spares = _spares(m, s, i, t)
                if s.is_covering(i) or not s.apis_of[i]:
                    _levels(m, s, i, t, spares)
                    for b in s.bands(i, t):
                        _serve_without_spares(m, s, i, t, b, spares)
                else:
                    _stand_ins(m, s, i, t, spares)


Spares = dict[tuple[int, str], int]
"""(configuration, firm or spot) → column."""


def _spares(m: Milp, s: Sets, i: int, t: int) -> Spares:
    found: Spares = {}
    for k in s.configs_of[i]:
        for kind in seat_kinds(k):
            column = m.column("spares", (k.index, t, kind))
            if column is not None:
                found[k.index, kind] = column
                running = [(c, 1.0) for c, _ in replica_terms(m, s, k, t, kind)]
                m.row("spare", ("of", k.index, t, kind), [*running, (column, -1.0)], lower=0.0)
    m.row("spare", ("count", i, t), [(c, 1.0) for c in found.values()], upper=float(s.spare_count(i)))
    return found


def _uses(m: Milp, s: Sets, i: int, t: int, number: int, aside: Terms) -> Terms:
    """An expression that is 1 only where all `count` spares are among `aside`."""
    count = s.spare_count(i)
    shares = [(c, 1.0 / count) for c, _ in aside]
    if count == 1:
        return shares
    column = m.add("uses_level", (i, t, number), 0, 1, integer=True)
    m.row("spare", ("uses", i, t, number), [*shares, (column, -1.0)], lower=0.0)
    return [(column, 1.0)]


def _levels(m: Milp, s: Sets, i: int, t: int, spares: Spares) -> None:
    """Spares serve at least as much of the mix as every other replica that runs, level by level of capacity.

    cap counts with the credit on spot, so a spare on spot does not stand in for a firm replica of its configuration.

    One class: Σ_{cap ≥ v} cap·(replicas − spares) ≤ (Λ + v_max)/credit·uses. More is never needed: while the capacity
    exceeds Λ by a replica's, a replica can be taken away (a spot one first, for `spot_limit`).
    Several classes: replicas − spares ≤ their limit·uses, one by one, because one may be needed for one class alone.
    """
    configs = [k for k in s.configs_of[i] if s.mix_capacity(k, t) > 0]
    capacity = {(k.index, kind): s.mix_capacity(k, t) * loss(s, k, kind) for k in configs for kind in seat_kinds(k)}
    credit = min((s.spot_credit(seat.pool) for k in configs for seat in k.seats if seat.spot), default=1.0)
    most = (s.stress * s.service_rate(i, t, -1) + max(capacity.values(), default=0.0)) / credit
    for number, level in enumerate(sorted(set(capacity.values()))):
        above = [key for key, v in capacity.items() if v >= level]
        uses = _uses(m, s, i, t, number, [(spares[key], 1.0) for key in above if key in spares])
        if s.is_covering(i):
            running: Terms = []
            for key in above:
                share = capacity[key] / most
                running += [(c, share) for c, _ in replica_terms(m, s, s.configs[key[0]], t, key[1])]
                if key in spares:
                    running.append((spares[key], -share))
            m.row("spare", ("level", i, t, number), [*running, *((c, -v) for c, v in uses)], upper=0.0)
        else:
            for key in above:
                if capacity[key] == level:
                    _only_where(m, s, s.configs[key[0]], key[1], t, uses)


def _only_where(m: Milp, s: Sets, k: Config, kind: str, t: int, uses: Terms) -> None:
    """Σ_p replicas − spares ≤ limit·uses: more than its spares run only where the spares stand in for it."""
    running = [c for c, _ in replica_terms(m, s, k, t, kind)]
    limit = sum(m.variables[c].upper for c in running)
    if limit > 0:
        aside = m.column("spares", (k.index, t, kind))
        beyond = [(c, -1.0) for c in running] + ([(aside, 1.0)] if aside is not None else [])
        row = [*beyond, *((c, limit * v) for c, v in uses)]
        m.row("spare", ("stand_in", k.service, t, k.index, kind), row, lower=0.0)


def _serve_without_spares(m: Milp, s: Sets, i: int, t: int, b: int, spares: Spares) -> None:
    total = s.service_rate(i, t, -1)
    share = s.service_rate(i, t, b) / total
    terms = capacity_terms(m, s, i, t, 1.0 / total, most=share)
    for (index, kind), column in spares.items():
        k = s.configs[index]
        terms.append((column, -min(s.mix_capacity(k, t) * loss(s, k, kind) / total, share)))
    if s.is_covering(i):
        terms += overflow_terms(m, s, i, t, b)
    m.row("spare", (i, t, b), terms, lower=covered(m, i, t, b, share, share), scale=total)


def _stand_ins(m: Milp, s: Sets, i: int, t: int, spares: Spares) -> None:
    """Several classes: replicas beyond the spares run only where every spare can stand in for them."""
    number = 0
    for j in s.configs_of[i]:
        for kind in seat_kinds(j):
            aside = [
                (c, 1.0)
                for (index, other), c in spares.items()
                if loss(s, s.configs[index], other) >= loss(s, j, kind) and stands_in(s, s.configs[index], j)
            ]
            _only_where(m, s, j, kind, t, _uses(m, s, i, t, number, aside))
            number += 1


def stands_in(s: Sets, k: Config, j: Config) -> bool:
    """Whether one replica of k serves every mix that one of j serves."""
    classes = [r for r in s.active_classes[j.service] if j.capability.served[r]]
    if not all(k.capability.served[r] for r in classes):
        return False
    return all(
        any(all(row.use[r] <= other.use[r] * (1 + 1e-12) for r in classes) for other in j.capability.rows)
        for row in k.capability.rows
    )
