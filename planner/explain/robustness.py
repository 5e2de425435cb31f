"""How often the first plan stays the cheapest of the list when estimates and prices turn out otherwise, and the regret.

In every draw each plan of the list is costed as it would be run, without solving again:

    time of (model, accelerator) as a multiple of the planned one   exp(m + σ·z) / q     z ~ N(0, 1), one for all its
        configurations; m and σ from the estimate's 80 % band, q the quantile that was planned with; measured: 1
    replicas of a deployment in a slice   n + ⌈n·load·time⌉ − ⌈n·load⌉
        load the largest used share of a capacity row at the plan's routes: spares and idle room are kept
    instances   what these replicas need more or less in their pool; more are bought on demand (where that is not
        sold, at the price of what stands there), fewer only of what is paid by the hour
    price of an offer or API   × exp(σ·(√ρ·z_provider + √(1 − ρ)·z_offer)), σ by the confidence of its price

Regret of a plan in a draw is its cost less the cheapest plan's. APIs do not take over what machines fall short of, so
hybrids are judged too hard; plans outside the list are not seen, so regret is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.base import Confidence, PurchaseOption
from planner.candidates.types import Deployment, Plan, Pool, Problem
from planner.explain.types import PlanRobustness, Robustness
from planner.performance.types import Provenance, ReplicaCapability
from planner.spec.types import Spec
from planner.verify.types import Verification

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Draws = NDArray[np.float64]

DRAWS = 2000
BAND_Z = 1.2815515655446004
"""An 80 % interval reaches so many standard deviations to either side."""
PRICE_SIGMA = {Confidence.LIST: 0.05, Confidence.DERIVED: 0.10, Confidence.ASSUMED: 0.20, Confidence.SEED: 0.20}
"""Relative spread of prices until they are paid: assumptions, printed with the result."""
SPOT_SIGMA = 0.20
"""Spot moves by itself."""
PROVIDER_SHARE = 0.5
"""ρ: share of the spread that all prices of a provider have in common."""
RENTED = (PurchaseOption.ON_DEMAND, PurchaseOption.SPOT, PurchaseOption.OWNED)
"""What can be given back from one hour to the next."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A plan of the list."""

    title: str
    plan: Plan
    check: Verification


class World:
    """Draws of one seed, the same for every plan: factors belong to names, so plans that share an offer share it."""

    def __init__(self, problem: Problem, draws: int, seed: int) -> None:
        self.problem = problem
        self.draws = draws
        self.seed = seed
        self.pools = {p.id: p for p in problem.pools}
        self._normal: dict[str, Draws] = {}

    def normal(self, name: str) -> Draws:
        """Standard normal draws that belong to a name, whatever was asked before."""
        import zlib

        import numpy as np

        if name not in self._normal:
            source = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
            self._normal[name] = source.standard_normal(self.draws)
        return self._normal[name]

    def price(self, provider: str, name: str, sigma: float) -> Draws:
        """Factor on a price; its mean is a little above 1, its median 1."""
        import numpy as np

        common, own = self.normal(f"provider {provider}"), self.normal(f"price {name}")
        z = math.sqrt(PROVIDER_SHARE) * common + math.sqrt(1.0 - PROVIDER_SHARE) * own
        return np.asarray(np.exp(sigma * z))

    def time(self, capability: ReplicaCapability) -> Draws:
        """True time of a configuration as a multiple of the planned one."""
        import numpy as np

        if capability.provenance is Provenance.MEASURED:
            return np.ones(self.draws)
        low, high = capability.error_band
        middle, sigma = (math.log(low) + math.log(high)) / 2.0, (math.log(high) - math.log(low)) / (2.0 * BAND_Z)
        z = self.normal(f"time {capability.config.model} {capability.config.accelerator}")
        return np.asarray(np.exp(middle + sigma * z) / capability.time_factor)


def robustness(
    spec: Spec, problem: Problem, contenders: Sequence[Contender], seed: int, draws: int = DRAWS
) -> Robustness | None:
    """Win probability and regret of every plan of the list; None for a list of one or none."""
    import numpy as np

    if len(contenders) < 2:
        return None
    world = World(problem, draws, seed)
    costs = np.stack([cost_in(c.plan, c.check, spec, world) for c in contenders])
    best = costs.min(axis=0)
    ties = costs <= best + 1e-9 * np.maximum(1.0, best)
    wins = (ties / ties.sum(axis=0)).mean(axis=1)
    regret = costs - best
    told = []
    for i, c in enumerate(contenders):
        told.append(
            PlanRobustness(
                position=i + 1, title=c.title, win_probability=float(wins[i]),
                mean_usd_per_month=float(costs[i].mean()), p10_usd_per_month=float(np.quantile(costs[i], 0.1)),
                p90_usd_per_month=float(np.quantile(costs[i], 0.9)), mean_regret_usd_per_month=float(regret[i].mean()),
                p95_regret_usd_per_month=float(np.quantile(regret[i], 0.95)),
            )
        )  # fmt: skip
    return Robustness(draws=draws, seed=seed, method=METHOD, plans=tuple(told))


METHOD = (
    "each plan of the list is costed in every draw without solving again: machines that turn out slower or faster than "
    "planned (one factor per model and accelerator, from the estimate's 80 % band; measured: none) need more or fewer "
    "instances, bought on demand, given back only where paid by the hour; prices move by "
    f"{100 * PRICE_SIGMA[Confidence.LIST]:.0f} % (list), {100 * PRICE_SIGMA[Confidence.DERIVED]:.0f} % (derived), "
    f"{100 * PRICE_SIGMA[Confidence.ASSUMED]:.0f} % (assumed, seed, spot), half of it common to a provider. APIs do "
    "not take over what machines fall short of, and plans outside the list are not seen: regret is a lower bound"
)


def cost_in(plan: Plan, check: Verification, spec: Spec, world: World) -> Draws:
    """USD/month of the plan in every draw; in a world as planned the verified cost that it is judged by."""
    import numpy as np

    fraction, fixed = spec.policy.ops_overhead.fraction, check.cost.terms.get("ops_overhead", 0.0)
    hosted = np.zeros(world.draws)
    planned = 0.0
    for purchase, cost in zip(plan.purchases, check.cost.purchases, strict=True):
        pool = world.pools[purchase.pool]
        hosted += cost.usd_per_month * _offer_factor(pool, purchase.option, world)
        planned += cost.usd_per_month
    hosted += _changes(plan, check, spec, world)
    called = np.zeros(world.draws)
    offers = {a.api: a for a in world.problem.apis}
    for use in check.cost.api:
        offer = offers.get(use.api)
        sigma = 0.0 if offer is None else PRICE_SIGMA[offer.confidence]
        called += use.usd_per_month * world.price("" if offer is None else offer.provider, use.api, sigma)
    rest = check.cost.judged_usd_per_month - planned - fixed - math.fsum(a.usd_per_month for a in check.cost.api)
    overhead = fixed + fraction * (hosted - planned)
    return np.asarray(hosted + overhead + called + rest)


def _offer_factor(pool: Pool, option: PurchaseOption, world: World) -> Draws:
    import numpy as np

    price = pool.price(option)
    if price is None or option is PurchaseOption.OWNED:
        return np.ones(world.draws)
    sigma = SPOT_SIGMA if option is PurchaseOption.SPOT else PRICE_SIGMA[price.confidence]
    return world.price(pool.provider, price.offer, sigma)


def _changes(plan: Plan, check: Verification, spec: Spec, world: World) -> Draws:
    """USD/month of instances bought or given back because machines are slower or faster than planned."""
    import numpy as np

    slices = world.problem.demand.slices
    quarters = max(1, len({s.quarter for s in slices}))
    known = {(d.service, d.config, d.pool, d.spot): d.capability for d in check.deliveries}
    total = np.zeros(world.draws)
    for pool_id, spot in sorted({(d.pool, d.spot) for d in plan.deployments}):
        pool = world.pools[pool_id]
        here = [d for d in plan.deployments if (d.pool, d.spot) == (pool_id, spot)]
        for t, s in enumerate(slices):
            before, after = 0.0, np.zeros(world.draws)
            for d in here:
                capability = known.get((d.service, d.config, d.pool, d.spot))
                if capability is None or d.replicas[t] == 0:
                    continue
                size = capability.config.accelerators
                load = d.replicas[t] * load_of(d, capability, t, spec, world)
                now = d.replicas[t] + np.ceil(load * world.time(capability) - 1e-9) - math.ceil(load - 1e-9)
                before += d.replicas[t] * _room(size, pool.accelerators)
                after += np.maximum(0.0, now) * _room(size, pool.accelerators)
            more = np.ceil(after - 1e-9) - math.ceil(before - 1e-9)
            total += _bill(plan, pool, spot, t, more, world) * s.hours_per_month / quarters
    return total


def _room(size: int, room: int) -> float:
    """Instances (a real number) that a replica fills; whole ones where it spans several."""
    return float(math.ceil(size / room)) if size > room else size / room


def load_of(d: Deployment, capability: ReplicaCapability, t: int, spec: Spec, world: World) -> float:
    """Largest used share of a capacity row in a slice at the plan's routes, forecast margin included, per replica."""
    service = next(s for s in world.problem.demand.services if s.id == d.service)
    index = {c.id: i for i, c in enumerate(service.classes)}
    bands: dict[int, list[float]] = {}
    for route in d.routes:
        if route.slice == t:
            bands.setdefault(route.band, [0.0] * len(index))[index[route.request_class]] += route.req_per_s
    margin = spec.policy.headroom.forecast_margin
    used = [
        math.fsum(margin * x * u for x, u in zip(rates, row.use, strict=True))
        for rates in bands.values()
        for row in capability.rows
    ]
    return min(1.0, max(used, default=0.0) / max(1, d.replicas[t]))


def _bill(plan: Plan, pool: Pool, spot: bool, t: int, more: Draws, world: World) -> Draws:
    """USD per hour of instances more (bought on demand) or less (given back, the dearest first) in a slice."""
    import numpy as np

    held = [
        (price.usd_per_hour, p.option, p.instances[t])
        for p in plan.purchases
        if p.pool == pool.id and p.option in RENTED and (p.option is PurchaseOption.SPOT) == spot
        and (price := pool.price(p.option)) is not None
    ]  # fmt: skip
    usd = np.zeros(world.draws)
    left = np.maximum(0.0, -more)
    for each, option, count in sorted(held, key=lambda h: -h[0]):
        gone = np.minimum(left, float(count))
        usd -= gone * each * _offer_factor(pool, option, world)
        left -= gone
    option, each = _extra(pool, spot)
    return np.asarray(usd + np.maximum(0.0, more) * each * _offer_factor(pool, option, world))


def _extra(pool: Pool, spot: bool) -> tuple[PurchaseOption, float]:
    """How a further instance is paid: like it on spot, else on demand, else as the cheapest that is sold."""
    wanted = (PurchaseOption.SPOT, PurchaseOption.ON_DEMAND) if spot else (PurchaseOption.ON_DEMAND,)
    for option in wanted:
        price = pool.price(option)
        if price is not None:
            return option, price.usd_per_hour
    firm = [p for p in pool.prices if p.option is not PurchaseOption.SPOT]
    price = min(firm or list(pool.prices), key=lambda p: p.usd_per_hour)
    return price.option, price.usd_per_hour
