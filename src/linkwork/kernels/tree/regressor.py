# SPDX-License-Identifier: BSD-3-Clause
"""The regressor of inverse dynamics: torques as a linear function of parameters, ``tau = Y pi``.

Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, 1986. A body in its own
frame, with its origin's acceleration a (gravity included), ``alpha`` and ``omega``, and the unit force ``[s; l]`` of a
joint seen there::

    s . (I alpha + omega x (I omega) + mc x a) + l . (m a + alpha x mc + omega x (omega x mc))

is linear in ``m, mc, I``. Frames of the plan are those of the bodies, in order; parameters of each in Pinocchio's
order, ``m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` about the frame's origin. Parameters of joints have one column for each
degree of freedom: armature ``a``, viscous damping ``v``, stiffness of springs ``q - rest``, and dry (Coulomb) friction
``sign(v)``, zero at rest. Columns of each parameter begin where the plan says. Symbols: `common_frame`. Cost: O(n d),
with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.elementary import sign
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.kernels.spatial import add, angular, cross, dot, linear, rotate, rotate_inverse, sub
from linkwork.kernels.tree.common_frame import COMMON_MOTION, ROOT_FRAMES, acceleration_columns, motion_columns
from linkwork.plans.regressor import REGRESSOR_TREE


@kernel
def set_parameter_torques(s: Vector, l: Vector, omega: Vector, alpha: Vector, a: Vector, y: Array, o: int) -> None:
    """Torque of the unit force ``[s; l]`` for each of a body's ten parameters, from entry ``o`` on."""
    y[o] = dot(l, a)
    mc = add(cross(a, s), sub(cross(l, alpha), cross(omega, cross(l, omega))))
    for j in range(3):
        y[o + 1 + j] = mc[j]
    xx = omega[0] * omega[0]
    yy = omega[1] * omega[1]
    zz = omega[2] * omega[2]
    xy = omega[0] * omega[1]
    xz = omega[0] * omega[2]
    yz = omega[1] * omega[2]
    y[o + 4] = dot(s, (alpha[0], xz, -xy))
    y[o + 5] = dot(s, (alpha[1] - xz, alpha[0] + yz, xx - yy))
    y[o + 6] = dot(s, (-yz, alpha[1], xy))
    y[o + 7] = dot(s, (alpha[2] + xy, zz - xx, alpha[0] - yz))
    y[o + 8] = dot(s, (yy - zz, alpha[2] - xy, alpha[1] + xz))
    y[o + 9] = dot(s, (yz, -xz, alpha[2]))


@kernel
def joint_columns(tree: Array, q: Array, v: Array, a: Array, Y: Array) -> None:
    """Columns of the joints' parameters, one for each degree of freedom."""
    for k in range(tree.nv):
        if tree.armature_start >= 0:
            Y[k, tree.armature_start + k] = a[k]
        if tree.damping_start >= 0:
            Y[k, tree.damping_start + k] = v[k]
        if tree.friction_start >= 0:
            Y[k, tree.friction_start + k] = sign(v[k])
    if tree.stiffness_start >= 0:
        for s in range(tree.nplain):
            Y[tree.plain_v[s], tree.stiffness_start + tree.plain_v[s]] = q[tree.plain_q[s]] - tree.plain_rest[s]


@kernel
def regressor(tree: Array, w: Array, q: Array, v: Array, a: Array, Y: Array) -> None:
    """``Y(q, v, a)``."""
    for k in range(tree.nv):
        for c in range(tree.nparameters):
            Y[k, c] = 0.0
    joint_columns(tree, q, v, a, Y)
    if tree.bodies_start >= 0:
        motion_columns(tree, w, q, v, ROOT_FRAMES)
        acceleration_columns(tree, w, v, a, ROOT_FRAMES)
        for f in range(tree.nf):
            body_columns(tree, w, f, Y)


@kernel
def body_columns(tree: Array, w: Array, f: int, Y: Array) -> None:
    """Ten columns of the body of frame ``f``, on the joints that carry it."""
    i = tree.frame_body[f]
    R = tree.frame_rotation[f]
    E = w.Ec[i]
    at = add(w.oc[i], rotate(E, tree.frame_position[f]))
    omega = angular(w.V[i])
    alpha = angular(w.A[i])
    u = add(linear(w.V[i]), cross(omega, at))
    point = add(add(linear(w.A[i]), cross(alpha, at)), cross(omega, u))  # classical
    omega = rotate_inverse(R, rotate_inverse(E, omega))
    alpha = rotate_inverse(R, rotate_inverse(E, alpha))
    point = rotate_inverse(R, rotate_inverse(E, point))
    while i > 0:
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            S = w.S[k]
            s = rotate_inverse(R, rotate_inverse(E, angular(S)))
            l = rotate_inverse(R, rotate_inverse(E, add(linear(S), cross(angular(S), at))))
            set_parameter_torques(s, l, omega, alpha, point, Y[k], tree.bodies_start + 10 * f)
        i = tree.parent[i]


REGRESSOR = Algorithm(
    "regressor",
    regressor,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"Y": ("nv", "nparameters")},
    COMMON_MOTION,
    REGRESSOR_TREE,
)
