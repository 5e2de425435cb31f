"""What is written is what is read, in any order, and defaults change nothing but where it is written."""

import json
import random
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.spec.canonical import canonical
from planner.spec.types import Spec

Load = Callable[[str], Spec]
Fields = dict[str, Any]

rates = st.floats(1e-5, 1e5).map(lambda x: float(f"{x:.6g}"))
tokens = st.integers(1, 100_000)
shares = st.floats(0, 1)


def subset(words: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(words), min_size=1, unique=True)


def optional(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Fields]:
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def traffics(draw: st.DrawFn) -> Fields:
    way = draw(st.sampled_from(["peak_req_per_s", "mean_req_per_s", "requests_per_month", "tokens_per_month"]))
    shape = draw(
        optional(
            {
                "profile": st.one_of(st.just("office-hours"), st.lists(st.integers(1, 9), min_size=24, max_size=24)),
                "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]),
                "dispersion_10s": st.floats(1, 50),
                "cached_input_fraction": st.floats(0, 0.9),
            }
        )
    )
    if way == "tokens_per_month":
        return {way: {"input": draw(st.integers(10, 10**12)), "output": draw(st.integers(10, 10**12))}, **shape}
    amount = draw(rates) * (1e6 if way == "requests_per_month" else 1.0)
    if draw(st.booleans()):
        return {way: amount, "input_tokens": draw(tokens), "output_tokens": draw(tokens), **shape}
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True))
    classes = [
        {"name": n, "share": 1.0 / len(names), "input_tokens": draw(tokens), "output_tokens": draw(tokens)}
        for n in names
    ]
    return {way: amount, "classes": classes, **shape}


options = subset([o.value for o in PurchaseOption])
slos = optional({"ttft_p95_ms": st.integers(11, 9999), "tpot_p99_ms": rates, "client_region": st.just("eu-west")})
workloads = st.builds(
    lambda traffic, fields: {"traffic": traffic, **fields},
    traffics(),
    optional(
        {
            "precisions": subset(["bf16", "fp8", "int4"]),
            "engines": subset(["vllm", "sglang"]),
            "tenancy": st.sampled_from(["shared", "dedicated"]),
            "gpu_memory_utilization": st.floats(0.1, 1),
            "api_equivalents": subset(["mistral-large-3"]),
            "slo": optional(
                {"ttft_p95_ms": st.integers(11, 9999), "tpot_p99_ms": rates, "client_region": st.just("eu-west")}
            ),
            "sovereignty": optional({"countries": subset(["EU", "NO", "US"]), "certifications": subset(["iso27001"])}),
            "purchase": optional({"options": options, "max_spot_share": shares}),
            "resilience": optional({"spare": optional({"count": st.integers(0, 3)})}),
        }
    ),
)
policies = optional(
    {
        "budget": st.fixed_dictionaries({"usd_per_month": rates}),
        "quotas": st.lists(
            st.fixed_dictionaries(
                {
                    "match": optional({"provider": st.sampled_from(["aws", "gcp"]), "accelerator": st.just("L4")}),
                    "limit": st.one_of(st.integers(0, 99), st.just("unknown")),
                },
                optional={"applies_to": options, "unit": st.sampled_from(["accelerators", "instances"])},
            ),
            max_size=3,
        ),
        "providers": optional({"allow": subset(["aws", "gcp"]), "max_count": st.integers(1, 4)}),
        "headroom": optional({"forecast_margin": st.floats(1, 3), "target_utilization": st.floats(0.1, 1)}),
    }
)


@st.composite
def specs(draw: st.DrawFn) -> Fields:
    listed = draw(st.lists(workloads, min_size=1, max_size=3))
    named = [
        {"name": f"w{i}", "models": draw(subset(["llama-3.3-70b-instruct", "llama-3.1-8b-instruct"])), **w}
        for i, w in enumerate(listed)
    ]
    return {"schema_version": 1, "name": "review", "workloads": named, "policy": draw(policies)}


quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(specs())
def test_what_is_written_is_what_is_read(load: Load, fields: Fields) -> None:
    assert load(json.dumps(fields)) == canonical(Spec.model_validate(fields))


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same with every list and mapping in another order; profile weights stay."""
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {k: value[k] if k == "profile" else shuffled(value[k], rng) for k in keys}
    if isinstance(value, list):
        return [shuffled(v, rng) for v in rng.sample(value, len(value))]
    return value


@quick
@given(specs(), st.randoms(use_true_random=False))
def test_no_order_changes_a_byte(load: Load, fields: Fields, rng: random.Random) -> None:
    assert load(json.dumps(shuffled(fields, rng))).model_dump_json() == load(json.dumps(fields)).model_dump_json()


@quick
@given(specs())
def test_one_workload_may_be_written_as_defaults(load: Load, fields: Fields) -> None:
    only = {**fields, "workloads": fields["workloads"][:1]}
    name, rest = only["workloads"][0]["name"], {k: v for k, v in only["workloads"][0].items() if k != "name"}
    assert load(json.dumps({**only, "workloads": [{"name": name}], "defaults": rest})) == load(json.dumps(only))
