# SPDX-License-Identifier: BSD-3-Clause
"""C-LCABA: LCABA over clusters. Local loops are eliminated with their clusters, other constraints are penalties.

The two families in one elimination: a loop that few joints close has an explicit form, and its cluster is eliminated as
a body is (**clusters** Algorithm 1, `cluster_aba`); a constraint that spans the robot (feet on the ground, hands on an
object) would make one large cluster, and is a penalty on the accelerations of its bodies (**loops** Algorithms 1 to 3,
`lcaba`). A cluster may be coupled to bodies outside: with ``C_j`` the coupling inertia of its joints and neighbor j,

    D = G' M G,    B_j = G' C_j,    H_pj -= U' D^-1 B_j,    H_jk -= B_j' D^-1 B_k

which is Eq. 30 of **loops** with the cluster's motion subspace for S.

Local rows are exact after the first iteration; iterations are for the penalties. Loops are to be closed at q.

| symbol  | meaning                                                                                          |
|---------|--------------------------------------------------------------------------------------------------|
| C, DC   | ``C_j`` of a cluster's dependent joints and ``L^-1 B_j`` of its independent ones; times ``D^-1``  |
| lam     | multipliers of local rows that an iteration adds                                                  |

and those of `cluster_aba` and `lcaba`. Cost: that of both.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.block_rows import row, subtract_product
from linkwork.kernels.clusters.aba import (
    CLUSTERED,
    articulate_cluster,
    articulated_cluster_force,
    cluster_accelerations,
    cluster_constraint_forces,
    cluster_forces,
    cluster_mass_matrix,
    project_forces,
    project_on_independent,
)
from linkwork.kernels.clusters.explicit import cluster_residuals, explicit_constraints
from linkwork.kernels.constrained.lcaba import (
    apply_constraint_forces,
    constraint_residual,
    coupled_acceleration,
    coupled_bias_force,
    penalty_norm,
)
from linkwork.kernels.constrained.lcaba_factor import (
    SPRINGS,
    coupling_to_parent,
    eliminate_couplings,
    force_columns_to_parent,
    init_augmented_inertias,
)
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    clear_forces,
    copy_rows,
    first_forward_sweep,
    force_residual,
    forward_view,
    residual_norm,
    residual_progress,
)
from linkwork.kernels.elementary import maximum
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import subtract_symmetric_product
from linkwork.kernels.thresholds import CLUSTER_PIVOT, DISABLED, STAGNATION
from linkwork.kernels.tree.aba import eliminate, inertia_to_parent
from linkwork.model.joints import HELICAL
from linkwork.plans.cluster_lcaba import CLUSTER_LCABA_TREE

COUPLED: dict[str, Shape] = CLUSTERED | SPRINGS | {"C": ("nC", 6), "DC": ("nC", 6), "lam": ("nc",)}


# Couplings of clusters -------------------------------------------------------------------------------------------


@kernel
def coupling_of_joints(tree: Array, w: Array, c: int) -> None:
    """``C_j`` of a cluster's joints: ``S' H_ij`` of its members, whose couplings go to the parent, as forces do."""
    h = tree.cluster_parent[c]
    first = tree.neighbor_start[tree.member[tree.member_start[c]]]
    n = tree.ind_count[c] + tree.dep_count[c]
    for e in range(first, first + tree.neighbor_count[tree.member[tree.member_start[c]]]):
        for a in range(tree.C_start[e], tree.C_start[e] + n):
            for j in range(6):
                w.C[a, j] = 0.0
    for p in range(tree.member_coupling_start[c], tree.member_coupling_start[c] + tree.member_coupling_count[c]):
        i = tree.member_coupling_body[p]
        e = first + tree.member_coupling_neighbor[p]
        kind = tree.kind[i]
        H = w.Hij[tree.member_coupling[p]]
        for k in range(dof_of(kind)):
            row = w.C[tree.C_start[e] + tree.dof_place[tree.iv[i] + k]]
            for j in range(6):
                row[j] = H[axis_of(kind, k), j]
                if kind == HELICAL:
                    row[j] += tree.pitch[i] * H[5, j]
        if tree.parent[i] != h:
            force_columns_to_parent(tree, w, i, H, w.X)
            P = w.Hij[tree.member_coupling_next[p]]
            for j in range(6):
                for k in range(6):
                    P[j, k] += w.X[j, k]
        elif h > 0:
            force_columns_to_parent(tree, w, i, H, w.X)
            coupling_to_parent(tree, w, h, e)


@kernel
def project_coupling(tree: Array, w: Array, c: int, e: int) -> None:
    """``L^-1 G' C_j`` and ``D^-1 L^-1 G' C_j`` of one neighbor, on the independent joints."""
    ind = tree.ind_start[c]
    n = tree.ind_count[c]
    o = tree.C_start[e]
    for a in range(n):
        i = tree.ind_dof[ind + a]
        for d in range(tree.dep_count[c]):
            G = w.Gc[tree.dep_dof[tree.dep_start[c] + d], i]
            for j in range(6):
                w.C[o + a, j] += G * w.C[o + n + d, j]
        for b in range(a):
            L = w.Dc[i, tree.ind_dof[ind + b]]
            for j in range(6):
                w.C[o + a, j] -= L * w.C[o + b, j]
    for a in range(n):
        i = tree.ind_dof[ind + a]
        for j in range(6):
            w.DC[o + a, j] = w.Dc[i, i] * w.C[o + a, j]


@kernel
def eliminate_cluster_couplings(tree: Array, w: Array, c: int) -> None:
    """Coupling inertias after eliminating a cluster (**loops** Eqs. 30c, 30d, 34)."""
    h = tree.cluster_parent[c]
    body = tree.member[tree.member_start[c]]
    first = tree.neighbor_start[body]
    count = tree.neighbor_count[body]
    n = tree.ind_count[c]
    coupling_of_joints(tree, w, c)
    for e in range(first, first + count):
        project_coupling(tree, w, c, e)
    for x in range(count):
        e = first + x
        o = tree.C_start[e]
        for a in range(n):
            subtract_symmetric_product(w.C[o + a], w.DC[o + a], w.H[tree.neighbor_body[e]])
        for y in range(x + 1, count):
            fill = w.Hij[tree.fill[tree.fill_start[e] + y - x - 1]]
            for a in range(n):
                subtract_product(w.C[o + a], row(w.DC, tree.C_start[first + y] + a), fill)
        if h > 0:
            for j in range(6):
                for k in range(6):
                    z = 0.0
                    for a in range(n):
                        z = z - w.DUc[tree.ind_dof[tree.ind_start[c] + a], j] * w.C[o + a, k]
                    w.X[j, k] = z
            coupling_to_parent(tree, w, h, e)


@kernel
def cluster_forces_to_neighbors(tree: Array, w: Array, c: int) -> None:
    """``f_j += C_j' g + B_j' D^-1 u`` of the neighbors of a cluster."""
    body = tree.member[tree.member_start[c]]
    n = tree.ind_count[c]
    for e in range(tree.neighbor_start[body], tree.neighbor_start[body] + tree.neighbor_count[body]):
        f = w.f[tree.neighbor_body[e]]
        o = tree.C_start[e]
        for a in range(n):
            u = w.uc[tree.ind_dof[tree.ind_start[c] + a]]
            for j in range(6):
                f[j] += w.DC[o + a, j] * u
        for d in range(tree.dep_count[c]):
            g = w.gc[tree.dep_dof[tree.dep_start[c] + d]]
            for j in range(6):
                f[j] += w.C[o + n + d, j] * g


@kernel
def neighbors_on_cluster(tree: Array, w: Array, c: int) -> None:
    """``u -= C_j a_j``: torques on a cluster's joints by the accelerations of its neighbors."""
    body = tree.member[tree.member_start[c]]
    n = tree.ind_count[c]
    for e in range(tree.neighbor_start[body], tree.neighbor_start[body] + tree.neighbor_count[body]):
        a = w.a[tree.neighbor_body[e]]
        o = tree.C_start[e]
        for b in range(n):
            for j in range(6):
                w.uc[tree.ind_dof[tree.ind_start[c] + b]] -= w.C[o + b, j] * a[j]
        for d in range(tree.dep_count[c]):
            for j in range(6):
                w.uc[tree.dep_dof[tree.dep_start[c] + d]] -= w.C[o + n + d, j] * a[j]


# Sweeps ----------------------------------------------------------------------------------------------------------


@kernel
def articulate_clusters(tree: Array, w: Array, R: Array) -> None:
    """Backward sweep of inertias."""
    init_augmented_inertias(tree, w, R)
    for s in range(tree.nclusters):
        c = tree.elimination_order[s]
        if tree.single_body[c] != 0:
            i = tree.member[tree.member_start[c]]
            eliminate(tree, w, i)
            eliminate_couplings(tree, w, i)
            inertia_to_parent(tree, w, i)
        else:
            cluster_mass_matrix(tree, w, c)
            project_on_independent(tree, w, c)
            if tree.cluster_parent[c] > 0:
                articulate_cluster(tree, w, c)
            eliminate_cluster_couplings(tree, w, c)


@kernel
def clustered_bias_force(tree: Array, w: Array, c: int, tau: Array) -> None:
    """Backward sweep of forces, cluster ``c``."""
    if tree.single_body[c] != 0:
        coupled_bias_force(tree, w, tree.member[tree.member_start[c]], tau)
    else:
        cluster_forces(tree, w, c, tau)
        project_forces(tree, w, c)
        if tree.cluster_parent[c] > 0:
            articulated_cluster_force(tree, w, c)
        cluster_forces_to_neighbors(tree, w, c)


@kernel
def clustered_acceleration(tree: Array, w: Array, c: int, qdd: Array, multipliers: Array) -> None:
    """Forward sweep, cluster ``c``: accelerations, and multipliers of its rows."""
    if tree.single_body[c] != 0:
        coupled_acceleration(tree, w, tree.member[tree.member_start[c]], qdd)
    else:
        neighbors_on_cluster(tree, w, c)
        cluster_accelerations(tree, w, c, qdd)
        cluster_constraint_forces(tree, w, c, qdd, multipliers)


@kernel
def solve_clusters(tree: Array, w: Array, tau: Array, qdd: Array, multipliers: Array) -> None:
    """Backward sweep of forces and forward sweep in the reverse order."""
    for s in range(tree.nclusters):
        clustered_bias_force(tree, w, tree.elimination_order[s], tau)
    for s in range(tree.nclusters - 1, -1, -1):
        clustered_acceleration(tree, w, tree.elimination_order[s], qdd, multipliers)


@kernel
def update_penalties(tree: Array, w: Array, R: Array, multipliers: Array, residual: Array) -> None:
    """``lambda += mu (k - K a)`` of penalties (**loops** Eq. 33)."""
    for e in range(tree.npenalty_rows):
        r = tree.penalty_row[e]
        residual[r] = where(R[r], DISABLED, residual[r], 0.0)
        multipliers[r] += w.mu[r] * residual[r]


@kernel
def cluster_lcaba(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The first iteration: three sweeps. ``progress`` is huge where independent joints do not determine others."""
    first_forward_sweep(tree, w, problem, result)
    explicit_constraints(tree, w)
    articulate_clusters(tree, w, problem.R)
    for i in range(1, tree.n):
        for j in range(6):
            w.f0[i, j] = w.f[i, j]
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for e in range(tree.npenalty_rows):
        r = tree.penalty_row[e]
        result.multipliers[r] = problem.multipliers0[r]
        w.lam[r] = problem.multipliers0[r] + w.mu[r] * w.k[r]
    apply_constraint_forces(tree, w, w.lam)
    solve_clusters(tree, w, problem.tau, result.a, result.multipliers)
    for e in range(tree.npenalty_rows):
        result.residual[tree.penalty_row[e]] = w.k[tree.penalty_row[e]]
    constraint_residual(tree, w, result.a, result.residual)
    update_penalties(tree, w, problem.R, result.multipliers, result.residual)
    for c in range(tree.nclusters):
        cluster_residuals(tree, w, c, result.a, result.residual)
    norm = residual_norm(tree, w, problem.settings, result.residual)
    if tree.npenalty_rows > 0:
        norm = maximum(norm, problem.settings.rounding)
    result.progress[0] = where(w.pivot[0], CLUSTER_PIVOT, DISABLED, norm)
    result.iterations[0] = 1.0


@kernel
def cluster_lcaba_iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """A further iteration, and not the last one (**loops** Algorithm 2): the change from the residual of penalties.

    Clusters that no penalty depends on are computed in the last iteration.
    """
    settings = problem.settings
    before = (1.0 - STAGNATION) * result.progress[0]
    clear_forces(tree, w, w.qdd0)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for d in range(tree.ndep):
        w.gc[tree.dep_dof[d]] = 0.0
    for r in range(tree.nc):
        w.lam[r] = 0.0
        w.k[r] = 0.0
    for e in range(tree.npenalty_rows):
        w.k[tree.penalty_row[e]] = w.mu[tree.penalty_row[e]] * result.residual[tree.penalty_row[e]]
    apply_constraint_forces(tree, w, w.k)
    for s in range(tree.nsupporting):
        clustered_bias_force(tree, w, tree.supporting[s], w.tau)
    for s in range(tree.nsupporting - 1, -1, -1):
        c = tree.supporting[s]
        clustered_acceleration(tree, w, c, w.da, w.lam)
        for e in range(tree.member_start[c], tree.member_start[c] + tree.member_count[c]):
            i = tree.member[e]
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                result.a[k] += w.da[k]
        for e in range(tree.cluster_row_start[c], tree.cluster_row_start[c] + tree.cluster_row_count[c]):
            result.multipliers[tree.cluster_row[e]] += w.lam[tree.cluster_row[e]]
    constraint_residual(tree, w, w.da, result.residual)
    for e in range(tree.npenalty_rows):
        r = tree.penalty_row[e]
        w.k[r] = w.mu[r] * result.residual[r]
        result.multipliers[r] += w.k[r]
    norm = penalty_norm(tree, w, settings, w.k, result.residual)
    least = maximum(settings.rounding, 2.0 * settings.tolerance)
    norm = where(norm, before, maximum(norm, least), least)
    result.progress[0] = where(w.pivot[0], CLUSTER_PIVOT, DISABLED, norm)
    result.iterations[0] += 1.0


@kernel
def cluster_lcaba_refine(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """An iteration with which iterations may end: it starts from all forces, and so corrects rounding errors."""
    copy_rows(tree, result.residual, w.error)
    force_residual(tree, w, problem.tau, result.a)
    for d in range(tree.ndep):
        w.gc[tree.dep_dof[d]] = 0.0
    for e in range(tree.npenalty_rows):
        r = tree.penalty_row[e]
        w.lam[r] = result.multipliers[r] + w.mu[r] * result.residual[r]
    apply_constraint_forces(tree, w, w.lam)
    solve_clusters(tree, w, w.tau, w.da, result.multipliers)
    constraint_residual(tree, w, w.da, result.residual)
    update_penalties(tree, w, problem.R, result.multipliers, result.residual)
    for k in range(tree.nv):
        result.a[k] += w.da[k]
    norm = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.progress[0] = where(w.pivot[0], CLUSTER_PIVOT, DISABLED, norm)
    result.iterations[0] += 1.0


CLUSTER_LCABA = Algorithm(
    "cluster_lcaba",
    cluster_lcaba,
    INPUTS,
    OUTPUTS,
    WORK | COUPLED,
    CLUSTER_LCABA_TREE,
    cluster_lcaba_iterate,
    view=forward_view,
    refinement=cluster_lcaba_refine,
)
