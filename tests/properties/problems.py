"""Tiny random problems without a catalog: whatever the programme may state, with ties and near ties of prices."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from planner.base import PurchaseOption
from planner.candidates.types import ApiCandidate, Candidate, OptionPrice, Pool, Problem, QuotaRow, SpotTerms
from planner.demand.types import Service
from planner.performance.types import ReplicaCapability
from planner.spec.types import (
    Budget,
    BudgetBasis,
    OpsOverhead,
    Policy,
    ProviderPolicy,
    Resilience,
    Spare,
    SpareDomain,
    SpotModel,
    SpotPolicy,
)  # fmt: skip
from tests.formulation import small

OD, R1, R3, SPOT, OWNED = (
    PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y, PurchaseOption.RESERVED_3Y, PurchaseOption.SPOT,
    PurchaseOption.OWNED,
)  # fmt: skip
PRICE = st.sampled_from([1.0, 1.0, 1.2, 1.5, 2.0, 3.0])
"""USD per accelerator-hour."""
DISCOUNT = {OD: 1.0, R1: 0.6, R3: 0.5, SPOT: 0.4, OWNED: 0.1}
RATES = st.sampled_from([0.0, 0.4, 1.0, 1.7, 2.3, 3.1])
USES = st.sampled_from([0.25, 0.4, 0.5, 0.8, 1.0, 1.3])


@st.composite
def pools(draw: st.DrawFn, name: str) -> Pool:
    """A pool of 1 to 4 accelerators of two kinds at one of two providers, sold in one to four ways."""
    size, base = draw(st.sampled_from([1, 1, 2, 2, 3, 4])), draw(PRICE)
    options = draw(st.sampled_from([(OD,), (OD, R1), (R1,), (OD, R1, R3), (OD, SPOT), (OD, R1, SPOT), (OWNED,)]))
    prices = {o: round(base * DISCOUNT[o] * size, 4) for o in options}
    most = {o: draw(st.sampled_from([None, None, None, 1, 2])) for o in options}
    spot = None
    if SPOT in options:
        start = draw(st.sampled_from([0.0, 0.2]))
        spot = SpotTerms(
            interruptions_per_up_hour=0.5, start_h=start, availability=draw(st.sampled_from([0.6, 0.9])),
            fallback_offer=f"{name}/on_demand", fallback_usd_per_hour=prices[OD],
        )  # fmt: skip
    found = small.pool(
        name, size, prices, accelerator=draw(st.sampled_from(["X", "X", "Y"])), most=most, spot=spot,
        provider=draw(st.sampled_from(["acme", "acme", "beta"])), region=draw(st.sampled_from(["r", "r", "q"])),
        zone=draw(st.sampled_from(["a", "a", "b", "*"])),
    )  # fmt: skip
    return found.model_copy(update={"prices": tuple(draw(upfront(p)) for p in found.prices)})


@st.composite
def upfront(draw: st.DrawFn, price: OptionPrice) -> OptionPrice:
    """The price, a reserved one perhaps paid upfront."""
    share = draw(st.sampled_from([0.0, 0.0, 1.0])) if price.term_months else 0.0
    return price.model_copy(update={"upfront_fraction": share})


@st.composite
def capabilities(draw: st.DrawFn, classes: int, accelerator: str, number: int) -> ReplicaCapability:
    """A configuration of 1 to 4 accelerators with one or two rows; perhaps one class is not served."""
    size = draw(st.sampled_from([1, 1, 2, 2, 3, 4]))
    scale = draw(st.sampled_from([1.0, 0.9, 0.5])) / size
    unserved = draw(st.sampled_from([None, None, 0, 1])) if classes > 1 else None
    rows = []
    for _ in range(draw(st.integers(1, 2))):
        uses = [round(draw(USES) * scale, 6) for _ in range(classes)]
        rows.append(tuple(float("inf") if r == unserved else u for r, u in enumerate(uses)))
    if unserved is not None:
        rows = [tuple(float("inf") if r == unserved else u for r, u in enumerate(row)) for row in rows]
    return small.capability(size, *rows, accelerator=accelerator, precision=f"p{number}")


@st.composite
def services(draw: st.DrawFn, name: str, slices: int) -> Service:
    """A service with one or two classes, perhaps bands, spares and a spot limit."""
    classes: list[Any] = []
    banded = draw(st.booleans())
    for c in range(draw(st.integers(1, 2))):
        tops = [draw(RATES) for _ in range(slices)]
        bands = [[0.5 * x, x] for x in tops] if banded else [[x] for x in tops]
        means = [sum(b) / len(b) for b in bands]
        classes.append(small.request_class(means, name=f"c{c}", workload=name, bands=bands))
    weights = [[0.5, 0.5] if banded else [1.0]] * slices
    return small.service(
        *classes, max_spot_share=draw(st.sampled_from([0.5, 1.0])), weights=weights, name=name,
        resilience=draw(resilience()),
    )  # fmt: skip


@st.composite
def resilience(draw: st.DrawFn) -> Resilience:
    """Often nothing, else spares by replica, instance or zone, or places that may be lost."""
    spare = draw(st.sampled_from([None, None, None, (1, "replica"), (2, "replica"), (1, "instance"), (1, "zone")]))
    lost = draw(st.sampled_from([(), (), (), (), ("zone",), ("region",), ("provider",), ("spot",), ("spot", "zone")]))
    return Resilience(
        spare=Spare(count=spare[0], domain=SpareDomain(spare[1])) if spare else None,
        survive_loss_of=lost, serve_fraction=draw(st.sampled_from([1.0, 0.5])) if lost else 1.0,
    )  # fmt: skip


@st.composite
def problems(draw: st.DrawFn, most_services: int = 2, most_pools: int = 4, plain: bool = False) -> Problem:
    """A whole problem; `plain`: no counting rules, budgets or quotas."""
    hours = draw(st.sampled_from([(730.0,), (365.0, 365.0), (500.0, 230.0)]))
    market = [draw(pools(f"p{i}")) for i in range(draw(st.integers(1, most_pools)))]
    asked = [draw(services(f"s{i}", len(hours))) for i in range(draw(st.integers(1, most_services)))]
    seats: list[Candidate] = []
    called: list[ApiCandidate] = []
    for s in asked:
        allowed = draw(st.sampled_from([small.ALL, small.ALL, (OD, R1, OWNED), (OD, SPOT)]))
        for accelerator in ("X", "Y"):
            for number in range(draw(st.integers(1, 2))):
                k = draw(capabilities(len(s.classes), accelerator, number))
                for p in market:
                    options = tuple(sorted(o for o in (x.option for x in p.prices) if o in allowed))
                    if p.accelerator == accelerator and options:
                        seats.append(small.candidate(k, p, options, name=s.id))
        if draw(st.sampled_from([False, False, True])):
            limit = draw(st.sampled_from([None, 1.0]))
            called += [small.api(c, draw(st.sampled_from([2e-4, 5e-4])), limit, name=s.id) for c in s.classes]
    found = small.problem(hours, asked, market, seats, called, draw(policies(plain)))
    if plain or draw(st.booleans()):
        return found
    return found.model_copy(update={"quotas": draw(quotas(market))})


@st.composite
def policies(draw: st.DrawFn, plain: bool) -> Policy:
    """Rules over everything."""
    model = draw(st.sampled_from([SpotModel.FALLBACK, SpotModel.CREDITED]))
    fields: dict[str, Any] = {"spot": SpotPolicy(model=model)}
    if not plain:
        budget = Budget(usd_per_month=draw(st.sampled_from([4000.0, 8000.0])), basis=draw(st.sampled_from(BudgetBasis)))
        fields |= {
            "ops_overhead": draw(st.sampled_from([OpsOverhead(), OpsOverhead(fixed_usd_per_month=200.0)])),
            "budget": draw(st.sampled_from([None, None, budget])),
            "max_configurations": draw(st.sampled_from([None, None, 1, 2])),
            "providers": ProviderPolicy(max_count=draw(st.sampled_from([None, None, 1]))),
        }
    return Policy(**fields)


@st.composite
def quotas(draw: st.DrawFn, market: list[Pool]) -> tuple[QuotaRow, ...]:
    """A limit over some pools and options."""
    held = tuple(sorted(p.id for p in market if draw(st.booleans())))
    row = QuotaRow(
        id="q", pools=held, options=draw(st.sampled_from([(OD,), (OD, R1), (R1, R3), (OD, R1, R3, SPOT)])),
        per_accelerator=draw(st.booleans()), limit=float(draw(st.integers(0, 4))),
    )  # fmt: skip
    return (row,) if held else ()
