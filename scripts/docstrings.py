# SPDX-License-Identifier: BSD-3-Clause
"""Docstrings and signatures as pages of the reference show them.

An extension of griffe, which mkdocstrings reads the source with (see mkdocs.yml). In docstrings, doctests are code, and
a name in single backticks is a link where it is a public name of the package, or a member of one:
``Mechanism.assemble``. In signatures, constants that defaults are named by are their values (``1e-06``, not
``DAMPING``), and names of types that list words (``Literal``) are these words.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

from griffe import Alias, Attribute, Class, Expr, ExprName, Extension, Function, Module, Object

SESSION = re.compile(r"^>>> .*(?:\n(?:(?!\s*$).)+)*", re.MULTILINE)
"""A doctest: from its first prompt to the next empty line."""
NAME = re.compile(r"(?<![`\[])`([A-Za-z_][A-Za-z_.0-9]*)`(?![`\]])")
"""One name in single backticks."""


def surface(package: Module) -> dict[str, Object | Alias]:
    """Public things by the addresses that the reference knows them by: those at the top, and those of namespaces."""
    things: dict[str, Object | Alias] = {}
    for name in map(str, package.exports or ()):
        thing = package.members[name]
        if not thing.is_module:
            things[f"{package.path}.{name}"] = thing
        elif name != "zoo":
            things |= {f"{package.path}.{name}.{inner}": thing.members[str(inner)] for inner in thing.exports or ()}
    return things


def public_names(things: dict[str, Object | Alias]) -> dict[str, str]:
    """What a docstring may name, and the address that the reference knows it by: public things and their members."""
    names = {address.rpartition(".")[2]: address for address in things}
    for name, address in tuple(names.items()):
        members = (member for member in things[address].members if not member.startswith("_"))
        names |= {f"{name}.{member}": f"{address}.{member}" for member in members}
    return names


def as_markdown(text: str, names: dict[str, str], own: dict[str, str]) -> str:
    """A docstring with doctests fenced and names linked; ``own`` are members of the thing it explains."""

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        address = own.get(name) or names.get(name)
        return match[0] if address is None else f"[`{name}`][{address}]"

    fenced = SESSION.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
    parts = re.split(r"(```pycon\n.*?\n```)", fenced, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else NAME.sub(linked, part) for part in parts)


def constant(name: Expr, package: Module) -> Any:
    """What a name of the package stands for, as the source writes it; None if it is no constant there."""
    path = name.canonical_path
    if not path.startswith(f"{package.path}."):
        return None
    try:
        thing = package.modules_collection[path]
    except KeyError:
        return None
    found = thing.final_target if thing.is_alias else thing
    return found.value if isinstance(found, Attribute) else None


def with_value(default: Any, package: Module) -> Any:
    """A default with the value in place of the constant that names it."""
    while isinstance(default, ExprName) and (value := constant(default, package)) is not None:
        default = value
    return default


def with_words(annotation: Any, package: Module) -> Any:
    """An annotation with the words in place of the names of types that list them."""
    if isinstance(annotation, ExprName):
        value = constant(annotation, package)
        return with_words(value, package) if "Literal[" in str(value) else annotation
    if isinstance(annotation, list):
        return [with_words(part, package) for part in annotation]
    if isinstance(annotation, Expr) and is_dataclass(annotation):
        parts = {field.name: getattr(annotation, field.name) for field in fields(annotation) if field.init}
        return replace(annotation, **{name: with_words(part, package) for name, part in parts.items()})
    return annotation


ARGUMENTS = "\n\nArgs:\n"
"""What comes before the list of arguments, the last part of a docstring."""


def arguments(thing: Class) -> str:
    """What the docstrings of a class and those whose ``__init__`` it has say about arguments."""
    own = thing.docstring.value.partition(ARGUMENTS)[2] if thing.docstring is not None else ""
    bases = [] if "__init__" in thing.members else [base for base in thing.resolved_bases if isinstance(base, Class)]
    return "\n".join(filter(None, (own, *map(arguments, bases))))


def everything(package: Module) -> list[Object]:
    """A package and all that it holds, each once."""
    found: list[Object] = []
    waiting: list[Object | Alias] = [package]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, Object):
            found.append(thing)
            waiting += thing.members.values()
    return found


class Docstrings(Extension):
    """Rewrites docstrings and signatures of a package once all of it has been read."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Every module, class, function and attribute that has one."""
        public = surface(pkg)
        names = public_names(public)
        by_path = {thing.target_path: address for address, thing in public.items() if isinstance(thing, Alias)}
        things = everything(pkg)
        taken = {thing.path: arguments(thing) for thing in things if isinstance(thing, Class)}
        for thing in things:
            if isinstance(thing, Attribute) and thing.parent is not None and thing.parent.is_class:
                thing.value = with_value(thing.value, pkg)  # a field of a dataclass
            if isinstance(thing, Function):
                thing.returns = with_words(thing.returns, pkg)
                for parameter in thing.parameters:
                    parameter.default = with_value(parameter.default, pkg)
                    parameter.annotation = with_words(parameter.annotation, pkg)
            if thing.docstring is not None:
                holder = thing if thing.is_class else thing.parent
                address = by_path.get(holder.path, "") if holder is not None and holder.is_class else ""
                shown = [name for name in holder.members if not name.startswith("_")] if address else []
                own = {name: f"{address}.{name}" for name in shown}
                text = thing.docstring.value
                if taken.get(thing.path):
                    text = text.partition(ARGUMENTS)[0] + ARGUMENTS + taken[thing.path]
                thing.docstring.value = as_markdown(text, names, own)
