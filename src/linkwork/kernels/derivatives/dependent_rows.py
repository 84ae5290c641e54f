# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained dynamics where rows depend on others: derivatives of the null-space projector.

Where rows depend on others, accelerations minimize ``e' R^-1 e`` of the residual ``e = target - J a - dJ/dt v``, and
forces are the smallest, in ``f' R f``, that produce these accelerations. With ``h = R^-1 e``::

    J' h = 0,        J y = R f,        so that        dJ' h + J' dh = 0,        J dy + dJ y = R df

The first equation has the effect of targets that change by ``R T' dJ' h``, with ``T = da_dtarget``; it is zero where
rows do not contradict each other. The second adds to the smallest change of forces a component of internal
(null-space) forces, which accelerate no joint: ``N' (N R N')^-1 N dJ y``, where ``N`` are the null combinations of
`orthogonal_rows`.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| h      | ``R^-1 e = N' (N R N')^-1 N k``: internal forces                                    |
| Gh     | ``-d(J' h)/dq``, with h held                                                        |
| y      | ``T R f``: joint accelerations by the targets R f                                   |
| xn     | four columns of ``(N R N')^-1 N dJ y``                                              |

Other symbols: `orthogonal_rows`, `constrained_derivatives`. Cost: O(n² m + n m²), with m rows.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.derivatives.constraint_forces import apply_constraint_wrenches, wrench_derivatives
from linkwork.kernels.derivatives.constraints import row_derivatives, velocity_partials
from linkwork.kernels.derivatives.couplings import coupling_force_derivatives
from linkwork.kernels.derivatives.tendon_couplings import tendon_force_derivatives
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import ZERO, entries, line, minus_scaled, plus_scaled, scaled, set_entries, set_line
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where, with_arrays
from linkwork.kernels.spatial import add, angular, cross, linear, set_angular, set_linear
from linkwork.kernels.thresholds import CLEARLY_INDEPENDENT, DISABLED
from linkwork.kernels.tree.aba import solve_ldl
from linkwork.kernels.tree.common_frame import ONE_FRAME, acceleration_columns, composite_forces
from linkwork.kernels.tree.inertia_columns import spatial_dot
from linkwork.plans.aba_derivatives import LINE

DEPENDENT_ROWS: dict[str, Shape] = {
    "h": ("nc",),
    "Gh": ("nv", "ncolumns"),
    "y": ("nv",),
    "xn": ("nc", LINE),
    "turned": (6,),
    "still": ("nv",),
    "no_gain": ("nc",),
    "no_gravity": (3,),
}


@kernel
def enabled(R: Scalar) -> Scalar:
    """The regularization of a row; zero if it is not enabled."""
    return where(R, DISABLED, R, 0.0)


# Accelerations: derivatives of the least-squares fit by J -------------------------------------------------------------


@kernel
def set_contradiction(tree: Array, w: Array) -> None:
    """``h = N' (N R N')^-1 N k``; right-hand sides of rows are in ``k``, without those of free motion."""
    for s in range(tree.nc):
        x = 0.0
        for r in range(s + 1):
            x = x + w.Zr[r, s] * w.k[r]
        w.row[s] = w.null[s] * x
    solve_ldl(tree.nc, w.Cn, w.row)
    for r in range(tree.nc):
        x = 0.0
        for s in range(r, tree.nc):
            x = x + w.Zr[r, s] * (w.null[s] * w.row[s])
        w.h[r] = x


@kernel
def force_transport(tree: Array, w: Array, dr_dq: Array) -> None:
    """Add ``S_k . (S_j x* fC)`` of joints k before j: forces move with their bodies, S of joints before j does not."""
    for i in range(1, tree.n):
        f = w.fC[i]
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            S = w.S[j]
            set_angular(add(cross(angular(S), angular(f)), cross(linear(S), linear(f))), w.turned)
            set_linear(cross(angular(S), linear(f)), w.turned)
            p = tree.parent[i]
            while p > 0:
                for k in range(tree.iv[p], tree.iv[p] + dof_of(tree.kind[p])):
                    dr_dq[k, j] += spatial_dot(w.S[k], w.turned)
                p = tree.parent[p]


@kernel
def contradiction_derivatives(tree: Array, w: Array, q: Array) -> None:
    """``Gh = -d(J' h)/dq``; forces of bodies are those of ``h`` afterwards."""
    for k in range(tree.nv):
        for c in range(0, tree.ncolumns, LINE):
            set_entries(ZERO, w.Gh[k], c)
    for i in range(1, tree.n):
        for c in range(6):
            w.F[i, c] = 0.0
    apply_constraint_wrenches(tree, w, w.h)
    composite_forces(tree, w)
    force_transport(tree, w, w.Gh)
    wrench_derivatives(tree, w, w.h, w.Gh)
    coupling_force_derivatives(tree, w, q, w.h, w.Gh)
    tendon_force_derivatives(tree, w, w.h, w.Gh)


@kernel
def subtract_fit_derivative(tree: Array, w: Array, q: Array, R: Array, least: Scalar) -> None:
    """``ds_dq = ds_dq - R T' d(J' h)/dq``, where rows depend on others; after `row_derivatives` and with ``T``."""
    if tree.redundant != 0 and tree.soft == 0:
        if any_below(least, CLEARLY_INDEPENDENT):
            set_contradiction(tree, w)
            contradiction_derivatives(tree, w, q)
            for c in range(0, tree.ncolumns, LINE):
                for r in range(tree.nc):
                    x = ZERO
                    for b in range(tree.nbound):
                        k = tree.bound[b]
                        x = plus_scaled(x, w.T[k, r], entries(w.Gh[k], c))
                    set_entries(plus_scaled(entries(w.ds_dq[r], c), enabled(R[r]), x), w.ds_dq[r], c)


# Forces: the smallest ones change with J -----------------------------------------------------------------


@kernel
def set_motion(tree: Array, w: Array, R: Array, f: Array) -> None:
    """``y = T R f``."""
    for k in range(tree.nv):
        x = 0.0
        for r in range(tree.nc):
            x = x + w.T[k, r] * (enabled(R[r]) * f[r])
        w.y[k] = x


@kernel
def row_velocity_derivatives(tree: Array, w: Array, q: Array) -> None:
    """``ds_dq = d(J y)/dq``, with y held: rows at rest, with joints that accelerate by ``y``."""
    for i in range(tree.n):
        for c in range(6):
            w.V[i, c] = 0.0
    for k in range(tree.nv):
        w.still[k] = 0.0
        for c in range(6):
            w.Psid[k, c] = 0.0
            w.Psid_Sd[k, c] = 0.0
    for r in range(tree.nc):
        w.no_gain[r] = 0.0
    for c in range(3):
        w.no_gravity[c] = 0.0
        w.A[0, 3 + c] = 0.0
    plain = with_arrays(tree, w, (("kp", "no_gain"), ("kd", "no_gain"), ("gravity", "no_gravity")))
    acceleration_columns(plain, w, w.still, w.y, ONE_FRAME)
    velocity_partials(plain, w, w.still)
    row_derivatives(plain, w, q, w.still, w.y, w.ds_dq, w.ds_dv)


@kernel
def null_line(tree: Array, w: Array, c: int) -> None:
    """``xn = (N R N')^-1 N ds_dq`` in the columns from ``c`` on."""
    for s in range(tree.nc):
        x = ZERO
        for r in range(s + 1):
            x = plus_scaled(x, w.Zr[r, s], entries(w.ds_dq[r], c))
        x = scaled(w.null[s], x)
        for r in range(s):
            x = minus_scaled(x, w.Cn[s, r], line(w.xn, r))
        set_line(x, w.xn, s)
    for s in range(tree.nc - 1, -1, -1):
        x = scaled(w.Cn[s, s], line(w.xn, s))
        for r in range(s + 1, tree.nc):
            x = minus_scaled(x, w.Cn[r, s], line(w.xn, r))
        set_line(x, w.xn, s)


@kernel
def add_internal_force_derivatives(
    tree: Array, w: Array, q: Array, R: Array, least: Scalar, f: Array, df_dq: Array
) -> None:
    """``df_dq = df_dq + N' (N R N')^-1 N d(J y)/dq``, where rows depend on others; the last of all, velocities and
    ``ds_dq`` are lost."""
    if tree.redundant != 0 and tree.soft == 0:
        if any_below(least, CLEARLY_INDEPENDENT):
            set_motion(tree, w, R, f)
            row_velocity_derivatives(tree, w, q)
            for l in range(tree.nlines):
                null_line(tree, w, LINE * l)
                for r in range(tree.nc):
                    x = ZERO
                    for s in range(r, tree.nc):
                        x = plus_scaled(x, w.null[s] * w.Zr[r, s], line(w.xn, s))
                    set_line(x, w.Xl, 0)
                    for c in range(LINE):
                        if LINE * l + c < tree.nv:
                            df_dq[r, LINE * l + c] += w.Xl[0, c]
