# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of the center of mass and of the centroidal momentum, Jacobians of frames, and their rates.

Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, 2013; Wensing and Orin, Improved computation of the
humanoid centroidal dynamics, 2016. Column j of the momentum matrix is ``I S_j``, with the composite inertia of body j,
taken about the center of mass: in body axes first, as in `crba`, then in the world's. A rate is the derivative along
the motion, ``q`` moving with ``v``, in the common frame, which is the world's here (symbols: `common_frame`): with
``Sd = v x S`` of the joint's own body and the rates ``p`` of the first moment and ``2 tr(N) 1 - N - N'`` of the
rotational inertia, ``I Sd + dI/dt S``.

| symbol  | meaning                                                                     |
|---------|-----------------------------------------------------------------------------|
| c, cd   | center of mass, and its velocity                                            |
| h, hd   | momentum of a unit joint velocity about the common origin, and its rate     |
| n, f    | the same at the joint, in body axes                                         |
| m, b    | composite mass and first moment of body i, in body axes                     |

Cost: O(n); Jacobians of frames O(n d), with d the depth of the frame.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    add_to,
    angular,
    cross,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_vector,
    sub,
    symmetric_product,
)
from linkwork.kernels.tree.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    WORLD_FRAME,
    body_inertias,
    body_pose,
    body_velocity,
    motion_columns,
    set_identity,
)
from linkwork.kernels.tree.common_frame import composite_inertias as common_composite_inertias
from linkwork.kernels.tree.crba import COMPOSITE, composite_inertias, kronecker
from linkwork.kernels.tree.inertia_columns import inertia_product
from linkwork.kernels.tree.kinematics import POSE, WORLD_POSE, joint_transforms, world_transforms
from linkwork.model.joints import HELICAL
from linkwork.plans.tree import LOCAL, WORLD_ORIGIN

MOMENTUM_COLUMNS: dict[str, Shape] = {"h": (6,), "hd": (6,), "Sd": (6,)}
MOMENTS: dict[str, Shape] = {"m": ("n",), "b": ("n", 3)}


@kernel
def world_motion(tree: Array, w: Array, q: Array, v: Array) -> None:
    """Motion and composite inertias, in the world's frame."""
    motion_columns(tree, w, q, v, WORLD_FRAME)
    body_inertias(tree, w)
    common_composite_inertias(tree, w)


class Total(NamedTuple):
    """The mass of the robot, its center and its velocity."""

    inverse: Scalar
    """One over the mass."""
    c: Triple
    """Center of mass."""
    cd: Triple
    """Velocity of the center of mass."""


@kernel
def total_mass(tree: Array, w: Array) -> Total:
    """Mass of all bodies, center of mass, and its velocity."""
    total = tree.mass[0]
    b = (tree.mc[0, 0], tree.mc[0, 1], tree.mc[0, 2])
    p = (0.0, 0.0, 0.0)
    for i in range(1, tree.n):
        if tree.parent[i] == 0:
            total = total + w.mC[i]
            b = add(b, w.bC[i])
            p = add(p, w.pC[i])
    inverse = 1.0 / total
    return Total(inverse, scale(inverse, b), scale(inverse, p))


@kernel
def momentum_column_rate(w: Array, i: int, k: int) -> None:
    """``hd = I Sd + dI/dt S`` of degree of freedom ``k``, of joint ``i``."""
    for j in range(6):
        w.Sd[j] = w.Psid_Sd[k, j] - w.Psid[k, j]
    inertia_product(w, i, w.Sd, w.hd)
    s = angular(w.S[k])
    l = linear(w.S[k])
    N = w.NC[i]
    trace = N[0, 0] + N[1, 1] + N[2, 2]
    xy = -(N[0, 1] + N[1, 0])
    xz = -(N[0, 2] + N[2, 0])
    yz = -(N[1, 2] + N[2, 1])
    rate = (
        2.0 * (trace - N[0, 0]),
        xy,
        xz,
        2.0 * (trace - N[1, 1]),
        yz,
        2.0 * (trace - N[2, 2]),
    )
    add_to(add(symmetric_product(rate, s), cross(w.pC[i], l)), cross(s, w.pC[i]), w.hd)


@kernel
def set_column(x: Vector, y: Vector, k: int, J: Array) -> None:
    """Column ``k`` of a Jacobian: ``[x; y]``."""
    for j in range(3):
        J[j, k] = x[j]
        J[3 + j, k] = y[j]


@kernel
def center_of_mass_jacobian(tree: Array, w: Array, q: Array, J: Array) -> None:
    """``J``: ``J v`` is the velocity of the center of mass, in the world."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    composite_moments(tree, w)
    total, _ = first_moment_of_all(tree, w)
    for i in range(1, tree.n):
        kind = tree.kind[i]
        for k in range(dof_of(kind)):
            S_angular, S_linear = subspace_column(tree, i, k)
            f = add(scale(w.m[i], S_linear), cross(S_angular, w.b[i]))
            x = rotate(w.E[i], scale(1.0 / total, f))
            for j in range(3):
                J[j, tree.iv[i] + k] = x[j]


@kernel
def composite_moments(tree: Array, w: Array) -> None:
    """Leaves to root: ``m, b`` of each body and all beyond it, in body axes."""
    for i in range(1, tree.n):
        w.m[i] = tree.mass[i]
        set_vector(tree.mc[i], w.b[i])
    for i in range(tree.n - 1, 0, -1):
        h = tree.parent[i]
        if h > 0:
            set_vector(add(w.b[h], add(rotate_to_parent(tree, w, i, w.b[i]), scale(w.m[i], w.r[i]))), w.b[h])
            w.m[h] += w.m[i]


@kernel
def first_moment_of_all(tree: Array, w: Array) -> tuple[Scalar, Triple]:
    """Mass and first moment of all bodies in the world, from composite ones in body axes."""
    total = tree.mass[0]
    b = (tree.mc[0, 0], tree.mc[0, 1], tree.mc[0, 2])
    for i in range(1, tree.n):
        if tree.parent[i] == 0:
            total = total + w.m[i]
            b = add(b, add(rotate_to_parent(tree, w, i, w.b[i]), scale(w.m[i], w.r[i])))
    return total, b


@kernel
def subspace_column(tree: Array, i: int, k: int) -> tuple[Triple, Triple]:
    """Column ``k`` of ``S`` of joint ``i``, in body axes: angular and linear."""
    axis = axis_of(tree.kind[i], k)
    linear_part = (kronecker(axis, 3), kronecker(axis, 4), kronecker(axis, 5))
    if tree.kind[i] == HELICAL:
        linear_part = (0.0, 0.0, tree.pitch[i])
    return (kronecker(axis, 0), kronecker(axis, 1), kronecker(axis, 2)), linear_part


@kernel
def center_of_mass_jacobian_rate(tree: Array, w: Array, q: Array, v: Array, J: Array) -> None:
    """``dJ/dt``: ``J a + dJ/dt v`` is the acceleration of the center of mass."""
    world_motion(tree, w, q, v)
    total = total_mass(tree, w)
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            momentum_column_rate(w, i, k)
            for j in range(3):
                J[j, k] = total.inverse * w.hd[3 + j]


@kernel
def centroidal_momentum_matrix(tree: Array, w: Array, q: Array, A: Array) -> None:
    """``A``: ``A v`` is the angular momentum about the center of mass, and the linear momentum."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    composite_inertias(tree, w)
    total, b = first_moment_of_all(tree, w)
    momentum_columns(tree, w, scale(1.0 / total, b), A)


@kernel
def momentum_columns(tree: Array, w: Array, center: Vector, A: Array) -> None:
    """``A`` from poses in the world and composite inertias in body axes."""
    for i in range(1, tree.n):
        arm = sub(w.o[i], center)
        for k in range(dof_of(tree.kind[i])):
            S_angular, S_linear = subspace_column(tree, i, k)
            n = add(symmetric_product(w.J[i], S_angular), cross(w.b[i], S_linear))
            f = rotate(w.E[i], add(scale(w.m[i], S_linear), cross(S_angular, w.b[i])))
            set_column(add(rotate(w.E[i], n), cross(arm, f)), f, tree.iv[i] + k, A)


@kernel
def centroidal_momentum_matrix_rate(tree: Array, w: Array, q: Array, v: Array, A: Array) -> None:
    """``dA/dt``: ``A a + dA/dt v`` is the rate of the centroidal momentum."""
    world_motion(tree, w, q, v)
    total = total_mass(tree, w)
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            inertia_product(w, i, w.S[k], w.h)
            momentum_column_rate(w, i, k)
            shift = add(cross(total.c, linear(w.hd)), cross(total.cd, linear(w.h)))
            set_column(sub(angular(w.hd), shift), linear(w.hd), k, A)


@kernel
def support_motion_columns(tree: Array, w: Array, q: Array, v: Array) -> None:
    """`motion_columns` in the world's frame, of the bodies that frames need."""
    set_identity(w.Ec[0], w.oc[0])
    for j in range(6):
        w.V[0, j] = 0.0
    for s in range(tree.nframe_support):
        body_pose(tree, w, tree.frame_support[s], q, 0)
        body_velocity(tree, w, tree.frame_support[s], v)


@kernel
def frame_jacobian_rates(tree: Array, w: Array, q: Array, v: Array, jacobian: Array) -> None:
    """``dJ/dt`` of each frame, in the axes of ``tree.reference``: the rate of the numbers of `frame_jacobians`."""
    support_motion_columns(tree, w, q, v)
    for f in range(tree.nf):
        J = jacobian[f]
        for j in range(6):
            for k in range(tree.nv):
                J[j, k] = 0.0
        b = tree.frame_body[f]
        E = w.Ec[b]
        R = tree.frame_rotation[f]
        tip = add(w.oc[b], rotate(E, tree.frame_position[f]))
        omega = angular(w.V[b])
        speed = add(linear(w.V[b]), cross(omega, tip))
        i = b
        while i > 0:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                s = angular(w.S[k])
                if tree.reference == LOCAL:  # (v_i - v) x S, at the frame: zero for the frame's own joint
                    turn = sub(angular(w.V[i]), omega)
                    x = cross(turn, s)
                    y = add(cross(turn, linear(w.S[k])), cross(sub(linear(w.V[i]), linear(w.V[b])), s))
                    y = add(y, cross(x, tip))
                    x = rotate_inverse(R, rotate_inverse(E, x))
                    y = rotate_inverse(R, rotate_inverse(E, y))
                else:
                    x = sub(angular(w.Psid_Sd[k]), angular(w.Psid[k]))
                    y = sub(linear(w.Psid_Sd[k]), linear(w.Psid[k]))
                    if tree.reference != WORLD_ORIGIN:
                        y = add(y, add(cross(x, tip), cross(s, speed)))
                set_column(x, y, k, J)
            i = tree.parent[i]


_WORK = COMMON_MOTION | COMMON_INERTIA | MOMENTUM_COLUMNS
_Q: dict[str, Shape] = {"q": ("nq",)}
_QV: dict[str, Shape] = {"q": ("nq",), "v": ("nv",)}
_COLUMNS: Shape = (6, "nv")
_POINT: Shape = (3, "nv")

COM_JACOBIAN = Algorithm(
    "center_of_mass_jacobian", center_of_mass_jacobian, _Q, {"J": _POINT}, POSE | WORLD_POSE | MOMENTS
)
COM_JACOBIAN_RATE = Algorithm("center_of_mass_jacobian_rate", center_of_mass_jacobian_rate, _QV, {"J": _POINT}, _WORK)
MOMENTUM_MATRIX = Algorithm(
    "momentum_matrix", centroidal_momentum_matrix, _Q, {"A": _COLUMNS}, POSE | WORLD_POSE | COMPOSITE
)
MOMENTUM_MATRIX_RATE = Algorithm("momentum_matrix_rate", centroidal_momentum_matrix_rate, _QV, {"A": _COLUMNS}, _WORK)
JACOBIAN_RATES = Algorithm("jacobian_rates", frame_jacobian_rates, _QV, {"jacobian": ("nf", 6, "nv")}, COMMON_MOTION)
