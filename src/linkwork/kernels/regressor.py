# SPDX-License-Identifier: BSD-3-Clause
"""The regressor of inverse dynamics: torques as a linear function of inertial parameters, ``tau = Y pi``.

Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, 1986. A body in its own
frame, with its origin's acceleration a (gravity included), ``alpha`` and ``omega``, and the unit force ``[s; l]`` of a
joint seen there::

    s . (I alpha + omega x (I omega) + mc x a) + l . (m a + alpha x mc + omega x (omega x mc))

is linear in ``m, mc, I``. Frames of the plan are those of the bodies, in order; parameters of each in Pinocchio's
order, ``m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` about the frame's origin. Rotors (armature), springs, dampers and
wrenches have no part in it. Symbols: `common_frame`. Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.common_frame import COMMON_MOTION, ROOT_FRAMES, acceleration_columns, motion_columns
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.kernels.spatial import add, angular, cross, dot, linear, rotate, rotate_inverse, sub


@kernel
def set_parameter_torques(s: Vector, l: Vector, omega: Vector, alpha: Vector, a: Vector, y: Array) -> None:
    """Torque of the unit force ``[s; l]`` for each of a body's ten parameters."""
    y[0] = dot(l, a)
    mc = add(cross(a, s), sub(cross(l, alpha), cross(omega, cross(l, omega))))
    for j in range(3):
        y[1 + j] = mc[j]
    xx = omega[0] * omega[0]
    yy = omega[1] * omega[1]
    zz = omega[2] * omega[2]
    xy = omega[0] * omega[1]
    xz = omega[0] * omega[2]
    yz = omega[1] * omega[2]
    y[4] = dot(s, (alpha[0], xz, -xy))
    y[5] = dot(s, (alpha[1] - xz, alpha[0] + yz, xx - yy))
    y[6] = dot(s, (-yz, alpha[1], xy))
    y[7] = dot(s, (alpha[2] + xy, zz - xx, alpha[0] - yz))
    y[8] = dot(s, (yy - zz, alpha[2] - xy, alpha[1] + xz))
    y[9] = dot(s, (yz, -xz, alpha[2]))


@kernel
def regressor(tree: Array, w: Array, q: Array, v: Array, a: Array, Y: Array) -> None:
    """``Y(q, v, a)``, for each degree of freedom and body ten numbers."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    acceleration_columns(tree, w, v, a, ROOT_FRAMES)
    for k in range(tree.nv):
        for f in range(tree.nf):
            for j in range(10):
                Y[k, f, j] = 0.0
    for f in range(tree.nf):
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
                set_parameter_torques(s, l, omega, alpha, point, Y[k, f])
            i = tree.parent[i]


REGRESSOR = Algorithm(
    "regressor",
    regressor,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"Y": ("nv", "nf", 10)},
    COMMON_MOTION,
)
