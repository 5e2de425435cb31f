"""Quotas and replaced pools."""

from planner.base import PurchaseOption
from planner.candidates.reduce import reduce_markets
from planner.candidates.types import QuotaRow
from planner.formulation.compile import compile_milp
from tests.formulation.small import candidate, capability, pool, problem, request_class, service

OD = PurchaseOption.ON_DEMAND


def test_quota_of_a_replaced_pool_leaves_with_it() -> None:
    k, cheap, dear = capability(1, (1.0,)), pool("cheap", 1, {OD: 1.0}), pool("dear", 1, {OD: 2.0})
    p = problem((730,), [service(request_class([3.0]))], [cheap, dear], [candidate(k, cheap), candidate(k, dear)])
    quota = QuotaRow(id="q", pools=("dear",), options=(OD,), per_accelerator=False, limit=1)
    reduced = reduce_markets(p.model_copy(update={"quotas": (quota,)}))
    assert [x.id for x in reduced.pools] == ["cheap"]
    assert reduced.quotas == ()
    assert not any(r.family == "quota" for r in compile_milp(reduced).milp.rows)
