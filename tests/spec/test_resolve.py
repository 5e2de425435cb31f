"""A sound file becomes a spec; a faulty one says everything at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.base import KnownNames, PurchaseOption
from planner.errors import Fault, InputError
from planner.spec.document import read_document
from planner.spec.resolve import resolve_spec
from planner.spec.types import Spec, TokenVolume

HEAD = "schema_version: 1\nname: review\n"
Load = Callable[[str], Spec]
Faults = Callable[[str], list[Fault]]

FULL = """\
schema_version: 1
name: eu-review-2027q1
horizon: {start: 2027-01-01, quarters: 1, terminal: repeat, discount_rate_per_year: 0.0}
defaults:
  slo: {ttft_p95_ms: 2s}
workloads:
  - name: health-chat
    models: [LLAMA-70B, llama-3.1-8b-instruct]
    precisions: [fp8, fp16]
    kv_precisions: [bf16, fp8]
    engines: [vllm]
    max_context_tokens: 16k
    gpu_memory_utilization: 92%
    max_num_seqs: null
    api_equivalents: [mistral-large-3]
    tenancy: shared
    traffic:
      peak_req_per_s: 6
      peak_to_mean: 2.5
      profile: office-hours
      timezone: europe/berlin
      dispersion_10s: 4
      classes:
        - {name: short, share: 80%, input_tokens: 1200, output_tokens: 300}
        - {name: long, share: 0.2, input_tokens: 4000, output_tokens: 600}
      cached_input_fraction: 0.0
      growth_per_quarter: {low: 0, mid: 0, high: 0}
      token_growth_per_quarter: 0.0
    slo: {tpot_p95_ms: 60, client_region: eu-west}
    sovereignty: {countries: [eu, no], operator_jurisdictions: [EU], certifications: [iso27001]}
    resilience: {spare: {count: 1, domain: replica}, survive_loss_of: [], serve_fraction: 1.0}
    purchase: {options: [on_demand, reserved-1y], max_spot_share: 0.5}
  - name: bulk
    kind: online
    model: llama-3.1-8b-instruct
    traffic: {tokens_per_day: {input: 6G, output: 400M}, input_tokens: 3000, output_tokens: 200}
    preemptible: false
    slo: {ttft_p95_ms: null}
policy:
  budget: {usd_per_month: $50_000, basis: amortised}
  quotas:
    - {match: {provider: aws, region: eu-central-1, accelerator: h100-80gb}, applies_to: [on_demand], limit: 64}
    - {match: {provider: gcp}, unit: instances, limit: unknown}
  providers: {deny: [vast-ai], allow: [aws, mistral]}
  estimators: [measured, silicon, analytic]
  spot: {model: fallback, interruptions_per_up_hour: 0.12, start_h: 9min, availability: 0.9, rework_fraction: 0.0}
  max_configurations: 6
  ops_overhead: {fraction: 30%, fixed_usd_per_month: 0}
  headroom: {forecast_margin: 1.2, target_utilization: 0.9, estimate_quantile: 0.7}
  price_date: 2026-11-30
fleet:
  commitments: []
  owned:
    - {accelerator: rtx-4090, accelerators_per_instance: 8, instances: 1, country: DE, usd_per_used_hour: 0.56}
  baseline: null
catalog:
  path: null
  overlays: [own.yaml, {offers: [{provider: aws, price_usd_per_hour: 1e1, as_of: 2026-11-30, flag: no}]}]
measured:
  - model: llama-70b
    accelerator: H100-SXM
    tensor_parallel: 2
    precision: fp8
    prefill_tok_per_s: 11k
    decode_tok_per_s: 2500
  - {model: llama-3.1-8b-instruct, accelerator: L4, precision: fp8, class: short, capacity_req_per_s: 3.2}
  - {model: llama-3.1-8b-instruct, accelerator: L4, precision: bf16, idle_iteration_ms: 12, work_s_per_request: 80ms}
scenarios: []
"""


def test_every_honoured_field_is_read(load: Load) -> None:
    spec = load(FULL)
    bulk, chat = spec.workloads
    assert chat.models == ("llama-3.1-8b-instruct", "llama-3.3-70b-instruct")
    assert chat.precisions == ("bf16", "fp8")
    assert chat.max_context_tokens == 16000
    assert chat.gpu_memory_utilization == 0.92
    assert chat.traffic.timezone == "Europe/Berlin"
    assert chat.traffic.classes is not None
    assert [c.share for c in chat.traffic.classes] == [0.2, 0.8]
    assert chat.slo.ttft_p95_ms == 2000.0
    assert chat.sovereignty.countries == ("EU", "NO")
    assert chat.purchase.options == (PurchaseOption.ON_DEMAND, PurchaseOption.RESERVED_1Y)
    assert bulk.traffic.tokens_per_day == TokenVolume(input=6e9, output=4e8)
    assert bulk.slo.ttft_p95_ms is None
    assert spec.policy.budget is not None
    assert spec.policy.budget.usd_per_month == 50_000.0
    assert spec.policy.quotas[0].match.accelerator == "H100-SXM"
    assert spec.policy.quotas[1].limit == "unknown"
    assert spec.policy.providers.allow == ("aws", "mistral")
    assert spec.policy.spot.start_h == pytest.approx(0.15)
    assert spec.policy.ops_overhead.fraction == 0.3
    assert spec.fleet.owned[0].accelerator == "RTX-4090"
    assert {m.class_ for m in spec.measured} == {None, "short"}
    assert {m.work_s_per_request for m in spec.measured} == {None, 0.08}
    assert {m.prefill_tok_per_s for m in spec.measured} == {None, 11000.0}


def test_inline_overlays_are_yaml_1_2(load: Load) -> None:
    path, inline = load(FULL).catalog.overlays
    assert path == "own.yaml"
    row = {"provider": "aws", "price_usd_per_hour": 10.0, "as_of": "2026-11-30", "flag": "no"}
    assert inline == {"offers": [row]}


def test_document_gives_what_the_catalog_needs(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(FULL, encoding="utf-8")
    doc = read_document(str(path))
    assert str(doc.price_date) == "2026-11-30"
    assert doc.catalog.overlays[0] == "own.yaml"
    assert doc.base_dir == tmp_path.resolve()
    assert len(doc.sha256) == 64
    assert doc.faults == ()


def test_order_of_lists_means_nothing(load: Load) -> None:
    one = load(FULL)
    text = FULL.replace("[LLAMA-70B, llama-3.1-8b-instruct]", "[llama-3.1-8b-instruct, LLAMA-70B]")
    text = text.replace("[fp8, fp16]", "[bf16, fp8, fp16]").replace("[eu, no]", "[NO, EU]")
    assert load(text) == one


def test_defaults_merge_and_alternatives_give_way(load: Load) -> None:
    spec = load(
        HEAD
        + """\
defaults:
  model: llama-70b
  slo: {ttft_p95_ms: 2000, tpot_p95_ms: 60}
  traffic: {peak_req_per_s: 6, input_tokens: 1500, output_tokens: 300, profile: office-hours}
workloads:
  - {name: a}
  - {name: b, slo: {ttft_p99_ms: 900}, traffic: {mean_req_per_s: 2}}
  - name: c
    models: [llama-3.1-8b-instruct]
    slo: null
    traffic: {classes: [{name: x, share: 1, input_tokens: 10, output_tokens: 20}], profile: null}
"""
    )
    a, b, c = spec.workloads
    assert a.traffic.peak_req_per_s == 6
    assert (b.slo.ttft_p95_ms, b.slo.ttft_p99_ms, b.slo.tpot_p95_ms) == (None, 900, 60)
    assert (b.traffic.peak_req_per_s, b.traffic.mean_req_per_s) == (None, 2)
    assert b.traffic.input_tokens == 1500
    assert c.models == ("llama-3.1-8b-instruct",)
    assert c.slo.limit("ttft") is None
    assert c.traffic.input_tokens is None
    assert c.traffic.profile is None


def test_a_faulty_default_is_said_once(faults: Faults) -> None:
    found = faults(
        HEAD
        + """\
defaults: {slo: {ttft_p95_ms: -1}, modell: x}
workloads:
  - {name: a, model: llama-70b, traffic: {peak_req_per_s: 6, input_tokens: 1, output_tokens: 1}}
  - {name: b, model: llama-70b, slo: null, traffic: {peak_req_per_s: 6, input_tokens: 1, output_tokens: 1}}
"""
    )
    assert [(f.code, f.line, f.column) for f in found] == [("S204", 3, 31), ("S201", 3, 36)]


def test_all_faults_at_once_in_file_order(faults: Faults) -> None:
    found = faults(
        """\
schema_version: 2
name: review
workloads:
  - name: chat
    model: lama-3.3-70b-instruct
    slo:
      ttft_p95: 1500
      tpot_p95_ms: -3
    traffic: {peak_req_per_s: 0, input_tokens: 1500}
  - name: chat
    model: llama-70b
    traffic: {input_tokens: x, output_tokens: 1, timezone: Europe/Berln}
    preemptible: true
    kind: online
    kind: online
"""
    )
    assert [(f.code, f.line, f.column) for f in found] == [
        ("S204", 1, 17),
        ("S301", 5, 12),
        ("S201", 7, 7),
        ("S204", 8, 20),
        ("S205", 9, 5),
        ("S211", 9, 31),
        ("S212", 10, 11),
        ("S205", 12, 5),
        ("S203", 12, 29),
        ("S302", 12, 60),
        ("S401", 13, 18),
        ("S110", 15, 5),
    ]
    by_code = {f.code: f for f in found}
    assert by_code["S301"].help == "did you mean llama-3.3-70b-instruct?"
    assert by_code["S201"].help == "did you mean ttft_p95_ms?"
    assert by_code["S302"].help == "did you mean Europe/Berlin?"
    assert found[3].message == "tpot_p95_ms must be greater than 0"
    assert found[3].source == "      tpot_p95_ms: -3"
    assert found[3].length == 2
    assert found[3].help is not None
    assert "milliseconds" in found[3].help


@pytest.mark.shared
def test_the_annotated_example_is_read_and_refused_only_where_not_supported(
    shared_data: Path, names: KnownNames
) -> None:
    doc = read_document(str(shared_data.parent / "workload.example.yaml"))
    with pytest.raises(InputError) as error:
        resolve_spec(doc, names)
    assert {f.code for f in error.value.faults} == {"S401"}
    lines = {doc.lines[f.line - 1].split(":")[0].strip(" -") for f in error.value.faults if f.line}
    assert lines == {
        "preemptible",
        "baseline",
    }
