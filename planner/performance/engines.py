"""An engine as a user names it: `vllm`, `vllm@0.19`, and the defaults of that version."""

from __future__ import annotations

import re

from planner.catalog.catalog import Catalog
from planner.catalog.types import Accelerator, Engine
from planner.errors import Fault, InputError
from planner.performance.memory import LARGE_MEMORY_GB, overhead_row

_VERSION = re.compile(r"^[vb]?\d+(\.\d+)*[A-Za-z0-9.+-]*$")
"""`0.19`, `v0.19.0rc1`, `b6500`."""


def engine_named(text: str, catalog: Catalog) -> Engine:
    """The engine's row with the version behind `@`, where there is one.

    Raises UnknownName for an engine that the catalog does not have, InputError (U113) for what is no version.
    """
    name, at, version = text.partition("@")
    row = catalog.engine(name)
    version = version.strip()
    if not at:
        return row
    if not _VERSION.match(version):
        hint = f"write {row.id}@{row.version}, or {row.id} for the version that plans assume"
        raise InputError([Fault("U113", f"'{version}' is no version of {row.name}", path="--engine", help=hint)])
    return row.model_copy(update={"version": version})


def default_max_num_seqs(engine: Engine, accelerator: Accelerator) -> int:
    """Sequences that the engine schedules at once unless told otherwise, by card size and version."""
    if accelerator.memory_gb < LARGE_MEMORY_GB:
        return engine.max_num_seqs
    return overhead_row(engine).max_num_seqs_large or engine.max_num_seqs_large
