"""Data flows one way (docs/design.md): a room imports only from its left."""

import ast
from pathlib import Path

import planner

ROOMS = [
    "base", "errors", "units", "peers",
    "spec", "catalog", "demand", "performance", "predict", "candidates", "formulation", "solve", "verify", "explain",
    "report", "cli",
]  # fmt: skip
FORBIDDEN = {
    ("spec", "peers"),
    ("catalog", "peers"),
    # Side rooms of the diagram: independent although one stands left of the other.
    ("catalog", "spec"),
    ("performance", "demand"),
    ("predict", "demand"),
    ("candidates", "predict"),
    ("verify", "predict"),
    ("verify", "formulation"),
    ("verify", "solve"),
    ("formulation", "ortools"),
}
ROOT = Path(planner.__file__).parent


def edges(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{a.name}" if node.module == "planner" else str(node.module) for a in node.names}
    return found


def room_of(path: Path) -> str:
    part = path.relative_to(ROOT).parts[0]
    return part.removesuffix(".py")


def test_every_import_points_left() -> None:
    back = []
    for path in sorted(ROOT.rglob("*.py")):
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        assert room in ROOMS, f"{path} is in no known room"
        for name in edges(path):
            if name.startswith("planner."):
                target = name.split(".")[1]
                if target == "__version__":
                    continue
                if ROOMS.index(target) > ROOMS.index(room) or (room, target) in FORBIDDEN:
                    back.append(f"{path.relative_to(ROOT)} imports {name}")
            elif (room, name.split(".")[0]) in FORBIDDEN:
                back.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not back, "\n".join(back)


def test_one_adapter_names_an_engine() -> None:
    for path in ROOT.rglob("*.py"):
        if any(name.split(".")[0] == "ortools" for name in edges(path)):
            assert room_of(path) == "solve", f"{path} imports ortools"
