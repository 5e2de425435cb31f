"""Reading a model config from a file, a folder that holds one, or standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planner.catalog.files import MAX_BYTES, read_text
from planner.errors import Fault, InputError

NAMES = ("config.json", "params.json")
"""Files of a folder that may be the config, the first one there counts."""


def read_config_file(name: str) -> dict[str, object]:
    """The config in a file, in a folder's `config.json` or `params.json`, or on standard input (`-`).

    Raises InputError C101 for what cannot be read or is not JSON, C201 for JSON that is no mapping of fields.
    """
    text = sys.stdin.read(MAX_BYTES + 1) if name == "-" else _file_text(Path(name))
    shown = "standard input" if name == "-" else Path(name).name
    try:
        config = json.loads(text)
    except ValueError as error:
        at = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (None, None)
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        hint = "a Hugging Face config.json or Mistral's params.json; check that the file is complete"
        raise InputError([Fault("C101", f"{shown} is not JSON: {said}", file=name, line=at[0], column=at[1],
                                help=hint)]) from error  # fmt: skip
    except RecursionError as error:
        raise InputError([Fault("C101", f"{shown} is nested too deeply", file=name)]) from error
    if not isinstance(config, dict) or not config:
        hint = "give the model's config.json, not the list of its files or its tokenizer"
        raise InputError([Fault("C201", f"{shown}: a model config is a mapping of fields", file=name, help=hint)])
    return config


def _file_text(path: Path) -> str:
    if path.is_dir():
        path = next((path / n for n in NAMES if (path / n).is_file()), path / NAMES[0])
    faults: list[Fault] = []
    text = read_text(path, faults)
    if text is None:
        raise InputError(faults)
    return text
