"""Tiny planning cases for hypothesis: everything measured, few columns, so that trying all counts is cheap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.catalog.catalog import Catalog
from planner.catalog.types import ApiOffer, Offer
from planner.spec.types import (
    Budget,
    Fleet,
    LengthClass,
    Measured,
    ProviderPolicy,
    Purchase,
    Quota,
    Resilience,
    Slo,
    Sovereignty,
    Spec,
    SpotPolicy,
    Traffic,
    Workload,
)
from tests import builders as b

OD, R1, R3, SPOT, OWNED, API = (
    PurchaseOption.ON_DEMAND,
    PurchaseOption.RESERVED_1Y,
    PurchaseOption.RESERVED_3Y,
    PurchaseOption.SPOT,
    PurchaseOption.OWNED,
    PurchaseOption.API,
)
CLASS_FACTORS = {"short": 1.0, "long": 0.4, "all": 1.0}
LONG_SHARE = {"short": 0.75, "long": 0.25}


@dataclass(frozen=True)
class Case:
    """A spec with the catalog that it is planned from."""

    spec: Spec
    catalog: Catalog


def sovereign(*countries: str) -> Sovereignty:
    """Data may be processed in these countries only."""
    return Sovereignty(countries=countries)


def prices() -> st.SearchStrategy[float]:
    """USD per accelerator-hour, far enough apart that a cheaper plan is cheaper by more than rounding."""
    return st.sampled_from([0.7, 1.1, 1.9, 2.6, 3.3, 4.9])


@st.composite
def pool_offers(draw: st.DrawFn, provider: str, instance: str, accelerators: int) -> list[Offer]:
    """Offers of one pool in one region: on-demand always, reserved below it, spot below that."""
    price = draw(prices()) * accelerators
    limit = draw(st.sampled_from([None, None, 2, 3]))
    found = [b.offer(provider, "r1", instance, OD, price, max_instances=limit)]
    if draw(st.booleans()):
        found.append(b.offer(provider, "r1", instance, R1, round(price * draw(st.sampled_from([0.45, 0.67, 0.85])), 4)))
    if draw(st.sampled_from([True, True, False])):
        found.append(b.offer(provider, "r1", instance, SPOT, round(price * draw(st.sampled_from([0.3, 0.6])), 4)))
    return found


@st.composite
def catalogs(draw: st.DrawFn, most_pools: int = 2) -> Catalog:
    """One or two pools of 1, 2 or 4 accelerators in Germany or the United States, and at most one API."""
    offers: list[Offer] = []
    types, regions, providers = [], [], []
    for i in range(draw(st.integers(1, most_pools))):
        provider, size = f"cloud{i}", draw(st.sampled_from([1, 2, 4]))
        types.append(b.instance_type(provider, "box", draw(st.sampled_from(["A", "B"])), size))
        country = draw(st.sampled_from(["DE", "DE", "US"]))
        regions.append(b.region(provider, "r1", country))
        providers.append(b.provider(provider, country))
        offers += draw(pool_offers(provider, "box", size))
    return b.make_catalog(
        accelerators=[b.accelerator("A"), b.accelerator("B")],
        instance_types=types,
        offers=offers,
        providers=providers,
        regions=regions,
        apis=draw(st.lists(apis(), max_size=1)),
    )


@st.composite
def apis(draw: st.DrawFn) -> ApiOffer:
    """An API whose price per request is near that of a busy GPU."""
    price = draw(st.sampled_from([0.05, 0.13, 0.31]))
    limit = draw(st.sampled_from([None, None, 1.0]))
    return b.api(input_usd_per_mtok=price, output_usd_per_mtok=2 * price, max_req_per_s=limit)


@st.composite
def measurements(draw: st.DrawFn) -> list[Measured]:
    """One configuration per accelerator, of one or two accelerators; a long request takes more of a replica."""
    rows = []
    for accelerator in ("A", "B"):
        degree, capacity = draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([1.3, 2.1, 3.2]))
        rows += [b.measured(capacity * f, accelerator, degree, class_=n) for n, f in CLASS_FACTORS.items()]
    return rows


@st.composite
def workloads(draw: st.DrawFn, name: str, two_classes: bool) -> Workload:
    """A workload with at most two slices and two classes, no latency promises."""
    low = draw(st.sampled_from([1.0, 0.5, 0.2]))
    traffic: dict[str, Any] = {
        "mean_req_per_s": draw(st.sampled_from([0.3, 0.9, 1.7])),
        "profile": (1.0,) * 12 + (low,) * 12,
    }
    if two_classes:
        lengths = {"short": (1000.0, 500.0), "long": (4000.0, 900.0)}
        traffic["classes"] = tuple(
            LengthClass(name=n, share=LONG_SHARE[n], input_tokens=i, output_tokens=o) for n, (i, o) in lengths.items()
        )
    else:
        traffic |= {"input_tokens": 1000.0, "output_tokens": 500.0}
    return b.workload(
        name,
        traffic=Traffic(**traffic),
        api_equivalents=draw(st.sampled_from([("tiny-api",), ()])),
        resilience=Resilience(spare=draw(st.sampled_from([None, None, {"count": 1}]))),
        sovereignty=draw(st.sampled_from([{}, {}, {"countries": ("EU", "CH")}])),
        purchase=Purchase(
            options=draw(st.sampled_from([tuple(PurchaseOption), (OD, R1, API), (OD, SPOT, API)])),
            max_spot_share=draw(st.sampled_from([None, 0.0, 0.5])),
        ),
    )


@st.composite
def quotas(draw: st.DrawFn) -> tuple[Quota, ...]:
    """At most one quota, sometimes one that binds."""
    if draw(st.integers(0, 2)):
        return ()
    return (
        Quota(
            match=draw(st.sampled_from([{}, {"accelerator": "A"}, {"provider": "cloud0"}])),
            unit=draw(st.sampled_from(["accelerators", "instances"])),
            applies_to=draw(st.sampled_from([(OD, R1, R3, SPOT), (OD,)])),
            limit=float(draw(st.integers(0, 4))),
        ),
    )


@st.composite
def cases(draw: st.DrawFn, two_classes: bool | None = None, most_workloads: int = 1) -> Case:
    """A spec with one workload (or two that do not share replicas) and its catalog."""
    if two_classes is None:
        two_classes = draw(st.booleans())
    catalog = draw(catalogs(most_pools=1 if two_classes else 2))
    names = [f"w{i}" for i in range(draw(st.integers(1, most_workloads)))]
    spec = b.make_spec(
        workloads=[draw(workloads(n, two_classes)) for n in names],
        measured=draw(measurements()),
        policy={
            "quotas": draw(quotas()),
            "headroom": {"target_utilization": 1.0, "forecast_margin": draw(st.sampled_from([1.0, 1.2]))},
            "ops_overhead": draw(st.sampled_from([{}, {"fraction": 0.2, "fixed_usd_per_month": 50.0}])),
        },
    )
    return Case(spec, catalog)


@st.composite
def rich_workloads(draw: st.DrawFn, name: str) -> Workload:
    """A workload with any of the rules that a spec may state; some share replicas with others."""
    w = draw(workloads(name, draw(st.booleans())))
    rate = draw(st.sampled_from([0.2, 1.7, 6.0, 25.0]))
    traffic = w.traffic.model_copy(update={"mean_req_per_s": rate, "dispersion_10s": draw(st.sampled_from([1.0, 5.0]))})
    options = st.sampled_from([tuple(PurchaseOption), (OD, API), (R1, R3, OWNED, OD), (SPOT, OD, R1)])
    return w.model_copy(
        update={
            "traffic": traffic,
            "tenancy": draw(st.sampled_from(["shared", "dedicated"])),
            "slo": draw(
                st.sampled_from([Slo(), Slo(), Slo(tpot_p95_ms=80.0), Slo(ttft_p95_ms=3000.0, tpot_p95_ms=80.0)])
            ),
            "resilience": Resilience(spare=draw(st.sampled_from([None, {"count": 1}, {"count": 2}]))),
            "purchase": Purchase(options=draw(options), max_spot_share=draw(st.sampled_from([None, 0.3, 1.0]))),
        }
    )


@st.composite
def rich_measurements(draw: st.DrawFn) -> list[Measured]:
    """Two configurations per accelerator, as capacities, rates or latency figures."""
    rows: list[Measured] = []
    for accelerator in ("A", "B"):
        for degree in draw(st.sampled_from([(1,), (2,), (1, 2), (2, 4)])):
            capacity = draw(st.sampled_from([1.3, 2.1, 3.2])) * degree**0.9
            kind = draw(st.sampled_from(["capacity", "rates", "figures"]))
            if kind == "capacity":
                rows += [b.measured(capacity * f, accelerator, degree, class_=n) for n, f in CLASS_FACTORS.items()]
            elif kind == "rates":
                figures = {"prefill_tok_per_s": 8000.0 * degree, "decode_tok_per_s": 1500.0 * degree}
                rows.append(b.measured(1.0, accelerator, degree, capacity_req_per_s=None, **figures))
            else:
                figures = {"idle_iteration_ms": 12.0, "work_s_per_request": 0.5 / degree}
                rows.append(b.measured(1.0, accelerator, degree, capacity_req_per_s=None, **figures))
    return rows


@st.composite
def rich_cases(draw: st.DrawFn) -> Case:
    """Cases too large for brute force: more pools, sizes that are no divisor chain, owned machines, every rule."""
    base = draw(cases(two_classes=False))
    kept = base.spec.policy.quotas if draw(st.integers(0, 2)) == 0 else ()
    catalog, sizes = draw(catalogs(most_pools=3)), st.sampled_from([1, 2, 3, 4, 6, 8])
    types = []
    for t in catalog.instance_types:
        size = draw(sizes)
        types.append(t.model_copy(update={"accelerators": size, "tensor_parallel_domain": size}))
    fleet = draw(st.sampled_from([(), ({"accelerator": "A", "accelerators_per_instance": 4, "country": "DE"},)]))
    policy = base.spec.policy.model_copy(
        update={
            "quotas": kept,
            "budget": draw(st.sampled_from([None, None, None, Budget(usd_per_month=20000.0)])),
            "max_configurations": draw(st.sampled_from([None, None, None, 2])),
            "providers": draw(st.sampled_from([ProviderPolicy(), ProviderPolicy(max_count=2)])),
            "spot": draw(st.sampled_from([SpotPolicy(), SpotPolicy(model="credited"), SpotPolicy(availability=0.5)])),
        }
    )
    spec = base.spec.model_copy(
        update={
            "workloads": tuple(draw(rich_workloads(f"w{i}")) for i in range(draw(st.integers(1, 3)))),
            "measured": tuple(draw(rich_measurements())),
            "policy": policy,
            "fleet": Fleet(owned=fleet),
        }
    )
    offers = tuple(
        o.model_copy(update={"max_instances": draw(st.sampled_from([None, None, 9]))}) for o in catalog.offers
    )
    limits = [{"max_req_per_s": draw(st.sampled_from([None, 5.0])), "max_tok_per_min": None} for _ in catalog.apis]
    apis = tuple(a.model_copy(update=u) for a, u in zip(catalog.apis, limits, strict=True))
    return Case(spec, replace(catalog, instance_types=tuple(types), offers=offers, apis=apis))


def permuted(case: Case, draw: st.DrawFn) -> Case:
    """The same case with every list of its input in another order."""

    def shuffle(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(draw(st.permutations(rows)))

    spec, catalog = case.spec, case.catalog
    loads = tuple(
        w.model_copy(
            update={
                "traffic": w.traffic.model_copy(
                    update={"classes": shuffle(w.traffic.classes) if w.traffic.classes else None}
                ),
                "sovereignty": w.sovereignty.model_copy(
                    update={"countries": shuffle(w.sovereignty.countries) if w.sovereignty.countries else None}
                ),
                "purchase": w.purchase.model_copy(update={"options": shuffle(w.purchase.options)}),
            }
        )
        for w in spec.workloads
    )
    policy = spec.policy.model_copy(update={"quotas": shuffle(spec.policy.quotas)})
    lists = {"workloads": shuffle(loads), "measured": shuffle(spec.measured)}
    other = spec.model_copy(update={**lists, "policy": policy, "fleet": Fleet(owned=shuffle(spec.fleet.owned))})
    tables = ("accelerators", "instance_types", "offers", "providers", "regions", "apis")
    return Case(other, replace(catalog, **{t: shuffle(getattr(catalog, t)) for t in tables}))
