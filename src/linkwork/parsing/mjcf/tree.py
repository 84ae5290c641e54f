# SPDX-License-Identifier: BSD-3-Clause
"""The kinematic tree of a model: bodies as they are nested, in MuJoCo's order, with what belongs to each.

A <frame> moves what is inside of it and is gone here. Names that the file does not give are made: ``body_3`` for the
body that is MuJoCo's number 3, ``upper_joint`` for the joint of a body ``upper``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.constraints import WORLD
from linkwork.model.placement import Placement
from linkwork.parsing.located_builder import unused_name
from linkwork.parsing.mjcf.document import TIMES, Defaults, MjcfDocument
from linkwork.parsing.mjcf.settings import Settings
from linkwork.parsing.mjcf.vocabulary import IN_BODY, not_understood, refuse_unknown
from linkwork.parsing.xml import Node

_MAKES_MORE = {
    "composite": "composite bodies are",
    "flexcomp": "deformable bodies are",
    "plugin": "forces of plugins are",
}


@dataclass(frozen=True)
class Item:
    """An element of a body, and the frame of the body in which its numbers are given."""

    node: Node
    frame: Placement
    around: tuple[Node, ...] = ()
    """The <frame> elements that it is in, from the outermost."""


@dataclass(frozen=True, eq=False)
class Body:
    """A body as the file has it; the world is one, too."""

    node: Node
    parent: Body | None
    own: Placement
    """As the file says: in its parent, or in a <frame> there."""
    place: Placement
    """In its parent's frame."""
    world: Placement
    """In the world, as the model is drawn."""
    items: dict[str, list[Item]] = field(default_factory=dict)

    def all(self, kind: str) -> list[Item]:
        """Its elements of a kind: joint, inertial, geom, site, body."""
        return self.items.get(kind, [])

    @property
    def carrier(self) -> Body:
        """The body with joints that it moves with, or the world."""
        body = self
        while body.parent is not None and not body.all("joint"):
            body = body.parent
        return body

    @property
    def mocap(self) -> Body | None:
        """The mocap body that it moves with."""
        body: Body | None = self
        while body is not None and body.node.get("mocap") != "true":
            body = body.parent
        return body

    @property
    def is_static(self) -> bool:
        """Whether no joint moves it."""
        return self.carrier.parent is None


@dataclass(frozen=True)
class Tree:
    """The bodies in MuJoCo's order, the world first, and the names of bodies and joints."""

    bodies: tuple[Body, ...]
    names: dict[Body, str]
    joint_names: dict[Body, tuple[str, ...]]

    @property
    def without_world(self) -> Iterator[tuple[Body, str]]:
        """All bodies but the world, and their names."""
        return ((body, self.names[body]) for body in self.bodies[1:])


def read_tree(document: MjcfDocument, defaults: Defaults, settings: Settings) -> Tree:
    """The bodies of all <worldbody> sections."""
    world = Body(document.root, None, Placement(), Placement(), Placement())
    bodies = [world]
    for section in document.children(document.root, "worldbody"):
        for name in section.attributes:
            raise section.error(f"the world has no attributes such as '{name}'")
        bodies += _read_section(document, section, defaults, settings, world)
    return _named(bodies)


def _read_section(
    document: MjcfDocument, section: Node, defaults: Defaults, settings: Settings, world: Body
) -> Iterator[Body]:
    """Depth first, without recursion: a file may be as deep as it likes."""
    open_elements: list[tuple[Iterator[Node], Body, Placement, tuple[Node, ...], str | None]] = [
        (document.children(section), world, Placement(), (), None)
    ]
    while open_elements:
        children, body, frame, around, childclass = open_elements[-1]
        node = next(children, None)
        if node is None:
            open_elements.pop()
        elif node.tag == "frame":
            place = _frame(node, settings)
            inside = defaults.check(node.get("childclass"), node) or childclass
            open_elements.append((document.children(node), body, frame * place, (*around, node), inside))
        elif node.tag == "body":
            below = _body(node, body, frame, settings)
            body.items.setdefault("body", []).append(Item(node, frame, around))
            inside = defaults.check(node.get("childclass"), node) or childclass
            open_elements.append((document.children(node), below, Placement(), (), inside))
            yield below
        else:
            _sort(Item(node, frame, around), body, defaults, childclass)


def _frame(node: Node, settings: Settings) -> Placement:
    refuse_unknown(node)
    scales = (*(node.numbers("scale", 1, 3) or ()), node.number("massscale", 0.0) or 1.0)
    if any(scale != 1 for scale in scales):
        raise node.error("a frame that scales what is inside is not supported", UnsupportedFeature)
    times = node.get(TIMES)
    return settings.placement(node) if times is None else _repeated(node, int(times), settings)


def _repeated(node: Node, times: int, settings: Settings) -> Placement:
    """A copy of <replicate>: its angles are those of one turn, times a number, and its position adds up."""
    angles, offset = (np.array(node.vector(what, (0.0, 0.0, 0.0))) for what in ("euler", "pos"))
    turns = [settings.euler_rotation(node, k * angles) for k in range(times + 1)]
    return Placement(sum((R @ offset for R in turns[:-1]), np.zeros(3)), turns[-1])


def _body(node: Node, parent: Body, frame: Placement, settings: Settings) -> Body:
    refuse_unknown(node)
    own = settings.placement(node)
    place = frame * own
    return Body(node, parent, own, place, parent.world * place)


def _sort(item: Item, body: Body, defaults: Defaults, childclass: str | None) -> None:
    """Put an element with its body, if it matters."""
    node = item.node
    around = "worldbody" if body.parent is None else "body"
    if node.tag in _MAKES_MORE:
        raise node.error(f"{_MAKES_MORE[node.tag]} not supported", UnsupportedFeature)
    if node.tag not in IN_BODY:
        raise not_understood(node, around)
    if node.tag == "light":
        return
    kind = "joint" if node.tag == "freejoint" else node.tag
    if node.tag in ("joint", "geom", "site", "camera"):
        node = defaults.apply(node, node.tag, childclass)
    if kind in ("joint", "inertial"):
        if body.parent is None:
            raise node.error(f"the world has no <{node.tag}>")
        refuse_unknown(node)
    if kind == "site":
        refuse_unknown(node)
    items = body.items.setdefault(kind, [])
    if kind == "inertial" and items:
        raise node.error(f"a body has one <inertial>; the first is on line {items[0].node.line}")
    items.append(replace(item, node=node))


# Names ---------------------------------------------------------------------------------------------


def _named(bodies: list[Body]) -> Tree:
    taken = {body.node.get("name") for body in bodies[1:]} | {WORLD}
    names = {bodies[0]: WORLD}
    for number, body in enumerate(bodies[1:], start=1):
        names[body] = body.node.get("name") or fresh(f"body_{number}", taken)
    taken = {item.node.get("name") for body in bodies for item in body.all("joint")}
    joint_names: dict[Body, tuple[str, ...]] = {}
    for body in bodies[1:]:
        joint_names[body] = tuple(
            item.node.get("name") or fresh(f"{names[body]}_joint", taken) for item in body.all("joint")
        )
    return Tree(tuple(bodies), names, joint_names)


def fresh(name: str, taken: set[str | None]) -> str:
    """The name or one like it, and from now on taken."""
    free = unused_name(name, taken) if name in taken else name
    taken.add(free)
    return free
