"""Files that are no workload file are refused with a reason, never with a traceback and never slowly."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import Fault, InputError
from planner.spec.document import MAX_BYTES, read_document
from planner.spec.nodes import Mapping, Scalar

Write = Callable[[bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def run(data: bytes | str) -> Path:
        path = tmp_path / "w.yaml"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return run


def refusal(path: Path | str) -> Fault:
    with pytest.raises(InputError) as error:
        read_document(str(path))
    assert all(f.help for f in error.value.faults)
    return error.value.faults[-1]


def test_missing_file_names_its_neighbours(write: Write, tmp_path: Path) -> None:
    write("a: 1")
    fault = refusal(tmp_path / "workload.yaml")
    assert fault.code == "S101"
    assert fault.help == "YAML files there: w.yaml"


def test_directory(tmp_path: Path) -> None:
    fault = refusal(tmp_path)
    assert fault.code == "S101"
    assert "is a directory" in fault.message


def test_unreadable_path() -> None:
    assert refusal("a\0b").code == "S101"
    assert refusal("x" * 5000).code == "S101"


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    start = time.perf_counter()
    assert refusal(path).code == "S102"
    assert time.perf_counter() - start < 1.0
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    assert refusal(path).code == "S102"


def test_endless_pipe_ends(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def feed() -> None:
        try:
            with pipe.open("wb") as out:
                while True:
                    out.write(b"#" * 65536)
        except BrokenPipeError:
            pass

    threading.Thread(target=feed, daemon=True).start()
    assert refusal(pipe).code == "S102"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\0\0", "binary"),
        (b"name: caf\xe9\n", "not UTF-8 text (line 1)"),
        ("a: 1\n".encode("utf-16"), "binary"),
    ],
)
def test_not_text(write: Write, data: bytes, words: str) -> None:
    fault = refusal(write(data))
    assert fault.code == "S103"
    assert words in fault.message


@pytest.mark.parametrize("text", ["", " \n\n", "# only a comment\n", "---\n...\n", "null\n", "~", "\ufeff"])
def test_empty(write: Write, text: str) -> None:
    assert refusal(write(text)).code == "S104"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a:\n\tb: 1\n", 2, 1, "tab"),
        ("a: [1, 2\nb: 3\n", 2, 2, "','"),
        ("b: 1\na: 'x\n", 2, 4, "ends inside a quote"),
        ("a: {b: 1", 1, 4, "ends inside a quote or a bracket"),
        ("a: @x\n", 1, 4, "cannot start"),
        ("a: b: c\n", 1, 5, "second ': '"),
        ("a: 1\nb\nc: 2\n", 2, 1, "neither"),
        ("a: *nowhere\n", 1, 4, "refers to nothing"),
        ("a: 1\n  b: 2\n", 2, 4, "second ': '"),
    ],
)
def test_syntax_errors_have_a_place(write: Write, text: str, line: int, column: int, words: str) -> None:
    fault = refusal(write(text))
    assert fault.code == "S105"
    assert words in fault.message
    assert (fault.line, fault.column) == (line, column)


def test_control_characters(write: Write) -> None:
    fault = refusal(write("a: \x07\n"))
    assert fault.code == "S105"


def test_several_documents(write: Write) -> None:
    fault = refusal(write("a: 1\n---\nb: 2\n"))
    assert (fault.code, fault.line) == ("S106", 2)


def test_alias_bomb_is_refused_before_it_expands(write: Write) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 40)]
    start = time.perf_counter()
    fault = refusal(write("\n".join(levels)))
    assert fault.code == "S107"
    assert time.perf_counter() - start < 1.0


def test_merge_key_bomb_and_self_reference(write: Write) -> None:
    levels = ["a0: &a0 {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}"]
    levels += [f"a{i}: &a{i} {{l: [{', '.join([f'*a{i - 1}'] * 9)}], <<: *a{i - 1}}}" for i in range(1, 20)]
    assert refusal(write("\n".join(levels))).code == "S107"
    fault = refusal(write("a: &a\n  b: *a\n"))
    assert fault.code == "S107"
    assert "contains itself" in fault.message


def test_many_values_are_refused(write: Write) -> None:
    assert refusal(write("[" + "1," * 60_000 + "1]")).code == "S107"


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "{a: " * 3000])
def test_deep_nesting(write: Write, text: str) -> None:
    assert refusal(write(text)).code == "S108"


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "42", "<html><body>x</body></html>", "a,b\n1,2\n"])
def test_not_a_mapping(write: Write, text: str) -> None:
    assert refusal(write(text)).code == "S109"


def test_duplicate_keys_name_both_places_and_reading_goes_on(write: Write) -> None:
    doc = read_document(str(write("name: a\nslo: {x: 1, x: 2}\nname: b\n")))
    assert [(f.code, f.line, f.column) for f in doc.faults] == [("S110", 2, 13), ("S110", 3, 1)]
    assert doc.faults[1].message == "name is given twice: first at line 1, column 1"


@pytest.mark.parametrize("text", ["a: !!python/object:os.system x\n", "? [a, b]\n: 1\n", "a: !mine 1\n", "<<: 3\n"])
def test_other_yaml_features(write: Write, text: str) -> None:
    assert refusal(write(text)).code == "S111"


def test_anchors_merge_keys_and_standard_tags_work(write: Write) -> None:
    doc = read_document(str(write("a: &x {p: 1, q: 2}\nb: {<<: *x, q: !!str 3}\n")))
    b = doc.root.get("b")
    assert isinstance(b, Mapping)
    p, q = b.get("p"), b.get("q")
    assert isinstance(p, Scalar)
    assert isinstance(q, Scalar)
    assert (p.text, q.text, q.plain) == ("1", "3", False)


def test_standard_input_and_byte_order_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "\ufeffname: x\r\nschema_version: 1\r\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    doc = read_document("-")
    assert doc.path == "<stdin>"
    assert doc.root.entries["schema_version"].key_place.line == 2


def test_faults_of_the_catalog_choice_wait_for_the_rest(write: Write) -> None:
    doc = read_document(str(write("catalog: {pth: x}\npolicy: {price_date: tomorrow}\n")))
    assert [(f.code, f.line) for f in doc.faults] == [("S201", 1), ("S213", 2)]
    assert doc.catalog.path is None
    assert doc.price_date is None


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_no_bytes_make_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "w.yaml"
    path.write_bytes(data)
    try:
        read_document(str(path))
    except InputError as error:
        assert error.faults
