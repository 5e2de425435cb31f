"""`planner explain --why-not NAME` tells the reasons apart."""

import json
from pathlib import Path

import pytest

SPEC = Path(__file__).with_name("one_h100.yaml")
MORE = """
        - {provider: aws, region: us-test, country: US, instance_type: h100-x1, accelerator: H100-SXM,
           accelerators: 1, prices: {on_demand: 4.98}, source: a test, confidence: seed}
        - {provider: lambda, region: us-test, country: US, instance_type: h200-x1, accelerator: H200-SXM,
           accelerators: 1, prices: {on_demand: 4.9}, source: a test, confidence: seed}
        - {provider: lambda, region: us-test, country: US, instance_type: p100-x1, accelerator: P100-16GB,
           accelerators: 1, prices: {on_demand: 0.1}, source: a test, confidence: seed}
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The small spec with dearer offers beside it, one of them with a negotiated discount, solved once."""
    from planner.cli.main import run

    folder = tmp_path_factory.mktemp("why-not")
    text = SPEC.read_text(encoding="utf-8").replace("\n      apis:", MORE + "      apis:")
    spec = folder / "spec.yaml"
    spec.write_text(text + "    - discounts: [{provider: aws, fraction: 0.1}]\n", encoding="utf-8")
    target = folder / "result.json"
    assert run(["solve", str(spec), "--format", "json", "-o", str(target)]) == 0
    return str(target)


@pytest.fixture
def ask(planner, solved: str):
    """(kind of answer, its sentence, the whole text with its lines joined) for a name."""

    def call(name: str) -> tuple[str, str, str]:
        found = json.loads(planner("explain", solved, "--why-not", name, "--format", "json").out)[name]
        table = planner("explain", solved, "--why-not", name)
        assert table.code == 0
        return found["answer"], found["text"], " ".join(table.out.split())

    return call


def test_used(ask) -> None:
    kind, text, table = ask("H100")
    assert kind == "used"
    assert text.startswith("it is used by plan")
    assert "H100 is read as every accelerator that begins so: H100-NVL, H100-PCIe, H100-SXM" in table


def test_possible_but_dearer_has_both_prices(ask) -> None:
    kind, text, table = ask("H200-SXM")
    assert kind == "dearer"
    assert "lambda/us-test/h200-x1/on_demand, costs 4.90 USD per accelerator-hour" in text
    assert "plan 1 is the cheaper one with " in text
    assert "USD per 1,000 requests" in text
    assert text in table


def test_replaced_on_price_has_both_prices_and_the_discount(ask) -> None:
    kind, text, table = ask("aws")
    assert kind == "dearer"
    assert "aws 4.48 (after a discount of 10.0%), lambda 2.49 USD per accelerator-hour" in text
    assert "dominated by [price]" in table
    assert "policy" not in table


def test_refused_names_the_main_reason_in_words(ask) -> None:
    kind, text, table = ask("P100-16GB")
    assert kind == "refused"
    assert text.startswith("main reason: ")
    assert "vllm-needs" not in table


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("lamda", "unknown", "did you mean lambda"),
        ("H1OO", "unknown", "did you mean H100"),
        ("qwen3-32b", "not_asked", "does not ask for the model qwen3-32b: it asks for llama-3.1-8b-instruct"),
        ("bf16", "not_asked", "list it under precisions of a workload"),
        ("sglang", "not_asked", "list it under engines of a workload"),
        ("gpt-6-sol", "not_asked", "it asks for test-api; to allow it, list it under api_equivalents"),
        ("L4", "not_needed", "no offer of the spec's catalog that a service may use has the accelerator L4"),
    ],
)
def test_what_was_never_considered_is_told_apart(ask, name: str, kind: str, said: str) -> None:
    found, text, table = ask(name)
    assert found == kind
    assert said in text
    assert text in table
