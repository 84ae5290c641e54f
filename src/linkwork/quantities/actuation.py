# SPDX-License-Identifier: BSD-3-Clause
"""Functions of what drives a robot: torques and activations of actuators, gravity compensation, tendons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.notebook import shapes
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import evaluator_of


def actuator_torques(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    commands: npt.ArrayLike,
    act: npt.ArrayLike | None = None,
    *,
    out: Array | None = None,
) -> Array:
    """Torques that the robot's actuators make of commands, ``(..., nv)``; MuJoCo's ``qfrc_actuator``.

    ``commands: (..., actuators)`` are numbers for ``robot.actuators``, in their order: of a motor its force before the
    gear, of a servo what it follows. Forces of actuators with dynamics come from their activations, not from commands.
    All, and the torques of joints, stay within the limits of the model.
    An actuator whose force is not modeled is an `UnsupportedFeature`. `Evaluator(robot, "actuator_torques")` is for
    control loops; its commands are followed by activations, if there are any.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        commands: Numbers for ``robot.actuators``, ``(..., actuators)``, in their order.
        act: Activations that forces come from, ``(..., na)``; by default zero. (Those of `early` actuators are the ones
            after the step: `next_activations`.)
        out: Array to write the result to; by default a new one.
    """
    u = commands_and_activations(robot, commands, act)
    result: Array = evaluator_of(robot, "actuator_torques")(q, v, u, out=out)
    return result


def actuation_matrix(robot: Model, q: npt.ArrayLike) -> Array:
    """``B``, ``(..., nv, actuators)``: ``B f`` are the joint torques of forces ``f`` of ``robot.actuators``.

    A column has the gears of one actuator, of one that pulls a tendon its moment arms; it is the transpose of MuJoCo's
    ``actuator_moment``. Of a robot without actuators, columns are those of the degrees of freedom of the joints that
    are marked as actuated.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
    """
    gears, at = _gears(robot), robot.normalize(q)
    result = np.empty((*at.shape[:-1], *gears.shape))
    result[...] = gears
    if any(actuator.tendon for actuator in robot.actuators):
        arms = tendon_jacobian(robot, at)
        names = [tendon.name for tendon in robot.tendons]
        for k, actuator in enumerate(robot.actuators):
            if actuator.tendon:
                result[..., k] = actuator.gear[0] * arms[..., names.index(actuator.tendon), :]
    return result


@computed_once
def _gears(robot: Model) -> Array:
    """The part of the actuation matrix that does not depend on the configuration."""
    if not robot.actuators:
        driven = [range(robot.nv)[robot.v_slice(joint.name)] for joint in robot.joints if joint.actuated]
        return np.eye(robot.nv)[:, [k for dofs in driven for k in dofs]]
    result = np.zeros((robot.nv, len(robot.actuators)))
    for k, actuator in enumerate(robot.actuators):
        for joint, gear in actuator.gears:
            result[robot.v_slice(joint), k] += gear
    return result


def commands_and_activations(robot: Model, commands: npt.ArrayLike, act: npt.ArrayLike | None) -> npt.ArrayLike:
    """Commands and, after them, activations, ``(..., actuators + na)``, as evaluators take them."""
    if not robot.na:
        if act is not None and np.size(act):
            raise InputError(f"act is given, but no actuator of '{robot.name}' has an activation")
        return commands
    u = np.asarray(commands, dtype=np.float64)
    w = np.zeros(robot.na) if act is None else np.asarray(act, dtype=np.float64)
    for x, width, name in ((u, len(robot.actuators), "commands"), (w, robot.na, "act")):
        if x.shape[-1:] != (width,):
            raise InputError(f"{name} have shape {x.shape}, robot '{robot.name}' needs (..., {width})")
    try:
        lead = np.broadcast_shapes(u.shape[:-1], w.shape[:-1])
    except ValueError:
        raise InputError(f"leading axes do not broadcast: commands {u.shape[:-1]}, act {w.shape[:-1]}") from None
    return np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in (u, w)], axis=-1)


class Activations(NamedTuple):
    """Activations of actuators after a time, and their rates before."""

    act: Array
    """``(..., na)``, within the limits of the model."""
    rate: Array
    """``(..., na)``; MuJoCo's ``act_dot``."""

    def __repr__(self) -> str:
        return shapes(self)


def next_activations(robot: Model, commands: npt.ArrayLike, act: npt.ArrayLike, dt: npt.ArrayLike) -> Activations:
    """Activations of the robot's actuators after a step under commands: ``act + dt rate``, or exactly.

    A filter that is exact decays by ``exp(-dt / time_constant)`` (MuJoCo: ``filterexact``).

    Args:
        robot: The mechanism.
        commands: Numbers for ``robot.actuators``, ``(..., actuators)``, in their order.
        act: Activations before the step, ``(..., na)``.
        dt: Time of the step, in seconds, ``(...)``.
    """
    u = commands_and_activations(robot, commands, act)
    return Activations(*evaluator_of(robot, "activations")(u, np.asarray(dt, dtype=np.float64)[..., None]))


def acting_activations(robot: Model, commands: Array, act: Array, dt: float) -> Array:
    """Activations that forces come from in a step: of actuators that are early, those after it."""
    early = np.array([a.early for a in robot.actuators if a.has_activation], dtype=bool)
    if not early.any() or not len(act):
        return act
    found: Array = np.where(early, next_activations(robot, commands, act, dt).act, act)
    return found


def gravity_compensation(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Torques that hold up what ``robot.gravity_compensation`` says, ``(..., nv)``; MuJoCo's ``qfrc_gravcomp``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "gravity_compensation")(q, out=out)
    return result


# Tendons ------------------------------------------------------------------------------------------------------------


def tendon_length(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Lengths of all tendons, ``(..., tendons)``, in the order of ``robot.tendons``; MuJoCo's ``ten_length``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "tendon_length")(q, out=out)
    return result


def tendon_velocity(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Rates of the lengths of all tendons, ``(..., tendons)``; MuJoCo's ``ten_velocity``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "tendon_velocity")(q, v, out=out)
    return result


def tendon_jacobian(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """The matrix ``J(q)`` of all tendons, ``(..., tendons, nv)``: ``J v`` are rates of lengths, ``J' f`` torques of
    forces that shorten where they are negative. Its entries are moment arms; MuJoCo's ``ten_J``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "tendon_jacobian")(q, out=out)
    return result


def tendon_forces(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Torques of the tendons' springs and dampers, ``(..., nv)``: their part of MuJoCo's ``qfrc_passive``.

    Simulations apply them, as they do springs of joints (`passive_forces`); inverse dynamics does not.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        out: Array to write the result to; by default a new one.
    """
    result: Array = evaluator_of(robot, "tendon_forces")(q, v, out=out)
    return result


def tendon_energy(robot: Model, q: npt.ArrayLike) -> Array:
    """Elastic energy of the tendons' springs, ``(...)``, in joules.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
    """
    length = tendon_length(robot, q)
    rest = np.array([tendon.rest for tendon in robot.tendons]).reshape(-1, 2)
    stiffness = np.array([tendon.stiffness for tendon in robot.tendons])
    off = length - np.clip(length, rest[:, 0], rest[:, 1])
    found: Array = 0.5 * (off * off) @ stiffness
    return found


def refuse_passive_tendons(robot: Model, what: str) -> None:
    """Raise for a robot with springs or dampers on tendons, where these are not supported."""
    for tendon in robot.tendons:
        if tendon.is_passive:
            raise UnsupportedFeature(
                f"{what}: tendon '{tendon.name}' of '{robot.name}' has a spring or a damper, which is not supported "
                "there; simulations apply it, and tendon_forces(robot, q, v) gives it",
                subject=tendon.name,
            )
