"""Why the rows that are furthest off are so, as far as it is known."""

from __future__ import annotations

from collections.abc import Mapping

SATURATED = "Poisson rates beyond what the replica takes: the first token grows with the length of the run"
REASONS: Mapping[tuple[str, str], str] = {
    ("deepseek-r1", "TPOT"): "many TensorRT-LLM rows decode several tokens a step (MTP) and are not flagged",
    ("deepseek-r1", "TTFT"): "first tokens of 1 to 3 s at light load, next to the masked ones",
    (
        "gpt-oss-120b",
        "TPOT",
    ): "few active parameters: its own kernels set the time, and no other model tells them",
    ("glm-5", "TPOT"): "sparse attention (DSA) that one engine version served two months after release",
    ("GB200", "TPOT"): "20 aggregated rows, 15 of them of a 32B model at TP 4 and 8 that is slower than on H100",
    ("GB200", "TTFT"): "as for its TPOT",
    ("MI355X", "TPOT"): "13 rows of two software versions that differ by a factor of two",
    ("MI355X", "TTFT"): "13 rows; prefill of the earlier version was not tuned",
    ("B200-SXM", "TPOT"): "the only FP4 measurements in number: left out, FP4 comes from the data sheet alone",
    ("Max1550-PVC", "throughput"): "2024 software; the same batch differs by up to four between llama.cpp rows",
    ("SN40L", "throughput"): "33 rows, a dataflow machine whose cache tier is not in the model",
    ("Ascend-910", "TPOT"): "a handful of rows; operators fall back to the host",
    ("Ascend-910B2", "TPOT"): "a handful of rows; small models are bound by the host",
    ("T4", "throughput"): "three rows of one model",
    ("L4", "throughput"): "six rows of two models",
    ("TPU-v5e", "throughput"): "three rows; TPU engines batch in fixed shapes",
    ("llama-4-maverick", "throughput"): "16 rows; one accelerator over PCIe and one with NVLink that disagree",
    ("qwen2.5-0.5b-instruct", "TPOT"): "bound by the host's processor, which no row states",
    ("AccelMark verified results (CC BY 4.0)", "TTFT"): SATURATED,
    ("IOG-Foundation llm-inference-benchmarks (Apache-2.0)", "TTFT"): SATURATED,
    ("InferenceX API fixture (InferenceX-app, Apache-2.0)", "TPOT"): "13 rows of MI355X",
    ("InferenceX API fixture (InferenceX-app, Apache-2.0)", "TTFT"): "13 rows of MI355X",
}
"""(label, quantity) → reason."""


def reason_for(label: str, quantity: str) -> str:
    """The reason of a line; empty where none is known or needed."""
    return REASONS.get((label, quantity), "")
