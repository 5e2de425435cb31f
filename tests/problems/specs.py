"""Small specs as mappings: one workload, and a market cut down to what is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.catalog.catalog import Catalog


def spec(model: str, *, policy: dict[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    """A steady workload of 500 tokens in and 100 out; further fields are those of the workload.

    Without `api_equivalents` no API may serve it. `traffic` as a number is the mean rate [req/s].
    """
    rate = workload.pop("traffic", 0.05)
    traffic = rate if isinstance(rate, dict) else {"mean_req_per_s": rate, "input_tokens": 500, "output_tokens": 100}
    base = {"name": "seed", "model": model, "max_context_tokens": 4096, "traffic": traffic}
    return {
        "schema_version": 1, "name": "seed-system", "workloads": [{**base, **workload}],
        **({"policy": policy} if policy else {}),
    }  # fmt: skip


def only(
    spec_: dict[str, Any], offers: Sequence[dict[str, Any]], apis: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The spec with these offers and APIs and no others; hardware that is bought is allowed by name."""
    providers = sorted({o["provider"] for o in offers} | {a["provider"] for a in apis})
    policy = {**spec_.get("policy", {}), "providers": {"allow": providers}}
    overlay = {"replace": ["offers", "apis"], "offers": list(offers), "apis": list(apis)}
    return {**spec_, "policy": policy, "catalog": {"overlays": [overlay]}}


def shipped_offers(catalog: Catalog, accelerator: str, provider: str | None = None) -> list[dict[str, Any]]:
    """Every current offer of the shipped catalog for an accelerator, as overlay rows."""
    wanted = catalog.accelerator(accelerator).id
    machines = {(t.provider, t.name) for t in catalog.instance_types if t.accelerator == wanted}
    return [
        {"provider": o.provider, "region": o.region, "instance_type": o.instance_type, "option": o.option.value,
         "price_usd_per_hour": o.price_usd_per_hour}
        for o in catalog.offers
        if o.usable and (o.provider, o.instance_type) in machines and provider in (None, o.provider)
    ]  # fmt: skip


def machine(accelerator: str, accelerators: int, network_gb_per_s: float = 0.0, **prices: float) -> dict[str, Any]:
    """One machine at a lab; prices in USD per accelerator-hour, on demand at 3 unless given."""
    return {
        "provider": "lab", "operator_jurisdiction": "US", "region": "us-1", "country": "US", "accelerator": accelerator,
        "instance_type": f"{accelerators}x", "accelerators": accelerators, "network_gb_per_s": network_gb_per_s,
        "prices_per_accelerator": prices or {"on_demand": 3.0},
    }  # fmt: skip
