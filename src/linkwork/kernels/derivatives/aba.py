# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics of a tree by configuration, velocity and torque, by `aba_derivatives`.

Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018: with ``tau`` inverse dynamics at
the acceleration ``a`` that forward dynamics gives, ``M da = dtau - dtau_dq dq - dtau_dv dv``. Here by the sparse factor
``M = L' D L`` (Featherstone, Rigid Body Dynamics Algorithms, Section 6.5) and the inverse of ``L``, which has the same
sparsity: with ``Y = L^-T dtau_dq``, nonzero for related joints alone as ``dtau_dq`` is, ``da_dq = -L^-1 D^-1 Y`` takes
for each number as many products as its row and column have ancestors in common. So does ``M^-1 = L^-1 D^-1 L^-T``.
Columns are handled four at a time, so that their data stays in the first-level cache, in lanes as well.

| symbol | meaning                                                                                   |
|--------|-------------------------------------------------------------------------------------------|
| Bq, Bv | ``dtau_dq``, ``dtau_dv``                                                                  |
| Yq, Yv | ``L^-T dtau_dq``, ``L^-T dtau_dv``, four columns                                          |
| X      | four numbers of a row of each result                                                      |

Symbols of motion and inertia: `common_frame`, `inertia_columns`; of the factor: `mass_factor`. Cost:
O(n d^2 + n^2 c), with d the depth of the tree and c <= d the mean number of ancestors that two joints share; the
results are 3 n^2 numbers.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.derivatives.rnea import torque_derivatives
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import (
    ZERO,
    entries,
    line,
    minus_scaled,
    plus_scaled,
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
from linkwork.kernels.tree.inertia_columns import TORQUE_COLUMNS, inertial_columns, spatial_dot
from linkwork.kernels.tree.mass_factor import (
    COLUMNS,
    FACTOR,
    factorize_by_depth,
    inverse_line,
    invert_factor,
    mass_matrix_by_depth,
    set_inverse_factor_line,
    solve_by_depth,
)
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.plans.aba_derivatives import LINE, PATH_TREE

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

    ``Y`` is zero beyond the joints related to the line, ``LinvD`` beyond the end of the path.
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
