"""Importers: what each format says, and that what is no benchmark's output is refused with its place."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.predict.formats.detect import BenchmarkFile, read_benchmark
from planner.predict.formats.observation import Observation, in_flight

VLLM = {
    "date": "20260314-200445", "backend": "vllm", "model_id": "zai-org/GLM-4.7", "num_prompts": 640,
    "request_rate": "inf", "max_concurrency": 64, "duration": 930.4, "completed": 640, "total_input_tokens": 655360,
    "total_output_tokens": 459366, "request_throughput": 0.6879, "request_goodput:": None,
    "output_throughput": 493.7, "median_ttft_ms": 496.0, "median_tpot_ms": 123.4, "std_ttft_ms": float("nan"),
}  # fmt: skip


def read(document: object) -> BenchmarkFile:
    text = document if isinstance(document, str) else json.dumps(document)
    return read_benchmark(text.encode(), "bench.json")


def only(document: object) -> Observation:
    (found,) = read(document).observations
    return found


def test_vllm_bench_serve() -> None:
    found = only(VLLM)
    assert (found.input_tokens, found.concurrency, found.tpot_ms, found.ttft_ms) == (1024.0, 64.0, 123.4, 496.0)
    assert found.output_tokens == pytest.approx(717.76, abs=0.01)
    assert (found.model, found.engine) == ("zai-org/GLM-4.7", "vllm")


def test_several_objects_in_one_file_are_several_points() -> None:
    for glue in ("\n", "", ",\n", "  \r\n"):
        text = glue.join(json.dumps({**VLLM, "max_concurrency": c}) for c in (1, 8))
        found = read(text)
        assert [o.concurrency for o in found.observations] == [1.0, 8.0]
        assert [o.where for o in found.observations] == ["object 1", "object 2"]
    assert len(read([VLLM, VLLM]).observations) == 2


def test_a_rate_gives_the_requests_in_flight_by_littles_law() -> None:
    found = only({**VLLM, "max_concurrency": None, "request_rate": 2.0, "request_throughput": 2.0})
    assert found.concurrency == pytest.approx(2.0 * (0.496 + 716.76 * 0.1234), rel=1e-3)
    assert only({**VLLM, "max_concurrency": None}).concurrency == 640.0


def test_inferencex_writes_the_same_in_seconds() -> None:
    raw = {k: v for k, v in VLLM.items() if not k.endswith("_ms")} | {"median_ttft": 0.496, "median_tpot": 0.1234}
    assert read(raw).format == "InferenceX"
    assert (only(raw).tpot_ms, only(raw).ttft_ms) == (pytest.approx(123.4), 496.0)
    row = {
        "hw": "h200", "tp": 8, "ep": 1, "conc": 16, "model": "deepseek-ai/DeepSeek-R1", "framework": "sglang",
        "precision": "fp8", "isl": 1024, "osl": 1024, "tput_per_gpu": 300.0, "output_tput_per_gpu": 150.0,
        "median_ttft": 0.3, "median_tpot": 0.012,
    }  # fmt: skip
    found = only([row])
    assert (found.accelerator, found.num_gpus, found.tensor_parallel, found.engine) == ("h200", "8", "8", "sglang")
    assert (found.tpot_ms, found.concurrency, found.precision) == (12.0, 16.0, "fp8")
    assert found.req_per_s == pytest.approx(150 * 8 / 1024)


def test_guidellm_gaps_are_its_inter_token_latencies() -> None:
    def metric(value: float) -> dict[str, object]:
        return {"successful": {"median": value, "mean": value * 1.1}}

    row = {
        "config": {"strategy": {"type_": "concurrent", "streams": 4}, "backend": {"model": "m/x"}},
        "metrics": {
            "request_totals": {"successful": 9}, "requests_per_second": metric(2.0),
            "prompt_token_count": metric(100.0), "output_token_count": metric(32.0),
            "time_to_first_token_ms": metric(25.0), "time_per_output_token_ms": metric(12.0),
            "inter_token_latency_ms": metric(10.0),
        },
    }  # fmt: skip
    old = {**row, "config": {}, "args": {"strategy": {"type_": "synchronous"}}}
    none = {**row, "metrics": {**row["metrics"], "request_totals": {"successful": 0}}}
    found = read({"metadata": {}, "benchmarks": [row, old, none]})
    assert [o.concurrency for o in found.observations] == [4.0, 1.0]
    assert {o.tpot_ms for o in found.observations} == {10.0}
    assert found.observations[0].req_per_s == pytest.approx(2.2)
    assert found.observations[0].model == "m/x"
    assert [f.message for f in found.skipped] == ["benchmark 3: no request was completed"]


def test_aiperf_json_and_csv_agree() -> None:
    def metric(value: float) -> dict[str, object]:
        return {"unit": "ms", "avg": value * 1.2, "p50": value}

    document = {
        "aiperf_version": "0.13.0", "request_throughput": {"avg": 4.0}, "request_count": {"avg": 40},
        "time_to_first_token": metric(30.0), "inter_token_latency": metric(6.0),
        "input_sequence_length": {"avg": 500.0}, "output_sequence_length": {"avg": 64.0},
        "input_config": {
            "models": {"items": [{"name": "m"}]},
            "phases": [{"kind": "warmup", "concurrency": 1}, {"kind": "profiling", "concurrency": 8}],
        },
    }  # fmt: skip
    table = (
        "Metric,avg,min,p50\nEffective Concurrency,7.8,0,8.0\nInput Sequence Length (tokens),500,1,500\n"
        "Inter Token Latency (ms),7.2,1,6.0\nOutput Sequence Length (tokens),64,1,64\n"
        "Time to First Token (ms),36,1,30.0\n\nMetric,Value\nRequest Count,40\nRequest Throughput (requests/sec),4.0\n"
    )
    one, other = only(document), only(table)
    for name in ("input_tokens", "output_tokens", "concurrency", "tpot_ms", "ttft_ms", "req_per_s"):
        assert getattr(one, name) == getattr(other, name), name
    assert (one.concurrency, one.model) == (8.0, "m")
    older = {**document, "input_config": {"loadgen": {"concurrency": 3}, "endpoint": {"model_names": ["n"]}}}
    assert (only(older).concurrency, only(older).model) == (3.0, "n")


def test_accelmark_points_are_those_that_met_their_limits() -> None:
    document = {
        "suite_id": "suite_C",
        "chip": {"name": "NVIDIA GeForce RTX 5090", "count": 1},
        "software": {"framework": "vLLM", "framework_version": "0.19.1rc1"},
        "model": {"model_id": "meta-llama/Llama-3.1-8B-Instruct", "precision": "BF16"},
        "task": {"parallelism": {"tensor_parallel_size": 1}},
        "metrics": {"quantization_online": {"results_by_precision": [
            {"precision": "W4A16", "results_by_qps": [
                {"target_qps": 10, "achieved_qps": 10.0, "ttft_ms_p50": 38.0, "tpot_ms_p50": 7.1, "sla_met": True},
                {"target_qps": 50, "achieved_qps": 50.0, "ttft_ms_p50": 2400.0, "tpot_ms_p50": 28.8, "sla_met": False},
            ]},
        ]}},
    }  # fmt: skip
    found = only(document)
    assert (found.precision, found.tpot_ms, found.accelerator) == ("W4A16", 7.1, "NVIDIA GeForce RTX 5090")
    assert (found.input_tokens, found.output_tokens, found.engine) == (336.0, 234.0, "vLLM 0.19.1rc1")
    assert found.concurrency == pytest.approx(10 * (0.038 + 233 * 0.0071))


def test_a_plain_table_of_points() -> None:
    found = read(
        "model,gpu,tp,isl,osl,concurrency_or_batch,tpot_ms_p50,ttft_ms_p50\n"
        "qwen3-32b,H100-SXM,2,1024,256,16,12.5,100\n\nqwen3-32b,H100-SXM,2,1024,256,x,12.5,100\n"
    )
    (point,) = found.observations
    assert (point.accelerator, point.tensor_parallel, point.concurrency, point.tpot_ms) == ("H100-SXM", "2", 16.0, 12.5)
    assert found.skipped[0].message == "line 4: concurrency must be a number, not 'x'"


@pytest.mark.parametrize(
    ("data", "code", "line", "said"),
    [
        (b"", "B102", None, "empty"),
        (b" \n\t", "B102", None, "empty"),
        (b"\xff\xfe\x00", "B102", None, "UTF-8"),
        (json.dumps(VLLM, indent=1).encode()[:-60], "B102", 15, "truncated"),
        (json.dumps(VLLM).encode() + b'\n{"date": "x', "B102", 2, "truncated"),
        (b'{"a": 1,}', "B102", 1, "not JSON"),
        (b"[" * 100_000, "B102", None, "nested too deeply"),
        (b'{"hello": 1, "world": 2}', "B103", None, "begins with hello, world"),
        (b"[1, 2]", "B103", None, "no known tool"),
        (b"[]", "B107", None, "no measured point"),
        (b"a,b\n1,2\n", "B103", None, "begins with a, b"),
        (b'a,b\n"x', "B102", 2, "neither JSON nor CSV"),
        (b"a\0b", "B102", 1, "NUL"),
        (json.dumps({**VLLM, "completed": 0}).encode(), "B107", None, "no request was completed"),
        (json.dumps({**VLLM, "median_tpot_ms": "fast"}).encode(), "B107", None, "must be a number, not 'fast'"),
        (json.dumps({**VLLM, "median_tpot_ms": -4}).encode(), "B107", None, "must be from 0"),
        (json.dumps({**VLLM, "total_input_tokens": [1]}).encode(), "B107", None, "not a list"),
    ],
)
def test_what_is_no_benchmark_is_refused(data: bytes, code: str, line: int | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_benchmark(data, "bench.json")
    (fault,) = caught.value.faults
    assert (fault.code, fault.line, fault.file) == (code, line, "bench.json")
    assert said in fault.message
    assert fault.help


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda x: st.lists(x, max_size=2) | st.dictionaries(st.text(max_size=5), x, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(VLLM)), values, max_size=4))
def test_any_value_in_any_field_is_read_or_refused(changes: dict[str, object]) -> None:
    try:
        found = read({**VLLM, **changes})
    except InputError as error:
        assert all(f.code in {"B103", "B107"} for f in error.faults)
        return
    for point in found.observations:
        for value in (point.tpot_ms, point.ttft_ms, point.req_per_s):
            assert value is None or 0 <= value < float("inf")


@given(st.integers(0, 3000))
def test_a_file_cut_anywhere_is_refused_or_shorter(length: int) -> None:
    whole = "\n".join(json.dumps({**VLLM, "max_concurrency": c}) for c in (1, 2, 3)).encode()
    try:
        found = read_benchmark(whole[:length], "bench.json")
    except InputError as error:
        assert error.faults[0].code == "B102"
    else:
        assert len(found.observations) <= 3


def test_littles_law() -> None:
    assert in_flight(7.0, None, None, None, None) == 7.0
    assert in_flight(None, 10.0, 100.0, 9.0, 101.0) == pytest.approx(10.0)
    assert in_flight(None, 0.01, 100.0, 9.0, 101.0) == 1.0
    assert in_flight(None, 10.0, 100.0, None, 101.0) is None


@pytest.mark.shared
def test_every_handed_sample_is_read(shared_data: Path) -> None:
    expected = {"accelmark": 3, "aiperf_genai-perf": 1, "guidellm": 2, "inferencex": 1, "vllm_bench_serve": 1}
    files = sorted((shared_data / "perf/samples").rglob("*.*"))
    assert len(files) == 12
    for file in files:
        found = read_benchmark(file.read_bytes(), str(file))
        assert len(found.observations) >= expected[file.parent.name]
        assert not found.skipped
        for point in found.observations:
            assert point.tpot_ms and point.ttft_ms and point.output_tokens and point.concurrency
