"""One form for specifications that mean the same: the order of a list that is a set says nothing."""

from __future__ import annotations

from typing import TypeVar

from planner.spec.types import Fleet, Policy, Purchase, Resilience, Sovereignty, Spec, Traffic, Workload

T = TypeVar("T", bound=str)


def canonical(spec: Spec) -> Spec:
    """The same specification with every list that is a set sorted and without repetitions.

    The order of catalog overlays and of profile weights means something and stays.
    """
    return spec.model_copy(
        update={
            "workloads": tuple(sorted((_workload(w) for w in spec.workloads), key=lambda w: w.name)),
            "policy": _policy(spec.policy),
            "fleet": Fleet(
                owned=tuple(sorted(spec.fleet.owned, key=lambda o: o.model_dump_json())),
                commitments=tuple(sorted(spec.fleet.commitments, key=lambda c: c.model_dump_json())),
            ),
            "measured": tuple(sorted(dict.fromkeys(spec.measured), key=lambda m: m.model_dump_json())),
        }
    )


def _words(words: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(sorted(set(words)))


def _optional(words: tuple[T, ...] | None) -> tuple[T, ...] | None:
    return None if words is None else _words(words)


def _workload(workload: Workload) -> Workload:
    return workload.model_copy(
        update={
            "models": _words(workload.models),
            "precisions": _optional(workload.precisions),
            "kv_precisions": _words(workload.kv_precisions),
            "engines": _optional(workload.engines),
            "api_equivalents": _words(workload.api_equivalents),
            "traffic": _traffic(workload.traffic),
            "sovereignty": _sovereignty(workload.sovereignty),
            "resilience": _resilience(workload.resilience),
            "purchase": _purchase(workload.purchase),
        }
    )


def _traffic(traffic: Traffic) -> Traffic:
    classes = traffic.classes and tuple(sorted(traffic.classes, key=lambda c: c.name))
    return traffic.model_copy(update={"classes": classes})


def _sovereignty(rule: Sovereignty) -> Sovereignty:
    return Sovereignty(
        countries=_optional(rule.countries),
        operator_jurisdictions=_optional(rule.operator_jurisdictions),
        certifications=_words(rule.certifications),
    )


def _resilience(rule: Resilience) -> Resilience:
    return rule.model_copy(update={"survive_loss_of": _words(rule.survive_loss_of)})


def _purchase(rule: Purchase) -> Purchase:
    return rule.model_copy(update={"options": _words(rule.options)})


def _policy(policy: Policy) -> Policy:
    quotas = (q.model_copy(update={"applies_to": _words(q.applies_to)}) for q in policy.quotas)
    providers = policy.providers
    return policy.model_copy(
        update={
            "quotas": tuple(sorted(dict.fromkeys(quotas), key=lambda q: q.model_dump_json())),
            "providers": providers.model_copy(
                update={"allow": _optional(providers.allow), "deny": _words(providers.deny)}
            ),
            "estimators": _words(policy.estimators),
        }
    )
