"""From a document and the catalog's names to a `Spec`: defaults merged, names canonical, every fault at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from planner.base import KnownNames
from planner.errors import Fault, InputError
from planner.spec.canonical import canonical
from planner.spec.checks import CHECKS, LENGTHS, WAYS
from planner.spec.document import SpecDocument
from planner.spec.nodes import Alternative, Entry, Node, Place, is_null, overlay
from planner.spec.nodes import Mapping as MappingNode
from planner.spec.nodes import Sequence as SequenceNode
from planner.spec.reader import Reader, Reading
from planner.spec.shapes import fields_of, record
from planner.spec.support import UNSUPPORTED_KEYS
from planner.spec.types import Policy, Purchase, Resilience, Slo, Sovereignty, Spec, Traffic, Workload

_SLO = tuple(
    Alternative(keys, keys)
    for keys in (frozenset(k for k in Slo.model_fields if k.startswith(m)) for m in ("ttft_", "tpot_"))
)
ALTERNATIVES: Mapping[tuple[str, ...], tuple[Alternative, ...]] = MappingProxyType(
    {
        (): (Alternative(frozenset({"model", "models"}), frozenset({"model", "models"})),),
        ("traffic",): (
            Alternative(frozenset(WAYS), frozenset(WAYS)),
            Alternative(frozenset({"classes"}), frozenset(LENGTHS)),
            Alternative(frozenset(LENGTHS), frozenset({"classes"})),
        ),
        ("slo",): _SLO,
    }
)
"""Where a workload says something one way, the other ways that `defaults` used do not apply to it."""

HOMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(fields_of(Policy), "policy"),
        **dict.fromkeys(fields_of(Slo), "slo"),
        **dict.fromkeys(fields_of(Sovereignty), "sovereignty"),
        **dict.fromkeys(fields_of(Resilience), "resilience"),
        **dict.fromkeys(fields_of(Purchase), "purchase"),
        **dict.fromkeys(fields_of(Traffic), "traffic"),
        **dict.fromkeys(("model", *fields_of(Workload), *UNSUPPORTED_KEYS[Workload]), "a workload"),
        **dict.fromkeys(("defaults", *fields_of(Spec), *UNSUPPORTED_KEYS[Spec]), "the top of the file"),
        "name": "a workload",
    }
)
"""Where a key belongs that was found elsewhere."""


def resolve_spec(doc: SpecDocument, names: KnownNames) -> Spec:
    """The specification of a document, with canonical names, every list of names and rows in canonical order.

    `defaults` are merged below each workload: mappings key by key, anything else is replaced; null takes a default
    away. Raises InputError with all faults in file order (S110, S2xx, S3xx, S401).
    """
    reader = Reader(doc.path, doc.lines, names, CHECKS, UNSUPPORTED_KEYS, HOMES, base_dir=doc.base_dir)
    root = _with_workloads(doc.root, reader)
    found = reader.read(record(Spec), root, _top(doc.root), "a workload file")
    faults = _in_order((*doc.faults, *reader.faults))
    if faults or not isinstance(found, Spec):
        raise InputError(faults)
    return canonical(found)


def _top(root: MappingNode) -> Place:
    return Place(root.place.line, root.place.column, 1)


def _in_order(faults: tuple[Fault, ...]) -> list[Fault]:
    unique = {(f.code, f.line, f.column, f.message): f for f in faults}  # `catalog` is read twice
    return sorted(unique.values(), key=lambda f: (f.line or 0, f.column or 0, f.code, f.message))


def _with_workloads(root: MappingNode, reader: Reader) -> MappingNode:
    """The root without `defaults`, which were checked and merged into the workloads."""
    entries = {k: e for k, e in root.entries.items() if k != "defaults"}
    defaults = root.get("defaults")
    if defaults is not None:
        _check_defaults(defaults, root.entries["defaults"].key_place, reader)
    listed = root.get("workloads")
    if isinstance(listed, SequenceNode):
        base = defaults if isinstance(defaults, MappingNode) else None
        items = tuple(_merged(item, base, reader) for item in listed.items)
        entry = root.entries["workloads"]
        entries["workloads"] = Entry(entry.key, entry.key_place, SequenceNode(items, listed.place))
    return MappingNode(entries, root.place)


def _merged(item: Node, base: MappingNode | None, reader: Reader) -> Node:
    if not isinstance(item, MappingNode):
        return item
    return _with_models(overlay(base, item, ALTERNATIVES) if base else item, reader)


def _with_models(item: MappingNode, reader: Reader) -> MappingNode:
    """`model: x` as `models: [x]`."""
    one = item.entries.get("model")
    if one is None:
        return item
    entries = {k: e for k, e in item.entries.items() if k != "model"}
    if is_null(one.value):
        return MappingNode(entries, item.place)
    if item.get("models") is not None:
        reader.fault("S206", "model and models both say which model", one.key_place, "keep one of them")
        return MappingNode(entries, item.place)
    if isinstance(one.value, SequenceNode):
        reader.fault("S202", "model must be one model", one.value.place, "several acceptable models go into models")
        return MappingNode({**entries, "models": Entry("models", one.key_place, one.value)}, item.place)
    wrapped = SequenceNode((one.value,), one.value.place)
    return MappingNode({**entries, "models": Entry("models", one.key_place, wrapped)}, item.place)


def _check_defaults(defaults: Node, owner: Place, reader: Reader) -> None:
    """Faults of the defaults themselves, whether or not a workload overrides them. Nothing is required here."""
    if not isinstance(defaults, MappingNode):
        reader.fault("S202", "defaults must be a mapping of workload fields", defaults.place)
        return
    if "name" in defaults.entries:
        place = defaults.entries["name"].key_place
        reader.fault("S201", "unknown field 'name' in defaults", place, "every workload has its own name")
    fields = {k: e for k, e in defaults.entries.items() if k != "name"}
    node = _with_models(MappingNode(fields, defaults.place), reader)
    partial = Reader(
        reader.path,
        reader.lines,
        reader.names,
        unsupported=reader.unsupported,
        homes=reader.homes,
        faults=reader.faults,
        unknown=reader.unknown,
    )
    partial.read_fields(Workload, Reading(partial, node, owner, "defaults", {}))
