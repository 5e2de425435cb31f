"""llm-inferno's systems: service classes, accelerators, models with performance parameters, servers with load.

A folder holds `accelerator-data.json`, `model-data.json`, `serviceclass-data.json`, `server-data.json` and, where
machines are limited, `capacity-data.json`; or all of them as parts of one `system-data.json`. Costs are in cents per
hour, rates in requests per minute, times in milliseconds. Servers are planned apart, as the peer does; the peer assigns
one kind of accelerator to a server, here a server may be spread over several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.peers.document import Reading, read_json
from planner.peers.queueing import ReplicaQueue, capacity_req_per_ms

PARTS = {
    "accelerators": ("accelerator-data.json", "acceleratorData"),
    "models": ("model-data.json", "modelData"),
    "serviceClasses": ("serviceclass-data.json", "serviceClassData"),
    "servers": ("server-data.json", "serverData"),
    "count": ("capacity-data.json", "capacityData"),
}
"""List → (its file, its part of system-data.json)."""
SYSTEM = "system-data.json"
OPTIMIZER = ("optimizer-data.json", "optimizerData")
CENTS_PER_USD = 100.0
S_PER_MIN = 60.0
MS_PER_S = 1000.0
MAX_BATCH = 100_000
"""Most requests in one batch: beyond any engine."""


@dataclass(frozen=True, slots=True)
class InfernoAccelerator:
    """`multiplicity` chips of a kind that are bought together."""

    name: str
    type: str
    multiplicity: int
    usd_per_hour: float
    memory_gb: float
    bandwidth_gb_per_s: float


@dataclass(frozen=True, slots=True)
class InfernoServer:
    """A service class of a model with its load and the promises made (0: none)."""

    name: str
    service_class: str
    model: str
    req_per_s: float
    input_tokens: float
    output_tokens: float
    ttft_ms: float
    itl_ms: float
    capacity: dict[str, tuple[int, float]]
    """{accelerator: (units of it that one replica takes, requests per second of one replica inside the promises)}."""


@dataclass(frozen=True, slots=True)
class InfernoSystem:
    """A whole problem; `limits` are chips by type (absent: none can be had; None: no limits at all)."""

    accelerators: tuple[InfernoAccelerator, ...]
    servers: tuple[InfernoServer, ...]
    limits: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class _Perf:
    """Performance parameters of a model on an accelerator."""

    units: int
    max_batch: int
    at_tokens: float
    alpha_ms: float
    beta_ms: float
    gamma_ms: float


def read_inferno(folder: str) -> InfernoSystem:
    """The system of a folder. Raises InputError with every fault (I101 … I108)."""
    reading, path = Reading(folder), Path(folder)
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        reading.fault("I101", f"{folder} {what}", help_="give the folder of a system's *-data.json files")
        reading.stop()
    parts = {name: _part(reading, path, name) for name in PARTS}
    limited = parts["count"] is not None and not _unlimited(path)
    reading.stop()
    accelerators = tuple(_accelerator(reading, x, i) for i, x in enumerate(parts["accelerators"] or ()))
    perf = _performance(reading, parts["models"] or (), {a.name for a in accelerators})
    promises = _promises(reading, parts["serviceClasses"] or ())
    limits = _limits(reading, parts["count"] or ()) if limited else None
    reading.stop()
    servers = [_server(reading, x, i, perf, promises) for i, x in enumerate(parts["servers"] or ())]
    _no_doubles(reading, "accelerators", [a.name for a in accelerators])
    _no_doubles(reading, "servers", [s.name for s in servers])
    loaded = tuple(s for s in servers if s.req_per_s > 0)
    if not reading.faults and not loaded:
        reading.fault("I107", "no server has any load, so there is nothing to plan", "servers")
    if not reading.faults and not accelerators:
        reading.fault("I107", "there is no accelerator to choose from", "accelerators")
    reading.stop()
    return InfernoSystem(accelerators, loaded, limits)


def _part(reading: Reading, folder: Path, name: str) -> list[Mapping[str, object]] | None:
    """The objects of one list, from its own file or from the whole system's; None where an optional file is absent."""
    file, part = PARTS[name]
    if (folder / file).is_file():
        owner = reading.mapping(read_json(str(folder / file)), file)
    elif (folder / SYSTEM).is_file():
        whole = reading.mapping(read_json(str(folder / SYSTEM)), SYSTEM)
        owner = reading.mapping(reading.mapping(whole.get("system"), "system").get(part, {}), part)
    elif name == "count":
        return None
    else:
        reading.fault("I101", f"{folder} has neither {file} nor {SYSTEM}", file)
        return None
    if name not in owner and name == "count":
        return None
    return [reading.mapping(x, f"{name}[{i}]") for i, x in enumerate(reading.rows(owner.get(name), name))]


def _unlimited(folder: Path) -> bool:
    """Whether the system says that there is no limit on accelerators."""
    file, part = OPTIMIZER
    where = folder / file if (folder / file).is_file() else folder / SYSTEM
    if not where.is_file():
        return False
    raw = read_json(str(where))
    for key in ("system", part) if where.name == SYSTEM else ():
        raw = raw.get(key) if isinstance(raw, dict) else None
    options = raw.get("optimizer") if isinstance(raw, dict) else None
    return isinstance(options, dict) and options.get("unlimited") is True


def _accelerator(reading: Reading, row: Mapping[str, object], i: int) -> InfernoAccelerator:
    path = f"accelerators[{i}]"
    name = reading.text(row, "name", path)
    return InfernoAccelerator(
        name=name,
        type=reading.text(row, "type", path),
        multiplicity=reading.whole(row.get("multiplicity"), f"{path}.multiplicity", default=1),
        usd_per_hour=reading.number(row.get("cost"), f"{path}.cost", above=0.0) / CENTS_PER_USD,
        memory_gb=reading.number(row.get("memSize"), f"{path}.memSize", above=0.0, default=1.0),
        bandwidth_gb_per_s=reading.number(row.get("memBW"), f"{path}.memBW", above=0.0, default=1.0),
    )


def _performance(
    reading: Reading, models: list[Mapping[str, object]] | tuple[()], accelerators: set[str]
) -> dict[str, dict[str, _Perf]]:
    """{model: {accelerator: parameters}}."""
    found: dict[str, dict[str, _Perf]] = {}
    for i, row in enumerate(models):
        path = f"models[{i}]"
        model, accelerator = reading.text(row, "name", path), reading.text(row, "acc", path)
        if accelerator != "?" and accelerator not in accelerators:
            reading.fault("I108", f"{path}.acc: there is no accelerator {accelerator}", f"{path}.acc")
        parameters = reading.mapping(row.get("perfParms"), f"{path}.perfParms")
        figure = {
            key: reading.number(parameters.get(key), f"{path}.perfParms.{key}") for key in ("alpha", "beta", "gamma")
        }
        if figure["alpha"] + figure["beta"] + figure["gamma"] <= 0:
            reading.fault("I104", f"{path}.perfParms: an iteration must take time", f"{path}.perfParms")
        found.setdefault(model, {})[accelerator] = _Perf(
            units=reading.whole(row.get("accCount"), f"{path}.accCount", default=1),
            max_batch=reading.whole(row.get("maxBatchSize"), f"{path}.maxBatchSize", most=MAX_BATCH),
            at_tokens=reading.number(row.get("atTokens"), f"{path}.atTokens", above=0.0),
            alpha_ms=figure["alpha"], beta_ms=figure["beta"], gamma_ms=figure["gamma"],
        )  # fmt: skip
    return found


Promises = dict[tuple[str, str], tuple[float, float, float]]
"""{(service class, model): (time to first token ms, inter-token ms, tokens per second)}, 0 where none is promised."""


def _promises(reading: Reading, classes: list[Mapping[str, object]] | tuple[()]) -> Promises:
    found: Promises = {}
    for i, row in enumerate(classes):
        path = f"serviceClasses[{i}]"
        name = reading.text(row, "name", path)
        for j, value in enumerate(reading.rows(row.get("modelTargets"), f"{path}.modelTargets")):
            where = f"{path}.modelTargets[{j}]"
            target = reading.mapping(value, where)
            ttft, itl, tps = (
                reading.number(target.get(key), f"{where}.{key}", default=0.0)
                for key in ("slo-ttft", "slo-itl", "slo-tps")
            )
            found[name, reading.text(target, "model", where)] = (ttft, itl, tps)
    return found


def _limits(reading: Reading, counts: list[Mapping[str, object]] | tuple[()]) -> dict[str, int]:
    return {
        reading.text(row, "type", f"count[{i}]"): reading.whole(row.get("count"), f"count[{i}].count", least=0)
        for i, row in enumerate(counts)
    }


def _server(
    reading: Reading, row: Mapping[str, object], i: int, perf: dict[str, dict[str, _Perf]], promises: Promises
) -> InfernoServer:
    path = f"servers[{i}]"
    name, model, service_class = (reading.text(row, key, path) for key in ("name", "model", "class"))
    load = reading.mapping(reading.mapping(row.get("currentAlloc"), f"{path}.currentAlloc").get("load"), f"{path}.load")
    fields = {k.lower(): v for k, v in load.items()}
    minute = reading.number(fields.get("arrivalrate"), f"{path}.load.arrivalRate")
    prompt = reading.number(fields.get("avgintokens"), f"{path}.load.avgInTokens")
    answer = reading.number(fields.get("avgouttokens"), f"{path}.load.avgOutTokens", above=0.0)
    if model not in perf and model != "?":
        reading.fault("I108", f"{path}.model: there are no performance parameters of {model}", f"{path}.model")
    if (service_class, model) not in promises and "?" not in (service_class, model):
        message = f"{path}: service class {service_class} promises nothing for {model}"
        reading.fault("I108", message, f"{path}.class")
    ttft, itl, tps = promises.get((service_class, model), (0.0, 0.0, 0.0))
    batch = reading.whole(row.get("maxBatchSize"), f"{path}.maxBatchSize", least=0, most=MAX_BATCH, default=0)
    capacity = {}
    for accelerator, p in perf.get(model, {}).items() if not reading.faults else ():
        seats = batch or max(int(min(p.max_batch * p.at_tokens / answer, MAX_BATCH)), 1)
        queue = ReplicaQueue(p.alpha_ms, p.beta_ms, p.gamma_ms, prompt, answer, seats)
        rate = capacity_req_per_ms(queue, ttft, itl, tps > 0)
        if rate is not None:
            capacity[accelerator] = (p.units, rate * MS_PER_S)
    load_req_per_s = tps / answer if tps > 0 and minute > 0 else minute / S_PER_MIN
    return InfernoServer(name, service_class, model, load_req_per_s, prompt, answer, ttft, itl, capacity)


def _no_doubles(reading: Reading, what: str, names: list[str]) -> None:
    for name in sorted({n for n in names if names.count(n) > 1}):
        reading.fault("I103", f"two {what} are called {name}", what)
