# SPDX-License-Identifier: BSD-3-Clause
"""Torques and activations of actuators, gravity compensation, forces and lengths of tendons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Quantity, float_array, real_array
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.notebook import shapes
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.functions import evaluator_of
from linkwork.quantities.thresholds import UNLIMITED_TORQUE


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
    check_robot(robot)
    if not robot.na:
        if act is not None and real_array(act, "act").size:
            raise InputError(f"act is given, but no actuator of '{robot.name}' has an activation")
        return commands
    w = np.zeros(robot.na) if act is None else act
    return np.concatenate(_broadcast(robot, commands=(commands, len(robot.actuators)), act=(w, robot.na)), axis=-1)


def _broadcast(robot: Model, **given: tuple[npt.ArrayLike, int]) -> list[Array]:
    """Arrays with so many numbers each, with the same leading axes."""
    arrays = {name: float_array(x, name) for name, (x, _) in given.items()}
    for name, (_, width) in given.items():
        if arrays[name].shape[-1:] != (width,):
            raise InputError(f"{name} has shape {arrays[name].shape}, robot '{robot.name}' needs (..., {width})")
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
    except ValueError:
        axes = ", ".join(f"{name} {x.shape[:-1]}" for name, x in arrays.items())
        raise InputError(f"leading axes do not broadcast: {axes}") from None
    return [np.broadcast_to(x, (*lead, x.shape[-1])) for x in arrays.values()]


def torque_limits(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
    """The least and the largest torque of each degree of freedom, ``(..., nv)`` each; infinite without a limit.

    Driven joints are limited by the torques of their actuators over all commands in this state, with all that
    `actuator_torques` clamps: ranges of commands, of forces, of tendons and of joints. A servo near the end of its
    control range has less torque than elsewhere. Effort limits of joints hold as well. An actuator on several degrees
    of freedom has its limits on each, which it may not reach on all at once.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
    """
    at, rate = _broadcast(robot, q=(q, robot.nq), v=(v, robot.nv))
    effort = np.broadcast_to(robot.effort_limit, rate.shape)
    if not robot.actuators:
        return -effort, effort.copy()
    for actuator in robot.actuators:
        if actuator.motor is not None and actuator.motor.network is not None:
            raise UnsupportedFeature(
                f"torque_limits: actuator '{actuator.name}' is a network, whose range of torques is not "
                "computed; evaluate actuator_torques at single commands",
                subject=actuator.name,
            )
    J, slope = _actuator_slopes(robot, at, rate)
    low, high = np.clip([a.control_limits for a in robot.actuators], -UNBOUNDED, UNBOUNDED).T
    active = [k for k, a in enumerate(robot.actuators) for _ in a.states]
    follows = np.array([not state.endswith(".integral") for a in robot.actuators for state in a.states], dtype=float)
    limits = []
    for worst, best in ((high, low), (low, high)):
        # one row of commands for each degree of freedom, those which turn it the farthest
        u = np.where(np.swapaxes(J * slope[..., None], -1, -2) > 0, best, worst)
        tau = actuator_torques(
            robot, at[..., None, :], rate[..., None, :], u, u[..., active] * follows if active else None
        )
        limits.append(np.diagonal(tau, axis1=-2, axis2=-1))
    driven = (J != 0).any(axis=-2)
    lower, upper = (np.where(np.abs(x) < UNLIMITED_TORQUE, x, np.copysign(np.inf, x)) for x in limits)
    return np.where(driven, np.maximum(-effort, lower), -effort), np.where(driven, np.minimum(effort, upper), effort)


def _actuator_slopes(robot: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Moment arms of all actuators, ``(..., actuators, nv)``, and their gains, ``(..., actuators)``."""
    arms = np.zeros((*q.shape[:-1], len(robot.actuators), robot.nv))
    length = np.zeros(arms.shape[:-1])
    number = {tendon.name: k for k, tendon in enumerate(robot.tendons)}
    for a, actuator in enumerate(robot.actuators):
        for joint, gears in actuator.gears:
            in_q, in_v = robot.q_slice(joint), robot.v_slice(joint)
            arms[..., a, in_v] += gears
            if robot.joint(joint).type.nq == len(gears):
                length[..., a] += q[..., in_q] @ np.array(gears)
    pulling = [(a, number[x.tendon], x.gear[0]) for a, x in enumerate(robot.actuators) if x.tendon]
    if pulling:
        of, tendon, gear = (np.array(column) for column in zip(*pulling, strict=True))
        arms[..., of, :] = gear[:, None] * tendon_jacobian(robot, q)[..., tendon, :]
        length[..., of] = gear * tendon_length(robot, q)[..., tendon]
    rate = (arms @ v[..., None])[..., 0]
    g0, g1, g2 = np.array([actuator.gain for actuator in robot.actuators]).T
    return arms, g0 + g1 * length + g2 * rate


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
    for actuator in robot.actuators:
        if actuator.motor is not None and (actuator.motor.integral > 0 or actuator.motor.memory):
            raise UnsupportedFeature(
                f"next_activations: the integral or the network of actuator '{actuator.name}' depends on its position: "
                "use a Stepper, or the activations that steps return",
                subject=actuator.name,
            )
    u = commands_and_activations(robot, commands, act)
    return Activations(*evaluator_of(robot, "activations")(u, float_array(dt, "dt")[..., None]))


def acting_activations(robot: Model, commands: Array, act: Array, dt: float) -> Array:
    """Activations that forces come from in a step: of actuators that are early, those after it."""
    early = np.array([a.early and state == a.name for a in robot.actuators for state in a.states], dtype=bool)
    if not early.any() or not len(act):
        return act
    activations: Array = np.where(early, next_activations(robot, commands, act, dt).act, act)
    return activations


def gravity_compensation(robot: Model, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
    """Torques that compensate the weight of bodies by ``robot.gravity_compensation``, ``(..., nv)``: ``qfrc_gravcomp``.

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

    Simulations and inverse dynamics apply them, as they do springs of joints (`passive_forces`).

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
    energy: Array = 0.5 * (off * off) @ stiffness
    return energy


# Force elements -----------------------------------------------------------------------------------------------------


class ElementStates(NamedTuple):
    """Coordinates of force elements, their rates, and the forces along them, ``(..., coordinates)`` each."""

    coordinate: Array
    rate: Array
    force: Array


def element_forces(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    time: npt.ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Torques of all force elements (``robot.forces``), ``(..., nv)``.

    Simulations, inverse dynamics and equilibria apply them, as they do springs of joints (`passive_forces`).

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        time: Seconds, ``(...)``; by default the robot's.
        out: Array to write the result to; by default a new one.
    """
    if time is None:
        result: Array = evaluator_of(robot, "element_forces")(q, v, out=out)
        return result
    times = np.asarray(time, dtype=np.float64)[..., None]
    torques: Array = _at_times(robot, "element_forces")(q, v, time=times, out=out)
    return torques


@computed_once
def _at_times(robot: Model, quantity: Quantity) -> Evaluator:
    """A quantity whose time is an input."""
    return Evaluator(robot, quantity, parameters=["time"])


def element_states(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, *, time: npt.ArrayLike | None = None
) -> dict[str, ElementStates]:
    """Lengths or poses of force elements, their rates and forces, by name; those of a wrench are six numbers.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        time: Seconds, ``(...)``; by default the robot's.
    """
    if time is None:
        arrays = evaluator_of(robot, "element_states")(q, v)
    else:
        arrays = _at_times(robot, "element_states")(q, v, time=np.asarray(time, dtype=np.float64)[..., None])
    states, first = dict[str, ElementStates](), 0
    for element in robot.forces:
        own = slice(first, first + element.coordinates)
        states[element.name] = ElementStates(*(x[..., own] for x in arrays))
        first += element.coordinates + len(element.watched)
    return states


def element_energy(robot: Model, q: npt.ArrayLike) -> Array:
    """Elastic energy of all force elements that have one, ``(...)``, in joules.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
    """
    states = element_states(robot, q, np.zeros(robot.nv))
    total: Array = np.zeros(np.shape(q)[:-1])
    for element in robot.forces:
        stored = element.energy(states[element.name].coordinate)
        total = total if stored is None else total + stored
    return total
