# SPDX-License-Identifier: BSD-3-Clause
"""The reduced matrix ``H = M + A' G A`` in blocks of limbs: its LU factor, and products.

Limbs are eliminated in the order of `pattern`. A limb with its ancestors, and limbs of bodies that touch, have blocks;
elimination adds those between the neighbors of a limb. Without contacts of two branches there is no fill, as in the LTL
factor of a tree's mass matrix. ``G`` need not be symmetric (De Saxcé's
term), so that the factor is LU; the matrix is close to a positive definite one, and pivots stay on the diagonal.

| symbol            | meaning                                                                                 |
|-------------------|-----------------------------------------------------------------------------------------|
| M_diagonal, M_blocks | mass matrix: diagonal blocks, and blocks of limbs (rows) with ancestors (columns)       |
| H_diagonal        | diagonal blocks; after `factorize_reduced` their factors, with inverse pivots             |
| H_U, H_L          | blocks of a limb (rows) with later ones (columns), and of the transposed matrix           |
| cone_B            | ``G A`` of one set                                                                        |

Cost: cubic in the sizes of limbs that are coupled, linear in rows times the square of their columns.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.dense import (
    add_dense_rows_transposed,
    dense_rows_times,
    factorize_dense,
    solve_dense,
)
from linkwork.kernels.contact.reduced.problem import ACTIVE, CONES, EQUALITY, SYMMETRIC
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.panels import entries, minus_scaled, plus_scaled, scaled, set_entries, sum_of_products
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below
from linkwork.kernels.thresholds import NO_STIFFNESS
from linkwork.kernels.tree.crba import COMPOSITE
from linkwork.plans.contact_reduced import MAX_DIM

MATRIX_WORK: dict[str, Shape] = COMPOSITE | {
    "M_diagonal": ("ndiagonal",),
    "M_blocks": ("nstatic",),
    "H_diagonal": ("ndiagonal",),
    "H_U": ("nblocks",),
    "H_L": ("nblocks",),
    "cone_B": (MAX_DIM, "nwidth"),
    "M_dense": ("ndense",),
    "H_dense": ("ndense",),
    "B_dense": ("ndense_rows",),
}


# Numbers next to each other -----------------------------------------------------------------------------------------


@kernel
def product(x: Array, i: int, y: Array, j: int, count: int) -> Scalar:
    """``x[i:] . y[j:]`` of so many numbers."""
    whole = count - count % 4
    total = 0.0
    for k in range(0, whole, 4):
        total = total + sum_of_products(entries(x, i + k), entries(y, j + k))
    for k in range(whole, count):
        total = total + x[i + k] * y[j + k]
    return total


@kernel
def add_multiple(a: Scalar, x: Array, i: int, y: Array, j: int, count: int) -> None:
    """``y[j:] = y[j:] + a x[i:]`` of so many numbers."""
    whole = count - count % 4
    for k in range(0, whole, 4):
        set_entries(plus_scaled(entries(y, j + k), a, entries(x, i + k)), y, j + k)
    for k in range(whole, count):
        y[j + k] += a * x[i + k]


@kernel
def subtract_product(
    L: Array, i: int, step: int, U: Array, j: int, stride: int, terms: int, H: Array, h: int, count: int
) -> None:
    """``H[h:] = H[h:] - sum_k L[i + k step] U[j + k stride:]``, of so many terms and numbers."""
    whole = count - count % 4
    for c in range(0, whole, 4):
        x = entries(H, h + c)
        for k in range(terms):
            x = minus_scaled(x, L[i + k * step], entries(U, j + k * stride + c))
        set_entries(x, H, h + c)
    for c in range(whole, count):
        y = H[h + c]
        for k in range(terms):
            y = y - L[i + k * step] * U[j + k * stride + c]
        H[h + c] = y


# Sets of rows -------------------------------------------------------------------------------------------------------


@kernel
def rows_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = A x`` of all rows."""
    if in_warp() and tree.nstride > 0:
        dense_rows_times(tree, w, x, y)
    else:
        sides_times(tree, w, x, y)


@kernel
def sides_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """The same by the sides of sets."""
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            total = 0.0
            for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
                a = w.side_limb[s]
                total = total + product(w.A[r], w.side_column[s], x, tree.limb_v[a], tree.limb_size[a])
            y[r] = total


@kernel
def add_rows_transposed(tree: Array, w: Array, z: Array, x: Array) -> None:
    """``x = x + A' z`` of all rows."""
    if in_warp() and tree.nstride > 0:
        add_dense_rows_transposed(tree, w, z, x)
    else:
        add_sides_transposed(tree, w, z, x)


@kernel
def add_sides_transposed(tree: Array, w: Array, z: Array, x: Array) -> None:
    """The same by the sides of sets."""
    for e in range(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
                a = w.side_limb[s]
                add_multiple(z[r], w.A[r], w.side_column[s], x, tree.limb_v[a], tree.limb_size[a])


@kernel
def add_products(A: Array, row: int, dim: int, i: int, B: Array, j: int, H: Array, h: int, count: int) -> None:
    """``H[h:] = H[h:] + sum_k A[row + k, i] B[k, j:]``, of so many numbers; most sets have three rows."""
    whole = count - count % 4
    if dim == 3:
        a = A[row, i]
        b = A[row + 1, i]
        c = A[row + 2, i]
        for k in range(0, whole, 4):
            x = plus_scaled(entries(H, h + k), a, entries(B[0], j + k))
            x = plus_scaled(x, b, entries(B[1], j + k))
            set_entries(plus_scaled(x, c, entries(B[2], j + k)), H, h + k)
        for k in range(whole, count):
            H[h + k] += a * B[0, j + k] + b * B[1, j + k] + c * B[2, j + k]
    else:
        for r in range(dim):
            a = A[row + r, i]
            for k in range(0, whole, 4):
                set_entries(plus_scaled(entries(H, h + k), a, entries(B[r], j + k)), H, h + k)
            for k in range(whole, count):
                H[h + k] += a * B[r, j + k]


@kernel
def scaled_rows(w: Array, e: int, transposed: int, width: int) -> None:
    """``cone_B = G A`` of a set, or ``G' A``."""
    row = w.cone_row[e]
    whole = width - width % 4
    for k in range(w.cone_dim[e]):
        for j in range(w.cone_dim[e]):
            g = w.cone_G[row + j, k] if transposed != 0 else w.cone_G[row + k, j]
            if j == 0:
                scale_numbers(g, w.A[row], 0, w.cone_B[k], width)
            else:
                for c in range(0, whole, 4):
                    x = plus_scaled(entries(w.cone_B[k], c), g, entries(w.A[row + j], c))
                    set_entries(x, w.cone_B[k], c)
                for c in range(whole, width):
                    w.cone_B[k, c] += g * w.A[row + j, c]


@kernel
def resists(w: Array, e: int) -> int:
    """1 where the block of a set is more than rounding in some lane, else 0: where its contact is open, say."""
    if w.cone_kind[e] == EQUALITY:
        return 1
    row = w.cone_row[e]
    largest = 0.0
    for i in range(row, row + w.cone_dim[e]):
        for j in range(w.cone_dim[e]):
            largest = maximum(largest, magnitude(w.cone_G[i, j]))
    return 1 if some_below(NO_STIFFNESS, largest * w.cone_D[e]) else 0


@kernel
def add_set(tree: Array, w: Array, e: int) -> None:
    """``H = H + A' G A`` of one set; of symmetric matrices the upper half."""
    symmetric = w.counts[SYMMETRIC]
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    first = w.cone_side[e]
    last = first + w.cone_sides[e]
    end = w.side_limb[last - 1]
    width = w.side_column[last - 1] + tree.limb_size[end]
    scaled_rows(w, e, 0, width)
    for x in range(first, last):
        a = w.side_limb[x]
        size = tree.limb_size[a]
        column = w.side_column[x]
        for i in range(size):
            skip = i * symmetric
            at = tree.limb_diagonal[a] + i * size + skip
            add_products(w.A, row, dim, column + i, w.cone_B, column + skip, w.H_diagonal, at, size - skip)
    add_coupling(tree, w, e, w.H_U)
    if symmetric == 0 and w.cone_sides[e] > 1:
        scaled_rows(w, e, 1, width)
        add_coupling(tree, w, e, w.H_L)


@kernel
def add_coupling(tree: Array, w: Array, e: int, H: Array) -> None:
    """Add ``A' cone_B`` of one set to the blocks of pairs of its sides: rows of the limb that is eliminated first."""
    first = w.cone_side[e]
    last = first + w.cone_sides[e]
    pair = w.cone_pair[e]
    for x in range(first, last):
        for y in range(x + 1, last):
            above = x if w.limb_place[w.side_limb[x]] < w.limb_place[w.side_limb[y]] else y
            right = x + y - above
            block = w.pair_block[pair]
            pair += 1
            if block >= 0:
                columns = tree.limb_size[w.side_limb[right]]
                for i in range(tree.limb_size[w.side_limb[above]]):
                    at = block + i * columns
                    column = w.side_column[above] + i
                    add_products(
                        w.A, w.cone_row[e], w.cone_dim[e], column, w.cone_B, w.side_column[right], H, at, columns
                    )


# Factor -------------------------------------------------------------------------------------------------------------


@kernel
def factorize_reduced(tree: Array, w: Array) -> None:
    """The LU factor of ``M + A' G A`` of limbs that are active."""
    if in_warp() and tree.nstride > 0:
        factorize_dense(tree, w)
    else:
        factorize_blocks(tree, w)


@kernel
def factorize_blocks(tree: Array, w: Array) -> None:
    """The same in blocks of limbs; L D L' where it is symmetric, in half the time."""
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
def scale_numbers(a: Scalar, x: Array, i: int, y: Array, count: int) -> None:
    """``y[i:] = a x[i:]`` of so many numbers."""
    whole = count - count % 4
    for k in range(0, whole, 4):
        set_entries(scaled(a, entries(x, i + k)), y, i + k)
    for k in range(whole, count):
        y[i + k] = a * x[i + k]


@kernel
def solve_reduced(tree: Array, w: Array, x: Array) -> None:
    """``x = H⁻¹ x`` of limbs that are active, by the factor."""
    if in_warp() and tree.nstride > 0:
        solve_dense(tree, w, x)
    else:
        solve_blocks(tree, w, x)


@kernel
def solve_blocks(tree: Array, w: Array, x: Array) -> None:
    """The same in blocks of limbs."""
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
