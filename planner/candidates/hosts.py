"""Which configurations each kind of host can run. Services of one model and equal settings share the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.candidates.types import Pool
from planner.catalog.catalog import Catalog
from planner.demand.types import Service
from planner.performance.configs import enumerate_configs
from planner.performance.types import EngineConfig, Refusal
from planner.spec.types import Measured

Settings = tuple[object, ...]
"""All that a service says of how its model runs."""


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """What a configuration needs to know of a pool: equal hosts take equal configurations."""

    accelerator: str
    tensor_parallel_domain: int
    accelerators: int
    network_gb_per_s: float
    interconnect: str

    @classmethod
    def of(cls, pool: Pool) -> Host:
        size = (pool.tensor_parallel_domain, pool.accelerators)
        return cls(pool.accelerator, *size, pool.network_gb_per_s, pool.interconnect)


def service_precisions(service: Service, model: str, catalog: Catalog) -> tuple[str, ...]:
    """The listed precisions, or the checkpoint's native one and FP8 (the contract's default)."""
    if service.precisions is not None:
        return service.precisions
    return tuple(sorted({catalog.model(model).native_precision, "fp8"}))


def service_engines(service: Service, catalog: Catalog) -> tuple[str, ...]:
    """The listed engines, or the catalog's production engines."""
    return service.engines or tuple(e.id for e in catalog.engines if e.production)


@dataclass(slots=True)
class HostConfigs:
    """Configurations by model, settings and host, found once each."""

    catalog: Catalog
    measured: tuple[Measured, ...]
    _found: dict[tuple[str, Settings, Host], tuple[list[EngineConfig], list[Refusal]]] = field(default_factory=dict)
    _hosts: dict[str, Host] = field(default_factory=dict)

    def host(self, pool: Pool) -> Host:
        """The kind of host that a pool is."""
        if pool.id not in self._hosts:
            self._hosts[pool.id] = Host.of(pool)
        return self._hosts[pool.id]

    def of(self, service: Service, hosts: Iterable[Host]) -> tuple[dict[Host, tuple[EngineConfig, ...]], list[Refusal]]:
        """Configurations of a service that each kind of host can run, and those that it cannot, each once."""
        runnable: dict[Host, tuple[EngineConfig, ...]] = {}
        refusals: dict[Refusal, None] = {}
        for host in sorted(hosts):
            configs: list[EngineConfig] = []
            for model in service.models:
                admitted, refused = self._on(service, model, host)
                configs += admitted
                refusals |= dict.fromkeys(refused)
            runnable[host] = tuple(configs)
        return runnable, list(refusals)

    def _on(self, service: Service, model: str, host: Host) -> tuple[list[EngineConfig], list[Refusal]]:
        precisions = service_precisions(service, model, self.catalog)
        engines = service_engines(service, self.catalog)
        settings: Settings = (
            precisions, service.kv_precisions, engines, service.gpu_memory_utilization, service.max_num_seqs
        )  # fmt: skip
        key = (model, settings, host)
        if key not in self._found:
            self._found[key] = enumerate_configs(
                self.catalog,
                model,
                host.accelerator,
                precisions=precisions,
                kv_precisions=service.kv_precisions,
                engines=engines,
                gpu_memory_utilization=service.gpu_memory_utilization,
                max_num_seqs=service.max_num_seqs,
                tensor_parallel_domain=host.tensor_parallel_domain,
                accelerators_per_instance=host.accelerators,
                network_gb_per_s=host.network_gb_per_s,
                interconnect=host.interconnect,
                measured=self.measured,
            )
        return self._found[key]
