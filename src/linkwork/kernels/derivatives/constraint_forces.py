# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of the torques of constraint forces, ``J' f`` with ``f`` held, by configuration.

A constraint acts on each of its bodies with a wrench, a sum of ``f K`` over its rows. Derivatives of the torques of a
wrench that is constant in its body's axes are part of those of inverse dynamics (`rnea_derivatives`, as for external
wrenches); this file adds the change of wrenches in the axes of their bodies. For a pair of frames it depends on the
relative displacement x of the two bodies alone::

    y1 = -DF[x]        y2 = DF[x] - x x* F         F: wrench on the second body, DF: its change as seen from the first

so that joint k before the second body has ``S_k . y2``, before the first ``S_k . y1``, and one before both their sum.

| symbol      | meaning                                                                  |
|-------------|--------------------------------------------------------------------------|
| y1, y2      | change of the wrenches on the first and the second body                  |
| Ye          | change of the wrench on each end of constraints, by each column           |
| turn_moment | moment of the rows about axes                                            |
| shift_force | force of the other rows, and their moment about pB                       |
| t, u        | rotation and translation of a displacement                               |

Symbols of pairs are those of `derivatives.pairs`. Cost: O(d²) for each constraint, with d the joints that support it.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.rows import orientation_vector
from linkwork.kernels.derivatives.pairs import along, tilt_error
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    cross,
    dot,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    sub,
    subtract_scaled,
)
from linkwork.kernels.tree.inertia_columns import spatial_dot
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, MEET, NO_TURN, ON_LINE, ON_PLANE, ROD

FORCE_PARTIALS: dict[str, Shape] = {"y1": (6,), "y2": (6,), "y12": (6,)}


@kernel
def apply_constraint_wrenches(tree: Array, w: Array, multipliers: Array) -> None:
    """``F_i = F_i - f K``: constraint forces on bodies, as external wrenches."""
    for m in range(tree.nk):
        i = tree.k_body[m]
        if i > 0:
            subtract_scaled(multipliers[tree.k_row[m]], w.Kc[m], w.F[i])


@kernel
def wrench_derivatives(tree: Array, w: Array, multipliers: Array, dr_dq: Array) -> None:
    """Subtract the derivatives of torques by changes of the wrenches on bodies, after `pair_frames`."""
    for p in range(tree.npairs):
        first = tree.frame_body[tree.pair_first[p]]
        second = tree.frame_body[tree.pair_second[p]]
        pair_columns(tree, w, p, first, second, multipliers, dr_dq)
    for t in range(tree.ncom):
        x, f = center_wrench(tree, w, t, multipliers)
        constant_wrench_derivatives(tree, w, tree.com_body[t], x, tree.com_mass[t], (0.0, 0.0, 0.0), f, dr_dq)
    for t in range(tree.ncombinations):
        if tree.combination_aligned[t] != 0:
            at, n, f = combination_wrench(tree, w, t, multipliers)
            body = tree.frame_body[tree.combination_frame[t]]
            constant_wrench_derivatives(tree, w, body, at, 1.0, n, f, dr_dq)


# Columns of forces between two bodies -----------------------------------------------------------------


def columns_between(set_changes: Callable[..., None]) -> Callable[..., None]:
    """A kernel that subtracts the derivatives by wrenches between two bodies, of a pair or a segment of a tendon.

    ``set_changes(tree, w, p, multipliers, t, u)`` sets ``y1, y2`` of number ``p`` for a relative displacement.
    """

    @kernel
    def columns(tree: Array, w: Array, p: int, first: int, second: int, multipliers: Array, dr_dq: Array) -> None:
        """The columns of all joints between the two bodies and their nearest common ancestor."""
        root = common_body(tree, first, second)
        i = second
        while i != root:
            for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                set_changes(tree, w, p, multipliers, angular(w.S[j]), linear(w.S[j]))
                subtract_column(tree, w, first, second, root, j, dr_dq)
            i = tree.parent[i]
        i = first
        while i != root:
            for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                set_changes(tree, w, p, multipliers, scale(-1.0, angular(w.S[j])), scale(-1.0, linear(w.S[j])))
                subtract_column(tree, w, first, second, root, j, dr_dq)
            i = tree.parent[i]

    return columns


@kernel
def common_body(tree: Array, i: int, j: int) -> int:
    """The nearest common ancestor of two bodies."""
    while i != j:
        if i > j:
            i = tree.parent[i]
        else:
            j = tree.parent[j]
    return i


@kernel
def subtract_column(tree: Array, w: Array, first: int, second: int, root: int, j: int, dr_dq: Array) -> None:
    """``dr_dq[k, j] -= S_k . y`` for all joints before the two bodies."""
    subtract_products(tree, w, second, root, w.y2, j, dr_dq)
    subtract_products(tree, w, first, root, w.y1, j, dr_dq)
    if root != 0:
        for c in range(6):
            w.y12[c] = w.y1[c] + w.y2[c]
        subtract_products(tree, w, root, 0, w.y12, j, dr_dq)


@kernel
def subtract_products(tree: Array, w: Array, i: int, root: int, y: Array, j: int, dr_dq: Array) -> None:
    """``dr_dq[k, j] -= S_k . y`` for the joints between body ``i`` and ``root``."""
    while i != root:
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            dr_dq[k, j] -= spatial_dot(w.S[k], y)
        i = tree.parent[i]


@kernel
def clear_changes(w: Array) -> None:
    """``y1 = y2 = 0``."""
    for c in range(6):
        w.y1[c] = 0.0
        w.y2[c] = 0.0


@kernel
def subtract_first_change(w: Array, Dn: Vector, Df: Vector) -> None:
    """``y1 = y1 - DF``, with ``DF = [Dn; Df]``."""
    set_angular(sub(angular(w.y1), Dn), w.y1)
    set_linear(sub(linear(w.y1), Df), w.y1)


@kernel
def add_second_change(w: Array, n: Vector, f: Vector, Dn: Vector, Df: Vector, t: Vector, u: Vector) -> None:
    """``y2 = y2 + DF - x x* F``, with ``F = [n; f]`` and the displacement ``x = [t; u]``."""
    xn = add(cross(t, n), cross(u, f))
    set_angular(add(angular(w.y2), sub(Dn, xn)), w.y2)
    set_linear(add(linear(w.y2), sub(Df, cross(t, f))), w.y2)


# Pairs of frames --------------------------------------------------------------------------------------


@kernel
def set_wrench_changes(tree: Array, w: Array, p: int, multipliers: Array, t: Vector, u: Vector) -> None:
    """``y1, y2`` of a pair for a relative displacement of the second body, a rotation ``t`` and a translation ``u``."""
    rotation = tree.pair_rotation[p]
    clear_changes(w)
    k = 0
    if rotation != ANY_TURN:
        k = 3 if rotation == NO_TURN else (2 if rotation == ABOUT_Z else 1)
        moment = (0.0, 0.0, 0.0)
        for r in range(k):
            row = tree.pair_row[p] + r
            moment = add(moment, scale(multipliers[row], angular(w.Kc[tree.pair_second_k[p] + r])))
        change = moment_change(tree, w, p, multipliers, t)
        set_angular(scale(-1.0, change), w.y1)
        set_angular(sub(change, cross(t, moment)), w.y2)
    if tree.pair_translation[p] != ANY_SHIFT:
        add_shift_changes(tree, w, p, k, multipliers, t, u)


@kernel
def moment_change(tree: Array, w: Array, p: int, multipliers: Array, t: Vector) -> Triple:
    """Change of the moment of rows about axes along the rotation ``t``, as seen from the first body."""
    o = tree.pair_row[p]
    B = w.B[p]
    if tree.pair_rotation[p] == NO_TURN:  # of c f + b x f
        b = rotate(B, rotate_inverse(tree.pair_frame[p], orientation_vector(w, p)))
        f = rotate(B, (multipliers[o], multipliers[o + 1], multipliers[o + 2]))
        x = sub(scale(dot(t, f), b), add(scale(dot(b, f), t), scale(dot(t, b), f)))
        return scale(0.5, add(scale(w.orientation[p, 0], cross(t, f)), x))
    b = orientation_vector(w, p)
    bt = cross(rotate_inverse(B, t), b)
    change = (0.0, 0.0, 0.0)
    for r in range(2 if tree.pair_rotation[p] == ABOUT_Z else 1):  # of b x g
        k, h, h1, h2, _ = tilt_error(tree, p, r, b)
        g = along(k, h, h1 * b[k])
        H_bt = along(k, h1 * bt[2], h1 * bt[k] + h2 * (b[k] * bt[2]))
        change = add(change, scale(multipliers[o + r], add(cross(bt, g), cross(b, H_bt))))
    return rotate(B, change)


@kernel
def add_shift_changes(tree: Array, w: Array, p: int, start: int, multipliers: Array, t: Vector, u: Vector) -> None:
    """Adds the parts of the rows after ``start`` to ``y1, y2``."""
    translation = tree.pair_translation[p]
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    rows = 2 if translation == ON_LINE else (1 if translation == ON_PLANE or translation == ROD else 3)
    for r in range(rows):
        K = w.Kc[tree.pair_second_k[p] + start + r]
        x = multipliers[tree.pair_row[p] + start + r]
        n = add(n, scale(x, angular(K)))
        f = add(f, scale(x, linear(K)))
    moved = add(u, cross(t, w.pB[p]))
    change = (0.0, 0.0, 0.0)
    if translation == ROD:
        change = scale(multipliers[tree.pair_row[p] + start] * (1.0 / tree.pair_size[p]), moved)
        turned = cross(w.pA[p], change)
    else:
        turned = cross(moved, f)
    add_second_change(w, n, f, turned, change, t, u)
    if translation != MEET:
        subtract_first_change(w, turned, change)


pair_columns = columns_between(set_wrench_changes)


# Centers of mass and linear combinations --------------------------------------------------------------


@kernel
def center_wrench(tree: Array, w: Array, t: int, multipliers: Array) -> tuple[Triple, Triple]:
    """``x, f`` of one body of a center of mass: its wrench ``[x x f; m f]`` has a constant direction f in the world."""
    body = tree.com_body[t]
    f = (0.0, 0.0, 0.0)
    for k in range(tree.com_nrows[t]):
        f = add(f, scale(multipliers[tree.com_row[t] + k], rotate(w.Ec[0], tree.com_axes[t, k])))
    return add(scale(tree.com_mass[t], w.oc[body]), rotate(w.Ec[body], tree.com_mc[t])), f


@kernel
def combination_wrench(tree: Array, w: Array, t: int, multipliers: Array) -> tuple[Triple, Triple, Triple]:
    """Point, moment and force of one row of a linear combination, both with constant directions in the world."""
    frame = tree.combination_frame[t]
    body = tree.frame_body[frame]
    c = multipliers[tree.combination_row[t]]
    x = tree.combination[t]
    n = scale(c, rotate(w.Ec[0], (x[0], x[1], x[2])))
    f = scale(c, rotate(w.Ec[0], (x[3], x[4], x[5])))
    return add(w.oc[body], rotate(w.Ec[body], tree.frame_position[frame])), n, f


@kernel
def constant_wrench_derivatives(
    tree: Array, w: Array, body: int, x: Vector, m: Scalar, n: Vector, f: Vector, dr_dq: Array
) -> None:
    """Columns of the wrench ``[n + x x f; m f]`` with n, f constant."""
    i = body
    while i > 0:
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            set_constant_wrench_change(w, x, m, n, f, angular(w.S[j]))
            subtract_products(tree, w, body, 0, w.y2, j, dr_dq)
        i = tree.parent[i]


@kernel
def set_constant_wrench_change(w: Array, x: Vector, m: Scalar, n: Vector, f: Vector, t: Vector) -> None:
    """``y2`` of this wrench for a rotation ``t``: as seen from the body, n and f turn the other way."""
    tf = cross(t, f)
    set_angular(scale(-1.0, add(cross(x, tf), cross(t, n))), w.y2)
    set_linear(scale(-m, tf), w.y2)


# Changes of wrenches by each column ---------------------------------------------------------------------


@kernel
def wrench_changes(tree: Array, w: Array, multipliers: Array) -> None:
    """``Ye``: how wrenches on the ends of constraints change by each degree of freedom, after `pair_frames`."""
    for e in range(tree.nends):
        for c in range(6):
            for j in range(tree.ncolumns):
                w.Ye[e, c, j] = 0.0
    for p in range(tree.npairs):
        first = tree.frame_body[tree.pair_first[p]]
        second = tree.frame_body[tree.pair_second[p]]
        root = common_body(tree, first, second)
        pair_wrench_changes(tree, w, p, multipliers, second, root, 1.0)
        pair_wrench_changes(tree, w, p, multipliers, first, root, -1.0)
    for t in range(tree.ncom):
        x, f = center_wrench(tree, w, t, multipliers)
        body = tree.com_body[t]
        constant_wrench_changes(tree, w, tree.com_end[t], body, x, tree.com_mass[t], (0.0, 0.0, 0.0), f)
    for t in range(tree.ncombinations):
        if tree.combination_aligned[t] != 0:
            at, n, f = combination_wrench(tree, w, t, multipliers)
            body = tree.frame_body[tree.combination_frame[t]]
            constant_wrench_changes(tree, w, tree.combination_end[t], body, at, 1.0, n, f)


@kernel
def pair_wrench_changes(tree: Array, w: Array, p: int, multipliers: Array, body: int, root: int, side: Scalar) -> None:
    """``Ye`` of a pair by the joints from ``root`` to ``body``; ``side`` is 1 for its second body, -1 for its first."""
    i = body
    while i != root:
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            set_wrench_changes(tree, w, p, multipliers, scale(side, angular(w.S[j])), scale(side, linear(w.S[j])))
            add_change(w, tree.pair_first_end[p], j, w.y1)
            add_change(w, tree.pair_second_end[p], j, w.y2)
        i = tree.parent[i]


@kernel
def constant_wrench_changes(
    tree: Array, w: Array, e: int, body: int, x: Vector, m: Scalar, n: Vector, f: Vector
) -> None:
    """``Ye`` of the wrench ``[n + x x f; m f]`` on end ``e`` with n, f constant, by the joints before its body."""
    i = body
    while i > 0:
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            set_constant_wrench_change(w, x, m, n, f, angular(w.S[j]))
            add_change(w, e, j, w.y2)
        i = tree.parent[i]


@kernel
def add_change(w: Array, e: int, j: int, y: Array) -> None:
    """Add ``y`` to the change of the wrench on end ``e`` by column ``j``; there is none on the world, -1."""
    if e >= 0:
        for c in range(6):
            w.Ye[e, c, j] += y[c]
