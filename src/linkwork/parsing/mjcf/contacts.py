# SPDX-License-Identifier: BSD-3-Clause
"""Which geoms may touch, as MuJoCo's collision driver decides, and the numbers of each pair.

Two geoms touch if ``contype`` of one and ``conaffinity`` of the other have a bit in common, unless their bodies are
welded to each other, an <exclude> names both bodies, or one body is the parent of the other and not fixed to the world.
A <pair> touches in any case, with numbers of its own. Of two geoms the one with the higher ``priority`` says the
friction; else it is the greater one, and margins add up (MuJoCo 4; before, the greater one).

Not used: ``solref``, ``solimp`` (with a warning where it is not the default) and ``solmix``, which make contacts soft
(contacts are rigid here, unless given a compliance), and ``gap``, from which on MuJoCo lists contacts that have no
force. Not modeled: friction against spinning and rolling (``condim`` 4 and 6), different friction in two directions,
``surfacevel``, ``adhesion``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwork.inputs import suggest
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Ground, HeightField, Mesh
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.contact_rules import MISSING, Unused
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.settings import Settings, has_default_impedance
from linkwork.parsing.mjcf.tree import Body, Tree, fresh
from linkwork.parsing.xml import Node, warn

MOST = 20_000
"""Pairs of a file that are loaded; of more, those with what is fixed to the world."""


@dataclass(frozen=True)
class Numbers:
    """What a geom says of contacts."""

    contype: int
    conaffinity: int
    friction: float
    condim: int
    priority: int
    margin: float

    @staticmethod
    def of(node: Node) -> Numbers:
        """From its element."""
        friction = node.numbers("friction", 1, 2, 3) or (1.0,)
        if friction[0] < 0:
            raise node.error(f"friction is {friction[0]:g}; it must be >= 0")
        masks = _bits(node, "contype", 1), _bits(node, "conaffinity", 1)
        priority, margin = node.number("priority", 0.0), node.number("margin", 0.0)
        return Numbers(*masks, friction[0], _condim(node, 3), int(priority), margin)


@dataclass(frozen=True, eq=False)
class Geom:
    """A geom that may touch others."""

    node: Node
    body: Body
    shape: ContactShape
    said: Numbers


@dataclass
class ContactReader:
    """Reads the contacts of one model.

    Args:
        document: The model.
        defaults: Its default classes.
        settings: Its settings.
        tree: Its bodies.
        shapes: The shapes of its bodies.
    """

    document: MjcfDocument
    defaults: Defaults
    settings: Settings
    tree: Tree
    shapes: Mapping[Body, tuple[LinkShape, ...]]
    unused: Unused = field(default_factory=Unused)
    _noted: set[Node] = field(default_factory=set)
    _missing: set[str] = field(default_factory=set)

    def pairs(self) -> list[ContactPair]:
        """All pairs, those of <pair> first."""
        if not self.settings.contacts:
            return []
        geoms = self._geoms()
        found: list[ContactPair] = []
        names: set[str | None] = set()
        said: set[frozenset[Geom]] = set()
        for node in self.document.inside("contact", "pair"):
            pair = self._explicit(self.defaults.apply(node, "pair"), geoms, said)
            if pair is not None:
                found.append(_renamed(pair, names))
        for one, other in self._dynamic(list(geoms.values()), said):
            found.append(_renamed(self._combined(one, other), names))
        return found

    # Geoms -------------------------------------------------------------------------------------------

    def _geoms(self) -> dict[str, Geom]:
        """The geoms that can be read, by the names of their shapes."""
        taken: set[str | None] = {s.name for shapes in self.shapes.values() for s in shapes if s.name}
        found: dict[str, Geom] = {}
        for body, name in self.tree.names.items():
            shapes = {shape.node: shape for shape in self.shapes[body] if shape.node is not None}
            for k, item in enumerate(body.all("geom")):
                said, shape = Numbers.of(item.node), shapes.get(item.node)
                if shape is not None and isinstance(shape.solid, Mesh) and shape.solid.file is None:
                    self._missing.add(shape.name)
                    if said.contype or said.conaffinity:
                        self.unused.add(item.node, MISSING, always=True)
                elif shape is not None:
                    floor = body.parent is None and isinstance(shape.solid, Ground)
                    plain = "ground" if floor else name if len(body.all("geom")) == 1 else f"{name}_{k + 1}"
                    own = shape.name or fresh(plain, taken)
                    found[own] = Geom(item.node, body, ContactShape(own, name, shape.solid, shape.place), said)
                elif said.contype or said.conaffinity:
                    what = item.node.get("mesh") or item.node.get("hfield") or item.node.get("type") or "sphere"
                    self.unused.add(item.node, f"a geom of '{name}' that cannot be read ({what})", always=True)
        return found

    # Pairs of bodies ---------------------------------------------------------------------------------

    def _dynamic(self, geoms: list[Geom], said: set[frozenset[Geom]]) -> Iterator[tuple[Geom, Geom]]:
        """Pairs by masks, in the order of geoms."""
        if self.settings.collision == "predefined":
            return
        groups: dict[Body, list[Geom]] = {}
        for geom in geoms:
            if geom.said.contype or geom.said.conaffinity:
                groups.setdefault(geom.body, []).append(geom)
        for first, second in self._pairs_of_bodies({body: len(of) for body, of in groups.items()}):
            for one in groups[first]:
                for other in groups[second]:
                    meet = one.said.contype & other.said.conaffinity or other.said.contype & one.said.conaffinity
                    if meet and _can_touch(one, other) and (not said or frozenset((one, other)) not in said):
                        yield one, other

    def _excluded(self) -> set[frozenset[Body]]:
        bodies = {name: body for body, name in self.tree.names.items()}
        found = set()
        for node in self.document.inside("contact", "exclude"):
            names = [node.text(end) for end in ("body1", "body2")]
            unknown = next((name for name in names if name not in bodies), None)
            if unknown is not None:
                near = suggest(unknown, bodies)
                self.unused.add(node, f"the exclusion of '{unknown}', which is no body of the model{near}", always=True)
                continue
            found.add(frozenset(bodies[name] for name in names))
        return found

    def _pairs_of_bodies(self, geoms: Mapping[Body, int]) -> Iterator[tuple[Body, Body]]:
        """Bodies whose geoms may touch by masks.

        Args:
            geoms: How many each of them has.
        """
        bodies, count = list(geoms), np.array(list(geoms.values()), dtype=np.int64)
        number = {body: k for k, body in enumerate(self.tree.bodies)}
        still = np.array([body.is_static for body in bodies], dtype=bool)
        weld = np.array([number[_weld(body)] for body in bodies], dtype=np.int64)
        up = [self.tree.bodies[k].parent for k in weld]
        parent = np.array([-1 if body is None else number[_weld(body)] for body in up], dtype=np.int64)
        parent[parent == 0] = -1  # what is fixed to the world touches its children, too
        excluded = self._excluded()
        total, found = 0, []
        for k, body in enumerate(bodies):
            apart = (weld[k] != weld[k + 1 :]) & ~(still[k] & still[k + 1 :])
            if self.settings.filter_parents:
                apart &= (parent[k + 1 :] != weld[k]) & (weld[k + 1 :] != parent[k])
            total += int(count[k] * (count[k + 1 :] @ apart))
            if total > MOST:
                apart &= still[k] | still[k + 1 :]
            found += [(body, bodies[k + 1 + n]) for n in np.flatnonzero(apart)]
        if total > MOST:
            found = [pair for pair in found if pair[0].is_static or pair[1].is_static]
            warn(
                self.document.root,
                f"{total} pairs of geoms may touch, of which at most {MOST} are loaded: only those with what is fixed "
                "to the world. with_contacts(...) adds others, contacts=False loads none",
            )
        return (pair for pair in found if frozenset(pair) not in excluded)

    # Numbers -----------------------------------------------------------------------------------------

    def _combined(self, one: Geom, other: Geom) -> ContactPair:
        first, second = one.said, other.said
        if first.priority != second.priority:
            strong = first if first.priority > second.priority else second
            condim, friction = strong.condim, strong.friction
        else:
            condim, friction = max(first.condim, second.condim), max(first.friction, second.friction)
        self._note(one.node)
        self._note(other.node)
        return self._pair(other.node, one, other, condim, friction, first.margin + second.margin)

    def _explicit(self, node: Node, geoms: Mapping[str, Geom], said: set[frozenset[Geom]]) -> ContactPair | None:
        names = [node.text(end) for end in ("geom1", "geom2")]
        unknown = next((name for name in names if name not in geoms), None)
        if unknown in self._missing:
            self.unused.add(node, MISSING, always=True)
            return None
        if unknown is not None:
            what = f"a pair with '{unknown}', which is no geom of the model{suggest(unknown, geoms)}"
            self.unused.add(node, what, always=True)
            return None
        ends = [geoms[name] for name in names]
        one, other = ends
        said.add(frozenset(ends))
        still = one.body.is_static and other.body.is_static
        if still or one.body.carrier is other.body.carrier or not _can_touch(one, other):
            self.unused.add(
                node, f"a pair of '{one.shape.name}' and '{other.shape.name}', which cannot touch", always=True
            )
            return None
        friction = node.numbers("friction", 1, 2, 3, 4, 5) or (1.0,)
        if (friction[1] if len(friction) > 1 else 1.0) != friction[0]:
            self.unused.add(node, "different friction in two directions: the first counts", always=True)
        self._note(node)
        pair = self._pair(node, one, other, _condim(node, 3), friction[0], node.number("margin", 0.0))
        label = node.get("name")
        return pair if not label else _named(pair, label)

    def _pair(self, node: Node, one: Geom, other: Geom, condim: int, friction: float, margin: float) -> ContactPair:
        if self.settings.override_friction is not None:
            friction = self.settings.override_friction
        if self.settings.override_margin is not None:
            margin = self.settings.override_margin
        if condim > 3:
            what = "spinning" if condim == 4 else "spinning and rolling"
            self.unused.add(node, f"friction against {what} (condim {condim}), which is not modeled", always=True)
        if friction < 0:
            raise node.error(f"friction is {friction:g}; it must be >= 0")
        friction = 0.0 if condim == 1 else friction
        return ContactPair(one.shape, other.shape, friction=friction, margin=margin)

    def _note(self, node: Node) -> None:
        """What a geom or pair says that is not used, once."""
        if node in self._noted:
            return
        self._noted.add(node)
        if not has_default_impedance(node):
            self.unused.add(node, "'solimp', as contacts are rigid here unless they have a compliance", always=True)
        for name in ("solref", "solreffriction", "gap"):
            if node.get(name) is not None:
                self.unused.add(node, f"'{name}'")
        for name in ("surfacevel", "adhesion"):
            if any(node.numbers(name, *range(1, 7)) or ()):
                self.unused.add(node, f"'{name}', which is not modeled", always=True)


def _can_touch(one: Geom, other: Geom) -> bool:
    """MuJoCo has no contacts between two planes or height fields."""
    flat = [isinstance(geom.shape.solid, Ground | HeightField) for geom in (one, other)]
    return not all(flat)


def _weld(body: Body) -> Body:
    """The body that moves by joints or as a mocap body and that this one is fixed to, or the world."""
    while body.parent is not None and not body.all("joint") and body.node.get("mocap") != "true":
        body = body.parent
    return body


def _bits(node: Node, attribute: str, default: int) -> int:
    value = node.number(attribute, float(default), largest=2.0**32)
    if value != int(value):
        raise node.error(f"attribute '{attribute}' is {value:g}; it is an integer, of whose bits one counts")
    return int(value)


def _condim(node: Node, default: int) -> int:
    value = node.number("condim", float(default))
    if value not in (1, 3, 4, 6):
        raise node.error(f"attribute 'condim' is {value:g}; it is one of 1, 3, 4, 6")
    return int(value)


def _renamed(pair: ContactPair, taken: set[str | None]) -> ContactPair:
    if pair.name in taken:
        return _named(pair, fresh(pair.name, taken))
    taken.add(pair.name)
    return pair


def _named(pair: ContactPair, name: str) -> ContactPair:
    return ContactPair(pair.first, pair.second, name, friction=pair.friction, margin=pair.margin)
