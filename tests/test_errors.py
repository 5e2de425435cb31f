"""The tree of errors, and one registry for every code."""

import re
from pathlib import Path

import planner
from planner.errors import (
    BENCHMARK_CODES,
    IMPORT_CODES,
    PREDICT_CODES,
    SPEC_CODES,
    Fault,
    InputError,
    Interrupted,
    PlannerError,
    SolverError,
    VerificationError,
)

ROOT = Path(planner.__file__).parent
TESTS = Path(__file__).parent


def test_exit_codes_follow_the_tree() -> None:
    assert PlannerError.exit_code == 1
    assert InputError([]).exit_code == 2
    assert SolverError("highs", "crashed").exit_code == 1
    assert VerificationError(()).exit_code == 1
    assert Interrupted.exit_code == 130


def test_errors_carry_data() -> None:
    fault = Fault("S204", "must be greater than 0", "w.yaml", 7, 22, 2, "  tpot_p95_ms: -3", "e.g. 40")
    error = InputError([fault])
    assert error.faults == (fault,)
    assert str(error) == "S204: must be greater than 0"
    assert str(SolverError("highs", "crashed", "signal 11")) == "highs: crashed (signal 11)"


def used_codes(folder: Path) -> set[str]:
    return {
        c for path in folder.rglob("*.py") for c in re.findall(r'"([SIPB]\d{3})"', path.read_text(encoding="utf-8"))
    }


def test_every_code_of_the_spec_room_is_registered_used_and_tested() -> None:
    raised = used_codes(ROOT / "spec") | used_codes(ROOT / "demand")
    assert raised == set(SPEC_CODES)
    assert set(SPEC_CODES) <= used_codes(TESTS / "spec") | used_codes(TESTS / "demand")


def test_every_code_of_imported_files_is_registered_used_and_tested() -> None:
    assert used_codes(ROOT / "peers") == set(IMPORT_CODES)
    assert set(IMPORT_CODES) <= used_codes(TESTS / "peers")


def test_every_code_of_points_and_benchmark_files_is_registered_used_and_tested() -> None:
    codes = set(PREDICT_CODES) | set(BENCHMARK_CODES)
    assert used_codes(ROOT / "predict") | used_codes(ROOT / "cli") == codes
    assert codes <= used_codes(TESTS / "predict") | used_codes(TESTS / "cli")


def test_every_code_says_what_to_do() -> None:
    for code, text in SPEC_CODES.items():
        assert re.fullmatch(r"S[1-4]\d\d", code)
        assert text.title
        assert text.help
