"""Numbers as option values: `nan` and `inf` are words that Python reads as floats and nobody means."""

from __future__ import annotations

import math
from typing import Any

import click

LONGEST_S = 31_536_000.0
"""Longest time limit: a year."""


class FiniteRange(click.FloatRange):
    """A range of finite numbers; anything else is bad usage."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises BadParameter (exit 2)."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
