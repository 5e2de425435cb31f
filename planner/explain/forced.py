"""Why not X: the cheapest plan in which X carries a share of a service, and what it costs more."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from planner.candidates.markets import shortened
from planner.candidates.reduce import core
from planner.candidates.types import ApiCandidate, Candidate, Pool, Problem
from planner.explain.shape import makeup
from planner.explain.types import ForcedPlan
from planner.explain.whatif import Reply, WhatIf
from planner.formulation.axes import USED_SHARE, carried_by
from planner.formulation.compile import Compiled, compile_milp
from planner.formulation.families import option_terms
from planner.formulation.milp import Milp
from planner.performance.types import EngineConfig
from planner.solve.programme import CompiledProgramme
from planner.spec.types import Spec

GAP = 1e-3


@dataclass(frozen=True, slots=True)
class Named:
    """What a set of lower-cased names means among candidates and APIs."""

    names: frozenset[str]

    def is_config(self, config: EngineConfig, pool: Pool) -> bool:
        """Whether a configuration in a pool bears one of the names."""
        words = {config.id, config.model, config.precision, config.engine, config.accelerator}
        words |= {f"tp{config.tensor_parallel}", pool.id, pool.provider, pool.region, f"{pool.provider}/{pool.region}"}
        words |= {pool.instance_type, pool.country or "", pool.accelerator}
        return any(w.lower() in self.names for w in words if w)

    def is_api(self, api: ApiCandidate) -> bool:
        """Whether an API bears one of the names."""
        words = {api.api, api.provider, api.api.split("/", 1)[-1], api.api.split("@", 1)[0], *(api.countries or ())}
        return any(w.lower() in self.names for w in words)

    def offers(self, problem: Problem) -> frozenset[str]:
        """Offers (pool and option) named in full."""
        return frozenset(p.offer for pool in problem.pools for p in pool.prices if p.offer.lower() in self.names)


def forced_in(
    spec: Spec, problem: Problem, names: Collection[str], usd_per_month: float, whatif: WhatIf
) -> ForcedPlan | None:
    """The cheapest verified plan found in which what bears a name carries at least a tenth of some service.

    A configuration counts by capacity in the service's busiest slice, an API by mean volume; of an offer named in full
    an instance is bought. None where nothing possible bears a name, or no plan was found in time. `usd_per_month` is
    the cost of the plan that it is compared with.
    """
    named = Named(frozenset(n.lower() for n in names))
    wide = _with_all(problem, named)
    offers = named.offers(wide)
    if not offers and wide is problem:
        return None
    programme = CompiledProgramme(compile_milp(wide), whatif.catalog, wide)
    best: tuple[float, str, Reply] | None = None
    rows = _rows(programme.compiled, named, offers)
    for service, milp in rows.items():
        limit_s = whatif.clock.left / (2.0 * len(rows))
        reply = whatif.best_of(spec, whatif.catalog, programme, GAP, limit_s, milp, trim=False)
        if reply.usd_per_month is not None and (best is None or reply.usd_per_month < best[0]):
            best = (reply.usd_per_month, service, reply)
    if best is None or best[2].solution is None:
        return None
    cost, service, reply = best
    assert reply.solution is not None
    extra = cost - usd_per_month
    what = f"at least one {min(offers)}" if offers else f"at least {100 * USED_SHARE:.0f} % of {service}"
    plan = makeup(reply.solution)
    money = f"{cost:,.0f} USD/month ({_more(extra, usd_per_month)})"
    return ForcedPlan(
        service=service, usd_per_month=cost, extra_usd_per_month=extra, plan=plan,
        bound_usd_per_month=reply.bound_usd_per_month,
        text=f"with it for {what} the cheapest plan found is {plan}: {money}",
    )  # fmt: skip


def _more(extra: float, usd_per_month: float) -> str:
    """`+2,345 USD/month, +19 %`; from twice the cost on `18.9 times the cost`."""
    ratio = 1.0 + extra / usd_per_month if usd_per_month > 0 else 0.0
    times = f"{ratio:.3g} times the cost" if ratio >= 2.0 else f"{100 * (ratio - 1.0):+.2g} %"
    return f"{extra:+,.0f} USD/month" + (f", {times}" if usd_per_month > 0 else "")


def _with_all(problem: Problem, named: Named) -> Problem:
    """The core of the problem with everything that bears a name beside it; the problem itself where nothing does."""
    pools = {p.id: p for p in problem.pools}
    wanted = [c for c in problem.candidates if named.is_config(c.capability.config, pools[c.pool])]
    called = [a for a in problem.apis if named.is_api(a)]
    full = named.offers(problem)
    wanted += [c for c in problem.candidates if any(p.offer in full for p in pools[c.pool].prices)]
    if not wanted and not called:
        return problem
    reduced = core(problem)
    kept: dict[str, Candidate] = {c.id: c for c in reduced.candidates}
    kept |= {c.id: c for c in core(shortened(problem, _once(wanted))).candidates} if wanted and not full else {}
    kept |= {c.id: c for c in wanted} if full else {}
    apis = {(a.request_class, a.api): a for a in (*reduced.apis, *called)}
    whole = shortened(problem, sorted(kept.values(), key=lambda c: c.id))
    return whole.model_copy(update={"apis": tuple(a for _, a in sorted(apis.items()))})


def _once(candidates: Collection[Candidate]) -> list[Candidate]:
    return list({c.id: c for c in candidates}.values())


def _rows(compiled: Compiled, named: Named, offers: frozenset[str]) -> dict[str, Milp]:
    """Per service that could use it: the programme in which it does."""
    if offers:
        return {"the plan": _with_row(compiled.milp, _instances(compiled, offers), 1.0)}
    shares = carried_by(compiled, named.is_config, named.is_api)
    return {service: _with_row(compiled.milp, share, USED_SHARE) for service, share in shares.items() if share}


def _with_row(milp: Milp, expression: dict[int, float], least: float) -> Milp:
    m = milp.copy()
    m.row("forced", ("in",), list(expression.items()), lower=least)
    return m


def _instances(compiled: Compiled, offers: frozenset[str]) -> dict[int, float]:
    """Columns that count instances of some offers, in any slice."""
    s = compiled.sets
    found: dict[int, float] = {}
    for p, pool in enumerate(s.pools):
        for price in pool.prices:
            if price.offer in offers:
                for t in range(len(s.slices)):
                    found |= {c: 1.0 for c, _ in option_terms(compiled.milp, s, p, price.option, t)}
    return found
