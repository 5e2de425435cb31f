"""Checks of what may be used at all: places, operators, providers, options, and what an API can take."""

from __future__ import annotations

from collections.abc import Iterator

from planner.base import PurchaseOption
from planner.catalog.types import ApiOffer
from planner.demand.types import RequestClass, Service
from planner.spec.types import Sovereignty
from planner.units import s_to_ms
from planner.verify.facts import Facts
from planner.verify.findings import Findings
from planner.verify.market import PoolFacts
from planner.verify.normalise import Called, Normal, Running
from planner.verify.packing import FIRM


def check_permission(normal: Normal, facts: Facts, out: Findings) -> None:
    """All rules about what a service may use; anything that carries no replica and no request is not used."""
    for running in normal.running:
        if any(running.deployment.replicas) or _carries(running):
            _deployment(running, facts, out)
    for called in normal.called:
        if any(x > 0 for bands in called.rates for x in bands):
            _api(called, facts, out)


def _carries(running: Running) -> bool:
    return any(x > 0 for rates in running.rates for bands in rates for x in bands)


def _within(code: str, names: tuple[str, ...], facts: Facts) -> bool:
    upper = {n.upper() for n in names}
    return code.upper() in upper or code in facts.catalog.countries(names)


def _place_faults(
    countries: tuple[str, ...] | None,
    jurisdiction: str | None,
    certifications: tuple[str, ...],
    rule: Sovereignty,
    facts: Facts,
) -> Iterator[tuple[str, str, str]]:
    """(what, needed, had) of every broken sovereignty rule; unknown fails closed."""
    if rule.countries is not None:
        wanted = ", ".join(rule.countries)
        if not countries:
            yield "country", wanted, "unknown"
        for country in countries or ():
            if not _within(country, rule.countries, facts):
                yield "country", wanted, country
    if rule.operator_jurisdictions is not None:
        wanted = ", ".join(rule.operator_jurisdictions)
        if jurisdiction is None:
            yield "operator_jurisdiction", wanted, "unknown"
        elif not _within(jurisdiction, rule.operator_jurisdictions, facts):
            yield "operator_jurisdiction", wanted, jurisdiction
    held = {c.lower() for c in certifications}
    for certification in rule.certifications:
        if certification.lower() not in held:
            yield "certifications", certification, ", ".join(sorted(held)) or "none known"


def _pool_faults(pool: PoolFacts, service: Service, facts: Facts) -> Iterator[tuple[str, str, str]]:
    rule = service.sovereignty
    if pool.owned:  # one's own machines are under no other operator and need no provider's certificate
        rule = Sovereignty(countries=rule.countries)
    countries = None if pool.country is None else (pool.country,)
    yield from _place_faults(countries, pool.operator_jurisdiction, pool.certifications, rule, facts)


def _deployment(running: Running, facts: Facts, out: Findings) -> None:
    service, pool = running.service, running.pool
    for what, needed, had in _pool_faults(pool, service, facts):
        out.broken("sovereignty", (service.id, pool.id, what), "the pool may not hold this data", needed, had)
    options = ", ".join(o.value for o in service.options)
    if running.deployment.spot:
        firm_fallback = pool.spot is not None and (
            pool.spot.credited
            or (pool.spot.fallback_usd_per_hour is not None and PurchaseOption.ON_DEMAND in service.options)
        )
        if PurchaseOption.SPOT not in service.options or pool.spot is None:
            out.broken("option", (service.id, pool.id), "spot is not allowed or not sold there", options, "spot")
        elif not firm_fallback:
            detail = "nothing may take over while spot is away"
            out.broken("option", (service.id, pool.id), detail, "on_demand", "none")
    elif not any(o in pool.usable(service.options) and o in pool.tariffs for o in FIRM):
        sold = ", ".join(o.value for o in pool.tariffs)
        out.broken("option", (service.id, pool.id), "no purchase option of the service is sold there", options, sold)


def _api(called: Called, facts: Facts, out: Findings) -> None:
    service, request_class, offer = called.service, called.request_class, called.offer
    key = (request_class.id, offer.id)
    if PurchaseOption.API not in service.options:
        options = ", ".join(o.value for o in service.options)
        out.broken("option", key, "the workload may not use an API", options, "api")
    if not any(offer.id == a.id for name in request_class.api_models for a in facts.catalog.api_offers(name)):
        accepted = ", ".join(request_class.api_models) or "none"
        out.broken("option", key, "the API is no accepted equivalent", accepted, offer.id)
    faults = _place_faults(
        offer.countries, offer.operator_jurisdiction, offer.certifications, service.sovereignty, facts
    )
    for what, needed, had in faults:
        out.broken("sovereignty", (*key, what), "the API may not see this data", needed, had)
    _api_promises(offer, request_class, out)


def _api_promises(offer: ApiOffer, request_class: RequestClass, out: Findings) -> None:
    """What is known of an API must keep the promises; unknown figures are a risk, not a violation."""
    key = (request_class.id, offer.id)
    longest = max(request_class.input_tokens + request_class.output_tokens, request_class.max_context_tokens or 0)
    if offer.context_window_tokens is not None and longest > offer.context_window_tokens:
        detail = "the longest request does not fit the API's context window"
        out.broken("api_limits", (*key, "context_window"), detail, longest, offer.context_window_tokens, "tokens")
    for name, limit_s, known_ms in (
        ("ttft", request_class.ttft_limit_s, offer.ttft_p95_ms),
        ("tpot", request_class.tpot_limit_s, offer.tpot_p95_ms),
    ):
        if limit_s is not None and known_ms is not None and known_ms > s_to_ms(limit_s):
            detail = "the API is known to be slower than promised"
            out.broken("api_limits", (*key, name), detail, s_to_ms(limit_s), known_ms, "ms")
