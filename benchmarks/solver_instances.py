"""The instances of `data/solver` through the formulation's own types, and an independent checker of their plans.

`python -m benchmarks.solver_instances FOLDER S2_1 --seconds 60` reads FOLDER/S2_1.json into a `Problem`, solves it like
any other fleet of covering services, checks the plan against the file's own words and prints cost, bound and gap.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from planner.base import Confidence, PurchaseOption
from planner.candidates.reduce import core, with_hourly
from planner.candidates.types import ApiCandidate, Candidate, OptionPrice, Plan, Pool, Problem, QuotaRow, SpotTerms
from planner.demand.types import Demand, RequestClass, Service, Slice
from planner.formulation.fleet_build import build_fleet
from planner.formulation.sets import Sets
from planner.performance.types import CapacityRow, EngineConfig, MemoryFit, Provenance, ReplicaCapability
from planner.solve.crew import Crew
from planner.solve.fleet import search
from planner.solve.types import SolveOptions
from planner.spec.types import Policy, Resilience, Sovereignty, Spare, WorkloadKind
from planner.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

Instance = dict[str, Any]
AS_OF = date(2026, 11, 30)
MONTHLY = {"od": PurchaseOption.ON_DEMAND, "res": PurchaseOption.RESERVED_1Y, "spot": PurchaseOption.SPOT}


# -- reading -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> Instance:
    """The file as it is."""
    found: Instance = json.loads(path.read_text())
    return found


def allowed(workload: Instance, pool: Instance) -> bool:
    """Sovereignty: `us` and `eu` speak of the region, `eu-op` of the region and its operator."""
    region, sov = pool["region"], workload["sov"]
    if sov == "us":
        return bool(region.startswith("us"))
    if sov == "eu":
        return bool(region.startswith("eu"))
    return sov == "any" or bool(pool["jur"] == "EU" and region.startswith("eu"))


def problem_of(instance: Instance) -> Problem:
    """The instance as a problem: one request class per workload, capacities as one row use = 1/cap.

    `location` is a failure domain and becomes the region. A spot replica counts `spot_eff`: interruptions times
    start-up are 1 − spot_eff, availability is 1. API prices are per rate·h, ours per request.
    """
    slices = tuple(
        Slice(id=f"s{t:02}", quarter=1, label=f"{t:02}", hours_per_month=h, order=t)
        for t, h in enumerate(instance["hours"])
    )
    pools = tuple(_pool(p, instance["spot_eff"]) for p in instance["pools"])
    services, candidates, apis = [], [], []
    for w in instance["workloads"]:
        services.append(_service(w, instance))
        candidates += _candidates(w, instance["pools"])
        if w.get("api_price") is not None and w["kind"] == "online":
            apis.append(_api(w))
    quotas = tuple(
        QuotaRow(id=p["id"], pools=(p["id"],), options=tuple(MONTHLY.values()), per_accelerator=False, limit=p["quota"])
        for p in instance["pools"]
        if p["quota"] is not None
    )
    return Problem(
        demand=Demand(slices=slices, services=tuple(services)),
        pools=pools,
        candidates=tuple(candidates),
        apis=tuple(apis),
        quotas=quotas,
        policy=Policy(),
    )


def _pool(p: Instance, spot_eff: float) -> Pool:
    prices = tuple(
        OptionPrice.model_construct(
            offer=f"{p['id']}/{option.value}", option=option, usd_per_hour=p[name],
            term_months=12 if option is PurchaseOption.RESERVED_1Y else 0, upfront_fraction=0.0, max_instances=None,
            source="data/solver", as_of=AS_OF, confidence=Confidence.LIST,
        )
        for name, option in MONTHLY.items()
        if p[name] is not None
    )  # fmt: skip
    spot = None
    if p["spot"] is not None:
        spot = SpotTerms(
            interruptions_per_up_hour=1.0 - spot_eff, start_h=1.0, availability=1.0,
            fallback_offer=f"{p['id']}/on_demand", fallback_usd_per_hour=p["od"],
        )  # fmt: skip
    return Pool(
        id=p["id"], provider=p["provider"], region=p["region"], zone="*", instance_type=p["id"].split("/")[-1],
        accelerator=p["acc"], accelerators=p["G"], tensor_parallel_domain=p["G"], interconnect="none",
        network_gb_per_s=0.0, country=p["region"], operator_jurisdiction=p["jur"], certifications=(), prices=prices,
        spot=spot,
    )  # fmt: skip


def _service(w: Instance, instance: Instance) -> Service:
    hours = instance["hours"]
    batch = w["kind"] == "batch"
    window = set(w["window"]) if batch else set()
    open_h = [h if t in window else 0.0 for t, h in enumerate(hours)]
    rates = (
        [w["volume"] / math.fsum(open_h) if t in window else 0.0 for t in range(len(hours))] if batch else w["demand"]
    )
    survive = bool(w["survive"])
    request_class = RequestClass(
        id=f"{w['id']}/all", workload=w["id"], name="all", input_tokens=1, output_tokens=1, cached_input_tokens=0,
        ttft_limit_s=None, ttft_quantile=None, tpot_limit_s=None, tpot_quantile=None, client_region=None,
        max_context_tokens=None, mean_req_per_s=tuple(rates), sizing_req_per_s=tuple(rates),
        band_req_per_s=tuple((r,) for r in rates), api_models=(),
    )  # fmt: skip
    return Service(
        id=w["id"], workloads=(w["id"],), classes=(request_class,), models=(w["model"],), precisions=None,
        kv_precisions=("bf16",), engines=None, gpu_memory_utilization=0.9, max_num_seqs=None,
        kind=WorkloadKind.BATCH if batch else WorkloadKind.ONLINE, sovereignty=Sovereignty(),
        resilience=Resilience(
            spare=Spare(count=1) if w["n_plus_1"] else None,
            survive_loss_of=("region",) if survive else (),
            serve_fraction=instance["survive_frac"] if survive else 1.0,
        ),
        options=tuple(PurchaseOption), max_spot_share=w["spot_share"], band_weights=((1.0,),) * len(hours),
        windows=(tuple(open_h),) if batch else (),
    )  # fmt: skip


def _candidates(w: Instance, pools: Sequence[Instance]) -> list[Candidate]:
    by_accelerator: dict[str, list[Instance]] = defaultdict(list)
    for p in pools:
        if allowed(w, p):
            by_accelerator[p["acc"]].append(p)
    found = []
    for c in w["configs"]:
        capability = _capability(w["model"], c)
        for p in by_accelerator[c["acc"]]:
            if c["g"] <= p["G"]:
                spot = p["spot"] is not None and w["spot_share"] > 0
                options = tuple(o for n, o in MONTHLY.items() if p[n] is not None and (spot or n != "spot"))
                found.append(
                    Candidate.model_construct(service=w["id"], capability=capability, pool=p["id"], options=options)
                )
    return found


def _capability(model: str, c: Instance) -> ReplicaCapability:
    precision = c["id"].split("-")[-1]
    config = EngineConfig(
        model=model,
        precision=precision,
        kv_precision="bf16",
        engine="any",
        accelerator=c["acc"],
        tensor_parallel=c["g"],
    )
    memory = MemoryFit(
        usable_gib_per_gpu=1, weights_gib_per_gpu=0, overhead_gib_per_gpu=0, kv_pool_gib_per_gpu=1,
        kv_bytes_per_token_per_gpu=1, state_bytes_per_request_per_gpu=0, kv_cache_tokens=1,
    )  # fmt: skip
    return ReplicaCapability(
        config=config, served=(True,), rows=(CapacityRow(name="capacity", use=(1.0 / c["cap"],)),),
        capacity_req_per_s=(c["cap"],), work_s=(0.0,), prefill_s=(0.0,), idle_iteration_s=None, memory=memory,
        provenance=Provenance.MEASURED, error_band=(1, 1), time_factor=1, headroom=(),
    )  # fmt: skip


def _api(w: Instance) -> ApiCandidate:
    return ApiCandidate(
        service=w["id"], request_class=f"{w['id']}/all", api="api", provider="api", region="global",
        usd_per_request=w["api_price"] / SECONDS_PER_HOUR, tokens_per_request=1, max_req_per_s=None,
        max_tok_per_min=None, countries=None, operator_jurisdiction=None, source="data/solver", as_of=AS_OF,
        confidence=Confidence.LIST,
    )  # fmt: skip


# -- checking ----------------------------------------------------------------------------------------------------------


def check(instance: Instance, plan: Plan, tolerance: float = 1e-6) -> tuple[float, list[str]]:
    """(USD/month, what the plan breaks), from the words of the file alone."""
    hours, pools = instance["hours"], {p["id"]: p for p in instance["pools"]}
    slices, faults, cost = range(len(hours)), [], 0.0
    room: dict[tuple[str, bool], list[float]] = defaultdict(lambda: [0.0] * len(hours))
    bought: dict[str, list[int]] = defaultdict(lambda: [0] * len(hours))
    for x in plan.purchases:
        p = pools[x.pool]
        name = {o: n for n, o in MONTHLY.items()}[x.option]
        if p[name] is None:
            faults.append(f"{x.pool} does not sell {name}")
            continue
        cost += max(x.instances) * math.fsum(hours) * p[name] if name == "res" else 0.0
        for t in slices:
            n = max(x.instances) if name == "res" else x.instances[t]
            cost += 0.0 if name == "res" else n * hours[t] * p[name]
            room[x.pool, name == "spot"][t] += n * p["G"]
            bought[x.pool][t] += n
    for name, counts in bought.items():
        quota = pools[name]["quota"]
        if quota is not None and max(counts) > quota:
            faults.append(f"quota of {name}: {max(counts)} above {quota}")
    held: dict[tuple[str, bool], list[float]] = defaultdict(lambda: [0.0] * len(hours))
    served: dict[str, list[tuple[float, bool, str, tuple[int, ...]]]] = defaultdict(list)
    configs = {w["id"]: {c["id"]: c for c in w["configs"]} for w in instance["workloads"]}
    workloads = {w["id"]: w for w in instance["workloads"]}
    for d in plan.deployments:
        _, precision, _, accelerator, parallel = d.config.split("/")
        c, p = configs[d.service][f"{accelerator}-{parallel}-{precision}"], pools[d.pool]
        if p["acc"] != c["acc"] or c["g"] > p["G"] or not allowed(workloads[d.service], p):
            faults.append(f"{d.service}: {d.config} cannot stand in {d.pool}")
        for t in slices:
            held[d.pool, d.spot][t] += d.replicas[t] * c["g"]
        capacity = c["cap"] * (instance["spot_eff"] if d.spot else 1.0)
        served[d.service].append((capacity, d.spot, p["location"], d.replicas))
    for key, used in held.items():
        if any(u > r + tolerance for u, r in zip(used, room[key], strict=True)):
            faults.append(f"{key[0]}: more replicas than instances hold")
    taken: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(hours))
    for a in plan.api:
        for route in a.routes:
            taken[a.request_class.split("/")[0]][route.slice] += route.req_per_s
    for w in instance["workloads"]:
        own, api = served[w["id"]], taken[w["id"]]
        if w["kind"] == "batch":
            faults += _batch_faults(w, own, hours, tolerance)
            continue
        if w["api_price"] is None and max(api) > tolerance:
            faults.append(f"{w['id']} has no API")
        cost += math.fsum(h * a for h, a in zip(hours, api, strict=True)) * (w["api_price"] or 0.0)
        for t in slices:
            rules = _short(w, own, t, instance["survive_frac"])
            faults += [
                f"{w['id']} slice {t}: {what}" for what, short in rules if short - api[t] > tolerance * w["demand"][t]
            ]
    return cost, faults


def _short(
    w: Instance, own: list[tuple[float, bool, str, tuple[int, ...]]], t: int, fraction: float
) -> list[tuple[str, float]]:
    """Per rule what an API must take of the demand in a slice."""
    demand = w["demand"][t]
    running = [(c, spot, place, n[t]) for c, spot, place, n in own if n[t]]
    total = math.fsum(c * n for c, _, _, n in running)
    lost = max((c for c, _, _, _ in running), default=0.0) if w["n_plus_1"] else 0.0
    firm = math.fsum(c * n for c, spot, _, n in running if not spot)
    found = [("demand", demand - max(0.0, total - lost)), ("spot share", (1 - w["spot_share"]) * demand - firm)]
    for place in {p for _, _, p, _ in running} if w["survive"] else set():
        left = math.fsum(c * n for c, _, p, n in running if p != place)
        found.append((f"loss of {place}", fraction * demand - left))
    return found


def _batch_faults(
    w: Instance, own: list[tuple[float, bool, str, tuple[int, ...]]], hours: Sequence[float], tolerance: float
) -> list[str]:
    done = math.fsum(c * n[t] * hours[t] for c, _, _, n in own for t in w["window"])
    outside = any(n[t] for _, _, _, n in own for t in range(len(hours)) if t not in w["window"])
    faults = [f"{w['id']} runs outside its window"] if outside else []
    return [*faults, f"{w['id']}: volume"] if done < w["volume"] * (1 - tolerance) else faults


# -- solving -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One solved instance; money in USD/month."""

    name: str
    cost: float
    bound: float
    faults: tuple[str, ...]
    build_s: float
    solve_s: float
    cpu_s: float
    memory_gb: float
    clocked: bool

    @property
    def gap(self) -> float:
        """(cost − bound) / cost."""
        return (self.cost - self.bound) / self.cost if self.cost else math.inf


def reduced(problem: Problem) -> Problem:
    """What is solved in place of the whole problem: same optimum."""
    return with_hourly(core(problem, record=False), problem)


def run(folder: Path, name: str, seconds: float, gap: float, verbose: bool = False) -> Outcome:
    """Read, solve within `seconds` in all, check."""
    started, cpu = time.monotonic(), _cpu_s()
    instance = read(folder / f"{name}.json")
    with Crew() as crew:
        crew.start()
        mapped = build_fleet(Sets(reduced(problem_of(instance))))
        if mapped is None:
            raise ValueError("no fleet of covering services")
        built = time.monotonic()
        log = (lambda line: print(line, file=sys.stderr, flush=True)) if verbose else None
        limits = SolveOptions(time_limit_s=max(1.0, seconds - (built - started)), relative_gap=gap)
        answer = search(mapped.fleet, crew, limits, log=log)
    ended = time.monotonic()
    if answer.plan is None:
        return Outcome(name, math.inf, HOURS_PER_MONTH * answer.bound, ("no plan",), built - started, ended - built,
                       _cpu_s() - cpu, _memory_gb(), True)  # fmt: skip
    cost, faults = check(instance, mapped.plan(answer.plan))
    if abs(cost - HOURS_PER_MONTH * answer.objective) > 1e-6 * cost:
        faults.append(f"cost {cost:.2f} where the programme says {HOURS_PER_MONTH * answer.objective:.2f}")
    return Outcome(name, cost, HOURS_PER_MONTH * answer.bound, tuple(faults), built - started, ended - built,
                   _cpu_s() - cpu, _memory_gb(), answer.clocked)  # fmt: skip


def _cpu_s() -> float:
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _memory_gb() -> float:
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve instances and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args(arguments)
    print("| instance | cost | bound | gap | build s | solve s | CPU s | GB | checked |\n" + "|---" * 9 + "|")
    for name in asked.names:
        o = run(asked.folder, name, asked.seconds, asked.gap, asked.verbose)
        verdict = "ok" if not o.faults else "; ".join(o.faults[:3])
        print(
            f"| {name} | {o.cost:,.0f} | {o.bound:,.0f} | {100 * o.gap:.2f} % | {o.build_s:.1f} | {o.solve_s:.1f} "
            f"| {o.cpu_s:.0f} | {o.memory_gb:.2f} | {verdict} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
