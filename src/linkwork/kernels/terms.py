# SPDX-License-Identifier: BSD-3-Clause
"""All terms of the equation of motion of a tree, its momentum and its frames, in one sweep: poses and composite
inertias are computed once.

Featherstone, Rigid Body Dynamics Algorithms, Tables 5.1 and 6.2, in body coordinates; Orin, Goswami and Lee, Centroidal
dynamics of a humanoid robot, 2013: column k of the momentum matrix is the momentum ``Ic S`` that `crba` projects on
joints, in the world's axes about the center of mass. Gravity torques are the work of gravity on its linear part.
Symbols as in `kinematics`, `rnea` and `crba`.

| symbol | meaning                                                      |
|--------|--------------------------------------------------------------|
| n, f   | moment and force of ``Ic S`` at the joint, in body axes      |
| A, h   | centroidal momentum matrix, and momentum ``A v``             |

Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.crba import COMPOSITE, mass_matrix
from linkwork.kernels.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    WORLD_POSE,
    body_acceleration,
    body_angular_velocity,
    frame_jacobian_columns,
    frame_transform,
    joint_transforms,
    world_transforms,
)
from linkwork.kernels.momentum_matrix import first_moment_of_all, momentum_columns
from linkwork.kernels.rnea import FORCE, init_root, joint_torques, newton_euler_force
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import dot, scale, set_vector


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
) -> None:
    """Mass matrix, bias and gravity torques, energies, center of mass, momentum and its matrix, frames, Jacobians."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    mass_matrix(tree, w, M)
    bias_from_poses(tree, w, v, bias)
    total, b = first_moment_of_all(tree, w)
    potential[0] = -dot(tree.gravity, b)
    set_vector(scale(1.0 / total, b), center)
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
}

TERMS = Algorithm(
    "terms",
    terms,
    {"q": ("nq",), "v": ("nv",)},
    _OUTPUTS,
    POSE | WORLD_POSE | MOTION | ACCELERATION | FORCE | COMPOSITE,
)
