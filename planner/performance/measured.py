"""Which measured rows speak for a configuration, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from planner.performance.types import EngineConfig, RequestLoad
from planner.spec.types import Measured


class MeasuredKind(StrEnum):
    """What a row states; a capacity says most, rates least."""

    CAPACITY = "capacity"
    FIGURES = "figures"
    RATES = "rates"


def kind_of(row: Measured) -> MeasuredKind | None:
    """The kind of a row; None where it states nothing usable."""
    if row.capacity_req_per_s is not None:
        return MeasuredKind.CAPACITY
    if row.idle_iteration_ms is not None and row.work_s_per_request is not None:
        return MeasuredKind.FIGURES
    if row.prefill_tok_per_s is not None or row.decode_tok_per_s is not None:
        return MeasuredKind.RATES
    return None


def speaks_for(row: Measured, config: EngineConfig) -> bool:
    """Whether a row was measured in this configuration; a row without an engine holds for any."""
    return (
        (row.model, row.accelerator, row.precision) == (config.model, config.accelerator, config.precision)
        and (row.tensor_parallel, row.pipeline_parallel) == (config.tensor_parallel, config.pipeline_parallel)
        and (row.engine is None or row.engine == config.engine)
        and kind_of(row) is not None
    )


def row_for_class(rows: Sequence[Measured], load: RequestLoad) -> Measured | None:
    """The row to trust for a class: one that names it before one for all; a capacity before figures before rates."""
    order = list(MeasuredKind)
    named = [r for r in rows if r.class_ is None or _names(r.class_, load)]
    return min(named, key=lambda r: (r.class_ is None, order.index(kind_of(r) or MeasuredKind.RATES)), default=None)


def _names(name: str, load: RequestLoad) -> bool:
    """Whether `class: short` or `class: workload/short` means this class."""
    return name == load.id or name == load.id.rsplit("/", 1)[-1]
