# SPDX-License-Identifier: BSD-3-Clause
"""The LU factor of a dense matrix by the lanes of a warp, in tiles of four; symbols as in `dense`.

The factor is right-looking in blocks of four rows and columns: `factorize_block` takes the block on the diagonal, whose
factor goes to ``D_dense``, the columns of ``L`` below it and the rows of ``U`` beside it; `update_column` takes their
product from the rest. ``U`` has units on its diagonal (Crout). There is no pivoting: the matrix is close to a positive
definite one.

Cost: cubic in velocities, over the lanes of a warp.
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.dense import Four, add_product, dense_matrix, pad
from linkwork.kernels.scalar import Array, aligned_entries, kernel, prange


@kernel
def factorize_block(tree: Array, w: Array, p: int, j: int) -> None:
    """The block on the diagonal from row ``p`` on, by every lane; then row ``j`` of ``L`` and column ``j`` of ``U``."""
    H = w.H_dense
    stride = tree.nstride
    at = p * stride + p
    a = aligned_entries(H, at)
    b = aligned_entries(H, at + stride)
    c = aligned_entries(H, at + 2 * stride)
    d = aligned_entries(H, at + 3 * stride)
    i0 = 1.0 / a[0]
    u01 = i0 * a[1]
    u02 = i0 * a[2]
    u03 = i0 * a[3]
    i1 = 1.0 / (b[1] - b[0] * u01)
    u12 = i1 * (b[2] - b[0] * u02)
    u13 = i1 * (b[3] - b[0] * u03)
    l21 = c[1] - c[0] * u01
    i2 = 1.0 / (c[2] - c[0] * u02 - l21 * u12)
    u23 = i2 * (c[3] - c[0] * u03 - l21 * u13)
    l31 = d[1] - d[0] * u01
    l32 = d[2] - d[0] * u02 - l31 * u12
    i3 = 1.0 / (d[3] - d[0] * u03 - l31 * u13 - l32 * u23)
    if j < p + 4:
        k = 4 * p + 4 * (j - p)
        if j == p:
            set_four(w.D_dense, k, (i0, u01, u02, u03))
        elif j == p + 1:
            set_four(w.D_dense, k, (b[0], i1, u12, u13))
        elif j == p + 2:
            set_four(w.D_dense, k, (c[0], l21, i2, u23))
        else:
            set_four(w.D_dense, k, (d[0], l31, l32, i3))
    else:
        row = j * stride + p
        x = aligned_entries(H, row)
        x1 = x[1] - x[0] * u01
        x2 = x[2] - x[0] * u02 - x1 * u12
        x3 = x[3] - x[0] * u03 - x1 * u13 - x2 * u23
        set_four(H, row, (x[0], x1, x2, x3))
        column = p * stride + j
        y0 = i0 * H[column]
        y1 = i1 * (H[column + stride] - b[0] * y0)
        y2 = i2 * (H[column + 2 * stride] - c[0] * y0 - l21 * y1)
        H[column + 3 * stride] = i3 * (H[column + 3 * stride] - d[0] * y0 - l31 * y1 - l32 * y2)
        H[column] = y0
        H[column + stride] = y1
        H[column + 2 * stride] = y2


@kernel
def set_four(x: Array, k: int, y: Four) -> None:
    """Set four neighbors."""
    x[k] = y[0]
    x[k + 1] = y[1]
    x[k + 2] = y[2]
    x[k + 3] = y[3]


@kernel
def update_column(tree: Array, w: Array, p: int, j: int) -> None:
    """Column ``j`` of ``H - L U`` of the block from row ``p`` on, below it."""
    H = w.H_dense
    stride = tree.nstride
    u0 = H[p * stride + j]
    u1 = H[(p + 1) * stride + j]
    u2 = H[(p + 2) * stride + j]
    u3 = H[(p + 3) * stride + j]
    for i in range(p + 4, tree.npadded):
        l = aligned_entries(H, i * stride + p)
        H[i * stride + j] = H[i * stride + j] - (l[0] * u0 + l[1] * u1) - (l[2] * u2 + l[3] * u3)


@kernel
def factorize_dense(tree: Array, w: Array) -> None:
    """The LU factor of ``M + A' G A``."""
    dense_matrix(tree, w)
    for p in range(0, tree.npadded, 4):
        for j in prange(p, tree.npadded):
            factorize_block(tree, w, p, j)
        for j in prange(p + 4, tree.npadded):
            update_column(tree, w, p, j)


@kernel
def solve_dense(tree: Array, w: Array, x: Array) -> None:
    """``x = H⁻¹ x``, by the factor."""
    pad(tree, w, x)
    n = tree.npadded
    for p in range(0, n, 4):
        for i in prange(p, n):
            y = lower_solution(w, p)
            if i < p + 4:
                w.x_solved[i] = y[0] if i == p else y[1] if i == p + 1 else y[2] if i == p + 2 else y[3]
            else:
                l = aligned_entries(w.H_dense, i * tree.nstride + p)
                w.x_dense[i] = add_product(w.x_dense[i], l, (-y[0], -y[1], -y[2], -y[3]))
    for k in range(0, n, 4):
        p = n - 4 - k
        for i in prange(p + 4):
            y = upper_solution(w, p)
            if i >= p:
                if i < tree.nv:
                    x[i] = y[0] if i == p else y[1] if i == p + 1 else y[2] if i == p + 2 else y[3]
            else:
                u = aligned_entries(w.H_dense, i * tree.nstride + p)
                w.x_solved[i] = add_product(w.x_solved[i], u, (-y[0], -y[1], -y[2], -y[3]))


@kernel
def lower_solution(w: Array, p: int) -> Four:
    """Solution with the lower factor of the block from row ``p`` on."""
    x = aligned_entries(w.x_dense, p)
    b = aligned_entries(w.D_dense, 4 * p + 4)
    c = aligned_entries(w.D_dense, 4 * p + 8)
    d = aligned_entries(w.D_dense, 4 * p + 12)
    y0 = w.D_dense[4 * p] * x[0]
    y1 = b[1] * (x[1] - b[0] * y0)
    y2 = c[2] * (x[2] - c[0] * y0 - c[1] * y1)
    y3 = d[3] * (x[3] - d[0] * y0 - d[1] * y1 - d[2] * y2)
    return y0, y1, y2, y3


@kernel
def upper_solution(w: Array, p: int) -> Four:
    """Solution with the upper factor of the block from row ``p`` on."""
    x = aligned_entries(w.x_solved, p)
    a = aligned_entries(w.D_dense, 4 * p)
    b = aligned_entries(w.D_dense, 4 * p + 4)
    y3 = x[3]
    y2 = x[2] - w.D_dense[4 * p + 11] * y3
    y1 = x[1] - b[2] * y2 - b[3] * y3
    y0 = x[0] - a[1] * y1 - a[2] * y2 - a[3] * y3
    return y0, y1, y2, y3
