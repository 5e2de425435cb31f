"""The iteration model: its parts by hand, and its error on measured points."""

import numpy as np
import pytest

from planner.catalog.load import load_catalog
from planner.performance import analytic
from planner.performance.cases import make_setup
from planner.performance.parameters import load_parameters
from planner.performance.types import EngineConfig

GB = 1e9
ONE = np.ones((1, 1))


@pytest.fixture(scope="module")
def parameters():
    return load_parameters()


def columns(catalog, parameters, model="llama-70b", accelerator="H100-SXM", tp=1, precision="bf16", **extra):
    config = EngineConfig(
        model=model,
        precision=precision,
        kv_precision="bf16",
        engine=extra.pop("engine", "vllm"),
        accelerator=accelerator,
        tensor_parallel=tp,
        **extra,
    )
    return analytic.build_columns([make_setup(config, catalog)], parameters)


def bare(parameters, **changes):
    """Parameters without overheads, so that one part of a formula stands alone."""
    zero = {
        "layer_s": 0.0,
        "moe_layer_s": 0.0,
        "latent_layer_s": 0.0,
        "request_s": 0.0,
        "scheduler_s": 0.0,
        "prefill_overhead_s": 0.0,
        "latent_prefill_s": 0.0,
        "mfu_scale": 1.0,
        "mbu_scale": 1.0,
    }
    return parameters.fitted.model_copy(update={**zero, **changes})


def step(c, p, batch, context):
    return analytic.step_s(c, p, np.array([[float(batch)]]), np.array([[float(context)]]))[0, 0]


def test_an_idle_step_reads_the_weights_once(small_catalog, parameters):
    c, p = columns(small_catalog, parameters), bare(parameters)
    weights = (70.553706e9 - 128256 * 8192) * 2  # the input embedding is looked up, not read
    read = weights / (3350 * GB * parameters.efficiencies["bf16"].mbu)
    flop = 2 * (70.553706e9 - 128256 * 8192) / (989e12 * parameters.efficiencies["bf16"].mfu)
    assert step(c, p, 1, 0) == pytest.approx((read**3 + flop**3) ** (1 / 3), rel=1e-6)


def test_cache_reads_add_up_over_requests(small_catalog, parameters):
    c, p = columns(small_catalog, parameters, tp=2), bare(parameters)
    extra = step(c, p, 8, 4000) - step(c, p, 8, 0)
    assert extra == pytest.approx(8 * 4000 * 163840 / (3350 * GB * p.kv_mbu), rel=1e-6)


def test_a_batch_reads_nearly_all_experts_beyond_their_number(small_catalog, parameters):
    c = columns(small_catalog, parameters, model="qwen3-30b-a3b")
    assert analytic.active_experts(c, ONE)[0, 0] == pytest.approx(8)
    assert analytic.active_experts(c, ONE * 16)[0, 0] == pytest.approx(128 * (1 - (1 - 1 / 16) ** 16))
    assert analytic.active_experts(c, ONE * 256)[0, 0] > 127.9


def test_stages_work_on_shares_of_the_batch(small_catalog, parameters):
    p = bare(parameters)
    plain, staged = (columns(small_catalog, parameters, tp=8, pipeline_parallel=s) for s in (1, 2))
    assert step(staged, p, 16, 1000) == pytest.approx(step(plain, p, 8, 1000) + staged.hop_s[0, 0])


def test_attention_groups_share_experts_but_not_cache(small_catalog, parameters):
    p = bare(parameters)
    plain = columns(small_catalog, parameters, model="r1", accelerator="H200-SXM", tp=8, precision="fp8")
    spread = columns(
        small_catalog,
        parameters,
        model="r1",
        accelerator="H200-SXM",
        tp=8,
        precision="fp8",
        expert_parallel=8,
        attention_data_parallel=8,
    )
    assert spread.expert_bytes == plain.expert_bytes and spread.dense_bytes == pytest.approx(8 * plain.dense_bytes)
    kv = [step(c, p, 256, 8000) - step(c, p, 256, 0) for c in (plain, spread)]
    assert kv[0] == pytest.approx(8 * kv[1])


def test_prefill_grows_faster_than_the_prompt_and_a_cached_prefix_saves_work(small_catalog, parameters):
    c, p = columns(small_catalog, parameters, tp=8, precision="fp8"), parameters.fitted
    short, long = (analytic.prefill_s(c, p, ONE * n, ONE * 0).work_s[0, 0] for n in (8192, 65536))
    assert long > 8 * short
    warm = analytic.prefill_s(c, p, ONE * 8192, ONE * 57344).work_s[0, 0]
    assert short < warm < long / 4


def test_wide_tensor_parallelism_over_the_bus_makes_prefill_slower_and_decoding_faster(small_catalog, parameters):
    """Handed cases P05 and P07: cards that share a PCIe bus lose in prefill and win in decode."""
    p = parameters.fitted
    one, two = (columns(small_catalog, parameters, model="llama-8b", accelerator="RTX-4090", tp=n) for n in (1, 8))
    prefill = [analytic.prefill_s(c, p, ONE * 2000, ONE * 0).latency_s[0, 0] for c in (one, two)]
    assert prefill[1] > 1.2 * prefill[0]
    assert step(two, p, 1, 1000) < step(one, p, 1, 1000)


def test_fewer_bits_without_units_for_them_save_reads_and_not_compute(small_catalog, parameters):
    c = {
        name: columns(small_catalog, parameters, accelerator=accelerator, tp=4, precision=name)
        for name, accelerator in (("bf16", "A100-SXM-80GB"), ("fp8", "A100-SXM-80GB"))
    }
    assert c["fp8"].dense_bytes < 0.52 * c["bf16"].dense_bytes
    assert c["fp8"].peak_flop_per_s <= c["bf16"].peak_flop_per_s
    hopper = columns(small_catalog, parameters, tp=4, precision="fp8")
    assert hopper.peak_flop_per_s > columns(small_catalog, parameters, tp=4).peak_flop_per_s


def test_the_record_of_the_fit_is_in_the_parameters(parameters):
    assert parameters.fit.rows > 1500 and parameters.fit.configurations > 100
    assert parameters.fit.leave_one_model_out_median_ape < 0.17
    seen, unseen = parameters.errors["seen"], parameters.errors["unseen"]
    assert seen.low < 1 < seen.high and unseen.sigma_log > seen.sigma_log
    assert parameters.error_of("H100-SXM") == seen and parameters.error_of("TPU-v5p") == unseen


@pytest.mark.shared
def test_predictions_reach_the_recorded_error_on_measured_points(shared_data, parameters):
    fit = pytest.importorskip("benchmarks.fit_performance")
    points, _ = fit.read_points(shared_data / "perf" / "measured.csv", load_catalog(), parameters)
    tpot, ttft = fit.predict(points, parameters.fitted, 2e-3)
    online = ~points.offline
    error = np.abs(tpot / points.tpot - 1)[online]
    assert np.median(error) < 0.15
    assert np.median(np.abs(tpot / points.tpot - 1)[points.offline]) < 0.3
    late = np.abs(ttft / points.ttft - 1)
    assert np.nanmedian(late) < 0.36
    # the 80 % band holds about that share of the points
    ratio = (points.tpot / tpot)[online]
    band = parameters.errors["seen"]
    assert 0.7 < np.mean((ratio > band.low) & (ratio < band.high)) < 0.95
