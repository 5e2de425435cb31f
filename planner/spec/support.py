"""What the format has and this planner does not honour yet: refused at its line unless the value changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from planner.base import Frozen
from planner.spec.nodes import Mapping as MappingNode
from planner.spec.nodes import Node, Scalar
from planner.spec.nodes import Sequence as SequenceNode
from planner.spec.quantities import QuantityError, Unit, parse_number
from planner.spec.reader import Check, Reading
from planner.spec.types import (
    Estimator,
    Fleet,
    SpareDomain,
    Spec,
    Workload,
)


def _is_zero(node: Node) -> bool:
    """0, 0%, or a mapping of which every value is zero (`{low: 0, mid: 0, high: 0}`)."""
    if isinstance(node, MappingNode):
        return all(_is_zero(e.value) for e in node.entries.values())
    if not isinstance(node, Scalar):
        return False
    try:
        return parse_number(node.text, Unit.FRACTION) == 0.0
    except QuantityError:
        return False


def _is_empty(node: Node) -> bool:
    return isinstance(node, SequenceNode) and not node.items


def _is_false(node: Node) -> bool:
    return isinstance(node, Scalar) and node.boolean is False


def _never(_: Node) -> bool:
    return False


def _key(key: str, neutral: Callable[[Node], bool], subject: str, help_: str) -> Check:
    """A rule for a key that no type has: refused unless its value is neutral."""

    def rule(reading: Reading) -> None:
        node = reading.node.get(key)
        if node is not None and not neutral(node):
            refuse(reading, key, subject, help_)

    return rule


def refuse(reading: Reading, key: str, subject: str, help_: str) -> None:
    """Note that a key's value is not supported yet; `subject` says what is not, with its verb."""
    reading.fault("S401", f"{subject} not supported yet", reading.value_place(key), help_)


UNSUPPORTED_KEYS: Mapping[type[Frozen], Mapping[str, Check]] = MappingProxyType(
    {
        Workload: {
            "preemptible": _key("preemptible", _is_false, "preemptible work is", "write false, or leave it out"),
        },
        Fleet: {
            "baseline": _key("baseline", _never, "comparing with an earlier plan is", "leave it out"),
        },
        Spec: {
            "scenarios": _key("scenarios", _is_empty, "scenarios are", "write [], or leave it out"),
        },
    }
)
"""Keys of the format that no type has yet, each with the rule that refuses it."""


MOST_INSTANCES_LOST = 4
"""Instances that may fail at once: more has too many ways to happen."""


def check_spare(reading: Reading) -> None:
    """A few instances at once, or any number of replicas or zones."""
    count = reading.number("count")
    if reading.values.get("domain") == SpareDomain.INSTANCE and count is not None and count > MOST_INSTANCES_LOST:
        help_ = f"write at most {MOST_INSTANCES_LOST}, or count replicas"
        refuse(reading, "count", f"more than {MOST_INSTANCES_LOST} instances that fail at once are", help_)


def check_estimators(reading: Reading) -> None:
    """Silicon tables are not there to be trusted; with the analytic estimator nothing is lost by naming them."""
    trusted = reading.values.get("estimators")
    if isinstance(trusted, tuple) and Estimator.SILICON in trusted and Estimator.ANALYTIC not in trusted:
        refuse(reading, "estimators", "the silicon estimator alone is", "add analytic, or leave silicon out")
