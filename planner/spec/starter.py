"""The commented file that `planner init` writes: an EU-only health chat that solves with the shipped catalog."""

from __future__ import annotations

import re

from planner.errors import Fault, InputError
from planner.spec.names import is_usable_name

STARTER = """\
# A workload file of planner. Units are in the names; quantities such as 500ms, 40M, 2.5k or 95% are read as well.
# `planner solve FILE` plans it, `planner check FILE` only checks it, `planner schema` describes every field.
schema_version: 1
name: {name}

workloads:
  - name: health-chat
    model: llama-3.3-70b-instruct        # `planner catalog list models` shows the others; models: [a, b] = any of these
    precisions: [fp8, bf16]              # 4 bit only where listed
    max_context_tokens: 16000            # longest request to be admitted
    api_equivalents: [llama-3.3-70b-instruct]   # API models that may stand in; leave it out for none
    traffic:
      peak_req_per_s: 6                  # in the busiest hour; or mean_req_per_s, requests_per_month, tokens_per_month
      profile: office-hours              # how the day goes: a name of the catalog, or 24 or 168 weights
      timezone: Europe/Berlin
      dispersion_10s: 2                  # burstiness: variance ÷ mean of the requests in ten seconds; 1 = Poisson
      input_tokens: 1500                 # or classes: [{{name: short, share: 0.8, input_tokens: …, …}}, …]
      output_tokens: 350
    slo:                                 # what was promised; the percentile is in the name
      ttft_p95_ms: 2000                  # time to first token
      tpot_p95_ms: 60                    # time per output token
    sovereignty:
      countries: [EU]                    # where data may be processed
      operator_jurisdictions: [EU]       # whose law the operator is under
      # certifications: [iso27001]       # required of the provider or API
    resilience:
      spare: {{count: 1, domain: replica}} # one replica may fail at the peak
    purchase:
      options: [on_demand, reserved_1y, reserved_3y, spot, api]

policy:
  headroom: {{forecast_margin: 1.1, target_utilization: 0.9, estimate_quantile: 0.7}}
  # budget: {{usd_per_month: 30_000}}
  # quotas:
  #   - {{match: {{provider: scaleway}}, unit: accelerators, limit: 16}}
  # providers: {{deny: [vast-ai]}}

# catalog:
#   overlays:                            # own prices, discounts and models: files, or written here
#     - offers:                        # prices in USD per machine and hour
#         - {{provider: acme, region: eu-1, country: DE, operator_jurisdiction: DE, certifications: [iso27001],
#            accelerator: H100-SXM, accelerators: 8, prices: {{on_demand: 20.0, reserved_1y: 16.0}}}}
#       discounts:
#         - {{provider: scaleway, options: [on_demand], fraction: 0.1}}

# measured:                              # one replica inside its promises; trusted before any estimate
#   - {{model: llama-3.3-70b-instruct, accelerator: H100-SXM, tensor_parallel: 2, precision: fp8,
#      prefill_tok_per_s: 11000, decode_tok_per_s: 2500}}
"""

_YAML_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")


def starter_spec(name: str) -> str:
    """A starter workload file named `name`. Raises InputError (S214) for a name that cannot be part of an id."""
    if not is_usable_name(name):
        help_ = "use letters, digits, spaces, '.', '_' and '-'"
        raise InputError([Fault("S214", f"'{name}' is not a usable name for a review", help=help_)])
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) and name.lower() not in _YAML_WORDS
    return STARTER.format(name=name if plain else f'"{name}"')
