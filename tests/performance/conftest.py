"""A small catalog by hand: rows whose memory and speed can be recomputed on paper."""

from datetime import date

import pytest

from planner.base import Confidence
from planner.catalog.catalog import Catalog
from planner.catalog.types import (
    Accelerator,
    Engine,
    EngineOverhead,
    KvGroup,
    LlmModel,
    ModelShape,
    Precision,
    SupportRule,
)

ROW = {"source": "test", "as_of": date(2026, 11, 30), "confidence": Confidence.LIST}


def dense_model(name, layers, hidden, heads, kv_heads, head_dim, intermediate, vocab, body, *, tied=False, **extra):
    embeddings = vocab * hidden * (1 if tied else 2)
    shape = ModelShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        tied_embeddings=tied,
        intermediate=intermediate,
        embedding_params=embeddings,
        dense_params=body,
        kv=extra.pop("kv", None)
        or (KvGroup(layers=layers, kind="full", kv_heads=kv_heads, elements_per_token=2 * kv_heads * head_dim),),
        **extra.pop("shape", {}),
    )
    return LlmModel(
        id=name,
        name=name,
        family=extra.pop("family", "LlamaForCausalLM"),
        shape=shape,
        native_precision="bf16",
        max_context_tokens=131072,
        **extra,
        **ROW,
    )


LLAMA_70B = dense_model("llama-70b", 80, 8192, 64, 8, 128, 28672, 128256, 70.553706e9 - 2 * 128256 * 8192)
LLAMA_8B = dense_model("llama-8b", 32, 4096, 32, 8, 128, 14336, 128256, 8.030261e9 - 2 * 128256 * 4096)
QWEN_7B = dense_model("qwen-7b", 28, 3584, 28, 4, 128, 18944, 152064, 7.615617e9 - 2 * 152064 * 3584)
R1 = dense_model(
    "r1",
    61,
    7168,
    128,
    128,
    128,
    18432,
    129280,
    671.0e9 - 58 * 256 * 3 * 7168 * 2048 - 2 * 129280 * 7168,
    family="DeepseekV3ForCausalLM",
    kv=(KvGroup(layers=61, kind="mla", kv_heads=0, elements_per_token=576),),
    shape={
        "moe_intermediate": 2048,
        "moe_layers": 58,
        "experts": 256,
        "experts_per_token": 8,
        "expert_params": 3 * 7168 * 2048,
    },
)
QWEN_30B_A3B = dense_model(
    "qwen3-30b-a3b",
    48,
    2048,
    32,
    4,
    128,
    0,
    151936,
    30.532e9 - 48 * 128 * 3 * 2048 * 768 - 2 * 151936 * 2048,
    family="Qwen3MoeForCausalLM",
    shape={
        "moe_intermediate": 768,
        "moe_layers": 48,
        "experts": 128,
        "experts_per_token": 8,
        "expert_params": 3 * 2048 * 768,
    },
)


def gpu(name, memory_gb, visible, bandwidth, bf16, fp8=None, capability="9.0", link=900.0, **extra):
    return Accelerator(
        id=name,
        vendor=extra.pop("vendor", "nvidia"),
        kind=extra.pop("kind", "gpu"),
        memory_gb=memory_gb,
        memory_gib_visible=visible,
        memory_type="HBM",
        bandwidth_gb_per_s=bandwidth,
        bf16_tflops=bf16,
        fp8_tflops=fp8,
        int8_tops=2 * bf16,
        link="NVLink" if link else "none",
        link_gb_per_s=link,
        compute_capability=capability,
        **extra,
        **ROW,
    )


ACCELERATORS = (
    gpu("H100-SXM", 80, 79.2, 3350, 989, 1979),
    gpu("H200-SXM", 141, 139.8, 4800, 989, 1979),
    gpu("A100-SXM-80GB", 80, 79.2, 2039, 312, capability="8.0", link=600.0),
    gpu("L4", 24, 22.0, 300, 121, 242, capability="8.9", link=0.0),
    gpu("RTX-4090", 24, 23.55, 1008, 165, 330, capability="8.9", link=0.0, host_link_gb_per_s=32.0),
    gpu("V100", 32, 31.7, 900, 125, capability="7.0", link=300.0),
    gpu("M3-Ultra", 512, 480.0, 819, 28, capability=None, link=0.0, vendor="apple", kind="unified"),
    gpu("Offload", 24, 23.5, 1008, 165, capability="8.9", link=0.0, kind="cpu_offload", host_memory_gib=64.0),
)


def precision(name, size, compute, **extra):
    return Precision(
        id=name,
        bytes_per_param=size,
        compute=compute,
        weight_only=extra.pop("weight_only", False),
        quality_impact="none",
        quality_loss_percent_low=0,
        quality_loss_percent_high=0,
        **extra,
        **ROW,
    )


PRECISIONS = (
    precision("bf16", 2.0, "bf16", kv_bytes=2.0),
    precision("fp8", 1.0, "fp8", kv_bytes=1.0),
    precision("fp8-block", 1.0, "fp8", block=128),
    precision("int4", 0.5195, "bf16", weight_only=True, block=128),
)
VLLM = Engine(
    id="vllm",
    name="vLLM",
    version="0.19.0",
    production=True,
    vendors=("nvidia", "amd"),
    kinds=("gpu", "cpu_offload"),
    precisions=("bf16", "fp8", "fp8-block", "int4"),
    kv_precisions=("bf16", "fp8"),
    expert_parallel=True,
    overheads=(
        EngineOverhead(
            versions=">=0.17",
            logits_factor=3.8,
            minimum_gib=0.75,
            moe_gib=0.5,
            non_torch_gib_tp1=0.25,
            non_torch_gib_tpn=2.1,
            source="FACTS",
        ),
        EngineOverhead(
            versions=">=0.9,<0.17",
            logits_factor=9.7,
            minimum_gib=0.75,
            moe_gib=0.0,
            non_torch_gib_tp1=0.14,
            non_torch_gib_tpn=0.55,
            source="FACTS",
        ),
    ),
    **ROW,
)
LLAMA_CPP = Engine(
    id="llama.cpp",
    name="llama.cpp",
    version="b7000",
    production=False,
    vendors=("nvidia", "apple"),
    kinds=("gpu", "unified", "cpu_offload"),
    precisions=("bf16", "int4"),
    tensor_parallel=False,
    efficiency=0.5,
    **ROW,
)
SUPPORT = (
    SupportRule(
        id="fp8-weight-only-ampere",
        effect="weight_only",
        precision="fp8",
        vendor="nvidia",
        compute_capability_below=8.9,
        reason="no FP8 units",
        **ROW,
    ),
    SupportRule(
        id="fp8-needs-8.0",
        effect="refuse",
        precision="fp8",
        vendor="nvidia",
        compute_capability_below=8.0,
        reason="FP8 weights need compute capability 8.0",
        **ROW,
    ),
    SupportRule(
        id="no-pp-r1",
        effect="refuse",
        engine="vllm",
        engine_versions="<0.7",
        family="DeepseekV3ForCausalLM",
        parallelism="pipeline",
        reason="pipeline parallel is not implemented for this architecture",
        **ROW,
    ),
)


@pytest.fixture(scope="session")
def small_catalog() -> Catalog:
    return Catalog(
        name="test",
        as_of=date(2026, 11, 30),
        sha256="",
        accelerators=ACCELERATORS,
        instance_types=(),
        offers=(),
        providers=(),
        regions=(),
        models=(LLAMA_70B, LLAMA_8B, QWEN_7B, R1, QWEN_30B_A3B),
        precisions=PRECISIONS,
        engines=(VLLM, LLAMA_CPP),
        support=SUPPORT,
        apis=(),
        profiles=(),
        spot_markets=(),
        round_trips=(),
        groups=(),
    )
