"""Margins: one product whose factors are printed (DESIGN §4)."""

from __future__ import annotations

import math

from planner.explain.types import HeadroomProduct
from planner.spec.types import Spec
from planner.verify.types import Verification

FORECAST_MARGIN = "forecast_margin"


def headroom_products(spec: Spec, verification: Verification) -> tuple[HeadroomProduct, ...]:
    """The factors of every deployment that was assessed, equal ones once, in plan order.

    The forecast margin m multiplies demand; as a factor on capacity it is 1/m. The others are the capability's own
    (`estimate_quantile` 1/time factor, `target_utilization`).
    """
    rule = spec.policy.headroom
    stated = {
        FORECAST_MARGIN: rule.forecast_margin,
        "estimate_quantile": rule.estimate_quantile,
        "target_utilization": rule.target_utilization,
    }
    margin = 1.0 / rule.forecast_margin
    found: dict[tuple[str, str, str], HeadroomProduct] = {}
    for d in verification.deliveries:
        factors = {FORECAST_MARGIN: margin}
        for f in d.capability.headroom:
            if f.name == FORECAST_MARGIN:
                continue
            factors[f.name] = f.share
        found.setdefault(
            (d.service, d.config, d.pool),
            HeadroomProduct(
                service=d.service,
                config=d.config,
                pool=d.pool,
                factors=factors,
                product=math.prod(factors.values()),
                stated={name: value for name, value in stated.items() if name in factors},
            ),
        )
    return tuple(found.values())
