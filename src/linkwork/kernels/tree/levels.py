# SPDX-License-Identifier: BSD-3-Clause
"""Recursions over a tree level by level: lanes of a warp take the bodies of a level, which do not depend on each other.

Results have the bits of those of `kinematics`, `rnea` and `crba`. Terms that a body adds to its parent are stored with
the body, and the parent adds those of its children in the order of the plain loops.

| symbol               | meaning                                                          |
|----------------------|------------------------------------------------------------------|
| level_body           | bodies by their number of ancestors; ``level_start, level_bodies`` |
| child                | children of bodies, the last first; ``child_start, children``      |
| f_parent             | force across joint i in the parent's axes, about its origin      |
| J_parent, b_parent   | composite inertia and first moment of body i in its parent       |

Cost: that of one body for each level, on as many lanes as its bodies.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.joints import axis_of, dof_of, joint_transform, rotate_to_parent
from linkwork.kernels.scalar import Array, in_warp, kernel, prange
from linkwork.kernels.spatial import add, add_to, angular, cross, linear, set_angular, set_linear, set_vector
from linkwork.kernels.tree.crba import inertia_in_parent
from linkwork.kernels.tree.kinematics import (
    body_acceleration,
    body_angular_velocity,
    linear_velocity,
    pose_from_parent,
    velocities,
    velocity_from_parent,
)
from linkwork.kernels.tree.rnea import newton_euler_force
from linkwork.model.joints import HELICAL

LEVEL_WORK: dict[str, Shape] = {"f_parent": ("n", 6), "J_parent": ("n", 6), "b_parent": ("n", 3)}


@kernel
def forward_levels(tree: Array, w: Array, q: Array, v: Array, acceleration: Array) -> None:
    """Poses, velocities and accelerations of bodies, root to leaves, and net forces; after `init_root`."""
    set_vector((0.0, 0.0, 0.0), w.u[0])
    set_vector((0.0, 0.0, 0.0), w.body_o[0])
    for j in range(3):
        for k in range(3):
            w.body_E[0, j, k] = 1.0 if j == k else 0.0
    for i in prange(1, tree.n):
        joint_transform(tree, w, i, q)
    for l in range(tree.nlevels):
        for k in prange(tree.level_start[l], tree.level_start[l] + tree.level_bodies[l]):
            i = tree.level_body[k]
            h = tree.parent[i]
            body_angular_velocity(tree, w, i, v)
            body_acceleration(tree, w, i, acceleration)
            linear_velocity(tree, w, i, v)
            pose_from_parent(tree, w, i, w.body_E[h], w.body_o[h], w.body_E[i], w.body_o[i])
    for i in prange(1, tree.n):
        newton_euler_force(tree, w, i)


@kernel
def body_velocities(tree: Array, w: Array, v: Array) -> None:
    """`velocities`, in a warp level by level."""
    if in_warp():
        set_vector((0.0, 0.0, 0.0), w.omega[0])
        set_vector((0.0, 0.0, 0.0), w.u[0])
        for l in range(tree.nlevels):
            for k in prange(tree.level_start[l], tree.level_start[l] + tree.level_bodies[l]):
                velocity_from_parent(tree, w, tree.level_body[k], v)
    else:
        velocities(tree, w, v)


@kernel
def backward_levels(tree: Array, w: Array, tau: Array) -> None:
    """Joint torques and composite inertias, leaves to root."""
    for l in range(tree.nlevels - 1, -1, -1):
        for k in prange(tree.level_start[l], tree.level_start[l] + tree.level_bodies[l]):
            i = tree.level_body[k]
            gather_children(tree, w, i)
            store_torques(tree, w, i, tau)
            if tree.parent[i] > 0:
                hand_to_parent(tree, w, i)


@kernel
def gather_children(tree: Array, w: Array, i: int) -> None:
    """Force and composite inertia of body ``i`` with those of its children."""
    w.m[i] = tree.mass[i]
    set_vector(tree.mc[i], w.b[i])
    for j in range(6):
        w.J[i, j] = tree.I[i, j]
    for k in range(tree.child_start[i], tree.child_start[i] + tree.children[i]):
        c = tree.child[k]
        add_to(angular(w.f_parent[c]), linear(w.f_parent[c]), w.f[i])
        for j in range(6):
            w.J[i, j] += w.J_parent[c, j]
        set_vector(add(w.b[i], w.b_parent[c]), w.b[i])
        w.m[i] += w.m[c]


@kernel
def store_torques(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``tau_i = S' f_i``."""
    kind = tree.kind[i]
    f = w.f[i]
    for k in range(dof_of(kind)):
        tau[tree.iv[i] + k] = f[axis_of(kind, k)]
    if kind == HELICAL:
        tau[tree.iv[i]] += tree.pitch[i] * f[5]


@kernel
def hand_to_parent(tree: Array, w: Array, i: int) -> None:
    """Force and composite inertia of body ``i``, for its parent."""
    force = rotate_to_parent(tree, w, i, linear(w.f[i]))
    moment = rotate_to_parent(tree, w, i, angular(w.f[i]))
    set_angular(add(moment, cross(w.r[i], force)), w.f_parent[i])
    set_linear(force, w.f_parent[i])
    moved, x = inertia_in_parent(tree, w, i, w.m[i], w.b[i], w.J[i])
    for j in range(6):
        w.J_parent[i, j] = x[j]
    set_vector(moved, w.b_parent[i])
