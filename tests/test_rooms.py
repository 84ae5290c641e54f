"""How the package is laid out: imports point one way, and every public name is there and explained."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import linkwork

ROOT = Path(linkwork.__file__).parent

ROOMS = [
    {"errors"},
    {"inputs"},
    {"model"},
    {"plans"},
    {"kernels"},
    {"compilers"},
    {"quantities"},
    {"closure"},
    {"dynamics"},
    {"drawing"},
    {"viewer"},
    {"simulation"},
    {"export"},
    {"mechanism"},
]
"""From the ground up; a room imports itself and lower ones."""

LEAVES = {
    "zoo": "mechanism",
    "parsing": "mechanism",
    "cli": "mechanism",
    "__init__": "mechanism",
    "__main__": "mechanism",
}
"""Rooms that nothing imports but the package itself, and the highest room that each may use."""

LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
FILES = sorted(path for path in ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of linkwork that a file imports anywhere in its text but for types, relative imports resolved."""
    package = ["linkwork", *path.relative_to(ROOT).parts[:-1]]
    names: set[str] = set()
    text = ast.parse(path.read_text())
    for_types = {
        inner
        for node in ast.walk(text)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(text):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names} if module == "linkwork" else {module}
    parts = [name.split(".") for name in names if name.split(".")[0] == "linkwork"]
    return {part[1] for part in parts if len(part) > 1}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_point_downwards(path: Path) -> None:
    room, used = room_of(path), imported_rooms(path) - {room_of(path)}
    if room in ("__init__", "__main__"):
        assert used <= set(LEVEL) | set(LEAVES)
        return
    assert room in LEVEL or room in LEAVES, f"{room} has no place in the order of rooms"
    top = LEVEL[LEAVES[room]] if room in LEAVES else LEVEL[room]
    assert all(other in LEVEL and LEVEL[other] <= top for other in used), used


def test_an_algorithm_never_imports_the_compilers() -> None:
    for path in (ROOT / "kernels").glob("*.py"):
        assert "compilers" not in imported_rooms(path), path


def test_kernel_text_imports_no_library() -> None:
    """Algorithms are text over scalars and arrays that come in from outside."""
    allowed = {"__future__", "collections", "collections.abc", "dataclasses", "typing"}
    for path in (ROOT / "kernels").glob("*.py"):
        if path.name == "scalar.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("linkwork"):
                found = {node.module or ""}
            else:
                continue
            assert found <= allowed, f"{path.name} imports {found - allowed}"


@pytest.mark.parametrize("name", linkwork.__all__)
def test_a_public_name_is_there_and_has_a_docstring(name: str) -> None:
    thing = getattr(linkwork, name)
    assert inspect.getdoc(thing)


def test_public_names_are_sorted_and_listed() -> None:
    assert list(linkwork.__all__) == sorted(linkwork.__all__)
    assert dir(linkwork) == sorted(linkwork.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = linkwork.no_such_name
