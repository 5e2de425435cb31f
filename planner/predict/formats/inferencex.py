"""InferenceX (InferenceMAX) aggregate results: objects with `tput_per_gpu`, times in seconds."""

from __future__ import annotations

from collections.abc import Mapping

from planner.predict.formats.observation import Observation, first_number, in_flight, number_at, text_at


def is_inferencex(document: object) -> bool:
    """Whether an object has the aggregate's keys."""
    return isinstance(document, Mapping) and "tput_per_gpu" in document


def read_inferencex(document: Mapping[str, object], where: str) -> Observation:
    """The point of one aggregate row. Raises NotSaid."""
    tp = text_at(document, "tp") or text_at(document, "decode_tp")
    gpus = text_at(document, "num_gpus") or tp
    output = first_number(document, "osl")
    per_gpu = first_number(document, "output_tput_per_gpu")
    rate = per_gpu * float(gpus) / output if per_gpu and gpus and output else None
    seconds = [first_number(document, f"median_{w}", f"mean_{w}") for w in ("ttft", "tpot")]
    ttft, tpot = (None if s is None else s * 1e3 for s in seconds)
    return Observation(
        where,
        input_tokens=number_at(document, "isl"),
        output_tokens=output,
        concurrency=in_flight(first_number(document, "conc"), rate, ttft, tpot, output),
        req_per_s=rate,
        ttft_ms=ttft,
        tpot_ms=tpot,
        model=text_at(document, "model"),
        accelerator=text_at(document, "hw"),
        num_gpus=gpus,
        tensor_parallel=tp,
        expert_parallel=text_at(document, "ep"),
        engine=text_at(document, "framework"),
        precision=text_at(document, "precision"),
        on=text_at(document, "date"),
    )
