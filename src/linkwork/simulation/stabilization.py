# SPDX-License-Identifier: BSD-3-Clause
"""The robot as steps see it: Baumgarte stabilization, implicit springs and dampers, stops at joint limits."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from linkwork.closure.mobility import mass_factor
from linkwork.closure.thresholds import ADDED_INERTIA
from linkwork.contact.thresholds import LEAST_TIME_CONSTANT
from linkwork.errors import InputError
from linkwork.inputs import Auto, JointLimits, TimeConstant, above_zero, advised, outer_level
from linkwork.kernels.steps.stage_dynamics import DAMPING, LOWER, REST, STIFFNESS, STOP_DAMPING, STOP_STIFFNESS, UPPER
from linkwork.model.constraints import Drive
from linkwork.model.model import Model
from linkwork.model.tendons import Tendon
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.actuation import tendon_jacobian
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import mass_matrix
from linkwork.simulation.thresholds import LEAST_STOP_TIME, LEAST_TENDON_MOBILITY, SHORTEST_ADVISED

AUTO: Auto = "auto"
STOP_STEPS = 5
"""The least steps in which a stop catches a joint: stiffer ones are unstable where they are explicit."""
STIFFER_STOPS = 100.0
"""Stiffness of implicit stops relative to the servos of their joint: these give way by a hundredth of the way."""


def servo_coefficients(robot: Model, q: Array, order: int) -> Array:
    """Stiffness (``order`` 1) or damping (2) of servos by degree of freedom, their gears and moment arms squared.

    Args:
        robot: The mechanism.
        q: Configuration.
        order: The entry of biases.
    """
    total = np.zeros(robot.nv)
    arms = (
        tendon_jacobian(robot, q) if any(actuator.tendon for actuator in robot.actuators) else np.zeros((0, robot.nv))
    )
    pulled = {tendon.name: arm for tendon, arm in zip(robot.tendons, arms, strict=False)}
    for actuator in robot.actuators:
        if actuator.tendon:
            total -= actuator.bias[order] * np.square(actuator.gear[0] * pulled[actuator.tendon])
        for joint, gear in actuator.gears:
            total[robot.v_slice(joint)] -= actuator.bias[order] * np.square(gear)
    return total


def warn_of_stiff_servos(robot: Model, q: Array, dt: float, integrator: str) -> None:
    """Warn of servos whose damping, taken explicitly, turns a velocity around within a step: they chatter.

    That is where the damping times ``dt`` is more than the apparent inertia of a joint at ``q``. Semi-implicit Euler
    takes damping implicitly.

    Args:
        robot: The mechanism.
        q: Configuration.
        dt: Time of a step.
        integrator: Integrator of the steps.
    """
    if integrator == "euler":
        return
    damping = servo_coefficients(robot, q, 2)
    if not (damping > 0).any():
        return
    mobility = np.diagonal(np.linalg.pinv(mass_matrix(robot, q), hermitian=True))  # one over the inertia
    ratio = damping * dt * mobility
    k = int(ratio.argmax())
    if ratio[k] > 1:
        joint = next(j.name for j in robot.joints if k in range(*robot.v_slice(j.name).indices(robot.nv)))
        shorter = dt / float(ratio[k])
        advice = f"try integrator='euler', which takes damping implicitly, or dt={advised(shorter)} or less"
        if shorter < SHORTEST_ADVISED * dt:
            advice = "try integrator='euler', which takes damping implicitly: no step that is worth it is short enough"
        warnings.warn(
            f"servos of joint '{joint}' of '{robot.name}' chatter with steps of {dt:g} s by {integrator}: their "
            f"damping times the step is {ratio[k]:.3g} times the apparent inertia of the joint; {advice}",
            RuntimeWarning,
            stacklevel=outer_level(),
        )


def time_constant_of(time_constant: TimeConstant, dt: float) -> float | None:
    """Seconds in which open loops close again under steps of the time ``dt``; None: they do not."""
    if time_constant is None:
        return None
    time = max(LEAST_TIME_CONSTANT, 2 * dt) if time_constant == AUTO else above_zero(time_constant, "time_constant")
    if time < 2 * dt:
        raise InputError(
            f"time_constant is {time:g} s: loops that are to close in less than two steps ({2 * dt:g} s) overshoot"
        )
    return time


def stabilized(robot: Model, time_constant: TimeConstant, dt: float) -> Model:
    """The robot with Baumgarte stabilization of all constraints that have no gains of their own."""
    time = time_constant_of(time_constant, dt)
    if time is None:
        return robot
    own = [isinstance(c, Drive) or any(c.gains or ()) for c in robot.constraints]  # drives have no error of integration
    pulled = tuple(
        c if kept else replace(c, gains=None, time_constant=time)
        for c, kept in zip(robot.constraints, own, strict=True)
    )
    return replace(robot, constraints=pulled)


def check_step_parameters(names: Sequence[str], passive: bool, stabilized: bool, contact: bool) -> None:
    """Raise where steps do not depend on a parameter that is to be an input.

    Args:
        names: Names of parameters.
        passive: Whether springs and dampers act.
        stabilized: Whether loops are pulled closed by gains.
        contact: Whether contacts touch.
    """
    for name in names:
        if name in ("damping", "stiffness", "rest") and not passive:
            raise InputError(f"{name} is a parameter, and passive=False leaves springs and dampers out")
        if name == "gains" and (contact or not stabilized):
            raise InputError("gains is a parameter, and these steps have no Baumgarte stabilization: leave it out")
        if name in ("friction", "contact_friction") and not contact:
            raise InputError(f"{name} is a parameter, and acts in steps with contacts alone: leave it out")


def unstabilized(robot: Model) -> Model:
    """The robot without Baumgarte stabilization: in minimal coordinates no stabilization is needed."""
    return replace(robot, constraints=tuple(replace(c, gains=None, time_constant=None) for c in robot.constraints))


def joint_limits(limits: JointLimits) -> bool | str | tuple[str, ...]:
    """Whether limits are stops, ``"soft"``, or the joints whose limits are springs; an `InputError` for other words."""
    if isinstance(limits, str):
        if limits != "soft":
            raise InputError(f"limits is {limits!r}, needs True, False, 'soft', or names of joints in a list")
        return limits
    return tuple(limits) if isinstance(limits, Sequence) else bool(limits)


def soft_limits(robot: Model, limits: bool | str | tuple[str, ...], contact: bool) -> frozenset[str]:
    """Names of joints whose limits are springs; the largest angles of ball joints never are.

    Args:
        robot: The mechanism.
        limits: Whether limits are stops, and which are springs.
        contact: Whether steps are those with contacts, in which limits can hold exactly.
    """
    named = {robot.joint(name).name for name in limits} if isinstance(limits, tuple) else set()
    everywhere = limits == "soft" or (limits is not False and not contact)
    springs = {joint.name for joint in robot.joints} if everywhere else named
    return frozenset(name for name in springs if np.isinf(robot.joint(name).limits.angle))


def stop_time(dt: float) -> float:
    """Seconds in which stops catch joints, under steps of the time ``dt``."""
    return max(LEAST_STOP_TIME, STOP_STEPS * dt)


def passive_parameters(
    robot: Model, passive: bool, soft: Collection[str], at: npt.ArrayLike, dt: float, implicit: bool
) -> Array:
    """Springs, dampers and stops of joints: a row for each degree of freedom (`kernels.steps.stage_dynamics`).

    Stops catch the inertia of a joint in the time of `stop_time`; implicit ones, which may be as stiff as one likes,
    are `STIFFER_STOPS` times as stiff as the servos that press joints against them.

    Args:
        robot: The mechanism.
        passive: Whether its springs and dampers act.
        soft: Joints whose limits are springs.
        at: The configuration that these are made for.
        dt: Time of a step.
        implicit: Whether steps take stops implicitly.
    """
    table = np.zeros((robot.nv, 7))
    table[:, LOWER], table[:, UPPER] = -UNBOUNDED, UNBOUNDED
    if passive:
        table[:, DAMPING], table[:, STIFFNESS] = robot.damping, robot.stiffness
    plain = [j for j in robot.joints if j.type.nq == j.type.nv and j.type.nv > 0]
    for joint in plain:
        table[robot.v_slice(joint.name), REST] = joint.rest
    limited = [joint for joint in plain if joint.name in soft]
    if limited:
        time = stop_time(dt)
        L = mass_factor(robot, np.asarray(at, dtype=np.float64), ADDED_INERTIA)
        inertia = 1.0 / (np.linalg.inv(L) ** 2).sum(axis=0)  # one over the diagonal of M^-1 = L^-T L^-1
        stiffness = inertia / time**2
        if implicit and robot.actuators:
            stiffness = np.maximum(stiffness, STIFFER_STOPS * servo_coefficients(robot, np.asarray(at), 1))
        for joint in limited:
            k, i = robot.v_slice(joint.name), robot.q_slice(joint.name)
            low, high = robot.lower[i], robot.upper[i]
            stopped = np.isfinite(low) | np.isfinite(high)
            table[k, LOWER] = np.where(np.isfinite(low), low, -UNBOUNDED)
            table[k, UPPER] = np.where(np.isfinite(high), high, UNBOUNDED)
            table[k, STOP_STIFFNESS] = np.where(stopped, stiffness[k], 0.0)
            table[k, STOP_DAMPING] = np.where(stopped, 2 * np.sqrt(inertia[k] * stiffness[k]), 0.0)
    return table


def with_exact_limits(robot: Model, tendons: Sequence[Tendon]) -> tuple[Tendon, ...]:
    """Tendons with the stops that the robot states, in place of those that steps choose: other limits are exact.

    Args:
        robot: The mechanism.
        tendons: Its tendons, with stops.
    """
    return tuple(replace(tendon, stop=own.stop) for tendon, own in zip(tendons, robot.tendons, strict=True))


def stopped_tendons(
    robot: Model, tendons: Sequence[Tendon], limits: bool, at: npt.ArrayLike, dt: float
) -> tuple[Tendon, ...]:
    """Tendons with stops at their limits, made for the inertia that their lengths move at a configuration.

    Args:
        robot: The mechanism.
        tendons: Its tendons.
        limits: Whether limits are stops.
        at: The configuration.
        dt: Time of a step.
    """
    if not limits or not any(tendon.is_limited for tendon in tendons):
        return tuple(replace(tendon, stop=(0.0, 0.0)) for tendon in tendons)
    J = tendon_jacobian(robot, at)
    mobility = np.einsum("tv,vt->t", J, np.linalg.pinv(mass_matrix(robot, at), hermitian=True) @ J.T)
    stops, time = [], stop_time(dt)
    for tendon, free in zip(tendons, mobility, strict=True):
        inertia = 1.0 / max(float(free), LEAST_TENDON_MOBILITY / robot.mass) if robot.mass > 0 else 1.0
        gains = (inertia / time**2, 2 * inertia / time) if tendon.is_limited else (0.0, 0.0)
        stops.append(tendon if tendon.is_limited and any(tendon.stop) else replace(tendon, stop=gains))
    return tuple(stops)
