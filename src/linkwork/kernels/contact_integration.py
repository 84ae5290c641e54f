# SPDX-License-Identifier: BSD-3-Clause
"""Integration of a step with contacts: bodies that float move straight, and their velocities turn with their axes.

Velocities of free and planar joints are in the axes of the body, which turn: with ``a`` the rates of these numbers, the
velocity itself changes by ``a + omega x v``. A step that took ``a`` alone would let a body that flies and spins gain
``(omega dt)² / 2`` of its momentum in each step, and the exponential map of SE(3) would bend the path of a ball that
rolls into the ground. So the velocity after a step is first had in the axes before it,

    V = v + dt (a + omega x v),    position + dt V,    rotation exp(dt omega+),    v+ = exp(-dt omega+) V

where momentum of a body about its center of mass is exact, and contacts see ``J V``.

| symbol    | meaning                                                                                          |
|-----------|--------------------------------------------------------------------------------------------------|
| transport | ``omega x v`` of the joints that a body hangs on, in world axes: what all its points have more    |
| v0        | ``v + dt omega x v``, in the axes before the step                                                 |
| step_x    | coordinates of the configuration after the step relative to that before it (`retract`)           |

Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.integration import retract, rotate, sinc
from linkwork.kernels.joints import dof_of, joint_angular_velocity, joint_linear_velocity
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sincos, sqrt
from linkwork.kernels.spatial import Triple, add, cross, scale, set_vector
from linkwork.kernels.spatial import rotate as rotate_by
from linkwork.model.joints import FREE, PLANAR

INTEGRATION_WORK: dict[str, Shape] = {"transport": ("n", 3), "v0": ("nv",), "step_x": ("nv",)}


@kernel
def joint_transport(tree: Array, i: int, v: Array) -> Triple:
    """``omega x v`` of a free or planar joint, in the axes of its body."""
    return cross(joint_angular_velocity(tree, i, v), joint_linear_velocity(tree, i, v))


@kernel
def transport_accelerations(tree: Array, w: Array, v: Array) -> None:
    """``transport`` of all bodies, after `world_poses`."""
    set_vector((0.0, 0.0, 0.0), w.transport[0])
    for i in range(1, tree.n):
        h = tree.parent[i]
        x = (w.transport[h, 0], w.transport[h, 1], w.transport[h, 2])
        if tree.kind[i] == FREE or tree.kind[i] == PLANAR:
            x = add(x, rotate_by(w.body_E[i], joint_transport(tree, i, v)))
        set_vector(x, w.transport[i])


@kernel
def transported_velocities(tree: Array, v: Array, time: Scalar, v0: Array) -> None:
    """``v + time omega x v`` of free and planar joints, ``v`` of others."""
    for k in range(tree.nv):
        v0[k] = v[k]
    for i in range(1, tree.n):
        if tree.kind[i] == FREE or tree.kind[i] == PLANAR:
            x = joint_transport(tree, i, v)
            for j in range(3 if tree.kind[i] == FREE else 2):
                v0[tree.iv[i] + j] += time * x[j]


@kernel
def turned_back(w: Vector, x: Vector) -> Triple:
    """``exp(-w) x`` of a rotation vector."""
    s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    along, _ = sinc(s)
    half, _ = sinc(0.25 * s)
    y = cross(w, x)
    return add(x, add(scale(-along, y), scale(0.5 * half * half, cross(w, y))))


@kernel
def integrate_step(tree: Array, w: Array, q: Array, v: Array, a: Array, h: Scalar, q1: Array, v1: Array) -> None:
    """``q1, v1``: the state after a step with the rates ``a`` of joint velocities."""
    transported_velocities(tree, v, h, v1)
    for k in range(tree.nv):
        v1[k] += h * a[k]
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        for j in range(dof_of(kind)):
            w.step_x[k + j] = h * v1[k + j]
        if kind == FREE:
            V = (v1[k], v1[k + 1], v1[k + 2])
            shift = rotate(q, o + 3, V)
            back = turned_back((h * v1[k + 3], h * v1[k + 4], h * v1[k + 5]), V)
            for j in range(3):
                w.step_x[k + j] = h * shift[j]
                v1[k + j] = back[j]
        elif kind == PLANAR:
            x = v1[k]
            y = v1[k + 1]
            sine, cosine = sincos(h * v1[k + 2])
            length = h / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            w.step_x[k] = length * (q[o + 2] * x - q[o + 3] * y)
            w.step_x[k + 1] = length * (q[o + 3] * x + q[o + 2] * y)
            v1[k] = cosine * x + sine * y
            v1[k + 1] = cosine * y - sine * x
    retract(tree, q, w.step_x, q1)
