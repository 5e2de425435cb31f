"""Claims about the order of a list, and about its words."""

from dataclasses import dataclass, replace

from planner.candidates.types import Plan
from planner.formulation.axes import Axis
from planner.solve import words
from planner.solve.arrange import Found, arrange, dominates, entries, is_better

NOTHING = Plan(purchases=(), deployments=(), api=())


@dataclass(frozen=True)
class Usd:
    total_usd_per_month: float

    @property
    def judged_usd_per_month(self) -> float:
        return self.total_usd_per_month


@dataclass(frozen=True)
class Fine:
    cost: Usd
    ok: bool = True
    violations: tuple[str, ...] = ()
    headroom_factor: float | None = 1.0


def found(
    axis: str, usd: float, committed: float = 100.0, spot: float = 0.5, api: float = 0.0, configurations: float = 2.0,
    headroom: float | None = 1.0,
) -> Found[Fine]:  # fmt: skip
    measures: dict[Axis, float | None] = {
        Axis.CHEAPEST: usd, Axis.LEAST_COMMITTED: committed, Axis.LEAST_SPOT: spot, Axis.LEAST_API: api,
        Axis.FEWEST_CONFIGURATIONS: configurations, Axis.MOST_HEADROOM: headroom,
    }  # fmt: skip
    return Found(axis, (), NOTHING, Fine(Usd(usd)), measures, frozenset())


def test_dominated_entry_hands_its_axis_over() -> None:
    cheapest = found(Axis.CHEAPEST, 1000)
    both = found(Axis.LEAST_COMMITTED, 1020, committed=0, spot=0)
    dear = found(Axis.LEAST_SPOT, 1030, committed=0, spot=0)
    assert arrange([cheapest, both, dear]) == [cheapest, replace(both, also=(Axis.LEAST_SPOT,))]


def test_entry_that_is_better_on_something_stays() -> None:
    cheapest = found(Axis.CHEAPEST, 1000)
    first, second = found(Axis.LEAST_COMMITTED, 1020, committed=0), found(Axis.LEAST_SPOT, 1030, spot=0)
    assert arrange([cheapest, second, first]) == [cheapest, first, second]


def test_cheaper_plan_found_later_takes_the_first_place() -> None:
    old, new = found(Axis.CHEAPEST, 1000), found("alternative", 990)
    kept = arrange([old, new])
    assert [(k.axis, k.total) for k in kept] == [(Axis.CHEAPEST, 990)]
    better = found(Axis.CHEAPEST, 1000, spot=0.0)
    assert [(k.axis, k.total) for k in arrange([better, new])] == [(Axis.CHEAPEST, 990), ("alternative", 1000)]
    lucky = found(Axis.LEAST_SPOT, 980, spot=0.0)
    assert [(k.axis, k.also) for k in arrange([old, lucky])] == [(Axis.CHEAPEST, (Axis.LEAST_SPOT,))]


def test_alternatives_stay_although_dominated() -> None:
    cheapest, other = found(Axis.CHEAPEST, 1000), found("alternative", 1500)
    assert dominates(cheapest, other)
    assert arrange([cheapest, other]) == [cheapest, other]


def test_differences_that_nobody_cares_about_are_none() -> None:
    assert not is_better(Axis.LEAST_COMMITTED, 99.5, 100.0)
    assert is_better(Axis.LEAST_COMMITTED, 90.0, 100.0)
    assert not is_better(Axis.LEAST_SPOT, 0.495, 0.5)
    assert is_better(Axis.MOST_HEADROOM, 1.1, 1.0)
    assert not is_better(Axis.MOST_HEADROOM, 1.01, 1.0)
    assert is_better(Axis.MOST_HEADROOM, None, 1.0)
    assert not is_better(Axis.MOST_HEADROOM, 1.0, None)
    assert not is_better(Axis.MOST_HEADROOM, None, None)


def test_titles_and_gains() -> None:
    assert words.title("least_spot", ()) == "Least spot"
    assert words.title("least_spot", ("least_api", "most_headroom")) == "Least spot, least API and most head-room"
    assert words.gain(Axis.LEAST_SPOT, 0.0, 0.4) == "no spot (was 40 % of peak)"
    assert words.gain(Axis.LEAST_API, 20.0, 1234.5) == "API 20 USD/month (was 1,234 USD/month)"
    assert words.gain(Axis.MOST_HEADROOM, None, 1.0) == "head-room no limit (was 1.00× demand)"
    assert words.headline("Cheapest", (), 0, 0, False) == "Cheapest"
    assert (
        words.headline("Least spot", ("no spot",), 0.021, 1234, False)
        == "Least spot: +2.1 % (+1,234 USD/month): no spot"
    )
    assert words.headline("Least spot", ("no spot",), 0.0001, 1, True) == "Least spot: a tie: no spot"
    assert words.gain(Axis.LEAST_SPOT, 0.3, 0.4) == "spot capacity 30 % of peak (was 40 % of peak)"
    assert words.tie_note(["EU operated by EU"], 0.01) == (
        "a tie with the cheapest plan, within the proven gap of 1 %: EU operated by EU"
    )


def test_differences_name_what_stands_instead() -> None:
    best = frozenset({("accelerator", "chat", "H100-SXM"), ("paid", "reserved")})
    other = frozenset({("api", "chat"), ("paid", "on_demand"), ("place", "chat", "EU operated by US")})
    assert words.differences(other, best) == [
        "chat: API instead of H100-SXM",
        "mostly on-demand instead of reserved",
        "chat: EU operated by US",
    ]
    assert words.differences(frozenset({("paid", "reserved")}), best) == ["without chat: H100-SXM"]
    many = frozenset(("accelerator", f"s{i}", "X") for i in range(9))
    assert words.alternative_title(other, best) == "By API"
    assert words.alternative_title(frozenset({("accelerator", "chat", "L40S")}), best) == "On L40S"
    assert words.alternative_title(frozenset({("paid", "reserved")}), best) == "Without H100-SXM"
    assert words.alternative_title(best, best) == "Alternative"
    assert words.alternative_title(other, best, ["By API"]) == "By API, EU operated by US"
    assert words.buys({}, {}, (), many, frozenset(), True)[-1] == "and 5 more differences"


def test_no_bound_is_below_nothing() -> None:
    for bound in (None, -5.0, 0.0):
        (entry,) = entries([found(Axis.CHEAPEST, 1000)], bound, 1)
        assert (entry.bound_usd_per_month, entry.gap) == (0.0, 1.0)
    (closed,) = entries([found(Axis.CHEAPEST, 730.0)], 1.0 - 1e-15, 1)
    assert closed.gap == 0.0
