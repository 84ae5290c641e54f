# SPDX-License-Identifier: BSD-3-Clause
"""Joint models: transforms, motion subspaces and velocity-product accelerations, a branch for each kind of joint.

Featherstone, Rigid Body Dynamics Algorithms, Section 4.4 and Table 4.1. The z axis of a body is the axis of its one-DoF
joint; ``P, p`` is the pose of the joint in the parent at q = 0. ``jcalc`` of the book is `joint_transform` (XJ),
`axis_of` (S), `joint_angular_velocity` and `joint_linear_velocity` (vJ = S v), and `joint_bias_acceleration` (cJ).
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sincos, sqrt
from linkwork.kernels.spatial import add, cross, multiply, rotate, rotate_inverse, set_angular, set_linear, set_vector
from linkwork.model.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL


@kernel
def dof_of(kind: int) -> int:
    """Degrees of freedom of a joint."""
    if kind <= HELICAL:
        return 1
    if kind == FREE:
        return 6
    return 3


@kernel
def axis_of(kind: int, k: int) -> int:
    """Column ``k`` of the motion subspace S: the axis (0..2 angular, 3..5 linear) that is its unit vector."""
    if kind == PRISMATIC:
        return 5
    if kind <= HELICAL:
        return 2
    if kind == SPHERICAL:
        return k
    if kind == PLANAR:
        return 2 if k == 2 else 3 + k
    return (k + 3) % 6


@kernel
def joint_transform(tree: Array, w: Array, i: int, q: Array) -> None:
    """Pose of body ``i`` in its parent: ``r``, and ``cos, sin`` (rotation about z) or a full ``R``."""
    kind = tree.kind[i]
    o = tree.iq[i]
    P = tree.P[i]
    p = tree.p[i]
    set_vector(p, w.r[i])
    if kind == REVOLUTE:
        joint_angle(tree, w, i, q[o])
    elif kind == PRISMATIC:
        slide_along_axis(tree, w, i, q[o])
    elif kind == HELICAL:
        joint_angle(tree, w, i, q[o])
        slide_along_axis(tree, w, i, tree.pitch[i] * q[o])
    elif kind == PLANAR:
        inverse_norm = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
        w.cos[i] = q[o + 2] * inverse_norm
        w.sin[i] = q[o + 3] * inverse_norm
        set_vector(add(p, rotate(P, (q[o], q[o + 1], 0.0))), w.r[i])
    elif kind == SPHERICAL:
        quaternion_rotation(P, q, o, quaternion_scale(q, o), w.Q, w.R[i])
    else:
        set_vector(add(p, rotate(P, (q[o], q[o + 1], q[o + 2]))), w.r[i])
        quaternion_rotation(P, q, o + 3, quaternion_scale(q, o + 3), w.Q, w.R[i])


@kernel
def joint_angle(tree: Array, w: Array, i: int, angle: Scalar) -> None:
    """``cos, sin`` of a joint's angle from the x axis of ``P``; ``offset``: that of the body's x axis at ``q = 0``."""
    s, c = sincos(angle)
    if tree.has_offset[i] != 0:
        w.cos[i] = tree.offset[i, 0] * c - tree.offset[i, 1] * s
        w.sin[i] = tree.offset[i, 0] * s + tree.offset[i, 1] * c
    else:
        w.cos[i] = c
        w.sin[i] = s


@kernel
def slide_along_axis(tree: Array, w: Array, i: int, d: Scalar) -> None:
    """``r = p + d z``, z the joint's axis in the parent."""
    P = tree.P[i]
    p = tree.p[i]
    set_vector((p[0] + P[0, 2] * d, p[1] + P[1, 2] * d, p[2] + P[2, 2] * d), w.r[i])


@kernel
def quaternion_scale(q: Array, o: int) -> Scalar:
    """Two over the square of a quaternion's length."""
    return 2.0 / (q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])


@kernel
def quaternion_rotation(P: Array, q: Array, o: int, k: Scalar, Q: Array, R: Array) -> None:
    """``R = P Q(q)`` of the quaternion ``x y z u`` with `quaternion_scale` ``k``: 2 where its length is one."""
    x = q[o]
    y = q[o + 1]
    z = q[o + 2]
    u = q[o + 3]
    kx = k * x
    ky = k * y
    kz = k * z
    xx = kx * x
    yy = ky * y
    zz = kz * z
    xy = kx * y
    xz = kx * z
    yz = ky * z
    xu = kx * u
    yu = ky * u
    zu = kz * u
    Q[0, 0] = 1.0 - (yy + zz)
    Q[0, 1] = xy - zu
    Q[0, 2] = xz + yu
    Q[1, 0] = xy + zu
    Q[1, 1] = 1.0 - (xx + zz)
    Q[1, 2] = yz - xu
    Q[2, 0] = xz - yu
    Q[2, 1] = yz + xu
    Q[2, 2] = 1.0 - (xx + yy)
    multiply(P, Q, R)


@kernel
def joint_angular_velocity(tree: Array, i: int, v: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Angular part of ``S v`` of joint ``i``."""
    kind = tree.kind[i]
    o = tree.iv[i]
    if kind == REVOLUTE or kind == HELICAL:
        return 0.0, 0.0, v[o]
    if kind == PRISMATIC:
        return 0.0, 0.0, 0.0
    if kind == SPHERICAL:
        return v[o], v[o + 1], v[o + 2]
    if kind == PLANAR:
        return 0.0, 0.0, v[o + 2]
    return v[o + 3], v[o + 4], v[o + 5]


@kernel
def joint_linear_velocity(tree: Array, i: int, v: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Linear part of ``S v`` of joint ``i``."""
    kind = tree.kind[i]
    o = tree.iv[i]
    if kind == PRISMATIC:
        return 0.0, 0.0, v[o]
    if kind == HELICAL:
        return 0.0, 0.0, tree.pitch[i] * v[o]
    if kind == PLANAR:
        return v[o], v[o + 1], 0.0
    if kind == FREE:
        return v[o], v[o + 1], v[o + 2]
    return 0.0, 0.0, 0.0


@kernel
def rotate_to_child(tree: Array, w: Array, i: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A vector given in the parent's axes, in those of body ``i``."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        return rotate_inverse(w.R[i], x)
    y = (x[0], x[1], x[2])
    if tree.has_rotation[i] != 0:
        y = rotate_inverse(tree.P[i], x)
    if kind == PRISMATIC:
        return y
    c = w.cos[i]
    s = w.sin[i]
    return c * y[0] + s * y[1], c * y[1] - s * y[0], y[2]


@kernel
def rotate_to_parent(tree: Array, w: Array, i: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A vector given in the axes of body ``i``, in those of its parent."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        return rotate(w.R[i], x)
    y = (x[0], x[1], x[2])
    if kind != PRISMATIC:
        c = w.cos[i]
        s = w.sin[i]
        y = (c * x[0] - s * x[1], s * x[0] + c * x[1], x[2])
    if tree.has_rotation[i] != 0:
        return rotate(tree.P[i], y)
    return y


@kernel
def joint_bias_acceleration(tree: Array, w: Array, i: int, v: Array, parent_omega: Vector) -> None:
    """Velocity-product acceleration ``c`` of body ``i`` (book, Table 7.1: ``c = cJ + v x vJ``).

    With ``omega'`` the parent's angular velocity in the child's axes and ``(o, u)`` the angular and linear parts of
    ``S v``: angular ``omega' x o``, linear (classical) ``(omega' + omega) x u``.
    """
    kind = tree.kind[i]
    o = tree.iv[i]
    c = w.c[i]
    for j in range(6):
        c[j] = 0.0
    if kind == REVOLUTE or kind == HELICAL:
        c[0] = parent_omega[1] * v[o]
        c[1] = -(parent_omega[0] * v[o])
    elif kind != PRISMATIC:
        set_angular(cross(parent_omega, joint_angular_velocity(tree, i, v)), c)
    if kind != REVOLUTE and kind != SPHERICAL:
        set_linear(cross(add(parent_omega, w.omega[i]), joint_linear_velocity(tree, i, v)), c)


@kernel
def moves_along(kind: int, j: int) -> int:
    """1 if the unit vector of axis ``j`` is a column of S."""
    for k in range(dof_of(kind)):
        if axis_of(kind, k) == j:
            return 1
    return 0
