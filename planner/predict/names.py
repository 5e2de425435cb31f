"""Names as benchmark files and people write them → catalog rows.

`meta-llama/Llama-3.1-70B-Instruct`, `RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8`, `4xNVIDIA_L40S`,
`NVIDIA A100-SXM4-80GB`, `TensorRT-LLM v0.9`. What is not an id or alias is compared by its telling words alone, and
taken only where one row is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.catalog.catalog import Catalog, UnknownName, name_index, nearest
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision

PRECISION_WORDS: Mapping[str, str] = {
    "nvfp4": "fp4", "fp4": "fp4", "mxfp4": "mxfp4", "fp8": "fp8", "w8a8": "int8", "int8": "int8",
    "w8a16": "int8-weight-only", "w4a16": "int4", "int4": "int4", "awq": "int4", "gptq": "int4", "4bit": "int4",
    "w4a8": "int4-w4a8", "bf16": "bf16", "fp16": "bf16", "bfloat16": "bf16", "float16": "bf16",
}  # fmt: skip
"""Words of a checkpoint's name that state its precision; the first one in this order counts."""
NOISE = frozenset(
    {*PRECISION_WORDS, "instruct", "it", "chat", "hf", "base", "meta", "quantized", "quant", "dynamic", "static", "kv",
     "block", "per", "tensor", "channel", "preview", "int", "4", "8", "marlin", "gguf", "mlx", "unsloth", "bnb", "g128",
     "neuralmagic"}
)  # fmt: skip
VENDOR_WORDS = frozenset(
    {"nvidia", "amd", "intel", "apple", "google", "huawei", "geforce", "instinct", "tesla", "radeon", "quadro", "data",
     "center", "gpu", "accelerator", "cpu", "generation", "edition", "hgx", "oam", "hbm2", "hbm2e", "hbm3", "hbm3e",
     "blackwell", "server"}
)  # fmt: skip
_MEMORY = re.compile(r"(\d+)g(?:i?b)?")
SAME_MEMORY = 0.1
"""How far a memory size in a name may be from the data sheet's."""
_COUNT_BEHIND = re.compile(r"\s*[(\[]?\s*[x×]\s*(\d{1,3})\s*[)\]]?\s*$")
_COUNT = re.compile(r"^\s*(\d{1,3})\s*[x×]\s*[_ ]*(?=[A-Za-z])")
_UNSTATED = re.compile(
    r"^\s*(see\b|unknown|n/?a\b|none\b|unspecified|auto\b|default\b|native\b|unstated)", re.IGNORECASE
)
ENGINE_STAND_INS: Mapping[str, str] = {
    "tensorrt": "trtllm", "trt": "trtllm", "tensorrt_llm": "trtllm", "nim": "trtllm", "vllm-ascend": "vllm",
    "vllm-tpu": "vllm", "vllm-rocm": "vllm", "vllm-gaudi": "vllm", "vllm-neuron": "vllm", "openai": "vllm",
    "openai-chat": "vllm", "deepspeed": "vllm", "deepspeed-mii": "vllm", "deepspeed-fastgen": "vllm", "tgi": "vllm",
    "text-generation-inference": "vllm", "lmdeploy": "vllm", "sambaflow": "vllm", "pytorch": "vllm",
    "transformers": "vllm", "mango": "vllm", "cuda": "trtllm", "atom": "vllm", "mlx": "llama.cpp",
    "lmstudio": "llama.cpp",
}  # fmt: skip
"""Engines that the catalog has no row for → the one whose figures stand in; said in the provenance."""
USUAL_ENGINE = "vllm"


@dataclass(frozen=True, slots=True)
class NamedEngine:
    """An engine, the version that was named, and the name that it stands in for."""

    engine: Engine
    version: str | None = None
    stands_for: str | None = None


class NameFinder:
    """Finds rows by loosely written names; answers are kept."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._models = name_index(catalog.models)
        self._accelerators = name_index(catalog.accelerators)
        self._engines = name_index(catalog.engines)
        self._model_keys = _unique_keys((m, (m.id, *m.aliases, m.name)) for m in catalog.models)
        self._accelerator_words = _unique_sets((a, (a.id, *a.aliases)) for a in catalog.accelerators)

    def model(self, text: str) -> tuple[LlmModel, str | None]:
        """The model, and the precision that its name states. Raises UnknownName."""
        low = text.strip().lower()
        found = self._models.get(low) or self._models.get(low.rsplit("/", 1)[-1])
        found = found or self._model_keys.get(model_key(text)) or self.catalog.model(text)
        return found, precision_in(text)

    def accelerator(self, text: str) -> tuple[Accelerator, int | None]:
        """The accelerator, and how many of them the name states (`4xL40S`). Raises UnknownName."""
        count = _COUNT.match(text) or _COUNT_BEHIND.search(text)
        rest = text[: count.start()] + text[count.end() :] if count else text
        words = accelerator_words(rest)
        found = (
            self._accelerators.get(rest.strip().lower())
            or self._accelerator_words.get(words)
            or self._of_memory(words)
            or self.catalog.accelerator(rest)
        )
        return found, int(count.group(1)) if count else None

    def _of_memory(self, words: frozenset[str]) -> Accelerator | None:
        """The row of the words without a memory size, if it has that memory: an `A100 40GB` is no `A100` of 80 GB."""
        sizes = [float(m.group(1)) for w in words if (m := _MEMORY.fullmatch(w))]
        found = self._accelerator_words.get(frozenset(w for w in words if not _MEMORY.fullmatch(w)))
        if found is None or not all(abs(size / found.memory_gb - 1.0) <= SAME_MEMORY for size in sizes):
            return None
        return found

    def engine(self, text: str) -> NamedEngine:
        """The engine of `vllm`, `vllm 0.19`, `vllm@0.19`, `TensorRT-LLM v0.9`.

        One that the catalog does not have is stood in for, unless its name is nearly that of one it has: then
        UnknownName is raised, as it is a slip.
        """
        words = re.split(r"[\s@,:]+", text.strip(), maxsplit=1)
        version = _version(words[1]) if len(words) > 1 else None
        name = words[0].lower()
        if (found := self._engines.get(text.strip().lower())) is not None:
            return NamedEngine(found)
        if (found := self._engines.get(name)) is not None:
            return NamedEngine(found, version)
        if (known := self._engines.get(ENGINE_STAND_INS.get(name, ""))) is not None:
            return NamedEngine(known, version if known.id in name else None, text.strip())
        if near := nearest(name, self._engines):
            raise UnknownName("engine", text, tuple(dict.fromkeys(self._engines[n].id for n in near)))
        return NamedEngine(self.catalog.engine(USUAL_ENGINE), None, text.strip())

    def precision(self, text: str) -> Precision:
        """The precision. Raises UnknownName."""
        return self.catalog.precision(text)


def is_unstated(text: str) -> bool:
    """Whether a cell says that it does not say: blank, `see submission`, `n/a`, `auto`."""
    return not text.strip() or _UNSTATED.match(text) is not None


def precision_in(name: str) -> str | None:
    """The precision that a checkpoint's name states, e.g. `fp8` of `Qwen/Qwen3-32B-FP8`; None: it states none."""
    low = name.lower()
    gguf = re.search(r"q\d_(k_m|k_s|k|0)\b", low)
    if gguf:
        return gguf.group(0)
    words = set(re.split(r"[^a-z0-9]+", low))
    return next((p for w, p in PRECISION_WORDS.items() if w in words), None)


def model_key(name: str) -> str:
    """The telling words of a name, run together: `llama3.18b` of `Meta-Llama-3.1-8B-Instruct-quantized.w8a8`."""
    last = name.strip().lower().rsplit("/", 1)[-1]
    words = [w for w in re.split(r"[-_ :]+|\.(?!\d)", last) if w]
    return "".join(w for w in words if w not in NOISE)


def accelerator_words(name: str) -> frozenset[str]:
    """Words of an accelerator's name without vendor and memory kind: `{h100, sxm, 80gb}` of `NVIDIA H100-SXM5-80GB`."""
    low = re.sub(r"\((r|tm)\)", " ", name.lower())
    low = re.sub(r"\b(\d+)\s?gi?b?\b", r"\1gb", low)
    words = {re.sub(r"^sxm\d$", "sxm", w) for w in re.split(r"[^a-z0-9.+]+", low) if w}
    return frozenset(words - VENDOR_WORDS)


def _unique_keys(rows: Iterable[tuple[LlmModel, tuple[str, ...]]]) -> dict[str, LlmModel]:
    """Key → row, without keys that several rows share."""
    found: dict[str, LlmModel] = {}
    twice: set[str] = set()
    for row, names in rows:
        for name in names:
            key = model_key(name)
            if found.setdefault(key, row) is not row:
                twice.add(key)
    return {k: r for k, r in found.items() if k and k not in twice}


def _unique_sets(rows: Iterable[tuple[Accelerator, tuple[str, ...]]]) -> dict[frozenset[str], Accelerator]:
    """Set of words → row, without sets that several rows share."""
    found: dict[frozenset[str], Accelerator] = {}
    twice: set[frozenset[str]] = set()
    for row, names in rows:
        for name in names:
            words = accelerator_words(name)
            if found.setdefault(words, row) is not row:
                twice.add(words)
    return {k: r for k, r in found.items() if k and k not in twice}


def _version(text: str) -> str | None:
    """`0.9` of `v0.9 pytorch`; None where no number leads."""
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", text)
    return found.group(1) if found else None
