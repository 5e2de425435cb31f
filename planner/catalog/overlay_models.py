"""Models of an overlay: a shape written out, or a Hugging Face `config.json` beside the overlay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from planner.catalog.files import RawRow, read_text
from planner.catalog.rows import Rows
from planner.errors import Fault, InputError


def expand_model(
    raw: RawRow, base_dir: Path, defaults: Mapping[str, object], day: date, faults: list[Fault], rows: Rows
) -> RawRow | None:
    """A full model row: `config` is read and its fields filled in; what the row says itself wins."""
    fields = dict(raw.fields)
    config_path = fields.pop("config", None)
    row = rows["models"].get((str(fields.get("id")),))
    inherited = {} if row is None else row.model_dump()
    derived: dict[str, object] = {}
    if config_path is not None:
        inherited = {}
        found = _from_config(raw, str(config_path), base_dir, str(fields.get("id", config_path)), day, faults)
        if found is None:
            return None
        derived = found
    general: dict[str, object] = {
        "name": fields.get("id"),
        "family": "custom",
        "native_precision": "bf16",
        "max_context_tokens": 131072,
    }
    raw.fields = {**general, **inherited, **derived, **defaults, **fields}
    return raw


def _from_config(
    raw: RawRow, config_path: str, base_dir: Path, model_id: str, day: date, faults: list[Fault]
) -> dict[str, object] | None:
    """The fields that a config file gives."""
    from planner.catalog.shape import model_from_config

    unread: list[Fault] = []
    text = read_text(base_dir / config_path, unread)
    if text is None:
        hint = "a Hugging Face config.json; its path is relative to the file that names it"
        faults.extend(raw.fault(f.code, f.message, "config", hint) for f in unread)
        return None
    try:
        config = json.loads(text)
        model = model_from_config(config, id=model_id, source=f"overlay: {config_path}", as_of=day)
    except ValueError as e:
        faults.append(raw.fault("C101", f"{config_path} is not JSON: {e}", "config"))
        return None
    except InputError as e:
        faults.extend(raw.fault(f.code, f"{config_path}: {f.message}", "config", f.help) for f in e.faults)
        return None
    fields: dict[str, object] = model.model_dump()
    return fields
