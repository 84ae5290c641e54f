"""Torques of actuators under commands, and those that hold up the weight of bodies.

| symbol | meaning                                                                    |
|--------|----------------------------------------------------------------------------|
| u      | commands                                                                   |
| l, r   | length of an actuator, its coordinates times its gears, and the rate of it |
| range  | least and most                                                             |

A force is affine in length and rate, as is what multiplies the command (`mechanism.Actuator`; MuJoCo: fixed and affine
gains and biases). Cost: linear in what actuators pull at, and in the bodies.
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
    """The nearest number within a range."""
    above = where(x, range[0], range[0], x)
    return where(range[1], above, range[1], above)


@kernel
def actuator_torques(tree: Array, w: Array, q: Array, v: Array, u: Array, tau: Array) -> None:
    """``tau``: what all actuators make of the commands ``u``, within the bounds of joints."""
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
    """``tau``: the torques that hold up the compensated mass of all bodies."""
    joint_transforms(tree, w, q)
    set_root_acceleration(tree, w)
    for i in range(1, tree.n):
        up = rotate_to_child(tree, w, i, linear(w.a[tree.parent[i]]))
        set_linear(up, w.a[i])
        set_angular(cross(tree.compensated_mc[i], up), w.f[i])
        set_linear(scale(tree.compensated_mass[i], up), w.f[i])
    joint_torques(tree, w, tau)


@kernel
def drive_joints(tree: Array, w: Array, q: Array, v: Array, u: Array, switch: Scalar, torque: Array) -> None:
    """Add to ``torque`` those of gravity compensation and, where ``switch`` is one and not zero, of actuators."""
    if tree.ncompensated != 0:
        gravity_compensation(tree, w, q, w.driven)
        for k in range(tree.nv):
            torque[k] += w.driven[k]
    if tree.nu != 0:
        if any_below(0.5 - switch, 0.0):
            actuator_torques(tree, w, q, v, u, w.driven)
            for k in range(tree.nv):
                torque[k] += switch * w.driven[k]


DRIVE_WORK: dict[str, Shape] = {"driven": ("nv",)}

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
