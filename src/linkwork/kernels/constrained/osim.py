# SPDX-License-Identifier: BSD-3-Clause
"""The Delassus matrix ``D = J M^-1 J'`` (inverse operational-space inertia), as an explicit matrix.

| kernel           | how                                                                     | cost            |
|------------------|-------------------------------------------------------------------------|-----------------|
| `ltl_osim`       | mass matrix and Jacobian in joint space, with branch-induced sparsity    | n d² + m² d     |
| `prox_ltl_osim`  | the same, and the factor of ``D + R`` (**proximal** Algorithm 1)         | n d² + m² d + m³|
| `pv_osim`        | rows propagated to the world, accumulating ``D`` (**lqr** Algorithm 2)   | n + m² d        |
| `pv_osimr`       | rows propagated to junctions, unit forces on these in their place         | n + m²          |
| `pv_osim_fast`   | rows propagated to the floating base, whose share of ``D`` has rank six  | n + m² d / r    |
| `efpa`, `kjr`    | inverse inertias propagated from the root: see `efpa`                    |                 |

with d the depth, m the rows, r the branches at the base. `caba_osim` is the damped inverse ``(D + R)^-1`` itself;
`diagonal_blocks` is ``D`` within each constraint. Symbols are those of `ltl` and `bbo`.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.bbo_factor import (
    TRAVEL,
    block_tile,
    eliminate_rows,
    init_rows,
    project_rows_on_joint,
    propagate_rows,
    rows_to_parent,
)
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows, jacobian_from_rows
from linkwork.kernels.constrained.lcaba_factor import (
    SPRINGS,
    eliminate_couplings,
    init_augmented_inertias,
    joint_coupling_rows,
)
from linkwork.kernels.constrained.ltl import DENSE, delassus_matrix, factorize_mass_matrix, rows_by_factor
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.panels import line, minus_scaled, minus_transposed_product, set_line, solve_line_transposed
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import symmetrize
from linkwork.kernels.tree.aba import ARTICULATED, eliminate, factorize_ldl, inertia_to_parent, init_rigid_inertias
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.kernels.tree.rnea import FORCE
from linkwork.plans.bbo import BBO_TREE
from linkwork.plans.caba_osim import CABA_OSIM_TREE
from linkwork.plans.constraints import CONSTRAINED_TREE
from linkwork.plans.ltl import LTL_TREE
from linkwork.plans.pv_osimr import PV_OSIMR_TREE

ROWS: dict[str, Shape] = POSE | CLOSURE | FORCE | ARTICULATED | {"e": ("nc",), "none": ("nc",)}
"""Work arrays of rows and articulated inertias."""


@kernel
def rows_at(tree: Array, w: Array, q: Array) -> None:
    """Rows of K at ``q``."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)


@kernel
def symmetrize_matrix(tree: Array, matrix: Array) -> None:
    """The upper triangle from the lower one."""
    for r in range(tree.nc):
        for s in range(r):
            matrix[s, r] = matrix[r, s]


@kernel
def link_rows(tree: Array, w: Array, q: Array, K: Array) -> None:
    """Rows of K, each on its body."""
    rows_at(tree, w, q)
    for m in range(tree.nk):
        for j in range(6):
            K[m, j] = w.K[m, j]


# In joint space -------------------------------------------------------------------------------------------------


@kernel
def ltl_osim(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """LTL-OSIM: ``(J L^-1) D^-1 (J L^-1)'`` with ``M = L' D L`` (**lqr** Section II-C)."""
    rows_at(tree, w, q)
    mass_matrix(tree, w, w.M)
    jacobian_from_rows(tree, w, q, w.Jc)
    factorize_mass_matrix(tree, w)
    rows_by_factor(tree, w)
    delassus_matrix(tree, w, matrix)
    symmetrize_matrix(tree, matrix)


@kernel
def prox_ltl_osim(tree: Array, w: Array, q: Array, damping: Array, matrix: Array, factored: Array) -> None:
    """The inverse operational-space inertia, and the factor of ``D + R`` (**proximal** Algorithm 1): ``L`` below the
    diagonal, ``1 / D`` on it.
    """
    ltl_osim(tree, w, q, matrix)
    for r in range(tree.nc):
        for s in range(tree.nc):
            factored[r, s] = matrix[r, s] if s <= r else 0.0
        factored[r, r] += damping[r]
    factorize_ldl(tree.nc, factored)


# Rows propagated to the root ------------------------------------------------------------------------------------


@kernel
def pv_osim(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """PV-OSIM (**lqr** Algorithm 2): rows ``K^A`` pass every joint to the root, and ``L^A`` there is ``D``."""
    rows_at(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)  # line 5
        propagate_rows(tree, w, i)  # lines 7, 8
        inertia_to_parent(tree, w, i)  # line 6
    matrix_from_tiles(tree, w, tree.nc, matrix)


@kernel
def matrix_from_tiles(tree: Array, w: Array, rows: int, matrix: Array) -> None:
    """Tiles of ``L^A`` in their places of a matrix of so many rows."""
    for r in range(rows):
        for s in range(rows):
            matrix[r, s] = 0.0
    for t in range(tree.ntiles):
        p = tree.tile_first[t]
        q = tree.tile_second[t]
        for c in range(tree.panel_rows[p]):
            for d in range(c + 1 if p == q else tree.panel_rows[q]):
                matrix[tree.panel_row[p] + c, tree.panel_row[q] + d] = w.Ls[t, d, c]
                matrix[tree.panel_row[q] + d, tree.panel_row[p] + c] = w.Ls[t, d, c]


@kernel
def pv_osimr(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """PV-OSIMr: rows ``K^A`` end at junctions of branches, ``K^A = K_j^A E_j``; unit forces ``E_j`` there go on.

    ``L^A`` of all rows, ``E_j`` among them, holds products of rows before junctions. Junctions nearer to the world
    first, rows that end at j take over products of ``E_j``: ``Lambda = T L^A T'`` with ``T = 1 + K_j^A``.
    """
    rows_at(tree, w, q)
    for r in range(tree.nall):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    for u in range(tree.nunits):
        for c in range(tree.panel_rows[tree.unit_panel[u]]):
            w.Ks[tree.unit_place[u], tree.unit_first[u] + c, c] = 1.0
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        inertia_to_parent(tree, w, i)
    matrix_from_tiles(tree, w, tree.nall, w.Lambda)
    for j in range(tree.njunctions):
        rows_by_unit_forces(tree, w, j)
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = w.Lambda[r, s]


@kernel
def rows_by_unit_forces(tree: Array, w: Array, j: int) -> None:
    """``Lambda = T Lambda T'`` with the rows ``K_j^A`` that end at junction ``j``."""
    first = tree.ending_start[j]
    last = first + tree.ending_count[j]
    for a in range(first, last):
        K = w.Ks[tree.slot_place[tree.ending_slot[a]]]
        p = tree.slot_panel[tree.ending_slot[a]]
        for c in range(tree.panel_rows[p]):
            r = tree.panel_row[p] + c
            for m in range(tree.met_start[j], tree.met_start[j] + tree.met_count[j]):
                x = w.Lambda[r, tree.met_row[m]]
                for k in range(6):
                    x = x + K[k, c] * w.Lambda[tree.junction_row[j] + k, tree.met_row[m]]
                w.Lambda[r, tree.met_row[m]] = x
    for a in range(first, last):
        p = tree.slot_panel[tree.ending_slot[a]]
        for c in range(tree.panel_rows[p]):
            r = tree.panel_row[p] + c
            for m in range(tree.met_start[j], tree.met_start[j] + tree.met_count[j]):
                if tree.met_ending[m] == 0:
                    w.Lambda[tree.met_row[m], r] = w.Lambda[r, tree.met_row[m]]
            for b in range(first, a + 1):
                K = w.Ks[tree.slot_place[tree.ending_slot[b]]]
                q = tree.slot_panel[tree.ending_slot[b]]
                for d in range(c + 1 if a == b else tree.panel_rows[q]):
                    s = tree.panel_row[q] + d
                    x = w.Lambda[r, s]
                    for k in range(6):
                        x = x + w.Lambda[r, tree.junction_row[j] + k] * K[k, d]
                    w.Lambda[r, s] = x
                    w.Lambda[s, r] = x


@kernel
def rows_by_transposed_factor(tree: Array, w: Array, b: int) -> None:
    """``L'^-1 T`` of a block, in place."""
    o = tree.block_slot[b]
    n = tree.block_size[b]
    for j in range(6):
        for a in range(n - 1, -1, -1):
            k = tree.slot_line[o + a] + j
            for e in range(a + 1, n):
                x = line(w.Ts, tree.slot_line[o + e] + j)
                set_line(minus_transposed_product(line(w.Ts, k), x, w.Ls[block_tile(tree, b, e, a)]), w.Ts, k)
            set_line(solve_line_transposed(w.Ls[block_tile(tree, b, a, a)], line(w.Ts, k)), w.Ts, k)


@kernel
def pv_osim_fast(
    tree: Array,
    w: Array,
    q: Array,
    damping: Array,
    branches: Array,
    rows: Array,
    base: Array,
    factored: Array,
    solved: Array,
    small: Array,
    pivot: Array,
) -> None:
    """PV-OSIM-fast: ``D = B + K H^-1 K'`` and ``(D + R)^-1`` by the matrix inversion lemma (**lqr** Section VII-B).

    ``branches`` is ``B = L_b^A``, whose blocks are those of branches of the floating base, ``rows`` is ``K_b^A`` and
    ``base`` the articulated inertia ``H_b^A`` there; then the factor of ``B + R``, ``(B + R)^-1 K``, and the factor of
    ``H + K' (B + R)^-1 K``. ``pivot`` is near zero where ``B + R`` is singular and the method does not apply.
    """
    rows_at(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        if tree.parent[i] == 0:
            matrix_from_tiles(tree, w, tree.nc, branches)
            for k in range(dof_of(tree.kind[i])):
                j = axis_of(tree.kind[i], k)
                w.H[i, j, j] += w.joint_inertia[tree.iv[i] + k]
            symmetrize(w.H[i])
            for j in range(6):
                for k in range(6):
                    base[j, k] = w.H[i, j, k]
            for b in range(tree.nblocks):
                for a in range(tree.block_size[b]):
                    s = tree.block_slot[b] + a
                    for c in range(tree.panel_rows[tree.slot_panel[s]]):
                        r = tree.panel_row[tree.slot_panel[s]] + c
                        w.Ls[block_tile(tree, b, a, a), c, c] += damping[r]
                        for j in range(6):
                            rows[r, j] = w.Ks[tree.slot_place[s], j, c]
            eliminate_rows(tree, w, i)
            matrix_from_tiles(tree, w, tree.nc, factored)
            for b in range(tree.nblocks):
                rows_by_transposed_factor(tree, w, b)
                for s in range(tree.block_slot[b], tree.block_slot[b] + tree.block_size[b]):
                    for c in range(tree.panel_rows[tree.slot_panel[s]]):
                        for j in range(6):
                            x = w.Ts[tree.slot_line[s] + j, c]
                            solved[tree.panel_row[tree.slot_panel[s]] + c, j] = x
            for j in range(6):
                for k in range(6):
                    small[j, k] = w.H[i, k, j] if k <= j else 0.0
            factorize_ldl(6, small)
        else:
            eliminate(tree, w, i)
            propagate_rows(tree, w, i)
            inertia_to_parent(tree, w, i)
    pivot[0] = w.pivot[0]


@kernel
def caba_osim(tree: Array, w: Array, q: Array, damping: Array, matrix: Array) -> None:
    """cABA-OSIM: ``(D + R)^-1 = mu - mu J (M + J' mu J)^-1 J' mu``, with loops.

    PV-OSIM on inertias with the penalties ``mu`` of rows, in LCABA's order of elimination.
    """
    rows_at(tree, w, q)
    joint_coupling_rows(tree, w)
    for r in range(tree.nc):
        w.none[r] = 0.0
    init_rows(tree, w, w.none)
    init_augmented_inertias(tree, w, damping)
    for s in range(1, tree.n):
        i = tree.elimination_order[s]
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        eliminate_couplings(tree, w, i)
        rows_to_neighbors(tree, w, i)
        inertia_to_parent(tree, w, i)
    matrix_from_tiles(tree, w, tree.nc, matrix)
    for r in range(tree.nc):
        for s in range(r + 1):
            matrix[r, s] = -(w.mu[r] * matrix[r, s]) * w.mu[s]
        matrix[r, r] += w.mu[r]
    symmetrize_matrix(tree, matrix)


@kernel
def rows_to_neighbors(tree: Array, w: Array, i: int) -> None:
    """``K_j -= K_i S D^-1 S' H_ij`` of each neighbor j (as forces in **loops** Eq. 30e)."""
    for e in range(tree.neighbor_start[i], tree.neighbor_start[i] + tree.neighbor_count[i]):
        for a in range(tree.slot_count[i]):
            K = w.Ks[tree.neighbor_place[tree.neighbor_place_start[e] + a]]
            for k in range(dof_of(tree.kind[i])):
                T = line(w.Ts, tree.slot_line[tree.slot_start[i] + a] + k)
                for j in range(6):
                    set_line(minus_scaled(line(K, j), w.SH[e, k, j], T), K, j)


@kernel
def add_diagonal_block(tree: Array, w: Array, i: int, s: int, t: int, blocks: Array) -> None:
    """``K S D^-1 S' K'`` of the panels of two slots at link ``i``, of one constraint."""
    p = tree.slot_panel[s]
    q = tree.slot_panel[t]
    for c in range(tree.panel_rows[p]):
        for d in range(c + 1 if s == t else tree.panel_rows[q]):
            r = tree.panel_row[p] + c
            u = tree.panel_row[q] + d
            for k in range(dof_of(tree.kind[i])):
                x = w.Zs[s - tree.slot_start[i], k, c] * w.Ts[tree.slot_line[t] + k, d]
                blocks[r, tree.row_in_constraint[u]] += x
                if r != u:
                    blocks[u, tree.row_in_constraint[r]] += x


@kernel
def diagonal_blocks(tree: Array, w: Array, q: Array, blocks: Array) -> None:
    """Blocks of ``D`` of each constraint: row r, and its columns from the constraint's first row on."""
    rows_at(tree, w, q)
    for r in range(tree.nc):
        w.none[r] = 0.0
        for k in range(tree.max_rows):
            blocks[r, k] = 0.0
    init_rows(tree, w, w.none)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        project_rows_on_joint(tree, w, i)
        o = tree.slot_start[i]
        for a in range(tree.slot_count[i]):
            for s in range(tree.slot_constraint_first[o + a], o + a + 1):
                add_diagonal_block(tree, w, i, o + a, s, blocks)
        rows_to_parent(tree, w, i)
        inertia_to_parent(tree, w, i)


_POSE: dict[str, Shape] = {"q": ("nq",)}
_DAMPED: dict[str, Shape] = _POSE | {"damping": ("nc",)}
_MATRIX: dict[str, Shape] = {"matrix": ("nc", "nc")}
_DENSE = ROWS | COMPOSITE | DENSE
_PROPAGATED = ROWS | TRAVEL | {"mu": ("nc",)}

LTL_OSIM = Algorithm("ltl_osim", ltl_osim, _POSE, _MATRIX, _DENSE, LTL_TREE)
PROX_LTL_OSIM = Algorithm(
    "prox_ltl_osim", prox_ltl_osim, _DAMPED, _MATRIX | {"factored": ("nc", "nc")}, _DENSE, LTL_TREE
)
PV_OSIM = Algorithm("pv_osim", pv_osim, _POSE, _MATRIX, _PROPAGATED, BBO_TREE)
PV_OSIMR = Algorithm(
    "pv_osimr",
    pv_osimr,
    _POSE,
    _MATRIX,
    _PROPAGATED | {"none": ("nall",), "Lambda": ("nall", "nall")},
    PV_OSIMR_TREE,
)
PV_OSIM_FAST = Algorithm(
    "pv_osim_fast",
    pv_osim_fast,
    _DAMPED,
    {
        "branches": ("nc", "nc"),
        "rows": ("nc", 6),
        "base": (6, 6),
        "factored": ("nc", "nc"),
        "solved": ("nc", 6),
        "small": (6, 6),
        "pivot": (1,),
    },
    _PROPAGATED,
    BBO_TREE,
)
CABA_OSIM = Algorithm("caba_osim", caba_osim, _DAMPED, _MATRIX, _PROPAGATED | SPRINGS, CABA_OSIM_TREE)
DIAGONAL_BLOCKS = Algorithm(
    "diagonal_blocks", diagonal_blocks, _POSE, {"blocks": ("nc", "max_rows")}, _PROPAGATED, BBO_TREE
)
LINK_ROWS = Algorithm(
    "link_rows", link_rows, _POSE, {"K": ("nk", 6)}, POSE | CLOSURE | {"e": ("nc",)}, CONSTRAINED_TREE
)
