"""Operator tables: the adapter against a stand-in with known times, and against the package where it is installed."""

import sys
from functools import cache
from typing import Any

import pytest

from planner.catalog.load import load_catalog
from planner.performance.parameters import load_parameters
from planner.predict.batch import Load, predict_many
from planner.predict.configure import Configurator
from planner.predict.silicon import SiliconTables, load_silicon, silicon_names
from planner.predict.types import Configured, Place, Prediction


@cache
def configurator() -> Configurator:
    return Configurator(load_catalog())


class Engine:
    """Decodes in 10 ms + 1 ms per request, takes 20 ms more with a chunk, and prefills 1,000 tokens in 50 ms."""

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        return 10.0 + gen_tokens

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        return 30.0 + gen_tokens

    def predict_prefill_latency(self, bs: int, isl: int) -> float:
        return 0.05 * isl


class Broken(Engine):
    def mixed_step_latency(self, *_: int) -> float:
        raise RuntimeError("no such row")


def tables(engine: type[Engine] = Engine, **asked: Any) -> SiliconTables:
    calls: list[tuple[tuple[str, ...], dict[str, object]]] = asked.setdefault("calls", [])

    def compile_(*names: str, **layout: object) -> Engine:
        calls.append((names, layout))
        return engine()

    models = {"qwen3-32b": "Qwen/Qwen3-32B", "deepseek-r1": "deepseek-ai/DeepSeek-R1"}
    return SiliconTables(configurator().names, compile_, models, "0.0")


def place(model: str = "qwen3-32b", accelerator: str = "H100-SXM", **stated: str) -> Configured:
    return configurator().configure(Place(model, accelerator, **{"tensor_parallel": "2", "precision": "fp8", **stated}))


def predict(where: Configured, silicon: SiliconTables | None, concurrency: float = 10.0) -> Prediction:
    load = Load(1000.0, 500.0, concurrency)
    return predict_many([where], [0], [load], load_parameters(), silicon=silicon)[0]


def test_times_are_the_tables() -> None:
    found = tables().times(place().setup, 10.0, 1000.0, 500.0, 8192.0)
    assert found is not None
    # 10 requests bring 20 prompt tokens per iteration: 2 % of the iterations carry a prompt of 1,000
    assert found.tpot_s == pytest.approx((0.98 * 20.0 + 0.02 * 40.0) / 1e3)
    assert found.idle_ttft_s == pytest.approx((50.0 + 11.0) / 1e3)


def test_a_prediction_says_that_it_is_of_the_tables() -> None:
    answer = predict(place(), tables())
    assert answer.provenance.startswith("silicon (aiconfigurator-core 0.0")
    assert answer.tpot_ms == pytest.approx(20.4, rel=0.05)
    assert answer.error_band == (silicon_names().band.low, silicon_names().band.high)
    plain = predict(place(), None)
    assert answer.req_per_s != plain.req_per_s


@pytest.mark.parametrize(
    "where",
    [
        {"accelerator": "MI300X"},
        {"accelerator": "RTX-4090"},
        {"model": "llama-3.1-8b"},
        {"precision": "q4_k_m", "engine": "llama.cpp", "tensor_parallel": "1"},
    ],
)
def test_what_the_tables_do_not_cover_is_analytic(where: dict[str, str]) -> None:
    assert predict(place(**where), tables()) == predict(place(**where), None)


def test_a_failing_table_is_asked_once_and_left() -> None:
    calls: list[Any] = []
    broken = tables(Broken, calls=calls)
    assert predict(place(), broken) == predict(place(), None)
    predict(place(), broken)
    assert len(calls) == 1


def test_layouts_are_the_tables_own() -> None:
    calls: list[Any] = []
    where = place("deepseek-r1", "B200-SXM", tensor_parallel="1", num_gpus="8", expert_parallel="8", engine="trtllm")
    predict(where, tables(calls=calls))
    (names, layout), *_ = calls
    assert names == ("deepseek-ai/DeepSeek-R1", "b200_sxm", "trtllm")
    degrees = [layout[k] for k in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")]
    assert degrees == [1, 8, 1, 8]
    assert layout["gemm_quant_mode"] == "fp8_block"


def test_names_are_the_catalogs() -> None:
    names, catalog = silicon_names(), load_catalog()
    assert all(catalog.accelerator(a).id == a for a in names.accelerators)
    assert all(catalog.engine(e).id == e for e in names.engines)
    assert all(catalog.precision(p).id == p for p in (*names.precisions, *names.kv_precisions))


def test_without_the_package_there_are_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk.engine", None)
    assert load_silicon(configurator().names) is None


def test_the_installed_tables_answer() -> None:
    pytest.importorskip("aiconfigurator_core")
    found = load_silicon(configurator().names)
    assert found is not None
    answer = predict(place(), found)
    assert answer.provenance.startswith("silicon")
    assert answer.tpot_ms is not None and 5 < answer.tpot_ms < 50
