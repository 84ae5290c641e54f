# SPDX-License-Identifier: BSD-3-Clause
"""The reduced matrix ``H = M + A' G A`` as a dense one, for a warp: products and the LU factor by columns and rows.

Where a warp has a robot of no more than `DENSE` velocities, its lanes take rows and columns of dense matrices: all of
them are at work, and there is no pattern. Rows of sets have a column for each velocity then.

| symbol           | meaning                                                                                    |
|------------------|--------------------------------------------------------------------------------------------|
| M_dense          | mass matrix; rows are ``nstride`` numbers apart, an odd number, as memory has even banks     |
| B_dense          | ``G A`` of all sets                                                                          |
| H_dense          | the reduced matrix; after `factorize_dense` its factor, with inverse pivots                  |

Cost: cubic in velocities, over the lanes of a warp.
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.pattern import ancestor_block
from linkwork.kernels.contact.reduced.problem import CONES
from linkwork.kernels.scalar import Array, kernel, prange
from linkwork.plans.contact_reduced import DENSE

__all__ = ["DENSE"]


@kernel
def dense_mass_matrix(tree: Array, w: Array) -> None:
    """``M_dense`` from blocks of limbs."""
    for i in prange(tree.nv):
        a = tree.dof_limb[i]
        r = i - tree.limb_v[a]
        size = tree.limb_size[a]
        for j in range(tree.nv):
            w.M_dense[i * tree.nstride + j] = 0.0
        for j in range(size):
            w.M_dense[i * tree.nstride + tree.limb_v[a] + j] = w.M_diagonal[tree.limb_diagonal[a] + r * size + j]
    for i in prange(tree.nv):
        a = tree.dof_limb[i]
        b = tree.limb_parent[a]
        while b >= 0:
            row = ancestor_block(tree, a, b) + (i - tree.limb_v[a]) * tree.limb_size[b]
            for j in range(tree.limb_size[b]):
                k = tree.limb_v[b] + j
                w.M_dense[i * tree.nstride + k] = w.M_blocks[row + j]
                w.M_dense[k * tree.nstride + i] = w.M_blocks[row + j]
            b = tree.limb_parent[b]


@kernel
def dense_mass_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = M x``."""
    for i in prange(tree.nv):
        total = 0.0
        for j in range(tree.nv):
            total = total + w.M_dense[i * tree.nstride + j] * x[j]
        y[i] = total


@kernel
def dense_rows_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = A x`` of the rows of all sets."""
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            total = 0.0
            for k in range(tree.nv):
                total = total + w.A[r, k] * x[k]
            y[r] = total


@kernel
def add_dense_rows_transposed(tree: Array, w: Array, z: Array, x: Array) -> None:
    """``x = x + A' z`` of the rows of all sets."""
    for k in prange(tree.nv):
        total = x[k] + 0.0
        for e in range(w.counts[CONES]):
            for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
                total = total + z[r] * w.A[r, k]
        x[k] = total


@kernel
def factorize_dense(tree: Array, w: Array) -> None:
    """The LU factor of ``M + A' G A`` (Crout's: ``U`` has units on its diagonal), without pivoting: the matrix is close
    to a positive definite one."""
    n = tree.nv
    stride = tree.nstride
    whole = n - n % 4
    for j in prange(n):
        for e in range(w.counts[CONES]):
            scaled_column(tree, w, e, j)
        for i in range(0, whole, 4):
            add_column(tree, w, i, j)
        for i in range(whole, n):
            x = w.M_dense[i * stride + j]
            for e in range(w.counts[CONES]):
                for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
                    x = x + w.A[r, i] * w.B_dense[r * stride + j]
            w.H_dense[i * stride + j] = x
    for p in range(n):
        inverse = 1.0 / w.H_dense[p * stride + p]
        for j in prange(p, n):
            u = w.H_dense[p * stride + j] * inverse
            if j == p:
                w.H_dense[p * stride + p] = inverse
            else:
                w.H_dense[p * stride + j] = u
                for i in range(p + 1, n):
                    w.H_dense[i * stride + j] -= w.H_dense[i * stride + p] * u


@kernel
def scaled_column(tree: Array, w: Array, e: int, j: int) -> None:
    """Column ``j`` of ``B = G A`` of one set."""
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    for k in range(dim):
        x = 0.0
        for l in range(dim):
            x = x + w.cone_G[row + k, l] * w.A[row + l, j]
        w.B_dense[(row + k) * tree.nstride + j] = x


@kernel
def add_column(tree: Array, w: Array, i: int, j: int) -> None:
    """Four numbers of column ``j`` of ``M + A' B``, from row ``i`` on."""
    stride = tree.nstride
    a = w.M_dense[i * stride + j]
    b = w.M_dense[(i + 1) * stride + j]
    c = w.M_dense[(i + 2) * stride + j]
    d = w.M_dense[(i + 3) * stride + j]
    for e in range(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            x = w.B_dense[r * stride + j]
            a = a + w.A[r, i] * x
            b = b + w.A[r, i + 1] * x
            c = c + w.A[r, i + 2] * x
            d = d + w.A[r, i + 3] * x
    w.H_dense[i * stride + j] = a
    w.H_dense[(i + 1) * stride + j] = b
    w.H_dense[(i + 2) * stride + j] = c
    w.H_dense[(i + 3) * stride + j] = d


@kernel
def solve_dense(tree: Array, w: Array, x: Array) -> None:
    """``x = H⁻¹ x``, by the factor."""
    n = tree.nv
    stride = tree.nstride
    for p in range(n):
        y = x[p] * w.H_dense[p * stride + p]
        for i in prange(p, n):
            x[i] = y if i == p else x[i] - w.H_dense[i * stride + p] * y
    for p in range(n - 1, 0, -1):
        for i in prange(p):
            x[i] = x[i] - w.H_dense[i * stride + p] * x[p]
