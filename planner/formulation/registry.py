"""The constraint families by the name that reports use, with the unit of their slack and how one would relax them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.formulation.milp import Milp
from planner.formulation.sets import Sets

Function = Callable[[Milp, Sets], None]


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    unit: str
    relax: str
    function: Function

    @property
    def sentence(self) -> str:
        """The first line of the docstring, for people."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


FAMILIES: dict[str, Family] = {}


def family(name: str, *, unit: str, relax: str) -> Callable[[Function], Function]:
    """Register a constraint family; the order of registration is the order of the rows."""

    def register(function: Function) -> Function:
        if name in FAMILIES:
            raise ValueError(f"family {name} is registered twice")
        FAMILIES[name] = Family(name, unit, relax, function)
        return function

    return register
