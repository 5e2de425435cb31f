"""The smallest set of every accelerator for one question."""

from __future__ import annotations

from dataclasses import replace

from planner.catalog.catalog import Catalog
from planner.performance.fit import FitAnswer, FitQuestion, smallest


def survey(question: FitQuestion, catalog: Catalog) -> list[FitAnswer]:
    """One answer for every accelerator: what fits first, by memory bought, then what does not, by name."""
    rows = [smallest(replace(question, accelerator=a), catalog) for a in catalog.accelerators]
    return sorted(rows, key=_order)


def _order(found: FitAnswer) -> tuple[bool, float, str]:
    accelerator = found.question.accelerator
    bought = found.question.config.accelerators * accelerator.memory_gb
    return (not found.fits, bought if found.fits else 0.0, accelerator.id)
