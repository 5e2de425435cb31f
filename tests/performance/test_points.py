"""Points under a stated load: what must hold whatever the parameters are."""

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.load import load_catalog
from planner.performance import analytic
from planner.performance.parameters import load_parameters
from planner.performance.points import LoadKind, Loads, PointTimes, predict_points
from planner.performance.rates import Rates, resolve_rates
from planner.predict.configure import Configurator
from planner.predict.types import Place

PLACES = (
    Place("llama-3.1-8b", "L4"),
    Place("qwen3-32b", "H100-SXM", tensor_parallel="2", precision="fp8"),
    Place("deepseek-r1", "B200-SXM", num_gpus="8", tensor_parallel="1", precision="fp4"),
    Place("llama-3.1-70b", "H100-SXM", tensor_parallel="4", pipeline_parallel="2"),
)


@cache
def columns(index: int) -> tuple[analytic.Columns, Rates, float, float]:
    place = Configurator(load_catalog()).configure(PLACES[index])
    rates = resolve_rates([place.setup], load_parameters())
    return analytic.build_columns([place.setup], load_parameters()), rates, place.pool_bytes, place.seats


def times(index: int, kind: LoadKind, **load: float) -> PointTimes:
    one, rates, pool, seats = columns(index)
    values = {"concurrency": np.inf, "rate": np.nan, "step_scale": 1.0, "prefill_scale": 1.0, **load}
    arrays = {k: np.array([[float(v)]]) for k, v in {"seats": seats, "pool": pool, **values}.items()}
    return predict_points(one, rates, np.array([kind.value]), Loads(**arrays))


def number(array: np.ndarray) -> float:
    return float(array[0, 0])


places = st.integers(0, len(PLACES) - 1)
lengths = {"input": st.integers(1, 20000), "output": st.integers(2, 4000)}


@given(places, st.integers(1, 3000), st.fixed_dictionaries(lengths))
def test_littles_law_holds_in_a_closed_loop(index: int, users: int, length: dict[str, int]) -> None:
    found = times(index, LoadKind.ONLINE, concurrency=users, **length)
    residence = number(found.ttft_s) + (length["output"] - 1) * number(found.tpot_s)
    assert np.isclose(number(found.req_per_s) * residence, users, rtol=1e-6)


@given(places, st.integers(1, 500), st.integers(1, 500), st.fixed_dictionaries(lengths))
def test_more_users_never_wait_less(index: int, users: int, more: int, length: dict[str, int]) -> None:
    few, many = (times(index, LoadKind.ONLINE, concurrency=c, **length) for c in (users, users + more))
    assert number(many.ttft_s) >= number(few.ttft_s) * (1 - 1e-9)
    assert number(many.tpot_s) >= number(few.tpot_s) * (1 - 1e-9)


@given(places, st.floats(1e-4, 1e3), st.fixed_dictionaries(lengths))
def test_a_rate_is_sustained_or_called_too_much(index: int, rate: float, length: dict[str, int]) -> None:
    found = times(index, LoadKind.ONLINE, rate=rate, **length)
    if found.overloaded[0, 0]:
        assert number(found.req_per_s) < rate
        assert np.isnan(found.ttft_s[0, 0])
    else:
        assert np.isclose(number(found.req_per_s), rate)
        more = times(index, LoadKind.ONLINE, rate=rate * 1.5, **length)
        assert more.overloaded[0, 0] or number(more.ttft_s) >= number(found.ttft_s)


@given(places, st.integers(1, 200), st.fixed_dictionaries(lengths))
def test_an_idle_rate_is_one_user(index: int, _: int, length: dict[str, int]) -> None:
    idle = times(index, LoadKind.ONLINE, rate=1e-9, **length)
    alone = times(index, LoadKind.SINGLE_STREAM, **length)
    assert np.isclose(number(idle.tpot_s), number(alone.tpot_s), rtol=1e-3)
    assert np.isclose(number(idle.ttft_s), number(alone.ttft_s), rtol=1e-3)


@given(places, st.integers(1, 300), st.fixed_dictionaries(lengths), st.floats(0.3, 3.0))
def test_a_calibration_scales_every_time(index: int, users: int, length: dict[str, int], scale: float) -> None:
    for kind in (LoadKind.ONLINE, LoadKind.STATIC_BATCH):
        plain = times(index, kind, concurrency=users, **length)
        scaled = times(index, kind, concurrency=users, step_scale=scale, prefill_scale=scale, **length)
        assert np.isclose(number(scaled.tpot_s), number(plain.tpot_s) * scale, rtol=1e-6)
        assert np.isclose(number(scaled.req_per_s), number(plain.req_per_s) / scale, rtol=1e-6)


@given(places, st.integers(1, 300), st.fixed_dictionaries(lengths), st.floats(0.0, 1.0))
def test_a_cached_prefix_never_costs_time(index: int, users: int, length: dict[str, int], share: float) -> None:
    plain = times(index, LoadKind.ONLINE, concurrency=users, **length)
    warm = times(index, LoadKind.ONLINE, concurrency=users, cached=length["input"] * share, **length)
    assert number(warm.ttft_s) <= number(plain.ttft_s) * (1 + 1e-6)


@given(places, st.fixed_dictionaries(lengths), st.floats(1.5, 4.0))
def test_declared_drafts_save_time_where_one_stream_reads_weights(
    index: int, length: dict[str, int], accepted: float
) -> None:
    """A single stream computes a few tokens for the price of one read, and never gains more than it accepts."""
    plain = times(index, LoadKind.SINGLE_STREAM, **length)
    drafted = times(index, LoadKind.SINGLE_STREAM, tokens_per_step=accepted, **length)
    gain = number(plain.tpot_s) / number(drafted.tpot_s)
    assert 0.5 < gain <= accepted * (1 + 1e-9)
