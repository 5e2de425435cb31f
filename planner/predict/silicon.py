"""Operator tables of NVIDIA's aiconfigurator-core (optional: `pip install planner[silicon]`) in place of the roofline.

    TPOT = (1 − p)·decode(B) + p·mixed(chunk, B),   p = B·input ÷ (output·chunk), iterations with a prompt in them
    TTFT : by the ratio of both models' prefills beside an idle replica

What the tables do not cover (model, accelerator, precision, layout) is left to the analytic model, and so is all
without the package.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import Any, Protocol, cast

from planner.base import Frozen
from planner.catalog.catalog import UnknownName
from planner.performance.parameters import default_path
from planner.performance.setups import Setup
from planner.predict.names import NameFinder
from planner.units import MS_PER_S

PACKAGE = "aiconfigurator_core"
CONFIG = "_config.json"


class Band(Frozen):
    """80 % of measured ÷ predicted times."""

    low: float
    high: float


class Modes(Frozen):
    """Quantisation modes of dense and expert layers, by the tables' names."""

    gemm: str
    moe: str


class SiliconNames(Frozen):
    """`catalogs/silicon.yaml`: our names → the tables'."""

    source: str
    as_of: date
    confidence: str
    band: Band
    accelerators: dict[str, str]
    engines: dict[str, str]
    precisions: dict[str, Modes]
    kv_precisions: dict[str, str]


@lru_cache(maxsize=1)
def silicon_names() -> SiliconNames:
    """The shipped names. Raises OSError, or pydantic.ValidationError for a bad file."""
    from ruamel.yaml import YAML

    text = default_path().with_name("silicon.yaml").read_text(encoding="utf-8")
    return SiliconNames.model_validate(YAML(typ="safe", pure=True).load(text))


class Engine(Protocol):
    """What is used of `aiconfigurator_core.sdk.engine.EngineHandle`; milliseconds."""

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float: ...

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float: ...

    def predict_prefill_latency(self, bs: int, isl: int) -> float: ...


Compile = Callable[..., Engine]


@dataclass(frozen=True, slots=True)
class SiliconTimes:
    """Times of one point by the tables, seconds."""

    tpot_s: float
    idle_ttft_s: float
    """Prefill and one iteration on an idle replica."""


class SiliconTables:
    """The tables, one compiled engine per configuration; what fails once is not tried again."""

    def __init__(self, finder: NameFinder, compile_: Compile, models: Mapping[str, str], version: str) -> None:
        self.version = version
        self._finder, self._compile, self._models = finder, compile_, models
        self._engines: dict[str, Engine | None] = {}

    def times(
        self, setup: Setup, running: float, input_tokens: float, output_tokens: float, token_budget: float
    ) -> SiliconTimes | None:
        """Times with so many requests running on a replica; None where the tables do not cover the configuration."""
        engine = self._engine(setup)
        if engine is None or input_tokens < 1 or output_tokens < 1:
            return None
        batch, prompt, answer = max(1, round(running)), round(input_tokens), round(output_tokens)
        groups = setup.config.attention_data_parallel
        rank, chunk = max(1, round(batch / groups)), max(1, round(min(input_tokens, token_budget)))
        try:
            decode = engine.decode_step_latency(rank, prompt, answer)
            mixed = engine.mixed_step_latency(chunk, rank, prompt, answer)
            alone = engine.predict_prefill_latency(1, prompt) + engine.decode_step_latency(1, prompt, answer)
        except Exception:  # the tables raise errors of many kinds for what they do not hold
            self._engines[setup.config.id] = None
            return None
        share = min(1.0, rank * input_tokens / (output_tokens * chunk))
        tpot = (1.0 - share) * decode + share * max(mixed, decode)
        if not all(math.isfinite(x) and x > 0 for x in (tpot, alone)):
            return None
        return SiliconTimes(tpot / MS_PER_S, alone / MS_PER_S)

    def _engine(self, setup: Setup) -> Engine | None:
        key = setup.config.id
        if key not in self._engines:
            self._engines[key] = self._compiled(setup)
        return self._engines[key]

    def _compiled(self, setup: Setup) -> Engine | None:
        names, config = silicon_names(), setup.config
        system, backend = names.accelerators.get(config.accelerator), names.engines.get(config.engine)
        modes, kv = names.precisions.get(config.precision), names.kv_precisions.get(config.kv_precision)
        model = self._models.get(config.model)
        if system is None or backend is None or modes is None or kv is None or model is None:
            return None
        experts = config.expert_parallel
        try:
            return self._compile(
                model, system, backend,
                tp_size=config.tensor_parallel // config.attention_data_parallel,
                pp_size=config.pipeline_parallel, attention_dp_size=config.attention_data_parallel,
                moe_tp_size=config.tensor_parallel // experts if setup.model.shape.experts else None,
                moe_ep_size=experts if setup.model.shape.experts else None,
                gemm_quant_mode=modes.gemm, moe_quant_mode=modes.moe, kvcache_quant_mode=kv,
            )  # fmt: skip
        except Exception:  # an unknown model, system, version or mode: not covered
            return None


def load_silicon(finder: NameFinder) -> SiliconTables | None:
    """The tables, or None where the package is not installed."""
    try:
        from importlib import import_module
        from importlib.metadata import version

        engine = cast(Any, import_module(f"{PACKAGE}.sdk.engine"))
    except ImportError:
        return None
    logging.getLogger(PACKAGE).setLevel(logging.ERROR)
    return SiliconTables(finder, engine.EngineHandle.compile, _known_models(finder), version(PACKAGE))


def _known_models(finder: NameFinder) -> dict[str, str]:
    """Catalog id → hub name that the tables know, the plainest one."""
    found: dict[str, str] = {}
    for file in resources.files(PACKAGE).joinpath("model_configs").iterdir():
        if not file.name.endswith(CONFIG) or "hf_quant" in file.name:
            continue
        name = file.name.removesuffix(CONFIG).replace("--", "/", 1)
        try:
            model = finder.model(name)[0].id
        except UnknownName:
            continue
        if model not in found or len(name) < len(found[model]):
            found[model] = name
    return found
