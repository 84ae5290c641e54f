# SPDX-License-Identifier: BSD-3-Clause
"""Explicit constraints of clusters: dependent accelerations from independent ones.

**clusters** Sections II-B and IV. A cluster's rows ``K q'' = k`` (Eq. 2), split into dependent and independent columns,
are solved for the dependent accelerations, ``q'' = G y'' + g`` (Eq. 3), with weights ``W`` that make rows unitless,

    G = -(Kd' W Kd)^-1 Kd' W Ki        g = (Kd' W Kd)^-1 Kd' W k

also where rows are redundant. All accelerations are relative to the motion in which no joint accelerates (see `aba`).

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| Kc     | ``K``: a column for each joint, with the rows of its cluster, by fours            |
| WKc    | ``W K``: the same, times ``W``                                                    |
| Kr     | rows of a pair in the axes of its first body, at its point, four to a panel       |
| kc     | a number for each row of a cluster                                                |
| N      | ``Kd' W Kd``, then its factor                                                    |
| Gc, gc | ``G`` and ``g``                                                                  |
| pivot  | the least pivot of ``N``, relative to the trace of all ``K' W K``; and one over   |
|        | that of the cluster that was factorized last                                     |

Cost: cubic in the joints of a cluster, linear in the clusters.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import constraint_bias, constraint_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.constrained.rows import axis as unit_axis
from linkwork.kernels.constrained.rows import lever_arm
from linkwork.kernels.elementary import minimum
from linkwork.kernels.indexed_ldl import factorize_at, solve_at
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.panels import (
    ZERO,
    entries,
    line,
    minus_scaled,
    plus_products,
    plus_scaled,
    set_entries,
    set_line,
    sum_of,
)
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
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
from linkwork.kernels.tree.kinematics import angular_velocities, bias_accelerations, joint_transforms
from linkwork.kernels.tree.rnea import set_root_acceleration
from linkwork.model.joints import HELICAL
from linkwork.model.pairs import MEET, ROD, ROLLING
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.clusters import CLUSTER_TREE

EXPLICIT: dict[str, Shape] = {
    "Kc": ("nv", "nplaces"),
    "WKc": ("nv", "nplaces"),
    "Kr": (2, 6, 4),
    "kc": ("nplaces",),
    "N": ("nv", "nv"),
    "Gc": ("nv", "nv"),
    "gc": ("nv",),
    "pivot": (2,),
    "x": ("nv",),
    "y6": (6,),
}
"""Work arrays of explicit constraints."""


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
def product_of_columns(tree: Array, c: int, x: Array, y: Array) -> Scalar:
    """``x' y`` over the rows of a cluster."""
    z = ZERO
    for l in range(tree.row_lines[c]):
        z = plus_products(z, entries(x, 4 * l), entries(y, 4 * l))
    return sum_of(z)


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


@kernel
def explicit_constraints(tree: Array, w: Array) -> None:
    """``G`` and ``g`` of every cluster (Eq. 3), from its rows ``K`` and their right-hand sides ``k``."""
    cluster_jacobian(tree, w)
    w.pivot[0] = 1.0
    for c in range(tree.nclusters):
        factorize_normal_matrix(tree, w, c)
        explicit_jacobian(tree, w, c)
        explicit_bias(tree, w, c)


@kernel
def weigh_column(tree: Array, w: Array, c: int, k: int) -> None:
    """``WKc`` of a degree of freedom."""
    for l in range(tree.row_lines[c]):
        set_entries(plus_products(ZERO, entries(tree.place_weight[c], 4 * l), entries(w.Kc[k], 4 * l)), w.WKc[k], 4 * l)


@kernel
def factorize_normal_matrix(tree: Array, w: Array, c: int) -> None:
    """``N = Kd' W Kd`` of a cluster, factorized, and its least pivot."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    size = 0.0
    for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
        k = tree.ind_dof[f]
        weigh_column(tree, w, c, k)
        size = size + (tree.joint_unit[k] * tree.joint_unit[k]) * product_of_columns(tree, c, w.WKc[k], w.Kc[k])
    for a in range(n):
        j = tree.dep_dof[o + a]
        weigh_column(tree, w, c, j)
        for b in range(a + 1):
            k = tree.dep_dof[o + b]
            w.N[j, k] = product_of_columns(tree, c, w.WKc[j], w.Kc[k])
        size = size + (tree.joint_unit[j] * tree.joint_unit[j]) * w.N[j, j]
    factorize_at(tree.dep_dof, o, n, w.N)
    largest = 0.0  # of the inverse pivots; one that rounding made negative is zero
    for a in range(n):
        j = tree.dep_dof[o + a]
        x = w.N[j, j] * (1.0 / (tree.joint_unit[j] * tree.joint_unit[j]))
        x = where(x, 0.0, UNBOUNDED, x)
        largest = where(x, largest, largest, x)
    w.pivot[1] = largest * size
    if n > 0:
        w.pivot[0] = minimum(w.pivot[0], 1.0 / w.pivot[1])


@kernel
def explicit_jacobian(tree: Array, w: Array, c: int) -> None:
    """``G = -N^-1 Kd' W Ki`` of a cluster."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
        k = tree.ind_dof[f]
        for a in range(n):
            j = tree.dep_dof[o + a]
            w.x[j] = -product_of_columns(tree, c, w.WKc[j], w.Kc[k])
        solve_at(tree.dep_dof, o, n, w.N, w.x)
        for a in range(n):
            j = tree.dep_dof[o + a]
            w.Gc[j, k] = w.x[j]


@kernel
def explicit_bias(tree: Array, w: Array, c: int) -> None:
    """``g = N^-1 Kd' W k`` of a cluster."""
    solve_dependent(tree, w, c, w.k, w.gc)


@kernel
def solve_dependent(tree: Array, w: Array, c: int, k: Array, x: Array) -> None:
    """``x = N^-1 Kd' W k``: dependent coordinates of a cluster that make its rows ``k``, the others being zero."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    rows = tree.cluster_row_start[c]
    for l in range(tree.row_lines[c]):
        set_entries(ZERO, w.kc, 4 * l)
    for e in range(tree.cluster_row_count[c]):
        w.kc[e] = k[tree.cluster_row[rows + e]]
    for a in range(n):
        j = tree.dep_dof[o + a]
        x[j] = product_of_columns(tree, c, w.WKc[j], w.kc)
    solve_at(tree.dep_dof, o, n, w.N, x)


@kernel
def update_constraints(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``G`` and ``g`` at positions and velocities (Algorithm 1, line 11), the root accelerating against gravity."""
    joint_transforms(tree, w, q)
    angular_velocities(tree, w, v)
    constraint_rows(tree, w, q, w.error)
    set_root_acceleration(tree, w)
    bias_accelerations(tree, w)
    constraint_bias(tree, w, q, v)
    for r in range(tree.nc):
        w.k[r] = -w.beta[r]
    explicit_constraints(tree, w)


@kernel
def dependent_accelerations(tree: Array, w: Array, c: int, a: Array) -> None:
    """``q'' = G y'' + g`` (Eq. 3): dependent accelerations of a cluster from the independent ones."""
    for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
        j = tree.dep_dof[d]
        x = w.gc[j]
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            k = tree.ind_dof[f]
            x = x + w.Gc[j, k] * a[k]
        a[j] = x


@kernel
def cluster_multipliers(tree: Array, w: Array, c: int, tau_c: Array, multipliers: Array) -> None:
    """The least multipliers, without units, with ``K' lambda = tau_c`` on dependent joints; overwrites ``tau_c``."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    solve_at(tree.dep_dof, o, n, w.N, tau_c)
    for l in range(tree.row_lines[c]):
        x = ZERO
        for d in range(o, o + n):
            x = plus_scaled(x, tau_c[tree.dep_dof[d]], entries(w.WKc[tree.dep_dof[d]], 4 * l))
        set_entries(x, w.kc, 4 * l)
    for e in range(tree.cluster_row_count[c]):
        multipliers[tree.cluster_row[tree.cluster_row_start[c] + e]] = w.kc[e]


@kernel
def cluster_residuals(tree: Array, w: Array, c: int, qdd: Array, residual: Array) -> None:
    """``k - K q''``: the residual of the rows of a cluster."""
    motion_of_rows(tree, w, c, qdd)
    for e in range(tree.cluster_row_count[c]):
        r = tree.cluster_row[tree.cluster_row_start[c] + e]
        residual[r] = w.k[r] - w.kc[e]


@kernel
def motion_of_rows(tree: Array, w: Array, c: int, v: Array) -> None:
    """``kc = K v`` of a cluster."""
    for l in range(tree.row_lines[c]):
        x = ZERO
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            x = plus_scaled(x, v[tree.dep_dof[d]], entries(w.Kc[tree.dep_dof[d]], 4 * l))
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            x = plus_scaled(x, v[tree.ind_dof[f]], entries(w.Kc[tree.ind_dof[f]], 4 * l))
        set_entries(x, w.kc, 4 * l)


@kernel
def explicit_form(tree: Array, w: Array, q: Array, v: Array, G: Array, g: Array, pivot: Array) -> None:
    """``q'' = G y'' + g`` of the whole tree (Eq. 3), independent coordinates in their order."""
    update_constraints(tree, w, q, v)
    gather_jacobian(tree, w, G)
    gather_bias(tree, w, g)
    pivot[0] = w.pivot[0]


@kernel
def gather_jacobian(tree: Array, w: Array, G: Array) -> None:
    """``G`` of the whole tree, of those of its clusters; independent coordinates in their order."""
    for k in range(tree.nv):
        for f in range(tree.nind):
            G[k, f] = 0.0
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            k = tree.ind_dof[f]
            G[k, tree.ind_column[f]] = 1.0
            for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                G[tree.dep_dof[d], tree.ind_column[f]] = w.Gc[tree.dep_dof[d], k]


@kernel
def gather_bias(tree: Array, w: Array, g: Array) -> None:
    """``g`` of the whole tree: that of its dependent coordinates, zero elsewhere."""
    for k in range(tree.nv):
        g[k] = 0.0
    for d in range(tree.ndep):
        g[tree.dep_dof[d]] = w.gc[tree.dep_dof[d]]


@kernel
def closing_step(tree: Array, w: Array, q: Array, step: Array, error: Array, pivot: Array) -> None:
    """The step of the dependent coordinates that closes loops to first order, the independent ones being held."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    for r in range(tree.nc):
        w.k[r] = -error[r]
    explicit_constraints(tree, w)
    gather_bias(tree, w, step)
    pivot[0] = w.pivot[0]


EXPLICIT_FORM = Algorithm(
    "explicit_form",
    explicit_form,
    {"q": ("nq",), "v": ("nv",)},
    {"G": ("nv", "nind"), "g": ("nv",), "pivot": (1,)},
    WORK | EXPLICIT,
    CLUSTER_TREE,
)
CLOSING_STEP = Algorithm(
    "closing_step",
    closing_step,
    {"q": ("nq",)},
    {"step": ("nv",), "error": ("nc",), "pivot": (1,)},
    WORK | EXPLICIT,
    CLUSTER_TREE,
)
