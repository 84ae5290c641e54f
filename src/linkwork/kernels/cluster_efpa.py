"""Inverse inertia of end effectors: what accelerations unit forces make, of mechanisms with loops too.

**clusters** Section VIII (C-EFPA; of a tree, EFPA) and its baseline, the projection method. With ``J`` the Jacobian of
the frames on the free degrees of freedom this is ``J (G' M G)^-1 J'``.

| symbol | meaning                                                                                |
|--------|----------------------------------------------------------------------------------------|
| X      | rows of a step at its cluster's top, once the cluster has been taken out of them        |
| We, Te | ``L^-1`` times rows of a step on the cluster's free degrees of freedom, ``D^-1`` times them |

What two frames share is summed over the clusters that both pass. Handing the inverse inertia of bodies up, as the paper
does (Eq. 67), is cheaper only where many frames share a long way. Cost: linear in the bodies below each frame.
"""

from __future__ import annotations

from linkwork.kernels.aba import eliminate, inertia_to_parent, init_rigid_inertias
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters import (
    CLUSTERED,
    articulate_cluster,
    cluster_mass_matrix,
    explicit_constraints,
    forward_substitute_at,
    half_solve_rows,
    joint_component,
    project_on_independent,
    projected_mass_matrix,
    shift_force_to_parent,
    solve_at,
)
from linkwork.kernels.constrained import WORK
from linkwork.kernels.constraints import constraint_rows
from linkwork.kernels.crba import COMPOSITE, mass_matrix
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.kinematics import joint_transforms
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import column, cross, set_angular, set_linear, symmetrize
from linkwork.model.joints import HELICAL
from linkwork.plans.effectors import EFFECTORS

STEPS: dict[str, Shape] = {
    "X": ("nsteps", 6, 6),
    "We": ("nsteps", 6, "nv"),
    "Te": ("nsteps", 6, "nv"),
}


@kernel
def init_row(tree: Array, w: Array, source: int, k: int) -> None:
    """``y6``: row ``k`` of a step, as a force on its body."""
    for j in range(6):
        w.y6[j] = 0.0
    if source >= 0:
        for j in range(6):
            w.y6[j] = w.X[source, k, j]
    else:
        f = -1 - source
        z = column(tree.F[f], k % 3)
        if k < 3:
            set_angular(z, w.y6)
        else:
            set_angular(cross(tree.f[f], z), w.y6)
            set_linear(z, w.y6)


@kernel
def propagate_rows_past_cluster(tree: Array, w: Array, s: int) -> None:
    """Take a cluster out of six rows and bring them to its top (**clusters** Eq. 62)."""
    c = tree.step_cluster[s]
    top = tree.cluster_top[c]
    free = tree.free_start[c]
    n = tree.free_count[c]
    tied = tree.tied_start[c]
    for k in range(6):
        W = w.We[s, k]
        T = w.Te[s, k]
        for b in range(n):
            W[tree.free_dof[free + b]] = 0.0
        for d in range(tree.tied_count[c]):
            W[tree.tied_dof[tied + d]] = 0.0
        init_row(tree, w, tree.step_from[s], k)
        i = tree.step_body[s]
        while i != top:
            for m in range(dof_of(tree.kind[i])):
                W[tree.iv[i] + m] = joint_component(tree, i, m, w.y6)
            shift_force_to_parent(tree, w, i, w.y6)
            i = tree.parent[i]
        for b in range(n):
            j = tree.free_dof[free + b]
            for d in range(tree.tied_count[c]):
                W[j] += w.Gl[tree.tied_dof[tied + d], j] * W[tree.tied_dof[tied + d]]
        forward_substitute_at(tree.free_dof, free, n, w.Dl, W)
        for b in range(n):
            j = tree.free_dof[free + b]
            T[j] = w.Dl[j, j] * W[j]
        for j in range(6):
            x = w.y6[j]
            for b in range(n):
                x = x - T[tree.free_dof[free + b]] * w.Ug[tree.free_dof[free + b], j]
            w.X[s, k, j] = x


@kernel
def accumulate_pair(tree: Array, w: Array, m: int, out: Array) -> None:
    """Add how rows of one frame yield, in a cluster, to forces along those of another (or of the same)."""
    s = tree.meet_step[m]
    t = tree.meet_other[m]
    a = 6 * tree.meet_first[m]
    b = 6 * tree.meet_second[m]
    c = tree.step_cluster[s]
    for j in range(6):
        for k in range(j + 1 if s == t else 6):
            for f in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
                out[a + j, b + k] += w.We[s, j, tree.free_dof[f]] * w.Te[t, k, tree.free_dof[f]]


@kernel
def cluster_efpa(tree: Array, w: Array, q: Array, out: Array, pivot: Array) -> None:
    """C-EFPA: articulated clusters, leaves first, then the rows of frames through them (**clusters** Eqs. 62, 66)."""
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
        if tree.alone[c] != 0:
            i = tree.member[tree.member_start[c]]
            factorize_single_joint(tree, w, c)
            inertia_to_parent(tree, w, i)
        else:
            cluster_mass_matrix(tree, w, c, w.qdd0)
            project_on_independent(tree, w, c)
            if tree.cluster_top[c] > 0:
                articulate_cluster(tree, w, c)
    for s in range(tree.nsteps):
        propagate_rows_past_cluster(tree, w, s)
    for j in range(tree.nrows):
        for k in range(j + 1):
            out[j, k] = 0.0
    for m in range(tree.nmeet):
        accumulate_pair(tree, w, m, out)
    for j in range(tree.nrows):
        for k in range(j):
            out[k, j] = out[j, k]
    pivot[0] = w.pivot[0]


@kernel
def factorize_single_joint(tree: Array, w: Array, c: int) -> None:
    """Take the joint of a body that nothing ties out of its inertia, and keep what steps need of it."""
    i = tree.member[tree.member_start[c]]
    kind = tree.kind[i]
    n = dof_of(kind)
    o = tree.iv[i]
    symmetrize(w.H[i])
    for k in range(n):
        U = w.Ug[o + k]
        for j in range(6):
            U[j] = w.H[i, j, axis_of(kind, k)]
            if kind == HELICAL:
                U[j] += tree.pitch[i] * w.H[i, j, 5]
        shift_force_to_parent(tree, w, i, U)
    eliminate(tree, w, i)
    for k in range(n):
        for m in range(k + 1):
            if n == 1:
                w.Dl[o, o] = w.D[i]
            else:
                w.Dl[o + k, o + m] = w.L[i, k, m]
    half_solve_rows(tree, w, c)


@kernel
def projected_inertia(tree: Array, w: Array, q: Array, out: Array, pivot: Array) -> None:
    """The projection method: the Jacobian of all frames, and ``G' M G`` of the whole tree."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    for r in range(tree.nc):
        w.k[r] = 0.0
    explicit_constraints(tree, w)
    mass_matrix(tree, w, w.Ml)
    projected_mass_matrix(tree, w)
    for f in range(tree.nf):
        for k in range(6):
            row = w.Wf[6 * f + k]
            for j in range(tree.nv):
                row[j] = 0.0
            init_row(tree, w, -1 - f, k)
            i = tree.body[f]
            while i > 0:
                for m in range(dof_of(tree.kind[i])):
                    row[tree.iv[i] + m] = joint_component(tree, i, m, w.y6)
                shift_force_to_parent(tree, w, i, w.y6)
                i = tree.parent[i]
            for c in range(tree.nclusters):
                for e in range(tree.free_start[c], tree.free_start[c] + tree.free_count[c]):
                    j = tree.free_dof[e]
                    for d in range(tree.tied_start[c], tree.tied_start[c] + tree.tied_count[c]):
                        row[j] += w.Gl[tree.tied_dof[d], j] * row[tree.tied_dof[d]]
    for a in range(tree.nrows):
        for j in range(tree.nv):
            w.x[j] = w.Wf[a, j]
        solve_at(tree.free_dof, 0, tree.nfree, w.Dl, w.x)
        for b in range(tree.nrows):
            x = 0.0
            for e in range(tree.nfree):
                x = x + w.x[tree.free_dof[e]] * w.Wf[b, tree.free_dof[e]]
            out[a, b] = x
    pivot[0] = w.pivot[0]


_OUT: dict[str, Shape] = {"inertia": ("nrows", "nrows"), "pivot": (1,)}

CLUSTER_EFPA = Algorithm("cluster_efpa", cluster_efpa, {"q": ("nq",)}, _OUT, WORK | CLUSTERED | STEPS, EFFECTORS)
PROJECTED_INERTIA = Algorithm(
    "projected_inertia",
    projected_inertia,
    {"q": ("nq",)},
    _OUT,
    WORK | COMPOSITE | CLUSTERED | STEPS | {"Wf": ("nrows", "nv")},
    EFFECTORS,
)
