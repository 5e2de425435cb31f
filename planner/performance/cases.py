"""A configuration on its way to a capability: what is common to a call, and what is known of one configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from planner.base import Check, CheckKind
from planner.catalog.catalog import Catalog
from planner.catalog.types import LlmModel
from planner.performance.calibration import NOTHING_MEASURED, At, Calibration, Corrector
from planner.performance.coefficients import Times
from planner.performance.measured import MeasuredKind, kind_of, row_for_class, speaks_for
from planner.performance.memory import memory_checks, memory_fit
from planner.performance.parameters import PerformanceParameters
from planner.performance.setups import Setup
from planner.performance.support import RuleBook, is_weight_only, rule_book, rule_concerns
from planner.performance.types import EngineConfig, MemoryFit, RequestLoad
from planner.spec.types import Estimator, Measured

CONTEXT_FACTOR = 4
"""The longest request admitted by default: so many times the longest class."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is common to all configurations of a call."""

    loads: tuple[RequestLoad, ...]
    catalog: Catalog
    target: float
    """Utilisation cap; 1 for batch work."""
    estimate_quantile: float
    estimators: frozenset[Estimator]
    parameters: PerformanceParameters
    rules: RuleBook
    calibration: Calibration = NOTHING_MEASURED
    """What benchmarks say of the estimates."""

    @property
    def trusts_estimates(self) -> bool:
        return Estimator.ANALYTIC in self.estimators


@dataclass(slots=True)
class Case:
    """One configuration: its catalog rows, measurements by class, memory and failed checks."""

    setup: Setup
    rows: list[Measured | None]
    """[class] the measurement to trust."""
    memory: MemoryFit
    longest_tokens: int
    time_factor: float
    """Chosen quantile of the estimate's error; of a calibrated one, the largest of any class."""
    time_factors: list[float]
    """[class] what predicted times are multiplied by: quantile and calibration."""
    first_token_factors: list[float]
    """[class] the same of prefills."""
    sigma_log: float
    """Standard deviation of ln(true/estimated)."""
    calibrated: bool = False
    checks: list[Check] = field(default_factory=list)
    class_checks: dict[int, list[Check]] = field(default_factory=dict)
    times: Times | None = None

    def kind(self, r: int) -> MeasuredKind | None:
        """What speaks for class r; None: the analytic model."""
        row = self.rows[r]
        return None if row is None else kind_of(row)

    @property
    def needs_times(self) -> bool:
        """Whether a class needs latency coefficients."""
        return any(
            self.kind(r) in {None, MeasuredKind.FIGURES} for r in range(len(self.rows)) if r not in self.class_checks
        )


def longest_context(loads: Sequence[RequestLoad], model: LlmModel) -> int:
    """Longest request to be admitted: as stated, else 4 × the longest class, at most the model's limit."""
    stated = [x.max_context_tokens for x in loads if x.max_context_tokens is not None]
    free = [x.input_tokens + x.output_tokens for x in loads if x.max_context_tokens is None]
    default = min(math.ceil(CONTEXT_FACTOR * max(free)), model.max_context_tokens) if free else 1
    return max(default, *stated, 1)


def make_setup(config: EngineConfig, catalog: Catalog, book: RuleBook | None = None) -> Setup:
    """The catalog rows of a configuration (`book`: the catalog's rules, if at hand). Raises UnknownName."""
    model, accelerator = catalog.model(config.model), catalog.accelerator(config.accelerator)
    engine, precision = catalog.engine(config.engine), catalog.precision(config.precision)
    rules = (book or rule_book(catalog.support)).rules(
        config.precision, config.kv_precision, model, accelerator, engine
    )
    return Setup(
        config=config,
        model=model,
        accelerator=accelerator,
        engine=engine,
        precision=precision,
        kv_precision=catalog.precision(config.kv_precision),
        weight_only=is_weight_only([r for r in rules if rule_concerns(r, config)], precision),
    )


def open_case(job: Job, config: EngineConfig, measured: Sequence[Measured]) -> Case:
    """Rows, memory, and the checks that need no times. A measured capacity proves that the configuration runs."""
    setup = make_setup(config, job.catalog, job.rules)
    matching = [m for m in measured if speaks_for(m, config)] if Estimator.MEASURED in job.estimators else []
    rows = [row_for_class(matching, load) for load in job.loads]
    longest = longest_context(job.loads, setup.model)
    memory = memory_fit(
        config, setup.model, setup.accelerator, setup.engine, setup.precision, setup.kv_precision, longest
    )
    sigma = job.parameters.error_of(setup.accelerator.id, setup.model.id).sigma_log
    z = NormalDist().inv_cdf(job.estimate_quantile)
    plain = [math.exp(z * sigma)] * len(rows)
    case = Case(setup, rows, memory, longest, plain[0], plain, plain, sigma)
    _calibrate(job, case, z)
    for r, row in enumerate(rows):
        if checks := _class_checks(job, job.loads[r], row):
            case.class_checks[r] = checks
    if not _proved_to_run(case):
        case.checks += memory_checks(memory, setup.accelerator, longest, config.accelerators)
        case.checks += _context_checks(job.loads, setup.model)
    return case


def _calibrate(job: Job, case: Case, z: float) -> None:
    """Correct the factors of a configuration whose model, accelerator and engine were measured together."""
    config = case.setup.config
    subject = (config.model, config.accelerator, config.engine)
    known = job.calibration.step.get(subject)
    if known is None:
        return
    step, sigma = _factors(known, job.loads, config)
    first = job.calibration.first_token.get(subject)
    case.sigma_log = max(sigma)
    case.time_factor = math.exp(z * case.sigma_log)
    case.time_factors = [f * math.exp(z * s) for f, s in zip(step, sigma, strict=True)]
    case.first_token_factors = case.time_factors
    if first is not None:
        factors, errors = _factors(first, job.loads, config)
        case.first_token_factors = [f * math.exp(z * s) for f, s in zip(factors, errors, strict=True)]
    case.calibrated = True


def _factors(known: Corrector, loads: Sequence[RequestLoad], config: EngineConfig) -> tuple[list[float], list[float]]:
    """(factor, what is left to err) by class, at the concurrency that was measured."""
    found = known.correct([At(config.id, known.concurrency, x.input_tokens, x.output_tokens) for x in loads])
    return found.factor.tolist(), found.sigma_log.tolist()


def _proved_to_run(case: Case) -> bool:
    """Whether every class that may be served here, and at least one, has a measured capacity.

    A class that is refused for a reason of its own (nothing measured, and estimates are not trusted) does not put the
    measurements of the others in doubt.
    """
    served = [row for r, row in enumerate(case.rows) if r not in case.class_checks]
    return bool(served) and all(row is not None and row.capacity_req_per_s is not None for row in served)


def _context_checks(loads: Sequence[RequestLoad], model: LlmModel) -> list[Check]:
    """The model's own limit against the longest request stated and the longest class."""
    needed = max(max(x.input_tokens + x.output_tokens, x.max_context_tokens or 0) for x in loads)
    if needed <= model.max_context_tokens:
        return []
    return [
        Check(
            check="max_context",
            kind=CheckKind.PHYSICAL,
            needed=needed,
            had=model.max_context_tokens,
            unit="tokens",
            detail=f"{model.id} admits {model.max_context_tokens} tokens",
        )
    ]


def _class_checks(job: Job, load: RequestLoad, row: Measured | None) -> list[Check]:
    """Checks of one class that need no times: a trusted estimator, a measured capacity above zero."""
    if row is not None and row.capacity_req_per_s == 0:
        return [
            Check(
                check="measured_capacity",
                kind=CheckKind.SLO,
                needed="above 0",
                had=0.0,
                unit="req/s",
                detail=f"{load.id}: measured capacity inside its SLO is zero",
            )
        ]
    if row is None and not job.trusts_estimates:
        trusted = ", ".join(sorted(e.value for e in job.estimators)) or "none"
        return [
            Check(
                check="estimator",
                kind=CheckKind.POLICY,
                needed=Estimator.ANALYTIC.value,
                had=trusted,
                detail=f"{load.id}: no measurement of this configuration, and estimates are not trusted",
            )
        ]
    return []
