"""Latency and utilisation of a deployment at given rates: the formulas of DESIGN §4 read backwards."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base import Frozen
from planner.performance.coefficients import tail_factor, tightest_tpot
from planner.performance.types import ReplicaCapability, RequestLoad
from planner.units import s_to_ms


class LoadPrediction(Frozen):
    """What a class sees at given rates, and how full the replicas are."""

    ttft_ms: tuple[float | None, ...]
    """[class] at the promised quantile (p95 where none is promised); None: not served, not known, or overloaded."""
    tpot_ms: float | None
    """Mean gap at these rates, which at the sizing rate stands for the percentile (FACTS §2); None: not known."""
    utilization: float
    """The fullest row: Σ x·use / n."""
    binding_row: str | None
    """Name of that row."""


def predict_at(
    capability: ReplicaCapability, loads: Sequence[RequestLoad], rates: Sequence[float], replicas: float
) -> LoadPrediction:
    """TTFT, TPOT and utilisation of `replicas` replicas that share `rates` req/s by class.

        TPOT = a/(1 − ρ)      TTFT = S + iteration + round trip + k·c/(1 − Σ x·S/n)

    Times hold the chosen quantile of the estimate. Without replicas everything is unknown and utilisation is 0.
    """
    if replicas <= 0:
        return LoadPrediction(ttft_ms=tuple(None for _ in loads), tpot_ms=None, utilization=0.0, binding_row=None)
    shares = {row.name: sum(x * u for x, u in zip(rates, row.use, strict=True)) / replicas for row in capability.rows}
    binding = max(shares, key=lambda name: shares[name], default=None)
    tpot = capability.tpot_s(tuple(rates), replicas)
    finite = tpot is not None and tpot != float("inf")
    return LoadPrediction(
        ttft_ms=tuple(_ttft_ms(capability, loads, rates, replicas, r) for r in range(len(loads))),
        tpot_ms=s_to_ms(tpot) if tpot is not None and finite else None,
        utilization=shares[binding] if binding is not None else 0.0,
        binding_row=binding,
    )


def _ttft_ms(
    capability: ReplicaCapability, loads: Sequence[RequestLoad], rates: Sequence[float], replicas: float, r: int
) -> float | None:
    """TTFT of class r; c comes from the classes that are sent here."""
    prefill = capability.prefill_s
    busy = sum(x * s for x, s in zip(rates, prefill, strict=True)) / replicas
    if not capability.served[r] or prefill[r] <= 0 or busy >= 1:
        return None
    here = [i for i in range(len(loads)) if capability.served[i] and (rates[i] > 0 or i == r)]
    iteration = capability.tpot_s(tuple(rates), replicas)
    if iteration is None:
        iteration = tightest_tpot(loads, here) or 0.0
    if iteration == float("inf"):
        return None
    wait = tail_factor(loads[r]) * max(prefill[i] for i in here) / 2.0 / (1.0 - busy)
    return s_to_ms(prefill[r] + iteration + loads[r].rtt_s + wait)
