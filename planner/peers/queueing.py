"""llm-inferno's queue of one replica: a birth–death process whose service rate depends on how many are served.

An iteration with B requests takes α + B·δ milliseconds, where β is the compute time of a token, γ the time to read one
cached token, and δ the mean work that a request adds to each of its 1 + m iterations (one prefill of n prompt tokens,
m generated tokens):

    w_prefill = (β + γ)·n        w_decode = β·m + γ·m·(n + (m + 1)/2)        δ = (w_prefill + w_decode)/(1 + m)
    τ(B) = (1 + m)·(α + B·δ)     service time of a request        μ(B) = B/τ(B)     requests per millisecond

At most N requests are served and none waits, so p(B) ∝ Π_{b ≤ B} λ/μ(b). With the mean number served X and the mean
service time S = X/throughput: prefill = max(0, α + (X − 1)·δ) + w_prefill, inter-token time = (S − prefill)/m, and the
time to first token is prefill + one inter-token time. A replica's capacity is the throughput at the largest arrival
rate that keeps both promises.

Source: the public descriptions of llm-inferno's queue-analysis and optimizer repositories (Apache-2.0); written anew.
"""

from __future__ import annotations

from dataclasses import dataclass

EDGE = 1e-3
"""Arrival rates are looked for between 0.1 % of μ(1) and 99.9 % of μ(N), as the published analysis does."""
HALVINGS = 60
THROUGHPUT_SAFETY = 0.1
"""Share of the largest rate that stays free where a throughput is promised."""


@dataclass(frozen=True, slots=True)
class ReplicaQueue:
    """One replica: α [ms], β [ms per token], γ [ms per token and cached token], n, m [tokens], N [requests]."""

    alpha_ms: float
    beta_ms: float
    gamma_ms: float
    input_tokens: float
    output_tokens: float
    max_batch: int


@dataclass(frozen=True, slots=True)
class QueueState:
    """Means at one arrival rate: what gets through, the time to first token, the time between tokens."""

    req_per_ms: float
    ttft_ms: float
    itl_ms: float


def added_ms(q: ReplicaQueue) -> float:
    """δ: mean work that a request adds to one of its iterations, in milliseconds."""
    return (_prefill_work_ms(q) + _decode_work_ms(q)) / (1.0 + q.output_tokens)


def _prefill_work_ms(q: ReplicaQueue) -> float:
    return (q.beta_ms + q.gamma_ms) * q.input_tokens


def _decode_work_ms(q: ReplicaQueue) -> float:
    n, m = q.input_tokens, q.output_tokens
    return q.beta_ms * m + q.gamma_ms * m * (n + (m + 1.0) / 2.0)


def service_rates(q: ReplicaQueue) -> list[float]:
    """μ(1) … μ(N), in requests per millisecond."""
    delta = added_ms(q)
    return [b / ((1.0 + q.output_tokens) * (q.alpha_ms + b * delta)) for b in range(1, q.max_batch + 1)]


def queue_state(q: ReplicaQueue, rates: list[float], arrival_req_per_ms: float) -> QueueState:
    """Means at an arrival rate above 0; `rates` are `service_rates(q)`."""
    weights = [1.0]
    for rate in rates:
        weights.append(weights[-1] * arrival_req_per_ms / rate)
        if weights[-1] > 1e250:
            weights = [w / 1e250 for w in weights]
    total = sum(weights)
    served = sum(b * w for b, w in enumerate(weights)) / total
    through = arrival_req_per_ms * (1.0 - weights[-1] / total)
    prefill = max(0.0, q.alpha_ms + (served - 1.0) * added_ms(q)) + _prefill_work_ms(q)
    itl = (served / through - prefill) / q.output_tokens
    return QueueState(through, prefill + itl, itl)


def capacity_req_per_ms(q: ReplicaQueue, ttft_ms: float, itl_ms: float, throughput_promised: bool) -> float | None:
    """Throughput at the largest arrival rate that keeps the promises (0: none); None where no rate keeps them."""
    rates = service_rates(q)
    low, high = rates[0] * EDGE, rates[-1] * (1.0 - EDGE)

    def kept(arrival: float) -> bool:
        state = queue_state(q, rates, arrival)
        return (ttft_ms <= 0 or state.ttft_ms <= ttft_ms) and (itl_ms <= 0 or state.itl_ms <= itl_ms)

    top = high * (1.0 - THROUGHPUT_SAFETY) if throughput_promised else high
    if not kept(low):
        return None
    if kept(top):
        return queue_state(q, rates, top).req_per_ms
    good, bad = low, top
    for _ in range(HALVINGS):
        middle = (good + bad) / 2.0
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return queue_state(q, rates, good).req_per_ms
