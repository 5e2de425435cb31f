"""Where data may go: the checks of sovereignty and of the provider policy, for pools and APIs alike."""

from __future__ import annotations

from collections.abc import Iterable

from planner.base import Check, CheckKind
from planner.catalog.catalog import Catalog
from planner.spec.types import ProviderPolicy, Sovereignty

OWN = "own"
"""Operator jurisdiction of machines that the user owns: nobody else operates them."""


def place_checks(
    countries: tuple[str, ...] | None,
    operator_jurisdiction: str | None,
    certifications: Iterable[str],
    sovereignty: Sovereignty,
    catalog: Catalog,
) -> list[Check]:
    """Every failed sovereignty check of a place; unknown facts fail closed (DESIGN §5.3, FACTS §5).

    `countries` are all countries where data may be processed there (None: unknown). Machines of one's own
    (`operator_jurisdiction` = "own") are under no foreign operator and need no provider's certificate.
    """
    failed: list[Check] = []
    if sovereignty.countries is not None:
        allowed = catalog.countries(sovereignty.countries)
        wanted = ", ".join(sovereignty.countries)
        if countries is None:
            failed.append(_policy("country", wanted, "unknown", "where this runs is not known, so it is refused"))
        elif outside := sorted(set(countries) - allowed):
            failed.append(_policy("country", wanted, ", ".join(outside), "data would be processed elsewhere"))
    if operator_jurisdiction == OWN:
        return failed
    if sovereignty.operator_jurisdictions is not None:
        allowed = catalog.countries(sovereignty.operator_jurisdictions)
        wanted = ", ".join(sovereignty.operator_jurisdictions)
        if operator_jurisdiction is None:
            failed.append(
                _policy("operator_jurisdiction", wanted, "unknown", "whose law the operator is under is unknown")
            )
        elif operator_jurisdiction not in allowed:
            failed.append(
                _policy("operator_jurisdiction", wanted, operator_jurisdiction, "the operator is under another law")
            )
    held = {c.lower() for c in certifications}
    if missing := sorted(c for c in sovereignty.certifications if c.lower() not in held):
        had = ", ".join(sorted(held)) or "none known"
        failed.append(_policy("certifications", ", ".join(missing), had, "a required certification is not known"))
    return failed


def provider_checks(provider: str, policy: ProviderPolicy, catalog: Catalog) -> list[Check]:
    """Failed checks of `policy.providers`."""
    if (
        policy.allow is None
        and provider not in policy.deny
        and any(p.id == provider and p.opt_in for p in catalog.providers)
    ):
        detail = "hardware to buy is planned with only where policy.providers.allow names its provider"
        return [_policy("provider", f"{provider} in policy.providers.allow", "not named", detail)]
    if provider in policy.deny:
        return [_policy("provider", f"not {provider}", provider, "policy.providers.deny names it")]
    if policy.allow is not None and provider not in policy.allow:
        return [_policy("provider", ", ".join(policy.allow), provider, "policy.providers.allow does not name it")]
    return []


def jurisdiction_class(country: str | None, operator_jurisdiction: str | None, catalog: Catalog) -> str:
    """Coarse place that reviewers tell apart: `EU operated by EU`, `EU operated by US`, `CH operated by CH`, …"""
    eu = catalog.countries(("EU",))

    def coarse(code: str | None) -> str:
        if code is None:
            return "unknown"
        return "EU" if code in eu else code

    return f"{coarse(country)} operated by {coarse(operator_jurisdiction)}"


def _policy(check: str, needed: str, had: str, detail: str) -> Check:
    return Check(check=check, kind=CheckKind.POLICY, needed=needed, had=had, detail=detail)
