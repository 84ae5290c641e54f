# SPDX-License-Identifier: BSD-3-Clause
"""Frames of a mechanism at a configuration, and chains of links in a posture in which loops are closed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.errors import InputError
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.tree.kinematics import PLACEMENTS
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.constraints import WORLD, Hinge, Weld
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Revolute, unit_axis
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.model.rotations import axis_rotation
from linkwork.plans.tree import tree_of

LINK = 0.2
"""Meters: the length of the links of chains."""

END = Placement((LINK, 0.0, 0.0))
"""The end of a link, where the next starts."""


def placements(robot: Mechanism, q: Floats, names: Sequence[str]) -> dict[str, Placement]:
    """Placements of frames in the world, computed by the kernel in Python: nothing is compiled."""
    tree = tree_of(robot, names)
    work = PLACEMENTS.work_type(*(np.zeros(resolve(shape, tree)) for shape in PLACEMENTS.work.values()))
    rotation, position = np.empty((len(names), 3, 3)), np.empty((len(names), 3))
    PLACEMENTS.text(tree, work, np.asarray(q, dtype=np.float64), rotation, position)
    return {name: Placement(position[k], rotation[k]) for k, name in enumerate(names)}


def turn(axis: str | VectorLike, angle: float) -> Placement:
    """A rotation about an axis through the origin."""
    return Placement((0.0, 0.0, 0.0), axis_rotation(unit_axis(axis), angle))


def at_least(value: int, least: int, what: str) -> None:
    """Raise `InputError` for a size below the least."""
    if value < least:
        raise InputError(f"{what} must be at least {least}, not {value}")


class Sketch:
    """Chains of links in a posture that loops are closed in; welds and the pose follow from it.

    A link is a rod along the x axis of its frame, with the next at its end. Joints turn about x, y, z in turn, none of
    them by zero, so that a chain is bent in space and nothing lines up by chance.
    """

    def __init__(self, name: str, mass: float = 0.5) -> None:
        self.build = Builder(name)
        self.mass = mass
        self.where: dict[str, Placement] = {WORLD: Placement()}
        self.pose: dict[str, Floats] = {}

    def free(self, body: str, where: Placement) -> None:
        """A link that floats."""
        self._add(body, where)
        self.build.joint(f"{body}_joint", Free(), WORLD, body)
        self.pose[f"{body}_joint"] = np.concatenate([where.position, where.quaternion])

    def hinged(self, body: str, parent: str, at: Placement, about: str = "z", bend: float = 0.0) -> None:
        """A link that turns on another, or on the world; joints about one axis do the bending, the others a little."""
        count = len(self.where)
        axis = self._next_axis()
        wobble = 0.3 * (0.618034 * count % 1.0) - 0.18
        angle = wobble + (3 * bend if axis == about else 0.0)
        self._add(body, self.where[parent] * at * turn(axis, angle))
        self.build.joint(f"{body}_joint", Revolute(axis), parent, body, at)
        self.pose[f"{body}_joint"] = np.array([angle])

    def chain(
        self, name: str, parent: str, start: Placement, count: int, about: str = "z", bend: float = 0.0
    ) -> list[str]:
        """Links one after the other, bent by ``bend`` each on average; the first stands at ``start`` of the parent."""
        bodies: list[str] = []
        for k in range(count):
            self.hinged(f"{name}{k}", bodies[-1] if bodies else parent, END if bodies else start, about, bend)
            bodies.append(f"{name}{k}")
        return bodies

    def weld(self, name: str, first: str, second: str) -> None:
        """Two links, or a link and the world, welded as they stand: at the origin of the second."""
        at = self.where[first].inverse() * self.where[second]
        self.build.constrain(Weld(first, second, name=name, first_at=at))

    def hinge(self, name: str, first: str, second: str) -> None:
        """Two links hinged as they stand, at the origin of the second, about the next joint's axis."""
        at = self.where[first].inverse() * self.where[second]
        self.build.constrain(Hinge(first, second, name=name, first_at=at, axis=self._next_axis()))

    def finish(self) -> Mechanism:
        """The mechanism, with its posture as a pose."""
        return self.build.pose(ASSEMBLED, self.pose).build()

    def _next_axis(self) -> str:
        return "xyz"[len(self.where) % 3]

    def _add(self, body: str, where: Placement) -> None:
        self.build.body(body, Inertia.rod(self.mass, (0.0, 0.0, 0.0), (LINK, 0.0, 0.0), radius=0.1 * LINK))
        self.where[body] = where
