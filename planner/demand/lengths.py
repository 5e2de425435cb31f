"""How many requests a workload makes and how long they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.spec.types import TokenDistribution, TokenVolume, TraceSummary, Traffic, Workload
from planner.units import DAYS_PER_MONTH, SECONDS_PER_MONTH

DEFAULT_OUTPUT_TOKENS = 300.0
"""Generated tokens of a request where only volumes are given; the prompt keeps the ratio of the volumes."""
WEIGHTS = (0.6, 0.3, 0.1)
"""Shares of the classes that a length distribution is split into, shortest first."""
STEEP_WEIGHTS = (0.6, 0.35, 0.05)
"""The same where a tenth of the requests at the p95 would outweigh the mean."""
STEEP_RATIO = 9.0
"""p95 ÷ mean from which that is so."""
_Z = (0.2533471031357997, 1.2815515655446004)
"""Standard normal quantiles at 0.6 and 0.9."""
_Z95 = 1.6448536269514722
_LARGEST_LOG_NORMAL = math.exp(_Z95**2 / 2.0)
"""p95 ÷ mean of a log-normal is at most e^(z²/2) = 3.87, reached at σ = z."""


@dataclass(frozen=True, slots=True)
class ClassLengths:
    """One class of a workload: `share` of its requests have these lengths (tokens)."""

    name: str
    share: float
    input_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True)
class Requests:
    """A workload's classes (shares add up to 1) and how often they come: exactly one rate is given."""

    classes: tuple[ClassLengths, ...]
    mean_req_per_s: float | None
    peak_req_per_s: float | None
    """Mean rate of the busiest hour."""
    assumptions: tuple[str, ...] = ()


def requests_of(workload: Workload) -> Requests:
    """Rates and classes of a workload.

    Volumes in tokens are kept exactly: the rate follows from the input volume, and the output lengths, which agree with
    it within the tolerance that the spec checks, are scaled to the output volume.
    """
    traffic = workload.traffic
    if traffic.trace is not None:
        return _of_trace(workload, traffic, traffic.trace)
    volume = _volume_per_s(traffic)
    if volume is None:
        mean = traffic.mean_req_per_s
        if traffic.requests_per_month is not None:
            mean = traffic.requests_per_month / SECONDS_PER_MONTH
        return Requests(_classes(workload, traffic), mean, traffic.peak_req_per_s)
    filled, assumptions = _with_lengths(workload.name, traffic, volume)
    classes = _classes(workload, filled)
    rate = volume.input / math.fsum(c.share * c.input_tokens for c in classes)
    scale = volume.output / (rate * math.fsum(c.share * c.output_tokens for c in classes))
    return Requests(tuple(replace(c, output_tokens=c.output_tokens * scale) for c in classes), rate, None, assumptions)


def _of_trace(workload: Workload, traffic: Traffic, trace: TraceSummary) -> Requests:
    """Rate and lengths of a trace; lengths that the file gives win. Less than a day is taken for the busiest hour."""
    found = {
        key: getattr(trace, key)
        for key in ("input_tokens", "output_tokens")
        if traffic.classes is None and getattr(traffic, key) is None
    }
    what = f"{trace.requests:,} requests over {trace.span_h:.4g} h, dispersion at 10 s {trace.dispersion_10s:.3g}"
    lines = [f"{workload.name}: {trace.file} ({trace.sha256[:12]}): {what}"]
    classes = _classes(workload, traffic.model_copy(update=found))
    if trace.weights:
        return Requests(classes, trace.mean_req_per_s, None, tuple(lines))
    lines.append(f"{workload.name}: less than a day of requests, taken for the busiest hour of the profile")
    return Requests(classes, None, trace.mean_req_per_s, tuple(lines))


def _volume_per_s(traffic: Traffic) -> TokenVolume | None:
    """Tokens per second, where the volume is given in tokens."""
    if traffic.tokens_per_month is not None:
        volume, per = traffic.tokens_per_month, SECONDS_PER_MONTH
    elif traffic.tokens_per_day is not None:
        volume, per = traffic.tokens_per_day, SECONDS_PER_MONTH / DAYS_PER_MONTH
    else:
        return None
    return TokenVolume(input=volume.input / per, output=volume.output / per)


def _mean(value: float | TokenDistribution | None) -> float | None:
    return value.mean if isinstance(value, TokenDistribution) else value


def _with_lengths(name: str, traffic: Traffic, volume: TokenVolume) -> tuple[Traffic, tuple[str, ...]]:
    """The traffic with both lengths, derived from the volume's ratio where they are not given, and what was assumed."""
    inputs, outputs = _mean(traffic.input_tokens), _mean(traffic.output_tokens)
    ratio = volume.input / volume.output
    if traffic.classes or (inputs is not None and outputs is not None):
        return traffic, ()
    if inputs is not None:
        return traffic.model_copy(update={"output_tokens": inputs / ratio}), ()
    if outputs is not None:
        return traffic.model_copy(update={"input_tokens": outputs * ratio}), ()
    outputs = max(DEFAULT_OUTPUT_TOKENS, 1.0 / ratio)  # at least one token of prompt
    line = (
        f"{name}: no lengths given, so requests of {outputs * ratio:.6g} input and {outputs:.6g} output tokens, "
        "the ratio of the volumes"
    )
    return traffic.model_copy(update={"input_tokens": outputs * ratio, "output_tokens": outputs}), (line,)


def _classes(workload: Workload, traffic: Traffic) -> tuple[ClassLengths, ...]:
    """The classes of a workload whose traffic has lengths; shares add up to 1."""
    if traffic.classes:
        total = math.fsum(c.share for c in traffic.classes)
        return tuple(
            ClassLengths(c.name, c.share / total, c.input_tokens, c.output_tokens)
            for c in sorted(traffic.classes, key=lambda c: c.name)
        )
    sides = (traffic.input_tokens, traffic.output_tokens)
    weights = STEEP_WEIGHTS if any(_is_steep(side) for side in sides) else WEIGHTS
    columns = [_levels(side, weights) for side in sides]
    limit = workload.max_context_tokens
    if limit is not None and columns[0][2] + columns[1][2] > limit:
        columns = [_two_levels(side, weights) for side in sides]  # the p95 is admitted, the mean beyond it may not be
    return _named(weights, list(zip(*columns, strict=True)))


def _named(weights: tuple[float, ...], lengths: list[tuple[float, ...]]) -> tuple[ClassLengths, ...]:
    """Classes for the length pairs (input, output), shortest first; equal neighbours are one class."""
    merged: list[tuple[float, tuple[float, ...]]] = []
    for weight, pair in zip(weights, lengths, strict=True):
        if merged and merged[-1][1] == pair:
            weight += merged.pop()[0]
        merged.append((weight, pair))
    names = {1: ("all",), 2: ("short", "long"), 3: ("short", "middle", "long")}[len(merged)]
    total = math.fsum(w for w, _ in merged)
    return tuple(
        ClassLengths(name, weight / total, pair[0], pair[1]) for name, (weight, pair) in zip(names, merged, strict=True)
    )


def _is_steep(side: float | TokenDistribution | None) -> bool:
    return isinstance(side, TokenDistribution) and side.p95 is not None and side.p95 > STEEP_RATIO * side.mean


def _levels(side: float | TokenDistribution | None, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Lengths of the three classes, shortest first; their weighted mean is the mean.

    Up to a p95 of 3.87 × the mean: the conditional means of the log-normal with that mean and p95 over its shares,
    m·(Φ(z₊ − σ) − Φ(z₋ − σ))/f with σ = z₉₅ − √(z₉₅² − 2 ln(p95/m)). Beyond it no log-normal has that p95: the longest
    class is at the p95, which is the median of the longest tenth, and the others share the rest.
    """
    if not isinstance(side, TokenDistribution) or side.p95 is None:
        value = side.mean if isinstance(side, TokenDistribution) else float(side or 0.0)
        return (value,) * 3
    ratio = side.p95 / side.mean
    if ratio > _LARGEST_LOG_NORMAL or weights is not WEIGHTS:
        return _two_levels(side, weights)
    sigma = _Z95 - math.sqrt(max(0.0, _Z95**2 - 2.0 * math.log(max(1.0, ratio))))
    cuts = (0.0, _phi(_Z[0] - sigma), _phi(_Z[1] - sigma), 1.0)
    levels = tuple(side.mean * (cuts[k + 1] - cuts[k]) / weights[k] for k in range(3))
    return levels if sigma > 1e-9 else (side.mean,) * 3


def _two_levels(side: float | TokenDistribution | None, weights: tuple[float, ...]) -> tuple[float, ...]:
    """The longest class at the p95, the others share what keeps the mean."""
    if not isinstance(side, TokenDistribution) or side.p95 is None:
        return _levels(side, weights)
    rest = (side.mean - weights[2] * side.p95) / (1.0 - weights[2])
    return rest, rest, side.p95


def _phi(z: float) -> float:
    """Standard normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
