# SPDX-License-Identifier: BSD-3-Clause
"""Scratch solver."""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.matrix import (
    add_rows_transposed,
    factorize_reduced,
    mass_times,
    rows_times,
    solve_reduced,
)
from linkwork.kernels.contact.reduced.problem import BOX, CONE, CONES, ROWS
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, some_below, sqrt, where

SOLVER_WORK: dict[str, Shape] = {
    "wy": ("nrows",),
    "dz": ("nrows",),
    "rhs": ("nv",),
    "Adv": ("nrows",),
    "Mv": ("nv",),
}


@kernel
def linearize_set(tree: Array, w: Array, e: int, slack: Scalar) -> Scalar:
    """G, dz = r' of a set; returns the residual."""
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    rho = 1.0 / w.cone_D[e]
    res = 0.0
    if w.cone_kind[e] == CONE:
        t = 0.0
        ut = 0.0
        for k in range(1, dim):
            x = w.z[row + k] - rho * w.wy[row + k]
            t = t + x * x
            ut = ut + w.wy[row + k] * w.wy[row + k]
        t = sqrt(t)
        ut = sqrt(ut)
        w0 = w.wy[row] + ut
        y0 = w.z[row] - rho * w0
        inside = where(t - y0, 0.0, 1.0, where(t, y0 + 1e-300, 1.0, 0.0))
        polar = where(0.0, t + y0, 0.0, 1.0)
        a = 0.5 * (y0 + t)
        ti = 1.0 / maximum(t, 1e-300)
        ui = where(1e-14, ut, 1.0 / maximum(ut, 1e-14), 0.0)
        P0 = where(0.5, inside, y0, where(0.5, polar, 0.0, a))
        pt = where(0.5, inside, 1.0, where(0.5, polar, 0.0, a * ti))
        # eigenvalues of D: 1 along (1, t)/2 in the middle, 0 along (1,-t), pt across
        l1 = where(0.5, inside, 1.0, where(0.5, polar, 0.0, 1.0))
        l2 = where(0.5, inside, 1.0, 0.0)
        l3 = pt
        if dim == 1:
            P0 = maximum(y0, 0.0)
            l1 = where(y0, 0.0, 0.0, 1.0)
            l2 = l1
        i1 = 1.0 / maximum(1.0 - l1, slack)
        i2 = 1.0 / maximum(1.0 - l2, slack)
        i3 = 1.0 / maximum(1.0 - l3, slack)
        # r = z - P
        r0 = w.z[row] - P0
        res = magnitude(r0)
        rt = 0.0
        for k in range(1, dim):
            x = w.z[row + k] - rho * w.wy[row + k]
            rk = w.z[row + k] - pt * x
            res = maximum(res, magnitude(rk))
            rt = rt + rk * x * ti
        # (I-D+s)^-1 r in spectral form
        for i in range(dim):
            ni = 1.0 if i == 0 else 0.0
            xi = 0.0 if i == 0 else (w.z[row + i] - rho * w.wy[row + i]) * ti
            ri = r0 if i == 0 else w.z[row + i] - pt * (w.z[row + i] - rho * w.wy[row + i])
            if dim == 1:
                w.dz[row + i] = i1 * ri
                w.cone_G[row, 0] = rho * l1 * i1
            else:
                p = 0.5 * (r0 + rt)
                m = 0.5 * (r0 - rt)
                across = ri - ni * r0 - xi * rt
                w.dz[row + i] = i1 * p * (ni + xi) + i2 * m * (ni - xi) + i3 * across
                for j in range(dim):
                    nj = 1.0 if j == 0 else 0.0
                    xj = 0.0 if j == 0 else (w.z[row + j] - rho * w.wy[row + j]) * ti
                    same = 1.0 if i == j and i > 0 else 0.0
                    g = 0.5 * l1 * i1 * (ni + xi) * (nj + xj) + 0.5 * l2 * i2 * (ni - xi) * (nj - xj)
                    g = g + l3 * i3 * (same - xi * xj)
                    g0 = 0.5 * l1 * i1 * (ni + xi) + 0.5 * l2 * i2 * (ni - xi)
                    uj = 0.0 if j == 0 else w.wy[row + j] * ui
                    w.cone_G[row + i, j] = rho * (g + g0 * uj)
    elif w.cone_kind[e] == BOX:
        x = w.z[row] - rho * w.wy[row]
        p = clamp(x, w.lower[e], w.upper[e])
        free = where(x, w.lower[e], 0.0, where(w.upper[e], x, 0.0, 1.0))
        i1 = 1.0 / maximum(1.0 - free, slack)
        res = magnitude(w.z[row] - p)
        w.dz[row] = i1 * (w.z[row] - p)
        w.cone_G[row, 0] = rho * free * i1
    else:
        for i in range(dim):
            for j in range(dim):
                w.cone_G[row + i, j] = 0.0
            w.cone_G[row + i, i] = rho / slack
            w.dz[row + i] = rho * w.wy[row + i] / slack
            res = maximum(res, rho * magnitude(w.wy[row + i]))
    return res * w.cone_D[e]


@kernel
def solve_sets(tree: Array, w: Array, settings: ReducedSettings) -> tuple[Scalar, Scalar, Scalar]:
    residual = 1e9
    iterations = 0.0
    k = 0
    while k < 60 and some_below(settings.tolerance - residual, 0.0):
        mass_times(tree, w, w.v_next, w.Mv)
        for i in range(tree.nv):
            w.rhs[i] = w.momentum[i] - w.Mv[i]
        add_rows_transposed(tree, w, w.z, w.rhs)
        rows_times(tree, w, w.v_next, w.wy)
        residual = 0.0
        for r in range(w.counts[ROWS]):
            w.wy[r] = w.wy[r] + w.row_c[r] + w.compliance[r] * w.z[r]
        for e in range(w.counts[CONES]):
            residual = maximum(residual, linearize_set(tree, w, e, settings.slack))
        if k == 0:
            residual = maximum(residual, 1.001 * settings.tolerance)
        if some_below(settings.tolerance - residual, 0.0):
            for r in range(w.counts[ROWS]):
                w.dz[r] = -w.dz[r]
            add_rows_transposed(tree, w, w.dz, w.rhs)
            factorize_reduced(tree, w)
            solve_reduced(tree, w, w.rhs)
            rows_times(tree, w, w.rhs, w.Adv)
            for e in range(w.counts[CONES]):
                row = w.cone_row[e]
                for i in range(w.cone_dim[e]):
                    x = w.dz[row + i]
                    for j in range(w.cone_dim[e]):
                        x = x - w.cone_G[row + i, j] * w.Adv[row + j]
                    w.z[row + i] = where(settings.tolerance, residual, w.z[row + i] + x, w.z[row + i])
            for i in range(tree.nv):
                w.v_next[i] = where(settings.tolerance, residual, w.v_next[i] + w.rhs[i], w.v_next[i])
            iterations = iterations + where(settings.tolerance, residual, 1.0, 0.0)
        k += 1
    return residual, iterations, 0.0
