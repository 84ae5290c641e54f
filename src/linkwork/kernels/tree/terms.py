# SPDX-License-Identifier: BSD-3-Clause
"""All terms of the equation of motion of a tree, its momentum and its frames, in one sweep: poses and composite
inertias are computed once.

Featherstone, Rigid Body Dynamics Algorithms, Tables 5.1 and 6.2, in body coordinates; Orin, Goswami and Lee, Centroidal
dynamics of a humanoid robot, 2013: column k of the momentum matrix is the momentum ``Ic S`` that `crba` projects on
joints, in the world's axes about the center of mass. Gravity torques are the work of gravity on its linear part. Bias
accelerations ``dJ/dt v`` of frames and of the center of mass follow from the sweep for the bias torques. Symbols as in
`kinematics`, `rnea` and `crba`.

| symbol | meaning                                                      |
|--------|--------------------------------------------------------------|
| n, f   | moment and force of ``Ic S`` at the joint, in body axes      |
| A, h   | centroidal momentum matrix, and momentum ``A v``             |

Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    cross,
    dot,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_linear,
    set_vector,
    sub,
)
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    WORLD_POSE,
    body_acceleration,
    body_angular_velocity,
    express_in_reference,
    frame_jacobian_columns,
    frame_transform,
    joint_transforms,
    world_transforms,
)
from linkwork.kernels.tree.momentum_matrix import first_moment_of_all, momentum_columns
from linkwork.kernels.tree.rnea import FORCE, init_root, joint_torques, newton_euler_force
from linkwork.plans.tree import ALIGNED, LOCAL


@kernel
def bias_from_poses(tree: Array, w: Array, v: Array, bias: Array) -> None:
    """Torques of ``qdd = 0``, poses of bodies in their parents being known."""
    init_root(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    for i in range(1, tree.n):
        body_angular_velocity(tree, w, i, v)
        body_acceleration(tree, w, i, w.qdd0)
        newton_euler_force(tree, w, i)
    joint_torques(tree, w, bias)


@kernel
def center_bias(tree: Array, w: Array, total: Scalar, out: Array) -> None:
    """Acceleration of the center of mass where ``qdd = 0``: by the forces across the joints at the root."""
    force = (0.0, 0.0, 0.0)
    for i in range(1, tree.n):
        if tree.parent[i] == 0:
            force = add(force, rotate_to_parent(tree, w, i, linear(w.f[i])))
    moving = total - tree.mass[0]
    for j in range(3):
        out[j] = (force[j] + moving * tree.gravity[j]) / total


@kernel
def frame_motion(tree: Array, w: Array, f: int, v: Array, jacobian: Array, velocity: Array, bias: Array) -> None:
    """Velocity of frame ``f``, ``J v``, and ``dJ/dt v``, in the reference frame; accelerations are those of the bias.

    The rate of ``J v`` is not the classical acceleration of the frame: local axes rotate, and the point of the body
    that is at the world's origin changes.
    """
    for j in range(6):
        velocity[j] = 0.0
        for k in range(tree.nv):
            velocity[j] += jacobian[j, k] * v[k]
    b = tree.frame_body[f]
    point = add(linear(w.a[b]), rotate(w.accel_field[b], tree.frame_position[f]))
    falling = rotate_inverse(w.E[b], (tree.gravity[0], tree.gravity[1], tree.gravity[2]))  # a0 = -a_g was added
    express_in_reference(tree, w, f, angular(w.a[b]), add(point, falling), bias)
    omega = angular(velocity)
    if tree.reference == LOCAL:
        set_linear(sub(linear(bias), cross(omega, linear(velocity))), bias)
    elif tree.reference != ALIGNED:
        position = add(w.o[b], rotate(w.E[b], tree.frame_position[f]))
        moving = sub(linear(velocity), cross(position, omega))
        set_linear(add(linear(bias), cross(moving, omega)), bias)


@kernel
def terms(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    M: Array,
    bias: Array,
    gravity: Array,
    kinetic: Array,
    potential: Array,
    center: Array,
    A: Array,
    h: Array,
    rotation: Array,
    position: Array,
    jacobian: Array,
    com_bias: Array,
    velocity: Array,
    frame_bias: Array,
) -> None:
    """Mass matrix, bias and gravity torques, energies, center of mass, momentum and its matrix; frames, Jacobians,
    velocities and bias accelerations."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    mass_matrix(tree, w, M)
    bias_from_poses(tree, w, v, bias)
    total, b = first_moment_of_all(tree, w)
    potential[0] = -dot(tree.gravity, b)
    set_vector(scale(1.0 / total, b), center)
    center_bias(tree, w, total, com_bias)
    momentum_columns(tree, w, center, A)
    for j in range(6):
        h[j] = 0.0
    energy = 0.0
    for k in range(tree.nv):
        gravity[k] = -(tree.gravity[0] * A[3, k] + tree.gravity[1] * A[4, k] + tree.gravity[2] * A[5, k])
        for j in range(6):
            h[j] += A[j, k] * v[k]
        x = 0.5 * (M[k, k] * v[k])
        for j in range(k):
            x = x + M[k, j] * v[j]
        energy = energy + x * v[k]
    kinetic[0] = energy
    for f in range(tree.nf):
        frame_transform(tree, w, f, rotation[f], position[f])
        frame_jacobian_columns(tree, w, f, jacobian[f])
        frame_motion(tree, w, f, v, jacobian[f], velocity[f], frame_bias[f])


_OUTPUTS: dict[str, Shape] = {
    "M": ("nv", "nv"),
    "bias": ("nv",),
    "gravity": ("nv",),
    "kinetic": (1,),
    "potential": (1,),
    "center": (3,),
    "A": (6, "nv"),
    "h": (6,),
    "rotation": ("nf", 3, 3),
    "position": ("nf", 3),
    "jacobian": ("nf", 6, "nv"),
    "com_bias": (3,),
    "velocity": ("nf", 6),
    "frame_bias": ("nf", 6),
}

TERMS = Algorithm(
    "terms",
    terms,
    {"q": ("nq",), "v": ("nv",)},
    _OUTPUTS,
    POSE | WORLD_POSE | MOTION | ACCELERATION | FORCE | COMPOSITE,
)
