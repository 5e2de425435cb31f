"""What does not fit into memory, and the nearest configurations that do."""

from __future__ import annotations

from collections.abc import Iterable

from planner.candidates.allowed import AllowedPools
from planner.candidates.build import request_loads
from planner.candidates.hosts import Host, HostConfigs
from planner.candidates.pools import build_pools
from planner.catalog.catalog import Catalog
from planner.demand.types import Demand, Service
from planner.performance.cases import longest_context, make_setup
from planner.performance.memory import fits, memory_fit
from planner.performance.types import EngineConfig, MemoryFit
from planner.spec.types import Spec

Fit = tuple[EngineConfig, MemoryFit]


def nearest_fits(spec: Spec, catalog: Catalog, demand: Demand) -> tuple[str, ...]:
    """Per service of which nothing fits where it may run: the smallest configurations that would, by what must change.

    Another precision on the same machines; other machines for sale; other machines that the catalog knows.
    """
    pools, _ = build_pools(spec, catalog)
    allowed = AllowedPools(pools, spec, catalog)
    found: list[str] = []
    for service in demand.services:
        own = {Host.of(p) for p, _ in allowed.of(service)[0]}
        if not own or _smallest(service, own, spec, catalog) is not None:
            continue
        sold = {Host.of(p) for p in pools} - own
        every = service.model_copy(update={"precisions": tuple(sorted(p.id for p in catalog.precisions))})
        known = set(_all_hosts(catalog)) - own - sold
        for asked, hosts, words in (
            (every, own, "in another precision on the same machines"),
            (service, sold, "on other machines, which the rules leave out"),
            (service, known, "on machines that the catalog knows and nobody offers"),
        ):
            best = _smallest(asked, hosts, spec, catalog)
            if best is not None:
                found.append(f"{service.id}: {_text(best)}, {words}")
    return tuple(found)


def _all_hosts(catalog: Catalog) -> Iterable[Host]:
    for t in catalog.instance_types:
        yield Host(t.accelerator, t.tensor_parallel_domain, t.accelerators, t.network_gb_per_s, t.interconnect)


def _smallest(service: Service, hosts: Iterable[Host], spec: Spec, catalog: Catalog) -> Fit | None:
    """Of what fits into memory the configuration with the best quality, then the least memory altogether."""
    runnable, _ = HostConfigs(catalog, spec.measured_rows).of(service, hosts)
    ranked: list[tuple[tuple[float, float, str, str], Fit]] = []
    for config in {c.id: c for configs in runnable.values() for c in configs}.values():
        memory = _memory(service, config, catalog)
        if memory is not None:
            setup = make_setup(config, catalog)
            total = config.accelerators * setup.accelerator.memory_gib_visible
            key = (setup.precision.quality_loss_percent_high, total, config.precision, config.id)
            ranked.append((key, (config, memory)))
    return min(ranked, key=lambda r: r[0])[1] if ranked else None


def _memory(service: Service, config: EngineConfig, catalog: Catalog) -> MemoryFit | None:
    """Memory of a configuration that holds one longest request; None where it does not."""
    setup = make_setup(config, catalog)
    longest = longest_context(request_loads(service, None, catalog), setup.model)
    memory = memory_fit(
        config, setup.model, setup.accelerator, setup.engine, setup.precision, setup.kv_precision, longest
    )
    return memory if fits(memory, longest) else None


def _text(fit: Fit) -> str:
    config, memory = fit
    return (
        f"{config.id} on {config.accelerators} × {config.accelerator} (weights {memory.weights_gib_per_gpu:.1f} of "
        f"{memory.usable_gib_per_gpu:.1f} usable GiB per accelerator, cache for {memory.kv_cache_tokens:,.0f} tokens)"
    )
