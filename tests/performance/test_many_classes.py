"""A service of hundreds of classes: assessed in bounded passes, whatever their order, and still inside its promises."""

import time

import pytest

from planner.performance import operating
from planner.performance.assess import assess
from planner.performance.types import EngineConfig, RequestLoad
from planner.spec.types import Estimator, Headroom

CONFIG = EngineConfig(
    model="llama-8b", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM", tensor_parallel=1
)


def load(number: int, spread: int = 0) -> RequestLoad:
    tpot = 0.05 + (0.0001 * number if spread else 0.0)
    return RequestLoad(
        id=f"w{number}/all", input_tokens=500 + number * spread, output_tokens=100 + number * spread // 8,
        max_context_tokens=20000, ttft_limit_s=2.0, ttft_quantile=0.95, tpot_limit_s=tpot,
    )  # fmt: skip


def run(catalog, loads):
    return assess(CONFIG, loads, catalog, headroom=Headroom(), batch=False, measured=(), estimators=tuple(Estimator))


@pytest.mark.parametrize("count", [2, 17, 40])
def test_equal_classes_are_one_class(small_catalog, count):
    alone, many = run(small_catalog, [load(0)]), run(small_catalog, [load(r) for r in range(count)])
    shared = {row.name: row.use for row in many.rows}
    for row in alone.rows:
        assert shared[row.name] == pytest.approx([row.use[0]] * count)


def test_order_of_many_classes_changes_nothing(small_catalog):
    loads = [load(r, spread=16) for r in range(40)]
    turned = loads[7:] + loads[:7]
    one, other = run(small_catalog, loads), run(small_catalog, turned)
    at = {x.id: r for r, x in enumerate(turned)}
    for row, same in zip(one.rows, other.rows, strict=True):
        assert row.use == tuple(same.use[at[x.id]] for x in loads)


def test_many_classes_are_tried_at_few_operating_points(small_catalog, monkeypatch):
    tried = []
    cost = operating._cost
    monkeypatch.setattr(operating, "_cost", lambda x, alone, tpot: tried.append(tpot) or cost(x, alone, tpot))
    started = time.monotonic()
    found = run(small_catalog, [load(r, spread=4) for r in range(200)])
    assert all(found.served)
    assert 1 < len(tried) <= operating.MOST_TRIALS
    assert time.monotonic() - started < 5.0
