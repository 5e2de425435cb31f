"""Where results go: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from planner.errors import Fault, InputError

F = TypeVar("F", bound=Callable[..., Any])


def output_option(function: F) -> F:
    """The option `-o FILE`; the value is checked before anything long runs."""
    return click.option(
        "-o", "--output", metavar="FILE", default="-", show_default="standard output", callback=_check_target,
        help="Write the result to FILE (through a temporary file; a failed run leaves FILE untouched); - is stdout.",
    )(function)  # fmt: skip


def format_option(*formats: str) -> Callable[[F], F]:
    """The option `--format`; the first format is the default."""
    return click.option("--format", "format_", type=click.Choice(formats), default=formats[0], show_default=True,
                        help="How to print the result.")  # fmt: skip


def _check_target(_: click.Context, __: click.Parameter, value: str) -> str:
    if value == "-":
        return value
    path = Path(value)
    if path.is_dir():
        raise InputError([Fault("U103", f"cannot write {value}: it is a directory", help="give a file name")])
    if not path.parent.is_dir():
        raise InputError([Fault("U103", f"cannot write {value}: no directory {path.parent}", help="create it first")])
    return value


def write_result(text: str, target: str) -> None:
    """Write `text` to standard output (`-`) or to a file: temporary file in the same directory, then rename.

    A target that exists and is no regular file (a pipe, /dev/null) is written directly. Raises InputError (U103)
    where the file cannot be written.
    """
    if not text.endswith("\n"):
        text += "\n"
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(os.path.realpath(target))
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        _replace(path, text)
    except OSError as error:
        raise InputError([Fault("U103", f"cannot write {target}: {error.strerror or error}")]) from error


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
