"""The rules that a spec states, each as edits of the spec: lifted, moved by an amount, or widened by an item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from planner.base import Frozen, PurchaseOption
from planner.catalog.catalog import Catalog
from planner.catalog.types import Precision
from planner.explain.places import certifications_lacking, jurisdictions_used, places_used, providers_used
from planner.explain.whatif import Solution
from planner.spec.types import Budget, BudgetBasis, Purchase, Quota, Slo, Spare, Spec, TokenVolume, Traffic, Workload

Edit = Callable[[Spec], Spec]
KINDS = ("sovereignty", "slo", "resilience", "purchase", "quota", "budget", "provider")
"""Kinds of rules that have a price (DESIGN §7), the most interesting first."""
SERVED_STEPS = 100
"""Demand is given up in hundredths."""
MOST_NAMED = 3
"""A rule of all of more workloads than this does not name them."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A rule with a number: what it is now, and how the spec says another."""

    now: float
    unit: str
    step: float
    """The unit of a relaxation: amounts are `now` plus or minus whole steps."""
    looser: int
    """+1: a larger number is looser; −1: a smaller one."""
    last: float | None
    """The loosest number that means anything; None: no end."""
    set: Callable[[Spec, float], Spec]
    shown_by: Callable[[Solution], float | None] | None = None
    """The number that a plan made without the rule keeps."""


@dataclass(frozen=True, slots=True)
class Items:
    """A rule that lists names: what a solution uses beyond the list, and the spec with those names allowed too."""

    beyond: Callable[[Solution], frozenset[str]]
    allow: Callable[[Spec, Collection[str]], Spec]
    verb: str = "allow"
    """What is done with an item: `allow`, `do not require`."""
    preferred: tuple[str, ...] = ()
    """Names that are tried alone first, the best first; then those that the cheapest plan uses."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that the spec demands and a person could give up."""

    id: str
    """Where the file says it: `slo.ttft_p95_ms of chat`, `policy.budget`."""
    kind: str
    """sovereignty | slo | resilience | purchase | quota | budget | provider | quality | demand."""
    family: str
    """Family that reports name (DESIGN §5.3), or the field where the rule is no row."""
    says: str
    """The rule as stated: `200 ms`, `EU`, `5,000 USD/month`."""
    lift: Edit
    amount: Amount | None = None
    items: Items | None = None
    workloads: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The rule in words: `slo.ttft_p95_ms of chat (200 ms)`."""
        return f"{self.id} ({self.says})"

    def lifted_words(self) -> str:
        """What lifting it is called."""
        return f"drop {self.text}"


def stated_rules(spec: Spec, catalog: Catalog) -> tuple[Rule, ...]:
    """Every rule of the spec that could be given up; workloads that state the same rule share one, in file order."""
    found = [*_workload_rules(spec, catalog), *_policy_rules(spec)]
    return tuple(sorted(found, key=lambda r: ((*KINDS, "quality", "demand").index(r.kind), r.id)))


def lift_all(spec: Spec, rules: Collection[Rule]) -> Spec:
    """The spec without the rules."""
    for rule in rules:
        spec = rule.lift(spec)
    return spec


# ---- editing -----------------------------------------------------------------------------------------------------


def edit_workloads(spec: Spec, names: Collection[str], change: Callable[[Workload], Workload]) -> Spec:
    """The spec with some workloads changed."""
    return spec.model_copy(update={"workloads": tuple(change(w) if w.name in names else w for w in spec.workloads)})


def edit_policy(spec: Spec, **update: object) -> Spec:
    """The spec with fields of its policy replaced."""
    return spec.model_copy(update={"policy": spec.policy.model_copy(update=update)})


def scaled_demand(spec: Spec, factor: float, names: Collection[str] | None = None) -> Spec:
    """The spec with `factor` times the traffic, of all workloads or some; lengths and profile stay."""
    every = {w.name for w in spec.workloads} if names is None else names
    return edit_workloads(spec, every, lambda w: w.model_copy(update={"traffic": _scaled(w.traffic, factor)}))


def _scaled(traffic: Traffic, factor: float) -> Traffic:
    update: dict[str, object] = {}
    for field in ("peak_req_per_s", "mean_req_per_s", "requests_per_month", "requests_per_day"):
        value = getattr(traffic, field, None)
        if isinstance(value, int | float):
            update[field] = value * factor
    for field in ("tokens_per_month", "tokens_per_day"):
        volume = getattr(traffic, field, None)
        if volume is not None:
            update[field] = TokenVolume(input=volume.input * factor, output=volume.output * factor)
    return traffic.model_copy(update=update)


# ---- rules of workloads --------------------------------------------------------------------------------------------


def _by_value(spec: Spec, value: Callable[[Workload], object]) -> list[tuple[Any, tuple[str, ...]]]:
    """Values that workloads state (None: states nothing), each with the names of those that do."""
    groups: dict[object, list[str]] = defaultdict(list)
    for w in spec.workloads:
        found = value(w)
        if found is not None:
            groups[found].append(w.name)
    return [(key, tuple(names)) for key, names in groups.items()]


def _of(names: Sequence[str], spec: Spec) -> str:
    """` of chat, docs`; nothing where it is all of many."""
    return "" if len(names) == len(spec.workloads) > MOST_NAMED else f" of {', '.join(names)}"


def _part(part: str, **update: object) -> Callable[[Workload], Workload]:
    """Replace fields of one part of a workload."""

    def change(w: Workload) -> Workload:
        inner: Frozen = getattr(w, part)
        return w.model_copy(update={part: inner.model_copy(update=update)})

    return change


def _workload_rules(spec: Spec, catalog: Catalog) -> list[Rule]:
    found: list[Rule] = []
    for field in ("countries", "operator_jurisdictions"):
        for listed, names in _by_value(spec, lambda w: getattr(w.sovereignty, field)):  # noqa: B023
            found.append(_place_rule(spec, names, field, listed, catalog))
    for listed, names in _by_value(spec, lambda w: w.sovereignty.certifications or None):
        found.append(_certification_rule(spec, names, listed, catalog))
    for field in sorted(f for f in Slo.model_fields if f.startswith(("ttft_", "tpot_"))):
        for value, names in _by_value(spec, lambda w: getattr(w.slo, field)):  # noqa: B023
            found.append(_slo_rule(spec, names, field, value))
    for spare, names in _by_value(spec, _spare):
        found.append(_spare_rule(spec, names, spare))
    for losses, names in _by_value(spec, lambda w: w.resilience.survive_loss_of or None):
        found += [_loss_rule(spec, names, loss) for loss in losses]
    for options, names in _by_value(spec, lambda w: w.purchase.options if _narrow(w.purchase) else None):
        found.append(_options_rule(spec, names, options))
    for share, names in _by_value(spec, _spot_share):
        found.append(_spot_rule(spec, names, share))
    for field, every in (("precisions", precisions_by_quality(catalog)), ("engines", [e.id for e in catalog.engines])):
        for listed, names in _by_value(spec, lambda w: getattr(w, field)):  # noqa: B023
            found.append(_quality_rule(spec, names, field, listed, every))
    return found


def _place_rule(spec: Spec, names: tuple[str, ...], field: str, listed: tuple[str, ...], catalog: Catalog) -> Rule:
    inside = catalog.countries(listed)
    used = places_used if field == "countries" else jurisdictions_used

    def to(s: Spec, items: tuple[str, ...] | None) -> Spec:
        return edit_workloads(s, names, _part("sovereignty", **{field: items}))

    return Rule(
        id=f"sovereignty.{field}{_of(names, spec)}", kind="sovereignty", family="sovereignty", says=", ".join(listed),
        lift=lambda s: to(s, None), workloads=names,
        items=Items(lambda x: used(x, names) - inside, lambda s, items: to(s, tuple(sorted({*listed, *items})))),
    )  # fmt: skip


def _certification_rule(spec: Spec, names: tuple[str, ...], listed: tuple[str, ...], catalog: Catalog) -> Rule:
    def without(s: Spec, items: Collection[str]) -> Spec:
        left = tuple(c for c in listed if c not in items)
        return edit_workloads(s, names, _part("sovereignty", certifications=left))

    return Rule(
        id=f"sovereignty.certifications{_of(names, spec)}", kind="sovereignty", family="sovereignty",
        says=", ".join(listed), lift=lambda s: without(s, listed), workloads=names,
        items=Items(lambda x: certifications_lacking(x, names, listed, catalog), without, "do not require"),
    )  # fmt: skip


def _slo_rule(spec: Spec, names: tuple[str, ...], field: str, value: float) -> Rule:
    def to(s: Spec, limit: float | None) -> Spec:
        return edit_workloads(s, names, _part("slo", **{field: limit}))

    metric = field.split("_")[0]

    def reached(x: Solution) -> float | None:
        own = x.services_of(names)
        times = [getattr(d, f"{metric}_p95_ms") for d in x.check.deliveries if d.service in own]
        return max((t for t in times if t is not None), default=None)

    return Rule(
        id=f"slo.{field}{_of(names, spec)}", kind="slo", family=metric, says=f"{value:,g} ms",
        lift=lambda s: to(s, None), workloads=names, amount=Amount(float(value), "ms", 1.0, 1, None, to, reached),
    )  # fmt: skip


def _spare(w: Workload) -> Spare | None:
    spare = w.resilience.spare
    return spare if spare is not None and spare.count > 0 else None


def _spare_rule(spec: Spec, names: tuple[str, ...], spare: Spare) -> Rule:
    def to(s: Spec, count: float) -> Spec:
        left = spare.model_copy(update={"count": round(count)}) if count >= 1 else None
        return edit_workloads(s, names, _part("resilience", spare=left))

    domain = f"{spare.domain.value}{'s' if spare.count > 1 else ''}"
    return Rule(
        id=f"resilience.spare{_of(names, spec)}", kind="resilience", family="spare", says=f"{spare.count} {domain}",
        lift=lambda s: to(s, 0.0), workloads=names,
        amount=Amount(float(spare.count), f"spare {spare.domain.value}s", 1.0, -1, 0.0, to),
    )  # fmt: skip


def _loss_rule(spec: Spec, names: tuple[str, ...], loss: str) -> Rule:
    def without(w: Workload) -> Workload:
        left = tuple(x for x in w.resilience.survive_loss_of if x != loss)
        return _part("resilience", survive_loss_of=left)(w)

    return Rule(
        id=f"resilience.survive_loss_of {loss}{_of(names, spec)}", kind="resilience", family="survive_loss",
        says=f"{loss} may be lost", lift=lambda s: edit_workloads(s, names, without), workloads=names,
    )  # fmt: skip


def _narrow(p: Purchase) -> bool:
    return set(p.options) != set(PurchaseOption)


def _options_rule(spec: Spec, names: tuple[str, ...], options: tuple[PurchaseOption, ...]) -> Rule:
    def to(s: Spec, items: Collection[str]) -> Spec:
        wider = tuple(o for o in sorted(PurchaseOption) if o in options or o.value in items)
        return edit_workloads(s, names, _part("purchase", options=wider))

    def beyond(x: Solution) -> frozenset[str]:
        bought = {p.option.value for p in x.plan.purchases if any(p.instances)}
        bought |= {PurchaseOption.API.value} if x.apis_of(names) else set()
        return frozenset(bought - {o.value for o in options})

    return Rule(
        id=f"purchase.options{_of(names, spec)}", kind="purchase", family="option",
        says=", ".join(o.value for o in options), lift=lambda s: to(s, [o.value for o in PurchaseOption]),
        workloads=names, items=Items(beyond, to),
    )  # fmt: skip


def _spot_share(w: Workload) -> float | None:
    """The limit on spot where spot may be bought and the limit limits; the default limit is a rule too."""
    promises = w.slo.limit("ttft") is not None or w.slo.limit("tpot") is not None
    share = w.purchase.max_spot_share
    value = (0.5 if promises else 1.0) if share is None else float(share)
    return value if value < 1.0 and PurchaseOption.SPOT in w.purchase.options else None


def _spot_rule(spec: Spec, names: tuple[str, ...], share: float) -> Rule:
    def to(s: Spec, limit: float) -> Spec:
        return edit_workloads(s, names, _part("purchase", max_spot_share=min(1.0, limit)))

    return Rule(
        id=f"purchase.max_spot_share{_of(names, spec)}", kind="purchase", family="spot_limit",
        says=f"{100 * share:g} %", lift=lambda s: to(s, 1.0), workloads=names,
        amount=Amount(share, "of the demand", 0.01, 1, 1.0, to),
    )  # fmt: skip


def _quality_rule(
    spec: Spec, names: tuple[str, ...], field: str, listed: tuple[str, ...], every: Sequence[str]
) -> Rule:
    """What the spec lists of a model's forms: it has no price, but it may stand in the way."""

    def to(s: Spec, items: Collection[str]) -> Spec:
        return edit_workloads(s, names, lambda w: w.model_copy(update={field: tuple(sorted({*listed, *items}))}))

    def beyond(x: Solution) -> frozenset[str]:
        return frozenset(getattr(k, field.removesuffix("s")) for k in x.configs_of(names)) - frozenset(listed)

    return Rule(
        id=f"{field}{_of(names, spec)}", kind="quality", family=field, says=", ".join(listed),
        lift=lambda s: to(s, every), workloads=names, items=Items(beyond, to, preferred=tuple(every)),
    )  # fmt: skip


def precisions_by_quality(catalog: Catalog) -> list[str]:
    """Precisions, those that lose least quality first; of formats alike in size and arithmetic the best known one."""
    kinds: dict[tuple[float, str, bool], Precision] = {}
    for p in catalog.precisions:
        kind = (round(p.bytes_per_param, 1), p.compute, p.weight_only)
        if kind not in kinds or len(p.aliases) > len(kinds[kind].aliases):
            kinds[kind] = p
    rows = sorted(kinds.values(), key=lambda p: (p.quality_loss_percent_high, p.quality_loss_percent_low, p.id))
    return [p.id for p in rows]


def demand_rule(spec: Spec) -> Rule:
    """The last resort: serve a part of the demand only, in hundredths."""
    return Rule(
        id="demand", kind="demand", family="serve_demand", says="all of it",
        lift=lambda s: scaled_demand(s, 1.0 / SERVED_STEPS),
        amount=Amount(1.0, "of the demand", 1.0 / SERVED_STEPS, -1, 1.0 / SERVED_STEPS, scaled_demand),
        workloads=tuple(w.name for w in spec.workloads),
    )  # fmt: skip


# ---- rules over all workloads --------------------------------------------------------------------------------------


def _policy_rules(spec: Spec) -> list[Rule]:
    policy = spec.policy
    found = [] if policy.budget is None else [_budget_rule(policy.budget)]
    found += [_quota_rule(q) for q in dict.fromkeys(policy.quotas) if q.limit != "unknown"]
    found += _provider_rules(spec)
    if policy.max_configurations is not None:
        found.append(
            _count_rule("policy.max_configurations", "provider", "configurations", policy.max_configurations,
                        lambda s, n: edit_policy(s, max_configurations=n))
        )  # fmt: skip
    return found


def _budget_rule(budget: Budget) -> Rule:
    def to(s: Spec, limit: float) -> Spec:
        return edit_policy(s, budget=budget.model_copy(update={"usd_per_month": limit}))

    def spent(x: Solution) -> float:
        cost = x.check.cost
        cash = budget.basis is BudgetBasis.CASH
        return cost.cash_usd_per_month if cash else cost.total_usd_per_month

    return Rule(
        id="policy.budget", kind="budget", family="budget", says=f"{budget.usd_per_month:,g} USD/month",
        lift=lambda s: edit_policy(s, budget=None),
        amount=Amount(float(budget.usd_per_month), "USD/month", 1.0, 1, None, to, spent),
    )  # fmt: skip


def _quota_rule(quota: Quota) -> Rule:
    match = quota.match.model_dump(exclude_none=True)
    where = ", ".join(str(v) for v in match.values()) or "all"
    options = "" if len(quota.applies_to) > 3 else f" {'/'.join(o.value for o in quota.applies_to)}"

    def to(s: Spec, limit: float | None) -> Spec:
        rows = tuple(
            q.model_copy(update={"limit": limit}) if q == quota else q
            for q in s.policy.quotas
            if q != quota or limit is not None
        )
        return edit_policy(s, quotas=rows)

    assert not isinstance(quota.limit, str)
    return Rule(
        id=f"policy.quotas [{where}{options}]", kind="quota", family="quota",
        says=f"{quota.limit:,g} {quota.unit.value}",
        lift=lambda s: to(s, None), amount=Amount(float(quota.limit), quota.unit.value, 1.0, 1, None, to),
    )  # fmt: skip


def _provider_rules(spec: Spec) -> list[Rule]:
    rules, found = spec.policy.providers, []

    def edit(s: Spec, **update: object) -> Spec:
        return edit_policy(s, providers=s.policy.providers.model_copy(update=update))

    if rules.allow is not None:
        allow = rules.allow
        found.append(
            Rule(id="policy.providers.allow", kind="provider", family="provider", says=", ".join(allow),
                 lift=lambda s: edit(s, allow=None),
                 items=Items(lambda x: providers_used(x) - frozenset(allow),
                             lambda s, items: edit(s, allow=tuple(sorted({*allow, *items})))))
        )  # fmt: skip
    if rules.deny:
        deny = rules.deny
        found.append(
            Rule(id="policy.providers.deny", kind="provider", family="provider", says=", ".join(deny),
                 lift=lambda s: edit(s, deny=()),
                 items=Items(lambda x: providers_used(x) & frozenset(deny),
                             lambda s, items: edit(s, deny=tuple(d for d in deny if d not in items))))
        )  # fmt: skip
    if rules.max_count is not None:
        found.append(
            _count_rule("policy.providers.max_count", "provider", "provider_limits", rules.max_count,
                        lambda s, n: edit(s, max_count=n))
        )  # fmt: skip
    return found


def _count_rule(id_: str, kind: str, family: str, now: int, set_: Callable[[Spec, int | None], Spec]) -> Rule:
    return Rule(
        id=id_, kind=kind, family=family, says=str(now), lift=lambda s: set_(s, None),
        amount=Amount(float(now), family.removesuffix("_limits").rstrip("s") + "s", 1.0, 1, None,
                      lambda s, n: set_(s, round(n))),
    )  # fmt: skip
