# SPDX-License-Identifier: BSD-3-Clause
"""Scales of a robot with contacts: inverse inertias of contacts and joints, a length, a velocity.

Scales make penalties and tolerances of numbers without units. They are taken once for a robot, at a few configurations.

| symbol | meaning                                                                                  |
|--------|------------------------------------------------------------------------------------------|
| D      | apparent inverse inertia of a contact: of both bodies, the mean of all directions          |
| R      | distance of a contact from the origin of its shape                                       |
| L      | size of the largest body: of a rod with its radius of gyration                           |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.contact.thresholds import LEAST_DIAGONAL, MOTION_PER_STEP
from linkwork.dynamics.iterations import row_regularization
from linkwork.dynamics.rows.dependence import row_dependence
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPairs, ContactShape
from linkwork.model.model import Model
from linkwork.model.parts import GRAVITY
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Sphere
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.actuation import tendon_jacobian
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.scales import free_bodies, joint_units, scales_of
from linkwork.quantities.thresholds import MASSLESS

SURFACE = 3.0
"""Square of the distance of a body's surface from its center, in units of the moment of inertia over the mass: 2.5 of a
sphere, 4.5 of a cube's corners."""


@dataclass(frozen=True, eq=False)
class ContactScales:
    """Scales of a robot with contacts."""

    length: float
    """Of the largest body."""
    pairs: Floats
    """(ncontacts,) apparent inverse inertia of the contacts of a pair."""

    def velocity(self, gravity: float, dt: float) -> float:
        """The velocity at which bodies of this size fall; without gravity, the larger of a thousandth of their size in
        a step and the velocity of fall on Earth.
        """
        on_earth = float(np.sqrt(-GRAVITY[2] * self.length))
        return (
            float(np.sqrt(gravity * self.length)) if gravity > 0 else min(MOTION_PER_STEP * self.length / dt, on_earth)
        )


@computed_once
def contact_scales(robot: Model) -> ContactScales:
    """The scales of a robot with contacts."""
    sizes = []
    for inertia in robot.inertias.values():
        if inertia.mass > 0:
            moment = float(np.linalg.eigvalsh(inertia.rotational).max())
            sizes.append(np.sqrt(12 * max(moment, 0.0) / inertia.mass))
    length = max(sizes, default=0.0) or 1.0
    touching = ContactPairs.of(robot.contacts)
    shapes = dict.fromkeys(touching.shapes, 0.0)
    alone = free_bodies(robot)
    carried = []
    for shape in shapes:
        if shape.body in alone:
            inertia = robot.inertias[shape.body]
            moment = float(np.trace(inertia.rotational)) / 3
            lever = _lever(robot, shape) + float(np.sum((shape.placement.position - inertia.com) ** 2))
            shapes[shape] = 1 / inertia.mass + (2 / 3 * lever / moment if moment > 0 else 0.0)
        elif shape.body != WORLD:
            carried.append(shape)
    if carried:
        shapes.update(zip(carried, _articulated(robot, carried), strict=True))
    each = np.array(list(shapes.values()))
    pairs = each[touching.first] + each[touching.second]
    return ContactScales(length, np.maximum(pairs, LEAST_DIAGONAL * pairs.max(initial=0.0)))


def _lever(robot: Model, shape: ContactShape) -> float:
    """``R²`` of a shape: of its corners, or of points at about its surface where its size is not known."""
    match shape.solid:
        case Box(size=size):
            return sum(x * x for x in size) / 4
        case Sphere(radius=radius):
            return radius * radius
        case Ellipsoid(radii=radii):
            return sum(x * x for x in radii) / 3
        case Cylinder(radius=radius, length=length):
            return radius * radius + length * length / 4
        case _:
            inertia = robot.inertias[shape.body]
            return SURFACE * float(np.trace(inertia.rotational)) / 3 / inertia.mass if inertia.mass > 0 else 0.0


def _articulated(robot: Model, shapes: list[ContactShape]) -> list[float]:
    """The mean of the diagonal of ``J M^-1 J'`` at the distance ``R`` from each shape's origin, at a few
    configurations: ``tr A_v / 3 + 2/9 R² tr A_w`` with the parts of ``J M^-1 J'`` at the origin itself."""
    marked, names = robot, list[str]()
    for k, shape in enumerate(shapes):
        names.append(f"contact shape {k}")
        marked = marked.with_frame(names[-1], shape.body, shape.placement)
    jacobian = Evaluator(marked, "frame_jacobian", names, "aligned").plain()
    mass_matrix = Evaluator(robot, "mass_matrix").plain()
    levers = np.array([_lever(robot, shape) for shape in shapes])
    rng = np.random.default_rng(0)
    poses = [*list(robot.poses.values())[:1], robot.neutral(), robot.random(rng), robot.random(rng)]
    joints = []
    for q in poses:
        M, J = mass_matrix(q), jacobian(q)
        moved = np.diag(M) > 0
        d = 1 / np.sqrt(np.diag(M)[moved])
        inverse = np.linalg.inv(M[np.ix_(moved, moved)] * np.outer(d, d) + MASSLESS * np.eye(int(moved.sum())))
        scaled = J[:, :, moved] * d
        each = np.einsum("sij,jk,sik->si", scaled, inverse, scaled)
        joints.append(each[:, 3:].sum(axis=1) / 3 + 2 / 9 * levers * each[:, :3].sum(axis=1))
    return [float(x) for x in np.median(joints, axis=0)]


@computed_once
def joint_inverse_inertias(robot: Model) -> Floats:
    """(nv,) inverse inertia of each degree of freedom."""
    return np.asarray(1 / scales_of(robot).joints)


@computed_once
def tendon_inverse_inertias(robot: Model) -> Floats:
    """(tendons,) apparent inverse inertia along each tendon: the diagonal of ``J M^-1 J'`` at the neutral
    configuration, or the largest of the others where that is zero."""
    if not robot.tendons:
        return np.zeros(0)
    J = tendon_jacobian(robot, robot.neutral())
    M = Evaluator(robot, "mass_matrix").plain()(robot.neutral())
    moved = np.diag(M) > 0
    inverse = np.linalg.inv(M[np.ix_(moved, moved)])
    diagonal = np.einsum("ti,ij,tj->t", J[:, moved], inverse, J[:, moved])
    return np.where(diagonal > 0, diagonal, diagonal.max() or 1.0)


def velocity_units(robot: Model) -> Floats:
    """(nv,) what makes a velocity of the rate of a coordinate: one, or a length of the robot for joints that turn."""
    return np.where(joint_units(robot) == 1.0, contact_scales(robot).length, 1.0)


@computed_once
def tendon_units(robot: Model) -> Floats:
    """(tendons,) what makes a velocity of the rate of a tendon's length: one, or of fixed tendons a length of the robot
    over their coefficients of joints that turn."""
    units = velocity_units(robot)
    scales = np.ones(len(robot.tendons))
    for t, tendon in enumerate(robot.tendons):
        if tendon.joints:
            rates = [c / units[robot.v_index(name)] for name, c in tendon.joints.items()]
            scales[t] = 1.0 / (float(np.linalg.norm(rates)) or 1.0)
    return scales


def loop_row_regularization(robot: Model, regularization: float, dtype: str) -> Floats:
    """(nc,) the regularization of rows of loops in steps with contacts.

    Rows that no joint moves on closed loops are left out: those of a linkage in a plane across it, for instance. Where
    an impact opens a loop a little, such a row is small, but not zero: impulses that iterations gather in it grow
    without bound, and do work.

    Args:
        robot: The mechanism.
        regularization: As a part of inverse inertias.
        dtype: Of the array.
    """
    rows = row_regularization(robot, regularization, dtype)
    return np.where(row_dependence(robot).idle, UNBOUNDED, rows).astype(dtype) if robot.nc else rows
