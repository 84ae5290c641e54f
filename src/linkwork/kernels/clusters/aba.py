# SPDX-License-Identifier: BSD-3-Clause
"""C-ABA: forward dynamics with clusters of bodies eliminated as single bodies are.

**clusters** Algorithm 1 and Section VII. A cluster is carried by its output bodies (Section IV-B), most often one. The
paper's matrices of all its bodies are, on the cluster's joints, its mass matrix ``M`` by composite bodies (each with
the articulated inertia of the clusters it carries) and the forces ``F`` that unit accelerations need at each output
body o. With the cluster's motion subspace ``S = X block(S_i) G`` (Eq. 24), ``S' I^A S = G' M G``, and ``I^A S`` is
``G' F_o`` at o. Eliminating a cluster couples its output bodies, which are of one cluster: the blocks of ``I^A`` beside
its diagonal (Eqs. 18, 55), which are a part of that cluster's ``M`` and ``F``.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| Mc, Fc | ``M`` of a cluster's joints, and ``F`` at its output bodies, nv rows for each         |
| MGc    | ``M G``, its columns by fours: those of the independent joints of a cluster         |
| Dc     | ``D = S' I^A S = G' M G`` (line 27), then its factor ``L D L'``                       |
| Uc, DUc | ``L^-1 U`` with ``U = I^A S = G' F`` (line 26), and ``D^-1 L^-1 U``; rows as in Fc    |
| IAc    | blocks of ``I^A`` of pairs of bodies, with rows of the one that is eliminated first    |
| uc     | ``u = tau - S' p^A`` (line 28): of each joint, then ``L^-1 G' (u - M g)`` of independent ones |

and those of `clusters`. Cost: linear in the clusters, cubic in the joints of one.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.block_rows import row, row_minus_scaled, row_plus_scaled, scaled_row, set_row, subtract_product
from linkwork.kernels.clusters.columns import generalized_force, shift_force_to_parent
from linkwork.kernels.clusters.explicit import (
    EXPLICIT,
    cluster_multipliers,
    cluster_residuals,
    dependent_accelerations,
    explicit_constraints,
)
from linkwork.kernels.constrained.lcaba_factor import force_columns_to_parent
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    constraint_violation,
    forward_view,
    setup_problem,
)
from linkwork.kernels.indexed_ldl import back_substitute_at, factorize_at, forward_substitute_at
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.panels import entries, plus_scaled, set_entries
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import add_rigid_inertia, subtract_symmetric_product, symmetrize
from linkwork.kernels.tree.aba import (
    articulated_bias_force,
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
    joint_acceleration,
    whole_inertia_to_parent,
)
from linkwork.kernels.tree.crba import inertia_in_parent
from linkwork.kernels.tree.kinematics import acceleration_from_parent
from linkwork.kernels.tree.rnea import force_to_parent
from linkwork.model.joints import HELICAL
from linkwork.plans.clusters import CLUSTER_TREE

CLUSTERED: dict[str, Shape] = EXPLICIT | {
    "Mc": ("nv", "nv"),
    "Fc": ("nwide", 6),
    "MGc": ("nv", "nind_places"),
    "Dc": ("nv", "nv"),
    "Uc": ("nwide", 6),
    "DUc": ("nwide", 6),
    "IAc": ("nblocks", 6, 6),
    "X": (6, 6),
    "fc": (6,),
    "uc": ("nv",),
}
"""Work arrays of articulated clusters."""


@kernel
def cluster_mass_matrix(tree: Array, w: Array, c: int) -> None:
    """``M`` and ``F`` of a cluster's joints by composite bodies, whose inertias go to the output bodies."""
    end = tree.member_start[c] + tree.member_count[c]
    for e in range(tree.zero_start[c], tree.zero_start[c] + tree.zero_count[c]):
        w.Mc[tree.zero_first[e], tree.zero_second[e]] = 0.0
        w.Mc[tree.zero_second[e], tree.zero_first[e]] = 0.0
    for back in range(tree.member_count[c]):
        i = tree.member[end - 1 - back]
        kind = tree.kind[i]
        H = w.H[i]
        symmetrize(H)
        for k in range(dof_of(kind)):
            o = tree.iv[i] + k
            for x in range(tree.output_count[c]):
                if x != tree.body_output[i]:
                    for j in range(6):
                        w.Fc[tree.nv * x + o, j] = 0.0
            F = w.Fc[tree.nv * tree.body_output[i] + o]
            for j in range(6):
                F[j] = H[j, axis_of(kind, k)]
                if kind == HELICAL:
                    F[j] += tree.pitch[i] * H[j, 5]
            j = i
            while tree.body_cluster[j] == c:
                for m in range(dof_of(tree.kind[j])):
                    x = generalized_force(tree, j, m, F)
                    w.Mc[tree.iv[j] + m, o] = x
                    w.Mc[o, tree.iv[j] + m] = x
                shift_force_to_parent(tree, w, j, F)
                j = tree.parent[j]
            w.Mc[o, o] += w.joint_inertia[o]
        couplings_of_body(tree, w, c, i)
        composite_to_parent(tree, w, i)


@kernel
def couplings_of_body(tree: Array, w: Array, c: int, i: int) -> None:
    """``M`` and ``F`` of the joint of body ``i`` by its couplings with others, which are then added to its parent."""
    h = tree.parent[i]
    for e in range(tree.coupled_start[i], tree.coupled_start[i] + tree.coupled_count[i]):
        I = w.IAc[tree.coupled_block[e]]
        for k in range(dof_of(tree.kind[i])):
            o = tree.iv[i] + k
            for j in range(6):
                w.fc[j] = I[axis_of(tree.kind[i], k), j]
                if tree.kind[i] == HELICAL:
                    w.fc[j] += tree.pitch[i] * I[5, j]
            b = tree.coupled_body[e]
            while tree.body_cluster[b] == c:
                for m in range(dof_of(tree.kind[b])):
                    x = generalized_force(tree, b, m, w.fc)
                    w.Mc[tree.iv[b] + m, o] += x
                    w.Mc[o, tree.iv[b] + m] += x
                shift_force_to_parent(tree, w, b, w.fc)
                b = tree.parent[b]
            for j in range(6):
                w.Fc[tree.nv * tree.coupled_output[e] + o, j] += w.fc[j]
        if tree.coupled_next[e] > -2:
            force_columns_to_parent(tree, w, i, I, w.X)
            if tree.coupled_next[e] < 0:  # both are one body now: its own inertia, both halves
                for j in range(6):
                    for m in range(j, 6):
                        w.H[h, j, m] += w.X[j, m] + w.X[m, j]
            else:
                P = w.IAc[tree.coupled_next[e]]
                for j in range(6):
                    for m in range(6):
                        if tree.coupled_transposed[e] != 0:
                            P[m, j] += w.X[j, m]
                        else:
                            P[j, m] += w.X[j, m]


@kernel
def composite_to_parent(tree: Array, w: Array, i: int) -> None:
    """``IA_p(i) = IA_p(i) + p(i)X*i IA iXp(i)``; of a rod on a ball joint, ten numbers."""
    h = tree.parent[i]
    if tree.is_rod[i] != 0 and h > 0:
        mc, I = inertia_in_parent(tree, w, i, tree.mass[i], tree.mc[i], tree.I[i])
        add_rigid_inertia(tree.mass[i], mc, I, w.H[h])
    else:
        whole_inertia_to_parent(tree, w, i)


@kernel
def project_on_independent(tree: Array, w: Array, c: int) -> None:
    """``D = G' M G``, factorized, and ``U = G' F`` (lines 26, 27), then ``L^-1 U``."""
    ind = tree.ind_start[c]
    ind_end = ind + tree.ind_count[c]
    dep = tree.dep_start[c]
    dep_end = dep + tree.dep_count[c]
    for b in range(ind, ind_end):  # U = G' F
        k = tree.ind_dof[b]
        for y in range(tree.output_count[c]):
            o = tree.nv * y
            U = row(w.Fc, o + k)
            for d in range(dep, dep_end):
                U = row_plus_scaled(U, w.Gc[tree.dep_dof[d], k], row(w.Fc, o + tree.dep_dof[d]))
            set_row(U, w.Uc, o + k)
    for d in range(dep, dep_end):
        mass_times_jacobian(tree, w, c, tree.dep_dof[d], ind_end - ind)
    for a in range(ind, ind_end):  # D = G' M G
        i = tree.ind_dof[a]
        mass_times_jacobian(tree, w, c, i, a + 1 - ind)
        for l in range((a - ind) // 4 + 1):
            x = entries(w.MGc[i], 4 * l)
            for d in range(dep, dep_end):
                x = plus_scaled(x, w.Gc[tree.dep_dof[d], i], entries(w.MGc[tree.dep_dof[d]], 4 * l))
            set_entries(x, w.MGc[i], 4 * l)
        for b in range(ind, a + 1):
            w.Dc[i, tree.ind_dof[b]] = w.MGc[i, b - ind]
    factorize_at(tree.ind_dof, ind, ind_end - ind, w.Dc)
    forward_substitute_rows(tree, w, c)


@kernel
def mass_times_jacobian(tree: Array, w: Array, c: int, i: int, n: int) -> None:
    """Row ``i`` of ``M G``, its columns of the first ``n`` independent joints."""
    for l in range((n + 3) // 4):
        b = 4 * l
        x = (
            mass_entry(tree, w, c, i, b),
            mass_entry(tree, w, c, i, b + 1),
            mass_entry(tree, w, c, i, b + 2),
            mass_entry(tree, w, c, i, b + 3),
        )
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            x = plus_scaled(x, w.Mc[i, tree.dep_dof[d]], entries(w.Gd[d], b))
        set_entries(x, w.MGc[i], b)


@kernel
def mass_entry(tree: Array, w: Array, c: int, i: int, b: int) -> Scalar:
    """Row ``i`` of ``M``, its column of independent joint ``b`` of a cluster; zero after the last one."""
    x = 0.0
    if b < tree.ind_count[c]:
        x = w.Mc[i, tree.ind_dof[tree.ind_start[c] + b]]
    return x


@kernel
def cluster_forces(tree: Array, w: Array, c: int, tau: Array) -> None:
    """``u = tau - S' p^A`` of a cluster's joints (line 28), whose forces go to the parent."""
    end = tree.member_start[c] + tree.member_count[c]
    for back in range(tree.member_count[c]):
        i = tree.member[end - 1 - back]
        kind = tree.kind[i]
        for k in range(dof_of(kind)):
            o = tree.iv[i] + k
            w.uc[o] = tau[o] - w.f[i, axis_of(kind, k)]
            if kind == HELICAL:
                w.uc[o] -= tree.pitch[i] * w.f[i, 5]
        force_to_parent(tree, w, i)


@kernel
def project_forces(tree: Array, w: Array, c: int) -> None:
    """``u = G' (u - M g)`` of the independent joints, then ``L^-1 u``."""
    ind = tree.ind_start[c]
    ind_end = ind + tree.ind_count[c]
    dep = tree.dep_start[c]
    dep_end = dep + tree.dep_count[c]
    for a in range(ind, ind_end):
        i = tree.ind_dof[a]
        for d in range(dep, dep_end):
            w.uc[i] -= w.Mc[i, tree.dep_dof[d]] * w.gc[tree.dep_dof[d]]
    for d in range(dep, dep_end):
        i = tree.dep_dof[d]
        x = w.uc[i]
        for e in range(dep, dep_end):
            x = x - w.Mc[i, tree.dep_dof[e]] * w.gc[tree.dep_dof[e]]
        for a in range(ind, ind_end):
            w.uc[tree.ind_dof[a]] += w.Gc[i, tree.ind_dof[a]] * x
    forward_substitute_at(tree.ind_dof, ind, ind_end - ind, w.Dc, w.uc)


@kernel
def forward_substitute_rows(tree: Array, w: Array, c: int) -> None:
    """``L^-1 U`` of a cluster, in place."""
    ind = tree.ind_start[c]
    for x in range(tree.output_count[c]):
        o = tree.nv * x
        for a in range(tree.ind_count[c]):
            i = tree.ind_dof[ind + a]
            for b in range(a):
                k = tree.ind_dof[ind + b]
                set_row(row_minus_scaled(row(w.Uc, o + i), w.Dc[i, k], row(w.Uc, o + k)), w.Uc, o + i)


@kernel
def articulate_cluster(tree: Array, w: Array, c: int) -> None:
    """``I^a`` of a cluster (line 30; Eq. 55), at its output bodies; leaves ``D^-1 L^-1 U`` in DUc."""
    ind = tree.ind_start[c]
    ind_end = ind + tree.ind_count[c]
    pair = tree.output_pair_start[c]
    for x in range(tree.output_count[c]):
        o = tree.nv * x
        H = w.H[tree.output_body[tree.output_start[c] + x]]
        for b in range(ind, ind_end):
            k = tree.ind_dof[b]
            set_row(scaled_row(w.Dc[k, k], row(w.Uc, o + k)), w.DUc, o + k)
            subtract_symmetric_product(w.DUc[o + k], w.Uc[o + k], H)
        for y in range(x):
            I = w.IAc[tree.output_pair[pair + x * (x - 1) // 2 + y]]
            for b in range(ind, ind_end):
                k = tree.ind_dof[b]
                subtract_product(w.DUc[o + k], row(w.Uc, tree.nv * y + k), I)


@kernel
def articulated_cluster_force(tree: Array, w: Array, c: int) -> None:
    """``p^a`` of a cluster (line 31; Eq. 56), at its output bodies."""
    for x in range(tree.output_count[c]):
        o = tree.nv * x
        h = tree.output_body[tree.output_start[c] + x]
        f = row(w.f, h)
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            i = tree.dep_dof[d]
            f = row_plus_scaled(f, w.gc[i], row(w.Fc, o + i))
        for b in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            k = tree.ind_dof[b]
            f = row_plus_scaled(f, w.uc[k], row(w.DUc, o + k))
        set_row(f, w.f, h)


@kernel
def cluster_accelerations(tree: Array, w: Array, c: int, qdd: Array) -> None:
    """Accelerations of a cluster from those of its output bodies (lines 40 to 42)."""
    ind = tree.ind_start[c]
    n = tree.ind_count[c]
    for b in range(ind, ind + n):
        k = tree.ind_dof[b]
        x = w.uc[k]
        for o in range(tree.output_count[c]):
            a = w.a[tree.output_body[tree.output_start[c] + o]]
            for j in range(6):
                x = x - w.Uc[tree.nv * o + k, j] * a[j]
        qdd[k] = w.Dc[k, k] * x
    back_substitute_at(tree.ind_dof, ind, n, w.Dc, qdd)
    dependent_accelerations(tree, w, c, qdd)
    for e in range(tree.member_start[c], tree.member_start[c] + tree.member_count[c]):
        acceleration_from_parent(tree, w, tree.member[e], qdd)


@kernel
def cluster_constraint_forces(tree: Array, w: Array, c: int, qdd: Array, multipliers: Array) -> None:
    """Multipliers of a cluster's rows from ``M q'' + F' a - u``, their torques on its dependent joints."""
    dep = tree.dep_start[c]
    dep_end = dep + tree.dep_count[c]
    for d in range(dep, dep_end):
        i = tree.dep_dof[d]
        x = -w.uc[i]
        for o in range(tree.output_count[c]):
            a = w.a[tree.output_body[tree.output_start[c] + o]]
            for j in range(6):
                x = x + w.Fc[tree.nv * o + i, j] * a[j]
        for e in range(dep, dep_end):
            x = x + w.Mc[i, tree.dep_dof[e]] * qdd[tree.dep_dof[e]]
        for b in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            x = x + w.Mc[i, tree.ind_dof[b]] * qdd[tree.ind_dof[b]]
        w.x[i] = x
    cluster_multipliers(tree, w, c, w.x, multipliers)


@kernel
def cluster_aba(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """C-ABA (**clusters** Algorithm 1); ``progress`` is the least pivot of the dependent joints."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)  # line 11
    cluster_aba_sweeps(tree, w, problem.tau, result)
    for r in range(tree.nc):
        result.residual[r] = 0.0
    for c in range(tree.nclusters):
        cluster_residuals(tree, w, c, result.a, result.residual)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


@kernel
def cluster_aba_sweeps(tree: Array, w: Array, tau: Array, result: Result) -> None:
    """Backward and second forward pass: accelerations and multipliers, after ``G`` and ``g``."""
    init_rigid_inertias(tree, w)  # lines 20, 21
    for e in range(tree.nblocks):
        for j in range(6):
            for k in range(6):
                w.IAc[e, j, k] = 0.0
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
    for c in range(tree.nclusters):  # backward pass, lines 24 to 35
        if tree.single_body[c] != 0:
            i = tree.member[tree.member_start[c]]
            eliminate(tree, w, i)
            inertia_to_parent(tree, w, i)
            articulated_bias_force(tree, w, i, tau)
        else:
            cluster_mass_matrix(tree, w, c)
            project_on_independent(tree, w, c)
            cluster_forces(tree, w, c, tau)
            project_forces(tree, w, c)
            if tree.cluster_parent[c] > 0:
                articulate_cluster(tree, w, c)
                articulated_cluster_force(tree, w, c)
    for back in range(tree.nclusters):  # second forward pass, lines 37 to 43
        c = tree.nclusters - 1 - back
        if tree.single_body[c] != 0:
            joint_acceleration(tree, w, tree.member[tree.member_start[c]], result.a)
        else:
            cluster_accelerations(tree, w, c, result.a)
            cluster_constraint_forces(tree, w, c, result.a, result.multipliers)


CLUSTER_ABA = Algorithm("cluster_aba", cluster_aba, INPUTS, OUTPUTS, WORK | CLUSTERED, CLUSTER_TREE, view=forward_view)
