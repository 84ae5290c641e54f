# SPDX-License-Identifier: BSD-3-Clause
"""The page docs/reference/what-is-where.md, from tables in scripts/what_is_where: ``python scripts/what_is_where.py``.

A table has a row for names of another library that one thing of ours answers. Every name of ours is looked up, and of
theirs where the library is installed in the table's version; functions of theirs that no row has are an error too. So
the page can promise nothing that is not there, and forgets nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import linkwork as lw

TABLES = Path(__file__).with_suffix("")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "what-is-where.md"
NOT_HERE = "-"
INTRODUCTION = """# Names in Pinocchio and MuJoCo

Functions of Pinocchio and MuJoCo, and their equivalents in linkwork. Made by `python scripts/what_is_where.py` from
tables whose names are checked in all three libraries: every function of theirs has its row. `robot` is a
[`Mechanism`][linkwork.Mechanism]. [Migrate from Pinocchio](../how-to/migration-pinocchio.md) and
[Migrate from MuJoCo](../how-to/migration-mujoco.md) show how numbers correspond. Every evaluator has batches, products
with Jacobians ([Derivatives](../how-to/derivatives.md)) and specialized machine code (`compile`).
"""


@dataclass(frozen=True)
class Row:
    """Names of another library, what answers them here (nothing: not here), and what there is to say."""

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class Table:
    """All rows about one library, under their headings."""

    title: str
    module: str
    version: str
    sections: Mapping[str, tuple[Row, ...]]

    @property
    def rows(self) -> Iterator[Row]:
        """All rows."""
        for rows in self.sections.values():
            yield from rows

    @property
    def theirs(self) -> list[str]:
        """All names of theirs, patterns included."""
        return [name for row in self.rows for name in row.theirs]


def read(path: Path) -> Table:
    """The table in a file."""
    content: dict[str, Any] = tomllib.loads(path.read_text())
    heads = {key: value for key, value in content.items() if isinstance(value, str)}
    sections = {
        title: tuple(_row(theirs, text) for theirs, text in rows.items())
        for title, rows in content.items()
        if isinstance(rows, dict)
    }
    return Table(heads["title"], heads["module"], heads["version"], sections)


def _row(theirs: str, text: str) -> Row:
    ours, _, note = (part.strip() for part in text.partition(" | "))
    return Row(_names(theirs), () if ours == NOT_HERE else _names(ours), note)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


# Names that must be there --------------------------------------------------------------------------------------------


@cache
def _robot() -> lw.Mechanism:
    return lw.zoo.four_bar()


def ours_missing(table: Table) -> list[str]:
    """Names of ours that lead nowhere."""
    return [name for row in table.rows for name in row.ours if not _leads_somewhere(name)]


def _leads_somewhere(name: str) -> bool:
    first, *rest = name.split(".")
    if first == "scipy":
        return hasattr(importlib.import_module(".".join([first, *rest[:-1]])), rest[-1])
    found: Any = {"lw": lw, "robot": _robot()}[first]
    for part in rest:
        if part in ("torch", "jax") and found is lw:
            return True  # extras: what is in them is checked by their own tests
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def installed(table: Table) -> ModuleType | None:
    """Their module, if it is installed in the version that the table is about."""
    try:
        module = importlib.import_module(table.module)
    except ImportError:
        return None
    return module if module.__version__.startswith(f"{table.version}.") else None


def theirs_missing(table: Table, module: ModuleType) -> list[str]:
    """Names of theirs that lead nowhere."""
    return [name for name in table.theirs if "*" not in name and not _is_theirs(name, module)]


def _is_theirs(name: str, module: ModuleType) -> bool:
    found: Any
    first, _, rest = name.partition(".")
    if first in ("model", "data"):
        found = module.MjModel if first == "model" else module.MjData
        *options, field = rest.split(".")
        return hasattr(module.MjOption if options else found, field)
    if first in ("rollout", "viewer"):
        return importlib.util.find_spec(f"{module.__name__}.{first}") is not None
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def theirs_left_out(table: Table, module: ModuleType) -> list[str]:
    """Functions of theirs (of Pinocchio classes too) that no row has."""
    names = _functions(module) if table.module == "mujoco" else _functions_and_classes(module)
    patterns = table.theirs
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)]


def _functions(module: ModuleType) -> list[str]:
    return [name for name in dir(module) if re.match(r"mj[ud]?_", name)]


def _functions_and_classes(module: ModuleType) -> list[str]:
    return [
        name
        for name in dir(module)
        if not name.startswith(("_", "StdVec"))
        and name != "Exception"  # eigenpy's, which is there once coal is imported
        and not inspect.ismodule(getattr(module, name))
        and callable(getattr(module, name))
    ]


# The page ------------------------------------------------------------------------------------------------------------


def tables() -> list[Table]:
    """The tables, by the names of their files in reverse: Pinocchio first."""
    return [read(path) for path in sorted(TABLES.glob("*.toml"), reverse=True)]


def page() -> str:
    """The page's text."""
    return "\n".join([INTRODUCTION, *(_chapter(table) for table in tables())])


def _chapter(table: Table) -> str:
    lines = [f"## {table.title} {table.version}", ""]
    for title, rows in table.sections.items():
        lines += [f"### {title}", "", f"| {table.title} | linkwork | |", "|---|---|---|"]
        lines += [f"| {_code(row.theirs)} | {_links(row.ours)} | {row.note} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _links(names: tuple[str, ...]) -> str:
    return ", ".join(_link(name) for name in names) or "not here"


def _link(name: str) -> str:
    first, *rest = name.split(".")
    if first == "lw" and _is_public(*rest):
        return f"[`{name}`][linkwork.{'.'.join(rest)}]"
    if first == "robot" and inspect.isfunction(getattr(lw.Mechanism, rest[0], None)):
        return f"[`{name}`][linkwork.Mechanism.{rest[0]}]"
    return f"`{name}`"


def _is_public(name: str, *rest: str) -> bool:
    """Whether this is a name at the top or of a namespace, not a member of one."""
    if name not in lw.__all__:
        return False  # an extra
    thing = getattr(lw, name)
    return len(rest) == 1 and rest[0] in thing.__all__ if inspect.ismodule(thing) else not rest


if __name__ == "__main__":
    PAGE.write_text(page())
