# SPDX-License-Identifier: BSD-3-Clause
"""The factor of LCABA: inertias with the penalties of rows, and couplings of links that are not adjacent in the tree.

**loops** Section IV, Algorithm 1, lines 6 to 15, without forces: all that depends on the configuration and on R alone.
`lcaba` solves with it. The inertia ``mu K' K`` of a penalty couples the accelerations of two links; links are
eliminated in the order of `plans.lcaba`, and those that are coupled to link i then are its neighbors ``N_i``.

| symbol  | meaning                                                                                 |
|---------|-----------------------------------------------------------------------------------------|
| H       | inertia ``H_ii`` of link i, as in `aba`                                                 |
| Hij     | coupling inertia ``H_ij`` of two links; rows for the one that is eliminated first       |
| SH, DSH | ``S' H_ij`` and ``D^-1 S' H_ij``                                                        |
| mu      | penalty of each row, ``1 / R``                                                          |
| X       | scratch: coupling inertias on the way to the parent, or of a pair                       |

Cost: O(n + m + m_c^2 n), with m_c the largest number of neighbors.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.block_rows import (
    NO_ROW,
    add_block,
    clear_block,
    copy_block,
    rotate_rows,
    rotate_rows_about_z,
    row,
    row_minus_scaled,
    row_plus_scaled,
    scaled_row,
    set_row,
    shift_rows,
    solve_ldl_rows,
    subtract_product,
)
from linkwork.kernels.constrained.pair_springs import add_pair_inertias
from linkwork.kernels.constrained.rows import axis as unit_axis
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_parent
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import (
    add_outer_product,
    add_outer_square,
    cross,
    scale,
    set_angular,
    set_linear,
    subtract_symmetric_product,
)
from linkwork.kernels.tree.aba import (
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
)
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL

SPRINGS: dict[str, Shape] = {
    "Hij": ("ncouplings", 6, 6),
    "SH": ("nneighbors", 6, 6),
    "DSH": ("nneighbors", 6, 6),
    "mu": ("nc",),
    "tau": ("nv",),
    "f0": ("n", 6),
    "X": (6, 6),
}


@kernel
def joint_coupling_rows(tree: Array, w: Array) -> None:
    """Rows of K of joint couplings: a joint's acceleration is that of its link relative to the parent."""
    for t in range(tree.nterms):
        g = w.dphi[t]
        if tree.term_k[t] >= 0:
            i = tree.term_body[t]
            axis = axis_of(tree.kind[i], tree.term_v[t] - tree.iv[i])
            z = scale(g, unit_axis(axis % 3))
            K = w.K[tree.term_k[t]]
            P = w.K[tree.term_parent_k[t]]
            if axis > 2:
                set_angular((0.0, 0.0, 0.0), K)
                set_linear(z, K)
                f = rotate_to_parent(tree, w, i, z)
                set_linear(scale(-1.0, f), P)
                set_angular(scale(-1.0, cross(w.r[i], f)), P)
            else:
                set_angular(z, K)
                set_linear((0.0, 0.0, 0.0), K)
                set_angular(scale(-1.0, rotate_to_parent(tree, w, i, z)), P)
                set_linear((0.0, 0.0, 0.0), P)


@kernel
def init_augmented_inertias(tree: Array, w: Array, R: Array) -> None:
    """``H_ii += mu K_i' K_i``, ``H_ij += mu K_i' K_j`` (**loops** Eq. 25, Algorithm 1, lines 4 to 9)."""
    for r in range(tree.nc):
        w.mu[r] = 1.0 / R[r]
    init_rigid_inertias(tree, w)
    for e in range(tree.nouter):
        m = tree.outer_k[e]
        i = tree.k_body[m]
        if i > 0:
            add_outer_square(w.mu[tree.k_row[m]], w.K[m], w.H[i])
    for t in range(tree.nterms):
        r = tree.term_row[t]
        if tree.single_joint[r] != 0:
            w.joint_inertia[tree.term_v[t]] += w.mu[r] * (w.dphi[t] * w.dphi[t])
    for c in range(tree.ncouplings):
        clear_block(w.Hij[c])
    for e in range(tree.ninitial):
        c = tree.initial_coupling[e]
        i = tree.k_body[tree.initial_a[e]]
        A = w.K[tree.initial_a[e]]
        B = w.K[tree.initial_b[e]]
        mu = w.mu[tree.k_row[tree.initial_a[e]]]
        if c >= 0:
            add_outer_product(mu, A, B, w.Hij[c])
        else:
            for j in range(6):
                x = mu * A[j]
                y = mu * B[j]
                for k in range(j, 6):
                    w.H[i, j, k] += x * B[k] + y * A[k]
    for p in range(tree.npairs):
        if tree.closed_rotation[p] != 0 or tree.closed_translation[p] != 0:
            add_pair_inertias(tree, w, p)


@kernel
def eliminate_couplings(tree: Array, w: Array, i: int) -> None:
    """Coupling inertias after eliminating link ``i`` (**loops** Eqs. 30c, 30d, 34; Algorithm 1, lines 19 to 21)."""
    kind = tree.kind[i]
    dof = dof_of(kind)
    axis = axis_of(kind, 0)
    o = tree.neighbor_start[i]
    n = tree.neighbor_count[i]
    h = tree.parent[i]
    for e in range(o, o + n):
        C = w.Hij[tree.neighbor_coupling[e]]
        U = w.SH[e]
        T = w.DSH[e]
        if kind > HELICAL:
            for k in range(dof):
                x = row(C, axis_of(kind, k))
                set_row(x, U, k)
                set_row(x, T, k)
            solve_ldl_rows(dof, w.L[i], T)
        else:
            if kind == HELICAL:
                set_row(row_plus_scaled(row(C, axis), tree.pitch[i], row(C, 5)), U, 0)
            else:
                set_row(row(C, axis), U, 0)
            set_row(scaled_row(w.D[i], row(U, 0)), T, 0)
    for a in range(n):
        e = o + a
        H = w.H[tree.neighbor_body[e]]
        for k in range(dof):
            subtract_symmetric_product(w.SH[e, k], w.DSH[e, k], H)
        for b in range(a + 1, n):
            C = w.Hij[tree.fill[tree.fill_start[e] + b - a - 1]]
            for k in range(dof):
                subtract_product(w.SH[e, k], row(w.DSH[o + b], k), C)
    if h > 0:
        couplings_to_parent(tree, w, i)


@kernel
def couplings_to_parent(tree: Array, w: Array, i: int) -> None:
    """``H_pj += X* P_i H_ij`` of the parent p and each neighbor j (Eqs. 30c, 34); ``P = 1 - U D^-1 S'``."""
    kind = tree.kind[i]
    dof = dof_of(kind)
    axis = axis_of(kind, 0)
    h = tree.parent[i]
    for e in range(tree.neighbor_start[i], tree.neighbor_start[i] + tree.neighbor_count[i]):
        C = w.Hij[tree.neighbor_coupling[e]]
        U = w.SH[e]
        for j in range(6):
            if kind > HELICAL:
                if tree.has_armature[i] != 0 or moves_along(kind, j) == 0:
                    for k in range(dof):
                        set_row(row_minus_scaled(row(C, j), w.Y[i, j, k], row(U, k)), C, j)
                else:
                    set_row(NO_ROW, C, j)
            elif j != axis or kind == HELICAL or tree.has_armature[i] != 0:
                set_row(row_minus_scaled(row(C, j), w.V[i, j], row(U, 0)), C, j)
            else:
                set_row(NO_ROW, C, j)
        force_columns_to_parent(tree, w, i, C, w.X)
        coupling_to_parent(tree, w, h, e)


@kernel
def coupling_to_parent(tree: Array, w: Array, h: int, e: int) -> None:
    """``H_pj += X`` of the parent and neighbor ``e``."""
    X = w.X
    coupling = tree.parent_coupling[e]
    if coupling < 0:  # the neighbor is the parent: its own inertia, both halves
        H = w.H[h]
        for j in range(6):
            for k in range(j, 6):
                H[j, k] += X[j, k] + X[k, j]
    elif tree.parent_coupling_transposed[e] != 0:
        P = w.Hij[coupling]
        for j in range(6):
            for k in range(6):
                P[k, j] += X[j, k]
    else:
        add_block(X, w.Hij[coupling])


@kernel
def force_columns_to_parent(tree: Array, w: Array, i: int, C: Array, X: Array) -> None:
    """``X = p(i)X*i C``: the columns of ``C`` are forces on link ``i``; row by row, all columns at once."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        rotate_rows(w.R[i], C, X)
    elif kind == PRISMATIC:
        if tree.has_rotation[i] != 0:
            rotate_rows(tree.P[i], C, X)
        else:
            copy_block(C, X)
    else:
        rotate_rows_about_z(w.cos[i], w.sin[i], C, X)
        if tree.has_rotation[i] != 0:
            rotate_rows(tree.P[i], X, X)
    shift_rows(w.r[i], X)


@kernel
def articulate_loops(tree: Array, w: Array, R: Array) -> None:
    """Backward sweep of inertias (**loops** Algorithm 1, lines 4 to 23 without forces)."""
    joint_coupling_rows(tree, w)
    init_augmented_inertias(tree, w, R)
    articulate_coupled(tree, w)


@kernel
def articulate_coupled(tree: Array, w: Array) -> None:
    """The elimination of all links, whose inertias and couplings are set (lines 11 to 23 without forces)."""
    for s in range(1, tree.n):
        i = tree.elimination_order[s]
        eliminate(tree, w, i)
        eliminate_couplings(tree, w, i)
        inertia_to_parent(tree, w, i)
