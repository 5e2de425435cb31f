"""What is inferred where a row is blank, and that it is said."""

from functools import cache

import pytest

from planner.catalog.load import load_catalog
from planner.performance.types import EngineConfig
from planner.predict.configure import Configurator, PlaceError
from planner.predict.types import Configured, Place


@cache
def configurator() -> Configurator:
    return Configurator(load_catalog())


def configure(model: str = "llama-3.1-70b", accelerator: str = "H100-SXM", **stated: str) -> Configured:
    return configurator().configure(Place(model=model, accelerator=accelerator, **stated))


def config(**stated: str) -> EngineConfig:
    return configure(**stated).setup.config


def test_nothing_is_inferred_where_everything_is_stated() -> None:
    found = configure(num_gpus="4", tensor_parallel="4", engine="vllm", precision="fp8", kind="online")
    assert found.inferred == ()
    assert (found.setup.config.tensor_parallel, found.setup.precision.id, found.replicas) == (4, "fp8", 1)


def test_tensor_parallel_follows_the_count_for_latency_and_the_need_for_throughput() -> None:
    assert config(num_gpus="8").tensor_parallel == 8
    offline = configure("llama-3.1-8b", num_gpus="8", kind="offline_throughput")
    assert (offline.setup.config.tensor_parallel, offline.replicas) == (1, 8)
    assert config(precision="bf16").tensor_parallel == 4
    assert any("the least that fits" in note for note in configure(precision="bf16").inferred)


def test_the_name_states_a_precision_that_nothing_else_does() -> None:
    assert config(model="Qwen/Qwen3-32B-FP8").precision == "fp8"
    assert config(model="Qwen/Qwen3-32B-FP8", precision="bf16").precision == "bf16"
    assert config(model="Qwen/Qwen3-32B").precision == "bf16"
    assert config(model="gpt-oss-120b", precision="fp4").precision == "mxfp4"


def test_accelerators_beyond_a_replica_are_copies_of_a_dense_model_and_attention_ranks_of_a_moe() -> None:
    dense = configure(num_gpus="16", tensor_parallel="4")
    assert (dense.replicas, dense.setup.config.attention_data_parallel) == (4, 1)
    moe = configure("deepseek-r1", num_gpus="8", tensor_parallel="1")
    got = moe.setup.config
    assert (moe.replicas, got.tensor_parallel, got.attention_data_parallel, got.expert_parallel) == (1, 8, 8, 8)


def test_an_engine_that_runs_there_is_taken_where_none_is_named() -> None:
    assert config(model="llama-3.1-8b", accelerator="M3-Ultra").engine == "llama.cpp"
    assert config(model="llama-3.1-8b", accelerator="H100-SXM").engine == "vllm"


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"model": ""}, "model is not stated"),
        ({"model": "lama-9z"}, "unknown model 'lama-9z'"),
        ({"accelerator": "H1000"}, "unknown accelerator 'H1000'; did you mean"),
        ({"tensor_parallel": "2.5"}, "tensor_parallel must be a whole number from 1 to 128, not 2.5"),
        ({"tensor_parallel": "two"}, "tensor_parallel must be a whole number, not 'two'"),
        ({"num_gpus": "-1"}, "num_gpus must be a whole number"),
        ({"num_gpus": "nan"}, "num_gpus must be a whole number"),
        ({"num_gpus": "2", "tensor_parallel": "4"}, "num_gpus 2 is less than tensor_parallel 4"),
        ({"kind": "offline"}, "kind must be one of online, static_batch"),
        ({"precision": "fp7"}, "unknown precision 'fp7'"),
        ({"kv_precision": "q4_k_m"}, "q4_k_m is no precision of a KV cache"),
        ({"gpu_memory_utilization": "1.2"}, "gpu_memory_utilization must be"),
    ],
)
def test_what_cannot_be_is_said(stated: dict[str, str], said: str) -> None:
    with pytest.raises(PlaceError) as caught:
        configure(**stated)
    assert said in str(caught.value)
