# SPDX-License-Identifier: BSD-3-Clause
"""C-EFPA: the inverse operational-space inertia of end effectors, of mechanisms with loops too.

**clusters** Section VIII (of a tree, EFPA) and its baseline, the projection method. With ``J`` the Jacobian of the end
effectors on the independent degrees of freedom this is ``Omega = J (G' M G)^-1 J'``.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| chi    | force propagator of an end effector at the parent of a cluster, after crossing it (Eq. 62) |
| We, Te | ``L^-1 S' chi'`` on the cluster's independent degrees of freedom, and ``D^-1`` times it  |

and those of `clusters` and `cluster_aba`. The block of two end effectors is summed over the clusters that support both.
Propagating ``Omega`` from parent to child, as the paper does (Eq. 67), is cheaper only where many end effectors share a
long path. Cost: linear in the ancestors of each end effector.
"""

from __future__ import annotations

from linkwork.kernels.aba import eliminate, inertia_to_parent, init_rigid_inertias
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.cluster_aba import (
    CLUSTERED,
    articulate_cluster,
    cluster_mass_matrix,
    forward_substitute_rows,
    project_on_independent,
)
from linkwork.kernels.clusters import explicit_constraints, generalized_force, shift_force_to_parent
from linkwork.kernels.constrained import WORK
from linkwork.kernels.constraints import constraint_rows
from linkwork.kernels.crba import COMPOSITE, mass_matrix
from linkwork.kernels.indexed_ldl import forward_substitute_at, solve_at
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.kinematics import joint_transforms
from linkwork.kernels.projection import projected_mass_matrix
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import column, cross, set_angular, set_linear, symmetrize
from linkwork.model.joints import HELICAL
from linkwork.plans.cluster_efpa import CLUSTER_EFPA_TREE

PROPAGATORS: dict[str, Shape] = {
    "chi": ("npropagators", 6, 6),
    "We": ("npropagators", 6, "nv"),
    "Te": ("npropagators", 6, "nv"),
}


@kernel
def end_effector_row(tree: Array, w: Array, source: int, k: int) -> None:
    """``y6``: row ``k`` of the propagator ``source``, or of an end effector (Eq. 57), as a force on its body."""
    for j in range(6):
        w.y6[j] = 0.0
    if source >= 0:
        for j in range(6):
            w.y6[j] = w.chi[source, k, j]
    else:
        f = -1 - source
        z = column(tree.frame_rotation[f], k % 3)
        if k < 3:
            set_angular(z, w.y6)
        else:
            set_angular(cross(tree.frame_position[f], z), w.y6)
            set_linear(z, w.y6)


@kernel
def propagate_across_cluster(tree: Array, w: Array, s: int) -> None:
    """``chi' = chi L X`` (Eq. 62): six rows of an end effector across a cluster, to the cluster's parent."""
    c = tree.propagator_cluster[s]
    parent = tree.cluster_parent[c]
    ind = tree.ind_start[c]
    n = tree.ind_count[c]
    dep = tree.dep_start[c]
    for k in range(6):
        W = w.We[s, k]
        T = w.Te[s, k]
        for b in range(n):
            W[tree.ind_dof[ind + b]] = 0.0
        for d in range(tree.dep_count[c]):
            W[tree.dep_dof[dep + d]] = 0.0
        end_effector_row(tree, w, tree.propagator_source[s], k)
        i = tree.propagator_body[s]
        while i != parent:
            for m in range(dof_of(tree.kind[i])):
                W[tree.iv[i] + m] = generalized_force(tree, i, m, w.y6)
            shift_force_to_parent(tree, w, i, w.y6)
            i = tree.parent[i]
        for b in range(n):
            j = tree.ind_dof[ind + b]
            for d in range(tree.dep_count[c]):
                W[j] += w.Gc[tree.dep_dof[dep + d], j] * W[tree.dep_dof[dep + d]]
        forward_substitute_at(tree.ind_dof, ind, n, w.Dc, W)
        for b in range(n):
            j = tree.ind_dof[ind + b]
            T[j] = w.Dc[j, j] * W[j]
        for j in range(6):
            x = w.y6[j]
            for b in range(n):
                x = x - T[tree.ind_dof[ind + b]] * w.Uc[tree.ind_dof[ind + b], j]
            w.chi[s, k, j] = x


@kernel
def accumulate_omega(tree: Array, w: Array, m: int, out: Array) -> None:
    """Add ``chi S D^-1 S' chi'`` of a cluster to the block of two end effectors that it supports (Eq. 67)."""
    s = tree.shared_first_propagator[m]
    t = tree.shared_second_propagator[m]
    a = 6 * tree.shared_first[m]
    b = 6 * tree.shared_second[m]
    c = tree.propagator_cluster[s]
    for j in range(6):
        for k in range(j + 1 if s == t else 6):
            for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
                out[a + j, b + k] += w.We[s, j, tree.ind_dof[f]] * w.Te[t, k, tree.ind_dof[f]]


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
            i = tree.member[tree.member_start[c]]
            factorize_single_joint(tree, w, c)
            inertia_to_parent(tree, w, i)
        else:
            cluster_mass_matrix(tree, w, c)
            project_on_independent(tree, w, c)
            if tree.cluster_parent[c] > 0:
                articulate_cluster(tree, w, c)
    for s in range(tree.npropagators):
        propagate_across_cluster(tree, w, s)
    for j in range(tree.nrows):
        for k in range(j + 1):
            out[j, k] = 0.0
    for m in range(tree.nshared):
        accumulate_omega(tree, w, m, out)
    for j in range(tree.nrows):
        for k in range(j):
            out[k, j] = out[j, k]
    pivot[0] = w.pivot[0]


@kernel
def factorize_single_joint(tree: Array, w: Array, c: int) -> None:
    """``D`` and ``L^-1 U`` of a body on which no constraint acts, eliminated as in ABA."""
    i = tree.member[tree.member_start[c]]
    kind = tree.kind[i]
    n = dof_of(kind)
    o = tree.iv[i]
    symmetrize(w.H[i])
    for k in range(n):
        U = w.Uc[o + k]
        for j in range(6):
            U[j] = w.H[i, j, axis_of(kind, k)]
            if kind == HELICAL:
                U[j] += tree.pitch[i] * w.H[i, j, 5]
        shift_force_to_parent(tree, w, i, U)
    eliminate(tree, w, i)
    for k in range(n):
        for m in range(k + 1):
            if n == 1:
                w.Dc[o, o] = w.D[i]
            else:
                w.Dc[o + k, o + m] = w.L[i, k, m]
    forward_substitute_rows(tree, w, c)


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
            end_effector_row(tree, w, -1 - f, k)
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


_OUT: dict[str, Shape] = {"inertia": ("nrows", "nrows"), "pivot": (1,)}

CLUSTER_EFPA = Algorithm(
    "cluster_efpa", cluster_efpa, {"q": ("nq",)}, _OUT, WORK | CLUSTERED | PROPAGATORS, CLUSTER_EFPA_TREE
)
PROJECTED_INERTIA = Algorithm(
    "projected_inertia",
    projected_inertia,
    {"q": ("nq",)},
    _OUT,
    WORK | COMPOSITE | CLUSTERED | PROPAGATORS | {"Wf": ("nrows", "nv")},
    CLUSTER_EFPA_TREE,
)
