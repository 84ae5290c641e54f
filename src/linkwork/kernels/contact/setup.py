# SPDX-License-Identifier: BSD-3-Clause
"""The first forward sweep of a step with contacts: poses, torques, rows of K.

| symbol         | meaning                                                                              |
|----------------|--------------------------------------------------------------------------------------|
| body_E, body_o | pose of a body in the world                                                          |
| torque         | joint torques, with those of springs and dampers at the end of the step              |

Cost: linear in bodies and contacts.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, kernel, prange
from linkwork.kernels.spatial import (
    add,
    column,
    cross,
    multiply,
    rotate,
    rotate_inverse,
    set_angular,
    set_linear,
    set_vector,
    sub,
)
from linkwork.kernels.tree.kinematics import pose_from_parent
from linkwork.kernels.tree.passive import damper_torque, spring_torque


@kernel
def world_poses(tree: Array, w: Array) -> None:
    """Poses of bodies in the world."""
    set_vector((0.0, 0.0, 0.0), w.body_o[0])
    for j in range(3):
        for k in range(3):
            w.body_E[0, j, k] = 1.0 if j == k else 0.0
    for i in range(1, tree.n):
        h = tree.parent[i]
        pose_from_parent(tree, w, i, w.body_E[h], w.body_o[h], w.body_E[i], w.body_o[i])


@kernel
def poses_of_shapes(tree: Array, w: Array) -> None:
    """Poses of shapes in the world."""
    for s in prange(tree.nshapes):
        b = tree.shape_body[s]
        multiply(w.body_E[b], tree.shape_rotation[s], w.shape_R[s])
        set_vector(add(w.body_o[b], rotate(w.body_E[b], tree.shape_position[s])), w.shape_p[s])


@kernel
def implicit_joint_torques(tree: Array, w: Array, q: Array, v: Array, tau: Array, h: Scalar) -> None:
    """Joint torques with those of springs and dampers after the step; what they take of ``a`` is in the armature."""
    for k in prange(tree.nv):
        w.torque[k] = tau[k]
    for s in prange(tree.nsprings):
        k = tree.spring_v[s]
        w.torque[k] += spring_torque(tree.stiffness[s], q[tree.spring_q[s]] + h * v[k], tree.rest[s])
    for d in prange(tree.ndampers):
        k = tree.damper_v[d]
        w.torque[k] += damper_torque(tree.damping[d], v[k])


@kernel
def body_rows(E: Array, o: Array, R: Array, point: Array, K: Array, start: int) -> None:
    """Rows of K, from ``start`` on, of a point and axes ``R`` that are given in the world, on the body at ``E, o``."""
    x = rotate_inverse(E, sub(point, o))
    for k in range(3):
        axis = rotate_inverse(E, column(R, k))
        set_angular(cross(x, axis), K[start + k])
        set_linear(axis, K[start + k])
