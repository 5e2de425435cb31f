"""Capacity rows against a simulated replica (simpy): what is promised at the sizing rate is kept, and not by waste.

The simulation runs iterations: a chunk of the oldest prompt beside the running batch, a first token when a prompt is
through, a token of every running request per iteration. Its times are the model's own: queueing alone is judged.
Measured over 3 configurations × 4 mixes and two sets of parameters: p95 of the first token 0.1 to 0.9 of its promise,
mean TPOT 0.4 to 1.04 of it, its p95 0.6 to 1.3; with prompts of 4,000 tokens before 200 of answer up to 1.35 and 2.4:
few such prompts hit a request or none. Three times the rate breaks a promise everywhere.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from planner.catalog.load import load_catalog
from planner.performance import analytic
from planner.performance.assess import assess
from planner.performance.cases import make_setup
from planner.performance.parameters import load_parameters
from planner.performance.types import EngineConfig, ReplicaCapability, RequestLoad
from planner.predict.batch import Load, predict_many
from planner.predict.configure import Configurator
from planner.predict.types import Place
from planner.spec.types import Estimator, Headroom

simpy = pytest.importorskip("simpy")

CONFIGS = {
    "small": EngineConfig(
        model="llama-3.1-8b-instruct", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="L4",
        tensor_parallel=1,
    ),
    "large": EngineConfig(
        model="llama-3.3-70b-instruct", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM",
        tensor_parallel=4, max_num_seqs=1024,
    ),
    "sparse": EngineConfig(
        model="qwen3-30b-a3b", precision="fp8", kv_precision="bf16", engine="vllm", accelerator="H100-SXM",
        tensor_parallel=1, max_num_seqs=1024,
    ),
}  # fmt: skip


def load(name: str, tokens: tuple[int, int], ttft_s: float, tpot_s: float | None = None) -> RequestLoad:
    return RequestLoad(
        name, *tokens, ttft_limit_s=ttft_s, ttft_quantile=0.95, tpot_limit_s=tpot_s,
        tpot_quantile=None if tpot_s is None else 0.95,
    )  # fmt: skip


MIXES: dict[str, tuple[tuple[RequestLoad, ...], tuple[float, ...]]] = {
    "chat": ((load("a", (500, 200), 1.0, 0.06),), (1.0,)),
    "documents": ((load("a", (4000, 200), 4.0, 0.08),), (1.0,)),
    "first token": ((load("a", (2000, 100), 2.0),), (1.0,)),
    "mixed": ((load("s", (300, 150), 2.0, 0.06), load("l", (3000, 300), 4.0, 0.06)), (0.8, 0.2)),
}


class Replica:
    """One replica of an engine with chunked prefill, oldest prompt first."""

    def __init__(self, env, config: EngineConfig, loads: Sequence[RequestLoad]) -> None:
        self.env, self.config, self.loads = env, config, loads
        self.steps, self.work, self.latency, self.interference = times(config, tuple(loads))
        self.waiting: list[list[float]] = []
        self.running: list[list[float]] = []
        self.ttft: list[tuple[int, float]] = []
        self.tpot: list[tuple[int, float]] = []
        self.wake = env.event()

    def arrive(self, r: int) -> None:
        self.waiting.append([r, self.env.now, self.loads[r].input_tokens])
        if not self.wake.triggered:
            self.wake.succeed()

    def serve(self):
        while True:
            if not self.waiting and not self.running:
                self.wake = self.env.event()
                yield self.wake
            batch = len(self.running)
            counts = np.bincount([int(q[0]) for q in self.running], minlength=len(self.loads))
            duration = sum(n / batch * self.steps[r][batch] for r, n in enumerate(counts) if n)
            first, share = self._prefill(self.config.max_num_batched_tokens - batch)
            yield self.env.timeout(duration + share * (self.interference if batch else 1.0))
            self._decode()
            for r, arrived, _ in first:
                self.ttft.append((int(r), self.env.now - arrived + self.latency[int(r)] - self.work[int(r)]))
                self.running.append([r, self.env.now, self.loads[int(r)].output_tokens - 1])

    def _prefill(self, budget: float):
        """Prompts that end in this iteration, and the time of its chunks."""
        first, spent = [], 0.0
        while self.waiting and budget > 0 and len(self.running) + len(first) < self.config.max_num_seqs:
            prompt = self.waiting[0]
            chunk, r = min(budget, prompt[2]), int(prompt[0])
            spent += self.work[r] * chunk / self.loads[r].input_tokens
            prompt[2] -= chunk
            budget -= chunk
            if prompt[2] > 0:
                break
            first.append(self.waiting.pop(0))
        return first, spent

    def _decode(self) -> None:
        for q in self.running:
            q[2] -= 1
        for q in [q for q in self.running if q[2] <= 0]:
            gaps = self.loads[int(q[0])].output_tokens - 1
            self.tpot.append((int(q[0]), (self.env.now - q[1]) / gaps))
        self.running = [q for q in self.running if q[2] > 0]


def parameters_of(setups):
    """The parameters of a configuration: its own where there are any, else the global ones."""
    if find_spec("planner.performance.rates") is None:
        return load_parameters().fitted
    return import_module("planner.performance.rates").resolve_rates(setups, load_parameters())


@cache
def times(config: EngineConfig, loads: tuple[RequestLoad, ...]):
    """(step by batch, prefill work, first-token latency) by class, and γ."""
    setups = [make_setup(config, load_catalog())]
    columns, rates = analytic.build_columns(setups, load_parameters()), parameters_of(setups)
    batches = np.arange(0, config.max_num_seqs + 1, dtype=np.float64)[None, :]
    steps = [
        analytic.step_s(columns, rates, batches, np.array([[x.input_tokens + x.output_tokens / 2]])).ravel()
        for x in loads
    ]
    prefills = [analytic.prefill_s(columns, rates, np.array([[x.input_tokens]]), np.zeros((1, 1))) for x in loads]
    gamma = float(np.ravel(rates.interference)[0])
    return steps, [float(p.work_s[0, 0]) for p in prefills], [float(p.latency_s[0, 0]) for p in prefills], gamma


def simulate(config: EngineConfig, loads: Sequence[RequestLoad], rates: Sequence[float], count: int) -> Replica:
    env, random = simpy.Environment(), np.random.default_rng(7)
    replica, total = Replica(env, config, loads), sum(rates)

    def arrivals():
        for _ in range(count):
            yield env.timeout(random.exponential(1 / total))
            replica.arrive(int(random.choice(len(rates), p=np.array(rates) / total)))

    env.process(replica.serve())
    env.run(until=env.process(arrivals()))
    warm = count // 10
    replica.ttft, replica.tpot = replica.ttft[warm:], replica.tpot[warm:]
    return replica


def capacity(config: EngineConfig, loads: Sequence[RequestLoad], shares: Sequence[float]) -> float | None:
    """Largest rate of the mix inside the rows of one replica, at the median of the estimate."""
    found = assess(
        config, loads, load_catalog(), headroom=Headroom(estimate_quantile=0.5, target_utilization=1.0), batch=False,
        measured=(), estimators=tuple(Estimator),
    )  # fmt: skip
    if not isinstance(found, ReplicaCapability) or not all(found.served):
        return None
    return 1.0 / max(sum(s * u for s, u in zip(shares, row.use, strict=True)) for row in found.rows)


def shares_of_promise(replica: Replica) -> dict[str, float]:
    """The worst class's p95 TTFT, mean TPOT and p95 TPOT, each ÷ its promise."""
    worst = {"ttft_p95": 0.0, "tpot_mean": 0.0, "tpot_p95": 0.0}
    for r, x in enumerate(replica.loads):
        first = [t for c, t in replica.ttft if c == r] or [np.inf]  # nobody got through
        worst["ttft_p95"] = max(
            worst["ttft_p95"], float(np.quantile(first, 0.95, method="higher")) / (x.ttft_limit_s or np.inf)
        )
        gaps = [t for c, t in replica.tpot if c == r] or [np.inf]
        if x.tpot_limit_s is not None:
            worst["tpot_mean"] = max(worst["tpot_mean"], float(np.mean(gaps)) / x.tpot_limit_s)
            worst["tpot_p95"] = max(worst["tpot_p95"], float(np.quantile(gaps, 0.95, method="higher")) / x.tpot_limit_s)
    return worst


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("config", CONFIGS)
def test_promises_hold_at_the_capacity_of_the_rows(config: str, mix: str) -> None:
    loads, shares = MIXES[mix]
    rate = capacity(CONFIGS[config], loads, shares)
    if rate is None:
        pytest.skip("this configuration cannot keep these promises")
    found = shares_of_promise(simulate(CONFIGS[config], loads, [rate * s for s in shares], 700))
    assert found["ttft_p95"] <= 1.0
    assert found["tpot_mean"] <= (1.5 if mix == "documents" else 1.15)
    assert found["tpot_p95"] <= (2.8 if mix == "documents" else 1.6)


@pytest.mark.parametrize("mix", ["chat", "documents"])
def test_capacity_is_not_far_below_what_the_replica_takes(mix: str) -> None:
    loads, shares = MIXES[mix]
    for config in CONFIGS.values():
        rate = capacity(config, loads, shares)
        if rate is not None:
            found = shares_of_promise(simulate(config, loads, [3.0 * rate * s for s in shares], 900))
            assert max(found.values()) > 1.0, config.id


@pytest.mark.parametrize("config", CONFIGS)
def test_a_predicted_rate_is_what_is_simulated(config: str) -> None:
    """Measured: TPOT within 5 % up to 0.8 of the capacity (7 % at it, more where the whole batch is in use)."""
    here = CONFIGS[config]
    stated = {n: str(getattr(here, n)) for n in ("tensor_parallel", "precision", "engine", "max_num_seqs")}
    place = Configurator(load_catalog()).configure(Place(here.model, here.accelerator, **stated))
    loads, shares = MIXES["chat"]
    most = capacity(here, loads, shares)
    assert most is not None
    for share in (0.3, 0.8):
        load = Load(loads[0].input_tokens, loads[0].output_tokens, rate=share * most)
        (found,) = predict_many([place], [0], [load], load_parameters())
        simulated = simulate(here, loads, [share * most], 700)
        assert found.tpot_ms == pytest.approx(1e3 * float(np.median([t for _, t in simulated.tpot])), rel=0.15)
        first = 1e3 * float(np.median([t for _, t in simulated.ttft]))
        assert found.ttft_ms is not None and 0.6 * first < found.ttft_ms < 2.0 * first
