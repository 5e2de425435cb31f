"""APIs that a cheaper one without limits replaces."""

from planner.candidates.reduce import reduce_apis
from planner.candidates.types import ApiCandidate, Problem
from planner.spec.types import Policy, ProviderPolicy
from tests.formulation.small import api, problem, request_class, service

CLS = request_class([2.0], apis=("big",))


def offer(name: str, usd: float, limit: float | None = None) -> ApiCandidate:
    return api(CLS, usd, limit).model_copy(update={"api": name})


def kept(*offers: ApiCandidate, policy: Policy | None = None) -> list[str]:
    asked: Problem = problem((730,), [service(CLS)], [], [], list(offers), policy)
    reduced = reduce_apis(asked)
    assert len(reduced.rejected) == len(offers) - len(reduced.apis)
    return [a.api for a in reduced.apis]


def test_only_the_cheapest_unlimited_api_stays() -> None:
    assert kept(offer("a", 0.003), offer("b", 0.001), offer("c", 0.002)) == ["b"]


def test_a_cheaper_api_with_a_limit_stays_beside_it() -> None:
    assert kept(offer("a", 0.003), offer("b", 0.001, limit=1.0), offer("c", 0.002)) == ["b", "c"]


def test_ties_fall_to_the_smaller_name() -> None:
    assert kept(offer("b", 0.001), offer("a", 0.001)) == ["a"]


def test_all_stay_where_providers_are_counted() -> None:
    policy = Policy(providers=ProviderPolicy(max_count=1))
    assert kept(offer("a", 0.003), offer("b", 0.001), policy=policy) == ["a", "b"]
