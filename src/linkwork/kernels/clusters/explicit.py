# SPDX-License-Identifier: BSD-3-Clause
"""Explicit constraints of clusters: dependent accelerations from independent ones.

**clusters** Sections II-B and IV. A cluster's rows ``K q'' = k`` (Eq. 2), split into dependent and independent columns,
are solved for the dependent accelerations, ``q'' = G y'' + g`` (Eq. 3), with weights ``W`` that make rows unitless,

    G = -(Kd' W Kd)^-1 Kd' W Ki        g = (Kd' W Kd)^-1 Kd' W k

also where rows are redundant. All accelerations are relative to the motion in which no joint accelerates (see `aba`).

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| Kc     | ``K``: rows of a cluster on its joints                                            |
| WKc    | ``W Kd``: the same on its dependent joints, times ``W``                           |
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
from linkwork.kernels.elementary import minimum
from linkwork.kernels.indexed_ldl import factorize_at, solve_at
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.spatial import add, angular, cross, linear, set_angular, set_linear
from linkwork.kernels.tree.kinematics import angular_velocities, bias_accelerations, joint_transforms
from linkwork.kernels.tree.rnea import set_root_acceleration
from linkwork.model.joints import HELICAL
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.clusters import CLUSTER_TREE

EXPLICIT: dict[str, Shape] = {
    "Kc": ("nc", "nv"),
    "WKc": ("nc", "nv"),
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
    """``Kc``: rows on the joints of their clusters, from K of bodies propagated to its output bodies."""
    for c in range(tree.nclusters):
        for e in range(tree.cluster_row_start[c], tree.cluster_row_start[c] + tree.cluster_row_count[c]):
            r = tree.cluster_row[e]
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                w.Kc[r, tree.ind_dof[f]] = 0.0
            for f in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                w.Kc[r, tree.dep_dof[f]] = 0.0
    for t in range(tree.nterms):
        if tree.row_cluster[tree.term_row[t]] >= 0:
            w.Kc[tree.term_row[t], tree.term_v[t]] += w.dphi[t]
    for m in range(tree.nk_link):
        r = tree.k_row[m]
        i = tree.k_body[m]
        c = tree.row_cluster[r]
        if tree.body_cluster[i] == c:
            set_angular(angular(w.K[m]), w.y6)
            set_linear(linear(w.K[m]), w.y6)
            while tree.body_cluster[i] == c:
                for k in range(dof_of(tree.kind[i])):
                    w.Kc[r, tree.iv[i] + k] += generalized_force(tree, i, k, w.y6)
                shift_force_to_parent(tree, w, i, w.y6)
                i = tree.parent[i]


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
def factorize_normal_matrix(tree: Array, w: Array, c: int) -> None:
    """``N = Kd' W Kd`` of a cluster, factorized, and its least pivot."""
    o = tree.dep_start[c]
    n = tree.dep_count[c]
    rows = tree.cluster_row_start[c]
    end = rows + tree.cluster_row_count[c]
    size = 0.0
    for e in range(rows, end):
        r = tree.cluster_row[e]
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            x = w.Kc[r, tree.ind_dof[f]] * (tree.row_scale[r] * tree.joint_unit[tree.ind_dof[f]])
            size = size + x * x
        for a in range(n):
            j = tree.dep_dof[o + a]
            w.WKc[r, j] = (tree.row_scale[r] * tree.row_scale[r]) * w.Kc[r, j]
    for a in range(n):
        j = tree.dep_dof[o + a]
        for b in range(a + 1):
            k = tree.dep_dof[o + b]
            x = 0.0
            for e in range(rows, end):
                r = tree.cluster_row[e]
                x = x + w.WKc[r, j] * w.Kc[r, k]
            w.N[j, k] = x
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
    rows = tree.cluster_row_start[c]
    for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
        k = tree.ind_dof[f]
        for a in range(n):
            j = tree.dep_dof[o + a]
            w.x[j] = 0.0
            for e in range(rows, rows + tree.cluster_row_count[c]):
                r = tree.cluster_row[e]
                w.x[j] -= w.WKc[r, j] * w.Kc[r, k]
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
    for a in range(n):
        j = tree.dep_dof[o + a]
        x[j] = 0.0
        for e in range(rows, rows + tree.cluster_row_count[c]):
            r = tree.cluster_row[e]
            x[j] += w.WKc[r, j] * k[r]
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
    for e in range(tree.cluster_row_start[c], tree.cluster_row_start[c] + tree.cluster_row_count[c]):
        r = tree.cluster_row[e]
        multipliers[r] = 0.0
        for d in range(o, o + n):
            multipliers[r] += w.WKc[r, tree.dep_dof[d]] * tau_c[tree.dep_dof[d]]


@kernel
def cluster_residuals(tree: Array, w: Array, c: int, qdd: Array, residual: Array) -> None:
    """``k - K q''``: the residual of the rows of a cluster."""
    for e in range(tree.cluster_row_start[c], tree.cluster_row_start[c] + tree.cluster_row_count[c]):
        r = tree.cluster_row[e]
        x = w.k[r]
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            x = x - w.Kc[r, tree.dep_dof[d]] * qdd[tree.dep_dof[d]]
        for b in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            x = x - w.Kc[r, tree.ind_dof[b]] * qdd[tree.ind_dof[b]]
        residual[r] = x


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
