"""Which APIs may serve which request classes, and at what price per request."""

from __future__ import annotations

from planner.base import Check, CheckKind, Confidence, PurchaseOption
from planner.candidates.places import place_checks, provider_checks
from planner.candidates.types import ApiCandidate, Rejected
from planner.catalog.catalog import Catalog
from planner.catalog.types import ApiOffer
from planner.demand.types import RequestClass, Service
from planner.spec.types import Policy
from planner.units import MILLION, s_to_ms


def usd_per_request(offer: ApiOffer, input_tokens: float, cached_input_tokens: float, output_tokens: float) -> float:
    """Price of one request [USD] at the context tier of its input; cached tokens at their own price where listed."""
    input_price, output_price = offer.input_usd_per_mtok, offer.output_usd_per_mtok
    cached_price = offer.cached_input_usd_per_mtok
    for above, tier_input, tier_output in offer.context_tiers:
        if input_tokens > above:
            if cached_price is not None and input_price > 0:
                cached_price *= tier_input / input_price
            input_price, output_price = tier_input, tier_output
    if cached_price is None:
        cached_price = input_price
    fresh = input_tokens - cached_input_tokens
    return (fresh * input_price + cached_input_tokens * cached_price + output_tokens * output_price) / MILLION


def api_checks(offer: ApiOffer, cls: RequestClass, service: Service, policy: Policy, catalog: Catalog) -> list[Check]:
    """Every failed check of an API offer for a request class."""
    failed = provider_checks(offer.provider, policy.providers, catalog) + _superseded(offer, catalog)
    if PurchaseOption.API not in service.options:
        options = ", ".join(o.value for o in service.options)
        detail = "purchase.options leaves APIs out"
        failed.append(Check(check="option", kind=CheckKind.POLICY, needed=options, had="api", detail=detail))
    failed += place_checks(
        offer.countries, offer.operator_jurisdiction, offer.certifications, service.sovereignty, catalog
    )
    longest = max(cls.input_tokens + cls.output_tokens, cls.max_context_tokens or 0)
    if offer.context_window_tokens is not None and longest > offer.context_window_tokens:
        failed.append(
            Check(
                check="context_window",
                kind=CheckKind.PHYSICAL,
                needed=longest,
                had=offer.context_window_tokens,
                unit="tokens",
                detail="the longest request does not fit the API's context window",
            )
        )
    for name, limit_s, known_ms in (
        ("ttft", cls.ttft_limit_s, offer.ttft_p95_ms),
        ("tpot", cls.tpot_limit_s, offer.tpot_p95_ms),
    ):
        if limit_s is not None and known_ms is not None and known_ms > s_to_ms(limit_s):
            detail = f"the API's {name.upper()} is known to be slower than promised"
            needed = s_to_ms(limit_s)
            failed.append(Check(check=name, kind=CheckKind.SLO, needed=needed, had=known_ms, unit="ms", detail=detail))
    return failed


def _superseded(offer: ApiOffer, catalog: Catalog) -> list[Check]:
    """A seed article's price gives way to a current one of the same provider and model, as for machines."""
    if offer.confidence is not Confidence.SEED:
        return []
    for other in catalog.api_offers(offer.model):
        if (other.provider, other.model) == (offer.provider, offer.model) and other.confidence is not Confidence.SEED:
            detail = "the seed article's price gives way to a current one of the same provider"
            return [Check(check="superseded", kind=CheckKind.POLICY, needed=other.id, had=offer.source, detail=detail)]
    return []


def build_apis(service: Service, policy: Policy, catalog: Catalog) -> tuple[list[ApiCandidate], list[Rejected]]:
    """API candidates of a service, and the offers refused per request class."""
    found: list[ApiCandidate] = []
    rejected: list[Rejected] = []
    for cls in service.classes:
        offers = {o.id: o for name in cls.api_models for o in catalog.api_offers(name)}
        for _, offer in sorted(offers.items()):
            failed = api_checks(offer, cls, service, policy, catalog)
            if failed:
                rejected.append(Rejected(what=f"api {offer.id} for {cls.id}", service=service.id, checks=tuple(failed)))
                continue
            price = usd_per_request(offer, cls.input_tokens, cls.cached_input_tokens, cls.output_tokens)
            found.append(
                ApiCandidate(
                    service=service.id,
                    request_class=cls.id,
                    api=offer.id,
                    provider=offer.provider,
                    region=offer.region,
                    usd_per_request=price,
                    tokens_per_request=cls.input_tokens + cls.output_tokens,
                    max_req_per_s=offer.max_req_per_s,
                    max_tok_per_min=offer.max_tok_per_min,
                    countries=offer.countries,
                    operator_jurisdiction=offer.operator_jurisdiction,
                    source=offer.source,
                    as_of=offer.as_of,
                    confidence=offer.confidence,
                )
            )
    return found, rejected
