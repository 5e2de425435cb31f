"""What can be bought and what is known about it. Every row says where it is from, when, and how sure it is."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from planner.base import Confidence, Frozen, PurchaseOption

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Price = Annotated[float, Field(ge=0, le=1e6)]
"""USD; above a million per hour or per million tokens is a slip of the unit."""


class Row(Frozen):
    source: str
    """Where the row is from: a publication, a price file, or `seed article …`."""
    as_of: date
    confidence: Confidence


class Accelerator(Row):
    id: str
    aliases: tuple[str, ...] = ()
    vendor: str
    kind: Literal["gpu", "tpu", "npu", "unified", "cpu", "cpu_offload"]
    memory_gb: Positive
    """As on the data sheet."""
    memory_gib_visible: Positive
    """Physical memory as the runtime sees it, GiB."""
    memory_type: str
    bandwidth_gb_per_s: Positive
    bf16_tflops: Positive
    """Dense FP16/BF16 peak with FP32 accumulate."""
    fp8_tflops: Positive | None = None
    int8_tops: Positive | None = None
    fp4_tflops: Positive | None = None
    link: str
    """Scale-up link between accelerators of one machine, `none` if they only share PCIe."""
    link_gb_per_s: NonNegative = 0.0
    """Bidirectional bandwidth of the link per accelerator."""
    host_link_gb_per_s: NonNegative = 64.0
    """One direction to the host (PCIe), or between accelerators without a link."""
    host_memory_gib: NonNegative | None = None
    """Memory of the host that holds the weights of a `cpu_offload` row; None: not stated."""
    compute_capability: str | None = None
    """`9.0`, `gfx942`, … as the engines know it."""
    tdp_w: NonNegative | None = None
    list_price_usd: NonNegative | None = None
    note: str | None = None


class InstanceType(Row):
    id: str
    """`provider/instance_type`."""
    provider: str
    name: str
    accelerator: str
    accelerators: Annotated[int, Field(ge=1, le=10_000)]
    interconnect: str
    """nvlink | nvlink-bridge | infinity-fabric | nvlink-nvl72 | ici | roce | neuronlink | pcie | unified | none."""
    tensor_parallel_domain: Annotated[int, Field(ge=1, le=10_000)]
    """Largest tensor-parallel group: the link's domain, or all accelerators of a machine that has PCIe only."""
    network_gb_per_s: NonNegative = 0.0
    """Between instances, per accelerator, one direction; 0 = a replica may not span instances."""
    vcpus: int | None = None
    memory_gib: float | None = None


UNUSABLE_FLAGS = frozenset({"spot_not_below_on_demand", "superseded", "not_sold"})
"""Flags of offers that stay in the catalog but that no plan buys."""


class Offer(Row):
    """An instance type in a region under a purchase option at a price."""

    provider: str
    region: str
    zone: str = "*"
    instance_type: str
    """The instance type's `name` at this provider."""
    option: PurchaseOption
    price_usd_per_hour: Price
    """Per instance. Zero only for `owned`."""
    term_months: int = 0
    upfront_fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_instances: Annotated[int, Field(ge=0)] | None = None
    """None: not stated."""
    available_from: date | None = None
    """First day on which it is sold; None: today."""
    flags: tuple[str, ...] = ()
    """What is odd about it: `spot_not_below_on_demand`, `superseded`, `not_sold`, `spot_far_below_on_demand`, …"""
    note: str | None = None

    @property
    def usable(self) -> bool:
        """Whether a plan may buy it: kept for the record but not for sale, or no market, if False."""
        return not UNUSABLE_FLAGS.intersection(self.flags)

    @property
    def id(self) -> str:
        """`provider/region[/zone]/instance_type/option`."""
        place = self.region if self.zone == "*" else f"{self.region}/{self.zone}"
        return f"{self.provider}/{place}/{self.instance_type}/{self.option.value}"

    @property
    def pool_id(self) -> str:
        """`provider/region[/zone]/instance_type`."""
        return self.id.rsplit("/", 1)[0]


class Provider(Row):
    id: str
    aliases: tuple[str, ...] = ()
    name: str
    operator_jurisdiction: str | None
    """Country code whose law the operator is under; None: unknown (fails closed)."""
    marketplace: bool = False
    """Third-party hosts: country and operator are unknown unless the offer says so."""
    opt_in: bool = False
    """Planned with only where `policy.providers.allow` names it (hardware to buy rather than to rent)."""
    certifications: tuple[str, ...] = ()
    note: str | None = None


class Region(Row):
    provider: str
    region: str
    country: str | None
    """ISO code, None: unknown (fails closed)."""
    zones: tuple[str, ...] = ()
    """Public zone names; empty: the region is one failure domain."""
    note: str | None = None


class KvGroup(Frozen):
    """Layers that keep the same kind of key-value state."""

    layers: Annotated[int, Field(ge=1)]
    kind: Literal["full", "sliding", "mla", "linear", "compressed"]
    kv_heads: Annotated[int, Field(ge=0)] = 0
    """0: not sharded by tensor parallelism (MLA latent)."""
    elements_per_token: NonNegative = 0.0
    """Cache elements per token and layer over all heads (K and V together)."""
    index_elements_per_token: NonNegative = 0.0
    """Part of `elements_per_token` that holds the keys of a sparse-attention indexer, in 16-bit elements."""
    window: int | None = None
    """Tokens kept by a sliding-window layer."""
    state_elements: NonNegative = 0.0
    """Fixed elements per request and layer (recurrent state)."""
    state_bytes_per_element: Positive = 2.0


class ModelShape(Frozen):
    """What memory and speed depend on. Parameters in units of one parameter (not billions)."""

    layers: Annotated[int, Field(ge=1)]
    hidden: Annotated[int, Field(ge=1)]
    heads: Annotated[int, Field(ge=1)]
    kv_heads: Annotated[int, Field(ge=1)]
    head_dim: Annotated[int, Field(ge=1)]
    vocab: Annotated[int, Field(ge=1)]
    tied_embeddings: bool
    intermediate: Annotated[int, Field(ge=0)]
    """Dense feed-forward width (0: none)."""
    moe_intermediate: int = 0
    moe_layers: int = 0
    experts: int = 0
    experts_per_token: int = 0
    embedding_params: NonNegative
    """Input and output embeddings as stored (once if tied)."""
    dense_params: NonNegative
    """Everything read for every token besides embeddings: attention, dense FFN, shared experts, routers, norms."""
    expert_params: NonNegative = 0.0
    """One routed expert of one layer."""
    vision_params: NonNegative = 0.0
    """Part of dense_params that only images use."""
    attention_params: NonNegative = 0.0
    """Part of dense_params that is attention (kept in 16 bit by some checkpoints)."""
    kv: tuple[KvGroup, ...]

    @property
    def total_params(self) -> float:
        return self.embedding_params + self.dense_params + self.moe_layers * self.experts * self.expert_params

    @property
    def active_params(self) -> float:
        """Read per text token, with embeddings as stored; without the vision tower."""
        routed = self.moe_layers * self.experts_per_token * self.expert_params
        return self.embedding_params + self.dense_params - self.vision_params + routed


class Checkpoint(Frozen):
    """What a published checkpoint of one precision really weighs, where that differs from the rule."""

    precision: str
    weights_gib: Positive
    """All GPUs together."""
    source: str


class LlmModel(Row):
    id: str
    aliases: tuple[str, ...] = ()
    name: str
    family: str
    """Architecture name as engines know it, e.g. `LlamaForCausalLM`."""
    shape: ModelShape
    native_precision: str
    max_context_tokens: Annotated[int, Field(ge=1)]
    checkpoints: tuple[Checkpoint, ...] = ()
    note: str | None = None


class Precision(Row):
    id: str
    aliases: tuple[str, ...] = ()
    bytes_per_param: Positive
    """Including scales, e.g. int4 group 128: 0.5195. Embeddings stay 16 bit."""
    compute: Literal["bf16", "fp8", "int8", "fp4"]
    """Peak that matrix multiplications run at where the hardware supports it natively."""
    weight_only: bool
    """True: dequantised to 16 bit before computing, whatever the hardware."""
    quality_impact: str
    quality_loss_percent_low: NonNegative
    quality_loss_percent_high: NonNegative
    kv_bytes: Positive | None = None
    """Bytes per KV element where the precision may be used for KV; None: not a KV precision."""
    block: int | None = None
    """Width that must divide a rank's share of the feed-forward (Marlin, block FP8): 128."""
    opt_in: bool = False
    """Only planned when the workload lists it (4 bit and below)."""
    embeddings_wide: bool = True
    """Whether embeddings and the output head stay 16 bit; GGUF files quantise them too."""
    note: str | None = None


class EngineOverhead(Frozen):
    """FACTS §1 per engine version range: overhead per GPU."""

    versions: str
    """e.g. `>=0.17`."""
    logits_factor: NonNegative
    """c of c·max_num_seqs·vocab·4 B."""
    minimum_gib: NonNegative
    moe_gib: NonNegative
    non_torch_gib_tp1: NonNegative
    non_torch_gib_tpn: NonNegative
    non_torch_large_gib_tp1: NonNegative | None = None
    """On cards of 80 GB and more, where that differs."""
    non_torch_large_gib_tpn: NonNegative | None = None
    unchunked_up_to_tokens: Annotated[int, Field(ge=0)] = 0
    """Prompts up to this length are profiled in one pass, whose activations count; 0: chunked at the token budget."""
    unchunked_logits_factor: NonNegative = 0.0
    """c where prompts are profiled in one pass: the peak is the larger one of logits and activations."""
    unchunked_in_pipelines: bool = False
    """Whether pipeline stages never chunk prompts."""
    max_num_seqs_large: Annotated[int, Field(ge=1)] | None = None
    """Default on cards of 80 GB and more where these versions differ from the engine's row."""
    admitted_states: Positive = 1.0
    """Recurrent states that a request must find room for before it is admitted, in multiples of one."""
    admits_chunk: bool = False
    """Whether a sliding window needs room for a chunk of prompt besides its width before a request is admitted."""
    source: str


class Engine(Row):
    id: str
    aliases: tuple[str, ...] = ()
    name: str
    version: str
    """The version that plans assume."""
    production: bool
    """Part of the default engine list."""
    vendors: tuple[str, ...]
    """Accelerator vendors it runs on."""
    kinds: tuple[str, ...]
    """Accelerator kinds it runs on."""
    precisions: tuple[str, ...]
    kv_precisions: tuple[str, ...] = ("bf16",)
    tensor_parallel: bool = True
    pipeline_parallel: bool = True
    expert_parallel: bool = False
    max_num_seqs: Annotated[int, Field(ge=1)] = 256
    """Default on cards below 80 GB."""
    max_num_seqs_large: Annotated[int, Field(ge=1)] = 1024
    """Default on cards of 80 GB and more."""
    max_num_batched_tokens: Annotated[int, Field(ge=1)] = 8192
    overheads: tuple[EngineOverhead, ...] = ()
    efficiency: Positive = 1.0
    """Throughput relative to vLLM on the same hardware."""
    families: tuple[str, ...] | None = None
    """Architectures served; None: all that the catalog knows."""
    router: str = "least-request"
    note: str | None = None


class SupportRule(Row):
    """A combination that does not work, or works only weight-only. Blank fields match anything."""

    id: str
    effect: Literal["refuse", "weight_only", "divide", "pad", "prefer"]
    """`divide`: `quantity` divides by the ranks, in whole blocks; `pad`: the engine pads it, so it need not;
    `prefer`: a layout to try beside the plain split."""
    precision: str | None = None
    kv_precision: str | None = None
    engine: str | None = None
    engine_versions: str | None = None
    vendor: str | None = None
    accelerator: str | None = None
    compute_capability_below: float | None = None
    compute_capability_at_least: float | None = None
    family: str | None = None
    parallelism: Literal["tensor", "pipeline", "expert", "attention_data"] | None = None
    attention: Literal["full", "sliding", "mla", "linear", "compressed"] | None = None
    """A kind of attention that the model has."""
    quantity: Literal["heads", "kv_heads", "vocab", "intermediate", "moe_intermediate"] | None = None
    """What is split over ranks (of `divide` and `pad`)."""
    blocks: NonNegative = 1.0
    """A rank's share is a multiple of so many blocks of the precision (Precision.block); 0: of one column."""
    reason: str


class ApiOffer(Row):
    provider: str
    model: str
    """API model id, without the provider."""
    aliases: tuple[str, ...] = ()
    region: str = "global"
    countries: tuple[str, ...] | None = None
    """Where requests are processed; None: unknown (fails closed)."""
    operator_jurisdiction: str | None = None
    certifications: tuple[str, ...] = ()
    input_usd_per_mtok: Price
    output_usd_per_mtok: Price
    cached_input_usd_per_mtok: Price | None = None
    context_tiers: tuple[tuple[int, float, float], ...] = ()
    """(more than so many input tokens, input price, output price), ascending."""
    context_window_tokens: int | None = None
    ttft_p95_ms: Positive | None = None
    tpot_p95_ms: Positive | None = None
    max_req_per_s: NonNegative | None = None
    """None: unknown (flagged)."""
    max_tok_per_min: NonNegative | None = None
    open_weights_model: str | None = None
    """Catalog id of the same LLM, where its weights are open."""
    note: str | None = None

    @property
    def id(self) -> str:
        """`provider/model[@region]`."""
        tail = "" if self.region == "global" else f"@{self.region}"
        return f"{self.provider}/{self.model}{tail}"


class TrafficProfile(Row):
    id: str
    aliases: tuple[str, ...] = ()
    weights: tuple[NonNegative, ...]
    """24 (hour of day) or 168 (hour of week, Monday first) relative rates."""
    description: str


class SpotMarket(Row):
    """How spot behaves; the most specific row wins (provider, accelerator, then `*`)."""

    provider: str = "*"
    accelerator: str = "*"
    interruptions_per_up_hour: NonNegative
    start_h: NonNegative
    availability: Annotated[float, Field(gt=0, le=1)]


class PriceChange(Frozen):
    """An announced change."""

    day: date
    """First day of the new price."""
    factor: Annotated[float, Field(gt=0, le=10)]
    """New price ÷ old price."""


class PricePath(Row):
    """How prices move after the price date; the most specific row wins (provider, accelerator, option, then `*`)."""

    provider: str = "*"
    accelerator: str = "*"
    option: str = "*"
    """A purchase option."""
    decline_per_year: Annotated[float, Field(ge=-1, lt=1)] = 0.0
    """Share that a price loses in a year; below 0 it rises."""
    changes: tuple[PriceChange, ...] = ()
    """Announced changes, beside the decline."""

    def factor(self, day: date, since: date) -> float:
        """Price on a day ÷ price on the price date."""
        years = max(0, (day - since).days) / 365.25
        found = float((1.0 - self.decline_per_year) ** years)
        for change in self.changes:
            if since < change.day <= day:
                found *= change.factor
        return found


class RoundTrip(Row):
    """Network round trip between a client region group and a country or group."""

    client_region: str
    country: str
    rtt_ms: NonNegative


class CountryGroup(Row):
    id: str
    """EU, EEA, …"""
    countries: tuple[str, ...]


class BenchmarkPoint(Frozen):
    """A point that a user measured, of one replica; names are the catalog's. It corrects estimates, it is no capacity.

    At least one of `tpot_ms` and `req_per_s` is given.
    """

    model: str
    precision: str
    kv_precision: str = "bf16"
    engine: str
    engine_version: str | None = None
    """None: the version that plans assume."""
    accelerator: str
    tensor_parallel: Annotated[int, Field(ge=1)] = 1
    pipeline_parallel: Annotated[int, Field(ge=1)] = 1
    expert_parallel: Annotated[int, Field(ge=1)] = 1
    attention_data_parallel: Annotated[int, Field(ge=1)] = 1
    max_num_seqs: Annotated[int, Field(ge=1)] = 256
    max_num_batched_tokens: Annotated[int, Field(ge=1)] = 8192
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    kind: Literal["online", "static_batch", "offline_throughput", "single_stream"] = "online"
    input_tokens: NonNegative
    output_tokens: Annotated[float, Field(ge=1)]
    concurrency: Annotated[float, Field(ge=1)] | None = None
    """Requests in flight on the replica; None: as many as fit."""
    tpot_ms: Positive | None = None
    """Median gap after the first token."""
    ttft_ms: Positive | None = None
    """Median."""
    req_per_s: Positive | None = None
    """Of this replica."""
    source: str
    """File and place in it."""
    on: str | None = None
    """When it was measured, as the file says it."""
