"""Names as a catalog would give them, and specs from text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.base import KnownNames
from planner.errors import Fault, InputError
from planner.spec.document import read_document
from planner.spec.resolve import resolve_spec
from planner.spec.types import Spec

HEAD = "schema_version: 1\nname: review\n"
CHAT = """\
workloads:
  - name: chat
    model: llama-3.3-70b-instruct
    traffic: {peak_req_per_s: 6, input_tokens: 1500, output_tokens: 350}
"""


def ids(*names: str, **aliases: str) -> dict[str, str]:
    return {n.lower(): n for n in names} | {a.replace("_", "-"): n for a, n in aliases.items()}


@pytest.fixture(scope="session")
def names() -> KnownNames:
    return KnownNames(
        models=ids("llama-3.3-70b-instruct", "llama-3.1-8b-instruct", llama_70b="llama-3.3-70b-instruct"),
        precisions=ids("bf16", "fp8", "int4", fp16="bf16"),
        engines=ids("vllm", "sglang"),
        accelerators=ids("H100-SXM", "L4", "RTX-4090", "A100-SXM-80GB", h100_80gb="H100-SXM"),
        providers=ids("aws", "gcp", "vast-ai"),
        regions=ids("eu-central-1", "us-east-1"),
        apis=ids("mistral-large-3", "mistral/mistral-large-3"),
        profiles=ids("office-hours", "flat"),
        countries=ids("EU", "CH", "DE", "NO", "US"),
        client_regions=ids("eu-west"),
        instance_types=ids("p5.48xlarge"),
        certifications=ids("iso27001", "soc2"),
        least_round_trip_ms={"eu-west": 10.0},
    )


@pytest.fixture
def load(tmp_path: Path, names: KnownNames) -> Callable[[str], Spec]:
    """Text → Spec; raises InputError."""

    def run(text: str) -> Spec:
        path = tmp_path / "workload.yaml"
        path.write_text(text, encoding="utf-8")
        return resolve_spec(read_document(str(path)), names)

    return run


@pytest.fixture
def faults(load: Callable[[str], Spec]) -> Callable[[str], list[Fault]]:
    """Text → every fault, none if it is sound."""

    def run(text: str) -> list[Fault]:
        try:
            load(text)
        except InputError as error:
            return list(error.faults)
        return []

    return run


@pytest.fixture
def chat(faults: Callable[[str], list[Fault]]) -> Callable[[str], list[Fault]]:
    """Lines below a sound workload (indented by four) → faults."""

    def run(lines: str) -> list[Fault]:
        return faults(HEAD + CHAT + "".join(f"    {line}\n" for line in lines.splitlines()))

    return run


@pytest.fixture
def traffic(faults: Callable[[str], list[Fault]]) -> Callable[[str], list[Fault]]:
    """A flow mapping for `traffic` → faults."""

    def run(text: str) -> list[Fault]:
        return faults(f"{HEAD}workloads:\n  - name: chat\n    model: llama-70b\n    traffic: {text}\n")

    return run


@pytest.fixture
def root(faults: Callable[[str], list[Fault]]) -> Callable[[str], list[Fault]]:
    """Lines beside a sound workload → faults."""

    def run(text: str) -> list[Fault]:
        return faults(HEAD + CHAT + text)

    return run
