"""What each field takes, and how its fault reads."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.base import KnownNames
from planner.errors import Fault, InputError
from planner.spec.compose import compose
from planner.spec.document import SpecDocument
from planner.spec.nodes import Mapping
from planner.spec.resolve import resolve_spec
from planner.spec.types import CatalogChoice

Faults = Callable[[str], list[Fault]]
ROW = "model: llama-70b, accelerator: L4, precision: fp8"
LENGTHS = "input_tokens: 1, output_tokens: 1"


def only(found: list[Fault]) -> Fault:
    assert len(found) == 1, found
    return found[0]


def test_a_sound_workload_has_no_fault(chat: Faults) -> None:
    assert chat("slo: {ttft_p95_ms: 2s}") == []


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("slo: {tpot_p95: 40}", "S201", "unknown field 'tpot_p95' in slo"),
        ("slo: {ttft_p95_ms: {}}", "S202", "ttft_p95_ms must be a number, not a mapping"),
        ("slo: [1]", "S202", "slo must be a mapping of"),
        ("slo: {ttft_p95_ms: fast}", "S203", "ttft_p95_ms is not a number: fast"),
        ("slo: {ttft_p95_ms: 0}", "S204", "ttft_p95_ms must be greater than 0"),
        ("slo: {ttft_p95_ms: no}", "S203", "ttft_p95_ms must be a number, not the word no"),
        ("slo: {ttft_p95_ms: 2000, ttft_p99_ms: 3000}", "S208", "promise the same metric"),
        ("slo: {ttft_p95_ms: 9, client_region: eu-west}", "S208", "not above the shortest network round trip"),
        ("gpu_memory_utilization: 1.2", "S204", "gpu_memory_utilization must be at most 1"),
        ("gpu_memory_utilization: 110%", "S204", "at most 1"),
        ("max_num_seqs: 2.5", "S203", "whole number"),
        ("max_num_seqs: 0", "S204", "at least 1"),
        ("max_context_tokens: 1000", "S208", "does not admit a request of 1850 tokens"),
        ("precisions: fp8", "S202", "precisions must be a list"),
        ("precisions: []", "S202", "must not be an empty list"),
        ("precisions: [fp9]", "S301", "unknown precision 'fp9'"),
        ("precisions: [true]", "S202", "must be a word, not the boolean true"),
        ("precisions: [[fp8]]", "S202", "must be a word, not a list"),
        ("precisions: [null]", "S202", "must be a word, not nothing"),
        ('precisions: [""]', "S202", "must not be empty"),
        ("engines: [vlm]", "S301", "unknown engine 'vlm'"),
        ("api_equivalents: [mistral-large]", "S301", "unknown API model"),
        ("tenancy: sharde", "S207", "tenancy must be shared or dedicated, not 'sharde'"),
        ("sovereignty: {countries: no}", "S202", "countries must be a list, not 'no'"),
        ("sovereignty: {countries: [Germany]}", "S301", "unknown country or group of countries 'Germany'"),
        ("sovereignty: {countries: [false]}", "S202", "not the boolean false"),
        ("sovereignty: {certifications: [iso2701]}", "S301", "unknown certification 'iso2701'"),
        ("purchase: {options: [spott]}", "S207", "options must be on_demand"),
        ("purchase: {options: []}", "S202", "options must not be an empty list"),
        ("purchase: {max_spot_share: -1%}", "S204", "at least 0"),
        ("resilience: {spare: 1}", "S202", "spare must be a mapping"),
        ("models: [llama-70b]", "S206", "model and models both"),
    ],
)
def test_workload_fields(chat: Faults, line: str, code: str, words: str) -> None:
    fault = only(chat(line))
    assert fault.code == code
    assert words in fault.message
    assert fault.line is not None
    assert fault.source is not None
    assert fault.column is not None
    assert fault.column + fault.length - 1 <= len(fault.source)
    assert fault.help


def test_norway_is_a_country_in_any_case(chat: Faults, names: KnownNames) -> None:
    assert chat("sovereignty: {countries: [no]}") == []
    assert "[NO]" in (only(chat("sovereignty: {countries: no}")).help or "")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("{input_tokens: 1, output_tokens: 1}", "S205", "does not say how much"),
        ("{peak_req_per_s: 1, mean_req_per_s: 1, input_tokens: 1, output_tokens: 1}", "S206", "both say how much"),
        ("{peak_req_per_s: 1}", "S205", "input_tokens and output_tokens is missing"),
        ("{peak_req_per_s: 1, input_tokens: 5}", "S205", "output_tokens is missing"),
        ("{peak_req_per_s: 0, input_tokens: 1, output_tokens: 1}", "S211", "peak_req_per_s is 0"),
        ("{requests_per_month: 0, input_tokens: 1, output_tokens: 1}", "S211", "requests_per_month is 0"),
        ("{mean_req_per_s: 2e6, input_tokens: 1, output_tokens: 1}", "S204", "more than 1,000,000 requests"),
        ("{mean_req_per_s: 1e-7, input_tokens: 1, output_tokens: 1}", "S211", "less than one request a month"),
        ("{requests_per_month: 0.2, input_tokens: 1, output_tokens: 1}", "S211", "less than one request a month"),
        ("{requests_per_month: 9T, input_tokens: 1, output_tokens: 1}", "S204", "more than 1,000,000 requests"),
        ("{tokens_per_day: {input: 99999T, output: 5}}", "S204", "more than 1e+16 tokens"),
        ("{tokens_per_month: {input: 0, output: 0}}", "S211", "tokens_per_month is 0"),
        ("{tokens_per_month: {input: 0, output: 5}}", "S204", "input must be at least 1"),
        ("{tokens_per_month: {input: 5}}", "S205", "tokens_per_month needs output"),
        ("{tokens_per_month: 40M}", "S202", "tokens_per_month must be a mapping of input, output"),
        (
            "{tokens_per_day: {input: 6G, output: 400M}, input_tokens: 3000, output_tokens: 300}",
            "S208",
            "the input volume makes 2e+06 requests, the output volume 1.33333e+06",
        ),
        ("{peak_req_per_s: 1, input_tokens: {mean: 10, p95: 5}, output_tokens: 1}", "S208", "below the mean"),
        ("{peak_req_per_s: 1, input_tokens: {mean: 10, p95: 250}, output_tokens: 1}", "S208", "more than 19"),
        ("{peak_req_per_s: 1, input_tokens: {p95: 250}, output_tokens: 1}", "S205", "input_tokens needs mean"),
        ("{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, profile: [1, 2]}", "S210", "2 weights, not 24 or 168"),
        (
            f"{{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, profile: {[0] * 24}}}",
            "S210",
            "every weight of profile is 0",
        ),
        (
            f"{{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, profile: {[-1, *[1] * 23]}}}",
            "S204",
            "profile must be at least 0",
        ),
        (
            f"{{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, peak_to_mean: 9, profile: {[2] * 4 + [1] * 20}}}",
            "S208",
            "peak_to_mean must be at most 6",
        ),
        ("{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, peak_to_mean: 0.5}", "S204", "at least 1"),
        ("{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, peak_to_mean: 30}", "S204", "at most 24"),
        ("{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, profile: office}", "S301", "unknown traffic profile"),
        (
            "{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, timezone: Berlin/Europe}",
            "S302",
            "unknown time zone",
        ),
        ("{peak_req_per_s: 1, input_tokens: 1, output_tokens: 1, cached_input_fraction: 1}", "S204", "less than 1"),
        ("{peak_req_per_s: 1, input_tokens: 0.5, output_tokens: 1}", "S204", "at least 1"),
        ("{peak_req_per_s: 1, classes: []}", "S202", "classes must not be an empty list"),
        ("{peak_req_per_s: 1, classes: [{name: a, share: 1, input_tokens: 1}]}", "S205", "a class needs output_tokens"),
        (
            "{peak_req_per_s: 1, classes: [{name: a, share: 0.5, input_tokens: 1, output_tokens: 1}]}",
            "S209",
            "must add up to 1",
        ),
        (
            "{peak_req_per_s: 1, input_tokens: 1, classes: [{name: a, share: 1, input_tokens: 1, output_tokens: 1}]}",
            "S206",
            "input_tokens and classes both",
        ),
        (
            f"{{peak_req_per_s: 1, classes: [&a {{name: a, share: .5, {LENGTHS}}}, {{<<: *a, name: A}}]}}",
            "S212",
            "two classes are named A",
        ),
    ],
)
def test_traffic(traffic: Faults, text: str, code: str, words: str) -> None:
    fault = only(traffic(text))
    assert fault.code == code
    assert words in fault.message


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("slo: {ttft_p95_ms: 5}\n", "slo belongs to a workload"),
        ("budget: {usd_per_month: 5}\n", "budget belongs to policy"),
        ("policy: {owned: []}\n", "policy takes budget"),
        ("policy: {scenarios: []}\n", "scenarios belongs to the top of the file"),
        ("model: llama-70b\n", "model belongs to a workload"),
        ("catalog: {measured: []}\n", "measured belongs to the top of the file"),
    ],
)
def test_a_field_in_the_wrong_place_is_told_where_it_belongs(root: Faults, text: str, help_: str) -> None:
    assert help_ in (only(root(text)).help or "")


def test_an_api_model_is_no_model_to_host(faults: Faults) -> None:
    found = faults("schema_version: 1\nname: x\nworkloads: [{name: a, model: mistral-large-3, traffic: {}}]\n")
    assert "api_equivalents" in (found[0].help or "")


def test_measured_twice_with_other_figures(root: Faults) -> None:
    rows = [f"- {{{ROW}, capacity_req_per_s: {n}}}" for n in (5, 5, 6)]
    assert root("measured:\n" + "\n".join(rows[:2])) == []
    fault = only(root("measured:\n" + "\n".join(rows)))
    assert (fault.code, fault.line) == ("S208", 10)
    assert "measured at line 8" in fault.message


def test_a_thousands_comma_inside_braces_is_explained(traffic: Faults) -> None:
    found = traffic("{tokens_per_month: {input: 1,000,000, output: 5}}")
    assert {f.code for f in found} == {"S201", "S110"}
    assert "a comma ends the value" in (found[0].help or "")


@pytest.mark.parametrize(
    ("traffic_text", "known"),
    [
        ("input_tokens: 9, output_tokens: 9", {"all"}),
        ("input_tokens: {mean: 9, p95: 20}, output_tokens: 9", {"short", "middle", "long"}),
        ("classes: [{name: own, share: 1, input_tokens: 9, output_tokens: 9}]", {"own"}),
    ],
)
def test_a_measurement_may_name_a_class_as_results_do(faults: Faults, traffic_text: str, known: set[str]) -> None:
    chat = f"workloads: [{{name: c, model: llama-70b, traffic: {{mean_req_per_s: 1, {traffic_text}}}}}]\n"
    for name in ("all", "short", "middle", "long", "own"):
        row = f"measured: [{{{ROW}, class: {name}, capacity_req_per_s: 5}}]\n"
        found = faults(f"schema_version: 1\nname: r\n{chat}{row}")
        assert [f.code for f in found] == ([] if name in known else ["S303"])


@pytest.mark.parametrize("volume", ["{input: 3M, output: 1M}", "{input: 3_000_000, output: 1e6}"])
def test_volumes_need_no_length_and_agree_with_one(traffic: Faults, volume: str) -> None:
    assert traffic(f"{{tokens_per_month: {volume}}}") == []
    assert traffic(f"{{tokens_per_month: {volume}, input_tokens: 900}}") == []
    assert traffic(f"{{tokens_per_month: {volume}, output_tokens: 300}}") == []
    assert traffic(f"{{tokens_per_month: {volume}, input_tokens: 903, output_tokens: 300}}") == []
    assert [f.code for f in traffic(f"{{tokens_per_month: {volume}, input_tokens: 950, output_tokens: 300}}")] == [
        "S208"
    ]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("modles: 1\n", "S201", "unknown field 'modles' in a workload file"),
        ("horizon: {start: 2027-1-1}\n", "S213", "start must be a date, not '2027-1-1'"),
        ("horizon: {start: 2027-02-30}\n", "S213", "start must be a date"),
        ("horizon: {quarters: -1}\n", "S204", "at least 1"),
        ("policy: {budget: {usd_per_month: -5}}\n", "S204", "usd_per_month must be at least 0"),
        ("policy: {budget: {usd_per_month: 5, basis: cahs}}\n", "S207", "amortised or cash"),
        ("policy: {budget: {}}\n", "S205", "budget needs usd_per_month"),
        ("policy: {quotas: [{match: {provider: awz}, limit: 1}]}\n", "S301", "unknown provider 'awz'"),
        ("policy: {quotas: [{match: {}}]}\n", "S205", "a quota needs limit"),
        ("policy: {quotas: [{match: {}, limit: none}]}\n", "S203", "limit is not a number: none"),
        ("policy: {providers: {allow: [aws], deny: [AWS]}}\n", "S208", "aws is both allowed and denied"),
        ("policy: {estimators: []}\n", "S202", "must not be an empty list"),
        ("policy: {headroom: {target_utilization: 0}}\n", "S204", "greater than 0"),
        ("fleet: {owned: [{accelerator: H100}]}\n", "S301", "unknown accelerator 'H100'"),
        ("catalog: {overlays: [1, [x]]}\n", "S202", "not a list"),
        ("measured: [{model: llama-70b, accelerator: L4, precision: fp8}]\n", "S205", "without a measurement"),
        (
            "measured: [{model: llama-70b, accelerator: L4, precision: fp8, prefill_tok_per_s: 5}]\n",
            "S205",
            "prefill_tok_per_s needs decode_tok_per_s beside it",
        ),
        (
            f"measured: [{{{ROW}, capacity_req_per_s: 5, idle_iteration_ms: 1}}]",
            "S206",
            "two kinds of measurement",
        ),
        (
            "measured: [{model: llama-70b, accelerator: L4, precision: fp8, class: shrt, capacity_req_per_s: 5}]\n",
            "S303",
            "no workload has a class named 'shrt'",
        ),
    ],
)
def test_root_fields(root: Faults, text: str, code: str, words: str) -> None:
    fault = only(root(text))
    assert fault.code == code
    assert words in fault.message


@pytest.mark.parametrize("name", ["a/b", "[bold]", "a,b", "", "x" * 81, '"a\\nb"', "-a", "a+b"])
def test_names_become_ids(faults: Faults, name: str) -> None:
    quoted = name if name.startswith('"') else f'"{name}"'
    found = faults(f"schema_version: 1\nname: {quoted}\nworkloads: []\n")
    assert found[0].code in ("S214", "S202")
    assert found[0].line == 2


def test_numbers_and_other_letters_are_names(faults: Faults) -> None:
    for name in ("2027", "santé", "a b", "v1.2_x-y"):
        found = faults(f"schema_version: 1\nname: {name}\nworkloads: []\n")
        assert [f.message for f in found] == ["workloads must not be an empty list"]


def test_what_is_missing_is_said(faults: Faults) -> None:
    found = faults("horizon: {}\n")
    assert [f.message for f in found] == ["a workload file needs schema_version, name and workloads"]
    assert {f.code for f in found} == {"S205"}
    assert [f.code for f in faults("schema_version: 1\nname: x\nworkloads: 5\n")] == ["S202"]
    assert [f.code for f in faults("schema_version: 1\nname: x\nworkloads: [5]\n")] == ["S202"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("policy: {estimators: [silicon]}\n", 22),
        ("policy: {estimators: [measured, silicon]}\n", 22),
        ("fleet: {baseline: x.json}\n", 19),
        ("scenarios: [{name: x}]\n", 12),
    ],
)
def test_what_is_not_supported_yet_is_refused_at_its_place(root: Faults, text: str, column: int) -> None:
    fault = only(root(text))
    assert fault.code == "S401"
    assert "not supported yet" in fault.message
    assert fault.column == column


@pytest.mark.parametrize(
    "line",
    [
        "preemptible: true",
        "resilience: {spare: {domain: instance, count: 5}}",
    ],
)
def test_workload_rules_not_supported_yet(chat: Faults, line: str) -> None:
    assert only(chat(line)).code == "S401"


@pytest.mark.parametrize(
    "text",
    [
        "horizon: {quarters: 1, terminal: repeat, discount_rate_per_year: 0}\n",
        "policy: {estimators: [measured, silicon, analytic], spot: {rework_fraction: 0.0}}\n",
        "policy: {estimators: [measured]}\n",
        "fleet: {commitments: [], baseline: null, owned: []}\n",
        "measured: []\n",
        "scenarios: []\n",
        "horizon:\npolicy:\nfleet: ~\ncatalog: null\n",
    ],
)
def test_neutral_values_are_accepted(root: Faults, text: str) -> None:
    assert root(text) == []


words = st.sampled_from(["model", "models", "traffic", "slo", "peak_req_per_s", "classes", "share", "name", "x", "<<"])
scalars = st.one_of(st.sampled_from(["1", "no", "40M", "-1", "null", "true", "'5'", "llama-70b", "[]", "{}", "2s"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda xs: f"[{', '.join(xs)}]"),
        st.dictionaries(words, inner, max_size=4).map(
            lambda d: "{" + ", ".join(f"{k}: {v}" for k, v in d.items()) + "}"
        ),
    ),
    max_leaves=12,
)
keys = st.sampled_from(["workloads", "policy", "horizon", "defaults", "fleet", "catalog", "measured", "name", "z"])


@given(st.dictionaries(keys, values, max_size=6))
def test_any_mapping_gives_faults_in_order_and_no_traceback(names: KnownNames, fields: dict[str, str]) -> None:
    text = "schema_version: 1\n" + "".join(f"{k}: {v}\n" for k, v in fields.items())
    lines = tuple(text.splitlines())
    try:
        node, duplicates = compose(text, "w.yaml")
        assert isinstance(node, Mapping)
        doc = SpecDocument("w.yaml", Path(), "", lines, node, CatalogChoice(), None, tuple(duplicates))
        resolve_spec(doc, names)
    except InputError as error:
        assert error.faults
        places = [(f.line, f.column) for f in error.faults]
        assert places == sorted(places)
        assert all(f.help and f.message for f in error.faults)


@pytest.mark.parametrize(
    ("value", "sound"), [("1", True), ("1e6", True), ("0.5", False), ("2e6", False), ("1e15", False)]
)
def test_dispersion_stays_within_what_bands_can_carry(traffic: Faults, value: str, sound: bool) -> None:
    found = traffic(f"{{mean_req_per_s: 1, {LENGTHS}, dispersion_10s: {value}}}")
    assert [f.code for f in found] == ([] if sound else ["S204"])


@pytest.mark.parametrize("start", ["20", "25:00", "8pm", "20:60", "2000"])
def test_a_window_takes_times_of_day(chat: Faults, start: str) -> None:
    faults = chat(f"kind: batch\nwindow: {{start: '{start}', end: '06:00'}}")
    assert "S203" in {f.code for f in faults}


def test_a_window_belongs_to_batch_work(chat: Faults) -> None:
    assert only(chat("window: {start: '20:00', end: '06:00'}")).code == "S208"


def test_a_fraction_that_survives_says_what_may_be_lost(chat: Faults) -> None:
    assert only(chat("resilience: {serve_fraction: 0.5}")).code == "S205"
    assert not chat("resilience: {serve_fraction: 0.5, survive_loss_of: [zone, spot]}")
