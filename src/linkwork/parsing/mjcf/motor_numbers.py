# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of actuators that the inertia of the whole model gives, as MuJoCo's compiler sets them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from linkwork.mechanism import Mechanism
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.motors import Motors
from linkwork.parsing.mjcf.servos import LEAST_TIME
from linkwork.quantities.actuation import actuation_matrix
from linkwork.quantities.evaluator import Evaluator


def with_free_armatures(robot: Mechanism, joints: Mapping[str, MjcfJoint], motors: Motors) -> Mechanism:
    """The mechanism with armatures of free joints as inertia of their bodies, whose weight is compensated.

    MuJoCo adds the armature ``a`` to the diagonal of the mass matrix, where the linear velocity is that in the world's
    axes: that is a body of the mass ``a`` and the inertia ``a 1`` at the origin of the moving one.

    Args:
        robot: The mechanism.
        joints: Joints of the file.
        motors: Actuators of the file, which have rotors.
    """
    inertias, compensation = dict(robot.inertias), dict(robot.gravity_compensation)
    for joint in robot.joints:
        if isinstance(joint.type, Free) and (armature := motors.at(joints[joint.name])["armature"]):
            inertias[joint.child] += Inertia(armature, (0.0, 0.0, 0.0), armature * np.eye(3))
            held = compensation.get(joint.child, Inertia.zero())
            compensation[joint.child] = held + Inertia(armature, (0.0, 0.0, 0.0))
    return replace(robot, inertias=inertias, gravity_compensation=compensation)


def with_muscle_forces(robot: Mechanism) -> Mechanism:
    """The mechanism with forces of muscles that are written as accelerations, as MuJoCo's compiler sets them.

    A muscle with the scale ``s`` has the force ``s / |M^-1 J'|``: it accelerates the reference configuration by ``s``.
    """
    if not any(a.muscle is not None and a.muscle.peak < 0 for a in robot.actuators):
        return robot
    q = robot.poses["qpos0"]
    M, B = Evaluator(robot, "mass_matrix").plain()(q), actuation_matrix(robot, q)
    actuators = []
    for k, actuator in enumerate(robot.actuators):
        if actuator.muscle is not None and actuator.muscle.peak < 0:
            acceleration = max(float(np.linalg.norm(np.linalg.lstsq(M, B[:, k], rcond=None)[0])), LEAST_TIME)
            actuator = replace(actuator, muscle=replace(actuator.muscle, peak=-actuator.muscle.peak / acceleration))
        actuators.append(actuator)
    return replace(robot, actuators=tuple(actuators))


def with_resolved_damping_ratios(robot: Mechanism, motors: Motors) -> Mechanism:
    """The mechanism with damping in place of damping ratios of position servos, as MuJoCo's compiler sets it.

    A ratio ``z`` is the damping ``2 z sqrt(kp m)`` with the inertia ``m = 1 / (J M^-1 J')`` that the actuator's length
    moves in the reference configuration.
    """
    damped = {motor.name for motor in motors.kept if motor.law.has_damping_ratio}
    if not damped:
        return robot
    q = robot.poses["qpos0"]
    M = Evaluator(robot, "mass_matrix").plain()(q)
    arms = Evaluator(robot, "tendon_jacobian").plain()(q) if robot.tendons else np.zeros((0, robot.nv))
    pulled = {tendon.name: arm for tendon, arm in zip(robot.tendons, arms, strict=True)}
    actuators = []
    for actuator in robot.actuators:
        if actuator.name in damped:
            J = actuator.gear[0] * pulled[actuator.tendon] if actuator.tendon else np.zeros(robot.nv)
            for joint, gears in actuator.gears:
                J[robot.v_slice(joint)] += gears
            mobility = float(J @ np.linalg.lstsq(M, J, rcond=None)[0])
            inertia = 1.0 / mobility if mobility > 0 else 0.0
            damping = 2.0 * actuator.bias[2] * math.sqrt(actuator.gain[0] * inertia)
            actuator = replace(actuator, bias=(actuator.bias[0], actuator.bias[1], -damping))
        actuators.append(actuator)
    return replace(robot, actuators=tuple(actuators))
