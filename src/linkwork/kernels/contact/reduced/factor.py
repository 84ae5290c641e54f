# SPDX-License-Identifier: BSD-3-Clause
"""The factor of the reduced matrix ``M + A' G A``, of limbs that are active (`pattern`).

Limbs are eliminated in the order of `pattern`. A limb with its ancestors, and limbs of bodies that touch, have blocks;
elimination adds those between the neighbors of a limb. Without contacts of two branches there is no fill, as in the LTL
factor of a tree's mass matrix. ``G`` need not be symmetric (De Saxcé's term), so that the factor is LU; the matrix is
close to a positive definite one, and pivots stay on the diagonal.

Symbols as in `matrix`. Cost: cubic in the sizes of limbs that are coupled.
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.dense_factor import factorize_dense, solve_dense
from linkwork.kernels.contact.reduced.matrix import (
    add_multiple,
    add_set,
    product,
    resists,
    scale_numbers,
    subtract_product,
)
from linkwork.kernels.contact.reduced.problem import ACTIVE, CONES, SYMMETRIC
from linkwork.kernels.scalar import Array, in_warp, kernel


@kernel
def factorize_reduced(tree: Array, w: Array) -> None:
    """The LU factor of ``M + A' G A`` of limbs that are active."""
    if in_warp() and tree.nstride > 0:
        factorize_dense(tree, w)
    else:
        factorize_blocks(tree, w)


@kernel
def factorize_blocks(tree: Array, w: Array) -> None:
    """The factor in blocks of limbs; L D L' where it is symmetric, in half the time."""
    for k in range(w.counts[ACTIVE]):
        begin_blocks(tree, w, w.active_limb[k])
    for e in range(w.counts[CONES]):
        if resists(w, e) == 1:
            add_set(tree, w, e)
    for k in range(w.counts[ACTIVE]):
        eliminate_limb(tree, w, w.active_limb[k])


@kernel
def begin_blocks(tree: Array, w: Array, a: int) -> None:
    """Blocks of a limb as the mass matrix has them."""
    n = tree.limb_size[a]
    for k in range(tree.limb_diagonal[a], tree.limb_diagonal[a] + n * n):
        w.H_diagonal[k] = w.M_diagonal[k]
    for x in range(w.near_start[a], w.near_start[a] + w.near_count[a]):
        at = w.near_at[x]
        count = n * tree.limb_size[w.near_limb[x]]
        if at < tree.nstatic:
            begin_block(w.M_blocks, w.H_U, at, count)
        else:
            clear_block(w.H_U, at, count)
        if w.counts[SYMMETRIC] == 0:
            begin_block(w.H_U, w.H_L, at, count)


@kernel
def begin_block(M: Array, H: Array, at: int, count: int) -> None:
    """``H[at:] = M[at:]`` of so many numbers."""
    for k in range(at, at + count):
        H[k] = M[k]


@kernel
def clear_block(H: Array, at: int, count: int) -> None:
    """``H[at:] = 0`` of so many numbers."""
    for k in range(at, at + count):
        H[k] = 0.0


@kernel
def factorize_diagonal(D: Array, n: int, symmetric: int) -> None:
    """``D = L U`` in place, with inverse pivots; of a symmetric block from its upper half."""
    for i in range(n):
        for j in range(i):
            x = D[j * n + i]
            if symmetric == 0:
                x = D[i * n + j]
                for k in range(j):
                    x = x - D[i * n + k] * D[k * n + j]
            D[i * n + j] = x * D[j * n + j]
        subtract_product(D, i * n, 1, D, i, n, i, D, i * n + i, n - i)
        D[i * n + i] = 1.0 / D[i * n + i]


@kernel
def eliminate_limb(tree: Array, w: Array, a: int) -> None:
    """Factor the diagonal block of a limb, and take it out of the blocks of its neighbors."""
    symmetric = w.counts[SYMMETRIC]
    n = tree.limb_size[a]
    D = w.H_diagonal[tree.limb_diagonal[a] : tree.limb_diagonal[a] + n * n]
    factorize_diagonal(D, n, symmetric)
    first = w.near_start[a]
    last = first + w.near_count[a]
    for x in range(first, last):
        columns = tree.limb_size[w.near_limb[x]]
        at = w.near_at[x]
        for i in range(1, n):
            subtract_product(D, i * n, 1, w.H_U, at, columns, i, w.H_U, at + i * columns, columns)
        for i in range(n):
            if symmetric == 0:
                subtract_product(D, i, n, w.H_L, at, columns, i, w.H_L, at + i * columns, columns)
                scale_numbers(D[i * n + i], w.H_L, at + i * columns, w.H_L, columns)
            else:
                scale_numbers(D[i * n + i], w.H_U, at + i * columns, w.H_L, columns)
    for x in range(first, last):
        b = w.near_limb[x]
        rows = tree.limb_size[b]
        left = w.near_at[x]
        for i in range(rows):
            skip = i * symmetric
            at = tree.limb_diagonal[b] + i * rows + skip
            subtract_product(w.H_L, left + i, rows, w.H_U, left + skip, rows, n, w.H_diagonal, at, rows - skip)
        later = w.near_start[b]  # neighbors of b in the order of c: those of a are among them
        end = later + w.near_count[b]
        for y in range(x + 1, last):
            c = w.near_limb[y]
            columns = tree.limb_size[c]
            right = w.near_at[y]
            k = later
            while k < end and w.near_limb[k] != c:
                k += 1
            if k < end:
                later = k + 1
                for i in range(rows):
                    at = w.near_at[k] + i * columns
                    subtract_product(w.H_L, left + i, rows, w.H_U, right, columns, n, w.H_U, at, columns)
                    if symmetric == 0:
                        subtract_product(w.H_U, left + i, rows, w.H_L, right, columns, n, w.H_L, at, columns)


@kernel
def solve_reduced(tree: Array, w: Array, x: Array) -> None:
    """``x = H⁻¹ x`` of limbs that are active, by the factor."""
    if in_warp() and tree.nstride > 0:
        solve_dense(tree, w, x)
    else:
        solve_blocks(tree, w, x)


@kernel
def solve_blocks(tree: Array, w: Array, x: Array) -> None:
    """The solution by the factor in blocks of limbs."""
    for place in range(w.counts[ACTIVE]):
        a = w.active_limb[place]
        n = tree.limb_size[a]
        at = tree.limb_v[a]
        D = w.H_diagonal[tree.limb_diagonal[a] : tree.limb_diagonal[a] + n * n]
        for i in range(1, n):
            x[at + i] -= product(D, i * n, x, at, i)
        for s in range(w.near_start[a], w.near_start[a] + w.near_count[a]):
            b = w.near_limb[s]
            for i in range(n):
                add_multiple(
                    -x[at + i], w.H_L, w.near_at[s] + i * tree.limb_size[b], x, tree.limb_v[b], tree.limb_size[b]
                )
    for place in range(w.counts[ACTIVE] - 1, -1, -1):
        a = w.active_limb[place]
        n = tree.limb_size[a]
        at = tree.limb_v[a]
        D = w.H_diagonal[tree.limb_diagonal[a] : tree.limb_diagonal[a] + n * n]
        for s in range(w.near_start[a], w.near_start[a] + w.near_count[a]):
            b = w.near_limb[s]
            for i in range(n):
                x[at + i] -= product(w.H_U, w.near_at[s] + i * tree.limb_size[b], x, tree.limb_v[b], tree.limb_size[b])
        for i in range(n - 1, -1, -1):
            x[at + i] -= product(D, i * n + i + 1, x, at + i + 1, n - 1 - i)
            x[at + i] = x[at + i] * D[i * n + i]
