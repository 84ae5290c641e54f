# SPDX-License-Identifier: BSD-3-Clause
"""What is large for a robot with contacts: inverse inertias of contacts and joints, a length, a velocity.

Scales make penalties and tolerances of numbers without units. They are taken once for a robot, at a few configurations.

| symbol | meaning                                                                                  |
|--------|------------------------------------------------------------------------------------------|
| D      | inverse inertia that a contact feels: of both bodies, at the origins of their shapes     |
| L      | size of the largest body: of a rod with its radius of gyration                           |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactShape
from linkwork.model.joints import Free
from linkwork.model.model import Model
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.scales import scales_of

LEAST = 1e-6
"""A contact whose bodies hardly move feels at least this part of the largest inverse inertia."""


@dataclass(frozen=True, eq=False)
class ContactScales:
    """Scales of a robot with contacts."""

    length: float
    """Of the largest body."""
    pairs: Floats
    """(ncontacts,) inverse inertia that contacts of a pair feel."""

    def velocity(self, gravity: float, dt: float) -> float:
        """What bodies of this size fall at; without gravity, a thousandth of their size in a step."""
        return float(np.sqrt(gravity * self.length)) if gravity > 0 else 1e-3 * self.length / dt


@computed_once
def contact_scales(robot: Model) -> ContactScales:
    """The scales of a robot with contacts."""
    sizes = []
    for inertia in robot.inertias.values():
        if inertia.mass > 0:
            moment = float(np.linalg.eigvalsh(inertia.rotational).max())
            sizes.append(np.sqrt(12 * max(moment, 0.0) / inertia.mass))
    length = max(sizes, default=0.0) or 1.0
    shapes: dict[ContactShape, float] = {}
    for pair in robot.contacts:
        for shape in (pair.first, pair.second):
            shapes.setdefault(shape, 0.0)
    alone = _alone(robot)
    carried = []
    for shape in shapes:
        if shape.body in alone:
            shapes[shape] = 1 / alone[shape.body]
        elif shape.body != WORLD:
            carried.append(shape)
    if carried:
        shapes.update(zip(carried, _articulated(robot, carried), strict=True))
    pairs = np.array([shapes[pair.first] + shapes[pair.second] for pair in robot.contacts])
    return ContactScales(length, np.maximum(pairs, LEAST * pairs.max(initial=0.0)))


def _alone(robot: Model) -> dict[str, float]:
    """Masses of bodies that fly freely and carry no others."""
    carrying = {joint.parent for joint in robot.joints}
    return {
        joint.child: robot.inertias[joint.child].mass
        for joint in robot.joints
        if isinstance(joint.type, Free) and joint.parent == WORLD and joint.child not in carrying
    }


def _articulated(robot: Model, shapes: list[ContactShape]) -> list[float]:
    """The mean of the diagonal of ``J M^-1 J'`` of each shape's origin, at a few configurations."""
    marked, names = robot, list[str]()
    for k, shape in enumerate(shapes):
        names.append(f"contact shape {k}")
        marked = marked.with_frame(names[-1], shape.body, shape.placement)
    jacobian = Evaluator(marked, "frame_jacobian", names, "aligned").plain()
    mass_matrix = Evaluator(robot, "mass_matrix").plain()
    rng = np.random.default_rng(0)
    poses = [*list(robot.poses.values())[:1], robot.neutral(), robot.random(rng), robot.random(rng)]
    found = []
    for q in poses:
        M, J = mass_matrix(q), jacobian(q)[:, 3:, :]
        moved = np.diag(M) > 0
        d = 1 / np.sqrt(np.diag(M)[moved])
        inverse = np.linalg.inv(M[np.ix_(moved, moved)] * np.outer(d, d) + 1e-10 * np.eye(int(moved.sum())))
        scaled = J[:, :, moved] * d
        found.append(np.einsum("sij,jk,sik->s", scaled, inverse, scaled) / 3)
    return [float(x) for x in np.median(found, axis=0)]


@computed_once
def joint_inverse_inertias(robot: Model) -> Floats:
    """(nv,) inverse inertia of each degree of freedom."""
    return np.asarray(1 / scales_of(robot).joints)
