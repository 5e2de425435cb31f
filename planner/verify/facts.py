"""Everything a plan is checked against, derived once from a spec and a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from planner.base import Check
from planner.catalog.catalog import Catalog
from planner.demand.build import build_demand
from planner.demand.types import Demand, RequestClass, Service
from planner.performance.assess import assess
from planner.performance.configs import enumerate_configs
from planner.performance.types import EngineConfig, Refusal, ReplicaCapability, RequestLoad
from planner.spec.types import Spec, WorkloadKind
from planner.units import ms_to_s
from planner.verify.market import Market, PoolFacts
from planner.verify.timeline import Timeline, longest_term


def round_trip_s(catalog: Catalog, request_class: RequestClass, country: str | None) -> float:
    """Network round trip between a class's clients and a country, seconds: it is part of TTFT.

    The country's own row before its group's; the worst known one where nothing is known of the country. 0 for a class
    that names no client region or promises no TTFT.
    """
    region = request_class.client_region
    if region is None or request_class.ttft_limit_s is None:
        return 0.0
    rows = [r for r in catalog.round_trips if r.client_region == region]
    exact = [r.rtt_ms for r in rows if country is not None and r.country == country]
    groups = [r.rtt_ms for r in rows if country is not None and country in catalog.countries((r.country,))]
    return ms_to_s(max(exact or groups or [r.rtt_ms for r in rows], default=0.0))


@dataclass(frozen=True)
class Facts:
    """Spec, catalog and demand with their lookups; assessments are made once per (service, configuration, place)."""

    spec: Spec
    catalog: Catalog
    demand: Demand
    market: Market

    @classmethod
    def of(cls, spec: Spec, catalog: Catalog, demand: Demand | None = None) -> Facts:
        """Derive the demand (unless a demand is given) and the market."""
        return cls(spec, catalog, demand or build_demand(spec, catalog), Market(spec, catalog))

    @cached_property
    def services(self) -> dict[str, Service]:
        """service id → service."""
        return {s.id: s for s in self.demand.services}

    @cached_property
    def classes(self) -> dict[str, tuple[Service, int, RequestClass]]:
        """class id → (its service, its index there, the class)."""
        return {c.id: (s, i, c) for s in self.demand.services for i, c in enumerate(s.classes)}

    @property
    def margin(self) -> float:
        """Forecast margin: multiplies rates in capacity rows, never money."""
        return self.spec.policy.headroom.forecast_margin

    @cached_property
    def quarters(self) -> int:
        """Number of quarters in the horizon, as the slices know them."""
        return max(1, len({s.quarter for s in self.demand.slices}))

    @cached_property
    def months_per_slice(self) -> tuple[float, ...]:
        """[slice]: hours per month of the slice, averaged over the quarters of the horizon."""
        return tuple(s.hours_per_month / self.quarters for s in self.demand.slices)

    @cached_property
    def timeline(self) -> Timeline:
        """Where the slices lie in time."""
        sold = [(o.option, o.term_months) for o in self.catalog.offers if o.usable]
        return Timeline(self.demand.slices, self.spec, longest_term(self.spec, sold))

    @cached_property
    def _assessed(self) -> dict[tuple[str, str, str], ReplicaCapability | Refusal]:
        return {}

    @cached_property
    def _configs(self) -> dict[tuple[str, str], dict[str, EngineConfig | Refusal]]:
        return {}

    def _precisions(self, service: Service, model: str) -> tuple[str, ...]:
        """As listed, else the checkpoint's native one and fp8 (never one that must be opted into)."""
        if service.precisions is not None:
            return service.precisions
        known = {p.id for p in self.catalog.precisions}
        return tuple(p for p in dict.fromkeys((self.catalog.model(model).native_precision, "fp8")) if p in known)

    def _engines(self, service: Service) -> tuple[str, ...]:
        """As listed, else the catalog's production engines."""
        if service.engines is not None:
            return service.engines
        return tuple(e.id for e in self.catalog.engines if e.production)

    def _enumerate(
        self, service: Service, pool: PoolFacts, model: str, interconnect: str | None
    ) -> tuple[list[EngineConfig], list[Refusal]]:
        return enumerate_configs(
            self.catalog,
            model,
            pool.accelerator,
            precisions=self._precisions(service, model),
            kv_precisions=service.kv_precisions,
            engines=self._engines(service),
            gpu_memory_utilization=service.gpu_memory_utilization,
            max_num_seqs=service.max_num_seqs,
            tensor_parallel_domain=pool.tensor_parallel_domain,
            accelerators_per_instance=pool.accelerators,
            network_gb_per_s=pool.network_gb_per_s,
            measured=self.spec.measured_rows,
            interconnect=interconnect,
        )

    def configurations(self, service: Service, pool: PoolFacts) -> dict[str, EngineConfig | Refusal]:
        """Configuration id → what the service could run on machines of this kind, or why it is refused there."""
        key = (service.id, pool.id)
        if key not in self._configs:
            known: dict[str, EngineConfig | Refusal] = {}
            # A configuration's id says which link it was assessed with: the accelerator's own or the instance's.
            for interconnect in (pool.interconnect, None):
                for model in service.models:
                    found, refused = self._enumerate(service, pool, model, interconnect)
                    known |= {r.config.id: r for r in refused}
                    known |= {c.id: c for c in found}
            self._configs[key] = known
        return self._configs[key]

    def _loads(self, service: Service, country: str | None) -> list[RequestLoad]:
        return [
            RequestLoad(
                id=c.id,
                input_tokens=c.input_tokens,
                output_tokens=c.output_tokens,
                cached_input_tokens=c.cached_input_tokens,
                ttft_limit_s=c.ttft_limit_s,
                ttft_quantile=c.ttft_quantile,
                tpot_limit_s=c.tpot_limit_s,
                tpot_quantile=c.tpot_quantile,
                rtt_s=round_trip_s(self.catalog, c, country),
                max_context_tokens=c.max_context_tokens,
            )
            for c in service.classes
        ]

    def capability(self, service: Service, config_id: str, pool: PoolFacts) -> ReplicaCapability | Refusal | None:
        """What one replica does for the service there, why it cannot, or None: no such configuration is possible."""
        key = (service.id, config_id, pool.id)
        if key not in self._assessed:
            config = self.configurations(service, pool).get(config_id)
            if config is None or isinstance(config, Refusal):
                return config
            self._assessed[key] = assess(
                config,
                self._loads(service, pool.country),
                self.catalog,
                headroom=self.spec.policy.headroom,
                batch=service.kind is WorkloadKind.BATCH,
                measured=self.spec.measured_rows,
                estimators=self.spec.policy.estimators,
            )
        return self._assessed[key]


def checks_text(checks: tuple[Check, ...]) -> str:
    """Failed checks as one line for a person."""
    return "; ".join(f"{c.check}: needed {c.needed}, had {c.had} {c.unit or ''}".strip() for c in checks)
