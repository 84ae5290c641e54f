# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a robot and its state: dynamics and kinematics, called with NumPy arrays.

`inverse.InverseDynamics` and `forward.ForwardDynamics` are made once per robot and called often; the functions below do
the same for everything else, keeping what they prepare with the robot. `Evaluator` is what all of them are made of, and
what to hold on to for a control loop (`Evaluator.bind`) or for machine code of one's own robot (`Evaluator.compile`).

Leading axes of any argument are batch axes and broadcast as in NumPy. Spatial vectors are ``[angular, linear]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import Quantity, Reference
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.notebook import shapes
from linkwork.model.placement import Placement
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.evaluator import REFERENCES, Evaluator

# Functions of a robot ---------------------------------------------------------------------------------


class Energy(NamedTuple):
    """Energies of a robot, in joules."""

    kinetic: Array
    potential: Array

    @property
    def total(self) -> Array:
        """Their sum."""
        total: Array = self.kinetic + self.potential
        return total


def mass_matrix(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The joint-space inertia ``M(q)``, ``(..., nv, nv)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "mass_matrix", q, out=out)


def bias_forces(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Coriolis, centrifugal and gravity torques ``c(q, v)``, ``(..., nv)``: ``M a + c = tau``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "bias_forces", q, v, out=out)


def coriolis_matrix(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The matrix ``C(q, v)``, ``(..., nv, nv)``: ``C v`` is the part of `bias_forces` that velocities cause.

    Of all such matrices it is the one for which ``dM/dt - 2 C`` is skew-symmetric.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "coriolis_matrix", q, v, out=out)


def gravity_forces(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The torques that hold the robot still, ``(..., nv)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "gravity_forces", q, out=out)


def passive_forces(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Torques of the joints' springs and dampers, ``(..., nv)``: ``-k (q - rest) - d v``, with their polynomial terms,
    and ``-k log(rest^-1 q)`` of ball and free joints; those of tendons are `tendon_forces`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "passive_forces", q, v, out=out)


def inverse_mass_product(robot: Model, q: npt.ArrayLike, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """``M(q)^-1 x``, ``(..., nv)``, in time linear in the number of bodies.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        x: Vector to multiply, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "inverse_mass_product", q, x, out=out)


def frame_placement(robot: Model, q: npt.ArrayLike, frame: str | Sequence[str]) -> Placement:
    """Where a frame is in the world. For several frames, a batch with one more axis, the last one.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of a frame or body, or several of them: results then have one more axis, before the last ones.
    """
    rotation, position = evaluator_of(robot, "frame_placement", frame)(q)
    if isinstance(frame, str):
        rotation, position = rotation[..., 0, :, :], position[..., 0, :]
    return Placement(position, rotation, check=False)


def frame_velocity(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str | Sequence[str], reference: Reference = "local"
) -> Array:
    """Velocity of a frame, ``(..., 6)``: ``[angular, linear]`` in the axes of ``reference``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of a frame or body, or several of them: results then have one more axis, before the last ones.
        reference: Axes of the result: ``"local"``, the frame's own; ``"aligned"``, the world's at the frame's origin;
            ``"world"``, the world's at its own origin.
    """
    result: Array = evaluator_of(robot, "frame_velocity", frame, reference)(q, v)
    return result[..., 0, :] if isinstance(frame, str) else result


def frame_acceleration(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    frame: str | Sequence[str],
    reference: Reference = "local",
) -> Array:
    """Acceleration of a frame, ``(..., 6)``: angular, and the classical acceleration of its origin (``d²x/dt²``).

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
        frame: Name of a frame or body, or several of them: results then have one more axis, before the last ones.
        reference: Axes of the result: ``"local"`` or ``"aligned"``; a point has no acceleration at the world's origin.
    """
    result: Array = evaluator_of(robot, "frame_acceleration", frame, reference)(q, v, a)
    return result[..., 0, :] if isinstance(frame, str) else result


def frame_jacobian(robot: Model, q: npt.ArrayLike, frame: str | Sequence[str], reference: Reference = "local") -> Array:
    """The matrix ``J(q)``, ``(..., 6, nv)``: ``J v`` is the velocity of a frame in the axes of ``reference``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of a frame or body, or several of them: results then have one more axis, before the last ones.
        reference: Axes of the result: ``"local"``, the frame's own; ``"aligned"``, the world's at the frame's origin;
            ``"world"``, the world's at its own origin.
    """
    result: Array = evaluator_of(robot, "frame_jacobian", frame, reference)(q)
    return result[..., 0, :, :] if isinstance(frame, str) else result


def frame_jacobian_rate(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str | Sequence[str], reference: Reference = "local"
) -> Array:
    """``dJ/dt``, ``(..., 6, nv)``: how `frame_jacobian` changes while the robot moves with ``v``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of a frame or body, or several of them: results then have one more axis, before the last ones.
        reference: Axes of the result: ``"local"``, the frame's own; ``"aligned"``, the world's at the frame's origin;
            ``"world"``, the world's at its own origin.
    """
    result: Array = evaluator_of(robot, "frame_jacobian_rate", frame, reference)(q, v)
    return result[..., 0, :, :] if isinstance(frame, str) else result


def center_of_mass(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Center of mass in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "center_of_mass", q, out=out)


def center_of_mass_jacobian(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The matrix ``J(q)``, ``(..., 3, nv)``: ``J v`` is the velocity of the center of mass, in the world's axes.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "center_of_mass_jacobian", q, out=out)


def center_of_mass_jacobian_rate(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None
) -> Array:
    """``dJ/dt``, ``(..., 3, nv)``: ``J a + dJ/dt v`` is the acceleration of the center of mass.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "center_of_mass_jacobian_rate", q, v, out=out)


def centroidal_momentum(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Angular momentum about the center of mass and linear momentum, ``(..., 6)``, in the world's axes.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "centroidal_momentum", q, v, out=out)


def centroidal_momentum_matrix(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The matrix ``A(q)``, ``(..., 6, nv)``: ``A v`` is the `centroidal_momentum`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "centroidal_momentum_matrix", q, out=out)


def centroidal_momentum_matrix_rate(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None
) -> Array:
    """``dA/dt``, ``(..., 6, nv)``: ``A a + dA/dt v`` is the rate of the `centroidal_momentum`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    need_mass(robot)
    return _value(robot, "centroidal_momentum_matrix_rate", q, v, out=out)


def energy(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Energy:
    """Kinetic energy (with that of armatures) and potential energy (zero at the world's origin).

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
    """
    kinetic, potential = evaluator_of(robot, "energy")(q, v)
    return Energy(kinetic[..., 0], potential[..., 0])


def constraint_error(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Errors of constraints, ``(..., nc)``: meters, or ``2 sin(angle / 2)`` for turns.

    Rows of each constraint are at ``robot.row_slice(name)``. Rows that bind velocities only are zero.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "constraint_error", q, out=out)


def constraint_jacobian(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The matrix ``J(q)`` of all constraints, ``(..., nc, nv)``: ``J v`` is the rate of their errors.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "constraint_jacobian", q, out=out)


def constraint_bias(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """``dJ/dt v``, ``(..., nc)``: how errors accelerate when no joint does.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "constraint_bias", q, v, out=out)


def constraint_target(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The acceleration of the errors that the constraints' gains ask for, ``(..., nc)``: ``-kp error - kd J v``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "constraint_target", q, v, out=out)


class RowDerivatives(NamedTuple):
    """Derivatives of the accelerations ``s = J a + dJ/dt v`` of constraint rows, with ``a`` held."""

    ds_dq: Array
    """By configuration, in the tangent space at q, ``(..., nc, nv)``."""
    ds_dv: Array
    """By velocity, ``(..., nc, nv)``."""

    def __repr__(self) -> str:
        return shapes(self)


def constraint_derivatives(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> RowDerivatives:
    """Derivatives of the accelerations ``s = J a + dJ/dt v`` of all rows by ``q`` and ``v``.

    With ``a = 0`` they are those of `constraint_bias`; with ``v = 0``, ``ds_dq`` is that of ``J a``, of any vector a.
    Gains are not part of them.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
    """
    return RowDerivatives(*evaluator_of(robot, "constraint_derivatives")(q, v, a))


def constraint_error_jacobian(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The derivative of `constraint_error` by configuration, ``(..., nc, nv)``, in the tangent space at q.

    It is `constraint_jacobian` but for points that are to meet and are apart (rows of those are rates of the vector
    between them, errors its components in the first frame), and for rows that bind velocities only: zeros here.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    return _value(robot, "constraint_error_jacobian", q, out=out)


def need_mass(robot: Model) -> None:
    """Raise unless a robot has mass, and so a center of mass."""
    check_robot(robot)
    if robot.mass == 0:
        raise InputError(f"robot '{robot.name}' has no mass: a center of mass needs some")


def evaluator_of(
    robot: Model, quantity: Quantity, frame: str | Sequence[str] = (), reference: Reference = "local"
) -> Evaluator:
    """The evaluator of a function, made once per robot."""
    check_robot(robot)
    frames = frame_names(frame)
    if not isinstance(reference, str):
        raise InputError(f"reference {reference!r} is none of {', '.join(REFERENCES)}")
    return _made_once(robot, quantity, frames, reference)


def _value(robot: Model, quantity: Quantity, *inputs: npt.ArrayLike, out: Array | None) -> Array:
    """A quantity that is one array."""
    evaluator = evaluator_of(robot, quantity)
    result: Array = evaluator(*inputs) if out is None else evaluator(*inputs, out=out)
    return result


@computed_once
def _made_once(robot: Model, quantity: Quantity, frames: tuple[str, ...], reference: Reference) -> Evaluator:
    return Evaluator(robot, quantity, frames, reference)
