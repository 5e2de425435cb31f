"""What a fault says to people who wrote what people write."""

from collections.abc import Callable

import pytest

from planner.base import KnownNames
from planner.catalog.load import load_catalog
from planner.errors import Fault
from planner.spec.countries import COUNTRY_CODES
from planner.spec.types import Spec

Faults = Callable[[str], list[Fault]]
LENGTHS = "input_tokens: 1, output_tokens: 1"


@pytest.mark.parametrize(
    ("name", "help_"),
    [
        ("Germany", "did you mean DE?"),
        ("USA", "did you mean US?"),
        ("European Union", "did you mean EU?"),
        ("switzerland", "did you mean CH?"),
        ("Atlantis", "known: CH, DE, EU, NO, US"),
    ],
)
def test_a_country_by_its_name_gets_its_code(chat: Faults, name: str, help_: str) -> None:
    (fault,) = chat(f"sovereignty: {{countries: [{name}]}}")
    assert (fault.code, fault.help) == ("S301", help_)


def test_every_code_of_the_list_of_names_is_known_to_the_catalog() -> None:
    known = load_catalog().known_names().countries
    assert COUNTRY_CODES["united kingdom"] == known["uk"] == "GB"
    assert {code for code in COUNTRY_CODES.values() if code.lower() not in known} == set()
    assert all(len(code) == 2 or code == "EEA" for code in COUNTRY_CODES.values())


@pytest.mark.parametrize("name", ["ISO 27001", "iso-27001", "ISO/IEC 27001", "Iso_27001", "SOC 2"])
def test_certifications_are_known_however_they_are_written(load: Callable[[str], Spec], name: str) -> None:
    spec = load(
        "schema_version: 1\nname: x\nworkloads:\n  - name: a\n    model: llama-70b\n"
        f"    traffic: {{peak_req_per_s: 1, {LENGTHS}}}\n    sovereignty: {{certifications: [{name}]}}\n"
    )
    assert spec.workloads[0].sovereignty.certifications == ("soc2" if "SOC" in name else "iso27001",)


@pytest.mark.parametrize(
    ("shares", "help_"),
    [
        ((0.6, 0.5), "the shares add up to 1.1; make one of them smaller by 0.1"),
        ((0.5, 0.2), "the shares add up to 0.7; make one of them larger by 0.3"),
    ],
)
def test_shares_say_by_how_much_they_are_off(traffic: Faults, shares: tuple[float, float], help_: str) -> None:
    classes = ", ".join(f"{{name: c{i}, share: {s}, {LENGTHS}}}" for i, s in enumerate(shares))
    (fault,) = traffic(f"{{peak_req_per_s: 1, classes: [{classes}]}}")
    assert (fault.code, fault.help) == ("S209", help_)


@pytest.mark.parametrize("amount", ["60k EUR", "60kEUR", "€60k", "60000 euros", "50 CHF", "£5"])
def test_another_currency_is_named_as_such(root: Faults, amount: str) -> None:
    (fault,) = root(f"policy: {{budget: {{usd_per_month: {amount}}}}}\n")
    assert fault.message == f"usd_per_month is not in USD: {amount}"
    assert (fault.code, "amounts are in USD" in (fault.help or "")) == ("S203", True)


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        (f"trafic: {{peak_req_per_s: 1, {LENGTHS}}}", "did you mean traffic?"),
        (f"traffic: {{peak_req_per_sec: 1, {LENGTHS}}}", "did you mean peak_req_per_s or mean_req_per_s?"),
        ("traffic: {peak_req_per_s: 1, input_token: 1, output_tokens: 1}", "did you mean input_tokens"),
        ("traffic: {tokens_per_day: {input: 5, ouput: 5}}", "did you mean output"),
    ],
)
def test_a_misspelt_key_is_not_missing_as_well(faults: Faults, text: str, help_: str) -> None:
    head = "schema_version: 1\nname: x\n"
    (fault,) = faults(f"{head}workloads:\n  - name: a\n    model: llama-70b\n    {text}\n")
    assert (fault.code, (fault.help or "").startswith(help_)) == ("S201", True)
    # the same in the defaults of two workloads, said there once
    rest = "workloads: [{name: a, model: llama-70b}, {name: b, model: llama-70b}]\n"
    found = faults(f"{head}defaults:\n  {text}\n{rest}")
    assert [(f.code, f.line) for f in found if f.code == "S201"] == [("S201", 4)]
    assert found


def test_a_key_that_is_like_no_other_leaves_the_missing_one_missing(traffic: Faults) -> None:
    assert [f.code for f in traffic(f"{{frequency: 1, {LENGTHS}}}")] == ["S205", "S201"]


def test_names_of_countries_need_no_catalog_that_knows_them(names: KnownNames) -> None:
    assert "fr" not in names.countries
    assert COUNTRY_CODES["france"] == "FR"
