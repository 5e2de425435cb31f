"""Rows of one replica: measured rates, measured figures, the analytic model, refusals."""

import math
from dataclasses import replace

import pytest

from planner.base import CheckKind
from planner.performance.assess import assess, assess_many
from planner.performance.predict import predict_at
from planner.performance.types import EngineConfig, Provenance, Refusal, ReplicaCapability, RequestLoad
from planner.spec.types import Estimator, Headroom, Measured

ALL = tuple(Estimator)
CHAT = RequestLoad(
    id="chat/all",
    input_tokens=1500,
    output_tokens=350,
    ttft_limit_s=2.0,
    ttft_quantile=0.95,
    tpot_limit_s=0.06,
    tpot_quantile=0.95,
    max_context_tokens=16000,
)


def config(model="llama-70b", accelerator="H100-SXM", tp=2, precision="fp8", **extra):
    return EngineConfig(
        model=model,
        precision=precision,
        kv_precision="bf16",
        engine=extra.pop("engine", "vllm"),
        accelerator=accelerator,
        tensor_parallel=tp,
        **{"max_num_seqs": 1024, **extra},
    )


def run(catalog, cfg, loads=(CHAT,), measured=(), headroom=None, batch=False, estimators=ALL):
    return assess(
        cfg,
        loads,
        catalog,
        headroom=headroom or Headroom(),
        batch=batch,
        measured=measured,
        estimators=estimators,
    )


def rates(**extra):
    row = {"model": "llama-70b", "accelerator": "H100-SXM", "tensor_parallel": 2, "precision": "fp8"}
    return Measured(**{**row, **extra})


def row_use(capability: ReplicaCapability, name: str) -> tuple[float, ...]:
    return next(r.use for r in capability.rows if r.name == name)


def test_measured_rates_give_the_scenario_capacity(small_catalog):
    found = run(
        small_catalog,
        config(),
        measured=[rates(prefill_tok_per_s=11000, decode_tok_per_s=2500)],
        headroom=Headroom(target_utilization=0.7),
    )
    assert isinstance(found, ReplicaCapability)
    assert found.work_s[0] == pytest.approx(1500 / 11000 + 350 / 2500)
    assert 1 / row_use(found, "utilization")[0] == pytest.approx(2.5329, rel=1e-4)
    assert found.capacity_req_per_s[0] == pytest.approx(2.5329, rel=1e-4)
    assert found.provenance is Provenance.MEASURED
    assert found.error_band == (1.0, 1.0) and found.time_factor == 1.0


def test_measured_rates_keep_the_ttft_row(small_catalog):
    found = run(small_catalog, config(), measured=[rates(prefill_tok_per_s=11000, decode_tok_per_s=2500)])
    s = 1500 / 11000
    slack = 2.0 - s - 0.06
    assert row_use(found, "ttft")[0] == pytest.approx(s / (1 + math.log(0.05) * s / 2 / slack))


def test_one_h100_cannot_admit_the_longest_chat(small_catalog):
    measured = [rates(tensor_parallel=1, prefill_tok_per_s=11000, decode_tok_per_s=2500)]
    found = run(small_catalog, config(tp=1), measured=measured)
    assert isinstance(found, Refusal)
    (check,) = found.checks
    assert check.check == "memory" and check.kind is CheckKind.PHYSICAL
    assert float(check.needed) > float(check.had) == pytest.approx(0.9 * 79.2)


def test_measured_figures_fill_the_tpot_row(small_catalog):
    """28.8 ms idle, 0.2067 s of work and 5.53 req/s at 50 ms need 2.6959 replicas."""
    load = RequestLoad(id="w/c", input_tokens=1000, output_tokens=200, tpot_limit_s=0.05, max_context_tokens=8000)
    found = run(small_catalog, config(), [load], [rates(idle_iteration_ms=28.8, work_s_per_request=0.2067)])
    assert 5.53 * row_use(found, "tpot")[0] == pytest.approx(2.695875, rel=1e-6)
    assert 5.53 * max(r.use[0] for r in found.rows) == pytest.approx(2.695875, rel=1e-6)
    assert found.provenance is Provenance.MEASURED
    assert found.tpot_s((5.53,), 3) == pytest.approx(0.0288 / (1 - 5.53 * 0.2067 / 3))


def test_measured_capacity_needs_no_memory_proof_and_zero_serves_nothing(small_catalog):
    long = RequestLoad(id="chat/long", input_tokens=4000, output_tokens=600)
    measured = [
        rates(tensor_parallel=1, capacity_req_per_s=3.2, **{"class": "all"}),
        rates(tensor_parallel=1, capacity_req_per_s=1.0, **{"class": "long"}).model_copy(
            update={"capacity_req_per_s": 0.0}
        ),
    ]
    found = run(small_catalog, config(tp=1), [CHAT, long], measured, estimators=(Estimator.MEASURED,))
    assert isinstance(found, ReplicaCapability)
    assert found.served == (True, False)
    assert row_use(found, "utilization") == (pytest.approx(1 / (3.2 * 0.9)), 0.0)
    assert found.capacity_req_per_s[1] == 0.0
    assert [(name, c[0].check) for name, c in found.refused_classes] == [("chat/long", "measured_capacity")]


def test_a_class_without_a_measurement_does_not_put_the_others_in_doubt(small_catalog):
    """One H100 cannot hold the weights by the estimate; the class that was measured there is served nevertheless."""
    long = replace(CHAT, id="chat/long")
    measured = [rates(tensor_parallel=1, capacity_req_per_s=2.0, **{"class": "all"})]
    one = config(tp=1)
    found = run(small_catalog, one, loads=(CHAT, long), measured=measured, estimators=(Estimator.MEASURED,))
    assert isinstance(found, ReplicaCapability)
    assert found.served == (True, False)
    assert [c.check for _, checks in found.refused_classes for c in checks] == ["estimator"]
    trusting = run(small_catalog, one, loads=(CHAT, long), measured=measured)
    assert isinstance(trusting, Refusal)
    assert "memory" in {c.check for c in trusting.checks}


def test_only_measured_is_trusted(small_catalog):
    found = run(small_catalog, config(), estimators=(Estimator.MEASURED,))
    assert isinstance(found, Refusal)
    assert [(c.check, c.kind) for c in found.checks] == [("estimator", CheckKind.POLICY)]


def test_batch_work_has_no_utilisation_cap(small_catalog):
    load = RequestLoad(id="night/all", input_tokens=3000, output_tokens=200)
    measured = [rates(prefill_tok_per_s=45000, decode_tok_per_s=8000)]
    found = run(small_catalog, config(), [load], measured, batch=True)
    assert row_use(found, "utilization")[0] == pytest.approx(3000 / 45000 + 200 / 8000)


def test_cached_input_saves_prefill_but_not_cache(small_catalog):
    warm = RequestLoad(**{**_fields(CHAT), "cached_input_tokens": 1200.0})
    plain, cached = (run(small_catalog, config(tp=8), [load]) for load in (CHAT, warm))
    assert cached.prefill_s[0] < 0.4 * plain.prefill_s[0]
    assert cached.capacity_req_per_s[0] > 1.2 * plain.capacity_req_per_s[0]
    only_tpot = [RequestLoad(id=x.id, input_tokens=1500, output_tokens=350, cached_input_tokens=x.cached_input_tokens,
                             tpot_limit_s=0.02) for x in (CHAT, warm)]  # fmt: skip
    held = [row_use(run(small_catalog, config(tp=8), [load]), "kv_cache")[0] for load in only_tpot]
    assert held[1] == pytest.approx(held[0], rel=0.03)


def test_analytic_rows_are_inside_the_promises(small_catalog):
    found = run(small_catalog, config())
    assert isinstance(found, ReplicaCapability)
    assert {r.name for r in found.rows} == {"tpot", "ttft", "max_num_seqs", "kv_cache"}
    assert found.provenance is Provenance.ANALYTIC
    assert found.error_band[0] < 1 < found.error_band[1] and found.time_factor > 1
    seen = predict_at(found, [CHAT], [found.capacity_req_per_s[0]], 1.0)
    assert seen.utilization == pytest.approx(1.0)
    assert seen.tpot_ms <= 60 and seen.ttft_ms[0] <= 2000


def test_a_tight_tpot_is_where_the_replica_runs(small_catalog):
    tight = RequestLoad(id="chat/all", input_tokens=200, output_tokens=500, tpot_limit_s=0.015)
    found = run(small_catalog, config(tp=8), [tight])
    rate = 1 / row_use(found, "tpot")[0]
    assert rate == pytest.approx(found.capacity_req_per_s[0])
    assert found.tpot_s((rate,), 1.0) == pytest.approx(0.015, rel=1e-6)
    assert predict_at(found, [tight], [rate], 1.0).tpot_ms == pytest.approx(15, rel=1e-6)


def test_a_class_whose_tpot_is_below_an_idle_iteration_is_refused(small_catalog):
    tight = RequestLoad(id="chat/tight", input_tokens=1500, output_tokens=350, tpot_limit_s=0.001)
    both = run(small_catalog, config(), [CHAT, tight])
    assert both.served == (True, False)
    ((name, (check,)),) = both.refused_classes
    assert name == "chat/tight" and check.check == "tpot" and check.kind is CheckKind.SLO
    assert check.needed == pytest.approx(1.0) and float(check.had) > 5
    assert row_use(both, "tpot")[0] == pytest.approx(row_use(run(small_catalog, config()), "tpot")[0])
    alone = run(small_catalog, config(), [tight])
    assert isinstance(alone, Refusal) and alone.checks[0].check == "tpot"


def test_a_first_token_that_cannot_be_kept_is_refused_with_the_limit_that_could(small_catalog):
    long = RequestLoad(
        id="doc/all", input_tokens=64000, output_tokens=300, ttft_limit_s=0.2, ttft_quantile=0.95, rtt_s=0.02
    )
    found = run(small_catalog, config(tp=8), [long])
    assert isinstance(found, Refusal)
    (check,) = found.checks
    assert check.check == "ttft" and check.needed == pytest.approx(200)
    relaxed = RequestLoad(**{**_fields(long), "ttft_limit_s": float(check.had) / 1000 * 1.001})
    assert isinstance(run(small_catalog, config(tp=8), [relaxed]), ReplicaCapability)


def test_memory_and_latency_failures_are_both_recorded(small_catalog):
    load = RequestLoad(id="doc/all", input_tokens=64000, output_tokens=300, ttft_limit_s=0.2, ttft_quantile=0.95)
    found = run(small_catalog, config(tp=1, precision="bf16"), [load])
    assert {c.check for c in found.checks} == {"memory", "ttft"}


def test_a_longer_prefill_in_the_mix_takes_first_token_capacity(small_catalog):
    doc = RequestLoad(id="doc/all", input_tokens=4000, output_tokens=350, tpot_limit_s=0.06)
    alone, mixed = run(small_catalog, config()), run(small_catalog, config(), [CHAT, doc])
    assert mixed.served == (True, True)
    assert row_use(mixed, "ttft")[0] > row_use(alone, "ttft")[0]
    assert mixed.capacity_req_per_s[0] == pytest.approx(alone.capacity_req_per_s[0])


def test_capacity_rises_with_the_tpot_limit_and_the_bandwidth(small_catalog):
    def capacity(tpot, accelerator="H100-SXM"):
        load = RequestLoad(id="w/c", input_tokens=500, output_tokens=500, tpot_limit_s=tpot)
        found = run(small_catalog, config(accelerator=accelerator), [load])
        return found.capacity_req_per_s[0] if isinstance(found, ReplicaCapability) else 0.0

    by_limit = [capacity(t) for t in (0.005, 0.04, 0.05, 0.07, 0.1)]
    assert by_limit == sorted(by_limit) and by_limit[-1] > by_limit[1] > 0
    assert capacity(0.05, "H200-SXM") > capacity(0.05)


def test_throughput_only_uses_the_largest_batch(small_catalog):
    load = RequestLoad(id="w/c", input_tokens=500, output_tokens=500)
    few = run(small_catalog, config(max_num_seqs=8), [load])
    many = run(small_catalog, config(max_num_seqs=256), [load])
    assert [r.name for r in many.rows] == ["utilization"]
    assert many.capacity_req_per_s[0] > 3 * few.capacity_req_per_s[0]
    assert {f.name: f.share for f in many.headroom}["target_utilization"] == 0.9


def test_weight_only_halves_memory_but_not_prefill_time(small_catalog):
    """Kernels differ by what was measured of them; nothing near half, which native arithmetic would save."""
    fp8 = run(small_catalog, config(accelerator="A100-SXM-80GB", tp=4))
    bf16 = run(small_catalog, config(accelerator="A100-SXM-80GB", tp=4, precision="bf16"))
    assert "weight_only" in fp8.flags and "weight_only" not in bf16.flags
    assert fp8.memory.weights_gib_per_gpu < 0.55 * bf16.memory.weights_gib_per_gpu
    assert fp8.prefill_s[0] >= 0.75 * bf16.prefill_s[0]


def test_tensor_parallel_over_pcie_is_flagged_and_slower(small_catalog):
    load = RequestLoad(id="w/c", input_tokens=1000, output_tokens=200)
    pair = run(small_catalog, config("llama-8b", "RTX-4090", 2, "bf16", max_num_seqs=256), [load])
    assert "tensor_parallel_over_pcie" in pair.flags
    on_bus = run(small_catalog, config(interconnect="pcie"), [load])
    assert on_bus.prefill_s[0] > 1.5 * run(small_catalog, config(), [load]).prefill_s[0]


def test_unified_memory_and_offloading_are_bound_by_their_buses(small_catalog):
    load = RequestLoad(id="w/c", input_tokens=200, output_tokens=100)
    mac = run(small_catalog, config("llama-70b", "M3-Ultra", 1, "int4", engine="llama.cpp", max_num_seqs=4), [load])
    assert mac.idle_iteration_s > 70e9 * 0.5195 / 819e9
    offloaded = run(
        small_catalog, config("llama-70b", "Offload", 1, "int4", engine="llama.cpp", max_num_seqs=4), [load]
    )
    assert offloaded.idle_iteration_s > 70e9 * 0.5195 / 64e9
    assert "weights_offloaded" in offloaded.flags
    too_much = run(small_catalog, config("llama-70b", "Offload", 1, "bf16", max_num_seqs=4), [load])
    assert [c.check for c in too_much.checks] == ["host_memory"]


def test_thousands_of_configurations_at_once_are_assessed_as_one_by_one(small_catalog):
    configs = [config(tp=t, max_num_seqs=n) for t in (2, 4, 8) for n in range(24, 1024)]
    other = RequestLoad(id="doc/all", input_tokens=8000, output_tokens=350, tpot_limit_s=0.1)
    found = assess_many(
        configs, [CHAT, other], small_catalog, headroom=Headroom(), batch=False, measured=(), estimators=ALL
    )
    assert len(found) == 3000 and all(isinstance(f, ReplicaCapability) for f in found)
    assert found[17] == run(small_catalog, configs[17], [CHAT, other])


def _fields(load: RequestLoad) -> dict[str, object]:
    return {name: getattr(load, name) for name in RequestLoad.__slots__}


def test_doubts_about_estimates_are_flagged_only_where_one_is_used(small_catalog):
    long = replace(CHAT, max_context_tokens=120_000)
    estimate = run(small_catalog, config(tp=2), loads=(long,))
    measured = run(small_catalog, config(tp=2), loads=(long,), measured=[rates(capacity_req_per_s=2.0)])
    doubts = {"low_concurrency", "accelerator_not_in_fit", "engine_overhead_assumed"}
    assert doubts & set(estimate.flags)
    assert not doubts & set(measured.flags)
