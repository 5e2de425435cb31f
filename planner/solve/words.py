"""Sentences about ranked plans: titles, what extra money buys, what is different."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from planner.formulation.axes import Axis, Signature

NAMES: dict[Axis, str] = {
    Axis.CHEAPEST: "cheapest",
    Axis.LEAST_COMMITTED: "least committed",
    Axis.LEAST_SPOT: "least spot",
    Axis.LEAST_API: "least API",
    Axis.FEWEST_CONFIGURATIONS: "fewest configurations",
    Axis.MOST_HEADROOM: "most head-room",
}
ALTERNATIVE = "alternative"
PART_NOTE = (
    "plans were sought among the configurations and places that serve each workload cheapest alone; "
    "the bound is one for all"
)
"""What is said where only a part of the programme was searched."""
MOST_DIFFERENCES = 5
"""More are counted, not listed."""


def name_of(axis: str) -> str:
    """The words for an axis value."""
    return NAMES[Axis(axis)] if axis != ALTERNATIVE else ALTERNATIVE


def title(axis: str, also: tuple[str, ...]) -> str:
    """E.g. `Least spot and least API`."""
    words = [name_of(a) for a in (axis, *also)]
    text = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return text[0].upper() + text[1:]


def amount(axis: Axis, value: float | None) -> str:
    """A figure on an axis with its unit."""
    if value is None:
        return "no limit"
    if axis is Axis.LEAST_SPOT:
        return f"{100 * min(value, 1.0):.0f} % of peak"
    if axis is Axis.LEAST_COMMITTED:
        return f"{value:,.0f} USD"
    if axis in (Axis.LEAST_API, Axis.CHEAPEST):
        return f"{value:,.0f} USD/month"
    if axis is Axis.MOST_HEADROOM:
        return f"{value:.2f}× demand"
    return f"{value:.0f}"


_LESS = {
    Axis.LEAST_COMMITTED: ("no commitment", "committed"),
    Axis.LEAST_SPOT: ("no spot", "spot capacity"),
    Axis.LEAST_API: ("no API", "API"),
    Axis.FEWEST_CONFIGURATIONS: ("no own replicas", "configurations"),
}


def gain(axis: Axis, now: float | None, before: float | None) -> str:
    """What an improvement on one axis is, e.g. `no spot (was 40 % of peak)`."""
    if axis is Axis.MOST_HEADROOM:
        return f"head-room {amount(axis, now)} (was {amount(axis, before)})"
    nothing, noun = _LESS[axis]
    if now is not None and now <= 1e-9:
        return f"{nothing} (was {amount(axis, before)})"
    return f"{noun} {amount(axis, now)} (was {amount(axis, before)})"


def tie_note(titles: Sequence[str], gap: float) -> str:
    """The plans that nobody can say are dearer than the cheapest, by their titles as they stand in the list."""
    return f"a tie with the cheapest plan, within the proven gap of {100 * gap:.2g} %: {'; '.join(titles)}"


def headline(title: str, buys: tuple[str, ...], extra: float, usd_per_month: float, tie: bool) -> str:
    """One line for the head of an entry."""
    if not buys:
        return title
    money = "a tie" if tie else extra_money(extra, usd_per_month)
    return f"{title}: {money}: {'; '.join(buys)}"


def extra_money(extra: float, usd_per_month: float) -> str:
    """`+2.1 % (+1,234 USD/month)`."""
    return f"{100 * extra:+.1f} % ({usd_per_month:+,.0f} USD/month)"


def buys(
    now: Mapping[Axis, float | None], before: Mapping[Axis, float | None], better: tuple[Axis, ...],
    signature: Signature, best: Signature, alternative: bool,
) -> tuple[str, ...]:  # fmt: skip
    """Gains on the axes where an entry is better than the cheapest; for an alternative also what is different."""
    found = [gain(axis, now[axis], before[axis]) for axis in better]
    if alternative:
        different = differences(signature, best)
        if len(different) > MOST_DIFFERENCES:
            more = len(different) - MOST_DIFFERENCES + 1
            different = [*different[: MOST_DIFFERENCES - 1], f"and {more} more differences"]
        found = different + found
    return tuple(found)


def differences(signature: Signature, best: Signature) -> list[str]:
    """Features of `signature` that `best` does not have, with what stands there instead."""
    found = []
    for feature in sorted(signature - best):
        slot = _slot(feature)
        instead = next((f for f in sorted(best - signature) if _slot(f) == slot), None)
        text = feature_text(feature)
        found.append(text if instead is None else f"{text} instead of {feature_text(instead, short=True)}")
    if not found:
        found = [f"without {feature_text(f)}" for f in sorted(best - signature)]
    return found


_TITLES = {"accelerator": "On {}", "api": "By API", "precision": "In {}", "model": "With {}", "paid": "Mostly {}"}


def alternative_title(signature: Signature, best: Signature, taken: Collection[str] = ()) -> str:
    """What another kind of plan is called: its most telling difference, e.g. `On H100-SXM`, `By API`.

    Where that is `taken`, with the next difference behind it: `On H100-SXM, in bf16`.
    """
    order = ("accelerator", "api", "model", "place", "precision", "paid")
    names = [
        _TITLES.get(f[0], "{}").format(feature_text(f, short=True))
        for f in sorted(signature - best, key=lambda f: (order.index(f[0]), f))
    ]
    names += [
        f"Without {feature_text(f, short=True)}"
        for f in sorted(best - signature, key=lambda f: (order.index(f[0]), f))
        if not names
    ]
    for count in range(1, len(names) + 1):
        text = ", ".join([names[0], *(n if n[:2].isupper() else n[0].lower() + n[1:] for n in names[1:count])])
        if text not in taken:
            return text
    return ", ".join(names) or title(ALTERNATIVE, ())


def _slot(feature: tuple[str, ...]) -> tuple[str, str]:
    """What two features compete for: a service's accelerator (or API), precision, model, place, or the purse."""
    kind = "accelerator" if feature[0] == "api" else feature[0]
    return kind, feature[1] if feature[0] != "paid" else ""


def feature_text(feature: tuple[str, ...], short: bool = False) -> str:
    """A feature in words: `chat: H100-SXM`, `mostly on-demand`; short: without the service."""
    kind, rest = feature[0], feature[1:]
    if kind == "paid":
        name = rest[0].replace("_", "-")
        return name if short else f"mostly {name}"
    text = "API" if kind == "api" else rest[-1]
    return text if short else f"{rest[0]}: {text}"
