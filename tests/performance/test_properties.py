"""What must hold for every load: monotone in promises, indifferent to order, safe for every mix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance import analytic
from planner.performance.assess import assess
from planner.performance.cases import make_setup
from planner.performance.parameters import load_parameters
from planner.performance.predict import predict_at
from planner.performance.rates import resolve_rates
from planner.performance.types import EngineConfig, Refusal, ReplicaCapability, RequestLoad
from planner.spec.types import Estimator, Headroom

CONFIGS = st.builds(
    lambda model, accelerator, tp, precision, seats: EngineConfig(
        model=model,
        precision=precision,
        kv_precision="bf16",
        engine="vllm",
        accelerator=accelerator,
        tensor_parallel=tp,
        max_num_seqs=seats,
    ),
    st.sampled_from(["llama-70b", "llama-8b", "qwen3-30b-a3b"]),
    st.sampled_from(["H100-SXM", "H200-SXM", "A100-SXM-80GB", "RTX-4090"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from(["bf16", "fp8"]),
    st.sampled_from([16, 256, 1024]),
)
LENGTHS = st.tuples(st.integers(50, 12000), st.integers(10, 1500))


def load(name, lengths, **limits):
    return RequestLoad(
        id=name, input_tokens=lengths[0], output_tokens=lengths[1], max_context_tokens=sum(lengths), **limits
    )


def run(catalog, config, *loads):
    return assess(config, loads, catalog, headroom=Headroom(), batch=False, measured=(), estimators=tuple(Estimator))


def capacity(found):
    return 0.0 if isinstance(found, Refusal) else found.capacity_req_per_s[0]


@given(CONFIGS, LENGTHS, st.floats(0.02, 0.2), st.floats(1.0, 3.0))
def test_a_looser_tpot_never_costs_capacity(small_catalog, config, lengths, tpot, factor):
    tight, loose = (load("w/c", lengths, tpot_limit_s=t) for t in (tpot, tpot * factor))
    assert capacity(run(small_catalog, config, loose)) >= capacity(run(small_catalog, config, tight)) * (1 - 1e-6)


@given(CONFIGS, LENGTHS, st.floats(0.3, 5.0), st.floats(1.0, 3.0), st.sampled_from([None, 0.05, 0.1]))
def test_a_looser_ttft_never_costs_capacity(small_catalog, config, lengths, ttft, factor, tpot):
    tight, loose = (
        load("w/c", lengths, ttft_limit_s=t, ttft_quantile=0.95, tpot_limit_s=tpot) for t in (ttft, ttft * factor)
    )
    assert capacity(run(small_catalog, config, loose)) >= capacity(run(small_catalog, config, tight)) * (1 - 1e-6)


@given(CONFIGS, LENGTHS, st.floats(0.3, 60.0), st.floats(0.02, 0.2))
def test_a_promise_taken_back_never_costs_capacity(small_catalog, config, lengths, ttft, tpot):
    first = {"ttft_limit_s": ttft, "ttft_quantile": 0.95}
    both = capacity(run(small_catalog, config, load("w/c", lengths, tpot_limit_s=tpot, **first)))
    assert capacity(run(small_catalog, config, load("w/c", lengths, tpot_limit_s=tpot))) >= both * (1 - 1e-6)
    assert capacity(run(small_catalog, config, load("w/c", lengths, **first))) >= both * (1 - 1e-6)


@given(CONFIGS, LENGTHS, st.floats(0.3, 5.0), st.floats(0.02, 0.2))
def test_at_capacity_the_predictions_are_inside_the_promises(small_catalog, config, lengths, ttft, tpot):
    one = load("w/c", lengths, ttft_limit_s=ttft, ttft_quantile=0.95, tpot_limit_s=tpot)
    found = run(small_catalog, config, one)
    if isinstance(found, Refusal):
        assert found.checks and all(c.needed is not None and c.had is not None for c in found.checks)
        return
    seen = predict_at(found, [one], found.capacity_req_per_s, 1.0)
    assert seen.utilization == pytest.approx(1.0, rel=1e-6)
    assert seen.tpot_ms is not None and seen.tpot_ms <= tpot * 1e3 * (1 + 1e-6)
    assert seen.ttft_ms[0] is not None and seen.ttft_ms[0] <= ttft * 1e3 * (1 + 1e-6)
    half = predict_at(found, [one], [found.capacity_req_per_s[0] / 2], 1.0)
    assert half.tpot_ms <= seen.tpot_ms and half.ttft_ms[0] <= seen.ttft_ms[0]


@given(CONFIGS, LENGTHS, LENGTHS, st.floats(0.03, 0.2), st.floats(0.03, 0.2))
def test_the_order_of_classes_only_permutes_the_answer(small_catalog, config, one, two, tpot_one, tpot_two):
    a, b = load("w/a", one, tpot_limit_s=tpot_one), load("w/b", two, tpot_limit_s=tpot_two)
    forward, backward = run(small_catalog, config, a, b), run(small_catalog, config, b, a)
    if isinstance(forward, Refusal):
        assert isinstance(backward, Refusal)
        assert {c.check for c in forward.checks} == {c.check for c in backward.checks}
        return
    assert forward.capacity_req_per_s == tuple(reversed(backward.capacity_req_per_s))
    assert [r.name for r in forward.rows] == [r.name for r in backward.rows]
    for x, y in zip(forward.rows, backward.rows, strict=True):
        assert x.use == pytest.approx(tuple(reversed(y.use)), rel=1e-9)


@given(CONFIGS, LENGTHS, LENGTHS, st.floats(0.04, 0.2), st.floats(0.0, 1.0))
def test_every_mix_inside_the_row_keeps_the_tpot(small_catalog, config, one, two, tpot, share):
    """Work adds up (DESIGN §4). A dense model keeps the promise exactly; experts that are read once for all classes
    make a mix cost a little more than its parts."""
    loads = [load("w/a", one, tpot_limit_s=tpot), load("w/b", two, tpot_limit_s=tpot)]
    found = run(small_catalog, config, *loads)
    if not isinstance(found, ReplicaCapability) or not all(found.served):
        return
    use = next(r.use for r in found.rows if r.name == "tpot")
    operating = found.tpot_s((1.0 / use[0], 0.0), 1.0)
    rates = np.array([[share / use[0], (1 - share) / use[1]]])
    setup = make_setup(config, small_catalog)
    p = load_parameters()
    columns, p = analytic.build_columns([setup], p), resolve_rates([setup], p)
    out = np.array([[x.output_tokens for x in loads]])
    context = np.array([[x.input_tokens + x.output_tokens / 2 for x in loads]])
    held = rates * out * operating
    batch = held.sum(axis=1, keepdims=True)
    mean_context = (held * context).sum(axis=1, keepdims=True) / batch
    prefill = analytic.prefill_s(columns, p, np.array([[x.input_tokens for x in loads]]), np.zeros((1, 2)))
    blocked = p.interference * operating * (rates * prefill.work_s).sum(axis=1, keepdims=True)
    tpot_of_mix = (analytic.step_s(columns, p, batch, mean_context) + blocked) * found.time_factor
    tolerance = 1.02 if setup.model.shape.experts == 0 else 1.35
    assert tpot_of_mix[0, 0] <= operating * tolerance
