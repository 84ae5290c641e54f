# SPDX-License-Identifier: BSD-3-Clause
"""Names of elements: each kind has its own, of which none is there twice."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.parsing.mjcf.document import MjcfDocument
from linkwork.parsing.mjcf.tree import Tree
from linkwork.parsing.xml import Node


def refuse_repeated_names(document: MjcfDocument, tree: Tree) -> None:
    """Raise `ModelError` where two elements of a kind have one name; joints, sites and others are checked as they are
    built.

    Args:
        document: The file.
        tree: Its bodies.
    """
    for kind, nodes in _kinds(document, tree):
        lines: dict[str, int | None] = {}
        for node in nodes:
            name = node.get("name")
            if name and name in lines:
                raise node.error(f"two {kind} are called '{name}'; the first is on line {lines[name]}")
            if name:
                lines[name] = node.line


def _kinds(document: MjcfDocument, tree: Tree) -> Iterator[tuple[str, list[Node]]]:
    yield "geoms", [item.node for body in tree.bodies for item in body.all("geom")]
    yield "actuators", list(document.inside("actuator"))
    yield "sensors", list(document.inside("sensor"))
    yield "pairs", list(document.inside("contact", "pair"))
    yield "meshes", list(document.inside("asset", "mesh"))
    yield "height fields", list(document.inside("asset", "hfield"))
