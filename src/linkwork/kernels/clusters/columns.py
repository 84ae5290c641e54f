# SPDX-License-Identifier: BSD-3-Clause
"""Rows of clusters on their joints: the Jacobian ``K`` of Eq. 2 of **clusters**, column by column.

Motion subspaces of the joints of a loop are taken to the point of its pair, in the axes of the pair's first body; up to
four rows share a product. Rows that are not of pairs go from body to body as forces.

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| Kc     | ``K``: a column for each joint, with the rows of its cluster, by fours            |
| Kr     | rows of a pair in the axes of its first body, at its point, four to a panel       |
| y6     | scratch: a force                                                                  |

Cost: linear in the joints of each loop.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.rows import axis as unit_axis
from linkwork.kernels.constrained.rows import lever_arm
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.panels import ZERO, entries, line, minus_scaled, plus_scaled, set_entries, set_line
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    column,
    cross,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    sub,
)
from linkwork.model.joints import HELICAL
from linkwork.model.pairs import MEET, ROD, ROLLING

COLUMNS: dict[str, Shape] = {"Kc": ("nv", "nplaces"), "Kr": (2, 6, 4), "y6": (6,)}
"""Work arrays of the columns."""


@kernel
def cluster_jacobian(tree: Array, w: Array) -> None:
    """``Kc``: rows on the joints of their clusters."""
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            clear_column(tree, w, c, tree.ind_dof[f])
        for f in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            clear_column(tree, w, c, tree.dep_dof[f])
    for t in range(tree.nterms):
        r = tree.term_row[t]
        if tree.row_cluster[r] >= 0:
            w.Kc[tree.term_v[t], tree.row_place[r]] += w.dphi[t]
    for e in range(tree.ncluster_k):
        propagate_row(tree, w, tree.cluster_k[e])
    for e in range(tree.ncluster_pairs):
        p = tree.cluster_pair[e]
        rows_of_pair(tree, w, p)
        pair_columns(tree, w, p, 0, tree.pair_first_pose[p])
        pair_columns(tree, w, p, 1, tree.pair_second_pose[p])


@kernel
def clear_column(tree: Array, w: Array, c: int, k: int) -> None:
    """``Kc`` of a degree of freedom is zero."""
    for l in range(tree.row_lines[c]):
        set_entries(ZERO, w.Kc[k], 4 * l)


@kernel
def propagate_row(tree: Array, w: Array, m: int) -> None:
    """Row ``m`` of K on the joints of its cluster, from body to body as a force."""
    r = tree.k_row[m]
    i = tree.k_body[m]
    c = tree.row_cluster[r]
    set_angular(angular(w.K[m]), w.y6)
    set_linear(linear(w.K[m]), w.y6)
    while tree.body_cluster[i] == c:
        for k in range(dof_of(tree.kind[i])):
            w.Kc[tree.iv[i] + k, tree.row_place[r]] += generalized_force(tree, i, k, w.y6)
        shift_force_to_parent(tree, w, i, w.y6)
        i = tree.parent[i]


@kernel
def rows_of_pair(tree: Array, w: Array, p: int) -> None:
    """``Kr``: rows of a pair in panels, in the axes of its first body: moments of rows of rotation, forces of others.

    Forces act at the point of the pair; rows of rolling have a moment about it, too.
    """
    for l in range(tree.pair_panels[p]):
        for j in range(6):
            set_line(ZERO, w.Kr[l], j)
    for k in range(tree.pair_rows[p]):
        K = w.K[tree.pair_first_k[p] + k]
        Kr = w.Kr[k // 4]
        place = tree.row_place[tree.pair_row[p] + k] - tree.pair_place[p, k // 4]
        if k < tree.pair_turn_rows[p]:
            for j in range(3):
                Kr[j, place] = -K[j]
        else:
            for j in range(3):
                Kr[3 + j, place] = -K[3 + j]
        if tree.pair_translation[p] == ROLLING:
            n = sub(cross(pair_point(tree, w, p, 0), linear(K)), angular(K))
            for j in range(3):
                Kr[j, place] = n[j]


@kernel
def pair_point(tree: Array, w: Array, p: int, second: int) -> tuple[Scalar, Scalar, Scalar]:
    """The point where forces of a pair act on its first or ``second`` body, in the first one's axes.

    They are apart by the gap where the lever arm of the first body's rows does not depend on the state.
    """
    x = lever_arm(tree, w, p)
    if second != 0 and (tree.pair_translation[p] == MEET or tree.pair_translation[p] == ROD):
        x = add(x, w.d[p])
    if tree.pair_turned[p] != 0:
        x = rotate(tree.pair_axes[p], x)
    return x


@kernel
def pair_columns(tree: Array, w: Array, p: int, second: int, s: int) -> None:
    """Rows of a pair on the joints between its first or ``second`` body, with pose ``s``, and the root of its loops.

    Motion subspaces are taken to the pair: up to four rows share a product.
    """
    c = tree.row_cluster[tree.pair_row[p]]
    first = tree.pair_first_pose[p]
    point = pair_point(tree, w, p, second)
    while tree.body_cluster[tree.pose_body[s]] == c:
        i = tree.pose_body[s]
        for k in range(dof_of(tree.kind[i])):
            j = axis_of(tree.kind[i], k)
            Kc = w.Kc[tree.iv[i] + k]
            axis = unit_axis(j % 3)
            at = scale(-1.0, point)
            if s != first:
                axis = rotate_inverse(w.E[first], column(w.E[s], j % 3))
                at = sub(rotate_inverse(w.E[first], sub(w.o[s], w.o[first])), point)
            if j < 3:
                motion = cross(at, axis)
                if tree.kind[i] == HELICAL:
                    motion = add(motion, scale(tree.pitch[i], axis))
                add_products(tree, w, p, second, axis, 0, Kc)
                add_products(tree, w, p, second, motion, 3, Kc)
            else:
                add_products(tree, w, p, second, axis, 3, Kc)
        s = tree.pose_parent[s]


@kernel
def add_products(tree: Array, w: Array, p: int, second: int, x: Vector, o: int, Kc: Array) -> None:
    """``Kc += Kr x``, or minus it, ``x`` being the angular (``o = 0``) or linear part of a motion."""
    for l in range(tree.pair_panels[p]):
        Kr = w.Kr[l]
        y = entries(Kc, tree.pair_place[p, l])
        if second != 0:
            z = plus_scaled(plus_scaled(y, x[0], line(Kr, o)), x[1], line(Kr, o + 1))
            set_entries(plus_scaled(z, x[2], line(Kr, o + 2)), Kc, tree.pair_place[p, l])
        else:
            z = minus_scaled(minus_scaled(y, x[0], line(Kr, o)), x[1], line(Kr, o + 1))
            set_entries(minus_scaled(z, x[2], line(Kr, o + 2)), Kc, tree.pair_place[p, l])


@kernel
def generalized_force(tree: Array, i: int, k: int, force: Array) -> Scalar:
    """``S' f``: the component of a force on body ``i`` along degree of freedom ``k`` of its joint."""
    x = force[axis_of(tree.kind[i], k)]
    if tree.kind[i] == HELICAL:
        x = x + tree.pitch[i] * force[5]
    return x


@kernel
def shift_force_to_parent(tree: Array, w: Array, i: int, force: Array) -> None:
    """A force on body ``i`` as one on its parent, in place."""
    f = rotate_to_parent(tree, w, i, linear(force))
    n = rotate_to_parent(tree, w, i, angular(force))
    set_angular(add(n, cross(w.r[i], f)), force)
    set_linear(f, force)
