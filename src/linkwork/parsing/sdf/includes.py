# SPDX-License-Identifier: BSD-3-Clause
"""<include> of SDF: the model of another file in its place, with the name, pose and other words that are given there.

Files are looked for as meshes are: ``model://name`` in given folders, around the model and where variables such as
``GZ_SIM_RESOURCE_PATH`` say, with a ``model.config`` that names the file or ``model.sdf``; relative paths beside the
model. Nothing but SDF is read, and errors do not quote it.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from lxml import etree

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.options import read_file
from linkwork.parsing.xml import ORIGIN, Node, read_xml

_DEEPEST = 20
_OVERRIDES = ("pose", "static")
_KNOWN = {"uri", "name", "pose", "static", "placement_frame", "plugin"}


def with_includes(sdf: Node, folders: tuple[Path, ...]) -> Node:
    """The document with the models of included files in their places.

    Args:
        sdf: The root element.
        folders: Where models are looked for first.
    """
    if next(sdf.descendants("include"), None) is None:
        return sdf
    root = copy.deepcopy(sdf.element)
    for depth in range(_DEEPEST + 1):
        includes = list(root.iter("include"))
        if not includes:
            return Node(root, sdf.file, None)
        if depth == _DEEPEST:
            break
        for element in includes:
            _replace(Node(element, sdf.file, None), sdf.get("version") or "", folders)
    raise sdf.error(f"more than {_DEEPEST} includes within each other, or files that include themselves")


def _replace(include: Node, version: str, folders: tuple[Path, ...]) -> None:
    include.refuse_other_elements(_KNOWN)
    if include.is_set("merge"):
        raise include.error("an <include> that merges a model into another is not supported", UnsupportedFeature)
    file = _file(include, folders)
    other = _sdf(include, file)
    theirs = other.get("version") or ""
    if theirs != version and not all(_number(text) >= (1, 7) for text in (theirs, version)):
        raise include.error(
            f"the included file has SDF {theirs}, this one {version}; poses mean the same in one version, or since 1.7",
            UnsupportedFeature,
        )
    models = list(other.children("model"))
    if len(models) != 1:
        raise include.error(f"the included file has {len(models)} models, needs one")
    model: Any = copy.deepcopy(models[0].element)
    for one in model.iter(tag=etree.Element):
        if one.get(ORIGIN) is None:
            one.set(ORIGIN, str(file))
    name, frame = include.child("name"), include.child("placement_frame")
    if name is not None:
        model.set("name", name.word())
    if frame is not None:
        model.set("placement_frame", frame.word())
    for tag in _OVERRIDES:
        override = include.child(tag)
        if override is not None:
            for old in model.findall(tag):
                model.remove(old)
            model.append(copy.deepcopy(override.element))
    element = include.element
    element.getparent().replace(element, model)


def _file(include: Node, folders: tuple[Path, ...]) -> Path:
    uri = include.need("uri").word()
    finder = MeshFinder(include.file, folders)
    if uri.startswith(("/", "file:")):
        raise include.error(f"'{uri}' is an absolute path: write model://name, or a path relative to the model")
    file = finder.find(uri)
    if file is None:
        config = finder.find(f"{uri}/model.config")
        named = "model.sdf" if config is None else _configured(config)
        file = finder.find(f"{uri}/{named}")
    if file is None:
        raise include.error(
            f"there is no model '{uri}'; folders= and GZ_SIM_RESOURCE_PATH say where models are looked for"
        )
    return file.resolve()


def _configured(config: Path) -> str:
    """The file that a ``model.config`` names last, which is that of the newest version."""
    try:
        names = [node.content for node in read_xml(read_file(config), str(config)).children("sdf")]
    except ModelError:
        names = []
    return names[-1] if names and "/" not in names[-1] else "model.sdf"


def _sdf(include: Node, file: Path) -> Node:
    try:
        root = read_xml(read_file(file), str(file))
    except ModelError:
        root = None
    if root is None or root.tag != "sdf":
        raise include.error(f"'{include.need('uri').word()}' is no SDF file") from None
    return root


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else (0, 0)
