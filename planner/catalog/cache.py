"""The parsed shipped catalog, kept in the user's cache directory.

The file is named after the digest of everything that decides its content (the data files, this room's code, the
interpreter and pydantic), so it is never stale. It is a pickle in the user's own cache directory, readable and
writable by that user alone; it is only ever a copy: unreadable, corrupt or unwritable, the catalog is parsed again.
Set `PLANNER_NO_CACHE=1` to do without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
from pathlib import Path

import pydantic

import planner

KEEP = 4
"""Cache files kept; older ones are removed."""


def cache_dir() -> Path:
    """Where the cache lives (`PLANNER_CACHE_DIR` or the platform's user cache)."""
    given = os.environ.get("PLANNER_CACHE_DIR")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("planner", appauthor=False))


def content_key(files: list[Path]) -> str:
    """Digest of the data files (names and bytes) and of the code that reads them."""
    digest = hashlib.sha256()
    versions = (planner.__version__, pydantic.VERSION, sys.version)
    digest.update("|".join(versions).encode())
    code = [*sorted(Path(__file__).parent.glob("*.py")), Path(planner.__file__).parent / "base.py"]
    for path in [*files, *code]:
        content = path.read_bytes()
        digest.update(f"|{path.name}|{len(content)}|".encode())
        digest.update(content)
    return digest.hexdigest()


def load(key: str) -> object | None:
    """The cached object of a key, or None."""
    if os.environ.get("PLANNER_NO_CACHE"):
        return None
    path = cache_dir() / f"catalog-{key[:32]}.pickle"
    try:
        status = path.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            return None
        data = path.read_bytes()
        stored, body = data[:64].decode("ascii"), data[64:]
        if stored != hashlib.sha256(key.encode() + body).hexdigest():
            return None
        found: object = pickle.loads(body)
        return found
    except Exception:  # a damaged copy may fail in any way; the original is at hand
        return None


def store(key: str, value: object) -> None:
    """Keep an object; a directory that cannot be written is no error."""
    if os.environ.get("PLANNER_NO_CACHE"):
        return
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    data = hashlib.sha256(key.encode() + body).hexdigest().encode("ascii") + body
    directory = cache_dir()
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=directory, prefix="catalog-", suffix=".tmp")
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        Path(name).replace(directory / f"catalog-{key[:32]}.pickle")
        _prune(directory)


def _prune(directory: Path) -> None:
    old = sorted(directory.glob("catalog-*.pickle"), key=lambda p: p.stat().st_mtime, reverse=True)[KEEP:]
    for path in old:
        path.unlink(missing_ok=True)
