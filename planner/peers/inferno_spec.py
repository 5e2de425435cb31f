"""An llm-inferno system as a workload file."""

from __future__ import annotations

from dataclasses import dataclass

from planner.peers import stand_in, text
from planner.peers.inferno import InfernoAccelerator, InfernoServer, InfernoSystem

PROVIDER = "cluster"
LINK_GB_PER_S = 1.0
"""Stands in for the network of replicas that span instances; what it costs in speed is in their capacity."""


@dataclass(frozen=True, slots=True)
class _Names:
    """What things are called in the workload file, by what the system calls them."""

    accelerators: dict[str, str]
    types: dict[str, str]
    models: dict[str, str]
    servers: dict[str, str]


def inferno_spec(system: InfernoSystem, name: str, folder: str) -> str:
    """The workload file of a system: USD per month = cents per hour × 7.30.

    Every server is a workload of its own; a replica's capacity inside its promises is measured by the queue and planned
    with to 100 %, so the file promises nothing again. An accelerator is an instance of `multiplicity` chips whose link
    reaches as far as the largest replica; its region is the chip's type, which carries the limit.
    """
    source = f"imported from {text.comment(folder)}"
    names = _Names(
        accelerators=text.own_names(a.name for a in system.accelerators),
        types=text.own_names(dict.fromkeys(a.type for a in system.accelerators)),
        models=text.own_names(dict.fromkeys(s.model for s in system.servers)),
        servers=text.own_names(s.name for s in system.servers),
    )
    quotas, measured = _quotas(system, names), _measured(system, names)
    lines = [
        f"# An llm-inferno system, {source}.",
        "# Capacities come from the published state-dependent queue and lie inside each server's promises.",
        "schema_version: 1",
        f"name: {text.flow(name)}",
        "workloads:",
        *(line for s in system.servers for line in _workload(s, names)),
        "policy:",
        "  estimators: [measured]",
        "  headroom: {target_utilization: 1.0}",
        *(["  quotas:", *text.rows(4, quotas)] if quotas else []),
        *(["measured:", *text.rows(2, measured)] if measured else []),
        "catalog:",
        "  overlays:",
        f"    - replace: {text.flow(stand_in.REPLACED)}",
        "      models:",
        *text.rows(8, _models(system, names, source)),
        "      accelerators:",
        *text.rows(8, [_accelerator(a, names, source) for a in system.accelerators]),
        "      offers:",
        *text.rows(8, [_offer(a, system, names) for a in system.accelerators]),
    ]
    return "\n".join(lines) + "\n"


def _workload(server: InfernoServer, names: _Names) -> list[str]:
    promised = ", ".join(f"{what} {ms:g} ms" for what, ms in (("TTFT", server.ttft_ms), ("ITL", server.itl_ms)) if ms)
    name = names.servers[server.name]
    lengths = {"input_tokens": max(server.input_tokens, 1.0), "output_tokens": max(server.output_tokens, 1.0)}
    return [
        f"  - name: {text.flow(name)}   # {text.comment(server.service_class)}: {promised or 'no latency promised'}",
        f"    model: {text.flow(names.models[server.model])}",
        "    precisions: [bf16]",
        "    engines: [vllm]",
        "    tenancy: dedicated",
        "    purchase: {options: [on_demand]}",
        "    traffic:",
        f"      mean_req_per_s: {server.req_per_s!r}",
        f"      classes: {text.flow([{'name': name, 'share': 1.0, **lengths}])}",
    ]


def _quotas(system: InfernoSystem, names: _Names) -> list[dict[str, object]]:
    """Chips by type; a type without a count has none."""
    if system.limits is None:
        return []
    return [
        {
            "match": {"provider": PROVIDER, "region": shown},
            "unit": "accelerators",
            "limit": system.limits.get(kind, 0),
        }
        for kind, shown in names.types.items()
    ]


def _measured(system: InfernoSystem, names: _Names) -> list[dict[str, object]]:
    chips = {a.name: a.multiplicity for a in system.accelerators}
    return [
        {
            "model": names.models[s.model],
            "accelerator": names.accelerators[accelerator],
            "tensor_parallel": units * chips[accelerator],
            "precision": "bf16",
            "class": names.servers[s.name],
            "capacity_req_per_s": rate,
        }
        for s in system.servers
        for accelerator, (units, rate) in s.capacity.items()
    ]


def _models(system: InfernoSystem, names: _Names, source: str) -> list[dict[str, object]]:
    longest = {m: max(s.input_tokens + s.output_tokens for s in system.servers if s.model == m) for m in names.models}
    return [stand_in.model(names.models[m], source, int(4 * tokens) + 4) for m, tokens in longest.items()]


def _accelerator(a: InfernoAccelerator, names: _Names, source: str) -> dict[str, object]:
    return stand_in.accelerator(names.accelerators[a.name], source, a.memory_gb, a.bandwidth_gb_per_s)


def _offer(a: InfernoAccelerator, system: InfernoSystem, names: _Names) -> dict[str, object]:
    """The machine with its price; its link spans as many machines as the largest replica takes."""
    units = max((s.capacity[a.name][0] for s in system.servers if a.name in s.capacity), default=1)
    link = {"tensor_parallel_domain": units * a.multiplicity, "network_gb_per_s": LINK_GB_PER_S} if units > 1 else {}
    return {
        "provider": PROVIDER,
        "region": names.types[a.type],
        "instance_type": names.accelerators[a.name],
        "accelerator": names.accelerators[a.name],
        "accelerators": a.multiplicity,
        **link,
        "option": "on_demand",
        "price_usd_per_hour": a.usd_per_hour,
    }
