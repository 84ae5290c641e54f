# SPDX-License-Identifier: BSD-3-Clause
"""Explicit constraints of clusters: dependent accelerations from independent ones.

**clusters** Sections II-B and IV. A cluster's rows ``K q'' = k`` (Eq. 2), split into dependent and independent columns,
are solved for the dependent accelerations, ``q'' = G y'' + g`` (Eq. 3), with weights ``W`` that make rows unitless,

    G = -(Kd' W Kd)^-1 Kd' W Ki        g = (Kd' W Kd)^-1 Kd' W k

also where rows are redundant. All accelerations are relative to the motion in which no joint accelerates (see `aba`).

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| WKc    | ``W K``, as ``K``                                                                |
| kc, yd | a number for each row, and each dependent joint, of a cluster                    |
| N      | ``Kd' W Kd``, then its factor: a row for each dependent joint, by fours          |
| Gd     | ``G`` and ``g`` of a cluster, a row for each dependent joint, by fours           |
| Gc, gc | ``G`` and ``g``, by degrees of freedom                                           |
| pivot  | the least pivot of ``N``, relative to the trace of all ``K' W K``; and one over   |
|        | that of the cluster that was factorized last                                     |

and those of `columns`. Cost: cubic in the joints of a cluster, linear in the clusters.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.columns import COLUMNS, cluster_jacobian
from linkwork.kernels.constrained.constraints import constraint_bias, constraint_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.elementary import minimum
from linkwork.kernels.line_ldl import factorize_by_lines, solve_by_lines, solve_one_by_lines
from linkwork.kernels.panels import (
    ZERO,
    entries,
    plus_products,
    plus_scaled,
    set_entries,
    sum_of,
)
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.tree.kinematics import angular_velocities, bias_accelerations, joint_transforms
from linkwork.kernels.tree.rnea import set_root_acceleration
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.clusters import CLUSTER_TREE

EXPLICIT: dict[str, Shape] = COLUMNS | {
    "WKc": ("nv", "nplaces"),
    "kc": ("nplaces",),
    "N": ("ndep", "ndep_places"),
    "yd": ("ndep_places",),
    "Gd": ("ndep", "nind_places"),
    "Gc": ("nv", "nv"),
    "gc": ("nv",),
    "pivot": (2,),
    "x": ("nv",),
}
"""Work arrays of explicit constraints."""


@kernel
def product_of_columns(tree: Array, c: int, x: Array, y: Array) -> Scalar:
    """``x' y`` over the rows of a cluster."""
    z = ZERO
    for l in range(tree.row_lines[c]):
        z = plus_products(z, entries(x, 4 * l), entries(y, 4 * l))
    return sum_of(z)


@kernel
def explicit_constraints(tree: Array, w: Array) -> None:
    """``G`` and ``g`` of every cluster (Eq. 3), from its rows ``K`` and their right-hand sides ``k``."""
    cluster_jacobian(tree, w)
    w.pivot[0] = 1.0
    for c in range(tree.nclusters):
        factorize_normal_matrix(tree, w, c)
        explicit_jacobian(tree, w, c, 1)


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
        for l in range(a // 4, (n + 3) // 4):
            b = 4 * l
            x = (
                normal_entry(tree, w, c, a, b),
                normal_entry(tree, w, c, a, b + 1),
                normal_entry(tree, w, c, a, b + 2),
                normal_entry(tree, w, c, a, b + 3),
            )
            set_entries(x, w.N[o + a], b)
        size = size + (tree.joint_unit[j] * tree.joint_unit[j]) * w.N[o + a, a]
    factorize_by_lines(o, n, w.N, w.yd)
    largest = 0.0  # of the inverse pivots; one that rounding made negative is zero
    for a in range(n):
        j = tree.dep_dof[o + a]
        x = w.N[o + a, a] * (1.0 / (tree.joint_unit[j] * tree.joint_unit[j]))
        x = where(x, 0.0, UNBOUNDED, x)
        largest = where(x, largest, largest, x)
    w.pivot[1] = largest * size
    if n > 0:
        w.pivot[0] = minimum(w.pivot[0], 1.0 / w.pivot[1])


@kernel
def normal_entry(tree: Array, w: Array, c: int, a: int, b: int) -> Scalar:
    """Entry of ``Kd' W Kd`` in its upper triangle, else zero."""
    o = tree.dep_start[c]
    x = 0.0
    if a <= b and b < tree.dep_count[c]:
        x = product_of_columns(tree, c, w.WKc[tree.dep_dof[o + a]], w.Kc[tree.dep_dof[o + b]])
    return x


@kernel
def explicit_jacobian(tree: Array, w: Array, c: int, biased: int) -> None:
    """``G = -N^-1 Kd' W Ki`` of a cluster and, where ``biased`` is 1, ``g`` as one more column."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    ind = tree.ind_start[c]
    m = tree.ind_count[c]
    lines = (m + biased + 3) // 4
    if biased != 0:
        gather_rows(tree, w, c, w.k)
    for a in range(n):
        WK = w.WKc[tree.dep_dof[o + a]]
        for l in range(lines):
            f = 4 * l
            x = (
                right_hand_side(tree, w, c, WK, f, biased),
                right_hand_side(tree, w, c, WK, f + 1, biased),
                right_hand_side(tree, w, c, WK, f + 2, biased),
                right_hand_side(tree, w, c, WK, f + 3, biased),
            )
            set_entries(x, w.Gd[o + a], f)
    solve_by_lines(o, n, w.N, lines, w.Gd)
    for a in range(n):
        j = tree.dep_dof[o + a]
        for f in range(m):
            w.Gc[j, tree.ind_dof[ind + f]] = w.Gd[o + a, f]
        if biased != 0:
            w.gc[j] = w.Gd[o + a, m]


@kernel
def right_hand_side(tree: Array, w: Array, c: int, WK: Array, f: int, biased: int) -> Scalar:
    """``-Kd' W Ki`` of independent joint ``f`` and a column of ``W Kd``, ``Kd' W k`` after the last one, then zero."""
    m = tree.ind_count[c]
    x = 0.0
    if f < m:
        x = -product_of_columns(tree, c, WK, w.Kc[tree.ind_dof[tree.ind_start[c] + f]])
    elif f == m and biased != 0:
        x = product_of_columns(tree, c, WK, w.kc)
    return x


@kernel
def gather_rows(tree: Array, w: Array, c: int, k: Array) -> None:
    """``kc``: numbers of the rows of a cluster."""
    for l in range(tree.row_lines[c]):
        set_entries(ZERO, w.kc, 4 * l)
    for e in range(tree.cluster_row_count[c]):
        w.kc[e] = k[tree.cluster_row[tree.cluster_row_start[c] + e]]


@kernel
def explicit_bias(tree: Array, w: Array, c: int) -> None:
    """``g = N^-1 Kd' W k`` of a cluster."""
    solve_dependent(tree, w, c, w.k, w.gc)


@kernel
def solve_dependent(tree: Array, w: Array, c: int, k: Array, x: Array) -> None:
    """``x = N^-1 Kd' W k``: dependent coordinates of a cluster that make its rows ``k``, the others being zero."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    gather_rows(tree, w, c, k)
    for a in range(n):
        w.yd[a] = product_of_columns(tree, c, w.WKc[tree.dep_dof[o + a]], w.kc)
    solve_one_by_lines(o, n, w.N, w.yd)
    for a in range(n):
        x[tree.dep_dof[o + a]] = w.yd[a]


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
    """The least multipliers, without units, with ``K' lambda = tau_c`` on dependent joints."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    for a in range(n):
        w.yd[a] = tau_c[tree.dep_dof[o + a]]
    solve_one_by_lines(o, n, w.N, w.yd)
    for l in range(tree.row_lines[c]):
        x = ZERO
        for a in range(n):
            x = plus_scaled(x, w.yd[a], entries(w.WKc[tree.dep_dof[o + a]], 4 * l))
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
