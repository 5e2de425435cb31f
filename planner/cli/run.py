"""The whole line: read, look up, enumerate, compile, solve, verify, explain, report. No arithmetic."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner import __version__
from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog
from planner.cli.progress import ProgressLine
from planner.demand.build import build_demand
from planner.demand.types import Demand
from planner.errors import Fault, InputError
from planner.explain.types import Infeasibility
from planner.report.result import Answer, Entry, build_result
from planner.report.types import (
    AxesView,
    BaselineView,
    CatalogStamp,
    Limits,
    ProvenanceStamp,
    Result,
)
from planner.spec.document import SpecDocument, read_document
from planner.spec.locate import locate
from planner.spec.resolve import resolve_spec
from planner.spec.types import Spec

if TYPE_CHECKING:
    from planner.candidates.types import Problem
    from planner.explain.types import Flip
    from planner.solve.engine import SolverChild
    from planner.solve.programme import CompiledProgramme
    from planner.solve.ranking import Entry as Ranked
    from planner.solve.ranking import Ranking
    from planner.solve.types import Progress
    from planner.verify.types import Verification


EXPLAIN_SHARE = 0.2
"""Share of the command's time for explaining, at least; what solving and ranking leave is added."""
FULL_TIMES = 2.0
"""A full explanation may take so many default time limits more where nobody gave a limit."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `planner solve`; shares are fractions, times seconds."""

    catalog: str | None = None
    top: int = 6
    within: float = 0.05
    gap: float = 0.001
    max_gap: float | None = None
    time_limit_s: float | None = None
    """None: 30 s, and 10 s more per further service and per service with several classes, at most 300 s."""
    seed: int = 0
    solver: str = "highs"
    explain: str = "fast"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A spec with all names resolved, and what it refers to."""

    document: SpecDocument
    spec: Spec
    catalog: Catalog
    demand: Demand


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run: the document to print, what it was made from, and whether Ctrl-C ended the search."""

    result: Result
    answer: Answer
    interrupted: bool


def load(path: str, catalog: str | None = None) -> Loaded:
    """Read a spec and the catalog that it names (a catalog given on the command line wins).

    Raises InputError with every fault of the spec, or of the catalog fragments it names.
    """
    document = read_document(path)
    choice = document.catalog
    where = choice.path if catalog is None else str(Path(catalog).resolve())
    try:
        rows = load_catalog(where, choice.overlays, document.base_dir, document.price_date)
    except InputError as e:
        # A directory from the command line stands nowhere in the file.
        faults = [replace(f, path=where) if catalog and f.path == "catalog.path" else f for f in e.faults]
        raise InputError(locate(document, faults)) from None
    spec = resolve_spec(document, rows.known_names())
    if spec.measured_files:
        from planner.predict.spec_files import read_measured_files

        spec, rows = read_measured_files(spec, rows, document.base_dir)
    if not (rows.offers or rows.apis or spec.fleet.owned):
        help_ = "give offers or APIs in a catalog overlay, or machines of your own in fleet.owned"
        raise InputError([Fault("C103", "the catalog holds nothing that can be bought", document.path, help=help_)])
    try:
        demand = build_demand(spec, rows)
    except InputError as e:
        raise InputError(locate(document, e.faults)) from None
    return Loaded(document, spec, rows, demand)


LEAST_SHARE = 0.1
"""Least part of the time limit that is left for a first plan, however long preparing took."""
WRITING_SHARE = 0.15
"""Time for the result beside that for preparing: both grow with candidates and refusals (benchmarks.speed)."""


def solve_spec(path: str, options: RunOptions, progress: ProgressLine | None = None) -> Outcome:
    """Solve the spec at `path` (`-`: standard input) and report every verified plan.

    The solver's process starts first and loads its engines while the spec is read. Raises InputError (exit 2),
    SolverError (1), Interrupted (130).
    """
    from planner.solve.engine import SolverChild

    line = progress or ProgressLine(asked=False)
    started = time.monotonic()
    with SolverChild() as child:
        child.start()
        line.stage("reading the spec and the catalog")
        loaded = load(path, options.catalog)
        return solve_loaded(loaded, options, child, line, started)


def default_time_limit_s(demand: Demand) -> float:
    """30 s, 10 s more for each further service, service with several classes and further quarter; at most 300 s."""
    mixed = sum(len(service.classes) > 1 for service in demand.services)
    quarters = len({s.quarter for s in demand.slices})
    return min(300.0, 30.0 + 10.0 * (len(demand.services) - 1 + mixed + quarters - 1))


def left_of(limit_s: float, spent_s: float) -> float:
    """What preparing leaves of a time limit for solving, ranking and explaining; at least a tenth of it.

    What takes long to prepare takes its time to be written down as well, so that is set aside.
    """
    return max(LEAST_SHARE * limit_s, limit_s - (1.0 + WRITING_SHARE) * spent_s)


def solve_loaded(
    loaded: Loaded, options: RunOptions, child: SolverChild, line: ProgressLine, started: float | None = None
) -> Outcome:
    """The part of `solve_spec` after reading; the time limit counts from `started` (monotonic; None: now)."""
    from planner.candidates.build import build_problem
    from planner.explain.breakeven import api_break_evens
    from planner.solve.programme import CompiledProgramme
    from planner.solve.rank import rank
    from planner.solve.ranking import RankOptions
    from planner.verify.verify import Verifier

    started = time.monotonic() if started is None else started
    limit_s = options.time_limit_s or default_time_limit_s(loaded.demand)
    more_s = 0.0 if options.time_limit_s else FULL_TIMES * limit_s
    options = replace(options, time_limit_s=limit_s)
    line.stage("enumerating candidates")
    whole = build_problem(loaded.spec, loaded.catalog, loaded.demand)
    line.stage("building the programme")
    programme = CompiledProgramme.of(whole, loaded.catalog, in_parts=True)
    problem = whole.model_copy(update={"rejected": programme.core.rejected})
    ranking = rank(
        programme,
        Verifier(loaded.spec, loaded.catalog, loaded.demand).verify,
        RankOptions(
            engine=options.solver, time_limit_s=left_of(limit_s, time.monotonic() - started),
            relative_gap=options.gap, seed=options.seed, top=options.top, within=options.within,
        ),
        child,
        _reporter(line),
    )  # fmt: skip
    line.stage("explaining")
    flips = api_break_evens(problem) if options.explain != "none" else ()
    explained, cut, stopped = _explained(ranking, loaded, programme, problem, flips, options, child, started, more_s)
    left_s = limit_s - (time.monotonic() - started)
    why, unsure = _infeasibility(ranking, programme, loaded, child, options, left_s + (limit_s if more_s else 0.0))
    answer = Answer(
        spec=loaded.spec, catalog=loaded.catalog, problem=problem, status=ranking.status,
        deterministic=ranking.deterministic and not (cut or unsure), provenance=_provenance(loaded, problem, options),
        entries=explained,
        notes=ranking.notes,
        baselines=tuple(
            BaselineView(name=b.name, cost=b.total_usd_per_month, failures=b.failures, proven=b.proven)
            for b in ranking.baselines
        ),
        kept=programme.core.candidates,
        infeasibility=why,
    )  # fmt: skip
    return Outcome(build_result(answer), answer, ranking.interrupted or stopped)


def exit_code(outcome: Outcome, max_gap: float | None) -> int:
    """The exit code of a run (DESIGN §8)."""
    result = outcome.result
    if outcome.interrupted:
        return 130
    if result.status == "infeasible":
        return 3
    if not result.plans or (max_gap is not None and result.plans[0].gap > max_gap):
        return 4
    return 0


def _reporter(line: ProgressLine) -> Callable[[str, Progress], None]:
    def report(stage: str, sign: Progress) -> None:
        line.numbers(stage, sign.incumbent, sign.bound)

    return report


def _explained(
    ranking: Ranking[Verification],
    loaded: Loaded,
    programme: CompiledProgramme,
    problem: Problem,
    flips: tuple[Flip, ...],
    options: RunOptions,
    child: SolverChild,
    started: float,
    more_s: float,
) -> tuple[tuple[Entry, ...], bool, bool]:
    """Every ranked plan with its explanation; the first also with what needs re-solves, under `--explain full`.

    The second value says whether a clock decided something in it, the third whether Ctrl-C ended it.
    """
    entries = [_entry(e, loaded, problem, flips, options) for e in ranking.entries]
    if entries and options.explain == "full" and not ranking.interrupted:
        from planner.explain.full import explain_deeply
        from planner.explain.robustness import Contender
        from planner.explain.rule_prices import Answered
        from planner.explain.whatif import Solution

        limit_s = options.time_limit_s or 0.0
        left_s = max(EXPLAIN_SHARE * limit_s, limit_s - (time.monotonic() - started)) + more_s
        first = entries[0]
        cost = first.check.cost.judged_usd_per_month
        winner = ranking.entries[0]
        best = Solution(
            loaded.spec, loaded.catalog, programme, winner.values, winner.plan, winner.verdict, winner.signature
        )
        answered = Answered(cost, min(cost, first.bound_usd_per_month), options.gap)
        told, cut, stopped = explain_deeply(
            first.explanation, loaded.spec, loaded.catalog, answered, child, left_s, best,
            [Contender(e.title, e.plan, e.check) for e in entries], options.solver, options.seed,
        )  # fmt: skip
        entries[0] = replace(first, explanation=told)
        return tuple(entries), cut, stopped
    return tuple(entries), False, False


def _entry(
    ranked: Ranked[Verification], loaded: Loaded, problem: Problem, flips: tuple[Flip, ...], options: RunOptions
) -> Entry:
    from planner.explain.explain import explain_plan
    from planner.explain.types import Explanation

    explanation = Explanation()
    if options.explain != "none":
        explanation = explain_plan(loaded.spec, loaded.catalog, problem, flips, ranked.plan, ranked.verdict)
    return Entry(
        rank=ranked.rank, axis=str(ranked.axis), also=tuple(str(a) for a in ranked.also), title=ranked.title,
        buys=ranked.buys, tie=ranked.tie, plan=ranked.plan, check=ranked.verdict, explanation=explanation,
        bound_usd_per_month=ranked.bound_usd_per_month, gap=ranked.gap, axes=_axes(ranked),
    )  # fmt: skip


def _axes(ranked: Ranked[Verification]) -> AxesView:
    from planner.formulation.axes import Axis

    figures = {axis: value or 0.0 for axis, value in ranked.measures.items()}
    return AxesView(
        committed_usd=figures[Axis.LEAST_COMMITTED],
        spot_share=figures[Axis.LEAST_SPOT],
        api_usd_per_month=figures[Axis.LEAST_API],
        configurations=round(figures[Axis.FEWEST_CONFIGURATIONS]),
        headroom=ranked.measures[Axis.MOST_HEADROOM],
    )


def _infeasibility(
    ranking: Ranking[Verification],
    programme: CompiledProgramme,
    loaded: Loaded,
    child: SolverChild,
    options: RunOptions,
    left_s: float,
) -> tuple[Infeasibility | None, bool]:
    """Why there is no plan, where that is proven, and whether a clock decided something in it."""
    if ranking.status != "infeasible":
        return None, False
    compiled = programme.whole().compiled
    from planner.explain.diagnose import explain_infeasible
    from planner.explain.infeasible import find_conflicts
    from planner.explain.whatif import Clock, WhatIf
    from planner.solve.types import SolveOptions

    limits = SolveOptions(engine=options.solver, time_limit_s=max(1.0, 0.2 * left_s), seed=options.seed)
    if options.explain == "none":
        return Infeasibility(conflicts=find_conflicts(compiled, child, limits)), False
    clock = Clock(max(1.0, left_s))
    whatif = WhatIf(loaded.catalog, child, clock, options.solver, options.seed)
    return explain_infeasible(loaded.spec, compiled, whatif, limits)[0], whatif.cut


def _provenance(loaded: Loaded, problem: Problem, options: RunOptions) -> ProvenanceStamp:
    from importlib.metadata import version

    assumptions = tuple(dict.fromkeys((*loaded.demand.assumptions, *problem.assumptions)))
    return ProvenanceStamp(
        planner=__version__,
        ortools=version("ortools"),
        solver=options.solver,
        seed=options.seed,
        limits=Limits(
            time_limit_s=options.time_limit_s or 0.0, gap=options.gap, max_gap=options.max_gap, within=options.within,
            top=options.top,
        ),
        spec_sha256=loaded.document.sha256,
        catalog=CatalogStamp(
            name=loaded.catalog.name, as_of=loaded.catalog.as_of.isoformat(), sha256=loaded.catalog.sha256
        ),
        assumptions=assumptions,
    )  # fmt: skip
