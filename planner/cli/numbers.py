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


class ShareRange(FiniteRange):
    """A range of shares, as a number (`0.05`) or a percentage (`5%`)."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The share as a fraction. Raises BadParameter (exit 2)."""
        if not (isinstance(value, str) and value.rstrip().endswith("%")):
            return super().convert(value, param, ctx)
        try:
            share = float(value.rstrip()[:-1]) / 100.0
        except ValueError:
            self.fail(f"{value!r} is not a valid share: write 0.05 or 5%.", param, ctx)
        return super().convert(share, param, ctx)
