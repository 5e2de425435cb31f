"""Which combinations of model, precision, engine and accelerator work, by catalog rows and divisibility rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from planner.base import Check, CheckKind
from planner.catalog.types import Accelerator, Engine, LlmModel, Precision, SupportRule
from planner.performance.memory import VOCAB_PADDING, attention_ranks
from planner.performance.setups import peak_tflops
from planner.performance.types import EngineConfig
from planner.performance.versions import version_matches


def capability_number(accelerator: Accelerator) -> float | None:
    """The compute capability as a number (8.9); None where it is not one (`gfx942`) or not stated."""
    try:
        return float(accelerator.compute_capability or "")
    except ValueError:
        return None


def rule_matches(
    rule: SupportRule, precision: str, kv_precision: str, model: LlmModel, accelerator: Accelerator, engine: Engine
) -> bool:
    """Whether every field that the rule states matches, parallelism aside; compute capabilities only where known."""
    if rule.precision not in {None, precision} or rule.kv_precision not in {None, kv_precision}:
        return False
    if rule.engine not in {None, engine.id} or rule.accelerator not in {None, accelerator.id}:
        return False
    capability = capability_number(accelerator)
    below, at_least = rule.compute_capability_below, rule.compute_capability_at_least
    return (
        version_matches(engine.version, rule.engine_versions)
        and (rule.vendor is None or rule.vendor.lower() == accelerator.vendor.lower())
        and rule.family in {None, model.family}
        and (rule.attention is None or any(g.kind == rule.attention for g in model.shape.kv))
        and (below is None or (capability is not None and capability < below))
        and (at_least is None or (capability is not None and capability >= at_least))
    )


def rule_concerns(rule: SupportRule, config: EngineConfig) -> bool:
    """Whether the configuration uses the parallelism that the rule is about (any, where it states none)."""
    degrees = {
        "tensor": config.tensor_parallel,
        "pipeline": config.pipeline_parallel,
        "expert": config.expert_parallel,
        "attention_data": config.attention_data_parallel,
    }
    return rule.parallelism is None or degrees[rule.parallelism] > 1


class RuleBook:
    """Support rules by what they depend on; the same question is answered once."""

    def __init__(self, rules: tuple[SupportRule, ...]) -> None:
        self._rules = rules
        self._found: dict[tuple[str, ...], tuple[SupportRule, ...]] = {}

    def rules(
        self, precision: str, kv_precision: str, model: LlmModel, accelerator: Accelerator, engine: Engine
    ) -> tuple[SupportRule, ...]:
        """Rules that match, whatever parallelism they are about."""
        kinds = "+".join(sorted({g.kind for g in model.shape.kv}))
        key = (precision, kv_precision, model.family, kinds, accelerator.id, engine.id, engine.version)
        if key not in self._found:
            self._found[key] = tuple(
                r for r in self._rules if rule_matches(r, precision, kv_precision, model, accelerator, engine)
            )
        return self._found[key]


@lru_cache(maxsize=8)
def rule_book(rules: tuple[SupportRule, ...]) -> RuleBook:
    """The book of a catalog's rules, shared by calls."""
    return RuleBook(rules)


def is_weight_only(rules: Iterable[SupportRule], precision: Precision) -> bool:
    """Whether matrix multiplications run at 16 bit: by nature of the precision, or by a rule that applies."""
    return precision.weight_only or any(r.effect == "weight_only" for r in rules)


def engine_checks(engine: Engine, model: LlmModel, accelerator: Accelerator) -> list[Check]:
    """Failed checks of an engine on an accelerator: vendor, kind, model architecture."""
    checks = []
    if accelerator.vendor.lower() not in {v.lower() for v in engine.vendors}:
        checks.append(_cannot("engine_vendor", accelerator.vendor, engine.vendors, f"{engine.name} does not run on it"))
    if accelerator.kind not in engine.kinds:
        checks.append(_cannot("engine_kind", accelerator.kind, engine.kinds, f"{engine.name} does not run on it"))
    if engine.families is not None and model.family not in engine.families:
        detail = f"{engine.name} does not serve the architecture of {model.id}"
        checks.append(_cannot("engine_model", model.family, engine.families, detail))
    return checks


def precision_checks(
    rules: Sequence[SupportRule],
    engine: Engine,
    accelerator: Accelerator,
    precision: Precision,
    kv_precision: Precision,
) -> list[Check]:
    """Failed checks of a precision: the engine's lists, KV use, catalog rules, and units that the hardware lacks."""
    checks = []
    if precision.id not in engine.precisions:
        detail = f"{engine.name} does not run {precision.id} weights"
        checks.append(_cannot("engine_precision", precision.id, engine.precisions, detail))
    if kv_precision.kv_bytes is None or kv_precision.id not in engine.kv_precisions:
        detail = f"{engine.name} does not keep its KV cache in {kv_precision.id}"
        checks.append(_cannot("engine_kv_precision", kv_precision.id, engine.kv_precisions, detail))
    checks += refusing_rules(rules, accelerator)
    if not is_weight_only(rules, precision) and peak_tflops(accelerator, precision.compute) is None:
        detail = f"{accelerator.id} has no {precision.compute} units and no rule says that weights may be dequantised"
        checks.append(_cannot("precision_hardware", precision.compute, (), detail))
    return checks


def refusing_rules(rules: Iterable[SupportRule], accelerator: Accelerator) -> list[Check]:
    """One failed check for each rule that refuses."""
    return [
        Check(check="support", kind=CheckKind.PHYSICAL, needed=r.id, had=accelerator.id, detail=r.reason)
        for r in rules
        if r.effect == "refuse"
    ]


def _cannot(check: str, needed: str, had: Sequence[str], detail: str) -> Check:
    return Check(check=check, kind=CheckKind.PHYSICAL, needed=needed, had=", ".join(had) or "none", detail=detail)


def parallelism_checks(
    config: EngineConfig,
    model: LlmModel,
    engine: Engine,
    precision: Precision,
    rules: Sequence[SupportRule] = (),
) -> list[Check]:
    """Failed divisibility rules (FACTS §1): heads, KV heads, padded vocabulary, block widths, experts, stages.

    `rules` are those that match the configuration; where none of them speaks of a quantity it divides in whole blocks.
    """
    checks = [
        *_engine_parallelism(config, engine),
        *_attention_splits(config, model, rules),
        *_width_splits(config, model, precision, rules),
    ]
    shape, experts = model.shape, config.expert_parallel
    if experts > 1 and (shape.experts == 0 or shape.experts % experts):
        checks.append(_divides("expert_parallel_divides_experts", experts, shape.experts, "experts"))
    if config.tensor_parallel % config.attention_data_parallel or config.tensor_parallel % experts:
        checks.append(_divides("groups_divide_tensor_parallel", config.tensor_parallel, experts, "accelerators"))
    if config.pipeline_parallel > shape.layers:
        checks.append(_divides("pipeline_stages_have_layers", config.pipeline_parallel, shape.layers, "layers"))
    return checks


def blocks_of(rules: Iterable[SupportRule], quantity: str) -> float | None:
    """Blocks that a rank's share of a quantity is a multiple of: of the engine's own rule, else of the general one.

    None where the engine pads the quantity, 1 where no rule speaks of it.
    """
    about = [r for r in rules if r.quantity == quantity]
    spoken = [r for r in about if r.engine is not None] or about
    if any(r.effect == "pad" for r in spoken):
        return None
    return max((r.blocks for r in spoken if r.effect == "divide"), default=1.0)


def prefers_attention_data_parallel(rules: Iterable[SupportRule]) -> bool:
    """Whether a rule prefers attention data parallelism (MLA, by engine version)."""
    return any(r.effect == "prefer" and r.parallelism == "attention_data" for r in rules)


def _engine_parallelism(config: EngineConfig, engine: Engine) -> list[Check]:
    used = (
        ("tensor", config.tensor_parallel, engine.tensor_parallel),
        ("pipeline", config.pipeline_parallel, engine.pipeline_parallel),
        ("expert", config.expert_parallel, engine.expert_parallel),
    )
    return [
        Check(
            check=f"engine_{kind}_parallel",
            kind=CheckKind.PHYSICAL,
            needed=degree,
            had=1,
            unit="accelerators",
            detail=f"{engine.name} has no {kind} parallelism",
        )
        for kind, degree, able in used
        if degree > 1 and not able
    ]


def _attention_splits(config: EngineConfig, model: LlmModel, rules: Sequence[SupportRule]) -> list[Check]:
    ranks, shape = attention_ranks(config), model.shape
    checks = []
    if shape.heads % ranks and blocks_of(rules, "heads") is not None:
        checks.append(_divides("tensor_parallel_divides_heads", ranks, shape.heads, "attention heads"))
    sharded = {g.kv_heads for g in shape.kv if g.kv_heads > 0 and blocks_of(rules, "kv_heads") is not None}
    for heads in sorted(sharded):
        if heads % ranks and ranks % heads:
            checks.append(_divides("tensor_parallel_divides_kv_heads", ranks, heads, "KV heads"))
    vocab = -(-shape.vocab // VOCAB_PADDING) * VOCAB_PADDING
    if vocab % ranks and blocks_of(rules, "vocab") is not None:
        checks.append(_divides("tensor_parallel_divides_vocab", ranks, vocab, "padded vocabulary"))
    return checks


def _width_splits(
    config: EngineConfig, model: LlmModel, precision: Precision, rules: Sequence[SupportRule]
) -> list[Check]:
    """A rank's share of the feed-forward must be whole, and a multiple of the block of block-quantised precisions."""
    shape = model.shape
    moe_ranks = config.tensor_parallel // config.expert_parallel
    checks = []
    for name, width, ranks in (
        ("intermediate", shape.intermediate, attention_ranks(config)),
        ("moe_intermediate", shape.moe_intermediate, moe_ranks),
    ):
        blocks = blocks_of(rules, name)
        if not width or ranks <= 1 or blocks is None:
            continue
        step = max(1, round(blocks * (precision.block or 1)))
        if width % ranks or (width // ranks) % step:
            share = width / ranks
            checks.append(
                Check(
                    check=f"tensor_parallel_splits_{name}",
                    kind=CheckKind.PHYSICAL,
                    needed=f"multiple of {step}",
                    had=share,
                    unit="columns per rank",
                    detail=f"{width} {name} columns over {ranks} ranks are {share:g}, no "
                    + (f"multiple of {step}" if step > 1 else "whole number"),
                )
            )
    return checks


def _divides(check: str, divisor: int, total: int, what: str) -> Check:
    return Check(
        check=check,
        kind=CheckKind.PHYSICAL,
        needed=divisor,
        had=total,
        unit=what,
        detail=f"{total} {what} cannot be split over {divisor}",
    )
