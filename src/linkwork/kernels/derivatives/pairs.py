# SPDX-License-Identifier: BSD-3-Clause
"""Partials of the rows of pairs of frames by the motion of their two bodies.

A row of a pair is ``s = K . eta + DK[nu] . nu``: of the pose of the second body relative to the first, and of

    nu = v_2 - v_1        eta = a_2 - a_1 - v_1 x v_2

the spatial velocity and acceleration of the second body as seen from the first; ``DK[x]`` is the change of K along a
displacement x. In the common frame (`common_frame`) its partials are three covectors on each body, which serve every
joint on the body's way to the root (`constraint_derivatives`)::

    W = VV + (v_1 + v_2) x* K        Q = PP + v_2 x* (W - v_2 x* K) + a_2 x* K

with ``PP`` and ``VV`` the partials by pose and by nu. The first body has the same with the other sign, since nothing
changes where both move together; rows of vectors between two points (MEET) are the exception off the closed loop.
Baumgarte's gains make ``s + kd J v + kp e`` of s: ``eta + kd nu`` in place of eta, ``W + kd K``, ``Q + kp de/dq``. W
depends on velocities alone, and gives the row's bias too (`constraint_derivatives.row_accelerations`).

| symbol   | meaning                                                                             |
|----------|-------------------------------------------------------------------------------------|
| B        | axes of A in the common frame, in columns                                           |
| b, c     | vector and scalar part of the quaternion of B in A; or b, the axis of B in A        |
| g, H, T  | first, second and third derivatives of an error of turning by the axis b            |
| pA, pB   | positions of the frames' origins                                                    |
| nu12     | ``v_1 + v_2``                                                                       |
| Kc, Wc, Qc | covectors of a row on a body                                                        |

Cost: a fixed number of operations for each row.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.rows import half_tilt, orientation_vector
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    column,
    cross,
    dot,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    set_vector,
    sub,
)
from linkwork.kernels.tree.common_frame import motion_cross
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, MEET, NO_TURN, ON_LINE, ON_PLANE, ROD, ROLLING

PAIR_PARTIALS: dict[str, Shape] = {
    "Kc": ("nk", 6),
    "Wc": ("nk", 6),
    "Qc": ("nk", 6),
    "B": ("npairs", 3, 3),
    "pA": ("npairs", 3),
    "pB": ("npairs", 3),
    "nu": (6,),
    "eta": (6,),
    "nu12": (6,),
}


@kernel
def pair_frames(tree: Array, w: Array, p: int) -> None:
    """``B``, ``pA`` and ``pB`` of a pair in the common frame."""
    a = tree.pair_first[p]
    b = tree.pair_second[p]
    i = tree.frame_body[a]
    j = tree.frame_body[b]
    for k in range(3):
        x = rotate(w.Ec[i], column(tree.frame_rotation[a], k))
        w.B[p, 0, k] = x[0]
        w.B[p, 1, k] = x[1]
        w.B[p, 2, k] = x[2]
    set_vector(add(w.oc[i], rotate(w.Ec[i], tree.frame_position[a])), w.pA[p])
    set_vector(add(w.oc[j], rotate(w.Ec[j], tree.frame_position[b])), w.pB[p])


# Partials by velocities -------------------------------------------------------------------------------


@kernel
def pair_velocity_partials(tree: Array, w: Array, p: int) -> None:
    """``W`` of all rows of a pair on its two bodies, after `pair_frames`."""
    i = tree.frame_body[tree.pair_first[p]]
    j = tree.frame_body[tree.pair_second[p]]
    rotation = tree.pair_rotation[p]
    for c in range(6):
        w.nu[c] = w.V[j, c] - w.V[i, c]
    zero = (0.0, 0.0, 0.0)
    k = 0
    if rotation == NO_TURN:
        b = quaternion_vector(tree, w, p)
        for r in range(3):
            VV = scale(-dot(column(w.B[p], r), b), angular(w.nu))
            set_velocity_partials(tree, w, p, i, j, r, VV, zero)
        k = 3
    elif rotation != ANY_TURN:
        k = turn_rows(rotation)
        for r in range(k):
            set_velocity_partials(tree, w, p, i, j, r, tilt_velocity_partial(tree, w, p, r), zero)
    translation = tree.pair_translation[p]
    if translation == MEET:
        meeting_velocity_partials(tree, w, p, i, j, k)
    elif translation != ANY_SHIFT:
        x = w.pB[p]
        xd = point_velocity(w.nu, x)
        for r in range(shift_rows(translation)):
            f = linear(w.Kc[tree.pair_second_k[p] + k + r])
            z = cross(f, angular(w.nu))
            if translation == ROD:  # f = d / length changes with x
                z = add(z, scale(2.0 * (1.0 / tree.pair_size[p]), xd))
            set_velocity_partials(tree, w, p, i, j, k + r, add(cross(x, z), cross(xd, f)), z)


@kernel
def shift_rows(translation: int) -> int:
    """Rows of a pair that are about its origins."""
    if translation == ON_LINE:
        return 2
    return 1 if translation == ON_PLANE or translation == ROD else 3


@kernel
def set_velocity_partials(tree: Array, w: Array, p: int, i: int, j: int, r: int, Vn: Vector, Vf: Vector) -> None:
    """``W`` of row ``r`` on both bodies, from ``VV = [Vn; Vf]``."""
    first = tree.pair_first_k[p] + r
    second = tree.pair_second_k[p] + r
    kd = tree.kd[tree.pair_row[p] + r]
    n = angular(w.Kc[second])
    f = linear(w.Kc[second])
    if about_axis(tree, p, r) != 0:
        f = (0.0, 0.0, 0.0)
    for c in range(6):
        w.nu12[c] = w.V[i, c] + w.V[j, c]
    Xn, Xf = force_cross(w.nu12, n, f)
    set_angular(add(add(Vn, Xn), scale(kd, n)), w.Wc[second])
    set_linear(add(add(Vf, Xf), scale(kd, f)), w.Wc[second])
    for c in range(6):
        w.Wc[first, c] = -w.Wc[second, c]


@kernel
def quaternion_vector(tree: Array, w: Array, p: int) -> Triple:
    """The vector part of the quaternion of B in A, in the common frame."""
    return rotate(w.B[p], rotate_inverse(tree.pair_frame[p], orientation_vector(w, p)))


@kernel
def tilt_error(tree: Array, p: int, r: int, b: Vector) -> tuple[int, Scalar, Scalar, Scalar, Scalar]:
    """Error ``r`` as ``h b_k``: the index k, and ``h(b_2)`` with its three derivatives.

    ``-h b_1`` and ``h b_0`` with ``h = sqrt(2 / (1 + b_2))`` of ABOUT_Z, ``b_0`` of CARDAN.
    """
    if tree.pair_rotation[p] != ABOUT_Z:
        return 0, 1.0, 0.0, 0.0, 0.0
    h, half, _ = half_tilt(b)
    if r == 0:
        h = -h
    h1 = -0.5 * (h * half)
    h2 = -1.5 * (h1 * half)
    return (1 if r == 0 else 0), h, h1, h2, -2.5 * (h2 * half)


@kernel
def along(k: int, x: Scalar, z: Scalar) -> Triple:
    """The vector with ``x`` along axis ``k`` (0 or 1) and ``z`` along axis 2."""
    return x if k == 0 else 0.0, x if k == 1 else 0.0, z


@kernel
def tilt_velocity_partial(tree: Array, w: Array, p: int, r: int) -> Triple:
    """``VV`` of a row ``s = g . bdd + bd . H bd`` of an error ``h(b_2) b_k``.

    In the axes of A, ``bd = spin x b`` and ``bdd = drift x b + spin x bd``.
    """
    b = orientation_vector(w, p)
    k, h, h1, h2, _ = tilt_error(tree, p, r, b)
    spin = rotate_inverse(w.B[p], angular(w.nu))
    bd = cross(spin, b)
    g = along(k, h, h1 * b[k])
    H_bd = along(k, h1 * bd[2], h1 * bd[k] + h2 * (b[k] * bd[2]))
    return rotate(w.B[p], add(add(cross(bd, g), cross(b, cross(g, spin))), scale(2.0, cross(b, H_bd))))


@kernel
def point_velocity(V: Array, x: Vector) -> Triple:
    """Velocity of the point ``x`` of a body."""
    return add(linear(V), cross(angular(V), x))


@kernel
def meeting_velocity_partials(tree: Array, w: Array, p: int, i: int, j: int, k: int) -> None:
    """Rows ``s = f . (pBdd - pAdd)`` along the axes f of A, of points that meet: `point_velocity_partial` of each."""
    pAd = point_velocity(w.V[i], w.pA[p])
    pBd = point_velocity(w.V[j], w.pB[p])
    for r in range(3):
        f = column(w.B[p], r)
        kd = tree.kd[tree.pair_row[p] + k + r]
        point_velocity_partial(w, tree.pair_second_k[p] + k + r, pBd, f, kd)
        point_velocity_partial(w, tree.pair_first_k[p] + k + r, pAd, scale(-1.0, f), kd)


@kernel
def point_velocity_partial(w: Array, m: int, xd: Vector, f: Vector, kd: Scalar) -> None:
    """``W = 2 xd x f`` of the acceleration along ``f`` of a point with the velocity ``xd``, and the gain."""
    K = w.Kc[m]
    set_angular(add(scale(2.0, cross(xd, f)), scale(kd, angular(K))), w.Wc[m])
    set_linear(scale(kd, linear(K)), w.Wc[m])


# Partials by poses ------------------------------------------------------------------------------------


@kernel
def pair_pose_partials(tree: Array, w: Array, p: int) -> None:
    """``Q`` of all rows of a pair on its two bodies, after `pair_velocity_partials` and with accelerations."""
    i = tree.frame_body[tree.pair_first[p]]
    j = tree.frame_body[tree.pair_second[p]]
    kd = tree.kd[tree.pair_row[p]]
    motion_cross(w.V[i], w.V[j], w.eta)
    for c in range(6):
        w.nu[c] = w.V[j, c] - w.V[i, c]
        w.eta[c] = ((w.A[j, c] - w.A[i, c]) - w.eta[c]) + kd * w.nu[c]
    rotation = tree.pair_rotation[p]
    zero = (0.0, 0.0, 0.0)
    k = 0
    if rotation == NO_TURN:
        for r in range(3):
            set_pose_partials(tree, w, p, j, r, no_turn_pose_partial(tree, w, p, r), zero)
        k = 3
    elif rotation != ANY_TURN:
        k = turn_rows(rotation)
        for r in range(k):
            set_pose_partials(tree, w, p, j, r, tilt_pose_partial(tree, w, p, r), zero)
    translation = tree.pair_translation[p]
    if translation == MEET:
        meeting_pose_partials(tree, w, p, j, k)
    elif translation != ANY_SHIFT:
        for r in range(shift_rows(translation)):
            if translation == ROD:
                y = rod_pose_partial(tree, w, p)
            else:
                f = linear(w.Kc[tree.pair_second_k[p] + k + r])
                omega = angular(w.nu)
                y = add(cross(f, angular(w.eta)), cross(omega, cross(omega, f)))
            set_pose_partials(tree, w, p, j, k + r, cross(w.pB[p], y), y)


@kernel
def set_pose_partials(tree: Array, w: Array, p: int, j: int, r: int, Pn: Vector, Pf: Vector) -> None:
    """``Q`` of row ``r`` on both bodies, from ``PP = [Pn; Pf]``."""
    first = tree.pair_first_k[p] + r
    second = tree.pair_second_k[p] + r
    n = angular(w.Kc[second])
    f = linear(w.Kc[second])
    if about_axis(tree, p, r) != 0:
        f = (0.0, 0.0, 0.0)
    kp = tree.kp[tree.pair_row[p] + r]
    if tree.pair_translation[p] == ROLLING and r < 2:  # bind velocities only
        kp = 0.0
    Xn, Xf = force_cross(w.V[j], n, f)
    Yn, Yf = force_cross(w.V[j], sub(angular(w.Wc[second]), Xn), sub(linear(w.Wc[second]), Xf))
    Xn, Xf = force_cross(w.A[j], n, f)
    set_angular(add(add(Pn, scale(kp, n)), add(Xn, Yn)), w.Qc[second])
    set_linear(add(add(Pf, scale(kp, f)), add(Xf, Yf)), w.Qc[second])
    for c in range(6):
        w.Qc[first, c] = -w.Qc[second, c]


@kernel
def about_axis(tree: Array, p: int, r: int) -> int:
    """1 if row ``r`` of a pair is about an axis: it acts with a moment, and no force."""
    return 1 if r < turn_rows(tree.pair_rotation[p]) else 0


@kernel
def turn_rows(rotation: int) -> int:
    """Rows of a pair that are about axes."""
    if rotation == ANY_TURN:
        return 0
    if rotation == NO_TURN:
        return 3
    return 2 if rotation == ABOUT_Z else 1


@kernel
def no_turn_pose_partial(tree: Array, w: Array, p: int, r: int) -> Triple:
    """``PP`` of a row ``s = e . (c drift + drift x b - |spin|² b / 2)`` along an axis e of A.

    Along a rotation t, ``c`` changes by ``-t . b / 2`` and ``b`` by ``(c t + t x b) / 2``.
    """
    b = quaternion_vector(tree, w, p)
    spin = angular(w.nu)
    drift = angular(w.eta)
    e = column(w.B[p], r)
    z = sub(cross(e, drift), scale(0.5 * dot(spin, spin), e))
    return scale(0.5, sub(add(scale(w.orientation[p, 0], z), cross(b, z)), scale(dot(e, drift), b)))


@kernel
def tilt_pose_partial(tree: Array, w: Array, p: int, r: int) -> Triple:
    """``PP`` of a row of `tilt_velocity_partial`."""
    b = orientation_vector(w, p)
    k, h, h1, h2, h3 = tilt_error(tree, p, r, b)
    spin = rotate_inverse(w.B[p], angular(w.nu))
    drift = rotate_inverse(w.B[p], angular(w.eta))
    bd = cross(spin, b)
    bdd = add(cross(drift, b), cross(spin, bd))
    g = along(k, h, h1 * b[k])
    H_bd = along(k, h1 * bd[2], h1 * bd[k] + h2 * (b[k] * bd[2]))
    H_bdd = along(k, h1 * bdd[2], h1 * bdd[k] + h2 * (b[k] * bdd[2]))
    T = along(k, h2 * (bd[2] * bd[2]), 2.0 * (h2 * (bd[k] * bd[2])) + h3 * (b[k] * (bd[2] * bd[2])))
    y = add(add(H_bdd, T), add(cross(g, drift), cross(spin, cross(spin, g))))
    return rotate(w.B[p], cross(b, add(y, scale(2.0, cross(H_bd, spin)))))


@kernel
def point_acceleration(V: Array, A: Array, x: Vector) -> Triple:
    """Acceleration of the point ``x`` of a body, from its spatial acceleration."""
    return add(point_velocity(A, x), cross(angular(V), point_velocity(V, x)))


@kernel
def meeting_pose_partials(tree: Array, w: Array, p: int, j: int, k: int) -> None:
    """``Q`` of points that meet: f turns with the first body, which does not depend on its own acceleration."""
    xd = point_velocity(w.V[j], w.pB[p])
    xdd = point_acceleration(w.V[j], w.A[j], w.pB[p])
    for r in range(3):
        row = tree.pair_row[p] + k + r
        second = tree.pair_second_k[p] + k + r
        point_pose_partial(w, second, add(xdd, scale(tree.kd[row], xd)), column(w.B[p], r), tree.kp[row])
        for c in range(6):
            w.Qc[tree.pair_first_k[p] + k + r, c] = -w.Qc[second, c]


@kernel
def point_pose_partial(w: Array, m: int, xdd: Vector, f: Vector, kp: Scalar) -> None:
    """``Q = xdd x f`` of the acceleration along ``f`` of a point, and the gain."""
    K = w.Kc[m]
    set_angular(add(cross(xdd, f), scale(kp, angular(K))), w.Qc[m])
    set_linear(scale(kp, linear(K)), w.Qc[m])


@kernel
def rod_pose_partial(tree: Array, w: Array, p: int) -> Triple:
    """The force of ``PP`` at pB of the row ``s = (d . xdd + xd . xd) / length``; x is pB as the first body sees it."""
    d = sub(w.pB[p], w.pA[p])
    omega = angular(w.nu)
    xd = point_velocity(w.nu, w.pB[p])
    xdd = point_acceleration(w.nu, w.eta, w.pB[p])
    y = add(add(xdd, cross(d, angular(w.eta))), cross(omega, cross(omega, d)))
    return scale(1.0 / tree.pair_size[p], add(y, scale(2.0, cross(xd, omega))))


@kernel
def force_cross(v: Array, n: Vector, f: Vector) -> tuple[Triple, Triple]:
    """``v x* [n; f]``."""
    omega = angular(v)
    return add(cross(omega, n), cross(linear(v), f)), cross(omega, f)
