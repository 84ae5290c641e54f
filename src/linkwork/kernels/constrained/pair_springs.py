# SPDX-License-Identifier: BSD-3-Clause
"""Springs of pairs in closed form: inertias, forces and residuals of rows that share one penalty, without rows of K.

Three rows that hold a point are a mass ``mu`` there, three that hold an orientation a rotational inertia: ``mu K' K``
of **loops** Eq. 25 for welds, points, the translations of hinges and the rotations of sliders.

| symbol     | meaning                                                                              |
|------------|--------------------------------------------------------------------------------------|
| H, Hij     | inertia of a link, coupling inertia of two, as in `lcaba`                            |
| mu         | penalty of each row                                                                  |
| G, F       | of a pair, as in `constraint_rows`: rotation of the second body, and of A            |
| c, e       | quaternion of B in A (``orientation``)                                               |
| X          | scratch: the coupling of a pair, rows of its first body                              |

Cost: a fixed number of operations for each pair.
"""

from __future__ import annotations

from linkwork.kernels.constrained.rows import orientation_vector
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import add, add_to, angular, cross, linear, rotate, rotate_inverse, scale, sub


@kernel
def add_pair_inertias(tree: Array, w: Array, p: int) -> None:
    """``mu K' K`` of a pair in closed form, where rows of rotation share one penalty, and rows of translation another.

    Three rows that hold a point are a mass ``mu`` there, three that hold an orientation e a rotational inertia
    ``mu (1 - e e')``: with ``N = c 1 - [e]x``, ``N' N = 1 - e e'``. The coupling is minus the part of the first body of
    both where the second one moves: it has the first body's rows and the second one's columns, rotated by G.
    """
    a = tree.pair_first[p]
    b = tree.pair_second[p]
    i = tree.frame_body[a]
    j = tree.frame_body[b]
    r = tree.pair_row[p]
    coupling = tree.pair_coupling[p]
    if coupling >= 0:
        for m in range(6):
            for k in range(6):
                w.X[m, k] = 0.0
    if tree.closed_rotation[p] != 0:
        mu = w.mu[r]
        e = orientation_vector(w, p)
        there = rotate(tree.pair_closed[p], e)  # the same axis, in the second body
        if i > 0:
            add_rotational_spring(mu, e, w.H[i])
        if j > 0:
            add_rotational_spring(mu, there, w.H[j])
        if coupling >= 0:
            for m in range(3):
                for k in range(3):
                    w.X[m, k] = mu * (e[m] * there[k] - w.G[p, m, k])
    if tree.closed_translation[p] != 0:
        mu = w.mu[r + tree.closed_start[p]]
        if i > 0:
            add_point_mass(mu, tree.pair_lever[p], w.H[i])
        if j > 0:
            add_point_mass(mu, tree.frame_position[b], w.H[j])
        if coupling >= 0:
            add_point_coupling(mu, w.G[p], tree.pair_lever[p], tree.frame_position[b], w.X)
    if coupling >= 0:
        C = w.Hij[coupling]
        for m in range(6):
            for k in range(6):
                if tree.pair_coupling_transposed[p] != 0:
                    C[k, m] += w.X[m, k]
                else:
                    C[m, k] += w.X[m, k]


@kernel
def add_rotational_spring(mu: Scalar, e: Vector, H: Array) -> None:
    """``H = H + mu (1 - e e')``, in the angular block (upper triangle)."""
    for m in range(3):
        y = mu * e[m]
        for k in range(m, 3):
            H[m, k] -= y * e[k]
        H[m, m] += mu


@kernel
def add_point_mass(mu: Scalar, x: Vector, H: Array) -> None:
    """Add the spatial inertia of a mass ``mu`` at ``x`` (upper triangle)."""
    y = scale(mu, x)
    H[0, 0] += y[1] * x[1] + y[2] * x[2]
    H[1, 1] += y[0] * x[0] + y[2] * x[2]
    H[2, 2] += y[0] * x[0] + y[1] * x[1]
    H[0, 1] -= y[0] * x[1]
    H[0, 2] -= y[0] * x[2]
    H[1, 2] -= y[1] * x[2]
    H[0, 4] -= y[2]
    H[0, 5] += y[1]
    H[1, 3] += y[2]
    H[1, 5] -= y[0]
    H[2, 3] -= y[1]
    H[2, 4] += y[0]
    for k in range(3, 6):
        H[k, k] += mu


@kernel
def add_point_coupling(mu: Scalar, G: Array, x: Vector, y: Vector, C: Array) -> None:
    """Add to ``C``, which has no forces yet, those on a body at ``x`` where the other accelerates at ``y``.

    ``C = C - mu [[x]x; 1] G [-[y]x, 1]``.
    """
    for m in range(3):
        row = (mu * G[m, 0], mu * G[m, 1], mu * G[m, 2])
        moment = cross(row, y)  # row [y]x
        for k in range(3):
            C[3 + m, k] += moment[k]
            C[3 + m, 3 + k] -= row[k]
    for k in range(6):
        moment = cross(x, (C[3, k], C[4, k], C[5, k]))
        C[0, k] += moment[0]
        C[1, k] += moment[1]
        C[2, k] += moment[2]


@kernel
def apply_pair_force(tree: Array, w: Array, p: int, forces: Array) -> None:
    """``f -= K' lambda`` of a pair in closed form: a moment ``N' lambda`` and a force, opposite on the two bodies."""
    a = tree.pair_first[p]
    b = tree.pair_second[p]
    i = tree.frame_body[a]
    j = tree.frame_body[b]
    r = tree.pair_row[p]
    F = tree.pair_frame[p]
    moment = (0.0, 0.0, 0.0)
    force = (0.0, 0.0, 0.0)
    if tree.closed_rotation[p] != 0:
        x = rotate(F, (forces[r], forces[r + 1], forces[r + 2]))
        moment = add(scale(w.orientation[p, 0], x), cross(orientation_vector(w, p), x))
    if tree.closed_translation[p] != 0:
        o = r + tree.closed_start[p]
        force = rotate(F, (forces[o], forces[o + 1], forces[o + 2]))
    if i > 0:
        add_to(add(moment, cross(tree.pair_lever[p], force)), force, w.f[i])
    if j > 0:
        there = scale(-1.0, rotate_inverse(w.G[p], force))
        back = scale(-1.0, rotate_inverse(w.G[p], moment))
        add_to(add(back, cross(tree.frame_position[b], there)), there, w.f[j])


@kernel
def pair_residual(tree: Array, w: Array, p: int, residual: Array) -> None:
    """``residual -= K a`` of the rows of a pair that are in closed form."""
    A = w.a[tree.frame_body[tree.pair_first[p]]]
    B = w.a[tree.frame_body[tree.pair_second[p]]]
    subtract_pair_motion(tree, w, p, (angular(A), linear(A)), (angular(B), linear(B)), residual)


@kernel
def subtract_pair_motion(
    tree: Array, w: Array, p: int, A: tuple[Vector, Vector], B: tuple[Vector, Vector], rows: Array
) -> None:
    """``rows -= K a`` of a pair in closed form: the motion of B less that of A, in the axes of A.

    ``A`` and ``B`` are accelerations of the two bodies, or velocities: angular and linear.
    """
    first = tree.pair_row[p]
    F = tree.pair_frame[p]
    if tree.closed_rotation[p] != 0:
        x = sub(rotate(w.G[p], B[0]), A[0])
        x = add(scale(w.orientation[p, 0], x), cross(x, orientation_vector(w, p)))
        subtract_at(rotate_inverse(F, x), rows, first)
    if tree.closed_translation[p] != 0:
        x = rotate(w.G[p], add(B[1], cross(B[0], tree.frame_position[tree.pair_second[p]])))
        x = sub(x, add(A[1], cross(A[0], tree.pair_lever[p])))
        subtract_at(rotate_inverse(F, x), rows, first + tree.closed_start[p])


@kernel
def subtract_at(x: Vector, y: Array, o: int) -> None:
    """``y[o : o + 3] -= x``."""
    y[o] -= x[0]
    y[o + 1] -= x[1]
    y[o + 2] -= x[2]
