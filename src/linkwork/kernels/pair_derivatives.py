# SPDX-License-Identifier: BSD-3-Clause
"""Partials of the rows of pairs of frames by the motion of their two bodies.

A row of a pair is ``s = K . eta + DK[nu] . nu``: of the pose of the second body relative to the first, and of

    nu = v_2 - v_1        eta = a_2 - a_1 - v_1 x v_2

the spatial velocity and acceleration of the second body as seen from the first; ``DK[x]`` is the change of K along a
displacement x. In the common frame (`common_frame`) its partials are three covectors on each body, which serve every
joint on the body's way to the root (`constraint_derivatives`)::

    V = VV + v_1 x* K      W = V + v_2 x* K      Q = PP + v_2 x* V + a_2 x* K

with ``PP`` and ``VV`` the partials by pose and by nu. The first body has the same with the other sign, since nothing
changes where both move together; rows of vectors between two points (MEET) are the exception off the closed loop.
Baumgarte's gains make ``s + kd J v + kp e`` of s: ``a + kd v`` in place of a, ``W + kd K``, ``Q + kp de/dq``.

| symbol   | meaning                                                                             |
|----------|-------------------------------------------------------------------------------------|
| B        | axes of A in the common frame, in columns                                           |
| b, c     | vector and scalar part of the quaternion of B in A; or b, the axis of B in A        |
| g, H, T  | first, second and third derivatives of an error of turning by the axis b            |
| pA, pB   | positions of the frames' origins; pBd, pBdd, pAd: their velocities, accelerations   |
| Kc, W, Q | covectors of a row on a body                                                        |

Cost: a fixed number of operations for each row.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.common_frame import motion_cross
from linkwork.kernels.constraint_rows import half_tilt, orientation_vector
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
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, MEET, NO_TURN, ON_LINE, ROD, ROLLING

PAIR_PARTIALS: dict[str, Shape] = {
    "Kc": ("nk", 6),
    "W": ("nk", 6),
    "Q": ("nk", 6),
    "B": ("npairs", 3, 3),
    "pA": ("npairs", 3),
    "pB": ("npairs", 3),
    "nu": (6,),
    "eta": (6,),
    "a1": (6,),
    "a2": (6,),
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


# Rows -------------------------------------------------------------------------------------------------


@kernel
def relative_motion(w: Array, i: int, j: int, kd: Scalar) -> None:
    """``nu`` and ``eta`` of body ``j`` relative to body ``i``, with ``a + kd v`` for accelerations."""
    motion_cross(w.V[i], w.V[j], w.eta)
    for k in range(6):
        w.a1[k] = w.A[i, k] + kd * w.V[i, k]
        w.a2[k] = w.A[j, k] + kd * w.V[j, k]
        w.nu[k] = w.V[j, k] - w.V[i, k]
        w.eta[k] = (w.a2[k] - w.a1[k]) - w.eta[k]


@kernel
def pair_partials(tree: Array, w: Array, p: int) -> None:
    """``W`` and ``Q`` of all rows of a pair on its two bodies, after `pair_frames`."""
    i = tree.frame_body[tree.pair_first[p]]
    j = tree.frame_body[tree.pair_second[p]]
    rotation = tree.pair_rotation[p]
    relative_motion(w, i, j, tree.kd[tree.pair_row[p]])
    k = 0
    if rotation == NO_TURN:
        no_turn_partials(tree, w, p, i, j)
        k = 3
    elif rotation != ANY_TURN:
        k = 2 if rotation == ABOUT_Z else 1
        for r in range(k):
            tilt_partials(tree, w, p, i, j, r)
    if tree.pair_translation[p] == MEET:
        meeting_partials(tree, w, p, i, j, k)
    elif tree.pair_translation[p] == ROD:
        rod_partials(tree, w, p, i, j, k)
    elif tree.pair_translation[p] != ANY_SHIFT:
        point_partials(tree, w, p, i, j, k)


@kernel
def set_turn_row(tree: Array, w: Array, p: int, i: int, j: int, r: int, PP: Vector, VV: Vector) -> None:
    """``W`` and ``Q`` of row ``r``, about an axis, on both bodies."""
    row = tree.pair_row[p] + r
    n = angular(w.Kc[tree.pair_second_k[p] + r])
    omega = angular(w.V[j])
    V = add(VV, cross(angular(w.V[i]), n))
    W = add(add(V, cross(omega, n)), scale(tree.kd[row], n))
    Q = add(add(PP, cross(omega, V)), add(cross(angular(w.a2), n), scale(tree.kp[row], n)))
    zero = (0.0, 0.0, 0.0)
    set_on_both(tree, w, p, r, W, zero, Q, zero)


@kernel
def set_on_both(tree: Array, w: Array, p: int, r: int, Wn: Vector, Wf: Vector, Qn: Vector, Qf: Vector) -> None:
    """Partials of row ``r`` on the second body, and with the other sign on the first."""
    second = tree.pair_second_k[p] + r
    first = tree.pair_first_k[p] + r
    set_angular(Wn, w.W[second])
    set_linear(Wf, w.W[second])
    set_angular(Qn, w.Q[second])
    set_linear(Qf, w.Q[second])
    for k in range(6):
        w.W[first, k] = -w.W[second, k]
        w.Q[first, k] = -w.Q[second, k]


@kernel
def no_turn_partials(tree: Array, w: Array, p: int, i: int, j: int) -> None:
    """Rows ``s = e . (c drift + drift x b - |spin|² b / 2)`` along the axes e of A.

    Along a rotation t, ``c`` changes by ``-t . b / 2`` and ``b`` by ``(c t + t x b) / 2``.
    """
    b = rotate(w.B[p], rotate_inverse(tree.pair_frame[p], orientation_vector(w, p)))
    c = w.orientation[p, 0]
    spin = angular(w.nu)
    drift = angular(w.eta)
    half_square = 0.5 * dot(spin, spin)
    for r in range(3):
        e = column(w.B[p], r)
        z = sub(cross(e, drift), scale(half_square, e))
        PP = scale(0.5, sub(add(scale(c, z), cross(b, z)), scale(dot(e, drift), b)))
        set_turn_row(tree, w, p, i, j, r, PP, scale(-dot(e, b), spin))


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
def tilt_partials(tree: Array, w: Array, p: int, i: int, j: int, r: int) -> None:
    """Rows ``s = g . bdd + bd . H bd`` of an error ``h(b_2) b_k``, in the axes of A.

    With ``bd = spin x b``, ``bdd = drift x b + spin x bd``.
    """
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
    y = add(y, scale(2.0, cross(H_bd, spin)))
    VV = add(add(cross(bd, g), cross(b, cross(g, spin))), scale(2.0, cross(b, H_bd)))
    set_turn_row(tree, w, p, i, j, r, rotate(w.B[p], cross(b, y)), rotate(w.B[p], VV))


@kernel
def point_velocity(V: Array, x: Vector) -> Triple:
    """Velocity of the point ``x`` of a body."""
    return add(linear(V), cross(angular(V), x))


@kernel
def point_acceleration(V: Array, A: Array, x: Vector) -> Triple:
    """Acceleration of the point ``x`` of a body, from its spatial acceleration."""
    return add(point_velocity(A, x), cross(angular(V), point_velocity(V, x)))


@kernel
def meeting_partials(tree: Array, w: Array, p: int, i: int, j: int, k: int) -> None:
    """Rows ``s = f . (pBdd - pAdd)`` along the axes f of A, of points that meet: `point_row` of each body."""
    pAd = point_velocity(w.V[i], w.pA[p])
    pBd = point_velocity(w.V[j], w.pB[p])
    pBdd = point_acceleration(w.V[j], w.a2, w.pB[p])
    for r in range(3):
        row = tree.pair_row[p] + k + r
        first = tree.pair_first_k[p] + k + r
        second = tree.pair_second_k[p] + k + r
        f = column(w.B[p], r)
        point_row(w, second, pBd, pBdd, f, tree.kp[row], tree.kd[row])
        # f turns with the first body, which its own acceleration does not feel
        set_angular(scale(-2.0, cross(pAd, f)), w.W[first])
        set_linear((0.0, 0.0, 0.0), w.W[first])
        for c in range(6):
            w.W[first, c] += tree.kd[row] * w.Kc[first, c]
            w.Q[first, c] = -w.Q[second, c]


@kernel
def point_row(w: Array, m: int, xd: Vector, xdd: Vector, f: Vector, kp: Scalar, kd: Scalar) -> None:
    """``W`` and ``Q`` of the acceleration of a point along a constant ``f``: ``2 xd x f``, ``xdd x f``, and gains."""
    set_angular(scale(2.0, cross(xd, f)), w.W[m])
    set_linear((0.0, 0.0, 0.0), w.W[m])
    set_angular(cross(xdd, f), w.Q[m])
    set_linear((0.0, 0.0, 0.0), w.Q[m])
    for c in range(6):
        w.W[m, c] += kd * w.Kc[m, c]
        w.Q[m, c] += kp * w.Kc[m, c]


@kernel
def point_partials(tree: Array, w: Array, p: int, i: int, j: int, k: int) -> None:
    """Rows ``K = [n + pB x f; f]`` with n, f constant in the first body: ON_LINE, ON_PLANE, ROLLING."""
    translation = tree.pair_translation[p]
    rows = 3 if translation == ROLLING else (2 if translation == ON_LINE else 1)
    omega = angular(w.nu)
    alpha = angular(w.eta)
    xd = point_velocity(w.nu, w.pB[p])
    for r in range(rows):
        m = tree.pair_second_k[p] + k + r
        f = linear(w.Kc[m])
        y = add(cross(f, alpha), cross(omega, cross(omega, f)))
        z = cross(f, omega)
        VV = add(cross(w.pB[p], z), cross(xd, f))
        kp = tree.kp[tree.pair_row[p] + k + r]
        if translation == ROLLING and r < 2:  # bind velocities only
            kp = 0.0
        set_shift_row(tree, w, p, i, j, k + r, cross(w.pB[p], y), y, VV, z, kp)


@kernel
def rod_partials(tree: Array, w: Array, p: int, i: int, j: int, k: int) -> None:
    """The row ``s = (d . xdd + xd . xd) / length``, with d = pB - pA and x the point pB as seen from the first body."""
    each = 1.0 / tree.pair_size[p]
    d = sub(w.pB[p], w.pA[p])
    omega = angular(w.nu)
    xd = point_velocity(w.nu, w.pB[p])
    xdd = point_acceleration(w.nu, w.eta, w.pB[p])
    y = add(add(xdd, cross(d, angular(w.eta))), cross(omega, cross(omega, d)))
    y = scale(each, add(y, scale(2.0, cross(xd, omega))))
    z = scale(each, add(scale(2.0, xd), cross(d, omega)))
    VV = add(cross(w.pB[p], z), scale(each, cross(xd, d)))
    set_shift_row(tree, w, p, i, j, k, cross(w.pB[p], y), y, VV, z, tree.kp[tree.pair_row[p] + k])


@kernel
def set_shift_row(
    tree: Array, w: Array, p: int, i: int, j: int, r: int, Pn: Vector, Pf: Vector, Vn: Vector, Vf: Vector, kp: Scalar
) -> None:
    """``W`` and ``Q`` of row ``r`` on both bodies, from ``PP = [Pn; Pf]`` and ``VV = [Vn; Vf]``."""
    kd = tree.kd[tree.pair_row[p] + r]
    K = w.Kc[tree.pair_second_k[p] + r]
    n = angular(K)
    f = linear(K)
    Xn, Xf = force_cross(w.V[i], n, f)
    Vn = add(Vn, Xn)
    Vf = add(Vf, Xf)
    Xn, Xf = force_cross(w.V[j], n, f)
    Wn = add(add(Vn, Xn), scale(kd, n))
    Wf = add(add(Vf, Xf), scale(kd, f))
    Xn, Xf = force_cross(w.V[j], Vn, Vf)
    Yn, Yf = force_cross(w.a2, n, f)
    Qn = add(add(Pn, scale(kp, n)), add(Xn, Yn))
    Qf = add(add(Pf, scale(kp, f)), add(Xf, Yf))
    set_on_both(tree, w, p, r, Wn, Wf, Qn, Qf)


@kernel
def force_cross(v: Array, n: Vector, f: Vector) -> tuple[Triple, Triple]:
    """``v x* [n; f]``."""
    omega = angular(v)
    return add(cross(omega, n), cross(linear(v), f)), cross(omega, f)
