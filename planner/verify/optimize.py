"""SciPy's optimiser, loaded when first needed: it is heavy and carries no types."""

from __future__ import annotations

from typing import Any


def scipy_optimize() -> Any:
    """The module `scipy.optimize` (linprog, milp, Bounds, LinearConstraint)."""
    import importlib

    return importlib.import_module("scipy.optimize")
