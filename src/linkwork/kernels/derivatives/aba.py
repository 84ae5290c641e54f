# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics of a tree by configuration, velocity and torque, by `aba_derivatives`.

Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018: with ``tau`` inverse dynamics at
the acceleration ``a`` that forward dynamics gives, ``M da = dtau - dtau_dq dq - dtau_dv dv``. Here by the sparse factor
``M = L' D L`` (Featherstone, Rigid Body Dynamics Algorithms, Section 6.5) and the inverse of ``L``, which has the same
sparsity: with ``Y = L^-T dtau_dq``, nonzero for related joints alone as ``dtau_dq`` is, ``da_dq = -L^-1 D^-1 Y`` takes
for each number as many products as its row and column have ancestors in common. So does ``M^-1 = L^-1 D^-1 L^-T``.
Columns are handled four at a time: what they need stays in the first-level cache, in lanes as well.

| symbol | meaning                                                                                   |
|--------|-------------------------------------------------------------------------------------------|
| L, D   | factor of the mass matrix, rows by depth (`plans.aba_derivatives`), and ``1 / D``         |
| Linv   | ``L^-1``, rows by depth, the unit diagonal included; LinvD: ``L^-1 D^-1``                   |
| Bq, Bv | ``dtau_dq``, ``dtau_dv``                                                                  |
| Yq, Yv | ``L^-T dtau_dq``, ``L^-T dtau_dv``, four columns                                          |
| Ya     | ``L^-T``, four columns                                                                    |
| X      | four numbers of a row of each result                                                      |

Symbols of motion and inertia: `common_frame`, `rnea_derivatives`. Cost: O(n d^2 + n^2 c), with d the depth of the tree
and c <= d the mean number of ancestors that two joints share; the results are 3 n^2 numbers.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.derivatives.rnea import TORQUE_COLUMNS, inertial_columns, spatial_dot, torque_derivatives
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import (
    ZERO,
    entries,
    line,
    minus_scaled,
    plus_scaled,
    scaled,
    set_entries,
    set_line,
)
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.common_frame import (
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
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.plans.aba_derivatives import LINE, PATH_TREE

FACTOR: dict[str, Shape] = {
    "L": ("nv", "ndepth"),
    "D": ("nv",),
    "Linv": ("nv", "ndepth"),
    "LinvD": ("nv", "ndepth"),
    "qdd0": ("nv",),
}
COLUMNS: dict[str, Shape] = {
    "Bq": ("nv", "ncolumns"),
    "Bv": ("nv", "ncolumns"),
    "Yq": ("nv", LINE),
    "Yv": ("nv", LINE),
    "Ya": ("nv", LINE),
    "X": (3, LINE),
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
    """``M = L' D L`` in place, leaves first; ``D`` is the inverse of the book's.

    A row is divided at the end: a number that was just written is slow to read back as a part of a line.
    """
    for k in range(tree.nv - 1, -1, -1):
        d = tree.depth[k]
        inverse = 1.0 / w.L[k, d]
        w.D[k] = inverse
        for s in range(d - 1, -1, -1):
            i = tree.path[k, s]
            x = w.L[k, s] * inverse
            for t in range(0, s + 1, LINE):
                set_entries(minus_scaled(entries(w.L[i], t), x, entries(w.L[k], t)), w.L[i], t)
        for t in range(0, d + 1, LINE):
            set_entries(scaled(inverse, entries(w.L[k], t)), w.L[k], t)


@kernel
def invert_factor(tree: Array, w: Array) -> None:
    """``L^-1`` and ``L^-1 D^-1``, roots first."""
    for k in range(tree.nv):
        d = tree.depth[k]
        path = tree.path[k]
        for t in range(0, d, LINE):
            x = scaled(-w.L[k, d - 1], entries(w.Linv[path[d - 1]], t))
            for s in range(d - 2, t - 1, -1):
                x = minus_scaled(x, w.L[k, s], entries(w.Linv[path[s]], t))
            set_entries(x, w.Linv[k], t)
        for t in range((d + LINE - 1) // LINE * LINE, tree.ndepth, LINE):
            set_entries(ZERO, w.Linv[k], t)
        w.Linv[k, d] = 1.0
        for t in range(0, tree.ndepth, LINE):
            set_entries(ZERO, w.LinvD[k], t)
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


# Columns, a line of four at a time ---------------------------------------------------------------------


@kernel
def clear_related(tree: Array, w: Array) -> None:
    """``Bq = Bv = 0`` where entries are read."""
    for l in range(tree.nlines):
        for e in range(tree.line_start[l], tree.line_start[l] + tree.line_count[l]):
            set_entries(ZERO, w.Bq[tree.line_dof[e]], LINE * l)
            set_entries(ZERO, w.Bv[tree.line_dof[e]], LINE * l)


@kernel
def half_solve_line(tree: Array, w: Array, l: int) -> None:
    """``Y = L^-T B`` in the columns of line ``l``: ``B`` is ``dtau_dq``, ``dtau_dv`` and the identity."""
    first = tree.line_start[l]
    last = first + tree.line_count[l]
    for i in range(tree.nv):
        set_line(ZERO, w.Yq, i)
        set_line(ZERO, w.Yv, i)
    for e in range(first, last):
        k = tree.line_dof[e]
        q = entries(w.Bq[k], LINE * l)
        v = entries(w.Bv[k], LINE * l)
        for t in range(tree.depth[k] + 1):
            i = tree.path[k, t]
            set_line(plus_scaled(line(w.Yq, i), w.Linv[k, t], q), w.Yq, i)
            set_line(plus_scaled(line(w.Yv, i), w.Linv[k, t], v), w.Yv, i)
    set_inverse_factor_line(tree, w, l)


@kernel
def set_inverse_factor_line(tree: Array, w: Array, l: int) -> None:
    """``Ya = L^-T`` in the columns of line ``l``."""
    for i in range(tree.nv):
        set_line(ZERO, w.Ya, i)
    for c in range(LINE):
        k = LINE * l + c
        if k < tree.nv:
            for t in range(tree.depth[k] + 1):
                w.Ya[tree.path[k, t], c] = w.Linv[k, t]


@kernel
def store_line(n: int, X: Array, row: int, l: int, out: Array) -> None:
    """Columns of line ``l`` of a row of the result, which has ``n`` of them."""
    if LINE * l + LINE <= n:
        set_entries(line(X, row), out, LINE * l)
    else:
        for c in range(n - LINE * l):
            out[LINE * l + c] = X[row, c]


@kernel
def solve_line(tree: Array, w: Array, l: int, k: int, da_dq: Array, da_dv: Array) -> None:
    """Row ``k`` of ``-L^-1 D^-1 Y``, in the columns of line ``l``: two steps of the path at a time.

    Beyond what is related to the line ``Y`` is zero, beyond the end of the path ``LinvD``.
    """
    path = tree.path[k]
    x = w.LinvD[k]
    q = ZERO
    v = ZERO
    for t in range(0, tree.reach[k, l], 2):
        q = minus_scaled(minus_scaled(q, x[t], line(w.Yq, path[t])), x[t + 1], line(w.Yq, path[t + 1]))
        v = minus_scaled(minus_scaled(v, x[t], line(w.Yv, path[t])), x[t + 1], line(w.Yv, path[t + 1]))
    set_line(q, w.X, 0)
    set_line(v, w.X, 1)
    store_line(tree.nv, w.X, 0, l, da_dq[k])
    store_line(tree.nv, w.X, 1, l, da_dv[k])


@kernel
def inverse_line(tree: Array, w: Array, l: int, k: int, da_dtau: Array) -> None:
    """Row ``k`` of ``M^-1 = L^-1 D^-1 L^-T``, in the columns of line ``l``, and the same in column ``k``."""
    path = tree.path[k]
    x = w.LinvD[k]
    sums = ZERO
    for t in range(0, tree.common[k, l], 2):
        sums = plus_scaled(plus_scaled(sums, x[t], line(w.Ya, path[t])), x[t + 1], line(w.Ya, path[t + 1]))
    first = LINE * l
    if first + LINE <= k:
        set_entries(sums, da_dtau[k], first)
        for c in range(LINE):
            da_dtau[first + c, k] = sums[c]
    else:
        for c in range(LINE):
            if first + c <= k:
                da_dtau[k, first + c] = sums[c]
                da_dtau[first + c, k] = sums[c]


@kernel
def solve_columns(tree: Array, w: Array, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """``da_dq = -M^-1 dtau_dq``, ``da_dv = -M^-1 dtau_dv``, ``da_dtau = M^-1``."""
    for l in range(tree.nlines):
        half_solve_line(tree, w, l)
        for k in range(tree.nv):
            solve_line(tree, w, l, k, da_dq, da_dv)
        for k in range(LINE * l, tree.nv):
            inverse_line(tree, w, l, k, da_dtau)


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
    clear_related(tree, w)
    torque_derivatives(tree, w, w.Bq, w.Bv)
    invert_factor(tree, w)
    solve_columns(tree, w, da_dq, da_dv, da_dtau)


ABA_DERIVATIVES = Algorithm(
    "aba_derivatives",
    aba_derivatives,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "wrenches": WRENCHES},
    {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "da_dtau": ("nv", "nv"), "a": ("nv",)},
    COMMON_MOTION | COMMON_INERTIA | TORQUE_COLUMNS | FACTOR | COLUMNS,
    PATH_TREE,
)
