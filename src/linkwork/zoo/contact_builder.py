# SPDX-License-Identifier: BSD-3-Clause
"""`ContactScene`: bodies with the shapes that they touch others with, the pairs that may touch, and the ground.

A body stands in the pose ``"assembled"`` where it is added; its contact shape is drawn as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import finite_floats, plural
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats, VectorLike, finite_array
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Solid, Sphere

GROUND = "ground"
"""Name of the ground's contact shape: pairs with it are called ``ground:shape``."""

Size = tuple[float, float, float]


class ContactScene:
    """Bodies and the pairs of their shapes that may touch.

    Args:
        name: Name of the mechanism.
        friction: Coefficient of friction of pairs that are given none of their own.
        restitution: Restitution, likewise.
    """

    def __init__(self, name: str, friction: float = 0.5, restitution: float = 0.0) -> None:
        self.build = Builder(name)
        self.friction = friction
        self.restitution = restitution
        self.pose: dict[str, VectorLike] = {}
        self.pairs: list[ContactPair] = []

    def ground(self, at: Placement | None = None) -> ContactShape:
        """The ground: the half-space below the xy plane of a placement in the world."""
        return self.shape(WORLD, Ground(), at, GROUND)

    def free(self, body: str, inertia: Inertia, solid: Solid, where: Placement) -> ContactShape:
        """A body that floats, with one shape around its origin; its joint has its name."""
        self.build.body(body, inertia).joint(body, Free(), WORLD, body)
        self.pose[body] = floating(where)
        return self.shape(body, solid)

    def shape(self, body: str, solid: Solid, at: Placement | None = None, name: str | None = None) -> ContactShape:
        """A contact shape on a body, or on the world, named after its body."""
        where = Placement() if at is None else at
        self.build.shape(body, solid, where)
        return ContactShape(body if name is None else name, body, solid, where)

    def touch(
        self, first: ContactShape, second: ContactShape, slots: int | None = None, friction: float | None = None
    ) -> None:
        """Let two shapes touch, in so many points."""
        chosen = self.friction if friction is None else friction
        self.pairs.append(
            ContactPair(first, second, friction=chosen, restitution=self.restitution, slots=slots),
        )

    def finish(self, poses: Mapping[str, Mapping[str, VectorLike]] | None = None) -> Mechanism:
        """The mechanism, with its pose ``"assembled"`` and others that differ from it in some joints."""
        self.build.pose(ASSEMBLED, self.pose)
        for name, moved in (poses or {}).items():
            self.build.pose(name, {**self.pose, **moved})
        return replace(self.build.build(), contacts=tuple(self.pairs))


def floating(where: Placement) -> Floats:
    """Coordinates of a free joint."""
    return np.concatenate([where.position, where.quaternion])


def per_body(values: float | Sequence[float] | Floats, count: int, what: str) -> list[float]:
    """One positive number for each body, from one for all or a sequence."""
    array = finite_floats(values, what)
    entries = array.reshape(-1).tolist() * (1 if array.ndim else count)
    if len(entries) != count:
        raise InputError(f"{what} has {plural(len(entries), 'number')}, needs one, or one for each of {count}")
    return [above_zero(value, what) for value in entries]


def above_zero(value: float, what: str) -> float:
    """Raise `InputError` for a number that is not finite and positive."""
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"{what} must be finite and > 0, not {value:g}")
    return value


def box_size(size: float | VectorLike) -> Size:
    """Edge lengths of a box, from those or from one for a cube."""
    if isinstance(size, int | float):
        return (above_zero(float(size), "size"),) * 3
    x, y, z = (above_zero(float(edge), "size") for edge in finite_array(size, (3,), "size"))
    return x, y, z


def reach(solid: Solid, rotation: Floats, direction: VectorLike) -> float:
    """The support function of a solid with this rotation: its extent from the origin along a unit vector."""
    along = rotation.T @ np.asarray(direction, dtype=np.float64)
    match solid:
        case Sphere(radius):
            return radius
        case Ellipsoid(radii):
            return float(np.linalg.norm(np.array(radii) * along))
        case Box(size):
            return float(np.abs(along) @ np.array(size)) / 2
        case Cylinder(radius, length, rounded):
            round_part = radius if rounded else radius * sqrt(max(0.0, 1.0 - float(along[2]) ** 2))
            return abs(float(along[2])) * length / 2 + round_part
    raise InputError(f"a {type(solid).__name__} has no end; reach is known of boxes, spheres, ellipsoids and cylinders")
