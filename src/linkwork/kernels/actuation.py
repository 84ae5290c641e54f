# SPDX-License-Identifier: BSD-3-Clause
"""Actuator torques, and gravity compensation.

MuJoCo's actuation model: ``force = gain u + bias``, with gain and bias affine in the length and velocity of the
actuator (`model.Actuator`), then ``tau = gear' force``.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| u      | commands                                                                            |
| l, r   | length of an actuator, the sum of its coordinates times their gears, and its rate   |
| range  | lower and upper bound                                                               |

Cost: linear in the transmissions of actuators; gravity compensation O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import rotate_to_child
from linkwork.kernels.kinematics import ACCELERATION, POSE, joint_transforms
from linkwork.kernels.rnea import FORCE, joint_torques, set_root_acceleration
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.spatial import cross, linear, scale, set_angular, set_linear
from linkwork.plans.actuation import ACTUATION_TREE


@kernel
def clamp(x: Scalar, range: Array) -> Scalar:
    """``x`` clamped to a range."""
    bounded = where(x, range[0], range[0], x)
    return where(range[1], bounded, range[1], bounded)


@kernel
def actuator_torques(tree: Array, w: Array, q: Array, v: Array, u: Array, tau: Array) -> None:
    """``tau``: torques of all actuators under the commands ``u``, clamped to the ranges of joints."""
    for k in range(tree.nv):
        tau[k] = 0.0
    for a in range(tree.nu):
        l = 0.0
        r = 0.0
        for t in range(tree.transmission_start[a], tree.transmission_start[a] + tree.transmission_count[a]):
            l = l + tree.transmission_length[t] * q[tree.transmission_q[t]]
            r = r + tree.transmission_gear[t] * v[tree.transmission_v[t]]
        gain = tree.actuator_gain[a, 0] + tree.actuator_gain[a, 1] * l + tree.actuator_gain[a, 2] * r
        bias = tree.actuator_bias[a, 0] + tree.actuator_bias[a, 1] * l + tree.actuator_bias[a, 2] * r
        force = clamp(gain * clamp(u[a], tree.command_range[a]) + bias, tree.force_range[a])
        for t in range(tree.transmission_start[a], tree.transmission_start[a] + tree.transmission_count[a]):
            tau[tree.transmission_v[t]] += tree.transmission_gear[t] * force
    for k in range(tree.nv):
        tau[k] = clamp(tau[k], tree.actuation_range[k])


@kernel
def gravity_compensation(tree: Array, w: Array, q: Array, tau: Array) -> None:
    """``tau``: gravity torques of the compensated mass of all bodies."""
    joint_transforms(tree, w, q)
    set_root_acceleration(tree, w)
    for i in range(1, tree.n):
        a = rotate_to_child(tree, w, i, linear(w.a[tree.parent[i]]))  # -gravity in the axes of body i
        set_linear(a, w.a[i])
        set_angular(cross(tree.compensated_mc[i], a), w.f[i])
        set_linear(scale(tree.compensated_mass[i], a), w.f[i])
    joint_torques(tree, w, tau)


@kernel
def drive_joints(tree: Array, w: Array, q: Array, v: Array, u: Array, switch: Scalar, torque: Array) -> None:
    """Add to ``torque`` those of gravity compensation and, where ``switch`` is one and not zero, of actuators."""
    if tree.ncompensated != 0:
        gravity_compensation(tree, w, q, w.actuator_tau)
        for k in range(tree.nv):
            torque[k] += w.actuator_tau[k]
    if tree.nu != 0:
        if any_below(0.5 - switch, 0.0):
            actuator_torques(tree, w, q, v, u, w.actuator_tau)
            for k in range(tree.nv):
                torque[k] += switch * w.actuator_tau[k]


DRIVE_WORK: dict[str, Shape] = {"actuator_tau": ("nv",)}

ACTUATOR_TORQUES = Algorithm(
    "actuator_torques",
    actuator_torques,
    {"q": ("nq",), "v": ("nv",), "commands": ("nu",)},
    {"tau": ("nv",)},
    {},
    ACTUATION_TREE,
)
GRAVITY_COMPENSATION = Algorithm(
    "gravity_compensation",
    gravity_compensation,
    {"q": ("nq",)},
    {"tau": ("nv",)},
    POSE | {"a": ACCELERATION["a"]} | FORCE,
    ACTUATION_TREE,
)
