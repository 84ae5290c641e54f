# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics of a tree by configuration, velocity and torque, by `aba_derivatives`.

Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018: with ``tau`` inverse dynamics at
the acceleration ``a`` that forward dynamics gives, ``M da = dtau - dtau_dq dq - dtau_dv dv``. Here by the sparse factor
``M = L' D L`` (Featherstone, Rigid Body Dynamics Algorithms, Section 6.5) and the inverse of ``L``, which has the same
sparsity: with ``Y = L^-T dtau_dq``, nonzero for related joints alone as ``dtau_dq`` is, ``da_dq = -L^-1 D^-1 Y`` takes
for each number as many products as its row and column have ancestors in common. So does ``M^-1 = L^-1 D^-1 L^-T``. The
products are done for four rows on one path, four of their ancestors and four columns at a time.

| symbol | meaning                                                                                   |
|--------|-------------------------------------------------------------------------------------------|
| L, D   | factor of the mass matrix, rows by depth (`plans.aba_derivatives`), and ``1 / D``         |
| Linv   | ``L^-1``, rows by depth, the unit diagonal included; LinvD: ``L^-1 D^-1``                   |
| Tqs ... | ``dtau_dq`` and ``dtau_dv``                                                              |
| Yq, Yv | ``L^-T dtau_dq``, ``L^-T dtau_dv``                                                        |
| Ya     | ``L^-T``                                                                                  |
| Xq ... | four rows of results                                                                      |

Symbols of motion and inertia: `common_frame`, `rnea_derivatives`. Cost: O(n d^2 + n^2 c), with d the depth of the tree
and c <= d the mean number of ancestors that two joints share; the results are 3 n^2 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    ROOT_FRAMES,
    acceleration_columns,
    body_inertias,
    composite_forces,
    composite_inertias,
    motion_columns,
    net_forces,
)
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import (
    ZERO,
    entries,
    minus_scaled,
    plus_scaled,
    set_entries,
)
from linkwork.kernels.rnea import WRENCHES
from linkwork.kernels.rnea_derivatives import TORQUE_COLUMNS, inertial_columns, spatial_dot, torque_derivatives
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.plans.aba_derivatives import LINE, PATH_TREE

FACTOR: dict[str, Shape] = {
    "L": ("nv", "ndepth"),
    "D": ("nv",),
    "Linv": ("nrows", "ndepth"),
    "LinvD": ("nrows", "ndepth"),
    "qdd0": ("nv",),
}
COLUMNS: dict[str, Shape] = {
    "Tqs": ("nrows", "ncolumns"),
    "Tvs": ("nrows", "ncolumns"),
    "Yq": ("nv", "ncolumns"),
    "Yv": ("nv", "ncolumns"),
    "Ya": ("nv", "ncolumns"),
    "Xq": (LINE, "ncolumns"),
    "Xv": (LINE, "ncolumns"),
    "Xa": (LINE, "ncolumns"),
}


# The factor ------------------------------------------------------------------------------------------


@kernel
def mass_matrix_by_depth(tree: Array, w: Array) -> None:
    """Rows of ``M`` up to the diagonal, in ``L``, after `inertial_columns`."""
    for k in range(tree.nv):
        for t in range(tree.depth[k] + 1):
            w.L[k, t] = spatial_dot(w.S[tree.path[k, t]], w.Ta[k])
        for t in range(tree.depth[k] + 1, tree.ndepth):
            w.L[k, t] = 0.0
        w.L[k, tree.depth[k]] += tree.armature[k]


@kernel
def factorize_by_depth(tree: Array, w: Array) -> None:
    """``M = L' D L`` in place, leaves first; the diagonal stays what it is, ``D`` is its inverse."""
    for k in range(tree.nv - 1, -1, -1):
        d = tree.depth[k]
        inverse = 1.0 / w.L[k, d]
        w.D[k] = inverse
        for s in range(d - 1, -1, -1):
            i = tree.path[k, s]
            x = w.L[k, s] * inverse
            for t in range(0, s + 1, LINE):
                set_entries(minus_scaled(entries(w.L[i], t), x, entries(w.L[k], t)), w.L[i], t)
            w.L[k, s] = x


@kernel
def invert_factor(tree: Array, w: Array) -> None:
    """``L^-1`` and ``L^-1 D^-1``, roots first; a row of zeros at the end."""
    for k in range(tree.nrows):
        for t in range(0, tree.ndepth, LINE):
            set_entries(ZERO, w.Linv[k], t)
            set_entries(ZERO, w.LinvD[k], t)
    for k in range(tree.nv):
        d = tree.depth[k]
        w.Linv[k, d] = 1.0
        for s in range(d - 1, -1, -1):
            i = tree.path[k, s]
            for t in range(0, s + 1, LINE):
                set_entries(minus_scaled(entries(w.Linv[k], t), w.L[k, s], entries(w.Linv[i], t)), w.Linv[k], t)
        for t in range(d + 1):
            w.LinvD[k, t] = w.Linv[k, t] * w.D[tree.path[k, t]]


@kernel
def solve_by_depth(tree: Array, w: Array, x: Array) -> None:
    """``x = M^-1 x`` with the factor."""
    for k in range(tree.nv - 1, -1, -1):
        for t in range(tree.depth[k]):
            x[tree.path[k, t]] -= w.L[k, t] * x[k]
    for k in range(tree.nv):
        y = x[k] * w.D[k]
        for t in range(tree.depth[k]):
            y = y - w.L[k, t] * x[tree.path[k, t]]
        x[k] = y


# Accelerations ---------------------------------------------------------------------------------------


@kernel
def accelerations_by_factor(tree: Array, w: Array, v: Array, tau: Array, wrenches: Array, a: Array) -> None:
    """``a = M^-1 (tau - c)``, with bias forces ``c`` in the common frame."""
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    acceleration_columns(tree, w, v, w.qdd0, ROOT_FRAMES)
    net_forces(tree, w, wrenches)
    composite_forces(tree, w)
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            a[k] = tau[k] - spatial_dot(w.S[k], w.fC[i])
    solve_by_depth(tree, w, a)


# Columns ---------------------------------------------------------------------------------------------


@kernel
def clear_columns(tree: Array, w: Array) -> None:
    """``Tqs = Tvs = Yq = Yv = Ya = 0``."""
    for k in range(tree.nrows):
        for c in range(0, tree.ncolumns, LINE):
            set_entries(ZERO, w.Tqs[k], c)
            set_entries(ZERO, w.Tvs[k], c)
            if k < tree.nv:
                set_entries(ZERO, w.Yq[k], c)
                set_entries(ZERO, w.Yv[k], c)
                set_entries(ZERO, w.Ya[k], c)


class Rows(NamedTuple):
    """Four rows of a matrix."""

    r0: Array
    r1: Array
    r2: Array
    r3: Array


@kernel
def rows_of(A: Array, i: Vector) -> Rows:
    """Four rows by their numbers."""
    return Rows(A[i[0]], A[i[1]], A[i[2]], A[i[3]])


@kernel
def path_lines(tree: Array, k: int, t: int) -> tuple[int, int, int, int]:
    """Four degrees of freedom of a path."""
    return tree.path[k, t], tree.path[k, t + 1], tree.path[k, t + 2], tree.path[k, t + 3]


@kernel
def block_rows(tree: Array, b: int) -> tuple[int, int, int, int]:
    """The degrees of freedom of a block."""
    return tree.block[b, 0], tree.block[b, 1], tree.block[b, 2], tree.block[b, 3]


@kernel
def add_products(x: Vector, Y: Rows, c: int, X: Array) -> None:
    """``X = X + x Y`` of four rows, in the line that begins with column ``c``."""
    z = plus_scaled(plus_scaled(entries(X, c), x[0], entries(Y.r0, c)), x[1], entries(Y.r1, c))
    set_entries(plus_scaled(plus_scaled(z, x[2], entries(Y.r2, c)), x[3], entries(Y.r3, c)), X, c)


@kernel
def subtract_products(x: Vector, Y: Rows, c: int, X: Array) -> None:
    """``X = X - x Y`` of four rows, in the line that begins with column ``c``."""
    z = minus_scaled(minus_scaled(entries(X, c), x[0], entries(Y.r0, c)), x[1], entries(Y.r1, c))
    set_entries(minus_scaled(minus_scaled(z, x[2], entries(Y.r2, c)), x[3], entries(Y.r3, c)), X, c)


@kernel
def half_solve_columns(tree: Array, w: Array) -> None:
    """``Y = L^-T T`` of related columns, a block of rows after the other, and ``Ya = L^-T``."""
    for b in range(tree.nblocks):
        k = block_rows(tree, b)
        end = tree.block_end[b]
        first = tree.related_start[k[0]]
        Tq = rows_of(w.Tqs, k)
        Tv = rows_of(w.Tvs, k)
        for t in range(0, tree.depth[end] + 1, LINE):
            i = path_lines(tree, end, t)
            Yq = rows_of(w.Yq, i)
            Yv = rows_of(w.Yv, i)
            l0 = entries(w.Linv[k[0]], t)
            l1 = entries(w.Linv[k[1]], t)
            l2 = entries(w.Linv[k[2]], t)
            l3 = entries(w.Linv[k[3]], t)
            for e in range(first, first + tree.related_count[k[0]]):
                c = tree.related_column[e]
                add_products((l0[0], l1[0], l2[0], l3[0]), Tq, c, Yq.r0)
                add_products((l0[1], l1[1], l2[1], l3[1]), Tq, c, Yq.r1)
                add_products((l0[2], l1[2], l2[2], l3[2]), Tq, c, Yq.r2)
                add_products((l0[3], l1[3], l2[3], l3[3]), Tq, c, Yq.r3)
                add_products((l0[0], l1[0], l2[0], l3[0]), Tv, c, Yv.r0)
                add_products((l0[1], l1[1], l2[1], l3[1]), Tv, c, Yv.r1)
                add_products((l0[2], l1[2], l2[2], l3[2]), Tv, c, Yv.r2)
                add_products((l0[3], l1[3], l2[3], l3[3]), Tv, c, Yv.r3)
    for k in range(tree.nv):
        for t in range(tree.depth[k] + 1):
            w.Ya[tree.path[k, t], k] = w.Linv[k, t]


@kernel
def block_of_results(tree: Array, w: Array, b: int) -> None:
    """Rows of a block: ``Xq, Xv = -L^-1 D^-1 Y`` and, up to the diagonal, ``Xa = L^-1 D^-1 Ya``."""
    for r in range(LINE):
        for c in range(0, tree.ncolumns, LINE):
            set_entries(ZERO, w.Xq[r], c)
            set_entries(ZERO, w.Xv[r], c)
            set_entries(ZERO, w.Xa[r], c)
    k = block_rows(tree, b)
    end = tree.block_end[b]
    for t in range(0, tree.depth[end] + 1, LINE):
        i = path_lines(tree, end, t)
        Yq = rows_of(w.Yq, i)
        Yv = rows_of(w.Yv, i)
        Ya = rows_of(w.Ya, i)
        x0 = entries(w.LinvD[k[0]], t)
        x1 = entries(w.LinvD[k[1]], t)
        x2 = entries(w.LinvD[k[2]], t)
        x3 = entries(w.LinvD[k[3]], t)
        for e in range(tree.related_start[i[0]], tree.related_start[i[0]] + tree.related_count[i[0]]):
            c = tree.related_column[e]
            subtract_products(x0, Yq, c, w.Xq[0])
            subtract_products(x1, Yq, c, w.Xq[1])
            subtract_products(x2, Yq, c, w.Xq[2])
            subtract_products(x3, Yq, c, w.Xq[3])
            subtract_products(x0, Yv, c, w.Xv[0])
            subtract_products(x1, Yv, c, w.Xv[1])
            subtract_products(x2, Yv, c, w.Xv[2])
            subtract_products(x3, Yv, c, w.Xv[3])
            if c <= end:
                add_products(x0, Ya, c, w.Xa[0])
                add_products(x1, Ya, c, w.Xa[1])
                add_products(x2, Ya, c, w.Xa[2])
                add_products(x3, Ya, c, w.Xa[3])


@kernel
def store_row(n: int, X: Array, row: Array) -> None:
    """``row = X``, ``n`` numbers."""
    for c in range(0, n - LINE + 1, LINE):
        set_entries(entries(X, c), row, c)
    for c in range(n - n % LINE, n):
        row[c] = X[c]


@kernel
def solve_columns(tree: Array, w: Array, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """``da_dq = -M^-1 dtau_dq``, ``da_dv = -M^-1 dtau_dv``, ``da_dtau = M^-1``."""
    for b in range(tree.nblocks):
        block_of_results(tree, w, b)
        for r in range(LINE):
            k = tree.block[b, r]
            if k < tree.nv:
                store_row(tree.nv, w.Xq[r], da_dq[k])
                store_row(tree.nv, w.Xv[r], da_dv[k])
                for j in range(k):
                    da_dtau[j, k] = w.Xa[r, j]
                    da_dtau[k, j] = w.Xa[r, j]
                da_dtau[k, k] = w.Xa[r, k]


@kernel
def aba_derivatives(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    da_dq: Array,
    da_dv: Array,
    da_dtau: Array,
    a: Array,
) -> None:
    """Derivatives of `aba.aba` by ``q`` (tangent space), ``v`` and ``tau``, and the accelerations themselves."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    body_inertias(tree, w)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    mass_matrix_by_depth(tree, w)
    factorize_by_depth(tree, w)
    accelerations_by_factor(tree, w, v, tau, wrenches, a)
    acceleration_columns(tree, w, v, a, ROOT_FRAMES)
    net_forces(tree, w, wrenches)
    clear_columns(tree, w)
    torque_derivatives(tree, w, w.Tqs, w.Tvs)
    invert_factor(tree, w)
    half_solve_columns(tree, w)
    solve_columns(tree, w, da_dq, da_dv, da_dtau)


ABA_DERIVATIVES = Algorithm(
    "aba_derivatives",
    aba_derivatives,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "wrenches": WRENCHES},
    {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "da_dtau": ("nv", "nv"), "a": ("nv",)},
    COMMON_MOTION | COMMON_INERTIA | TORQUE_COLUMNS | FACTOR | COLUMNS,
    PATH_TREE,
)
