# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics of a tree by configuration, velocity and torque, by `aba_derivatives`.

Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018: with ``tau`` inverse dynamics at
the acceleration ``a`` that forward dynamics gives, ``M da = dtau - dtau_dq dq - dtau_dv dv``. Here by the sparse factor
``M = L' D L`` (Featherstone, Rigid Body Dynamics Algorithms, Section 6.5) and the inverse of ``L``, which has the same
sparsity: with ``Y = -D^-1 L^-T dtau_dq``, nonzero for related joints alone as ``dtau_dq`` is, ``da_dq = L^-1 Y`` takes
for each number as many products as its row and column have ancestors in common. So does ``M^-1 = L^-1 D^-1 L^-T``.

| symbol | meaning                                                                                   |
|--------|-------------------------------------------------------------------------------------------|
| L, D   | factor of the mass matrix, rows by depth (`plans.aba_derivatives`), and ``1 / D``         |
| Linv   | ``L^-1``, rows by depth, the unit diagonal included                                       |
| Yq, Yv | ``dtau_dq``, then ``-D^-1 L^-T dtau_dq``; the same by v                                   |
| Ya     | ``D^-1 L^-T``                                                                             |
| Xq ... | a row of ``L^-1 Yq``                                                                      |

Symbols of motion and inertia: `common_frame`, `rnea_derivatives`. Cost: O(n d^2 + n^2 c), with d the depth of the tree
and c <= d the mean number of ancestors that two joints share; the results are 3 n^2 numbers.
"""

from __future__ import annotations

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
    scaled,
    set_entries,
)
from linkwork.kernels.rnea import WRENCHES
from linkwork.kernels.rnea_derivatives import TORQUE_COLUMNS, inertial_columns, spatial_dot, torque_derivatives
from linkwork.kernels.scalar import Array, kernel
from linkwork.plans.aba_derivatives import LINE, PATH_TREE

FACTOR: dict[str, Shape] = {"L": ("nv", "ndepth"), "D": ("nv",), "Linv": ("nv", "ndepth"), "qdd0": ("nv",)}
COLUMNS: dict[str, Shape] = {
    "Yq": ("nv", "ncolumns"),
    "Yv": ("nv", "ncolumns"),
    "Ya": ("nv", "ncolumns"),
    "Xq": ("ncolumns",),
    "Xv": ("ncolumns",),
    "Xa": ("ncolumns",),
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
    """``L^-1``, roots first."""
    for k in range(tree.nv):
        d = tree.depth[k]
        for t in range(0, tree.ndepth, LINE):
            set_entries(ZERO, w.Linv[k], t)
        w.Linv[k, d] = 1.0
        for s in range(d - 1, -1, -1):
            i = tree.path[k, s]
            for t in range(0, s + 1, LINE):
                set_entries(minus_scaled(entries(w.Linv[k], t), w.L[k, s], entries(w.Linv[i], t)), w.Linv[k], t)


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
    """``Yq = Yv = Ya = 0``."""
    for k in range(tree.nv):
        for c in range(0, tree.ncolumns, LINE):
            set_entries(ZERO, w.Yq[k], c)
            set_entries(ZERO, w.Yv[k], c)
            set_entries(ZERO, w.Ya[k], c)


@kernel
def half_solve_columns(tree: Array, w: Array) -> None:
    """``Y = -D^-1 L^-T Y`` of related columns, leaves first, and ``Ya = D^-1 L^-T``."""
    for k in range(tree.nv - 1, -1, -1):
        first = tree.related_start[k]
        for s in range(tree.depth[k]):
            i = tree.path[k, s]
            x = w.L[k, s]
            for e in range(first, first + tree.related_count[k]):
                c = tree.related_column[e]
                set_entries(minus_scaled(entries(w.Yq[i], c), x, entries(w.Yq[k], c)), w.Yq[i], c)
                set_entries(minus_scaled(entries(w.Yv[i], c), x, entries(w.Yv[k], c)), w.Yv[i], c)
            w.Ya[i, k] = w.Linv[k, s] * w.D[i]
        w.Ya[k, k] = w.D[k]
        minus = -w.D[k]
        for e in range(first, first + tree.related_count[k]):
            c = tree.related_column[e]
            set_entries(scaled(minus, entries(w.Yq[k], c)), w.Yq[k], c)
            set_entries(scaled(minus, entries(w.Yv[k], c)), w.Yv[k], c)


@kernel
def add_four_rows(
    x0: object, x1: object, x2: object, x3: object, y0: Array, y1: Array, y2: Array, y3: Array, c: int, X: Array
) -> None:
    """``X = X + x0 y0 + x1 y1 + x2 y2 + x3 y3`` in the line that begins with column ``c``."""
    z = plus_scaled(plus_scaled(entries(X, c), x0, entries(y0, c)), x1, entries(y1, c))
    set_entries(plus_scaled(plus_scaled(z, x2, entries(y2, c)), x3, entries(y3, c)), X, c)


@kernel
def inverse_factor_rows(tree: Array, w: Array, k: int) -> None:
    """Row ``k`` of ``L^-1 Y``: ``Xq, Xv``, and ``Xa`` up to the diagonal."""
    for c in range(0, tree.ncolumns, LINE):
        set_entries(ZERO, w.Xq, c)
        set_entries(ZERO, w.Xv, c)
        set_entries(ZERO, w.Xa, c)
    for t in range(0, tree.depth[k] + 1, LINE):
        x0 = w.Linv[k, t]
        x1 = w.Linv[k, t + 1]
        x2 = w.Linv[k, t + 2]
        x3 = w.Linv[k, t + 3]
        i0 = tree.path[k, t]
        i1 = tree.path[k, t + 1]
        i2 = tree.path[k, t + 2]
        i3 = tree.path[k, t + 3]
        for e in range(tree.related_start[i0], tree.related_start[i0] + tree.related_count[i0]):
            c = tree.related_column[e]
            add_four_rows(x0, x1, x2, x3, w.Yq[i0], w.Yq[i1], w.Yq[i2], w.Yq[i3], c, w.Xq)
            add_four_rows(x0, x1, x2, x3, w.Yv[i0], w.Yv[i1], w.Yv[i2], w.Yv[i3], c, w.Xv)
            if c <= k:
                add_four_rows(x0, x1, x2, x3, w.Ya[i0], w.Ya[i1], w.Ya[i2], w.Ya[i3], c, w.Xa)


@kernel
def store_row(n: int, X: Array, row: Array) -> None:
    """``row = X``, ``n`` numbers."""
    for c in range(0, n - LINE + 1, LINE):
        set_entries(entries(X, c), row, c)
    for c in range(n - n % LINE, n):
        row[c] = X[c]


@kernel
def solve_columns(tree: Array, w: Array, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """``da_dq = L^-1 Yq``, ``da_dv = L^-1 Yv``, ``da_dtau = L^-1 Ya``."""
    for k in range(tree.nv):
        inverse_factor_rows(tree, w, k)
        store_row(tree.nv, w.Xq, da_dq[k])
        store_row(tree.nv, w.Xv, da_dv[k])
        for j in range(k):
            da_dtau[j, k] = w.Xa[j]
            da_dtau[k, j] = w.Xa[j]
        da_dtau[k, k] = w.Xa[k]


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
    torque_derivatives(tree, w, w.Yq, w.Yv)
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
