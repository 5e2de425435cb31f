"""Mélange and AIBrix problems: throughput per GPU and request size, a size mix, a rate and prices.

The file is `{gpu_info: {GPU: {cost, tputs[row][column]}}, workload_distribution[row][column], total_request_rate}`:
`cost` in USD per hour, `tputs` in requests per second of one GPU that serves nothing but this size inside its latency
limit, the distribution in shares of the requests (Griffin et al., "Mélange: Cost Efficient LLM Serving by Exploiting
GPU Heterogeneity", 2024; AIBrix's GPU optimizer writes the same). `slice_factor` steers the peer's heuristic and is not
read: here a size is split over GPUs in any fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.peers import stand_in, text
from planner.peers.document import Reading, read_json

NO_CAPACITY_REQ_PER_S = 1e-5
"""Less than one request a day. Profilers write 1e-6 (AIBrix) or 0 for a size that misses its latency limit."""
SHARE_TOLERANCE = 1e-3
"""Shares of a distribution that add up to 1 but for rounding."""
MODEL = "served-model"
WORKLOAD = "requests"
PLACE = {"provider": "cloud", "region": "anywhere"}


@dataclass(frozen=True, slots=True)
class MelangeGpu:
    """One GPU type: price per hour, requests per second by size (no entry: not served), most that there are."""

    name: str
    usd_per_hour: float
    capacity_req_per_s: dict[tuple[int, int], float]
    """{(row, column): requests per second}, only for sizes that occur."""
    limit: int | None


@dataclass(frozen=True, slots=True)
class MelangeProblem:
    """A problem file; `shares` are {(row, column): share of the requests} of the sizes that occur, summing to 1."""

    gpus: tuple[MelangeGpu, ...]
    shares: dict[tuple[int, int], float]
    req_per_s: float


def bucket_name(bucket: tuple[int, int]) -> str:
    """Name of a request size, counted from 1: `row3-column2`."""
    return f"row{bucket[0] + 1}-column{bucket[1] + 1}"


def read_melange(path: str) -> MelangeProblem:
    """A problem file, `-` for standard input. Raises InputError with every fault (I101 … I107)."""
    raw = read_json(path)
    reading = Reading("standard input" if path == "-" else path)
    top = reading.mapping(raw, "")
    reading.stop()
    for key in ("gpu_info", "workload_distribution", "total_request_rate"):
        if key not in top:
            help_ = "a Mélange problem has gpu_info, workload_distribution and total_request_rate"
            reading.fault("I103", f"{key} is missing", key, help_)
    reading.stop()
    distribution = _table(reading, top["workload_distribution"], "workload_distribution")
    rate = reading.number(top["total_request_rate"], "total_request_rate", above=0.0)
    shares = {(i, j): x for i, row in enumerate(distribution) for j, x in enumerate(row) if x > 0}
    total = math.fsum(shares.values())
    if distribution and not reading.faults and abs(total - 1.0) > SHARE_TOLERANCE:
        message = f"the shares of workload_distribution add up to {total:g}, not to 1"
        reading.fault("I106", message, "workload_distribution")
    gpus = _gpus(reading, top["gpu_info"], distribution, shares)
    reading.stop()
    return MelangeProblem(gpus, {b: x / total for b, x in shares.items()}, rate * total)


def _gpus(
    reading: Reading, value: object, distribution: list[list[float]], shares: dict[tuple[int, int], float]
) -> tuple[MelangeGpu, ...]:
    gpus = []
    info = reading.mapping(value, "gpu_info")
    if not info and not reading.faults:
        reading.fault("I107", "gpu_info names no GPU, so there is nothing to choose from", "gpu_info")
    for name, fields in info.items():
        path = f"gpu_info.{name}"
        row = reading.mapping(fields, path)
        cost = reading.number(row.get("cost"), f"{path}.cost", above=0.0)
        rates = _table(reading, row.get("tputs"), f"{path}.tputs")
        if rates and distribution and [len(r) for r in rates] != [len(r) for r in distribution]:
            message = f"{path}.tputs is {_size(rates)}, workload_distribution is {_size(distribution)}"
            reading.fault("I105", message, f"{path}.tputs")
            continue
        limit = None if row.get("limit") is None else reading.whole(row["limit"], f"{path}.limit", least=0)
        served = {(i, j): x for i, r in enumerate(rates) for j, x in enumerate(r) if x >= NO_CAPACITY_REQ_PER_S}
        gpus.append(MelangeGpu(name, cost, {b: x for b, x in served.items() if b in shares}, limit))
    return tuple(gpus)


def _table(reading: Reading, value: object, path: str) -> list[list[float]]:
    """A table of numbers; null is 0. Rows of different lengths are I105."""
    table = [
        [reading.number(x, f"{path}[{i}][{j}]", default=0.0) for j, x in enumerate(reading.rows(row, f"{path}[{i}]"))]
        for i, row in enumerate(reading.rows(value, path))
    ]
    if len({len(row) for row in table}) > 1:
        reading.fault("I105", f"the rows of {path} have different lengths", path)
    elif isinstance(value, list) and not any(table):
        reading.fault("I103", f"{path} is empty", path)
    return table


def _size(table: list[list[float]]) -> str:
    return f"{len(table)} × {len(table[0])}"


def melange_spec(problem: MelangeProblem, name: str, file: str) -> str:
    """The workload file of a problem: the cheapest plan's USD per month are 730 × the problem's USD per hour.

    Every size is a request class, every throughput a measured capacity planned with to 100 %, every GPU an accelerator
    in an instance of its own; no latency promise, because the throughputs already lie inside the peer's.
    """
    source = f"imported from {text.comment(file)}"
    names = text.own_names(g.name for g in problem.gpus)
    classes = [
        {"name": bucket_name(b), "share": share, "input_tokens": 1, "output_tokens": 1}
        for b, share in problem.shares.items()
    ]
    measured = [
        {"model": MODEL, "accelerator": names[g.name], "tensor_parallel": 1, "precision": "bf16",
         "class": bucket_name(b), "capacity_req_per_s": rate}
        for g in problem.gpus for b, rate in g.capacity_req_per_s.items()
    ]  # fmt: skip
    offers: list[dict[str, object]] = [
        {**PLACE, "instance_type": names[g.name], "accelerator": names[g.name], "accelerators": 1,
         "option": "on_demand", "price_usd_per_hour": g.usd_per_hour,
         **({} if g.limit is None else {"max_instances": g.limit})}
        for g in problem.gpus
    ]  # fmt: skip
    lines = [
        f"# A Mélange problem, {source}.",
        "# Request sizes are classes named by their place in the table. The file does not say how many tokens they",
        "# have: 1 stands in, so that costs per token mean nothing here. A size that a GPU cannot serve has no row.",
        "schema_version: 1",
        f"name: {text.flow(name)}",
        "workloads:",
        f"  - name: {WORKLOAD}",
        f"    model: {MODEL}",
        "    precisions: [bf16]",
        "    engines: [vllm]",
        "    purchase: {options: [on_demand]}",
        "    traffic:",
        f"      mean_req_per_s: {problem.req_per_s!r}",
        "      classes:",
        *text.rows(8, classes),
        "policy:",
        "  estimators: [measured]",
        "  headroom: {target_utilization: 1.0}",
        *(["measured:", *text.rows(2, measured)] if measured else []),
        "catalog:",
        "  overlays:",
        f"    - replace: {text.flow(stand_in.REPLACED)}",
        "      models:",
        *text.rows(8, [stand_in.model(MODEL, source, 8)]),
        "      accelerators:",
        *text.rows(8, [stand_in.accelerator(names[g.name], source) for g in problem.gpus]),
        "      offers:",
        *text.rows(8, offers),
    ]
    return "\n".join(lines) + "\n"
