# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of inverse kinematics as rows: errors and Jacobian of orientations and positions of frames, center of mass.

| symbol   | meaning                                                                                         |
|----------|-------------------------------------------------------------------------------------------------|
| e, J     | errors and Jacobian of the constraints' rows and, from row ``nc`` on, of the tasks, three each  |
| E_o, o_o | rotation and position of bodies in the world                                                    |
| T        | rotation of a frame in the world                                                                |
| m, mc    | mass and first moment, in the world, of the bodies that a body carries                          |

Positions are compared in the world's axes, orientations by ``2 sin(angle / 2) axis`` in the frame's own, as constraints
are (`constraint_rows`). Cost: O(n) for the poses, O(d) for a frame of depth d, O(n) for the center of mass.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import add, column, cross, multiply, rotate, rotate_inverse, scale, set_vector, sub
from linkwork.kernels.thresholds import HALF_TURN
from linkwork.kernels.tree.kinematics import pose_from_parent
from linkwork.model.joints import HELICAL
from linkwork.plans.inverse_kinematics import CENTER, ORIENTATION

TASKS: dict[str, Shape] = {
    "E_o": ("n", 3, 3),
    "o_o": ("n", 3),
    "T": (3, 3),
    "m": ("n",),
    "mc": ("n", 3),
    "e3": (3,),
}


@kernel
def set_world_poses(tree: Array, w: Array) -> None:
    """Pose of every body in the world, after `joint_transforms`."""
    set_vector((0.0, 0.0, 0.0), w.o_o[0])
    for j in range(3):
        for k in range(3):
            w.E_o[0, j, k] = 1.0 if j == k else 0.0
    for i in range(1, tree.n):
        h = tree.parent[i]
        pose_from_parent(tree, w, i, w.E_o[h], w.o_o[h], w.E_o[i], w.o_o[i])


@kernel
def frame_position(tree: Array, w: Array, f: int) -> tuple[Scalar, Scalar, Scalar]:
    """Position of a frame in the world."""
    b = tree.frame_body[f]
    return add(w.o_o[b], rotate(w.E_o[b], tree.frame_position[f]))


@kernel
def relative_quaternion(tree: Array, w: Array, f: int, target: Array) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
    """Real and vector part, the first not negative, of the rotation of a frame in its target; ``w.T`` is the frame's.

    Where the angle is half a turn, the z axis stands for the quaternion's.
    """
    multiply(w.E_o[tree.frame_body[f]], tree.frame_rotation[f], w.T)
    x = rotate_inverse(target, column(w.T, 0))
    y = rotate_inverse(target, column(w.T, 1))
    z = rotate_inverse(target, column(w.T, 2))
    t = 1.0 + (x[0] + y[1] + z[2])
    root = sqrt(where(t, HALF_TURN, HALF_TURN, t))
    k = 0.5 / root
    return 0.5 * root, (
        where(t, HALF_TURN, 0.0, k * (y[2] - z[1])),
        where(t, HALF_TURN, 0.0, k * (z[0] - x[2])),
        where(t, HALF_TURN, 1.0, k * (x[1] - y[0])),
    )


@kernel
def center_position(tree: Array, w: Array) -> tuple[Scalar, Scalar, Scalar]:
    """The center of mass; ``m`` and ``mc`` become mass and first moment of the bodies that each body carries."""
    for i in range(tree.n):
        w.m[i] = tree.mass[i]
        set_vector(add(scale(tree.mass[i], w.o_o[i]), rotate(w.E_o[i], tree.mc[i])), w.mc[i])
    for s in range(1, tree.n):
        i = tree.n - s
        h = tree.parent[i]
        w.m[h] += w.m[i]
        set_vector(add(w.mc[h], w.mc[i]), w.mc[h])
    return scale(1.0 / w.m[0], w.mc[0])


@kernel
def task_errors(tree: Array, w: Array, targets: Array) -> None:
    """``e`` of the tasks, after `joint_transforms`."""
    set_world_poses(tree, w)
    for t in range(tree.ntasks):
        kind = tree.task_kind[t]
        if kind == ORIENTATION:
            _, x = relative_quaternion(tree, w, tree.task_frame[t], targets[t])
            set_vector(scale(2.0, x), w.e3)
        elif kind == CENTER:
            set_vector(sub(center_position(tree, w), targets[t, 0]), w.e3)
        else:
            set_vector(sub(frame_position(tree, w, tree.task_frame[t]), targets[t, 0]), w.e3)
        for j in range(3):
            w.e[tree.nc + 3 * t + j] = w.e3[j]


@kernel
def set_task_column(tree: Array, w: Array, t: int, k: int, x: Vector) -> None:
    """Column ``k`` of the rows of a task."""
    for j in range(3):
        w.J[tree.nc + 3 * t + j, k] = x[j]


@kernel
def frame_rows(tree: Array, w: Array, t: int, target: Array) -> None:
    """``J`` of a task on a frame: ``c spin + x cross spin`` of an orientation, with ``c, x`` its quaternion."""
    f = tree.task_frame[t]
    c, x = relative_quaternion(tree, w, f, target)
    tip = frame_position(tree, w, f)
    i = tree.frame_body[f]
    while i > 0:
        arm = sub(tip, w.o_o[i])
        for k in range(dof_of(tree.kind[i])):
            axis = axis_of(tree.kind[i], k)
            z = column(w.E_o[i], axis % 3)
            if tree.task_kind[t] == ORIENTATION:
                spin = rotate_inverse(w.T, z) if axis < 3 else (0.0, 0.0, 0.0)
                set_task_column(tree, w, t, tree.iv[i] + k, add(scale(c, spin), cross(x, spin)))
            else:
                move = cross(z, arm) if axis < 3 else z
                if tree.kind[i] == HELICAL:
                    move = add(move, scale(tree.pitch[i], z))
                set_task_column(tree, w, t, tree.iv[i] + k, move)
        i = tree.parent[i]


@kernel
def center_rows(tree: Array, w: Array, t: int) -> None:
    """``J`` of a task on the center of mass: each joint moves the mass that it carries."""
    center_position(tree, w)
    part = 1.0 / w.m[0]
    for i in range(1, tree.n):
        moment = sub(w.mc[i], scale(w.m[i], w.o_o[i]))
        for k in range(dof_of(tree.kind[i])):
            axis = axis_of(tree.kind[i], k)
            z = column(w.E_o[i], axis % 3)
            move = cross(z, moment) if axis < 3 else scale(w.m[i], z)
            if tree.kind[i] == HELICAL:
                move = add(move, scale(tree.pitch[i] * w.m[i], z))
            set_task_column(tree, w, t, tree.iv[i] + k, scale(part, move))


@kernel
def task_jacobian(tree: Array, w: Array, targets: Array) -> None:
    """``J`` of the tasks, after `task_errors`."""
    for r in range(tree.nc, tree.nrows):
        for k in range(tree.nv):
            w.J[r, k] = 0.0
    for t in range(tree.ntasks):
        if tree.task_kind[t] == CENTER:
            center_rows(tree, w, t)
        else:
            frame_rows(tree, w, t, targets[t])
