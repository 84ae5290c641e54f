"""Docstrings as pages of the reference show them: doctests are code, arguments a list, names in backticks links.

An extension of griffe, which mkdocstrings reads the source with (see mkdocs.yml). A name in single backticks is a link
where it is a public name of the package, or a member of one: ``Mechanism.assemble``.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Alias, Extension, Module, Object

SESSION = re.compile(r"^>>> .*(?:\n(?:(?!\s*$).)+)*", re.MULTILINE)
"""A doctest: from its first prompt to the next empty line."""
ARGUMENT = re.compile(r"^(``\w+``: )", re.MULTILINE)
"""A line that begins with an argument and says what it is: an item of a list."""
NAME = re.compile(r"(?<![`\[])`([A-Za-z_][A-Za-z_.0-9]*)`(?![`\]])")
"""One name in single backticks."""


def public_names(package: Module) -> dict[str, str]:
    """What a docstring may name, and the address that the reference knows it by: public things and their members."""
    found = {}
    for name in (str(item) for item in package.exports or ()):
        address = f"{package.path}.{name}"
        found[name] = address
        thing = package.members.get(name)
        if thing is None or thing.is_module:
            continue
        for member in thing.members:
            if not member.startswith("_"):
                found[f"{name}.{member}"] = f"{address}.{member}"
    return found


def as_markdown(text: str, names: dict[str, str], own: dict[str, str]) -> str:
    """A docstring with doctests fenced and names linked; ``own`` are members of the thing it explains."""

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        address = own.get(name) or names.get(name)
        return match[0] if address is None else f"[`{name}`][{address}]"

    fenced = SESSION.sub(lambda match: f"```pycon\n{match[0]}\n```", ARGUMENT.sub(r"\n- \1", text))
    parts = re.split(r"(```pycon\n.*?\n```)", fenced, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else NAME.sub(linked, part) for part in parts)


class Docstrings(Extension):
    """Rewrites the docstrings of a package once all of it has been read."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Every module, class, function and attribute that has one."""
        names = public_names(pkg)
        by_path = {thing.target_path: f"{pkg.path}.{name}" for name, thing in pkg.members.items() if thing.is_alias}
        waiting: list[Object | Alias] = [pkg]
        while waiting:
            thing = waiting.pop()
            if thing.is_alias:
                continue
            waiting += thing.members.values()
            if thing.docstring is not None:
                holder = thing if thing.is_class else thing.parent
                address = by_path.get(holder.path, "") if holder is not None and holder.is_class else ""
                shown = [name for name in holder.members if not name.startswith("_")] if address else []
                own = {name: f"{address}.{name}" for name in shown}
                thing.docstring.value = as_markdown(thing.docstring.value, names, own)
