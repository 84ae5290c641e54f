# SPDX-License-Identifier: BSD-3-Clause
"""The center of mass of a body and of all that it carries, its Jacobian, and the rate of that.

A subtree's center of mass is that of the same robot whose other bodies weigh nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.inertia import Inertia
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import center_of_mass, center_of_mass_jacobian, center_of_mass_jacobian_rate


@converted
def subtree_of(robot: Model, body: str) -> Model:
    """The robot whose bodies weigh nothing, but for a body and all that it carries: see `subtree_center_of_mass`.

    Its quantities that are about mass can be evaluated and compiled as any others:
    ``lw.Evaluator(lw.kinematics.subtree_of(robot, "left_thigh"), "center_of_mass_jacobian").compile()``. It is for
    these alone: dynamics need the mass of all bodies.

    Args:
        robot: The mechanism.
        body: Name of the body that carries the others.
    """
    check_robot(robot)
    robot.inertias[body]  # raises where there is no such body
    return _subtree_of(robot, body)


@computed_once
def _subtree_of(robot: Model, body: str) -> Model:
    carried = {body}
    for joint in robot.joints:  # parents before children
        if joint.parent in carried:
            carried.add(joint.child)
    inertias = {name: inertia if name in carried else Inertia.zero() for name, inertia in robot.inertias.items()}
    if not sum(inertia.mass for inertia in inertias.values()) > 0:
        raise InputError(f"body '{body}' of '{robot.name}' and what it carries have no mass")
    return replace(robot.unconstrained(), inertias=inertias)


@converted
def subtree_center_of_mass(robot: Model, q: npt.ArrayLike, body: str) -> Array:
    """Center of mass of a body and of all that it carries, in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        body: Name of the body that carries the others.
    """
    return center_of_mass(subtree_of(robot, body), q)


@converted
def subtree_center_of_mass_jacobian(robot: Model, q: npt.ArrayLike, body: str) -> Array:
    """``J``, ``(..., 3, nv)``: ``J v`` is the velocity of the `subtree_center_of_mass`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        body: Name of the body that carries the others.
    """
    return center_of_mass_jacobian(subtree_of(robot, body), q)


@converted
def subtree_center_of_mass_jacobian_rate(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, body: str) -> Array:
    """``dJ/dt``, ``(..., 3, nv)``: ``J a + dJ/dt v`` is the acceleration of the `subtree_center_of_mass`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        body: Name of the body that carries the others.
    """
    return center_of_mass_jacobian_rate(subtree_of(robot, body), q, v)
