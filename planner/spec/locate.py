"""Where in a workload file a fault stands that another room found in a part of it (an inline catalog fragment)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from planner.errors import Fault
from planner.spec.document import SpecDocument
from planner.spec.nodes import Mapping, Place, Sequence

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def locate(document: SpecDocument, faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """The faults with line, column and source where their path leads into the document.

    A path is keys and indices, `catalog.overlays[1].offers[0].country`; where it ends in something the file does not
    say (a missing field), the place is that of the nearest thing that it does say. Faults of other files stay as they
    are.
    """
    return tuple(_located(document, fault) for fault in faults)


def _located(document: SpecDocument, fault: Fault) -> Fault:
    if fault.line is not None or fault.file is not None or fault.path is None:
        return fault
    place = _place(document, fault.path)
    if place is None:
        return fault
    source = document.lines[place.line - 1] if place.line <= len(document.lines) else None
    return replace(
        fault,
        file=document.path,
        line=place.line,
        column=place.column,
        length=place.length,
        source=source,
    )


def _place(document: SpecDocument, path: str) -> Place | None:
    node: object = document.root
    place: Place | None = None
    for key, index in _STEP.findall(path):
        if isinstance(node, Mapping) and key in node.entries:
            entry = node.entries[key]
            node = entry.value
            place = entry.key_place if isinstance(node, Mapping | Sequence) else node.place
        elif isinstance(node, Sequence) and index and int(index) < len(node.items):
            node = node.items[int(index)]
            place = node.place
        else:
            break
    return place
