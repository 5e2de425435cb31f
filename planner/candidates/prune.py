"""Exact reductions (DESIGN §5.6): a column that another one replaces everywhere never leaves a plan better off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from planner.base import Check, CheckKind
from planner.candidates.types import Rejected
from planner.catalog.catalog import Catalog
from planner.performance.types import EngineConfig, ReplicaCapability


def covers(better: ReplicaCapability, worse: ReplicaCapability) -> bool:
    """Whether g/g′ replicas of `better` (size g′ divides g) serve every mix that one of `worse` (size g) serves.

    Sufficient: `better` serves the classes that `worse` serves, and each of its rows is, scaled by g′/g, nowhere above
    one row of `worse`: Σ x·use′·g′/g ≤ Σ x·use ≤ 1.
    """
    g, h = worse.config.accelerators, better.config.accelerators
    if g % h or any(w and not b for w, b in zip(worse.served, better.served, strict=True)):
        return False
    ratio = h / g
    served = [i for i, w in enumerate(worse.served) if w]
    return all(
        any(all(row.use[i] * ratio <= other.use[i] * (1 + 1e-12) for i in served) for other in worse.rows)
        for row in better.rows
    )


def prune_configs(
    capabilities: Sequence[ReplicaCapability],
    catalog: Catalog,
    hosts: Mapping[EngineConfig, Collection[object]] | None = None,
    equal_size: bool = False,
) -> tuple[list[ReplicaCapability], list[Rejected]]:
    """Configurations on one host that no other one covers, and the covered ones with the one that covers them.

    `hosts`: where each configuration runs. Where configurations are counted (`max_configurations`), one that runs on
    several kinds of hosts is replaced on one of them only by one that could replace it on all.
    `equal_size`: only a replica of the same size replaces one. Where an instance may be lost, which replicas share it
    matters, and several small ones are not lost as one large one is.
    Compared only inside one model and one quality: a precision that loses more quality never removes one that loses
    less. Ties fall to the more usual engine and the smaller id, so the order of the input changes nothing.
    """
    groups: dict[str, list[ReplicaCapability]] = defaultdict(list)
    for capability in capabilities:
        groups[capability.config.model].append(capability)
    # Of engines that serve alike (a measurement may hold for any) the most usual one is named.
    engines = sorted(catalog.engines, key=lambda e: (not e.production, abs(e.efficiency - 1.0), e.id))
    usual = {e.id: position for position, e in enumerate(engines)}
    loss = {p.id: p.quality_loss_percent_high for p in catalog.precisions}

    def may(better: ReplicaCapability, worse: ReplicaCapability) -> bool:
        if equal_size and better.config.accelerators != worse.config.accelerators:
            return False
        return hosts is None or set(hosts[worse.config]) <= set(hosts[better.config])

    kept: list[ReplicaCapability] = []
    rejected: list[Rejected] = []
    for _, members in sorted(groups.items()):
        # Best first: least quality loss is no order of merit here, so smaller and stronger configurations lead.
        ordered = sorted(
            members, key=lambda c: (c.config.accelerators, -_strength(c), usual[c.config.engine], c.config.id)
        )
        survivors: list[ReplicaCapability] = []
        for c in ordered:
            winner = next((s for s in survivors if may(s, c) and _replaces(s, c, loss)), None)
            if winner is None:
                survivors = [s for s in survivors if not (may(c, s) and _drop(s, c, loss, rejected))] + [c]
            else:
                rejected.append(_dominated(c, winner))
        kept += survivors
    return sorted(kept, key=lambda c: c.config.id), rejected


def _drop(old: ReplicaCapability, new: ReplicaCapability, loss: dict[str, float], rejected: list[Rejected]) -> bool:
    if not _replaces(new, old, loss):
        return False
    rejected.append(_dominated(old, new))
    return True


def _replaces(better: ReplicaCapability, worse: ReplicaCapability, loss: dict[str, float]) -> bool:
    quality = loss[better.config.precision] <= loss[worse.config.precision]
    kv_quality = loss[better.config.kv_precision] <= loss[worse.config.kv_precision]
    return quality and kv_quality and covers(better, worse)


def _strength(c: ReplicaCapability) -> float:
    return sum(c.capacity_req_per_s) / c.config.accelerators


def _dominated(c: ReplicaCapability, winner: ReplicaCapability) -> Rejected:
    check = Check(
        check="dominated_by",
        kind=CheckKind.POLICY,
        needed="more capacity per accelerator or better quality than every smaller configuration",
        had=winner.config.id,
        detail="it serves at least as much on the same accelerators",
    )
    return Rejected(what=c.config.id, checks=(check,))
