# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies in the world: positions, velocities, and torques of forces at them, along the path to the root.

``ten_E, ten_o`` are poses of all bodies in the world. Cost: O(n) for poses; for a point, the depth of its body.
"""

from __future__ import annotations

from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, scale, set_vector, sub
from linkwork.kernels.tree.kinematics import pose_from_parent
from linkwork.model.joints import HELICAL


@kernel
def world_poses(tree: Array, w: Array) -> None:
    """Root to leaves: pose of every body in the world, after `joint_transforms`."""
    set_vector((0.0, 0.0, 0.0), w.ten_o[0])
    for j in range(3):
        for k in range(3):
            w.ten_E[0, j, k] = 1.0 if j == k else 0.0
    for i in range(1, tree.n):
        h = tree.parent[i]
        pose_from_parent(tree, w, i, w.ten_E[h], w.ten_o[h], w.ten_E[i], w.ten_o[i])


@kernel
def world_point(w: Array, i: int, at: Vector) -> Triple:
    """A point of body ``i`` in the world."""
    return add(w.ten_o[i], rotate(w.ten_E[i], at))


@kernel
def add_point_jacobian(tree: Array, w: Array, i: int, root: int, p: Vector, u: Vector, row: Array) -> None:
    """``row += u' dp/dv`` of a point ``p`` of body ``i``, without joints up to ``root``, which carries it."""
    b = i
    while b > root:
        moment = cross(sub(p, w.ten_o[b]), u)
        for k in range(dof_of(tree.kind[b])):
            axis = axis_of(tree.kind[b], k)
            z = column(w.ten_E[b], axis % 3)
            x = dot(moment, z) if axis < 3 else dot(u, z)
            if tree.kind[b] == HELICAL:
                x = x + tree.pitch[b] * dot(u, z)
            row[tree.iv[b] + k] += x
        b = tree.parent[b]


@kernel
def add_moment(tree: Array, w: Array, i: int, root: int, n: Vector, row: Array) -> None:
    """``row += n' dw/dv`` of the angular velocity of body ``i``, without joints up to ``root``, which carries it."""
    b = i
    while b > root:
        for k in range(dof_of(tree.kind[b])):
            axis = axis_of(tree.kind[b], k)
            if axis < 3:
                row[tree.iv[b] + k] += dot(n, column(w.ten_E[b], axis))
        b = tree.parent[b]


@kernel
def point_velocity(tree: Array, w: Array, i: int, p: Vector, v: Array) -> Triple:
    """Velocity of a point ``p`` of body ``i``, in the world's axes."""
    x = (0.0, 0.0, 0.0)
    b = i
    while b > 0:
        arm = sub(p, w.ten_o[b])
        for k in range(dof_of(tree.kind[b])):
            axis = axis_of(tree.kind[b], k)
            z = scale(v[tree.iv[b] + k], column(w.ten_E[b], axis % 3))
            x = add(x, cross(z, arm)) if axis < 3 else add(x, z)
            if tree.kind[b] == HELICAL:
                x = add(x, scale(tree.pitch[b], z))
        b = tree.parent[b]
    return x


@kernel
def body_rotation_rate(tree: Array, w: Array, i: int, v: Array) -> Triple:
    """Angular velocity of body ``i``, in the world's axes."""
    x = (0.0, 0.0, 0.0)
    b = i
    while b > 0:
        for k in range(dof_of(tree.kind[b])):
            axis = axis_of(tree.kind[b], k)
            if axis < 3:
                x = add(x, scale(v[tree.iv[b] + k], column(w.ten_E[b], axis)))
        b = tree.parent[b]
    return x
