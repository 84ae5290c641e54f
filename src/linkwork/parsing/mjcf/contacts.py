# SPDX-License-Identifier: BSD-3-Clause
"""Which geoms may touch, as MuJoCo's collision driver decides, and the numbers of each pair.

Two geoms touch if ``contype`` of one and ``conaffinity`` of the other have a bit in common, unless their bodies are
welded to each other, an <exclude> names both bodies, or one body is the parent of the other and not fixed to the world.
A <pair> touches in any case, with numbers of its own. Of two geoms the one with the higher ``priority`` says the
friction; else it is the greater one (see `contact_numbers`).

``solref``, ``solimp`` and ``solmix`` make contacts soft in simulations with ``contact="soft"``; contacts are rigid
otherwise (a ``solimp`` that is not the default is a warning). Not modeled: different friction in two directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.inputs import suggest
from linkwork.model.arrays import Floats
from linkwork.model.contacts import COMPACT, ContactPair, ContactPairs, ContactShape
from linkwork.model.shapes import Ground, HeightField, Mesh
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.contact_rules import MISSING, Unused
from linkwork.parsing.mjcf.contact_numbers import (
    GeomNumbers,
    PairValues,
    coefficients,
    combined,
    explicit_pair,
    surface_motion,
)
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.settings import FRICTION, Settings, has_default_impedance
from linkwork.parsing.mjcf.tree import Body, Tree, fresh
from linkwork.parsing.mjcf.vocabulary import refuse_unknown
from linkwork.parsing.xml import Node

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Geom:
    """A geom that may touch others."""

    node: Node
    body: Body
    shape: ContactShape
    said: GeomNumbers


@dataclass
class ContactReader:
    """Reads the contacts of one model.

    Args:
        document: The model.
        defaults: Its default classes.
        settings: Its settings.
        tree: Its bodies.
        shapes: The shapes of its bodies.
        mocap: The mocap bodies that bodies move with.
        centers: Centers of mass of bodies that fixed joints make one with others, in their frames.
    """

    document: MjcfDocument
    defaults: Defaults
    settings: Settings
    tree: Tree
    shapes: Mapping[Body, tuple[LinkShape, ...]]
    mocap: Mapping[Body, str]
    centers: Mapping[Body, Floats]
    unused: Unused = field(default_factory=Unused)
    _noted: set[Node] = field(default_factory=set)
    _missing: set[str] = field(default_factory=set)

    def pairs(self) -> Sequence[ContactPair]:
        """All pairs, those of <pair> first."""
        if not self.settings.contacts:
            return ()
        by_name = self._geoms()
        geoms = list(by_name.values())
        number = {geom: k for k, geom in enumerate(geoms)}
        explicit: list[tuple[Node, int, int]] = []
        for node in self.document.inside("contact", "pair"):
            inheriting = self.defaults.apply(node, "pair")
            refuse_unknown(inheriting)
            ends = self._ends(inheriting, by_name)
            if ends is not None:
                explicit.append((inheriting, number[ends[0]], number[ends[1]]))
        said = {(min(a, b), max(a, b)) for _, a, b in explicit}
        kept = [one for one in explicit if self._touches(one[0], geoms[one[1]], geoms[one[2]])]
        first, second = self._dynamic(geoms, said)
        numbers, kind = self._numbers(geoms, kept, first, second)
        first = np.concatenate([np.array([a for _, a, _ in kept], dtype=np.int64), first])
        second = np.concatenate([np.array([b for _, _, b in kept], dtype=np.int64), second])
        flat = np.array([isinstance(geom.shape.solid, Ground) for geom in geoms], dtype=bool)
        turned = flat[second] & ~flat[first]  # the ground is always first
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        pairs = ContactPairs([geom.shape for geom in geoms], first, second, numbers, kind)
        names = {k: node.get("name") or "" for k, (node, _, _) in enumerate(kept) if node.get("name")}
        pairs.names.update(_distinct(pairs, names))
        pairs = pairs.only(np.arange(len(pairs)))
        return pairs if len(pairs) >= COMPACT else tuple(pairs)

    # Geoms -------------------------------------------------------------------------------------------

    def _geoms(self) -> dict[str, Geom]:
        """The geoms that can be read, by the names of their shapes."""
        taken: set[str | None] = {s.name for shapes in self.shapes.values() for s in shapes if s.name}
        geoms: dict[str, Geom] = {}
        for body, name in self.tree.names.items():
            shapes = {shape.node: shape for shape in self.shapes[body] if shape.node is not None}
            for k, item in enumerate(body.all("geom")):
                said, shape = GeomNumbers.of(item.node, self.settings), shapes.get(item.node)
                if shape is not None and isinstance(shape.solid, Mesh) and not shape.solid.is_found:
                    self._missing.add(shape.name)
                    if said.contype or said.conaffinity:
                        self.unused.add(item.node, MISSING, always=True)
                elif shape is not None:
                    floor = body.parent is None and isinstance(shape.solid, Ground)
                    plain = "ground" if floor else name if len(body.all("geom")) == 1 else f"{name}_{k + 1}"
                    own = shape.name or fresh(plain, taken)
                    center = self.centers.get(body)
                    touching = ContactShape(
                        own,
                        name,
                        shape.solid,
                        shape.place,
                        *surface_motion(item.node),
                        self.mocap.get(body, ""),
                        None if center is None else tuple(shape.place.inverse().act(center)),
                    )
                    geoms[own] = Geom(item.node, body, touching, said)
                elif said.contype or said.conaffinity:
                    what = item.node.get("mesh") or item.node.get("hfield") or item.node.get("type") or "sphere"
                    self.unused.add(item.node, f"a geom of '{name}' that cannot be read ({what})", always=True)
        return geoms

    # Pairs of bodies ---------------------------------------------------------------------------------

    def _dynamic(self, geoms: list[Geom], said: set[tuple[int, int]]) -> tuple[Integers, Integers]:
        """Pairs by masks, by numbers of geoms: body by body, and within two bodies in the order of geoms.

        Args:
            geoms: All geoms.
            said: Those that a <pair> names, the lesser number first.
        """
        groups: dict[Body, list[int]] = {}
        for k, geom in enumerate(geoms):
            if geom.said.contype or geom.said.conaffinity:
                groups.setdefault(geom.body, []).append(k)
        first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        if groups and self.settings.collision != "predefined":
            members = [np.array(of) for of in groups.values()]
            order, count = np.concatenate(members), np.array([len(of) for of in members])
            body, start = np.repeat(np.arange(len(count)), count), np.cumsum(count) - count
            for k, others in enumerate(self._others(list(groups))):
                wanted = np.zeros(len(count), dtype=bool)
                wanted[others] = True
                at = start[k] + count[k]
                right = order[at:][wanted[body[at:]]]
                one, other = np.repeat(members[k], len(right)), np.tile(right, len(members[k]))
                if len(members[k]) > 1:  # two bodies after two bodies
                    by_body = np.argsort(np.tile(body[at:][wanted[body[at:]]], len(members[k])), kind="stable")
                    one, other = one[by_body], other[by_body]
                first.append(one)
                second.append(other)
        one, other = np.concatenate(first), np.concatenate(second)
        types = np.array([geom.said.contype for geom in geoms], dtype=np.int64)
        affinities = np.array([geom.said.conaffinity for geom in geoms], dtype=np.int64)
        flat = np.array([isinstance(geom.shape.solid, Ground | HeightField) for geom in geoms], dtype=bool)
        meet = (types[one] & affinities[other]) | (types[other] & affinities[one])
        kept = (meet != 0) & ~(flat[one] & flat[other])  # MuJoCo has no contacts between two planes or height fields
        if said:
            known = np.array([a * len(geoms) + b for a, b in said])
            kept &= ~np.isin(np.minimum(one, other) * len(geoms) + np.maximum(one, other), known)
        return one[kept], other[kept]

    def _excluded(self) -> set[frozenset[Body]]:
        bodies = {name: body for body, name in self.tree.names.items()}
        pairs = set()
        for node in self.document.inside("contact", "exclude"):
            refuse_unknown(node)
            names = [node.text(end) for end in ("body1", "body2")]
            unknown = next((name for name in names if name not in bodies), None)
            if unknown is not None:
                near = suggest(unknown, bodies)
                self.unused.add(node, f"the exclusion of '{unknown}', which is no body of the model{near}", always=True)
                continue
            pairs.add(frozenset(bodies[name] for name in names))
        return pairs

    def _others(self, bodies: list[Body]) -> Iterator[Integers]:
        """For each of the bodies, the later ones whose geoms may touch its own by masks."""
        number = {body: k for k, body in enumerate(self.tree.bodies)}
        still = np.array([body.is_static for body in bodies], dtype=bool)
        weld = np.array([number[_weld(body)] for body in bodies], dtype=np.int64)
        up = [self.tree.bodies[k].parent for k in weld]
        parent = np.array([-1 if body is None else number[_weld(body)] for body in up], dtype=np.int64)
        parent[parent == 0] = -1  # what is fixed to the world touches its children, too
        place = {body: k for k, body in enumerate(bodies)}
        excluded: dict[int, list[int]] = {}
        for pair in self._excluded():
            ends = sorted(place[body] for body in pair if body in place)
            if len(ends) == 2:
                excluded.setdefault(ends[0], []).append(ends[1])
        for k in range(len(bodies)):
            apart = (weld[k] != weld[k + 1 :]) & ~(still[k] & still[k + 1 :])
            if self.settings.filter_parents:
                apart &= (parent[k + 1 :] != weld[k]) & (weld[k + 1 :] != parent[k])
            apart[[other - k - 1 for other in excluded.get(k, ())]] = False
            yield k + 1 + np.flatnonzero(apart)

    # Numbers -----------------------------------------------------------------------------------------

    def _numbers(
        self, geoms: list[Geom], explicit: list[tuple[Node, int, int]], first: Integers, second: Integers
    ) -> tuple[list[tuple[Any, ...]], Integers]:
        """Different numbers of pairs, and which of them each pair has, those of <pair> first."""
        numbers: dict[tuple[Any, ...], int] = {}

        def number(pair: PairValues, node: Node) -> int:
            if pair.adhesion < 0:
                raise node.error(f"adhesion is {pair.adhesion:g}; it must be >= 0")
            return numbers.setdefault(pair.values(self.settings), len(numbers))

        kinds = []
        for node, _, _ in explicit:
            self._note(node)
            friction = coefficients(node, FRICTION)
            if friction[0] != friction[1]:
                self.unused.add(node, "different friction in two directions: the first counts", always=True)
            kinds.append(number(explicit_pair(node, self.settings), node))
        for k in np.unique(np.concatenate([first, second])):
            self._note(geoms[k].node)
        classes: dict[GeomNumbers, int] = {}
        of_geom = np.array([classes.setdefault(geom.said, len(classes)) for geom in geoms], dtype=np.int64)
        codes, at, back = np.unique(
            of_geom[first] * len(classes) + of_geom[second], return_index=True, return_inverse=True
        )
        said = list(classes)
        each = [
            number(combined(said[code // len(said)], said[code % len(said)]), geoms[second[k]].node)
            for code, k in zip(codes.tolist(), at, strict=True)
        ]
        of_pairs = np.array(each, dtype=np.int64)[back.reshape(-1)] if each else np.zeros(0, dtype=np.int64)
        return list(numbers), np.concatenate([np.array(kinds, dtype=np.int64), of_pairs])

    def _ends(self, node: Node, geoms: Mapping[str, Geom]) -> tuple[Geom, Geom] | None:
        """The geoms of a <pair>, if the model has both."""
        names = [node.text(end) for end in ("geom1", "geom2")]
        unknown = next((name for name in names if name not in geoms), None)
        if unknown in self._missing:
            self.unused.add(node, MISSING, always=True)
            return None
        if unknown is not None:
            what = f"a pair with '{unknown}', which is no geom of the model{suggest(unknown, geoms)}"
            self.unused.add(node, what, always=True)
            return None
        return geoms[names[0]], geoms[names[1]]

    def _touches(self, node: Node, one: Geom, other: Geom) -> bool:
        """Whether the geoms of a <pair> can touch."""
        still = one.body.is_static and other.body.is_static
        flat = all(isinstance(geom.shape.solid, Ground | HeightField) for geom in (one, other))
        if still or one.body.carrier is other.body.carrier or flat:
            what = f"a pair of '{one.shape.name}' and '{other.shape.name}', which cannot touch"
            self.unused.add(node, what, always=True)
            return False
        return True

    def _note(self, node: Node) -> None:
        """Records unused properties of a geom or pair, once."""
        if node in self._noted:
            return
        self._noted.add(node)
        if not has_default_impedance(node):
            self.unused.add(node, "'solimp', which acts with contact='soft' alone", always=True)
        for name in ("solref", "solreffriction", "gap"):
            if node.get(name) is not None:
                self.unused.add(node, f"'{name}'")


def _weld(body: Body) -> Body:
    """The body that moves by joints or as a mocap body and that this one is fixed to, or the world."""
    while body.parent is not None and not body.all("joint") and body.node.get("mocap") != "true":
        body = body.parent
    return body


def _distinct(pairs: ContactPairs, given: Mapping[int, str]) -> dict[int, str]:
    """Names of pairs that are not those of their shapes: given ones, and others where one would be there twice."""
    plain = not given and not any(":" in shape.name for shape in pairs.shapes)
    codes = pairs.first.astype(np.int64) * len(pairs.shapes) + pairs.second
    if plain and len(np.unique(codes)) == len(codes):
        return {}
    numbers: dict[int, str] = {}
    taken: set[str | None] = set()
    for k, pair in enumerate(pairs):
        name = given.get(k) or pair.name
        own = fresh(name, taken) if name in taken else name
        taken.add(own)
        if own != pair.name:
            numbers[k] = own
    return numbers
