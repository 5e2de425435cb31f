"""What a plan's numbers rest on and how much of its money each such thing touches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from planner.base import Confidence, PurchaseOption
from planner.candidates.quotas import idle_quota_text
from planner.candidates.types import ApiCandidate, Plan, Pool, Problem
from planner.catalog.catalog import Catalog, UnknownName
from planner.explain.types import Risk
from planner.performance.types import Provenance
from planner.spec.types import Slo, Spec, WorkloadKind
from planner.verify.types import Verification

STALE_AFTER = timedelta(days=180)
"""A price older than this at the price date is called stale."""

BURSTY = 10.0
"""Index of dispersion at 10 s above which sizing by rows is off: replica counts were too low on such traces (FACTS of
32 trace and promise pairs: up to 271 times the promised first token)."""
LATE_FIRST_TOKEN_MS = 30_000.0
"""A first token later than this is said aloud."""

FLAGS: dict[str, str] = {
    "tensor_parallel_over_pcie": "tensor parallelism crosses PCIe, without a link between accelerators",
    "weight_only": "the precision is weight-only on this hardware: it saves memory, not compute time",
    "weights_offloaded": "weights are read from host memory through PCIe",
    "multi_instance": "one replica spans several instances and needs the network between them",
    "low_concurrency": "the cache holds fewer than four of the longest requests",
    "accelerator_not_in_fit": "no measurement of this accelerator is behind the estimate",
    "engine_overhead_assumed": "the engine's memory overhead is assumed, no start-up log is behind it",
    "ttft_not_checked": "the measured row says nothing of TTFT, so that promise was not checked",
}
"""What a configuration's flag means (`ReplicaCapability.flags`)."""


def find_risks(spec: Spec, catalog: Catalog, problem: Problem, plan: Plan, check: Verification) -> tuple[Risk, ...]:
    """All risks of a plan, in a fixed order: prices, estimates, spot, concentration, limits, hardware."""
    pools = {p.id: p for p in problem.pools}
    found: list[Risk] = []
    found += _prices(spec, catalog, pools, problem.apis, check)
    found += _estimates(check)
    found += bursty_traffic(spec)
    found += _slow_first_tokens(check)
    found += _spot(spec, pools, check)
    found += _concentration(pools, plan, check)
    found += _unknown_places(pools, check)
    found += _limits(problem, plan)
    found += _hardware(catalog, pools, plan, check)
    return tuple(found)


def _share(usd: float, check: Verification) -> float:
    total = check.cost.total_usd_per_month
    return min(1.0, usd / total) if total > 0 else 0.0


def _names(names: Iterable[str], most: int = 3) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - most} more" if len(unique) > most else ""
    return ", ".join(unique[:most]) + more


def _prices(
    spec: Spec, catalog: Catalog, pools: dict[str, Pool], apis: Iterable[ApiCandidate], check: Verification
) -> list[Risk]:
    """Prices that nobody published (assumed, derived, seed) and prices that are old."""
    rows: list[tuple[str, float, Confidence, date]] = []
    for cost in check.cost.purchases:
        pool = pools.get(cost.pool)
        price = pool.price(cost.option) if pool else None
        if price is not None and cost.option is not PurchaseOption.OWNED:
            rows.append((cost.offer, cost.usd_per_month, price.confidence, price.as_of))
    offers = {a.api: a for a in apis}
    for use in check.cost.api:
        if use.api in offers:
            rows.append((use.api, use.usd_per_month, offers[use.api].confidence, offers[use.api].as_of))
    today = spec.policy.price_date or catalog.as_of
    found = []
    for level, words in (
        (Confidence.ASSUMED, "prices are assumed, not published"),
        (Confidence.SEED, "prices are those of the seed articles"),
        (Confidence.DERIVED, "prices are derived from other published prices"),
    ):
        hit = [(name, usd) for name, usd, confidence, _ in rows if confidence is level]
        if hit:
            found.append(Risk(kind=f"{level.value}_price", share=_share(sum(u for _, u in hit), check),
                              text=f"{words}: {_names(n for n, _ in hit)}"))  # fmt: skip
    old = [(name, usd, day) for name, usd, _, day in rows if today - day > STALE_AFTER]
    if old:
        oldest = min(day for _, _, day in old)
        found.append(Risk(kind="stale_price", share=_share(sum(u for _, u, _ in old), check),
                          text=f"prices are more than {STALE_AFTER.days} days old (oldest {oldest}): "
                               f"{_names(n for n, _, _ in old)}"))  # fmt: skip
    return found


def _estimates(check: Verification) -> list[Risk]:
    """Speeds that were predicted, not measured, with their band."""
    found: dict[str, Risk] = {}
    for d in check.deliveries:
        if d.capability.provenance is Provenance.MEASURED:
            continue
        low, high = d.capability.error_band
        found.setdefault(d.config, Risk(
            kind="estimated_performance",
            text=f"speed of {d.config} is estimated ({d.capability.provenance.value}): for 80 % of measured points "
                 f"the true time was {low:.2f}× to {high:.2f}× the estimate; a benchmark of your own replaces it",
        ))  # fmt: skip
    return list(found.values())


def bursty_traffic(spec: Spec) -> list[Risk]:
    """Online workloads whose arrivals come in bursts that capacity rows do not see."""
    bursty = [
        w
        for w in spec.workloads
        if w.kind is WorkloadKind.ONLINE and w.traffic.dispersion_10s > BURSTY and w.slo != Slo()
    ]
    return [
        Risk(
            kind="bursty_arrivals",
            text=f"arrivals of {w.name} come in bursts (index of dispersion at 10 s of {w.traffic.dispersion_10s:g}, "
            f"above {BURSTY:g}): first tokens may take several times the predicted time; check with a request trace",
        )
        for w in bursty
    ]


def _slow_first_tokens(check: Verification) -> list[Risk]:
    """Deployments without a promised first token whose first tokens come absurdly late."""
    late = {
        d.config: d.ttft_p95_ms
        for d in check.deliveries
        if d.ttft_p95_ms is not None and d.ttft_p95_ms > LATE_FIRST_TOKEN_MS
    }
    return [
        Risk(
            kind="slow_first_token",
            text=f"at its peak load the first token of {config} takes {ms / 1e3:,.0f} s at the 95th percentile: "
            "without a promise nothing limits it; promise one (slo.ttft_p95_ms) if people wait for it",
        )
        for config, ms in late.items()
    ]


def _spot(spec: Spec, pools: dict[str, Pool], check: Verification) -> list[Risk]:
    """Money on spot, and how often it goes away."""
    spot = [c for c in check.cost.purchases if c.option is PurchaseOption.SPOT and c.usd_per_month > 0]
    if not spot:
        return []
    terms = [pools[c.pool].spot for c in spot if c.pool in pools]
    rates = [t.interruptions_per_up_hour for t in terms if t is not None]
    often = f"; up to {max(rates):.2g} interruptions per instance and hour" if rates else ""
    return [Risk(kind="spot_exposure", share=_share(sum(c.usd_per_month for c in spot), check),
                 text=f"spot can be taken away: {_names(c.offer for c in spot)}{often}")]  # fmt: skip


def _concentration(pools: dict[str, Pool], plan: Plan, check: Verification) -> list[Risk]:
    """Everything in one region or at one provider."""
    used = [pools[p.pool] for p in plan.purchases if any(p.instances) and p.pool in pools]
    if not used:
        return []
    places = sorted({f"{p.provider}/{p.region}" for p in used})
    share = _share(sum(c.usd_per_month for c in check.cost.purchases), check)
    if len(places) == 1:
        return [Risk(kind="single_region", share=share, text=f"all machines stand in one region, {places[0]}")]
    providers = {p.provider for p in used}
    if len(providers) == 1:
        return [Risk(kind="single_provider", share=share, text=f"all machines are one provider's, {used[0].provider}")]
    return []


def _unknown_places(pools: dict[str, Pool], check: Verification) -> list[Risk]:
    """Machines of which nobody says where they stand or whose law their operator is under."""
    found = []
    for kind, words, attribute in (
        ("unknown_country", "the country where the machine stands is not known", "country"),
        ("unknown_operator", "the law that the operator is under is not known", "operator_jurisdiction"),
    ):
        hit = [c for c in check.cost.purchases if c.pool in pools and getattr(pools[c.pool], attribute) is None]
        if hit:
            found.append(Risk(kind=kind, share=_share(sum(c.usd_per_month for c in hit), check),
                              text=f"{words}: {_names(c.pool for c in hit)}"))  # fmt: skip
    return found


def _limits(problem: Problem, plan: Plan) -> list[Risk]:
    """Quotas and API limits that nobody stated."""
    found = [Risk(kind="unknown_quota", text=f"the quota is unknown: {q}") for q in problem.unknown_quotas]
    found += [Risk(kind="idle_quota", text=idle_quota_text(q)) for q in problem.idle_quotas]
    offers = {a.api: a for a in problem.apis}
    blind = [u.api for u in plan.api if u.api in offers
             and offers[u.api].max_req_per_s is None and offers[u.api].max_tok_per_min is None]  # fmt: skip
    if blind:
        found.append(Risk(kind="unknown_api_limit", text=f"the rate limit is not known: {_names(sorted(set(blind)))}"))
    return found


def _hardware(catalog: Catalog, pools: dict[str, Pool], plan: Plan, check: Verification) -> list[Risk]:
    """Flags of configurations, marketplaces."""
    found = []
    for d in check.deliveries:
        for flag in d.capability.flags:
            risk = Risk(kind=flag, text=f"{FLAGS.get(flag, flag.replace('_', ' '))}: {d.config}")
            if risk not in found:
                found.append(risk)
    markets = []
    for p in plan.purchases:
        pool = pools.get(p.pool)
        try:
            if pool is not None and any(p.instances) and catalog.provider(pool.provider).marketplace:
                markets.append(pool.provider)
        except UnknownName:
            continue
    if markets:
        found.append(Risk(kind="marketplace",
                          text=f"third-party hosts, whose country and operator vary: {_names(markets)}"))  # fmt: skip
    return found
