# SPDX-License-Identifier: BSD-3-Clause
"""A model's XML as one tree: included files in their places, and what elements inherit from default classes.

Files are included by paths relative to the model, each once. One that is not in the model's folder or below it must be
MJCF, and errors do not quote it; absolute paths and links that lead elsewhere are refused unless a folder is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linkwork.errors import ModelError
from linkwork.parsing.mjcf.vocabulary import ACTUATORS, IN_DEFAULT, not_understood
from linkwork.parsing.options import read_file
from linkwork.parsing.xml import Node, read_xml

APART = "{linkwork}apart"
"""Attribute of the outermost default class of an attached model, which inherits from none."""
DEGREES, EULERSEQ = "{linkwork}degrees", "{linkwork}eulerseq"
"""Attributes of elements of an attached model: what its own <compiler> says of angles."""
TIMES = "{linkwork}times"
"""Attribute of a frame: how often it moves and turns, as copies of <replicate> do."""
MAIN = "main"
"""The default class of elements that name none."""

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")

_DEEPEST = 30
"""Includes within includes."""

_MOST = 1000
"""Included files of one model."""


class MjcfDocument:
    """The elements of a model, those of included files among them."""

    def __init__(self, root: Node, included: Mapping[str, Node]) -> None:
        self.root = root
        self._included = included

    def children(self, node: Node, *tags: str) -> Iterator[Node]:
        """The elements directly inside, all or those called one of ``tags``."""
        open_files = [node.children()]
        while open_files:
            child = next(open_files[-1], None)
            if child is None:
                open_files.pop()
            elif child.tag == "include":
                open_files.append(self._included[child.text("file")].children())
            elif not tags or child.tag in tags:
                yield child

    def has(self, *tags: str) -> bool:
        """Whether an element called one of ``tags`` is anywhere in the model or a file that it includes."""
        return any(next(root.descendants(*tags), None) for root in (self.root, *self._included.values()))

    def node(self, element: Any) -> Node:
        """A node of this document for an element as lxml has it."""
        return Node(element, self.root.file, None)

    def inside(self, section: str, *tags: str) -> Iterator[Node]:
        """The elements inside all sections of a name."""
        for node in self.children(self.root, section):
            yield from self.children(node, *tags)


def read_document(text: bytes | str, file: str, path: Path | None, folders: tuple[Path, ...] = ()) -> MjcfDocument:
    """A model with all that it includes; without a ``path`` of its own it can include nothing.

    Args:
        text: The model.
        file: Its name in messages.
        path: Its file.
        folders: Where included files may lie, besides the folder of the model.
    """
    root = read_xml(text, file)
    if root.tag != "mujoco":
        hint = "; this is a URDF file, which is called .urdf" if root.tag == "robot" else ""
        raise root.error(f"the root element of an MJCF file is <mujoco>{hint}")
    included: dict[str, Node] = {}
    known = set() if path is None else {path.resolve()}
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        for include in node.descendants("include"):
            if path is None:
                raise include.error("the text of a model can include files only when it is loaded from one")
            target = included_path(include, path.parent, folders)
            if target in known:
                raise include.error(f"'{include.text('file')}' is included a second time, or includes itself")
            if depth >= _DEEPEST or len(included) >= _MOST:
                raise include.error(f"more than {_DEEPEST} includes within each other, or {_MOST} altogether")
            known.add(target)
            content = _content(target, include, path.parent)
            included[include.text("file")] = content
            waiting.append((content, depth + 1))
    return MjcfDocument(root, included)


def _content(file: Path, include: Node, folder: Path) -> Node:
    """The root element of an included file; of one outside of the model's folder no error quotes anything."""
    if file.is_relative_to(folder.resolve()):
        return read_xml(read_file(file), str(file))
    try:
        content = read_xml(read_file(file), str(file))
    except ModelError:
        content = None
    if content is None or content.tag not in ("mujoco", "mujocoinclude"):
        raise include.error(f"'{include.text('file')}' is no MJCF file") from None
    return content


def included_path(include: Node, folder: Path, folders: tuple[Path, ...] = ()) -> Path:
    """The file that is meant: seen from the model's folder, else from that of the file that includes it.

    Args:
        include: The element that names it.
        folder: Of the model.
        folders: Where it may lie, besides.
    """
    name = include.text("file")
    allowed = [at.resolve() for at in (folder, *folders)]
    for start in (folder, Path(include.file).parent):
        try:
            place = (start / name).resolve()
            followed = place != Path(os.path.normpath(start.resolve() / name)) or Path(name).is_absolute()
            outside = followed and not any(place.is_relative_to(at) for at in allowed)
            there = not outside and place.is_file()
        except (OSError, ValueError, RuntimeError) as e:
            raise include.error(f"'{name[:80]}' is no file name: {e}") from None
        if outside:
            raise include.error(
                f"'{name}' is an absolute path or a link that leads out of the model's folder, where no file is read "
                "unless folders= has its folder or one around it"
            )
        if there:
            return place
    raise include.error(f"there is no file '{name}', seen from the model's folder")


def asset_folder(document: MjcfDocument, of: str) -> Path:
    """A folder of assets, relative to the model's; of repeated <compiler> elements the last counts.

    Args:
        document: The model.
        of: The attribute of <compiler> that names it: ``meshdir``, which is also for height fields.
    """
    said: dict[str, str] = {}
    for node in document.children(document.root, "compiler"):
        said |= {name: node.get(name) or "" for name in node.attributes}
    return Path(said.get(of) or said.get("assetdir") or "")


# Default classes -----------------------------------------------------------------------------------


_COMPLETED = frozenset(
    {
        "friction",
        "solref",
        "solimp",
        "solreffriction",
        "solimpfriction",
        "solreflimit",
        "solimplimit",
        "surfacevel",
    }
)
"""Attributes with several numbers, of which a class may say the first and inherit the others."""


class Defaults:
    """The default classes of a model: attributes by class and kind of element."""

    def __init__(self, document: MjcfDocument) -> None:
        self._classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        self._actuators: dict[str, list[list[Node]]] = {MAIN: [[]]}
        for top in document.children(document.root, "default"):
            name = top.get("class") or MAIN
            if top.get(APART) is not None:  # of an attached model
                self._classes[name], self._actuators[name] = {}, [[]]
            elif name != MAIN:
                raise top.error(f"the outermost default class is '{MAIN}'; nest '{top.get('class')}' inside of it")
            self._read(document, top, name)
            waiting = [(node, name) for node in document.children(top, "default")][::-1]
            while waiting:
                node, parent = waiting.pop()
                name = node.text("class")
                if name in self._classes:
                    raise node.error(f"two default classes are called '{name}'")
                self._classes[name] = {kind: dict(values) for kind, values in self._classes[parent].items()}
                self._actuators[name] = [*self._actuators[parent], []]
                self._read(document, node, name)
                waiting += [(below, name) for below in document.children(node, "default")][::-1]

    def _read(self, document: MjcfDocument, node: Node, name: str) -> None:
        """Reads the attributes of one <default>."""
        for child in document.children(node):
            if child.tag == "default":
                continue
            if child.tag not in IN_DEFAULT:
                raise not_understood(child, "default")
            kinds = self._classes[name]
            kind = "actuator" if child.tag in ACTUATORS else child.tag
            if kind == "actuator":
                self._actuators[name][-1].append(child)
            own = {attribute: child.get(attribute) or "" for attribute in child.attributes}
            inherited = kinds.get(kind, {})
            for attribute in _COMPLETED & own.keys() & inherited.keys():
                said = own[attribute].split()
                own[attribute] = " ".join([*said, *inherited[attribute].split()[len(said) :]])
            kinds[kind] = _without(own, inherited) | own

    def check(self, name: str | None, node: Node) -> str | None:
        """The name of a class, which exists."""
        if name is not None and name not in self._classes:
            raise node.error(f"there is no default class '{name}'")
        return name

    def actuators(self, node: Node) -> list[list[Node]]:
        """Elements of each default class that an actuator inherits from, the outermost first, and itself at the end of
        the last.

        Kinds of actuators are shortcuts that set what others have set before them, so that their order matters.
        """
        *outer, own = self._actuators[self.check(node.get("class"), node) or MAIN]
        return [*outer, [*own, node]]

    def apply(self, node: Node, kind: str, childclass: str | None = None) -> Node:
        """The element with what it inherits: from its own class, else from that of the bodies around it."""
        name = self.check(node.get("class"), node) or childclass or MAIN
        values = self._classes[name].get(kind, {})
        return node.inheriting(_without(node.attributes, values))


def _without(own: Mapping[str, str] | tuple[str, ...], inherited: Mapping[str, str]) -> dict[str, str]:
    """Inherited attributes beside ``own`` ones: an orientation replaces one that is written in another way."""
    turned = any(way in own for way in ORIENTATIONS)
    return {name: text for name, text in inherited.items() if not (turned and name in ORIENTATIONS)}
