"""From times to the linear capacity rows of DESIGN §4, for one configuration: Σ_r x_r · use_r ≤ n.

tpot          use_r = 1/λ*_r                 λ* the largest rate of class r alone inside the operating TPOT
ttft          use_r = S_r/(1 − k·c/T)        k = −ln(1−q), c = max_r S_r/2, T = min_r(TTFT − S − iteration − rtt)
max_num_seqs  use_r = res_r/seats            res_r = prefill beside the running batch + out·TPOT
kv_cache      use_r = res_r·bytes_r/pool     bytes_r = (in + out/2)·KV bytes + fixed bytes
prefill       use_r = S_r                    beside a promised TPOT, where no first token is promised
utilization   use_r = time_r/target          where no latency row carries the work
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.base import Check, CheckKind
from planner.performance.types import CapacityRow, RequestLoad
from planner.units import s_to_ms

DEFAULT_QUANTILE = 0.95


@dataclass(frozen=True, slots=True)
class Times:
    """Predicted or measured times of one configuration, the chosen quantile inside; lists by class.

    A list entry is meaningless for classes that are not served.
    """

    idle_s: Sequence[float]
    """a: iteration at batch 1 and the class's mean context."""
    prefill_s: Sequence[float]
    """S: replica time of a prefill."""
    first_token_s: Sequence[float]
    """Latency of a prefill alone on the replica."""
    chunk_share: Sequence[float]
    """Iterations of the token budget that a prompt takes: uncached tokens ÷ budget."""
    tpot_s: float | None
    """Operating TPOT: the tightest promise, or less where seats or cache keep every class below it; None: none."""
    rate_at_tpot: Sequence[float]
    """λ* inside the operating TPOT (0 where there is none)."""
    tpot_alone_s: Sequence[float]
    """Operating TPOT of the class served alone, within its own promise (0 where there is none)."""
    rate_alone: Sequence[float]
    """λ* inside that."""
    rate_at_full_load: Sequence[float]
    """Throughput alone at the largest batch, req/s."""
    tpot_at_full_load_s: Sequence[float]
    seats: float
    """Requests that the replica decodes at once."""
    pool_share: Sequence[float]
    """Share of the replica's KV pool that one request holds on average."""


def tail_factor(load: RequestLoad) -> float:
    """k = −ln(1 − quantile): 3.0 for a p95 (M/G/1 waiting tail)."""
    return -math.log(1.0 - (load.ttft_quantile or DEFAULT_QUANTILE))


def tightest_tpot(loads: Sequence[RequestLoad], served: Sequence[int]) -> float | None:
    """The smallest TPOT promise of the served classes; None where none is promised."""
    return min((t for r in served if (t := loads[r].tpot_limit_s) is not None), default=None)


def iteration_s(times: Times, served: Sequence[int], tpot: float | None) -> float:
    """One iteration at the operating point: its TPOT, else the fullest batch of any served class."""
    return tpot if tpot is not None else max((times.tpot_at_full_load_s[r] for r in served), default=0.0)


def busy_prefill_s(times: Times, r: int, iteration: float) -> float:
    """S while decoding: a prompt's share of the token budget also carries the running batch's iteration."""
    return times.prefill_s[r] + times.chunk_share[r] * iteration


def ttft_slack(times: Times, loads: Sequence[RequestLoad], r: int, iteration: float) -> float:
    """T of a promised class: what its TTFT limit leaves for waiting."""
    load = loads[r]
    alone = times.first_token_s[r] + times.chunk_share[r] * iteration
    return (load.ttft_limit_s or 0.0) - alone - iteration - load.rtt_s


def ttft_share(times: Times, loads: Sequence[RequestLoad], served: Sequence[int], iteration: float) -> float:
    """min_r (1 − k·c/T) over served classes with a TTFT promise; ≤ 0 where one cannot be kept in this mix."""
    c = max(busy_prefill_s(times, r, iteration) for r in served) / 2.0
    shares = [1.0]
    for r in served:
        if loads[r].ttft_limit_s is not None:
            slack = ttft_slack(times, loads, r, iteration)
            shares.append(1.0 - tail_factor(loads[r]) * c / slack if slack > 0 else -math.inf)
    return min(shares)


def ttft_check(times: Times, loads: Sequence[RequestLoad], r: int, c: float, iteration: float) -> Check:
    """The refusal of a class whose TTFT promise cannot be kept; `had` is the smallest limit that could be."""
    load = loads[r]
    alone = times.first_token_s[r] + times.chunk_share[r] * iteration
    had = alone + iteration + load.rtt_s + tail_factor(load) * c
    return Check(
        check="ttft",
        kind=CheckKind.SLO,
        needed=s_to_ms(load.ttft_limit_s or 0.0),
        had=s_to_ms(had),
        unit="ms",
        detail=f"{load.id}: prefill of {s_to_ms(alone):.0f} ms, one iteration of {s_to_ms(iteration):.1f} ms, round "
        f"trip of {s_to_ms(load.rtt_s):.0f} ms and the wait at that percentile exceed the promised first token",
    )


def tpot_check(load: RequestLoad, idle_s: float, limit_s: float) -> Check:
    """The refusal of a class whose TPOT promise an idle replica already misses."""
    return Check(
        check="tpot",
        kind=CheckKind.SLO,
        needed=s_to_ms(limit_s),
        had=s_to_ms(idle_s),
        unit="ms",
        detail=f"{load.id}: an idle replica takes {s_to_ms(idle_s):.1f} ms/token, promised are {s_to_ms(limit_s):g}",
    )


def keep_ttft(times: Times, loads: Sequence[RequestLoad], served: Sequence[int]) -> tuple[list[int], dict[int, Check]]:
    """Classes whose TTFT promises can be kept together, and the refusals of the others.

    While a promise is broken, either the classes that miss it leave or the one with the longest prefill, whichever
    keeps more classes (the missed ones on a tie).
    """
    keep = list(served)
    refused: dict[int, Check] = {}
    while keep:
        iteration = iteration_s(times, keep, times.tpot_s)
        if ttft_share(times, loads, keep, iteration) > 0:
            break
        missed = [r for r in keep if _misses(times, loads, keep, r, iteration)]
        longest = max(keep, key=lambda r: times.prefill_s[r])
        others = [r for r in keep if r != longest]
        drop_longest = len(missed) > 1 and longest not in missed and ttft_share(times, loads, others, iteration) > 0
        if drop_longest:
            refused[longest] = _too_long(times, loads, longest, missed, iteration)
        else:
            c = max(busy_prefill_s(times, r, iteration) for r in keep) / 2.0
            refused |= {r: ttft_check(times, loads, r, c, iteration) for r in missed}
        keep = [r for r in keep if r not in refused]
    return keep, refused


def _misses(times: Times, loads: Sequence[RequestLoad], mix: Sequence[int], r: int, iteration: float) -> bool:
    """Whether class r misses its TTFT beside the classes of the mix."""
    if loads[r].ttft_limit_s is None:
        return False
    c = max(busy_prefill_s(times, m, iteration) for m in mix) / 2.0
    slack = ttft_slack(times, loads, r, iteration)
    return slack <= 0 or 1.0 - tail_factor(loads[r]) * c / slack <= 0


def _too_long(times: Times, loads: Sequence[RequestLoad], r: int, missed: Sequence[int], iteration: float) -> Check:
    """The refusal of a class whose prefill blocks the others' first tokens."""
    allowed = min(2.0 * ttft_slack(times, loads, m, iteration) / tail_factor(loads[m]) for m in missed)
    return Check(
        check="ttft",
        kind=CheckKind.SLO,
        needed=s_to_ms(max(allowed, 0.0)),
        had=s_to_ms(busy_prefill_s(times, r, iteration)),
        unit="ms of prefill",
        detail=f"{loads[r].id}: its prefill would block {', '.join(loads[m].id for m in missed)} beyond their TTFT",
    )


def latency_rows(
    times: Times,
    loads: Sequence[RequestLoad],
    served: Sequence[int],
    rates: Sequence[float],
    tpot: float | None,
    target: float,
) -> tuple[CapacityRow, ...]:
    """Rows of one replica for the served classes (others use 0).

    `rates`: λ* inside the operating `tpot` of these classes; `target` is the utilisation cap, applied only to a row
    that no latency promise carries.
    """
    iteration = iteration_s(times, served, tpot)
    rows: list[CapacityRow] = []
    if tpot is None:
        rows.append(_row("utilization", loads, served, lambda r: 1.0 / (times.rate_at_full_load[r] * target)))
    else:
        rows.append(_row("tpot", loads, served, lambda r: 1.0 / rates[r]))
    if any(loads[r].ttft_limit_s is not None for r in served):
        rows.append(ttft_row(times, loads, served, iteration))
    elif tpot is not None:
        rows.append(_row("prefill", loads, served, lambda r: busy_prefill_s(times, r, iteration)))
    if tpot is not None:
        stay = [residency_s(times, loads, r, tpot) for r in range(len(loads))]
        rows.append(_row("max_num_seqs", loads, served, lambda r: stay[r] / times.seats))
        rows.append(_row("kv_cache", loads, served, lambda r: stay[r] * times.pool_share[r]))
    return tuple(x for x in rows if any(x.use))


def ttft_row(times: Times, loads: Sequence[RequestLoad], served: Sequence[int], iteration: float) -> CapacityRow:
    """The TTFT row of the served classes, whose promises can be kept together."""
    share = ttft_share(times, loads, served, iteration)
    return _row("ttft", loads, served, lambda r: busy_prefill_s(times, r, iteration) / share)


def residency_s(times: Times, loads: Sequence[RequestLoad], r: int, tpot: float) -> float:
    """How long a request holds its seat and cache: its prefill beside the running batch, then out·TPOT.

    A request that still waits for its prefill holds neither, so a looser first token costs no capacity here.
    """
    return times.first_token_s[r] + (times.chunk_share[r] + loads[r].output_tokens) * tpot


def _row(name: str, loads: Sequence[RequestLoad], served: Sequence[int], use: Callable[[int], float]) -> CapacityRow:
    inside = set(served)
    return CapacityRow(name=name, use=tuple(use(r) if r in inside else 0.0 for r in range(len(loads))))
