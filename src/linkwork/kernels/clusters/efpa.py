# SPDX-License-Identifier: BSD-3-Clause
"""C-EFPA: the inverse operational-space inertia of end effectors, of mechanisms with loops too.

**clusters** Section VIII (of a tree, EFPA) and its baseline, the projection method. With ``J`` the Jacobian of the end
effectors on the independent degrees of freedom this is ``Omega = J (G' M G)^-1 J'``.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| chi    | force propagator: rows of an end effector, or of an ancestor, across a cluster (Eq. 62) |
| We, Te | ``L^-1 S' chi'`` on the cluster's independent degrees of freedom, and ``D^-1`` times it  |
| Omega  | blocks of the inverse inertia: of two end effectors, of ancestors                    |

and those of `clusters` and `cluster_aba`. Of two end effectors ``a`` and ``b`` that meet at the common ancestor ``m``,
``Omega_ab = chi_a Omega_m chi_b'``, as in EFPA. Eq. 67 gives two orders to find it in:

- Rows go to the world, and each cluster that supports both adds ``chi_a S D^-1 S' chi_b'`` to ``Omega_ab``.
- Rows end at ``m``, and ``Omega_m`` is found as that of an end effector is, from six unit forces on ``m``: a cluster
  between ``m`` and the world is crossed by six rows, however many end effectors ``m`` supports.

The plan says at which ancestors rows end: none costs least where few clusters are shared, as on a floating base; where
many are, exact counts decide (`dynamics.operational`). Cost: n + m d + m² for m end effectors and d clusters from an
end effector to where its rows end; those from there to the world count once for each ancestor.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.aba import (
    CLUSTERED,
    articulate_cluster,
    cluster_mass_matrix,
    project_on_independent,
)
from linkwork.kernels.clusters.columns import generalized_force, shift_force_to_parent
from linkwork.kernels.clusters.explicit import explicit_constraints
from linkwork.kernels.clusters.projection import PROJECTED, projected_mass_matrix
from linkwork.kernels.constrained.constraints import constraint_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.indexed_ldl import forward_substitute_at, solve_at
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import column, cross, set_angular, set_linear, symmetrize
from linkwork.kernels.tree.aba import (
    eliminate,
    factorize_ldl,
    inertia_to_parent,
    init_rigid_inertias,
    whole_inertia_to_parent,
)
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.model.joints import HELICAL
from linkwork.plans.cluster_efpa import CLUSTER_EFPA_TREE

PROPAGATORS: dict[str, Shape] = {
    "chi": ("npropagators", 6, 6),
    "We": ("npropagators", 6, "nv"),
    "Te": ("npropagators", 6, "nv"),
    "Omega": ("nomega", 6, 6),
}
"""Work arrays of propagators."""

EFFECTORS: dict[str, Shape] = {"inertia": ("nrows", "nrows"), "pivot": (1,)}
"""Outputs: the inverse inertia of end effectors, and the least pivot of the dependent joints."""


@kernel
def source_row(tree: Array, w: Array, source: int, k: int) -> None:
    """``y6``: row ``k`` of the propagator ``source``, or of a source of rows (Eq. 57), as a force on its body."""
    for j in range(6):
        w.y6[j] = 0.0
    f = -1 - source
    if source >= 0:
        for j in range(6):
            w.y6[j] = w.chi[source, k, j]
    elif f >= tree.nf:
        w.y6[k] = 1.0
    else:
        z = column(tree.frame_rotation[f], k % 3)
        if k < 3:
            set_angular(z, w.y6)
        else:
            set_angular(cross(tree.frame_position[f], z), w.y6)
            set_linear(z, w.y6)


@kernel
def propagate_across_cluster(tree: Array, w: Array, s: int) -> None:
    """``chi' = chi L X`` (Eq. 62): six rows across a cluster, to the body that carries it."""
    ind = tree.propagator_ind[s]
    n = tree.propagator_ind_count[s]
    dep = tree.propagator_dep[s]
    dep_end = dep + tree.propagator_dep_count[s]
    for k in range(6):
        W = w.We[s, k]
        T = w.Te[s, k]
        for b in range(ind, ind + n):
            W[tree.ind_dof[b]] = 0.0
        for d in range(dep, dep_end):
            W[tree.dep_dof[d]] = 0.0
        source_row(tree, w, tree.propagator_source[s], k)
        i = tree.propagator_body[s]
        while i != tree.propagator_parent[s]:
            for m in range(dof_of(tree.kind[i])):
                W[tree.iv[i] + m] = generalized_force(tree, i, m, w.y6)
            shift_force_to_parent(tree, w, i, w.y6)
            i = tree.parent[i]
        for b in range(ind, ind + n):
            j = tree.ind_dof[b]
            for d in range(dep, dep_end):
                W[j] += w.Gc[tree.dep_dof[d], j] * W[tree.dep_dof[d]]
        forward_substitute_at(tree.ind_dof, ind, n, w.Dc, W)
        for b in range(ind, ind + n):
            j = tree.ind_dof[b]
            T[j] = w.Dc[j, j] * W[j]
        for j in range(6):
            x = w.y6[j]
            for b in range(ind, ind + n):
                x = x - T[tree.ind_dof[b]] * w.Uc[tree.ind_dof[b], j]
            w.chi[s, k, j] = x


@kernel
def propagate_by_ancestor(tree: Array, w: Array, s: int) -> None:
    """``We`` and ``Te`` of rows that end at an ancestor, across a cluster beyond it: ``chi We_m`` with its own."""
    m = tree.propagator_operand[s]
    for k in range(6):
        source_row(tree, w, tree.propagator_source[s], k)
        for b in range(tree.propagator_ind[s], tree.propagator_ind[s] + tree.propagator_ind_count[s]):
            d = tree.ind_dof[b]
            x = 0.0
            for j in range(6):
                x = x + w.y6[j] * w.We[m, j, d]
            w.We[s, k, d] = x
            w.Te[s, k, d] = w.Dc[d, d] * x


@kernel
def inverse_inertia_block(tree: Array, w: Array, e: int) -> None:
    """``Omega`` of two sources: ``chi Omega_m`` by the ancestor ``m`` where rows of the first end, and shared clusters.

    Clusters that both cross before ``m`` add ``chi S D^-1 S' chi'`` (Eq. 67).
    """
    A = w.Omega[e]
    operand = tree.block_operand[e]
    same = tree.block_first[e] == tree.block_second[e]
    for j in range(6):
        if operand >= 0:
            source_row(tree, w, tree.block_rows[e], j)
        for k in range(j + 1 if same else 6):
            x = 0.0
            if operand >= 0:
                for i in range(6):
                    if tree.block_transposed[e] != 0:
                        x = x + w.y6[i] * w.Omega[operand, k, i]
                    else:
                        x = x + w.y6[i] * w.Omega[operand, i, k]
            for m in range(tree.shared_start[e], tree.shared_start[e] + tree.shared_count[e]):
                s = tree.shared_first[m]
                t = tree.shared_second[m]
                for f in range(tree.propagator_ind[s], tree.propagator_ind[s] + tree.propagator_ind_count[s]):
                    x = x + w.We[s, j, tree.ind_dof[f]] * w.Te[t, k, tree.ind_dof[f]]
            A[j, k] = x
            if same:
                A[k, j] = x


@kernel
def inverse_inertia_of_end_effectors(tree: Array, w: Array, out: Array) -> None:
    """Propagators (Eq. 62), then blocks of ``Omega``, ancestors first (Eqs. 66, 67)."""
    for s in range(tree.npropagators):
        if tree.propagator_operand[s] < 0:
            propagate_across_cluster(tree, w, s)
        else:
            propagate_by_ancestor(tree, w, s)
    for j in range(tree.nrows):
        for k in range(tree.nrows):
            out[j, k] = 0.0
    for e in range(tree.nomega):
        inverse_inertia_block(tree, w, e)
        a = 6 * tree.block_first[e]
        b = 6 * tree.block_second[e]
        if a < tree.nrows and b < tree.nrows:
            for j in range(6):
                for k in range(6):
                    out[a + j, b + k] = w.Omega[e, j, k]
                    out[b + k, a + j] = w.Omega[e, j, k]


@kernel
def cluster_efpa(tree: Array, w: Array, q: Array, out: Array, pivot: Array) -> None:
    """C-EFPA: articulated clusters, leaves first, then the propagators of end effectors across them (Eqs. 62, 66)."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    for r in range(tree.nc):
        w.k[r] = 0.0
    explicit_constraints(tree, w)
    init_rigid_inertias(tree, w)
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    for c in range(tree.nclusters):
        if tree.single_body[c] != 0:
            articulate_single_joint(tree, w, tree.member[tree.member_start[c]])
        else:
            cluster_mass_matrix(tree, w, c)
            project_on_independent(tree, w, c)
            if tree.cluster_parent[c] > 0:
                articulate_cluster(tree, w, c)
    inverse_inertia_of_end_effectors(tree, w, out)
    pivot[0] = w.pivot[0]


@kernel
def articulate_single_joint(tree: Array, w: Array, i: int) -> None:
    """``D``, ``L^-1 U`` and ``I^a`` of a joint alone, as of a cluster; without armature, ``I^a`` as in ABA."""
    kind = tree.kind[i]
    n = dof_of(kind)
    o = tree.iv[i]
    h = tree.parent[i]
    symmetrize(w.H[i])
    for k in range(n):
        U = w.Uc[o + k]
        for j in range(6):
            U[j] = w.H[i, j, axis_of(kind, k)]
            if kind == HELICAL:
                U[j] += tree.pitch[i] * w.H[i, j, 5]
        for m in range(k + 1):
            w.L[i, k, m] = generalized_force(tree, i, m, U)
        w.L[i, k, k] += w.joint_inertia[o + k]
        shift_force_to_parent(tree, w, i, U)
    if tree.has_armature[i] != 0:
        factorize_ldl(n, w.L[i])
    else:
        eliminate(tree, w, i)
        inertia_to_parent(tree, w, i)
        if n == 1:
            w.L[i, 0, 0] = w.D[i]
    for k in range(n):
        for m in range(k + 1):
            w.Dc[o + k, o + m] = w.L[i, k, m]
        for m in range(k):
            for j in range(6):
                w.Uc[o + k, j] -= w.Dc[o + k, o + m] * w.Uc[o + m, j]
    if tree.has_armature[i] != 0 and h > 0:
        whole_inertia_to_parent(tree, w, i)
        for k in range(n):
            U = w.Uc[o + k]
            for j in range(6):
                scaled = w.Dc[o + k, o + k] * U[j]
                for m in range(j, 6):
                    w.H[h, j, m] -= scaled * U[m]


@kernel
def projected_inertia(tree: Array, w: Array, q: Array, out: Array, pivot: Array) -> None:
    """The projection method (**clusters** Section II-E): ``J (G' M G)^-1 J'`` with dense matrices of the whole tree."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    for r in range(tree.nc):
        w.k[r] = 0.0
    explicit_constraints(tree, w)
    mass_matrix(tree, w, w.Mc)
    projected_mass_matrix(tree, w)
    for f in range(tree.nf):
        for k in range(6):
            row = w.Wf[6 * f + k]
            for j in range(tree.nv):
                row[j] = 0.0
            source_row(tree, w, -1 - f, k)
            i = tree.frame_body[f]
            while i > 0:
                for m in range(dof_of(tree.kind[i])):
                    row[tree.iv[i] + m] = generalized_force(tree, i, m, w.y6)
                shift_force_to_parent(tree, w, i, w.y6)
                i = tree.parent[i]
            for c in range(tree.nclusters):
                for e in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                    j = tree.ind_dof[e]
                    for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                        row[j] += w.Gc[tree.dep_dof[d], j] * row[tree.dep_dof[d]]
    for a in range(tree.nrows):
        for j in range(tree.nv):
            w.x[j] = w.Wf[a, j]
        solve_at(tree.ind_dof, 0, tree.nind, w.Dc, w.x)
        for b in range(tree.nrows):
            x = 0.0
            for e in range(tree.nind):
                x = x + w.x[tree.ind_dof[e]] * w.Wf[b, tree.ind_dof[e]]
            out[a, b] = x
    pivot[0] = w.pivot[0]


CLUSTER_EFPA = Algorithm(
    "cluster_efpa", cluster_efpa, {"q": ("nq",)}, EFFECTORS, WORK | CLUSTERED | PROPAGATORS, CLUSTER_EFPA_TREE
)
PROJECTED_INERTIA = Algorithm(
    "projected_inertia",
    projected_inertia,
    {"q": ("nq",)},
    EFFECTORS,
    WORK | COMPOSITE | PROJECTED | PROPAGATORS | {"Wf": ("nrows", "nv")},
    CLUSTER_EFPA_TREE,
)
