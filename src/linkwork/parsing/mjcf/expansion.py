# SPDX-License-Identifier: BSD-3-Clause
"""<attach> and <replicate>, written out: one tree of elements in which they do not occur.

Both copy bodies and give the copies other names: <attach> the bodies of another model with a prefix, <replicate> those
inside of it with a number at the end, each copy moved from the one before. Whatever refers to copied elements alone
(actuators, sensors, tendons, equalities, contacts) is copied with them. Default classes and assets of an attached model
keep apart from those of the others by its prefix, and its angles stay what its own <compiler> says (`DEGREES`,
`EULERSEQ`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from linkwork.errors import UnsupportedFeature
from linkwork.model.constraints import WORLD
from linkwork.parsing.mjcf.document import APART, DEGREES, EULERSEQ, MAIN, TIMES, MjcfDocument, asset_folder
from linkwork.parsing.mjcf.vocabulary import refuse_unknown
from linkwork.parsing.xml import ORIGIN, Node, warn

_NAMES = frozenset(
    word
    for line in (
        "name joint jointinparent tendon site body cranksite slidersite refsite actuator geom sidesite target camera",
        "mesh material hfield texture objname refname",
        "body1 body2 site1 site2 joint1 joint2 tendon1 tendon2 geom1 geom2",
    )
    for word in line.split()
)
"""Attributes that name elements."""
_CLASSES = ("class", "childclass")
_REFERRING = ("contact", "equality", "tendon", "actuator", "sensor")
"""Sections whose elements refer to bodies and what is in them."""
_OF_COMPILER = (
    *("autolimits", "inertiafromgeom", "inertiagrouprange", "boundmass", "boundinertia", "settotalmass"),
    *("balanceinertia", "fitaabb", "alignfree", "exactmeshinertia"),
)
"""Settings that attached models must share."""
_MOST_COPIES, _MOST_ELEMENTS = 100_000, 1_000_000
_DEEPEST = 10

Rename = Callable[[str], str]


def expanded(document: MjcfDocument, read: Callable[[Node, str], MjcfDocument], depth: int = 0) -> MjcfDocument:
    """The document without <attach> and <replicate>.

    Args:
        document: The model.
        read: Reads another model: the element that asks for it, and its file name.
        depth: Models that are attached to each other around this one.
    """
    if not document.has("attach", "replicate"):
        return document
    root = _inlined(document)
    bodies = root.findall("worldbody")
    for element in [attach for world in bodies for attach in world.iter("attach")]:
        _attach(document.node(element), element, root, document, read, depth)
    while True:
        innermost = [r for world in bodies for r in world.iter("replicate") if r.find(".//replicate") is None]
        if not innermost:
            return MjcfDocument(document.node(root), {})
        for element in innermost:
            _replicate(document.node(element), element, root)


def _inlined(document: MjcfDocument) -> Any:
    """A copy of the tree in which the elements of included files stand in their places."""

    def copied(node: Node) -> Any:
        new = copy.deepcopy(node.element)
        for child in list(new):
            new.remove(child)
        new.set(ORIGIN, node.file)
        for child in document.children(node):
            new.append(copied(child))
        return new

    return copied(document.root)


# Names ---------------------------------------------------------------------------------------------


def _rename(element: Any, new: Rename, of: frozenset[str] | None = None, classes: Rename | None = None) -> None:
    """Give names in an element and all inside of it other ones: all, or those that are among ``of``."""
    for one in element.iter(tag=etree.Element):
        for attribute, value in one.attrib.items():
            # the attributes of <default> are numbers and classes; ``body`` of <body> is no name
            if attribute in _NAMES and value and (of is None or value in of):
                one.set(attribute, new(value))
            elif classes is not None and attribute in _CLASSES:
                one.set(attribute, classes(value))


def _named(element: Any) -> frozenset[str]:
    """Names of elements in a tree of bodies."""
    return frozenset(one.get("name") for one in element.iter(tag=etree.Element) if one.get("name"))


def _references(element: Any) -> Iterator[str]:
    """Names that an element of a section refers to."""
    for one in element.iter(tag=etree.Element):
        for attribute, value in one.attrib.items():
            if attribute in _NAMES - {"name", "material", "mesh", "texture"} and value:
                yield value


# <replicate> ---------------------------------------------------------------------------------------


def _replicate(node: Node, element: Any, root: Any) -> None:
    refuse_unknown(node)
    count, separator = int(node.number("count")), node.get("sep") or ""
    if not 0 < count <= _MOST_COPIES:
        raise node.error(f"count is {count}; it must be from 1 to {_MOST_COPIES}")
    if count * sum(1 for _ in element.iter()) > _MOST_ELEMENTS:
        raise node.error(f"{count} copies have more than {_MOST_ELEMENTS} elements")
    offset, turn = node.vector("offset", (0.0, 0.0, 0.0)), node.get("euler") or "0 0 0"
    inside = _named(element)
    digits = len(str(count - 1))
    suffixes = [f"{separator}{k:0{digits}d}" for k in range(count)]
    _copy_references(root, inside, [lambda name, s=s: name + s for s in suffixes])  # type: ignore[misc]
    outer = parent = element.getparent()
    at = parent.index(element)
    parent.remove(element)
    # Each copy stands in the frame of the one before, moved and turned.
    for k, suffix in enumerate(suffixes):
        frame = etree.Element("frame")
        frame.set(ORIGIN, element.get(ORIGIN) or node.file)
        frame.sourceline = element.sourceline
        for attribute in (DEGREES, EULERSEQ):
            if element.get(attribute) is not None:
                frame.set(attribute, element.get(attribute))
        if k:
            frame.set(TIMES, str(k))
            frame.set("pos", " ".join(map(repr, offset)))
            frame.set("euler", turn)
        for child in element:
            new = copy.deepcopy(child)
            _rename(new, lambda name, s=suffix: name + s, inside)  # type: ignore[misc]
            frame.append(new)
        outer.insert(at + k, frame)


def _copy_references(root: Any, inside: frozenset[str], names: list[Rename]) -> None:
    """Put copies of elements that refer to copied ones in their place: at the end, copy after copy, as in MuJoCo."""
    for section in (child for child in root if child.tag in _REFERRING):
        referring = [
            one for one in section if isinstance(one.tag, str) and any(name in inside for name in _references(one))
        ]
        inside |= {one.get("name") for one in referring if one.get("name")}
        for one in referring:
            section.remove(one)
        for new in names:
            for one in referring:
                copied = copy.deepcopy(one)
                _rename(copied, new, inside)
                section.append(copied)


# <attach> ------------------------------------------------------------------------------------------


def _attach(
    node: Node,
    element: Any,
    root: Any,
    document: MjcfDocument,
    read: Callable[[Node, str], MjcfDocument],
    depth: int,
) -> None:
    refuse_unknown(node)
    if depth >= _DEEPEST:
        raise node.error(f"more than {_DEEPEST} models attached to each other")
    name, prefix = node.text("model"), node.get("prefix") or ""
    models = {m.get("name") or Path(m.get("file") or "").stem: m for m in document.inside("asset", "model")}
    if name not in models:
        raise node.error(f"there is no <model> '{name}' among the assets; there are: {', '.join(models) or 'none'}")
    child = read(models[name], models[name].text("file"))
    child = expanded(child, read, depth + 1)
    _require_same_compiler(node, document, child)
    tree = _inlined(child)
    _resolve_files(tree, child)
    _keep_angles(tree, child)
    worlds = tree.findall("worldbody")
    attached = _attached(node, worlds)
    inside = frozenset().union(*(_named(one) for one in attached))
    whole = node.get("body") is None and node.get("frame") is None

    def renamed(text: str) -> str:
        return text if text == WORLD else prefix + text

    kept = _carried(tree, inside, whole)
    if list(child.inside("keyframe")):
        warn(node, f"keyframes of the attached model '{name}' are left out")
    _rename_classes(root, tree, prefix)
    for section in ("asset", *_REFERRING):
        parts = [one for part in tree.findall(section) for one in part if isinstance(one.tag, str)]
        if section in _REFERRING:
            parts = [one for one in parts if one in kept]
        if parts:
            place = etree.SubElement(root, section)
            for one in parts:
                if one.get("class") is None:
                    one.set("class", MAIN)
                if section == "asset" and one.get("name") is None and one.get("file"):
                    one.set("name", Path(one.get("file")).stem)
                _rename(one, renamed, None, renamed)
                place.append(one)
    parent = element.getparent()
    at = parent.index(element)
    parent.remove(element)
    for k, one in enumerate(attached):
        _rename(one, renamed, None, renamed)
        if one.tag == "body" and one.get("childclass") is None:
            one.set("childclass", prefix + MAIN)
        elif one.tag != "body" and one.get("class") is None and one.tag != "frame":
            one.set("class", prefix + MAIN)
        elif one.tag == "frame" and one.get("childclass") is None:
            one.set("childclass", prefix + MAIN)
        parent.insert(at + k, one)


def _attached(node: Node, worlds: list[Any]) -> list[Any]:
    """The elements that are attached: one body or frame, or all that the other model's world has."""
    wanted = {kind: name for kind in ("body", "frame") if (name := node.get(kind)) is not None}
    if len(wanted) > 1:
        raise node.error("'body' and 'frame' both say what is attached; keep one")
    if not wanted:
        return [one for world in worlds for one in world if isinstance(one.tag, str)]
    ((kind, name),) = wanted.items()
    for world in worlds:
        for one in world.iter(kind):
            if one.get("name") == name:
                return [one]
    raise node.error(f"the attached model has no {kind} '{name}'")


def _carried(tree: Any, inside: frozenset[str], whole: bool) -> list[Any]:
    """Elements of sections that refer to attached elements alone, and to each other."""
    known, kept = set(inside), []
    for section in ("tendon", "contact", "equality", "actuator", "sensor"):
        for part in tree.findall(section):
            for one in part:
                if isinstance(one.tag, str) and (whole or all(name in known for name in _references(one))):
                    kept.append(one)
                    known |= {one.get("name")} if one.get("name") else set()
    return kept


def _rename_classes(root: Any, tree: Any, prefix: str) -> None:
    """Default classes of the attached model, beside those of the model."""
    tops = tree.findall("default") or [etree.Element("default")]
    merged = etree.SubElement(root, "default")
    merged.set("class", prefix + MAIN)
    merged.set(APART, "true")
    for top in tops:
        for child in list(top):
            if isinstance(child.tag, str):
                _rename(child, lambda name: prefix + name, None, lambda name: prefix + name)
                merged.append(child)


def _resolve_files(tree: Any, child: MjcfDocument) -> None:
    """Files of assets by their absolute paths."""
    folder = Path(child.root.file).resolve().parent
    for part in tree.findall("asset"):
        for one in part.iter("mesh", "hfield"):
            if one.get("file"):
                if one.tag == "mesh" and one.get("name") is None:
                    one.set("name", Path(one.get("file")).stem)
                one.set("file", str(folder / asset_folder(child, "meshdir") / one.get("file")))


def _keep_angles(tree: Any, child: MjcfDocument) -> None:
    """Write what <compiler> says of angles on each element that has none of another model."""
    said = _compiler(child)
    for one in tree.iter(tag=etree.Element):
        if one.get(DEGREES) is None:
            one.set(DEGREES, "false" if said.get("angle") == "radian" else "true")
            one.set(EULERSEQ, said.get("eulerseq") or "xyz")


def _compiler(document: MjcfDocument) -> dict[str, str]:
    said: dict[str, str] = {}
    for node in document.children(document.root, "compiler"):
        said |= {name: node.get(name) or "" for name in node.attributes}
    return said


def _require_same_compiler(node: Node, document: MjcfDocument, child: MjcfDocument) -> None:
    ours, theirs = _compiler(document), _compiler(child)
    for attribute in _OF_COMPILER:
        if ours.get(attribute) != theirs.get(attribute):
            raise node.error(
                f"the attached model has {attribute}='{theirs.get(attribute)}' in its <compiler>, and this one "
                f"'{ours.get(attribute)}'; models that are attached must agree in it",
                UnsupportedFeature,
            )
