"""Every spec in problems/ gives what problems/expected.yaml says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "problems"
EXPECTED: dict[str, dict[str, Any]] = YAML(typ="safe").load((PROBLEMS / "expected.yaml").read_text(encoding="utf-8"))
LARGE = {"quickstart.yaml"}
"""Over the whole catalog: tens of seconds on a busy machine."""
KEYS = {
    "exit", "usd", "within", "plans", "accelerators", "option", "model", "api_usd", "countries_within", "refused",
}  # fmt: skip


def test_every_spec_has_an_expected_answer() -> None:
    specs = {str(p.relative_to(PROBLEMS)) for p in PROBLEMS.rglob("*.yaml")} - {"expected.yaml"}
    assert specs == set(EXPECTED)
    for name, expected in EXPECTED.items():
        assert set(expected) <= KEYS, name
        assert expected["exit"] in (0, 3)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in sorted(EXPECTED)]
)
def test_answer_of(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli.main import run

    expected = EXPECTED[name]
    capsys.readouterr()
    code = run(["solve", str(PROBLEMS / name), "--format", "json"])
    captured = capsys.readouterr()
    assert code == expected["exit"], captured.err
    result = json.loads(captured.out)
    assert all(p["verified"] for p in result["plans"])
    assert bool(result["plans"]) == (code == 0)
    for plan in result["plans"][:1]:
        check_winner(plan, expected)
    check_lists(result, expected)


def check_winner(best: dict[str, Any], expected: dict[str, Any]) -> None:
    cost = best["cost"]
    if "usd" in expected:
        assert cost["total_usd_per_month"] == pytest.approx(expected["usd"], rel=expected.get("within", 0.001))
    if "api_usd" in expected:
        assert cost["terms"]["api"] == pytest.approx(expected["api_usd"], rel=0.001)
    if "accelerators" in expected:
        assert accelerators(best) == expected["accelerators"]
    if "option" in expected:
        assert {p["purchase_option"] for p in best["purchases"]} == {expected["option"]}
    if "model" in expected:
        assert {d["model"] for d in best["deployments"]} == {expected["model"]}


def accelerators(plan: dict[str, Any]) -> dict[str, int]:
    """Accelerators bought, by kind, at the largest."""
    counts: Counter[str] = Counter()
    for p in plan["purchases"]:
        counts[p["accelerator"]] += max(p["instances_by_slice"].values()) * p["accelerators_per_instance"]
    return dict(counts)


def check_lists(result: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(result["plans"]) >= expected.get("plans", 0)
    if "countries_within" in expected:
        from planner.catalog.load import load_catalog

        allowed = load_catalog().countries((expected["countries_within"],))
        assert {p["country"] for plan in result["plans"] for p in plan["purchases"]} <= allowed
    for name, check in expected.get("refused", {}).items():
        found = [r for r in result["rejected"] if name in r["what"]]
        assert check in {c["check"] for r in found for c in r["checks"]}, f"{name} is not refused by {check}"
