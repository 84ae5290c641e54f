# SPDX-License-Identifier: BSD-3-Clause
"""Springs and dampers that act on joints, the poles that they make, and where explicit steps are unstable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.closure.mobility import mobility
from linkwork.closure.thresholds import ADDED_INERTIA
from linkwork.model.model import Model
from linkwork.plans.force_elements import has_force_elements
from linkwork.quantities.actuation import element_forces, tendon_jacobian
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import mass_matrix
from linkwork.quantities.scales import scales_of
from linkwork.simulation.stabilization import servo_coefficients
from linkwork.simulation.thresholds import ELEMENT_CHANGE

RK4_REAL, RK4_IMAGINARY = 2.785, 2.828
"""Where the region of stability of ``rk4`` ends on the two axes: pole times step of a damper, of a spring."""
EULER_EXPLICIT = 2.0
"""Where semi-implicit Euler's stability ends for springs and dampers that it takes explicitly: pole times step."""


class Stiffness(NamedTuple):
    """Springs and dampers that act on the joints, ``(nv, nv)`` each."""

    implicit_springs: Array
    """Those that semi-implicit Euler takes at the end of a step."""
    implicit_dampers: Array
    explicit_springs: Array
    explicit_dampers: Array


def springs_and_dampers(robot: Model, q: Array, passive: bool, time: float) -> Stiffness:
    """Springs and dampers at a configuration, at rest.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
        passive: Whether those of joints, tendons and force elements act.
        time: Seconds.
    """
    part = 1.0 if passive else 0.0
    springs, dampers = part * np.diag(robot.stiffness), part * np.diag(robot.damping)
    explicit_springs, explicit_dampers = (np.diag(servo_coefficients(robot, q, order)) for order in (1, 2))
    dampers, explicit_dampers = dampers + explicit_dampers, np.zeros_like(dampers)
    if passive and robot.tendons:
        arms = tendon_jacobian(robot, q)
        explicit_springs = explicit_springs + arms.T @ (np.array([t.stiffness for t in robot.tendons])[:, None] * arms)
        dampers = dampers + arms.T @ (np.array([t.damping for t in robot.tendons])[:, None] * arms)
    if passive and has_force_elements(robot):
        at, rest, steps = np.tile(q, (robot.nv, 1)), np.zeros(robot.nv), ELEMENT_CHANGE * np.eye(robot.nv)

        def slopes(ahead: Array, behind: Array) -> Array:
            return -(ahead - behind).T / (2 * ELEMENT_CHANGE)

        moved = (element_forces(robot, robot.integrate(at, sign * steps), rest, time=time) for sign in (1, -1))
        pushed = (element_forces(robot, at, sign * steps, time=time) for sign in (1, -1))
        explicit_springs, explicit_dampers = explicit_springs + slopes(*moved), slopes(*pushed)
    return Stiffness(springs, dampers, explicit_springs, explicit_dampers)


def largest_eigenvalue(robot: Model, q: Array, coefficients: Array) -> tuple[float, str]:
    """Of ``M^-1 C`` in the motions that loops allow, and the joint that has most part in it.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
        coefficients: C, springs or dampers, of which the symmetric part counts, ``(nv, nv)``.
    """
    if not coefficients.any():
        return 0.0, ""
    free = mobility(robot, q).freedom
    M = mass_matrix(robot, q) + ADDED_INERTIA * np.diag(scales_of(robot).joints)
    inverse = np.linalg.inv(np.linalg.cholesky(free.T @ M @ free))
    values, vectors = np.linalg.eigh(inverse @ free.T @ (0.5 * (coefficients + coefficients.T)) @ free @ inverse.T)
    if not len(values):
        return 0.0, ""
    motion = free @ (inverse.T @ vectors[:, -1])
    return float(values[-1]), joint_of(robot, int((motion * (coefficients @ motion)).argmax()))


def joint_of(robot: Model, dof: int) -> str:
    """The joint that a degree of freedom belongs to."""
    return next(j.name for j in robot.joints if dof < robot.v_slice(j.name).stop)
