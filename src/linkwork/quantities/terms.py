# SPDX-License-Identifier: BSD-3-Clause
"""All terms of the equations of motion at once, and the inverse of the mass matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy.typing as npt

from linkwork.inputs import Reference
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.quantities.actuation import actuation_matrix
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.functions import Energy, constraint_bias, constraint_jacobian, evaluator_of, need_mass


class Terms(NamedTuple):
    """Terms of the equations of motion at one state, or at each of a batch: see `terms`.

    The equation of motion is ``M a + bias_forces = actuation_matrix @ u + constraint_jacobian.T @ f``, where
    ``constraint_jacobian @ a + constraint_bias = 0``. Bias accelerations, ``dJ/dt v``, are those without accelerations
    of joints: ``J a`` plus these are all.
    """

    mass_matrix: Array
    """``M``, ``(..., nv, nv)``, with armatures."""
    bias_forces: Array
    """Coriolis, centrifugal and gravity torques, ``(..., nv)``."""
    gravity_forces: Array
    """Those of gravity, ``(..., nv)``."""
    energy: Energy
    """Kinetic (with that of armatures), and potential, zero at the world's origin."""
    center_of_mass: Array
    """In the world, ``(..., 3)``."""
    center_of_mass_velocity: Array
    """In the world, ``(..., 3)``."""
    center_of_mass_jacobian: Array
    """``(..., 3, nv)``"""
    centroidal_momentum: Array
    """Angular about the center of mass, and linear, ``(..., 6)``, in the world's axes."""
    centroidal_momentum_matrix: Array
    """``(..., 6, nv)``: times ``v``, the `centroidal_momentum`."""
    frames: Placement
    """Placements of the chosen frames in the world, with one axis more, for the frames."""
    frame_jacobians: Array
    """``(..., frames, 6, nv)``"""
    center_of_mass_bias_acceleration: Array
    """``dJ/dt v`` of the center of mass, in the world, ``(..., 3)``."""
    frame_velocities: Array
    """``J v`` of the frames, ``(..., frames, 6)``."""
    frame_bias_accelerations: Array
    """``dJ/dt v`` of the frames, ``(..., frames, 6)``: with ``J a``, rates of `frame_velocities`."""
    constraint_jacobian: Array
    """``J`` of all constraints, those that are not enabled included, ``(..., nc, nv)``."""
    constraint_bias: Array
    """``dJ/dt v`` of these, ``(..., nc)``."""
    actuation_matrix: Array
    """``(..., nv, actuators)``: times forces of actuators, torques; see `lw.actuators.actuation_matrix`."""


def terms(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    frames: str | Sequence[str] = (),
    reference: Reference = "local",
) -> Terms:
    """Mass matrix, bias and gravity torques, energies, momentum, frames and how they move, loops and motors.

    All terms of the tree are computed in one sweep: poses and composite inertias once, so that it takes little more
    than the mass matrix and the bias torques alone. ``lw.Evaluator(robot, "terms", frames)`` is that to hold on to, to
    `bind` and to `compile`. Rows of constraints and the actuation matrix are those of `constraint_jacobian`,
    `constraint_bias` and `actuation_matrix`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frames: Names of frames or bodies.
        reference: Axes of the frames' Jacobians and velocities: ``"local"``, ``"aligned"`` or ``"world"``, as of
            `frame_jacobian`.
    """
    need_mass(robot)
    names = frame_names(frames)
    M, bias, gravity, kinetic, potential, center, A, h, rotation, position, *of_frames = evaluator_of(
        robot, "terms", names, reference
    )(q, v)
    J, center_bias, velocities, frame_bias = of_frames
    energy = Energy(kinetic[..., 0], potential[..., 0])
    placements = Placement(position, rotation, check=False)
    velocity, of_center = h[..., 3:] / robot.mass, A[..., 3:, :] / robot.mass
    return Terms(
        M,
        bias,
        gravity,
        energy,
        center,
        velocity,
        of_center,
        h,
        A,
        placements,
        J,
        center_bias,
        velocities,
        frame_bias,
        constraint_jacobian(robot, q),
        constraint_bias(robot, q, v),
        actuation_matrix(robot, q),
    )


def inverse_mass_matrix(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """``M(q)^-1``, ``(..., nv, nv)``, by articulated inertias: `inverse_mass_product` of all unit torques.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "inverse_mass_matrix")(q, out=out)
    return result
