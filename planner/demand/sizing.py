"""The rate that capacity is sized for, and the bands that lead up to it.

The sizing rate is the smallest rate such that the SLO's percentile of *requests* (not of minutes) arrive in minutes no
busier (docs/design.md). A request sees its own minute's count, which is size-biased: for Poisson arrivals it is
1 + Poisson(m), for the negative binomial with r and p it is 1 + NB(r + 1, p) (m = requests of a mean minute, D = index
of dispersion, r = m/(D − 1), p = 1/D; mean m, variance m·D).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SECONDS_PER_MINUTE = 60.0
POISSON_BELOW = 1.0 + 1e-6
"""Index of dispersion up to which arrivals are taken as Poisson."""
NORMAL_ABOVE = 1e9
"""Requests per minute from which the normal approximation is exact to more digits than the rate is known."""


def sizing_rates(mean_req_per_s: Floats, dispersion: float, percentile: float) -> Floats:
    """Sizing rate for each mean rate (req/s); 0 stays 0, never below the mean.

    `dispersion` is the index of dispersion of the counts (≥ 1, 1 = Poisson), `percentile` in (0, 1).
    Requests come whole, so the quantile is one of counts: at a request a minute 4 of them, 4/60 req/s.
    """
    rates, where = np.unique(np.asarray(mean_req_per_s, dtype=np.float64), return_inverse=True)
    found = np.zeros_like(rates)
    positive = rates > 0.0
    minute = rates[positive] * SECONDS_PER_MINUTE
    counts = 1.0 + np.ceil(np.maximum(_count_quantile(minute, dispersion, percentile) - 1e-9, 0.0))
    found[positive] = np.maximum(counts / SECONDS_PER_MINUTE, rates[positive])
    return found[where].reshape(np.shape(mean_req_per_s))


def _count_quantile(mean: Floats, dispersion: float, percentile: float) -> Floats:
    """Quantile (≥ 0, continuous) of Poisson(mean), or of NB(mean/(D − 1) + 1, 1/D)."""
    from scipy import special

    poisson = dispersion <= POISSON_BELOW
    shift = 0.0 if poisson else dispersion - 1.0
    centre, spread = mean + shift, np.sqrt((mean + shift) * (1.0 if poisson else dispersion))
    normal = centre + float(special.ndtri(percentile)) * spread
    small = mean < NORMAL_ABOVE
    exact = np.maximum(normal, 0.0)
    if np.any(small):
        m = mean[small]
        low, high = np.zeros_like(m), (centre + 12.0 * spread + 60.0 * max(1.0, dispersion))[small]
        for _ in range(80):
            middle = 0.5 * (low + high)
            if poisson:
                below = special.gammaincc(middle + 1.0, m) < percentile
            else:
                below = special.betainc(m / shift + 1.0, middle + 1.0, 1.0 / dispersion) < percentile
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        exact[small] = high
    return exact


@dataclass(frozen=True, slots=True)
class Bands:
    """Rate levels inside a slice, quietest first, as shares of time.

    The top band is at the sizing rate, the middle one `middle_level` of the way there from the mean, and the lowest
    takes what keeps the mean. A single band is at the mean.
    """

    weights: tuple[float, ...]
    middle_level: float = 0.0

    def rates(self, mean: float, sizing: float) -> tuple[float, ...]:
        """Rate of each band: not decreasing, all ≥ 0, Σ weight·rate = mean, the last is `sizing`."""
        if len(self.weights) == 1:
            return (sizing,)
        low_share, middle_share, top_share = self.weights
        middle = mean + (sizing - mean) * self.middle_level
        low = (mean - middle_share * middle - top_share * sizing) / low_share
        return (min(middle, max(0.0, low)), middle, sizing)


FLAT = Bands((1.0,))
NORMAL = Bands((0.6, 0.3, 0.1), 0.702814005214579 / 1.7549833193248683)
"""Conditional means of a standard normal over its middle 30 % and its top 10 %, relative to the top."""
LARGEST_RATIO = 3.7
"""Sizing ÷ mean up to which NORMAL's lowest rate is not negative (it would be at 3.73)."""


def bands_for(means: Sequence[float], sizings: Sequence[float]) -> Bands:
    """Bands of a slice, common to all classes of a service (`means`, `sizings` in req/s: one per class).

    One band where nothing varies. Where some class peaks so high that a tenth of the time at its sizing rate would use
    up its volume, the top band is shortened to half its volume and the middle one stays at the mean.
    """
    ratios = [q / m for m, q in zip(means, sizings, strict=True) if m > 0.0 and q > m]
    if not ratios:
        return FLAT
    if max(ratios) <= LARGEST_RATIO:
        return NORMAL
    top = min(NORMAL.weights[2], 0.5 / max(ratios))
    return Bands((1.0 - NORMAL.weights[1] - top, NORMAL.weights[1], top))
