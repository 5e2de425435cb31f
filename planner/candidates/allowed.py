"""Which pools a service may use, and under which purchase options. Services under equal rules share the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.base import Check, CheckKind, PurchaseOption
from planner.candidates.places import place_checks, provider_checks
from planner.candidates.types import Pool, Rejected
from planner.catalog.catalog import Catalog
from planner.demand.types import Service
from planner.spec.types import Sovereignty, Spec, SpotModel

LEAST_CREDIT = 0.01
"""Spot that serves for less than this share of the time is none: it starts again and again, or is hardly ever there."""

Options = tuple[PurchaseOption, ...]
Allowed = list[tuple[Pool, Options]]
Rules = tuple[Sovereignty, Options, bool]
Refusals = dict[tuple[str, tuple[Check, ...]], int]
"""(what, failed checks) → how many pools."""


@dataclass(slots=True)
class AllowedPools:
    """Pools by the rules of services, checked once for each set of rules."""

    pools: Sequence[Pool]
    spec: Spec
    catalog: Catalog
    _found: dict[Rules, tuple[Allowed, Refusals]] = field(default_factory=dict)
    _providers: dict[str, list[Check]] = field(default_factory=dict)

    def of(self, service: Service) -> tuple[Allowed, list[Rejected]]:
        """Pools that the service may use with their allowed options; refusals are per provider, region, accelerator."""
        rules = (service.sovereignty, tuple(service.options), service.max_spot_share == 0)
        if rules not in self._found:
            self._found[rules] = self._check(service)
        allowed, refused = self._found[rules]
        rejected = [
            Rejected(what=what, service=service.id, checks=checks, count=n) for (what, checks), n in refused.items()
        ]
        return allowed, rejected

    def _check(self, service: Service) -> tuple[Allowed, Refusals]:
        allowed: Allowed = []
        refused: Refusals = {}
        for pool in self.pools:
            failed = self._place(pool, service)
            options, option_checks = pool_options(service, pool, self.spec)
            if not options and not option_checks:
                sold = ", ".join(p.option.value for p in pool.prices)
                wanted = ", ".join(o.value for o in service.options)
                failed.append(Check(check="option", kind=CheckKind.POLICY, needed=wanted, had=sold))
            what, checks = f"{pool.accelerator} at {pool.provider}/{pool.region}", (*failed, *option_checks)
            if not failed and options:
                allowed.append((pool, tuple(sorted(options))))
                what = f"{PurchaseOption.SPOT.value} {what}"
            if checks:
                refused[what, checks] = refused.get((what, checks), 0) + 1
        return allowed, refused

    def _place(self, pool: Pool, service: Service) -> list[Check]:
        if pool.provider not in self._providers:
            own = pool.provider == "owned"
            failed = [] if own else provider_checks(pool.provider, self.spec.policy.providers, self.catalog)
            self._providers[pool.provider] = failed
        countries = (pool.country,) if pool.country else None
        places = place_checks(
            countries, pool.operator_jurisdiction, pool.certifications, service.sovereignty, self.catalog
        )
        return [*self._providers[pool.provider], *places]


def pool_options(service: Service, pool: Pool, spec: Spec) -> tuple[list[PurchaseOption], list[Check]]:
    """Purchase options that the service allows and the pool sells, and why spot of the pool is not among them."""
    allowed = set(service.options)
    if pool.commitment is not None and PurchaseOption(pool.commitment.rsplit("/", 1)[1]) in allowed:
        allowed.add(PurchaseOption.OWNED)  # held machines are there for whoever may use such a commitment
    sold = [p.option for p in pool.prices if p.option in allowed and p.max_instances != 0]
    failed: list[Check] = []
    if PurchaseOption.SPOT in sold:
        terms = pool.spot
        restarting = terms.interruptions_per_up_hour * terms.start_h if terms else 0.0
        no_fallback = spec.policy.spot.model == SpotModel.FALLBACK and (
            terms is None or terms.fallback_usd_per_hour is None or PurchaseOption.ON_DEMAND not in service.options
        )
        there = terms.availability if terms and spec.policy.spot.model == SpotModel.CREDITED else 1.0
        if restarting > 1.0 - LEAST_CREDIT:
            sold.remove(PurchaseOption.SPOT)
            detail = "it is interrupted so often that it does nothing but start"
            failed.append(
                Check(check="spot_restarts", kind=CheckKind.PHYSICAL, needed=1.0 - LEAST_CREDIT, had=restarting,
                      unit="of its time", detail=detail)
            )  # fmt: skip
        elif there * (1.0 - restarting) < LEAST_CREDIT:
            sold.remove(PurchaseOption.SPOT)
            detail = "credited with its availability it serves next to nothing"
            failed.append(
                Check(check="spot_availability", kind=CheckKind.PHYSICAL, needed=LEAST_CREDIT,
                      had=there * (1.0 - restarting), unit="of its time", detail=detail)
            )  # fmt: skip
        elif no_fallback:
            sold.remove(PurchaseOption.SPOT)
            detail = "while spot is away on-demand of the same place must take over, and none is sold or allowed"
            failed.append(
                Check(check="spot_fallback", kind=CheckKind.POLICY, needed="on_demand", had="none", detail=detail)
            )
        elif service.max_spot_share == 0:
            sold.remove(PurchaseOption.SPOT)
            detail = "purchase.max_spot_share is 0"
            failed.append(Check(check="max_spot_share", kind=CheckKind.POLICY, needed=0.0, had="spot", detail=detail))
    return sold, failed
