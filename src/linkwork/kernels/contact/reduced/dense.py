# SPDX-License-Identifier: BSD-3-Clause
"""The reduced matrix ``H = M + A' G A`` as a dense one, for a warp: products and the LU factor.

Where a warp has a robot of no more than `DENSE` velocities, its lanes take rows and columns of dense matrices: all of
them are at work, and there is no pattern. Rows of sets have a column for each velocity then, but those of limits and
dry friction of joints, which have one number: they add to the diagonal. Contacts that do not resist, open ones, add
nothing.

Matrices are padded to a multiple of four, with ones on the diagonal, so that four numbers are loaded together.

| symbol           | meaning                                                                                    |
|------------------|--------------------------------------------------------------------------------------------|
| M_dense          | mass matrix; rows are ``nstride`` numbers apart, an odd multiple of four: no bank conflicts  |
| B_dense          | ``G A`` of rows that resist                                                                  |
| H_dense          | the reduced matrix; after `factorize_dense` ``L`` and ``U`` beside the blocks on the diagonal |
| D_dense          | factors of the blocks on the diagonal, with inverse pivots                                   |
| x_dense, x_solved | a right side, and the solution with ``L``                                                  |
| wide, wide_row   | sets that depend on several joints, and their rows                                           |
| bearing          | rows of those that resist; ``bears``: of a wide set                                          |
| box_row          | row of a limit or of dry friction of a joint; -1 where it is not in the problem              |

Cost: cubic in velocities, over the lanes of a warp.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.pattern import ancestor_block
from linkwork.kernels.contact.reduced.problem import CONES, EQUALITY
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, aligned_entries, in_warp, kernel, prange, some_below
from linkwork.kernels.thresholds import NO_STIFFNESS
from linkwork.plans.contact_reduced import DENSE

__all__ = ["DENSE"]

WIDE, WIDE_ROWS, BEARING = range(3)
"""Entries of ``dense_counts``: lengths of the lists."""

Four = tuple[Scalar, Scalar, Scalar, Scalar]

DENSE_WORK: dict[str, Shape] = {
    "M_dense": ("ndense",),
    "H_dense": ("ndense",),
    "D_dense": ("ndense_blocks",),
    "B_dense": ("ndense_rows",),
    "x_dense": ("nstride",),
    "x_solved": ("nstride",),
}
DENSE_INTEGERS: dict[str, Shape] = {
    "dense_counts": (3,),
    "wide": ("nsets",),
    "bears": ("nsets",),
    "wide_row": ("nrows",),
    "bearing": ("nrows",),
    "box_row": ("njoint_boxes",),
}


# Lists ---------------------------------------------------------------------------------------------------------------


@kernel
def list_dense_rows(tree: Array, w: Array) -> None:
    """``wide, wide_row, box_row`` of the sets that are in the problem."""
    sets = 0
    rows = 0
    for e in range(w.counts[CONES]):
        if w.cone_box[e] < 0 or w.cone_box[e] >= tree.njoint_boxes:
            w.wide[sets] = e
            sets += 1
            for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
                w.wide_row[rows] = r
                rows += 1
    w.dense_counts[WIDE] = sets
    w.dense_counts[WIDE_ROWS] = rows
    for b in prange(tree.njoint_boxes):
        w.box_row[b] = -1
    for e in prange(w.counts[CONES]):
        if w.cone_box[e] >= 0 and w.cone_box[e] < tree.njoint_boxes:
            w.box_row[w.cone_box[e]] = w.cone_row[e]


@kernel
def list_for_warp(tree: Array, w: Array) -> None:
    """`list_dense_rows`, where a warp has dense matrices."""
    if in_warp() and tree.nstride > 0:
        list_dense_rows(tree, w)


@kernel
def list_bearing(w: Array) -> None:
    """``bearing``: rows of wide sets whose blocks are more than rounding."""
    for k in prange(w.dense_counts[WIDE]):
        e = w.wide[k]
        largest = 0.0
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            for j in range(w.cone_dim[e]):
                largest = maximum(largest, magnitude(w.cone_G[r, j]))
        w.bears[k] = 1 if w.cone_kind[e] == EQUALITY or some_below(NO_STIFFNESS, largest * w.cone_D[e]) else 0
    rows = 0
    for k in range(w.dense_counts[WIDE]):
        if w.bears[k] == 1:
            e = w.wide[k]
            for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
                w.bearing[rows] = r
                rows += 1
    w.dense_counts[BEARING] = rows


# Products -----------------------------------------------------------------------------------------------------------


@kernel
def dense_mass_matrix(tree: Array, w: Array) -> None:
    """``M_dense`` from blocks of limbs."""
    for j in prange(tree.npadded):
        for i in range(tree.npadded):
            w.M_dense[i * tree.nstride + j] = 1.0 if i == j and j >= tree.nv else 0.0
    for i in prange(tree.nv):
        a = tree.dof_limb[i]
        size = tree.limb_size[a]
        row = tree.limb_diagonal[a] + (i - tree.limb_v[a]) * size
        for j in range(size):
            w.M_dense[i * tree.nstride + tree.limb_v[a] + j] = w.M_diagonal[row + j]
        b = tree.limb_parent[a]
        while b >= 0:
            row = ancestor_block(tree, a, b) + (i - tree.limb_v[a]) * tree.limb_size[b]
            for j in range(tree.limb_size[b]):
                k = tree.limb_v[b] + j
                w.M_dense[i * tree.nstride + k] = w.M_blocks[row + j]
                w.M_dense[k * tree.nstride + i] = w.M_blocks[row + j]
            b = tree.limb_parent[b]


@kernel
def pad(tree: Array, w: Array, x: Array) -> None:
    """``x_dense = x``, and zeros beyond its end."""
    for k in prange(tree.npadded):
        w.x_dense[k] = x[k] if k < tree.nv else 0.0


@kernel
def add_product(total: Scalar, a: Four, b: Four) -> Scalar:
    """``total + a . b``."""
    return total + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def dense_mass_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = M x``."""
    pad(tree, w, x)
    for i in prange(tree.nv):
        total = 0.0
        for j in range(0, tree.npadded, 4):
            a = aligned_entries(w.M_dense, i * tree.nstride + j)
            total = add_product(total, a, aligned_entries(w.x_dense, j))
        y[i] = total


@kernel
def dense_rows_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = A x`` of the rows of all sets."""
    pad(tree, w, x)
    for k in prange(w.dense_counts[WIDE_ROWS]):
        r = w.wide_row[k]
        total = 0.0
        for j in range(0, tree.npadded, 4):
            total = add_product(total, aligned_entries(w.A[r], j), aligned_entries(w.x_dense, j))
        y[r] = total
    for b in prange(tree.njoint_boxes):
        if w.box_row[b] >= 0:
            y[w.box_row[b]] = tree.box_sign[b] * x[tree.box_v[b]]


@kernel
def add_dense_rows_transposed(tree: Array, w: Array, z: Array, x: Array) -> None:
    """``x = x + A' z`` of the rows of all sets."""
    for k in prange(tree.nv):
        total = x[k]
        for n in range(w.dense_counts[WIDE_ROWS]):
            total = total + z[w.wide_row[n]] * w.A[w.wide_row[n], k]
        for n in range(tree.dof_box_start[k], tree.dof_box_start[k] + tree.dof_boxes[k]):
            b = tree.dof_box[n]
            if w.box_row[b] >= 0:
                total = total + tree.box_sign[b] * z[w.box_row[b]]
        x[k] = total


# The reduced matrix -------------------------------------------------------------------------------------------------


@kernel
def scaled_column(tree: Array, w: Array, j: int) -> None:
    """Column ``j`` of ``B = G A`` of rows that resist."""
    m = 0
    for k in range(w.dense_counts[WIDE]):
        if w.bears[k] == 1:
            e = w.wide[k]
            row = w.cone_row[e]
            dim = w.cone_dim[e]
            if dim == 3:
                a = w.A[row, j]
                b = w.A[row + 1, j]
                c = w.A[row + 2, j]
                for r in range(3):
                    x = w.cone_G[row + r, 0] * a + w.cone_G[row + r, 1] * b + w.cone_G[row + r, 2] * c
                    w.B_dense[(m + r) * tree.nstride + j] = x
            else:
                for r in range(dim):
                    x = 0.0
                    for l in range(dim):
                        x = x + w.cone_G[row + r, l] * w.A[row + l, j]
                    w.B_dense[(m + r) * tree.nstride + j] = x
            m += dim


@kernel
def add_products(tree: Array, w: Array, i: int, j: int) -> None:
    """Eight numbers of column ``j`` of ``M + A' B``, from row ``i`` on."""
    at = i * tree.nstride + j
    x0 = w.M_dense[at]
    x1 = w.M_dense[at + tree.nstride]
    x2 = w.M_dense[at + 2 * tree.nstride]
    x3 = w.M_dense[at + 3 * tree.nstride]
    x4 = w.M_dense[at + 4 * tree.nstride]
    x5 = w.M_dense[at + 5 * tree.nstride]
    x6 = w.M_dense[at + 6 * tree.nstride]
    x7 = w.M_dense[at + 7 * tree.nstride]
    for m in range(w.dense_counts[BEARING]):
        y = w.B_dense[m * tree.nstride + j]
        a = aligned_entries(w.A[w.bearing[m]], i)
        b = aligned_entries(w.A[w.bearing[m]], i + 4)
        x0 = x0 + a[0] * y
        x1 = x1 + a[1] * y
        x2 = x2 + a[2] * y
        x3 = x3 + a[3] * y
        x4 = x4 + b[0] * y
        x5 = x5 + b[1] * y
        x6 = x6 + b[2] * y
        x7 = x7 + b[3] * y
    w.H_dense[at] = x0
    w.H_dense[at + tree.nstride] = x1
    w.H_dense[at + 2 * tree.nstride] = x2
    w.H_dense[at + 3 * tree.nstride] = x3
    w.H_dense[at + 4 * tree.nstride] = x4
    w.H_dense[at + 5 * tree.nstride] = x5
    w.H_dense[at + 6 * tree.nstride] = x6
    w.H_dense[at + 7 * tree.nstride] = x7


@kernel
def add_last_products(tree: Array, w: Array, i: int, j: int) -> None:
    """Products of four numbers."""
    at = i * tree.nstride + j
    x0 = w.M_dense[at]
    x1 = w.M_dense[at + tree.nstride]
    x2 = w.M_dense[at + 2 * tree.nstride]
    x3 = w.M_dense[at + 3 * tree.nstride]
    for m in range(w.dense_counts[BEARING]):
        y = w.B_dense[m * tree.nstride + j]
        a = aligned_entries(w.A[w.bearing[m]], i)
        x0 = x0 + a[0] * y
        x1 = x1 + a[1] * y
        x2 = x2 + a[2] * y
        x3 = x3 + a[3] * y
    w.H_dense[at] = x0
    w.H_dense[at + tree.nstride] = x1
    w.H_dense[at + 2 * tree.nstride] = x2
    w.H_dense[at + 3 * tree.nstride] = x3


@kernel
def dense_matrix(tree: Array, w: Array) -> None:
    """``H_dense = M + A' G A``."""
    list_bearing(w)
    for j in prange(tree.npadded):
        scaled_column(tree, w, j)
        for i in range(0, tree.npadded - 4, 8):
            add_products(tree, w, i, j)
        if tree.npadded % 8 == 4:
            add_last_products(tree, w, tree.npadded - 4, j)
    for k in prange(tree.nv):
        x = w.H_dense[k * tree.nstride + k]
        for n in range(tree.dof_box_start[k], tree.dof_box_start[k] + tree.dof_boxes[k]):
            if w.box_row[tree.dof_box[n]] >= 0:
                x = x + w.cone_G[w.box_row[tree.dof_box[n]], 0]
        w.H_dense[k * tree.nstride + k] = x
