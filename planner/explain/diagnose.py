"""Why there is no plan: the rules that conflict, the smallest changes that make one, and changes that do not help."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base import Check, CheckKind
from planner.candidates.types import Problem, Rejected
from planner.explain.edits import Rule, demand_rule, lift_all, stated_rules
from planner.explain.hitting import Corrections, Memory, find_corrections
from planner.explain.infeasible import find_conflicts
from planner.explain.nearest import nearest_fits
from planner.explain.refusals import DOMINATED
from planner.explain.relax import Narrowed, relaxations_of
from planner.explain.types import IDLE, STILL, Change, Conflict, Infeasibility
from planner.explain.whatif import Clock, WhatIf
from planner.formulation.compile import Compiled
from planner.solve.types import SolveOptions
from planner.spec.types import Spec

SEARCH_SHARE = 0.5
"""Share of the time for finding which rules to give up; the rest is for making the changes small."""
SHORT_CORE = 2
"""Rules of a conflict that is told in passing, or when the time ended."""
MOST_SETS = 6
"""Sets of changes that are told."""
NAMED_BY = ("budget", "quota", "slo", "provider", "purchase", "resilience", "demand")
"""Kinds of rules with a number; a conflict of several is named by the first."""
MOST_UNHELPFUL = 12
"""Single changes that are told not to help."""


def explain_infeasible(
    spec: Spec, compiled: Compiled, whatif: WhatIf, options: SolveOptions
) -> tuple[Infeasibility, tuple[Narrowed, ...]]:
    """Conflicts, relaxations (each solved), single changes without effect, and what would fit.

    Where no rule of the spec stands in the way, the conflicts are those of the programme: classes that nothing can
    serve, or limits and by how much they are missed. The second value are the relaxations with their edited specs.
    """
    rules = {r.id: r for r in sorted(stated_rules(spec, whatif.catalog), key=lambda r: r.kind != "budget")}
    whole = whatif.clock
    whatif.clock = Clock(SEARCH_SHARE * whole.left)
    memory = Memory(lambda ids: whatif.is_possible(_lifted(spec, rules, ids)), too_few=[frozenset()])
    found = find_corrections(tuple(rules), memory, MOST_SETS)
    if not found.sets:
        last = demand_rule(spec)
        rules[last.id] = last
        found = find_corrections(tuple(rules), memory, MOST_SETS)
    narrowed: list[Narrowed] = []
    for number, ids in enumerate(found.sets, start=1):
        whatif.clock = whole if number == len(found.sets) else Clock(whole.left / 2)
        narrowed += relaxations_of(spec, [rules[i] for i in sorted(ids)], whatif)
    whatif.clock = whole
    narrowed.sort(key=lambda n: (len(n.changes), n.usd_per_month, [c.text for c in n.changes]))
    base = find_conflicts(compiled, whatif.child, options)
    conflicts = _conflicts(spec, rules, found, narrowed, whatif, compiled.problem, base) or base
    return (
        Infeasibility(
            conflicts=conflicts,
            relaxations=tuple(n.relaxation() for n in narrowed),
            no_help=_no_help(rules, found, memory),
            nearest=nearest_fits(spec, whatif.catalog, compiled.problem.demand),
            complete=found.complete,
        ),
        tuple(narrowed),
    )


def _lifted(spec: Spec, rules: dict[str, Rule], ids: frozenset[str]) -> Spec:
    return lift_all(spec, [rule for id_, rule in rules.items() if id_ in ids])


def _conflicts(
    spec: Spec, rules: dict[str, Rule], found: Corrections, relaxed: Sequence[Narrowed], whatif: WhatIf,
    problem: Problem, base: Sequence[Conflict],
) -> tuple[Conflict, ...]:  # fmt: skip
    """One conflict per core: its rules, what is missing, and the smallest change of each rule that ends it."""
    short = tuple(dict.fromkeys(c for b in base for c in (b.classes or b.keys[1:2] if _is_class(b) else b.classes)))
    told = []
    for core in _told(found):
        members = [rule for id_, rule in rules.items() if id_ in core]
        changes = [c for m in members if (c := _first_change(m, relaxed)) is not None]
        amounts = [c for c in changes if c.to is not None and c.now is not None]
        check = _physical(whatif.problem(_lifted(spec, rules, frozenset(rules) - core)))
        told.append(_conflict(members, changes, amounts, check, short))
    return tuple(told)


def _told(found: Corrections) -> list[frozenset[str]]:
    """Conflicts that say something: where the time ended, long ones hold rules that nobody got round to leaving out."""
    cores = sorted(found.cores, key=len)
    short = [core for core in cores if found.complete or len(core) <= SHORT_CORE]
    return short or cores[:1]


def _is_class(conflict: Conflict) -> bool:
    return conflict.family == "serve_demand" and len(conflict.keys) > 1


def _conflict(
    members: Sequence[Rule], changes: Sequence[Change], amounts: Sequence[Change], check: Check | None,
    short: tuple[str, ...],
) -> Conflict:  # fmt: skip
    family, by, unit = members[0].family, None, None
    if amounts:
        kinds = {m.id: m for m in members}
        first = min(amounts, key=lambda c: NAMED_BY.index(kinds[c.rule].kind))
        family = kinds[first.rule].family
        by, unit = abs((first.to or 0.0) - (first.now or 0.0)), first.unit
    elif check is not None and isinstance(check.needed, float) and isinstance(check.had, float):
        family, by, unit = check.check, check.needed - check.had, check.unit
    relax = " or ".join(c.text for c in changes) or None
    names = " and ".join(m.text for m in members)
    together = "cannot be kept together" if len(members) > 1 else "cannot be kept"
    why = f": {_why(check)}" if check is not None and not amounts else ""
    if amounts and by is not None:
        why = f", short by {by:,.6g} {unit}"
    return Conflict(
        family=family, keys=tuple(m.id for m in members), short_by=by, unit=unit, relax=relax, classes=short,
        rules=tuple(m.id for m in members), text=f"{names} {together}{why}" + (f" → {relax}" if relax else ""),
    )  # fmt: skip


def _why(check: Check) -> str:
    numbers = f"{check.check.replace('_', ' ')} needed {_number(check.needed)} {check.unit or ''}".rstrip()
    return f"{numbers}, had {_number(check.had)}"


def _number(value: float | str | None) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _first_change(rule: Rule, relaxed: Sequence[Narrowed]) -> Change | None:
    """The rule's change in the first relaxation that has one."""
    return next((c for n in relaxed for c in n.changes if c.rule == rule.id), None)


def _physical(problem: Problem) -> Check | None:
    """Of what fails physics alone the check that is missed least; None where nothing does."""
    numbers = []
    for check in (c for r in problem.rejected if _only_physical(r) for c in r.checks):
        needed, had = check.needed, check.had
        if isinstance(needed, float) and isinstance(had, float) and needed > had > 0:
            numbers.append((needed / had, check))
    return min(numbers, key=lambda n: n[0])[1] if numbers else None


def _only_physical(r: Rejected) -> bool:
    return all(c.kind is CheckKind.PHYSICAL and c.check != DOMINATED for c in r.checks)


def _no_help(rules: dict[str, Rule], found: Corrections, memory: Memory) -> tuple[str, ...]:
    """Single changes that leave no plan: which conflicts they do not end, or that they end none."""
    if not found.cores:
        lone = [r for id_, r in rules.items() if id_ != "demand" and memory.knows(frozenset({id_})) is False]
        return tuple(f"{r.lifted_words()}: {STILL}" for r in lone) if found.sets else ()
    told = []
    alone = {next(iter(s)) for s in found.sets if len(s) == 1}
    idle = [id_ for id_ in rules if not any(id_ in core for core in found.cores)]
    for id_ in [*idle, *(i for i in rules if i not in idle)]:
        if id_ in alone or id_ == "demand":
            continue
        left = [core for core in found.cores if id_ not in core]
        if not left:
            continue
        if id_ in idle:
            reason = IDLE if found.complete else "it ends none of the conflicts found"
        else:
            short = [core for core in left if len(core) <= SHORT_CORE]
            others = [" with ".join(rules[i].text for i in rules if i in core) for core in short]
            reason = f"there remains {'; '.join(others)}" if others else STILL
        told.append(f"{rules[id_].lifted_words()}: {reason}")
    return tuple(told[:MOST_UNHELPFUL])
