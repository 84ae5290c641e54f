# SPDX-License-Identifier: BSD-3-Clause
"""The reduced matrix ``H = M + A' G A`` in blocks of limbs, and products with it; its factor is in `factor`.

| symbol            | meaning                                                                                 |
|-------------------|-----------------------------------------------------------------------------------------|
| M_diagonal, M_blocks | the mass matrix (`mass_matrix`)                                                       |
| H_diagonal        | diagonal blocks; after `factorize_reduced` their factors, with inverse pivots             |
| H_U, H_L          | blocks of a limb (rows) with later ones (columns), and of the transposed matrix           |
| cone_B            | ``G A`` of one set                                                                        |

Cost: linear in rows times the square of their columns.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.dense import (
    DENSE_WORK,
    add_dense_rows_transposed,
    dense_mass_times,
    dense_rows_times,
)
from linkwork.kernels.contact.reduced.mass_matrix import MASS_WORK
from linkwork.kernels.contact.reduced.pattern import ancestor_block
from linkwork.kernels.contact.reduced.problem import ACTIVE, CONES, EQUALITY, SYMMETRIC
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.panels import entries, minus_scaled, plus_scaled, scaled, set_entries, sum_of_products
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below
from linkwork.kernels.thresholds import NO_STIFFNESS
from linkwork.plans.contact_reduced import MAX_DIM

MATRIX_WORK: dict[str, Shape] = (
    MASS_WORK
    | DENSE_WORK
    | {
        "H_diagonal": ("ndiagonal",),
        "H_U": ("nblocks",),
        "H_L": ("nblocks",),
        "cone_B": (MAX_DIM, "nwidth"),
    }
)


# Mass matrix --------------------------------------------------------------------------------------------------------


@kernel
def mass_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = M x``."""
    if in_warp() and tree.nstride > 0:
        dense_mass_times(tree, w, x, y)
    else:
        for k in range(tree.nv):
            y[k] = 0.0
        for a in range(tree.nlimbs):
            add_mass_times(tree, w, a, x, y)


@kernel
def active_mass_times(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = M x`` of limbs that are active."""
    if in_warp() and tree.nstride > 0:
        dense_mass_times(tree, w, x, y)
    else:
        for place in range(w.counts[ACTIVE]):
            a = w.active_limb[place]
            for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
                y[k] = 0.0
        for place in range(w.counts[ACTIVE]):
            add_mass_times(tree, w, w.active_limb[place], x, y)


@kernel
def add_mass_times(tree: Array, w: Array, a: int, x: Array, y: Array) -> None:
    """``y = y + M x``, of the blocks of a limb with itself and with its ancestors."""
    size = tree.limb_size[a]
    at = tree.limb_v[a]
    for r in range(size):
        y[at + r] += product(w.M_diagonal, tree.limb_diagonal[a] + r * size, x, at, size)
    b = tree.limb_parent[a]
    while b >= 0:
        for r in range(size):
            row = ancestor_block(tree, a, b) + r * tree.limb_size[b]
            y[at + r] += product(w.M_blocks, row, x, tree.limb_v[b], tree.limb_size[b])
            add_multiple(x[at + r], w.M_blocks, row, y, tree.limb_v[b], tree.limb_size[b])
        b = tree.limb_parent[b]


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
def scale_numbers(a: Scalar, x: Array, i: int, y: Array, count: int) -> None:
    """``y[i:] = a x[i:]`` of so many numbers."""
    whole = count - count % 4
    for k in range(0, whole, 4):
        set_entries(scaled(a, entries(x, i + k)), y, i + k)
    for k in range(whole, count):
        y[i + k] = a * x[i + k]


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
    """The product by the sides of sets."""
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
    """Adds the transposed product by the sides of sets."""
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
