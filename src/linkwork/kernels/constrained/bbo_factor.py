# SPDX-License-Identifier: BSD-3-Clause
"""The factor of proxBBO: rows are propagated towards the root with the articulated bodies, and eliminated in blocks.

**loops** Section V, Algorithm 4, lines 8 to 17, without forces: all that depends on the configuration and on R alone.
`bbo` solves with it. Rows of K at link i satisfy ``K a_i + L lambda = k`` at every step, with ``L = R`` at first. A row
at a link has a *slot*; rows that are eliminated at the same link, ``R_i`` of the paper, are a *block*, coupled to the
rows ``U_i`` that are propagated on.

Rows are handled four at a time, in panels (`panels`): what follows has a column for each row of a panel.

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| Ks     | ``K_i`` of each place; after `rows_to_parent`, that of the parent: ``K (1 - S D^-1 U')``    |
| Ts     | ``D^-1 S' K'``; of an eliminated block, with the factor ``L D L'``, ``D^-1 L^-1 K_R``       |
| Zs     | of the link at hand, ``S' K'``; of an eliminated block, ``L^-1 K_R``                        |
| Ls     | tiles of L (**loops** Eq. 46d); of an eliminated block, its factor, and ``D^-1 L^-1 L_RU``  |
| g      | coefficient of a row on the acceleration of joint i itself (joint couplings)                |

Cost: O(n + m_b^3 n), with m_b the largest number of rows propagated together.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.joints import axis_of, dof_of, moves_along
from linkwork.kernels.panels import (
    ZERO,
    add_outer_tile,
    add_panel,
    factorize_tile,
    line,
    minus_scaled,
    plus,
    plus_scaled,
    rotate_panel_about_z,
    scaled,
    set_line,
    shift_panel,
    solve_ldl_panel,
    solve_line,
    solve_tile,
    subtract_and_rotate_panel,
    subtract_panel_line,
    subtract_panel_product,
    subtract_transposed_product,
    sum_of_products,
    times_diagonal,
    times_diagonal_tile,
    transform_panel,
)
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.thresholds import DISABLED
from linkwork.kernels.tree.aba import (
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
)
from linkwork.model.joints import FREE, HELICAL, PLANAR, PRISMATIC, SPHERICAL

TRAVEL: dict[str, Shape] = {
    "Ks": ("nplaces", 6, 4),
    "Ts": ("nlines", 4),
    "Zs": ("max_panels", 6, 4),
    "g": ("ncoefficients", 4),
    "Ls": ("ntiles", 4, 4),
    "X": (4, 4),
    "x": (4,),
    "ks": ("npanels", 4),
    "lams": ("npanels", 4),
    "lam": ("nc",),
    "pivot": (3,),
}


@kernel
def init_rows(tree: Array, w: Array, R: Array) -> None:
    """``K``, ``L = R`` of each row at the links that it constrains (**loops** Algorithm 4, lines 4 to 7)."""
    for p in range(tree.nplaces):
        for j in range(6):
            set_line(ZERO, w.Ks[p], j)
    for m in range(tree.nk):
        p = tree.k_place[m]
        if p >= 0:
            for j in range(6):
                w.Ks[p, j, tree.row_column[tree.k_row[m]]] += w.K[m, j]
    for e in range(tree.ncoefficients):
        set_line(ZERO, w.g, e)
    for t in range(tree.nterms):
        if tree.term_coefficient[t] >= 0:
            w.g[tree.term_coefficient[t], tree.row_column[tree.term_row[t]]] += w.dphi[t]
    w.pivot[0] = 1.0
    w.pivot[1] = DISABLED
    w.pivot[2] = 0.0
    for e in range(tree.ntiles):
        for d in range(4):
            set_line(ZERO, w.Ls[e], d)
    for b in range(tree.nblocks):
        for a in range(tree.block_size[b]):
            A = w.Ls[block_tile(tree, b, a, a)]
            p = tree.slot_panel[tree.block_slot[b] + a]
            for c in range(4):
                A[c, c] = R[tree.panel_row[p] + c] if c < tree.panel_rows[p] else 1.0


@kernel
def block_tile(tree: Array, b: int, a: int, e: int) -> int:
    """The tile of L of panels ``a >= e`` of a block."""
    tile: int = tree.block_tile[tree.block_tile_start[b] + a * (a + 1) // 2 + e]
    return tile


@kernel
def factorize_block(tree: Array, w: Array, b: int) -> None:
    """``L_RR = L D L'`` of a block, in place; the diagonal becomes ``1 / D``."""
    for a in range(tree.block_size[b]):
        A = w.Ls[block_tile(tree, b, a, a)]
        diagonal = (A[0, 0], A[1, 1], A[2, 2], A[3, 3])
        for e in range(a):
            E = w.Ls[block_tile(tree, b, a, e)]
            for m in range(e):
                subtract_transposed_product(w.Ls[block_tile(tree, b, e, m)], w.Ls[block_tile(tree, b, a, m)], E)
            solve_tile(w.Ls[block_tile(tree, b, e, e)], E)
        for e in range(a):
            E = w.Ls[block_tile(tree, b, a, e)]
            for d in range(4):
                set_line(line(E, d), w.X, d)
            times_diagonal_tile(w.Ls[block_tile(tree, b, e, e)], E)
            subtract_transposed_product(E, w.X, A)
        factorize_tile(A, w.x)
        rows = tree.panel_rows[tree.slot_panel[tree.block_slot[b] + a]]
        for c in range(4):
            if c < rows:
                w.pivot[0] = minimum(w.x[c] / diagonal[c], w.pivot[0])
                w.pivot[1] = minimum(w.x[c], w.pivot[1])
                w.pivot[2] = maximum(where(diagonal[c], DISABLED, diagonal[c], 0.0), w.pivot[2])


@kernel
def eliminate_rows(tree: Array, w: Array, i: int) -> None:
    """``H += K_R' L_RR^-1 K_R``, ``K_U``, ``L_UU``: eliminate the rows that close at link ``i`` (**loops** Eq. 52)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        factorize_block(tree, w, b)
        if i > 0:
            rows_by_block_factor(tree, w, i, b)
        couplings_by_block_factor(tree, w, i, b)


@kernel
def rows_by_block_factor(tree: Array, w: Array, i: int, b: int) -> None:
    """``Z = L^-1 K_R``, ``T = D^-1 Z`` of a block, and ``H += Z' T``."""
    o = tree.block_slot[b]
    H = w.H[i]
    for a in range(tree.block_size[b]):
        K = w.Ks[tree.slot_place[o + a]]
        Z = w.Zs[a]
        T = w.Ts[tree.slot_line[o + a] : tree.nlines]
        for j in range(6):
            set_line(line(K, j), Z, j)
        for e in range(a):
            subtract_panel_product(w.Zs[e], w.Ls[block_tile(tree, b, a, e)], Z)
        A = w.Ls[block_tile(tree, b, a, a)]
        for j in range(6):
            z = solve_line(A, line(Z, j))
            set_line(z, Z, j)
            set_line(times_diagonal(A, z), T, j)
        for j in range(6):
            for k in range(j, 6):
                H[j, k] += sum_of_products(line(Z, j), line(T, k))


@kernel
def couplings_by_block_factor(tree: Array, w: Array, i: int, b: int) -> None:
    """``W = D^-1 L^-1 L_RU`` of a block, in place; ``K_U -= W' Z``, ``L_UU -= W' D W``."""
    n = tree.block_size[b]
    m = tree.coupled_count[b]
    ru = tree.cross_start[b]
    for a in range(n):
        A = w.Ls[block_tile(tree, b, a, a)]
        for u in range(m):
            W = w.Ls[tree.cross_tile[ru + a * m + u]]
            for e in range(a):
                subtract_transposed_product(w.Ls[block_tile(tree, b, a, e)], w.Ls[tree.cross_tile[ru + e * m + u]], W)
            solve_tile(A, W)
    for a in range(n):
        A = w.Ls[block_tile(tree, b, a, a)]
        for u in range(m):
            W = w.Ls[tree.cross_tile[ru + a * m + u]]
            for d in range(4):
                set_line(line(W, d), w.X, d)
            times_diagonal_tile(A, W)
            if i > 0:
                subtract_panel_product(w.Zs[a], W, w.Ks[tree.slot_place[tree.coupled_slot[tree.coupled_start[b] + u]]])
            for t in range(u + 1):
                tile = tree.passing_tile[tree.coupled_passing_start[b] + u * (u + 1) // 2 + t]
                subtract_transposed_product(w.Ls[tree.cross_tile[ru + a * m + t]], w.X, w.Ls[tile])


@kernel
def propagate_rows(tree: Array, w: Array, i: int) -> None:
    """``K_p(i)`` and ``L`` of the rows that are propagated past joint ``i`` (**loops** Eqs. 46c, 46d)."""
    o = tree.slot_start[i]
    project_rows_on_joint(tree, w, i)
    for a in range(tree.slot_count[i]):
        for b in range(a + 1):
            A = w.Ls[tree.passing_tile[tree.passing_start[i] + a * (a + 1) // 2 + b]]
            for k in range(dof_of(tree.kind[i])):
                add_outer_tile(w.Ts[tree.slot_line[o + b] + k], w.Zs[a, k], A)
    rows_to_parent(tree, w, i)


@kernel
def project_rows_on_joint(tree: Array, w: Array, i: int) -> None:
    """``S' K'`` and ``D^-1 S' K'`` of the rows at link ``i``."""
    kind = tree.kind[i]
    dof = dof_of(kind)
    o = tree.slot_start[i]
    for a in range(tree.slot_count[i]):
        K = w.Ks[tree.slot_place[o + a]]
        S = w.Zs[a]
        T = w.Ts[tree.slot_line[o + a] : tree.nlines]
        if kind > HELICAL:
            for k in range(dof):
                x = line(K, axis_of(kind, k))
                set_line(x, S, k)
                set_line(x, T, k)
            solve_ldl_panel(dof, w.L[i], T)
        else:
            set_line(line(K, axis_of(kind, 0)), S, 0)
            if kind == HELICAL:
                set_line(plus_scaled(line(S, 0), tree.pitch[i], line(K, 5)), S, 0)
            if tree.slot_coefficient[o + a] >= 0:
                set_line(plus(line(S, 0), line(w.g, tree.slot_coefficient[o + a])), S, 0)
            set_line(scaled(w.D[i], line(S, 0)), T, 0)


@kernel
def rows_to_parent(tree: Array, w: Array, i: int) -> None:
    """``K_p(i) += K_i P' iXp(i)`` (**loops** Eq. 46c)."""
    kind = tree.kind[i]
    geared = tree.has_armature[i]
    o = tree.slot_start[i]
    for a in range(tree.slot_count[i]):
        place = tree.slot_place[o + a]
        parent = tree.slot_parent[o + a]
        if parent >= 0:
            K = w.Ks[place]
            S = w.Zs[a]
            if kind > HELICAL:
                for j in range(6):
                    if geared != 0 or moves_along(kind, j) == 0:
                        for k in range(dof_of(kind)):
                            set_line(minus_scaled(line(K, j), w.Y[i, j, k], line(S, k)), K, j)
                    else:
                        set_line(ZERO, K, j)
            else:
                x = line(S, 0)
                if kind == PRISMATIC:
                    subtract_panel_line(w.V[i], x, K)
                else:
                    subtract_and_rotate_panel(w.V[i], x, w.cos[i], w.sin[i], K)
                if kind != HELICAL and geared == 0:
                    if tree.slot_coefficient[o + a] >= 0:
                        set_line(scaled(-1.0, line(w.g, tree.slot_coefficient[o + a])), K, axis_of(kind, 0))
                    else:
                        set_line(ZERO, K, axis_of(kind, 0))
            if kind == SPHERICAL or kind == FREE:
                transform_panel(w.R[i], w.r[i], K)
            else:
                if kind == PLANAR:
                    rotate_panel_about_z(w.cos[i], w.sin[i], K)
                if tree.has_rotation[i] != 0:
                    transform_panel(tree.P[i], w.r[i], K)
                else:
                    shift_panel(w.r[i], K)
            if parent != place:
                add_panel(K, w.Ks[parent])


@kernel
def articulate_rows(tree: Array, w: Array, R: Array) -> None:
    """Backward sweep of inertias, K and L (**loops** Algorithm 4, lines 8 to 17 without forces)."""
    init_rows(tree, w, R)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate_rows(tree, w, i)
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        inertia_to_parent(tree, w, i)
    eliminate_rows(tree, w, 0)
