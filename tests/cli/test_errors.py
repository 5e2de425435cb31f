"""Faults as text: the form of STYLE §8, at any place of any line."""

import pytest

from planner.cli.errors import print_faults, render_fault, summary
from planner.errors import Fault


def test_fault_has_code_place_line_carets_and_help() -> None:
    fault = Fault(
        "S204", "tpot_p95_ms must be greater than 0", path="workload.yaml", line=7, column=22, length=2,
        source="        tpot_p95_ms: -3", help="time per output token at the 95th percentile, e.g. 40",
    )  # fmt: skip
    assert render_fault(fault) == (
        "error[S204]: tpot_p95_ms must be greater than 0\n"
        "  --> workload.yaml:7:22\n"
        "   |\n"
        " 7 |         tpot_p95_ms: -3\n"
        "   |                      ^^\n"
        "  help: time per output token at the 95th percentile, e.g. 40"
    )


def test_carets_stand_under_the_fault_in_wide_and_tabbed_lines() -> None:
    wide = render_fault(Fault("S1", "m", path="f", line=1, column=7, length=3, source="名: x  abc")).splitlines()
    assert wide[3].index("abc") + 1 == wide[4].index("^")  # 名 is one character but two columns
    tabbed = render_fault(Fault("S1", "m", path="f", line=1, column=2, length=1, source="\tx")).splitlines()
    assert tabbed[3].index("x") == tabbed[4].index("^")


def test_long_line_is_cut_around_the_fault() -> None:
    source = "a" * 5000 + "BAD" + "b" * 5000
    lines = render_fault(Fault("S1", "m", path="f", line=1, column=5001, length=3, source=source)).splitlines()
    assert max(map(len, lines)) < 120
    start = lines[4].index("^")
    assert lines[3][start : start + 3] == "BAD"
    assert lines[4].count("^") == 3


def test_column_beyond_the_line_still_renders() -> None:
    lines = render_fault(Fault("S1", "m", path="f", line=12345, column=99, length=9, source="ab")).splitlines()
    assert lines[3].startswith("12345 | ab")
    assert lines[4].count("^") == 1


def test_control_characters_of_the_file_never_reach_the_terminal() -> None:
    text = render_fault(Fault("S1", "bad \x1b[31m", path="f\x1b", line=1, column=1, source="\x1b]0;owned\x07"))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_colour_only_when_asked() -> None:
    fault = Fault("S1", "m", path="f", line=1, column=1, source="x", help="h")
    assert "\x1b[" not in render_fault(fault)
    assert "\x1b[" in render_fault(fault, colour=True)


def test_all_faults_are_printed_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [Fault("S1", "one"), Fault("S2", "two"), Fault("S3", "three", severity="warning")]
    print_faults(faults)
    err = capsys.readouterr().err
    assert [err.index(x) for x in ("error[S1]: one", "error[S2]: two", "warning[S3]: three")] == sorted(
        err.index(x) for x in ("error[S1]: one", "error[S2]: two", "warning[S3]: three")
    )
    assert err.rstrip().endswith("2 errors, 1 warning")
    assert summary(faults[:1]) == "1 error"
